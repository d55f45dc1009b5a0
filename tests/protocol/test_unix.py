"""The service on a Unix stream socket: separate sessions, a deaf peer delays no other, nothing remains."""

import contextlib
import os
import resource
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ggp.protocol.errors import AddressError
from ggp.protocol.responder import Responder
from ggp.protocol.transports import turns
from ggp.protocol.transports.signal_fd import Stopped, Stopping
from ggp.protocol.transports.unix import UnixService, path_of
from tests.support.answering_program import make_responder
from tests.support.codes import raises
from tests.support.unix_service import PATIENCE, ServedStream
from tests.support.zmq_service import run_with_signal_at_poll


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[ServedStream]:
    one = ServedStream(tmp_path / "socket")
    yield one
    one.stop()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[UnixService]:
    made = UnixService(f"unix://{tmp_path}/socket", make_responder)
    yield made
    made.close()


def connect(service: UnixService) -> socket.socket:
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(PATIENCE)
    peer.connect(path_of(service.url))
    return peer


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


def test_a_conversation_however_its_bytes_are_cut(serving: ServedStream) -> None:
    with serving.connect() as peer:
        assert ask(peer, "1 echo a b") == "=1 a b\n\n"
        for piece in (b"2 ec", b"ho x\n3 fa", b"il y\n"):
            peer.sendall(piece)
        assert read(peer, 2) == "=2 x\n\n?3 y\n\n"


def test_sessions_are_apart_and_end_apart(serving: ServedStream) -> None:
    with serving.connect() as one, serving.connect() as two:
        assert [ask(one, "add 1"), ask(one, "add 1"), ask(two, "add 5")] == ["= 1\n\n", "= 2\n\n", "= 5\n\n"]
        assert ask(one, "quit") == "=\n\n"
        assert one.recv(1) == b""
        assert ask(two, "add 1") == "= 6\n\n"


def test_a_peer_that_does_not_read_delays_only_itself(serving: ServedStream) -> None:
    with serving.connect() as deaf, serving.connect() as other:
        deaf.sendall(b"many 500000\n" * 20)
        assert ask(other, "echo here") == "= here\n\n"
        assert len(read(deaf, 20)) == 20 * len("= \n\n") + 20 * 500_000
        assert ask(deaf, "echo again") == "= again\n\n"


def test_short_answers_that_are_not_read_wait_too(serving: ServedStream) -> None:
    with serving.connect() as deaf, serving.connect() as other:
        word, many = "x" * 89, 1500
        deaf.sendall(f"echo {word}\n".encode() * many)
        assert ask(other, "echo here") == "= here\n\n"
        assert read(deaf, many) == f"= {word}\n\n" * many


def test_an_answer_for_which_there_is_no_room_is_sent_later(service: UnixService) -> None:
    with connect(service) as peer:
        assert service.serve_some(PATIENCE)
        (session,) = service.sessions.values()
        filled = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                filled += session.peer.send(b"x" * 4096)
        assert not session.send(b"= late\n\n")
        heard = peer.recv(filled, socket.MSG_WAITALL)
        session.go_on(select.EPOLLOUT)
        assert (len(heard), peer.recv(100)) == (filled, b"= late\n\n")


def test_a_wake_up_for_nothing_ends_no_session(service: UnixService) -> None:
    with connect(service) as peer:
        assert service.serve_some(PATIENCE)
        (session,) = service.sessions.values()
        session.go_on(select.EPOLLIN)
        peer.sendall(b"echo a\n")
        assert service.serve_some(PATIENCE) and read(peer, 1) == "= a\n\n"


@pytest.mark.parametrize("late", [True, False], ids=["while it waits", "while it answers"])
def test_a_service_ends_by_a_signal_only(late: bool, tmp_path: Path) -> None:
    def kill(arguments: list[str]) -> str:
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
        time.sleep(0 if late else PATIENCE)
        return ""

    def make() -> Responder:
        return Responder("x", "1", {"kill": kill})

    service = UnixService(f"unix://{tmp_path}/socket", make)
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(path_of(service.url))
        peer.sendall(b"name\nkill\n")
        with Stopping() as stopping, pytest.raises(Stopped, match="SIGTERM"):
            service.serve(stopping)
        assert read(peer, 1).startswith("= x\n\n")
    service.close()


def test_a_peer_that_leaves_during_an_answer_is_forgotten(serving: ServedStream) -> None:
    with serving.connect() as rude:
        rude.sendall(b"many 900000\n" * 5)
        rude.recv(10)
    with serving.connect() as other:
        assert ask(other, "echo here") == "= here\n\n"
    with serving.connect() as last:
        assert ask(last, "echo here") == "= here\n\n"
        assert len(serving.service.sessions) == 1


def test_an_event_of_a_session_that_has_just_ended_is_passed_over(service: UnixService) -> None:
    """One wait may report several sessions, and serving one of them may end another."""
    ended, other = socket.socketpair()
    with ended, other:
        service._serve([(ended.fileno(), select.EPOLLIN)])
    assert service.serve_some(0) is False


