"""The gallery's socket: what strangers may ask of it, and what cuts them off."""

import asyncio
import contextlib
import gc
import itertools
import os
import resource
import secrets
import socket
import time
from collections.abc import Callable, Iterator
from copy import copy
from pathlib import Path

import pytest
import zmq

from protocol.errors import AddressError
from protocol.spectator_wire import MAX_TOPIC
from protocol.transports.descriptors import resident
from protocol.transports.keys import new_pair
from referee.lobby import spectator_socket as stage_module
from referee.lobby import spectator_socket as turnstile_module
from referee.lobby.limits import BURST
from referee.lobby.spectator_socket import OCTETS, TOPIC_OCTETS, TOPICS, PubSocket, RequestQueue, TcpProxy
from tests.support.spectator_publisher import fail


class SpectatorHalf(RequestQueue):
    """Whoever is told what spectators want; and those whom a test lets in."""

    def __init__(self) -> None:
        super().__init__()
        self.topics: list[bytes] = []
        self.refused: list[str] = []
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.sockets: list[zmq.Socket[bytes]] = []  # one that nobody holds is closed

    def subscribed(self, connection: int, topic: bytes) -> None:
        self.topics.append(topic)

    def unsubscribed(self, connection: int, topic: bytes) -> None:
        self.topics.remove(topic)

    def left(self, connection: int) -> None:
        return

    def refuse(self, word: str, address: str, reason: str) -> None:
        self.refused.append(word)

    def stage(self, connections: int = 10) -> PubSocket:
        stage = PubSocket("tcp://127.0.0.1:*", None, connections, self, self.refuse, fail)
        stage.open()
        return stage

    def connect(self, stage: PubSocket, *topics: bytes) -> "zmq.Socket[bytes]":
        there = self.context.socket(zmq.SUB)
        there.setsockopt(zmq.RECONNECT_IVL, -1)
        there.connect(stage.url)
        self.sockets.append(there)
        for topic in topics:
            there.subscribe(topic)
        return there


@pytest.fixture
def hall() -> Iterator[SpectatorHalf]:
    there = SpectatorHalf()
    yield there
    there.context.destroy(linger=0)


async def until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline, "it did not come to that"
        await asyncio.sleep(0.01)


async def receive(there: "zmq.Socket[bytes]") -> list[bytes]:
    """The next message; the loop goes on meanwhile, for it is what carries it."""
    await until(lambda: bool(there.poll(0)))
    return there.recv_multipart()


async def test_what_is_published_reaches_who_wants_it(hall: SpectatorHalf) -> None:
    stage = hall.stage()
    there = hall.connect(stage, b"match/a")
    await until(lambda: hall.topics == [b"match/a"])
    stage.publish(b"match/b", b"1")
    stage.publish(b"match/a", b"2")
    assert await receive(there) == [b"match/a", b"2"]
    there.close(linger=0)
    await until(lambda: stage.connections == 0)
    await stage.close()


@pytest.mark.parametrize("how", ["garbage", "long", "flood", "topics", "multipart"])
async def test_a_stranger_who_takes_too_much_is_cut_and_others_are_not(hall: SpectatorHalf, how: str) -> None:
    stage = hall.stage()
    good = hall.connect(stage, b"match/a")
    await until(lambda: b"match/a" in hall.topics)
    bad = hall.context.socket(zmq.XSUB)
    bad.setsockopt(zmq.RECONNECT_IVL, -1)
    bad.connect(stage.url)
    if how == "garbage":
        bad.send(b"hello")
    elif how == "long":
        bad.send(b"\1" + b"a" * (MAX_TOPIC + 1))
    elif how == "multipart":
        bad.send_multipart([b"\1match/b", b"x"])
    elif how == "topics":
        for number in range(TOPICS + 1):
            bad.send(b"\1%d" % number)
    else:
        for _ in range(100):
            bad.send(b"\1match/b")
            bad.send(b"\0match/b")
    await until(lambda: bool(hall.refused) and stage.connections == 1)
    expected = {"garbage": "garbage", "long": "garbage", "multipart": "garbage"}.get(how)
    assert hall.refused[0] == expected or hall.refused[0] in ("flood", "topics")
    stage.publish(b"match/a", b"1")
    assert await receive(good) == [b"match/a", b"1"]
    good.close(linger=0)
    await stage.close()


GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(16) + b"\x00" + bytes(31)
READY = b"\x05READY\x0bSocket-Type\x00\x00\x00\x03SUB"


def address_of(stage: PubSocket) -> tuple[str, int]:
    return "127.0.0.1", int(stage.url.rpartition(":")[2])


def shake(there: socket.socket) -> None:
    """A handshake without a library's help: what follows are frames."""
    there.sendall(GREETING + b"\x04" + bytes([len(READY)]) + READY)
    answer = b""
    while b"READY" not in answer or not answer.endswith(b"XPUB"):
        answer += there.recv(1)


def is_cut(address: tuple[str, int], data: bytes, pause: float = 0.0) -> bool:
    """Send this over and over, after a handshake, until the connection is cut."""
    with socket.create_connection(address, timeout=60) as there:
        shake(there)
        try:
            while True:
                there.sendall(data)
                time.sleep(pause)
        except ConnectionError:
            return True


@pytest.mark.slow
async def test_frames_without_an_end_and_silence_are_cut(hall: SpectatorHalf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_module, "_SWEEP", 0.05)
    monkeypatch.setattr(stage_module, "_STUFFED", 1000)
    monkeypatch.setattr(stage_module, "UNSUBSCRIBED", 1.0)
    stage = hall.stage()
    silent = hall.connect(stage)
    await until(lambda: hall.refused == ["silent"])
    assert await asyncio.to_thread(is_cut, address_of(stage), b"\x01\x64" + b"\x01" * 100, 0.02)
    assert hall.refused == ["silent", "stuffed"]
    silent.close(linger=0)
    await stage.close()


@pytest.mark.parametrize("data", [b"\xff" + bytes(7) + b"\x01\x7f\x01\x02", b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64])
async def test_who_speaks_no_zmtp_3_is_cut(hall: SpectatorHalf, data: bytes) -> None:
    stage = hall.stage()

    def end() -> bytes:
        with socket.create_connection(address_of(stage), timeout=60) as old:
            old.sendall(data)
            with contextlib.suppress(ConnectionResetError):
                while old.recv(100):
                    continue
        return b""

    assert await asyncio.to_thread(end) == b"" and hall.refused == ["garbage"]
    assert stage.connections == 0
    await stage.close()


async def test_who_does_not_begin_is_let_go(hall: SpectatorHalf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turnstile_module, "_GREETING", 0.1)
    stage = hall.stage(connections=1)
    with socket.create_connection(address_of(stage), timeout=60) as mute:
        assert await asyncio.to_thread(mute.recv, 1) == b""
    hall.connect(stage, b"match/a")
    await until(lambda: hall.topics == [b"match/a"])
    await stage.close()


async def test_no_more_gets_to_the_socket_than_may_be(hall: SpectatorHalf, tmp_path: Path) -> None:
    turnstile, began = TcpProxy("tcp://127.0.0.1:*", 10, hall.refuse, fail), time.monotonic()
    address = "127.0.0.1", int(turnstile.url.rpartition(":")[2])
    with socket.socket(socket.AF_UNIX) as inside:
        inside.bind(str(tmp_path / "inside"))
        inside.listen()
        turnstile.open(str(tmp_path / "inside"))
        with socket.create_connection(address, timeout=60) as flood:
            flood.sendall(GREETING)
            there, name = await asyncio.to_thread(inside.accept)
            visitor = turnstile.find(name)
            assert visitor is not None and turnstile.find("another") is None
            visitor.known.set()
            with contextlib.suppress(ConnectionError):
                while True:
                    await asyncio.to_thread(flood.sendall, bytes(1000))
        came = 0
        with there:
            while data := await asyncio.to_thread(there.recv, 100_000):
                came += len(data)
    await turnstile.close(0)
    assert len(GREETING) <= came <= OCTETS * (BURST + time.monotonic() - began) and hall.refused == ["flood"]


