"""Attackers lose at most their own games: what they do at every level of the sandbox, as root and as an ordinary user.

At the level none, where it is harmless, an attack must succeed: else it would show nothing at the others.
"""

import json
import os
import secrets
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from ggp.referee.match.sandbox.levels import LEVELS, PROPERTIES
from ggp.referee.match.sandbox.machine import this_machine
from tests.support import ROOT
from tests.support.cli import wait_until
from tests.support.zoo_arena import ArenaReport, HeldNow, SoakReport, copy_of_zoo
from tests.system.zoo import ATTACKS

pytestmark = pytest.mark.slow

NAMES = sorted(ATTACKS)
USER_NEEDS = [pytest.mark.needs("mount")] if os.geteuid() == 0 else []  # see as_ordinary_user
USERS = [
    pytest.param("root", marks=pytest.mark.needs("root")),
    pytest.param("user", marks=USER_NEEDS),
]
ORDINARY = 65534
HONEST_AT_WORK = "greedy:playouts=60,resign=off"
MORE = 2.0  # milliseconds that a move of the honest bot may take more
TRIES = 4


class Arena:
    """A server of tests.support.zoo_arena for one user and level."""

    def __init__(self, user: str, level: str, *more: str) -> None:
        self.user, self.level = user, level
        self.folder = Path(tempfile.mkdtemp(prefix="zoo-arena-"))
        zoo = copy_of_zoo(self.folder / "zoo")
        words = [sys.executable, "-m", "tests.support.zoo_arena", str(self.folder / "games"), level, *more]
        (self.folder / "games").mkdir()
        if user == "user" and os.geteuid() == 0:
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, ORDINARY, ORDINARY)
            words = as_ordinary_user(self.folder, words)
        self._errors = (self.folder / "errors").open("wb")
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=self._errors,
            stderr=self._errors,
            cwd=ROOT,
            env={
                **os.environ,
                "GGP_ZOO": str(zoo),
                "GGP_ZOO_SECRET": f"zoo-secret-{secrets.token_hex(8)}",
                "HOME": str(self.folder / "games"),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            start_new_session=True,
        )
        self._known: dict[str, ArenaReport] = {}

    def run(self, name: str, honest: str = "random") -> ArenaReport:
        """The match with this attacker, "none" for one without an attack; each is played once."""
        key = f"{name}-{honest.partition(':')[0]}"
        if key not in self._known:
            answer = self.folder / "games" / f"{key}.json"
            assert self._process.stdin is not None
            answer.unlink(missing_ok=True)
            control = ATTACKS[name].time if name in ATTACKS else "100"
            self._process.stdin.write(f"{name} {honest} {control} {1 if honest == 'random' else 6}\n".encode())
            self._process.stdin.flush()
            wait_until(lambda: answer.exists() or self._process.poll() is not None, 180, self._said)
            found = answer.read_bytes() if answer.exists() else b"{}"
            assert found != b"{}", (key, self._said(), answer.with_suffix(".err").read_text(encoding="utf-8")[-4000:])
            self._known[key] = msgspec.json.decode(found, type=ArenaReport)
        return self._known[key]

    def forget(self, *names: str) -> None:
        """They are played again when they are asked for."""
        for key in [key for key in self._known if key.rpartition("-")[0] in names]:
            del self._known[key]
            shutil.rmtree(self.folder / "games" / key)

    def keeps(self, *properties: str) -> bool:
        """Whether these properties are kept here, for this user."""
        file = self.folder / "games" / "machine"
        wait_until(lambda: file.exists() or self._process.poll() is not None, 180, self._said)
        return {*properties} - {"referee"} <= {*json.loads(file.read_text(encoding="utf-8"))["kept"]}

    def _said(self) -> str:
        return (self.folder / "errors").read_text(encoding="utf-8")[-4000:]

    def close(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._errors.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def as_ordinary_user(folder: Path, words: list[str]) -> list[str]:
    """Words that run these as a user without rights, who may get at the interpreter and at the project all the same.

    Both may be below a folder that only root may enter: in a mount namespace of its own they are put into an open one.
    """
    closed: dict[Path, list[Path]] = {}
    for needed in {ROOT, Path(sys.prefix), Path(sys.base_prefix)}:
        way = [*reversed(needed.parents), needed]
        if shut := next((path for path in way if not path.stat().st_mode & 0o1), None):
            closed.setdefault(shut, []).append(needed)
    steps = ["set -e"]
    for number, (shut, needs) in enumerate(sorted(closed.items())):
        needs = [path for path in needs if not any(other in path.parents for other in needs)]
        for index, path in enumerate(needs):
            steps += [f"mkdir {folder}/{number}-{index}", f"mount --rbind '{path}' {folder}/{number}-{index}"]
        steps.append(f"mount -t tmpfs -o mode=755 tmpfs '{shut}'")
        for index, path in enumerate(needs):
            steps += [f"mkdir -p '{path}'", f"mount --rbind {folder}/{number}-{index} '{path}'"]
    steps.append('exec setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"')
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", "\n".join(steps), "sh", *words]


class ArenaKey(NamedTuple):
    user: str
    level: str


@pytest.fixture(scope="module")
def arenas() -> Iterator[dict[ArenaKey, Arena]]:
    started: dict[ArenaKey, Arena] = {}
    yield started
    for arena in started.values():
        arena.close()


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=USERS)
def arena(request: pytest.FixtureRequest, level: str, arenas: dict[ArenaKey, Arena]) -> Arena:
    key = ArenaKey(request.param, level)
    if key not in arenas:
        arenas[key] = Arena(*key)
    return arenas[key]


