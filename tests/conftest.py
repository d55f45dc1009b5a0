"""For all tests: the programs that some need, the time that a quick test may take, fixtures that many share.

`@pytest.mark.needs("gnugo")` on a test or a parameter names what it needs beyond the packages of README.md. Without it
the test is skipped and the remedy is listed at the end of the run; with `--no-skips` the test fails with that line.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import zmq
from hypothesis import HealthCheck, settings

from ggp.protocol.channel import Channel
from ggp.protocol.connection import PeerRole
from ggp.protocol.standard_streams import open_missing
from ggp.protocol.transports.zmq import Dealer
from tests.support.cli import end_all
from tests.support.zmq_service import SERVICE, Connect, ServedZmq

if TYPE_CHECKING:
    from ggp.referee.ladder.store.store import Store
    from tests.support.dialled_bots import DialledBots
    from tests.support.postgres import PostgresServer

# A machine that stands still for a second is no fault of the code under test.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

# What a test may need, and the Debian package that has it. `.ci/run` installs all of these packages.
PACKAGES = {
    "bash": "bash",
    "chromium": "chromium",
    "fish": "fish",
    "gnugo": "gnugo",
    "go": "golang-go",
    "java": "default-jre-headless",
    "javac": "default-jdk-headless",
    "lua": "lua5.4",
    "node": "nodejs",
    "openssl": "openssl",
    "perl": "perl",
    "postgres": "postgresql",
    "rustc": "rustc",
    "stockfish": "stockfish",
    "systemd-analyze": "systemd",
    "zmq.h": "libzmq3-dev",
    "zsh": "zsh",
}
# The same for the Python packages of optional adapters, by the names that they are imported by: `make extras` has them.
MODULES = ("httpx", "mcp", "pyspiel", "resvg_py")
# What no package brings, and what to do.
RIGHTS = {
    "image-builder": "no image can be built: apt-get install podman, and let it reach the registry of the base image",
    "mount": "mounting a file system is not allowed: run the tests as root, in a container with CAP_SYS_ADMIN",
    "strict": "this machine cannot keep a strict sandbox: run the tests as root, with cgroups; ggp doctor says more",
    "root": "only root can make the files of another user: run the tests as root",
}

_LOOP = 0.08  # seconds that `_slowness` takes on the machine for which the limit of the quick tests was chosen


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-snapshots", action="store_true", help="write tests/snapshots again")
    parser.addoption("--no-skips", action="store_true", help="fail the tests that need a program which is missing")
    parser.addoption(
        "--limit", type=float, help="seconds of processor time that a test may take, unless it is slow or long"
    )


@cache
def remedy(need: str) -> str | None:
    """What to do so that `need` is met; None if it is."""
    if need in RIGHTS:
        ways = {"mount": _may_mount, "image-builder": lambda: image_builder() != "", "strict": _may_be_strict}
        return None if ways.get(need, lambda: os.geteuid() == 0)() else RIGHTS[need]
    if need in MODULES:
        return None if find_spec(need) else f"{need} is not installed: make extras"
    return None if _is_installed(need) else f"{need} is not installed: apt-get install {PACKAGES[need]}"


def _is_installed(need: str) -> bool:
    if need == "zmq.h":
        probe = ["cc", "-E", "-include", "zmq.h", "-xc", os.devnull]
        return subprocess.run(probe, capture_output=True, check=False).returncode == 0
    if need == "postgres":
        from tests.support.postgres import server_binaries

        return server_binaries() is not None
    return shutil.which(need, path=f"{os.environ['PATH']}:/usr/games") is not None


def image_builder() -> str:
    """podman, docker or buildah, if it runs here and has or gets the base of our Containerfile; "" if none does."""
    file = Path(__file__).parents[1] / "docs" / "operating" / "Containerfile"
    base = next(line.split()[1] for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("FROM "))
    for name in ("podman", "docker", "buildah"):
        for words in ("inspect", "--type", "image"), ("pull",):
            if shutil.which(name) and not subprocess.run([name, *words, base], capture_output=True).returncode:
                return name
    return ""


def _may_be_strict() -> bool:
    from ggp.referee.match.sandbox.machine import this_machine

    return not this_machine().missing


def _may_mount() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True, check=False).returncode:
            return False
        subprocess.run(["umount", folder], check=True)
        return True


_began = pytest.StashKey[float]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[_began] = _processor_time()
    for mark in item.iter_markers("needs"):
        for need in mark.args:
            if (line := remedy(need)) is not None:
                if item.config.getoption("--no-skips"):
                    pytest.fail(line, pytrace=False)
                pytest.skip(line)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: "pytest.CallInfo[None]"
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a quick test that exceeds the limit. Processor time: that the machine has other work must not matter."""
    report = yield
    limit = item.config.getoption("--limit")
    if limit and call.when == "call" and report.passed and not any(map(item.get_closest_marker, ("slow", "long"))):
        took = _processor_time() - item.stash[_began]  # set-up and children that have ended included
        if took > limit and (took := took / _slowness()) > limit:
            report.outcome = "failed"
            report.longrepr = f"it took {took:.1f} s of processor time, {limit} is allowed: speed it up or mark it slow"
    return report


