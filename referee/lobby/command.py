"""`ggp serve [LOBBY.toml]`: gets store, engines and door together, and runs until it is told to end."""

import asyncio
import contextlib
import gc
import os
import resource
import signal
import sys
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from protocol.safe_files import create_file
from referee.command_line import HELP, run_command
from referee.ladder.toml_section import ConfigError

if TYPE_CHECKING:
    from referee.gallery.keeper import Keeper
    from referee.lobby.admission import Admission
    from referee.lobby.config import LobbyFile
    from referee.lobby.door import Door
    from referee.lobby.hall import Hall
    from referee.lobby.journal import Journal
    from referee.lobby.lobby import Lobby
    from referee.lobby.local import LocalBots
    from referee.store.store import Store

EPILOGUE = """\b
The first SIGTERM or Ctrl-C begins no more matches and waits for those under way
(lobby.drain); the second ends at once. Either way, as after kill -9, matches that
were under way are taken up by the next run when both bots come back.

\b
The exit status is 0 when it was told to end; 1 if the store or an engine failed;
2 for a command line or a file that cannot be.
"""
QUEUE = 100  # messages for or from a bot
_SWITCH = 0.0002  # seconds that the store's thread may keep the loop waiting
# A look at what 2,000 objects more there are takes a millisecond, one at thousands of bots takes a hundred: those are
# no garbage, and little else outlives the first look.
_GARBAGE = (2_000, 1_000, 10)


