"""Bytes that are sent as they are, for who tries a peer: what answers are expected to them. Also news of stderr."""

import os

import pytest

from protocol.channel import Channel
from protocol.connection import Connection, PeerRole, ReadLimits
from protocol.errors import RemoteProtocolError
from protocol.grammar import MAX_LINE
from protocol.messages import Reply
from protocol.responder import Responder
from protocol.transports.blocking import run_blocking
from protocol.transports.memory import Memory
from protocol.transports.pipe import Pipe


def test_each_line_that_is_answered_expects_an_answer_under_its_id() -> None:
    connection = Connection(PeerRole.BOT)
    data = b"# nothing\n\n7 name\nversion\r\nkn\x00own_command x # y\n"
    assert connection.send_exactly(data) == data
    assert connection.awaited == 3
    connection.receive(b"=7 a\n\n= b\n\n= true\n\n")
    assert [connection.next_reply() for _ in range(3)] == [
        Reply(True, "a", 7),
        Reply(True, "b"),
        Reply(True, "true"),
    ]


def test_half_a_line_expects_nothing_until_it_ends() -> None:
    connection = Connection(PeerRole.BOT)
    connection.send_exactly(b"3 na")
    assert connection.awaited == 0
    connection.send_exactly(b"me\nver")
    assert connection.awaited == 1
    connection.receive(b"=3 a\n\n")
    assert connection.next_reply() == Reply(True, "a", 3)


def test_an_answer_that_goes_on_is_taken_line_by_line_and_has_no_end() -> None:
    connection = Connection(PeerRole.BOT, ReadLimits(answer=100, lines=5))
    connection.send_exactly(b"kata-analyze\n")
    connection.receive(b"=\n")
    for number in range(20):
        connection.receive(b"info %d\nin" % number)
        connection.receive(b"fo D4 visits 100\n")
        assert connection.take_lines() == [f"info {number}", "info D4 visits 100"]
    connection.receive(b"last\n\n")
    assert connection.next_reply() == Reply(True, "\nlast")
    assert connection.take_lines() == []


def test_an_answer_under_another_id_is_noticed() -> None:
    connection = Connection(PeerRole.BOT)
    connection.send_exactly(b"3 name\n")
    connection.receive(b"=4 a\n\n")
    with pytest.raises(RemoteProtocolError, match="expected the answer to 3"):
        connection.next_reply()
    with pytest.raises(RemoteProtocolError):
        connection.send_exactly(b"name\n")


def test_a_line_too_long_is_answered_without_its_id() -> None:
    channel = Channel(Memory.of(Responder("x", "1", {})), PeerRole.ENGINE)
    for line in (b"5 name " + b"x" * MAX_LINE, b" " * (MAX_LINE + 1)):
        run_blocking(channel.send_exactly(line + b"\n6 version\n"))
        assert run_blocking(channel.receive(1)) == Reply(False, "line too long")
        assert run_blocking(channel.receive(1)) == Reply(True, "1", 6)
    assert channel.dialogue_tail(2)[-1] == "< =6 1"


def test_how_much_came_on_stderr_is_counted_beyond_its_tail() -> None:
    (stdin, ours), (theirs, stdout), (errors, stderr) = os.pipe(), os.pipe(), os.pipe()
    pipe = Pipe(ours, theirs, errors)
    for _ in range(3):
        os.write(stderr, b"x" * 40_000)
        pipe.drain_stderr()
    assert (pipe.stderr_size, len(pipe.stderr_tail)) == (120_000, 64 * 1024)
    pipe.close()
    for descriptor in (stdin, stdout, stderr):
        os.close(descriptor)
