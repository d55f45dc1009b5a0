"""The sessions that the documentation shows, fences ```console, are replayed (see doc_session).

Files that other fences of the page tell the reader to save are there, and those that a session writes stay for the
next. A session marked `then` belongs to the commands before it, and test_docs replays it after them.
"""

import re
from pathlib import Path

import pytest

from tests.docs.test_pages import BLOCKS, PYTHON
from tests.support import ROOT
from tests.support.doc_session import replay

pytestmark = pytest.mark.slow

SESSIONS = [block for block in BLOCKS if block.language == "console" and block.mark != "then"]
PAGES = sorted({block.page for block in SESSIONS})


def _page(page: Path) -> object:
    """The test's parameter; it needs GNU Go where a session starts it."""
    gnugo = any("gnugo" in block.text for block in SESSIONS if block.page == page)
    return pytest.param(page, marks=[pytest.mark.needs("gnugo")] if gnugo else [], id=str(page.relative_to(ROOT)))


@pytest.mark.parametrize("page", list(map(_page, PAGES)))
def test_sessions_are_as_they_are_shown(page: Path, tmp_path: Path) -> None:
    for block in PYTHON:
        if block.page == page and (name := re.match(r"# (\w+\.py)", block.text)):
            (tmp_path / name.group(1)).write_text(block.text, encoding="utf-8")
    for block in SESSIONS:
        if block.page == page:
            replay(block.text, tmp_path)


def test_a_session_that_lies_is_noticed(tmp_path: Path) -> None:
    true = "$ ggp console go size=5\n> name\n= ggp-{*}\n\n> foo\n? unknown command\n"
    replay(true, tmp_path)
    for lie in (
        true.replace("engine", "x").replace("ggp-{", "gnu-{"),
        true + "= more\n",
        true.replace("foo", "version"),
        true.replace("= ggp", "…\n= gnu"),
    ):
        with pytest.raises(AssertionError):
            replay(lie, tmp_path)
    replay(true.replace("= ggp-{*}", "…"), tmp_path)