async def test_who_sends_a_byte_at_a_time_is_cut(hall: SpectatorHalf) -> None:
    """Each is as much work as a whole subscription: 20 such connections kept a processor busy."""
    stage = hall.stage()
    words = itertools.cycle(b"".join(b"\x00\xbf" + word + b"x" * 190 for word in (b"\1", b"\0")))

    def drip() -> bool:
        with socket.create_connection(address_of(stage), timeout=60) as there:
            there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            shake(there)
            try:
                for word in itertools.islice(words, 10_000):
                    there.sendall(bytes([word]))
                    time.sleep(0.001)
            except ConnectionError:
                return True
        return False

    assert await asyncio.to_thread(drip) and hall.refused == ["flood"]
    await stage.close()


async def test_a_flood_of_subscriptions_takes_no_memory(hall: SpectatorHalf) -> None:
    """ZeroMQ makes a node of 32 bytes of every byte of a topic that nobody else has."""
    stage, size = hall.stage(), 200
    good = hall.connect(stage, b"match/a")
    await until(lambda: b"match/a" in hall.topics)
    data = b"".join(b"\0" + bytes([size + 1, 1]) + secrets.token_bytes(size) for _ in range(40_000))
    before = resident()
    assert await asyncio.to_thread(is_cut, address_of(stage), data)
    stage.publish(b"match/a", b"1")
    assert await receive(good) == [b"match/a", b"1"]
    assert resident() - before < len(data)
    await stage.close()


async def test_who_leaves_waits_for_his_turn(hall: SpectatorHalf) -> None:
    """ZeroMQ walks through its tree for each: where all went at once nobody else would be served meanwhile."""
    stage = hall.stage()
    both = [hall.connect(stage, b"match/a") for _ in range(2)]
    await until(lambda: stage.connections == 2)
    visitors = [one.visitor for one in stage._spectators.values()]
    async with stage._turnstile._going:
        for one in both:
            one.close(linger=0)
        await until(lambda: all(one.outer.fileno() == -1 for one in visitors))
        late = hall.connect(stage, b"match/b")
        await until(lambda: b"match/b" in hall.topics)
        assert stage.connections == 3
    await until(lambda: stage.connections == 1)
    late.close(linger=0)
    await stage.close()


