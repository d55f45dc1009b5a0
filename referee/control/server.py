"""Servers for the clients of a referee: standard input, and ZeroMQ. Each client is answered in a thread of its own.

A slow client delays no other one, and its queues are bounded. Every client counts as a local user: only loopback and
ipc addresses are bound, and there are no keys. Over tcp any user of this machine may connect, so only clients over ipc
and on standard input are trusted (see handlers).
"""

import contextlib
import math
import os
import queue
import select
import signal
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

import click
import zmq

from protocol.errors import AddressError
from protocol.grammar import MAX_LINE
from protocol.responder import Responder
from protocol.token_bucket import TokenBucket
from protocol.transports.pipe import CHUNK, report_on_stderr
from protocol.transports.zmq import SocketFile, bind_router
from referee.control.control import CommandQueue, RunController, first_news
from referee.control.handlers import Make, responders
from referee.ladder.run import RunControl
from referee.ladder.session import Control, RunContext

CLIENTS = 64  # over ZeroMQ; a newcomer replaces the one that was silent longest
QUEUED = 4 * MAX_LINE  # bytes of commands that wait for their client's thread: more loses the client
_MESSAGE = 64  # bytes that a message takes besides its own
_PATIENCE = 10.0  # seconds that an answer waits for a client that does not read
_AGAIN_MS = 20  # between two attempts to send it
_LAST, _LINGER_MS = 2.0, 500  # seconds that threads have to end; and the last answers to leave
_DOOR, _CLIENT = 0.2, 0.1  # of a core, that the listener and a client take at most in the long run
_AT_ONCE = 0.5  # seconds of CPU
_LONGEST = 0.25  # seconds of sleep
_AFTER_FAULT = 0.1  # seconds until the listener goes on after a failure of its own
_FAILED = b"? internal error: the referee's stderr says more\n\n"
_FLOODED = b"? too many commands are waiting: read answers before you ask for more\n\n"


class StandardInput:
    """Answers on these descriptors; `left` is called once the input ends or the client quits."""

    def __init__(self, responder: Responder, left: Callable[[], None], stdin: int = 0, stdout: int = 1) -> None:
        self._responder = responder
        self._left = left
        self._stdin, self._stdout = stdin, stdout
        self._bell = os.eventfd(0, os.EFD_CLOEXEC)
        self._thread = start_thread(self._serve, "standard input")

    def close(self) -> None:
        """End the thread; one that waits for a reader ends with the process."""
        os.eventfd_write(self._bell, 1)
        self._thread.join(_LAST)
        if not self._thread.is_alive():
            os.close(self._bell)

    def _serve(self) -> None:
        poll = select.poll()
        poll.register(self._stdin, select.POLLIN)
        poll.register(self._bell, select.POLLIN)
        responder = self._responder
        try:
            while not responder.closed:
                if any(descriptor == self._bell for descriptor, _ in poll.poll()):
                    return
                responder.receive(os.read(self._stdin, CHUNK))
                while (answer := responder.next_answer()) is not None:
                    while answer:
                        answer = answer[os.write(self._stdout, answer) :]
        except OSError:  # the client has gone
            pass
        finally:
            self._left()


