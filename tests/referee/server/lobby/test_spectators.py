"""Spectators of a lobby: the lobby's side, and the process with its socket, published events and answers."""

import asyncio
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest
import zmq

from ggp.protocol.errors import AddressError
from ggp.protocol.spectator_wire import (
    MAX_TOPIC,
    PAGE,
    Request,
    read_request,
)
from ggp.protocol.transports.keys import new_pair
from ggp.referee.ladder.store.model import StoreError
from ggp.referee.ladder.store.store import Store
from ggp.referee.server.background_tasks import Report
from ggp.referee.server.lobby import spectators
from ggp.referee.server.lobby.log import EventLog
from ggp.referee.server.lobby.spectators import (
    DROPPED_LINE,
    OCTETS,
    OPEN,
    PENDING,
    TOPIC_OCTETS,
    TOPICS,
    PubSocket,
    SpectatorConfig,
    Spectators,
    SpectatorServer,
    StoredRecords,
)
from tests.support.codes import raises
from tests.support.memory_lobby import until
from tests.support.spectator_publisher import KEY, events, fail, fields

TOLD = events(6)
LINES = [line for _, line in TOLD]
CONFIG = SpectatorConfig("tcp://127.0.0.1:*", "club", "", "", 10)
pytestmark = pytest.mark.slow


