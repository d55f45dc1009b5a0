"""Where a ZeroMQ service may listen, and how both ends are closed."""

import os
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import zmq

from ggp.protocol.errors import AddressError, PeerTimeout
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.signal_fd import Stopped, Stopping
from ggp.protocol.transports.zmq import Dealer, Service, check_local, is_wildcard
from tests.support.answering_program import make_responder
from tests.support.cli import free_port
from tests.support.codes import raises
from tests.support.zmq_service import ANY_PORT, Connect, ServedZmq, ask, run_with_signal_at_poll


@pytest.mark.parametrize(
    "url",
    [
        "tcp://*:5555",
        "tcp://0.0.0.0:5555",
        "tcp://192.0.2.1:5555",
        "tcp://[::]:5555",
        "tcp://lo:5555",
        "tcp://example.org:5555",
        "tcp://127.0.0.1:0;0.0.0.0:5555",  # ZeroMQ would bind what comes after the `;`
        "tcp://127.0.0.1:0;tcp://0.0.0.0:5555",
        "tcp://0.0.0.0@127.0.0.1:5555",
        "tcp://127.0.0.1@0.0.0.0:5555",
        "tcp://[::1",
        "tcp://127.0.0.1",
        "tcp://127.0.0.1:99999",  # ZeroMQ would bind 34463
        "tcp://127.0.0.1:" + "1" * 5000,
        "tcp://:5555",
        "udp://127.0.0.1:5555",
        "http://127.0.0.1:5555",
        "ipc://",
        "5555",
        "",
    ],
)
def test_only_this_machine_may_reach_a_service(url: str) -> None:
    with raises(AddressError, "bad-address"):
        Service(url, make_responder)


@pytest.mark.parametrize(
    "url", ["tcp://127.0.0.1:0", "tcp://localhost:5555", "tcp://[::1]:5555", "ipc:///tmp/x", "ipc://@x"]
)
def test_these_are_of_this_machine(url: str) -> None:
    check_local(url)


@pytest.mark.parametrize(
    ("url", "means_all"),
    [
        ("tcp://*:5555", True),
        ("tcp://0.0.0.0:5555", True),
        ("tcp://[::]:*", True),
        ("tcp://192.0.2.1:5555", False),
        ("tcp://[::1]:5555", False),
        ("tcp://example.org:5555", False),
        ("ipc:///tmp/x", False),
    ],
)
def test_an_address_for_every_network_cannot_be_dialled(url: str, means_all: bool) -> None:
    assert is_wildcard(url) is means_all


def test_an_address_that_is_taken_is_refused(serving: ServedZmq) -> None:
    with raises(AddressError, "cannot-listen"):
        Service(serving.url, make_responder)


def test_an_address_that_cannot_be_bound_is_refused(tmp_path: object) -> None:
    for url in (f"ipc://{tmp_path}/no/such/folder", "ipc:///\udc80"):
        with raises(AddressError, "cannot-listen"):
            Service(url, make_responder)


@pytest.mark.parametrize(
    "url", ["", "5555", "tcp://", "tcp://127.0.0.1", "http://x:1", "tcp://h:port", "tcp://\udc80:1", "tcp://h:65536"]
)
def test_a_bad_address_to_connect_to_is_refused(url: str) -> None:
    with raises(AddressError, "bad-address"):
        Dealer(url)


def test_an_ipc_address_serves(tmp_path: object, connect: Connect) -> None:
    serving = ServedZmq(f"ipc://{tmp_path}/socket")
    assert ask(connect(serving.url), "echo a") == "a"
    serving.stop()


def test_a_socket_file_is_removed_by_the_service_that_has_it(tmp_path: Path) -> None:
    url = f"ipc://{tmp_path}/socket"
    first, second = Service(url, make_responder), Service(url, make_responder)
    first.close()
    assert (tmp_path / "socket").is_socket()  # it is the second's
    second.close()
    assert [*tmp_path.iterdir()] == []
    third = Service(url, make_responder)
    (tmp_path / "socket").unlink()
    third.close()


def test_after_close_the_stream_has_ended(serving: ServedZmq) -> None:
    for close in (Dealer.close, Dealer.close_stdin):
        dealer = Dealer(serving.url)
        close(dealer)
        assert run_blocking(dealer.read(dealer.now() + 10)) == b""
        run_blocking(dealer.write(b"name\n", dealer.now() + 10))


@pytest.mark.slow
def test_closing_never_hangs_and_leaves_no_descriptor(process: tuple[subprocess.Popen[bytes], str]) -> None:
    service, url = process
    os.kill(service.pid, signal.SIGSTOP)
    before = len(list(Path("/proc/self/fd").iterdir()))
    began = time.monotonic()
    for _ in range(10):
        nobody = Dealer(f"tcp://127.0.0.1:{free_port()}")
        with pytest.raises(PeerTimeout):
            run_blocking(nobody.write(b"quit\n", nobody.now()))
        nobody.close()
    assert time.monotonic() - began < 30
    os.kill(service.pid, signal.SIGCONT)
    gone = Dealer(url)
    run_blocking(gone.write(b"sleep 100\n", gone.now() + 10))
    service.kill()
    run_blocking(gone.write(b"quit\n", gone.now() + 10))
    gone.close()
    assert time.monotonic() - began < 30
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_last_quit_still_leaves(connect: Connect) -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    router = context.socket(zmq.ROUTER)
    router.setsockopt(zmq.RCVTIMEO, 10_000)
    port = router.bind_to_random_port("tcp://127.0.0.1")
    channel = connect(f"tcp://127.0.0.1:{port}")
    run_blocking(channel.send("quit"))
    channel.close()
    assert router.recv_multipart()[1:] == [b"quit\n"]
    context.destroy(linger=0)


def test_a_service_ends_by_a_signal_only(connect: Connect) -> None:
    class Signalled(Service):
        def _go_on(self, came: bool) -> bool:
            served.append(super()._go_on(came))
            if sum(served) == 3:  # the system may wake it up for nothing
                os.kill(os.getpid(), signal.SIGTERM)
            return served[-1]

    served: list[bool] = []
    service = Signalled(ANY_PORT, make_responder)
    channel = connect(service.url)
    for _ in range(3):
        run_blocking(channel.send("name"))
    try:
        with Stopping() as stopping, pytest.raises(Stopped, match="SIGTERM"):
            service.serve(stopping)
    finally:
        service.close()
    assert sum(served) == 3


@pytest.mark.slow
def test_a_signal_right_before_the_poll_ends_a_service() -> None:
    done = run_with_signal_at_poll(f"Service({ANY_PORT!r}, make_responder)")
    assert (done.stdout, done.stderr) == ("SIGINT\n", "")


def test_a_service_sleeps_while_nothing_comes(connect: Connect) -> None:
    """With a peer that is connected it looked at its memory fifty times a second."""

    class Asleep(Exception):
        pass

    def wait(seconds: float) -> object:
        if seconds > 1:
            raise Asleep
        return poll.poll(seconds)

    service = Service(ANY_PORT, make_responder)
    channel = connect(service.url)
    try:
        run_blocking(channel.send("name"))
        while not service.serve_one(1000):
            pass
        poll = service._poll
        service._poll = SimpleNamespace(poll=wait, close=poll.close)  # type: ignore[assignment]
        with pytest.raises(Asleep):
            service.serve_one(60_000)
    finally:
        channel.close()
        service.close()
