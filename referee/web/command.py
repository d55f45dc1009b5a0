"""`ggp web`: serves the pages of a ladder until a signal."""

import asyncio
import logging
import os
import resource
import signal
from typing import TYPE_CHECKING

import click

from referee.cli import HELP, run_command
from referee.ladder.source import DEFAULT

if TYPE_CHECKING:
    from uvicorn import Server

    from referee.web.boards import BoardPool
    from referee.web.follow import Follower
    from referee.web.site import Site

EPILOGUE = """\b
LADDER is a ladder's file (ladder.toml, the default), a lobby's file, their store
(ladder.db), or the URL of one. The ladder may be running or not.

\b
The exit status is 0 after a signal; 1 if the address cannot be used; 2 for an
invalid command line or file.
"""
_LIMIT = 4096  # connections at once


def main(argv: list[str]) -> int:
    """The exit status."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return run_command(web, "ggp web", argv)


@click.command("web", epilog=EPILOGUE, context_settings=HELP)
@click.argument("ladder", metavar="[LADDER]", default=DEFAULT)
@click.option("--listen", metavar="HOST:PORT", default="127.0.0.1:8080", show_default=True, help="Where to listen.")
@click.option("--engine", metavar="COMMAND|URL", help="Which engine draws: a command line, or tcp://host:port.")
@click.option("--host", "hosts", multiple=True, metavar="NAME", help="Answer only requests for this name; repeatable.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing.")
def web(ladder: str, listen: str, engine: str | None, hosts: tuple[str, ...], quiet: bool) -> int:
    """Serve the pages of a ladder to browsers: standings, plots, matches to step through, live matches.

    The pages know no game: an engine process draws the positions. The address is loopback unless --listen says
    otherwise; a reverse proxy in front of it makes the site public.
    """
    host, port = _address(listen)
    try:
        import uvicorn

        from referee.web.app import make_app
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"{error.name} is not installed: pip install '.[web]' in the project's folder"
        ) from None
    from referee.play.bot_spec import read_engine
    from referee.web.boards import BoardPool
    from referee.web.follow import Follower
    from referee.web.report import name_of
    from referee.web.site import Site

    site = Site(ladder, name_of(ladder))
    with site.store():  # whether it is there is said before anything listens
        pass
    boards = BoardPool(read_engine(engine))
    follower = Follower(site.follow)
    app = make_app(site, boards, follower, frozenset(hosts))
    config = uvicorn.Config(
        app,
        host,
        port,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=_LIMIT,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=16 * 1024,
        http="h11",
        ws="none",
    )
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a stream of a live match is a descriptor
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # any client could fill stderr; the site says what failed
    try:
        asyncio.run(_serve(uvicorn.Server(config), follower, boards, site, "" if quiet else site.name))
    except SystemExit:
        click.echo(f"ggp web: cannot listen at {listen}: choose another address with --listen", err=True)
        return 1
    return 0


async def _serve(server: "Server", follower: "Follower", boards: "BoardPool", site: "Site", name: str) -> None:
    """Until SIGINT or SIGTERM, which end the streams of live matches, and the process, at once. Raises SystemExit if
    it cannot listen.

    name: of the ladder, said with the address; "" for silence.
    """

    async def attend() -> None:
        while not (server.started or server.should_exit):
            await asyncio.sleep(0.01)
        if server.started and name:
            host, port = server.servers[0].sockets[0].getsockname()[:2]
            click.echo(f"{name}: http://{f'[{host}]' if ':' in host else host}:{port}/", err=True)
        while not server.should_exit:
            await asyncio.sleep(0.1)
        await follower.close()

    attending = asyncio.create_task(attend())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: None)  # uvicorn raises what it was ended by once more
    try:
        await server.serve()
    finally:
        server.should_exit = True
        await attending
    boards.close()
    site.close()
    os._exit(0)  # a thread that waits for an engine or for the store would hold the process for as long


def _address(text: str) -> tuple[str, int]:
    """`HOST:PORT`, `[::1]:PORT`. Raises UsageError."""
    host, _, port = text.rpartition(":")
    if not (host and port.isascii() and port.isdigit() and int(port) < 65536):
        raise click.UsageError(f"--listen {text!r} is no address: write HOST:PORT, as 127.0.0.1:8080")
    return host.strip("[]"), int(port)
