"""Reads a lobby file: a ladder whose bots come and go, but for the local ones, and the server's own table.

It starts nothing.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from protocol.errors import AddressError
from protocol.transports.zmq import check_listen, check_local, is_loopback
from referee.ladder.config import bots_of, budgets_of, engine_of, ladder_name, pools_of
from referee.ladder.entries import Entrant, Format, Ladder, Pool
from referee.ladder.store_url import read_store
from referee.ladder.toml_section import ConfigError, Section, dotted, read_toml
from referee.lobby.bounds import Bounds
from referee.lobby.challenges import Terms
from referee.lobby.guest import Local
from referee.lobby.lobby import Plan
from referee.lobby.settings import LOBBY, LOBBY_TOP, LOCAL_BOT, NOWHERE
from referee.play.launch import executable_hash, find_program
from referee.play.words import ENGINE

_ADVICE = "name the lobby's file (ggp serve --init writes an example)"


@dataclass(frozen=True, slots=True)
class LobbyFile:
    """What a file says. `engines`: processes of each; the server's key pair and whom it lets in are files.

    `local` bots are the ladder's, too; `meet`: also each other; `nice`: niceness of their processes.
    `watch`: where anybody may look on, "" for nowhere; `watch_keys`: whether under the server's key.
    """

    ladder: Ladder
    plan: Plan
    listen: str
    keys: bool
    server_key: Path
    registry: Path
    engines: int
    connections: int
    arrivals: float
    local: tuple[Local, ...]
    meet: bool
    nice: int
    watch: str
    watch_keys: bool
    spectators: int


def read_lobby(path: Path, no_keys: bool = False, listen: str | None = None) -> LobbyFile:
    """`no_keys` and `listen` as the command line says them. Raises ConfigError."""
    return lobby_of(read_toml(path, _ADVICE), path, no_keys, listen)


def lobby_of(values: dict[str, object], path: Path, no_keys: bool = False, listen: str | None = None) -> LobbyFile:
    """Of values that are read from the file, or to be written there. Raises ConfigError."""
    file, folder = str(path), path.absolute().parent
    top = Section(file, "", values, LOBBY_TOP)
    name = ladder_name(top, path)
    pools = pools_of(top, folder, engine_of(top, folder, None))
    for pool in pools:
        _check_engine(file, pool)
    ladder = Ladder(
        name=name,
        seed=top.whole("seed"),
        store=read_store(top, folder, name),
        pools=pools,
        bots=bots_of(top, folder, pools, LOCAL_BOT) if top.table("bot") else (),
        format=Format(),
        budgets=budgets_of(top),
        model=top.text("model"),
        path=file,
    )
    local = tuple(
        _local(bot, Section(file, dotted("bot", bot.name), top.table("bot")[bot.name], LOCAL_BOT))
        for bot in ladder.bots
    )
    return _with_table(ladder, local, Section(file, "lobby", top.table("lobby"), LOBBY), no_keys, listen)


def _local(bot: Entrant, section: Section) -> Local:
    if bot.start.url:
        raise section.error("command", f"{bot.start.url} is not started here: name a command line or a built-in bot")
    return Local(bot, section.whole("copies"), executable_hash(find_program(bot.start.argv[0])))


def _with_table(
    ladder: Ladder, local: tuple[Local, ...], own: Section, no_keys: bool, address: str | None
) -> LobbyFile:
    bounds = Bounds(
        grace=own.number("grace"),
        lag=own.whole("lag") / 1000,
        hello=own.number("hello"),
        connections=own.whole("bots"),
        matches=own.whole("owner_matches"),
        messages=own.whole("messages"),
        octets=own.whole("bytes"),
        rest=own.number("rest"),
    )
    terms = Terms(own.whole("challenges"), own.whole("challenge_pairs"), own.number("challenge_days"))
    plan = Plan(bounds, own.number("pairing"), own.number("drain"), own.whole("matches"), terms)
    listen, keys = address or own.text("listen"), own.flag("keys") and not no_keys
    try:
        (check_listen if keys else check_local)(listen)
    except AddressError as error:
        raise own.error("listen", str(error)) from None
    engines = own.whole("engines") or len(os.sched_getaffinity(0))
    folder = Path(ladder.path).absolute().parent
    pair, registry = folder / own.text("server_key"), folder / own.text("registry")
    watch, guarded = _watch(own)
    return LobbyFile(
        ladder=ladder,
        plan=plan,
        listen=listen,
        keys=keys,
        server_key=pair,
        registry=registry,
        engines=engines,
        connections=own.whole("connections"),
        arrivals=own.number("arrivals"),
        local=local,
        meet=own.flag("local_matches"),
        nice=own.whole("nice"),
        watch=watch,
        watch_keys=guarded,
        spectators=own.whole("spectators"),
    )


def _watch(own: Section) -> tuple[str, bool]:
    """Where spectators connect, and whether what they see is encrypted: it is, wherever others could listen."""
    watch = own.text("watch")
    if watch == NOWHERE:
        return "", False
    try:
        check_listen(watch)
    except AddressError as error:
        raise own.error("watch", f"{error}, or {NOWHERE}") from None
    return watch, not is_loopback(watch)


def _check_engine(file: str, pool: Pool) -> None:
    """One process plays many matches, so it must be one that gives everybody a session of his own."""
    start = pool.engine
    if not start.url and start.argv != ENGINE:
        text = f"{start.command} is a program of its own: start it as a service and write tcp://host:port"
        raise ConfigError(file, f"{dotted('pool', pool.name)}.engine", text)
