"""The engine's hot path, in which the core answers plays itself, says exactly what the general way says, on stdin and
in a service of many sessions."""

import fcntl
import os
import random
import signal
import socket
import subprocess
import sys
import termios
import threading
from pathlib import Path
from typing import Any, Protocol

import pytest

from ggp.engines import _core
from ggp.engines.game import IllegalMove, Options
from ggp.engines.games.go import Go, GoState
from ggp.engines.registry import Registry
from ggp.engines.service import make_responder
from ggp.engines.session import Session
from ggp.protocol.responder import Responder
from ggp.protocol.transports.pipe import serve_stdio
from tests.support.cli import wait_until
from tests.support.unix_service import ServedStream

STARTS = [
    "yugo size=3",
    "yugo size=4 handicap=2 agreement=on",
    "go size=2 agreement=on",
    "go size=3 ko=simple komi=0",
    "go size=9 handicap=3",
]
FORMS = [
    "{n} ggp-play {c} {m}",
    "ggp-play {c} {m}",
    "00{n} ggp-play {c} {m}",
    "{n}\tGGP-play {c} {m}",
    "{n}  ggp-play {c} {m}",
]


def lines_of_a_game(start: str, chance: random.Random) -> list[str]:
    """Commands one after another: mostly the plays of a game, in every form, among them what is refused."""
    session = Session(Registry())
    session.new(start.split()[0], start.split()[1:])
    out = [f"ggp-new {start}"]
    for number in range(2, 80):
        line = session.need()
        if line.state.phase == "over":
            break
        move = chance.choice(line.state.legal_moves())
        colour = line.state.to_play
        if chance.random() < 0.3:
            wrong = chance.choice(["Z9", "pass pass", "", "resign", "dead:,", "A1" * 40, "a1#", "\xe91"])
            out.append(f"{number} ggp-play {chance.choice(['black', 'white', 'B', 'none'])} {wrong}")
        form = chance.choice(FORMS)
        spoken = chance.choice([str.lower, str.upper])(move)
        out.append(form.format(n=number, c=chance.choice([colour, colour[0]]), m=spoken))
        if "GGP" not in form:
            line.play(colour, move)
        if chance.random() < 0.2:
            out += ["ggp-history", "ggp-status", "ggp-hash"]
        if chance.random() < 0.1 and line.plies:
            out.append("ggp-undo")
            session.undo(1)
    return [*out, "ggp-status", "ggp-history", "undo", "ggp-score"]


def in_memory(lines: list[str]) -> list[bytes]:
    responder = make_responder(Session(Registry()))
    answers = []
    for line in lines:
        responder.receive(line.encode("latin-1") + b"\n")
        answers.append(responder.next_answer() or b"")
    return answers


class Counted:
    """The responder of a session: how many plies its fast path played, and how often an answer did not fit."""

    def __init__(self) -> None:
        self.session = Session(Registry())
        self.responder = make_responder(self.session)
        self.fast = self.unsent = 0
        fast_path = self.responder.fast_path
        assert fast_path is not None

        def counted(source: int, sink: int, commands: int) -> tuple[bytes | None, bytes]:
            before = len(self.session.line.plies) if self.session.line else 0
            data, unsent = fast_path(source, sink, commands)
            self.fast += len(self.session.line.plies) - before if self.session.line else 0
            self.unsent += bool(unsent)
            return data, unsent

        self.responder.fast_path = counted


class Asked(Protocol):
    """A session in a thread, asked one line at a time, as a referee does."""

    counted: Counted

    def ask(self, line: bytes) -> bytes: ...
    def close(self) -> None: ...


class Served:
    """An Asked over pipes."""

    def __init__(self) -> None:
        stdin, self.ask_end = os.pipe()
        self.read_end, stdout = os.pipe()
        self.counted = Counted()

        def serve() -> None:
            serve_stdio(self.counted.responder, stdin, stdout)
            os.close(stdin)
            os.close(stdout)

        self.thread = threading.Thread(target=serve)
        self.thread.start()

    def ask(self, line: bytes) -> bytes:
        os.write(self.ask_end, line)
        answer = b""
        while not answer.endswith(b"\n\n"):
            some = os.read(self.read_end, 65536)
            assert some, answer
            answer += some
        return answer

    def close(self) -> None:
        os.close(self.ask_end)
        self.thread.join(10)
        os.close(self.read_end)


