"""Every background task of a server is owned: one that fails is logged with its traceback, counted, started again."""

import asyncio
import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zmq

from ggp.protocol.responder import Responder
from ggp.referee.ladder.store.model import Pair, StoreError, UnplayablePair
from ggp.referee.ladder.store.store import Store
from ggp.referee.match.setting import Timeouts
from ggp.referee.server import background_tasks
from ggp.referee.server.background_tasks import BackgroundTasks
from ggp.referee.server.control.server import ControlServer, StandardInput
from ggp.referee.server.lobby import sessions as sessions_module
from ggp.referee.server.lobby.auth import Admission
from ggp.referee.server.lobby.challenges import LobbyCommands
from ggp.referee.server.lobby.config import LobbyTable
from ggp.referee.server.lobby.engine_pool import Engines
from ggp.referee.server.lobby.local_bots import LocalBots
from ggp.referee.server.lobby.log import EventLog
from ggp.referee.server.lobby.open_pairs import StoreWriter
from ggp.referee.server.lobby.remote_bot import Lateness
from ggp.referee.server.lobby.server import LobbyServer
from ggp.referee.server.lobby.spectators import SpectatorConfig, Spectators
from tests.referee.server.lobby.test_local_bots import read
from tests.support.cli import wait_until
from tests.support.memory_lobby import open_lobby, until
from tests.support.raw_zmtp import Raw


