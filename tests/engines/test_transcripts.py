"""Every tests/transcripts/*.tst is replayed to a real engine process: a fixed bug leaves its transcript.

They are regression transcripts (ggp.protocol.regression), which `ggp regress FILE -- ggp engine …` runs, too. The first
line names the engine's arguments: `# engine: yugo size=5`; those of a bot begin with `# bot: random`.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from ggp.protocol.grammar import format_reply, parse_reply
from ggp.protocol.regression import RegressionVerdict, judge, parse
from tests.support import TESTS

TRANSCRIPTS = sorted((TESTS / "transcripts").glob("*.tst"))
PROGRAMS = {"# engine:": "ggp.engines", "# bot:": "ggp.bots"}


def program(text: str) -> list[str]:
    """The command line that the first line names."""
    header, _, words = text.partition("\n")[0].partition(": ")
    return [sys.executable, "-P", "-m", PROGRAMS[f"{header.rstrip(':')}:"], *words.split()]


@pytest.mark.slow
@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    steps = parse(text).steps
    assert steps and all(step.expectation is not None for step in steps)
    lines = "".join(f"{step.command}\n" for step in steps)
    done = subprocess.run(program(text), input=lines.encode(), capture_output=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")
    answers = done.stdout.split(b"\n\n")
    assert answers.pop() == b""
    for step, answer in zip(steps, answers, strict=True):
        reply = parse_reply(answer)
        assert reply is not None and reply.id == step.id
        assert format_reply(reply) == answer + b"\n\n"  # framed exactly so
        said = f"{path.name}:{step.line}: {step.command}\nanswered: {answer.decode()}"
        assert judge(step, reply) in (RegressionVerdict.PASS, RegressionVerdict.NONE), said


def test_there_are_transcripts_of_every_game() -> None:
    games = {words[4] for path in TRANSCRIPTS if len(words := program(path.read_text(encoding="utf-8"))) > 4}
    assert {"go", "yugo", "laido", "stigmergy", "taigo", "taugo"} <= games
