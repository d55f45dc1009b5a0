"""`ggp connect URL -- COMMAND`: lend a bot that speaks on stdin and stdout a connection to a lobby."""

import contextlib
import json
import signal
import sys
import time
from datetime import datetime
from functools import partial
from pathlib import Path

import click

from ggp.protocol.lobby_wire import printable
from ggp.protocol.transports.keys import read_pair, read_public
from ggp.protocol.transports.lobby_dial import LeftLobby, LobbyLink, Replaced
from ggp.protocol.transports.signal_fd import Stopped, Stopping
from ggp.referee.command_line import HELP, run_command
from ggp.referee.match.diagnosis import Silence, notice
from ggp.referee.match.options import sandbox_option
from ggp.referee.match.sandbox.levels import Level, Sandbox
from ggp.referee.match.sandbox.machine import check_level
from ggp.referee.match.setting import Timeouts
from ggp.referee.server.lobby.connect import GOODBYE, BotEnded, BotProcess, Connector, nothing

# -- the command ------------------------------------------------------------------------------------------------------


REPLACED, INTERRUPTED = 1, 130
NOTICE = "ggp connect: the bot finishes its game, then leaves; send the signal again to end it now"
EPILOGUE = """Exit status: 0 after SIGTERM, 130 after Ctrl-C, 1 if another connection of the same bot took this one's
place, 2 for a wrong command line, a bot that does not start, or a lobby that refuses the key or the name."""


def main(argv: list[str]) -> int:
    """The exit status."""
    return run_command(connect, "ggp connect", argv)


@click.command("connect", epilog=EPILOGUE, context_settings={**HELP, "ignore_unknown_options": False})
@click.argument("url", metavar="tcp://HOST:PORT[,…]")
@click.argument("words", metavar="-- COMMAND…", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--key", type=click.Path(path_type=Path), metavar="FILE", help="Your key pair (ggp keys new).")
@click.option("--server-key", metavar="KEY|FILE", help="The lobby's public key.")
@click.option("--name", metavar="NAME", default="", help="The bot's name at the lobby.  [default: as it calls itself]")
@click.option("--no-challenges", is_flag=True, help="Rated games only: the bot accepts no challenges.")
@sandbox_option("the bot")
@click.option("-q", "--quiet", is_flag=True, help="Only what is wrong, and nothing of the bot's stderr.")
@click.option("--json", "as_json", is_flag=True, help="Events as JSON lines on stdout.")
def connect(
    url: str,
    words: tuple[str, ...],
    key: Path | None,
    server_key: str | None,
    name: str,
    no_challenges: bool,
    sandbox: Level,
    quiet: bool,
    as_json: bool,
) -> int:
    """Lend a bot that speaks on stdin and stdout a connection to a lobby.

    The bot plays as if the lobby had started it here. A lost connection is made again, and a bot that ends is started
    again; the lobby then tells it the position. A lobby may have several addresses, separated by commas: where one does
    not answer the next is tried. After Ctrl-C or SIGTERM the bot plays its game to the end and leaves;
    the second one ends it now, which forfeits the game.
    """
    if name and (len(name) > 40 or not name.isprintable()):
        raise click.UsageError(f"--name {printable(name, 60)}: a name has at most 40 printable characters")
    check_level(sandbox, words[0])
    confined = Sandbox(sandbox, private=(str(key.absolute()),) if key else ())
    lobby = LobbyLink(url, read_pair(key) if key else None, read_public(server_key) if server_key else "")
    show = _show_json if as_json else nothing if quiet else _show_text
    with Stopping(NOTICE) as stopping:
        echo = nothing if quiet else _echo
        start = partial(BotProcess, words, Timeouts(), sandbox=confined, notify=_tell)
        connector = Connector(start, lobby, name, show, echo, stopping, challenges=not no_challenges)
        reason = GOODBYE
        try:
            connector.run()
        except (Stopped, LeftLobby):
            return INTERRUPTED if stopping.number == signal.SIGINT else 0
        except BotEnded as ended:
            raise BotEnded(f"the bot does not start: {ended}") from None
        except Replaced as replaced:
            click.echo(f"ggp connect: another connection of this bot took this one's place: {replaced}", err=True)
            reason = ""
        finally:
            connector.close(reason)
    return REPLACED


_TEXTS = {
    "up": "connected {}",
    "lost": "{}",
    "bye": "the lobby said goodbye: {}",
    "wait": "trying again in {} s",
    "started": "the bot runs: {}",
    "ended": "the bot ended: {}",
}


def _show_text(what: str, why: str) -> None:
    click.echo(f"{datetime.now():%H:%M:%S} {_TEXTS[what].format(printable(why, 1000)).rstrip()}", err=True)


def _show_json(what: str, why: str) -> None:
    print(json.dumps({"time": round(time.time(), 3), "event": what, **({"reason": why} if why else {})}), flush=True)


def _tell(silence: Silence) -> None:
    text = notice("the bot", silence, Timeouts().start)
    click.echo("\n".join(printable(line) for line in f"ggp connect: {text}".split("\n")), err=True)


def _echo(data: bytes) -> None:
    """Copy what the bot writes to stderr."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.buffer.write(data)
        sys.stderr.buffer.flush()
