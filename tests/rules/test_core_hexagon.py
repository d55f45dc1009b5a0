"""The hexagon of the core beside the drawing's: names, order, neighbours and edges, on every size (through laido)."""

import math
from itertools import product

import pytest

from ggp.engines._core import Laido
from ggp.engines.scene import hexagon
from tests.rules.models.hexagon import cells as points
from tests.rules.models.hexagon import name
from tests.rules.models.model import COLUMNS

SIDES = range(2, 14)


@pytest.mark.parametrize("side", SIDES)
def test_names_and_their_order(side: int) -> None:
    names = {name((q, r), side) for q, r in points(side)}
    assert len(names) == 3 * side * (side - 1) + 1
    legal = Laido(side).legal_moves()
    assert legal == sorted(names)
    assert not any(move.startswith("I") for move in legal)


def test_the_centre_of_side_5_is_e5() -> None:
    assert name((0, 0), 5) == "E5"
    assert {name((q, r), 5) for q, r in ((1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1))} == {
        "F5", "E6", "D6", "D5", "E4", "F4"
    }  # fmt: skip


@pytest.mark.parametrize("side", SIDES)
def test_cells_and_neighbours_are_those_of_the_rules_pages(side: int) -> None:
    """`s+1 <= c+r <= 3s-1` and the six differences, as the pages of laido and stigmergy write them."""
    spots = {(c, r) for c, r in product(range(1, 2 * side), repeat=2) if side + 1 <= c + r <= 3 * side - 1}
    cells = {cell["at"]: (cell["x"], cell["y"]) for cell in hexagon(side, "hex")["cells"]}
    assert {f"{COLUMNS[c - 1]}{r}": (c, r) for c, r in spots}.keys() == cells.keys()
    for c, r in spots:
        x, y = cells[f"{COLUMNS[c - 1]}{r}"]
        near = {(c - 1, r), (c + 1, r), (c, r - 1), (c, r + 1), (c + 1, r - 1), (c - 1, r + 1)} & spots
        drawn = {(a, b) for a, b in spots if 0 < math.dist((x, y), cells[f"{COLUMNS[a - 1]}{b}"]) < 1.1}
        assert drawn == near


@pytest.mark.parametrize("side", SIDES)
def test_every_name_of_the_letters_and_numbers_is_a_point_or_refused(side: int) -> None:
    state = Laido(side)
    legal = set(state.legal_moves())
    for letter, row in product(COLUMNS, range(1, 2 * side + 1)):
        vertex = f"{letter}{row}"
        reason = f"{vertex} is not on the board: a hexagon with {side} on a side"
        assert state.why_illegal(vertex.lower()) == ("" if vertex in legal else reason)


@pytest.mark.parametrize("side", SIDES)
def test_boards_are_written_as_they_are_drawn(side: int) -> None:
    """The cells of the scene are in the order of the board's characters, and lie where neighbours are one apart."""
    cells = hexagon(side, "points")["cells"]
    assert [cell["at"] for cell in cells] == [name((q, r), side) for q, r in points(side)]
    state = Laido(side, pie=False)
    played = {}
    for cell, letter in zip(cells[::3], "XO" * len(cells), strict=False):
        assert state.play(cell["at"].lower()) == cell["at"]
        assert state.last_move() == [cell["at"]]
        played[cell["at"]] = letter
    assert state.board() == "".join(played.get(cell["at"], ".") for cell in cells)


@pytest.mark.parametrize("side", SIDES)
def test_neighbours_are_one_apart_and_edges_are_the_outermost_ring(side: int) -> None:
    """Two stones are one group iff they are one apart; with both on the edge it is worth 2, else as many less."""
    cells = {cell["at"]: (cell["x"], cell["y"]) for cell in hexagon(side, "points")["cells"]}
    edge = {name((q, r), side) for q, r in points(side) if max(abs(q), abs(r), abs(q + r)) == side - 1}
    assert len(edge) == 6 * (side - 1)
    names = list(cells)
    some = names[:: max(1, len(names) // 12)]
    for one, two in product(some, names):
        if one == two:
            continue
        (x1, y1), (x2, y2) = cells[one], cells[two]
        near = abs((x1 - x2) ** 2 + (y1 - y2) ** 2 - 1) < 0.01
        state = Laido(side)
        state.set_up("".join("X" if at in (one, two) else "." for at in names))
        expected = ([2] if {one, two} <= edge else [-2]) if near else [-1, -1]
        assert state.score_parts()["black"]["groups"] == expected, (one, two)
