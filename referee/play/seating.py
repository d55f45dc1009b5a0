"""Starts an engine or a bot and asks who it is, up to the point where it can be set a game. It plays nothing."""

import contextlib
import fcntl
import os
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from protocol.connection import PeerRole
from protocol.dialling import printable
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
LOG_SIZE = 10 * 1024 * 1024  # bytes of a file of stderr; there are two for each bot
LOG_LINE = 2000  # bytes
_DIALOGUE_LINE = 1 << 20  # bytes of a line of dialogue that are shown
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
    verbose: bool = False  # and what bots write to stderr
    stderr_folder: str = ""  # where that is kept, "" for nowhere


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
    kept = extras.verbose or extras.stderr_folder
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
        stderr=StderrLines(start.name, extras) if kept else None,
    )


class StderrLines:
    """Shows what a bot writes to stderr line by line, with its name and the time, or keeps it in FOLDER/NAME.log.

    A file that would grow above LOG_SIZE becomes NAME.log.1, in place of the one before; workers write the same file.
    """

    def __init__(self, name: str, extras: Extras) -> None:
        self._name, self._verbose = name, extras.verbose
        self._path = Path(extras.stderr_folder) / f"{safe_name(name)}.log" if extras.stderr_folder else None
        self._partial = b""
        self._heading = ""  # of the match at hand, until something is written in it

    def take(self, data: bytes) -> None:
        """See StderrSink. A line that is too long is cut into several."""
        *lines, self._partial = (self._partial + data).split(b"\n")
        if len(self._partial) > LOG_LINE or (self._partial and not data):
            lines.append(self._partial)
            self._partial = b""
        if not lines:
            return
        at = _now()
        texts = [printable(line[start : start + LOG_LINE], LOG_LINE) for line in lines for start in _pieces(line)]
        if self._verbose:
            os.write(2, "".join(f"{self._name} ! {at[11:23]} {text}\n" for text in texts).encode())
        self._keep("".join(f"{at} {text}\n" for text in texts))

    def begin_game(self, key: str) -> None:
        """See StderrSink."""
        self._heading = f"{_now()} -- match {key}\n"

    def _keep(self, text: str) -> None:
        """Append to the file; what a full disk does not take is lost."""
        if self._path is None:
            return
        data = f"{self._heading}{text}".encode()
        self._heading = ""
        with contextlib.suppress(OSError), self._path.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            here = os.fstat(file.fileno())
            if here.st_size + len(data) <= LOG_SIZE or not here.st_size:
                os.write(file.fileno(), data)
                return
            if self._path.stat().st_ino == here.st_ino:  # no other worker has renamed it meanwhile
                self._path.replace(f"{self._path}.1")
            with self._path.open("ab") as fresh:
                fresh.write(data)


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="milliseconds")


def _pieces(line: bytes) -> range:
    return range(0, max(1, len(line)), LOG_LINE)


def safe_name(name: str) -> str:
    """A bot's name as the name of a file in a folder."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name).lstrip(".")[:100] or "bot"


def _dialogue(name: str) -> Sink:
    """A sink that shows all that passes on stderr, a line of dialogue a line."""

    def show(mark: str, seconds: float, data: bytes) -> None:
        text = data.decode("utf-8", "backslashreplace") or "(end of stream)"
        lines = [f"{name} {mark} {printable(line, _DIALOGUE_LINE)}\n" for line in text.split("\n") if line.strip()]
        os.write(2, "".join(lines).encode())

    return show
