"""What a bot uses in its opponent's turn: who is credited, and who is stopped from then on."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from ggp.protocol.records import read_records
from ggp.referee.match.idle_turn import ALLOWED, IdleWatch, watch_of
from ggp.referee.match.sandbox.cgroups import BotGroups
from ggp.referee.match.sandbox.levels import Sandbox
from tests.support.cli import PYTHON, ggp

MS = 1_000_000


@dataclass
class FakeGroups:
    used: int = 0
    said: list[bool] = field(default_factory=list)

    def usage(self) -> int:
        return self.used

    def freeze(self, frozen: bool) -> None:
        self.said.append(frozen)


def watch(groups: FakeGroups, level: str = "default", *allow: str) -> IdleWatch | None:
    return watch_of(cast(BotGroups, groups), Sandbox(level, allow), True)  # type: ignore[arg-type]


def turn(seen: IdleWatch, groups: FakeGroups, used: int) -> int:
    """Its own turn, in which it uses a second, and its opponent's."""
    seen.wake()
    groups.used += 1000 * MS
    seen.rest()
    seen.begin_turn()
    groups.used += used
    return seen.end_turn()


def test_what_is_above_a_millisecond_of_a_game_is_credited_and_ends_it() -> None:
    groups = FakeGroups()
    seen = watch(groups)
    assert seen is not None and not seen.stops
    assert [turn(seen, groups, used) for used in (0, MS // 2, ALLOWED - MS // 2)] == [0, 0, 0]
    assert turn(seen, groups, 3 * MS) == 4 * MS  # all that none was credited for
    assert seen.stops and groups.said == [True]
    assert turn(seen, groups, 0) == 0 and groups.said == [True, False, True]


def test_each_game_has_its_own_millisecond() -> None:
    groups = FakeGroups()
    seen = watch(groups)
    assert seen is not None and turn(seen, groups, ALLOWED) == 0
    seen.begin_game()
    assert turn(seen, groups, ALLOWED) == 0 and seen.used == ALLOWED


def test_a_strict_bot_is_stopped_from_the_first_ply() -> None:
    groups = FakeGroups()
    seen = watch(groups, "strict")
    assert seen is not None
    turn(seen, groups, 0)
    assert groups.said == [True]
    seen.wake()
    seen.wake()
    assert groups.said == [True, False]


def test_a_strict_bot_that_does_not_begin_is_stopped_in_the_first_turn() -> None:
    """It was told the new game, so it runs when its opponent is asked."""
    groups = FakeGroups()
    seen = watch(groups, "strict")
    assert seen is not None
    seen.begin_game()
    seen.wake()
    seen.begin_turn()
    assert groups.said == [True] and seen.end_turn() == 0


def test_one_that_ponders_or_has_no_sandbox_is_not_watched() -> None:
    assert watch(FakeGroups(), "strict", "ponder") is None and watch(FakeGroups(), "none") is None
    assert watch_of(None, Sandbox("default"), True) is None


THIEF = """
import os, sys
if os.fork() == 0:
    while True: pass
os.execv(sys.executable, [sys.executable, "-m", "ggp.bots", "random"])
"""


@pytest.mark.slow
@pytest.mark.needs("strict")
def test_a_busy_child_pays_for_its_parent(tmp_path: Path) -> None:
    script, record = tmp_path / "thief.py", tmp_path / "games.jsonl"
    script.write_text(THIEF, encoding="utf-8")
    words = ("match", "yugo,size=7", f"thief={PYTHON} {script}", "other=greedy:playouts=40")
    done = ggp(*words, "--games", "2", "--jobs", "1", "--sandbox", "default", "--record", str(record))
    assert done.status == 0, done.err
    warnings = [
        text
        for read in read_records(record.read_bytes().splitlines(keepends=True))
        for text in (read.end.warnings if read.end else ())
    ]
    told = [text for text in warnings if "processor time" in text]
    shown = ggp("show", str(record)).out
    assert "sandbox: thief default - other default" in shown
    assert len(told) == 1 and "from now on it is stopped in these turns" in told[0]
