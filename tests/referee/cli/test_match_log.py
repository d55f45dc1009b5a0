"""`ggp match --log DIR`: every line to and from every program, as `ggp tap --show` reads it."""

import shlex
from pathlib import Path

import pytest

from ggp.protocol.records import read_records
from ggp.referee.tools.tap.recording import read_sessions
from tests.support.cli import PYTHON, ggp

MATCH = ("match", "yugo,size=3", "one=random")


@pytest.mark.slow
def test_the_logs_hold_the_dialogue_of_every_program(tmp_path: Path) -> None:
    logs, record = tmp_path / "logs", tmp_path / "games"
    words = (*MATCH, "two=random", "--games", "2", "--jobs", "1", "--quiet", "--record", str(record))
    assert ggp(*words, "--log", str(logs)).status == 0
    assert sorted(path.name for path in logs.iterdir()) == ["engine.log", "one.log", "two.log"]
    matches = list(read_records(record.read_bytes().splitlines(keepends=True)))
    for name in ("one", "two"):
        (session,) = read_sessions(logs / f"{name}.log")
        moves = [pair.reply.text for pair in session.pairs if pair.reply and "genmove" in pair.name]
        seats = [(match, 1 + (match.start.bots[1].name == name)) for match in matches]
        assert moves == [ply.move for match, seat in seats for ply in match.plies if ply.seat == seat]
        assert session.notes[-1].endswith("exit status 0") and not session.stray
    assert "one  " not in ggp("tap", "--show", str(logs / "engine.log")).out
    assert ggp(*words[:-1], str(tmp_path / "more"), "--log", str(logs)).status == 0
    assert len(read_sessions(logs / "one.log")) == 2, "the next run is appended"


@pytest.mark.slow
def test_stderr_stands_in_the_log(tmp_path: Path) -> None:
    talker = shlex.join(["sh", "-c", f"echo hm >&2; exec {PYTHON} -m ggp.bots random"])
    ran = ggp(*MATCH, f"two={talker}", "--games", "2", "--jobs", "1", "--quiet", "--log", str(tmp_path))
    assert ran.status == 0, ran.err
    (session,) = read_sessions(tmp_path / "two.log")
    assert b"".join(data for _, data in session.stderr) == b"hm\n"
