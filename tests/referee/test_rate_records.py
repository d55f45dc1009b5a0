"""`ggp rate` and `ggp sprt` on our records, on ladders and on SGF: the same numbers as from the bare results."""

import io
from pathlib import Path
from random import Random

import pytest

from ggp.protocol.records import Chain, Event, MatchEnded, MatchStarted, MovePlayed, Party
from ggp.referee.ratings.results import PairedResults, Results, ResultsError, read_results
from tests.support.cli import ggp_in_process as ggp
from tests.support.ladders import write_ladder

A, B = "old", "new"


def match(key: str, first: str, second: str, result: str, winner: int) -> bytes:
    """The lines of a match of one ply, whose analysis looks like an event."""
    chain = Chain()
    events: list[Event] = [
        MatchStarted(
            match=key,
            game="yugo",
            options={},
            bots=(Party(name=first), Party(name=second)),
            engine=Party(name="engine"),
            control="none",
        ),
        MovePlayed(1, key, 1, 1, "black", "A1", 0, analysis='{"event":"end","winner":2}'),
        MatchEnded(seq=2, match=key, result=result, winner=winner, termination="rules" if result else "aborted"),
    ]
    return b"".join(chain.line(event) for event in events)


def series(outcomes: list[str], name: str = "s") -> list[bytes]:
    """Games of `A` against `B` by A's outcome (`W`, `L`, `T`, `V` for void); seats are exchanged."""
    games = []
    for number, outcome in enumerate(outcomes):
        first, second = (A, B) if number % 2 == 0 else (B, A)
        seat = {"W": 1 + number % 2, "L": 2 - number % 2}.get(outcome, 0)
        games.append(match(f"{name}-{number + 1}", first, second, {"V": "", "T": "0"}.get(outcome, "B+1"), seat))
    return games


def read(data: bytes, into: Results) -> Results:
    read_results(io.BytesIO(data), "games", into)
    return into


def test_a_record_is_read_in_any_order_of_its_matches() -> None:
    chance = Random(5)
    for _ in range(20):
        outcomes = [chance.choice("WLTV") for _ in range(2 * chance.randrange(1, 20))]
        games = series(outcomes)
        chance.shuffle(games)
        found = PairedResults()
        read(b"".join(games), found)
        won, tied, lost = (outcomes.count(letter) for letter in "WTL")
        points = {"W": 2, "T": 1, "L": 0}
        penta = [0] * 5
        for one, other in zip(outcomes[::2], outcomes[1::2], strict=True):
            if "V" not in (one, other):
                penta[points[one] + points[other]] += 1
        assert found.unfinished == outcomes.count("V") and found.damaged == 0
        if found.names:
            assert (next(iter(found.names)), found.games, found.penta) == (A, [lost, tied, won], penta)
            assert found.single == won + tied + lost - 2 * sum(penta)
            found.swap()
            assert (next(iter(found.names)), found.games, found.penta) == (B, [won, tied, lost], penta[::-1])


def test_what_a_kill_left_is_left_out() -> None:
    whole = series(["W", "L", "W", "T"])
    torn = [whole[0], whole[1][:-30], b"\n", whole[2], whole[3].splitlines(keepends=True)[2]]
    found = read(b"".join(torn), Results())
    assert sum(map(sum, found.cells.values())) == 2 and found.damaged == 2


def test_two_series_with_equal_numbers_are_different_pairs() -> None:
    found = PairedResults()
    read(b"".join([*series(["W", "W"]), *series(["L", "L"], "t")]), found)
    assert found.penta == [1, 0, 0, 0, 1]


SGF = (
    "(;GM[1]FF[4]PB[old]PW[new]RE[B+3.5];B[aa])(;PB[new]PW[old]RE[W+R])"
    "(;PB[old]PW[new]RE[0])(;PB[old]PW[new]RE[Void])(;PB[old]PW[new])"
)


def test_games_of_sgf() -> None:
    found = read(SGF.encode(), Results())
    assert found.cells == {(A, B): [1, 1, 0], (B, A): [0, 0, 1]} and found.unfinished == 2
    with pytest.raises(ResultsError, match="PB or PW"):
        read(b"(;PB[old]RE[B+1])", Results())
    latin = "(;PB[Müller]PW[new]RE[B+1]CA[ISO-8859-1])".encode("latin-1")
    assert ("Müller", B) in read(latin, Results()).cells


def test_commands_read_records(tmp_path: Path) -> None:
    record, table = tmp_path / "games.jsonl", tmp_path / "results.csv"
    outcomes = ["W", "W", "W", "T", "L", "W", "W", "V", "W", "L"]
    record.write_bytes(b"".join(series(outcomes)))
    table.write_text("old,new,1,4\nold,new,0,1\nnew,old,0,2\nnew,old,0.5,1\nnew,old,1,1\n", encoding="utf-8")
    ran, plain = ggp("rate", str(record), "--json"), ggp("rate", str(table), "--json")
    assert ran.json == plain.json and "1 games have no result" in ran.err
    bounds = ("--elo0", "0", "--elo1", "50", "--json")
    judged = ggp("sprt", str(record), *bounds)
    assert (
        judged.json == ggp("sprt", "--penta", "0,0,2,1,1", *bounds).json
        and "1 games are in no complete pair" in judged.err
    )
    other = ggp("sprt", str(record), "--new", B, *bounds)
    assert other.json == ggp("sprt", "--penta", "1,1,2,0,0", *bounds).json
    assert ggp("sprt", str(table), "--new", A, *bounds).json == ggp("sprt", "--wdl", "6,1,2", *bounds).json
    bayes = ("--model", "bayes", *bounds)
    assert ggp("sprt", str(record), *bayes).json == ggp("sprt", "--wdl", "6,1,2", *bayes).json


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("{record}", "--penta", "1,2,3,4,5"), "not both"),
        (("--wdl", "1,2,3", "--new", "old"), "--new goes with FILE"),
        (("{record}", "--new", "none"), "the bots are old and new"),
        (("{three}",), "a test is of two bots; there are 3"),
        (("{record}/none",), "cannot read"),
    ],
)
def test_bad_words_are_one_line(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    record, three = tmp_path / "games.jsonl", tmp_path / "three.csv"
    record.write_bytes(b"".join(series(["W", "L"])))
    three.write_text("old,new,1\nold,newest,1\n", encoding="utf-8")
    ran = ggp("sprt", *(word.format(record=record, three=three) for word in words), "--preset", "gate")
    assert (ran.status, ran.out) == (2, "") and ran.err.count("\n") == 1 and said in ran.err


@pytest.mark.slow
def test_a_ladder_is_rated_as_its_standings(tmp_path: Path) -> None:
    ladder = write_ladder(tmp_path)
    assert ggp("ladder", "run", str(ladder), "--games", "12", "--quiet").status == 0
    standings = ggp("ladder", "standings", str(ladder), "--json").json
    rated = ggp("rate", str(ladder), "--json").json
    assert {line["name"]: line["games"] for line in rated["ratings"]} == {
        line["name"]: line["games"] for line in standings["ratings"]
    }
    for line in standings["ratings"]:
        (same,) = [other for other in rated["ratings"] if other["name"] == line["name"]]
        assert same["elo"] == pytest.approx(line["elo"], abs=1e-3)
