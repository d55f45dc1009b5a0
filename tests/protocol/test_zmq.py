"""The same bytes over ZeroMQ: sessions apart, the vanished noticed as gone, strangers and wrong addresses refused."""

import os
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable

import pytest
import zmq

from ggp.protocol.errors import AddressError, PeerGone, PeerTimeout
from ggp.protocol.transports import turns
from ggp.protocol.transports import zmq as zmq_transport
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.zmq import Service, check_listen
from tests.support.answering_program import make_responder
from tests.support.cli import free_port
from tests.support.codes import raises
from tests.support.raw_zmtp import MORE, Raw, frame, message
from tests.support.zmq_service import ANY_PORT, Connect, ServedZmq, ask

# -- the same bytes -------------------------------------------------------------------------------------------------


def test_a_conversation(serving: ServedZmq, connect: Connect) -> None:
    channel = connect(serving.url)
    run_blocking(channel.probe_ids(channel.now() + 10))
    assert channel.connection.ids
    assert ask(channel, "words a b") == "a|b"
    assert ask(channel, "board").startswith("\n  A B")
    run_blocking(channel.send("echo 1", "fail 2", "echo 3"))
    replies = [run_blocking(channel.receive(channel.now() + 10)) for _ in range(3)]
    assert [(reply.ok, reply.text) for reply in replies] == [(True, "1"), (False, "2"), (True, "3")]


def test_a_message_is_one_command_or_one_whole_answer(
    serving: ServedZmq, raw: Callable[[int], "zmq.Socket[bytes]"]
) -> None:
    dealer = raw(zmq.DEALER)
    dealer.send(b"1 echo a\n")
    assert dealer.recv_multipart() == [b"=1 a\n\n"]
    dealer.send(b"2 board\n3 echo b\n\n")
    assert dealer.recv_multipart() == [b"=2 \n  A B\n2 . X\n1 # .\n  A B\n\n"]
    assert dealer.recv_multipart() == [b"=3 b\n\n"]


def test_only_whole_lines_travel(connect: Connect) -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    router = context.socket(zmq.ROUTER)
    router.setsockopt(zmq.RCVTIMEO, 10_000)
    port = router.bind_to_random_port("tcp://127.0.0.1")
    dealer = connect(f"tcp://127.0.0.1:{port}").transport
    for piece in (b"ec", b"ho", b" a\nec", b"ho b\necho c\n"):
        run_blocking(dealer.write(piece, dealer.now() + 10))
    assert [router.recv_multipart()[1:] for _ in range(3)] == [[b"echo a\n"], [b"echo b\n"], [b"echo c\n"]]
    context.destroy(linger=0)


def test_sessions_are_independent(serving: ServedZmq, connect: Connect) -> None:
    one, two = connect(serving.url), connect(serving.url)
    assert [ask(one, "add 1"), ask(one, "add 1"), ask(two, "add 5"), ask(one, "add 1")] == ["1", "2", "5", "3"]


def test_quit_ends_the_session_and_not_the_service(serving: ServedZmq, connect: Connect) -> None:
    channel, other = connect(serving.url), connect(serving.url)
    assert [ask(channel, "add 7"), ask(other, "add 1"), ask(channel, "quit")] == ["7", "1", ""]
    assert [ask(channel, "add 1"), ask(other, "add 1")] == ["1", "2"]


def test_the_session_that_was_quiet_longest_gives_way(connect: Connect) -> None:
    serving = ServedZmq(sessions=2)
    first, second, third = (connect(serving.url) for _ in range(3))
    assert [ask(first, "add 1"), ask(second, "add 1"), ask(first, "add 1")] == ["1", "1", "2"]
    assert ask(third, "add 1") == "1"
    assert len(serving.service.sessions) == 2
    assert [ask(first, "add 1"), ask(second, "add 1")] == ["3", "1"]
    serving.stop()


