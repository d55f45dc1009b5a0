#!/usr/bin/env python3
"""A random bot for the games of the example engines, hexapawn and connect4: one file, no import of the project.

    ggp match --engine ./hexapawn hexapawn "python small_games_bot.py" "python small_games_bot.py"

The built-in bots know only the games that are installed; who writes an engine for a new game writes a bot
like this one with it. The engine stays the judge: a bot that plays an illegal move has lost.
"""

import random
import re
import sys


class Hexapawn:
    """Pawns step ahead or take diagonally; `pawns` maps (column, row) to "b" or "w"."""

    def __init__(self, size: int = 3) -> None:
        self.size = size
        self.pawns = {(x, 0): "b" for x in range(size)} | {(x, size - 1): "w" for x in range(size)}

    def moves(self, colour: str) -> list[str]:
        ahead = 1 if colour == "b" else -1
        found = []
        for (x, y), owner in self.pawns.items():
            for dx in (-1, 0, 1) if owner == colour else ():
                target = self.pawns.get((x + dx, y + ahead), "")
                if 0 <= x + dx < self.size and (not target if dx == 0 else target not in ("", colour)):
                    found.append(f"{'ABCDEFGH'[x]}{y + 1}{'ABCDEFGH'[x + dx]}{y + ahead + 1}")
        return found

    def play(self, colour: str, move: str) -> None:
        x, y, to_x, to_y = ("ABCDEFGH12345678".index(c) % 8 for c in move.upper())
        del self.pawns[x, y]
        self.pawns[to_x, to_y] = colour


class Connect4:
    """Stones fall; `room` counts the empty points of each column."""

    def __init__(self, width: int = 7, height: int = 6) -> None:
        self.room = dict.fromkeys("ABCDEFGHJK"[:width], height)

    def moves(self, colour: str) -> list[str]:
        return [column for column, room in self.room.items() if room]

    def play(self, colour: str, move: str) -> None:
        self.room[move.upper()] -= 1


GAMES: dict[str, type[Hexapawn] | type[Connect4]] = {"hexapawn": Hexapawn, "connect4": Connect4}
COLOURS = {"b": "b", "black": "b", "w": "w", "white": "w"}
COMMANDS = "protocol_version name version list_commands known_command quit ggp-games ggp-new play genmove"


class Bot:
    """The commands that a native bot must answer."""

    def __init__(self) -> None:
        self.game: Hexapawn | Connect4 = Hexapawn()

    def answer(self, name: str, words: list[str]) -> str:
        """The text of a success; raises ValueError, KeyError or IndexError for a command that it cannot obey."""
        if name == "ggp-new":
            options = {key: int(value) for key, _, value in (word.partition("=") for word in words[1:])}
            self.game = GAMES[words[0]](**options)
        elif name == "play":
            colour = COLOURS[words[0].lower()]
            if words[1].upper() not in self.game.moves(colour):
                raise ValueError("not by the rules of the game")
            self.game.play(colour, words[1])
        elif name == "genmove":
            colour = COLOURS[words[0].lower()]
            moves = self.game.moves(colour)
            if not moves:
                return "pass"
            move = random.choice(moves)
            self.game.play(colour, move)
            return move
        elif name == "known_command":
            return str(words[:1] != [] and words[0] in COMMANDS.split()).lower()
        texts = {"protocol_version": "2", "name": "Small games bot", "version": "1"}
        lists = {"list_commands": COMMANDS.replace(" ", "\n"), "ggp-games": "\n".join(GAMES)}
        return (texts | lists).get(name, "")


def main() -> None:
    bot = Bot()
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
        elif words[0] in COMMANDS.split():
            try:
                mark, text = "=", bot.answer(words[0], words[1:])
            except (ValueError, KeyError, IndexError, TypeError) as error:
                text = f"{'illegal move' if words[0] == 'play' else 'refused'}: {error}"
        print(f"{mark}{number} {text}".rstrip(" "), end="\n\n", flush=True)
        if words[0] == "quit":
            break


if __name__ == "__main__":
    main()
