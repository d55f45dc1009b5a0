"""A bot whose versions a test can tell apart: `version_bot.py [FAULT PLY [FILE]]`. It imports nothing of the project.

It plays the first free point of a small board of go; from ply PLY on (counted from 1) it does what FAULT says.
"""

import sys
from pathlib import Path

FAULT, PLY = (sys.argv[1], int(sys.argv[2])) if len(sys.argv) > 2 else ("", 99)
COMMANDS = "name version protocol_version list_commands known_command quit ggp-new play genmove"
COMMANDS += " set_random_seed" * (FAULT == "seeded")
POINTS = [f"{column}{row}" for row in range(1, 6) for column in "ABCDE"]


def choose(taken: list[str], asked: int) -> str:
    free = [point for point in POINTS if point not in taken]
    ply = len(taken) + 1
    if ply < PLY:
        return free[0]
    if FAULT == "other":
        return free[1]
    if FAULT == "small":
        return free[0].lower()
    if FAULT == "mindful":  # only when it has played the match up to here
        return free[1] if asked > 1 else free[0]
    if FAULT == "chance":
        return free[starts % 16]
    if FAULT == "seeded":
        return free[seed % 16]
    if FAULT == "illegal":
        return "Z9"
    if FAULT == "resigns":
        return "resign"
    if FAULT == "dies":
        sys.exit("no more")
    return free[0]


starts = 0
if len(sys.argv) > 3:  # a chance that never falls twice the same way
    with Path(sys.argv[3]).open("ab") as file:
        file.write(b".")
        starts = file.tell()
taken: list[str] = []
seed = asked = 0
for line in sys.stdin:
    number, _, text = line.strip().partition(" ")
    name, *words = text.split()
    answer = {"list_commands": COMMANDS.replace(" ", "\n"), "protocol_version": "2"}.get(name, "")
    if name == "ggp-new":
        taken, asked = [], 0
    elif name == "set_random_seed":
        seed = int(words[0])
    elif name == "play":
        taken.append(words[1])
    elif name == "genmove":
        asked += 1
        answer = choose(taken, asked)
        taken.append(answer.upper())
    print(f"={number} {answer}\n", flush=True)
    if name == "quit":
        break
