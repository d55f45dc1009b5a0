"""The same bytes at a Unix stream socket: sessions apart, whoever does not read holds up nobody else, nothing left."""

import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from protocol.errors import AddressError
from protocol.responder import Responder
from protocol.transports.stopping import Stopped, Stopping
from protocol.transports.stream import StreamService
from tests.answerer import make_responder

PATIENCE = 60.0  # seconds


class Serving:
    """A StreamService in a thread of this process."""

    def __init__(self, path: Path, sessions: int = 10) -> None:
        self.path = path
        self.service = StreamService(f"unix://{path}", make_responder, sessions)
        self._stop = False
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def connect(self) -> socket.socket:
        peer = socket.socket(socket.AF_UNIX)
        peer.settimeout(PATIENCE)
        peer.connect(str(self.path))
        return peer

    def stop(self) -> None:
        self._stop = True
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        self.service.close()

    def _serve(self) -> None:
        while not self._stop:
            self.service.serve_some(0.02)


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    one = Serving(tmp_path / "socket")
    yield one
    one.stop()


def ask(peer: socket.socket, line: str) -> str:
    peer.sendall(line.encode() + b"\n")
    return read(peer, 1)


def read(peer: socket.socket, answers: int) -> str:
    """So many whole answers."""
    data = b""
    while data.count(b"\n\n") < answers:
        came = peer.recv(1 << 20)
        assert came, data[-200:]
        data += came
    return data.decode()


def test_a_conversation_however_its_bytes_are_cut(serving: Serving) -> None:
    with serving.connect() as peer:
        assert ask(peer, "1 echo a b") == "=1 a b\n\n"
        for piece in (b"2 ec", b"ho x\n3 fa", b"il y\n"):
            peer.sendall(piece)
        assert read(peer, 2) == "=2 x\n\n?3 y\n\n"


def test_sessions_are_apart_and_end_apart(serving: Serving) -> None:
    with serving.connect() as one, serving.connect() as two:
        assert [ask(one, "add 1"), ask(one, "add 1"), ask(two, "add 5")] == ["= 1\n\n", "= 2\n\n", "= 5\n\n"]
        assert ask(one, "quit") == "=\n\n"
        assert one.recv(1) == b""
        assert ask(two, "add 1") == "= 6\n\n"


def test_who_does_not_read_holds_up_himself_alone(serving: Serving) -> None:
    with serving.connect() as deaf, serving.connect() as other:
        deaf.sendall(b"many 500000\n" * 20)
        assert ask(other, "echo here") == "= here\n\n"
        assert len(read(deaf, 20)) == 20 * len("= \n\n") + 20 * 500_000
        assert ask(deaf, "echo again") == "= again\n\n"


def test_short_answers_that_nobody_reads_wait_too(serving: Serving) -> None:
    with serving.connect() as deaf, serving.connect() as other:
        word, many = "x" * 89, 1500
        deaf.sendall(f"echo {word}\n".encode() * many)
        assert ask(other, "echo here") == "= here\n\n"
        assert read(deaf, many) == f"= {word}\n\n" * many


def test_a_wake_up_for_nothing_ends_no_session(tmp_path: Path) -> None:
    service = StreamService(f"unix://{tmp_path}/socket", make_responder)
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(f"{tmp_path}/socket")
        assert service.serve_some(PATIENCE)
        (session,) = service._sessions.values()
        session.go_on(select.EPOLLIN)
        assert not service._ended
        peer.sendall(b"echo a\n")
        assert service.serve_some(PATIENCE) and read(peer, 1) == "= a\n\n"
    service.close()


@pytest.mark.parametrize("late", [True, False], ids=["while it waits", "while it answers"])
def test_a_service_ends_by_a_signal_only(late: bool, tmp_path: Path) -> None:
    def kill(arguments: list[str]) -> str:
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
        time.sleep(0 if late else PATIENCE)
        return ""

    def make() -> Responder:
        return Responder("x", "1", {"kill": kill})

    service = StreamService(f"unix://{tmp_path}/socket", make)
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(f"{tmp_path}/socket")
        peer.sendall(b"name\nkill\n")
        with Stopping() as stopping, pytest.raises(Stopped, match="SIGTERM"):
            service.serve(stopping)
        assert read(peer, 1).startswith("= x\n\n")
    service.close()


