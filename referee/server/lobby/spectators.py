"""The matches of a lobby as spectators see them: the lobby's side, and the process that serves strangers.

The spectator process publishes the lines that the lobby writes to its stdin, and answers requests for missed events.
It serves strangers, so its failures must not delay the lobby, which never waits for it. A process that ends, or stops
reading, is started again and gets all running matches again.

Spectators read events from a PUB socket (XPUB here, so that subscriptions can be counted and answered). A request is
a subscription to a topic of its own. Running matches are in memory, finished ones in the store.
"""

import asyncio
import contextlib
import os
import resource
import secrets
import signal
import sys
import time
from asyncio.subprocess import PIPE, STDOUT, Process
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import zmq
from zmq.utils.monitor import recv_monitor_message

from ggp.protocol.errors import AddressError
from ggp.protocol.records import MAX_RECORD_LINE, Event, MatchEnded
from ggp.protocol.spectator_wire import (
    DROPPED,
    LADDER,
    LISTED,
    MATCH,
    MAX_TOPIC,
    PAGE,
    Begun,
    CaughtUp,
    MatchHead,
    Over,
    Published,
    Request,
    SpectatorState,
    Unknown,
    publish,
    publish_line,
    read_request,
    topic_of,
)
from ggp.protocol.token_bucket import TokenBucket
from ggp.protocol.transports.descriptors import address_of, cut
from ggp.protocol.transports.keys import KeyFileError, KeyPair, read_pair
from ggp.protocol.transports.subreaper import end_with_parent
from ggp.referee.ladder.store.model import StoreError
from ggp.referee.ladder.store.store import Store
from ggp.referee.server.background_tasks import BackgroundTasks, Report, keep_running, kill, wait_or_kill
from ggp.referee.server.lobby.limits import BURST
from ggp.referee.server.lobby.log import EventLog
from ggp.referee.server.lobby.zmq_io import Reading, bind, new_context, public_socket

COMMAND = (sys.executable, "-P", "-m", "ggp.referee.server.lobby.spectators")
SOON, LATEST = 0.2, 30.0  # seconds until it is started again; doubled each time
GATHER = 0.02  # seconds in which lines wait for others, to be written together
OPEN, DROPPED_LINE = b"open\n", b"dropped "  # on stdin: all running matches are sent; a match has no end
_BACKLOG = 16 * 1024 * 1024  # unread bytes, after which it is killed
_REPORT = 256 * 1024  # bytes of a line of its stdout


class SpectatorConfig(msgspec.Struct, frozen=True):
    """The first line of the process's stdin."""

    url: str  # where to listen
    ladder: str  # its name
    store: str
    server_key: str  # the file of the server's key pair, "" for no encryption
    connections: int  # at most


class SpectatorReport(msgspec.Struct):
    """A line of the process's stdout."""

    event: str
    word: str = ""
    url: str = ""
    reason: str = ""
    source: str = ""
    traceback: str = ""
    times: int = 1


