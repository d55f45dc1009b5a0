"""The drawing of a position as data, in one shape for all games. It draws nothing itself (see textboard).

A scene is a dict, ready for JSON; lengths are in distances between neighbours, x to the right, y **down**:

    board   {"kind": "square"|"hex"|"points", "width": 9, "height": 9}   what sort of picture it is
    cells   [{"at": "A1", "x": 0, "y": 8}, ...]     every cell or point that can be named in a move
    lines   [[x1, y1, x2, y2], ...]                 the lines of the board
    dots    [[x, y], ...]                           small marks on the board (the star points of go)
    labels  [{"text": "A", "x": 0, "y": 9}, ...]    names of columns and rows
    pieces  [{"at": "D4", "colour": "black", "kind": "stone", "glyph": "X"}, ...]
    tokens  [{"kind": "button", "owner": "black"|"white"|"none", "text": "Black has the button"}, ...]
            whatever lies beside the board: button, cones, komi, tiles left; some have a "value"
    last    ["D4"]                                  the cells that the last ply changed

A `square` board's cells lie on whole x and y. `glyph` is the piece's one character on a text board. The service
adds `game`, `options` and the status: `phase to_play seat ply result winner`.
"""

from functools import lru_cache
from typing import Any

from engines.game import Scene

COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"  # "Vertices skip I"
GLYPHS = {"black": "X", "white": "O"}


def square(width: int, height: int, lines: bool = True) -> Scene:
    """An empty board of points (or of cells, without lines), A1 at the lower left: a scene to add pieces to."""
    board = {"kind": "square", "width": width, "height": height}
    return {"board": board, **_square(width, height, lines), "pieces": [], "tokens": [], "last": []}


def piece(at: str, colour: str, kind: str = "stone", glyph: str = "") -> dict[str, str]:
    """One entry of `pieces`."""
    return {"at": at, "colour": colour, "kind": kind, "glyph": glyph or GLYPHS[colour]}


def token(kind: str, owner: str, text: str, value: float | None = None) -> dict[str, Any]:
    """One entry of `tokens`; `text` is what a person reads."""
    entry: dict[str, Any] = {"kind": kind, "owner": owner, "text": text}
    return entry if value is None else {**entry, "value": value}


def pieces_by_cell(scene: Scene) -> dict[str, dict[str, str]]:
    """The pieces by the cell they stand on."""
    return {entry["at"]: entry for entry in scene["pieces"]}


@lru_cache(maxsize=8)
def _square(width: int, height: int, lines: bool) -> Scene:
    """The parts that never change; shared, so nobody may change them."""
    right, bottom = width - 1, height - 1
    names = [COLUMNS[x] for x in range(width)]
    across = [[0, y, right, y] for y in range(height)]
    return {
        "cells": [{"at": f"{names[x]}{height - y}", "x": x, "y": y} for y in range(height) for x in range(width)],
        "lines": across + [[x, 0, x, bottom] for x in range(width)] if lines else [],
        "dots": _star_points(width) if lines and width == height else [],
        "labels": [{"text": names[x], "x": x, "y": y} for y in (-1, height) for x in range(width)]
        + [{"text": str(height - y), "x": x, "y": y} for x in (-1, width) for y in range(height)],
    }


def _star_points(size: int) -> list[list[int]]:
    """Where the board of go has its dots: the handicap points of GTP."""
    if size < 7:
        return []
    edge, middle = (2 if size < 12 else 3), size // 2
    near, far = edge, size - 1 - edge
    dots = [[x, y] for x in (near, far) for y in (near, far)]
    if size % 2 and size > 7:
        dots += [[x, y] for x in (near, middle, far) for y in (near, middle, far) if middle in (x, y)]
    return dots
