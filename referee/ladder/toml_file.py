"""Decode the tables of TOML files into msgspec structs. Every error is one line: file, key, problem, remedy."""

import contextlib
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin

import msgspec
from msgspec import Meta, inspect

from ggp.protocol.errors import Problem, in_words
from ggp.protocol.input_files import open_input
from ggp.protocol.printed import without_passwords
from ggp.protocol.safe_files import without_mark
from ggp.referee.terminal import escape_unprintable

T = TypeVar("T", bound=msgspec.Struct)

LARGEST = 1 << 20  # bytes of a file
_ADVICE = "name the ladder's file (ggp ladder init writes an example)"
_SHOWN = 60  # characters of a value in a message
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PLACE = re.compile(r"^(.*) \(at (?:(line \d+), (column \d+)|(end of document))\)$", re.DOTALL)

# -- Types of values; a type with a `title` is called so in messages and in the reference.

Text = Annotated[str, Meta(pattern=r"\A[^\0]*[^\s\0][^\0]*\Z", max_length=10_000, title="text in quotes, not empty")]
Option = Annotated[
    Annotated[str, Meta(pattern=r'\A[!"$-+\--~]{1,100}\Z')] | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | float,
    Meta(title="a number or a text without blanks, commas and #"),
]
_OptionName = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_.-]{1,40}\Z", title="a name of letters, digits, _ . or -")]
Options = Annotated[dict[_OptionName, Option], Meta(title="a table of options")]


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of tables. A default is not checked against its type: 0 or "" can stand for "not given"."""


def key(help: str, default: str = "", formats: Iterable[str] = ()) -> Meta:
    """Describe a key for the reference page.

    Args:
        help: What the key means.
        default: The default in words, if its value would not tell the reader enough.
        formats: The formats of a ladder that know the key; empty for all.
    """
    return Meta(description=help, extra={"default": default, "formats": tuple(formats)})


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a table, for the decoder and for the reference page, which shows `domain` and `default` as they are."""

    name: str
    type: Any
    needed: bool
    domain: str
    default: str
    formats: tuple[str, ...]
    help: str


def keys_of(table: type[msgspec.Struct]) -> dict[str, Key]:
    """Return the keys of a table by name: first the required ones, then the others, each in the order of the table."""
    keys = {}
    for field in sorted(msgspec.structs.fields(table), key=lambda field: not field.required):
        info = inspect.type_info(field.type)
        meta = info if isinstance(info, inspect.Metadata) else inspect.Metadata(info)
        extra = meta.extra or {}
        keys[field.name] = Key(
            name=field.name,
            type=field.type,
            needed=field.required,
            domain=_domain(info),
            default=extra.get("default") or ("needed" if field.required else _as_toml(field.default)),
            formats=extra.get("formats", ()),
            help=(meta.extra_json_schema or {}).get("description", ""),
        )
    return keys


def _as_toml(value: object) -> str:
    return f"`{msgspec.json.encode(value).decode()}`"


def _domain(type_: inspect.Type) -> str:
    """Return in words which values a type allows."""
    match type_:
        case inspect.Metadata(extra_json_schema={"title": str(title)}):
            return title
        case inspect.Metadata(type=inner):
            return _domain(inner)
        case inspect.UnionType(types=types):
            return " or ".join(_domain(one) for one in types if not isinstance(one, inspect.NoneType))
        case inspect.LiteralType(values=values):
            return f"one of {', '.join(map(str, values))}"
        case inspect.EnumType(cls=enum):
            return f"one of {', '.join(str(one.value) for one in enum)}"
        case inspect.IntType(ge=least, le=most):
            return f"a whole number {_range(least, most)}"
        case inspect.FloatType(ge=least, le=most):
            return f"a number {_range(least, most)}"
        case inspect.BoolType():
            return "true or false"
        case inspect.VarTupleType():
            return "a list of names"
    return "a table"


def _range(least: float | None, most: float | None) -> str:
    return f"from {least:g} " + (f"to {most:.10g}" if most is not None and most < 2**40 else "up")


class ConfigError(Problem, ValueError):
    """An invalid file: str() is one line `FILE: key: what is wrong: remedy`; `key` is "" for the whole file."""

    code = "bad-config"

    def __init__(self, file: str, key: str, problem: str) -> None:
        self.key = key
        text = without_passwords(": ".join(part for part in (file, key, problem) if part))
        super().__init__(escape_unprintable(text))


@contextlib.contextmanager
def blamed_on(file: str, key: str, *errors: type[Exception]) -> Iterator[None]:
    """Raise these errors of the block as a ConfigError that names the key."""
    try:
        yield
    except errors as error:
        raise ConfigError(file, key, str(error)) from None