class ServedAtSocket(ServedStream):
    """An Asked at a Unix stream socket; only its first session is counted."""

    def __init__(self, path: Path) -> None:
        self.counted = Counted()
        self._first: Responder | None = self.counted.responder
        super().__init__(path, self._make)
        self.peer = self.connect()

    def ask(self, line: bytes, peer: socket.socket | None = None) -> bytes:
        peer = peer or self.peer
        peer.sendall(line)
        answer = b""
        while not answer.endswith(b"\n\n"):
            some = peer.recv(65536)
            assert some, answer
            answer += some
        return answer

    def close(self) -> None:
        self.peer.close()
        self.stop()

    def _make(self) -> Responder:
        first, self._first = self._first, None
        return first or make_responder(Session(Registry()))


@pytest.mark.parametrize("where", ["stdin", "socket"])
@pytest.mark.parametrize("start", STARTS)
def test_both_ways_answer_the_same(start: str, where: str, tmp_path: Path) -> None:
    fast = 0
    for seed in range(30):
        lines = lines_of_a_game(start, random.Random(f"{start} {seed}"))
        served: Asked = Served() if where == "stdin" else ServedAtSocket(tmp_path / "socket")
        answers = [served.ask(line.encode("latin-1") + b"\n") for line in lines]
        served.close()
        assert answers == in_memory(lines)
        fast += served.counted.fast
    assert fast > 50  # or nothing was shown


def test_a_session_answers_so_many_commands_at_a_time() -> None:
    """In a service that is one, or a session that goes on asking would keep the others waiting."""
    session = Session(Registry())
    session.new("go", ["size=3"])
    fast_path = make_responder(session).fast_path
    assert fast_path is not None
    asking, answering = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # each read gives one line
    with asking, answering:
        answering.setblocking(False)
        for _ in range(3):
            asking.send(b"ggp-legal_moves\n")
        answer = b"= A1 A2 A3 B1 B2 B3 C1 C2 C3 pass\n\n"
        descriptor = answering.fileno()
        assert fast_path(descriptor, descriptor, 1) == (None, b"")
        assert asking.recv(100) == answer
        assert fast_path(descriptor, descriptor, 9) == (None, b"")  # there are no more than two
        assert [asking.recv(100), asking.recv(100)] == [answer, answer]
        asking.send(b"name\n")
        assert fast_path(descriptor, descriptor, 1) == (b"name\n", b"")
        asking.close()
        assert fast_path(descriptor, descriptor, 1) == (b"", b"")


def test_a_peer_that_does_not_read_delays_no_session(tmp_path: Path) -> None:
    served = ServedAtSocket(tmp_path / "socket")
    served.ask(b"ggp-new go size=19\n")
    whole = served.ask(b"ggp-legal_moves\n")
    asked = 0
    while not served.counted.unsent:  # each line is read before the next one is sent
        served.peer.sendall(b"ggp-legal_moves\n")
        asked += 1
        wait_until(lambda: not _unread(served.peer) or bool(served.counted.unsent))
    served.peer.sendall(b"5 ggp-play black A1\n")
    with served.connect() as other:
        assert served.ask(b"name\n", other) == b"= ggp-engine\n\n"
        assert served.ask(b"ggp-new go size=5\n", other).startswith(b"= phase=play")
        assert b"ply=1" in served.ask(b"ggp-play black A1\n", other)
    assert _unread(served.peer)
    answers = b""
    while not answers.endswith(b"ply=1\n\n"):
        some = served.peer.recv(1 << 20)
        assert some, answers[-100:]
        answers += some
    assert answers == whole * asked + b"=5 move=A1 phase=play to_play=white seat=2 ply=1\n\n"
    served.close()


def _unread(peer: socket.socket) -> int:
    """Bytes that the other end has not read yet."""
    return int.from_bytes(fcntl.ioctl(peer, termios.TIOCOUTQ, bytes(4)), sys.byteorder)


