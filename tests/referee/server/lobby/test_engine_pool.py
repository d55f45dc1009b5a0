"""Ways from a lobby to an engine: quick and slow answers, long ones, an engine that ends, and over ZeroMQ."""

import asyncio
import contextlib
import os
import shlex
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import zmq

from ggp.protocol.errors import PeerGone, PeerTimeout
from ggp.protocol.transports._exchange import exchange as native_exchange
from ggp.referee.match.bot_spec import BotSpec
from ggp.referee.match.outcome import EngineFailed
from ggp.referee.match.process import Process
from ggp.referee.match.setting import Timeouts
from ggp.referee.server.lobby import engine_pool
from ggp.referee.server.lobby.engine_pool import EngineLink, Engines, EngineSession, RouterLink, StreamLink
from ggp.referee.server.lobby.log import EventLog
from tests.support import zmq_service
from tests.support.codes import raises
from tests.support.unix_service import ServedStream

OURS = (sys.executable, "-m", "ggp.engines")
PATIENCE = 60.0  # seconds


@asynccontextmanager
async def linked(kind: str, folder: Path) -> AsyncIterator[tuple[EngineLink, list[str]]]:
    """A link to a service of tests.support.answering_program, and a word for each time that it was lost."""
    lost: list[str] = []
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    serving: ServedStream | zmq_service.ServedZmq
    link: EngineLink
    if kind == "stream":
        serving = ServedStream(folder / "socket")
        link = StreamLink(serving.service.url, lambda: lost.append("lost"), lambda: "")
    else:
        serving = zmq_service.ServedZmq(f"ipc://{folder}/socket")
        link = RouterLink(context, serving.url, lambda: lost.append("lost"), lambda: "")
    try:
        yield link, lost
    finally:
        link.close()
        serving.stop()
        context.term()


@asynccontextmanager
async def linked_to(talk: Callable[[socket.socket], None], folder: Path) -> AsyncIterator[tuple[EngineLink, list[str]]]:
    """A StreamLink to a thread that accepts one connection and calls `talk`."""
    lost: list[str] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        listener.listen()

        def serve() -> None:
            with listener.accept()[0] as peer:
                talk(peer)

        thread = threading.Thread(target=serve)
        thread.start()
        link = StreamLink(f"unix://{folder}/socket", lambda: lost.append("lost"), lambda: "")
        try:
            yield link, lost
        finally:
            link.close()
            thread.join(PATIENCE)
            assert not thread.is_alive()


@pytest.mark.parametrize("kind", ["stream", "router"])
async def test_quick_slow_and_long_answers_in_two_sessions(kind: str, tmp_path: Path) -> None:
    async with linked(kind, tmp_path) as (link, lost):
        one, two = [await link.connect(PATIENCE) for _ in range(2)]
        deadline = one.now() + 60
        assert (await one.channel.probe_ids(deadline)).ok
        assert [(await one.channel.ask("add 1", deadline)).text for _ in range(3)] == ["1", "2", "3"]
        assert (await two.channel.ask("add 5", deadline)).text == "5"
        for _ in range(5):  # too slow, so that the link no longer blocks for answers
            assert (await one.channel.ask("sleep 0.01", deadline)).ok
        assert (await one.channel.ask("many 900000", deadline)).text == "x" * 900_000
        assert [(await one.channel.ask(f"echo {number}", deadline)).text for number in range(200)] == [
            str(number) for number in range(200)
        ]
        await one.channel.send("echo a", "echo b", "sleep 0.01", "echo c")
        assert [(await one.channel.receive(deadline)).text for _ in range(4)] == ["a", "b", "", "c"]
        assert one.usable and two.usable and not lost


@pytest.mark.parametrize("kind", ["stream", "router"])
async def test_other_tasks_run_while_an_engine_thinks(kind: str, tmp_path: Path) -> None:
    async with linked(kind, tmp_path) as (link, _):
        session = await link.connect(PATIENCE)
        thinking = asyncio.ensure_future(session.channel.ask("sleep 0.5", session.now() + 60))
        turns = 0
        while not thinking.done():
            turns += 1
            await asyncio.sleep(0.01)
        assert turns >= 10


