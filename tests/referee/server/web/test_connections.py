"""Connections of strangers are bounded: their number, the time of a request and of a reader; no error is logged."""

import asyncio
import contextlib
import logging
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from ggp.referee.server.web import connections
from ggp.referee.server.web.guard import MAX_HEADERS, Guard, Message
from tests.support.cli import wait_until

pytestmark = pytest.mark.slow

REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n"


class SmallSite:
    """`/endless` sends until the client has gone; everything else is one word."""

    def __init__(self) -> None:
        self.sending = 0

    async def __call__(self, scope: Any, receive: Any, send: Callable[[Message], Awaitable[None]]) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        if scope["path"] == "/endless":
            self.sending += 1
            gone = asyncio.create_task(_gone(receive))
            while not gone.done():
                await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
                await asyncio.sleep(0)
            self.sending -= 1
        await send({"type": "http.response.body", "body": b"here"})


async def _gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@pytest.fixture
def small() -> SmallSite:
    return SmallSite()


@pytest.fixture
def port(small: SmallSite, caplog: pytest.LogCaptureFixture) -> Iterator[int]:
    """A server of this process; at its end nothing was logged."""
    server = connections.bounded_server(Guard(small), "127.0.0.1", 0)
    with caplog.at_level(logging.WARNING, "asyncio"):
        running = threading.Thread(target=server.run)
        running.start()
        wait_until(lambda: server.started)
        yield int(server.servers[0].sockets[0].getsockname()[1])
        server.should_exit = True
        running.join(20)
    assert not caplog.records, caplog.text


def dialled(port: int, *sent: bytes) -> socket.socket:
    connected = socket.create_connection(("127.0.0.1", port), timeout=20)
    for piece in sent:
        connected.sendall(piece)
    return connected


def heard(connected: socket.socket) -> bytes:
    """All until the server ends the connection."""
    said = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := connected.recv(65536):
            said += piece
    return said


def is_served(port: int) -> bool:
    return heard(dialled(port, REQUEST, b"Connection: close\r\n\r\n")).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "sent",
    [
        (),
        (REQUEST,),
        (REQUEST, b"\r\nGET /more HTTP"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n", b"{"),
    ],
)
def test_a_request_that_does_not_arrive_is_cut(
    port: int, sent: tuple[bytes, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "ARRIVAL", 0.2)
    said = heard(dialled(port, *sent))
    assert said.count(b"HTTP/1.1 ") == len([piece for piece in sent if b"\r\n\r\n" in piece or b"/more" in piece])
    assert is_served(port)


def test_a_header_a_byte_at_a_time_is_cut_all_the_same(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "ARRIVAL", 0.3)
    connected = dialled(port, REQUEST)
    with pytest.raises(OSError):
        for _ in range(2000):
            connected.sendall(b"a")
            threading.Event().wait(0.01)


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01 no http\r\n\r\n",
        REQUEST + b"X: " + b"a" * 2 * MAX_HEADERS + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_what_is_no_request_is_refused_with_the_headers_of_all_answers(port: int, sent: bytes) -> None:
    said = heard(dialled(port, sent))
    assert said.startswith(b"HTTP/1.1 4")
    assert b"nosniff" in said and b"content-security-policy" in said
    assert is_served(port)


@pytest.mark.parametrize("method", [b"POST", b"GET"])
def test_a_request_of_two_lengths_ends_its_connection(port: int, method: bytes) -> None:
    """A proxy may cut the same bytes elsewhere, and take what follows for another visitor's request."""
    lengths = b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"
    sent = method + b" / HTTP/1.1\r\nHost: a\r\n" + lengths + b"\r\n0\r\n\r\n"
    said = heard(dialled(port, sent + REQUEST + b"\r\n"))
    assert said.startswith(b"HTTP/1.1 400") and said.count(b"HTTP/1.1 ") == 1
    assert b"either Content-Length or Transfer-Encoding" in said
    assert is_served(port)


def test_a_body_that_breaks_after_the_answer_has_begun_ends_the_connection(port: int) -> None:
    for pause in (0.0, 0.2):
        connected = dialled(port, REQUEST + b"Transfer-Encoding: chunked\r\n\r\n")
        threading.Event().wait(pause)
        with contextlib.suppress(OSError):
            connected.sendall(b"ZZZ\r\n" * 5)
        heard(connected)
    assert is_served(port)


def test_too_many_idle_connections_keep_no_visitor_out(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST", 5)
    silent = [dialled(port) for _ in range(20)]
    assert is_served(port)
    assert heard(silent[0]) == b"", "the one that was idle longest is cut"
    silent[-1].sendall(REQUEST + b"Connection: close\r\n\r\n")
    assert heard(silent[-1]).endswith(b"here\r\n0\r\n\r\n")


def test_connections_that_are_answered_are_not_cut_for_new_ones(
    port: int, small: SmallSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MOST", 3)
    busy = [dialled(port, REQUEST.replace(b"/ ", b"/endless "), b"\r\n") for _ in range(3)]
    wait_until(lambda: small.sending == 3)
    assert not is_served(port)
    assert small.sending == 3
    for one in busy:
        one.close()
    wait_until(lambda: small.sending == 0)
    assert is_served(port)


def test_a_reader_that_does_not_read_is_cut(port: int, small: SmallSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "STALLED", 0.3)
    slow = dialled(port, REQUEST.replace(b"/ ", b"/endless "), b"\r\n")
    wait_until(lambda: small.sending == 1)
    wait_until(lambda: small.sending == 0)
    assert is_served(port)
    slow.close()