class Spectators:
    """The running matches as spectators may see them. Without a `config` there is no process to send them to."""

    def __init__(self, config: SpectatorConfig | None, log: EventLog) -> None:
        self._config, self._log = config, log
        self._tasks = BackgroundTasks(log.fault)
        self._matches: dict[str, list[bytes]] = {}  # lines without the end, by match
        self._ends: dict[str, bytes] = {}  # lines of matches that are not stored yet
        self._waiting: list[bytes] = []  # lines for the next write
        self._process: Process | None = None
        self._limit = 0  # of unread bytes

    def open(self) -> None:
        """Start the process in the running loop."""
        if self._config is not None:
            self._tasks.keep("spectators", lambda: keep_running(self._run, self._ended, SOON, LATEST))

    async def close(self) -> None:
        """End the process, after a moment for what it has to send."""
        self._flush()
        await self._tasks.close()

    def publish(self, event: Event, line: bytes) -> None:
        """Publish an event and its line in the record. The end of a match waits for `end`.

        A resumed match repeats its lines: an equal line is not sent again, and a different one replaces the old
        line and all that followed.
        """
        if isinstance(event, MatchEnded):
            self._ends[event.match] = line
            return
        lines = self._matches.setdefault(event.match, [])
        if event.seq < len(lines):
            if lines[event.seq] == line:
                return
            del lines[event.seq :]
        lines.append(line)
        self._send(line)

    def end(self, match: str) -> None:
        """Publish the end of a match that is stored, or that it was dropped if it has no end."""
        if self._matches.pop(match, None) is not None:
            self._send(self._ends.pop(match, DROPPED_LINE + match.encode() + b"\n"))

    # -- the process -------------------------------------------------------------------------------------------------

    def _send(self, line: bytes) -> None:
        if self._process is not None:
            if not self._waiting:
                asyncio.get_running_loop().call_later(GATHER, self._flush)
            self._waiting.append(line)

    def _flush(self) -> None:
        lines, self._waiting = self._waiting, []
        if lines and self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(b"".join(lines))
            if self._process.stdin.transport.get_write_buffer_size() > self._limit:
                kill(self._process)

    def _ended(self, reason: str, again: float) -> None:
        self._log.log_limited(asyncio.get_running_loop().time(), "spectators", "ended", "", reason=reason, again=again)

    async def _run(self) -> str:
        """Run the process to its end, and return how it ended. Raises OSError."""
        process = await asyncio.create_subprocess_exec(
            *COMMAND, stdin=PIPE, stdout=PIPE, stderr=STDOUT, limit=_REPORT, process_group=0
        )
        assert process.stdin is not None and process.stdout is not None
        try:
            running = [line for lines in self._matches.values() for line in lines]
            first = b"".join([msgspec.json.encode(self._config), b"\n", *running, OPEN])
            process.stdin.write(first)
            self._process, self._waiting, self._limit = process, [], len(first) + _BACKLOG
            with contextlib.suppress(ValueError):  # a line without end: no process of ours writes that
                async for line in process.stdout:
                    self._relay(line)
        finally:
            self._process = None
            process.stdin.close()  # which ends it
            await asyncio.shield(wait_or_kill(process))
        return f"exit status {process.returncode}"

    def _relay(self, line: bytes) -> None:
        """Log a line of the process's output."""
        now = asyncio.get_running_loop().time()
        try:
            report = msgspec.json.decode(line, type=SpectatorReport)
        except msgspec.MsgspecError:
            text = line.decode("utf-8", "backslashreplace").rstrip("\n")
            self._log.log_limited(now, "spectators", "output", text[:100], reason=text)
            return
        if report.url and self._config is not None:  # the same port after a restart, if any would do
            self._config = msgspec.structs.replace(self._config, url=report.url)
            self._log.log(report.event, report.word, url=report.url)
            return
        fields = {"traceback": report.traceback} if report.traceback else {}
        self._log.log_limited(
            now, report.event, report.word, report.source, report.times, reason=report.reason, **fields
        )


# -- the socket -------------------------------------------------------------------------------------------------------

TOPICS = 64  # subscriptions of one connection
TOPIC_OCTETS = 4096  # bytes of all these topics
RATE = 10.0  # subscriptions a second of one connection; five times as many at once
PENDING = 4  # requests of one connection that wait
QUEUE = 1000  # messages for one connection; it requests what it missed
_FRAME = 512  # bytes: the longest frame of a handshake with keys is under 300, a topic with keys under 240
_NOW, _MORE = int(zmq.NOBLOCK), int(zmq.NOBLOCK | zmq.SNDMORE)


class SpectatorConnection:
    """The subscriptions of one connection, and its requests that wait."""

    def __init__(self, now: float) -> None:
        self.bucket = TokenBucket(RATE, RATE * BURST, now)
        self.topics: Counter[bytes] = Counter()
        self.requests: deque[Request] = deque()


