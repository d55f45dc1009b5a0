"""The gallery's socket: what strangers may ask of it, and what cuts them off."""

import asyncio
import socket
import time
from collections.abc import Callable, Iterator

import pytest
import zmq

from protocol.errors import AddressError
from protocol.spectating import MAX_TOPIC
from protocol.transports.keys import new_pair
from referee.gallery import stage as stage_module
from referee.gallery.stage import TOPICS, Stage
from referee.lobby.zap import Anyone, Refused


class Hall:
    """Whoever is told what spectators want; and those whom a test lets in."""

    def __init__(self) -> None:
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

    def stage(self, connections: int = 10) -> Stage:
        stage = Stage("tcp://127.0.0.1:*", None, connections, self, self.refuse)
        stage.open()
        return stage

    def connect(self, stage: Stage, *topics: bytes) -> "zmq.Socket[bytes]":
        there = self.context.socket(zmq.SUB)
        there.setsockopt(zmq.RECONNECT_IVL, -1)
        there.connect(stage.url)
        self.sockets.append(there)
        for topic in topics:
            there.subscribe(topic)
        return there


@pytest.fixture
def hall() -> Iterator[Hall]:
    there = Hall()
    yield there
    there.context.destroy(linger=0)


async def until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline, "it did not come to that"
        await asyncio.sleep(0.01)


async def test_what_is_published_reaches_who_wants_it(hall: Hall) -> None:
    stage = hall.stage()
    there = hall.connect(stage, b"match/a")
    await until(lambda: hall.topics == [b"match/a"])
    stage.publish(b"match/b", b"1")
    stage.publish(b"match/a", b"2")
    assert there.poll(10_000) and there.recv_multipart() == [b"match/a", b"2"]
    there.close(linger=0)
    await until(lambda: stage.connections == 0)
    stage.close()


@pytest.mark.parametrize("how", ["garbage", "long", "flood", "topics", "multipart"])
async def test_a_stranger_who_takes_too_much_is_cut_and_others_are_not(hall: Hall, how: str) -> None:
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
    assert good.poll(10_000) and good.recv_multipart() == [b"match/a", b"1"]
    good.close(linger=0)
    stage.close()


def stuff(address: tuple[str, int]) -> bool:
    """Send frames of one message without its last, until the connection is cut."""
    greeting = b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(16) + b"\x00" + bytes(31)
    ready = b"\x05READY\x0bSocket-Type\x00\x00\x00\x03SUB"
    with socket.create_connection(address, timeout=60) as endless:
        try:
            endless.sendall(greeting + b"\x04" + bytes([len(ready)]) + ready)
            while True:
                endless.sendall(b"\x01\xff" + b"\x01" * 255)
        except ConnectionError:
            return True


async def test_frames_without_an_end_and_silence_are_cut(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_module, "_SWEEP", 0.05)
    monkeypatch.setattr(stage_module, "UNSUBSCRIBED", 0.3)
    stage = hall.stage()
    silent = hall.connect(stage)
    await until(lambda: hall.refused == ["silent"])
    address = "127.0.0.1", int(stage.url.rpartition(":")[2])
    assert await asyncio.to_thread(stuff, address) and set(hall.refused[1:]) <= {"stuffed", "garbage"}
    silent.close(linger=0)
    stage.close()


async def test_who_speaks_an_older_zmtp_cannot_be_counted_and_is_cut(hall: Hall) -> None:
    stage = hall.stage()
    good = hall.connect(stage, b"match/a")
    await until(lambda: b"match/a" in hall.topics)

    def subscribe() -> bool:
        with socket.create_connection(("127.0.0.1", int(stage.url.rpartition(":")[2])), timeout=60) as old:
            try:
                old.sendall(b"\xff" + bytes(7) + b"\x01\x7f" + b"\x01\x02" + b"\0\0")  # ZMTP 2.0, SUB, no identity
                while True:
                    old.sendall(b"\0\x09\x01match/b.")
            except ConnectionError:
                return True

    assert await asyncio.to_thread(subscribe) and hall.refused == ["old"]
    stage.publish(b"match/a", b"1")
    assert good.poll(10_000)
    stage.close()


async def test_there_are_only_so_many_connections(hall: Hall) -> None:
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
    stage.close()


async def test_one_address_has_its_share(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_module, "_is_local", lambda address: False)
    stage = hall.stage(connections=8)
    for _ in range(4):
        hall.connect(stage, b"match/a")
    await until(lambda: hall.refused == ["address"] * 2 and stage.connections == 2)
    stage.close()


def test_an_address_that_is_taken_is_told(hall: Hall) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(AddressError, match="cannot listen"):
            Stage(url, None, 1, hall, hall.refuse)


async def test_with_keys_every_key_is_let_in_and_nothing_else_is(hall: Hall) -> None:
    pair = new_pair()
    stage = Stage("tcp://127.0.0.1:*", pair, 10, hall, hall.refuse)
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
    assert there.poll(10_000)
    assert hall.topics == [b"match/a"] and not plain.poll(0)
    stage.close()


async def test_it_tells_what_a_spectator_wants_no_more(hall: Hall) -> None:
    stage = hall.stage()
    there = hall.connect(stage, b"match/a", b"match/b")
    await until(lambda: len(hall.topics) == 2)
    there.unsubscribe(b"match/a")
    await until(lambda: hall.topics == [b"match/b"])
    stage.close()


def test_handshakes_are_counted_by_address_whatever_the_keys() -> None:
    told: list[Refused] = []
    keeper = Anyone(told.append)

    def status(address: bytes, key: int, now: float) -> bytes:
        frames = [b"1.0", b"1", b"ggp-lobby", address, b"", b"CURVE", bytes([key]) * 32]
        answer = keeper.answer(frames, now)
        assert answer is not None
        return answer[2]

    assert [status(b"192.0.2.1", key, 0.0) for key in range(40)].count(b"200") == 30
    assert told and told[0].reason == "too many handshakes"
    assert status(b"192.0.2.2", 1, 0.0) == b"200"
    assert keeper.answer([b"1.0", b"1", b"ggp-lobby", b"", b"", b"NULL"], 0.0) == [
        b"1.0", b"1", b"400", b"No access", b"", b"",
    ]  # fmt: skip
