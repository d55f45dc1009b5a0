"""`store` of ladder files: paths, URLs and variables, and what is said where there is none."""

from pathlib import Path

import pytest

from ggp.referee.ladder.config import read_ladder
from tests.support.ladders import FILE, write, wrong


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
    "said",
    [
        "${NO_SUCH}",
        "postgresql://me:${SECRET}@${x y}/db",
        "mysql://me:${SECRET}@host/db",
        "postgresql://me:hush@host:port/db",
        "postgresql://me:hush/1@host/db",
        "sqlite://",
        "sqlite:///:memory:",
        "a?b.db",
    ],
)
def test_stores_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("SECRET", "hush")
    error = wrong(tmp_path, f'store = "{said}"\n{FILE}')
    assert error.key == "store" and "hush" not in str(error)
