"""The large ladders of the benchmarks are stores as all others: what they hold is what their records say."""

from pathlib import Path

from tests.bench.filled import fill
from tests.support.cli import ggp_in_process


def test_a_filled_store_passes_the_check(tmp_path: Path) -> None:
    fill(tmp_path / "club.db", bots=6, games=40, plies=10)
    status, out, err = ggp_in_process("ladder", "check", str(tmp_path / "club.db"))
    assert (status, err) == (0, "")
    assert out == "40 games: all as their records say\n"
