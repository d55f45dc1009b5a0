"""Ways from a lobby to an engine: quick and slow answers, long ones, an engine that ends; a stranger's over ZeroMQ."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import zmq

from protocol.errors import PeerGone, PeerTimeout
from referee.config import Budgets
from referee.lobby.engines import Engines
from referee.lobby.journal import Journal
from referee.lobby.links import Link, RouterLink, StreamLink
from referee.play.outcome import EngineFailed
from referee.play.seating import Start
from tests import test_protocol_stream, zmq_service

OURS = (sys.executable, "-m", "engines")
STRANGER = (sys.executable, "-m", "tests.zmq_engine")


@asynccontextmanager
async def linked(kind: str, folder: Path) -> AsyncIterator[tuple[Link, list[str]]]:
    """A link to a service of tests.answerer, and a word for each time that it was lost."""
    lost: list[str] = []
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    serving: test_protocol_stream.Serving | zmq_service.Serving
    link: Link
    if kind == "stream":
        serving = test_protocol_stream.Serving(folder / "socket")
        link = StreamLink(serving.service.url, lambda: lost.append("lost"), lambda: "")
    else:
        serving = zmq_service.Serving(f"ipc://{folder}/socket")
        link = RouterLink(context, serving.url, lambda: lost.append("lost"), lambda: "")
    try:
        assert link.listens()
        yield link, lost
    finally:
        link.close()
        serving.stop()
        context.term()


@pytest.mark.parametrize("kind", ["stream", "router"])
async def test_quick_slow_and_long_answers_in_sessions_apart(kind: str, tmp_path: Path) -> None:
    async with linked(kind, tmp_path) as (link, lost):
        one, two = link.connect(), link.connect()
        deadline = one.now() + 60
        assert (await one.channel.probe_ids(deadline)).ok
        assert [(await one.channel.ask("add 1", deadline)).text for _ in range(3)] == ["1", "2", "3"]
        assert (await two.channel.ask("add 5", deadline)).text == "5"
        for _ in range(5):  # in vain, so that none is waited for in place any more
            assert (await one.channel.ask("sleep 0.01", deadline)).ok
        assert (await one.channel.ask("many 900000", deadline)).text == "x" * 900_000
        assert [(await one.channel.ask(f"echo {number}", deadline)).text for number in range(200)] == [
            str(number) for number in range(200)
        ]
        await one.channel.send("echo a", "echo b", "sleep 0.01", "echo c")
        assert [(await one.channel.receive(deadline)).text for _ in range(4)] == ["a", "b", "", "c"]
        assert one.usable and two.usable and not lost


@pytest.mark.parametrize("kind", ["stream", "router"])
async def test_others_in_the_loop_go_on_while_an_engine_thinks(kind: str, tmp_path: Path) -> None:
    async with linked(kind, tmp_path) as (link, _):
        session = link.connect()
        thinking = asyncio.ensure_future(session.channel.ask("sleep 0.5", session.now() + 60))
        turns = 0
        while not thinking.done():
            turns += 1
            await asyncio.sleep(0.01)
        assert turns >= 10


@pytest.mark.parametrize("kind", ["stream", "router"])
async def test_a_session_that_owes_an_answer_is_of_no_use(kind: str, tmp_path: Path) -> None:
    async with linked(kind, tmp_path) as (link, _):
        session = link.connect()
        with pytest.raises(PeerTimeout):
            await session.channel.ask("sleep 0.3", session.now() + 0.05)
        assert session.overdue and not session.usable
        link.drop(session)
        again = link.connect()
        assert (await again.channel.ask("echo here", again.now() + 60)).text == "here"


async def test_an_engine_that_ends_is_noticed_where_it_is_asked(tmp_path: Path) -> None:
    async with linked("stream", tmp_path) as (link, lost):
        session = link.connect()
        assert (await session.channel.ask("quit", session.now() + 60)).ok
        with pytest.raises(PeerGone):
            await session.channel.ask("echo a", session.now() + 60)
        assert lost
    assert not link.listens()
    assert len(lost) == 1
    silent = link.connect()
    with pytest.raises(PeerGone):
        await silent.channel.ask("echo a", silent.now() + 60)
    assert len(lost) == 2


@pytest.mark.parametrize("argv", [OURS, STRANGER], ids=["ours", "a stranger's"])
async def test_a_program_listens_as_it_can_and_plays(argv: tuple[str, ...], tmp_path: Path) -> None:
    start = Start("engine", " ".join(argv), argv)
    engines = Engines(tmp_path, 1, Budgets(), Journal(quiet=True, write=lambda line: None))
    await engines.open({start})
    try:
        for _ in range(2):  # the second time in the same session
            async with engines.session(start) as engine:
                assert (await engine.new_game("ggp-new yugo size=5")).ply == 0
                move, status = await engine.play("black", "C3")
                assert (move, status.ply, status.to_play) == ("C3", 1, "white")
    finally:
        await engines.close()
    assert [*tmp_path.iterdir()] == []


async def test_a_program_that_listens_nowhere_says_why(tmp_path: Path) -> None:
    start = Start("engine", "false", (sys.executable, "-c", "import sys; sys.exit('out of order')"))
    engines = Engines(tmp_path, 1, Budgets(), Journal(quiet=True, write=lambda line: None))
    with pytest.raises(EngineFailed, match="exit status 1; out of order"):
        await engines.open({start})
    await engines.close()
