"""Runs a lobby in this process: opens the store, the engines and the sockets, and closes them after a signal."""

import asyncio
import contextlib
import gc
import os
import resource
import signal
import sys
import time
import tomllib
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from ggp.protocol.errors import AddressError
from ggp.protocol.lobby_wire import printable
from ggp.protocol.safe_files import create_file
from ggp.protocol.transports.keys import KeyFileError, read_pair
from ggp.referee.ladder.builds import BotBuilds
from ggp.referee.ladder.session import check_programs, prepare_pools
from ggp.referee.ladder.store.model import StoreError
from ggp.referee.ladder.store.store import Store
from ggp.referee.ladder.toml_file import ConfigError, dotted
from ggp.referee.match.outcome import EngineFailed
from ggp.referee.match.process import available_cores
from ggp.referee.server.background_tasks import BackgroundTasks, keep_running, wait_or_kill
from ggp.referee.server.lobby.auth import Admission, KeyAuth
from ggp.referee.server.lobby.config import LobbyFile, example, lobby_of, read_lobby
from ggp.referee.server.lobby.keys import RegistryError
from ggp.referee.server.lobby.local_bots import LocalBots, pondering
from ggp.referee.server.lobby.log import EventLog, MetricsPage
from ggp.referee.server.lobby.server import LobbyServer
from ggp.referee.server.lobby.zmq_io import socket_folder

_SWITCH = 0.0002  # seconds that the store's thread may keep the loop waiting
# The collector looks when there are so many objects more than after its last look, and at least at all of these, which
# takes 0.2 s. A thousand matches make 20,000 every few seconds and give them up again. Garbage comes slowly: at 2,000
# moves a second 100 objects a second. The zeros: every second look is at the objects of the one before, too.
_GARBAGE = (200_000, 0, 0)


def run_lobby(
    file: Path,
    no_keys: bool,
    listen: str | None,
    event_log: EventLog,
    metrics: tuple[str, int] | None,
    front: str = "",
) -> int:
    """Serve the lobby of this file until a signal, and return the exit status.

    Args:
        no_keys, listen, front: The options of `ggp serve`.
        metrics: Host and port of the page of metrics.

    Raises:
        ConfigError, UsageError: The lobby cannot start.
    """
    settings = with_builds(read_lobby(file, no_keys, listen, front, lenient=True), event_log)
    table, cores = settings.table, cores_of_local_bots(settings)
    seats = settings.web.seats if settings.web else 0
    local = LocalBots(settings.local, table.local_matches, table.nice, event_log, seats, settings.ladder.budgets, cores)
    admission = _admission(settings, local, event_log)
    check_programs(settings.ladder)
    ladder, warnings = prepare_pools(settings.ladder)
    settings = replace(settings, ladder=ladder)
    for warning in filter(None, [settings.warning, *warnings]):
        click.echo(f"ggp serve: {warning}", err=True)
    _make_room()
    file = Path(ladder.path)
    try:
        with (
            without_cores(cores),
            Store.open(ladder.store, create=True) as store,
            _locked(store, ladder.path, front),
            socket_folder(file.with_name(f"{file.name}.{front}") if front else file) as sockets,
        ):
            inside = f"ipc://{sockets}/router" if settings.local or settings.web else ""
            lobby = LobbyServer(settings, store, sockets, admission, event_log, inside)
            asyncio.run(_until_told(lobby, settings, local, inside, event_log, metrics))
    except AddressError as error:
        where = dotted(dotted("front", front), "listen") if front else "lobby.listen"
        raise ConfigError(ladder.path, where, str(error)) from None
    except (StoreError, EngineFailed) as error:
        click.echo(f"ggp serve: {error}", err=True)
        return 1
    return 0


def with_builds(settings: LobbyFile, event_log: EventLog) -> LobbyFile:
    """Build the sources of local bots.

    A bot whose build failed or whose program is missing is entered, not started, and logged.
    """
    ladder = settings.ladder
    with contextlib.closing(BotBuilds(lambda line: event_log.log("build", "begun", said=line))) as builds:
        bots = {bot.name: bot for bot in builds.finish(ladder.bots)}
    local = []
    for one in settings.local:
        bot = bots[one.entrant.name]
        if bot.unfit and not bot.start.source:
            again = "the lobby runs without it: restart the lobby when its program is there"
            event_log.log("local", "missing", bot=bot.name, reason=f"{printable(bot.unfit)}; {again}")
        elif bot.unfit:
            event_log.log_limited(time.monotonic(), "build", "failed", bot.name, reason=bot.unfit)
        else:
            local.append(replace(one, hash=bot.start.version) if bot.start.source else one)
    return replace(settings, ladder=replace(ladder, bots=tuple(bots.values())), local=tuple(local))


def cores_of_local_bots(settings: LobbyFile) -> list[int]:
    """Choose a core for each copy of a bot that ponders. Raises ConfigError if none is left for the rest."""
    copies, cores = pondering(settings.local), available_cores()
    if len(copies) >= len(cores):
        problem = (
            f"{len(copies)} copies that ponder, and the lobby, need {len(copies) + 1} cores, and this machine has "
            f"{len(cores)}: fewer copies, or no ponder"
        )
        raise ConfigError(settings.ladder.path, dotted(dotted("bot", copies[0][0]), "ponder"), problem)
    return cores[len(cores) - len(copies) :]


