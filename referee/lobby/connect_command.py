"""`ggp connect URL -- COMMAND …`: lends any bot on stdin and stdout a connection to a lobby, for as long as it runs."""

import contextlib
import json
import signal
import sys
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path

import click

from protocol.dialling import printable
from protocol.errors import AddressError
from protocol.transports.dial import Left, Lobby, Replaced
from protocol.transports.keys import KeyFileError, read_pair, read_public
from protocol.transports.stopping import Stopped, Stopping
from protocol.transports.zmq import AccessRefused
from referee.command_line import HELP, run_command
from referee.config import Budgets
from referee.lobby.connect import GOODBYE, Lender
from referee.lobby.lent import BotEnded, Lent

REPLACED, INTERRUPTED = 1, 130
NOTICE = "ggp connect: the bot plays its game to the end, takes no other, and leaves; a second signal ends it now"
EPILOGUE = """Exit status: 0 after SIGTERM, 130 after Ctrl-C, 1 if another connection of the same bot took this one's
place, 2 for a wrong command line, a bot that does not start, or a lobby that refuses the key or the name."""


def main(argv: list[str]) -> int:
    """The exit status."""
    return run_command(connect, "ggp connect", argv, AddressError, KeyFileError, BotEnded, AccessRefused)


@click.command("connect", epilog=EPILOGUE, context_settings={**HELP, "ignore_unknown_options": False})
@click.argument("url", metavar="tcp://HOST:PORT")
@click.argument("words", metavar="-- COMMAND…", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--key", type=click.Path(path_type=Path), metavar="FILE", help="Your key pair (ggp keys new).")
@click.option("--server-key", metavar="KEY|FILE", help="The lobby's public key.")
@click.option("--name", metavar="NAME", default="", help="The bot's name at the lobby.  [default: as it calls itself]")
@click.option("--no-challenges", is_flag=True, help="Rated games only: nobody may challenge the bot.")
@click.option("-q", "--quiet", is_flag=True, help="Only what is wrong, and nothing of the bot's stderr.")
@click.option("--json", "as_json", is_flag=True, help="Events as JSON lines on stdout.")
def connect(
    url: str,
    words: tuple[str, ...],
    key: Path | None,
    server_key: str | None,
    name: str,
    no_challenges: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Lend a bot that speaks on stdin and stdout a connection to a lobby.

    The bot plays as if the lobby had started it here. A lost connection is made again, and a bot that ends is started
    again; the lobby then tells it the position. After Ctrl-C or SIGTERM the bot plays its game to the end and leaves;
    the second one ends it now, which forfeits the game.
    """
    if name and (len(name) > 40 or not name.isprintable()):
        raise click.UsageError(f"--name {printable(name, 60)}: a name has at most 40 printable characters")
    lobby = Lobby(url, read_pair(key) if key else None, read_public(server_key) if server_key else "")
    show = _show_json if as_json else _show_nothing if quiet else _show_text
    with Stopping(NOTICE) as stopping:
        echo = _echo_nothing if quiet else _echo
        lent = partial(Lent, words, Budgets())
        lender = Lender(lent, lobby, name, show, echo, stopping, challenges=not no_challenges)
        reason = GOODBYE
        try:
            lender.run()
        except (Stopped, Left):
            return INTERRUPTED if stopping.number == signal.SIGINT else 0
        except BotEnded as ended:
            raise BotEnded(f"the bot does not start: {ended}") from None
        except Replaced as replaced:
            click.echo(f"ggp connect: another connection of this bot took this one's place: {replaced}", err=True)
            reason = ""
        finally:
            lender.close(reason)
    return REPLACED


_TEXTS: dict[str, Callable[[str], str]] = {
    "up": lambda why: "connected",
    "lost": lambda why: why,
    "bye": lambda why: f"the lobby said goodbye: {why}",
    "wait": lambda why: f"trying again in {why} s",
    "started": lambda why: f"the bot runs: {why}",
    "ended": lambda why: f"the bot ended: {why}",
}


def _show_text(what: str, why: str) -> None:
    click.echo(f"{datetime.now():%H:%M:%S} {_TEXTS[what](printable(why, 1000))}", err=True)


def _show_json(what: str, why: str) -> None:
    print(json.dumps({"time": round(time.time(), 3), "event": what, **({"reason": why} if why else {})}), flush=True)


def _show_nothing(what: str, why: str) -> None:
    return


def _echo(data: bytes) -> None:
    """What the bot writes to stderr, as it is."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.buffer.write(data)
        sys.stderr.buffer.flush()


def _echo_nothing(data: bytes) -> None:
    return
