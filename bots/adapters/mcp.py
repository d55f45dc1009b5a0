"""`ggp bot mcp`: a server of the Model Context Protocol whose tools let any agent play a seat of a game.

It either speaks MCP on stdin and stdout and dials a lobby for its games, or with --http plays on stdin and stdout like
any bot and serves MCP at a port.
"""

import asyncio
import contextlib
import hmac
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from ggp.bots.adapters import load
from ggp.bots.adapters.agent_seat import LONGEST_WAIT, AgentSeat, SeatError
from ggp.bots.adapters.flags import flag_lines, flag_names, read_flags
from ggp.bots.options import flags_in
from ggp.bots.sdk import run
from ggp.engines.game import Option, OptionError
from ggp.protocol.errors import CommandFailed

OPTIONS: tuple[Option, ...] = ()
USAGE = "--connect URL [OPTION …] | --http [HOST:]PORT [OPTION …]"
_FLAGS = (
    click.Option(["--connect"], metavar="URL", help="Speak MCP on stdin and stdout, and play at this lobby."),
    click.Option(["--key"], metavar="FILE", help="Your key pair for --connect (see ggp keys new)."),
    click.Option(["--server-key"], metavar="KEY|FILE", help="The lobby's public key, for --connect."),
    click.Option(["--name"], metavar="NAME", help="The bot's name at the lobby, for --connect."),
    click.Option(
        ["--http"],
        metavar="[HOST:]PORT",
        help="Play on stdin and stdout, and serve MCP at http://HOST:PORT/mcp. Port 0 means any free port.",
    ),
    click.Option(["--token-env"], metavar="VAR", help="Environment variable with the clients' token, for --http."),
)
FLAGS = flag_names(_FLAGS)
HELP = f"""
The tools: rules, position, legal_moves, play, why_illegal, wait_for_turn, resign, result.

{flag_lines(_FLAGS)}
"""
INSTRUCTIONS = (
    "You sit at a board game. Call wait_for_turn, read the rules once and the position at each turn, and play a legal "
    "move; then wait again, until the game is over. Clocks may run: an illegal move costs nothing but time."
)
SAFE_WAY = (
    "every user of the machine can see a token in a command line: put it into an environment variable and name that "
    "variable, as in --token-env MCP_TOKEN"
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}", re.ASCII)
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_STARTS = 30.0  # seconds until the server listens
_LAST_WORD = 1.0  # seconds after the end of the input for an agent to learn how its game ended
GONE = "the agent has gone"


@dataclass(frozen=True, slots=True)
class McpOptions:
    """The options of the command line; "" if one is not given."""

    connect: str = ""
    key: str = ""
    server_key: str = ""
    name: str = ""
    http: str = ""
    token_env: str = ""

    @property
    def address(self) -> tuple[str, int]:
        """Return host and port of --http."""
        host, _, port = self.http.rpartition(":")
        return host.strip("[]") or "127.0.0.1", int(port)


def main(words: Sequence[str], engines: Sequence[str] = ()) -> None:
    """Serve an agent until it leaves or the input ends.

    Raises:
        OptionError: The command line is invalid.
    """
    said = read_command(words)
    token = _token(said, os.environ)
    load("mcp", "mcp", "mcp")
    seat = AgentSeat()
    with contextlib.ExitStack() as stack:
        if said.connect:
            stack.enter_context(_on_stdio(seat))
        else:
            stack.enter_context(_at_port(seat, said.address, token))
        run(
            seat.choose,
            name=said.name or "mcp",
            analysis=True,
            told=seat.told,
            connect=said.connect,
            key=said.key,
            server_key=said.server_key,
            engine=engines,
            words=(),
        )


def read_command(words: Sequence[str]) -> McpOptions:
    """Parse the command line.

    Raises:
        OptionError: It is invalid. The message never repeats a word that may be a token.
    """
    for name, value in flags_in(words, FLAGS):
        if not name and value.partition("=")[0] in ("--token", "--http-token"):
            raise OptionError(f"mcp: {SAFE_WAY}")
        if name == "--token-env" and not _VARIABLE.fullmatch(value):
            raise OptionError(f"mcp: --token-env: write the name of a variable, not a token: {SAFE_WAY}")
        if name and not value.isprintable():
            raise OptionError(f"mcp: {name}: write printable text")
    said = McpOptions(**{name: value or "" for name, value in read_flags("mcp", _FLAGS, words).items()})
    if bool(said.connect) == bool(said.http):
        raise OptionError(
            "mcp: choose one of --connect tcp://HOST:PORT (the agent on stdin and stdout, the games at a lobby) and "
            "--http PORT (the games on stdin and stdout)"
        )
    if said.http:
        if said.key or said.server_key or said.name:
            raise OptionError("mcp: --key, --server-key and --name need --connect")
        _check_address(said)
    elif said.token_env:
        raise OptionError("mcp: --token-env needs --http")
    return said


