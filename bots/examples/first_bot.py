#!/usr/bin/env python3
"""A complete bot in one file: it plays go at random, but never into its own eyes. It imports nothing of the project.

    ggp match go,size=9 "python first_bot.py" random

It answers the native commands (it lists `ggp-new`) and keeps its own board. It never repeats a position, which is legal
under every ko rule. To write your own bot, replace `choose` by something better.
"""

import random
import re
import sys
from collections.abc import Callable

COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"  # no I
OPTIONS = {"size": "19", "komi": "7.5", "handicap": "0", "ko": "positional", "agreement": "off"}


class Board:
    """A go board: `stones` maps points (column, row), (0, 0) = A1, to "black", "white" or "" for empty."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.stones = {(x, y): "" for x in range(size) for y in range(size)}
        self.seen = {self.picture()}  # every position that stood on the board

    def picture(self) -> str:
        """Return the board as text."""
        return "".join(stone[:1] or "." for stone in self.stones.values())

    def neighbours(self, point: tuple[int, int]) -> list[tuple[int, int]]:
        """Return the adjacent points."""
        x, y = point
        return [p for p in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)) if p in self.stones]

    def group(self, point: tuple[int, int]) -> tuple[set[tuple[int, int]], bool]:
        """Return the stones connected to the one at `point`, and whether they have a liberty."""
        colour, group, todo, liberty = self.stones[point], {point}, [point], False
        while todo:
            for p in self.neighbours(todo.pop()):
                if self.stones[p] == "":
                    liberty = True
                elif self.stones[p] == colour and p not in group:
                    group.add(p)
                    todo.append(p)
        return group, liberty

    def put(self, colour: str, point: tuple[int, int]) -> None:
        """Play a stone and remove what it captures."""
        self.stones[point] = colour
        for p in self.neighbours(point):
            if self.stones[p] not in ("", colour):
                group, liberty = self.group(p)
                if not liberty:
                    self.stones.update(dict.fromkeys(group, ""))

    def try_move(self, colour: str, point: tuple[int, int]) -> bool:
        """Play there if it is legal; otherwise leave the board unchanged and return False."""
        if self.stones[point]:
            return False
        before = dict(self.stones)
        self.put(colour, point)
        if self.group(point)[1] and self.picture() not in self.seen:
            self.seen.add(self.picture())
            return True
        self.stones = before
        return False


class Bot:
    """The game as the bot knows it from `ggp-new` and `play`."""

    def __init__(self) -> None:
        self.new("go", "size=9")

    def new(self, game: str, *words: str) -> str:
        """Answer `ggp-new GAME [NAME=VALUE …]`."""
        options = OPTIONS | dict(word.split("=", 1) for word in words)
        if game != "go" or options.keys() != OPTIONS.keys() or options["handicap"] != "0":
            raise ValueError("this bot plays go, and only even games")
        size = int(options["size"])
        if not 2 <= size <= len(COLUMNS):
            raise ValueError("unacceptable size")
        self.board = Board(size)
        self.agreement = options["agreement"].lower() == "on"
        self.passes = 0
        self.dead_lists: list[str] = []
        return ""

    def play(self, colour: str, move: str) -> str:
        """Answer `play COLOUR MOVE`."""
        if colour.lower() not in ("b", "black", "w", "white"):
            raise ValueError("a colour is black or white")
        move = move.lower()
        if move.startswith("dead:"):
            self.dead_lists.append(move)
            if len(self.dead_lists) == 2:  # equal lists end the game; otherwise play continues to the next double pass
                self.agreement = False
                self.passes = 2 if self.dead_lists[0] == self.dead_lists[1] else 0
        elif move == "pass":
            self.passes += 1
        else:
            point = COLUMNS.find(move[0].upper()), int(move[1:]) - 1 if move[1:].isdecimal() else -1
            if self.board.stones.get(point) != "":
                raise ValueError("illegal move")
            self.board.put("black" if colour[0] in "bB" else "white", point)
            self.board.seen.add(self.board.picture())
            self.passes = 0
        return ""

    def genmove(self, colour: str) -> str:
        """Answer `genmove COLOUR`."""
        move = self.choose("black" if colour[0] in "bB" else "white")
        if move == "pass" or move.startswith("dead:"):
            self.play(colour, move)
        else:
            self.passes = 0
        return move

    def choose(self, colour: str) -> str:
        """Return a random legal point that is not an own eye, or `pass`; name no dead groups."""
        if self.passes == 2:
            return "dead:" if self.agreement else "pass"
        points = [point for point, stone in self.board.stones.items() if not stone]
        for point in random.sample(points, len(points)):
            eye = all(self.board.stones[p] == colour for p in self.board.neighbours(point))
            if not eye and self.board.try_move(colour, point):
                return f"{COLUMNS[point[0]]}{point[1] + 1}"
        return "pass"


def main() -> None:
    """Answer commands until `quit` or the end of input."""
    bot = Bot()
    commands: dict[str, Callable[..., str]] = {
        "protocol_version": lambda: "2",
        "name": lambda: "First bot",
        "version": lambda: "1",
        "list_commands": lambda: "\n".join(commands),
        "known_command": lambda *words: str(words[:1] != () and words[0] in commands).lower(),
        "quit": lambda: "",
        "ggp-games": lambda: "go",
        "ggp-new": bot.new,
        "play": bot.play,
        "genmove": bot.genmove,
    }
    for line in sys.stdin:
        line = "".join(c for c in line.replace("\t", " ") if c.isprintable())
        words = line.split("#")[0].split()
        has_id = len(words) > 1 and re.fullmatch("[0-9]{1,10}", words[0]) and int(words[0]) < 2**31
        number = words.pop(0) if has_id else ""
        if not words:
            continue
        mark, text = "?", "unknown command"
        if len(line) > 65536:
            text = "line too long"
        elif words[0] in commands:
            try:
                mark, text = "=", commands[words[0]](*words[1:])
            except (ValueError, TypeError, IndexError) as error:
                text = str(error)
        print(f"{mark}{number} {text}".rstrip(" "), end="\n\n", flush=True)
        if words[0] == "quit":
            break


if __name__ == "__main__":
    main()
