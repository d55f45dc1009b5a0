"""Clients of a referee: framing, one that floods or does not read beside others, waiting, quitting, and the end."""

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

from ggp.protocol.channel import Channel
from ggp.protocol.commands import Who, commands_of, required
from ggp.protocol.conformance import CheckVerdict
from ggp.protocol.connection import PeerRole
from ggp.protocol.errors import AddressError, CommandFailed
from ggp.protocol.responder import Later
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.pipe import Pipe
from ggp.referee.match.process import Peer
from ggp.referee.server.control.control import COMMANDS, CommandQueue, RunController
from ggp.referee.server.control.handlers import Background, responders
from ggp.referee.server.control.server import ControlServer, StandardInput
from ggp.referee.tools.check.run import run_trial
from ggp.referee.tools.check.trial import Trial
from tests.support.checked_peer import exchanges
from tests.support.cli import Client, wait_until
from tests.support.codes import raises

PROMPT = 30.0  # seconds, on a machine that does much else


class Idle:
    """A referee without a ladder whose loop runs in a thread of the test; it serves commands unless it is `stuck`."""

    def __init__(self) -> None:
        self.commands = CommandQueue()
        self.controller = RunController(self.commands, remains=True)
        self.background = Background()
        self.make = responders(self.commands, None, "", self.background)
        self.stuck = False
        self._thread = threading.Thread(target=self._turn)
        self._thread.start()

    def _turn(self) -> None:
        while not self.controller.ending:
            if not self.stuck:
                self.controller.serve(None)
            time.sleep(0.01)
        self.controller.close()

    def close(self) -> None:
        self.controller.ending = "the test is over"
        self._thread.join()
        self.background.close()


@pytest.fixture
def idle() -> Iterator[Idle]:
    with closing(Idle()) as idle:
        yield idle


@pytest.fixture
def server(idle: Idle) -> Iterator[ControlServer]:
    with closing(ControlServer("tcp://127.0.0.1:*", idle.make)) as server:
        yield server


@pytest.fixture
def client(server: ControlServer) -> Iterator[Client]:
    with closing(Client(server.service.url)) as client:
        yield client


@pytest.fixture
def other(server: ControlServer) -> Iterator[Client]:
    with closing(Client(server.service.url)) as client:
        yield client


def test_commands_are_those_of_the_table(client: Client) -> None:
    listed = client.ask("list_commands").split()
    assert sorted(listed) == sorted({row.name for row in commands_of(Who.REFEREE)}) and len(set(listed)) == len(listed)
    assert set(required(Who.REFEREE)) <= set(listed)
    for row in commands_of(Who.REFEREE):
        if row.name.startswith("ggp-") and "…" not in row.arguments and row.name != "ggp-suspend":
            assert client.refused(f"{row.name} a b c d").startswith(f"syntax error: {row.name}"), row


def test_framing(idle: Idle) -> None:
    """The numbered checks for every program, on standard input."""
    inputs: list[StandardInput] = []

    class PipePeer(Peer):
        def __init__(self, pipe: Pipe) -> None:
            self.channel = Channel(pipe, PeerRole.BOT)

        async def stop(self, kill: bool = False) -> None:
            self.channel.close()

    def connect() -> PipePeer:
        (theirs_in, ours_out), (ours_in, theirs_out) = os.pipe(), os.pipe()

        def left() -> None:
            os.close(theirs_out)
            os.close(theirs_in)

        inputs.append(StandardInput(idle.make(True), left, theirs_in, theirs_out))
        return PipePeer(Pipe(ours_out, ours_in))

    framing = [number for number in exchanges(Who.BOT) if number.startswith("2.")]
    trial = Trial(Who.BOT, connect, patience=PROMPT, first=PROMPT)
    assert {one.verdict for one in run_blocking(run_trial(trial, tuple(framing)))} == {CheckVerdict.PASS}
    for one in inputs:
        one.close()