def _check_address(said: McpOptions) -> None:
    port = said.http.rpartition(":")[2]
    if not (port.isascii() and port.isdecimal() and int(port[:6]) < 65536 and len(port) < 6):
        raise OptionError(f"mcp: --http {said.http[:60]}: write PORT or HOST:PORT")
    if said.address[0] not in LOOPBACK and not said.token_env:
        raise OptionError(f"mcp: everyone who can reach {said.http[:60]} could move: add --token-env MCP_TOKEN")


def _token(said: McpOptions, environment: Mapping[str, str]) -> str:
    if not said.token_env:
        return ""
    token = environment.get(said.token_env, "").strip()
    if said.token_env not in environment:  # the message omits the name, which may be a token
        raise OptionError(
            "mcp: --token-env: the environment has no variable of that name, which needs a token: one word "
            "of 16 characters or more"
        )
    if len(token) < 16 or not token.isascii() or not token.isprintable() or " " in token:
        raise OptionError(f"mcp: the variable {said.token_env[:60]} needs a token: one word of 16 characters or more")
    return token


def make_server(seat: AgentSeat, begun: Callable[[], object] = lambda: None) -> Any:
    """Return an MCPServer with the seat's tools; `begun` is called when it starts to serve."""
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    @contextlib.asynccontextmanager
    async def lifespan(server: Any) -> AsyncIterator[None]:
        begun()
        yield

    server = MCPServer("ggp", instructions=INSTRUCTIONS, log_level="WARNING", lifespan=lifespan)

    def answered(question: Callable[[], Any]) -> Any:
        try:
            return question()
        except (SeatError, CommandFailed) as error:  # CommandFailed: the bot's own engine failed
            raise ToolError(str(error)) from None

    def rules() -> str:
        """Return the rules of the game, its options and its notation."""
        return str(answered(seat.rules))

    def position() -> str:
        """Return the board, all moves so far, whose turn it is, and the clocks."""
        return str(answered(seat.position))

    def legal_moves() -> str:
        """Return all legal moves, separated by blanks."""
        return " ".join(answered(seat.legal_moves))

    def play(move: str) -> str:
        """Play a move. An illegal move is refused with the reason, and you may play another one."""
        return str(answered(lambda: seat.play(move)))

    def why_illegal(move: str) -> str:
        """Check a move without playing it, and explain why it is illegal."""
        return answered(lambda: seat.why_illegal(move)) or f"{move} is legal"

    def wait_for_turn(seconds: float = LONGEST_WAIT) -> str:
        """Wait until it is your turn or the game is over, at most 50 seconds. If it is neither, call this again."""
        return str(answered(lambda: seat.wait_for_turn(seconds)))

    def resign() -> str:
        """Resign the game."""
        return str(answered(seat.resign))

    def result() -> str:
        """Return how the game ended, or that it has not ended."""
        return str(answered(seat.result))

    for tool in (rules, position, legal_moves, play, why_illegal, wait_for_turn, resign, result):
        server.add_tool(tool, structured_output=False)
    return server


@contextlib.contextmanager
def _on_stdio(seat: AgentSeat) -> Iterator[None]:
    """Serve MCP on stdin and stdout in a thread. At the end of the input, this process gets SIGTERM."""
    begun = threading.Event()
    server = make_server(seat, begun.set)

    def serve() -> None:
        try:
            asyncio.run(server.run_stdio_async())
        finally:
            seat.close(GONE)
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=serve, daemon=True).start()
    if not begun.wait(_STARTS):
        raise OptionError(f"mcp: the server did not start within {_STARTS:.0f} s")
    try:
        yield
    finally:
        seat.close(GONE)
        sys.stderr.flush()


@contextlib.contextmanager
def _at_port(seat: AgentSeat, address: tuple[str, int], token: str) -> Iterator[None]:
    """Serve MCP over HTTP in a thread."""
    import uvicorn

    host, port = address
    shown = f"[{host}]" if ":" in host else host
    try:
        listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise OptionError(f"mcp: cannot listen at {shown}:{port}: {error.strerror}; choose another port") from None
    with listening:
        app = make_server(seat).streamable_http_app(host=host)
        config = uvicorn.Config(
            with_token(app, token) if token else app,
            log_level="critical",
            access_log=False,
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True)
        thread.start()
        print(f"mcp: listening at http://{shown}:{listening.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
        try:
            yield
        finally:
            seat.linger(_LAST_WORD)
            seat.close(GONE)
            server.should_exit = True
            thread.join(_LAST_WORD)


Asgi = Callable[[Any, Any, Any], Awaitable[None]]


def with_token(app: Asgi, token: str) -> Asgi:
    """Wrap the application so that requests without this token get 401."""
    wanted = f"Bearer {token}".encode()

    async def checked(scope: Any, receive: Any, send: Any) -> None:
        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "http" and not hmac.compare_digest(given, wanted):
            await send({"type": "http.response.start", "status": 401, "headers": [(b"www-authenticate", b"Bearer")]})
            await send({"type": "http.response.body", "body": b"a token is needed"})
            return
        await app(scope, receive, send)

    return checked
