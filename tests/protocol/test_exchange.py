"""A question asked in one native call finds what Connection finds, whatever comes back and however it is cut."""

import fcntl
import os
import random
import select
import struct
import termios
import threading
import time
from itertools import pairwise

import pytest

from ggp.protocol.channel import Asked, Channel, Exchanged
from ggp.protocol.connection import PeerRole
from ggp.protocol.errors import PeerTimeout, ProtocolError
from ggp.protocol.messages import Reply
from ggp.protocol.transports.pipe import Pipe

STREAMS = int(os.environ.get("STREAMS", 10_000_000))

PARTS = [
    *[b"=1\n\n", b"=2 D4\n\n", b"=1 D4\n\n", b"=2\n\n", b"=\n\n", b"= D4\n\n", b"=1 a b \n\n", b"=2  x\n\n", b"= \n\n"],
    *[b"?1 no\n\n", b"?2 no\n\n", b"? no\n\n", b"=3 late\n\n", b"=2D4\n\n", b"=2 D4\n", b"=2 D4", b"=2 D4\r\n\r\n"],
    *[b"\n", b"\n\n\n", b"\r\n", b"junk\n", b"junk", b"\x00", b"\x1b[0m", b"\t", b"\x7f", b"\xff", "=2 é\n\n".encode()],
    *[
        b"=2 two\nlines\n\n",
        b"=2 " + 4080 * b"x" + b"\n\n",
        b"=2 " + 4091 * b"x" + b"\n\n",
        5000 * b"y",
        b"=",
        b"2",
        b" ",
    ],
]


class CutPipe(Pipe):
    """A pipe whose other end writes the next piece whenever it is read; after the last one it closes, or is silent."""

    def __init__(self, pieces: list[bytes], ends: bool, native: bool = True) -> None:
        self.native = native  # else everything is read by Connection, the model of the native call
        self.ours, stdin = os.pipe()
        stdout, self.theirs = os.pipe()
        super().__init__(stdin, stdout)
        self._pieces, self._ends = pieces, ends
        self.feed()

    def feed(self) -> None:
        if self._pieces:
            os.write(self.theirs, self._pieces.pop(0))
        elif self._ends and self.theirs >= 0:
            os.close(self.theirs)
            self.theirs = -1

    async def read(self, deadline: float) -> bytes:
        try:
            return await super().read(self.now())
        except PeerTimeout:
            self.feed()
            return await super().read(self.now())

    def exchange(self, lines: tuple[str, ...], number: int, seconds: float) -> Exchanged | None:
        return super().exchange(lines, number, seconds) if self.native else None

    def close(self) -> None:
        super().close()
        os.close(self.ours)
        if self.theirs >= 0:
            os.close(self.theirs)


class EagerPipe(CutPipe):
    """The same, but the other end writes each piece as soon as the one before it was read."""

    def __init__(self, pieces: list[bytes], ends: bool) -> None:
        super().__init__([], False)
        self._speaker = threading.Thread(target=self._say, args=(pieces, ends))
        self._stopped = False
        self._speaker.start()

    def _say(self, pieces: list[bytes], ends: bool) -> None:
        for piece in pieces:
            while not self._stopped and unread(self):
                time.sleep(0)
            os.write(self.theirs, piece)
        if ends:
            os.close(self.theirs)
            self.theirs = -1

    async def read(self, deadline: float) -> bytes:
        while True:
            silent = not self._speaker.is_alive()
            try:
                return await Pipe.read(self, self.now())
            except PeerTimeout:
                if silent:
                    raise
                time.sleep(0)

    def close(self) -> None:
        self._stopped = True
        self._speaker.join()
        super().close()


def unread(transport: Pipe) -> int:
    """The bytes that were said and not read."""
    return int(struct.unpack("i", fcntl.ioctl(transport.descriptors[1], termios.FIONREAD, bytes(4)))[0])


def finish(coroutine: object) -> object:
    """Run a coroutine that never suspends."""
    try:
        coroutine.send(None)  # type: ignore[attr-defined]
    except StopIteration as done:
        return done.value
    raise AssertionError("a pipe suspended")


def found(transport: CutPipe, ids: bool, role: PeerRole, patience: float = 0.0) -> tuple[object, ...]:
    """All that can be seen of two commands in one question, and of another question after it."""
    channel = Channel(transport, role)
    channel.connection.ids = ids
    seen: list[object] = []
    try:
        asked_lines: list[tuple[str, ...]] = [("play white C3", "genmove black"), ("genmove black",)]
        for lines in asked_lines:
            asked_at_once = channel.ask_at_once(lines, patience)
            if asked_at_once.text is not None:
                seen += [(True, "")] * (len(lines) - 1) + [(True, asked_at_once.text)]
                continue
            if asked_at_once.unsent:
                finish(transport.write(asked_at_once.unsent))
            for _ in lines:
                try:
                    reply = finish(channel.receive(transport.now() + 1))
                except PeerTimeout:  # the next piece comes late
                    reply = finish(channel.receive(transport.now() + 1))
                seen.append(reply[:2])  # type: ignore[index]
    except (ProtocolError, PeerTimeout) as error:
        seen.append((type(error), error.code, str(error)))
    connection = channel.connection
    left = transport.drain_stderr(), connection.awaited, connection.ready, connection.next_id, connection.quick_id
    asked = os.read(transport.ours, 4096)
    transport.close()
    return (*seen, channel.warnings, channel.dialogue_tail(), *left, asked)


