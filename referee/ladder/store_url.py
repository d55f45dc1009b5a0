"""Where a ladder's store is: what the file says of it -> a URL of SQLAlchemy. It opens nothing."""

import os
import re
from pathlib import Path
from urllib.parse import quote, urlsplit

from referee.ladder.toml_section import Section

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SQLITE = "sqlite:///"
_POSTGRES = re.compile(r"postgres(?:ql)?(?:\+psycopg)?://")


def read_store(section: Section, folder: Path, name: str) -> str:
    """`sqlite:////absolute/path` or `postgresql+psycopg://…`; what is relative is seen from `folder`.

    No message shows what the file says: a password may be in it. Raises ConfigError.
    """
    said = section.text("store") or f"{name}.db"
    text = _VARIABLE.sub(lambda match: _value(section, match), said)
    if "${" in _VARIABLE.sub("", said):
        raise section.error("store", "a variable is written ${NAME}, with letters, digits and _")
    if postgres := _POSTGRES.match(text):
        try:
            urlsplit(f"postgresql://{text[postgres.end() :]}").port  # noqa: B018  (it raises)
        except ValueError:
            form = "postgresql://user:password@host:port/database"
            problem = f"is no URL: write {form}, and %40, %2F and %3A for @, / and : in a password"
            raise section.error("store", problem) from None
        return f"postgresql+psycopg://{text[postgres.end() :]}"
    if "://" in text and not text.startswith(_SQLITE):
        raise section.error("store", "is no store that is known: name a file, or write postgresql://user@host/database")
    path = text.removeprefix(_SQLITE)
    if path in ("", ":memory:") or "?" in path or "\0" in path:
        raise section.error("store", "names no file that could be kept: write a path without ? in it")
    return f"{_SQLITE}{folder / path}"


def _value(section: Section, match: re.Match[str]) -> str:
    """What a variable stands for; encoded where it is a user's name or a password within a URL."""
    value = os.environ.get(match[1])
    if value is None:
        raise section.error("store", f"there is no variable {match[1]} in the environment: export it first")
    before, after = match.string[: match.start()], match.string[match.end() :]
    return quote(value, safe="") if "://" in before and "@" in after else value
