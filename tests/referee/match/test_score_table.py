"""Scores and analyses as people read them."""

import json

import pytest

from ggp.referee.match.analysis import analysis_lines, score_lines


def test_a_score_is_a_table_of_both_sides() -> None:
    score = {"black": {"total": 12.5, "edge_stones": 3}, "white": {"total": 7, "komi": 7, "values": [3, 2]}}
    assert score_lines(json.dumps({**score, "final": False, "rules_by": "area"}), 80) == [
        "       total  edge stones  komi  values",
        "black   12.5            3     -       -",
        "white      7            -     7    3, 2",
        "the game is not over",
        "rules by: area",
    ]
    assert score_lines(json.dumps({**score, "final": True}), 30) == [
        "black, total: 12.5",
        "black, edge stones: 3",
        "black, komi: -",
        "black, values: -",
        "white, total: 7",
        "white, edge stones: -",
        "white, komi: 7",
        "white, values: 3, 2",
    ]


def test_a_game_without_totals_has_no_column_for_them() -> None:
    lines = score_lines('{"black": {"total": null, "line": 4}, "white": {"total": null, "line": 3}, "final": true}', 80)
    assert lines == ["       line", "black     4", "white     3"]
    assert score_lines('{"black": {"total": null}, "white": {"total": null}}', 80)[0] == "       total"


@pytest.mark.parametrize("answer", ["[1]", "B+3.5", '{"black": 1, "white": 2}', '{"black": {}}', "[" * 5000])
def test_another_answer_is_shown_as_it_is(answer: str) -> None:
    assert "".join(score_lines(answer, 80)).replace(" ", "") == answer.replace(" ", "")


def test_an_analysis_has_a_line_for_each_thing_said() -> None:
    said = {
        "winrate": 0.5312,
        "scoreLead": 2.5,
        "visits": 800,
        "pv": ["D4", "E5"],
        "my_own": {"a_b": [1, 2.5]},
        "x": None,
    }
    assert analysis_lines(json.dumps(said), 80) == [
        "win rate: 53.1 %",
        "score lead: +2.5",
        "visits: 800",
        "pv: D4 E5",
        "my own: a b 1 2.5",
        "x: -",
    ]
    assert analysis_lines("no JSON\x1b[2J", 80) == ["no JSON\\x1b[2J"]
    assert analysis_lines("", 80) == []
    assert analysis_lines('{"winrate": 7, "lead": true}', 80) == ["winrate: 7", "lead: yes"]
    assert all(len(line) <= 40 for line in analysis_lines(json.dumps({"pv": ["D4"] * 300}), 40))
