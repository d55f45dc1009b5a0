"""How a bot or an engine is started: its command line or address, its settings and its version."""

import dataclasses
import errno
import hashlib
import json
import os
import re
import shlex
import shutil
import stat
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from itertools import pairwise, takewhile
from pathlib import Path, PurePath

from msgspec.structs import replace

from ggp.protocol.errors import Problem
from ggp.protocol.input_files import NotRegular, open_input
from ggp.protocol.printed import without_passwords
from ggp.referee.match.clock import TimeControl
from ggp.referee.match.sandbox.levels import Sandbox
from ggp.referee.match.sandbox.sources import Source
from ggp.referee.match.setting import Timeouts

HUMAN = "human"
CHANGED = "its program has changed since it was entered"


@dataclass(frozen=True, slots=True)
class BotSpec:
    """A bot or an engine: its command line or url, and its own settings.

    `ladder.bot_settings.BotSettings` documents the settings. `version` is the version that the program must have; ""
    allows any.
    """

    name: str
    command: str  # as the user wrote it
    argv: tuple[str, ...] = ()
    url: str = ""
    environment: tuple[tuple[str, str], ...] = ()  # added to the environment of the referee
    memory: int = 0  # MiB of address space, 0 for the limit of the series
    cores: int = 1  # with more than one it may run on every core
    restart: bool | None = None  # start it again for each match; None: use the setting of the series
    version: str = ""
    control: TimeControl | None = None  # None: use the control of the series
    limits: tuple[tuple[str, int], ...] = ()  # commands of player.LIMITS sent before each match, with their values
    cwd: str = ""  # working directory; "" for the current one
    nice: int | None = None  # niceness, relative to the referee's; None: use that of the series
    ponder: bool = False  # gets a core for itself, so that it may think in its opponent's turn
    wait: float = 0.0  # seconds between two matches
    budget: tuple[tuple[str, float], ...] = ()  # its own time-outs, by field names of Timeouts
    sandbox: Sandbox | None = None  # None: use the sandbox of the series
    settings: str = ""  # settings that decide how it plays, as written, without control and environment
    asks_engine: bool = False  # a built-in bot with its own copy of the match's engine; its reports on it are trusted
    source: Source | None = None  # the source that its program is built from; it runs in that folder
    named: bool = dataclasses.field(default=False, compare=False)  # the user gave it this name, as in NAME=BOT

    def timeouts(self, series: Timeouts) -> Timeouts:
        """Return the time-outs of the series, with the bot's own in their place."""
        return replace(series, **dict(self.budget)) if self.budget else series

    @property
    def own_play(self) -> list[object]:
        """Return the settings that decide how the bot plays, or [] if it has none."""
        return [self.settings, str(self.control or "")] if self.settings or self.control else []


def is_human(start: BotSpec) -> bool:
    """Return True for a person at the terminal, who needs no process."""
    return start.command == HUMAN and not (start.argv or start.url)


# -P: a `random.py` or a `ggp.bots.py` in the current folder is not imported instead.
ENGINE = (sys.executable, "-P", "-m", "ggp.engines")
BOTS = (sys.executable, "-P", "-m", "ggp.bots")
OUR_ENGINE = "ggp engine"  # how a record names ENGINE

# Debian keeps gnugo and others here, and root's PATH leaves them out.
GAMES = ("/usr/games", "/usr/local/games")

BUILT_IN = ("random", "greedy", "mcts")  # as `ggp bot` lists them

_NAMED = re.compile(r"([A-Za-z0-9_.-]+)=(.+)", re.DOTALL)
_BUILT_IN = re.compile(r"([a-z][a-z0-9_]*)(?::(.*))?")
_URL = re.compile(r"tcp://[^\s/@]+:\d{1,5}|ipc://[^\s\0]{1,100}")
_SCHEMES = ("tcp://", "ipc://")
_INTERPRETERS = re.compile(r"(python|pypy|perl|ruby|node|lua|bash|sh|java|mono)[\d.]*")


class LaunchError(Problem):
    """A program that cannot be started; str() is one line that names the remedy, without passwords."""

    code = "cannot-launch"

    def __init__(self, text: str, *, code: str = "") -> None:
        super().__init__(without_passwords(text), code=code)


