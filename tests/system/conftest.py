"""What several of the system tests start: bots that dial in, a browser, a compiled engine."""

import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.support import ROOT
from tests.support.dialled_bots import DialledBots

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
def dialled() -> Iterator[list[DialledBots]]:
    """Bots to be cut after the test."""
    running: list[DialledBots] = []
    yield running
    for bots in running:
        bots.cut()


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    from tests.support.browser import chromium

    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def hexapawn(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An engine that starts in a millisecond; compiling it must not draw a single warning."""
    target = str(tmp_path_factory.mktemp("engine") / "hexapawn")
    flags = ["-std=c11", "-pedantic", "-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *flags, "-o", target, str(ROOT / "engines/examples/hexapawn.c")], check=True)
    return target
