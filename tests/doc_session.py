"""A session that the documentation shows, replayed: what is typed goes to the real program, what comes out is compared.

A session begins with `$ ` and a command line; what stands after `> ` is typed into it, everything else is what comes
out, on stdout or stderr. `{*}` stands for any text within a line, a line `…` for any lines; empty lines do not count.

`check_claim` compares what commands print with lines that a page shows or, in a comment, claims: see there.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

BIN = Path(sys.executable).parent


_NUMBER = r"[-−]?(?:\d+(?:\.\d+)?|∞)"


class Session(NamedTuple):
    """One fence, read."""

    command: str
    typed: list[str]
    said: list[str]


def read(text: str) -> Session:
    first, *lines = text.splitlines()
    assert first.startswith("$ "), first
    typed = [line[2:] for line in lines if line.startswith("> ")]
    said = [line.rstrip() for line in lines if line.strip() and not line.startswith("> ")]
    return Session(first[2:], typed, said)


def replay(text: str, folder: Path) -> None:
    """AssertionError, with what came out, if it is another than what is shown."""
    session = read(text)
    done = subprocess.run(
        ["bash", "-c", session.command],
        input="".join(f"{line}\n" for line in session.typed),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env={**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}{os.pathsep}/usr/games"},
        text=True,
        timeout=120,
        check=False,
    )
    said = [line.rstrip() for line in done.stdout.splitlines() if line.strip()]
    assert re.fullmatch(_pattern(session.said), "".join(f"{line}\n" for line in said)), done.stdout


def check_claim(claim: str, printed: str, any_number: bool) -> None:
    """AssertionError unless the lines of `claim` occur in `printed`, one after another.

    Runs of blanks count as one, empty lines not at all; `{*}` and `…` are those of a session. `any_number`: each number
    stands for any number.
    """
    lines = [" ".join(line.split()) for line in claim.splitlines() if line.strip()]
    said = [" ".join(line.split()) for line in printed.splitlines() if line.strip()]
    assert re.search(f"(?m)^{_pattern(lines, any_number)}", "".join(f"{line}\n" for line in said)), (
        f"{claim}\n--- was printed:\n{printed}"
    )


def _pattern(said: list[str], any_number: bool = False) -> str:
    return "".join(r"(?:.*\n)*?" if line == "…" else _line_pattern(line, any_number) + r"\n" for line in said)


def _line_pattern(line: str, any_number: bool) -> str:
    parts = re.split(rf"(\{{\*\}}|{_NUMBER})" if any_number else r"(\{\*\})", line)
    stands_for = {"{*}": ".*"}
    return "".join(stands_for.get(part, _NUMBER) if place % 2 else re.escape(part) for place, part in enumerate(parts))