def test_who_leaves_in_the_middle_of_an_answer_is_forgotten(serving: Serving) -> None:
    with serving.connect() as rude:
        rude.sendall(b"many 900000\n" * 5)
        rude.recv(10)
    with serving.connect() as other:
        assert ask(other, "echo here") == "= here\n\n"
    with serving.connect() as last:
        assert ask(last, "echo here") == "= here\n\n"
        assert len(serving.service._sessions) == 1


def test_there_are_no_more_sessions_than_there_may_be(tmp_path: Path) -> None:
    serving = Serving(tmp_path / "socket", sessions=2)
    with serving.connect() as one, serving.connect() as two:
        assert [ask(one, "echo 1"), ask(two, "echo 2")] == ["= 1\n\n", "= 2\n\n"]
        with serving.connect() as third:
            assert third.recv(1) == b""
        assert ask(one, "quit") == "=\n\n"
        with serving.connect() as fourth:
            assert ask(fourth, "echo 4") == "= 4\n\n"
    serving.stop()


def test_who_finds_no_descriptor_left_is_let_in_when_somebody_has_gone(tmp_path: Path) -> None:
    service = StreamService(f"unix://{tmp_path}/socket", make_responder)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as two:
        for peer in (one, two):
            peer.settimeout(PATIENCE)
        one.connect(str(tmp_path / "socket"))
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            assert service.serve_some(PATIENCE) and service.serve_some(PATIENCE)  # nobody is there who could leave
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert service.serve_some(PATIENCE) and not service.serve_some(0)
        two.connect(str(tmp_path / "socket"))
        two.sendall(b"echo here\n")
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            service.serve_some(0)
            assert not service.serve_some(0)  # it does not try again and again
            one.sendall(b"quit\n")
            assert service.serve_some(PATIENCE)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert service.serve_some(PATIENCE) and service.serve_some(PATIENCE)
        assert read(two, 1) == "= here\n\n"
    service.close()


@pytest.mark.parametrize("url", ["unix://", "unix://relative", "ipc:///tmp/x", "unix:///a\0b", f"unix:///{'x' * 200}"])
def test_what_is_no_address_is_refused_with_the_remedy(url: str) -> None:
    with pytest.raises(AddressError, match=r"write unix:///PATH"):
        StreamService(url, make_responder)


def test_an_address_that_is_taken_is_refused(serving: Serving) -> None:
    with pytest.raises(AddressError, match="in use"):
        StreamService(f"unix://{serving.path}", make_responder)


def test_the_file_goes_with_its_service_and_not_with_an_earlier_one(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    first = StreamService(f"unix://{path}", make_responder)
    path.unlink()
    second = StreamService(f"unix://{path}", make_responder)
    first.close()
    assert path.is_socket()
    second.close()
    assert not path.exists()
    third = StreamService(f"unix://{path}", make_responder)
    path.unlink()
    third.close()


# The signal and the endless poll in one call of C: Python, which would run the handler in between, has no turn there.
SIGNAL_AND_POLL = """
import ctypes, operator, signal, sys
from functools import partial
from protocol.transports.stopping import Stopped, Stopping
from protocol.transports.stream import StreamService
from tests.answerer import make_responder
interrupt = partial(ctypes.CDLL(None)["raise"], int(signal.SIGINT))
service = StreamService(f"unix://{sys.argv[1]}", make_responder)
class Poll:
    def __init__(self, poll):
        self.register, self.close = poll.register, poll.close
        self.poll = lambda: list(map(operator.call, [interrupt, poll.poll]))[-1]
service._poll = Poll(service._poll)
try:
    with Stopping() as stopping:
        service.serve(stopping)
except Stopped as stopped:
    print(stopped)
finally:
    service.close()
"""


@pytest.mark.slow
def test_a_signal_right_before_the_poll_ends_a_service(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SIGNAL_AND_POLL, str(tmp_path / "socket")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert (done.stdout, done.stderr, [*tmp_path.iterdir()]) == ("SIGINT\n", "", [])