async def test_topics_of_a_connection_are_bounded_together(hall: SpectatorHalf) -> None:
    stage = hall.stage()
    many = -(-TOPIC_OCTETS // MAX_TOPIC)
    hall.connect(stage, *(b"%d" % number + b"a" * (MAX_TOPIC - 2) for number in range(10, 10 + many)))
    await until(lambda: hall.refused == ["topics"])
    assert len(hall.topics) == many - 1
    await stage.close()


async def test_there_are_only_so_many_connections(hall: SpectatorHalf) -> None:
    stage = hall.stage(connections=2)
    both = [hall.connect(stage, b"match/a") for _ in range(2)]
    await until(lambda: len(hall.topics) == 2)
    third = hall.connect(stage, b"match/a")
    await until(lambda: hall.refused == ["full"])
    assert stage.connections == 2
    both[0].close(linger=0)
    await until(lambda: stage.connections == 1)
    both.append(hall.connect(stage, b"match/a"))
    await until(lambda: len(hall.topics) == 3)
    third.close(linger=0)
    await stage.close()


async def test_one_address_comes_only_so_often(hall: SpectatorHalf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turnstile_module, "_is_local", lambda address: False)
    monkeypatch.setattr(turnstile_module, "ARRIVALS", 1e-9 + 2 / BURST)
    stage = hall.stage(connections=100)
    for _ in range(4):
        hall.connect(stage, b"match/a")
    await until(lambda: hall.refused == ["arrivals"] * 2 and stage.connections == 2)
    await stage.close()


async def test_one_address_has_its_share(hall: SpectatorHalf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turnstile_module, "_is_local", lambda address: False)
    stage = hall.stage(connections=8)
    for _ in range(4):
        hall.connect(stage, b"match/a")
    await until(lambda: hall.refused == ["address"] * 2 and stage.connections == 2)
    await stage.close()


async def test_a_network_of_ipv6_has_the_share_of_an_address_and_its_place_in_the_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else whoever has one, so 2^64 addresses, takes every place, and writes a line for each."""
    refused: list[tuple[str, str]] = []
    turnstile = TcpProxy("tcp://127.0.0.1:*", 8, lambda word, address, reason: refused.append((word, address)), fail)
    loop, numbers = asyncio.get_running_loop(), itertools.count()
    really = loop.sock_accept

    async def accept(listening: socket.socket) -> tuple[socket.socket, tuple[str, int]]:
        outer, _ = await really(listening)
        return outer, (f"2001:db8:1:2::{next(numbers)}", 5555)

    monkeypatch.setattr(loop, "sock_accept", accept)
    turnstile.open("")
    address = "127.0.0.1", int(turnstile.url.rpartition(":")[2])
    with contextlib.ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(socket.create_connection(address, timeout=60))
        await until(lambda: next(copy(numbers)) == 5)
        await turnstile.close(0)
    assert refused == [("address", "2001:db8:1:2::/64")] * 3


async def test_who_comes_when_descriptors_run_out_is_let_go_without_a_word(hall: SpectatorHalf) -> None:
    turnstile, errors = TcpProxy("tcp://127.0.0.1:*", 8, hall.refuse, fail), list[object]()
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: errors.append(context))
    address = "127.0.0.1", int(turnstile.url.rpartition(":")[2])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.create_connection(address, timeout=60) as there:
        os.close(free := os.dup(0))
        resource.setrlimit(resource.RLIMIT_NOFILE, (free + 1, hard))  # one for his connection, and none for its way in
        try:
            turnstile.open("")
            assert await asyncio.to_thread(there.recv, 1) == b""
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    await turnstile.close(0)
    gc.collect()
    assert errors == []


def test_an_address_that_is_taken_is_told(hall: SpectatorHalf) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(AddressError, match="cannot listen"):
            PubSocket(url, None, 1, hall, hall.refuse, fail)


async def test_with_keys_every_key_is_let_in_and_nothing_else_is(hall: SpectatorHalf) -> None:
    pair = new_pair()
    stage = PubSocket("tcp://127.0.0.1:*", pair, 10, hall, hall.refuse, fail)
    stage.open()
    plain = hall.connect(stage, b"match/plain")
    mine = new_pair()
    there = hall.context.socket(zmq.SUB)
    there.setsockopt(zmq.CURVE_SERVERKEY, pair.public.encode())
    there.setsockopt(zmq.CURVE_PUBLICKEY, mine.public.encode())
    there.setsockopt(zmq.CURVE_SECRETKEY, mine.secret.encode())
    there.connect(stage.url)
    there.subscribe(b"match/a")
    await until(lambda: hall.topics == [b"match/a"])
    stage.publish(b"match/a", b"1")
    assert await receive(there) == [b"match/a", b"1"]
    assert hall.topics == [b"match/a"] and not plain.poll(0)
    await stage.close()


async def test_it_tells_what_a_spectator_wants_no_more(hall: SpectatorHalf) -> None:
    stage = hall.stage()
    there = hall.connect(stage, b"match/a", b"match/b")
    await until(lambda: len(hall.topics) == 2)
    there.unsubscribe(b"match/a")
    await until(lambda: hall.topics == [b"match/b"])
    await stage.close()
