"""GoGui's ruler views of each game: whole games through them alone, shapes of boards, points of compound moves."""

import random

import pytest

from engines.games.taigo import GAME as TAIGO
from engines.games.yugo import GAME as YUGO
from engines.gogui_input import cell_of, column_name, place, point_of
from tests.support.memory_session import MemorySession

STARTS = {
    "go size=3": 6,
    "go size=2 agreement=on": 4,
    "yugo size=4": 6,
    "yugo size=3 agreement=on handicap=2": 4,
    "laido size=3": 6,
    "laido size=2 pie=off half_point=first": 4,
    "stigmergy size=2": 6,
    "stigmergy size=3 komi=3": 4,
    "stigmergy size=4 komi=-2": 2,
    "taugo size=6": 2,
    "taugo size=7 pie=off cut_from=any": 1,
    "taigo": 3,
    "taigo tiles=100 dark_cones=20 light_cones=20": 1,
    "taigo tiles=60 dark_cones=0 light_cones=2": 3,
}
"""Games and how many of them are played."""


def test_every_game_is_here() -> None:
    games = set(MemorySession()("ggp-games").split())
    assert games == {start.split()[0] for start in STARTS}


def view(desk: MemorySession) -> tuple[str, ...]:
    """What GoGui sees."""
    looks = ("board", "legal_moves", "side_to_move", "final_result", "captured_count", "board_gfx")
    return (*(desk(f"gogui-rules_{look}") for look in looks), desk("ggp-history"), desk("showboard"))


@pytest.mark.slow
@pytest.mark.parametrize(("start", "games"), STARTS.items(), ids=STARTS)
def test_whole_games_by_the_ruler_commands_alone(start: str, games: int) -> None:
    """What GoGui does: ask what is legal, play it, look at the board; now and then go back and forth.

    The game that comes of it is the one that a second engine plays from its history, and every undo is the exact
    inverse of a play.
    """
    desk = MemorySession(start, gogui=True)
    for seed in range(games):
        chance = random.Random(f"{start} {seed}")
        desk("clear_board")
        plays, views = list[str](), [view(desk)]
        while points := desk("gogui-rules_legal_moves").split():
            assert desk("gogui-rules_final_result") == "undecided"
            side = desk("gogui-rules_side_to_move")
            passes = points[-1] == "pass"
            if not passes:
                assert desk.answer(f"play {side} pass").startswith("? illegal move")
                assert view(desk) == views[-1]
            points = points[: len(points) - passes]
            assert points == sorted(set(points))
            move = chance.choice(points) if points and not (passes and chance.random() < 0.2) else "pass"
            play = f"{side} {move}"
            desk(f"play {play}")
            plays.append(play)
            views.append(view(desk))
            if chance.random() < 0.1:
                back = chance.randint(1, min(6, len(plays)))
                for count in range(1, back + 1):
                    desk("undo")
                    assert view(desk) == views[-1 - count]
                desk(f"gogui-play_sequence {' '.join(plays[-back:])}")
                assert view(desk) == views[-1]
        check_the_end(desk, start)


@pytest.mark.parametrize("gogui", [False, True], ids=["words", "gogui"])
@pytest.mark.parametrize("start", STARTS)
def test_legal_moves_are_those_that_play_accepts(start: str, gogui: bool) -> None:
    """In every phase: of the listed ones each of a sample is accepted, of the points that are not listed none."""
    chance = random.Random(f"{start} {gogui}")
    desk = MemorySession(start, gogui)
    seen = 0
    while desk.fields()["phase"] != "over" and seen < 80:
        seen += 1
        side, listed = desk("gogui-rules_side_to_move"), desk("gogui-rules_legal_moves").split()
        others = sorted({*board_points(desk), "pass"} - {*listed})
        tried = {*chance.sample(listed, min(3, len(listed))), *listed[-1:]}
        refused = {*chance.sample(others, min(3, len(others))), *({"pass"} - {*listed})}
        for move in sorted(tried | refused):
            accepted = desk.answer(f"play {side} {move}").startswith("=")
            assert accepted == (move in listed), f"{move} after {desk('ggp-history')}"
            if accepted:
                desk("undo")
        if gogui:
            desk(f"play {side} {chance.choice(listed)}")
        else:
            desk.play(chance.choice(desk("ggp-legal_moves").split()))


