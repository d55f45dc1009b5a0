"""One peer of `ggp engine --bind` and all others: what it asks for and what it sends costs the others nothing."""

import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zmq

from ggp.protocol.transports.turns import PROCESSES
from ggp.protocol.transports.unix import UnixService
from ggp.protocol.transports.zmq import Service
from tests.support.answering_program import make_responder
from tests.support.raw_zmtp import GREETING, MORE, Raw, frame, ready

pytestmark = pytest.mark.slow

PATIENCE = 60.0  # seconds
SLOW = "ggp-perft 8"  # of yugo 5x5: minutes
MOST_SENT = 1 << 30  # bytes of one message
ATTACKERS = 6
MOST_GROWN = 1024 * 1024  # KiB: a busy machine looks late; without a bound, empty frames would take 18 GiB
KINDS = ("tcp", "ipc", "unix")


class ServedPeer:
    """A client of either kind: lines out, whole answers in."""

    def __init__(self, url: str) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] | None = None
        self._heard = b""
        if url.startswith("unix://"):
            self._stream = socket.socket(socket.AF_UNIX)
            self._stream.connect(url.removeprefix("unix://"))
        else:
            self._context = zmq.Context()
            self._dealer = self._context.socket(zmq.DEALER)
            self._dealer.connect(url)

    def send(self, lines: str) -> None:
        if self._context:
            self._dealer.send(lines.encode())
        else:
            self._stream.sendall(lines.encode())

    def answer(self, seconds: float = PATIENCE) -> str:
        """The next whole answer; empty if none comes in time."""
        until = time.monotonic() + seconds
        while b"\n\n" not in self._heard:
            left = max(0.0, until - time.monotonic())
            if self._context:
                if not self._dealer.poll(int(left * 1000)):
                    return ""
                self._heard += self._dealer.recv()
            else:
                self._stream.settimeout(max(left, 0.001))
                try:
                    self._heard += self._stream.recv(65536)
                except TimeoutError:
                    return ""
        answer, self._heard = self._heard.split(b"\n\n", 1)
        return answer.decode()

    def ask(self, line: str) -> str:
        self.send(f"{line}\n")
        return self.answer()

    def close(self) -> None:
        if self._context:
            self._context.destroy(linger=0)
        else:
            self._stream.close()


class ServedEngine:
    """`ggp engine yugo size=5 --bind` in a process."""

    def __init__(self, kind: str, folder: Path) -> None:
        url = "tcp://127.0.0.1:*" if kind == "tcp" else f"{kind}://{folder}/socket"
        command = [sys.executable, "-P", "-m", "ggp.engines", "yugo", "size=5", "--bind", url]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8")
        assert self.process.stderr
        found = re.search(r"listening at (\S+)", self.process.stderr.readline())
        assert found
        self.url = found[1]
        self._peers: list[ServedPeer] = []

    def connect(self) -> ServedPeer:
        self._peers.append(ServedPeer(self.url))
        return self._peers[-1]

    def children(self) -> list[str]:
        words = [
            file.read_text(encoding="utf-8").split()
            for file in Path(f"/proc/{self.process.pid}/task").glob("*/children")
        ]
        return [word for some in words for word in some]

    def memory(self) -> int:
        """Resident, in KiB."""
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8"))
        assert found
        return int(found[1])

    def end(self) -> None:
        for peer in self._peers:
            peer.close()
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=PATIENCE)


@pytest.fixture(params=KINDS)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServedEngine]:
    one = ServedEngine(request.param, tmp_path)
    yield one
    one.end()


def wait_until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_one_that_counts_for_minutes_holds_up_no_session(engine: ServedEngine) -> None:
    busy, other = engine.connect(), engine.connect()
    assert busy.ask("name") == other.ask("name") == "= ggp-engine"
    busy.send(f"{SLOW}\n7 ggp-play b C3\n")
    for _ in range(50):
        assert other.ask("ggp-status") == "= phase=play to_play=black seat=1 ply=0"
    assert engine.connect().ask("ggp-perft 1") == "= 26"
    assert busy.answer(0) == ""


