"""A referee, a worker, a lobby or a guard that is killed at any moment leaves nothing of its bots behind.

`GGP_KILLS=20` makes it shorter: so many instants, of 200.
"""

import contextlib
import os
import random
import signal
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from ggp.referee.match.sandbox.machine import this_machine
from tests.support.cli import Ggp, wait_until
from tests.support.zoo_arena import groups

pytestmark = pytest.mark.long

KILLS = int(os.environ.get("GGP_KILLS", "200"))
LEVEL = "strict" if not this_machine().missing else "default"
VICTIMS = ("referee", "worker", "guard", "lobby")


class RunningProcess(NamedTuple):
    """One of the command's own, of its engines or of its bots. Another may have its pid later, but began later."""

    pid: int
    began: str

    @property
    def lives(self) -> bool:
        state = state_of(self.pid)
        return state[:1] not in ([], ["Z"], ["X"]) and state[19] == self.began


class Killed:
    """What runs, found by a number that the command lines of its bots have, and no other's."""

    def __init__(self, victim: str, folder: Path, number: int) -> None:
        self.victim, self._words = victim, f"seed={number}"
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.seen: set[RunningProcess] = set()
        self.memory: set[Path] = set()
        if victim == "lobby":
            file = folder / "lobby.toml"
            file.write_text(LOBBY.format(level=LEVEL, words=f"random:{self._words}"), encoding="utf-8")
            arguments = ["serve", str(file), "--no-keys", "--listen", f"ipc://{folder}/lobby.ipc"]
        else:
            bots = (f"a=random:{self._words}", f"b=random:{self._words}")
            words = ("--games", "100000", "--jobs", "2", "--restart", "--quiet", "--sandbox", LEVEL)
            arguments = ["match", "yugo,size=4", *bots, *words]
        self.running = Ggp(*arguments, environment={"TMPDIR": str(self.temporary)})

    def bots(self) -> list[int]:
        """The processes with that number among the words of their command lines, but the command's own."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                if self._words.encode() in words and int(folder.name) != self.running.process.pid:
                    found.append(int(folder.name))
        return found

    def look(self) -> None:
        """Remember all its processes, and the shared memory that they have."""
        waiting = [self.running.process.pid]
        while waiting:
            pid = waiting.pop()
            if len(state := state_of(pid)) > 19:
                self.seen.add(RunningProcess(pid, state[19]))
            with contextlib.suppress(OSError):
                maps = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines()
                self.memory |= {Path(line.split()[-1]) for line in maps if "/dev/shm/" in line}
            waiting += children(pid)

    def victims(self) -> list[int]:
        """Those that may be killed now: children of children come and go."""
        command = self.running.process.pid
        if self.victim in ("referee", "lobby"):
            return [command]
        workers = [pid for pid in children(command) if b"spawn_main" in command_line(pid)]
        if self.victim == "worker":
            return workers
        return [pid for worker in workers for pid in children(worker) if executable(pid) == "guard"]

    def left(self) -> list[str]:
        """What of all that is still there."""
        found = [f"process {one.pid}" for one in self.seen if one.lives]
        found += [f"process {pid}" for pid in self.bots()]
        found += [path for one in self.seen for path in groups(f"ggp-{one.pid}-{one.began}-")]
        found += [f"shared memory {path}" for path in self.memory if path.exists()]
        return found + [f"file {path}" for path in self.temporary.glob("ggp-scratch-*")]


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


def state_of(pid: int) -> list[str]:
    """The words of its stat behind its name; the 20th is when it began."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return []


def command_line(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()]
    return []


def executable(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/exe").readlink().name
    return ""


@pytest.mark.parametrize("victim", VICTIMS)
def test_nothing_is_left_after_a_kill_at_any_moment(tmp_path: Path, victim: str) -> None:
    """No other process of ours looks at the machine before it is seen: that would remove what is left."""
    chance, killed = random.Random(f"kills {victim}"), 0
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    for turn in range(turns := max(1, KILLS // len(VICTIMS))):
        folder = tmp_path / str(turn)
        folder.mkdir()
        game = Killed(victim, folder, chance.randrange(10**8, 10**9))
        try:
            wait_until(lambda game=game: bool(game.bots() and game.victims()), 120)  # type: ignore[misc]
            time.sleep(chance.random() * 0.3)  # the moment: any
            game.look()
            for pid in game.victims()[:1]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
            if victim in ("worker", "guard"):  # the others play on
                time.sleep(chance.random() * 0.2)
                game.look()
                game.running.process.send_signal(signal.SIGTERM)
            game.running.wait(120)
            wait_until(lambda game=game: not game.left(), 60, game.left)  # type: ignore[misc]
        finally:
            for pid in game.bots():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    assert Path("/proc/self/mountinfo").read_text(encoding="utf-8") == mounts
    assert killed > turns // 2  # between two matches a worker has no bot
