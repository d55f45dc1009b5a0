"""The gallery of a lobby, part by part: files that grow, are written anew and go; what strangers may ask of it."""

import asyncio
import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zmq

from protocol.spectating import MAX_TOPIC, Request, topic_of
from protocol.transports.keys import new_pair
from protocol.transports.zmq import AddressError
from referee.gallery import stage as stage_module
from referee.gallery.changes import Changes
from referee.gallery.gallery import Gallery
from referee.gallery.matches import Matches
from referee.gallery.shelf import Shelf
from referee.gallery.stage import TOPICS, Stage
from referee.lobby.live import Live
from referee.lobby.zap import Anyone, Refused
from referee.play.tape import Tape
from tests.small_gallery import KEY, events, fields

LINES = [line for _, line in events(6)]
FILE = f"{KEY}.live"


def write(folder: Path, *lines: bytes, mode: str = "ab") -> None:
    with (folder / FILE).open(mode) as file:
        file.writelines(lines)


def test_the_kernel_says_which_files_changed(tmp_path: Path) -> None:
    changes = Changes(tmp_path)
    assert changes.descriptor >= 0
    assert changes.read() == set()
    write(tmp_path, b"1")
    (tmp_path / "other").touch()
    assert changes.read() == {FILE, "other"}
    write(tmp_path, b"2")
    (tmp_path / "other").unlink()
    assert changes.read() == {FILE, "other"}
    changes.close()
    assert changes.read() is None


def test_more_changes_than_the_kernel_keeps_are_a_look_at_everything(tmp_path: Path) -> None:
    changes = Changes(tmp_path)
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    write(tmp_path, b"1")
    (tmp_path / "other").touch()
    one, two = (os.open(tmp_path / name, os.O_WRONLY) for name in (FILE, "other"))
    for _ in range(most):
        os.write(one, b"1")
        os.write(two, b"1")
    assert changes.read() is None
    assert changes.read() == set()
    os.write(one, b"1")
    assert changes.read() == {FILE}
    os.close(one)
    os.close(two)
    changes.close()


def test_a_folder_that_cannot_be_watched_is_looked_at(tmp_path: Path) -> None:
    changes = Changes(tmp_path / "none")
    assert changes.descriptor == -1 and changes.read() is None
    changes.close()


def test_a_match_is_told_as_it_grows_and_its_end_when_it_is_kept(tmp_path: Path) -> None:
    matches = Matches(tmp_path)
    assert matches.look() == []
    write(tmp_path)
    assert matches.look([FILE]) == []
    write(tmp_path, LINES[0][:50])
    assert matches.look([FILE]) == []
    write(tmp_path, LINES[0][50:], LINES[1])
    (change,) = matches.look([FILE])
    assert change.begun and change.events == [fields(line) for line in LINES[:2]] and not change.over
    assert (change.head.match, change.head.bots, change.head.plies) == (KEY, ("ann", "bob"), 1)
    write(tmp_path, *LINES[2:])
    (change,) = matches.look()
    assert not change.begun and change.events == [fields(line) for line in LINES[2:-1]] and not change.over
    assert matches.page(KEY, 0, 100, 10**6) == (LINES[:-1], 7)
    (tmp_path / FILE).unlink()
    (change,) = matches.look()
    assert change.over and change.events == [fields(LINES[-1])] and change.lines == b"".join(LINES)
    assert matches.look() == [] and matches.page(KEY, 0, 1, 1) is None and matches.heads() == []
    matches.close()


def test_what_was_written_and_removed_unseen_is_told_once_it_was_seen_before(tmp_path: Path) -> None:
    matches = Matches(tmp_path)
    write(tmp_path, *LINES[:2])
    matches.look()
    write(tmp_path, *LINES[2:])
    (tmp_path / FILE).unlink()
    grown, over = matches.look()
    assert grown.events == [fields(line) for line in LINES[2:-1]]
    assert over.over and over.lines == b"".join(LINES)
    matches.close()


def test_a_match_that_is_given_up_has_no_lines(tmp_path: Path) -> None:
    matches = Matches(tmp_path)
    write(tmp_path, *LINES[:3])
    matches.look()
    (tmp_path / FILE).unlink()
    (change,) = matches.look()
    assert change.over and change.lines == b"" and change.events == []
    matches.close()


@pytest.mark.parametrize("how", ["shorter", "longer", "another file"])
def test_a_file_that_is_written_anew_is_read_anew(tmp_path: Path, how: str) -> None:
    matches = Matches(tmp_path)
    write(tmp_path, *LINES[:4])
    matches.look()
    other = [line for _, line in events(5 if how == "longer" else 1, bot="somebody", ended=False)]
    if how == "another file":
        (tmp_path / FILE).unlink()
    write(tmp_path, *other, mode="wb")
    found = [event for change in matches.look() for event in change.events]
    assert found[-len(other) :] == [fields(line) for line in other]
    assert matches.page(KEY, 0, 100, 10**6) == (other, len(other))
    matches.close()


def test_what_is_no_match_is_not_told(tmp_path: Path) -> None:
    matches = Matches(tmp_path)
    for name in ("x", ".live", "a b.live", f"{KEY}1.live"):
        (tmp_path / name).write_bytes(b"".join(LINES))
    write(tmp_path, LINES[0].replace(b'"bots"', b'"boots"'))
    assert matches.look() == [] and matches.heads() == []
    write(tmp_path, b"[" * 10_000 + b"\n", mode="wb")
    assert matches.look() == []
    assert matches.look(["../x.live", "gone.live"]) == []
    matches.close()