@pytest.mark.parametrize("kind", ["stream", "router"])
async def test_session_that_owes_an_answer_is_not_usable(kind: str, tmp_path: Path) -> None:
    async with linked(kind, tmp_path) as (link, _):
        session = await link.connect(PATIENCE)
        with pytest.raises(PeerTimeout):
            await session.channel.ask("sleep 0.3", session.now() + 0.05)
        assert session.overdue and not session.usable
        session.close()
        again = await link.connect(PATIENCE)
        assert (await again.channel.ask("echo here", again.now() + 60)).text == "here"


async def test_matches_that_ask_in_one_turn_get_their_own_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a match that is alone blocks. Some answers are slow, and one is not waited for any more."""
    waits, exchange = list[float](), native_exchange

    def noted(*of: Any) -> Any:
        waits.append(of[-1])
        return exchange(*of)

    monkeypatch.setattr(engine_pool, "native_exchange", noted)
    async with linked("stream", tmp_path) as (link, lost):
        sessions = [await link.connect(PATIENCE) for _ in range(9)]
        for session in sessions:
            assert (await session.channel.probe_ids(session.now() + 60)).ok
            (reply,) = await session.channel.ask_all(("echo a",), session.now() + 60)  # which comes after a probe
            assert reply.text == "a"
        for number in range(70):  # where many waits are in vain it is one in 64 that blocks
            (reply,) = await session.channel.ask_all((f"echo {number}",), session.now() + 60)
            assert reply.text == str(number)
        assert max(waits) > 0
        waits.clear()

        async def ask(number: int, session: EngineSession) -> None:
            for turn in range(30):
                slow = turn % 10 == 0 and number % 4 == 0
                said = f"{number}.{turn}"
                question = "sleep 0.003" if slow else f"echo {said}"
                (reply,) = await session.channel.ask_all((question,), session.now() + 60)
                assert reply.text == ("" if slow else said)

        first = sessions.pop()
        given_up = asyncio.ensure_future(first.channel.ask("sleep 0.05", first.now() + 60))
        asking = [asyncio.ensure_future(ask(*one)) for one in enumerate(sessions)]
        for _ in range(3):
            await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.gather(*asking)
        assert all(session.usable for session in sessions) and not first.usable and not lost
    assert waits.count(0.0) > 100


async def turns_until(done: "asyncio.Future[Any]") -> int:
    """How often other tasks run until then."""
    turns = 0
    while not done.done():
        turns += 1
        await asyncio.sleep(0)
    return turns


async def test_other_tasks_run_between_quick_commands(tmp_path: Path) -> None:
    """A resumed match sends a command for every ply, one after another."""
    async with linked("stream", tmp_path) as (link, _):
        session = await link.connect(PATIENCE)

        async def ask() -> None:
            for _ in range(200):
                assert (await session.channel.ask("sleep 0.0005", session.now() + 60)).ok

        asking = asyncio.ensure_future(ask())
        assert await turns_until(asking) >= 5
        await asking


async def test_other_tasks_run_while_an_answer_comes_byte_by_byte(tmp_path: Path) -> None:
    def dribble(peer: socket.socket) -> None:
        peer.recv(100)
        for byte in b"= " + b"x" * 1000 + b"\n\n":
            peer.send(bytes([byte]))
            time.sleep(0.0001)

    async with linked_to(dribble, tmp_path) as (link, _):
        session = await link.connect(PATIENCE)
        asking = asyncio.ensure_future(session.channel.ask("echo", session.now() + 60))
        assert await turns_until(asking) >= 20
        assert (await asking).text == "x" * 1000


async def test_session_with_an_unexpected_answer_is_not_usable(tmp_path: Path) -> None:
    said = threading.Event()

    def chatter(peer: socket.socket) -> None:
        peer.recv(100)
        peer.send(b"= asked\n\n")
        said.wait(PATIENCE)
        peer.send(b"= unasked\n\n")
        with contextlib.suppress(ConnectionResetError):
            peer.recv(100)

    async with linked_to(chatter, tmp_path) as (link, lost):
        session = await link.connect(PATIENCE)
        assert (await session.channel.ask("echo", session.now() + 60)).text == "asked"
        assert session.usable
        said.set()
        for _ in range(10_000):
            await asyncio.sleep(0.001)
            if not session.usable:
                break
        assert not (session.usable or lost)


async def test_connecting_to_a_busy_engine_waits(tmp_path: Path) -> None:
    """An engine that starts with many matches at once, and lets few wait at its socket."""
    path = tmp_path / "socket"
    lost: list[str] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(0)
        link = StreamLink(f"unix://{path}", lambda: lost.append("lost"), lambda: "")
        connecting = [asyncio.ensure_future(link.connect(PATIENCE)) for _ in range(5)]
        done: set[asyncio.Future[EngineSession]] = set()
        listener.setblocking(False)
        while len(done) < 5 and not lost:
            done, _ = await asyncio.wait(connecting, timeout=0.05)
            with contextlib.suppress(BlockingIOError):
                listener.accept()[0].close()
        assert len(done) == 5 and not lost
        for _ in range(5):
            await link.connect(0)  # none is accepted any more, and connecting fails
        link.close()
        assert lost


async def test_end_of_an_engine_is_noticed_by_the_next_command(tmp_path: Path) -> None:
    async with linked("stream", tmp_path) as (link, lost):
        session = await link.connect(PATIENCE)
        assert (await session.channel.ask("quit", session.now() + 60)).ok
        with pytest.raises(PeerGone):
            await session.channel.ask("echo a", session.now() + 60)
        assert lost
    assert isinstance(link, StreamLink) and not link.listens()
    assert len(lost) == 1
    silent = await link.connect(PATIENCE)
    with pytest.raises(PeerGone):
        await silent.channel.ask("echo a", silent.now() + 60)
    assert len(lost) == 2


def pid_of(folder: Path) -> int:
    """The process of the engine whose socket is in this folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if b"unix://%s/" % bytes(folder) in path.read_bytes():
                found.append(int(path.parent.name))
    (pid,) = found
    return pid