# Errors of a host that is temporarily out of processes, memory, descriptors or disk space.
SHORTAGES = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC})


class HostBusy(LaunchError):
    """A temporary shortage of resources on this machine. No bot is at fault."""

    code = "host-busy"

    @classmethod
    def of(cls, what: str, number: int) -> "HostBusy":
        """Create the error for an action that failed with this errno."""
        limits = {errno.EAGAIN: "ulimit -u", errno.EMFILE: "ulimit -n", errno.ENFILE: "fs.file-max"}
        remedy = (
            f"raise {limits[number]}, or end other programs" if number in limits else "free some memory or disk space"
        )
        return cls(f"this machine is short of resources ({what}: {os.strerror(number)}): {remedy}")


class WordError(Problem, ValueError):
    """An invalid argument of the command line; str() says what to write instead, without passwords."""

    code = "bad-word"

    def __init__(self, text: str, *, code: str = "") -> None:
        super().__init__(without_passwords(text), code=code)


def read_game(text: str) -> tuple[str, dict[str, str]]:
    """Parse `yugo,size=7,komi=0` into ("yugo", {"size": "7", "komi": "0"}). The engine checks the values later.

    Raises:
        WordError: The text does not have this form.
    """
    name, *words = text.split(",")
    options: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key and equals and value) or re.search(r"[\s#]|[^\x20-\x7e]", word):
            raise WordError(f"{text!r}: {word!r} is not an option: write GAME,name=value,name=value")
        if key in options:
            raise WordError(f"{text!r}: the option {key} is given twice: remove one")
        options[key] = value
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", name):
        raise WordError(f"{text!r} does not begin with the name of a game: write GAME,name=value,name=value")
    return name, options


def read_bot(text: str, folder: Path | None = None, human: bool = False, missing: bool = False) -> BotSpec:
    """Parse a bot: a built-in one (`greedy:playouts=50`), a command line or an address, optionally after `NAME=`.

    Args:
        text: The bot as written by the user.
        folder: The directory that relative paths refer to; None leaves them as they are.
        human: Accept `human`.
        missing: Accept a program that does not exist at the moment.

    Raises:
        WordError: The text is not a bot.
        LaunchError: The program does not exist or is not executable.
    """
    named = _NAMED.fullmatch(text)
    name, what = (named[1], named[2]) if named else ("", text)
    if what == HUMAN:
        if not human:
            raise WordError(
                "a human can play only in `ggp match` and with `:fork` in the console: name a bot", code="no-human"
            )
        return BotSpec(name or HUMAN, HUMAN, named=bool(name))
    if what.startswith(_SCHEMES):
        return BotSpec(name or _as_name(what[6:]), what, url=read_url(what), named=bool(name))
    built_in = _BUILT_IN.fullmatch(what)
    if built_in and (built_in[2] is not None or not _is_program(what)):
        options = [option for option in re.split("[,:]", built_in[2] or "") if option]
        return BotSpec(name or built_in[1], what, (*BOTS, built_in[1], *options), named=bool(name))
    argv = beside(folder, _split(what, "BOT"))
    if not missing:
        find_program(argv[0])
    return BotSpec(name or _as_name(_program_name(argv)), what, argv, named=bool(name))


def read_sourced(text: str, source: Source) -> BotSpec:
    """Parse the command line of a bot that is built from source, and runs in the source folder.

    The program may not have been built yet.

    Raises:
        WordError: The text is not a command line, or its program is outside the source folder.
        LaunchError: A program without a slash is not in PATH.
    """
    if text.startswith(_SCHEMES) or text == HUMAN:
        raise WordError(f"{text!r} cannot be built from source: remove `source`, or name the program that is built")
    program, *words = _split(text, "command")
    if "/" not in program:
        find_program(program)
    elif not program.startswith("/"):
        path = os.path.normpath(program)
        if path.startswith("../"):
            raise WordError(f"{program!r} is outside the source folder: name a program inside it, as in ./bot")
        program = f"{source.folder}/{path}"
    argv = (program, *words)
    return BotSpec(_as_name(_program_name(argv)), text, argv, cwd=source.folder, source=source)


