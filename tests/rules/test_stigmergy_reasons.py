"""What the core says when a move or an option of Stigmergy is refused, word by word; and nothing changes by it."""

import re
from collections.abc import Callable

import pytest

from engines._core import IllegalMove, Stigmergy
from tests.support.stigmergy_positions import cells, name, played, set_up

# --- moves ---------------------------------------------------------------------------------------------------------

BID = "komi is not settled: bid an integer from 0 to 170, written like bid:7"
RANGE = "bid an integer from 0 to 170, written like bid:7"
VERTEX = "not a move: a point is written like D4"


@pytest.mark.parametrize(
    ("state", "move", "reason"),
    [
        (Stigmergy(), "H8", BID),
        (Stigmergy(), "pass", BID),
        (Stigmergy(), "button", BID),
        (Stigmergy(), "keep-sides", BID),
        (Stigmergy(), "bid", BID),
        (Stigmergy(), "", BID),
        (Stigmergy(), "bid:171", RANGE),
        (Stigmergy(), "bid:-1", RANGE),
        (Stigmergy(), "bid:+7", RANGE),
        (Stigmergy(), "bid:07", RANGE),
        (Stigmergy(), "bid:00", RANGE),
        (Stigmergy(), "bid:", RANGE),
        (Stigmergy(), "bid:7.5", RANGE),
        (Stigmergy(), "bid:7 ", RANGE),
        (Stigmergy(), "bid:99999999999999999999", RANGE),
        (Stigmergy(), "bid:\u0663", RANGE),
        (Stigmergy(2), "bid:9", "bid an integer from 0 to 8, written like bid:7"),
        (played(Stigmergy, "bid:7"), "bid:8", "komi is settled: it is 7"),
        (played(Stigmergy, "bid:7"), "H8", "the bid is 7: answer swap-sides or keep-sides"),
        (played(Stigmergy, "bid:7"), "pass", "the bid is 7: answer swap-sides or keep-sides"),
        (played(Stigmergy, "bid:7 keep-sides"), "bid:7", "komi is settled: it is 7"),
        (played(Stigmergy, "bid:7 keep-sides"), "keep-sides", "the sides are settled"),
        (Stigmergy(komi=-4), "swap-sides", "the sides are settled"),
        (Stigmergy(komi=-4), "bid:4", "komi is settled: it is -4"),
        (Stigmergy(komi=-4), "button", "komi is even: there is no button"),
        (Stigmergy(komi=3), "pass", "the button must be taken before anybody may pass"),
        (played(Stigmergy, "button", komi=3), "BUTTON", "the button is taken"),
        (played(Stigmergy, "H8", komi=4), "h9", ""),
        (played(Stigmergy, "H8 H9", komi=4), "h8", "H8 holds your own stone"),
        (played(Stigmergy, "H8", komi=4), "H8", "you do not control H8: it sees 0 of your stones and needs 4"),
        (played(Stigmergy, "A8 B8 H8", komi=4), "A8", "you do not control A8: it sees 1 of your stones and needs 2"),
        (played(Stigmergy, "A9 B9 H8", komi=4), "A9", "you do not control A9: it sees 1 of your stones and needs 3"),
        (Stigmergy(komi=4), "A1", "A1 is not on the board: a hexagon with 8 on a side"),
        (Stigmergy(komi=4), "I8", "there is no column I: the letters skip it"),
        (Stigmergy(komi=4), "H08", VERTEX),
        (Stigmergy(komi=4), "dead:", VERTEX),
        (Stigmergy(komi=4), "+7", VERTEX),
        (Stigmergy(komi=4), "x" * 1_000_000, VERTEX),
        (Stigmergy(), "resign", "resign is an answer to genmove, not a move"),
        (played(Stigmergy, "B2 A2 C2 B1 A3 pass pass", size=2, komi=0), "pass", "the game is over"),
        (played(Stigmergy, "B2 A2 C2 B1 A3 pass pass", size=2, komi=0), "B3", "the game is over"),
    ],
)
def test_reasons(state: Stigmergy, move: str, reason: str) -> None:
    before = (state.hash(), state.ply, state.board())
    assert state.why_illegal(move) == reason
    if reason:
        with pytest.raises(IllegalMove) as caught:
            state.play(move)
        assert str(caught.value) == reason
    assert (state.hash(), state.ply, state.board()) == before


def test_the_reason_against_a_pass_names_cells() -> None:
    state = set_up(Stigmergy, 2, [(0, 0), (1, 0), (-1, 1)], [(-1, 0)])
    left = [at for at in cells(2) if state.control()[cells(2).index(at)] == state.board()[cells(2).index(at)] == "."]
    names = " ".join(sorted(name(2, q, r) for q, r in left))
    assert len(left) == 1
    assert state.why_illegal("pass") == f"{names} is empty and nobody's: fill or control it before you pass"
    two = Stigmergy(2, 0)
    assert two.why_illegal("pass") == (
        "A2 A3 B1 B2 B3 and 2 more are empty and nobody's: fill or control them before you pass"
    )


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Stigmergy(1), "size must be 2..13"),
        (lambda: Stigmergy(14), "size must be 2..13"),
        (lambda: Stigmergy(8, 1_000_001), "komi must be an integer from -1000000 to 1000000, or none: it is bid"),
        (lambda: Stigmergy(8, -(10**30)), "komi must be an integer from -1000000 to 1000000, or none: it is bid"),
        (lambda: Stigmergy().set_up("." * 169), "a position is set up before the first move, with a fixed komi"),
        (
            lambda: played(Stigmergy, "H8", komi=0).set_up("." * 169),
            "a position is set up before the first move, with a fixed komi",
        ),
        (lambda: Stigmergy(2, 0).set_up("." * 8), "a board has 7 characters"),
        (lambda: Stigmergy(2, 0).set_up("......#"), "a board is written with .XO"),
    ],
)
def test_wrong_options_are_explained(make: Callable[[], object], reason: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(reason) + "$"):
        make()
