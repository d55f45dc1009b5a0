"""`ggp rate`: its output, its input, and one line for each error."""

import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ggp.referee.cli.rate import show_ratings
from ggp.referee.ratings.bradley_terry import Counts
from ggp.referee.ratings.ratings import rate
from ggp.referee.ratings.results import RatedBot, Results, ResultsError, read_results
from tests.support.cli import Ggp
from tests.support.cli import ggp_in_process as ggp
from tests.support.codes import raises
from tests.support.terminal import shown_on_terminal

CSV = "first,second,result,count\na,b,1,30\na,b,0.5,10\na,b,0,12\nb,c,1,9\nc,b,1,20\nc,a,0,5\nc,a,1,3\n"
PGN = """[Event "one"]
[White "a"]
[Black "b \\"the\\" bot"]
[Result "1-0"]

1. e4 {a comment with
[White "not a tag"]
in it} e5 1-0

[White "b \\"the\\" bot"]
[Black "a"]
[Result "1/2-1/2"]

1. d4 1/2-1/2
[White "a"]
[Black "b \\"the\\" bot"]
[Result "*"]
[White "b \\"the\\" bot"]
[Black "a"]
[Result "0-1"]
"""


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "results.csv"
    path.write_text(CSV, encoding="utf-8")
    return path


def test_the_shape_of_the_json(results: Path) -> None:
    answer = ggp("rate", str(results), "--json").json
    assert list(answer)[:3] == ["ratings", "advantage", "model"]
    assert answer["model"] == "davidson" and isinstance(answer["advantage"], float)
    for line in answer["ratings"]:
        assert list(line)[:4] == ["name", "elo", "se", "games"]
    assert {line["name"]: line["games"] for line in answer["ratings"]} == {"a": 60, "b": 81, "c": 37}
    elos = [line["elo"] for line in answer["ratings"]]
    assert elos == sorted(elos, reverse=True)
    assert answer["ratings"][-1]["next"] is None and 0.5 <= answer["ratings"][0]["next"]["los"] <= 1
    assert len(answer["misfits"]) == 4


def test_no_number_is_minus_zero(capsys: pytest.CaptureFixture[str]) -> None:
    """A fit leaves a trace of rounding, of either sign, where an even result should give 0."""
    ratings = rate(Counts.of([("a", "b", 10, 0, 0), ("b", "a", 10, 0, 0)]))
    results = Results()
    results.add(RatedBot("a"), RatedBot("b"), 0, 10)
    results.add(RatedBot("b"), RatedBot("a"), 0, 10)
    for trace in (-1e-15, 1e-15):
        fitted = replace(ratings.fitted, advantage=trace)
        show_ratings(replace(ratings, fitted=fitted, elo=np.array([trace, -trace])).table(), "pool", results)
        out = capsys.readouterr().out
        assert "first seat 0.0 ±" in out and "-0.0" not in out


@pytest.mark.slow
def test_options(results: Path) -> None:
    plain = ggp("rate", str(results), "--json", "--prior", "none").json
    assert sum(line["elo"] for line in plain["ratings"]) == pytest.approx(0, abs=1e-6)
    other = ggp("rate", str(results), "--json", "--prior", "none", "--model", "rao-kupper", "--no-advantage").json
    assert (other["model"], other["advantage"], other["advantage_se"]) == ("rao-kupper", 0, 0)
    held = ggp("rate", str(results), "--json", "--anchor", "b=1800", "--prior", "none").json
    lines = {line["name"]: line for line in held["ratings"]}
    assert lines["b"]["elo"] == 1800 and lines["b"]["se"] is None
    gap = {line["name"]: line["elo"] for line in plain["ratings"]}
    assert lines["a"]["elo"] - 1800 == pytest.approx(gap["a"] - gap["b"], abs=1e-4)


def test_the_table_is_plain_without_a_terminal(results: Path) -> None:
    ran = ggp("rate", str(results), "--anchor", "b=1800")
    assert ran.status == 0 and ran.err == ""
    assert "\x1b" not in ran.out and "│" not in ran.out
    head, *lines = ran.out.splitlines()
    assert head.split() == ["#", "bot", "Elo", "±", "games", "score", "to", "next", "±", "LOS"]
    assert [line.split()[0] for line in lines[:3]] == ["1", "2", "3"]
    assert "model davidson" in ran.out and "against b" in ran.out and "first seat" in ran.out and "ν =" in ran.out


