"""`ggp bot mcp`: the tools of a seat, in this process and by the `mcp` package's own client over HTTP and stdio."""

import asyncio
import json
import os
import shlex
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ggp.bots.adapters.agent_seat import AgentSeat, SeatError
from ggp.bots.adapters.mcp import make_server, read_command, with_token
from ggp.bots.command import complete, find_problem
from ggp.bots.sdk import Bot
from ggp.engines.game import OptionError
from ggp.protocol.responder import Responder
from tests.support.cli import Ggp, ggp, ggp_in_process, wait_until
from tests.support.dialled_bots import DialledBots
from tests.support.lobby_server import LobbyProcess, lobby_file

MCP = pytest.mark.needs("mcp")
TOOLS = {"rules", "position", "legal_moves", "play", "why_illegal", "wait_for_turn", "resign", "result"}


class SeatTalk:
    """A bot in this process: `ask` returns at once, `answer` waits for what it says."""

    def __init__(self, seat: AgentSeat) -> None:
        self._responder = Responder("talk", "1", Bot(seat.choose, analysis=True, told=seat.told).handlers())
        self._answers: list[str] = []
        self._thread: threading.Thread | None = None

    def ask(self, line: str) -> None:
        self._thread = threading.Thread(target=self._work, args=(line,))
        self._thread.start()

    def answer(self) -> str:
        assert self._thread is not None
        self._thread.join(60)
        return self._answers.pop()

    def __call__(self, line: str) -> str:
        self.ask(line)
        return self.answer()

    def _work(self, line: str) -> None:
        self._responder.receive(line.encode() + b"\n")
        answer = self._responder.next_answer()
        assert answer is not None
        self._answers.append(answer.decode().removesuffix("\n\n"))


def in_turn(seat: AgentSeat) -> None:
    assert seat.wait_for_turn().startswith("It is your turn.")


# -- the seat


def test_a_turn() -> None:
    seat = AgentSeat()
    talk = SeatTalk(seat)
    with pytest.raises(SeatError, match="no game has begun"):
        seat.rules()
    assert seat.wait_for_turn(0) == "It is not your turn yet: call wait_for_turn again."
    talk("ggp-new yugo size=5")
    assert "not your turn" in seat.position() and "not your turn" in seat.rules()
    talk("play black A1")
    talk.ask("ggp-genmove_analyze white")
    in_turn(seat)
    assert "1(X). . . . 1" in seat.position() and seat.rules().startswith("The game: yugo size=5\n\n# Yugo")
    assert seat.legal_moves()[:2] == ["A2", "A3"] and seat.why_illegal("b2") == ""
    assert "occupied" in seat.why_illegal("A1") and seat.result() == "The game is not over."
    for move in ("A1", "Z9", "", "A1 B2", "resign", "\x00"):
        with pytest.raises(SeatError, match="illegal: "):
            seat.play(move)
    assert seat.play(" b2 ") == "b2 is your move. Call wait_for_turn for the next."
    first, _, kept = talk.answer().partition("\n")
    assert first == "= B2" and kept.count('"illegal"') == 6 and '"named": "b2"' in kept
    for call in (seat.legal_moves, seat.resign, lambda: seat.play("C3"), lambda: seat.why_illegal("C3")):
        with pytest.raises(SeatError, match="not your turn"):
            call()
    assert "Your last position" in seat.position()
    talk("ggp-result B+3.5")
    assert seat.wait_for_turn() == seat.result() == "The game is over: B+3.5"
    assert seat.wait_for_turn(0) == "It is not your turn yet: call wait_for_turn again.", "it was said already"
    with pytest.raises(SeatError, match=r"over: B\+3.5"):
        seat.play("C3")
    assert "Your last position" in seat.position()


def test_the_end_of_a_game_is_heard_though_the_next_has_begun() -> None:
    seat = AgentSeat()
    talk = SeatTalk(seat)
    talk("ggp-new yugo size=5")
    talk("ggp-result B+1")
    talk("ggp-new yugo size=3")
    talk.ask("genmove black")
    assert seat.wait_for_turn() == "The game is over: B+1"
    in_turn(seat)
    seat.play("A1")
    assert talk.answer() == "= A1"


def test_resigning() -> None:
    seat = AgentSeat()
    talk = SeatTalk(seat)
    talk("ggp-new yugo size=5")
    talk.ask("genmove black")
    in_turn(seat)
    seat.resign()
    assert talk.answer() == "= resign"


def test_an_agent_that_makes_no_move_loses_by_its_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.bots.adapters.agent_seat._GRACE", 0.05)
    talk = SeatTalk(AgentSeat())
    talk("ggp-new yugo size=5")
    talk("ggp-clock black=50 white=50")
    assert talk("genmove black") == "? the agent made no move in time"


