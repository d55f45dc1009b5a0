"""Drawings of OpenSpiel's games: a grid if the text of a position is one, otherwise the text itself.

A text is a grid if it has as many rows and signs as the observation tensor, or, if that has no such shape, at least
three rows of at least three signs; or if it is in FEN. A few random games show more about the grid: which player's
moves put a sign on a cell, and so who owns it, and how moves name cells.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ggp.engines.game import Scene
from ggp.engines.scene import COLUMNS

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_BLANK = "\u2800"  # looks like a blank, but is not removed as one
_PLIES, _GAMES = 60, 2  # plies and number of the random games
_WIDEST = 90  # characters in a line of text
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
EMPTY = ".-+_"  # the first of these that occurs in a grid is its empty cell

Grid = list[str]  # one string per row, one character per cell


def text_of(state: Any) -> str:
    """Return OpenSpiel's text of a position, without colours."""
    return _ESCAPES.sub("", str(state))


class Drawing:
    """A method of drawing the positions of one game."""

    def __init__(self, game: Any, first: int) -> None:
        """Learn how positions of the game are drawn; `first` is the player who is Black."""
        self._game, self._first = game, first
        shape = game.observation_tensor_shape() if game.get_type().provides_observation_tensor else []
        self._shape = (int(shape[1]), int(shape[2])) if len(shape) == 3 else None
        self._owners: dict[str, str] = {}
        self._naming = 0
        grid = self.grid(game.new_initial_state())
        if grid is not None:
            self._watch()

    def grid(self, state: Any) -> Grid | None:
        """Return the signs of a position, or None if its text is not a grid."""
        text = text_of(state)
        return _fen_grid(text, self._shape) or _text_grid(text, self._shape)

    def scene(self, state: Any) -> Scene:
        """Return the drawing of a position."""
        grid = self.grid(state)
        return self._text(state) if grid is None else self._drawn(grid, state)

    def _drawn(self, grid: Grid, state: Any) -> Scene:
        height, width = len(grid), len(grid[0])
        names = [[_name(self._naming, row, column, height, width) for column in range(width)] for row in range(height)]
        empty = _empty_sign(grid)
        spots = [(row, column) for row in range(height) for column in range(width)]
        pieces = []
        for row, column in spots:
            sign = grid[row][column]
            if sign != empty:
                owner = self._owner(sign)
                kind = "stone" if owner else "neutral"
                pieces.append({"at": names[row][column], "colour": owner or "black", "kind": kind, "glyph": sign})
        history = state.history()
        before = self._game.new_initial_state()
        for action in history[:-1]:
            before.apply_action(action)
        old = self.grid(before) if history else None
        changed = [names[row][column] for row, column in spots if old and old[row][column] != grid[row][column]]
        labels = []
        if self._naming in _LETTERED:
            labels = [{"text": names[0][x].rstrip("0123456789"), "x": x, "y": height} for x in range(width)]
            labels += [{"text": names[y][0].lstrip(_LETTERS), "x": -1, "y": y} for y in range(height)]
        return {
            "board": {"kind": "square", "width": width, "height": height},
            "cells": [{"at": names[row][column], "x": column, "y": row} for row, column in spots],
            "labels": labels,
            "pieces": pieces,
            "tokens": [],
            "last": changed,
        }

    def _text(self, state: Any) -> Scene:
        lines = [line.rstrip() for line in text_of(state).splitlines() if line.strip()][:40]
        tokens = [{"kind": "text", "owner": "none", "text": line[:_WIDEST].replace(" ", _BLANK)} for line in lines]
        return {"board": {"kind": "square"}, "cells": [], "pieces": [], "tokens": tokens, "last": []}

    def _owner(self, sign: str) -> str:
        """Return the colour that owns a sign, or "". An unseen letter belongs to the colour of its case."""
        if sign in self._owners:
            return self._owners[sign]
        if sign.isalpha():
            like = [seen for seen in self._owners if seen.isalpha() and seen.isupper() == sign.isupper()]
            alike = {self._owners[seen] for seen in like}
            if len(alike) == 1:
                return alike.pop()
        return ""

    def _watch(self) -> None:
        """Learn from random games who owns the signs, and how moves name cells."""
        chance = random.Random(0)
        put: dict[str, Counter[int]] = {}
        hits: Counter[int] = Counter()
        for _ in range(_GAMES):
            state = self._game.new_initial_state()
            grid = self.grid(state)
            for _ in range(_PLIES):
                if state.is_terminal() or grid is None:
                    break
                player, action = state.current_player(), chance.choice(state.legal_actions())
                string = state.action_to_string(player, action)
                state.apply_action(action)
                after = self.grid(state)
                if after is None:
                    break
                self._compare(grid, after, player, string, put, hits)
                grid = after
        for sign, by in put.items():
            self._owners[sign] = "" if len(by) > 1 else "black" if self._first in by else "white"
        self._naming = max(range(len(_NAMINGS)), key=lambda naming: hits[naming]) if hits else 0

    def _compare(
        self, grid: Grid, after: Grid, player: int, string: str, put: dict[str, Counter[int]], hits: Counter[int]
    ) -> None:
        height, width, empty = len(grid), len(grid[0]), _empty_sign(after)
        old, new = Counter("".join(grid)), Counter("".join(after))
        more = {sign for sign in new if new[sign] > old[sign] and sign != empty}
        packed = string.replace(" ", "")
        for row in range(height):
            for column in range(width):
                sign = after[row][column]
                if sign == grid[row][column]:
                    continue
                if sign != empty and (not more or sign in more):
                    put.setdefault(sign, Counter())[player] += 1
                for naming in range(1, len(_NAMINGS)):
                    name = _name(naming, row, column, height, width)
                    hits[naming] += re.search(rf"(?<![0-9]){name}(?![0-9])", packed) is not None