def board_points(desk: MemorySession) -> list[str]:
    """Every point of GoGui's board that is a cell."""
    rows = desk("gogui-rules_board").split("\n")
    return [
        f"{column_name(x)}{len(rows) - y}" for y, row in enumerate(rows) for x, cell in enumerate(row) if cell != "?"
    ]


def check_the_end(desk: MemorySession, start: str) -> None:
    """The result stands, and a second engine that plays the history comes to the same position."""
    result = desk("gogui-rules_final_result")
    assert result == desk.fields()["result"]
    second = MemorySession(start)
    for ply in desk("ggp-history").split("\n"):
        second(f"ggp-play {ply.partition(' ')[2]}")
    for look in ("ggp-hash", "ggp-score", "gogui-rules_final_result", "gogui-rules_board"):
        assert second(look) == desk(look)


# --- boards and their names -------------------------------------------------------------------------------------------


def test_columns_go_on_after_z_with_two_letters() -> None:
    assert [column_name(column) for column in (0, 7, 8, 24, 25, 49, 50, 51)] == [
        "A",
        "H",
        "J",
        "Z",
        "AA",
        "AZ",
        "BA",
        "BB",
    ]
    assert [place(point) for point in ("A1", "Z25", "AA26", "BB52")] == [(0, 0), (24, 24), (25, 25), (51, 51)]
    for column in range(52):
        assert place(f"{column_name(column)}7") == (column, 6)


def test_taigo_has_a_window_round_the_first_tile() -> None:
    assert [point_of(TAIGO, cell) for cell in ("0,0", "1,0", "0,-1", "-25,-25", "25,25")] == [
        "AA26", "AB26", "AA25", "A1", "BA51"]  # fmt: skip
    assert [point_of(TAIGO, cell) for cell in ("26,0", "-26,0", "0,26", "0,-26")] == [""] * 4
    for cell in ("0,0", "-25,25", "3,-7"):
        assert cell_of(TAIGO, point_of(TAIGO, cell).lower()) == cell
    assert [cell_of(TAIGO, text) for text in ("BB1", "A52", "0,0", "pass", "I5", "AI5", "A0", "")] == [""] * 8
    assert point_of(YUGO, "D4") == cell_of(YUGO, "d4") == "D4" and cell_of(YUGO, "button") == ""
    desk = MemorySession("taigo")
    assert desk("gogui-rules_board_size") == "51 hex"
    rows = desk("gogui-rules_board").split("\n")
    assert [len(row) for row in rows] == [51] * 51
    assert rows[51 - 26] == "." * 25 + "XO" + "." * 24
    assert "".join(rows).count(".") == 51 * 51 - 2


def test_a_hexagon_is_a_rhombus_without_two_corners() -> None:
    desk = MemorySession("laido size=3 pie=off")
    desk.play("A3 E3 C1")
    assert desk("gogui-rules_board_size") == "5 hex"
    assert desk("gogui-rules_board") == "...??\n....?\nX...O\n?....\n??X.."
    assert desk("gogui-rules_legal_moves") == "A4 A5 B2 B3 B4 B5 C2 C3 C4 C5 D1 D2 D3 D4 E1 E2 pass"


def test_taugo_has_no_corners_and_enters_a_cut_point_by_point() -> None:
    desk = MemorySession("taugo size=8 pie=off", gogui=True)
    desk.play("D3 C5 D4 D5 pass E5")
    before = desk("gogui-rules_board")
    assert before == "?......?\n........\n........\n..OOO...\n...X....\n...X....\n........\n?......?"
    desk("play b D5")
    assert desk("gogui-rules_legal_moves") == "D6"
    assert desk.fails("play b pass") == "illegal move: D5 is no whole turn; next may come D6"
    desk("play b D6")
    assert desk("gogui-rules_legal_moves") == "D7 pass"
    assert desk("gogui-rules_board").split("\n")[2:4] == ["...X....", "..OXO..."]
    desk("play b pass")
    assert desk("ggp-history").endswith("1 black D5+D6") and desk("gogui-rules_captured_count") == "1 0"
    for _ in range(3):
        desk("undo")
    assert desk("gogui-rules_board") == before