def read_engine(text: str | None, folder: Path | None = None) -> BotSpec:
    """Parse an engine: a command line or an address; None means the built-in engine.

    Args:
        text: The engine as written by the user.
        folder: The directory that relative paths refer to; None leaves them as they are.

    Raises:
        WordError: The text is not an engine.
        LaunchError: The program does not exist or is not executable.
    """
    if text is None:
        return BotSpec("engine", OUR_ENGINE, ENGINE)
    if text.startswith(_SCHEMES):
        return BotSpec("engine", text, url=read_url(text))
    argv = beside(folder, _split(text, "--engine"))
    find_program(argv[0])
    return BotSpec("engine", text, argv)


def confined_engine(engine: BotSpec, sandbox: Sandbox) -> BotSpec:
    """Return the engine with this sandbox. The built-in engine and engines that listen are returned unchanged."""
    return dataclasses.replace(engine, sandbox=sandbox) if engine.argv and engine.argv != ENGINE else engine


def distinct(*bots: BotSpec) -> tuple[BotSpec, ...]:
    """Make the names of bots distinct: bots that share a name get their number after it, counted from 1.

    Raises:
        WordError: Two bots were given the same name with `NAME=`. Such names are never changed.
    """
    for name, times in Counter(bot.name for bot in bots if bot.named).items():
        if times > 1:
            raise WordError(f"two bots are called {name}: give them different names", code="two-names")
    count = Counter(bot.name for bot in bots)
    named = tuple(
        dataclasses.replace(bot, name=f"{bot.name}-{place}") if count[bot.name] > 1 and not bot.named else bot
        for place, bot in enumerate(bots, 1)
    )
    return named if len({bot.name for bot in named}) == len(named) else distinct(*named)


def is_built_in(start: BotSpec) -> bool:
    """Return True for a built-in bot."""
    return start.argv[: len(BOTS)] == BOTS


def bot_words(start: BotSpec) -> tuple[str, ...]:
    """Return the words that follow `ggp bot`, for a built-in bot too; () for any other program."""
    if is_built_in(start):
        return start.argv[len(BOTS) :]
    argv = start.argv
    ours = len(argv) > 2 and PurePath(argv[0]).name == "ggp" and argv[1] == "bot" and not argv[2].startswith("-")
    return argv[2:] if ours else ()


_PATIENCE = "GGP_ENGINE_PATIENCE"  # see ggp.bots.engine_client
_USUAL_PATIENCE = 10.0  # seconds
_OPTIONAL = "GGP_ENGINES_OPTIONAL"  # see ggp.bots.engine_client


def knowing(start: BotSpec, *engines: BotSpec, patience: float = _USUAL_PATIENCE, optional: bool = False) -> BotSpec:
    """Have a bot that uses `ggp bot` ask these engines about games that are not installed.

    Other bots, and those with their own `--engine`, are returned unchanged; the built-in engine needs no mention.

    Args:
        start: The bot.
        engines: The engines of the match.
        patience: Seconds that the bot waits for an answer of these engines.
        optional: Let the bot play other games if one of the engines cannot be reached.
    """
    foreign = [engine for engine in dict.fromkeys(engines) if engine.argv != ENGINE]
    said = bot_words(start)
    has_own = any(word.startswith("--engine") for word in takewhile(lambda word: word != "--", said))
    if not said or not foreign or has_own:
        return start
    words = [word for engine in foreign for word in ("--engine", engine.url or shlex.join(engine.argv))]
    before = start.argv[: len(start.argv) - len(said) + 1]
    longer = ((_PATIENCE, f"{patience:g}"),) if patience > _USUAL_PATIENCE else ()
    return dataclasses.replace(
        start,
        argv=(*before, *words, *said[1:]),
        environment=(*longer, *(((_OPTIONAL, "1"),) if optional else ()), *start.environment),
        asks_engine=is_built_in(start),
    )


