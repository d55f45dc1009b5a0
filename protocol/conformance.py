"""The compliance checks: numbered steps that anybody can run on a bot or an engine, and what each found.

A check is data: bytes to send and the pattern that the answer must match, with the rule of docs/reference/protocol
that says so. Checks share no state: each talks to a fresh peer. No judgement of play, and no I/O of its own.
"""

import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import NamedTuple

from protocol.channel import Transport
from protocol.commands import PLAIN_BOT, Who, required
from protocol.errors import PeerTimeout
from protocol.grammar import MAX_LINE


class Demand(StrEnum):
    """How hard a check is meant: the referee needs it (required), GTP says so (recommended), GGP only (native)."""

    REQUIRED = "required"
    RECOMMENDED = "recommended"
    NATIVE = "native"


class Check(NamedTuple):
    """Send `sent`; what comes back must match the regular expression `expected` as a whole.

    `ends` says that the peer's stream must end after it, `end_input` that our end is closed after sending,
    `pieces` that each byte is sent alone.
    """

    number: str
    title: str
    sent: bytes
    expected: bytes
    demand: Demand = Demand.RECOMMENDED
    who: Who | None = None  # None: both
    ends: bool = False
    end_input: bool = False
    pieces: bool = False


class Finding(NamedTuple):
    """What a check found: `got` is all that came back, and `ended` whether the stream ended."""

    check: Check
    passed: bool
    got: bytes
    ended: bool


_ENOUGH = 16 * MAX_LINE  # bytes: no right answer here is nearly as long
_R, _N = Demand.REQUIRED, Demand.NATIVE
_TWO = rb"= 2\n\n"
_UNKNOWN = rb"\? unknown command\n\n"
_STATUS = rb"phase=\w+ to_play=(?:black|white|none) seat=[012] ply=\d+(?: [^\n]*)?"

FRAMING: tuple[Check, ...] = (
    Check("2.1.1", "control characters are dropped", b"proto\x01col\x7f_version\r\n", _TWO),
    Check("2.1.2", "# begins a comment", b"protocol_version# and more\n", _TWO),
    Check("2.1.3", "HT is a blank", b"4\tprotocol_version\n", rb"=4 2\n\n"),
    Check("2.1.4", "blank lines get no answer", b"\n  \t\n# only a comment\nprotocol_version\n", _TWO),
    Check("2.1.5", "an id alone before a comment is no id", b"1 # protocol_version\n", _UNKNOWN),
    Check("2.2.1", "an id is echoed", b"7 protocol_version\n", rb"=7 2\n\n", _R),
    Check("2.2.2", "the smallest and the largest id", b"0 name\n2147483647 name\n", rb"=0 .+\n\n=2147483647 .+\n\n"),
    Check("2.2.3", "an id is echoed with a failure", b"7 no-such-command\n", rb"\?7 unknown command\n\n", _R),
    Check("2.2.4", "a lone number is an unknown command", b"7\n", _UNKNOWN),
    Check("2.2.5", "digits glued to letters are no id", b"7name\n", _UNKNOWN),
    Check("2.2.6", "a number out of range is no id", b"2147483648 name\n", _UNKNOWN),
    Check("2.3.1", "an answer is framed exactly", b"protocol_version\n", _TWO, _R),
    Check(
        "2.3.2",
        "pipelined commands are answered in order",
        b"1 protocol_version\n2 known_command quit\n3 no-such-command\n",
        rb"=1 2\n\n=2 true\n\n\?3 unknown command\n\n",
    ),
    Check(
        "2.3.3",
        "a command may come in pieces",
        b"1 protocol_version\n2 protocol_version\n",
        rb"=1 2\n\n=2 2\n\n",
        pieces=True,
    ),
    Check("2.4.1", "an unknown command is said to be so", b"no-such-command\n", _UNKNOWN, _R),
    Check("2.5.1", "known_command knows", b"known_command name\n", rb"= true\n\n", _R),
    Check("2.5.2", "known_command does not know", b"known_command no-such-command\n", rb"= false\n\n"),
    Check("2.5.3", "known_command never fails", b"known_command\n", rb"= false\n\n"),
    Check("2.5.4", "quit answers in full, then ends", b"9 quit\n", rb"=9\n\n", ends=True),
    Check("2.5.5", "end of input: exit silently", b"", rb"", ends=True, end_input=True),
    Check("2.6.1", "command names are case-sensitive", b"NAME\n", _UNKNOWN),
    Check(
        "2.8.1",
        "a line that is too long is refused once",
        b"x" * (MAX_LINE + 1000) + b"\nprotocol_version\n",
        rb"\? line too long\n\n= 2\n\n",
    ),
)


