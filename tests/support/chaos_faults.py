"""The ways in which the chaos bot can misbehave, one function each; when it does so is decided in chaos.

A fault is called with the wire and the answer that a good bot would write now (b"" if none is due), and writes
what it likes. Its docstring is what `--help` prints of it. Nothing here outlives the wire's `life`.
"""

import os
import re
import signal
import sys
import time
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from tests.support.raw_output import RawOutput, write_all

JUNK_LINES = 300  # more than an asking side skips (200)
MANY_LINES = 20_000  # more than an answer may have (10,000)


class ChaosFault(NamedTuple):
    """A fault, and the moment at which it happens by default."""

    act: Callable[[RawOutput, bytes], None]
    when: str = "genmove"


def with_text(answer: bytes, mark: bytes, text: bytes) -> bytes:
    """The answer with another mark (`=` or `?`) and text, but its own id."""
    return mark + answer[1 : _head(answer)] + b" " + text + b"\n\n"


def _head(answer: bytes) -> int:
    """The length of the mark and the id."""
    found = re.match(rb"[=?][0-9]*", answer)
    return found.end() if found else 0


# ---- late or never


def late(wire: RawOutput, answer: bytes) -> None:
    """answer after ms milliseconds (with when=start: start that slowly)"""
    wire.limit_life(wire.ms)
    time.sleep(wire.ms / 1000)
    wire.write(answer)


def silent(wire: RawOutput, answer: bytes) -> None:
    """never answer again, but read on and leave at the end of input"""
    wire.muted = True


def deaf(wire: RawOutput, answer: bytes) -> None:
    """neither read nor answer any more"""
    wire.linger()


