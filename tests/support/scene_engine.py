"""A foreign engine in one file, without imports of ours: one game without moves, and whatever scene it is told."""

import json
import sys

CELLS = [{"at": "a", "x": 0, "y": 0}, {"at": "b", "x": 1, "y": 0}]
PIECES = [{"at": "a", "colour": "black", "kind": "tower", "glyph": "#"}, {"at": "b", "colour": "white"}]
GOOD = {"board": {"kind": "square"}, "cells": CELLS, "pieces": PIECES}
SCENES = {
    "good": json.dumps(GOOD),
    "broken": '{"board": ' * 9,
    "hostile": json.dumps({**GOOD, "last": ["\x1b[2J"]}),
}
COMMANDS = "name version protocol_version known_command list_commands quit ggp-games ggp-options ggp-new ggp-play"
COMMANDS += " ggp-status ggp-legal_moves ggp-history" + " ggp-scene" * (sys.argv[1] != "none")
STATUS = "phase=play to_play=black seat=1 ply=0"
ANSWERS = {
    "name": "stones",
    "version": "1",
    "protocol_version": "2",
    "list_commands": COMMANDS.replace(" ", "\n"),
    "ggp-games": "stones",
    "ggp-new": STATUS,
    "ggp-status": STATUS,
    "quit": "",
}


def main() -> None:
    for line in sys.stdin:
        words = line.split()
        number = words.pop(0) if words[0].isdigit() else ""
        answer = SCENES.get(sys.argv[1]) if words[0] == "ggp-scene" else ANSWERS.get(words[0])
        if words[0] == "ggp-play":
            answer = f"move={words[2]} {STATUS}"
        mark = "?" if answer is None else "="
        print(f"{mark}{number} {'unknown' if answer is None else answer}\n", flush=True)
        if words[0] == "quit":
            return


main()
