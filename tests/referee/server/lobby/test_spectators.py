"""The lobby's side of spectating: what the spectator process is sent, and what happens when it ends or hangs."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from ggp.referee.server.lobby import spectators as module
from ggp.referee.server.lobby.log import EventLog
from ggp.referee.server.lobby.spectators import DROPPED, OPEN, SpectatorConfig, Spectators
from tests.support.memory_lobby import until
from tests.support.spectator_publisher import KEY, events

TOLD = events(6)
LINES = [line for _, line in TOLD]
CONFIG = SpectatorConfig("tcp://127.0.0.1:*", "club", "", "", 10)
pytestmark = pytest.mark.slow


class Program:
    """A replacement for the spectator process: it runs `first`, then copies stdin to a file."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, first: str = "") -> None:
        self.file = folder / "in"
        self.file.touch()
        copy = (
            f"import os, sys, time\n{first}\nfor line in sys.stdin.buffer: open({str(self.file)!r}, 'ab').write(line)"
        )
        monkeypatch.setattr(module, "COMMAND", (sys.executable, "-c", copy))
        monkeypatch.setattr(module, "SOON", 0.01)
        self.log = EventLog(quiet=True)
        self.spectators = Spectators(CONFIG, self.log)

    def lines(self) -> list[bytes]:
        """What came, without the configuration."""
        return [one for one in self.file.read_bytes().splitlines(keepends=True) if not one.startswith(b'{"url"')]

    def publish(self, first: int, last: int, told: "list[tuple[Any, bytes]]" = TOLD) -> None:
        for event, line in told[first:last]:
            self.spectators.publish(event, line)

    async def __aenter__(self) -> "Program":
        self.spectators.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.spectators.close()


async def test_running_matches_come_first_and_an_end_once_it_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program(tmp_path, monkeypatch)
    program.publish(0, 3)
    async with program:
        await until(lambda: program.lines() == [*LINES[:3], OPEN])
        program.publish(3, len(TOLD))
        await until(lambda: program.lines() == [*LINES[:3], OPEN, *LINES[3:-1]])
        program.spectators.end(KEY)
        program.spectators.end(KEY)
        await until(lambda: program.lines() == [*LINES[:3], OPEN, *LINES[3:]])


async def test_a_resumed_match_is_sent_from_where_it_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(tmp_path, monkeypatch)
    program.publish(0, 4)
    other = events(4, bot="eve", ended=False)
    async with program:
        await until(lambda: OPEN in program.lines())
        program.publish(0, 5)
        program.publish(0, 2, other)
        program.spectators.end(KEY)
        dropped = DROPPED + KEY.encode() + b"\n"
        expected = [*LINES[:4], OPEN, LINES[4], *(line for _, line in other[:2]), dropped]
        await until(lambda: program.lines() == expected)


@pytest.mark.parametrize("first", ["time.sleep(0.2) or sys.exit(1)", "time.sleep(3600)"], ids=["ends", "hangs"])
async def test_a_process_that_ends_or_hangs_is_started_again_with_all_that_runs(
    first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BACKLOG", 1000)
    once = f"os.path.exists('{tmp_path}/once') or open('{tmp_path}/once', 'w') and {first}"
    program = Program(tmp_path, monkeypatch, once)
    long = events(2000, ended=False)
    async with program:
        await until((tmp_path / "once").exists)
        program.publish(0, len(long), long)
        await until(lambda: program.lines() == [*(line for _, line in long), OPEN])
        assert program.log.counts["spectators", "ended"] == 1


async def test_what_the_process_prints_is_logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = '{"event": "fault", "word": "answer", "times": 3}'
    first = f"print('not a report'); print({report!r}); sys.stdout.flush(); print('nor this', file=sys.stderr)"
    async with Program(tmp_path, monkeypatch, first) as program:
        await until(lambda: program.log.counts["spectators", "output"] == 2)
        assert program.log.counts["fault", "answer"] == 3


async def test_a_program_that_is_missing_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(tmp_path, monkeypatch)
    monkeypatch.setattr(module, "COMMAND", (str(tmp_path / "none"),))
    async with program:
        await until(lambda: program.log.counts["spectators", "ended"] > 1)


async def test_without_a_configuration_there_is_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMMAND", (str(tmp_path / "none"),))
    log = EventLog(quiet=True)
    off = Spectators(None, log)
    off.open()
    for event, line in TOLD:
        off.publish(event, line)
    off.end(KEY)
    await asyncio.sleep(0.05)
    await off.close()
    assert not log.counts
