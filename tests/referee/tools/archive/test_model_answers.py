"""`ggp export --transcript` and `--table`: what a record keeps of models' answers, of whatever wrote it."""

import json
from pathlib import Path
from typing import Any

import pytest

from ggp.protocol.errors import CommandFailed
from ggp.protocol.responder import Responder
from ggp.referee.cli.export import main
from ggp.referee.tools.archive.model_answers import read_kept
from tests.support.memory_match import MemoryMatch, bot

SYSTEM = "You play yugo."
ILLEGAL = {"prompt": "Your move?", "answer": "`Z9`", "named": "Z9", "illegal": "Z9 is not on the board", "ms": 500}


def asking(*turns: tuple[str, dict[str, Any]]) -> Responder:
    """A bot with these answers to ggp-genmove_analyze: the first line, and what it keeps."""
    left = iter(turns)

    def genmove(arguments: list[str]) -> str:
        first, kept = next(left)
        text = f"{first.removeprefix('? ')}\n{json.dumps(kept)}"
        if first.startswith("? "):
            raise CommandFailed(text)
        return text

    return bot([], **{"ggp-genmove_analyze": genmove})


def kept(*answers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m-1", "legal": "count", "board": "text", **more, "answers": [*answers]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two matches: the first is resigned, the second forfeited, by the model in seat 1."""
    good = {"prompt": "Move?", "answer": "A1", "named": "A1", "tokens_in": 100, "tokens_out": 7, "ms": 500, "tries": 2}
    good |= {"cost": 0.25}
    unread = {"prompt": "Move?", "answer": "well\u202e…", "unreadable": "no move", "tokens_in": 50, "tokens_out": 1}
    failed = {"prompt": "Move?", "failed": "the endpoint answers 500, 5 times", "tries": 5}
    one = asking(("A1", kept(good, system=SYSTEM)), ("resign", kept(ILLEGAL, good)))
    two = asking(("A1", kept(ILLEGAL, good)), ("? no move", kept(unread, failed)))
    path = tmp_path / "games.jsonl"
    matches = [MemoryMatch("yugo size=3", model, bot(["B2"])).run() for model in (one, two)]
    path.write_bytes(b"".join(line for match in matches for line in match.lines))
    return path


def test_a_transcript_has_a_line_for_each_question(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--transcript", str(file)]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["ply"], each["question"], each["named"], each["played"]) for each in lines] == [
        (1, 1, "A1", "A1"),
        (3, 1, "Z9", ""),
        (3, 2, "A1", ""),
        (1, 1, "Z9", ""),
        (1, 2, "A1", "A1"),
        (3, 1, "", ""),
        (3, 2, "", ""),
    ]
    assert [each["system"] for each in lines] == [SYSTEM] * 3 + [""] * 4, "of the match, and none of another's"
    assert {each["bot"] for each in lines} == {"one"} and {each["seat"] for each in lines} == {1}
    assert lines[1]["illegal"] == "Z9 is not on the board" and lines[-1]["failed"].startswith("the endpoint")


def test_what_cannot_be_seen_is_escaped(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--transcript", str(file)])
    assert "\u202e" not in (out := capsys.readouterr().out) and "\\u202e…" in out


def test_the_table_counts(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--table", str(file)]) == 0
    head, row = (line.split() for line in capsys.readouterr().out.splitlines())
    assert " ".join(head) == "bot model legal games moves answers illegal unread rate failed tokens in out cost s"
    assert row == ["one", "m-1", "count", "2", "4", "6", "2", "1", "50.0%", "1", "175", "11", "0.375", "0.42"]


def test_a_file_without_models_has_an_empty_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "games.jsonl"
    path.write_bytes(b"".join(MemoryMatch("yugo size=3", bot(["resign"]), bot([])).run().lines))
    assert main(["--table", str(path)]) == 0
    assert capsys.readouterr().out.split()[:2] == ["bot", "model"]
    assert main(["--transcript", str(path), "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_bytes() == b""


@pytest.mark.parametrize(
    "analysis",
    [
        "",
        "{}",
        '{"answers"',
        '{"answers": []}',
        '{"model": "m", "answers": {}}',
        '{"model": 1, "answers": []}',
        '{"model": "m", "answers": [{"tokens_in": -1}]}',
        '{"model": "m", "answers": [{"tokens_in": 1e400}]}',
        '{"model": "m", "answers": [{"cost": -0.5}]}',
        '{"model": "m", "answers": [{"answer": 7}]}',
        '{"model": "m", "answers": ' + "[" * 5000,
        '{"model": "m", "answers": [' + "{}," * 2000 + "{}]}",
    ],
)
def test_what_is_no_analysis_of_a_model_is_passed_over(analysis: str) -> None:
    assert read_kept(analysis) is None


@pytest.mark.parametrize("words", [["--transcript", "--table"], ["--table", "--format", "sgf"]])
def test_outputs_that_exclude_each_other(words: list[str], file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, str(file)]) == 2
    assert capsys.readouterr().err.startswith("ggp export: --")
