"""A bot that kills its worker, or a power failure: matches go on where they were, and finished ones count."""

from pathlib import Path

import pytest

from ggp.protocol.records import MatchEnded, Record, read_records
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.match.match_runner import MatchRunner
from ggp.referee.match.record_file import RecordFile
from ggp.referee.match.resume import done_path, interrupted, remove_side_files, take_interrupted
from ggp.referee.match.series import attempt_of
from ggp.referee.records import live_path
from tests.support.chaos import chaos_command
from tests.support.cli import PYTHON, ggp
from tests.support.ladders import check_whole, open_store
from tests.support.memory_match import MemoryMatch, bot
from tests.support.series import AtTable, make_setup

# Plays the last legal point of Yugo, so that no game ends early by two passes; at its third move of a match it kills
# its worker, the first three times.
KILLER = """
import os, signal
from pathlib import Path
from ggp.bots.sdk import run

deaths = Path({deaths!r})

def choose(position):
    done = deaths.read_bytes() if deaths.exists() else b""
    if position.ply in (4, 5) and len(done) < 3:
        deaths.write_bytes(done + b".")
        os.kill(os.getppid(), signal.SIGKILL)
    legal = position.legal_moves()
    return ([move for move in legal if move not in ("pass", "button")] or legal)[-1]

run(choose)
"""


@pytest.fixture
def killer(tmp_path: Path) -> str:
    program = tmp_path / "killer.py"
    program.write_text(KILLER.replace("{deaths!r}", repr(str(tmp_path / "deaths"))), encoding="utf-8")
    return f"{PYTHON} {program}"


def _finished(record: Path) -> list[Record]:
    return [one for one in read_records(record.read_bytes().splitlines(keepends=True)) if one.end]


@pytest.mark.slow
def test_a_match_of_a_killed_worker_goes_on_in_another(tmp_path: Path, killer: str) -> None:
    record = tmp_path / "games.jsonl"
    words = ("match", "yugo,size=4", killer, "random", "--games", "6", "--jobs", "2", "--json")
    ran = ggp(*words)
    assert ran.status == 1 and ran.json["games"] < 6
    assert "a worker process died; use --record FILE to make the match resumable" in ran.err
    (tmp_path / "deaths").unlink()
    ran = ggp(*words, "--record", str(record))
    assert ran.status == 0 and "a worker process died: its matches go on in another" in ran.err
    assert (ran.json["games"], ran.json["void"]) == (6, 0)
    assert (tmp_path / "deaths").read_bytes() == b"..."
    assert [one.end and one.end.termination for one in _finished(record)] == ["rules"] * 6
    assert ran.json["plies"] == sum(one.end.plies for one in _finished(record) if one.end)
    assert not list(tmp_path.glob("games.jsonl.*")) and ggp("verify", str(record)).status == 0


@pytest.mark.slow
def test_a_bot_that_always_kills_its_worker_gains_nothing(tmp_path: Path, killer: str) -> None:
    (tmp_path / "killer.py").write_text(
        (tmp_path / "killer.py").read_text(encoding="utf-8").replace("len(done) < 3", "True"), encoding="utf-8"
    )
    record = tmp_path / "games.jsonl"
    words = ("match", "yugo,size=4", killer, "random", "--games", "2", "--jobs", "1", "--record", str(record))
    ran = ggp(*words)
    assert ran.status == 1 and "worker processes died 4 times in a row; repeat the command to resume" in ran.err
    (first,) = interrupted(str(record)).values()
    assert first.end is None and len(first.plies) in (4, 5)
    (tmp_path / "killer.py").write_text(
        (tmp_path / "killer.py").read_text(encoding="utf-8").replace("and True", "and False"), encoding="utf-8"
    )
    assert ggp(*words, "--json").json["games"] == 2
    again = next(one for one in _finished(record) if one.start.match == first.start.match)
    assert again.start.started == first.start.started and again.plies[: len(first.plies)] == first.plies


@pytest.mark.slow
def test_a_ladder_goes_on_with_the_matches_of_a_worker_that_was_killed(tmp_path: Path, killer: str) -> None:
    file = tmp_path / "club.toml"
    file.write_text(
        '[pool.small]\ngame = "yugo,size=4"\ncontrol = "60"\n'
        f'[bot.cheat]\ncommand = "{killer}"\n[bot.honest]\ncommand = "random"\n',
        encoding="utf-8",
    )
    ran = ggp("ladder", "run", str(file), "--games", "8", "--jobs", "1", "--json")
    assert ran.status == 0 and "its games go on" in str(ran.json["messages"])
    assert (tmp_path / "deaths").read_bytes() == b"..."
    with open_store(file) as store:
        rows = list(store.games())
    assert len(rows) == 8 and {row.termination for row in rows} == {"rules"}
    assert all(row.attempt == 0 for row in rows)
    check_whole(file)
    assert not [path for path in tmp_path.iterdir() if ".live-" in path.name or ".done-" in path.name]


