"""Scenes for the tests of pictures: one of each kind of board, made by hand, and the names of all that can go wrong."""

from typing import Any

from ggp.engines.scene import hexagon, lattice, open_square, piece, square, token

STATUS = {"game": "play", "phase": "play", "to_play": "white", "seat": 2, "ply": 7, "result": ""}


def kings() -> dict[str, Any]:
    """A square board with two kings, one of them new."""
    scene = square(3, 3)
    pieces = [piece("A1", "black", "king", "#"), piece("B2", "white", "king", "@"), piece("C3", "white", "pawn")]
    button = token("button", "black", "Black has the button")
    return {**scene, **STATUS, "pieces": pieces, "tokens": [button], "last": ["A1"]}


def run() -> dict[str, Any]:
    """A board without edge lines, on which the last ply filled three points in a row."""
    pieces = [piece(at, "black") for at in ("B4", "C4", "D4", "E4")] + [piece("F3", "white"), piece("C6", "white")]
    return {**open_square(6), **STATUS, "pieces": pieces, "last": ["C4", "D4", "E4"]}


def points() -> dict[str, Any]:
    """A hexagon of points."""
    pieces = [piece("A3", "black"), piece("C3", "white"), piece("E1", "white")]
    return {**hexagon(3, "points"), **STATUS, "pieces": pieces, "last": ["E1"]}


def held() -> dict[str, Any]:
    """A hexagon of hexagons with control of empty and of occupied cells."""
    control = {"A2": "black", "B2": "black", "B1": "white", "C1": "white", "C2": "white"}
    return {
        **hexagon(2, "hex"),
        **STATUS,
        "pieces": [piece("B2", "white"), piece("C2", "white"), piece("B3", "black")],
        "control": [{"at": at, "colour": colour} for at, colour in control.items()],
        "last": ["B3"],
    }


def tiles() -> dict[str, Any]:
    """A ring of three tiles with a cone in its middle, as the last ply left it."""
    bodies = [("1,0", "0,1"), ("-1,1", "-1,0"), ("1,-1", "0,-1")]
    pieces = [piece(at, colour, "tile") for pair in bodies for at, colour in zip(pair, ("black", "white"), strict=True)]
    ring = [(0, 0), (1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1), (2, 0), (-10, 1)]
    return {
        **lattice(ring),
        **STATUS,
        "pieces": [*pieces, piece("0,0", "white", "cone", "@")],
        "joins": [list(pair) for pair in bodies],
        "tokens": [token("cones", "white", "Light cones left: 4", 4)],
        "last": ["1,-1", "0,-1", "0,0"],
    }


def row_of_tiles(count: int) -> dict[str, Any]:
    """Tiles end to end, as wide as they can be laid."""
    cells = [(q, 0) for q in range(2 * count)]
    near = {(q + dq, dr) for q, _ in cells for dq in range(-2, 3) for dr in range(-2, 3) if abs(dq + dr) <= 2}
    pieces = [piece(f"{q},0", "black" if q % 2 else "white", "tile") for q, _ in cells]
    joins = [[f"{q},0", f"{q + 1},0"] for q in range(0, 2 * count, 2)]
    return {**lattice(near), **STATUS, "pieces": pieces, "joins": joins, "last": ["0,0", "1,0"]}


def bare(**parts: Any) -> dict[str, Any]:
    """The least that is a scene, and these parts of it."""
    cells = [{"at": "a", "x": 0, "y": 0}, {"at": "b", "x": 1, "y": 0}]
    return {"board": {"kind": "square"}, "cells": cells, "pieces": [], **parts}


KINDS = {"kings": kings, "run": run, "points": points, "held": held, "tiles": tiles}
NASTY = '<script>"&\x1b[2J\u202e\ufffe'
"""Markup, a command to a terminal, a change of the reading direction, and what XML cannot hold."""
