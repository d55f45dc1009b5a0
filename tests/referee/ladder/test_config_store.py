"""`store` of ladder files: paths, URLs and variables, and what is said where there is none."""

from pathlib import Path

import pytest

from referee.ladder.config import read_ladder
from tests.support.ladder_files import FILE, problem, write


@pytest.mark.parametrize(
    ("said", "url"),
    [
        ("x/y.db", "sqlite:///{folder}/x/y.db"),
        ("/x/y.db", "sqlite:////x/y.db"),
        ("sqlite:///x.db", "sqlite:///{folder}/x.db"),
        ("sqlite:////x.db", "sqlite:////x.db"),
        ("postgresql://me@host/db", "postgresql+psycopg://me@host/db"),
        ("postgresql+psycopg://me:${SECRET}@host/db", "postgresql+psycopg://me:p%40%2Fw@host/db"),
        ("postgresql:///db?host=${SOCKETS}", "postgresql+psycopg:///db?host=/run/pg"),
        ("${WHOLE}", "postgresql+psycopg://w:x@y/z"),
        ("${SOCKETS}/x.db", "sqlite:////run/pg/x.db"),
    ],
)
def test_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, url: str) -> None:
    for name, value in {"SECRET": "p@/w", "SOCKETS": "/run/pg", "WHOLE": "postgres://w:x@y/z"}.items():
        monkeypatch.setenv(name, value)
    assert read_ladder(write(tmp_path, f'store = "{said}"\n{FILE}')).store == url.replace("{folder}", str(tmp_path))


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ("${NO_SUCH}", "there is no variable NO_SUCH in the environment"),
        ("postgresql://me:${SECRET}@${x y}/db", "a variable is written ${NAME}"),
        ("mysql://me:${SECRET}@host/db", "is no store that is known: name a file, or write postgresql://"),
        ("postgresql://me:hush@host:port/db", "is no URL: write postgresql://user:password@host:port/database"),
        ("postgresql://me:hush/1@host/db", "is no URL: write "),
        ("sqlite://", "names no file|is no store"),
        ("sqlite:///:memory:", "names no file"),
        ("a?b.db", "names no file"),
    ],
)
def test_stores_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, what: str) -> None:
    monkeypatch.setenv("SECRET", "hush")
    line = problem(tmp_path, f'store = "{said}"\n{FILE}')
    assert line.startswith("store: ") and any(part in line for part in what.split("|"))
    assert "hush" not in line