def _split(text: str, what: str) -> tuple[str, ...]:
    """Split a command line into words, and expand `~/` at the beginning of a word as a shell does.

    Raises:
        WordError: The text is empty or has an unclosed quote.
    """
    try:
        argv = tuple(os.path.expanduser(word) if word.startswith("~") else word for word in shlex.split(text))  # noqa: PTH111
    except ValueError as error:
        raise WordError(f"{what} {text!r} is not a command line: {str(error).lower()}") from None
    if not argv:
        raise WordError(f"{what} is empty: write a built-in bot's name, a command line in quotes, or tcp://HOST:PORT")
    return argv


def beside(folder: Path | None, argv: tuple[str, ...]) -> tuple[str, ...]:
    """Make paths in a command line absolute: a program with a slash, and words that name files in the folder.

    Raises:
        WordError: The script of an interpreter does not exist.
    """
    if folder is None:
        return argv
    program = str(folder / argv[0]) if "/" in argv[0] else argv[0]
    words = [_in(folder, word) for word in argv[1:]]
    if _INTERPRETERS.fullmatch(PurePath(program).name) and words and not words[0].startswith("-"):
        words[0] = str(folder / words[0])
        if not _is_file(Path(words[0])):
            raise WordError(f"the script {argv[1]} does not exist: check the path (it is relative to {folder})")
    return program, *words


def _in(folder: Path, word: str) -> str:
    """Make a word absolute if it names a file of the folder: `nets/big`, `bot.py`, `--net=nets/big`.

    The word must contain a slash or a dot, so that a file called `gtp` does not change `--mode gtp`.
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
    """Check the address of a peer that listens, and return it.

    Raises:
        WordError: The text is not an address.
    """
    if not _URL.fullmatch(text):
        raise WordError(f"{text!r} is not an address: write tcp://HOST:PORT or ipc://PATH")
    return text


def _is_program(word: str) -> bool:
    try:
        find_program(word)
    except LaunchError:
        return False
    return True


def _program_name(argv: tuple[str, ...]) -> str:
    """Return the name of the program, of an interpreter's script, or of the bot in `ggp bot` or `ggp tap`."""
    scripts = [word for word in argv[1:] if not word.startswith("-")]
    program = PurePath(argv[0])
    if program.name == "ggp" and (within := _inside(argv[1:])):
        return within
    if _INTERPRETERS.fullmatch(program.name) and scripts:
        return PurePath(scripts[0]).stem
    return program.stem


def _inside(words: tuple[str, ...]) -> str:
    """Return the name of the bot that `ggp bot` or `ggp tap` runs with these words, or ""."""
    command, *rest = words or ("",)
    if command == "bot" and rest[:1] in (["oneshot"], ["uci"]) and "--" in rest[:-1]:
        return _program_name(tuple(rest[rest.index("--") + 1 :]))
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
    except (WordError, LaunchError):  # starting the bot reports what is wrong
        return ""


def _as_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-") or "bot"


def find_program(name: str) -> str:
    """Return the path of a program, given by a path or a name to look up in PATH.

    Raises:
        LaunchError: The program does not exist or cannot be run; the text names the remedy.
        HostBusy: This machine is short of resources.
    """
    if "/" not in name:
        found = shutil.which(name) or shutil.which(name, path=os.pathsep.join(GAMES))
        if found is None:
            raise LaunchError(f"no program called {name!r} in PATH, {' or '.join(GAMES)}: install it or give its path")
        return found
    path = Path(name)
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except OSError as error:  # no permission, or the path is too long
        if error.errno in SHORTAGES:
            raise HostBusy.of(name[:200], error.errno) from None
        raise LaunchError(f"cannot access {name[:200]}: {error.strerror}: check the path and its permissions") from None
    if is_folder:
        raise LaunchError(f"{name} is a directory, not a program: name the file in it")
    if not exists:
        relative = "" if path.is_absolute() else f" (it is relative to {Path.cwd()})"
        quoted = "; write a command line here without quotes around it" if " " in name else ""
        raise LaunchError(f"{name} does not exist: check the path{relative}{quoted}")
    if problem := _why_not_runnable(path):
        raise LaunchError(problem)
    if not os.access(path, os.X_OK):
        raise LaunchError(f'{name} is not executable: chmod +x it, or name its interpreter, as in "python3 {name}"')
    return str(path.absolute())