@pytest.mark.slow
def test_a_frame_on_a_terminal_only(results: Path, tmp_path: Path) -> None:
    """NO_COLOR takes colours away; FORCE_COLOR brings no layout of a terminal into a pipe."""
    for environment in ({}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}):
        shown = "\n".join(shown_on_terminal("rate", str(results), home=tmp_path, environment=environment))
        assert "│" in shown and "\x1b[3" not in shown
    forced = Ggp("rate", str(results), environment={"FORCE_COLOR": "1"}).wait()
    assert forced.out == ggp("rate", str(results)).out


@pytest.mark.slow
def test_standard_input_and_several_files(results: Path) -> None:
    words = [sys.executable, "-m", "ggp.referee.cli", "rate", "-", str(results), "--json"]
    ran = subprocess.run(words, input="b,a,0.5\n", capture_output=True, encoding="utf-8", check=True)
    assert {line["name"]: line["games"] for line in json.loads(ran.stdout)["ratings"]} == {"a": 61, "b": 82, "c": 37}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_pgn_of_older_programs_is_latin_1(encoding: str) -> None:
    text = '[Event "Zürich"]\n[White "Müller"]\n[Black "b"]\n[Result "1-0"]\n\n1. e4 {schön} 1-0\n'
    results = Results()
    read_results(io.BytesIO(text.encode(encoding)), "games.pgn", results)
    assert list(results.rows()) == [("Müller", "b", 1, 0, 0)]


def test_pgn_is_read_by_its_tags(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(PGN, encoding="utf-8")
    ran = ggp("rate", str(path), "--json")
    assert {line["name"]: (line["games"], line["score"]) for line in ran.json["ratings"]} == {
        "a": (3, 2.5),
        'b "the" bot': (3, 0.5),
    }
    assert ran.err == "ggp rate: left out: 1 game has no result\n"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,b,1\n", [("a", "b", 1, 0, 0)]),
        ("\ufefffirst,second,result\r\na,b,1/2\r\n\r\n", [("a", "b", 0, 1, 0)]),
        ("Result,Count,Second,First\n0-1,3,b,a\n", [("a", "b", 0, 0, 3)]),
        ('"x, y", b ,.5,2\nb,"x, y",0\n', [("x, y", "b", 0, 2, 0), ("b", "x, y", 0, 0, 1)]),
        ("a,b,1,1000000000000\na,b,1,0\n", [("a", "b", 1e12, 0, 0)]),
        ("[bold]a[/bold],b,1\n", None),
    ],
)
def test_csv_is_read(text: str, rows: list[tuple[str, str, float, float, float]] | None) -> None:
    results = Results()
    if rows is None:
        text = "first,second,result\n" + text
        rows = [("[bold]a[/bold]", "b", 1, 0, 0)]
    read_results(io.BytesIO(text.encode()), "x.csv", results)
    assert list(results.rows()) == rows