@contextlib.contextmanager
def without_cores(cores: Sequence[int]) -> Iterator[None]:
    """Keep this process and its children off these cores, unless a child is given one of them."""
    before = os.sched_getaffinity(0)
    if cores:
        os.sched_setaffinity(0, before.difference(cores))
    try:
        yield
    finally:
        if cores:
            os.sched_setaffinity(0, before)


def write_example(file: Path) -> int:
    """Write a commented lobby file, and return the exit status. Raises UsageError if it cannot be written."""
    text = example(str(file))
    lobby_of(tomllib.loads(text), file, no_keys=True)
    try:
        create_file(file, text.encode())
    except FileExistsError:
        raise click.UsageError(f"{file} exists: name another file") from None
    except OSError as error:
        raise click.UsageError(f"{file} cannot be written: {error.strerror}: name another file") from None
    click.echo(f"{file}: now ggp serve {file}, and let bots dial in")
    return 0


async def _until_told(
    lobby: LobbyServer,
    settings: LobbyFile,
    local: LocalBots,
    inside: str,
    event_log: EventLog,
    metrics: tuple[str, int] | None,
) -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(event_log.unhandled)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, lobby.stop)
    page = MetricsPage(*metrics, lobby.metrics) if metrics else None
    if page is not None:
        try:
            event_log.log("metrics", url=await page.open())
        except OSError as error:
            raise click.UsageError(f"--metrics: cannot listen there: {error.strerror}: name another address") from None
    tasks = BackgroundTasks(event_log.fault)

    def opened(url: str) -> None:
        event_log.log("open", url=url, pid=os.getpid())
        local.start(inside)
        if settings.web is not None:
            tasks.keep("web", lambda: _supervise_site(settings, inside, local.identities.web, event_log))

    try:
        await lobby.run(opened)
    finally:
        await tasks.close()
        await local.close()
    if page is not None:
        await page.close()
    event_log.log("closed")


def _admission(settings: LobbyFile, local: LocalBots, event_log: EventLog) -> Admission:
    """Raises ConfigError."""
    if not settings.keys:
        return Admission(local.identities)
    try:
        needed = not settings.ladder.bots
        return KeyAuth(settings.server_key, settings.registry, event_log, needed, local.identities)
    except KeyFileError as error:
        text = f"{error}; ggp keys new --server makes one, and --no-keys does without"
        raise ConfigError(settings.ladder.path, "lobby.server_key", text) from None
    except RegistryError as error:
        raise ConfigError(settings.ladder.path, "lobby.registry", str(error)) from None


def _make_room() -> None:
    """Raise the limit of descriptors, and shorten the pauses by the store's thread and the collector."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, hard), hard))
    sys.setswitchinterval(_SWITCH)
    gc.set_threshold(*_GARBAGE)


@contextlib.contextmanager
def _locked(store: Store, path: str, front: str) -> Iterator[None]:
    """Hold the run lock, or run as this front of the lobby."""
    if front:
        store.join_front(front, f"ggp serve {path} --front {front}")
    else:
        store.take_lock(f"ggp serve {path}")
    try:
        yield
    finally:
        if front:
            store.leave_front(front)
        else:
            store.release_lock()


# -- the process of the site ------------------------------------------------------------------------------------------


_SOON, _LATEST = 1.0, 60.0  # seconds until the process is started again; doubled each time
_LINE = 64 * 1024  # bytes of a line of its output


async def _supervise_site(settings: LobbyFile, inside: str, admitted: set[int], event_log: EventLog) -> None:
    """Run `ggp web` for the table `[web]`, and start it again when it ends.

    It is a process of its own, nicer than the lobby, so that it delays no clock. It dials `inside` to play for people.

    Args:
        admitted: Holds the id of the process while it runs.
    """
    now = asyncio.get_running_loop().time

    async def run() -> str:
        process = await asyncio.create_subprocess_exec(
            *_site_command(settings, inside), stdin=PIPE, stdout=PIPE, stderr=STDOUT, limit=_LINE, process_group=0
        )
        assert process.stdout is not None
        admitted.add(process.pid)
        last = ""
        try:
            with contextlib.suppress(ValueError):  # a line without end
                async for line in process.stdout:
                    last = printable(line, 500)
                    event_log.log_limited(now(), "web", "says", last, reason=last)
        finally:
            admitted.discard(process.pid)
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await asyncio.shield(wait_or_kill(process))
        return f"exit status {process.returncode}{f': {last}' if last else ''}"

    def ended(reason: str, again: float) -> None:
        event_log.log_limited(now(), "web", "ended", "", reason=reason, again=again)

    await keep_running(run, ended, _SOON, _LATEST)


def _site_command(settings: LobbyFile, inside: str) -> list[str]:
    web = settings.web
    assert web is not None
    words = [sys.executable, "-P", "-m", "ggp.referee.cli.web", settings.ladder.path, "--listen", web.listen]
    words += [word for host in web.hosts for word in ("--host", host)]
    words += ["--owner", str(os.getpid()), "--nice", str(web.nice)]
    if settings.watch:
        words += ["--watch", settings.watch]
        words += ["--server-key", read_pair(settings.server_key).public] if settings.watch_keys else []
    if web.seats:
        words += ["--lobby", inside, "--seats", str(web.seats)]
    return words
