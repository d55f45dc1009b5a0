"""Moves as words over cells: what a click chooses, and what is sent of too many moves."""

import json

import pytest

from ggp.protocol.drawing.scene import read_scene
from ggp.referee.match.engine import Status
from ggp.referee.server.web import seat_routes
from ggp.referee.server.web.boards import BoardView, cell_finder
from ggp.referee.server.web.seat_routes import narrowed, seat_position

SQUARE = frozenset({"A1", "A11", "B1", "D5", "D6", "D7"})
HEX = frozenset({"0,-1", "1,-1", "0,0", "-1,0", "1,0"})


@pytest.mark.parametrize(
    ("names", "move", "cells"),
    [
        (SQUARE, "D5+D6+D7", ["D5", "D6", "D7"]),
        (SQUARE, "A11", ["A11"]),
        (SQUARE, "A12", []),  # no cell, and not A1 either
        (SQUARE, "dead:A1,B1", ["A1", "B1"]),
        (SQUARE, "pass", []),
        (SQUARE, "swap-sides", []),
        (SQUARE, "bid:7", []),
        (HEX, "0,-1/1,-1+l:0,0", ["0,-1", "1,-1", "0,0"]),
        (HEX, "-1,0/0,0", ["-1,0", "0,0"]),
        (frozenset(), "A1", []),
    ],
)
def test_the_cells_of_a_move(names: frozenset[str], move: str, cells: list[str]) -> None:
    assert cell_finder(names)(move) == cells


def test_a_click_keeps_the_moves_that_go_on_with_its_cell() -> None:
    words = [(move, cell_finder(SQUARE)(move)) for move in ("D5", "D5+D6", "D5+D6+D7", "A1", "pass")]
    assert narrowed(words, [])[0] == words
    assert [move for move, _ in narrowed(words, ["D5", "D6"])[0]] == ["D5+D6", "D5+D6+D7"]


def test_of_too_many_moves_those_come_that_end_here_and_the_cells_that_may_follow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(seat_routes, "MOST_MOVES", 2)
    words = [("pass", []), ("D5", ["D5"]), ("D5+D6", ["D5", "D6"]), ("D5+D7", ["D5", "D7"]), ("A1", ["A1"])]
    assert narrowed(words, []) == ([("pass", []), ("", ["D5"]), ("", ["A1"])], False)
    assert narrowed(words, ["D5"]) == ([("D5", ["D5"]), ("", ["D5", "D6"]), ("", ["D5", "D7"])], False)
    assert narrowed(words, ["D5", "D7"]) == ([("D5+D7", ["D5", "D7"])], True)


def test_words_of_an_engine_turn_no_text() -> None:
    cells = [{"at": "A\u202e", "x": 0, "y": 0}, {"at": "B", "x": 1, "y": 0}]
    pieces = [{"at": "A\u202e", "colour": "black"}]
    scene = read_scene(json.dumps({"board": {"kind": "square"}, "cells": cells, "pieces": pieces}))
    view = BoardView(0, Status("play", "black", 1, 0), "", "", ("A\u202e", "B", "pass\u2066"), scene)
    shown = seat_position(view, [])
    assert shown["moves"] == [("B", ["B"])]
    assert [cell[0] for cell in shown["cells"]] == ["A\ufffd", "B"] and shown["pieces"] == {"A\ufffd": "black stone"}
