"""What the page of a seat shows of a position: cells, pieces, and moves as words over the cells. No game, no I/O.

`D4`, `D5+D6+D7` and `3,0/4,0+l:2,0` are chosen by clicks on their cells in that order, and `pass` by a button.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from ggp.protocol.drawing.scene import Scene, clean
from ggp.protocol.drawing.shapes import SCALE
from ggp.referee.server.web.boards import BoardView
from ggp.referee.server.web.overlays import cell_finder

MOST_MOVES = 2000  # in an answer; of more, those that begin with the chosen cells

Words = list[tuple[str, list[str]]]  # moves with their cells


def narrowed(words: Iterable[tuple[str, list[str]]], chosen: Sequence[str]) -> tuple[Words, bool]:
    """The moves that begin with the chosen cells, and whether these are all. Of too many, those with no other cell, and
    for each cell that may come next an entry without a move."""
    fitting = [(move, cells) for move, cells in words if cells[: len(chosen)] == list(chosen)]
    if len(fitting) <= MOST_MOVES:
        return fitting, True
    here = [(move, cells) for move, cells in fitting if len(cells) == len(chosen)]
    following = dict.fromkeys(cells[len(chosen)] for _, cells in fitting if len(cells) > len(chosen))
    return [*here[:MOST_MOVES], *(("", [*chosen, cell]) for cell in following)], False


def seat_position(view: BoardView, chosen: Sequence[str]) -> dict[str, Any]:
    """As JSON. `cells` are in the picture's lengths: `unit` is the distance of neighbours. `whole`: whether all
    moves are there that begin with the chosen cells."""
    scene = view.scene
    cells = [(clean(cell.at), cell.x * SCALE, cell.y * SCALE) for cell in scene.cells] if scene else []
    cells_of = cell_finder(at for at, _, _ in cells)
    # A browser could not send any other word back, and would show what turns the reading direction.
    moves, whole = narrowed(((move, cells_of(move)) for move in view.legal if move.isprintable()), chosen)
    return {
        "ply": view.ply,
        "phase": view.status.phase,
        "colour": view.status.to_play,
        "svg": view.svg,
        "unit": SCALE,
        "cells": cells,
        "pieces": _pieces(scene) if scene else {},
        "moves": moves,
        "whole": whole,
    }


def _pieces(scene: Scene) -> dict[str, str]:
    """`D4`: `black stone`."""
    return {clean(piece.at): clean(f"{piece.colour} {piece.kind}") for piece in scene.pieces}