# -- gone, or slow --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_killed_service_is_gone_at_once(process: tuple[subprocess.Popen[bytes], str], connect: Connect) -> None:
    service, url = process
    channel = connect(url)
    assert ask(channel, "echo a") == "a"
    run_blocking(channel.send("sleep 100"))
    service.kill()
    began = time.monotonic()
    with pytest.raises(PeerGone):
        run_blocking(channel.receive(channel.now() + 10))
    assert time.monotonic() - began < 30
    run_blocking(channel.transport.write(b"name\n", channel.now() + 10))  # no error: the next read tells
    assert run_blocking(channel.transport.read(channel.now() + 10)) == b""


def test_the_last_answer_of_an_ended_service_is_read(connect: Connect) -> None:
    serving = ServedZmq()
    channel = connect(serving.url)
    run_blocking(channel.send("echo last words"))
    while not serving.served:
        time.sleep(0.01)
    time.sleep(0.2)
    serving.stop()
    time.sleep(0.1)
    assert run_blocking(channel.receive(channel.now() + 10)).text == "last words"
    with pytest.raises(PeerGone):
        run_blocking(channel.receive(channel.now() + 10))


@pytest.mark.slow
def test_a_slow_service_times_out_and_is_not_gone(
    process: tuple[subprocess.Popen[bytes], str], connect: Connect
) -> None:
    service, url = process
    channel = connect(url)
    assert ask(channel, "echo a") == "a"
    os.kill(service.pid, signal.SIGSTOP)
    began = time.monotonic()
    run_blocking(channel.send("echo b"))
    with pytest.raises(PeerTimeout):
        run_blocking(channel.receive(channel.now() + 0.2))
    assert 0.2 <= time.monotonic() - began < 30
    os.kill(service.pid, signal.SIGCONT)
    assert run_blocking(channel.receive(channel.now() + 10)).text == "b"


@pytest.mark.slow
def test_a_service_that_is_silent_for_long_is_gone_by_its_heartbeat(
    process: tuple[subprocess.Popen[bytes], str], connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zmq_transport, "HEARTBEAT_MS", 100)
    monkeypatch.setattr(zmq_transport, "SILENCE_MS", 300)
    service, url = process
    channel = connect(url)
    assert ask(channel, "echo a") == "a"
    os.kill(service.pid, signal.SIGSTOP)  # as if its machine were unplugged
    began = time.monotonic()
    with pytest.raises(PeerGone):
        ask(channel, "echo b")
    assert time.monotonic() - began < 30
    os.kill(service.pid, signal.SIGCONT)


def test_without_a_listener_the_peer_is_gone_after_our_patience(connect: Connect) -> None:
    url = f"tcp://127.0.0.1:{free_port()}"
    began = time.monotonic()
    with pytest.raises(PeerGone):
        ask(connect(url, 0.3), "name")
    assert 0.3 <= time.monotonic() - began < 30
    with pytest.raises(PeerTimeout):  # while there is patience left, it is late
        run_blocking(connect(url).transport.read(time.monotonic() + 0.05))
    with pytest.raises(PeerTimeout):
        run_blocking(connect(url).transport.write(b"name\n", time.monotonic() + 0.05))


def test_a_service_that_comes_a_little_later_is_found(connect: Connect) -> None:
    url = f"tcp://127.0.0.1:{free_port()}"
    later: list[ServedZmq] = []
    timer = threading.Timer(0.3, lambda: later.append(ServedZmq(url)))
    timer.start()
    assert ask(connect(url), "echo a") == "a"
    timer.join()
    later[0].stop()


def test_the_transports_own_patience(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zmq_transport, "WRITE_PATIENCE", 0.1)
    with pytest.raises(PeerTimeout):
        run_blocking(connect(f"tcp://127.0.0.1:{free_port()}").transport.write(b"name\n"))


