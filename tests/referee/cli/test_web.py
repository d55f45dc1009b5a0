"""`ggp web` as a process: where it listens, what it says, and how it ends."""

import fcntl
import http.client
import re
import resource
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggp.referee.ladder.store.store import Store
from ggp.referee.records import live_path
from tests.support.cli import Ggp, ggp, wait_until
from tests.support.sample_records import CUT_OFF
from tests.support.stores import Filled, a_season

pytestmark = pytest.mark.slow


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with Filled(tmp_path) as filled:
        a_season(filled)
        return filled.path


@pytest.fixture
def live(store: Path) -> Iterator[str]:
    """The key of a match that a worker is playing, as the lock of its side file says."""
    path = Path(live_path(str(store), 1))
    path.write_bytes(CUT_OFF.lines())
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield CUT_OFF.start.match


def started(store: Path, *more: str, host: str = "127.0.0.1") -> tuple[Ggp, http.client.HTTPConnection]:
    """The server at a free port, and a connection to it."""
    server = Ggp("web", str(store), "--listen", f"{host}:0", *more)
    assert server.process.stderr
    line = server.process.stderr.readline()
    found = re.search(r"http://\S+:(\d+)/", line)
    assert found, line
    return server, http.client.HTTPConnection(host.strip("[]"), int(found[1]), timeout=20)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_while_a_match_is_followed(store: Path, live: str, number: int) -> None:
    server, connection = started(store)
    connection.request("GET", f"/match/{live}/stream")
    answer = connection.getresponse()
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert b"id: 2" in b"".join(iter(answer.readline, b"event: ply\n")) + b"".join(answer.readline() for _ in range(5))
    server.process.send_signal(number)
    ended = server.wait(20)  # 2 s on a quiet machine; uvicorn alone waits for streams without end
    assert (ended.status, ended.err) == (0, "")


def test_an_address_that_is_taken_is_said_in_one_line(store: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = ggp("web", str(store), "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert (ended.status, ended.out, ended.err.count("\n")) == (1, "", 1), ended.err


def test_an_ipv6_address_and_room_for_streams(store: Path) -> None:
    server, connection = started(store, host="[::1]")
    connection.request("GET", "/live")
    assert connection.getresponse().status == 200
    soft, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    assert soft == hard, "streams need descriptors"
    server.process.terminate()
    assert server.wait(20).status == 0


def test_what_is_no_http_is_not_logged(store: Path) -> None:
    server, connection = started(store)
    connection.connect()
    connection.sock.sendall(b"\x16\x03\x01 no http\r\n\r\n")
    assert connection.sock.recv(100).startswith(b"HTTP/1.1 400")
    server.process.terminate()
    ended = server.wait(20)
    assert (ended.status, ended.err) == (0, "")


def test_an_engine_that_does_not_answer_does_not_hold_it(store: Path) -> None:
    with Store.open(f"sqlite:///{store}") as opened:
        key = next(opened.games()).key
    server, connection = started(store, "--engine", "sleep 1000")
    connection.request("GET", f"/match/{key}/picture/0")
    wait_until(lambda: len(server.running()) > 1, seen=server.running)
    server.process.terminate()
    begun = time.monotonic()
    assert server.wait(70).status == 0
    assert time.monotonic() - begun < 10  # 2 s on a quiet machine
