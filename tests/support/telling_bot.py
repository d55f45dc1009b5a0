"""A bot of go that passes and appends what it finds to a file, a JSON object a line: `telling_bot.py to:FILE [WORD…]`.

First its process: pid, cwd, niceness, cores, and the variable SAID; then each command of a game that it is sent.
`limits`: it lists kata-set-param; `refuses`: and refuses it; `plain`: it lists no ggp-new; `slow=S`: it takes S seconds
for a move; `late=S`: it answers nothing for so long. It imports nothing of the project.
"""

import json
import os
import sys
import time
from pathlib import Path

FILE = Path(sys.argv[1].removeprefix("to:"))  # a file that a word names as it is belongs to the version of a bot
WORDS = dict(word.partition("=")[::2] for word in sys.argv[2:])
COMMANDS = "name version protocol_version list_commands known_command quit play genmove"
COMMANDS += " boardsize clear_board komi time_settings time_left" if "plain" in WORDS else " ggp-new ggp-clock"
COMMANDS += " kata-set-param" * ("limits" in WORDS)


def tell(**found: object) -> None:
    with FILE.open("a", encoding="utf-8") as file:
        file.write(json.dumps(found) + "\n")


tell(
    pid=os.getpid(),
    cwd=str(Path.cwd()),
    nice=os.getpriority(os.PRIO_PROCESS, 0),
    cores=sorted(os.sched_getaffinity(0)),
    said=os.environ.get("SAID", ""),
    at=time.monotonic(),
)
time.sleep(float(WORDS.get("late", "0")))
for line in sys.stdin:
    number, _, text = line.strip().partition(" ")
    name = text.partition(" ")[0]
    answer = {"list_commands": COMMANDS.replace(" ", "\n"), "protocol_version": "2", "genmove": "pass"}.get(name, "")
    if name not in ("protocol_version", "list_commands", "name", "version", "quit"):
        tell(line=text, pid=os.getpid(), at=time.monotonic())
    if name == "genmove":
        time.sleep(float(WORDS.get("slow", "0")))
    refused = name == "kata-set-param" and "refuses" in WORDS
    print(f"?{number} no such parameter\n" if refused else f"={number} {answer}\n", flush=True)
    if name == "quit":
        break
