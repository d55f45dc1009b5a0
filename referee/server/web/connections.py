"""Bounds on the connections of `ggp web`, below HTTP: their number, the time for a request to arrive, and the time for
a client to read.

Where there are too many connections, the one that has been idle longest is cut, so that idle ones keep no visitor out.
"""

import asyncio
import logging
import socket
import time
from typing import Any

import h11
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from ggp.referee.server.web.guard import HEADERS, MAX_HEADERS, App

MOST = 4096  # connections at once
ARRIVAL = 10.0  # seconds for a request to arrive whole
KEPT = 15  # seconds that a connection is kept for the next request
STALLED = 20.0  # seconds in which a client that has an answer to read must read some of it
_SILENT = 60_000  # ms after which the kernel gives up a client that acknowledges nothing


def bounded_server(app: App, host: str, port: int) -> Server:
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # any client could fill stderr; the site says what failed
    config = Config(
        app,
        host,
        port,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEPT,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=MAX_HEADERS,
        http=BoundedConnection,
        ws="none",
    )
    return Server(config)


class BoundedConnection(H11Protocol):
    """See the module."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.since = time.monotonic()  # when it became idle
        self._arrival: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None

    @property
    def idle(self) -> bool:
        """Whether nothing is being answered."""
        return self.cycle is None or bool(self.cycle.response_complete)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if (connected := transport.get_extra_info("socket")) is not None and connected.family != socket.AF_UNIX:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _SILENT)
        self._await_request()
        if len(self.connections) > MOST:
            bounded = (one for one in self.connections if isinstance(one, BoundedConnection) and one.idle)
            min(bounded, key=lambda one: one.since).cut()  # one is this one

    def cut(self) -> None:
        """End the connection at once; what is not sent yet is dropped."""
        self.transport.abort()
        self.connections.discard(self)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._await_request()
        else:
            self._arrival = _end(self._arrival)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self.since = time.monotonic()
        if self.transport.is_closing() and self._stalled is None:
            self._stalled = self.loop.call_later(STALLED, self.cut)

    def timeout_keep_alive_handler(self) -> None:
        self.cut()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self._stalled or self.loop.call_later(STALLED, self.cut)

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():  # what is left of the last answer keeps its time
            self._stalled = _end(self._stalled)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        self._arrival, self._stalled = _end(self._arrival), _end(self._stalled)

    def send_400_response(self, msg: str) -> None:
        """Like all answers, with the headers of a page; a connection that has an answer already is cut."""
        if not self.idle or self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            if self.cycle is not None:
                self.cycle.disconnected = True
            self.cut()
            return
        fields = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close"), *HEADERS]
        for event in (h11.Response(status_code=400, headers=fields), h11.Data(f"{msg}\n".encode()), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _await_request(self) -> None:
        if self._arrival is None:
            self._arrival = self.loop.call_later(ARRIVAL, self.cut)


def _end(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    """What there is in its place."""
    if timer is not None:
        timer.cancel()
    return None
