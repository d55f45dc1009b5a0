"""Every tests/transcripts/*.tst is said again to a real engine process: a fixed bug is a transcript that stays.

A transcript is what the wire carried: a command line, then its whole answer, which ends at an empty line. The first
line names the engine's arguments: `# engine: yugo size=5`. `{*}` in an answer stands for any text within a line.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

TRANSCRIPTS = sorted((Path(__file__).resolve().parent / "transcripts").glob("*.tst"))
HEADER = "# engine:"


def read(text: str) -> tuple[list[str], list[tuple[str, str]]]:
    """The engine's arguments, and the pairs of command line and expected answer."""
    header, *lines = text.split("\n")
    assert header.startswith(HEADER), f"the first line begins with {HEADER}"
    pairs: list[tuple[str, str]] = []
    command, answer = "", list[str]()
    for line in [*lines, ""]:
        if answer:
            if line:
                answer.append(line)
                continue
            pairs.append((command, "\n".join(answer)))
            command, answer = "", []
        elif line[:1] in ("=", "?"):
            assert command, f"an answer that nothing asked for: {line}"
            answer.append(line)
        elif line and not line.startswith("#"):
            assert not command, f"no answer to: {command}"
            command = line
    assert not command, f"no answer to: {command}"
    return header.removeprefix(HEADER).split(), pairs


def matches(expected: str, answer: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, expected.split("{*}"))), answer) is not None


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript(path: Path) -> None:
    arguments, pairs = read(path.read_text())
    assert pairs
    lines = "".join(f"{command}\n" for command, _ in pairs)
    engine = [sys.executable, "-m", "engines", *arguments]
    done = subprocess.run(engine, input=lines, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    answers = done.stdout.split("\n\n")
    assert answers.pop() == ""
    for (command, expected), answer in zip(pairs, answers, strict=True):
        assert matches(expected, answer), f"{command}\nexpected: {expected}\nanswered: {answer}"


def test_there_are_transcripts_of_every_game() -> None:
    games = {arguments[0] for arguments, _ in (read(path.read_text()) for path in TRANSCRIPTS) if arguments}
    assert {"go", "yugo"} <= games


def test_reading_a_transcript() -> None:
    text = "# engine: go size=5\n# why\nname\n= x\n\n1 showboard\n=1 \n  A\n1 .\n\nfoo\n? unknown command"
    assert read(text) == (
        ["go", "size=5"],
        [("name", "= x"), ("1 showboard", "=1 \n  A\n1 ."), ("foo", "? unknown command")],
    )
    assert matches("= a {*} c", "= a b c") and not matches("= a {*} c", "= a b d") and not matches("= .", "= x")
    for broken in ("name\n= x", "# engine:\nname\nname\n= x", "# engine:\n= x\n", "# engine:\nname\n"):
        with pytest.raises(AssertionError):
            read(broken)