def test_a_client_that_floods_and_one_that_does_not_read_delay_no_other(server: ControlServer, client: Client) -> None:
    context = zmq.Context()
    flooding, deaf = context.socket(zmq.DEALER), context.socket(zmq.DEALER)
    deaf.setsockopt(zmq.RCVHWM, 1)
    for socket in (flooding, deaf):
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.SNDTIMEO, 100)
        socket.connect(server.service.url)
    slowest = 0.0
    for _ in range(20):
        for _ in range(100):
            with contextlib.suppress(zmq.Again):
                flooding.send(b"name\n" * 1000, zmq.NOBLOCK)
                deaf.send(b"list_commands\n" * 20, zmq.NOBLOCK)
        began = time.monotonic()
        assert client.ask("name") == "ggp-referee"
        slowest = max(slowest, time.monotonic() - began)
    assert slowest < 5.0
    context.destroy(linger=0)


def test_a_client_that_waits_for_a_stuck_loop_delays_no_other(idle: Idle, client: Client, other: Client) -> None:
    idle.stuck = True
    asked: list[str] = []
    waiting = threading.Thread(target=lambda: asked.append(client.ask("ggp-stop after")))
    waiting.start()
    for _ in range(10):
        assert other.ask("name") == "ggp-referee" and other.facts("ggp-ladder")["state"] == "idle"
    assert not asked
    idle.stuck = False
    waiting.join(PROMPT)
    assert asked == [""] and other.facts("ggp-ladder")["state"] == "stopping"


def test_a_client_that_waits_gets_its_answer_and_delays_no_other(idle: Idle, client: Client, other: Client) -> None:
    wait_until(lambda: idle.commands.status.change > 0)
    told: list[str] = []
    waiting = threading.Thread(target=lambda: told.append(client.ask("ggp-wait 60")))
    waiting.start()
    time.sleep(0.2)
    assert other.ask("name") == "ggp-referee" and not told
    idle.commands.ask(lambda controller: controller.stop(True))
    waiting.join(PROMPT)
    assert told and "state=stopping" in told[0]
    assert other.refused("ggp-wait soon") and other.refused("ggp-wait 1 -1") and other.refused("ggp-wait 100000")


def test_a_loop_that_is_busy_refuses_and_changes_nothing() -> None:
    commands = CommandQueue()
    controller = RunController(commands, remains=True)
    done: list[int] = []
    for _ in range(COMMANDS):
        with raises(CommandFailed, "busy"):
            commands.ask(lambda controller: done.append(1), 0.001)
    with raises(CommandFailed, "queue-full"):
        commands.ask(lambda controller: done.append(1))
    commands.serve(controller)
    assert not done
    controller.close()
    with raises(CommandFailed, "ended"):
        commands.ask(lambda controller: done.append(1))


def test_slow_answers_are_bounded_and_delay_no_quick_one() -> None:
    background, go = Background(), threading.Event()
    answers: list[Later] = []
    with raises(CommandFailed, "busy"):
        while len(answers) < 1000:
            answers.append(background.submit(lambda: str(go.wait(PROMPT))))
    assert answers[0]() is None
    go.set()
    wait_until(lambda: answers[0]() == "True")
    background.close()


def test_a_session_ends_with_quit_and_another_may_begin(client: Client) -> None:
    assert client.ask("quit") == "" and client.ask("name") == "ggp-referee"


def test_only_local_addresses_are_bound(idle: Idle, tmp_path: Path) -> None:
    for url in ("tcp://0.0.0.0:5577", "tcp://192.0.2.1:5577", "udp://127.0.0.1:5577"):
        with raises(AddressError, "bad-address"):
            ControlServer(url, idle.make)
    server = ControlServer(f"ipc://{tmp_path}/control", idle.make)
    assert stat.S_IMODE((tmp_path / "control").stat().st_mode) & 0o077 == 0, "only this user may connect"
    client = Client(server.service.url)
    assert client.ask("ggp-version") == "1"
    client.close()
    server.close()
    assert [*tmp_path.iterdir()] == [], "its socket file is gone with it"