# -- files -----------------------------------------------------------------------------------------------------------


def _record(key: str = "s-1", plies: int | None = None) -> Record:
    record = MemoryMatch("go size=2 komi=0.5", bot(["A1", "pass"]), bot(["B2", "pass"])).run().record
    assert isinstance(record.end, MatchEnded) and record.start.match == "memory-1"
    return record if plies is None else Record(record.start, record.plies[:plies], None)


def test_what_killed_workers_left_is_found(tmp_path: Path) -> None:
    base = str(tmp_path / "games")
    whole, half = _record().lines(), _record(plies=2).lines()
    Path(live_path(base, 1)).write_bytes(half[:-10])  # the line that was being written
    (one,) = interrupted(base).values()
    assert one.end is None and len(one.plies) == 1
    Path(done_path(base, 2)).write_bytes(whole)
    assert interrupted(base)["memory-1"].end is not None, "what was finished counts"
    Path(live_path(base, 3)).write_bytes(b"no record\n")
    assert len(interrupted(base)) == 1
    remove_side_files(base)
    assert list(tmp_path.iterdir()) == [] and interrupted(base) == {} and interrupted("") == {}


def test_a_recorder_takes_what_is_left_and_leaves_it_where_workers_died(tmp_path: Path) -> None:
    path = tmp_path / "games"
    side = Path(live_path(str(path), 1))
    side.write_bytes(_record(plies=3).lines())
    with RecordFile(path) as recorder:
        assert set(recorder.left) == {"memory-1"} and not side.exists()
        side.write_bytes(_record(plies=3).lines())
        recorder.broken = True
    assert side.exists()
    with RecordFile(path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_was_taken_up_is_kept_until_the_run_ends(tmp_path: Path) -> None:
    """A bot that kills two runs, one after another, does not restart a match."""
    base = str(tmp_path / "games")
    side = Path(live_path(base, 1))
    side.write_bytes(_record(plies=3).lines())
    assert len(take_interrupted(base)["memory-1"].plies) == 3 and not side.exists()
    assert len(take_interrupted(base)["memory-1"].plies) == 3, "the run was killed before it began the match"
    side.write_bytes(_record(plies=2).lines())
    assert len(interrupted(base)["memory-1"].plies) == 3, "killed while it played the plies again"
    side.write_bytes(_record().lines())
    assert take_interrupted(base)["memory-1"].end is not None
    remove_side_files(base)
    assert list(tmp_path.iterdir()) == [] and take_interrupted("") == {}


@pytest.mark.parametrize(("key", "attempt"), [("a-1", 0), ("a-1.2", 2), ("a-b-12.13", 13), ("x", 0), ("a-1.x", 0)])
def test_a_key_tells_its_attempt(key: str, attempt: int) -> None:
    assert attempt_of(key) == attempt


@pytest.mark.slow
def test_a_table_keeps_what_was_finished_and_goes_on_with_what_was_not() -> None:
    setup = make_setup("yugo,size=3", "random:seed=1", "random:seed=2", name="s")
    first, again, other = AtTable(), AtTable(), AtTable()
    for came in (first, again, other):
        table = MatchRunner(came.keep)
        try:
            if came is first:
                run_blocking(table.play(setup, 0))
                continue
            (whole,) = first.records
            begun = whole if came is again else Record(whole.start, whole.plies[:3], None)
            run_blocking(table.play(setup, 0, 0, {"s-1": begun}))
        finally:
            run_blocking(table.close())
    assert again.kept == first.kept
    (gone_on,) = other.records
    assert gone_on.start == first.records[0].start and gone_on.plies[:3] == first.records[0].plies[:3]
    assert gone_on.end is not None and gone_on.end.result


@pytest.mark.slow
@pytest.mark.parametrize("words", ["random", "greedy:playouts=2", chaos_command("fault=any,ms=1")])
def test_a_match_that_goes_on_ends_as_it_would_have(words: str) -> None:
    """What built-in bots draw follows from the seeds and the ply, also where they are new processes."""
    setup = make_setup("yugo,size=4", f"one={words}", "two=random:seed=3", name="s", games=4, openings=1, seeded=True)
    whole, again = AtTable(), AtTable()
    table, other = MatchRunner(whole.keep), MatchRunner(again.keep)
    try:
        for number in range(4):
            run_blocking(table.play(setup, number))
            record = whole.records[-1]
            key, length = record.start.match, len(record.plies)
            for cut in range(2, length + 1, 3):
                begun = Record(record.start, record.plies[:cut], None)
                run_blocking(other.play(setup, number, attempt_of(key), {key: begun}))
                gone_on = again.records[-1]
                assert [ply.move for ply in gone_on.plies] == [ply.move for ply in record.plies]
                assert gone_on.end is not None and record.end is not None
                assert (gone_on.end.result, gone_on.end.culprit) == (record.end.result, record.end.culprit)
    finally:
        run_blocking(table.close())
        run_blocking(other.close())