def _why_not_runnable(path: Path) -> str:
    """Return why the kernel cannot run this existing file, or "".

    It may be a pipe or a device, or a script whose interpreter is missing.
    """
    try:
        with open_input(path) as file:
            head = file.read(256)
    except NotRegular as error:
        return f"{path} cannot be run: {error.strerror}"
    except OSError:
        return ""
    line = head.partition(b"\n")[0].decode("utf-8", "replace")
    words = line[2:].strip(" \t").split(" ") if line.startswith("#!") else []
    if not words or not words[0].startswith("/"):
        return ""
    last = words[-1]
    of_env = PurePath(words[0]).name == "env" and last.endswith("\r") and shutil.which(last) is None
    if not of_env and (not _is_gone(words[0])):
        return ""
    if last.endswith("\r"):
        fix = f"sed -i 's/\\r$//' {shlex.quote(str(path))}"
        return f"{path} has Windows line endings, so its interpreter would be {last!r}, which does not exist: {fix}"
    return f"{path}: its interpreter {words[0]} does not exist: install it, or correct the first line of the script"


def _is_gone(interpreter: str) -> bool:
    try:
        return not Path(interpreter).exists()
    except OSError:
        return False


def readable_files(argv: tuple[str, ...], folder: Path | None) -> tuple[str, ...]:
    """Return the paths, other than system files, that a program may read inside a sandbox.

    These are the program, files among its words, the folder of its script (unless that is a shared folder such as
    /tmp), its working folder, and the same for engines that it starts with `--engine COMMAND`.
    """
    words = [find_program(argv[0]), *(word.rpartition("=")[2] for word in argv[1:])]
    named = [word for word in words if word.startswith("/") and _exists(word)]
    folders = [os.path.dirname(word) for word in named if not Path(word).is_dir()]  # noqa: PTH120
    everything = {"/", "/home", "/root", "/tmp", "/var/tmp", "/srv", "/mnt", "/var", str(Path.home())}
    found = [*named, *(each for each in folders if each not in everything), *([str(folder)] if folder else [])]
    for command in _engine_commands(argv):
        try:
            found += readable_files(beside(folder or Path.cwd(), _split(command, "--engine")), folder)
        except (WordError, LaunchError):  # starting the bot reports what is wrong
            continue
    return tuple(dict.fromkeys(found))


def _engine_commands(argv: tuple[str, ...]) -> Iterator[str]:
    """Yield the command after each `--engine` that stands before `--`. Addresses are left out."""
    said = takewhile(lambda pair: pair[0] != "--", pairwise((*argv, "")))
    for word, after in said:
        name, equals, value = word.partition("=")
        command = value if equals else after
        if name == "--engine" and not _URL.fullmatch(command):
            yield command


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # a word too long for a path
        return False


# -- versions of programs: hashes of everything that decides how they play ------------------------------------------


DIGITS = 12
_LARGEST = 1 << 28  # bytes; larger files that a command line names are not hashed
_NAMES_KEY = re.compile(r"--(key|token)-env(=|$)")
_PYTHON = re.compile(r"(python|pypy)[\d.]*")


def version_of(start: BotSpec) -> str:
    """Return the version of a bot: twelve hex digits that change whenever something changes how it plays.

    The hash covers the contents of the program and of files among its words, its options, its environment and some
    settings, but not where the files are. A bot that listens has the version of its address.

    Raises:
        LaunchError: The program cannot be started.
    """
    return Snapshot().version_of(start)


def with_version(start: BotSpec) -> BotSpec:
    """Return the bot with the current version of its program, as a ladder stores it.

    Paths among its words become absolute, so that files count for the version. A human or a bot that listens is
    returned unchanged.

    Raises:
        WordError: The script of an interpreter does not exist.
        LaunchError: The program cannot be started.
    """
    if not start.argv:
        return start
    found = start if is_built_in(start) else dataclasses.replace(start, argv=beside(Path.cwd(), start.argv))
    return dataclasses.replace(found, version=version_of(found))


