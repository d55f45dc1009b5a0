"""`ggp ladder standings|crosstable|events|readmit`: what they say of a store, and of one that is not there."""

import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ggp.referee.cli import ladder_bots, ladder_check, ladder_export, ladder_games, ladder_standings
from ggp.referee.cli.ladder_report import main as report
from ggp.referee.ladder import queries
from ggp.referee.ladder.rating import rate_seats
from ggp.referee.ladder.store.model import StoreEvent
from ggp.referee.ladder.store.store import Store
from tests.support.stores import LOST, TIED, WON, Filled, entrant, ladder, pool
from tests.support.terminal import shown_on_terminal

VIEWS: dict[str, Callable[[list[str]], int]] = {
    "standings": ladder_standings.run_standings,
    "crosstable": ladder_standings.run_crosstable,
    "games": ladder_games.run_games,
    "events": ladder_games.run_events,
    "export": ladder_export.main,
    "pair": ladder_bots.run_pair,
    "bot": ladder_bots.run_bot,
    "readmit": ladder_check.run_readmit,
}
OF_ALL = ("standings", "crosstable", "games", "events")
Capture = pytest.CaptureFixture[str]


def _json(capsys: Capture, main: Callable[[list[str]], int], *words: str) -> Any:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_standings_have_the_shape_that_was_promised(season: Filled, capsys: Capture) -> None:
    found = _json(capsys, ladder_standings.run_standings, str(season.path))
    assert list(found)[:3] == ["ratings", "advantage", "model"] and found["model"] == "davidson"
    for line in found["ratings"]:
        assert list(line)[:4] == ["name", "elo", "se", "games"]
    assert {line["name"]: (line["games"], line["score"]) for line in found["ratings"]} == {
        "ann": (14, 10.5),
        "bob": (11, 5.5),
        "cat": (8, 2),
        "dan": (5, 1),
    }
    (dan,) = [line for line in found["ratings"] if line["name"] == "dan"]
    assert (dan["wins"], dan["ties"], dan["losses"], dan["forfeits"], dan["gifts"]) == (1, 0, 4, 3, 0)
    assert found["games"] == 19


def test_standings_are_those_of_the_mathematics(season: Filled, capsys: Capture) -> None:
    """Without a stored fit, with one, and with one that is too old."""
    (id,) = season.pools.values()
    seats = season.store.seats(id)
    for step in ("none", "current", "old"):
        if step == "current":
            season.rate()
        if step == "old":
            season.meet("cat", "dan", WON, LOST)
        ratings = rate_seats(season.store.meetings(id), seats)
        labels = {str(seat.id): seat.label for seat in seats}
        found = _json(capsys, ladder_standings.run_standings, str(season.path))
        assert [(line["name"], line["elo"], line["se"]) for line in found["ratings"]] == [
            (labels[line.name], pytest.approx(line.elo, abs=1e-6), pytest.approx(line.se, abs=1e-6))
            for line in ratings.standings()
        ]
        assert found["advantage"] == pytest.approx(ratings.advantage, abs=1e-6)
        assert found["degrees_of_freedom"] == ratings.degrees_of_freedom()
        assert len(found["misfits"]) == 5