@pytest.mark.parametrize("greeting", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", None])
def test_a_peer_that_speaks_something_else_is_gone(greeting: bytes | None, connect: Connect) -> None:
    def speak() -> None:
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            if greeting is None:
                silent.append(client)
                continue
            with client:
                client.recv(10)
                client.sendall(greeting)

    silent: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=speak)
        thread.start()
        began = time.monotonic()
        with pytest.raises(PeerGone):
            ask(connect(f"tcp://127.0.0.1:{server.getsockname()[1]}", 0.5), "name")
        assert time.monotonic() - began < 30
        server.shutdown(socket.SHUT_RDWR)
        thread.join(10)
    for client in silent:
        client.close()


@pytest.mark.parametrize("kind", [zmq.PUB, zmq.PULL])
def test_a_socket_of_another_kind_is_gone(kind: int, connect: Connect) -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    other = context.socket(kind)
    port = other.bind_to_random_port("tcp://127.0.0.1")
    began = time.monotonic()
    with pytest.raises(PeerGone):
        ask(connect(f"tcp://127.0.0.1:{port}", 1.0), "name")
    assert time.monotonic() - began < 30
    context.destroy(linger=0)


@pytest.mark.parametrize("frames", [[b"", b"= a\n\n"], [b"= a\n\n", b"= b\n\n"], [b""]])
def test_a_service_with_another_framing_is_gone(frames: list[bytes], connect: Connect) -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    router = context.socket(zmq.ROUTER)
    router.setsockopt(zmq.RCVTIMEO, 10_000)
    port = router.bind_to_random_port("tcp://127.0.0.1")
    channel = connect(f"tcp://127.0.0.1:{port}")
    run_blocking(channel.send("name"))
    peer, *_ = router.recv_multipart()
    router.send_multipart([peer, *frames])
    with pytest.raises(PeerGone):
        run_blocking(channel.receive(channel.now() + 10))
    context.destroy(linger=0)


# -- bounds ---------------------------------------------------------------------------------------------------------


def test_a_line_slightly_too_long_is_refused_and_the_session_continues(serving: ServedZmq, connect: Connect) -> None:
    channel = connect(serving.url)
    assert ask(channel, "add 1") == "1"
    channel.connection.send("name")
    run_blocking(channel.transport.write(b"x" * 70_000 + b"\n", channel.now() + 10))
    assert run_blocking(channel.receive(channel.now() + 10)).text == "line too long"
    assert ask(channel, "add 1") == "2"


def test_a_peer_that_sends_far_too_much_loses_only_its_connection(serving: ServedZmq, connect: Connect) -> None:
    channel, other = connect(serving.url), connect(serving.url)
    assert ask(channel, "echo a") == ask(other, "echo a") == "a"
    channel.connection.send("name")
    run_blocking(channel.transport.write(b"x" * 200_000 + b"\n", channel.now() + 10))
    with pytest.raises(PeerGone):
        run_blocking(channel.receive(channel.now() + 10))
    assert ask(other, "echo b") == "b"


def test_an_answer_of_1_mib_arrives_and_a_larger_one_loses_the_connection(serving: ServedZmq, connect: Connect) -> None:
    channel = connect(serving.url)
    assert len(ask(channel, f"many {2**20 - 3}")) == 2**20 - 3
    with pytest.raises(PeerGone):
        ask(channel, f"many {2**20 + 5_000}")


def test_strange_framing_is_ignored(serving: ServedZmq, raw: Callable[[int], "zmq.Socket[bytes]"]) -> None:
    req, dealer = raw(zmq.REQ), raw(zmq.DEALER)
    req.send(b"name\n")  # with an empty delimiter before it
    dealer.send_multipart([b"echo a\n", b"echo b\n"])
    dealer.send_multipart([b"", b"echo c\n"])
    dealer.send(b"echo d\n")
    assert dealer.recv() == b"= d\n\n"
    assert not req.poll(50)


