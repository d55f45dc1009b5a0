"""Reads the words of the command line: `GAME[,name=value…]` and `[name=]BOT`. It starts nothing."""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shlex
import stat
import sys
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path, PurePath

import click

from protocol.connection import PeerRole
from protocol.errors import Problem
from protocol.lobby_wire import printable
from protocol.printed import without_passwords
from protocol.records import (
    Party,
)
from protocol.transports.transcript import Sink
from referee.play.engine import Engine
from referee.play.outcome import CannotStart, EngineFailed
from referee.play.player import Player, meet
from referee.play.process import LaunchError, Peer, Process, Remote, executable_hash, find_program
from referee.play.setting import Timeouts

# -- Starts an engine or a bot and asks who it is, up to the point where it can be set a game. It plays n


HUMAN = "human"
LOG_SIZE = 10 * 1024 * 1024  # bytes of a file of stderr; there are two for each bot
LOG_LINE = 2000  # bytes
_DIALOGUE_LINE = 1 << 20  # bytes of a line of dialogue that are shown
CHANGED = "its program is not the one that was entered"


@dataclass(frozen=True, slots=True)
class BotSpec:
    """How a bot or an engine comes to the table: a command line, or the url of one that listens.

    `environment` is added to ours; `memory` MiB of address space (0: what all get), `cores` more than one: it may
    run on all of them; `restart`: again for each match. `version`, if given, is what version_of must find.
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
class ProcessLimits:
    """What every process of a series gets: `memory` MiB of address space (0: no limit), its dialogue on stderr."""

    memory: int = 0
    verbose: bool = False  # and what bots write to stderr
    stderr_folder: str = ""  # where that is kept, "" for nowhere


def is_human(start: BotSpec) -> bool:
    """Whether it is a person at the terminal, for whom no process is started."""
    return start.command == HUMAN and not (start.argv or start.url)


async def start_engine(start: BotSpec, budgets: Timeouts, extras: ProcessLimits) -> Engine:
    """Raises EngineFailed, LaunchError."""
    peer = _launch(start, PeerRole.ENGINE, budgets, extras)
    engine = Engine(peer, start.command, budgets)
    try:
        await engine.start()
    except BaseException:  # Ctrl-C, too
        await peer.stop(kill=True)
        raise
    return engine


async def start_bot(start: BotSpec, budgets: Timeouts, extras: ProcessLimits) -> Player:
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


def _launch(start: BotSpec, role: PeerRole, budgets: Timeouts, extras: ProcessLimits) -> Peer:
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
        stderr=BotStderr(start.name, extras) if kept else None,
    )


class BotStderr:
    """Shows what a bot writes to stderr line by line, with its name and the time, or keeps it in FOLDER/NAME.log.

    A file that would grow above LOG_SIZE becomes NAME.log.1, in place of the one before; workers write the same file.
    """

    def __init__(self, name: str, extras: ProcessLimits) -> None:
        self._name, self._verbose = name, extras.verbose
        self._path = Path(extras.stderr_folder) / f"{safe_name(name)}.log" if extras.stderr_folder else None
        self._partial = b""
        self._heading = ""  # of the match at hand, until something is written in it

    def take(self, data: bytes) -> None:
        """Take the next bytes, b"" at the end. A line that is too long is cut into several."""
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
        """What comes from here on belongs to the match of this key."""
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
    """A sink that writes the dialogue to stderr, one line each."""

    def show(mark: str, seconds: float, data: bytes) -> None:
        text = data.decode("utf-8", "backslashreplace") or "(end of stream)"
        lines = [f"{name} {mark} {printable(line, _DIALOGUE_LINE)}\n" for line in text.split("\n") if line.strip()]
        os.write(2, "".join(lines).encode())

    return show


# -P: what happens to lie in the current folder, such as a `random.py` or a `bots.py`, is not imported instead.
ENGINE = (sys.executable, "-P", "-m", "engines")
BOTS = (sys.executable, "-P", "-m", "bots")

BUILT_IN = ("random", "greedy", "mcts", "chaos")  # as `ggp bot` lists them

_NAMED = re.compile(r"([A-Za-z0-9_.-]+)=(.+)", re.DOTALL)
_BUILT_IN = re.compile(r"([a-z][a-z0-9_]*)(?::(.*))?")
_URL = re.compile(r"tcp://[^\s/@]+:\d{1,5}|ipc://[^\s\0]{1,100}")
_SCHEMES = ("tcp://", "ipc://")
_INTERPRETERS = re.compile(r"(python|pypy|perl|ruby|node|lua|bash|sh|java|mono)[\d.]*")


class WordError(Problem, ValueError):
    """A word of the command line is invalid; str() says what to write instead, without passwords."""

    code = "bad-word"

    def __init__(self, text: str, *, code: str = "") -> None:
        super().__init__(without_passwords(text), code=code)


def read_game(text: str) -> tuple[str, dict[str, str]]:
    """`yugo,size=7,komi=0` -> ("yugo", {"size": "7", "komi": "0"}). Which names and values exist, the engine knows."""
    name, *words = text.split(",")
    options: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key and equals and value) or re.search(r"[\s#]|[^\x20-\x7e]", word):
            raise WordError(f"{text!r}: {word!r} is no option; write GAME,name=value,name=value")
        if key in options:
            raise WordError(f"{text!r}: the option {key} is given twice")
        options[key] = value
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", name):
        raise WordError(f"{text!r} begins with no game: write GAME,name=value,name=value")
    return name, options


def read_bot(text: str, folder: Path | None = None, human: bool = False) -> BotSpec:
    """A built-in (`greedy:playouts=50`), a command line, `tcp://host:port` or `ipc://path`; after `name=` or not.

    Relative paths in it are seen from `folder`, if that is given; `human`: whether one may sit here. Raises WordError
    or LaunchError when nothing could be started.
    """
    named = _NAMED.fullmatch(text)
    name, what = (named[1], named[2]) if named else ("", text)
    if what == HUMAN:
        if not human:
            raise WordError(
                "a human plays in `ggp match` and in `:fork` of the console only: name a bot", code="no-human"
            )
        return BotSpec(name or HUMAN, HUMAN)
    if what.startswith(_SCHEMES):
        return BotSpec(name or _as_name(what[6:]), what, url=read_url(what))
    built_in = _BUILT_IN.fullmatch(what)
    if built_in and (built_in[2] is not None or not _is_program(what)):
        options = [option for option in re.split("[,:]", built_in[2] or "") if option]
        return BotSpec(name or built_in[1], what, (*BOTS, built_in[1], *options))
    argv = _beside(folder, _split(what, "BOT"))
    find_program(argv[0])
    return BotSpec(name or _as_name(_program_name(argv)), what, argv)


def read_engine(text: str | None, folder: Path | None = None) -> BotSpec:
    """A command line or an address; None is our own engine. `folder` as in read_bot."""
    if text is None:
        return BotSpec("engine", "ggp engine", ENGINE)
    if text.startswith(_SCHEMES):
        return BotSpec("engine", text, url=read_url(text))
    argv = _beside(folder, _split(text, "--engine"))
    find_program(argv[0])
    return BotSpec("engine", text, argv)


def distinct(one: BotSpec, two: BotSpec) -> tuple[BotSpec, BotSpec]:
    """The two, with different names."""
    if one.name != two.name:
        return one, two
    return (
        BotSpec(f"{one.name}-1", one.command, one.argv, one.url),
        BotSpec(f"{two.name}-2", two.command, two.argv, two.url),
    )


def is_built_in(start: BotSpec) -> bool:
    return start.argv[: len(BOTS)] == BOTS


def _split(text: str, what: str) -> tuple[str, ...]:
    try:
        argv = tuple(shlex.split(text))
    except ValueError as error:
        raise WordError(f"{what} {text!r} is no command line: {str(error).lower()}") from None
    if not argv:
        raise WordError(f"{what} is empty: write a built-in bot's name, a command line in quotes, or tcp://host:port")
    return argv


def _beside(folder: Path | None, argv: tuple[str, ...]) -> tuple[str, ...]:
    """The words with paths that do not depend on where we are: the program if it has a slash, and files of the folder.

    Raises WordError where an interpreter has no script.
    """
    if folder is None:
        return argv
    program = str(folder / argv[0]) if "/" in argv[0] else argv[0]
    words = [_in(folder, word) for word in argv[1:]]
    if _INTERPRETERS.fullmatch(PurePath(program).name) and words and not words[0].startswith("-"):
        words[0] = str(folder / words[0])
        if not _is_file(Path(words[0])):
            raise WordError(f"the script {argv[1]} is no file: check the path (it is relative to {folder})")
    return program, *words


def _in(folder: Path, word: str) -> str:
    """The word, or with a path from the root if it names a file of the folder: `nets/big`, `bot.py`, `--net=nets/big`.

    There must be a slash or a dot in it: a folder that happens to hold a file `gtp` does not change `--mode gtp`.
    """
    option, equals, value = word.rpartition("=")
    if re.search("[/.]", value) and _is_file(folder / value):
        return f"{option}{equals}{folder / value}"
    return word


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a word too long for a path
        return False


def read_url(text: str) -> str:
    """The address of a peer that listens. Raises WordError."""
    if not _URL.fullmatch(text):
        raise WordError(f"{text!r} is no address: write tcp://host:port or ipc://path")
    return text


def _is_program(word: str) -> bool:
    try:
        find_program(word)
    except LaunchError:
        return False
    return True


def _program_name(argv: tuple[str, ...]) -> str:
    """The program's file name; of an interpreter, its script's; of `ggp bot` and `ggp tap`, the bot's."""
    scripts = [word for word in argv[1:] if not word.startswith("-")]
    program = PurePath(argv[0])
    if program.name == "ggp" and (within := _inside(argv[1:])):
        return within
    if _INTERPRETERS.fullmatch(program.name) and scripts:
        return PurePath(scripts[0]).stem
    return program.stem


