"""Matches that both bots call lost or drawn end early, with the numbers behind it; by one bot alone they do not."""

import json
from pathlib import Path

import pytest

from ggp.protocol.records import read_records
from ggp.referee.cli.foreign_options import translate
from ggp.referee.match.adjudication import AdjudicationError, AdjudicationRule, Adjudicator
from ggp.referee.match.analysis import read_analysis
from tests.support.cli import ggp

LOST = AdjudicationRule.parse("resign", "winrate=0.02 plies=4 after=10")
DRAWN = AdjudicationRule.parse("draw", "winrate=0.05,plies=6")
BEHIND = AdjudicationRule.parse("resign", "score=10 plies=4 after=10")
LEVEL = AdjudicationRule.parse("draw", "score=1 plies=6")


def says(rate: object, measure: str = "winrate") -> str:
    return json.dumps({"winrate": 0.5, measure: rate})


def ended(rules: tuple[AdjudicationRule, ...], plies: list[tuple[int, object]]) -> tuple[int, int] | None:
    """The ply after which it ends and the winner; `plies` are seat and what its bot says."""
    adjudicator = Adjudicator(rules)
    for ply, (seat, said) in enumerate(plies, 1):
        if found := adjudicator.see(ply, seat, says(said, rules[0].measure)):
            return ply, found[0]
    return None


def turns(first: object, second: object, plies: int) -> list[tuple[int, object]]:
    return [(1 + ply % 2, (first, second)[ply % 2]) for ply in range(plies)]


@pytest.mark.parametrize(
    ("rule", "plies", "end"),
    [
        (LOST, turns(0.01, 0.99, 40), (14, 2)),
        (LOST, turns(0.98, 0.02, 40), (14, 1)),
        (LOST, turns(0.01, 0.9, 40), None),
        (LOST, turns(0.01, 0.01, 40), None),
        (LOST, turns(0.01, None, 40), None),
        (LOST, [(1, 0.01)] * 40, None),
        (LOST, turns(0.5, 0.5, 20) + turns(0.0, 1.0, 10), (24, 2)),
        (LOST, turns(0.01, 0.99, 12) + turns(0.5, 0.5, 2) + turns(0.01, 0.99, 10), (18, 2)),
        (LOST, [(1, 0.01), (1, 0.02), (2, 0.99), (2, 0.98)] * 10, (14, 2)),
        (BEHIND, turns(-10, 10, 40), (14, 2)),
        (BEHIND, turns(12.5, -10, 40), (14, 1)),
        (BEHIND, turns(-10, 9.9, 40), None),
        (BEHIND, turns(-10, -10, 40), None),
        (BEHIND, turns(-10, None, 40), None),
        (LEVEL, turns(1, -0.5, 40), (6, 0)),
        (LEVEL, turns(1.5, 0, 40), None),
        (LEVEL, turns(-1, 1, 4) + turns(3, 0, 2) + turns(0, 0, 6), (11, 0)),
    ],
)
def test_a_match_ends_when_both_say_so_long_enough(
    rule: AdjudicationRule, plies: list[tuple[int, object]], end: tuple[int, int] | None
) -> None:
    assert ended((rule,), plies) == end


def test_a_draw_and_a_loss_are_looked_for_together() -> None:
    assert ended((LOST, DRAWN), turns(0.55, 0.5, 20)) == (6, 0)
    assert ended((LOST, DRAWN), turns(0.56, 0.5, 20)) is None
    assert ended((LOST, DRAWN), turns(0.9, 0.1, 6) + turns(0.0, 1.0, 20)) == (14, 2)


def test_the_numbers_stand_in_the_detail() -> None:
    adjudicator = Adjudicator((LOST,))
    found = [adjudicator.see(ply, seat, says(rate)) for ply, (seat, rate) in enumerate(turns(0.01, 0.985, 14), 1)]
    assert found[-1] == (
        2,
        "seat 1 was lost for 4 plies, judged by both bots; win rate of seat 1: 0.01 0.015 0.01 0.015",
    )


@pytest.mark.parametrize("text", ["", "{", "[]", '{"winrate": "0.5"}', says(2), says(-0.1), says(True), says(None)])
def test_what_is_no_winrate(text: str) -> None:
    assert read_analysis(text).winrate is None


@pytest.mark.parametrize(
    "text", ["", "winrate=0.5 plies=4", "winrate=x plies=4", "plies=4", "winrate=0.1", "winrate=0.1 plies=1",
             "winrate=0.1 plies=2.5", "winrate=0.1 plies=4 plies=4", "score=400 movecount=3", "winrate=0.1.1 plies=4",
             "score=0 plies=2", "score=10 winrate=0.1 plies=2", "score=2000000 plies=2", "score=3"]
)  # fmt: skip
def test_what_is_no_rule(text: str) -> None:
    with pytest.raises(AdjudicationError, match=r"winrate=0\.02|plies=6|score=10"):
        AdjudicationRule.parse("resign", text)


def test_a_rule_is_written_as_it_is_read() -> None:
    for rule in (LOST, DRAWN, BEHIND, LEVEL):
        kind, _, words = str(rule).partition(" ")
        assert kind == rule.kind and AdjudicationRule.parse(rule.kind, words) == rule
    assert AdjudicationRule.parse("draw", "score=0 plies=2").level == 0


def test_their_words_of_a_rule_become_ours() -> None:
    theirs = "-resign movecount=3 score=400 twosided=true -draw movenumber=40 movecount=8 score=10"
    assert translate(theirs.split()) == ["--resign", "plies=6,score=400", "--draw", "after=80,plies=16,score=10"]


def test_words_of_a_rule_may_follow_the_option() -> None:
    words = ["-resign", "winrate=0.02", "plies=4", "--quiet"]
    assert translate(words) == ["--resign", "winrate=0.02,plies=4", "--quiet"]


@pytest.mark.slow
def test_a_match_ends_by_agreement_and_its_record_says_why(tmp_path: Path) -> None:
    record = tmp_path / "games"
    words = ("match", "yugo,size=5", "greedy:playouts=10", "random", "--games", "2", "--json", "--record", str(record))
    refused = ggp(*words, "--resign", "winrate=0.4", "plies=2")
    assert refused.status == 2 and refused.err.count("\n") == 1 and not record.exists()
    assert "random: lists no ggp-genmove_analyze, so it reports no winrate: remove the rules" in refused.err
    refused = ggp(*words[:2], "greedy", "greedy", "--resign", "score=4", "plies=2")
    assert refused.status == 2 and "greedy-1: reports no score with its moves" in refused.err
    both = ("match", "yugo,size=5", "a=greedy:playouts=10", "b=greedy:playouts=20", "--games", "6", "--quiet")
    ran = ggp(*both, "--record", str(record), "--resign", "winrate=0.4", "plies=2", "--json")
    ends = ran.json["terminations"]
    assert ran.status == 0 and ends["adjudicated"] >= 3 and sum(ends.values()) == 6
    for match in read_records(record.read_bytes().splitlines(keepends=True)):
        assert match.end is not None and match.end.winner
        if match.end.termination != "adjudicated":
            continue
        last = match.plies[-1]
        assert (read_analysis(last.analysis).winrate or 0) <= 0.4 + 1e-9 or (
            read_analysis(last.analysis).winrate or 0
        ) >= 0.6 - 1e-9
        assert f"seat {3 - match.end.winner} was lost for 2 plies, judged by both bots" in match.end.detail
    assert ggp("verify", str(record)).status == 0
    assert ggp("rate", str(record), "--json").json["ratings"][0]["games"] == 6