def test_pages_are_bounded_in_events_and_bytes(tmp_path: Path) -> None:
    matches = Matches(tmp_path)
    write(tmp_path, *LINES[:-1])
    matches.look()
    assert matches.page(KEY, 2, 3, 10**6) == (LINES[2:5], 7)
    assert matches.page(KEY, 2, 100, 1) == (LINES[2:3], 7)
    assert matches.page(KEY, 7, 100, 10**6) == ([], 7)
    assert matches.page(KEY, 10**9, 100, 10**6) == ([], 7)
    matches.close()


async def test_the_shelf_keeps_the_latest_and_asks_the_store(tmp_path: Path) -> None:
    shelf = Shelf(f"sqlite:///{tmp_path}/none.db")
    shelf.put(KEY, b"".join(LINES))
    assert await shelf.page(KEY, 1, 2, 10**6) == (LINES[1:3], 8)
    assert await shelf.page(KEY, 1, 9, 1) == (LINES[1:2], 8)
    assert await shelf.page("another", 0, 2, 10**6) is None
    for number in range(20):
        shelf.put(f"m{number}", b"x" * 1024 * 1024)
    assert await shelf.page(KEY, 1, 2, 10**6) is None
    assert await shelf.page("m19", 0, 2, 10**6) is not None
    shelf.close()


def test_a_match_that_is_taken_up_is_written_on(tmp_path: Path) -> None:
    live, told = Live(tmp_path), events(6)
    write(tmp_path, *LINES[:4], LINES[4][:20])
    descriptor, kept = live.begin(KEY, again=True)
    tape, size = Tape(descriptor, kept), (tmp_path / FILE).stat().st_size
    for event, _ in told[:4]:
        tape.emit(event)
        assert (tmp_path / FILE).stat().st_size == size
    for event, _ in told[4:]:
        tape.emit(event)
    assert (tmp_path / FILE).read_bytes() == b"".join(LINES) == b"".join(tape.lines)
    os.close(descriptor)
    descriptor, kept = live.begin(KEY)
    assert kept == b"" and (tmp_path / FILE).stat().st_size == 0
    os.close(descriptor)


def test_a_match_that_is_taken_up_by_others_is_written_anew(tmp_path: Path) -> None:
    write(tmp_path, *LINES[:4])
    descriptor, kept = Live(tmp_path).begin(KEY, again=True)
    tape, other = Tape(descriptor, kept), events(3, bot="cid", ended=False)
    for event, _ in other:
        tape.emit(event)
    assert (tmp_path / FILE).read_bytes() == b"".join(line for _, line in other)
    os.close(descriptor)


# -- the socket --------------------------------------------------------------------------------------------------------


class Hall:
    """Whoever is told what spectators want; and those whom a test lets in."""

    def __init__(self) -> None:
        self.topics: list[bytes] = []
        self.refused: list[str] = []
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.sockets: list[zmq.Socket[bytes]] = []  # one that nobody holds is closed

    def subscribed(self, connection: int, topic: bytes) -> None:
        self.topics.append(topic)

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


# -- the whole ---------------------------------------------------------------------------------------------------------


class Still(Stage):
    """A stage that nobody stands before: what is published is kept."""

    def __init__(self) -> None:
        self.published: list[tuple[bytes, bytes]] = []

    connections = 1

    def open(self) -> None:
        return

    def close(self, linger: int = 0) -> None:
        return

    def publish(self, topic: bytes, payload: bytes) -> None:
        self.published.append((topic, payload))


async def test_without_word_of_the_kernel_it_looks_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("referee.gallery.changes._watch", lambda folder: -1)
    still = Still()
    gallery = Gallery("club", tmp_path, Shelf(f"sqlite:///{tmp_path}/none.db"), lambda gallery: still)
    gallery.open()
    write(tmp_path, *LINES)
    await until(lambda: len(still.published) == len(LINES))
    await gallery.close()


async def test_questions_are_answered_in_turn_and_not_kept_for_ever(tmp_path: Path) -> None:
    write(tmp_path, *LINES[:3])
    still = Still()
    gallery = Gallery("club", tmp_path, Shelf(f"sqlite:///{tmp_path}/none.db"), lambda gallery: still)
    topics = [f"catch-up/match/{KEY}/0/{number}".encode() for number in range(100)]
    for topic in topics:
        gallery.subscribed(1, topic)
    gallery.subscribed(2, b"catch-up/match/unknown/0/a")
    gallery.subscribed(3, b"catch-up/ladder/other/0/a")
    gallery.subscribed(4, b"match/no-question")
    gallery.subscribed(5, b"catch-up/match/gone/0/a")
    gallery.left(5)
    gallery.open()
    await until(lambda: len(still.published) >= 4 * 4 + 2)
    await gallery.close()
    order = list(dict.fromkeys(topic for topic, _ in still.published))
    assert order == [topics[0], b"catch-up/match/unknown/0/a", b"catch-up/ladder/other/0/a", *topics[1:4]]
    assert Request(topics[0], "match", KEY, 0) and topic_of("match", KEY) not in order
