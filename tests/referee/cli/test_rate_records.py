"""`ggp rate` and `ggp sprt` on our records, on ladders and on SGF: the same numbers as from the bare results."""

import io
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ggp.protocol.records import Chain, Event, MatchEnded, MatchStarted, MovePlayed, Party
from ggp.referee.ratings.results import Results, read_results
from tests.support.cli import ggp_in_process as ggp
from tests.support.ladders import write_ladder

A, B = "old", "new"


def match(
    key: str, first: str, second: str, result: str, winner: int, moves: tuple[str, ...] = ("A1",), **more: Any
) -> bytes:
    """The lines of a match, the analysis of whose plies looks like an event; `more` of its start and of each bot."""
    chain = Chain()
    events: list[Event] = [
        MatchStarted(
            match=key,
            game="yugo",
            options=more.get("options", {}),
            bots=tuple(Party(name=name, **more.get("bot", {})) for name in (first, second)),  # type: ignore[arg-type]
            engine=Party(name="engine"),
            control=more.get("control", "none"),
        ),
        *(
            MovePlayed(ply, key, ply, 2 - ply % 2, "black", move, 0, analysis='{"event":"end","move":"B2","winner":2}')
            for ply, move in enumerate(moves, 1)
        ),
        MatchEnded(
            seq=1 + len(moves), match=key, result=result, winner=winner, termination="rules" if result else "aborted"
        ),
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
        found = Results()
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
    found = Results()
    read(b"".join([*series(["W", "W"]), *series(["L", "L"], "t")]), found)
    assert found.penta == [1, 0, 0, 0, 1]


SGF = (
    "(;GM[1]FF[4]PB[old]PW[new]RE[B+3.5];B[aa])(;PB[new]PW[old]RE[W+R])"
    "(;PB[old]PW[new]RE[0])(;PB[old]PW[new]RE[Void])(;PB[old]PW[new])"
)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "latin-1"])
def test_games_of_sgf_in_any_encoding(encoding: str) -> None:
    results = read("(;GM[1]SZ[9]PB[\xe9]PW[b]RE[B+R];B[aa]\n;W[bb])".encode(encoding), Results())
    assert list(results.rows()) == [("\xe9", "b", 1, 0, 0)]


@pytest.mark.parametrize(
    "text", ["a,b,1\nx,x,1,3\n", "(;PB[a]PW[b]RE[B+1])" + "(;PB[x]PW[x]RE[W+1])" * 3], ids=["csv", "sgf"]
)
def test_games_of_a_bot_against_itself_are_left_out(text: str, tmp_path: Path) -> None:
    (tmp_path / "games").write_text(text, encoding="utf-8")
    ran = ggp("rate", str(tmp_path / "games"))
    assert ran.status == 0 and "left out: 3 games of a bot against itself" in ran.err
    assert "x" not in [line.split()[1] for line in ran.out.splitlines()[1:3]]


def test_games_of_sgf_without_names_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "games.sgf"
    path.write_text("(;PB[a]PW[b]RE[B+1])(;RE[B+1])(;PB[a]RE[W+1])(;PB[b]PW[a]RE[B+R])", encoding="utf-8")
    ran = ggp("rate", str(path))
    assert ran.status == 0 and "left out: 2 games lack the names of their players" in ran.err


def test_games_of_sgf() -> None:
    found = read(SGF.encode(), Results())
    assert found.cells == {(A, B): [1, 1, 0], (B, A): [0, 0, 1]} and found.unfinished == 2
    latin = "(;PB[Müller]PW[new]RE[B+1]CA[ISO-8859-1])".encode("latin-1")
    assert ("Müller", B) in read(latin, Results()).cells


