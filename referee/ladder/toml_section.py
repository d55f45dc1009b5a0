"""Typed reading of TOML by the rows of a table of keys; every error is one line: file, key, what is wrong, remedy.

It knows no ladder (see config).
"""

import re
import tomllib
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from protocol.printed import without_passwords
from referee.ladder.keys import TABLES, Key

LARGEST = 1 << 20  # bytes of a file
LONGEST = 10_000  # characters of a text
_ADVICE = "name the ladder's file (ggp ladder init writes an example)"
_SHOWN = 60  # characters of a value in a message
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PLACE = re.compile(r"^(.*) \(at (?:(line \d+), (column \d+)|(end of document))\)$", re.DOTALL)


class ConfigError(ValueError):
    """A file that cannot be: str() is one line `FILE: key: what is wrong: remedy`."""

    def __init__(self, file: str, key: str, problem: str) -> None:
        text = without_passwords(": ".join(part for part in (file, key, problem) if part))
        super().__init__("".join(char if char.isprintable() else repr(char)[1:-1] for char in text))


class NoToml(ConfigError):
    """A file whose text cannot be parsed, as while it is being edited."""


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
        """What to raise when a value cannot be."""
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
            raise self.error(key, "is empty: leave the key out or name somebody")
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
    """The whole file; `advice` is for whoever names none. Raises ConfigError."""
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
