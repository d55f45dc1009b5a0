"""`ggp engine [GAME [name=value …]] [--bind URL] [--gogui]`: an engine on stdin and stdout, or a service.

It imports little, because an engine is started for every match: 100 ms to the first answer is the limit.
"""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from engines.fast_path import next_input
from engines.limits import SLOW
from engines.registry import GameError, Registry
from engines.service import make_responder
from engines.session import Session
from protocol.errors import AddressError, CommandFailed
from protocol.responder import Responder
from protocol.transports.pipe import serve_stdio

if TYPE_CHECKING:
    from protocol.transports.unix import UnixService
    from protocol.transports.zmq import Service

USAGE = """\
Usage: ggp engine [GAME [name=value …]] [--bind URL] [--gogui]

Answers the General Game Protocol (GTP and the ggp- commands) on stdin and stdout.
  GAME name=value …   start with this game, as after `ggp-new GAME name=value …`
  --bind URL          answer there instead, a session for each peer: over ZeroMQ (tcp://127.0.0.1:5555, ipc:///PATH)
                      or at a Unix stream socket (unix:///PATH)
  --gogui             play as GoGui enters moves: compound moves point by point, bids and swaps by a point, and `pass`
                      ends a compound move, takes the button, keeps sides, bids 0 or names no dead stones, whichever
                      is the first that is legal
  --help              this text

Then type: list_commands, ggp-games, ggp-rules GAME, showboard, quit."""

BAD_USAGE = 2


class UsageError(ValueError):
    """Arguments that cannot be; str() is the line for the person who wrote them."""


class Arguments(NamedTuple):
    """The command line, read. `game` is GAME and its name=value words, empty without a game."""

    game: tuple[str, ...] = ()
    bind: str = ""
    gogui: bool = False
    help: bool = False


def main(argv: list[str]) -> int:
    """Serve until `quit`, the end of input or an interrupt. Returns the exit status: 2 for bad arguments."""
    try:
        arguments = parse_arguments(argv)
        if arguments.help:
            print(USAGE)
            return 0
        registry = Registry()
        session = start_session(registry, arguments)  # also for ZeroMQ: a bad game is an error before any connection
        if arguments.bind:
            return _serve_many(registry, arguments)
    except UsageError as error:
        print(f"ggp engine: {error}", file=sys.stderr)
        return BAD_USAGE
    try:
        serve_stdio(make_responder(session), read=lambda: next_input(session))
    except KeyboardInterrupt:
        return 130
    return 0


def complete(before: Sequence[str], typed: str) -> list[str]:
    """What may stand behind these words of the command line, for a shell's completion."""
    options = [option for option in ("--bind", "--gogui", "--help") if option not in before]
    if typed.startswith("-") or before[-1:] == ("--bind",):
        return options if typed.startswith("-") else []
    game = [word for word in before if not word.startswith("-")]
    return complete_game(game) if game else [*complete_game(game), *options]


def complete_game(before: Sequence[str]) -> list[str]:
    """What may stand behind these words of `GAME name=value …`."""
    if not before:
        return list(Registry().names())
    given = {word.partition("=")[0] for word in before[1:]}
    try:
        return [f"{option.name}=" for option in Registry().load(before[0]).options if option.name not in given]
    except GameError:
        return []


def parse_arguments(argv: list[str]) -> Arguments:
    """Raises UsageError."""
    words: list[str] = []
    found = Arguments()
    rest = iter(argv)
    for word in rest:
        if word in ("-h", "--help"):
            found = found._replace(help=True)
        elif word == "--gogui":
            found = found._replace(gogui=True)
        elif word == "--bind" or word.startswith("--bind="):
            url = word[len("--bind=") :] if "=" in word else next(rest, "")
            if not url:
                raise UsageError("--bind needs a URL, such as tcp://127.0.0.1:5555")
            found = found._replace(bind=url)
        elif word.startswith("-"):
            raise UsageError(f"unknown argument: {word[:40]}; try ggp engine --help")
        else:
            words.append(word)
    return found._replace(game=tuple(words))


def start_session(registry: Registry, arguments: Arguments) -> Session:
    """A session with the game of the command line. Raises UsageError."""
    session = Session(registry, arguments.gogui)
    if arguments.game:
        try:
            session.new(arguments.game[0], list(arguments.game[1:]))
        except CommandFailed as error:
            raise UsageError(str(error)) from None
    return session


def _serve_many(registry: Registry, arguments: Arguments) -> int:
    try:
        return serve_at("ggp engine", arguments.bind, lambda: make_responder(start_session(registry, arguments)))
    except AddressError as error:
        raise UsageError(str(error)) from None


def serve_at(program: str, url: str, make: Callable[[], Responder]) -> int:
    """Listen there, each connection with a Responder of its own, until a signal; the exit status. Raises
    AddressError."""
    from protocol.transports.signal_fd import Stopped, Stopping

    with Stopping() as stopping:  # a second signal does not disturb the end
        service = _bind(url, make)
        try:
            print(f"{program}: listening at {service.url}", file=sys.stderr, flush=True)
            service.serve(stopping)
        except Stopped as stopped:
            return 128 + stopped.number
        finally:
            service.close()  # which removes the socket's file


def _bind(url: str, make: Callable[[], Responder]) -> "Service | UnixService":
    """Raises AddressError."""
    from protocol.transports.unix import SCHEME, UnixService

    if url.startswith(SCHEME):
        return UnixService(url, make, slow=SLOW)
    from protocol.transports.zmq import Service  # 30 ms, only for this

    return Service(url, make, slow=SLOW)