def test_answers_to_slow_commands_come_in_order(engine: ServedEngine) -> None:
    peer = engine.connect()
    peer.send("1 ggp-perft 2\n2 ggp-play b C3\n3 ggp-perft 1\n")
    peer.send("4 ggp-playouts 10 1\n5 ggp-perft x\n6 ggp-status\n")
    answers = [peer.answer() for _ in range(6)]
    assert answers[0] == "=1 651" and answers[1].startswith("=2 move=C3") and answers[2] == "=3 25"
    assert answers[3].startswith("=4 games=10 ") and answers[4].startswith("?5 syntax error")
    assert answers[5].endswith("ply=1")


def test_more_than_may_count_at_a_time_wait_and_their_end_is_noticed(engine: ServedEngine) -> None:
    many = [engine.connect() for _ in range(PROCESSES + 2)]
    for peer in many:
        assert peer.ask("name")
        peer.send(f"{SLOW}\n")
    wait_until(lambda: len(engine.children()) == PROCESSES)
    other = engine.connect()
    assert other.ask("name") == "= ggp-engine"
    for peer in many:
        peer.close()
    wait_until(lambda: not engine.children())
    assert other.ask("ggp-perft 1") == "= 26"


def test_what_counts_ends_with_the_service(engine: ServedEngine) -> None:
    peer = engine.connect()
    peer.ask("name")
    peer.send(f"{SLOW}\n")
    wait_until(lambda: len(engine.children()) == 1)
    (child,) = engine.children()
    engine.process.send_signal(signal.SIGTERM)
    assert engine.process.wait(PATIENCE) == 128 + signal.SIGTERM
    wait_until(lambda: not Path(f"/proc/{child}").exists())  # init takes a moment to reap it


@pytest.mark.parametrize("kind", KINDS)
def test_many_commands_in_one_write_leave_the_others_their_turn(kind: str, tmp_path: Path) -> None:
    service: Service | UnixService
    if kind == "unix":
        service = UnixService(f"unix://{tmp_path}/socket", make_responder)
    else:
        service = Service("tcp://127.0.0.1:*" if kind == "tcp" else f"ipc://{tmp_path}/socket", make_responder)
    stop = threading.Event()

    def serve() -> None:
        while not stop.is_set():
            service.serve_some(0.02) if isinstance(service, UnixService) else service.serve_one(20)

    thread = threading.Thread(target=serve)
    thread.start()
    busy, other = ServedPeer(service.url), ServedPeer(service.url)
    try:
        assert busy.ask("echo a") == other.ask("echo a") == "= a"
        busy.send("sleep 0.02\n" * 300)
        assert busy.answer() == "="
        assert other.ask("echo here") == "= here"
        answered = 1
        while busy.answer(0.001):
            answered += 1
        assert answered < 300
    finally:
        busy.close()
        other.close()
        stop.set()
        thread.join(PATIENCE)
        service.close()


def connect_raw(url: str) -> socket.socket:
    """A ZMTP connection after its handshake."""
    if url.startswith("tcp://"):
        raw = Raw(url)
        raw.shake_hands()
        return raw.socket
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(PATIENCE)
    peer.connect(url.removeprefix("ipc://"))
    peer.sendall(GREETING)
    assert peer.recv(len(GREETING), socket.MSG_WAITALL)[:1] == GREETING[:1]
    peer.sendall(ready())
    heard = b""
    while b"READY" not in heard:
        heard += peer.recv(1000)
    return peer


@pytest.mark.parametrize("size", [0, 200, 50_000], ids=lambda size: f"frames of {size}")
@pytest.mark.parametrize("kind", ["tcp", "ipc"])
def test_messages_without_an_end_are_cut(kind: str, size: int, tmp_path: Path) -> None:
    engine = ServedEngine(kind, tmp_path)
    try:
        other = engine.connect()
        other.ask("ggp-play b C3")
        before = most = engine.memory()
        piece = frame(b"x" * size, MORE)
        piece *= max(1, 100_000 // len(piece))
        sent, rude = 0, [connect_raw(engine.url) for _ in range(ATTACKERS)]
        while rude and sent < MOST_SENT:
            for peer in rude[:]:
                sent += len(piece)
                try:
                    peer.sendall(piece)
                except OSError:
                    rude.remove(peer)
            most = max(most, engine.memory())
        for peer in rude:
            peer.close()
        print(f"{kind}, {size}: {len(rude)} left after {sent >> 10} KiB, grown by {(most - before) >> 10} MiB")
        assert not rude and most - before < MOST_GROWN
        assert other.ask("ggp-status").endswith("ply=1")
    finally:
        engine.end()
