"""Plays matches of the attackers in tests/system/zoo against an honest bot, each in a process of its own.

    python -m tests.support.zoo_arena FOLDER LEVEL [undivided]
    python -m tests.support.zoo_arena FOLDER LEVEL soak GAMES ATTACKS NAME…

`undivided`: as on a machine without namespaces and cgroups, where bots are our own user.
Each line of stdin is an attack ("none": it only plays), the honest bot and the time control; the answer is an
ArenaReport in FOLDER/ATTACK-BOT.json. No pipe is read that a stray of an attacker may hold open, and all that is left
behind is killed and removed in the end.

`soak` plays many games of honest bots in one process, with an attack now and then, and writes what the process holds to
FOLDER/soak.json, a SoakReport. The honest games are the same ones whatever the number of attacks.
"""

import base64
import contextlib
import ctypes
import faulthandler
import hashlib
import json
import os
import pty
import re
import secrets
import shutil
import signal
import socket
import sys
import termios
import time
import tty
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fcntl import ioctl
from functools import partial
from pathlib import Path

import msgspec

from ggp.protocol.records import read_records
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.subreaper import adopt_orphans, end_with_parent
from ggp.referee.match.bot_spec import BotSpec, read_bot
from ggp.referee.match.match_runner import MatchRunner, Suspended
from ggp.referee.match.process import NO_LIMITS, available_cores, pin
from ggp.referee.match.sandbox.levels import LEVELS, Sandbox
from ggp.referee.match.sandbox.machine import this_machine
from ggp.referee.match.series import GameResult
from tests.support import TESTS
from tests.support.series import SHORT, make_setup, play

LOOKS = 200  # how many times a soak looks at what it holds
SECONDS = 100  # that a match may take; then its stacks are written and it is killed
PUBLIC = ("/tmp", "/var/tmp", "/dev/shm", "/usr", "/etc", os.environ.get("HOME", "/"))
BOUNDS = Sandbox(memory=128, processes=16, scratch=8)  # of a bot in the sandbox
_IPC_RMID, _KEYCTL_UNLINK, _KEYCTL_SET_TIMEOUT = 0, 9, 15


class ArenaReport(msgspec.Struct):
    """A match with an attacker at seat 1, or why none began.

    `plies`: seat, move, milliseconds. `told`: what the attacker wrote. `seen`: what it did, as the arena itself saw it.
    `left`: what was left after it.
    """

    termination: str = ""
    detail: str = ""
    result: str = ""
    culprit: str = ""
    plies: list[tuple[int, str, int]] = []
    told: list[str] = []
    seen: list[str] = []
    left: list[str] = []
    descriptors: dict[str, int] = {}
    record: str = ""


class HeldNow(msgspec.Struct):
    """What the process of a soak has after so many games, and what is there because of it. `memory` is in KiB."""

    games: int
    memory: int
    descriptors: int
    groups: int
    files: int
    mounts: int
    children: int


class SoakReport(msgspec.Struct):
    """`honest`: a hash of the moves and the result of each honest game."""

    honest: list[str]
    held: list[HeldNow]
    seconds: float


# -- what may be attacked ---------------------------------------------------------------------------------------------