class PubSocket:
    """The socket that spectators connect to, in the running loop."""

    def __init__(self, url: str, pair: KeyPair | None, limit: int, refuse: Callable[[str, str, str], None]) -> None:
        """Bind it.

        Args:
            pair: The server's keys, None for no encryption.
            limit: Connections at a time.
            refuse: Called with a word, the address and the reason for each connection that is ended here.

        Raises:
            AddressError: The address cannot be bound.
        """
        self._limit, self._refuse = limit, refuse
        self.by_descriptor: dict[int, SpectatorConnection] = {}  # by ZeroMQ's descriptor
        self._turns: OrderedDict[int, None] = OrderedDict()  # connections with requests, the next one first
        self._requested = asyncio.Event()
        self._context = new_context()
        # VERBOSER reports every subscription, even one that another connection has.
        options = {zmq.XPUB_VERBOSER: 1, zmq.MAXMSGSIZE: _FRAME, zmq.SNDHWM: QUEUE}
        self._socket = public_socket(self._context, zmq.XPUB, url, options)
        if pair is not None:  # every client key is accepted, so no ZAP handler is needed
            self._socket.setsockopt(zmq.CURVE_SERVER, 1)
            self._socket.setsockopt(zmq.CURVE_SECRETKEY, pair.secret.encode())
            self._socket.setsockopt(zmq.CURVE_PUBLICKEY, pair.public.encode())
        self._monitor = self._socket.get_monitor_socket(zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        try:
            self.url = bind(self._socket, url)
        except AddressError:
            self._context.destroy(linger=0)
            raise
        self._readings = [Reading(self._monitor, self._on_monitor_event), Reading(self._socket, self._receive)]

    @property
    def connections(self) -> int:
        return len(self.by_descriptor)

    def close(self, linger: float = 0.0) -> None:
        """Close once. `linger`: seconds for messages that are still to leave."""
        for reading in self._readings:
            reading.close()
        self._socket.disable_monitor()
        self._monitor.close(linger=0)
        self._socket.close(linger=int(linger * 1000))
        self._context.term()

    def publish(self, topic: bytes, payload: bytes) -> None:
        """Send to all subscribers whose queue has room."""
        with contextlib.suppress(zmq.ZMQError):
            self._socket.send(topic, _MORE)
            self._socket.send(payload, _NOW)
        self._readings[1].poll_again()

    async def request(self) -> Request:
        """Wait for a request, and remove and return it. The connections take turns."""
        while not self._turns:
            self._requested.clear()
            await self._requested.wait()
        descriptor, _ = self._turns.popitem(last=False)
        waiting = self.by_descriptor[descriptor].requests
        request = waiting.popleft()
        if waiting:
            self._turns[descriptor] = None
        return request

    def _on_monitor_event(self) -> None:
        """Raises zmq.Again when there is none."""
        event = recv_monitor_message(self._monitor, zmq.NOBLOCK)
        descriptor = int(event["value"])
        self._forget(descriptor)
        if event["event"] == zmq.EVENT_ACCEPTED:
            self.by_descriptor[descriptor] = SpectatorConnection(time.monotonic())
            if len(self.by_descriptor) > self._limit:
                self._disconnect(descriptor, "full", f"connection limit: {self._limit} spectators")

    def _forget(self, descriptor: int) -> None:
        self.by_descriptor.pop(descriptor, None)
        self._turns.pop(descriptor, None)

    def _disconnect(self, descriptor: int, word: str, reason: str) -> None:
        self._forget(descriptor)
        self._refuse(word, address_of(descriptor), reason)
        cut(descriptor)

    def _receive(self) -> None:
        """Raises zmq.Again when there is nothing."""
        frame = self._socket.recv(_NOW, copy=False)
        try:
            descriptor = int(frame.get(zmq.SRCFD))
        except zmq.ZMQError:  # a subscription that ended with its connection
            return
        if descriptor not in self.by_descriptor:
            with contextlib.suppress(zmq.Again):
                while True:
                    self._on_monitor_event()
        connection = self.by_descriptor.get(descriptor)
        if connection is None:
            return
        data = frame.bytes
        if data[:1] not in (b"\0", b"\1") or frame.more or len(data) > 1 + MAX_TOPIC:
            self._disconnect(descriptor, "garbage", "a message that is no subscription")
        elif not connection.bucket.consume(1, time.monotonic()):
            self._disconnect(descriptor, "flood", "too many subscriptions a second")
        elif data[:1] == b"\1":
            self._subscribe(descriptor, connection, data[1:])
        else:
            self._unsubscribe(descriptor, connection, data[1:])

    def _subscribe(self, descriptor: int, connection: SpectatorConnection, topic: bytes) -> None:
        connection.topics[topic] += 1
        if connection.topics.total() > TOPICS:
            self._disconnect(descriptor, "topics", f"more than {TOPICS} subscriptions")
        elif sum(map(len, connection.topics)) > TOPIC_OCTETS:
            self._disconnect(descriptor, "topics", f"subscriptions of more than {TOPIC_OCTETS} bytes")
        elif (request := read_request(topic)) and len(connection.requests) < PENDING:
            connection.requests.append(request)
            self._turns.setdefault(descriptor)
            self._requested.set()

    def _unsubscribe(self, descriptor: int, connection: SpectatorConnection, topic: bytes) -> None:
        connection.topics[topic] -= 1
        if connection.topics[topic] <= 0:
            del connection.topics[topic]
        connection.requests = deque(one for one in connection.requests if one.topic != topic)
        if not connection.requests:
            self._turns.pop(descriptor, None)


# -- matches and answers ----------------------------------------------------------------------------------------------

REMEMBERED = 500  # news of the ladder, for spectators that missed some
OCTETS = 256 * 1024  # bytes of one answer
ANSWERS = 4 * 1024 * 1024  # bytes of answers a second, in total
_FIRST = 10**8  # the numbers of a ladder's news begin at random below this, so that two runs hardly share any
_decode: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])