class Listener:
    """Listens at a loopback or ipc address. Raises AddressError for any other, or one that is taken."""

    def __init__(self, url: str, make: Make) -> None:
        self._context = zmq.Context()
        try:
            self._router, self.url = bind_router(self._context, url)
        except AddressError:
            self._context.term()
            raise
        self._file = SocketFile(self.url)
        self._make = make
        self.trusted = url.startswith("ipc://")
        self._clients: OrderedDict[bytes, _Client] = OrderedDict()
        self._ended: list[_Client] = []
        self._barred: OrderedDict[bytes, None] = OrderedDict()  # flooding clients, which are not read any more
        self._answers: queue.SimpleQueue[tuple[bytes, bytes]] = queue.SimpleQueue()
        self._stuck: dict[bytes, tuple[bytes, float]] = {}  # answers that cannot leave now, and until when they may
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._closing = False
        self.faults = 0  # failures of the listener, which are on stderr with their tracebacks
        self._thread = start_thread(self._serve, "listener")

    def close(self) -> None:
        """Send what was answered, end every client's thread, and the listener's."""
        self._closing = True
        os.eventfd_write(self._bell, 1)
        self._thread.join()
        os.close(self._bell)

    # -- the listener's thread, which alone has the socket -----------------------------------------------------------

    def _serve(self) -> None:
        """Answer until `close`. After a failure that is not the network's, go on with the next message."""
        while not self._closing:
            try:
                self._answer_clients()
            except Exception as error:
                self.faults += 1
                report_on_stderr(error)
                time.sleep(_AFTER_FAULT)
        self._end()

    def _answer_clients(self) -> None:
        poller, share = zmq.Poller(), CpuShare(_DOOR)
        poller.register(self._router, zmq.POLLIN)
        poller.register(self._bell, zmq.POLLIN)
        while not self._closing:
            ready = dict(poller.poll(_AGAIN_MS if self._stuck else None))
            if self._bell in ready:
                with contextlib.suppress(BlockingIOError):
                    os.eventfd_read(self._bell)
            if self._router in ready:
                self._receive()
            self._send_all()
            time.sleep(share.pause())  # a flood waits in the queues of the network

    def _receive(self) -> None:
        """One message: the socket gives them from all peers in turn."""
        try:
            peer, *frames = self._router.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            return
        peer = bytes(peer)
        if len(frames) != 1 or peer in self._barred:  # another's framing: REQ sends an empty delimiter
            return
        client = self._clients.pop(peer, None)
        if client is None or client.ended:
            client = _Client(self._make(self.trusted), lambda answer: self._answer(peer, answer))
        self._clients[peer] = client
        if not client.receive(bytes(frames[0])):
            self._disconnect(peer)
            self._barred[peer] = None
            self._stuck[peer] = _FLOODED, time.monotonic() + _PATIENCE
        if len(self._clients) > CLIENTS:
            self._disconnect(next(iter(self._clients)))
        while len(self._barred) > 1000:
            self._barred.popitem(last=False)

    def _disconnect(self, peer: bytes) -> None:
        self._stuck.pop(peer, None)
        if client := self._clients.pop(peer, None):
            client.close()
            self._ended = [*self._ended[-CLIENTS:], client]

    def _answer(self, peer: bytes, answer: bytes) -> None:
        """Called by a client's thread."""
        self._answers.put((peer, answer))
        os.eventfd_write(self._bell, 1)

    def _send_all(self) -> None:
        while True:
            try:
                peer, answer = self._answers.get_nowait()
            except queue.Empty:
                break
            if peer not in self._barred:
                self._stuck[peer] = answer, time.monotonic() + _PATIENCE
        for peer, (answer, until) in list(self._stuck.items()):
            try:
                self._router.send_multipart([peer, answer], zmq.NOBLOCK)
            except zmq.Again:
                if time.monotonic() > until:
                    self._disconnect(peer)
                continue
            except zmq.ZMQError:  # gone
                self._disconnect(peer)
                continue
            del self._stuck[peer]
            if client := self._clients.get(peer):
                client.sent.set()

    def _end(self) -> None:
        """The command queue has answered the waiting clients: allow a moment to send these answers."""
        until = time.monotonic() + _LAST / 4
        while time.monotonic() < until and any(client.busy for client in self._clients.values()):
            self._send_all()
            time.sleep(_AGAIN_MS / 1000)
        self._send_all()
        clients = [*self._clients.values(), *self._ended]
        for client in clients:
            client.close()
        until = time.monotonic() + _LAST
        for client in clients:
            client.join(until - time.monotonic())
        self._router.close(linger=_LINGER_MS)
        self._context.term()
        self._file.remove()