@pytest.mark.parametrize("name", NAMES)
def test_an_attack_wins_nothing(arena: Arena, name: str) -> None:
    """What the register of attacks says is what happens, and the honest bot plays as without an attack."""
    attack = ATTACKS[name]
    honest = HONEST_AT_WORK if attack.kept == "idle turn" else "random"
    without = arena.run("none", honest)
    if arena.level == "strict" and not arena.keeps(*PROPERTIES):
        assert without.termination == "refused" and 'sandbox = "strict" is not supported here' in without.detail
        return
    came = arena.run(name, honest)
    assert (without.culprit, without.left, without.seen) == ("", [], [])
    got = [line for line in came.told if line.startswith(("got ", "began "))]
    stopped = attack.stops[arena.level]
    if stopped == "nothing" or (stopped.startswith("nothing for root") and arena.user == "root"):
        assert got or came.seen or came.left, came
        return
    assert all(char.isprintable() or char == "\n" for char in came.record)
    _plays_as_without(without, came)
    if arena.level == "none":
        return
    if arena.keeps(attack.kept):
        assert not [line for line in got if line.startswith("got ")] and not came.seen, came
        _is_not_slowed(arena, name, honest)
    assert came.left == []
    assert came.descriptors == without.descriptors


def _plays_as_without(without: ArenaReport, came: ArenaReport) -> None:
    """The honest bot, until its opponent lost by a fault."""
    moves, before = ([move for seat, move, _ in one.plies if seat == 2] for one in (came, without))
    assert moves == before[: len(moves)]
    if came.culprit:
        assert came.culprit == "seat1" and came.result[:2] in ("W+", ""), came  # "": void
    else:
        assert (moves, came.result) == (before, without.result), came


def _is_not_slowed(arena: Arena, name: str, honest: str) -> None:
    """By the median of its moves. Other work on this machine slows one or the other run: a few are tried."""
    for _ in range(TRIES):
        charged, before = (_median(arena.run(which, honest)) for which in (name, "none"))
        if charged <= before + MORE:
            return
        arena.forget(name, "none")
    raise AssertionError(f"{charged} ms a move, {before} without the attack")


def _median(report: ArenaReport) -> float:
    return statistics.median([ms for seat, _, ms in report.plies if seat == 2] or [0])


@pytest.fixture(scope="module")
def undivided() -> Iterator[Arena]:
    arena = Arena("user", "default", "undivided")
    yield arena
    arena.close()


REACHED = ("files", "network", "other processes")
SEEN = ("list_others", "read_connections")  # without namespaces it sees what all see


@pytest.mark.parametrize("name", [name for name in NAMES if ATTACKS[name].kept in REACHED and name not in SEEN])
def test_an_attack_reaches_nothing_where_landlock_and_seccomp_stand_alone(undivided: Arena, name: str) -> None:
    """As in a container or a unit that forbids namespaces: the bot is the referee's own user."""
    without, came = undivided.run("none"), undivided.run(name)
    assert [line for line in came.told if line.startswith("got ")] == [] and came.seen == [], came
    _plays_as_without(without, came)


def test_every_attack_has_a_row_in_the_threat_model() -> None:
    page = (ROOT / "docs" / "reference" / "attacks.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"`{name}`" not in page] == []


# -- a soak: twenty thousand games, a thousand attacks among them ------------------------------------------------------

GAMES = int(os.environ.get("GGP_SOAK", "20000"))  # GGP_SOAK=500 makes it shorter
SLOW = {"error_flood", "stalled_reads", "ignoring_signals"}  # seconds each
LEVEL = "strict" if not this_machine().missing else "default"
GROWTH = 1.25  # of memory: caches are bounded, and full after a while


@pytest.mark.long
def test_nothing_grows_and_the_honest_games_are_those_without_attacks(tmp_path: Path) -> None:
    attacked, alone = (soak(tmp_path / str(attacks), attacks) for attacks in (max(1, GAMES // 20), 0))
    for came in (attacked, alone):
        first, last = came.held[len(came.held) // 9], came.held[-1]
        print(f"\n{GAMES} games in {came.seconds:.0f} s\n  {first}\n  {last}")
        assert _counts(first) == _counts(last)
        assert last.memory < GROWTH * first.memory
    assert len(attacked.honest) == GAMES
    assert attacked.honest == alone.honest


def soak(folder: Path, attacks: int) -> SoakReport:
    """Run a soak to its end. What it says goes into a file, for a stray could hold a pipe open."""
    (folder / "tmp").mkdir(parents=True)
    words = ["-m", "tests.support.zoo_arena", str(folder), LEVEL, "soak", str(GAMES), str(attacks)]
    environment = {
        **os.environ,
        "TMPDIR": str(folder / "tmp"),
        "GGP_ZOO": str(copy_of_zoo(folder / "zoo")),
        "GGP_ZOO_SECRET": f"zoo-secret-{secrets.token_hex(8)}",
    }
    with (folder / "said").open("wb") as said:
        command = [sys.executable, *words, *(name for name in NAMES if name not in SLOW)]
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=said, stderr=said, check=False)
    assert done.returncode == 0, (folder / "said").read_text(encoding="utf-8")[-4000:]
    return msgspec.json.decode((folder / "soak.json").read_bytes(), type=SoakReport)


def _counts(held: HeldNow) -> HeldNow:
    """Return what must not differ by one."""
    return msgspec.structs.replace(held, games=0, memory=0)
