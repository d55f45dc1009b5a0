"""Why a move of taugo is refused, and that every run is either listed or has a reason; the order of the list."""

from typing import Any, Literal

import pytest

from engines import _core
from tests.support.taugo_positions import COLUMNS, set_up


@pytest.mark.parametrize("size", [6, 8, 11, 12, 21, 25])
def test_legal_moves_are_sorted_bytewise(size: int) -> None:
    state = _core.Taugo(size=size, cut_from="any")
    for number in range(4 * size):
        legal = state.legal_moves()
        assert legal == sorted(set(legal))
        assert [move for move in legal if state.why_illegal(move) or state.why_illegal(move.lower())] == []
        placed = [move for move in legal if move[0].isupper()]
        if placed:
            state.play(placed[number * 7919 % len(placed)])


FIGHT: dict[str, Any] = {"black": "D3 D4 F3 F4", "white": "C5 D5 E5 G4 A4"}

REASONS = [
    ("", "not a move: a point is written like D4"),
    ("D4+", "not a move: a point is written like D4"),
    ("D4 D5", "not a move: a point is written like D4"),
    ("I4", "there is no column I: the letters skip it"),
    ("J9", "J9 is not on the board: the board is 8x8"),
    ("resign", "resign is an answer to genmove, not a move"),
    ("keep-sides", "keep-sides answers a bid; who keeps a side here plays on"),
    ("BID:3", "this game has no komi to bid for"),
    ("button", "this game has no button"),
    ("dead:D4", "no stone is dead in this game: there is no agreement"),
    ("A1", "A1 is a corner: the board has no corner points"),
    ("B8+A8", "A8 is a corner: the board has no corner points"),
    ("C3+E3", "E3 does not follow C3: the points of a run lie side by side in one line, in the order of filling"),
    ("C3+B3+B2", "B2 does not follow B3: the points of a run lie side by side in one line, in the order of filling"),
    ("C3+B3+C3", "C3 does not follow B3: the points of a run lie side by side in one line, in the order of filling"),
    ("D4", "D4 is occupied"),
    ("A4", "A4 is occupied"),
    ("G4", "the run would stop inside the enemy stones G4"),
    ("E5", "E5 is occupied"),
    ("D5", "the run would stop inside the enemy stones D5"),
    ("A5", "A5 is an edge point: it can only be filled as a cut point"),
    ("A5+B5", "A5 is an edge point: it can only be filled as a cut point"),
    ("C3+B3+A3", "A3 is an edge point: it can only be filled as a cut point"),
    ("A4+B4", "A4 is occupied"),
    ("A4+A5", "no run goes along the edge: edge points are not adjacent"),
    ("G7+F7", "new stones are not prolonged in the same turn: nothing black is adjacent to G7"),
    ("C3+C2", "a run through C3 and C2 grows from a black stone at C4, and there is none"),
    ("E4+F4", "F4 is black: a run ends before a friendly stone"),
    ("G4+H4", "G4 is not central: only central stones can be cut"),
    ("E4+E5", "a run through E4 and E5 grows from a black stone at E3, and there is none"),
]


@pytest.mark.parametrize(("text", "reason"), REASONS)
def test_reasons(text: str, reason: str) -> None:
    state = set_up(**FIGHT)
    assert state.why_illegal(text) == reason
    assert state.why_illegal(text.lower()) == reason
    before = (state.board(), state.ply, state.hash())
    with pytest.raises(_core.IllegalMove):
        state.play(text)
    assert (state.board(), state.ply, state.hash()) == before
    assert "D5+D6" in state.legal_moves()


@pytest.mark.parametrize(
    ("black", "white", "text", "reason"),
    [
        ("D3 D4 C4", "C5 D5 E5", "D5+D6", "the stone D4 behind the enemy stones D5 has degree 2, not 1"),
        ("D4", "C5 D5 E5", "D5+D6", "the stone D4 behind the enemy stones D5 has degree 0, not 1"),
        ("B5 C5 E6", "D4 D5 D6 F4 F5 F6", "D5+E5+F5+G5", "the stone E5 behind the enemy stones F5 has degree 2, not 1"),
        ("D3 D4 D6", "C5 D5 E5", "D5+D6", "D6 right after the enemy stones D5 is not empty: there is no cut point"),
        ("D3 D4", "C5 D5 D6 E6", "D5+D6", "the run would stop inside the enemy stones D5 D6"),
        ("D3 D4", "D5 D6", "D5+D6+D7", "D5 D6 are not central: only central stones can be cut"),
        ("C3 D3 C4", "", "D4", "knot at C3 D3 C4 D4"),
    ],
)
def test_reasons_of_cuts_and_knots(black: str, white: str, text: str, reason: str) -> None:
    assert set_up(black, white).why_illegal(text) == reason
    assert len(reason) < 200


def test_every_run_that_is_not_listed_has_a_reason() -> None:
    """All straight texts on a board, in positions of played games."""
    kinds: tuple[Literal["lateral", "any"], ...] = ("lateral", "any")
    for seed, cut_from in enumerate(kinds):
        state = _core.Taugo(size=7, cut_from=cut_from)
        texts = {"+".join(line[start:end]) for line in _lines(7) for start in range(7) for end in range(start + 1, 8)}
        while state.phase != "over":
            refused = {text for text in texts if state.why_illegal(text)}
            assert refused == texts - set(state.legal_moves())
            state.play(state.random_move(seed := seed + 2))


def _lines(size: int) -> list[list[str]]:
    """Every row and column, in both directions."""
    rows = [[f"{column}{row}" for column in COLUMNS[:size]] for row in range(1, size + 1)]
    across = [*rows, *([f"{column}{row}" for row in range(1, size + 1)] for column in COLUMNS[:size])]
    return across + [line[::-1] for line in across]