class RunningMatch:
    """The lines of a match so far."""

    def __init__(self, start: dict[str, Any]) -> None:
        """Make it from the first line, decoded."""
        first, second = start["bots"]
        controls = (bot.get("control", start["control"]) for bot in (first, second))
        self._head = MatchHead(
            match=start["match"],
            game=start["game"],
            options=start["options"],
            bots=(first["name"], second["name"]),
            control=" against ".join(dict.fromkeys(controls)),
            started=start.get("started", ""),
        )
        self.lines: list[bytes] = []

    @property
    def head(self) -> MatchHead:
        return msgspec.structs.replace(self._head, plies=max(0, len(self.lines) - 1))


class SpectatorServer:
    """Publishes the matches of a ladder and answers requests."""

    def __init__(self, ladder: str, record: Callable[[str], bytes | None], report: Report) -> None:
        """Do nothing before `open`.

        Args:
            record: Reads a finished match from the store.
            report: Called with each failure to answer.
        """
        self._ladder, self._record, self._report = ladder, record, report
        self._run, self._seq = secrets.token_hex(4), 1 + secrets.randbelow(_FIRST)
        self._news: deque[Begun | Over] = deque(maxlen=REMEMBERED)
        self._matches: dict[str, RunningMatch] = {}
        self._socket: PubSocket | None = None
        self._tasks = BackgroundTasks(report)
        self._store = ThreadPoolExecutor(1, "store")

    def open(self, socket: PubSocket) -> None:
        """In the running loop."""
        self._socket = socket
        self._tasks.keep("answers", lambda: self._answer_all(socket))

    async def close(self) -> None:
        await self._tasks.close()
        if self._socket is not None:
            self._socket.close(linger=0.3)

    def take(self, line: bytes) -> None:
        """Take a line from the lobby: an event of a match, or that a match was dropped.

        An event with the number of an earlier one replaces it and all after it.
        """
        if line.startswith(DROPPED_LINE):
            self._over(line.removeprefix(DROPPED_LINE).strip().decode(), DROPPED)
            return
        event = _decode.decode(line)
        name, number = event["match"], event.get("seq", 0)
        if number == 0:
            self._matches[name] = RunningMatch(event)
            self._announce(Begun(seq=self._seq, run=self._run, head=self._matches[name].head))
        match = self._matches[name]
        match.lines[number:] = [line]
        if self._socket is not None and self._socket.connections:
            self._socket.publish(topic_of(MATCH, name), msgspec.msgpack.encode(event))
        if event["event"] == "end":
            del match.lines[-1]  # it is no ply
            self._over(name, event["termination"], event["result"], event["winner"])

    def _over(self, name: str, termination: str, result: str = "", winner: int = 0) -> None:
        head = self._matches.pop(name).head
        self._announce(
            Over(seq=self._seq, run=self._run, head=head, result=result, winner=winner, termination=termination)
        )

    def _announce(self, news: Begun | Over) -> None:
        self._seq += 1
        self._news.append(news)
        if self._socket is not None and self._socket.connections:
            self._socket.publish(topic_of(LADDER, self._ladder), publish(news))

    async def _answer_all(self, socket: PubSocket) -> None:
        """Answer one request after another, at a bounded rate. A request that fails gets no answer: it is repeated."""
        while True:
            request = await socket.request()
            began, size = time.monotonic(), 0
            try:
                for payload in await self._answer(request):
                    socket.publish(request.topic, payload)
                    size += len(payload)
            except Exception as error:
                self._report("answer", error)
            await asyncio.sleep(max(0.0, began + size / ANSWERS - time.monotonic()))

    async def _answer(self, request: Request) -> list[bytes]:
        """Return the payloads of an answer. Raises StoreError."""
        if request.kind == LADDER:
            return [publish(what) for what in self._ladder_answer(request)]
        match = self._matches.get(request.name)
        if match is not None:
            lines = match.lines
        else:
            data = await asyncio.get_running_loop().run_in_executor(self._store, self._record, request.name)
            if data is None:
                return [publish(Unknown(request.name))]
            lines = data.splitlines(keepends=True)
        page, size = list[bytes](), 0
        for line in lines[request.number : request.number + PAGE]:
            size += len(line)
            if page and size > OCTETS:
                break
            page.append(publish_line(line))
        return [*page, publish(CaughtUp(len(lines)))]

    def _ladder_answer(self, request: Request) -> list[Published]:
        if request.name not in ("", self._ladder):
            return [Unknown(request.name)]
        if request.number == self._seq:
            return [CaughtUp(self._seq)]
        missed = [news for news in self._news if news.seq >= request.number]
        heads = tuple(match.head for match in list(self._matches.values())[-LISTED:])
        return [*missed, SpectatorState(seq=self._seq, run=self._run, ladder=self._ladder, matches=heads)]