def test_an_agent_that_has_gone_loses_at_once() -> None:
    seat = AgentSeat()
    talk = SeatTalk(seat)
    talk("ggp-new yugo size=5")
    talk.ask("genmove black")
    in_turn(seat)
    seat.close("the agent has gone")
    assert talk.answer() == talk("genmove black") == "? the agent has gone"
    talk("ggp-result W+F")
    assert seat.wait_for_turn() == "The game is over: W+F"


def test_all_calls_of_a_turn_fit_into_a_record() -> None:
    seat = AgentSeat()
    talk = SeatTalk(seat)
    talk("ggp-new yugo size=3 komi=0")
    talk.ask("ggp-genmove_analyze black")
    in_turn(seat)
    for _ in range(120):
        with pytest.raises(SeatError):
            seat.play("\U0001f600" * 300)
    seat.play("A1")
    first, _, kept = talk.answer().partition("\n")
    assert first == "= A1" and len(json.dumps(json.loads(kept))) <= 60_000


# -- the tools


async def call(client: Any, tool: str, **arguments: Any) -> str:
    """Its text. Raises ValueError for an error."""
    result = await client.call_tool(tool, arguments)
    text = "".join(part.text for part in result.content)
    if result.is_error:
        raise ValueError(text)
    return text


async def play_games(client: Any, games: int, choose: Callable[[list[str]], str]) -> list[str]:
    """Their results."""
    assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
    results: list[str] = []
    while len(results) < games:
        said = await call(client, "wait_for_turn")
        if said.startswith("It is your turn."):
            legal = (await call(client, "legal_moves")).split()
            with pytest.raises(ValueError, match="is illegal: "):
                await call(client, "play", move="Z99")
            assert await call(client, "why_illegal", move=legal[0]) == f"{legal[0]} is legal"
            assert "The board:" in await call(client, "position")
            await call(client, "play", move=choose(legal))
        elif said.startswith("The game is over: "):
            results.append(said)
    return results


@MCP
def test_the_tools_are_those_of_the_seat() -> None:
    from mcp import Client

    seat = AgentSeat()
    talk = SeatTalk(seat)
    talk("ggp-new yugo size=3 komi=0")

    async def session() -> None:
        async with Client(make_server(seat)) as client:
            tools = (await client.list_tools()).tools
            assert {tool.name for tool in tools} == TOOLS and all(tool.description for tool in tools)
            with pytest.raises(ValueError, match="not your turn"):
                await call(client, "play", move="A1")
            talk.ask("genmove black")
            assert (await call(client, "wait_for_turn")).startswith("It is your turn.")
            with pytest.raises(ValueError, match="Z9 is illegal: "):
                await call(client, "play", move="Z9")
            assert "# Yugo" in await call(client, "rules")
            await call(client, "play", move="B2")
            assert await call(client, "result") == "The game is not over."

    asyncio.run(session())
    assert talk.answer() == "= B2"


# -- whole games


@MCP
@pytest.mark.slow
def test_a_client_plays_a_match_over_http(tmp_path: Path) -> None:
    from mcp import Client

    record, said = tmp_path / "games.jsonl", tmp_path / "said"
    program = [sys.executable, "-m", "ggp.bots", "mcp", "--http", "0"]
    bot = "agent=" + shlex.join(["sh", "-c", f'exec "$0" "$@" 2> {shlex.quote(str(said))}', *program])
    match = Ggp("match", "yugo,size=4", bot, "random", "--games", "2", "--jobs", "1", "--record", str(record))

    async def session() -> list[str]:
        async with Client(url) as client:
            return await play_games(client, 2, lambda legal: legal[-1])

    wait_until(lambda: said.exists() and said.read_text(encoding="utf-8").endswith("/mcp\n"))
    url = said.read_text(encoding="utf-8").split()[-1]
    results = asyncio.run(asyncio.wait_for(session(), 120))
    ran = match.wait()
    assert ran.status == 0, ran.err
    assert "ended by: rules 2" in ran.out and len(results) == 2
    table = ggp("export", "--table", str(record)).out.splitlines()
    name, model, games, moves, answers, illegal, *_ = table[1].split()
    assert (name, model, games) == ("agent", "mcp", "2")
    assert int(illegal) == int(moves) == int(answers) - int(moves), "one illegal call before each move"


@pytest.fixture
def lobby(tmp_path: Path) -> Iterator[LobbyProcess]:
    server = LobbyProcess(lobby_file(tmp_path))
    yield server
    server.end()


