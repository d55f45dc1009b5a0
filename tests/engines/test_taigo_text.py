"""How moves of Taigo are read, and why one is refused: every reason, in its words."""

from typing import Any

import pytest

from engines import _core
from tests.support.taigo_positions import FOUR, RING, TWO, played, set_up, walls

pytestmark = pytest.mark.parametrize("taigo", [_core.Taigo], ids=["core"])  # the model has other words


def test_letter_case_and_the_order_of_cones_are_free(taigo: Any) -> None:
    for text in ("0,0/1,0+d:-1,0+l:2,0", "0,0/1,0+L:2,0+D:-1,0", "0,0/1,0+l:2,0+d:-1,0"):
        assert set_up(taigo, walls(TWO, 4)).play(text) == "0,0/1,0+d:-1,0+l:2,0"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0,-1/2,-1", "0,-1 and 2,-1 are not adjacent"),
        ("0,-1/0,-1", "0,-1 and 0,-1 are not adjacent"),
        ("1,-1/1,0", "1,0 is occupied"),
        ("0,0/0,-1", "0,0 is occupied"),
        ("5,5/5,6", "a tile at 5,5 and 5,6 touches nothing: it must lie beside an occupied cell"),
        ("400,0/401,0", "a tile at 400,0 and 401,0 touches nothing: it must lie beside an occupied cell"),
        ("508,-508/507,-508", "a tile at 508,-508 and 507,-508 touches nothing: it must lie beside an occupied cell"),
        ("509,0/508,0", "509 is farther from 0,0 than any tile can lie"),
        ("0,-1/1,-999", "-999 is farther from 0,0 than any tile can lie"),
        ("0,-1/1,-99999999999999999999", "-99999999999... is farther from 0,0 than any tile can lie"),
        ("0,-1/1,-1+d:0,0", "0,0 is not a hole"),
        ("0,-1/1,-1+d:1,-1", "1,-1 is not a hole"),
        ("0,-1/1,-1+l:500,7", "500,7 is not a hole"),
        ("pass", "pass is not a move of taigo: every turn places a tile"),
        ("PASS", "pass is not a move of taigo: every turn places a tile"),
        ("resign", "resign is an answer to genmove, not a move"),
    ],
)
def test_why_the_first_tile_cannot_lie_there(taigo: Any, text: str, reason: str) -> None:
    _refused(taigo(), text, reason)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "0", "D4", "button", "swap-sides", "0,-1", "0,-1/", "0,-1/1", "0,-1/1,", "/0,-1", "0,-1/1,-1/"),
        *(
            "+0,-1/1,-1",
            "0,-1/+1,-1",
            "-0,-1/1,-1",
            "00,-1/1,-1",
            "0,-01/1,-1",
            "0,--1/1,-1",
            "0,-/1,-1",
            "0.0,-1/1,-1",
        ),
        *("0,-1/1,-1+", "0,-1/1,-1+d", "0,-1/1,-1+d:", "0,-1/1,-1+d:0", "0,-1/1,-1+x:0,0", "0,-1/1,-1d:0,0"),
        *(
            "0,-1/1,-1+d0,0",
            "0,-1/1,-1++d:0,0",
            "0,-1/1,-1+d:0,0+",
            "0,-1/1,-1 ",
            " 0,-1/1,-1",
            "0,-1/1,-1,",
            "0,-1/1,-1\0",
        ),
        *("0, -1/1,-1", "0,−1/1,−1", "0,1e0/1,1", "0x0,-1/1,-1", "\x00", "é,0/1,1"),
    ],
)
def test_what_cannot_be_read(taigo: Any, text: str) -> None:
    reason = "not a move: a tile is written dark/light, like 0,-1/1,-1, and each cone after it +d:0,0 or +l:0,0"
    _refused(taigo(), text, reason)


def test_very_long_texts_are_refused_shortly(taigo: Any) -> None:
    for text in ("9" * 60_000, "0,-1/1,-1" + "+d:0,0" * 10_000, "0," * 30_000, "-" * 60_000):
        reason = taigo().why_illegal(text)
        assert 0 < len(reason) < 200


