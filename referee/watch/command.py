"""`ggp watch [URL] [MATCH]`: looks on at the matches of a lobby while they are played."""

import os
import sys

import click

from protocol.errors import AddressError
from protocol.transports.keys import KeyFileError, read_public
from referee.command_line import HELP, run_command
from referee.watch.shown import Ambiguous, Shown

HERE = "tcp://127.0.0.1:7712"
EPILOGUE = """\b
Without MATCH the one that began last is shown, and when it has ended the next.
On a terminal the board is drawn over and over; in a pipe each ply is a line.

\b
A lost connection is made again, and what was missed is made up for.
The exit status is 0 after Ctrl-C and after the end of MATCH, 2 for a match or an
address that cannot be, or a server whose key is another one.
"""


def main(argv: list[str]) -> int:
    """The exit status."""
    from protocol.transports.zmq import AccessRefused

    return run_command(watch, "ggp watch", argv, AddressError, KeyFileError, Ambiguous, AccessRefused)


@click.command("watch", epilog=EPILOGUE, context_settings=HELP)
@click.argument("words", metavar="[tcp://HOST:PORT] [MATCH]", nargs=-1)
@click.option("--bot", metavar="NAME", default="", help="Only matches of this bot, one after another.")
@click.option("--list", "only_list", is_flag=True, help="Say which matches are under way, and end.")
@click.option("--json", "as_json", is_flag=True, help="Events as JSON lines.")
@click.option("--boards", is_flag=True, help="In plain text: a board after each ply.")
@click.option("--server-key", metavar="KEY|FILE", help="The lobby's public key, if it is on another machine.")
@click.option("--engine", metavar="COMMAND|URL", help="Who knows the game: a command line, or tcp://host:port.")
def watch(
    words: tuple[str, ...],
    bot: str,
    only_list: bool,
    as_json: bool,
    boards: bool,
    server_key: str | None,
    engine: str | None,
) -> int:
    """Look on at the matches of a lobby (ggp serve), live: boards, clocks, results.

    MATCH is the name of a match, or a part that no other has; also one that has ended.
    """
    from protocol.transports.spectator import Spectator
    from referee.watch.easel import Easel
    from referee.watch.views import Json, Lines, Screen, View
    from referee.watch.watching import Watching, list_matches

    url, match = _read(words)
    if match and bot:
        raise click.UsageError("name a MATCH or a --bot, not both")
    with Spectator(url, read_public(server_key) if server_key else "") as there:
        try:
            if only_list:
                list_matches(there, click.echo)
                return 0
            shown = Shown(url, there.roll)
            view: View = Json()
            if not as_json:
                view = Lines(shown, Easel(engine) if boards else None) if _is_plain() else Screen(shown, Easel(engine))
            try:
                Watching(there, shown, view, match, bot).run()
            finally:
                view.close()
        except (KeyboardInterrupt, BrokenPipeError):
            return 0
    return 0


def _read(words: tuple[str, ...]) -> tuple[str, str]:
    """Address and match, each if it is there."""
    urls = [word for word in words if "://" in word]
    others = [word for word in words if "://" not in word]
    if len(urls) > 1 or len(others) > 1:
        raise click.UsageError("write ggp watch [tcp://HOST:PORT] [MATCH]")
    return urls[0] if urls else HERE, others[0] if others else ""


def _is_plain() -> bool:
    return not sys.stdout.isatty() or os.environ.get("TERM") in (None, "", "dumb")
