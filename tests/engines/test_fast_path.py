"""The engine's hot path, in which the core answers plays itself, says exactly what the general way says, on stdin and
in a service of many sessions."""

import os
import random
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Protocol

import pytest

from ggp.engines import _core
from ggp.engines.registry import Registry
from ggp.engines.service import make_responder
from ggp.engines.session import Session
from ggp.protocol.responder import Responder
from ggp.protocol.transports.pipe import serve_stdio
from ggp.protocol.transports.unix import UnixService

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
    """The responder of a session, and how many plies its fast path played."""

    def __init__(self) -> None:
        self.session = Session(Registry())
        self.responder = make_responder(self.session)
        self.fast = 0
        fast_path = self.responder.fast_path
        assert fast_path is not None

        def counted(source: int, sink: int, commands: int) -> tuple[bytes | None, bytes]:
            before = len(self.session.line.plies) if self.session.line else 0
            answered = fast_path(source, sink, commands)
            self.fast += len(self.session.line.plies) - before if self.session.line else 0
            return answered

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
            answer += os.read(self.read_end, 65536)
        return answer

    def close(self) -> None:
        os.close(self.ask_end)
        self.thread.join(10)
        os.close(self.read_end)


class ServedAtSocket:
    """An Asked at a Unix stream socket, beside others."""

    def __init__(self, path: Path) -> None:
        self.counted = Counted()
        self.service = UnixService(f"unix://{path}", self._make)
        self._stop = False
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        self.peer = socket.socket(socket.AF_UNIX)
        self.peer.settimeout(60)
        self.peer.connect(str(path))

    def ask(self, line: bytes) -> bytes:
        self.peer.sendall(line)
        answer = b""
        while not answer.endswith(b"\n\n"):
            answer += self.peer.recv(65536)
        return answer

    def close(self) -> None:
        self.peer.close()
        self._stop = True
        self._thread.join(10)
        self.service.close()

    def _make(self) -> Responder:
        return self.counted.responder

    def _serve(self) -> None:
        while not self._stop:
            self.service.serve_some(0.02)


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


def test_a_session_answers_one_command_in_its_turn(tmp_path: Path) -> None:
    """Or one that goes on asking would keep the others waiting."""
    served = ServedAtSocket(tmp_path / "socket")
    served.ask(b"ggp-new go size=19\n")
    into, out = os.pipe(), os.pipe()
    os.write(into[1], b"ggp-legal_moves\n")
    os.set_blocking(into[0], False)
    assert served.counted.responder.fast_path
    assert served.counted.responder.fast_path(into[0], out[1], 1) == (None, b"")
    assert os.read(out[0], 65536).startswith(b"= A1 ")
    assert served.counted.responder.fast_path(into[0], out[1], 1) == (None, b"")  # there is nothing
    for descriptor in (*into, *out):
        os.close(descriptor)
    served.close()


def test_a_deaf_peer_gets_every_answer_once_it_listens(tmp_path: Path) -> None:
    """Its commands wait, one by one, and no other session does."""
    served = ServedAtSocket(tmp_path / "socket")
    served.ask(b"ggp-new go size=19\n")
    whole = served.ask(b"ggp-legal_moves\n")
    asked = 0
    served.peer.settimeout(0.2)
    try:
        while True:  # until it is not read any more
            served.peer.sendall(b"ggp-legal_moves\n")
            asked += 1
    except TimeoutError:
        pass
    served.peer.settimeout(60)
    answers = b""
    while len(answers) < asked * len(whole):
        answers += served.peer.recv(1 << 20)
    assert asked > 100 and answers == whole * asked
    served.close()


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
    file.write_text("(;GM[1]FF[4]SZ[5];B[aa];PL[B])")
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
