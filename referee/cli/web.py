"""`ggp web`: serves the pages of a ladder or a lobby until a signal."""

import asyncio
import contextlib
import os
import resource
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ggp.protocol.transports.subreaper import end_with_parent
from ggp.referee.command_line import HELP, run_command
from ggp.referee.ladder.source import DEFAULT, engines_of

if TYPE_CHECKING:
    from uvicorn import Server

    from ggp.referee.server.web.boards import BoardPool
    from ggp.referee.server.web.follow import Follower
    from ggp.referee.server.web.lobby_watch import LobbyWatch
    from ggp.referee.server.web.page_cache import PageCache
    from ggp.referee.server.web.seats import Seats
    from ggp.referee.server.web.site import Delay, LobbyTerms, Site

EPILOGUE = """\b
LADDER is a ladder's file (ladder.toml, the default), a lobby's file, their store
(ladder.db), or the URL of one. The ladder may be running or not. With --watch
alone there are only the matches that the lobby plays.

\b
With --lobby people play against the lobby's bots, unrated, in the pools of its
file that say `seats = true`. The key must be allowed for the bots web-1, web-2, …
A restart costs no seat: they are kept in --seats-file, by default LADDER's name
with the ending .seats.

\b
The exit status is 0 after a signal; 1 if the address cannot be used; 2 for an
invalid command line or file.
"""
_SETTLING = 10  # tenths of a second from the start
_WARMING = 15.0  # seconds that the first page may take before visitors can ask for it
_PAUSE = 0.5  # seconds between tries, while ratings are being computed, for one


