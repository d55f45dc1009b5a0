"""What a ladder says of a test between two versions: one line of words, while it runs and ever after."""

import json
from pathlib import Path

import pytest

from ggp.referee.cli import ladder_games
from ggp.referee.cli import referee as command
from ggp.referee.ratings.sequential import in_words
from ggp.referee.ratings.sprt import Hypotheses, judge
from tests.support.ladders import write_ladder

TEST = '[format]\nkind = "test"\nbots = ["a", "b"]\npreset = "big"\npairs = {pairs}\n'


def _run(capsys: pytest.CaptureFixture[str], file: Path) -> str:
    assert command.run_ladder([str(file), "--jobs", "1", "--json"]) == 0
    verdict = json.loads(capsys.readouterr().out)["verdicts"]["main"]
    assert isinstance(verdict, str)
    return verdict


def _verdicts(capsys: pytest.CaptureFixture[str], file: Path) -> list[str]:
    assert ladder_games.run_events([str(file), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["events"]
    return [event["text"] for event in told if event["kind"] == "verdict"]


@pytest.mark.parametrize(
    ("counts", "line"),
    [
        ((0, 0, 0, 0, 0), "not decided yet, LLR 0.00 of -2.94 … 2.94, 0 games"),
        ((3, 20, 41, 25, 6), "not decided yet, LLR 0.66 of -2.94 … 2.94, 190 games, Elo +20 ± 32"),
    ],
)
def test_the_line_of_an_open_test(counts: tuple[int, ...], line: str) -> None:
    assert in_words(judge(counts, Hypotheses(0, 20))) == line


@pytest.mark.slow
def test_a_decision_is_reported_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_ladder(tmp_path, "greedy:playouts=20", "random", more=TEST.format(pairs=500))
    said = _run(capsys, file)
    assert said.startswith("H1 is accepted, LLR ") and "median-unbiased" in said
    assert _verdicts(capsys, file) == [f"main: {said}"]
    assert _run(capsys, file) == said  # nothing is left to play
    assert _verdicts(capsys, file) == [f"main: {said}"]


@pytest.mark.slow
def test_so_is_that_a_test_was_given_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_ladder(tmp_path, "random", "random:seed=3", more=TEST.format(pairs=2))
    assert _run(capsys, file).startswith("inconclusive, LLR ")
    assert len(_verdicts(capsys, file)) == 1