def checks_for(who: Who, *, game: str = "", native: bool = True) -> list[Check]:
    """The checks for an engine or a bot: framing, the commands it must know, and a first turn of `game`."""
    names = required(who) if native else PLAIN_BOT
    section = "3" if who is Who.ENGINE else "4"
    commands = [
        Check(f"{section}.0.{i}", f"knows {name}", b"known_command %b\n" % name.encode(), rb"= true\n\n", _R)
        for i, name in enumerate(names, 1)
    ]
    turn = (_engine_checks(game) if who is Who.ENGINE else _bot_checks(game)) if native and game else []
    return [check for check in [*FRAMING, *commands, *turn] if check.who in (None, who)]


async def run_checks(connect: Callable[[], Transport], checks: Iterable[Check], patience: float = 2.0) -> list[Finding]:
    """Run each check on a fresh peer from `connect`; `patience` is the seconds that a wrong answer is waited for."""
    return [await _run(connect(), check, patience) for check in checks]


async def _run(transport: Transport, check: Check, patience: float) -> Finding:
    pattern = re.compile(check.expected)
    got, ended = bytearray(), False
    try:
        deadline = transport.now() + patience
        for piece in [check.sent[i : i + 1] for i in range(len(check.sent))] if check.pieces else [check.sent]:
            await transport.write(piece, deadline)
        if check.end_input:
            transport.close_stdin()
        # A peer that must end is read to its end; the others until their answer is right, and then once
        # more without waiting: "Nothing else is ever written to stdout".
        while not ended:
            right = pattern.fullmatch(got) is not None and not check.ends
            data = await transport.read(transport.now() if right else deadline)
            got += data
            ended = not data
            if len(got) > _ENOUGH or (transport.now() > deadline and not right):
                break
    except PeerTimeout:
        pass
    finally:
        transport.close()
    passed = pattern.fullmatch(got) is not None and ended >= check.ends
    return Finding(check, passed, bytes(got), ended)


def _engine_checks(game: str) -> list[Check]:
    new = b"ggp-new %b\n" % game.encode()
    listed = re.escape(game.encode())
    started = rb"= " + _STATUS + rb"\n\n"
    engine = Who.ENGINE
    return [
        Check("3.1.1", "ggp-version is 1", b"ggp-version\n", rb"= 1\n\n", _R, engine),
        Check("3.1.2", "ggp-games lists the game", b"ggp-games\n", rb"= (?:.+\n)*%b\n(?:.+\n)*\n" % listed, _R),
        Check("3.1.3", "ggp-new answers a status line", new, started, _R, engine),
        Check("3.1.4", "without a game there is none", b"ggp-status\n", rb"\? no game: use ggp-new\n\n", who=engine),
        Check(
            "3.1.5",
            "a refused ggp-new changes nothing",
            new + b"ggp-new no-such-game\nggp-new %b no-such-option=1\nggp-status\n" % game.encode(),
            started + rb"\? .+\n\n\? .+\n\n" + started,
            _R,
            engine,
        ),
        Check("3.1.6", "there are legal moves", new + b"ggp-legal_moves\n", started + rb"= \S[^\n]*\n\n", _R, engine),
        Check(
            "3.1.7",
            "an illegal move is refused, with the exact words first",
            new + b"ggp-play black no-such-move\nggp-status\n",
            started + rb"\? illegal move[^\n]*\n\n" + started,
            _R,
            engine,
        ),
        Check(
            "3.1.8",
            "another side than the one to play is refused",
            new + b"ggp-play white pass\n",
            started + rb"\? .+\n\n",
            _R,
            engine,
        ),
        Check("3.1.9", "a new game has no history", new + b"ggp-history\n", started + rb"=\n\n", _R, engine),
    ]


def _bot_checks(game: str) -> list[Check]:
    new = b"ggp-new %b\n" % game.encode()
    bot = Who.BOT
    return [
        Check("4.1.1", "ggp-new starts the game", new, rb"= ?[^\n]*\n\n", _N, bot),
        Check("4.1.2", "genmove answers a move", new + b"genmove black\n", rb"= ?[^\n]*\n\n= \S+\n\n", _N, bot),
        Check("4.1.3", "an unknown game is refused", b"ggp-new no-such-game\n", rb"\? .+\n\n", _N, bot),
    ]
