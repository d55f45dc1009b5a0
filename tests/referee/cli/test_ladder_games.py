"""`ggp ladder games|pair|bot`: matches that were really played, faults among them, and what is added up of them."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from ggp.referee.cli import ladder_bots, ladder_games, ladder_standings
from ggp.referee.ladder.rating import rate_seats
from ggp.referee.ratings.sprt import Hypotheses, effect, judge
from tests.support.chaos import chaos
from tests.support.stores import LOST, TIED, WON, Filled, entrant, ladder, pool, real_setup

Capture = pytest.CaptureFixture[str]
Command = Callable[[list[str]], int]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """Two honest pairs; dan, who plays illegal moves, loses two games to bob."""
    with Filled(tmp_path_factory.mktemp("club"), ladder(pools=[pool(size="3", control="20")])) as filled:
        filled.play(real_setup("ann", "bob"))
        filled.play(real_setup("cat", "ann"))
        filled.play(real_setup("bob", chaos("fault=illegal,move=2", "dan")))
        yield filled


def _json(capsys: Capture, main: Command, *words: str) -> Any:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_games_are_listed_newest_first(played: Filled, capsys: Capture) -> None:
    found = _json(capsys, ladder_games.run_games, str(played.path))["games"]
    assert [row["key"] for row in found] == [f"club-fast-{details}-{game}" for details in (2, 1, 0) for game in (2, 1)]
    assert [(row["first"], row["second"]) for row in found[:2]] == [("dan", "bob"), ("bob", "dan")]
    assert {row["termination"] for row in found[:2]} == {"illegal_move"} and found[0]["culprit"] == "dan"
    assert ladder_games.run_games([str(played.path), "--limit", "2"]) == 0
    head, one, _, word = capsys.readouterr().out.splitlines()
    assert head.split()[0] == "key" and one.split()[0] == "club-fast-2-2" and "dan: " in one
    assert word.startswith("the newest 2: --limit shows more")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "count"),
    [
        ([], 6),
        (["--bot", "ann"], 4),
        (["--bot", "ann@v1"], 4),
        (["--bot", "ann", "--against", "bob"], 2),
        (["--bot", "dan", "--against", "ann"], 0),
        (["--termination", "illegal_move"], 2),
        (["--termination", "time"], 0),
        (["--pool", "fast"], 6),
        (["--since", "1h"], 6),
        (["--since", "2020-01-01"], 6),
        (["--since", "2999-01-01T12:00"], 0),
        (["--limit", "3"], 3),
        (["--limit", "0"], 6),
    ],
)
def test_games_are_chosen(words: list[str], count: int, played: Filled, capsys: Capture) -> None:
    assert len(_json(capsys, ladder_games.run_games, str(played.path), *words)["games"]) == count
    assert ladder_games.run_games([str(played.path), *words]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("club-fast-")]
    assert len(lines) == count


def test_what_ended_before_is_left_out(season: Filled, capsys: Capture) -> None:
    """All matches of the season ended on 2026-11-21 at noon."""
    for since, count in (("2026-11-21T12:00", 20), ("2026-11-21T12:00:01", 0), ("2026-11-21T14:00+02:00", 20)):
        found = _json(capsys, ladder_games.run_games, str(season.path), "--since", since, "--limit", "0")
        assert len(found["games"]) == count


def test_one_match_with_what_a_fault_left_behind(played: Filled, capsys: Capture) -> None:
    key = "club-fast-2-1"
    assert ladder_games.run_games([key, str(played.path)]) == 0
    told = capsys.readouterr().out
    for text in (
        f"match        {key}",
        "seat 1       bob (",
        "won by bob",
        "termination  illegal_move",
        "at fault     dan",
        "dialogue:",
        f"ggp show {played.path}#{key} ",
        f"ggp verify {played.path}#{key} ",
    ):
        assert text in told, told
    found = _json(capsys, ladder_games.run_games, str(played.path), key)
    assert found["start"]["match"] == key and found["end"]["culprit"] == "seat2" and len(found["ms"]) == 2
    assert ladder_games.run_games([key, str(played.path), "--bot", "bob"]) == 2
    assert "a KEY is one match" in capsys.readouterr().err


def test_a_pair_is_judged_by_its_pairs(season: Filled, capsys: Capture) -> None:
    found = _json(capsys, ladder_bots.run_pair, "ann", "bob", str(season.path))
    assert (found["games"], found["points"], found["penta"]) == (6, 4.5, [0, 0, 1, 1, 1])
    for name, value in asdict(effect([0, 0, 1, 1, 1])).items():
        assert found[name] == value
    assert found["tests"] == {}, "no test was asked for"
    (id,) = season.pools.values()
    ids = {seat.label: str(seat.id) for seat in season.store.seats(id)}
    ratings = rate_seats(season.store.meetings(id), season.store.seats(id))
    apart = ratings.difference(ids["ann"], ids["bob"])
    assert found["rating_difference"] == pytest.approx({"elo": apart.elo, "se": apart.se, "los": apart.los}, abs=1e-6)
    assert [row["key"] for row in found["last"]][:2] == ["test-1-2-2", "test-1-2-1"] and len(found["last"]) == 5


def test_a_pair_seen_from_the_other_side(season: Filled, capsys: Capture) -> None:
    one = _json(capsys, ladder_bots.run_pair, "ann", "bob", str(season.path))
    other = _json(capsys, ladder_bots.run_pair, "bob", "ann", str(season.path))
    assert other["penta"] == one["penta"][::-1] and other["points"] == one["games"] - one["points"]
    assert other["elo"] == pytest.approx(-one["elo"])
    assert other["rating_difference"]["elo"] == pytest.approx(-one["rating_difference"]["elo"], abs=1e-6)


def test_own_hypotheses_may_be_tested(season: Filled, capsys: Capture) -> None:
    words = ("ann", "bob", str(season.path), "--elo0", "0", "--elo1", "100", "--alpha", "0.1")
    found = _json(capsys, ladder_bots.run_pair, *words, "--model", "logistic")
    ((name, tested),) = found["tests"].items()
    assert name == "[0, 100]" and (tested["model"], tested["alpha"], tested["beta"]) == ("logistic", 0.1, 0.05)
    expected = judge([0, 0, 1, 1, 1], Hypotheses(0, 100, 0.1, 0.05, "logistic"))
    assert (tested["llr"], tested["upper"]) == (expected.llr, expected.upper)
    games_only = _json(capsys, ladder_bots.run_pair, *words, "--model", "bayes")["tests"]["[0, 100]"]
    assert games_only["llr"] == judge([1, 1, 4], Hypotheses(0, 100, 0.1, 0.05, "bayes")).llr


def test_a_pair_in_words(season: Filled, capsys: Capture) -> None:
    assert ladder_bots.run_pair(["dan", "bob", str(season.path)]) == 0
    told = capsys.readouterr().out
    assert "dan 0 - 1 bob   +0 =0 -1, 0.0% of 1 game" in told and "1 of dan, 0 of bob; 1 void" in told
    assert "LLR" not in told, "no pair counts: one of its games is void"
    assert ladder_bots.run_pair(["ann", "dan", str(season.path)]) == 0
    told = capsys.readouterr().out
    for text in ("pairs        LL 0, LD 0, DD+WL 1, WD 0, WW 1", "last games"):
        assert text in told
    assert "LLR" not in told, "the ladder is no test, and none was asked for"
    assert "2 of dan" in told and "(model davidson)" in told


TEST = """
store = "club.db"
[format]
kind = "test"
bots = ["new", "old"]
preset = "big"
[bot.old]
command = "old"
[bot.new]
command = "new"
parent = "old"
"""


def two_versions(folder: Path, *results: tuple[int, tuple[tuple[int, str], tuple[int, str]]]) -> str:
    """The file of a test, whose store holds so many pairs with these endings, new first."""
    with Filled(folder, ladder([entrant("old"), entrant("new")])) as filled:
        for count, endings in results:
            for _ in range(count):
                filled.meet("new", "old", *endings)
    file = folder / "test.toml"
    file.write_text(TEST, encoding="utf-8")
    return str(file)


def test_standings_and_pair_agree_about_two_bots(tmp_path: Path, capsys: Capture) -> None:
    """The difference and its error, by the ratings; and by pairs, as far as models may agree."""
    file = two_versions(tmp_path, (10, (WON, LOST)), (10, (LOST, WON)), (30, (WON, WON)), (10, (LOST, LOST)))
    assert ladder_standings.run_standings([file]) == 0
    _, _, best, last, zero, *_ = capsys.readouterr().out.splitlines()
    cells = best.split()
    difference, error = cells[-3:-1]
    assert cells[1] == "new" and float(cells[2]) == pytest.approx(-float(last.split()[2]), abs=0.1)
    assert float(difference) == pytest.approx(2 * float(cells[2]), abs=0.11)
    assert float(error) == pytest.approx(2 * float(cells[3]), abs=0.11)
    assert zero == "zero is the mean of these bots; ± is 95 %, of the difference to that mean"
    assert ladder_bots.run_pair(["new", "old", file]) == 0
    told = capsys.readouterr().out
    assert f"new is +{difference} ± {error} Elo from old" in told
    by_pairs = re.search(r"Elo +(\S+) ± (\S+) \(95 %\), logistic, by pairs", told)
    assert by_pairs is not None and float(by_pairs[1]) == pytest.approx(float(difference), abs=10)


def test_the_ratio_is_of_the_ladders_own_test(tmp_path: Path, capsys: Capture) -> None:
    """Of neither presets nor a store, which does not know the format; and it is the new version that is tested."""
    file = two_versions(tmp_path, (4, (WON, LOST)), (3, (WON, WON)))
    found = _json(capsys, ladder_bots.run_pair, "old", "new", file)
    ((name, tested),) = found["tests"].items()
    expected = judge([0, 0, 4, 0, 3], Hypotheses(0, 50))
    assert (name, tested["new"], tested["elo1"], tested["state"]) == ("test", "new", 50, expected.state)
    assert tested["llr"] == expected.llr > 0 > found["elo"]
    assert ladder_bots.run_pair(["new", "old", file]) == 0
    told = capsys.readouterr().out
    assert told.count("LLR") == 1 and "(is new better? normalized Elo 0 against 50)" in told
    assert ladder_bots.run_pair(["new", "old", str(tmp_path / "club.db")]) == 0
    assert "LLR" not in capsys.readouterr().out


def test_a_clean_sweep_has_no_elo_in_words_and_a_bound_in_json(tmp_path: Path, capsys: Capture) -> None:
    file = two_versions(tmp_path, (20, (WON, WON)))
    assert ladder_bots.run_pair(["new", "old", file]) == 0
    told = capsys.readouterr().out
    assert "Elo          too few games for an Elo\n" in told
    assert "nElo" not in told and "∞" not in told and told.count("LOS") == 1, "that of the ratings, which have a prior"
    found = _json(capsys, ladder_bots.run_pair, "old", "new", file)
    assert found["elo_high"] == pytest.approx(-316.6, abs=0.1)
    assert {found[key] for key in ("elo", "elo_low", "elo_error", "nelo", "nelo_error", "los")} == {None}


def test_bots_that_never_shared_a_pool(tmp_path: Path, capsys: Capture) -> None:
    bots = [entrant("ann"), entrant("cat"), entrant("bob", pools=("slow",)), entrant("dan", pools=("slow",))]
    with Filled(tmp_path, ladder(bots, [pool(), pool("slow", control="10")])) as filled:
        assert ladder_bots.run_pair(["ann", "bob", str(filled.path)]) == 2
        assert "ann and bob are in no pool together" in capsys.readouterr().err


def test_a_bot_as_it_fares(season: Filled, capsys: Capture) -> None:
    season.rate()
    found = _json(capsys, ladder_bots.run_bot, "dan", str(season.path))
    (career,) = found["pools"]
    assert career["score"]["losses"] == 4 and career["score"]["forfeits"] == 3 and career["rank"] == 3
    assert (career["seat1"]["wins"], career["seat1"]["losses"], career["seat2"]["losses"]) == (1, 1, 3)
    assert career["black"] == {"wins": 1, "losses": 1} and career["white"] == {"wins": 0, "losses": 3}
    assert career["terminations"] == {"time": 2, "illegal_move": 1, "rules": 2, "ply_limit": 1}
    assert career["faults"] == {"time": 2, "illegal_move": 1}
    assert career["last_fault"]["key"] == "test-1-9-1"
    assert [(row["name"], row["wins"], row["losses"]) for row in career["opponents"]] == [("ann", 1, 3), ("bob", 0, 1)]
    assert career["ms_per_ply"] == pytest.approx(9 / 6)  # six matches of two plies: 1 ms in seat 1, 2 in seat 2
    assert career["clock_share"] == pytest.approx(9 / (6 * 1100))
    few = _json(capsys, ladder_bots.run_bot, "dan", str(season.path), "--games", "2")["pools"][0]
    assert few["looked_at"] == 2 and few["score"] == career["score"]


def test_a_bot_in_words(played: Filled, capsys: Capture) -> None:
    assert ladder_bots.run_bot(["dan", str(played.path)]) == 0
    told = capsys.readouterr().out
    for text in ("dan@v1", "entered", "faults        illegal_move 2", "last fault    club-fast-2-2", "  dialogue:"):
        assert text in told, told
    assert "of its clock" in told and "ms a ply" in told


def test_a_bots_versions(tmp_path: Path, capsys: Capture) -> None:
    with Filled(tmp_path) as filled:
        filled.meet("ann", "bob", WON, LOST, TIED, TIED)
        bots = [entrant("ann", "v2"), entrant("bob"), entrant("cat", parent="ann")]
        filled.store.enrol(ladder(bots))
        filled.meet("ann", "bob", WON, WON)
        (id,) = filled.pools.values()
        cat = next(seat for seat in filled.store.seats(id) if seat.label == "cat")
        filled.store.suspend(cat.id, "it does not start")
        versions = _json(capsys, ladder_bots.run_bot, "ann", str(filled.path))["versions"]
        assert [(row["label"], row["parent"], row["games"], row["active"]) for row in versions] == [
            ("ann@v1", None, 4, False),
            ("ann", "ann@v1", 2, True),
        ]
        (old,) = _json(capsys, ladder_bots.run_bot, "ann@v1", str(filled.path))["pools"]
        assert (old["label"], old["score"]["wins"], old["score"]["ties"]) == ("ann@v1", 1, 2)
        (new,) = _json(capsys, ladder_bots.run_bot, "ann", str(filled.path))["pools"]
        assert (new["label"], new["score"]["wins"]) == ("ann", 2)
        assert ladder_bots.run_bot(["cat", str(filled.path)]) == 0
        assert "suspended: it does not start" in capsys.readouterr().out
        assert ladder_bots.run_bot(["ann", str(filled.path)]) == 0
        told = capsys.readouterr().out
        assert "withdrawn" in told and "\nzero is the mean of the bots in the standings; ± is 95 %" in told
        shown = {
            row["name"]: row["elo"]
            for row in _json(capsys, ladder_standings.run_standings, str(filled.path))["ratings"]
        }
        assert (new["elo"], new["rank"]) == (shown["ann"], list(shown).index("ann") + 1), "as the standings have it"
        assert (old["rank"], "ann@v1" in shown) == (None, False) and isinstance(old["elo"], float)