class _Client:
    """A client of the ROUTER, with a thread that answers; one answer at a time is on its way."""

    def __init__(self, responder: Responder, send: Callable[[bytes], None]) -> None:
        self.sent = threading.Event()  # the answer was taken
        self._responder = responder
        self._send = send
        self._inbox: deque[bytes] = deque()
        self._lock = threading.Condition()
        self._queued = 0  # bytes
        self._working = self._closed = False
        self._thread = start_thread(self._serve, "client")

    @property
    def ended(self) -> bool:
        """Whether nothing more is answered: so once the answer to `quit` is on its way."""
        return self._responder.closed or not self._thread.is_alive()

    @property
    def busy(self) -> bool:
        """Whether something that came is not answered yet."""
        return not self.ended and (self._working or bool(self._inbox))

    def receive(self, data: bytes) -> bool:
        """Called by the listener. False if too much is waiting."""
        with self._lock:
            self._queued += len(data) + _MESSAGE
            self._inbox.append(data)
            self._lock.notify()
            return self._queued <= QUEUED

    def close(self) -> None:
        """Answer nothing more."""
        with self._lock:
            self._closed = True
            self._lock.notify()
        self.sent.set()

    def join(self, seconds: float) -> None:
        self._thread.join(max(0.0, seconds))

    def _serve(self) -> None:
        try:
            self._answer_commands()
        except Exception as error:  # the next command begins a new session
            report_on_stderr(error)
            self._send(_FAILED)

    def _answer_commands(self) -> None:
        responder, share = self._responder, CpuShare(_CLIENT)
        while not responder.closed and (data := self._next()) is not None:
            responder.receive(data)
            while not self._closed and (answer := responder.next_answer()) is not None:
                self.sent.clear()
                if not self._closed:
                    self._send(answer)
                    self.sent.wait()
                time.sleep(share.pause())

    def _next(self) -> bytes | None:
        with self._lock:
            self._working = False
            self._lock.wait_for(lambda: self._closed or self._inbox)
            if self._closed:
                return None
            self._working = True
            data = self._inbox.popleft()
            self._queued -= len(data) + _MESSAGE
            return data


class CpuShare:
    """Limits the calling thread to a `share` of a core, with bursts of half a second."""

    def __init__(self, share: float) -> None:
        self._bucket = TokenBucket(share, _AT_ONCE, time.monotonic())  # seconds of CPU
        self._used = time.thread_time()

    def pause(self) -> float:
        """Seconds to sleep now, mostly 0."""
        used, now = time.thread_time(), time.monotonic()
        self._bucket.consume(used - self._used, now)
        self._used = used
        return min(_LONGEST, self._bucket.delay(now))


def start_thread(work: Callable[[], None], name: str) -> threading.Thread:
    """A daemon thread that receives no signals, which belong to the run loop."""

    def run() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
        work()

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread


# -- wiring -----------------------------------------------------------------------------------------------------------


EVERYBODY = "every user of this machine may control and stop this over tcp; --bind ipc://FILE is for you alone"


class ControlAddresses(NamedTuple):
    """Where clients connect: a loopback or ipc address ("" for none), standard input or not.

    `remains`: the referee waits for commands when nothing is left to play.
    """

    url: str = ""
    stdin: bool = False
    remains: bool = False


def attended(name: str, doors: ControlAddresses) -> Control:
    """Makes the run of a ladder answer there, as the command `name`. Raises UsageError for a bad address."""

    @contextlib.contextmanager
    def attend(run: RunContext) -> Iterator[RunControl]:
        desk = CommandQueue(first_news(run.ladder.name, run.ladder))
        steering = RunController(desk, doors.remains, run.read)
        make = responders(desk, run.store, run.live)
        with opened(name, doors, desk, make), contextlib.closing(steering):
            yield steering

    return attend


@contextlib.contextmanager
def opened(name: str, doors: ControlAddresses, desk: CommandQueue, make: Make) -> Iterator[None]:
    """Clients are answered in here. Raises UsageError."""
    with contextlib.ExitStack() as open_doors:
        if doors.url:
            try:
                listener = Listener(doors.url, make)
            except AddressError as error:
                raise click.UsageError(str(error)) from None
            open_doors.callback(listener.close)
            click.echo(f"{name}: listening at {listener.url}", err=True)
            if not listener.trusted:
                click.echo(f"{name}: {EVERYBODY}", err=True)
        if doors.stdin:
            open_doors.callback(StandardInput(make(True), _leave(desk, not doors.url)).close)
        yield


def _leave(desk: CommandQueue, ends: bool) -> Callable[[], None]:
    """Called at the end of standard input: stop the referee, unless clients can reach it otherwise."""

    def left() -> None:
        if ends:
            with contextlib.suppress(Exception):  # it is ending anyway
                desk.ask(lambda steering: steering.stop(False), math.inf)

    return left
