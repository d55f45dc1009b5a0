"""Where clients come in: standard input, and ZeroMQ. Each client is answered in a thread of its own.

So one that asks for much, or waits, keeps nobody else waiting; what is queued for and from a client is bounded. Whoever
may connect is taken for a local user: only loopback and ipc addresses are bound, and there are no keys. Over tcp any
user of this machine may connect, so clients are trusted over ipc and on standard input alone (see orders).
"""

import contextlib
import os
import queue
import select
import signal
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

import zmq

from protocol.errors import AddressError
from protocol.grammar import MAX_LINE
from protocol.responder import Responder
from protocol.transports.pipe import CHUNK, report_on_stderr
from protocol.transports.zmq import SocketFile, bind_router
from referee.service.service import Make

CLIENTS = 64  # over ZeroMQ; the one that was quiet longest gives way to a newcomer
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
        """End the thread; one that waits for somebody to read ends with the process."""
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
        except OSError:  # whoever asked has gone
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
        self._barred: OrderedDict[bytes, None] = OrderedDict()  # who flooded us: nothing is read from them any more
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
        poller, share = zmq.Poller(), Share(_DOOR)
        poller.register(self._router, zmq.POLLIN)
        poller.register(self._bell, zmq.POLLIN)
        while not self._closing:
            ready = dict(poller.poll(_AGAIN_MS if self._stuck else None))
            if self._bell in ready:
                with contextlib.suppress(BlockingIOError):
                    os.eventfd_read(self._bell)
            if self._router in ready:
                self._take()
            self._send_all()
            time.sleep(share.too_much())  # who floods us waits in the queues of the network

    def _take(self) -> None:
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
            self._drop(peer)
            self._barred[peer] = None
            self._stuck[peer] = _FLOODED, time.monotonic() + _PATIENCE
        if len(self._clients) > CLIENTS:
            self._drop(next(iter(self._clients)))
        while len(self._barred) > 1000:
            self._barred.popitem(last=False)

    def _drop(self, peer: bytes) -> None:
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
                    self._drop(peer)
                continue
            except zmq.ZMQError:  # gone
                self._drop(peer)
                continue
            del self._stuck[peer]
            if client := self._clients.get(peer):
                client.sent.set()

    def _end(self) -> None:
        """Clients that were waiting have been told by the desk that it is over: a moment for their last answers."""
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
    """Somebody on the other end of a ROUTER, with a thread that answers; one answer at a time is on its way."""

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
        """Called by the door. False if too much is waiting."""
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
        responder, share = self._responder, Share(_CLIENT)
        while not responder.closed and (data := self._next()) is not None:
            responder.receive(data)
            while not self._closed and (answer := responder.next_answer()) is not None:
                self.sent.clear()
                if not self._closed:
                    self._send(answer)
                    self.sent.wait()
                time.sleep(share.too_much())

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


class Share:
    """How much of a core the thread that asks may have, in the long run; a second of it at once."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._level = 0.0  # seconds of CPU, running dry by `share` a second
        self._used, self._at = time.thread_time(), time.monotonic()

    def too_much(self) -> float:
        """Seconds to sleep now, mostly 0."""
        used, at = time.thread_time(), time.monotonic()
        self._level = max(0.0, self._level - self._share * (at - self._at)) + used - self._used
        self._used, self._at = used, at
        return min(_LONGEST, max(0.0, (self._level - _AT_ONCE) / self._share))


def start_thread(work: Callable[[], None], name: str) -> threading.Thread:
    """A thread that gets no signal, for those are the loop's, and keeps no process alive that has ended otherwise."""

    def run() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
        work()

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread
