"""What the page of a match says of a record: plies in words, analysis, scores, overlays."""

import re

import pytest
from markupsafe import escape
from msgspec.structs import replace

from ggp.protocol.records import Record
from ggp.referee.server.web.boards import cell_finder, with_overlays
from ggp.referee.server.web.match_page import colours, expected_line, match_page, position, score_table
from ggp.referee.server.web.pages import ago, control_in_words, in_words, result_in_words
from ggp.referee.server.web.site import Delay
from tests.support.sample_records import CUT_OFF, PLIES, RECORD, START

CELLS = {"A1": (0.0, 0.0), "B1": (40.0, 0.0), "1,-1": (0.0, 40.0), "2,-1": (40.0, 40.0)}


@pytest.mark.parametrize(
    ("move", "words"),
    [
        ("D4", "D4"),
        ("bid:7", "bids 7"),
        ("swap-sides", "takes the other side"),
        ("keep-sides", "keeps its side"),
        ("button", "takes the button"),
        ("pass", "passes"),
        ("dead:", "names no dead group"),
        ("dead:A1,B2", "names dead: A1 B2"),
        ("\u202eevil\x1b[2J", "\N{REPLACEMENT CHARACTER}evil\N{REPLACEMENT CHARACTER}[2J"),
    ],
)
def test_a_move_is_said_as_what_it_is(move: str, words: str) -> None:
    assert in_words(move) == words


def test_an_analysis_has_facts_and_the_line_after_the_move() -> None:
    analysis = '{"winrate": 0.25, "pv": ["D4", "E5", "F6"], "visits": 7}'
    assert expected_line("D4", analysis) == ("E5", "F6") and expected_line("A1", analysis) == ()
    record = Record(START, (replace(PLIES[0], analysis=analysis),), None)
    assert position(record, 1, None)["analysis"] == [("win rate", "25.0 %"), ("pv", "D4 E5 F6"), ("visits", "7")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "[1]",
        '{"winrate": 7, "pv": "D4"}',
        '{"winrate": NaN}',
        '{"winrate": "x", "pv": [[1]]}',
        "[" * 9999,
    ],
)
def test_an_analysis_that_is_none_says_no_chance(text: str) -> None:
    record = Record(START, (replace(PLIES[0], analysis=text),), None)
    assert match_page(record).rates == [] and expected_line(PLIES[0].move, text) == ()
    assert len(position(record, 1, None)["analysis"]) <= 2


def test_chances_are_those_of_seat_1() -> None:
    plies = tuple(replace(ply, analysis='{"winrate": 0.25}') for ply in PLIES)
    rates = match_page(Record(START, plies, None)).rates
    assert {(seat, rate) for _, seat, rate in rates} <= {(1, 0.25), (2, 0.75)} and len(rates) == len(PLIES)


def test_a_score_is_a_table_of_both_sides() -> None:
    score = '{"black": {"total": 3, "groups": [2, 1]}, "white": {"total": null, "komi": 0.5}, "final": true}'
    assert score_table(score) == [("total", "3", ""), ("groups", "2 1", ""), ("komi", "", "0.5")]
    assert score_table("nonsense") == score_table('{"black": 1}') == []


def test_clocks_are_those_of_the_position() -> None:
    plies = tuple(replace(ply, left=1000 * ply.ply, seat=2 - ply.ply % 2) for ply in PLIES)
    record = Record(START, plies, None)
    assert [position(record, ply, None)["left"] for ply in range(3)] == [
        ["", ""],
        ["1.00 s", ""],
        ["1.00 s", "2.00 s"],
    ]


def test_colours_follow_a_swap() -> None:
    assert colours(RECORD, 0, "black", 1) == ("black", "white")
    assert colours(RECORD, 2, "white", 1) == ("white", "black")
    assert colours(RECORD, 2, "black", 2) == ("white", "black")


def test_a_position_without_a_picture_still_has_its_words() -> None:
    shown = position(RECORD, 1, None, "there is no engine.")
    assert (shown["svg"], shown["problem"]) == ("", "there is no engine.") and shown["caption"].startswith("ply 1 of")