def test_connections_that_come_keep_no_session_waiting(service: UnixService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "MOMENT", -1.0)  # one answer is a turn
    with contextlib.ExitStack() as peers:

        def connect() -> socket.socket:
            peer = peers.enter_context(socket.socket(socket.AF_UNIX))
            peer.connect(path_of(service.url))
            assert service.serve_some(0), "it is accepted"
            return peer

        one = connect()
        one.sendall(b"echo a\n" * 3)
        assert service.serve_some(0)
        for _ in range(2):
            assert service.turns.ready
            connect()
        assert one.recv(100, socket.MSG_DONTWAIT) == b"= a\n\n" * 3


def test_there_are_no_more_sessions_than_there_may_be(tmp_path: Path) -> None:
    serving = ServedStream(tmp_path / "socket", sessions=2)
    with serving.connect() as one, serving.connect() as two:
        assert [ask(one, "echo 1"), ask(two, "echo 2")] == ["= 1\n\n", "= 2\n\n"]
        with serving.connect() as third:
            assert third.recv(1) == b""
        assert ask(one, "quit") == "=\n\n"
        with serving.connect() as fourth:
            assert ask(fourth, "echo 4") == "= 4\n\n"
    serving.stop()


def test_a_peer_without_a_free_descriptor_waits_for_the_end_of_another(service: UnixService) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as two:
        for peer in (one, two):
            peer.settimeout(PATIENCE)
        one.connect(path_of(service.url))
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            assert service.serve_some(PATIENCE) and service.serve_some(PATIENCE)  # no connection is left to close
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert service.serve_some(PATIENCE) and not service.serve_some(0)
        two.connect(path_of(service.url))
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


def test_a_signal_of_another_kind_does_not_end_a_service(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    service = UnixService(f"unix://{path}", make_responder)
    answers: list[str] = []

    noticed: list[int] = []

    def ask_between_two_signals() -> None:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(PATIENCE)
            peer.connect(str(path))
            os.kill(os.getpid(), signal.SIGUSR1)
            answers.append(ask(peer, "echo here"))
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGUSR1, lambda number, frame: noticed.append(number))
    with Stopping() as stopping:
        asking = threading.Thread(target=ask_between_two_signals)
        asking.start()
        with pytest.raises(Stopped, match="SIGTERM"):
            service.serve(stopping)
        asking.join(PATIENCE)
    signal.signal(signal.SIGUSR1, before)
    service.close()
    assert answers == ["= here\n\n"] and noticed == [signal.SIGUSR1]