def _processor_time() -> float:
    """Seconds that this process and its children which have ended have used."""
    return sum(os.times()[:4])


def _slowness() -> float:
    """How many times slower than usual this machine is at the moment, at least 1."""
    began = time.process_time()
    total = 0
    for number in range(1_000_000):
        total += number * number % 7
    return max(1.0, (time.process_time() - began) / _LOOP)


# The tests pass wherever somebody runs them: what the caller's environment decides is decided here, for this process
# and for all that it starts. Who tests a terminal or a locale sets it in that test.
for _name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "LINES", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "PYTHONIOENCODING"):
    os.environ.pop(_name, None)
for _name in [name for name in os.environ if name.startswith(("LC_", "GGP_"))]:
    if _name not in ("GGP_SOAK", "GGP_GAMES", "GGP_KILLS"):  # by which the tests are made shorter
        del os.environ[_name]
os.environ |= {
    "TERM": "xterm",
    "LANG": "C.UTF-8",
    "PYTHONUTF8": "1",
}  # the mode for workers of xdist, which start later
os.environ.setdefault("PATH", os.defpath)
if not os.access(os.environ.get("HOME", ""), os.W_OK):
    os.environ["HOME"] = tempfile.gettempdir()
os.umask(0o022)
open_missing({0: os.O_RDONLY, 1: os.O_WRONLY, 2: os.O_WRONLY})
# In the background of a shell Ctrl-C is ignored, and under nohup a hang-up; every child would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def _nothing_runs_on() -> Iterator[None]:
    yield
    end_all()


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The local zone has summer time from 29 March, 2:00, to 25 October 2026, 3:00."""
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def serving() -> Iterator[ServedZmq]:
    running = ServedZmq()
    yield running
    running.stop()


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Channels to a service; closing them must not take long."""
    opened: list[Channel] = []

    def connected(url: str, patience: float = 60.0) -> Channel:
        opened.append(Channel(Dealer(url, patience), PeerRole.ENGINE))
        return opened[-1]

    yield connected
    for channel in opened:
        channel.close()
        channel.close()  # again is no error


@pytest.fixture
def process() -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A service in a process of its own, and its address."""
    with subprocess.Popen([sys.executable, "-c", SERVICE], stdout=subprocess.PIPE) as running:
        assert running.stdout
        yield running, running.stdout.readline().decode().strip()
        running.kill()


@pytest.fixture
def raw(serving: ServedZmq) -> Iterator[Callable[[int], "zmq.Socket[bytes]"]]:
    """Sockets of any kind that are connected to the service."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()

    def made(kind: int) -> "zmq.Socket[bytes]":
        made_socket = context.socket(kind)
        made_socket.setsockopt(zmq.RCVTIMEO, 10_000)
        made_socket.setsockopt(zmq.LINGER, 0)
        made_socket.connect(serving.url)
        return made_socket

    yield made
    context.destroy(linger=0)


@pytest.fixture(scope="session")
def postgres() -> Iterator["PostgresServer"]:
    """One server for all tests of this process."""
    from tests.support.postgres import PostgresServer, server_binaries

    binaries = server_binaries()
    assert binaries is not None, 'a test without the mark needs("postgres")'
    server = PostgresServer(binaries)
    yield server
    server.stop()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=[pytest.mark.slow, pytest.mark.needs("postgres")])])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a store may be made, on each database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/store.db"
    else:
        yield from request.getfixturevalue("postgres").database()


@pytest.fixture
def store(url: str) -> Iterator["Store"]:
    """An empty store."""
    from ggp.referee.ladder.store.store import Store  # what most tests need not load

    with Store.open(url, create=True) as opened:
        yield opened


@pytest.fixture
def dialled() -> "Iterator[list[DialledBots]]":
    """Processes of bots that a test starts; they end with it."""
    running: list[DialledBots] = []
    yield running
    for bots in running:
        bots.cut()