@MCP
@pytest.mark.slow
def test_a_client_plays_at_a_lobby_over_stdio(lobby: LobbyProcess) -> None:
    from mcp import Client, StdioServerParameters

    other = DialledBots(lobby.url, "ann")
    program = StdioServerParameters(
        command=sys.executable,
        args=["-m", "ggp.bots", "mcp", "--connect", lobby.url, "--name", "agent"],
        env={**os.environ},
    )

    async def session() -> list[str]:
        async with Client(program) as client:
            return await play_games(client, 2, lambda legal: legal[0])

    results = asyncio.run(asyncio.wait_for(session(), 120))
    assert len(results) == 2
    games = lobby.wait_for("game", 2)
    assert [game["word"] for game in games[:2]] == ["rules"] * 2
    wait_until(lambda: not lobby.pids("ggp.bots", "mcp"))  # the end of its input ended it
    other.cut()


# -- the command line


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--connect", "tcp://127.0.0.1:1", "--http", "7000"],
        ["--connect"],
        ["--http", "x"],
        ["--http", "70000"],
        ["--http", "0.0.0.0:7000"],
        ["--http", "7000", "--key", "k"],
        ["--connect", "tcp://127.0.0.1:1", "--token-env", "T"],
        ["--frob", "x"],
        ["--conect", "tcp://127.0.0.1:1"],
    ],
)
def test_bad_words_are_one_line(words: list[str]) -> None:
    problem = find_problem(["mcp", *words])
    assert problem is not None and problem[0] == "options"
    assert problem[1].startswith("mcp: ") and "\n" not in problem[1]
    ran = ggp_in_process("bot", "mcp", *words)
    assert (ran.status, ran.err) == (2, f"ggp bot: {problem[1]}\n")


@pytest.mark.parametrize(
    "words",
    [
        ["--http", "7000", "--token-env", "s3cret-t0ken-s3cret"],
        ["--http", "7000", "--token-env=0123456789abcdef"],
        ["--http", "7000", "--token", "s3cret"],
        ["--http", "7000", "--token=s3cret"],
        ["--http", "7000", "--token-env", "s3cretasaname"],
    ],
)
def test_a_token_in_the_command_line_is_not_repeated(words: list[str]) -> None:
    ran = ggp_in_process("bot", "mcp", *words)
    assert ran.status == 2 and "variable" in ran.err and ran.err.count("\n") == 1
    assert "s3cret" not in ran.err and "012345" not in ran.err


def test_addresses() -> None:
    assert read_command(["--http", "7000"]).address == ("127.0.0.1", 7000)
    assert read_command(["--http=[::1]:7000"]).address == ("::1", 7000)
    assert read_command(["--http", "0.0.0.0:7000", "--token-env", "T"]).address == ("0.0.0.0", 7000)
    assert {"--http", "--connect"} <= {*complete(["mcp"], "--")}


@pytest.mark.parametrize("token", [None, "", "short", "with a blank in it...", "ünïcödé-0123456789"])
def test_a_token_that_is_none(token: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if token is None:
        monkeypatch.delenv("T", raising=False)
    else:
        monkeypatch.setenv("T", token)
    ran = ggp_in_process("bot", "mcp", "--http", "7000", "--token-env", "T")
    assert ran.status == 2 and "16 characters" in ran.err and (not token or token not in ran.err)


def test_a_missing_package_and_a_port_in_use_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.bots.adapters.find_spec", lambda name: None)
    ran = ggp_in_process("bot", "mcp", "--http", "7000")
    assert ran.err == "ggp bot: mcp: mcp is not installed: run pip install mcp\n"
    assert ran.status == 2


@MCP
def test_a_port_in_use_is_one_line() -> None:
    import socket

    from ggp.bots.adapters.mcp import _at_port

    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        pytest.raises(OptionError, match=r"cannot listen at 127.0.0.1:\d+: .*; choose another port"),
        _at_port(AgentSeat(), other.getsockname(), ""),
    ):
        pass


@MCP
def test_an_address_of_ipv6_is_shown_as_a_client_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also on machines without IPv6."""
    from ggp.bots.adapters.mcp import _at_port

    monkeypatch.setattr("socket.create_server", _refuse)
    with (
        pytest.raises(OptionError, match=r"cannot listen at \[::1\]:7: "),
        _at_port(AgentSeat(), ("::1", 7), ""),
    ):
        pass


def _refuse(*words: Any, **more: Any) -> None:
    raise OSError(98, "Address already in use")


async def _no_app(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})


@pytest.mark.parametrize(
    ("headers", "status"),
    [([], 401), ([(b"authorization", b"Bearer wrong")], 401), ([(b"authorization", b"Bearer t0ken")], 200)],
)
def test_only_who_has_the_token_is_let_in(headers: list[tuple[bytes, bytes]], status: int) -> None:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(_asgi(with_token(_no_app, "t0ken"), {"type": "http", "headers": headers}, send))
    assert sent[0]["status"] == status


async def _asgi(app: Any, scope: Any, send: Any) -> None:
    await app(scope, None, send)
