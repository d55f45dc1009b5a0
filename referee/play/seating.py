"""Starts an engine or a bot and asks who it is, up to the point where it can be set a game. It plays nothing."""

import os
from dataclasses import dataclass

from protocol.connection import PeerRole
from protocol.records import Party
from protocol.transports.transcript import Sink
from referee.config import Budgets
from referee.play.dialects import meet
from referee.play.engine import Engine
from referee.play.launch import LaunchError, Peer, Process, Remote, executable_hash, find_program
from referee.play.outcome import CannotStart
from referee.play.player import Player
from referee.play.versions import version_of

HUMAN = "human"
CHANGED = "its program is not the one that was entered"


@dataclass(frozen=True, slots=True)
class Start:
    """How a bot or an engine comes to the table: a command line, or the url of one that listens.

    `environment` is added to ours; `memory` MiB of address space (0: what all get), `cores` more than one: it may
    run on all of them; `restart`: anew for each match. `version`, if given, is what version_of must find.
    """

    name: str
    command: str  # as it was written
    argv: tuple[str, ...] = ()
    url: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    memory: int = 0
    cores: int = 1
    restart: bool = False
    version: str = ""


@dataclass(frozen=True, slots=True)
class Extras:
    """What every process of a series gets: `memory` MiB of address space (0: no limit), its dialogue on stderr."""

    memory: int = 0
    verbose: bool = False


def is_human(start: Start) -> bool:
    """Whether nothing is started for it: somebody sits at the terminal."""
    return start.command == HUMAN and not (start.argv or start.url)


async def start_engine(start: Start, budgets: Budgets, extras: Extras) -> Engine:
    """Raises EngineFailed, LaunchError."""
    peer = _launch(start, PeerRole.ENGINE, budgets, extras)
    engine = Engine(peer, start.command, budgets)
    try:
        await engine.start()
    except BaseException:  # Ctrl-C, too
        await peer.stop(kill=True)
        raise
    return engine


async def start_bot(start: Start, budgets: Budgets, extras: Extras) -> Player:
    """Raises CannotStart."""
    try:
        if start.version and (found := version_of(start)) != start.version:
            raise CannotStart(start.name, f"{CHANGED}: its version is {found}, not {start.version}")
        digest = executable_hash(find_program(start.argv[0])) if start.argv else ""
        peer = _launch(start, PeerRole.BOT, budgets, extras)
    except LaunchError as error:
        raise CannotStart(start.name, str(error)) from None
    try:
        return await meet(peer, Party(name=start.name, command=start.command, hash=digest), budgets)
    except BaseException:
        await peer.stop(kill=True)
        raise


def _launch(start: Start, role: PeerRole, budgets: Budgets, extras: Extras) -> Peer:
    sink = _dialogue(start.name) if extras.verbose else None
    if start.url:
        return Remote(start.url, role, budgets, sink=sink)
    return Process(
        start.argv,
        role,
        budgets,
        memory=start.memory or extras.memory,
        environment=start.environment,
        spread=start.cores > 1,
        sink=sink,
    )


def _dialogue(name: str) -> Sink:
    """A sink that shows all that passes on stderr, a line of dialogue a line."""

    def show(mark: str, seconds: float, data: bytes) -> None:
        text = data.decode("utf-8", "backslashreplace") or "(end of stream)"
        lines = [f"{name} {mark} {line}\n" for line in text.split("\n") if line.strip()]
        os.write(2, "".join(lines).encode())

    return show