class ArenaTarget:
    """Files, a process, sockets, a terminal, shared memory and a key, and whether an attack reached them."""

    def __init__(self, folder: Path, secret: str, mark: str) -> None:
        self.folder, self.secret, self.mark = folder, secret.encode(), mark
        self.files = [folder / name for name in ("secret", "store.db", "bot.key", "settings.toml")]
        for path in self.files:
            path.write_bytes(self.secret)
            path.chmod(0o600)
        self.descriptor = os.open(self.files[0], os.O_RDONLY)
        os.set_inheritable(self.descriptor, True)
        self._memory = ctypes.create_string_buffer(self.secret, 64)
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.shmat.restype = ctypes.c_void_p
        self.size = 4096 * (1 + secrets.randbelow(5000)) + 7
        self.segment = self.libc.shmget(0, 64, 0o1600)
        place = self.libc.shmat(self.segment, None, 0)
        ctypes.memmove(place, self._memory, 64)
        self.libc.shmctl(self.segment, _IPC_RMID, None)  # it goes when this process does, however that ends
        self.key = self._system_call(248, 217, b"user", f"{self.mark}-mine".encode(), self.secret, len(secret), -4)
        self._system_call(250, 219, _KEYCTL_SET_TIMEOUT, self.key, 600)  # where it cannot be removed
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.abstract, self.path = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        self.abstract.bind(f"\0{self.mark}")
        self.path.bind(str(folder / "socket"))
        for local in (self.abstract, self.path):
            local.listen()
        self.datagrams = [socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2)]
        for local, address in zip(self.datagrams, (f"\0{self.mark}", str(folder / "socket")), strict=True):
            local.bind(f"{address}-datagrams")
        self.terminal, self._slave = pty.openpty()
        tty.setraw(self._slave)
        self.victim = os.fork()
        if not self.victim:
            end_with_parent(signal.SIGKILL)
            os.chdir(folder)
            while True:
                time.sleep(60)

    def described(self) -> str:
        """For the attackers: see Prey."""
        prey = {
            "mark": self.mark,
            "folder": str(self.folder),
            "temporary": os.environ["TMPDIR"],
            "secrets": [str(path) for path in self.files[:3]],
            "targets": [str(path) for path in self.files[1:]],
            "descriptor": self.descriptor,
            "victim": self.victim,
            "referee": os.getpid(),
            "address": ctypes.addressof(self._memory),
            "segment": self.segment,
            "segment_size": self.size,
            "key": self.key,
            "tcp": self.tcp.getsockname()[1],
            "udp": self.udp.getsockname()[1],
            "abstract": self.mark,
            "path_socket": str(self.folder / "socket"),
            "terminal": os.ttyname(self._slave),
            "processes": BOUNDS.processes,
            "memory": 2 * BOUNDS.memory,
            "disk": 4 * BOUNDS.scratch,
            "inodes": 20_000,
            "descriptors": 20_000,
        }
        return base64.b64encode(json.dumps(prey).encode()).decode()

    def reached(self) -> Iterator[str]:
        """What an attack did to them."""
        state = Path(f"/proc/{self.victim}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        if state[0] in "ZTt":
            yield f"the victim is in the state {state[0]}"
        if int(state[16]) != os.getpriority(os.PRIO_PROCESS, 0):
            yield "the victim's niceness"
        for path in self.files:
            if not path.exists() or path.read_bytes() != self.secret or path.stat().st_mode & 0o77:
                yield f"the file {path.name}"
        for name, server in (("tcp", self.tcp), ("abstract", self.abstract), ("path", self.path)):
            server.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                server.accept()[0].close()
                yield f"a connection to {name}"
        for receiver in (self.udp, *self.datagrams):
            with contextlib.suppress(BlockingIOError):
                receiver.recv(100, socket.MSG_DONTWAIT)
                yield "a datagram"
        waiting = array("i", [0])
        ioctl(self._slave, termios.FIONREAD, waiting)
        if waiting[0]:
            yield "input of the terminal"

    def left(self) -> Iterator[str]:
        """What an attack left on the machine; it is removed."""
        for pid in marked(self.mark):
            yield f"a process: {Path(f'/proc/{pid}/cmdline').read_bytes()[-40:]!r}"
        yield from ("a child of the referee" for pid in own_children() if pid != self.victim)
        for folder in {*PUBLIC, str(self.folder), os.environ["TMPDIR"]}:
            with contextlib.suppress(OSError):
                for path in Path(folder).glob(f"*{self.mark}*"):
                    yield f"the file {path}"
                    path.unlink()
        yield from (f"the group {path}" for path in groups(f"ggp-{os.getpid()}-"))
        for line in Path("/proc/sysvipc/shm").read_text(encoding="utf-8").splitlines()[1:]:
            if line.split()[3] == str(self.size):
                yield "shared memory"
                self.libc.shmctl(int(line.split()[1]), _IPC_RMID, None)
        if Path("/proc/keys").exists():
            for line in Path("/proc/keys").read_text(encoding="utf-8").splitlines():
                if f"{self.mark}-key" in line:
                    yield "a key"
                    self._system_call(250, 219, _KEYCTL_UNLINK, int(line.split()[0], 16), -4)

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.victim, signal.SIGKILL)
            os.waitpid(self.victim, 0)
        self._system_call(250, 219, _KEYCTL_UNLINK, self.key, -4)
        kill_marked(self.mark)

    def _system_call(self, x86: int, arm: int, *arguments: object) -> int:
        return int(self.libc.syscall(x86 if os.uname().machine == "x86_64" else arm, *arguments))


def own_children() -> list[int]:
    words = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="utf-8")
    return [int(word) for word in words.split()]


def groups(prefix: str) -> list[str]:
    """The control groups whose names begin so. Others come and go meanwhile."""
    walk = os.walk("/sys/fs/cgroup")
    return [f"{folder}/{name}" for folder, names, _ in walk for name in names if name.startswith(prefix)]


