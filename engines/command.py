"""`ggp engine`: answer for a game on stdin and stdout, or as a service.

It imports little, because an engine is started for every match: the first answer must come within 100 ms.
"""

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ggp.engines.limits import SLOW
from ggp.engines.registry import GameError, Registry
from ggp.engines.service import Extend, make_responder
from ggp.engines.session import Session
from ggp.protocol.errors import AddressError, CommandFailed
from ggp.protocol.responder import Responder
from ggp.protocol.transports.pipe import serve_stdio

if TYPE_CHECKING:
    from ggp.protocol.transports.unix import UnixService
    from ggp.protocol.transports.zmq import Service

USAGE = """\
Usage: ggp engine [openspiel|FILE.py] [GAME [name=value …]] [--bind URL] [--gogui]

Answers the General Game Protocol (GTP and the ggp- commands) on stdin and stdout.
  openspiel           Use the games of OpenSpiel (package open_spiel) instead of ours.
  FILE.py             Use the game in this file instead of ours. It need not be installed; its output goes to stderr.
  GAME name=value …   Start with this game, as after `ggp-new GAME name=value …`.
  --bind URL          Listen at this address instead, with a session for each peer: over ZeroMQ
                      (tcp://127.0.0.1:5555, ipc:///PATH) or at a Unix stream socket (unix:///PATH).
  --gogui             Accept moves as GoGui enters them: compound moves point by point, bids and swaps by a point.
                      `pass` ends a compound move, takes the button, keeps sides, bids 0 or names no dead stones,
                      whichever is legal first.
  --help              Show this text.

Then type: list_commands, ggp-games, ggp-rules GAME, showboard, quit."""

BAD_USAGE = 2
OPENSPIEL = "openspiel"


class UsageError(ValueError):
    """An invalid command line; str() is the message for the user."""


class Arguments(NamedTuple):
    """The command line.

    Attributes:
        game: GAME and its name=value words; empty without a game.
        source: `openspiel` or FILE.py if the rules come from there, "" for ours.
        bind: The URL of --bind, or "".
        gogui: Whether --gogui is given.
        help: Whether --help is given.
    """

    game: tuple[str, ...] = ()
    source: str = ""
    bind: str = ""
    gogui: bool = False
    help: bool = False


def main(argv: list[str]) -> int:
    """Serve until `quit`, the end of input or an interrupt. Return the exit status: 2 for bad arguments."""
    try:
        arguments = parse_arguments(argv)
        if arguments.help:
            print(USAGE)
            return 0
        stdout = _own_stdout() if arguments.source else 1
        registry, extend = find_games(arguments.source)
        session = start_session(registry, arguments)  # even with --bind, so that a bad game is reported at the start
        if arguments.bind:
            return _serve_many(registry, arguments, extend)
        serve_stdio(make_responder(session, extend), stdout=stdout)
    except UsageError as error:
        print(f"ggp engine: {error}", file=sys.stderr)
        return BAD_USAGE
    except KeyboardInterrupt:
        return 130
    except SystemExit as end:  # only a game's own code raises it
        print(f"ggp engine: the game's code called sys.exit({end.code!r}): raise an exception instead", file=sys.stderr)
        return 1
    return 0


def find_games(source: str) -> tuple[Registry, Extend | None]:
    """Return the games of `openspiel` or FILE.py, or ours for "", and the changes to the commands.

    Raises:
        UsageError: OpenSpiel is not installed, or the file contains no game.
    """
    if source == OPENSPIEL:
        return load_openspiel()
    if not source:
        return Registry(), None
    from ggp.engines.game_file import load_file  # imports traceback, which takes some milliseconds

    try:
        return Registry(load_file(source)), None
    except GameError as error:
        raise UsageError(str(error)) from None


def load_openspiel() -> tuple[Registry, Extend]:
    """Return OpenSpiel's games, and its changes to the commands.

    Raises:
        UsageError: OpenSpiel is not installed.
    """
    from importlib import import_module
    from importlib.util import find_spec

    if find_spec("pyspiel") is None:
        raise UsageError("openspiel needs the package open_spiel: run pip install open_spiel")
    adapter = import_module("ggp.engines.adapters.openspiel")
    return adapter.OpenSpielRegistry(), adapter.extend


def _own_stdout() -> int:
    """Return a descriptor for the answers, and redirect stdout to stderr, because foreign code may print."""
    kept = os.dup(1)
    os.dup2(2, 1)
    return kept


def complete(before: Sequence[str], typed: str) -> list[str]:
    """Return the possible next words of the command line, for a shell's completion."""
    options = [option for option in ("--bind", "--gogui", "--help") if option not in before]
    if typed.startswith("-") or before[-1:] == ("--bind",):
        return options if typed.startswith("-") else []
    game = [word for word in before if not word.startswith("-")]
    if game[:1] == [OPENSPIEL]:
        try:
            return complete_game(game[1:], load_openspiel()[0])
        except UsageError:
            return []
    return complete_game(game) if game else [*complete_game(game), OPENSPIEL, *_files(typed), *options]


def _files(typed: str) -> list[str]:
    from glob import escape, glob  # imported late: only completion needs it

    return sorted(glob(f"{escape(typed)}*.py")) if typed else []  # noqa: PTH207


def complete_game(before: Sequence[str], registry: Registry | None = None) -> list[str]:
    """Return the possible next words of `GAME name=value …`, by default for the installed games."""
    registry = registry or Registry()
    if not before:
        return list(registry.names())
    given = {word.partition("=")[0] for word in before[1:]}
    try:
        return [f"{option.name}=" for option in registry.load(before[0]).options if option.name not in given]
    except GameError:
        return []


def parse_arguments(argv: list[str]) -> Arguments:
    """Parse the command line.

    Raises:
        UsageError: An argument is unknown or incomplete.
    """
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
    if words and (words[0] == OPENSPIEL or words[0].endswith(".py")):
        found = found._replace(source=words.pop(0))
    return found._replace(game=tuple(words))


def start_session(registry: Registry, arguments: Arguments) -> Session:
    """Return a session with the game of the command line.

    Raises:
        UsageError: The game or its options are invalid.
    """
    session = Session(registry, arguments.gogui)
    if arguments.game:
        try:
            session.new(arguments.game[0], list(arguments.game[1:]))
        except CommandFailed as error:
            raise UsageError(str(error)) from None
    return session


def _serve_many(registry: Registry, arguments: Arguments, extend: Extend | None) -> int:
    def make() -> Responder:
        return make_responder(start_session(registry, arguments), extend)

    try:
        return serve_at("ggp engine", arguments.bind, make)
    except AddressError as error:
        raise UsageError(str(error)) from None


def serve_at(program: str, url: str, make: Callable[[], Responder]) -> int:
    """Listen at an address until a signal, with a Responder for each connection. Return the exit status.

    Raises:
        AddressError: It cannot listen there.
    """
    from ggp.protocol.transports.signal_fd import Stopped, Stopping

    with Stopping() as stopping:  # a second signal must not interrupt the shutdown
        service = _bind(url, make)
        try:
            print(f"{program}: listening at {service.url}", file=sys.stderr, flush=True)
            service.serve(stopping)
        except Stopped as stopped:
            return 128 + stopped.number
        finally:
            service.close()  # removes the socket's file


def _bind(url: str, make: Callable[[], Responder]) -> "Service | UnixService":
    from ggp.protocol.transports.unix import SCHEME, UnixService

    if url.startswith(SCHEME):
        return UnixService(url, make, slow=SLOW)
    from ggp.protocol.transports.zmq import Service  # takes 30 ms to import

    return Service(url, make, slow=SLOW)