def test_a_slow_command_delays_no_session_and_ends_with_its_peer(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    service = UnixService(f"unix://{path}", make_responder, slow=frozenset({"sleep"}))
    heard: dict[socket.socket, bytes] = {}

    def serve_until(done: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < until
            service.serve_some(0.02)

    def hears(peer: socket.socket, answers: int) -> bool:
        with contextlib.suppress(BlockingIOError):
            heard[peer] = heard.get(peer, b"") + peer.recv(65536)
        return heard.get(peer, b"").count(b"\n\n") >= answers

    with socket.socket(socket.AF_UNIX) as busy, socket.socket(socket.AF_UNIX) as other:
        for peer in (busy, other):
            peer.connect(str(path))
            peer.setblocking(False)
        serve_until(lambda: len(service.sessions) == 2)
        busy.sendall(b"1 sleep 0.2\n")
        service.serve_some(PATIENCE)
        busy.sendall(b"2 echo later\n3 sleep 1000\n")  # it stays in the kernel while the first is answered
        other.sendall(b"echo here\n")
        serve_until(lambda: hears(other, 1))
        assert heard[other] == b"= here\n\n" and not hears(busy, 1)
        serve_until(lambda: hears(busy, 2))
        assert heard[busy] == b"=1\n\n=2 later\n\n"
        assert service.turns.running == 1
        busy.shutdown(socket.SHUT_RDWR)  # closing it would leave the copy that the child process has
        serve_until(lambda: len(service.sessions) == 1)
        assert service.turns.running == 0
        other.sendall(b"echo still\n")
        serve_until(lambda: hears(other, 2))
    service.close()


def test_the_end_of_a_session_is_not_that_of_the_next_one_with_its_descriptor(tmp_path: Path) -> None:
    """The process of another session's slow command still has a copy of its socket."""
    path = tmp_path / "socket"
    service = UnixService(f"unix://{path}", make_responder, slow=frozenset({"sleep"}))

    def connect() -> socket.socket:
        peer = socket.socket(socket.AF_UNIX)
        peer.settimeout(PATIENCE)
        peer.connect(str(path))
        service.serve_some(PATIENCE)
        return peer

    with connect() as slow:
        ended = connect()
        before = set(service.sessions)
        slow.sendall(b"sleep 1000\n")
        while not service.turns.running:
            assert service.serve_some(PATIENCE)
        ended.sendall(b"quit\n")
        while len(service.sessions) > 1:
            assert service.serve_some(PATIENCE)
        assert ended.recv(100) == b"=\n\n" and ended.recv(100) == b""  # end of stream
        ended.close()
        with connect() as other:
            assert set(service.sessions) == before
            other.sendall(b"sleep 0.1\n")
            while len(service.sessions) > 1 and not select.select([other], [], [], 0)[0]:
                service.serve_some(0.02)
            assert other.recv(100) == b"=\n\n"
    service.close()


def test_a_session_that_has_quit_is_not_read_again(service: UnixService) -> None:
    """Another event of it may have come already."""
    read_by_it: list[bytes] = []

    def fast(source: int, sink: int, commands: int) -> tuple[bytes | None, bytes]:
        read_by_it.append(os.read(source, 5))
        return read_by_it[-1], b""

    with connect(service) as peer:
        assert service.serve_some(PATIENCE)
        (session,) = service.sessions.values()
        session.responder.fast_path = fast
        peer.sendall(b"quit\nname\n")
        service._serve([(session.peer.fileno(), select.EPOLLIN)] * 2)
    assert read_by_it == [b"quit\n"] and not service.sessions


def test_sessions_without_a_fast_path_are_answered_among_those_that_have_one(service: UnixService) -> None:
    def fast(source: int, sink: int, commands: int) -> tuple[bytes | None, bytes]:
        os.write(sink, b"= %b\n" % os.read(source, 100))
        return None, b""

    with contextlib.ExitStack() as stack:
        peers = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(6)]
        for peer in peers:
            peer.settimeout(PATIENCE)
            peer.connect(path_of(service.url))
            service.serve_some(PATIENCE)
        for session in list(service.sessions.values())[:3]:
            session.responder.fast_path = fast
        for peer in peers:
            peer.sendall(b"echo here\n")
        service.serve_some(PATIENCE)
        answered = select.select(peers, [], [], 0)[0]
        assert answered == peers


def test_a_bug_of_a_fast_path_ends_its_session_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made: list[Responder] = []

    def fail(source: int, sink: int, commands: int) -> tuple[bytes | None, bytes]:
        raise KeyError("a bug")

    def make() -> Responder:
        made.append(make_responder())
        made[-1].fast_path = fail if len(made) == 1 else None
        return made[-1]

    service = UnixService(f"unix://{tmp_path}/socket", make)
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as two:
        for peer in (one, two):
            peer.settimeout(PATIENCE)
            peer.connect(path_of(service.url))
            service.serve_some(PATIENCE)
            peer.sendall(b"echo here\n")
            service.serve_some(PATIENCE)
        with pytest.raises(ConnectionResetError):  # its command was never read
            one.recv(100)
        assert read(two, 1) == "= here\n\n"
    assert "KeyError: 'a bug'" in capsys.readouterr().err
    service.close()


def test_a_peer_that_leaves_an_answer_unread_is_forgotten(service: UnixService) -> None:
    with connect(service) as rude:
        rude.sendall(b"echo a\n")
        while not select.select([rude], [], [], 0)[0]:
            assert service.serve_some(PATIENCE)
    while service.serve_some(0):  # its connection is reset, and no read says that it has ended
        pass
    assert not service.sessions


def test_a_peer_that_leaves_before_its_turn_is_forgotten_once(
    service: UnixService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "MOMENT", -1.0)  # one answer a turn
    with connect(service) as rude:
        service.serve_some(PATIENCE)
        rude.sendall(b"echo a\necho b\n")
        service.serve_some(PATIENCE)
        assert service.turns.ready
    assert service.serve_some(0)  # its end and its turn come together
    assert not service.sessions and not service.turns.ready and not service.serve_some(0)


@pytest.mark.parametrize("url", ["unix://", "unix://relative", "ipc:///tmp/x", "unix:///a\0b", f"unix:///{'x' * 200}"])
def test_what_is_no_address_is_refused_with_the_remedy(url: str) -> None:
    with pytest.raises(AddressError):
        UnixService(url, make_responder)


def test_an_address_that_is_taken_is_refused(serving: ServedStream) -> None:
    with raises(AddressError, "cannot-listen"):
        UnixService(f"unix://{serving.path}", make_responder)


def test_the_file_goes_with_its_service_and_not_with_an_earlier_one(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    first = UnixService(f"unix://{path}", make_responder)
    path.unlink()
    second = UnixService(f"unix://{path}", make_responder)
    first.close()
    assert path.is_socket()
    second.close()
    assert not path.exists()
    third = UnixService(f"unix://{path}", make_responder)
    path.unlink()
    third.close()


@pytest.mark.slow
def test_a_signal_right_before_the_poll_ends_a_service(tmp_path: Path) -> None:
    done = run_with_signal_at_poll(f"UnixService('unix://{tmp_path}/socket', make_responder)")
    assert (done.stdout, done.stderr, [*tmp_path.iterdir()]) == ("SIGINT\n", "", [])