@pytest.mark.slow
def test_a_stored_fit_is_shown_as_it_is(season: Filled, capsys: Capture) -> None:
    """Nothing is computed where nothing changed: numpy is not even loaded."""
    season.rate()
    (id,) = season.pools.values()
    program = (
        "import sys; from ggp.referee.cli.ladder_standings import run_standings\n"
        f"status = run_standings([{str(season.path)!r}, '--json'])\n"
        "assert 'numpy' not in sys.modules and 'rich' not in sys.modules; sys.exit(status)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    fit = season.store.fit(id)
    assert fit is not None
    assert [line["elo"] for line in json.loads(ran.stdout)["ratings"]] == [row.elo for row in fit.rows]


def test_a_reader_writes_nothing(season: Filled, capsys: Capture) -> None:
    before = season.store.events(), season.path.read_bytes()
    for name in OF_ALL:
        assert VIEWS[name]([str(season.path)]) == 0
    (id,) = season.pools.values()
    assert season.store.fit(id) is None and (season.store.events(), season.path.read_bytes()) == before


def test_standings_of_people(season: Filled, capsys: Capture) -> None:
    (id,) = season.pools.values()
    dan = next(seat for seat in season.store.seats(id) if seat.label == "dan")
    season.store.suspend(dan.id, "it does \x1b[31mnot start")
    assert ladder_standings.run_standings([str(season.path)]) == 0
    title, head, *lines = capsys.readouterr().out.splitlines()
    assert title == "fast: yugo size=5, time 1+0.1"
    assert head.split()[:10] == ["#", "bot", "Elo", "±", "games", "score", "+", "=", "-", "forfeits"]
    assert lines[0].split()[:2] == ["1", "ann"] and lines[0].split()[4:9] == ["14", "75.0%", "10", "1", "3"]
    (of_dan,) = [line for line in lines if " dan " in line]
    assert of_dan.endswith("suspended: it does \\x1b[31mnot start")
    assert "zero is the mean of these bots; ± is 95 %" in "\n".join(lines)
    assert "first seat" in "\n".join(lines) and "degrees of freedom" in "\n".join(lines)


def test_withdrawn_versions_are_shown_if_asked_for(season: Filled, capsys: Capture) -> None:
    season.store.enrol(ladder([entrant("ann"), entrant("bob", "v2"), entrant("cat"), entrant("dan")]))
    season.rate()
    plain = _json(capsys, ladder_standings.run_standings, str(season.path))
    assert {line["name"] for line in plain["ratings"]} == {"ann", "bob", "cat", "dan"}
    every = _json(capsys, ladder_standings.run_standings, str(season.path), "--all")
    notes = {line["name"]: line["note"] for line in every["ratings"]}
    assert notes == dict.fromkeys(("ann", "bob", "cat", "dan"), "provisional") | {"bob@v1": "provisional; withdrawn"}
    for found in (plain, every):
        gaps = [line["next"]["elo"] for line in found["ratings"][:-1]]
        elos = [line["elo"] for line in found["ratings"]]
        assert gaps == pytest.approx([above - below for above, below in pairwise(elos)])


def test_several_pools_stand_under_their_names(tmp_path: Path, capsys: Capture) -> None:
    bots = [entrant(name, pools=("fast", "slow")) for name in ("ann", "bob")]
    with Filled(tmp_path, ladder(bots, [pool(), pool("slow", control="10")])) as filled:
        filled.meet("ann", "bob", WON, TIED)
        filled.meet("bob", "ann", WON, WON, pool="slow")
        every = _json(capsys, ladder_standings.run_standings, str(filled.path))
        assert {name: one["ratings"][0]["name"] for name, one in every["pools"].items()} == {
            "fast": "ann",
            "slow": "bob",
        }
        one = _json(capsys, ladder_standings.run_standings, str(filled.path), "--pool", "slow")
        assert one == every["pools"]["slow"]
        assert ladder_export.main([str(filled.path), "--format", "csv"]) == 2
        assert "choose one of the pools fast, slow with --pool" in capsys.readouterr().err
        assert ladder_standings.run_standings([str(filled.path), "--pool", "slwo"]) == 2
        assert "there is no pool 'slwo': did you mean slow?" in capsys.readouterr().err


def test_a_crosstable_adds_up(season: Filled, capsys: Capture) -> None:
    found = _json(capsys, ladder_standings.run_crosstable, str(season.path))
    cells = {(cell["first"], cell["second"]): cell for cell in found["cells"]}
    assert found["bots"][0] == "ann" and len(cells) == 5
    assert {key: cells["ann", "bob"][key] for key in ("games", "points", "wins", "ties", "losses")} == {
        "games": 6,
        "points": 4.5,
        "wins": 4,
        "ties": 1,
        "losses": 1,
    }
    assert ladder_standings.run_crosstable([str(season.path), "--seats", "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    (row,) = [row for row in rows if (row["first"], row["second"]) == ("bob", "ann")]
    assert (row["games"], row["points"], row["wins"], row["ties"], row["losses"]) == ("3", "1.5", "1", "1", "1")
    assert sum(int(row["games"]) for row in rows) == 19 and sum(int(row["void"]) for row in rows) == 1
    assert ladder_standings.run_crosstable([str(season.path)]) == 0
    _, head, ann, *_ = capsys.readouterr().out.splitlines()
    assert head.split() == ["#", "bot", "points", "1", "2", "3", "4"]
    assert ann.split()[:4] == ["1", "ann", "10.5/14", "·"] and "4.5 +4=1-1" in ann


@pytest.mark.slow
def test_a_wide_crosstable_is_cut_with_a_word(season: Filled, tmp_path: Path) -> None:
    shown = "\n".join(shown_on_terminal("ladder", "crosstable", str(season.path), home=tmp_path, columns=50))
    assert "columns 1 to 2 of 4: a wider window shows more; all with --csv" in shown
    assert "│" in shown
    frame = re.sub("\x1b\\[[0-9;]*m", "", shown).splitlines()[1:-2]
    assert max(map(len, frame)) <= 50


@pytest.mark.slow
def test_standings_lose_their_frame_before_their_cells_are_broken(season: Filled, tmp_path: Path) -> None:
    """Framed where there is room; no cell is broken up where the columns alone fit."""
    for columns, framed in ((140, True), (90, False)):
        shown = "\n".join(shown_on_terminal("ladder", "standings", str(season.path), home=tmp_path, columns=columns))
        lines = re.sub("\x1b\\[[0-9;]*m", "", shown).splitlines()
        assert any("│" in line for line in lines) == framed
        (line,) = [line for line in lines if "ann" in line and "provisional:" not in line]
        assert line.count(".") >= 4 and max(map(len, lines)) <= columns


def test_a_suspension_is_lifted(season: Filled, capsys: Capture) -> None:
    (id,) = season.pools.values()
    dan = next(seat for seat in season.store.seats(id) if seat.label == "dan")
    season.store.suspend(dan.id, "it does not start")
    assert ladder_check.run_readmit(["dan", str(season.path)]) == 0
    assert capsys.readouterr().out == "dan is paired again from the next batch on\n"
    assert all(seat.active for seat in season.store.seats(id))
    assert ladder_check.run_readmit(["dan", str(season.path)]) == 0
    assert capsys.readouterr().out == "dan was not suspended\n"
    assert ladder_check.run_readmit(["dna", str(season.path)]) == 2
    assert "there is no bot 'dna': did you mean dan?" in capsys.readouterr().err
    kinds = [event["kind"] for event in _json(capsys, ladder_games.run_events, str(season.path))["events"]]
    assert kinds == ["joined"] * 4 + ["suspended", "readmitted"]
    assert ladder_games.run_events([str(season.path), "--limit", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split()[2:] == ["readmitted", "dan"]


def test_what_happens_to_a_bot_in_several_pools_is_one_line() -> None:
    at = "2026-11-28T12:00:00Z"
    found = [
        StoreEvent(at, "joined", "ann (12ab) in fast"),
        StoreEvent(at, "joined", "bob (34cd) in fast"),
        StoreEvent(at, "joined", "ann (12ab) in slow"),
        StoreEvent(at, "replaced", "eve in fast: 1 by 2"),
        StoreEvent(at, "replaced", "eve in slow: 1 by 2"),
        StoreEvent(at, "suspended", "ann: exit status 1"),
        StoreEvent(at, "suspended", "ann: exit status 1"),
        StoreEvent("2026-11-28T13:00:00Z", "left", "ann (12ab) in fast"),
    ]
    assert [f"{kind} {text}" for _, kind, text in queries.told_once(found)] == [
        "joined ann (12ab) in fast, slow",
        "joined bob (34cd) in fast",
        "replaced eve in fast, slow: 1 by 2",
        "suspended ann: exit status 1",
        "left ann (12ab) in fast",
    ]


def test_a_ladder_is_named_by_its_file_its_store_or_a_url(
    season: Filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Its bots need not be there."""
    file = tmp_path / "club.toml"
    file.write_text(
        '[pool.fast]\ngame = "yugo"\n[bot.a]\ncommand = "./nowhere"\n[bot.b]\ncommand = "no-such-bot"\n',
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    said = set()
    for words in ([str(file)], ["club.toml"], ["club.db"], [season.url]):
        assert ladder_standings.run_standings(words) == 0
        said.add(capsys.readouterr().out)
    (tmp_path / "ladder.toml").write_text('store = "club.db"\n' + file.read_text(encoding="utf-8"), encoding="utf-8")
    assert ladder_standings.run_standings([]) == 0
    said.add(capsys.readouterr().out)
    assert len(said) == 1
    for words in (["ann", "bob"], ["ann", "bob", "club.db"], ["club.db", "ann", "bob"]):
        assert ladder_bots.run_pair(words) == 0
        assert "ann 4.5 - 1.5 bob" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["standings", "nothing.toml"], 2, "nothing.toml: does not exist: name the ladder's file (ggp ladder init"),
        (["standings", "bad.toml"], 2, "bad.toml: line 1, column"),
        (["standings", "new.toml"], 1, "ggp ladder run"),
        (["standings", "sqlite:///nothing.db"], 1, "nothing.db"),
        (["standings", "postgresql+psycopg://nobody@127.0.0.1:1/none"], 1, "none"),
        (["standings", "club.db", "more"], 2, "got 'club.db more' (ggp ladder standings --help)"),
        (["standings", "club.db", "--json", "--fast"], 2, "--fast"),
        (["crosstable", "club.db", "--json", "--csv"], 2, "choose either --csv or --json"),
        (["pair", "ann"], 2, "it takes 2 words and the ladder's file or store"),
        (["pair", "ann", "bbo", "club.db"], 2, "there is no bot 'bbo': did you mean bob?"),
        (["pair", "ann", "ann", "club.db"], 2, "ann and ann are the same version: name two"),
        (["pair", "ann", "bob", "club.db", "--elo0", "1"], 2, "--elo0 and --elo1 go together"),
        (["pair", "ann", "bob", "club.db", "--elo0", "5", "--elo1", "1"], 2, "elo0 5 must be less than elo1 1"),
        (["bot", "anna", "club.db"], 2, "there is no bot 'anna': did you mean ann?"),
        (["games", "club.db", "--since", "soon"], 2, "--since 'soon': write 2026-11-30"),
        (["games", "club.db", "--against", "bob"], 2, "--against goes with --bot"),
        (["games", "club.db", "--termination", "boredom"], 2, "'boredom' is not one of"),
        (["games", "no-such-key", "club.db"], 2, "there is no match 'no-such-key': ggp ladder games lists them"),
        (["export", "club.db", "--format", "pgn"], 2, "'pgn' is not one of"),
        (["export", "club.db", "-o", "no/folder/x"], 2, "cannot write no/folder/x: No such file or directory"),
        (["export", "club.db", "--key", "a", "--bot", "ann"], 2, "--key is one match"),
    ],
)
def test_bad_input_is_said_in_one_line(
    words: list[str],
    status: int,
    message: str,
    season: Filled,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    (tmp_path / "bad.toml").write_text("this is no file\n", encoding="utf-8")
    (tmp_path / "new.toml").write_text('[pool.fast]\ngame = "yugo"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    name, *rest = words
    assert VIEWS[name](rest) == status
    told = capsys.readouterr()
    assert told.out == "" and message in told.err
    assert told.err.startswith(f"ggp ladder {name}: ") and told.err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_an_empty_ladder_is_no_error(tmp_path: Path, capsys: Capture) -> None:
    Store.open(f"sqlite:///{tmp_path}/none.db", create=True).close()
    with Filled(tmp_path):
        for store in ("none.db", "club.db"):
            for name in OF_ALL:
                assert VIEWS[name]([str(tmp_path / store)]) == 0
                told = capsys.readouterr()
                assert told.out and told.err == ""
                if name != "events":
                    assert "no" in told.out.split()
                assert json.dumps(_json(capsys, VIEWS[name], str(tmp_path / store)))
        assert ladder_bots.run_pair(["ann", "bob", str(tmp_path / "club.db")]) == 0
        assert "ann and bob have no game that counts" in capsys.readouterr().out
        assert ladder_bots.run_bot(["ann", str(tmp_path / "club.db")]) == 0
        assert "no game was finished yet" in capsys.readouterr().out


def test_every_command_has_help(capsys: Capture) -> None:
    for name, main in VIEWS.items():
        assert main(["--help"]) == 0
        told = capsys.readouterr().out
        assert told.startswith(f"Usage: ggp ladder {name} ") and "LADDER is a ladder's file" in told


@pytest.mark.slow
@pytest.mark.parametrize("columns", [70, 60, 48])
def test_where_there_is_little_room_columns_are_left_out_and_no_number_is_broken(
    season: Filled, columns: int, tmp_path: Path
) -> None:
    shown = "\n".join(shown_on_terminal("ladder", "standings", str(season.path), home=tmp_path, columns=columns))
    lines = re.sub("\x1b\\[[0-9;]*m", "", shown).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("#"))
    head, ann, bob = lines[at : at + 3]
    assert head.split()[:4] == ["#", "bot", "Elo", "±"] and "+" not in head.split()
    for line, rank, name in ((ann, "1", "ann"), (bob, "2", "bob")):
        assert line.split()[:2] == [rank, name]
        assert all(re.fullmatch(r"-?\d+\.\d", number) for number in line.split()[2:4])
    assert max(map(len, lines[: at + 5])) <= columns
    assert any(line.startswith("not shown: ") and "+ = -" in line for line in lines)


HALF_EDITED = """
name = "club"
seed =
store = "club.db"
[pool.main
game = "yugo"
"""


@pytest.mark.parametrize("text", [HALF_EDITED, HALF_EDITED.replace('store = "club.db"', ""), 'name = "club"\n[[['])
def test_a_ladder_is_looked_at_while_its_file_is_edited(season: Filled, capsys: Capture, text: str) -> None:
    """What was read before is in the store, and the file still says where that is."""
    file = season.path.with_suffix(".toml")
    file.write_text(text, encoding="utf-8")
    for name in ("events", "standings"):
        assert VIEWS[name]([str(file)]) == 0
        said = capsys.readouterr()
        assert f"{file}: line " in said.err and "showing the store that the file names" in said.err
        assert said.err.count("\n") == 1 and ("joined" in said.out or "ann" in said.out)
    site = season.path.parent / "site"
    for main, words in (
        (report, [str(file), "-o", str(site), "--quiet"]),
        (ladder_bots.run_pair, ["ann", "bob", str(file)]),
    ):
        assert main(words) == 0 and "showing the store that the file names" in capsys.readouterr().err
    assert "<title>Ladder club</title>" in (site / "index.html").read_text(encoding="utf-8")


def test_a_store_that_is_being_edited_is_not_guessed(season: Filled, capsys: Capture) -> None:
    file = season.path.with_suffix(".toml")
    file.write_text('name = "club"\nstore = "clu\n', encoding="utf-8")
    assert VIEWS["events"]([str(file)]) == 2
    assert "this is no TOML" in capsys.readouterr().err
