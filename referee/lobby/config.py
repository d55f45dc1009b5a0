"""Reads a lobby file: a ladder without bots, whose bots come and go, and the server's own table. Starts nothing."""

import os
from dataclasses import dataclass
from pathlib import Path

from protocol.transports.zmq import AddressError, check_local
from referee.ladder.config import budgets_of, engine_of, ladder_name, pools_of
from referee.ladder.entries import Format, Ladder, Pool
from referee.ladder.store_url import read_store
from referee.ladder.toml_section import ConfigError, Section, dotted, read_toml
from referee.lobby.hall import Bounds
from referee.lobby.lobby import Plan
from referee.lobby.settings import LOBBY, LOBBY_TOP
from referee.play.words import ENGINE


@dataclass(frozen=True, slots=True)
class LobbyFile:
    """What a file says. `engines`: processes of each; the server's key pair and whom it lets in are files."""

    ladder: Ladder
    plan: Plan
    listen: str
    keys: bool
    server_key: Path
    registry: Path
    engines: int
    connections: int


def read_lobby(path: Path, no_keys: bool = False, listen: str | None = None) -> LobbyFile:
    """`no_keys` and `listen` as the command line says them. Raises ConfigError."""
    return lobby_of(read_toml(path), path, no_keys, listen)


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
        bots=(),
        format=Format(),
        budgets=budgets_of(top),
        model=top.text("model"),
        path=file,
    )
    return _with_table(ladder, Section(file, "lobby", top.table("lobby"), LOBBY), no_keys, listen)


def _with_table(ladder: Ladder, own: Section, no_keys: bool, address: str | None) -> LobbyFile:
    bounds = Bounds(
        grace=own.number("grace"),
        lag=own.whole("lag") / 1000,
        hello=own.number("hello"),
        connections=own.whole("bots"),
        matches=own.whole("owner_matches"),
        messages=own.whole("messages"),
        octets=own.whole("bytes"),
    )
    plan = Plan(bounds, own.number("pairing"), own.number("drain"), own.whole("matches"))
    listen, keys = address or own.text("listen"), own.flag("keys") and not no_keys
    if not keys:
        try:
            check_local(listen)
        except AddressError as error:
            raise own.error("listen", str(error)) from None
    engines = own.whole("engines") or len(os.sched_getaffinity(0))
    folder = Path(ladder.path).absolute().parent
    pair, registry = folder / own.text("server_key"), folder / own.text("registry")
    return LobbyFile(ladder, plan, listen, keys, pair, registry, engines, own.whole("connections"))


def _check_engine(file: str, pool: Pool) -> None:
    """One process plays many matches, so it must be one that gives everybody a session of his own."""
    start = pool.engine
    if not start.url and start.argv != ENGINE:
        text = f"{start.command} is a program of its own: start it as a service and write tcp://host:port"
        raise ConfigError(file, f"{dotted('pool', pool.name)}.engine", text)