def main(argv: list[str]) -> int:
    """The exit status."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return run_command(web, "ggp web", argv)


@click.command("web", epilog=EPILOGUE, context_settings=HELP)
@click.argument("ladder", metavar="[LADDER]", required=False)
@click.option("--watch", metavar="URL", help="Show the live matches of a lobby, too: its lobby.watch.")
@click.option("--lobby", metavar="URL", help="Let people play at a lobby: its lobby.listen.")
@click.option("--server-key", metavar="KEY|FILE", help="The lobby's public key, if it has one.")
@click.option("--key", type=click.Path(path_type=Path), metavar="FILE", help="Your key pair, for --lobby.")
@click.option("--seats", type=click.IntRange(1, 200), default=20, show_default=True, help="People at a time.")
@click.option("--seats-file", type=click.Path(path_type=Path), metavar="FILE", help="Keeps seats over a restart.")
@click.option("--listen", metavar="HOST:PORT", default="127.0.0.1:8080", show_default=True, help="Where to listen.")
@click.option(
    "--engine",
    metavar="COMMAND|URL",
    help="Which engine draws, in place of each pool's: a command line or URL.",
)
@click.option("--delay", metavar="PLIES|SECONDSs", default="0", help="Show rated matches so far behind: 4, or 30s.")
@click.option("--host", "hosts", multiple=True, metavar="NAME", help="Answer only requests for this name; repeatable.")
@click.option("--owner", type=int, hidden=True, help="The process that started this one, to end with.")
@click.option("--nice", type=int, default=0, hidden=True)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing.")
def web(
    ladder: str | None,
    watch: str | None,
    lobby: str | None,
    server_key: str | None,
    key: Path | None,
    seats: int,
    seats_file: Path | None,
    listen: str,
    engine: str | None,
    delay: str,
    hosts: tuple[str, ...],
    owner: int | None,
    nice: int,
    quiet: bool,
) -> int:
    """Serve the pages of a ladder or a lobby to browsers: standings, plots, matches to step through, live matches, and
    seats to play.

    The pages know no game: an engine process draws the positions. The address is loopback unless --listen says
    otherwise; a reverse proxy in front of it makes the site public.
    """
    host, port = _address(listen)
    if owner is not None:
        os.nice(nice)
        end_with_parent(signal.SIGTERM)
        if os.getppid() != owner:  # it ended before that
            return 0
    try:
        from ggp.referee.server.web.app import make_app_and_cache
        from ggp.referee.server.web.connections import bounded_server
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"{error.name} is not installed: pip install markdown-it-py starlette uvicorn"
        ) from None
    from ggp.referee.match.bot_spec import read_engine
    from ggp.referee.server.web.boards import BoardPool
    from ggp.referee.server.web.follow import Follower
    from ggp.referee.server.web.report import name_of
    from ggp.referee.server.web.site import Site

    word = ladder or ("" if watch or lobby else DEFAULT)
    if word and "://" not in word:
        seats_file = seats_file or Path(word).with_suffix(".seats")
    watched = seated = terms = None
    if watch or lobby:
        watched, seated, terms = _of_lobby(watch, lobby, server_key, key, seats, seats_file)
    site = Site(word, name_of(word) if word else "live", watched, _delay(delay))
    if word:
        with site.store():  # whether it is there is said before anything listens
            pass
    site.lobby = site.lobby or terms
    boards = BoardPool(read_engine(engine), {} if engine or not word else engines_of(word))
    follower = Follower(site.follow, lambda: site.trouble, site.playing)
    app, pages = make_app_and_cache(site, boards, follower, frozenset(hosts), seated)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a stream of a live match is a descriptor
    try:
        server, name = bounded_server(app, host, port), "" if quiet else site.name
        asyncio.run(_serve(server, pages, follower, boards, site, seated, name))
    except SystemExit:
        click.echo(f"ggp web: cannot listen at {listen}: choose another address with --listen", err=True)
        return 1
    return 0


async def _serve(
    server: "Server",
    pages: "PageCache",
    follower: "Follower",
    boards: "BoardPool",
    site: "Site",
    seats: "Seats | None",
    name: str,
) -> None:
    """Until SIGINT or SIGTERM, which end the streams of live matches, and the process, at once. Raises SystemExit if
    it cannot listen.

    name: of the ladder, said with the address; "" for silence.
    """

    from ggp.referee.server.web.app import main_pages
    from ggp.referee.server.web.pages import compile_templates

    def end(number: int, frame: object) -> None:
        """Also before the server listens; uvicorn raises what it was ended by once more."""
        server.should_exit = True

    async def attend() -> None:
        while not (server.started or server.should_exit):
            await asyncio.sleep(0.01)
        if server.started and name:
            host, port = server.servers[0].sockets[0].getsockname()[:2]
            click.echo(f"{name}: http://{f'[{host}]' if ':' in host else host}:{port}/", err=True)
        for _ in range(_SETTLING):  # the first visitor is served before other pages are made
            if not server.should_exit:
                await asyncio.sleep(0.1)
        await asyncio.to_thread(compile_templates)
        for path in await asyncio.to_thread(main_pages, site):
            if not server.should_exit:
                await pages.warm(path)
        while not server.should_exit:
            await asyncio.sleep(0.1)
        await follower.close()
        if seats is not None:
            await seats.close()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    if seats is not None:
        seats.open()
    if site.word:
        # The first page, and what it loads, takes a second on a busy machine: no visitor waits for it or is sent away.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_WARMING):
                while not (server.should_exit or await pages.warm("/")):
                    await asyncio.sleep(_PAUSE)
    attending = asyncio.create_task(attend())
    try:
        await server.serve()
    finally:
        server.should_exit = True
        await attending
    boards.close()
    site.close()
    os._exit(0)  # a thread that waits for an engine or for the store would hold the process for as long


def _of_lobby(
    watch: str | None,
    lobby: str | None,
    server_key: str | None,
    key: Path | None,
    seats: int,
    seats_file: Path | None,
) -> "tuple[LobbyWatch | None, Seats | None, LobbyTerms | None]":
    """Its matches, the seats of people there, and how bots dial in."""
    from ggp.protocol.transports.keys import read_pair, read_public  # these load ZeroMQ, which a ladder does not need
    from ggp.protocol.transports.lobby_dial import LobbyLink
    from ggp.referee.server.web.lobby_watch import LobbyWatch
    from ggp.referee.server.web.seats import Seats
    from ggp.referee.server.web.site import LobbyTerms

    public = read_public(server_key) if server_key else ""
    watched = LobbyWatch(watch, public) if watch else None
    if not lobby:
        return watched, None, None
    link = LobbyLink(lobby, read_pair(key) if key else None, public if key else "", lobby.startswith("ipc://"))
    return watched, Seats(link, seats, _report, seats_file), LobbyTerms(lobby, key is not None, public)


def _delay(text: str) -> "Delay":
    """`4`: plies; `30s`: seconds. Raises UsageError."""
    from ggp.referee.server.web.site import Delay

    number = text.removesuffix("s")
    if not (number.isascii() and number.isdigit() and len(number) < 7):
        raise click.UsageError(f"--delay {text!r}: write a number of plies, as 4, or of seconds, as 30s")
    return Delay(ms=1000 * int(number)) if text.endswith("s") else Delay(plies=int(number))


def _address(text: str) -> tuple[str, int]:
    """`HOST:PORT`, `[::1]:PORT`. Raises UsageError."""
    host, _, port = text.rpartition(":")
    if not (host and port.isascii() and port.isdigit() and int(port) < 65536):
        raise click.UsageError(f"--listen {text!r} is no address: write HOST:PORT, as 127.0.0.1:8080")
    return host.strip("[]"), int(port)


def _report(task: str, error: BaseException) -> None:
    click.echo(f"ggp web: {task}: {type(error).__name__}: {error}", err=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
