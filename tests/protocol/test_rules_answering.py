"""Every rule of framing for the answering end, by its number, on a Responder and on a process.

The engines' tests cover their rules beyond framing (2.6, 2.7, parts of 2.4 and 2.5).
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ggp.protocol.channel import Channel
from ggp.protocol.connection import Connection, PeerRole, ReadLimits
from ggp.protocol.errors import CommandFailed, RemoteProtocolError
from ggp.protocol.grammar import CONTROL, MAX_ANSWER, MAX_ANSWER_LINES, MAX_LINE, fit_lines
from ggp.protocol.messages import Reply
from ggp.protocol.responder import Responder
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.memory import Memory
from ggp.protocol.transports.pipe import Pipe
from tests.support.answering_program import BOARD, make_responder
from tests.support.codes import raises
from tests.support.raw_peer import RawPeer

PROGRAM = [sys.executable, "-m", "tests.support.answering_program"]
LISTED = b"""add board echo empty-line fail known_command list_commands many name protocol_version quit sleep stderr
version words

""".replace(b" ", b"\n")
Talk = Callable[[bytes], bytes]


def in_memory(data: bytes) -> bytes:
    """What a Responder answers to `data` and the end of input."""
    responder = make_responder()
    responder.receive(data)
    answers = list(iter(responder.next_answer, None))
    responder.receive(b"")
    assert responder.next_answer() is None and responder.closed
    return b"".join(answers)


def in_a_process(data: bytes) -> bytes:
    """The answers of a process, which must end with status 0."""
    result = subprocess.run(PROGRAM, input=data, capture_output=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(params=[in_memory, pytest.param(in_a_process, marks=pytest.mark.slow)])
def talk(request: pytest.FixtureRequest) -> Talk:
    chosen: Talk = request.param
    return chosen


@pytest.fixture(params=[pytest.param("process", marks=pytest.mark.slow)])
def peer() -> Iterator[RawPeer]:
    with RawPeer(PROGRAM) as started:
        yield started


EXCHANGES = {
    "2.1 carriage returns and control characters are dropped": [
        (b"ec\x00ho\x1b a\r\n", b"= a\n\n"),
        (b"words a" + CONTROL + b"b\n", b"= ab\n\n"),
    ],
    "2.1 a comment is cut to the end of its line": [(b"echo a#b\necho c # d # e\n#f\n", b"= a\n\n= c\n\n")],
    "2.1 a tab becomes a blank": [(b"words\ta\t \tb\n3\techo\tc\n", b"= a|b\n\n=3 c\n\n")],
    "2.1 blank lines get no answer": [(b"\n\r\n   \n\t\n\x01\n#\n \t # c\n\x00# c\n", b"")],
    # A control character neither separates words nor hides a comment. A comment is cut with its tabs; what is left of
    # the line may be blank.
    "2.1 in this order": [
        (b"words a\x0bb\x0c c\n", b"= ab|c\n\n"),
        (b"words a\x01#b\tc\n", b"= a\n\n"),
        (b"\t#words\n\x7f\t\x7f\r\n", b""),
    ],
    "2.1 other bytes are text": [
        ("words ü\u00a0\u2028ß\n".encode(), "= ü\u00a0\u2028ß\n\n".encode()),
        (b"echo \xff\n", b"= \\xff\n\n"),  # not UTF-8: escaped, so that it can be read
    ],
    "2.2 zeros before an id do not count": [
        (b"00000000000000000007 echo a\n" + b"0" * 5000 + b" echo b\n", b"=7 a\n\n? unknown command\n\n")
    ],
    "2.2 an id is echoed only if given": [(b"8 echo a\necho b\n0 echo\n", b"=8 a\n\n= b\n\n=0\n\n")],
    "2.2 digits of other scripts are no id": [("٣ echo\n３ echo\n".encode(), b"? unknown command\n\n" * 2)],
    "2.2 a number may be the name after an id": [(b"7 8 echo\n", b"?7 unknown command\n\n")],
    "2.3 the four forms of a success are exact": [
        (b"7 echo text\n7 echo\necho text\necho\n", b"=7 text\n\n=7\n\n= text\n\n=\n\n")
    ],
    "2.3 the four forms of a failure are exact": [
        (b"7 fail text\n7 fail\nfail text\nfail\n", b"?7 text\n\n?7\n\n? text\n\n?\n\n")
    ],
    "2.3 an answer of several lines ends at the first empty one": [
        (b"board\n2 fail a||b|\n", b"= \n" + BOARD.encode() + b"\n\n?2 a\nb\n\n")
    ],
    "2.3 pipelined commands are answered in order": [
        (
            b"".join(b"%d echo %d\n" % (number, number) for number in range(500)),
            b"".join(b"=%d %d\n\n" % (number, number) for number in range(500)),
        )
    ],
    "2.4 an unknown command has an exact answer": [
        (b"no-such-command\n4 no-such-command a b\n", b"? unknown command\n\n?4 unknown command\n\n")
    ],
    "2.5 known_command never fails": [
        (
            b"known_command quit\nknown_command x\nknown_command\nknown_command echo x\nknown_command 7\n",
            b"= true\n\n= false\n\n= false\n\n= true\n\n= false\n\n",
        )
    ],
    "2.5 quit answers in full, then closes": [(b"9 quit\n10 echo a\n", b"=9\n\n")],
    "2.5 name, version and commands": [(b"protocol_version\nversion\nlist_commands\n", b"= 2\n\n= 1.0\n\n= " + LISTED)],
    "2.6 command names are case-sensitive": [
        (b"NAME\nEcho a\nname\n", b"? unknown command\n\n? unknown command\n\n= Answerer\n\n")
    ],
    "2.8 a line of 64 KiB is read": [(b"echo " + b"x" * 65_531 + b"\n", b"= " + b"x" * 65_531 + b"\n\n")],
}
"""What is sent and what is answered, by rule: each to a Responder and to a process of its own."""


@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        pytest.param(*exchange, id=f"{rule} {number}")
        for rule, exchanges in EXCHANGES.items()
        for number, exchange in enumerate(exchanges, 1)
    ],
)
def test_rule(talk: Talk, sent: bytes, answered: bytes) -> None:
    assert talk(sent) == answered


def test_rule_2_1_the_control_characters() -> None:
    assert set(CONTROL) == {*range(32), 127} - {9, 10}


# -- 2: a line ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1, 7, 2**31 - 1])
def test_rule_2_2_an_id_is_echoed_with_success_and_failure(number: int) -> None:
    assert in_memory(b"%d echo a\n%d fail b\n" % (number, number)) == b"=%d a\n\n?%d b\n\n" % (number, number)


@pytest.mark.parametrize(
    "line", ["7", "7 # echo", "7echo", "2147483648 echo", "99999999999 echo", "-1 echo", "+1 echo"]
)
def test_rule_2_2_what_is_no_id_is_an_unknown_command(line: str) -> None:
    assert in_memory(f"{line}\n".encode()) == b"? unknown command\n\n"


# -- 3: an answer ---------------------------------------------------------------------------------------------------


def test_rule_2_3_an_answer_never_holds_an_empty_line(talk: Talk) -> None:
    answer = talk(b"empty-line\nadd 1\n")
    assert answer.startswith(b"? internal error: ") and answer.endswith(b"\n\n= 1\n\n")
    assert answer.count(b"\n\n") == 2


@pytest.mark.slow
def test_rule_2_3_nothing_else_is_written_to_stdout_and_diagnostics_go_to_stderr() -> None:
    result = subprocess.run(PROGRAM, input=b"stderr 3\nadd x\n", capture_output=True, timeout=120)
    assert result.stdout.startswith(b"=\n\n? internal error: ValueError: ") and result.stdout.count(b"\n\n") == 2
    assert result.stderr.startswith(b"eee") and b"Traceback" in result.stderr


def test_rule_2_3_every_answer_is_flushed_before_the_next_command_comes(peer: RawPeer) -> None:
    for number in range(5):
        assert peer.ask(f"echo {number}") == str(number)


def test_rule_2_3_every_answer_leaves_before_the_next_command_is_worked_on(peer: RawPeer) -> None:
    peer.send(b"echo first\nsleep 100\n")
    assert peer.answer() == "= first"


# -- 4, 5: exact texts, failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "unacceptable size",
        "illegal move",
        "illegal move: A1 is occupied",
        "cannot undo",
        "cannot score",
        "cannot load file",
    ],
)
def test_rule_2_4_a_handlers_text_is_exact(text: str) -> None:
    assert in_memory(f"fail {text}\n".encode()) == f"? {text}\n\n".encode()


def test_rule_2_5_failures_leave_the_session_unchanged(talk: Talk) -> None:
    answers = talk(b"add 5\nadd -1\nadd x\nadd\nadd 1\n").split(b"\n\n")
    assert answers[0] == b"= 5" and answers[1] == b"? illegal move: it is negative" and answers[4] == b"= 6"
    assert answers[2].startswith(b"? internal error: ValueError")
    assert answers[3].startswith(b"? internal error: IndexError")


def test_rule_2_5_an_internal_error_needs_no_report() -> None:
    def crash(arguments: list[str]) -> str:
        raise KeyError("a\n\n \nb")

    responder = Responder("n", "v", {"crash": crash})
    responder.receive(b"1 crash\n")
    assert responder.next_answer() == (
        b"?1 internal error: KeyError: 'a\\n\\n \\nb' (%s, line %d)\n\n"
        % (__file__.encode(), crash.__code__.co_firstlineno + 1)
    )


def test_rule_2_5_quit_ends_the_process_while_its_input_is_open(peer: RawPeer) -> None:
    peer.send(b"quit\n")
    assert peer.until_end() == b"=\n\n"
    assert peer.exit_status() == 0


def test_rule_2_5_quit_closes_the_one_that_answers_it_unless_it_fails() -> None:
    def refuse_once(arguments: list[str]) -> str:
        if not refused:
            refused.append(True)
            raise CommandFailed("not yet")
        return "bye"

    refused: list[bool] = []
    responder = Responder("n", "v", {"quit": refuse_once})
    responder.receive(b"quit\nquit\nname\n")
    assert [responder.next_answer(), responder.closed] == [b"? not yet\n\n", False]
    assert [responder.next_answer(), responder.closed] == [b"= bye\n\n", True]
    assert responder.next_answer() is None


def test_rule_2_5_the_end_of_input_ends_at_once_silently_with_status_0(peer: RawPeer) -> None:
    peer.send(b"echo a\necho half a line")
    assert peer.answer() == "= a"
    peer.close_stdin()
    assert peer.until_end() == b""
    assert peer.exit_status() == 0 and peer.stderr == b""


# -- 8: bounds ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("length", [65_537, 65_538, 200_000])
def test_rule_2_8_a_longer_line_is_refused_once_and_the_session_continues(length: int) -> None:
    for data in (b"x" * length, b"1 echo " + b" echo a" * (length // 7), b"\0" * length):
        assert in_memory(data + b"\necho a\n") == b"? line too long\n\n= a\n\n"
    assert in_a_process(b"x" * length + b"\necho a\n") == b"? line too long\n\n= a\n\n"


def test_rule_2_8_a_line_that_is_too_long_is_refused_before_it_ends(peer: RawPeer) -> None:
    peer.send(b"x" * 65_536)
    peer.send(b"x")
    assert peer.answer() == "? line too long"
    peer.send(b"echo a\n\necho b\n")
    assert peer.answer() == "= b"  # the first was the rest of the long line


@pytest.mark.slow
def test_rule_2_8_a_line_of_100_mb_takes_no_memory() -> None:
    def peak() -> int:
        """The most memory that the program has had, in KiB."""
        found = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{program.pid}/status").read_text(encoding="utf-8"))
        assert found
        return int(found[1])

    block = b"0123456789abcdef" * 65_536
    with subprocess.Popen(PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as program:
        assert program.stdin and program.stdout
        program.stdin.write(b"echo before\n")
        assert program.stdout.read(100) == b"= before\n\n"
        before = peak()
        for _ in range(100):
            program.stdin.write(block)
        program.stdin.write(b"\necho after\n")
        heard = b""
        while not heard.endswith(b"= after\n\n"):
            heard += program.stdout.read(100)
        assert heard == b"? line too long\n\n= after\n\n"
        assert peak() - before < 2_000
        program.stdin.write(b"quit\n")
        assert program.stdout.read(100) == b"=\n\n"
        assert program.wait(10) == 0


@pytest.mark.parametrize("line", ["", "x" * 1000])
def test_rule_2_8_lines_beyond_the_bounds_of_an_answer_are_cut_and_counted(line: str) -> None:
    assert fit_lines(["a", "b"]) == "a\nb"
    *kept, last = fit_lines([line] * 20_000).split("\n")
    assert set(kept) == {line} and last == f"cut={20_000 - len(kept)}"
    assert len(kept) + 1 < MAX_ANSWER_LINES and sum(len(one) + 1 for one in (*kept, last)) < MAX_ANSWER


# -- 14: a controller that leaves -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_rule_2_14_a_controller_that_leaves_is_like_the_end_of_input() -> None:
    program = subprocess.Popen(PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert program.stdin and program.stdout and program.stderr
    program.stdout.close()
    program.stdin.write(b"echo a\n")
    program.stdin.flush()
    assert program.wait(10) == 0
    assert program.stderr.read() == b""
    program.stdin.close()
    program.stderr.close()


# --- exact bytes ---


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


def test_an_endless_answer_is_read_line_by_line() -> None:
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
    with raises(RemoteProtocolError, "wrong-id"):
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
