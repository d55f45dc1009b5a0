"""Three small GTP bots of go that deviate from the protocol as well-known programs do, by observation of those.

`python -I tests/foreign_bots.py KIND`, with the standard library alone:

* `leela`: like Leela Zero 0.17, it writes one LF when its input ends.
* `michi`: like michi, it answers what it does not know with `? ???`, reads commands without regard to case, has a
  single board size, and ends with a traceback when arguments are missing or wrong.
* `dummy`: like GoGui's dummy, it has no `komi`, names the unknown command in its answer, writes a blank after an empty
  success, and plays any point that was not played before, suicide too.

The first two play points that have a free neighbour and were never taken, which are always legal.
"""

import random
import re
import sys

COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
COMMON = ["protocol_version", "name", "version", "known_command", "list_commands", "quit"]
COMMON += ["boardsize", "clear_board", "play", "genmove"]
KIND = sys.argv[1] if len(sys.argv) > 1 else ""
NAMES = {
    "leela": [*COMMON, "komi", "time_settings", "time_left", "final_score"],
    "michi": [*COMMON, "komi", "final_score"],
    "dummy": [*COMMON, "echo"],
}
LONGEST = 40  # moves of one side, then it passes


class Failed(Exception):
    """str() is the text of the failure."""


class ForeignBot:
    def __init__(self) -> None:
        self.size = 9
        self.taken: set[tuple[int, int]] = set()
        self.moves = 0
        self.chance = random.Random(1)

    def answer(self, name: str, arguments: list[str]) -> str:
        if name not in NAMES[KIND]:
            raise Failed({"michi": "???", "dummy": f"unknown command: {name}"}.get(KIND, "unknown command"))
        if name == "boardsize":
            size = int(arguments[0])
            if not 2 <= size <= 25 or (KIND == "michi" and size != 9):
                raise Failed("???" if KIND == "michi" else "unacceptable size")
            self.size = size
            self.clear()
        elif name == "clear_board":
            self.clear()
        elif name == "play":
            if KIND != "michi" and arguments[0].lower() not in ("b", "black", "w", "white"):
                raise Failed("invalid colour")
            self.play(arguments[1])
        texts = {
            "protocol_version": "2",
            "name": KIND,
            "version": "0.17",
            "list_commands": "\n".join(NAMES[KIND]),
            "known_command": str(arguments[:1] != [] and arguments[0] in NAMES[KIND]).lower(),
            "final_score": "0",
        }
        return self.genmove() if name == "genmove" else texts.get(name, "")

    def clear(self) -> None:
        self.taken.clear()
        self.moves = 0

    def play(self, word: str) -> None:
        if word.lower() == "pass":
            return
        if not re.fullmatch(r"[A-HJ-Za-hj-z]\d+", word):
            raise ValueError(word) if KIND == "michi" else Failed("invalid coordinate")
        point = COLUMNS.index(word[0].upper()), int(word[1:]) - 1
        if point in self.taken and KIND == "leela":
            raise Failed("illegal move")
        self.taken.add(point)

    def genmove(self) -> str:
        self.moves += 1
        free = [(x, y) for x in range(self.size) for y in range(self.size) if (x, y) not in self.taken]
        if KIND != "dummy":
            free = [(x, y) for x, y in free if {(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)} & {*free}]
        if not free or self.moves > LONGEST:
            return "PASS" if KIND == "dummy" else "pass"
        x, y = self.chance.choice(free)
        self.taken.add((x, y))
        return f"{COLUMNS[x]}{y + 1}"


def write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def main() -> None:
    bot = ForeignBot()
    for line in sys.stdin:
        words = (line.lower() if KIND == "michi" else line.partition("#")[0]).split()
        number = words.pop(0) if words and re.fullmatch(r"\d+", words[0]) else ""
        if not words:
            continue
        try:
            write(f"={number} {bot.answer(words[0], words[1:])}\n\n")
        except Failed as failed:
            write(f"?{number} {failed}\n\n")
        if words[0] == "quit":
            return
        print("a line for its log", file=sys.stderr)
    if KIND == "leela":
        write("\n")


if __name__ == "__main__":
    main()