def cut(chance: random.Random, stream: bytes) -> list[bytes]:
    places = sorted({0, len(stream), *(chance.randrange(len(stream) + 1) for _ in range(chance.randrange(4)))})
    return [stream[a:b] for a, b in pairwise(places)]


def differences(seed: int, count: int, eager: bool = False) -> list[object]:
    """The streams, of so many random ones, of which the two ways find different things; `eager`: read in one call."""
    chance = random.Random(seed)
    differ: list[object] = []
    for _ in range(count):
        ids = chance.random() < 0.7
        expected = b"=1\n\n=2 D4\n\n=3 E5\n\n" if ids else b"=\n\n= D4\n\n= E5\n\n"
        parts = [chance.choice(PARTS) for _ in range(chance.randrange(5))]
        stream = b"".join(parts)
        if chance.random() < 0.5:
            place = chance.randrange(len(expected) + 1)
            stream = expected[:place] + stream + expected[place + chance.randrange(3) :]
        pieces, ends = cut(chance, stream), chance.random() < 0.5
        role = chance.choice([PeerRole.BOT, PeerRole.ENGINE])
        native = found((EagerPipe if eager else CutPipe)(list(pieces), ends), ids, role, 0.001 if eager else 0.0)
        model = found(CutPipe(list(pieces), ends, native=False), ids, role)
        if native != model:
            differ.append((pieces, ends, ids, role, native, model))
    return differ[:3]


def test_the_native_call_finds_what_its_model_finds_in_random_streams() -> None:
    assert differences(7, 2000) == []


@pytest.mark.slow
def test_the_native_call_finds_what_its_model_finds_in_pieces_that_come_while_one_call_waits() -> None:
    assert differences(9, 2000, eager=True) == []


@pytest.mark.long
def test_the_native_call_finds_what_its_model_finds_in_millions_of_streams() -> None:
    assert differences(8, STREAMS) == []


def test_ids_begin_again_in_the_long_way() -> None:
    transport = CutPipe([b"=2147483647 D4\n\n"], False)
    channel = Channel(transport, PeerRole.BOT)
    channel.connection.ids, channel.connection.next_id = True, 2**31 - 1
    assert channel.ask_at_once(("genmove black",), 1.0).unsent == b"2147483647 genmove black\n"
    assert channel.connection.next_id == 1
    transport.close()


def test_an_expected_answer_takes_one_call() -> None:
    transport = CutPipe([b"=1\n\n=2 D4\n\n"], False)
    channel = Channel(transport, PeerRole.BOT)
    channel.connection.ids = True
    before = transport.now()
    text, sent, answered, unsent = channel.ask_at_once(("play white C3", "genmove black"), 1.0)
    assert (text, unsent) == ("D4", b"")
    assert before <= sent <= answered <= transport.now()
    assert os.read(transport.ours, 100) == b"1 play white C3\n2 genmove black\n"
    transport.close()


def say_in_pieces(channel: Channel, pieces: list[bytes], seconds: float = 10.0) -> tuple[Asked, list[str]]:
    """What ask_at_once finds when each piece comes after the one before it was read, and the dialogue then."""
    transport = channel.transport
    assert isinstance(transport, CutPipe)

    def say() -> None:
        for piece in pieces:
            while unread(transport):
                time.sleep(0)
            os.write(transport.theirs, piece)

    speaker = threading.Thread(target=say)
    speaker.start()
    answer = channel.ask_at_once(("play white C3", "genmove black"), seconds)
    speaker.join()
    return answer, channel.dialogue_tail()


def test_an_expected_answer_in_pieces_takes_one_call() -> None:
    expected = b"=1\n\n=2 D4\n\n"
    for places in ([5], [4], [1], range(1, len(expected))):
        cuts = [0, *places, len(expected)]
        transport = CutPipe([], False)
        channel = Channel(transport, PeerRole.BOT)
        channel.connection.ids = True
        answer, dialogue = say_in_pieces(channel, [expected[a:b] for a, b in pairwise(cuts)])
        assert answer.text == "D4"
        assert dialogue == ["> 1 play white C3", "> 2 genmove black", "< =1", "< =2 D4"]
        assert channel.connection.quick_id == 3
        transport.close()


