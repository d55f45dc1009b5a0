"""The files of running matches, what a full disk leaves of one, and matches that were to begin."""

import asyncio
import os
import resource
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ggp.referee.ladder.store.model import Pair
from ggp.referee.match.bot_spec import BotSpec
from ggp.referee.match.engine import GameRefused
from ggp.referee.match.record_file import RecordWriter
from ggp.referee.match.resume import MatchFiles
from ggp.referee.match.setting import Timeouts
from ggp.referee.server.lobby.game import PairGame
from ggp.referee.server.lobby.remote_bot import DIALLED
from tests.support.spectator_publisher import KEY, events
from tests.support.stores import ladder

LINES = [line for _, line in events(6)]
FILE = f"{KEY}.live"


def write(folder: Path, *lines: bytes) -> None:
    with (folder / FILE).open("ab") as file:
        file.writelines(lines)


def test_resumed_match_continues_its_file(tmp_path: Path) -> None:
    live, told = MatchFiles(tmp_path), events(6)
    write(tmp_path, *LINES[:4], LINES[4][:20])
    descriptor, kept = live.open(KEY, again=True)
    tape, size = RecordWriter(descriptor, kept), (tmp_path / FILE).stat().st_size
    for event, _ in told[:4]:
        tape.emit(event)
        assert (tmp_path / FILE).stat().st_size == size
    for event, _ in told[4:]:
        tape.emit(event)
    assert (tmp_path / FILE).read_bytes() == b"".join(LINES) == b"".join(tape.lines)
    os.close(descriptor)
    descriptor, kept = live.open(KEY)
    assert kept == b"" and (tmp_path / FILE).stat().st_size == 0
    os.close(descriptor)


def test_resumed_match_of_other_bots_rewrites_its_file(tmp_path: Path) -> None:
    write(tmp_path, *LINES[:4])
    descriptor, kept = MatchFiles(tmp_path).open(KEY, again=True)
    tape, other = RecordWriter(descriptor, kept), events(3, bot="cid", ended=False)
    for event, _ in other:
        tape.emit(event)
    assert (tmp_path / FILE).read_bytes() == b"".join(line for _, line in other)
    os.close(descriptor)


def test_nothing_is_written_after_a_torn_line(tmp_path: Path) -> None:
    """The disk is full in the middle of a line, and has room again: what came before can still be taken up."""
    live, told = MatchFiles(tmp_path), events(6)
    descriptor, _ = live.open(KEY)
    tape, (soft, hard) = RecordWriter(descriptor), resource.getrlimit(resource.RLIMIT_FSIZE)
    room = len(b"".join(LINES[:3])) + 10
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
        for event, _ in told[:4]:
            tape.emit(event)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / FILE).stat().st_size == room
    for event, _ in told[4:]:
        tape.emit(event)
    os.close(descriptor)
    assert b"".join(tape.lines) == b"".join(LINES)
    ((record, _),) = live.recover()
    assert list(record.plies) == [event for event, _ in told[1:3]]


@pytest.mark.parametrize("how", ["removed", "removed with its folder", "replaced", "truncated"])
def test_a_file_that_is_gone_while_its_match_is_played_is_written_again(tmp_path: Path, how: str) -> None:
    folder, told = tmp_path / "live", events(6)
    live = MatchFiles(folder)
    descriptor, _ = live.open(KEY)
    path, tape = folder / FILE, RecordWriter(descriptor, renew=partial(live.renew, KEY, descriptor))
    opened = len([*Path("/proc/self/fd").iterdir()])
    for event, _ in told[:3]:
        tape.emit(event)
    if how == "replaced":
        (tmp_path / "other").write_bytes(b"another\n" * 1000)
        (tmp_path / "other").replace(path)
    elif how == "truncated":
        os.truncate(path, 10)
    else:
        path.unlink()
    if "folder" in how:
        folder.rmdir()
    for event, _ in told[3:]:
        tape.emit(event)
    assert path.read_bytes() == b"".join(tape.lines) == b"".join(LINES)
    assert len([*Path("/proc/self/fd").iterdir()]) == opened
    os.close(descriptor)