BAD = [
    (b"", "line 0: there is no result"),
    (b"\n \n", "line 2: there is no result"),
    (b"first,second\na,b\n", "line 1: there are 2 cells, not 3 or 4"),
    (b"first,second,result,elo\n", "line 1: there is no column 'elo'"),
    (b"first,result\n", "line 1: the column 'second' must be there once"),
    (b"a,b,1\na,b,2\n", "line 2: the result '2' is not 1, 0.5 or 0"),
    (b"a,b,1,-5\n", "line 1: the count '-5' is not a whole number"),
    (b"a,b,1,1.5\n", "line 1: the count '1.5' is not a whole number"),
    (b"a,b,1,1000000000001\n", "line 1: the count '1000000000001' is not a whole number up to 1000000000000"),
    (b"a,b,1,2,3\n", "line 1: there are 5 cells"),
    (b"x,x,1\n", "no game"),
    (b",b,1\n", "line 1: a name is empty"),
    (b"a\x1b[31m,b,1\n", "line 1: the name 'a\\x1b[31m' is longer than 200 characters or not printable"),
    (b"a" * 201 + b",b,1\n", "is longer than 200 characters"),
    (b"a,b,1\n\xff\xfe,b,1\n", "line 2: the line is not UTF-8 text"),
    (b'a,"b,1\n', "line 1: the quotes cannot be read"),
    (b"a,b,1\n" + b"x" * (1 << 21), "line 2: the line is longer than 1048576 bytes"),
    (b'[White "a"]\n[Result "1-0"]\n\n1. e4 1-0\n', "line 4: the game that ends here has no tag Black"),
    (b'[White "a"]\n[Black "b"]\n[Result "2-0"]\n', "line 3: the result '2-0' is not 1-0, 1/2-1/2, 0-1 or *"),
    (b'[White "a"]\n[Black "b"]\n[Result "*"]\n', "no game"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_an_invalid_file_is_one_line_on_stderr(text: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_bytes(text)
    ran = ggp("rate", str(path))
    assert (ran.status, ran.out) == (2, "")
    *_, line = ran.err.splitlines()
    assert line.startswith("ggp rate: ") and str(path) in line and message in line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{folder}/none.csv"], "cannot read '{folder}/none.csv': No such file or directory"),
        (["{folder}"], "Is a directory"),
        ([], "Missing argument 'FILE…'"),
        (["{csv}", "--anchor", "a"], "--anchor 'a': write NAME=ELO"),
        (["{csv}", "--anchor", "a=high"], "write NAME=ELO"),
        (["{csv}", "--anchor", "a=nan"], "write NAME=ELO"),
        (["{csv}", "--anchor", "z=5"], "the anchor z has no game"),
        (["{csv}", "--model", "elo"], "'elo' is not one of"),
        (["{csv}", "--prior", "flat"], "'flat' is not one of"),
        (
            ["{win}", "--prior", "none"],
            "{win}: the rating of winner is infinite: no other bot scored against it; a prior",
        ),
    ],
)
def test_an_invalid_command_line_is_one_line_on_stderr(words: list[str], message: str, results: Path) -> None:
    win = results.with_name("win.csv")
    win.write_text("winner,a,1\na,b,1\nb,a,1\n", encoding="utf-8")
    places = {"folder": str(results.parent), "csv": str(results), "win": str(win)}
    ran = ggp("rate", *(word.format(**places) for word in words))
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("ggp rate: ") and ran.err.count("\n") == 1 and message.format(**places) in ran.err


def test_too_many_bots() -> None:
    text = "".join(f"b{number},b{number + 1},1\n" for number in range(5000))
    with raises(ResultsError, "too-many-bots") as many:
        read_results(io.BytesIO(text.encode()), "x.csv", Results())
    assert "line 5000" in str(many.value)


def test_a_match_does_not_wait_for_numpy() -> None:
    program = "import sys, ggp.referee.cli.match, ggp.referee.cli.rate; print('numpy' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    assert ran.stdout == "False\n"


@pytest.mark.slow
def test_no_number_is_cut_off_on_a_narrow_terminal(results: Path, tmp_path: Path) -> None:
    shown = "\n".join(shown_on_terminal("rate", str(results), home=tmp_path, columns=56))
    plain = re.sub("\x1b\\[[0-9;]*m", "", shown).split("model ")[0]
    assert "…" not in plain and max(map(len, plain.splitlines())) <= 56
    whole = ggp("rate", str(results)).out.split("model ")[0]
    assert [word for word in whole.split() if "." in word] == [word for word in plain.split() if "." in word]


ISLANDS = "first,second,result,count\na,b,1,15\na,b,0,15\nc,d,1,21\nc,d,0,9\n"


def test_groups_that_never_met_are_marked(tmp_path: Path) -> None:
    table = tmp_path / "islands.csv"
    table.write_text(ISLANDS, encoding="utf-8")
    ran = ggp("rate", str(table))
    assert ran.status == 0 and "2 groups of bots never met, not even through others" in ran.out
    assert "cannot be compared (group 1: b, a; group 2: c, d)" in ran.out
    assert "zero is the mean of each group; ± is 95 %, of the difference to that mean" in ran.out
    rows = [line.split() for line in ran.out.splitlines()[:5]]
    assert rows[0][1] == "group" and [row[1] for row in rows[1:]] == ["1", "1", "2", "2"]
    told = ggp("rate", str(table), "--json").json
    assert told["zero"] == "the mean of each group"
    found = told["ratings"]
    assert [line["group"] for line in found] == [1, 1, 2, 2]
    assert [line["next"] is None for line in found] == [False, True, False, True], "no difference between groups"
    for one, other in (found[:2], found[2:]):
        assert one["elo"] + other["elo"] == pytest.approx(0, abs=1e-6) and one["se"] == pytest.approx(other["se"])
        assert one["next"]["se"] == pytest.approx(2 * one["se"]), "± is of the difference to the mean of the group"


def test_a_group_without_an_anchor_has_its_own_mean_for_zero(tmp_path: Path) -> None:
    table = tmp_path / "islands.csv"
    table.write_text(ISLANDS, encoding="utf-8")
    found = {line["name"]: line for line in ggp("rate", str(table), "--anchor", "a=1500", "--json").json["ratings"]}
    assert found["a"]["elo"] == 1500 and found["c"]["elo"] + found["d"]["elo"] == pytest.approx(0, abs=1e-6)


def test_a_game_through_others_joins_groups(tmp_path: Path) -> None:
    table = tmp_path / "joined.csv"
    table.write_text(f"{ISLANDS}b,e,1,1\ne,c,1,1\n", encoding="utf-8")
    ran = ggp("rate", str(table))
    assert "groups" not in ran.out and {
        line["group"] for line in ggp("rate", str(table), "--json").json["ratings"]
    } == {0}


def _rated(text: str, tmp_path: Path, *words: str) -> tuple[str, dict[str, bool]]:
    """What `ggp rate` prints of a CSV file, and of which bots `--json` says that their games are enough."""
    table = tmp_path / "results.csv"
    table.write_text(text, encoding="utf-8")
    lines = ggp("rate", str(table), "--json", *words).json["ratings"]
    assert all(isinstance(line["elo"], float) and "se" in line for line in lines), "the numbers stay in the JSON"
    return ggp("rate", str(table), *words).out, {line["name"]: line["enough"] for line in lines}


@pytest.mark.parametrize("text", ["a,b,0,2\nb,a,1,2\n", "a,b,1,9\nb,a,1,10\n", "a,b,1,20\nb,a,0,20\n"])
def test_too_few_games_give_a_score_and_no_elo(text: str, tmp_path: Path) -> None:
    out, enough = _rated(text, tmp_path)
    assert enough == {"a": False, "b": False}
    head, *rows = out.splitlines()
    assert head.split() == ["#", "bot", "games", "score"] and rows[0].endswith("%") and rows[1].endswith("%")
    assert rows[2].startswith("too few games for an Elo: ") and "; 20 games of a bot are enough, unless " in rows[2]
    assert "±" not in out and "first seat" not in out and "zero" not in out


def test_one_bot_with_too_few_games_leaves_the_others_their_elo(tmp_path: Path) -> None:
    text = "a,b,1,20\nb,a,1,12\nnew,a,1,2\nnew,b,1,2\n"
    out, enough = _rated(text, tmp_path)
    assert enough == {"a": True, "b": True, "new": False}
    assert "too few games for an Elo: new; 20 games" in out and "zero is" in out and "first seat" in out
    rows = {line.split()[1]: line.split()[2:] for line in out.splitlines()[1:4]}
    assert rows["new"] == ["4", "100.0%"], "neither an Elo nor the difference to the next"
    assert len(rows["a"]) == 7 and len(rows["b"]) == 4
    anchored, enough = _rated(text, tmp_path, "--anchor", "new=1500")
    assert enough["new"] and "1500.0" in anchored and "too few" not in anchored, "the Elo of an anchor is given"


def test_two_bots_have_no_count_of_pairs_without_an_elo(tmp_path: Path) -> None:
    table = tmp_path / "results.csv"
    table.write_text("a,b,1,2\n", encoding="utf-8")
    out = ggp("rate", str(table), "--model", "logistic").out
    assert "too few games for an Elo" in out and " by " not in out


def test_groups_share_what_the_first_seat_is_worth(tmp_path: Path) -> None:
    out, _ = _rated(ISLANDS, tmp_path)
    assert ", shared by the groups; 60 games" in out
    assert "shared" not in _rated(CSV, tmp_path)[0]