def test_moves_name_cells() -> None:
    assert cell_finder(CELLS)("1,-1/2,-1") == ["1,-1", "2,-1"]
    assert cell_finder(CELLS)("A1+B1") == ["A1", "B1"]
    assert cell_finder(CELLS)("pass") == cell_finder(CELLS)("bid:7") == []


def test_overlays_have_a_spot_for_each_cell_where_a_legal_move_begins_and_the_line_in_order() -> None:
    drawn = with_overlays("<svg></svg>\n", CELLS, ["A1+B1", "A1", "pass"], ["B1", "A1", "B1"], "white")
    groups = dict(re.findall(r'<g class="(\w+)">(.*?)</g>', drawn, re.DOTALL))
    assert groups["cells"].count("data-at") == len(CELLS)
    assert groups["legal"].count("<circle") == 1
    assert re.findall(r">(\d)</text>", groups["line"]) == ["1", "2"], "a cell has the first number only"
    assert drawn.endswith("</svg>\n") and with_overlays("", {}, [], [], "black") == ""


@pytest.mark.parametrize(
    ("delay", "idle", "shown"),
    [
        (Delay(), 0, 2),
        (Delay(plies=1), 0, 1),
        (Delay(plies=9), 0, 0),
        (Delay(ms=1000), 1000, 2),
        (Delay(ms=1000), 999, 1),
        (Delay(ms=10**6), 0, 0),
    ],
)
def test_a_match_is_held_back_until_it_is_over(delay: Delay, idle: int, shown: int) -> None:
    plies = tuple(replace(ply, ms=500) for ply in PLIES[:2])
    assert len(delay.cut(Record(START, plies, None), idle).plies) == shown
    assert delay.cut(RECORD, idle) is RECORD
    assert delay.cut(CUT_OFF, 10**9).start == START


@pytest.mark.parametrize(
    ("result", "termination", "words"),
    [
        ("W+12.5", "rules", "White wins by 12.5 points"),
        ("B+1", "rules", "Black wins by 1 point"),
        ("B+", "rules", "Black wins"),
        ("B+R", "resignation", "Black wins by resignation"),
        ("W+T", "time", "White wins on time"),
        ("B+F", "protocol_error", "Black wins by a fault of its opponent (protocol error)"),
        ("0", "rules", "Draw"),
        ("0", "ply_limit", "Draw, at the limit of moves"),
        ("", "engine_failed", "No result: engine failed"),
        ("W+²", "rules", "White wins"),
        ("W+.", "rules", "White wins"),
    ],
)
def test_a_result_is_said_in_words(result: str, termination: str, words: str) -> None:
    assert result_in_words(result, termination) == words


@pytest.mark.parametrize(
    ("control", "words"),
    [
        ("5+0.05", "5 s + 0.05 s a move"),
        ("60+1", "1 min + 1 s a move"),
        ("90+0", "1.5 min a game"),
        ("300", "5 min a game"),
        ("none", "no clock"),
        ("10/5+3/2", "10/5+3/2"),
    ],
)
def test_a_time_control_is_said_in_words(control: str, words: str) -> None:
    assert control_in_words(control) == words


@pytest.mark.parametrize("at", ["2026-11-28T22:38:21Z", "2026-11-28T22:38:21+00:00", "2026-11-28T22:38:21.123456"])
def test_a_time_is_an_element_with_its_date(at: str) -> None:
    assert re.fullmatch(r'<time datetime="2026-11-28T22:38:21Z" title="2026-11-28 22:38:21 UTC">.+</time>', ago(at))


def test_a_time_of_another_zone_is_shown_in_utc() -> None:
    assert 'title="2026-11-28 20:38:21 UTC"' in ago("2026-11-28T22:38:21+02:00")


@pytest.mark.parametrize("at", ["", "yesterday", "9999-99-99T99:99:99", "<b>", "0001-01-01T00:00:00+23:59"])
def test_what_is_not_a_time_is_shown_as_it_is_written(at: str) -> None:
    assert ago(at) == escape(at)
