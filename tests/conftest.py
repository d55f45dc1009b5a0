"""For all tests: how hypothesis runs; fixtures of a ZeroMQ service, here and in a process, and channels to it."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import zmq
from hypothesis import HealthCheck, settings

from protocol.channel import Channel
from protocol.connection import PeerRole
from protocol.transports.zmq import Dealer
from tests.ggp_command import end_all
from tests.zmq_service import SERVICE, Connect, Serving

if TYPE_CHECKING:
    from referee.store.store import Store
    from tests.postgres import Server

# A machine that stands still for a second is no fault of the code under test.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

# In the background of a shell Ctrl-C is ignored, and every child would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _nothing_runs_on() -> Iterator[None]:
    yield
    end_all()


@pytest.fixture
def serving() -> Iterator[Serving]:
    running = Serving()
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
def raw(serving: Serving) -> Iterator[Callable[[int], "zmq.Socket[bytes]"]]:
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
def postgres() -> Iterator["Server"]:
    """One server for all tests of this process."""
    from tests.postgres import Server, server_binaries

    binaries = server_binaries()
    if binaries is None:
        pytest.skip("there is no PostgreSQL server here: apt-get install --no-install-recommends postgresql")
    server = Server(binaries)
    yield server
    server.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a store may be made, on each database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/store.db"
    else:
        yield from request.getfixturevalue("postgres").database()


@pytest.fixture
def store(url: str) -> Iterator["Store"]:
    """An empty store."""
    from referee.store.store import Store  # what most tests need not load

    with Store.open(url, create=True) as opened:
        yield opened