def marked(mark: str) -> list[int]:
    """The processes with this in their command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


def kill_marked(mark: str) -> None:
    """By their groups: a process that starts another and ends is faster than a list of processes."""
    ours = {os.getpgrp(), os.getpgid(os.getppid())}
    for _ in range(50):
        found = marked(mark)
        if not found:
            return
        for pid in found:
            with contextlib.suppress(OSError):
                group = os.getpgid(pid)
                if group in ours:
                    os.kill(pid, signal.SIGKILL)
                else:
                    os.killpg(group, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


# -- a match ----------------------------------------------------------------------------------------------------------


def attack(
    name: str, folder: Path, level: str, secret: str, mark: str, honest: str, control: str, games: str
) -> ArenaReport:
    """Play a match with this attacker; "none": it attacks nothing. `mark`: in the names of all that it makes."""
    pin(available_cores()[os.getpid() % len(available_cores())])
    target = ArenaTarget(folder, secret, mark)
    adopt_orphans()
    logs = folder / "logs"
    logs.mkdir()
    setup = make_setup(
        "yugo,size=5",
        "attacker=random",
        f"honest={honest}",
        time=control,
        name="zoo",
        seeded=True,
        max_plies=16,
        extras=replace(NO_LIMITS, stderr_folder=str(logs)),
        budgets=msgspec.structs.replace(SHORT, command=2),
    )
    setup = replace(setup, bots=(confined(attacker(name, target), level), confined(setup.bots[1], level)))
    before = _mounts()
    try:
        came = play(setup, range(0, 2 * int(games), 2))  # one of each pair: the attacker begins in all
        left = list(target.left())
        if _mounts() != before:
            left.append("a mount")
        played = [one for one in came.records if one.start.match.count(".") == 0]  # not again after a void one
        if came.suspended is not None and not came.records:
            return ArenaReport("refused", str(came.suspended))
        end = came.end()
        log = logs / "attacker.log"
        told = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return ArenaReport(
            plies=[(ply.seat, ply.move, ply.ms) for one in played for ply in one.plies],
            result=end.result,
            termination=end.termination,
            culprit=end.culprit,
            detail=end.detail,
            told=[line.partition(" zoo ")[2] for line in told if " zoo " in line][:100],
            seen=list(target.reached()),
            left=left,
            descriptors=_descriptors(folder),
            record=b"".join(came.kept).decode(),
        )
    finally:
        target.close()


def attacker(name: str, target: ArenaTarget) -> BotSpec:
    """The program of this attack."""
    words = (sys.executable, "-B", "-S", "-E", "-m", "tests.system.zoo", name, target.described(), target.mark)
    return BotSpec("attacker", "attacker", words, cwd=os.environ["GGP_ZOO"])


def copy_of_zoo(folder: Path) -> Path:
    """Copy the attackers into this folder, from which `python -m tests.system.zoo` runs; return the folder."""
    shutil.copytree(
        TESTS / "system" / "zoo", folder / "tests" / "system" / "zoo", ignore=shutil.ignore_patterns("__p*")
    )
    return folder


def confined(bot: BotSpec, level: str) -> BotSpec:
    """The bot at this level of the sandbox."""
    return replace(bot, sandbox=replace(BOUNDS, level=next(known for known in LEVELS if known == level)))


def _mounts() -> list[str]:
    return Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()


def _descriptors(folder: Path) -> dict[str, int]:
    """What is open: kind or path, without what differs from match to match -> how many."""
    kinds = []
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            leads = str(path.readlink())
            kinds.append(re.sub(rf"^{folder}|/pts/\d+$|:\[.*|ggp-\d+.*", "", leads))
    return dict(Counter(kind for kind in kinds if not kind.startswith("/proc/")))


# -- a soak -----------------------------------------------------------------------------------------------------------


def held(games: int, target: ArenaTarget) -> HeldNow:
    memory = next(
        line for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines() if line.startswith("VmRSS")
    )
    return HeldNow(
        games=games,
        descriptors=len(list(Path("/proc/self/fd").iterdir())),
        memory=int(memory.split()[1]),
        groups=len(groups(f"ggp-{os.getpid()}-")),
        files=len(list(Path(os.environ["TMPDIR"]).iterdir())) + len(list(target.left())),
        mounts=len(_mounts()),
        children=len(own_children()),
    )


def soak(folder: Path, level: str, games: int, attacks: int, names: list[str]) -> SoakReport:
    """Play so many honest games and so many against attackers, each of these in turn."""
    faulthandler.dump_traceback_later(3 * 3600, exit=True)
    mark = f"zoo-mark-soak-{os.getpid()}"
    target = ArenaTarget(folder, os.environ["GGP_ZOO_SECRET"], mark)
    adopt_orphans()
    pin(available_cores()[-1])
    honest, looks = list[str](), list[HeldNow]()

    def keep(record: bytes, result: GameResult) -> None:
        (one,) = read_records(record.splitlines(keepends=True))
        if not one.start.match.startswith("attack"):
            moves = " ".join([*(ply.move for ply in one.plies), one.end.result if one.end else "none"])
            honest.append(hashlib.sha256(moves.encode()).hexdigest()[:16])

    setup = make_setup("yugo,size=4", "a=random", "b=greedy:playouts=2", name="honest", seeded=True, time="20")
    setup = replace(setup, bots=(confined(setup.bots[0], level), confined(setup.bots[1], level)))
    table, began = MatchRunner(keep, most=3), time.monotonic()
    try:
        for number in range(games):
            if attacks and number % (games // attacks) == 0:
                name = names[number // (games // attacks) % len(names)]
                bot = replace(confined(attacker(name, target), level), restart=True)
                with contextlib.suppress(Suspended):
                    run_blocking(table.play(replace(setup, name="attack", bots=(bot, setup.bots[0])), number * 2))
            run_blocking(table.play(setup, number))
            if number % max(1, games // LOOKS) == 0:
                looks.append(held(number, target))
    finally:
        run_blocking(table.close())
        target.close()
        kill_marked(mark)
    return SoakReport(honest=honest, held=looks, seconds=time.monotonic() - began)


# -- the server -------------------------------------------------------------------------------------------------------


def in_child(action: Callable[[], ArenaReport], answer: Path, errors: Path) -> None:
    """Do it in a process of its own session; `answer` is there in the end if it came to that."""
    pid = os.fork()
    if not pid:
        try:
            os.setsid()
            end_with_parent(signal.SIGKILL)
            with errors.open("wb", buffering=0) as file:
                for number in (1, 2):
                    os.dup2(file.fileno(), number)
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                faulthandler.dump_traceback_later(SECONDS, exit=True)
                answer.write_bytes(msgspec.json.encode(action()))
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(0)
    end = time.monotonic() + SECONDS + 10
    while time.monotonic() < end and os.waitpid(pid, os.WNOHANG)[0] == 0:
        time.sleep(0.005)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def leave_undivided() -> None:
    """From now on this machine offers Landlock and seccomp alone, to an ordinary user."""
    from ggp.referee.match.sandbox import machine, start

    here = this_machine()
    found = machine.describe("", here.landlock, here.seccomp, 0, (), {"namespaces": "none", "cgroups": "none"})
    for module in (machine, start):
        vars(module)["this_machine"] = lambda: found


def main(folder: Path, level: str, undivided: str = "") -> None:
    # No faulthandler here: a child that is forked beside its thread could not start its own.
    adopt_orphans()
    secret = os.environ["GGP_ZOO_SECRET"]
    read_bot("random")
    about = this_machine()
    if undivided:
        leave_undivided()
    (folder / "machine.new").write_text(
        json.dumps({"kept": dict(about.kept), "missing": dict(about.missing)}), encoding="utf-8"
    )
    (folder / "machine.new").replace(folder / "machine")
    for line in sys.stdin:
        name, honest, control, games = line.split()
        place = folder / f"{name}-{honest.partition(':')[0]}"
        place.mkdir()
        temporary = place / "tmp"
        temporary.mkdir()
        os.environ["TMPDIR"] = str(temporary)
        mark = f"zoo-mark-{secrets.token_hex(8)}"
        answer = folder / f"{place.name}.new"
        in_child(
            partial(attack, name, place, level, secret, mark, honest, control, games),
            answer,
            folder / f"{place.name}.err",
        )
        kill_marked(mark)
        if not answer.exists():
            answer.write_text("{}", encoding="utf-8")
        answer.replace(answer.with_suffix(".json"))  # the last of it: the test may ask for the same again at once


if __name__ == "__main__":
    if sys.argv[3:4] == ["soak"]:
        _report = soak(Path(sys.argv[1]), sys.argv[2], int(sys.argv[4]), int(sys.argv[5]), sys.argv[6:])
        Path(sys.argv[1], "soak.json").write_bytes(msgspec.json.encode(_report))
    else:
        main(Path(sys.argv[1]), *sys.argv[2:4])
