"""Typed reading of TOML by the rows of a table of keys.

Every error is one line: file, key, what is wrong, remedy.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

from protocol.errors import Problem
from protocol.printed import without_passwords
from referee.play.clock import FORMS
from referee.play.setting import Timeouts
from referee.ratings.sprt import MODELS, PRESETS
from referee.store.model import Format, FormatKind, Pool

# -- THE table of the keys of a ladder file, one row a key: for the reader, its messages and the reference.


MOST_BOTS = 5000
MOST_POOLS = 1000
FARTHEST = 10_000.0  # Elo; an anchor beyond it is a slip of the pen


class Form(StrEnum):
    """What a value may be, in the words of messages and of the reference page."""

    TEXT = "text in quotes"
    WHOLE = "a whole number"
    NUMBER = "a number"
    FLAG = "true or false"
    NAMES = "a list of names"
    OPTIONS = "a table of options"
    TEXTS = "a table of texts in quotes"
    TABLE = "a table"


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a table. `least` and `most` bound a number, `choices` a text; () of `kinds`: every format knows it.

    `default` is what stands in the file's place; `otherwise` says it in words where the value would not.
    """

    name: str
    form: Form
    help: str
    default: object = None
    otherwise: str = ""
    least: float = 0
    most: float = 0
    choices: tuple[str, ...] = ()
    kinds: tuple[FormatKind, ...] = ()

    @property
    def domain(self) -> str:
        """What may be written, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.form in (Form.WHOLE, Form.NUMBER):
            return f"{self.form} from {self.least:g} " + (f"to {self.most:.10g}" if self.most < 2**40 else "up")
        return str(self.form)


_COMMAND = "a command line, or `tcp://host:port`"
_PAIRED = (FormatKind.ROUND_ROBIN, FormatKind.GAUNTLET, FormatKind.SWISS, FormatKind.TEST)
PAIRS = {FormatKind.ROUND_ROBIN: 10, FormatKind.GAUNTLET: 100, FormatKind.SWISS: 1, FormatKind.TEST: 10_000}

TOP = (
    Key("name", Form.TEXT, "Of the ladder.", "", "the file's name without `.toml`"),
    Key("seed", Form.WHOLE, "All chance of the ladder follows from it.", 1, least=0, most=2**63 - 1),
    Key(
        "store",
        Form.TEXT,
        "Where games are kept: a file for SQLite, beside this one if its path is relative, or a URL, as in "
        "`postgresql://ladder:${PASSWORD}@host/games`. `${NAME}` is a variable of the environment, here alone.",
        "",
        "`NAME.db`, NAME being that of the ladder",
    ),
    Key("engine", Form.TEXT, f"Who knows the rules: {_COMMAND}.", "", "the built-in one"),
    Key("model", Form.TEXT, "How ties are rated.", "davidson", choices=("davidson", "rao-kupper")),
    Key("format", Form.TABLE, "Who meets whom.", None, "a ladder"),
    Key("budget", Form.TABLE, "Seconds for everything apart from the clock.", None, "as below"),
    Key("pool", Form.TABLE, "A table for each pool: `[pool.NAME]`.", None, "needed"),
    Key("bot", Form.TABLE, "A table for each bot: `[bot.NAME]`.", None, "needed"),
)

FORMAT = (
    Key("kind", Form.TEXT, "Which format.", FormatKind.LADDER.value, choices=tuple(kind.value for kind in FormatKind)),
    Key(
        "pairs",
        Form.WHOLE,
        "Pairs of games that any two bots play who meet; of a test, after which it is given up.",
        0,
        ", ".join(f"{number} ({kind})" for kind, number in PAIRS.items()),
        1,
        10**9,
        kinds=_PAIRED,
    ),
    Key("rounds", Form.WHOLE, "Rounds to be played.", 9, least=1, most=1000, kinds=(FormatKind.SWISS,)),
    Key(
        "bots",
        Form.NAMES,
        "Of a gauntlet, who meets all others; of a test, the new version and the old one.",
        (),
        "needed by a gauntlet; of a test, the two bots of the file, the one with a `parent` as the new version",
        kinds=(FormatKind.GAUNTLET, FormatKind.TEST),
    ),
    Key(
        "share",
        Form.NUMBER,
        "Of all games of a pool, the most that one bot may have, while enough others are there.",
        Format().share,
        least=0.001,
        most=1,
        kinds=(FormatKind.LADDER,),
    ),
    Key("batch", Form.WHOLE, "Pairs that are scheduled at a time.", 0, "by the number of bots", 1, 100_000),
    Key(
        "preset",
        Form.TEXT,
        "What is tested, in place of `elo0`, `elo1` and `model`: "
        + ", ".join(f"`{name}` {test.elo0:g} against {test.elo1:g}" for name, test in PRESETS.items())
        + " (normalized Elo).",
        "",
        "`gate`",
        choices=tuple(PRESETS),
        kinds=(FormatKind.TEST,),
    ),
    Key(
        "elo0",
        Form.NUMBER,
        "H0: the new version is so much better.",
        None,
        "as `preset` says",
        -2000,
        2000,
        kinds=(FormatKind.TEST,),
    ),
    Key(
        "elo1",
        Form.NUMBER,
        "H1: the new version is so much better.",
        None,
        "as `preset` says",
        -2000,
        2000,
        kinds=(FormatKind.TEST,),
    ),
    Key("alpha", Form.NUMBER, "Risk of H1 where H0 is true.", 0.05, least=1e-9, most=0.5, kinds=(FormatKind.TEST,)),
    Key("beta", Form.NUMBER, "Risk of H0 where H1 is true.", 0.05, least=1e-9, most=0.5, kinds=(FormatKind.TEST,)),
    Key("model", Form.TEXT, "What Elo means.", MODELS[0], choices=MODELS, kinds=(FormatKind.TEST,)),
)

_BUDGETS = {
    "start": "From the launch of a program to its answers about name and commands.",
    "command": "Any other command.",
    "new": "A new game.",
    "agreement": "A list of dead stones.",
    "quit": "The answer to `quit`.",
    "grace": "After `quit`, and again after SIGTERM.",
    "stall": "After its clock, until a silent bot counts as stalled.",
}
BUDGET = tuple(
    Key(row.name, Form.NUMBER, _BUDGETS[row.name], row.default, least=0.001, most=3600) for row in fields(Timeouts)
)

POOL = (
    Key("game", Form.TEXT, "A game that the engine knows, with options or without: `yugo,size=7`.", None, "needed"),
    Key("options", Form.OPTIONS, "Options of the game: `{ size = 7, komi = 6.5 }`.", (), "those of the game"),
    Key("control", Form.TEXT, f"The time of each side: {FORMS}.", "10+0.1"),
    Key("openings", Form.WHOLE, "Random plies before each pair of games, the same in both.", 0, least=0, most=1000),
    Key("margin", Form.WHOLE, "Milliseconds of overrun forgiven.", Pool.margin, least=0, most=60_000),
    Key(
        "max_plies",
        Form.WHOLE,
        "A longer game ends with the score of its position; one of a game that has no score is void.",
        0,
        "20 times the cells of the board",
        1,
        10**7,
    ),
    Key("engine", Form.TEXT, f"Who knows the rules: {_COMMAND}.", "", "that of the ladder"),
)

BOT = (
    Key("command", Form.TEXT, f"A built-in bot (`greedy`, `greedy:playouts=50`), {_COMMAND}.", None, "needed"),
    Key("options", Form.OPTIONS, "Options of a built-in bot: `{ playouts = 50 }`.", (), "those of the bot"),
    Key("pools", Form.NAMES, "Where it plays.", (), "all pools"),
    Key("parent", Form.TEXT, "The bot that it was made from, whose rating is the first guess at its own.", "", "none"),
    Key("anchor", Form.NUMBER, "Its Elo, if that is known.", None, "none", -FARTHEST, FARTHEST),
    Key("environment", Form.TEXTS, 'Variables for its process: `{ OMP_NUM_THREADS = "1" }`.', (), "none"),
    Key("cores", Form.WHOLE, "With more than one it may run on all of them.", 1, least=1, most=1024),
    Key("memory", Form.WHOLE, "MiB of address space that it may have.", 0, "no limit", 1, 1 << 30),
    Key("restart", Form.FLAG, "Start it anew for each game.", False),
)

TABLES: dict[str, tuple[Key, ...]] = {
    "": TOP,
    "format": FORMAT,
    "budget": BUDGET,
    "pool.NAME": POOL,
    "bot.NAME": BOT,
}


LARGEST = 1 << 20  # bytes of a file
LONGEST = 10_000  # characters of a text
_ADVICE = "name the ladder's file (ggp ladder init writes an example)"
_SHOWN = 60  # characters of a value in a message
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PLACE = re.compile(r"^(.*) \(at (?:(line \d+), (column \d+)|(end of document))\)$", re.DOTALL)


class ConfigError(Problem, ValueError):
    """An invalid file: str() is one line `FILE: key: what is wrong: remedy`."""

    def __init__(self, file: str, key: str, problem: str) -> None:
        text = without_passwords(": ".join(part for part in (file, key, problem) if part))
        super().__init__("".join(char if char.isprintable() else repr(char)[1:-1] for char in text))


class NoToml(ConfigError):
    """A file whose text is no TOML, as while it is being edited."""


class Section:
    """One table of a file. Raises ConfigError for a key that its rows have not, then for each value when it is read.

    `path` is how the table is called in the file: "" for the top, "pool.small".
    """

    def __init__(self, file: str, path: str, values: dict[str, Any], rows: Sequence[Key]) -> None:
        self.file = file
        self.path = path
        self._values = values
        self._rows = {row.name: row for row in rows}
        for name, value in values.items():
            if name not in self._rows:
                raise self.error(name, _unknown(path, name, value, list(self._rows)))

    def error(self, key: str, problem: str) -> ConfigError:
        """The error to raise for an invalid value."""
        return ConfigError(self.file, dotted(self.path, key) if key else self.path, problem)

    def given(self, key: str) -> bool:
        """Whether the file says it."""
        return key in self._values

    def text(self, key: str) -> str:
        """Never empty if it was given."""
        row, value = self._row(key)
        if not self.given(key):
            return str(value or "")
        if not isinstance(value, str):
            raise self._wrong(key, value)
        if not value.strip() or len(value) > LONGEST or "\0" in value:
            wrong = "is empty" if not value.strip() else "is too long" if len(value) > LONGEST else "holds a NUL"
            raise self.error(key, f"{wrong}: leave the key out or say {row.domain}")
        if row.choices and value not in row.choices:
            raise self.error(key, f"{shown(value)} is none of {', '.join(row.choices)}{nearest(value, row.choices)}")
        return value

    def whole(self, key: str) -> int:
        row, value = self._row(key)
        if self.given(key):
            self._bounded(row, value, isinstance(value, int))
        return cast("int", value)

    def number(self, key: str) -> float:
        row, value = self._row(key)
        if self.given(key):
            self._bounded(row, value, isinstance(value, int | float))
        return float(cast("float", value))

    def flag(self, key: str) -> bool:
        _, value = self._row(key)
        if not isinstance(value, bool):
            raise self._wrong(key, value)
        return value

    def names(self, key: str) -> tuple[str, ...]:
        """() if it was not given."""
        _, value = self._row(key)
        if not self.given(key):
            return ()
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise self._wrong(key, value)
        if not value:
            raise self.error(key, "is empty: leave the key out or write a name")
        if twice := [name for number, name in enumerate(value) if name in value[:number]]:
            raise self.error(key, f"{shown(twice[0])} is named twice: once is enough")
        return tuple(value)

    def options(self, key: str) -> dict[str, str]:
        """Names and values as they are written behind `name=`."""
        return {name: self._option(key, name, value) for name, value in self.table(key).items()}

    def texts(self, key: str) -> dict[str, str]:
        texts = self.table(key)
        for name, value in texts.items():
            if not isinstance(value, str) or "\0" in value:
                raise ConfigError(
                    self.file, dotted(dotted(self.path, key), name), f"{shown(value)} is no text: put it in quotes"
                )
        return texts

    def table(self, key: str) -> dict[str, Any]:
        """{} if it was not given."""
        value = self._values.get(key, {})
        if not isinstance(value, dict):
            raise self._wrong(key, value)
        return value

    def _row(self, key: str) -> tuple[Key, Any]:
        row = self._rows[key]
        return row, self._values.get(key, row.default)

    def _bounded(self, row: Key, value: Any, fits: bool) -> None:
        if not fits or isinstance(value, bool):
            raise self._wrong(row.name, value)
        if not row.least <= value <= row.most:  # nan is not, either
            raise self.error(row.name, f"{shown(value)} is not {row.domain}")

    def _option(self, key: str, name: str, value: Any) -> str:
        where = dotted(dotted(self.path, key), name)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ConfigError(self.file, where, f"{shown(value)} is neither text nor number: put it in quotes")
        text = shown(value) if isinstance(value, int) else str(value)
        if not re.fullmatch(r"[\x21-\x7e]{1,100}", text) or re.search("[#,]", text):
            raise ConfigError(
                self.file, where, f"{shown(text)} is no value of an option: blanks, commas and # are none"
            )
        if not re.fullmatch(r"[A-Za-z0-9_.-]{1,40}", name):
            raise ConfigError(self.file, where, "is no name of an option: write letters, digits, _ . or -")
        return text

    def _wrong(self, key: str, value: Any) -> ConfigError:
        return self.error(key, f"{shown(value)} is not {self._rows[key].domain}")


def read_toml(path: Path, advice: str = _ADVICE) -> dict[str, Any]:
    """The whole file; `advice` is shown when there is none. Raises ConfigError."""
    file = str(path)
    try:
        data = b"" if (problem := _why_no_file(path)) else _bytes(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(file, "", f"cannot be read: {reason}: check its permissions and the path") from None
    if problem:
        raise ConfigError(file, "", f"{problem}: {advice}")
    if len(data) > LARGEST:
        raise ConfigError(file, "", f"is larger than {LARGEST >> 20} MiB: split it into several ladders")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NoToml(file, f"line {line}", "is not UTF-8: save the file as UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise _no_toml(file, error) from None


def _why_no_file(path: Path) -> str:
    if path.is_dir():
        return "is a directory"
    return "" if path.is_file() else "is no file" if path.exists() else "does not exist"


def _bytes(path: Path) -> bytes:
    with path.open("rb") as opened:
        return opened.read(LARGEST + 1)


def dotted(path: str, name: str) -> str:
    """`path.name` as it would be written in the file."""
    name = name if _BARE.fullmatch(name) else '"' + name[:_SHOWN].replace('"', '\\"') + '"'
    return f"{path}.{name}" if path else name


def nearest(word: str, known: Sequence[str]) -> str:
    """`: did you mean …?`, or "" if nothing is near."""
    close = get_close_matches(word, known, 1)
    return f": did you mean {close[0]}?" if close else ""


def shown(value: object) -> str:
    """A value, short and on one line, as it would stand in the file."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and abs(value) >= 1 << 64:  # Python writes no number of thousands of digits
        return "a number of so many digits"
    text = repr(value) if isinstance(value, str | int | float) else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _unknown(path: str, name: str, value: object, known: list[str]) -> str:
    """What is wrong with a key that the table has not."""
    table = path.partition(".")[0] + (".NAME" if "." in path else "")
    if table.endswith(".NAME") and isinstance(value, dict):
        kind = table.partition(".")[0]
        inner = dotted(path.removeprefix(f"{kind}."), name).replace('"', "")
        return f'is no key of [{path}]: a name with a dot is put in quotes, [{kind}."{inner}"]'
    close = nearest(name, known)
    elsewhere = [other for other, rows in TABLES.items() if other != table and name in [row.name for row in rows]]
    if elsewhere:
        homes = " or ".join(f"[{other}]" if other else "the top of the file" for other in elsewhere)
        return f"is no key of {f'[{path}]' if path else 'the top of the file'}: it belongs to {homes}"
    return f"unknown key{close or ': there are ' + ', '.join(known)}"


def _no_toml(file: str, error: Exception) -> NoToml:
    if isinstance(error, RecursionError):
        return NoToml(file, "", "brackets are nested too deeply: this is no ladder file")
    match = _PLACE.match(str(error))
    if match is None:
        return NoToml(file, "", f"is no TOML: {error}")
    place = f"{match[2]}, {match[3]}" if match[2] else match[4]
    return NoToml(file, place, f"{match[1]}: this is no TOML")
