"""Reads the words of the command line: `GAME[,name=value…]` and `[name=]BOT`. It starts nothing."""

import re
import shlex
import sys
from pathlib import Path, PurePath

from protocol.printed import without_passwords
from referee.play.launch import LaunchError, find_program
from referee.play.seating import HUMAN, Start

# -P: what happens to lie in the current folder, such as a `random.py` or a `bots.py`, is not imported instead.
ENGINE = (sys.executable, "-P", "-m", "engines")
BOTS = (sys.executable, "-P", "-m", "bots")

BUILT_IN = ("random", "greedy", "mcts", "chaos")  # as `ggp bot` lists them

_NAMED = re.compile(r"([A-Za-z0-9_.-]+)=(.+)", re.DOTALL)
_BUILT_IN = re.compile(r"([a-z][a-z0-9_]*)(?::(.*))?")
_URL = re.compile(r"tcp://[^\s/@]+:\d{1,5}|ipc://[^\s\0]{1,100}")
_SCHEMES = ("tcp://", "ipc://")
_INTERPRETERS = re.compile(r"(python|pypy|perl|ruby|node|lua|bash|sh|java|mono)[\d.]*")


class WordError(ValueError):
    """A word that cannot be read; str() says what to write instead, without passwords."""

    def __init__(self, text: str) -> None:
        super().__init__(without_passwords(text))


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


def read_bot(text: str, folder: Path | None = None, human: bool = False) -> Start:
    """A built-in (`greedy:playouts=50`), a command line, `tcp://host:port` or `ipc://path`; after `name=` or not.

    Relative paths in it are seen from `folder`, if that is given; `human`: whether one may sit here. Raises WordError
    or LaunchError when nothing could be started.
    """
    named = _NAMED.fullmatch(text)
    name, what = (named[1], named[2]) if named else ("", text)
    if what == HUMAN:
        if not human:
            raise WordError("a human plays in `ggp match` and in `:fork` of the console only: name a bot")
        return Start(name or HUMAN, HUMAN)
    if what.startswith(_SCHEMES):
        return Start(name or _as_name(what[6:]), what, url=read_url(what))
    built_in = _BUILT_IN.fullmatch(what)
    if built_in and (built_in[2] is not None or not _is_program(what)):
        options = [option for option in re.split("[,:]", built_in[2] or "") if option]
        return Start(name or built_in[1], what, (*BOTS, built_in[1], *options))
    argv = _beside(folder, _split(what, "BOT"))
    find_program(argv[0])
    return Start(name or _as_name(_program_name(argv)), what, argv)


def read_engine(text: str | None, folder: Path | None = None) -> Start:
    """A command line or an address; None is our own engine. `folder` as in read_bot."""
    if text is None:
        return Start("engine", "ggp engine", ENGINE)
    if text.startswith(_SCHEMES):
        return Start("engine", text, url=read_url(text))
    argv = _beside(folder, _split(text, "--engine"))
    find_program(argv[0])
    return Start("engine", text, argv)


def distinct(one: Start, two: Start) -> tuple[Start, Start]:
    """The two, with different names."""
    if one.name != two.name:
        return one, two
    return (
        Start(f"{one.name}-1", one.command, one.argv, one.url),
        Start(f"{two.name}-2", two.command, two.argv, two.url),
    )


def is_built_in(start: Start) -> bool:
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
