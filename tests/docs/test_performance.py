"""docs/explanation/performance.md: its table and lines are those of `make bench ARGS=--keep`; every benchmark runs."""

import json
import re
from pathlib import Path

import pytest

from tests.bench.__main__ import BENCHMARKS, main
from tests.bench.kept import LOOP, PAGE, PIPE, RATIOS, Ratio, keep, read_table, runner_lines


def test_every_ratio_was_measured_and_says_at_which_version() -> None:
    table = read_table(PAGE.read_text(encoding="utf-8"))
    assert [*table] == [ratio.what for ratio in RATIOS]
    for ratio, line in zip(RATIOS, table.values(), strict=True):
        _, what, number, aim, measured, version, _ = (cell.strip() for cell in line.split("|"))
        assert (what, aim) == (ratio.what, ratio.aim)
        assert "e" not in number and float(number.replace(",", "")) > 0
        assert ("÷" in measured) == bool(ratio.below)
        assert re.fullmatch(r"\d+\.\d+\.\d+ [0-9a-f]{7}, 20\d\d-\d\d-\d\d", version)


def test_the_lines_of_other_runners_are_those_that_are_measured() -> None:
    assert runner_lines() in PAGE.read_text(encoding="utf-8")


@pytest.fixture
def page(tmp_path: Path) -> Path:
    copy = tmp_path / "performance.md"
    copy.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    return copy


def rows_of(ratios: list[Ratio], figure: float) -> list[tuple[str, float, str]]:
    rows = [(ratio.above, figure, ratio.unit or "ms") for ratio in ratios]
    return rows + [(ratio.below, 500.0, "µs") for ratio in ratios if ratio.below]


def test_what_was_measured_is_written_and_the_rest_stays(page: Path) -> None:
    before = read_table(page.read_text(encoding="utf-8"))
    chosen = [ratio for ratio in RATIOS if ratio.benchmark == "sandbox"]
    keep(rows_of(chosen, 2.0), ["sandbox"], page)
    after = read_table(page.read_text(encoding="utf-8"))
    assert [*after] == [*before]
    for ratio in RATIOS:
        if ratio.benchmark == "sandbox":
            assert after[ratio.what].startswith(f"| {ratio.what} | 4 | {ratio.aim} | 2 ms ÷ 500 µs |")
        else:
            assert after[ratio.what] == before[ratio.what]


def test_a_row_that_is_gone_is_an_error(page: Path) -> None:
    with pytest.raises(LookupError, match="sandbox has no row"):
        keep([], ["sandbox"], page)


def test_other_programs_need_not_be_there(page: Path) -> None:
    before = page.read_text(encoding="utf-8")
    keep([], ["runners"], page)
    assert page.read_text(encoding="utf-8") == before


@pytest.mark.long
@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--json", name]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows or name == "adapters"
    measured = {what for what, _, _ in rows}
    for ratio in RATIOS:
        if ratio.benchmark == name and name not in ("runners", "lobby", "million"):  # their names hold the full numbers
            assert ratio.above in measured and ratio.below in ("", *measured, PIPE, LOOP)


@pytest.mark.slow
def test_two_checkouts_are_measured_in_turns(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--rounds", "1", "--against", ".", "tap"]) == 0
    shown = capsys.readouterr()
    assert "this / other" in shown.out and "round trip to a program" in shown.out and "nan" not in shown.out
    assert "measuring tap, round 1, the other" in shown.err