def test_commands_read_records(tmp_path: Path) -> None:
    record, table = tmp_path / "games.jsonl", tmp_path / "results.csv"
    outcomes = ["W", "W", "W", "T", "L", "W", "W", "V", "W", "L"]
    record.write_bytes(b"".join(series(outcomes)))
    table.write_text("old,new,1,4\nold,new,0,1\nnew,old,0,2\nnew,old,0.5,1\nnew,old,1,1\n", encoding="utf-8")
    ran, plain = ggp("rate", str(record), "--json"), ggp("rate", str(table), "--json")
    assert ran.json == plain.json | {"distinct": 3} and "1 game has no result" in ran.err
    bounds = ("--elo0", "0", "--elo1", "50", "--json")
    judged = ggp("sprt", str(record), *bounds)
    assert (
        judged.json == ggp("sprt", "--penta", "0,0,2,1,1", *bounds).json
        and "1 game is in no complete pair: it is left out" in judged.err
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


def test_one_name_of_several_bots_is_listed_apart(tmp_path: Path) -> None:
    """A bot is its command, its program, the game with its options and the time control; yugo 5x5 is not 7x7."""
    base: dict[str, Any] = {"options": {"size": "5"}, "control": "1+0", "bot": {"command": "x", "hash": "ab" * 6}}
    others: list[dict[str, Any]] = [
        {"options": {"size": "7"}},
        {"control": "2+0"},
        {"bot": {"command": "y", "hash": "ab" * 6}},
    ]
    for other, told in zip(others, ["yugo size=7", "time 2+0", "[y]"], strict=True):
        both = [match(f"s-{n}", A, B, "B+1", 1, (f"A{n}",), **base) for n in range(1, 4)]
        both += [match(f"t-{n}", A, B, "W+1", 2, (f"A{n}",), **(base | other)) for n in range(1, 3)]
        record = tmp_path / "games.jsonl"
        record.write_bytes(b"".join(both))
        ran = ggp("rate", str(record))
        assert ran.status == 0 and "old is 2 bots, listed apart" in ran.err and ran.err.count(told) == 2
        assert {line["games"] for line in ggp("rate", str(record), "--json").json["ratings"]} == {2, 3}
        assert f"{told if told[0] != '[' else 'y'}" in ran.out
        judged = ggp("sprt", str(record), "--preset", "gate")
        assert judged.status == 2 and "there are 4" in judged.err
        anchored = ggp("rate", str(record), "--anchor", f"{A}=0")
        assert anchored.status == 2 and "that is several bots: name one of" in anchored.err


def test_an_edited_program_is_another_bot(tmp_path: Path) -> None:
    record = tmp_path / "games.jsonl"
    games = [match(f"s-{n}", A, B, "B+1", 1, bot={"command": "x", "hash": digit * 12}) for n, digit in enumerate("ab")]
    record.write_bytes(b"".join(games))
    assert "old [version aaaaaaaaaaaa], old [version bbbbbbbbbbbb]" in ggp("rate", str(record)).err


def test_changed_matches_are_counted_and_left_out(tmp_path: Path) -> None:
    record, games = tmp_path / "games.jsonl", series(["W", "W", "L", "T"])
    record.write_bytes(games[0].replace(b'"winner":1', b'"winner":2') + games[1] + b"".join(games[2:]))
    ran = ggp("rate", str(record), "--json")
    assert "1 match was changed since the record was written: left out; `ggp verify` names them" in ran.err
    assert {line["games"] for line in ran.json["ratings"]} == {3}
    dropped = b"".join(b"".join(one.splitlines(keepends=True)[::2]) for one in games[:2])  # the plies are missing
    record.write_bytes(dropped + games[2])
    assert "2 matches were changed" in ggp("sprt", str(record), "--preset", "gate").err


def test_games_that_repeat_count_once_in_ratings_and_tests(tmp_path: Path) -> None:
    record, few = tmp_path / "games.jsonl", tmp_path / "few.jsonl"
    same = [match(f"s-{n}", *((A, B) if n % 2 else (B, A)), "B+1", 2 - n % 2, ("A1", "B1")) for n in range(1, 41)]
    record.write_bytes(b"".join(same))
    few.write_bytes(b"".join(same[:2]))
    ran, two = ggp("rate", str(record)), ggp("rate", str(few), "--json").json
    assert "2 of 40 games are distinct: these bots do not randomise" in ran.out and "--openings" in ran.out
    found = ggp("rate", str(record), "--json").json
    assert [line["games"] for line in found["ratings"]] == [40, 40] and found["repeated"] == 38
    assert [(line["elo"], line["se"]) for line in found["ratings"]] == [
        (line["elo"], line["se"]) for line in two["ratings"]
    ]
    bounds = ("--preset", "gate", "--json")
    judged, other = ggp("sprt", str(record), *bounds).json, ggp("sprt", str(few), *bounds).json
    assert (judged["llr"], judged["games"], judged["repeated"]) == (other["llr"], 2, 38)


def test_chance_that_repeats_a_game_stays_in_the_ratings(tmp_path: Path) -> None:
    chance, record = Random(3), tmp_path / "games.jsonl"
    games = [match(f"s-{n}", A, B, "B+1", 1, (chance.choice(["A1", "B1"]),)) for n in range(1, 31)]
    record.write_bytes(b"".join(games))
    found = ggp("rate", str(record), "--json").json
    assert (found["distinct"], found["repeated"]) == (2, 0)


def test_pgn_and_sgf_repeat_too() -> None:
    tags = '[White "a"]\n[Black "b"]\n[Result "1-0"]\n\n'
    same = read((tags + "1. e4 {well} e5 2. Qh5 1-0\n\n").encode() * 5, Results())
    assert (same.lines.games, same.lines.distinct, same.lines.repeated) == (5, 1, 4)
    varied = read((tags + "1. e4 e5 1-0\n\n" + tags + "1. d4 d5 1-0\n").encode() * 2, Results())
    assert (varied.lines.distinct, varied.lines.repeated) == (2, 0)
    sgf = read(b"(;PB[a]PW[b]RE[B+1];B[aa];W[bb])" * 4, Results())
    assert (sgf.lines.distinct, sgf.lines.repeated) == (1, 3)
    assert len(read(b"(;SZ[9]PB[a]PW[b]RE[B+1])(;SZ[19]PB[a]PW[b]RE[B+1])", Results()).names) == 4


def test_the_other_elo_is_offered(tmp_path: Path) -> None:
    record = tmp_path / "games.jsonl"
    record.write_bytes(b"".join(series(["W", "W", "T", "L", "L", "W"] * 10)))
    ran = ggp("rate", str(record))
    assert "model davidson (Bradley-Terry), prior pool; the Elo of ggp match: --model logistic" in ran.out
    ran = ggp("rate", str(record), "--model", "logistic")
    assert "old 35 - 25 new" in ran.out and "by 30 pairs" in ran.out and "Elo     " in ran.out
    assert sum(ggp("rate", str(record), "--model", "logistic", "--json").json["penta"]) == 30


def test_an_anchor_is_given_once(tmp_path: Path) -> None:
    table = tmp_path / "results.csv"
    table.write_text("a,b,1,5\na,b,0,5\n", encoding="utf-8")
    ran = ggp("rate", str(table), "--anchor", "a=0", "--anchor", "a=100")
    assert (ran.status, ran.out) == (2, "") and "--anchor a: it is given twice: write one rating" in ran.err