def half(wire: RawOutput, answer: bytes) -> None:
    """write half an answer, no newline, then nothing any more"""
    wire.write(answer[: (len(answer) + 1) // 2].rstrip(b"\n"))
    wire.muted = True


def close_stdout(wire: RawOutput, answer: bytes) -> None:
    """close stdout and read on"""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
    wire.muted = True


def close_stdin(wire: RawOutput, answer: bytes) -> None:
    """answer, then close stdin and stay"""
    wire.write(answer)
    os.close(0)
    wire.linger()


# ---- the process ends, or does not


def crash(wire: RawOutput, answer: bytes) -> None:
    """exit at once with status (or by signal)"""
    wire.exit()


def half_crash(wire: RawOutput, answer: bytes) -> None:
    """write half an answer, then exit with status (or by signal)"""
    half(wire, answer)
    wire.exit()


def last_words(wire: RawOutput, answer: bytes) -> None:
    """answer with one newline instead of two, then exit: the answer still counts"""
    wire.write(answer.rstrip(b"\n") + b"\n")
    wire.exit()


def fork(wire: RawOutput, answer: bytes) -> None:
    """exit with status, but leave a child that holds the pipes open for `life` seconds"""
    if os.fork() == 0:
        _hold_pipes(wire)
    wire.exit()


def leave_child(wire: RawOutput, answer: bytes) -> None:
    """go on, but leave a child that holds the pipes open for `life` seconds"""
    if os.fork() == 0:
        _hold_pipes(wire)
    wire.write(answer)


def _hold_pipes(wire: RawOutput) -> NoReturn:
    if wire.setsid:
        os.setsid()  # out of the process group that a referee kills
    wire.linger()


def ignore_quit(wire: RawOutput, answer: bytes) -> None:
    """neither answer `quit` nor leave at the end of input: it takes SIGTERM"""
    wire.deathless = True
    wire.write(answer)


def ignore_sigterm(wire: RawOutput, answer: bytes) -> None:
    """as ignore_quit, and ignore SIGTERM, SIGINT and SIGHUP too: it takes SIGKILL"""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    ignore_quit(wire, answer)


# ---- floods


def flood_stdout(wire: RawOutput, answer: bytes) -> None:
    """write mb megabytes of lines to stdout, then the answer"""
    _flood(1, b"all work and no play\n", wire.mb)
    wire.write(answer)


def flood_stderr(wire: RawOutput, answer: bytes) -> None:
    """write mb megabytes of lines to stderr, then answer as if nothing had been"""
    _flood(2, b"all work and no play\n", wire.mb)
    wire.write(answer)


def long_line(wire: RawOutput, answer: bytes) -> None:
    """answer with one line of mb megabytes"""
    wire.write(answer[: _head(answer)] + b" ")
    _flood(1, b"A", wire.mb)
    wire.write(b"\n\n")


def many_lines(wire: RawOutput, answer: bytes) -> None:
    """answer with 20,000 short lines"""
    wire.write(with_text(answer, b"=", b"A1\n" * MANY_LINES + b"A1"))


def _flood(descriptor: int, text: bytes, megabytes: int) -> None:
    block = text * (65536 // len(text))
    for _ in range(megabytes * 1_000_000 // len(block) + 1):
        write_all(descriptor, block)


# ---- wrong bytes


def garbage(wire: RawOutput, answer: bytes) -> None:
    """write 300 lines that are no answer, and then none"""
    wire.write(b"I am thinking...\n" * JUNK_LINES)
    wire.muted = True


def chatter(wire: RawOutput, answer: bytes) -> None:
    """write 5 lines that are no answer, then the answer: sloppy, not fatal"""
    wire.write(b"I am thinking...\n" * 5 + answer)


def binary(wire: RawOutput, answer: bytes) -> None:
    """write bytes that are no text, and then no answer"""
    wire.write(bytes(range(128, 256)) * 8 + b"\n\n")
    wire.muted = True


def nul(wire: RawOutput, answer: bytes) -> None:
    """put a NUL after every byte of the answer"""
    wire.write(b"".join(bytes([byte, 0]) for byte in answer))


def crlf(wire: RawOutput, answer: bytes) -> None:
    """end every line with CR LF: sloppy, not fatal"""
    wire.dress = _with_crlf
    wire.write(_with_crlf(answer))


def _with_crlf(answer: bytes) -> bytes:
    return answer.replace(b"\n", b"\r\n")


def wrong_id(wire: RawOutput, answer: bytes) -> None:
    """answer with another id"""
    end = _head(answer)
    number = int(answer[1:end] or b"98") + 1
    wire.write((answer[:1] or b"=") + b"%d" % number + answer[end:])


def no_ids(wire: RawOutput, answer: bytes) -> None:
    """never echo an id: sloppy, not fatal"""
    wire.dress = _without_id
    wire.write(_without_id(answer))


def _without_id(answer: bytes) -> bytes:
    return answer[:1] + answer[_head(answer) :]


def double(wire: RawOutput, answer: bytes) -> None:
    """answer twice"""
    wire.write(answer + answer)


# ---- wrong answers


def illegal(wire: RawOutput, answer: bytes) -> None:
    """answer with a move that is readable but illegal"""
    wire.write(with_text(answer, b"=", wire.illegal_move.encode()))


def unreadable(wire: RawOutput, answer: bytes) -> None:
    """answer with a word that is no move"""
    wire.write(with_text(answer, b"=", b"banana!"))


def empty(wire: RawOutput, answer: bytes) -> None:
    """answer with nothing"""
    wire.write(answer[: _head(answer)] + b"\n\n")


def refuse(wire: RawOutput, answer: bytes) -> None:
    """answer `? I will not` (when=play: reject a legal move; when=new: refuse the game)"""
    wire.write(with_text(answer, b"?", b"I will not"))


def resign(wire: RawOutput, answer: bytes) -> None:
    """resign"""
    wire.write(with_text(answer, b"=", b"resign"))


def complain(wire: RawOutput, answer: bytes) -> None:
    """write a last word of trouble to stderr, then exit with status 70"""
    print("chaos: out of cheese", file=sys.stderr, flush=True)
    wire.status, wire.signal = 70, 0
    wire.exit()


def none(wire: RawOutput, answer: bytes) -> None:
    """behave"""
    wire.write(answer)


_AT_START = (ignore_quit, ignore_sigterm, leave_child, no_ids, crlf)
_OTHERS = (
    *(none, late, silent, deaf, half, close_stdout, close_stdin, crash, half_crash, last_words, fork, complain),
    *(flood_stdout, flood_stderr, long_line, many_lines, garbage, chatter, binary, nul, wrong_id, double),
    *(illegal, unreadable, empty, refuse, resign),
)
FAULTS: dict[str, ChaosFault] = {act.__name__: ChaosFault(act) for act in _OTHERS} | {
    act.__name__: ChaosFault(act, "start") for act in _AT_START
}