def _inside(words: tuple[str, ...]) -> str:
    """The name of the bot that `ggp bot` or `ggp tap` with these words is; "" for any other command of ggp."""
    command, *rest = words or ("",)
    if command == "bot" and rest[:2] == ["oneshot", "--"]:
        return _program_name(tuple(rest[2:])) if rest[2:] else ""
    if command == "bot":
        return next((word.partition(":")[0] for word in rest if not word.startswith("-")), "")
    if command != "tap":
        return ""
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word == "--":
            break
        if word in ("-o", "--output") and rest:
            rest.pop(0)
    if len(rest) != 1:
        return _program_name(tuple(rest)) if rest else ""
    try:
        return read_bot(rest[0]).name
    except (WordError, LaunchError):  # the bot's start says what is wrong with it
        return ""


def _as_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-") or "bot"


# -- versions of programs: a hash of everything that decides how they play ------------------------------------------


DIGITS = 12
_LARGEST = 1 << 28  # bytes of a file named among the words of a command line that are read for its hash
_PYTHON = re.compile(r"(python|pypy)[\d.]*")


def version_of(start: BotSpec) -> str:
    """Twelve hex digits for the program, the files among its words, its options and its environment.

    Where the files lie does not matter, only what is in them; they are read again when they changed. A bot that
    listens elsewhere is known by its address alone. Raises LaunchError where nothing could be started.
    """
    return Snapshot().version_of(start)