class NoToml(ConfigError):
    """A file that is not valid TOML, for example because somebody is editing it."""

    code = "not-toml"


def decode(file: str, at: str, values: dict[str, Any], table: type[T]) -> T:
    """Return the table called `at` as a struct; "" is the top of the file.

    Raises:
        ConfigError: A key is unknown, missing or has an invalid value.
    """
    try:
        return msgspec.convert(values, table)
    except msgspec.ValidationError as error:
        problem = ConfigError(file, at, str(error))
    keys = keys_of(table)
    for name, value in values.items():
        if name not in keys:
            raise ConfigError(file, dotted(at, name), _unknown(at, name, value, list(keys)))
        _check(file, dotted(at, name), value, keys[name].type)
    for name, row in keys.items():
        if row.needed and name not in values:
            raise ConfigError(file, dotted(at, name), f"is missing: write {row.domain}. {row.help}")
    raise problem


def _check(file: str, at: str, value: object, type_: Any) -> None:
    """Raise a ConfigError that names the key, or the entry of a table, whose value does not have this type."""
    if _is(value, type_):
        return
    bare = get_args(type_)[0] if get_origin(type_) is Annotated else type_
    if get_origin(bare) is dict and isinstance(value, dict):
        names, items = get_args(bare)
        for name, item in value.items():
            if not _is(name, names):
                raise ConfigError(file, dotted(at, name), f"{shown(name)} is not {_domain(inspect.type_info(names))}")
            _check(file, dotted(at, name), item, items)
    domain = _domain(inspect.type_info(type_))
    choices = domain.removeprefix("one of ").split(", ") if domain.startswith("one of ") else []
    raise ConfigError(
        file, at, f"{shown(value)} is not {domain}{nearest(value, choices) if isinstance(value, str) else ''}"
    )


def _is(value: object, type_: Any) -> bool:
    try:
        msgspec.convert(value, type_)
    except msgspec.ValidationError:
        return False
    return True


def _unknown(at: str, name: str, value: object, known: list[str]) -> str:
    kind, _, inner = at.partition(".")
    if inner and isinstance(value, dict):
        inner = dotted(inner, name).replace('"', "")
        return f'is no key of [{at}]: a name with a dot is put in quotes, [{kind}."{inner}"]'
    return f"unknown key{nearest(name, known) or ': there are ' + ', '.join(known)}"


def dotted(path: str, name: str) -> str:
    """Return `path.name` as it would be written in the file."""
    name = name if _BARE.fullmatch(name) else '"' + name[:_SHOWN].replace('"', '\\"') + '"'
    return f"{path}.{name}" if path else name


def nearest(word: str, known: Sequence[str]) -> str:
    """Return `: did you mean …?`, or "" if no known word is similar."""
    close = get_close_matches(word, known, 1, 0.7)
    return f": did you mean {close[0]}?" if close else ""


def shown(value: object) -> str:
    """Return a value as it would be written in the file, shortened to fit on one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return f"a table of {len(value)} keys" if isinstance(value, dict) else f"a list of {len(value)} values"
    if isinstance(value, int) and abs(value) >= 1 << 64:  # Python writes no number of thousands of digits
        return "a number of so many digits"
    text = repr(value) if isinstance(value, str | int | float) else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


# -- Files.


def read_toml(path: Path, advice: str = _ADVICE) -> dict[str, Any]:
    """Return the content of a file.

    Args:
        path: The file.
        advice: What to tell the user if the file does not exist.

    Raises:
        ConfigError: The file cannot be read, or is not TOML.
    """
    file, data = str(path), None
    try:
        if path.is_file():
            with open_input(path) as opened:
                data = opened.read(LARGEST + 1)
    except OSError as error:
        raise ConfigError(file, "", f"cannot be read: {error.strerror}: check its permissions and the path") from None
    if data is None:
        problem = "is a directory" if path.is_dir() else "is no file" if path.exists() else "does not exist"
        raise ConfigError(file, "", f"{problem}: {advice}")
    if len(data) > LARGEST:
        raise ConfigError(file, "", f"is larger than {LARGEST >> 20} MiB: split it")
    try:
        return tomllib.loads(without_mark(data).decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NoToml(file, f"line {line}", "is not UTF-8: save the file as UTF-8") from None
    except RecursionError:
        raise NoToml(file, "", "brackets are nested too deeply: this is no TOML") from None
    except ValueError as error:
        match = _PLACE.match(str(error))
        place = (f"{match[2]}, {match[3]}" if match[2] else match[4]) if match else ""
        raise NoToml(file, place, f"{match[1] if match else in_words(error)}: this is no TOML") from None
