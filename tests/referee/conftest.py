"""Fixtures of several rooms."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.stores import Filled, a_season


@pytest.fixture
def season(tmp_path: Path) -> Iterator[Filled]:
    """A store with the games of a season."""
    with Filled(tmp_path) as filled:
        a_season(filled)
        yield filled