class Snapshot:
    """The versions of many programs at one moment: what they share is looked up once."""

    def __init__(self) -> None:
        self._programs: dict[str, str] = {}
        self._modules: dict[str, list[str]] = {}
        self._hashes: dict[str, str] = {}

    def version_of(self, start: BotSpec) -> str:
        """See version_of."""
        hashes = [self._hash(file) for file in self.files_of(start)]
        said = [start.url or start.command, sorted(start.environment), hashes]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:DIGITS]

    def files_of(self, start: BotSpec) -> list[str]:
        """The program, the files that its words name, those of the module that Python is to run. Raises LaunchError.

        A word names a file if it is a path from the root, or such a path behind `=`: what depends on where we are is
        no part of a version.
        """
        if not start.argv:
            return []
        name, *words = start.argv
        if name not in self._programs:
            self._programs[name] = find_program(name)
        paths = [word.rpartition("=")[2] for word in words]
        named = [path for path in paths if path.startswith("/") and self._hash(path)]
        files = [self._programs[name], *named]
        if _PYTHON.fullmatch(Path(name).name) and "-m" in words[:-1]:
            files += self._module(words[words.index("-m") + 1])
        return files

    def _hash(self, file: str) -> str:
        """ "" of what is no file."""
        if file not in self._hashes:
            self._hashes[file] = _hash(file)
        return self._hashes[file]

    def _module(self, name: str) -> list[str]:
        if name not in self._modules:
            self._modules[name] = _module(name.partition(".")[0])
        return self._modules[name]


def _module(name: str) -> list[str]:
    """The source files of a package or module that Python would run, found without importing it."""
    found = PathFinder.find_spec(name) if name.isidentifier() else None
    if found is None or not found.origin:
        return []
    folders = found.submodule_search_locations or ()
    return [str(path) for folder in folders for path in sorted(Path(folder).rglob("*.py"))] or [found.origin]


def _hash(file: str) -> str:
    """The hash of what is in a file, "" if it names none."""
    try:
        status = Path(file).stat()
    except (OSError, ValueError):
        return ""
    if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
        return ""
    return _content(file, status.st_mtime_ns, status.st_size, status.st_ino)


@cache
def _content(path: str, modified: int, size: int, inode: int) -> str:
    """SHA-256 of a file; the numbers only tell one state of it from another."""
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


async def started(start: BotSpec, budgets: Timeouts | None = None) -> Engine:
    """The engine, ready to be asked; a ClickException if it does not start."""
    try:
        return await start_engine(start, budgets or Timeouts(), ProcessLimits())
    except (EngineFailed, LaunchError) as error:
        raise click.ClickException(f"{start.command}: {error}") from None