class Program:
    """A replacement for the spectator process: it runs `first`, then copies stdin to a file."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, first: str = "") -> None:
        self.file = folder / "in"
        self.file.touch()
        copy = (
            f"import os, sys, time\n{first}\nfor line in sys.stdin.buffer: open({str(self.file)!r}, 'ab').write(line)"
        )
        monkeypatch.setattr(spectators, "COMMAND", (sys.executable, "-c", copy))
        monkeypatch.setattr(spectators, "SOON", 0.01)
        self.log = EventLog(quiet=True)
        self.spectators = Spectators(CONFIG, self.log)

    def lines(self) -> list[bytes]:
        """What came, without the configuration."""
        return [one for one in self.file.read_bytes().splitlines(keepends=True) if not one.startswith(b'{"url"')]

    def publish(self, first: int, last: int, told: "list[tuple[Any, bytes]]" = TOLD) -> None:
        for event, line in told[first:last]:
            self.spectators.publish(event, line)

    async def __aenter__(self) -> "Program":
        self.spectators.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.spectators.close()


async def test_running_matches_come_first_and_an_end_once_it_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program(tmp_path, monkeypatch)
    program.publish(0, 3)
    async with program:
        await until(lambda: program.lines() == [*LINES[:3], OPEN])
        program.publish(3, len(TOLD))
        await until(lambda: program.lines() == [*LINES[:3], OPEN, *LINES[3:-1]])
        program.spectators.end(KEY)
        program.spectators.end(KEY)
        await until(lambda: program.lines() == [*LINES[:3], OPEN, *LINES[3:]])


async def test_a_resumed_match_is_sent_from_where_it_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(tmp_path, monkeypatch)
    program.publish(0, 4)
    other = events(4, bot="eve", ended=False)
    async with program:
        await until(lambda: OPEN in program.lines())
        program.publish(0, 5)
        program.publish(0, 2, other)
        program.spectators.end(KEY)
        dropped = DROPPED_LINE + KEY.encode() + b"\n"
        expected = [*LINES[:4], OPEN, LINES[4], *(line for _, line in other[:2]), dropped]
        await until(lambda: program.lines() == expected)


@pytest.mark.parametrize("first", ["time.sleep(0.2) or sys.exit(1)", "time.sleep(3600)"], ids=["ends", "hangs"])
async def test_a_process_that_ends_or_hangs_is_started_again_with_all_that_runs(
    first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spectators, "_BACKLOG", 1000)
    once = f"os.path.exists('{tmp_path}/once') or open('{tmp_path}/once', 'w') and {first}"
    program = Program(tmp_path, monkeypatch, once)
    long = events(2000, ended=False)
    async with program:
        await until((tmp_path / "once").exists)
        program.publish(0, len(long), long)
        await until(lambda: program.lines() == [*(line for _, line in long), OPEN])
        assert program.log.counts["spectators", "ended"] == 1


async def test_what_the_process_prints_is_logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = '{"event": "fault", "word": "answer", "times": 3}'
    first = f"print('not a report'); print({report!r}); sys.stdout.flush(); print('nor this', file=sys.stderr)"
    async with Program(tmp_path, monkeypatch, first) as program:
        await until(lambda: program.log.counts["spectators", "output"] == 2)
        assert program.log.counts["fault", "answer"] == 3


async def test_a_program_that_is_missing_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(tmp_path, monkeypatch)
    monkeypatch.setattr(spectators, "COMMAND", (str(tmp_path / "none"),))
    async with program:
        await until(lambda: program.log.counts["spectators", "ended"] > 1)


async def test_without_a_configuration_there_is_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectators, "COMMAND", (str(tmp_path / "none"),))
    log = EventLog(quiet=True)
    off = Spectators(None, log)
    off.open()
    for event, line in TOLD:
        off.publish(event, line)
    off.end(KEY)
    await asyncio.sleep(0.05)
    await off.close()
    assert not log.counts


LINES = [line for _, line in events(6)]
MATCH = f"match/{KEY}".encode()


class Clients:
    """Scripted spectators, and a socket for them."""

    def __init__(self) -> None:
        self.refused: list[str] = []
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.sockets: list[zmq.Socket[bytes]] = []  # a socket without a reference is closed

    def listen(self, connections: int = 10) -> PubSocket:
        return PubSocket("tcp://127.0.0.1:*", None, connections, lambda word, *more: self.refused.append(word))

    def connect(self, server: PubSocket, *topics: bytes, kind: int = zmq.SUB) -> "zmq.Socket[bytes]":
        there = self.context.socket(kind)
        self.sockets.append(there)
        there.setsockopt(zmq.RECONNECT_IVL, -1)
        there.connect(server.url)
        for topic in topics:
            there.setsockopt(zmq.SUBSCRIBE, topic)
        return there


@pytest.fixture
def clients() -> Iterator[Clients]:
    there = Clients()
    yield there
    there.context.destroy(linger=0)


async def receive(there: "zmq.Socket[bytes]") -> list[bytes]:
    await until(lambda: bool(there.poll(0)))
    return there.recv_multipart()


async def subscribed(server: PubSocket, *topics: bytes) -> None:
    """Wait until the socket knows these subscriptions and no others."""
    await until(lambda: sorted(t for one in server.by_descriptor.values() for t in one.topics) == sorted(topics))


async def test_subscribers_get_their_topics(clients: Clients) -> None:
    server = clients.listen()
    there = clients.connect(server, b"match/a", b"match/b")
    await subscribed(server, b"match/a", b"match/b")
    there.setsockopt(zmq.UNSUBSCRIBE, b"match/b")
    await subscribed(server, b"match/a")
    server.publish(b"match/b", b"1")
    server.publish(b"match/a", b"2")
    assert await receive(there) == [b"match/a", b"2"]
    there.close(linger=0)
    await until(lambda: server.connections == 0)
    server.close()


@pytest.mark.parametrize(
    ("messages", "word"),
    [
        ([[b"hello"]], "garbage"),
        ([[b"\1" + b"a" * (MAX_TOPIC + 1)]], "garbage"),
        ([[b"\1match/b", b"x"]], "garbage"),
        ([[b"\1match/b"], [b"\0match/b"]] * 50, "flood"),
        ([[b"\1b"]] * 40 + [[b"\1%d" % number] for number in range(TOPICS)], "flood"),
    ],
    ids=["garbage", "long", "multipart", "flood", "topics"],
)
async def test_a_connection_that_exceeds_a_limit_is_cut_and_others_are_not(
    clients: Clients, messages: list[list[bytes]], word: str
) -> None:
    server = clients.listen()
    good = clients.connect(server, b"match/a")
    await subscribed(server, b"match/a")
    bad = clients.connect(server, kind=zmq.XSUB)
    for frames in messages:
        bad.send_multipart(frames)
    await until(lambda: bool(clients.refused) and server.connections == 1)
    assert clients.refused == [word]
    server.publish(b"match/a", b"1")
    assert await receive(good) == [b"match/a", b"1"]
    server.close()


@pytest.mark.parametrize("size", [2, MAX_TOPIC])
async def test_topics_of_a_connection_are_bounded(clients: Clients, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr("ggp.referee.server.lobby.spectators.RATE", 1000.0)
    server = clients.listen()
    most = min(TOPICS, TOPIC_OCTETS // size)
    topics = [b"%d" % number + b"a" * (size - 2) for number in range(10, 11 + most)]
    there = clients.connect(server, *topics[:-1])
    await subscribed(server, *topics[:-1])
    there.setsockopt(zmq.SUBSCRIBE, topics[-1])
    await until(lambda: clients.refused == ["topics"])
    server.close()


async def test_connections_are_limited(clients: Clients) -> None:
    server = clients.listen(connections=2)
    both = [clients.connect(server, b"match/a") for _ in range(2)]
    await until(lambda: server.connections == 2)
    clients.connect(server, b"match/a")
    await until(lambda: clients.refused == ["full"])
    assert server.connections == 2
    both[0].close(linger=0)
    await until(lambda: server.connections == 1)
    clients.connect(server, b"match/b")
    await subscribed(server, b"match/a", b"match/b")
    server.close()


def test_an_address_that_is_taken_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, raises(AddressError, "cannot-listen"):
        PubSocket(f"tcp://127.0.0.1:{taken.getsockname()[1]}", None, 1, lambda *refused: None)


async def test_with_keys_every_key_is_accepted_and_nothing_else_is(clients: Clients) -> None:
    pair, mine = new_pair(), new_pair()
    server = PubSocket("tcp://127.0.0.1:*", pair, 10, lambda *refused: None)
    plain = clients.connect(server, b"match/plain")
    there = clients.context.socket(zmq.SUB)
    there.setsockopt(zmq.CURVE_SERVERKEY, pair.public.encode())
    there.setsockopt(zmq.CURVE_PUBLICKEY, mine.public.encode())
    there.setsockopt(zmq.CURVE_SECRETKEY, mine.secret.encode())
    there.connect(server.url)
    there.subscribe(b"match/a")
    await subscribed(server, b"match/a")
    server.publish(b"match/a", b"1")
    assert await receive(there) == [b"match/a", b"1"] and not plain.poll(0)
    server.close()


def request(number: int = 0, nonce: str = "a", match: str = KEY) -> bytes:
    return f"catch-up/match/{match}/{number}/{nonce}".encode()


async def test_connections_take_turns_with_a_few_requests_each(clients: Clients) -> None:
    server = clients.listen()
    greedy = clients.connect(server, *(request(nonce=str(number)) for number in range(PENDING + 2)), b"match/a")
    await until(lambda: any(len(one.topics) == PENDING + 3 for one in server.by_descriptor.values()))
    clients.connect(server, request(nonce="b"), b"match/b")
    await until(lambda: any(b"match/b" in one.topics for one in server.by_descriptor.values()))
    greedy.setsockopt(zmq.UNSUBSCRIBE, request(nonce="1"))  # its timeout: the client asks again
    await until(lambda: not any(request(nonce="1") in one.topics for one in server.by_descriptor.values()))
    found = [(await server.request()).topic for _ in range(PENDING)]
    assert found == [request(nonce=nonce) for nonce in ("0", "b", "2", "3")]
    server.close()


async def test_a_connection_that_leaves_with_its_request_does_not_delay_others(clients: Clients) -> None:
    server = clients.listen()
    waiting = asyncio.create_task(server.request())
    hasty = clients.connect(server, request(nonce="a"))
    await waiting
    hasty.setsockopt(zmq.SUBSCRIBE, request(nonce="b"))
    await until(lambda: any(one.requests for one in server.by_descriptor.values()))
    hasty.close(linger=0)
    await until(lambda: server.connections == 0)
    waiting = asyncio.create_task(server.request())
    clients.connect(server, request(nonce="c"))
    assert (await waiting).topic == request(nonce="c")
    server.close()


# -- matches and answers ----------------------------------------------------------------------------------------------


class FakeSocket(PubSocket):
    """Keeps what is published; its requests come from a test."""

    connections = 1

    def __init__(self) -> None:
        self.sent: list[tuple[bytes, dict[str, Any]]] = []
        self.requests: asyncio.Queue[Request] = asyncio.Queue()

    def publish(self, topic: bytes, payload: bytes) -> None:
        self.sent.append((topic, msgpack.unpackb(payload)))

    async def request(self) -> Request:
        return await self.requests.get()

    def close(self, linger: float = 0.0) -> None:
        return

    def take(self, topic: bytes) -> list[dict[str, Any]]:
        """What was published there so far; it is forgotten."""
        found = [what for where, what in self.sent if where == topic]
        self.sent = [one for one in self.sent if one[0] != topic]
        return found

    async def ask(self, topic: bytes) -> list[dict[str, Any]]:
        """The answer to a request."""
        request = read_request(topic)
        assert request is not None
        self.requests.put_nowait(request)
        await until(lambda: any(where == topic and said["event"] in ENDS for where, said in self.sent))
        return self.take(topic)


ENDS = ("caught-up", "state", "unknown")
NEWS = b"ladder/club"


class Opened:
    """A server with such a socket. `stored` are records by match; other matches are not in the store."""

    def __init__(self, report: Report = fail) -> None:
        self.socket = FakeSocket()
        self.stored: dict[str, bytes] = {}
        self.record: Callable[[str], bytes | None] = self.stored.get
        self.server = SpectatorServer("club", lambda match: self.record(match), report)

    async def __aenter__(self) -> "Opened":
        self.server.open(self.socket)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.server.close()

    def lines(self, *lines: bytes) -> None:
        for line in lines:
            self.server.take(line)


async def test_a_match_is_published_as_it_grows() -> None:
    async with Opened() as club:
        club.lines(*LINES)
        assert club.socket.take(MATCH) == [fields(line) for line in LINES]
        begun, over = club.socket.take(NEWS)
        assert (begun["event"], over["event"]) == ("begun", "over") and over["seq"] == begun["seq"] + 1
        assert begun["head"]["bots"] == ["ann", "bob"] and over["head"]["plies"] == 6
        assert (over["result"], over["winner"], over["termination"]) == ("B+1", 1, "rules")


async def test_a_dropped_match_is_over_without_a_result() -> None:
    async with Opened() as club:
        club.lines(*LINES[:3], spectators.DROPPED_LINE + KEY.encode() + b"\n")
        _, over = club.socket.take(NEWS)
        assert (over["event"], over["termination"], over["result"]) == ("over", "dropped", "")
        assert await club.socket.ask(request()) == [{"event": "unknown", "name": KEY}]


async def test_events_that_replace_others_take_those_that_followed_with_them() -> None:
    async with Opened() as club:
        club.lines(*LINES[:5])
        other = [line for _, line in events(3, bot="eve", ended=False)]
        club.lines(*other)
        *page, end = await club.socket.ask(request())
        assert page == [fields(line) for line in other] and end == {"event": "caught-up", "seq": 4}
        club.lines(LINES[2])
        *page, end = await club.socket.ask(request())
        assert page == [fields(line) for line in (*other[:2], LINES[2])]


async def test_missed_events_of_running_and_stored_matches_are_answered() -> None:
    async with Opened() as club:
        club.lines(*LINES[:-1])
        answer = await club.socket.ask(request(5))
        assert answer == [*(fields(line) for line in LINES[5:7]), {"event": "caught-up", "seq": 7}]
        assert await club.socket.ask(request(7)) == [{"event": "caught-up", "seq": 7}]
        club.lines(LINES[-1])
        assert await club.socket.ask(request()) == [{"event": "unknown", "name": KEY}]
        club.stored[KEY] = b"".join(LINES)
        answer = await club.socket.ask(request(6))
        assert answer == [*(fields(line) for line in LINES[6:]), {"event": "caught-up", "seq": 8}]


async def test_answers_are_bounded_in_events_and_bytes() -> None:
    async with Opened() as club:
        lines = [line for _, line in events(1200, ended=False)]
        club.lines(*lines)
        answer = await club.socket.ask(request(10))
        assert answer[0]["seq"] == 10 and len(answer) == PAGE + 1 and answer[-1]["seq"] == 1201
        long = [line for _, line in events(3, key="long", bot="b" * OCTETS, ended=False)]
        club.lines(*long)
        assert await club.socket.ask(request(match="long")) == [fields(long[0]), {"event": "caught-up", "seq": 4}]


async def test_missed_news_of_the_ladder_are_answered() -> None:
    async with Opened() as club:
        *_, state = await club.socket.ask(b"catch-up/ladder//0/a")
        assert (state["event"], state["ladder"], state["matches"]) == ("state", "club", [])
        assert await club.socket.ask(f"catch-up/ladder/club/{state['seq']}/b".encode()) == [
            {"event": "caught-up", "seq": state["seq"]}
        ]
        club.lines(*LINES[:3])
        begun, after = await club.socket.ask(f"catch-up/ladder/club/{state['seq']}/c".encode())
        assert begun["event"] == "begun" and after["run"] == state["run"] and after["seq"] == state["seq"] + 1
        assert [(head["match"], head["plies"]) for head in after["matches"]] == [(KEY, 2)]
        assert await club.socket.ask(b"catch-up/ladder/other/0/d") == [{"event": "unknown", "name": "other"}]


async def test_a_request_that_fails_is_reported_and_the_next_is_answered() -> None:
    faults: list[str] = []
    async with Opened(lambda task, error: faults.append(f"{task}: {error}")) as club:
        failing = read_request(request(match="x"))
        assert failing is not None
        club.record = lambda match: {"none": b""}[match]
        club.socket.requests.put_nowait(failing)
        await club.socket.ask(b"catch-up/ladder//0/a")
        assert faults == ["answer: 'x'"]


async def test_a_store_is_read_when_it_is_there_and_again_after_a_failure(tmp_path: Path) -> None:
    records = StoredRecords(f"sqlite:///{tmp_path}/club.db")
    with pytest.raises(StoreError):
        records.read(KEY)
    Store.open(f"sqlite:///{tmp_path}/club.db", create=True).close()
    assert records.read(KEY) is None