def test_the_file_of_an_ended_match_is_used_again(tmp_path: Path) -> None:
    live, other = MatchFiles(tmp_path), "1-2-3-2"
    descriptor, _ = live.open(KEY)
    os.write(descriptor, b"".join(LINES))
    live.remove(KEY)
    live.remove(KEY)
    again, kept = live.open(other)
    assert kept == b"" and os.path.sameopenfile(again, descriptor)
    assert [path.name for path in tmp_path.iterdir()] == [f"{other}.live"]
    assert (tmp_path / f"{other}.live").read_bytes() == b""
    os.close(descriptor)
    os.close(again)


def test_files_of_ended_matches_are_deleted_at_the_end_and_after_a_kill(tmp_path: Path) -> None:
    """Also one with the lines of another match."""
    for end in (MatchFiles.close, lambda _: MatchFiles(tmp_path).recover()):
        live = MatchFiles(tmp_path)
        for key in (KEY, "1-2-3-2"):
            os.close(live.open(key)[0])
        live.remove(KEY)
        assert len(list(tmp_path.iterdir())) == 2
        live.remove("1-2-3-2")
        end(live)
        assert list(tmp_path.iterdir()) == []
    write(tmp_path, *LINES)
    (tmp_path / FILE).rename(tmp_path / "1-2-3-2.live")
    assert MatchFiles(tmp_path).recover() == [] and list(tmp_path.iterdir()) == []


def test_a_match_that_is_played_again_and_a_deleted_file_take_none_from_others(tmp_path: Path) -> None:
    live = MatchFiles(tmp_path)
    keys = [f"1-2-{number}-1" for number in range(4)]
    for key in keys[:2]:
        os.close(live.open(key)[0])
    for key in keys[:2]:
        live.remove(key)
    os.close(live.open(keys[0])[0])  # a void match has the same key when it is played again
    live.remove(keys[0])
    live.remove(keys[1])
    for path in tmp_path.iterdir():
        path.unlink()
    for key in keys:
        descriptor, kept = live.open(key)
        assert kept == b"" and os.fstat(descriptor).st_size == 0
        os.close(descriptor)
    assert {path.name for path in tmp_path.iterdir()} == {f"{key}.live" for key in keys}
    for key in keys:
        live.remove(key)
    live.close()
    assert list(tmp_path.iterdir()) == []


def leaves(game: PairGame) -> None:
    game.bots[1].leaving = True


def is_lost(game: PairGame) -> None:
    game.bots[0].line.route = b""


@pytest.mark.parametrize("end", [PairGame.drain, leaves, is_lost])
async def test_a_match_that_waits_to_begin_does_not_begin_without_its_bots_or_while_it_drains(
    end: Callable[[PairGame], None],
) -> None:
    room: Any = SimpleNamespace(
        begins=asyncio.Lock(),
        series="club",
        budgets=Timeouts(),
        sessions=SimpleNamespace(apply_backoff=lambda bot: None),
    )  # and no engines
    ann, bob = (
        SimpleNamespace(
            start=BotSpec(name, DIALLED), resting=0.0, leaving=False, line=SimpleNamespace(route=b"1", ended="")
        )
        for name in ("ann", "bob")
    )
    bots: Any = ann, bob
    game = PairGame(room, ladder().pools[0], Pair(1, 1, 0, 0, 1, 2), bots)
    async with room.begins:
        playing = asyncio.ensure_future(game.play())
        await asyncio.sleep(0)
        end(game)
    assert await playing == []


def test_an_engine_that_makes_a_game_void_twice_is_not_tried_again() -> None:
    room: Any = SimpleNamespace(engine_voids=Counter(), series="club", budgets=Timeouts())
    bots: Any = tuple(SimpleNamespace(start=BotSpec(name, DIALLED)) for name in ("ann", "bob"))
    game = PairGame(room, ladder().pools[0], Pair(1, 1, 0, 0, 1, 2), bots)
    game._count_engine_void(0, "it hangs")
    game._count_engine_void(1, "it hangs")
    with pytest.raises(GameRefused, match="the engine made a game void 2 times, last: it hangs"):
        game._count_engine_void(0, "it hangs")
