"""A session that the documentation shows, replayed: what is typed goes to the real program, what comes out is compared.

A session begins with `$ ` and a command line; what stands after `> ` is typed into it, everything else is what comes
out, on stdout or stderr. `{*}` stands for any text within a line, a line `…` for any lines; empty lines do not count.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

BIN = Path(sys.executable).parent


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


def _pattern(said: list[str]) -> str:
    lines = (".*".join(map(re.escape, line.split("{*}"))) + r"\n" for line in said)
    return "".join(r"(?:.*\n)*?" if line == "…" else pattern for line, pattern in zip(said, lines, strict=True))
