"""Dialogues as text: recorded from real programs, played back, and every departure noticed. And the peer in memory."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.protocol.channel import Channel
from ggp.protocol.connection import PeerRole
from ggp.protocol.errors import LocalProtocolError, PeerGone, PeerTimeout, RemoteProtocolError
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.memory import Memory
from ggp.protocol.transports.pipe import Pipe
from ggp.protocol.transports.transcript import Replay, Transcript, format_line
from tests.support import TESTS
from tests.support.answering_program import make_responder
from tests.support.codes import raises

GNUGO = TESTS / "transcripts" / "protocol" / "gnugo.txt"
QUESTIONS = ["name", "words a\u00a0b c", "board", "fail because", "many 100000"]


def converse(channel: Channel) -> list[object]:
    """A whole conversation: probe, questions, several in one write, silence, quit; all that was heard."""
    heard: list[object] = [run_blocking(channel.probe_ids(channel.now() + 10))]
    heard += [run_blocking(channel.ask(question, channel.now() + 10)) for question in QUESTIONS]
    run_blocking(channel.send("echo 1", "echo 2"))
    heard += [run_blocking(channel.receive(channel.now() + 10)) for _ in range(2)]
    run_blocking(channel.send("sleep 0.5"))
    with pytest.raises(PeerTimeout):
        run_blocking(channel.receive(channel.now() + 0.01))
    heard.append(run_blocking(channel.receive(channel.now() + 10)))
    run_blocking(channel.ask("quit", channel.now() + 10))
    with pytest.raises(PeerGone):
        run_blocking(channel.receive(channel.now() + 10))
    return heard


@pytest.fixture(scope="module")
def recorded() -> tuple[list[str], list[object]]:
    """A real dialogue as lines, and what was heard in it."""
    lines: list[str] = []
    ends = [os.pipe(), os.pipe()]
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.support.answering_program"], stdin=ends[0][0], stdout=ends[1][1]
    )
    os.close(ends[0][0])
    os.close(ends[1][1])
    transcript = Transcript(Pipe(ends[0][1], ends[1][0]), lambda *step: lines.append(format_line(*step)))
    channel = Channel(transcript, PeerRole.ENGINE)
    heard = converse(channel)
    transcript.close_stdin()
    channel.close()
    assert child.wait(10) == 0
    return lines, heard


@pytest.mark.slow
def test_a_real_dialogue_is_played_back_to_the_byte(recorded: tuple[list[str], list[object]]) -> None:
    lines, heard = recorded
    again: list[str] = []
    replay = Transcript(Replay(lines), lambda *step: again.append(format_line(*step)))
    assert converse(Channel(replay, PeerRole.ENGINE)) == heard
    # Its clock stands still between a read and a write, so only the times of writes may differ.
    assert [line.split(" ", 1)[1] for line in again] == [line.split(" ", 1)[1] for line in lines]
    assert [line for line in again if " < " in line] == [line for line in lines if " < " in line]


def test_every_line_has_time_direction_and_text(recorded: tuple[list[str], list[object]]) -> None:
    lines, _ = recorded
    assert lines[0].split(" ", 1)[1] == r"> b'1 protocol_version\n'"
    assert lines[1].split(" ", 1)[1] == r"< b'=1 2\n\n'"
    assert r"> b'3 words a\xc2\xa0b c\n'" in [line.split(" ", 1)[1] for line in lines]
    assert lines[-1].endswith(" < b''")
    times = [float(line.split()[0]) for line in lines]
    assert times == sorted(times)


def test_saying_something_else_is_noticed(recorded: tuple[list[str], list[object]]) -> None:
    channel = Channel(Replay(recorded[0]), PeerRole.ENGINE)
    run_blocking(channel.probe_ids(channel.now() + 10))
    with raises(LocalProtocolError, "not-in-transcript"):
        run_blocking(channel.ask("version", channel.now() + 10))


def test_saying_something_while_the_peer_was_speaking_or_after_its_end_is_noticed() -> None:
    replay = Replay(["1 > b'a'", "2 < b'b'"])
    run_blocking(replay.write(b"a"))
    for _ in range(2):
        with raises(LocalProtocolError, "not-in-transcript"):
            run_blocking(replay.write(b"c"))
        replay.close()


def test_waiting_where_the_transcript_speaks_or_beyond_its_time_is_a_time_out() -> None:
    replay = Replay(["", "5 > b'a'\n", "7.5 < b'b'\n", "\n", "8 < b'c'"])
    assert replay.now() == 5.0
    for deadline, now in ((4.0, 5.0), (6.0, 6.0)):
        with pytest.raises(PeerTimeout):
            run_blocking(replay.read(deadline))
        assert replay.now() == now
    run_blocking(replay.write(b"a"))
    assert replay.now() == 6.0  # never backwards
    with pytest.raises(PeerTimeout):
        run_blocking(replay.read(7.0))
    assert run_blocking(replay.read(7.5)) == b"b"
    with pytest.raises(PeerTimeout):
        run_blocking(replay.read(9.0 - 1.5))
    assert run_blocking(replay.read(9.0)) == b"c"
    assert replay.now() == 8.0
    with pytest.raises(PeerTimeout):  # it was not recorded that the stream ended
        run_blocking(replay.read(9.0))
    assert replay.now() == 9.0


def test_the_end_of_a_stream_stays_its_end() -> None:
    replay = Replay(["1 < b''"])
    assert [run_blocking(replay.read(9.0)) for _ in range(3)] == [b"", b"", b""]
    replay = Replay(["1 < b'a'"])
    replay.close_stdin()
    assert run_blocking(replay.read(9.0)) == b"a"
    replay.close()
    assert run_blocking(replay.read(9.0)) == b""


@given(st.sampled_from("<>"), st.floats(0, 1e6), st.binary(max_size=30))
def test_a_line_is_read_back(mark: str, seconds: float, data: bytes) -> None:
    line = format_line(mark, seconds, data)
    assert "\n" not in line
    replay = Replay([line])
    if mark == ">":
        run_blocking(replay.write(data))
    else:
        assert run_blocking(replay.read(2e6)) == data
    assert replay.now() == pytest.approx(seconds, abs=1e-6)


NO_MARK = ["junk", "1", "1 = b'a'", "x > b'a'"]
NO_BYTES = [
    "1 > ",
    "1 > 5",
    "1 > 'text'",
    "1 > b'a",
    "1 > b'a'.upper()",
    "1 > " + "(" * 5_000,
    "1 > " + "-" * 100_000 + "1",
]


@pytest.mark.parametrize("line", NO_MARK + NO_BYTES)
def test_a_line_that_is_none_is_refused_with_its_number(line: str) -> None:
    with pytest.raises(ValueError, match=r"^line 3 is not a transcript line: "):
        Replay(["1 > b'a'", "", line])


def test_a_dialogue_with_gnu_go_of_long_ago_still_plays() -> None:
    channel = Channel(Replay(GNUGO.read_text(encoding="utf-8").splitlines()), PeerRole.BOT)
    deadline = 60.0
    assert run_blocking(channel.probe_ids(deadline)).id == 1
    assert run_blocking(channel.ask("name", deadline)).text == "GNU Go"
    listed = run_blocking(channel.list_commands(deadline))
    assert len(listed) > 100 and {"play", "genmove", "final_status_list"} <= listed
    run_blocking(channel.send("boardsize 5", "clear_board", "komi 7.5"))
    assert [run_blocking(channel.receive(deadline)).text for _ in range(3)] == ["", "", ""]
    run_blocking(channel.send("play B C3", "genmove W"))
    assert [run_blocking(channel.receive(deadline)).text for _ in range(2)] == ["", "C4"]
    assert run_blocking(channel.ask("play B C3", deadline)).text == "illegal move"
    board = run_blocking(channel.ask("showboard", deadline)).text
    assert board.startswith("\n   A B C D E") and board.count("\n") == 7 and " X " in board
    run_blocking(channel.ask("quit", deadline))
    with pytest.raises(PeerGone):
        run_blocking(channel.receive(deadline))
    assert channel.warnings == []


# -- memory ---------------------------------------------------------------------------------------------------------


def test_a_peer_in_memory_answers_and_quits() -> None:
    memory = Memory.of(make_responder())
    channel = Channel(memory, PeerRole.ENGINE)
    assert run_blocking(channel.ask("words a b", 1.0)).text == "a|b"
    assert run_blocking(channel.ask("quit", 1.0)).text == ""
    run_blocking(memory.write(b"name\n"))
    assert [run_blocking(memory.read(1.0)) for _ in range(2)] == [b"", b""]
    assert memory.written == b"words a b\nquit\n"


def test_the_clock_of_a_peer_in_memory_moves_only_in_a_wait() -> None:
    memory = Memory(lambda data: [b"= a\n\n"], seconds=1.5)
    channel = Channel(memory, PeerRole.ENGINE)
    assert run_blocking(channel.ask("name", 10.0)).text == "a"
    assert memory.now() == 1.5
    for deadline, time in ((9.0, 9.0), (5.0, 9.0)):
        with pytest.raises(PeerTimeout):
            run_blocking(memory.read(deadline))
        assert memory.now() == time


def test_the_end_of_input_ends_a_peer_in_memory() -> None:
    memory = Memory.of(make_responder())
    memory.close_stdin()
    memory.close_stdin()
    assert [run_blocking(memory.read(1.0)) for _ in range(2)] == [b"", b""]


def test_a_closed_peer_in_memory_has_ended() -> None:
    memory = Memory(lambda data: [b"= a\n\n"])
    run_blocking(memory.write(b"name\n"))
    memory.close()
    run_blocking(memory.write(b"name\n"))
    assert memory.closed and memory.written == b"name\n"
    assert run_blocking(memory.read(1.0)) == b""


def test_a_peer_in_memory_may_break_the_protocol() -> None:
    channel = Channel(Memory(lambda data: [b"junk\n"]), PeerRole.ENGINE)
    with pytest.raises(RemoteProtocolError):
        run_blocking(channel.ask("name", 1.0))


def test_what_is_not_answered_is_passed_over() -> None:
    lines = ["# a remark", "0 > b'name\\n'", "0.1 ! b'on stderr'", "", "0.2 < b'= x\\n\\n'"]
    channel = Channel(Replay(lines), PeerRole.ENGINE)
    assert run_blocking(channel.ask("name", 9)).text == "x"