@pytest.mark.parametrize("how", ["class", "wrapper", "patched game"])
def test_a_game_that_is_ours_but_for_a_rule_takes_the_general_way(how: str) -> None:
    class Wrapper:
        def __init__(self, state: GoState) -> None:
            self._state = state

        def play(self, move: str) -> str:
            if move.lower() == "pass":
                raise IllegalMove("no pass here")
            return self._state.play(move)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._state, name)

    class NoPass(GoState):
        def __init__(self, core: _core.Go, komi: float) -> None:
            super().__init__(core, komi)
            self.play = Wrapper(GoState(core, komi)).play

    class File(Go):
        def new(self, options: Options) -> Any:
            state = super().new(options)
            return Wrapper(state) if how == "wrapper" else NoPass(state.core, 7.5)

    game: Go = File()
    if how == "patched game":
        game = Go()
        game.new = File().new  # type: ignore[method-assign]
    session = Session(Registry(game))
    session.new("go", ["size=3"])
    fast_path = make_responder(session).fast_path
    assert fast_path is not None
    asking, answering = socket.socketpair()
    with asking, answering:
        asking.send(b"ggp-play black pass\n")
        assert fast_path(answering.fileno(), answering.fileno(), 1) == (b"ggp-play black pass\n", b"")


def test_pipelined_and_broken_lines_take_the_general_way() -> None:
    served = Served()
    assert served.ask(b"ggp-new go size=5\n").startswith(b"= phase=play")
    both = served.ask(b"1 ggp-play black A1\n2 ggp-play white B1\n")
    both = both if both.count(b"\n\n") == 2 else both + os.read(served.read_end, 65536)
    assert both == (
        b"=1 move=A1 phase=play to_play=white seat=2 ply=1\n\n=2 move=B1 phase=play to_play=black seat=1 ply=2\n\n"
    )
    os.write(served.ask_end, b"3 ggp-play bl")
    assert served.ask(b"ack C1\n") == b"=3 move=C1 phase=play to_play=white seat=2 ply=3\n\n"
    assert served.ask(b"4 ggp-play white D1\n") == b"=4 move=D1 phase=play to_play=black seat=1 ply=4\n\n"
    served.close()
    assert served.counted.fast in (1, 2)  # the pieces of line 3 may have come together


def test_the_limit_ends_the_fast_path() -> None:
    core = _core.Go(size=5)
    into, out = os.pipe(), os.pipe()
    os.write(into[1], b"ggp-play black A1\n")
    assert core.answer_plays(into[0], out[1], 0, 9) == (b"ggp-play black A1\n", [], b"")
    os.write(into[1], b"ggp-play black A1\n")
    os.close(into[1])
    assert core.answer_plays(into[0], out[1], 5, 9) == (b"", [(1, "black", "A1")], b"")
    assert os.read(out[0], 100) == b"= move=A1 phase=play to_play=white seat=2 ply=1\n\n"
    for descriptor in (into[0], *out):
        os.close(descriptor)


def test_a_controller_that_leaves_ends_the_fast_path() -> None:
    core = _core.Go(size=5)
    into, out = os.pipe(), os.pipe()
    os.close(out[0])
    os.write(into[1], b"ggp-play black A1\n")
    assert core.answer_plays(into[0], out[1], 5, 9) == (b"", [(1, "black", "A1")], b"")
    for descriptor in (*into, out[1]):
        os.close(descriptor)


def test_a_turn_that_a_file_sets_is_used_by_one_play(tmp_path: Path) -> None:
    """Or it would be Black's again after a change of komi."""
    file = tmp_path / "turn.sgf"
    file.write_text("(;GM[1]FF[4]SZ[5];B[aa];PL[B])", encoding="utf-8")
    served = Served()
    served.ask(b"ggp-new go size=5\n")
    assert served.ask(b"loadsgf %b\n" % bytes(file)) == b"=\n\n"
    assert b"to_play=black seat=1 ply=1" in served.ask(b"ggp-status\n")
    assert b"to_play=white" in served.ask(b"ggp-play black C1\n")
    assert served.ask(b"komi 3.5\n") == b"=\n\n"
    assert b"to_play=white" in served.ask(b"ggp-status\n")
    served.close()
    assert served.counted.fast == 1


@pytest.mark.slow
def test_an_interrupt_reaches_an_engine_that_waits_in_the_fast_path() -> None:
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a job in the background ignores it, children too
    try:
        engine = subprocess.Popen(
            [sys.executable, "-m", "ggp.engines", "go"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with engine:
        assert engine.stdin is not None and engine.stdout is not None and engine.stderr is not None
        engine.stdin.write(b"ggp-status\n")
        engine.stdin.flush()
        assert engine.stdout.readline().startswith(b"= phase=play")
        engine.send_signal(2)
        assert engine.wait(10) == 130
        assert engine.stderr.read() == b""