class Log:
    """A event_log, and what it has written."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.event_log = EventLog(as_json=True, write=lambda line: self.lines.append(json.loads(line)))

    def faults(self, task: str) -> int:
        return self.event_log.counts["fault", task]

    def traceback(self, task: str) -> str:
        return next(
            (str(one["traceback"]) for one in self.lines if one["event"] == "fault" and one["word"] == task), ""
        )


class Bug(Exception):
    """What no code expects."""


class Once:
    """In place of a method: raises Bug `times` times, and then does what the method does."""

    def __init__(self, target: object, name: str, monkeypatch: pytest.MonkeyPatch, times: int = 1) -> None:
        self._method, self._left = getattr(target, name), times
        self.calls = 0  # that went through
        monkeypatch.setattr(target, name, self)

    def __call__(self, *arguments: Any, **more: Any) -> Any:
        if self._left:
            self._left -= 1
            raise Bug("planted")
        self.calls += 1
        return self._method(*arguments, **more)


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(background_tasks, "FIRST_WAIT", 0.01)
    yield


# -- the mechanism ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["raises", "returns", "is cancelled"])
async def test_a_task_that_ends_is_reported_and_started_again(how: str, log: Log) -> None:
    tasks, starts, again = BackgroundTasks(log.event_log.fault), 0, asyncio.Event()

    async def work() -> None:
        nonlocal starts
        starts += 1
        if starts > 2:
            again.set()
            await asyncio.sleep(3600)
        elif how == "raises":
            raise Bug("planted")
        elif how == "is cancelled":
            cancelled = asyncio.get_running_loop().create_future()
            cancelled.cancel()
            await cancelled

    tasks.keep("work", work)
    await asyncio.wait_for(again.wait(), 60)
    assert log.faults("work") == 2 and starts == 3
    named = {"raises": "Bug: planted", "returns": "EndedByItself", "is cancelled": "CancelledError"}
    assert named[how] in log.traceback("work")
    await tasks.close()
    assert log.faults("work") == 2, "a task that is ended has not failed"


async def test_a_task_that_fails_again_and_again_is_started_less_and_less_often(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 15:
            await asyncio.Event().wait()

    async def work() -> None:
        raise Bug("planted")

    tasks = BackgroundTasks(log.event_log.fault)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    tasks.keep("work", work)
    loop = asyncio.get_running_loop()
    while len(waits) < 15:
        turned = loop.create_future()
        loop.call_soon(turned.set_result, None)
        await turned
    await tasks.close()
    assert waits[:3] == [0.01, 0.02, 0.04] and waits[-1] == background_tasks.LONGEST_WAIT
    assert log.faults("work") == 15
    assert len(log.lines) == 1, "the same traceback is logged once a minute"


async def test_a_job_that_fails_is_reported_and_one_that_ends_is_not(log: Log) -> None:
    tasks = BackgroundTasks(log.event_log.fault)

    async def good() -> None:
        return

    async def bad() -> None:
        raise Bug("planted")

    tasks.run("good", good())
    tasks.run("bad", bad())
    await until(lambda: log.faults("bad") == 1)
    await tasks.close()
    assert log.faults("good") == 0 and "in bad" in log.traceback("bad")


async def test_a_callback_that_fails_is_logged_and_counted(log: Log) -> None:
    def bad() -> None:
        raise Bug("planted")

    asyncio.get_running_loop().set_exception_handler(log.event_log.unhandled)
    asyncio.get_running_loop().call_soon(bad)
    await until(lambda: log.faults("callback") == 1)
    assert "in bad" in log.traceback("callback")


def test_a_traceback_in_a_log_for_people_is_indented_and_cannot_be_forged() -> None:
    said: list[str] = []
    try:
        raise Bug("\x1b[31m\nforged line")
    except Bug as error:
        EventLog(write=said.append).fault("work", error)
    (text,) = said
    assert "\x1b" not in text and all(line.startswith("    ") for line in text.split("\n")[1:]) and "in test_" in text


# -- the lobby -------------------------------------------------------------------------------------------------------


async def test_too_many_connections_from_an_address_leave_the_housekeeping_alive() -> None:
    """The refusal by address had no text in the table of reasons: a KeyError ended all housekeeping for good."""
    async with open_lobby(LobbyTable(hello=0.5), arrivals=0.2) as it:
        crowd = [Raw(it.router.url) for _ in range(8)]
        await until(lambda: it.event_log.counts["refused", "address"] >= 6)
        await until(lambda: it.event_log.counts["refused", "silent"] == 1)
        assert not [key for key in it.event_log.counts if key[0] == "fault"]
        for one in crowd:
            one.close()


async def test_connections_and_keys_are_checked_on_after_failures_of_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions_module, "_CHECK_KEYS", 0.01)
    async with open_lobby(LobbyTable(hello=0.5)) as it:
        connections = Once(it.router, "cut_silent", monkeypatch)
        keys = Once(it.sessions._admission, "changed", monkeypatch, times=2)
        with Raw(it.router.url):
            await until(lambda: it.event_log.counts["refused", "silent"] == 1)
        await until(lambda: keys.calls > 2)
        assert connections.calls and it.event_log.counts["fault", "connections"] == 1
        assert it.event_log.counts["fault", "keys"] == 2


async def test_a_bot_that_cannot_be_welcomed_is_let_go_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_lobby() as it:
        Once(sessions_module, "meet", monkeypatch)
        caller = it.call()
        caller.hello("ann")
        assert "internal error" in await caller.bye()
        await until(lambda: it.event_log.counts["fault", "welcome"] == 1)
        await it.seat("ann")


async def test_games_are_kept_on_after_a_failure(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    class SlowStore:
        def add(self, games: list[object], unplayable: list[object]) -> list[object]:
            return []

    store = SlowStore()
    once = Once(store, "add", monkeypatch)
    writer = StoreWriter(store, log.event_log)  # type: ignore[arg-type]
    writer.open()
    assert await writer.store(object()) == []  # type: ignore[arg-type]
    assert once.calls == 1 and log.faults("store") == 1
    await writer.close()


async def test_a_game_that_cannot_be_stored_holds_up_no_other(log: Log) -> None:
    pair, kept = Pair(1, 1, 0, 0, 1, 2), list[object]()
    good = [UnplayablePair(pair, None, str(number)) for number in range(3)]
    bad = UnplayablePair(pair, None, "bad")

    class FailingOnce:
        def add(self, games: list[object], unplayable: list[object]) -> list[object]:
            if bad in unplayable:
                raise ValueError("a bug")
            kept.extend(unplayable)
            return []

    writer = StoreWriter(FailingOnce(), log.event_log)  # type: ignore[arg-type]
    writer.open()
    async with asyncio.timeout(30):
        done = await asyncio.gather(*map(writer.store, [good[0], bad, *good[1:]]), return_exceptions=True)
    assert [type(one) for one in done] == [list, ValueError, list, list] and kept == good
    assert 1 < log.faults("store") < 10
    await writer.close()


@pytest.mark.parametrize("error", [StoreError("the disk is full"), ValueError("a bug")])
async def test_a_second_signal_ends_a_lobby_whose_store_refuses_everything(log: Log, error: Exception) -> None:
    """It tried for ever to keep the last games, which the next run takes up from their files."""

    class FailingStore:
        def add(self, games: list[object], unplayable: list[object]) -> list[object]:
            raise error

    writer = StoreWriter(FailingStore(), log.event_log)  # type: ignore[arg-type]
    writer.open()
    kept = asyncio.ensure_future(writer.store(object()))  # type: ignore[arg-type]
    await until(lambda: bool(log.faults("store") or log.event_log.counts["store", "refuses"]))
    writer.hurry()
    async with asyncio.timeout(30):
        with pytest.raises(type(error)):
            await kept
        await writer.close()


async def test_engines_are_looked_at_after_a_failure(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.referee.server.lobby.engine_pool._SWEEP", 0.01)
    engines = Engines(tmp_path, 1, Timeouts(), log.event_log)

    class QuietShare:
        def check(self) -> None:
            return

        async def close(self) -> None:
            return

    share = QuietShare()
    once = Once(share, "check", monkeypatch)
    await engines.open(set())
    engines._shares["any"] = [share]  # type: ignore[index, list-item]
    await until(lambda: once.calls > 1)
    assert log.faults("engines") == 1
    await engines.close()


async def test_orders_are_taken_on_after_a_failure(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[bytes] = []
    orders = LobbyCommands(None, log.event_log, lambda route, answer: answers.append(answer), lambda route: None)  # type: ignore[arg-type]
    Once(orders, "_send", monkeypatch)
    orders.open()
    for line in (b"1 name\n", b"2 name\n"):
        orders.submit(b"", None, line)  # type: ignore[arg-type]
    await until(lambda: answers == [b"=2 ggp-lobby\n\n"])
    assert log.faults("orders") == 1
    await orders.close()


async def test_lateness_is_looked_at_after_a_failure(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.get_running_loop().set_exception_handler(log.event_log.unhandled)
    lateness = Lateness()
    once = Once(lateness, "_measure", monkeypatch)
    lateness.start()
    await until(lambda: once.calls > 2)
    assert log.faults("callback") == 1
    lateness.stop()


async def test_a_local_bot_is_started_again_after_a_failure(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = LocalBots(read(tmp_path, ann={"command": "random"}).local, False, 0, log.event_log)
    started = asyncio.Event()

    async def run(identity: object, bot: object, url: str) -> str:
        started.set()
        await asyncio.Event().wait()
        return ""

    monkeypatch.setattr(local, "_run", run)
    Once(local, "_run", monkeypatch)
    local.start("ipc:///nowhere")
    await asyncio.wait_for(started.wait(), 60)
    assert log.faults("local bot") == 1
    await local.close()


async def test_pairing_goes_on_after_a_failure_and_metrics_count_it(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ggp.referee.server.lobby.server._AFTER_FAULT", 0.01)
    settings = replace(read(tmp_path, {"pairing": 0.01, "watch": "none"}), listen="tcp://127.0.0.1:*")

    async def none(starts: set[object]) -> None:
        return

    with Store.open(f"sqlite:///{tmp_path}/club.db", create=True) as store:
        lobby = LobbyServer(settings, store, tmp_path, Admission(), log.event_log)
        monkeypatch.setattr(lobby.engines, "open", none)
        once = Once(lobby, "_pair", monkeypatch)
        running = asyncio.create_task(lobby.run(lambda url: None))
        await until(lambda: once.calls > 2)
        (faults,) = (metric.values for metric in lobby.metrics() if metric.name == "ggp_faults_total")
        assert faults == {'task="pairing"': 1} and "Bug: planted" in log.traceback("pairing")

        meeting = BrokenMeeting()
        await lobby.running._play(meeting, meeting)  # type: ignore[arg-type]
        assert log.faults("match") == 1 and meeting.given_back, "the pair is not taken any more"
        lobby.stop()
        await running


class BrokenMeeting:
    """A meeting, and its open_pairs, that fail."""

    pair, bots, unplayable, given_back = None, (), False, False

    def __init__(self) -> None:
        self.pool = SimpleNamespace(name="small")

    async def play(self) -> list[object]:
        raise Bug("planted")

    def release(self, pair: object, left: object) -> None:
        self.given_back = True


@pytest.mark.slow
async def test_a_local_bots_process_that_cannot_be_followed_is_ended(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = "print('x' * 100_000, flush=True); import time; time.sleep(3600)"
    monkeypatch.setattr("ggp.referee.server.lobby.local_bots._PROGRAM", (sys.executable, "-c", program))
    local = LocalBots(read(tmp_path, ann={"command": "random"}).local, False, 0, log.event_log)
    local.start("ipc:///nowhere")
    await until(lambda: bool(local._processes))
    (process,) = local._processes
    await until(lambda: log.faults("local bot") == 1)
    await until(lambda: process.returncode is not None)
    await local.close()
    assert not local._processes and not local.identities.processes


# -- spectators ------------------------------------------------------------------------------------------------------


async def test_spectators_are_supervised_on_after_a_failure(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    spectators = Spectators(SpectatorConfig("tcp://127.0.0.1:*", "club", "", "", 1), log.event_log)
    started = asyncio.Event()

    async def run() -> str:
        started.set()
        await asyncio.Event().wait()
        return ""

    monkeypatch.setattr(spectators, "_run", run)
    Once(spectators, "_run", monkeypatch)
    spectators.open()
    await asyncio.wait_for(started.wait(), 60)
    assert log.faults("spectators") == 1
    await spectators.close()


# -- the referee's service -------------------------------------------------------------------------------------------


def _responder(trusted: bool) -> Responder:
    return Responder("service", "1", {}, lambda error: None)


@pytest.mark.slow
def test_the_control_server_answers_after_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = ControlServer(f"ipc://{tmp_path}/service", _responder)
    Once(server.service, "serve_one", monkeypatch)
    wait_until(lambda: server.faults == 1)
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    client = context.socket(zmq.DEALER)
    client.connect(f"ipc://{tmp_path}/service")
    client.send(b"name\n")
    assert client.poll(20_000) and client.recv() == b"= service\n\n"
    assert "Bug: planted" in capsys.readouterr().err
    context.destroy(linger=0)
    server.close()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_referee_ends_when_its_standard_input_fails() -> None:
    left = threading.Event()

    class BrokenResponder(Responder):
        def receive(self, data: bytes) -> None:
            raise Bug("planted")

    read, write = os.pipe()
    stdin = StandardInput(BrokenResponder("service", "1", {}, lambda error: None), left.set, read, write)
    os.write(write, b"name\n")
    assert left.wait(20)
    stdin.close()
    for one in (read, write):
        with suppress(OSError):
            os.close(one)