@pytest.mark.slow
async def test_engine_is_restarted_after_its_end(tmp_path: Path) -> None:
    start = BotSpec("engine", shlex.join(OURS), OURS)
    engines = Engines(tmp_path, 1, Timeouts(), EventLog(quiet=True, write=lambda line: None))
    await engines.open({start})
    try:
        for _ in range(2):  # the second time in the same session
            async with engines.session(start) as engine:
                assert (await engine.new_game("ggp-new yugo size=5")).ply == 0
                move, status = await engine.play("black", "C3")
                assert (move, status.ply, status.to_play) == ("C3", 1, "white")
        pid = pid_of(tmp_path)
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        async with engines.session(start) as engine:
            assert (await engine.new_game("ggp-new yugo size=5")).ply == 0
    finally:
        await engines.close()
    assert [*tmp_path.iterdir()] == []


@pytest.mark.slow
async def test_silent_engine_is_ended_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One match ends the silent engine while another restarts it."""
    ending: list[Process] = []
    stop = Process.stop

    async def slowly(process: Process, kill: bool = False) -> None:  # in a thread
        ending.append(process)
        time.sleep(0.3)
        await stop(process, kill)

    start = BotSpec("engine", shlex.join(OURS), OURS)
    engines = Engines(tmp_path, 1, Timeouts(command=0.2), EventLog(quiet=True, write=lambda line: None))
    await engines.open({start})
    monkeypatch.setattr(Process, "stop", slowly)

    async def play() -> None:
        async with engines.session(start) as engine:
            assert (await engine.new_game("ggp-new yugo size=5")).ply == 0

    async def find_it_silent() -> None:
        async with engines.session(start) as engine:
            os.kill(pid_of(tmp_path), signal.SIGSTOP)
            with pytest.raises(EngineFailed):
                await engine.legal_moves()
            playing.append(asyncio.ensure_future(play()))  # which comes while it is being ended

    playing: list[asyncio.Future[None]] = []
    try:
        await find_it_silent()
        await playing[0]
        assert len(ending) == 1
        await play()
    finally:
        await engines.close()


@pytest.mark.slow
async def test_engine_that_does_not_listen_is_reported_with_its_stderr(tmp_path: Path) -> None:
    start = BotSpec("engine", "false", (sys.executable, "-c", "import sys; sys.exit('out of order')"))
    engines = Engines(tmp_path, 1, Timeouts(), EventLog(quiet=True, write=lambda line: None))
    with raises(EngineFailed, "engine-failed") as failed:
        await engines.open({start})
    assert "out of order" in str(failed.value), "what it wrote on standard error"
    await engines.close()
