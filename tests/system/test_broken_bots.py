"""What the author of a broken bot sees at a terminal within ten seconds."""

from pathlib import Path

import pytest

from tests.broken_bots import BOTS, watch

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", BOTS)
def test_the_cause_is_on_the_screen(name: str, tmp_path: Path) -> None:
    rows = watch(name, tmp_path, seconds=40 if name in ("raises", "prints_usage", "hangs") else 15, columns=500)
    assert any(BOTS[name][1] in row for row in rows), "\n".join(rows)
