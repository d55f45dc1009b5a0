"""How clients come in: framing, one that floods or does not read beside others, waiting, quitting, and the end."""

import contextlib
import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import zmq

from protocol.commands import Who, commands_of, required
from protocol.conformance import FRAMING, run_checks
from protocol.errors import CommandFailed
from protocol.transports.blocking import run_blocking
from protocol.transports.pipe import Pipe
from referee.control.control import ORDERS, CommandQueue, RunController, first_news
from referee.control.handlers import responders
from referee.control.server import CpuShare, Listener, StandardInput
from tests.support.cli import wait_until
from tests.support.referee_process import Client

PROMPT = 30.0  # seconds, on a machine that does much else


class Idle:
    """A referee without a ladder whose loop runs in a thread of the test."""

    def __init__(self) -> None:
        self.desk = CommandQueue(first_news("", None))
        self.steering = RunController(self.desk, remains=True)
        self.make = responders(self.desk, None)
        self._thread = threading.Thread(target=self._turn)
        self._thread.start()

    def _turn(self) -> None:
        while not self.steering.ending:
            self.steering.serve(None)
            time.sleep(0.01)
        self.steering.close()

    def close(self) -> None:
        self.steering.ending = "the test is over"
        self._thread.join()


@pytest.fixture
def idle() -> Iterator[Idle]:
    with closing(Idle()) as idle:
        yield idle


@pytest.fixture
def listener(idle: Idle) -> Iterator[Listener]:
    listener = Listener("tcp://127.0.0.1:*", idle.make)
    yield listener
    listener.close()


def test_every_command_of_the_table_is_answered_and_no_other(listener: Listener) -> None:
    client = Client(listener.url)
    listed = client.ask("list_commands").split()
    assert sorted(listed) == sorted({row.name for row in commands_of(Who.REFEREE)}) and len(set(listed)) == len(listed)
    assert set(required(Who.REFEREE)) <= set(listed)
    for row in commands_of(Who.REFEREE):
        if row.name.startswith("ggp-") and not row.arguments:
            assert "syntax error" in client.refused(f"{row.name} a b c d"), row
    client.close()


def test_framing(idle: Idle) -> None:
    """The numbered checks that everybody's program must pass, on standard input."""
    doors: list[StandardInput] = []

    def connect() -> Pipe:
        (theirs_in, ours_out), (ours_in, theirs_out) = os.pipe(), os.pipe()

        def left() -> None:
            os.close(theirs_out)
            os.close(theirs_in)

        doors.append(StandardInput(idle.make(True), left, theirs_in, theirs_out))
        return Pipe(ours_out, ours_in)

    checks = [check for check in FRAMING if not check.script]
    findings = run_blocking(run_checks(connect, checks, patience=PROMPT))
    assert [finding for finding in findings if not finding.passed] == []
    for door in doors:
        door.close()


def test_one_that_floods_and_one_that_does_not_read_keep_nobody_waiting(listener: Listener) -> None:
    context = zmq.Context()
    flooding, deaf = context.socket(zmq.DEALER), context.socket(zmq.DEALER)
    deaf.setsockopt(zmq.RCVHWM, 1)
    for socket in (flooding, deaf):
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.SNDTIMEO, 100)
        socket.connect(listener.url)
    client = Client(listener.url)
    slowest = 0.0
    for _ in range(6):
        flooding.send(b"name\n" * 20_000)
    for _ in range(20):
        for _ in range(100):
            with contextlib.suppress(zmq.Again):
                deaf.send(b"list_commands\n" * 20, zmq.NOBLOCK)
        began = time.monotonic()
        assert client.ask("name") == "ggp-referee"
        slowest = max(slowest, time.monotonic() - began)
    assert slowest < PROMPT
    heard = b""
    flooding.setsockopt(zmq.RCVTIMEO, int(PROMPT * 1000))
    while b"too many commands" not in heard:
        heard = flooding.recv()
    client.close()
    context.destroy()


def test_whoever_waits_is_told_and_keeps_nobody_waiting(idle: Idle, listener: Listener) -> None:
    one, two = Client(listener.url), Client(listener.url)
    wait_until(lambda: idle.desk.news.change > 0)
    told: list[str] = []
    waiting = threading.Thread(target=lambda: told.append(one.ask("ggp-wait 60")))
    waiting.start()
    time.sleep(0.2)
    assert two.ask("name") == "ggp-referee" and not told
    idle.desk.ask(lambda steering: steering.stop(True))
    waiting.join(PROMPT)
    assert told and "state=stopping" in told[0]
    assert two.refused("ggp-wait soon") and two.refused("ggp-wait 1 -1") and two.refused("ggp-wait 100000")
    one.close()
    two.close()


def test_a_loop_that_is_busy_refuses_and_changes_nothing() -> None:
    desk = CommandQueue(first_news("", None))
    steering = RunController(desk, remains=True)
    done: list[int] = []
    for _ in range(ORDERS):
        with pytest.raises(CommandFailed, match="busy: ask again"):
            desk.ask(lambda steering: done.append(1), 0.001)
    with pytest.raises(CommandFailed, match=f"{ORDERS} orders are waiting"):
        desk.ask(lambda steering: done.append(1))
    desk.serve(steering)
    assert not done
    steering.close()
    with pytest.raises(CommandFailed, match="has ended"):
        desk.ask(lambda steering: done.append(1))


def test_a_session_ends_with_quit_and_another_may_begin(listener: Listener) -> None:
    client = Client(listener.url)
    assert client.ask("quit") == "" and client.ask("name") == "ggp-referee"
    client.close()


def test_nobody_is_served_from_elsewhere(idle: Idle, tmp_path: Path) -> None:
    for url in ("tcp://0.0.0.0:5577", "tcp://192.0.2.1:5577", "udp://127.0.0.1:5577"):
        with pytest.raises(ValueError, match="cannot listen"):
            Listener(url, idle.make)
    listener = Listener(f"ipc://{tmp_path}/door", idle.make)
    assert stat.S_IMODE((tmp_path / "door").stat().st_mode) & 0o077 == 0, "only this user may connect"
    client = Client(listener.url)
    assert client.ask("ggp-version") == "1"
    client.close()
    listener.close()
    assert [*tmp_path.iterdir()] == [], "its socket file is gone with it"


@pytest.mark.slow
def test_a_share_of_a_core_is_kept() -> None:
    share = CpuShare(0.001)
    slept, until = 0.0, time.thread_time() + 1.0
    while time.thread_time() < until:
        slept += share.pause()
    assert slept > 0
