"""The engine's hot path, in which the core answers plays itself, says exactly what the general way says."""

import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ggp.engines import _core
from ggp.engines.fast_path import next_input
from ggp.engines.registry import Registry
from ggp.engines.service import make_responder
from ggp.engines.session import Session
from ggp.protocol.transports.pipe import serve_stdio

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


class Served:
    """A session served over pipes in a thread, asked one line at a time, as a referee does."""

    def __init__(self) -> None:
        stdin, self.ask_end = os.pipe()
        self.read_end, stdout = os.pipe()
        self.session = Session(Registry())
        self.fast = 0

        def read() -> bytes:
            before = len(self.session.line.plies) if self.session.line else 0
            data = next_input(self.session, stdin, stdout)
            self.fast += len(self.session.line.plies) - before if self.session.line else 0
            return data

        def serve() -> None:
            serve_stdio(make_responder(self.session), stdin, stdout, read)
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


@pytest.mark.parametrize("start", STARTS)
def test_both_ways_answer_the_same(start: str) -> None:
    fast = 0
    for seed in range(30):
        lines = lines_of_a_game(start, random.Random(f"{start} {seed}"))
        served = Served()
        answers = [served.ask(line.encode("latin-1") + b"\n") for line in lines]
        served.close()
        assert answers == in_memory(lines)
        fast += served.fast
    assert fast > 50  # or nothing was shown


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
    assert served.fast in (1, 2)  # the pieces of line 3 may have come together


def test_the_limit_ends_the_fast_path() -> None:
    core = _core.Go(size=5)
    into, out = os.pipe(), os.pipe()
    os.write(into[1], b"ggp-play black A1\n")
    assert core.answer_plays(into[0], out[1], 0) == (b"ggp-play black A1\n", [])
    os.write(into[1], b"ggp-play black A1\n")
    os.close(into[1])
    assert core.answer_plays(into[0], out[1], 5) == (b"", [(1, "black", "A1")])
    assert os.read(out[0], 100) == b"= move=A1 phase=play to_play=white seat=2 ply=1\n\n"
    for descriptor in (into[0], *out):
        os.close(descriptor)


def test_a_controller_that_leaves_ends_the_fast_path() -> None:
    core = _core.Go(size=5)
    into, out = os.pipe(), os.pipe()
    os.close(out[0])
    os.write(into[1], b"ggp-play black A1\n")
    assert core.answer_plays(into[0], out[1], 5) == (b"", [(1, "black", "A1")])
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
    assert served.fast == 1


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