def main(argv: list[str]) -> int:
    """The exit status."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return run_command(serve, "ggp serve", argv, ConfigError)


@click.command("serve", epilog=EPILOGUE, context_settings=HELP)
@click.argument("file", metavar="[LOBBY.toml]", default="lobby.toml", type=click.Path(path_type=Path))
@click.option("--init", is_flag=True, help="Write a commented lobby file that runs as it is, and end.")
@click.option("--no-keys", is_flag=True, help="Ask for no keys: whoever can reach the loopback address is let in.")
@click.option("--listen", metavar="URL", help="Another address than the file says: tcp://127.0.0.1:7711.")
@click.option("--metrics", metavar="HOST:PORT", help="Serve GET /metrics for Prometheus there: 127.0.0.1:9100.")
@click.option("--json-logs", is_flag=True, help="Events as JSON objects on stderr, one a line.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but what is wrong.")
def serve(
    file: Path, init: bool, no_keys: bool, listen: str | None, metrics: str | None, json_logs: bool, quiet: bool
) -> int:
    """A server that bots dial in to: it pairs them, owns the clocks, and rates them as a ladder does.

    Local bots, which the file names, it runs itself."""
    from referee.lobby.config import read_lobby
    from referee.lobby.journal import Journal

    if init:
        return _write_example(file)
    settings = read_lobby(file, no_keys, listen)
    return _run(settings, Journal(json_logs, quiet), _address(metrics) if metrics else None)


def _write_example(file: Path) -> int:
    from referee.lobby.config import lobby_of
    from referee.lobby.example import example

    text = example(str(file))
    lobby_of(tomllib.loads(text), file, no_keys=True)
    try:
        create_file(file, text.encode())
    except FileExistsError:
        raise click.UsageError(f"{file} exists: name another file") from None
    except OSError as error:
        raise click.UsageError(f"{file} cannot be written: {error.strerror}: name another file") from None
    click.echo(f"{file}: now ggp serve {file} --no-keys, and let bots dial in")
    return 0


def _address(text: str) -> tuple[str, int]:
    """`HOST:PORT`, `[::1]:PORT`."""
    host, _, port = text.rpartition(":")
    if not (host and port.isascii() and port.isdigit() and int(port) < 65536):
        raise click.UsageError(f"--metrics {text!r} is no address: write HOST:PORT, as 127.0.0.1:9100")
    return host.strip("[]"), int(port)


def _run(settings: "LobbyFile", journal: "Journal", metrics: tuple[str, int] | None) -> int:
    from protocol.errors import AddressError
    from referee.ladder.prepare import check_programs, prepare_pools
    from referee.lobby.engines import Engines
    from referee.lobby.live import Live
    from referee.lobby.lobby import Lobby
    from referee.lobby.local import LocalBots, WithLocal
    from referee.lobby.sockets import socket_folder
    from referee.play.outcome import EngineFailed
    from referee.store.errors import StoreError
    from referee.store.store import Store

    local = LocalBots(settings.local, settings.meet, settings.nice, journal)
    admission = WithLocal(_admission(settings, journal), local)
    check_programs(settings.ladder)
    ladder, warnings = prepare_pools(settings.ladder)
    for warning in warnings:
        click.echo(f"ggp serve: {warning}", err=True)
    _make_room()
    file = Path(ladder.path)
    folder = file.absolute().parent
    try:
        with (
            Store.open(ladder.store, create=True) as store,
            _locked(store, ladder.path),
            socket_folder(file) as sockets,
        ):
            engines = Engines(sockets, settings.engines, ladder.budgets, journal)
            live = Live(folder / f"{ladder.name}.live")
            inside = f"ipc://{sockets}/door" if settings.local else ""
            door = partial(_door, settings, admission, inside)
            lobby = Lobby(ladder, store, settings.plan, live, journal, admission, door, engines)
            gallery = _gallery(settings, folder, journal)
            asyncio.run(_until_told(lobby, local, inside, gallery, journal, metrics))
    except AddressError as error:
        raise ConfigError(ladder.path, "lobby.listen", str(error)) from None
    except (StoreError, EngineFailed) as error:
        click.echo(f"ggp serve: {error}", err=True)
        return 1
    return 0


async def _until_told(
    lobby: "Lobby",
    local: "LocalBots",
    inside: str,
    gallery: "Keeper | None",
    journal: "Journal",
    metrics: tuple[str, int] | None,
) -> None:
    from referee.lobby.metrics import MetricsPage

    loop = asyncio.get_running_loop()
    loop.set_exception_handler(journal.unhandled)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, lobby.stop)
    page = MetricsPage(*metrics, lobby.metrics) if metrics else None
    if page is not None:
        try:
            journal.tell("metrics", url=await page.open())
        except OSError as error:
            raise click.UsageError(f"--metrics: cannot listen there: {error.strerror}: name another address") from None

    def opened(url: str) -> None:
        journal.tell("open", url=url, pid=os.getpid())
        local.start(inside)
        if gallery is not None:
            gallery.open()

    try:
        await lobby.run(opened)
    finally:
        await local.close()
        if gallery is not None:
            await gallery.close()
    if page is not None:
        await page.close()
    journal.tell("closed")


def _admission(settings: "LobbyFile", journal: "Journal") -> "Admission":
    """Raises ConfigError."""
    from protocol.transports.keys import KeyFileError
    from referee.lobby.admission import Anybody, Keyed
    from referee.lobby.keys import RegistryError

    if not settings.keys:
        return Anybody()
    try:
        return Keyed(settings.server_key, settings.registry, journal, needed=not settings.local)
    except KeyFileError as error:
        text = f"{error}; ggp keys new --server makes one, and --no-keys does without"
        raise ConfigError(settings.ladder.path, "lobby.server_key", text) from None
    except RegistryError as error:
        raise ConfigError(settings.ladder.path, "lobby.registry", str(error)) from None


def _door(settings: "LobbyFile", admission: "Admission", inside: str, hall: "Hall") -> "Door":
    from protocol.transports.zmq import HEARTBEAT_MS, SILENCE_MS
    from referee.lobby.door import Door

    return Door(
        settings.listen,
        hall,
        admission,
        queue=QUEUE,
        connections=settings.connections,
        heartbeat=(HEARTBEAT_MS, SILENCE_MS),
        inside=inside,
        arrivals=settings.arrivals,
    )


def _gallery(settings: "LobbyFile", folder: Path, journal: "Journal") -> "Keeper | None":
    """For those who look on, if there may be any. Raises ConfigError."""
    from protocol.transports.keys import KeyFileError, read_pair
    from referee.gallery.keeper import Keeper
    from referee.gallery.orders import Orders

    if not settings.watch:
        return None
    ladder, key = settings.ladder, ""
    if settings.watch_keys:
        key = str(settings.server_key)
        try:
            read_pair(settings.server_key)
        except KeyFileError as error:
            text = f'{error}; ggp keys new --server makes one, and watch = "none" does without spectators'
            raise ConfigError(ladder.path, "lobby.server_key", text) from None
    live = str(folder / f"{ladder.name}.live")
    orders = Orders(settings.watch, ladder.name, live, ladder.store, key, settings.spectators)
    return Keeper(orders, ladder.budgets, journal)


def _make_room() -> None:
    """As many connections as the system lets us have; a store's thread and garbage that keep nobody waiting."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, hard), hard))
    sys.setswitchinterval(_SWITCH)
    gc.set_threshold(*_GARBAGE)


@contextlib.contextmanager
def _locked(store: "Store", path: str) -> Iterator[None]:
    store.take_lock(f"ggp serve {path}")
    try:
        yield
    finally:
        store.release_lock()
