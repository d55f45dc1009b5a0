"""A referee, a worker, a lobby or a guard that is killed at any moment leaves nothing of its bots behind.

`GGP_KILLS=20` makes it shorter: so many instants, of 200.
"""

import contextlib
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from referee.sandbox.machine import this_machine
from tests.support.cli import Ggp, wait_until
from tests.support.zoo_arena import groups

pytestmark = pytest.mark.long

KILLS = int(os.environ.get("GGP_KILLS", "200"))
LEVEL = "strict" if not this_machine().missing else "default"
VICTIMS = ("referee", "worker", "guard", "lobby")


class Killed:
    """What runs, found by a number that the command lines of its bots have, and no other's."""

    def __init__(self, victim: str, folder: Path, number: int) -> None:
        self.victim, self._words = victim, f"seed={number}"
        if victim == "lobby":
            file = folder / "lobby.toml"
            file.write_text(LOBBY.format(level=LEVEL, words=f"random:{self._words}"))
            self.running = Ggp("serve", str(file), "--no-keys", "--listen", f"ipc://{folder}/lobby.ipc")
        else:
            bots = (f"a=random:{self._words}", f"b=random:{self._words}")
            words = ("--games", "100000", "--jobs", "2", "--restart", "--quiet", "--sandbox", LEVEL)
            self.running = Ggp("match", "yugo,size=4", *bots, *words)

    def bots(self) -> list[int]:
        """The processes with that number among the words of their command lines, but the command's own."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                if self._words.encode() in words:
                    found.append(int(folder.name))
        return found

    def pids(self) -> list[int]:
        """Those that may be killed now: children of children come and go."""
        command = self.running.process.pid
        if self.victim in ("referee", "lobby"):
            return [command]
        if self.victim == "worker":
            return children(command)
        return [pid for worker in children(command) for pid in children(worker) if executable(pid) == "guard"]


LOBBY = """
store = "lobby.db"
[lobby]
[pool.small]
game = "yugo,size=4"
control = "10"
[sandbox]
level = "{level}"
[bot.a]
command = "{words}"
[bot.b]
command = "{words}"
"""


def children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def executable(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/exe").readlink().name
    return ""


@pytest.fixture
def nothing_of_ours() -> Iterator[None]:
    """No mount, and no group of a process that has died once another one has looked at the machine."""
    mounts = Path("/proc/self/mountinfo").read_text()
    yield
    assert Path("/proc/self/mountinfo").read_text() == mounts
    this_machine.cache_clear()
    this_machine()
    wait_until(lambda: not dead_groups(), 60, dead_groups)


def dead_groups() -> list[str]:
    """The groups of processes that are not there."""
    made = ((path, path.rpartition("/")[2].split("-")[1]) for path in groups("ggp-"))
    return [path for path, pid in made if pid.isdigit() and not Path(f"/proc/{pid}").exists()]


@pytest.mark.parametrize("victim", VICTIMS)
def test_nothing_is_left_after_a_kill_at_any_moment(tmp_path: Path, nothing_of_ours: None, victim: str) -> None:
    chance = random.Random(f"kills {victim}")
    for turn in range(max(1, KILLS // len(VICTIMS))):
        folder = tmp_path / str(turn)
        folder.mkdir()
        game = Killed(victim, folder, chance.randrange(10**8, 10**9))
        try:
            wait_until(lambda game=game: bool(game.bots()), 120)  # type: ignore[misc]
            time.sleep(chance.random() * 0.3)  # the moment: any
            for pid in game.pids()[:1]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if victim in ("worker", "guard"):  # the others play on
                time.sleep(chance.random() * 0.2)
                game.running.process.send_signal(signal.SIGTERM)
            game.running.wait(120)
            wait_until(lambda game=game: not game.bots(), 60, game.bots)  # type: ignore[misc]
        finally:
            for pid in game.bots():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
