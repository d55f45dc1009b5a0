"""The drawing of a position as data, in one format for all games. protocol/drawing draws it.

A scene is a dict that can be written as JSON. Lengths are in distances between neighbours, x to the right, y **down**:

    board   {"kind": "square"|"hex"|"points", "width": 9, "height": 9}   the kind of picture: points on square
            lines, hexagonal cells, points on triangular lines
    cells   [{"at": "A1", "x": 0, "y": 8}, ...]     every cell or point that a move can name
    lines   [[x1, y1, x2, y2], ...]                 the lines of the board
    dots    [[x, y], ...]                           small marks on the board (the star points of go)
    labels  [{"text": "A", "x": 0, "y": 9}, ...]    names of columns and rows; "to": [x, y] is the first cell of a
            slanting column, to which a stroke leads. Without labels, viewers write the cells' names
    pieces  [{"at": "D4", "colour": "black", "kind": "stone", "glyph": "X"}, ...]
    joins   [["0,0", "1,0"], ...]                   pieces that belong together: the halves of a tile
    control [{"at": "E5", "colour": "black"}, ...]  cells that a side controls, empty or not
    tokens  [{"kind": "button", "owner": "black"|"white"|"none", "text": "Black has the button"}, ...]
            facts beside the board: button, cones, komi, tiles left; some have a "value"
    marks   [{"at": "D4", "kind": "win"}, ...]      highlighted cells: "win" decided the game, "dead" is dead
    last    ["D4"]                                  the cells that the last ply changed

The cells of a `square` board have whole x and y; on the others, each row is shifted by half a distance. Empty lists may
be omitted except `cells` and `pieces`. `glyph` is the piece's character on a text board. The service adds `game`,
`options` and the status: `phase to_play seat ply result winner`.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Literal

from ggp.engines.game import Scene

COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"  # "Vertices skip I"
GLYPHS = {"black": "X", "white": "O"}
ROW = 3**0.5 / 2
"""The height of a row of hexagons or of triangles."""


def square(width: int, height: int, lines: bool = True) -> Scene:
    """Return an empty board of points (or of cells, without lines), with A1 at the lower left."""
    board = {"kind": "square", "width": width, "height": height}
    return {"board": board, **_square(width, height, lines), "pieces": [], "tokens": [], "last": []}


def open_square(size: int) -> Scene:
    """Return a square board without edge lines and corners: an edge point touches only the inner point next to it."""
    board = {"kind": "square", "width": size, "height": size}
    return {"board": board, **_open_square(size), "pieces": [], "tokens": [], "last": []}


def hexagon(side: int, kind: Literal["hex", "points"]) -> Scene:
    """Return an empty hexagon of cells or points, 2 side - 1 wide and high; the centre of side 5 is E5."""
    board = {"kind": kind, "width": 2 * side - 1, "height": 2 * side - 1}
    return {"board": board, **_hexagon(side, kind), "pieces": [], "tokens": [], "last": []}


def lattice(cells: Iterable[tuple[int, int]]) -> Scene:
    """Return these cells of the unbounded hexagonal lattice, axial q and r, named `q,r`."""
    placed = [{"at": f"{q},{r}", **axial(q, r)} for q, r in sorted(cells)]
    columns = [q for q, _ in cells] or [0]
    rows = [r for _, r in cells] or [0]
    board = {"kind": "hex", "width": max(columns) - min(columns) + 1, "height": max(rows) - min(rows) + 1}
    return {"board": board, "cells": placed, "lines": [], "dots": [], "labels": [], "pieces": [], "joins": [],
            "tokens": [], "last": []}  # fmt: skip


def axial(q: float, r: float) -> dict[str, float]:
    """Return the place of the hexagon or point (q, r): rows of equal r are level, and r grows upwards."""
    return {"x": q + r / 2, "y": round(-r * ROW, 4)}


def piece(at: str, colour: str, kind: str = "stone", glyph: str = "") -> dict[str, str]:
    """Return one entry of `pieces`."""
    return {"at": at, "colour": colour, "kind": kind, "glyph": glyph or GLYPHS[colour]}


def token(kind: str, owner: str, text: str, value: float | None = None) -> dict[str, Any]:
    """Return one entry of `tokens`; `text` is for people."""
    entry: dict[str, Any] = {"kind": kind, "owner": owner, "text": text}
    return entry if value is None else {**entry, "value": value}


def pieces_by_cell(scene: Scene) -> dict[str, dict[str, str]]:
    """Return the pieces by the cell they stand on."""
    return {entry["at"]: entry for entry in scene["pieces"]}


@lru_cache(maxsize=8)
def _square(width: int, height: int, lines: bool) -> Scene:
    """Return the parts that never change. They are shared: never change them."""
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


@lru_cache(maxsize=8)
def _open_square(size: int) -> Scene:
    last = size - 1
    full = _square(size, size, False)
    corners = {(x, y) for x in (0, last) for y in (0, last)}
    return {
        "cells": [cell for cell in full["cells"] if (cell["x"], cell["y"]) not in corners],
        "lines": [[0, y, last, y] for y in range(1, last)] + [[x, 0, x, last] for x in range(1, last)],
        "dots": [],
        "labels": full["labels"],
    }


@lru_cache(maxsize=8)
def _hexagon(side: int, kind: str) -> Scene:
    reach = side - 1
    inside = {(q, r) for q in range(-reach, side) for r in range(-reach, side) if abs(q + r) <= reach}
    ends = {q: (max(-reach, -reach - q), min(reach, reach - q)) for q in range(-reach, side)}  # the same for rows
    names = {(q, r): f"{COLUMNS[q + reach]}{r + side}" for q, r in inside}
    lines = []
    if kind == "points":
        for at in range(-reach, side):
            low, high = ends[at]
            for (q1, r1), (q2, r2) in (
                ((low, at), (high, at)),
                ((at, low), (at, high)),
                ((low, -at - low), (high, -at - high)),
            ):
                one, two = axial(q1, r1), axial(q2, r2)
                lines.append([one["x"], one["y"], two["x"], two["y"]])
    return {
        "cells": [{"at": names[at], **axial(*at)} for at in sorted(inside, key=lambda at: (-at[1], at[0]))],
        "lines": lines,
        "dots": [],
        "labels": [_slanting(q, ends[q][0] - 1, COLUMNS[q + reach], 1) for q in ends]
        + [_slanting(q, reach + 1, COLUMNS[q + reach], -1) for q in ends if q <= 0]
        + [{"text": str(r + side), **axial(ends[r][1] + 1, r)} for r in ends]
        + [{"text": str(r + side), **axial(-reach - 1, r)} for r in ends if r >= 0],
    }


def _slanting(q: int, r: int, text: str, up: int) -> dict[str, Any]:
    """Return the label of column q at its lower or upper end; its first cell lies one r above or below."""
    cell = axial(q, r + up)
    return {"text": text, **axial(q, r), "to": [cell["x"], cell["y"]]}


def _star_points(size: int) -> list[list[int]]:
    """Return the dots of a Go board, GTP's handicap points."""
    if size < 7:
        return []
    edge, middle = (2 if size < 12 else 3), size // 2
    near, far = edge, size - 1 - edge
    dots = [[x, y] for x in (near, far) for y in (near, far)]
    if size % 2 and size > 7:
        dots += [[x, y] for x in (near, middle, far) for y in (near, middle, far) if middle in (x, y)]
    return dots