def test_what_came_before_the_end_of_a_session_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "MOMENT", -1.0)  # so that it is busy when the rest comes
    service = Service(ANY_PORT, make_responder)
    with Raw(service.url) as peer:
        peer.shake_hands()
        one = b"add 1\n"
        peer.send(b"".join(map(message, (3 * one, one, one, b"", b"", b"add 5\n", one, b"", b"add 7\n"))))
        while service.serve_one(1_000):
            pass
        answers = [message(b"= %d\n\n" % number) for number in (1, 2, 3, 4, 5, 5, 6, 7)]
        assert [peer.read(len(answer)) for answer in answers] == answers
    service.close()


def test_an_empty_message_is_the_end_of_a_session(
    serving: ServedZmq, raw: Callable[[int], "zmq.Socket[bytes]"]
) -> None:
    dealer = raw(zmq.DEALER)
    dealer.send(b"")  # also of one that has not begun
    for data in (b"add 1\n", b"add 1\n", b"", b"add 1\n"):
        dealer.send(data)
    assert [dealer.recv() for _ in range(3)] == [b"= 1\n\n", b"= 2\n\n", b"= 1\n\n"]


def test_a_peer_that_never_reads_loses_its_session_and_blocks_no_session(
    serving: ServedZmq, raw: Callable[[int], "zmq.Socket[bytes]"], connect: Connect
) -> None:
    deaf, other = raw(zmq.DEALER), connect(serving.url)
    deaf.setsockopt(zmq.RCVHWM, 1)
    assert ask(other, "add 1") == "1"
    for _ in range(400):
        deaf.send(b"many 100000\n")
    assert ask(other, "add 1") == "2"
    deadline = time.monotonic() + 120
    while (serving.served < 402 or len(serving.service.sessions) > 1) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert serving.served >= 402
    assert len(serving.service.sessions) == 1


def test_a_slow_command_ends_with_the_connection_that_asked_for_it() -> None:
    service = Service(ANY_PORT, make_responder, slow=frozenset({"sleep"}))

    def serve_until(done: Callable[[], bool]) -> None:
        until = time.monotonic() + 60
        while not done():
            assert time.monotonic() < until
            service.serve_one(20)

    with Raw(service.url) as busy, Raw(service.url) as other:
        for peer in (busy, other):
            peer.shake_hands()
        other.send(message(b"add 1\n"))
        busy.send(message(b"sleep 1000\n"))
        serve_until(lambda: service.turns.running == 1 and len(service.sessions) == 2)
        assert not service.idle
        for peer in (busy, other):
            peer.socket.shutdown(socket.SHUT_RDWR)  # closing it would leave the copy that the child process has
        serve_until(lambda: not service.unread.connections)
        assert service.idle and service.turns.running == 0
        assert len(service.sessions) == 1  # the other one may come back
    service.close()


def test_a_peer_that_left_before_its_message_was_read_loses_its_session() -> None:
    service = Service(ANY_PORT, make_responder)
    with Raw(service.url) as peer:
        peer.shake_hands()
        peer.send(message(b"echo a\n"))
        until = time.monotonic() + 60
        while not service.unread.connections and time.monotonic() < until:
            service.unread.hear_news()
        assert service.unread.connections == 1
    while service.unread.connections and time.monotonic() < until:
        service.unread.hear_news()
    assert service.serve_one(0)
    assert not service.sessions and not service.unread.connections
    service.close()


@pytest.mark.parametrize("spoke_before", [False, True])
def test_a_slow_command_of_a_peer_whose_end_was_heard_first_is_not_started(spoke_before: bool) -> None:
    service = Service(ANY_PORT, make_responder, slow=frozenset({"sleep"}))
    until = time.monotonic() + 60

    def hear_until(count: int) -> None:
        while service.unread.connections != count and time.monotonic() < until:
            service.unread.hear_news()
        assert service.unread.connections == count

    with Raw(service.url) as peer:
        peer.shake_hands()
        hear_until(1)
        if spoke_before:
            peer.send(message(b"add 1\n"))
            while not service.sessions or not service.idle:
                assert time.monotonic() < until
                service.serve_one(20)
        peer.send(message(b"sleep 1000\n"))
        peer.socket.shutdown(socket.SHUT_WR)
        hear_until(0)
    for _ in range(20):
        service.serve_one(20)
        assert service.turns.running == 0
    assert service.idle and not service.sessions
    service.close()