@pytest.mark.parametrize(
    ("pieces", "replies"),
    [
        ([b"=1\n\n", b"?2 no\n\n"], [(True, ""), (False, "no")]),
        ([b"=1\n\n", b"=2 two\n", b"lines\n\n"], [(True, ""), (True, "two\nlines")]),
        ([b"=1\n\n=2", b"\tD4\t\n\n"], [(True, ""), (True, "D4")]),
        ([b"=1\n\n", b"junk\n=2 D4\n\n"], [(True, ""), (True, "D4")]),
        ([b"=1\n\n=2 " + 4000 * b"x", 200 * b"y" + b"\n\n"], [(True, ""), (True, 4000 * "x" + 200 * "y")]),
    ],
)
def test_something_unexpected_in_a_later_piece_goes_the_long_way(
    pieces: list[bytes], replies: list[tuple[bool, str]]
) -> None:
    transport = CutPipe([], False)
    channel = Channel(transport, PeerRole.BOT)
    channel.connection.ids = True
    answer, _ = say_in_pieces(channel, pieces)
    assert answer.text is None and not answer.unsent
    for expected in replies:
        assert finish(channel.receive(transport.now() + 10))[:2] == expected  # type: ignore[index]
    transport.close()


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("texts", [["", "D4"], ["a", "b"]])
def test_all_replies_are_taken_whichever_way_they_came(texts: list[str], native: bool) -> None:
    transport = CutPipe([b"".join(f"= {text}\n\n".encode() for text in texts)], False, native)
    channel = Channel(transport, PeerRole.BOT)
    lines, deadline = ("play white C3", "genmove black"), transport.now() + 10
    assert finish(channel.ask_all(lines, deadline)) == [Reply(True, text) for text in texts]
    assert os.read(transport.ours, 100) == b"play white C3\ngenmove black\n"
    transport.close()


def test_half_an_answer_costs_no_more_than_the_patience() -> None:
    transport = CutPipe([b"=1\n\n=2 D"], False)
    channel = Channel(transport, PeerRole.BOT)
    channel.connection.ids = True
    asked = channel.ask_at_once(("play white C3", "genmove black"), 0.01)
    assert asked.text is None
    assert transport.now() - asked.sent >= 0.01
    assert channel.next_reply() == (True, "", 1)
    os.write(transport.theirs, b"4\n\n")
    assert finish(channel.receive(transport.now() + 10)) == (True, "D4", 2)
    transport.close()


def test_half_an_answer_at_the_end_of_the_stream_is_read_to_the_end() -> None:
    transport = CutPipe([b"=1\n\n=2 D4\n"], True)
    transport.feed()
    channel = Channel(transport, PeerRole.BOT)
    channel.connection.ids = True
    answer = channel.ask_at_once(("play white C3", "genmove black"), 10.0)
    assert answer.text is None and not answer.unsent
    assert channel.next_reply() == (True, "", 1)
    assert finish(channel.receive(transport.now() + 10)) == (True, "D4", 2)
    transport.close()


def test_stderr_is_drained_before_the_rest_of_an_answer() -> None:
    """A peer that floods stderr may say no more until it is read."""
    stderr, theirs = os.pipe()
    ours, stdin = os.pipe()
    stdout, out = os.pipe()
    taken: list[bytes] = []
    transport = Pipe(stdin, stdout, stderr, taken.append)
    os.write(out, b"= D")
    os.write(theirs, b"thinking\n")
    answer = Channel(transport, PeerRole.BOT).ask_at_once(("genmove black",), 60.0)
    assert answer.text is None and not answer.unsent
    assert taken == [b"thinking\n"]
    transport.close()
    for descriptor in (theirs, ours, out):
        os.close(descriptor)


def test_a_silent_peer_costs_no_more_than_the_patience() -> None:
    transport = CutPipe([], False)
    channel = Channel(transport, PeerRole.BOT)
    answer = channel.ask_at_once(("genmove black",), 0.01)
    assert answer.text is None
    assert transport.now() - answer.sent >= 0.01
    transport.close()


def test_a_full_pipe_is_written_by_the_long_way() -> None:
    transport = CutPipe([b"= D4\n\n"], False)
    os.write(transport.descriptors[0], bytes(1 << 16))
    channel = Channel(transport, PeerRole.BOT)
    assert channel.ask_at_once(("genmove black",), 1.0).unsent == b"genmove black\n"
    transport.close()


def test_a_long_question_is_written_by_the_long_way() -> None:
    transport = CutPipe([b"= D4\n\n"], False)
    lines = tuple([f"play black {'x' * 900}"] * 5)
    answer = Channel(transport, PeerRole.BOT).ask_at_once(lines, 1.0)
    assert len(answer.unsent) > select.PIPE_BUF
    transport.close()


def test_a_peer_that_has_gone_is_found_by_reading() -> None:
    transport = CutPipe([], True)
    transport.feed()
    answer = Channel(transport, PeerRole.BOT).ask_at_once(("genmove black",), 1.0)
    assert answer.text is None and not answer.unsent
    transport.close()


def test_stderr_is_drained_beside_the_answer() -> None:
    stderr, theirs = os.pipe()
    ours, stdin = os.pipe()
    stdout, out = os.pipe()
    taken: list[bytes] = []
    transport = Pipe(stdin, stdout, stderr, taken.append)
    os.write(out, b"= D4\n\n")
    os.write(theirs, b"thinking\n")
    answer = Channel(transport, PeerRole.BOT).ask_at_once(("genmove black",), 1.0)
    assert answer.text == "D4"
    assert taken == [b"thinking\n"]
    transport.close()
    for descriptor in (theirs, ours, out):
        os.close(descriptor)