def _without_keys(start: BotSpec) -> Iterator[tuple[str, str]]:
    """Yield the bot's environment, with empty values for API keys that its command names (`--key-env NAME`).

    A key does not decide how a bot plays, and must not be guessable from the version, which is public.
    """
    keys = {word.partition("=")[2] or after for word, after in pairwise((*start.argv, "")) if _NAMES_KEY.match(word)}
    for name, value in start.environment:
        if name not in (_PATIENCE, _OPTIONAL):  # added by `knowing`, so they are not part of the bot
            yield name, "" if name in keys else value


class Snapshot:
    """The versions of many programs at one moment. Each file is read only once."""

    def __init__(self) -> None:
        self._program, self._hash, self._module = cache(find_program), cache(_hash), cache(_module)

    def version_of(self, start: BotSpec) -> str:
        """Return the version of a bot; see the function version_of."""
        hashes = [self._hash(file) for file in self.files_of(start)]
        hashes += [start.source.digest] if start.source else []
        said = [start.url or start.command, sorted(_without_keys(start)), hashes, *start.own_play]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:DIGITS]

    @staticmethod
    def version_without_program(start: BotSpec) -> str:
        """Return the version of a bot whose program is missing. It differs from every version with a program."""
        said = [start.command, sorted(_without_keys(start)), "missing", *start.own_play]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:DIGITS]

    def files_of(self, start: BotSpec) -> list[str]:
        """Return the files that decide how a bot plays: its program, files among its words, and modules for Python.

        A word names a file if it is an absolute path or ends in `=` and one, so a version does not depend on the
        current folder. The log of `ggp tap` is left out. Files built from the bot's source are left out, because the
        digest of the source stands for them.

        Raises:
            LaunchError: The program cannot be started.
        """
        if not start.argv:
            return []
        name, *words = start.argv
        if "tap" in words:  # `ggp tap` writes this file, which exists from the first start on
            words = [word for before, word in pairwise(("", *words)) if before not in ("-o", "--output")]
        if bot_words(start):  # the match's engine, added by `knowing`, is not part of the bot
            words = [word for before, word in pairwise(("", *words)) if before != "--engine"]
        paths = [word.rpartition("=")[2] for word in words]
        named = [path for path in paths if path.startswith("/") and self._hash(path)]
        if start.source:
            files = [] if name.startswith(f"{start.source.folder}/") else [self._program(name)]
            return [*files, *(path for path in named if not path.startswith(f"{start.source.folder}/"))]
        files = [self._program(name), *named]
        if _PYTHON.fullmatch(Path(name).name) and "-m" in words[:-1]:
            files += self._module(words[words.index("-m") + 1])
        return files


def _module(name: str) -> list[str]:
    """Return the source files of a module or package that Python would run, without importing it."""
    top, _, rest = name.partition(".")
    found = PathFinder.find_spec(top) if top.isidentifier() else None
    if found is None or not found.origin:
        return []
    folders = found.submodule_search_locations or ()
    if top == "ggp":  # a built-in bot does not change with the referee
        folders = [f"{folder}/{rest.partition('.')[0]}" for folder in folders]
    return [str(path) for folder in folders for path in sorted(Path(folder).rglob("*.py"))] or [found.origin]


def _hash(file: str) -> str:
    """Return the SHA-256 of a regular file; "" for anything else or a very large file."""
    try:
        status = Path(file).stat()
    except (OSError, ValueError):
        return ""
    return executable_hash(file) if stat.S_ISREG(status.st_mode) and status.st_size <= _LARGEST else ""


def executable_hash(program: str) -> str:
    """Return the SHA-256 of a file in hex, or "" if it is unreadable.

    Raises:
        HostBusy: This machine is short of descriptors or memory, so the file could not be read.
    """
    try:
        status = Path(program).stat()
        return _content(program, status.st_mtime_ns, status.st_size, status.st_ino)
    except OSError as error:
        if error.errno in SHORTAGES:
            raise HostBusy.of(program, error.errno) from None
        return ""


@cache
def _content(path: str, modified: int, size: int, inode: int) -> str:
    """Return the SHA-256 of a file. The numbers are part of the cache key, so that a changed file is read again.

    Raises:
        OSError: The file cannot be read.
    """
    with open_input(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