def test_an_endless_message_cuts_its_peer_and_no_other(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zmq_transport, "MOST_UNREAD", 10_000)
    monkeypatch.setattr(zmq_transport, "_LOOK_ANYHOW", 0.0)
    serving = ServedZmq()
    channel = connect(serving.url)
    assert ask(channel, "add 1") == "1"
    with Raw(serving.url) as rude:
        rude.shake_hands()
        rude.send(frame(b"x" * 20_000, MORE))
        assert rude.ended()
    assert ask(channel, "add 1") == "2"
    serving.stop()


def test_what_came_before_its_connection_was_looked_at_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zmq_transport, "MOST_UNREAD", 10_000)
    service = Service(ANY_PORT, make_responder)
    with Raw(service.url) as rude:
        rude.shake_hands()
        rude.send(frame(b"x" * 20_000, MORE))
        time.sleep(0.2)  # ZeroMQ's own thread reads it
        for _ in range(20):
            service.serve_one(20)
        assert rude.ended(2.0), "before ZeroMQ ends it for its silence"
    service.close()


def test_where_the_system_counts_no_bytes_our_growth_counts_while_some_wait() -> None:
    growth = 8_000  # bytes; one of eight is taken for unread
    one, two = socket.socketpair()
    with one, two:
        unread = zmq_transport.UnreadBytes()
        assert unread.size(two.fileno(), growth, 0) == 0
        one.send(b"x")
        assert unread.size(two.fileno(), growth, 0) == 1_000
        two.recv(1)
        assert unread.size(two.fileno(), growth, 0) == 1_000


def test_connections_are_looked_at_now_and_then_while_bytes_come_and_once_they_have_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(zmq_transport, "_LOOK", 0.0)
    monkeypatch.setattr(zmq_transport, "_GROWN", 1 << 60)
    service = Service(ANY_PORT, make_responder)
    unread, looks, look = service.unread, list[float](), service.unread._cut

    def noted(now: float, size: int) -> None:
        looks.append(now)
        look(now, size)

    monkeypatch.setattr(unread, "_cut", noted)
    one, two = socket.socketpair()
    with one, two:
        unread._arrivals.register(two.fileno(), select.EPOLLIN | select.EPOLLET)
        counts = []
        for sent, anyhow in ((b"", 0.0), (b"x", 0.0), (b"x", 1e9), (b"x", 0.0), (b"", 1e9), (b"", 0.0)):
            monkeypatch.setattr(zmq_transport, "_LOOK_ANYHOW", anyhow)
            one.send(sent)
            unread.look()
            counts.append(len(looks))
        # Nothing came; bytes begin to come; it is too early to look; it is time; the last have come; nothing comes.
        assert counts == [0, 0, 0, 1, 2, 2]
    service.close()


@pytest.mark.slow
def test_a_service_that_does_not_read_is_late(connect: Connect) -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    router = context.socket(zmq.ROUTER)
    router.setsockopt(zmq.RCVHWM, 1)
    port = router.bind_to_random_port("tcp://127.0.0.1")
    dealer = connect(f"tcp://127.0.0.1:{port}").transport
    with pytest.raises(PeerTimeout):
        run_blocking(dealer.write((b"x" * 60_000 + b"\n") * 1_000, dealer.now() + 1.0))
    context.destroy(linger=0)


@pytest.mark.parametrize("url", ["ipc:///tmp/lobby", "tcp://127.0.0.1", "tcp://127.0.0.1:99999", "127.0.0.1:7711"])
def test_an_address_to_listen_at_is_tcp_with_a_port(url: str) -> None:
    check_listen("tcp://0.0.0.0:7711")
    check_listen("tcp://[::]:*")
    with raises(AddressError, "bad-address"):
        check_listen(url)
