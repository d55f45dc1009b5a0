"""Show the first ten seconds of `ggp match` with broken bots, as a terminal shows them: `python -m tests.broken_bots`.

`tests/system/test_broken_bots.py` asserts what each of them is told.
"""

import sys
import tempfile
import time
from pathlib import Path

from tests.support.terminal import Terminal

SECONDS = 10.0
NO_EMPTY_LINE = """import sys
for line in sys.stdin:
    print("2" if "protocol_version" in line else "ok", flush=True)
"""
UCI = """import sys
print("Stockfish 17 by the Stockfish developers (see AUTHORS file)", flush=True)
for line in sys.stdin:
    print(f"Unknown command: '{line.strip()}'. Type help for more information.", flush=True)
"""
TRACEBACK = """import sys
settings = {}
for line in sys.stdin:
    settings["net"]
"""
USAGE = """import sys
sys.exit(print("usage: my_bot.py --net FILE") or 2)
"""
HANGS = """import sys, time
for line in sys.stdin:
    number, _, command = line.strip().partition(" ")
    if command.startswith("genmove"):
        time.sleep(600)
    text = "ggp-new\\nplay\\ngenmove" if command == "list_commands" else ""
    print(f"={number} {text}\\n", flush=True)
"""
BOTS = {
    "prints_bare_answers": (NO_EMPTY_LINE, "an answer begins with = and ends with an empty line"),
    "speaks_uci": (UCI, "this is a UCI engine: write"),
    "raises": (TRACEBACK, "KeyError: 'net'"),
    "prints_usage": (USAGE, "it printed its usage message: correct its command line"),
    "hangs": (HANGS, "no complete answer after"),
}


def watch(name: str, folder: Path, seconds: float = SECONDS, columns: int = 80) -> list[str]:
    """Return the rows of the screen after so many seconds of a match of this bot, or at its end."""
    script = folder / f"{name}.py"
    script.write_text(BOTS[name][0], encoding="utf-8")
    words = ["match", "yugo,size=3", f"{name}={sys.executable} {script}", "random", "--games", "1", "--time", "1"]
    words += ["--budget", "stall=2"] if name == "hangs" else []
    with Terminal(*words, home=folder, columns=columns) as terminal:
        until = time.monotonic() + seconds
        while time.monotonic() < until and terminal.process.poll() is None:
            terminal.settle(0.05)
        return [row.rstrip() for row in terminal.settle(0.05)]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="bots-") as place:
        for bot in BOTS:
            print(f"=== {bot}, after {SECONDS:g} s or at its end\n")
            print("\n".join(row for row in watch(bot, Path(place)) if row), end="\n\n")