# -- the process ------------------------------------------------------------------------------------------------------

_NICE = 10  # matches have priority
_MEMORY = 2 << 30  # bytes of address space: a flood ends this process, not the host


def main() -> int:
    """Serve until stdin ends. Return 1 if the socket cannot be opened, with the reason on stdout."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the lobby ends this process
    end_with_parent(signal.SIGKILL)
    os.nice(_NICE)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    log = EventLog(as_json=True, write=_print)
    try:
        asyncio.run(_run(log))
    except (AddressError, KeyFileError) as error:
        log.log("spectators", "cannot", reason=str(error))
        return 1
    return 0


async def _run(log: EventLog) -> None:
    """Raises AddressError, KeyFileError."""
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(log.unhandled)
    lines = asyncio.StreamReader(limit=2 * MAX_RECORD_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    config = msgspec.json.decode(await lines.readline(), type=SpectatorConfig)
    pair = read_pair(Path(config.server_key)) if config.server_key else None

    def refuse(word: str, address: str, reason: str) -> None:
        log.log_limited(loop.time(), "spectator", word, address, reason=reason)

    server = SpectatorServer(config.ladder, StoredRecords(config.store).read, log.fault)
    async for line in lines:
        if line == OPEN:
            socket = PubSocket(config.url, pair, config.connections, refuse)
            server.open(socket)
            log.log("spectators", "open", url=socket.url)
        else:
            server.take(line)
    await server.close()


class StoredRecords:
    """The records of a store, which is opened when one is read, for one thread."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._store: Store | None = None

    def read(self, match: str) -> bytes | None:
        """Return the lines of a match, None if it is not stored. Raises StoreError."""
        if self._store is None:
            self._store = Store.open(self._url)
        try:
            return self._store.record(match)
        except StoreError:
            store, self._store = self._store, None
            store.close()
            raise


def _print(line: str) -> None:
    with contextlib.suppress(OSError):  # the lobby has gone
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
