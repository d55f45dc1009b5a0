"""Adjudication with real bots: by the scores that both say, and by a bot that judges; in matches and ladders."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from ggp.protocol.records import Record, read_records
from tests.support.cli import Ran, ggp
from tests.support.ladders import open_store

pytestmark = pytest.mark.slow

# Plays the first legal move, and says as its score what black is ahead by: 3 points more after each ply.
SAYS = """
import sys
from ggp.bots.sdk import run

def choose(position):
    ahead = 3 * position.ply * (1 if position.to_play == "black" else -1)
    position.analysis["score"] = ahead if len(sys.argv) < 2 else int(sys.argv[1])
    return position.legal_moves()[0]

run(choose, analysis=True, words=())
"""
# Judges as `ggp bot greedy` would, and ends at its fifth question.
DIES = """
import os
from ggp.bots.sdk import run
asked = 0

def choose(position):
    global asked
    asked += 1
    if asked == 5:
        os._exit(3)
    position.analysis["winrate"] = 0.5
    return position.legal_moves()[0]

run(choose, analysis=True, words=())
"""


def program(folder: Path, name: str, text: str, *words: str) -> str:
    file = folder / f"{name}.py"
    file.write_text(text, encoding="utf-8")
    return shlex.join([sys.executable, str(file), *words])


def play(folder: Path, one: str, two: str, *words: str) -> Ran:
    record = ("--record", str(folder / "games"), "--json", "--jobs", "1")
    return ggp("match", "yugo,size=5", f"a={one}", f"b={two}", "--games", "2", *record, *words)


def records(folder: Path) -> list[Record]:
    return list(read_records((folder / "games").read_bytes().splitlines(keepends=True)))


def test_both_bots_say_a_score(tmp_path: Path) -> None:
    bot = program(tmp_path, "says", SAYS)
    ran = play(tmp_path, bot, bot, "--resign", "score=20 plies=4 after=4")
    assert (ran.status, ran.json["terminations"]) == (0, {"adjudicated": 2})
    for record in records(tmp_path):
        assert record.end is not None and (record.end.result, record.end.winner) == ("B+R", 1)
        assert record.end.detail.startswith(
            "seat 2 was lost for 4 plies, judged by both bots; points that seat 1 is ahead: 2"
        )
        assert record.end.plies == 11 and record.start.adjudication == "resign score=20 plies=4 after=4"
    assert ggp("verify", str(tmp_path / "games")).status == 0


def test_bots_that_disagree_play_on(tmp_path: Path) -> None:
    one, two = program(tmp_path, "says", SAYS, "30"), program(tmp_path, "too", SAYS, "30")
    ran = play(tmp_path, one, two, "--resign", "score=20 plies=4")
    assert (ran.status, ran.json["terminations"]) == (0, {"rules": 2})


def test_a_bot_judges_where_the_players_say_nothing(tmp_path: Path) -> None:
    rule, judge = ("--resign", "winrate=0.45 plies=3 after=6"), "greedy:playouts=20,resign=off"
    ran = play(tmp_path, "random", "random:seed=4", *rule, "--adjudicator", judge)
    assert (ran.status, ran.err) == (0, "")
    ends = [record.end for record in records(tmp_path)]
    assert ran.json["terminations"].get("adjudicated", 0) >= 1
    for record, end in zip(records(tmp_path), ends, strict=True):
        assert record.start.adjudication == f"resign winrate=0.45 plies=3 after=6; by {judge}"
        assert not any(ply.analysis for ply in record.plies)
        if end and end.termination == "adjudicated":
            who, _, rates = end.detail.partition("; win rate of seat 1: ")
            lost = 3 - end.winner
            assert who == f"seat {lost} was lost for 3 plies, judged by the adjudicator {judge}"
            assert all(0.55 <= float(rate) <= 1 if lost == 2 else 0 <= float(rate) <= 0.45 for rate in rates.split())
            assert end.winner in (1, 2) and end.plies >= 9
    assert [bot["name"] for bot in ran.json["bots"]] == ["a", "b"], "the judge is none of them"


def test_a_judge_that_dies_judges_the_next_match_again(tmp_path: Path) -> None:
    judge = program(tmp_path, "dies", DIES)
    ran = play(tmp_path, "random", "random:seed=4", "--draw", "winrate=0.1 plies=100", "--adjudicator", judge)
    assert (ran.status, ran.json["terminations"]) == (0, {"rules": 2})
    for record in records(tmp_path):
        assert record.end is not None and record.end.culprit == ""
        assert any(
            "the adjudicator failed after ply 5 and is not asked again: " in text for text in record.end.warnings
        )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--adjudicator", "greedy"), "--adjudicator: write what it is to judge by"),
        (("--adjudicator", "random", "--resign", "winrate=0.1 plies=2"), "adjudicator: lists no ggp-genmove_analyze"),
        (("--adjudicator", "greedy", "--resign", "score=9 plies=2"), "adjudicator: reports no score with its moves"),
        (("--adjudicator", "no-such-bot -x", "--resign", "winrate=0.1 plies=2"), "no program called 'no-such-bot'"),
        (("--draw", "winrate=0.1 plies=2"), "a: lists no ggp-genmove_analyze"),
        (("--resign", "score=9"), "--resign: plies must be a whole number from 2"),
    ],
)
def test_what_cannot_be_adjudicated_is_one_line_and_nothing_is_played(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    ran = play(tmp_path, "random", "greedy", *words)
    assert ran.status == 2 and said in ran.err and ran.err.count("\n") == 1 and not (tmp_path / "games").exists()


def ladder(folder: Path, pool: str, *bots: str) -> Path:
    file = folder / "club.toml"
    tables = "".join(f"[bot.{name}]\ncommand = {json.dumps(bot)}\n" for name, bot in zip("ab", bots, strict=True))
    file.write_text(f'[pool.main]\ngame = "yugo,size=5"\n{pool}\n{tables}', encoding="utf-8")
    return file


def test_a_ladder_adjudicates(tmp_path: Path) -> None:
    bot = program(tmp_path, "says", SAYS)
    file = ladder(tmp_path, 'resign = "score=20 plies=4 after=4"', bot, f"{bot} ")
    ran = ggp("ladder", "run", str(file), "--games", "2", "--quiet", "--jobs", "1")
    assert ran.status == 0, ran.err
    with open_store(file) as store:
        rows = list(store.games())
        assert [row.termination for row in rows] == ["adjudicated"] * 2
    file.unlink()
    judged = 'resign = "winrate=0.45 plies=3 after=6"\nadjudicator = "greedy:playouts=20,resign=off"\nname = "x"'
    file = ladder(tmp_path, judged.replace('\nname = "x"', "\nopenings = 2"), "random", "random:seed=4")
    ran = ggp("ladder", "run", str(file), "--games", "4", "--quiet", "--jobs", "1")
    assert ran.status == 0, ran.err
    with open_store(file) as store:
        found = [row for row in store.games() if row.termination == "adjudicated" and row.plies >= 9]
    assert any("the adjudicator greedy" in row.detail for row in found)


@pytest.mark.parametrize(
    ("pool", "said"),
    [
        ('resign = "winrate=0.1"', "club.toml: pool.main.resign: plies must be a whole number"),
        ('draw = "x=1"', "club.toml: pool.main.draw: invalid rule 'x=1': write winrate=0.02 plies=6 after=20"),
        ('adjudicator = "greedy"', "club.toml: pool.main.adjudicator: has nothing to judge by"),
        ('resign = "winrate=0.1 plies=2"', "club.toml: bot.a.command: lists no ggp-genmove_analyze"),
        (
            'resign = "score=4 plies=2"\nadjudicator = "greedy"',
            "club.toml: pool.main.adjudicator: reports no score with its moves",
        ),
    ],
)
def test_what_a_ladder_cannot_adjudicate(tmp_path: Path, pool: str, said: str) -> None:
    file = ladder(tmp_path, pool, "random", "greedy")
    ran = ggp("ladder", "run", str(file), "--games", "2")
    assert ran.status == 2 and said in ran.err and ran.err.count("\n") == 1 and not (tmp_path / "club.db").exists()


def test_a_lobby_adjudicates_nothing(tmp_path: Path) -> None:
    file = ladder(tmp_path, 'resign = "winrate=0.1 plies=2"', "greedy", "greedy:playouts=9")
    file.write_text(f"[lobby]\nkeys = false\n{file.read_text(encoding='utf-8')}", encoding="utf-8")
    ran = ggp("serve", str(file))
    assert ran.status == 2 and "pool.main.resign: is for ladders alone: remove it" in ran.err