def _name(naming: int, row: int, column: int, height: int, width: int) -> str:
    return _NAMINGS[naming](row, column, height, width)


def _letter(place: int) -> str:
    return _LETTERS[place] if place < len(_LETTERS) else f"z{place}"


def _go_letter(place: int) -> str:
    return COLUMNS[place].lower() if place < len(COLUMNS) else f"z{place}"


_NAMINGS: tuple[Callable[[int, int, int, int], str], ...] = (
    lambda row, column, height, width: f"{row},{column}",
    lambda row, column, height, width: f"{_letter(column)}{height - row}",
    lambda row, column, height, width: f"{_letter(column)}{row + 1}",
    lambda row, column, height, width: f"{_go_letter(column)}{height - row}",
    lambda row, column, height, width: f"{row},{column}",
    lambda row, column, height, width: f"{width - column}{_letter(row)}",
    lambda row, column, height, width: f"{row + 1},{column + 1}",
)
"""Ways in which games name cells: from the lower left, from the upper left, without `i`, as numbers, as in shogi."""
_LETTERED = (1, 2, 3)  # the ways with a letter for the column and a number for the row


def _empty_sign(grid: Sequence[str]) -> str:
    signs = set("".join(grid))
    return next((sign for sign in EMPTY if sign in signs), "")


def _fen_grid(text: str, shape: tuple[int, int] | None) -> Grid | None:
    """Parse FEN: rows are separated by slashes, a number stands for empty cells, `+` belongs to the next sign."""
    if shape is None or "/" not in (board := text.split(" ")[0].partition("[")[0]):
        return None
    grid = []
    for row in board.split("/"):
        signs = re.sub("[0-9]+", lambda match: "." * min(int(match[0]), 100), row)
        grid.append(re.sub(r"\+(.)|(.)~", lambda match: match[1] or match[2], signs))
    return grid if len(grid) == shape[0] and all(len(row) == shape[1] for row in grid) else None


def _text_grid(text: str, shape: tuple[int, int] | None) -> Grid | None:
    lines = [line for line in text.splitlines() if line.strip()]
    if shape is not None:
        return _rows_of(lines, *shape)
    best: Grid | None = None
    for width in {len(re.sub(r"\s", "", line)) for line in lines}:
        rows = [re.sub(r"\s", "", line) for line in lines]
        run: Grid = []
        for row in [*rows, ""]:
            if len(row) == width and not re.search(r"[0-9:|]", row):
                run.append(row)
                continue
            if len(run) >= 3 and width >= 3 and (best is None or len(run) * width > len(best) * len(best[0])):
                best = run
            run = []
    return best


def _rows_of(lines: Sequence[str], height: int, width: int) -> Grid | None:
    """Return `height` consecutive lines with `width` signs each, without the names of rows, or None."""
    spaced = re.compile(rf"^\D*\d+\s+((?:\S\s){{{width - 1}}}\S)(?:\s.*)?$")
    run: Grid = []
    for line in lines:
        packed = re.sub(r"\s", "", line)
        for row in (packed, re.sub(r"^\d+|\d+$", "", packed)):
            if len(row) == width:
                break
        else:
            match = spaced.match(line)
            row = re.sub(r"\s", "", match[1]) if match else ""
        if len(row) == width:
            run.append(row)
            if len(run) == height and run[0].lower() not in _LETTERS:  # that would be the names of the columns
                return run
            if len(run) == height:
                run.pop(0)
        else:
            run = []
    return None