@pytest.mark.parametrize(
    ("dark", "light", "text", "reason"),
    [
        (5, 5, "0,-1/1,-1", "0,0 is a hole: add +d:0,0 or +l:0,0"),
        (0, 2, "0,-1/1,-1", "0,0 is a hole: add +l:0,0"),
        (1, 0, "0,-1/1,-1", "0,0 is a hole: add +d:0,0"),
        (0, 2, "0,-1/1,-1+d:0,0", "no dark cones are left"),
        (2, 0, "0,-1/1,-1+l:0,0", "no light cones are left"),
        (0, 0, "0,-1/1,-1+l:0,0", "no light cones are left"),
        (5, 5, "0,-1/1,-1+l:0,0+d:0,0", "the hole 0,0 is named twice"),
        (5, 5, "0,-1/1,-1+l:0,0+l:0,0", "the hole 0,0 is named twice"),
        (5, 5, "0,-1/1,-1+l:0,0+d:5,5", "5,5 is not a hole"),
        (5, 5, "0,-1/1,-1+l:0,-1", "0,-1 is not a hole"),
    ],
)
def test_why_the_cone_is_wrong(taigo: Any, dark: int, light: int, text: str, reason: str) -> None:
    _refused(set_up(taigo, RING, dark_cones=dark, light_cones=light), text, reason)


@pytest.mark.parametrize(
    ("dark", "light", "cones", "reason"),
    [
        (5, 5, "", "-1,0 2,0 are holes: fill all of them, like +d:-1,0 or +l:-1,0"),
        (5, 5, "+l:-1,0", "2,0 is a hole: add +d:2,0 or +l:2,0"),
        (0, 5, "+l:2,0", "-1,0 is a hole: add +l:-1,0"),
        (1, 1, "+l:2,0", "-1,0 is a hole: add +d:-1,0"),
        (1, 0, "", "-1,0 2,0 are holes and only 1 cone is left: fill 1 of them, like +d:-1,0"),
        (1, 0, "+d:-1,0+d:2,0", "too many cones: only 1 dark cone is left"),
        (0, 1, "+l:-1,0+l:2,0", "too many cones: only 1 light cone is left"),
    ],
)
def test_why_two_cones_are_wrong(taigo: Any, dark: int, light: int, cones: str, reason: str) -> None:
    _refused(set_up(taigo, walls(TWO, 4), dark_cones=dark, light_cones=light), "0,0/1,0" + cones, reason)


def test_why_four_cones_are_wrong(taigo: Any) -> None:
    board, tile = walls({(0, 0), (1, 0), *FOUR[0]}, 5), "0,0/1,0"
    four = "+d:-1,0+l:0,1+d:1,-1+l:2,0"
    _refused(set_up(taigo, board), f"{tile}{four}+d:9,9", "too many cones: a tile makes four holes at most")
    state = set_up(taigo, board, dark_cones=2, light_cones=1)
    _refused(
        state, tile, "-1,0 0,1 1,-1 2,0 are holes and only 3 cones are left: fill 3 of them, like +d:-1,0 or +l:-1,0"
    )
    _refused(
        state,
        f"{tile}+d:-1,0+d:1,-1",
        "0,1 2,0 are holes and only 1 cone is left: fill 1 of them, like +l:0,1",
    )
    _refused(state, f"{tile}+d:-1,0+d:0,1+d:1,-1", "too many cones: only 2 dark cones are left")


def test_why_an_old_hole_is_not_filled(taigo: Any) -> None:
    state = set_up(taigo, walls(TWO, 4), dark_cones=0, light_cones=1)
    state.play("0,0/1,0+l:2,0")
    _refused(state, "5,0/6,0+l:-1,0", "-1,0 is not a hole of this turn: it was left open earlier and stays open")


def test_why_nothing_is_played_after_the_end(taigo: Any) -> None:
    state = played(taigo, "0,-1/1,-1", tiles=2)
    for text in ("2,-1/2,0", "pass", "nonsense"):
        _refused(state, text, "the game is over")


def _refused(state: Any, text: str, reason: str) -> None:
    before = (state.board(), state.ply, state.to_play, state.hash(), state.cones_left())
    assert state.why_illegal(text) == reason
    assert len(reason) < 200
    with pytest.raises(ValueError, match=r"."):
        state.play(text)
    assert (state.board(), state.ply, state.to_play, state.hash(), state.cones_left()) == before
