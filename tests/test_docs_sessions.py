"""The sessions that the documentation shows are replayed: every fence ```console, typed into the piped console.

A session begins with `$ ggp console …`; what stands after `> ` is typed, everything else is what comes out, on stdout
or stderr. `{*}` stands for any text within a line; empty lines do not count. Files that other fences of the page tell
the reader to save are there, and those that a session writes stay for the next.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.test_docs import BIN, BLOCKS, PYTHON, ROOT, Block


class Session(NamedTuple):
    """One fence, read."""

    command: list[str]
    typed: list[str]
    said: list[str]


def read(text: str) -> Session:
    first, *lines = text.splitlines()
    assert first.startswith("$ ggp console"), first
    typed = [line[2:] for line in lines if line.startswith("> ")]
    said = [line for line in lines if line.strip() and not line.startswith("> ")]
    return Session(shlex.split(first[2:]), typed, said)


def matches(expected: str, said: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, expected.split("{*}"))), said) is not None


SESSIONS = [block for block in BLOCKS if block.language == "console"]
PAGES = sorted({block.page for block in SESSIONS})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_sessions_are_as_they_are_shown(page: Path, tmp_path: Path) -> None:
    for block in PYTHON:
        if block.page == page and (name := re.match(r"# (\w+\.py)", block.text)):
            (tmp_path / name.group(1)).write_text(block.text)
    for block in SESSIONS:
        if block.page == page:
            replay(block, tmp_path)


def replay(block: Block, folder: Path) -> None:
    session = read(block.text)
    words = [sys.executable if word == "python" else word for word in session.command[1:]]
    done = subprocess.run(
        [sys.executable, "-m", "referee.cli", *words],
        input="".join(f"{line}\n" for line in session.typed),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env={**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"},
        text=True,
        timeout=120,
        check=False,
    )
    said = [line for line in done.stdout.splitlines() if line.strip()]
    assert len(said) == len(session.said) and all(map(matches, session.said, said)), done.stdout


def test_a_session_that_lies_is_noticed(tmp_path: Path) -> None:
    true = "$ ggp console go size=5\n> name\n= ggp-{*}\n\n> foo\n? unknown command\n"
    replay(Block("console", "", true, ROOT), tmp_path)
    for lie in (
        true.replace("engine", "x").replace("ggp-{", "gnu-{"),
        true + "= more\n",
        true.replace("foo", "version"),
    ):
        with pytest.raises(AssertionError):
            replay(Block("console", "", lie, ROOT), tmp_path)
