"""Twenty thousand games, a thousand attacks among them: nothing grows, and the honest games are those without attacks.

`GGP_SOAK=500` makes it shorter: so many games, of 20,000; a twentieth of them are attacked.
"""

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from ggp.referee.match.sandbox.machine import this_machine
from tests.support import ROOT
from tests.support.zoo_soak import HeldNow, SoakReport
from tests.system.test_zoo import NAMES, ZOO

pytestmark = pytest.mark.long

GAMES = int(os.environ.get("GGP_SOAK", "20000"))
SLOW = {"error_flood", "stalled_reads", "ignoring_signals"}  # seconds each
LEVEL = "strict" if not this_machine().missing else "default"
GROWTH = 1.25  # of memory: caches are bounded, and full after a while


def run(folder: Path, attacks: int) -> SoakReport:
    """To its end; what it says goes into a file, for a stray could hold a pipe open."""
    (folder / "tmp").mkdir(parents=True)
    words = ["-m", "tests.support.zoo_soak", str(folder), LEVEL, str(GAMES), str(attacks)]
    environment = {
        **os.environ,
        "TMPDIR": str(folder / "tmp"),
        "GGP_ZOO": str(ZOO),
        "GGP_ZOO_SECRET": f"zoo-secret-{secrets.token_hex(8)}",
    }
    with (folder / "said").open("wb") as said:
        done = subprocess.run(
            [sys.executable, *words, *(name for name in NAMES if name not in SLOW)],
            cwd=ROOT,
            env=environment,
            stdout=said,
            stderr=said,
            check=False,
        )
    assert done.returncode == 0, (folder / "said").read_text(encoding="utf-8")[-4000:]
    report: SoakReport = json.loads((folder / "soak.json").read_text(encoding="utf-8"))
    return report


def test_nothing_grows_and_nothing_changes(tmp_path: Path) -> None:
    attacked, alone = run(tmp_path / "attacked", max(1, GAMES // 20)), run(tmp_path / "alone", 0)
    for name, came in (("attacked", attacked), ("alone", alone)):
        first, last = came["held"][len(came["held"]) // 9], came["held"][-1]
        print(f"\n{name}: {GAMES} games in {came['seconds']:.0f} s\n  {first}\n  {last}")
        assert _counts(first) == _counts(last)
        assert last["memory"] < GROWTH * first["memory"]
    assert len(attacked["honest"]) == GAMES
    assert attacked["honest"] == alone["honest"]


def _counts(held: HeldNow) -> dict[str, object]:
    """What must not differ by one."""
    return {name: count for name, count in held.items() if name not in ("games", "memory")}
