"""A session that the documentation shows, replayed: what is typed goes to the real program, what comes out is compared.

A session begins with `$ ` and a command line; what stands after `> ` is typed into it, everything else is what comes
out, on stdout or stderr. `{*}` stands for any text within a line, a line `…` for any lines; empty lines do not count.

`Reader` types the command lines of a page, and `check_claim` compares what they print with lines that the page
shows, or claims in a comment.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.support.cli import Ran, free_port, run_in

BIN = Path(sys.executable).parent


_NUMBER = r"[-−]?(?:\d+(?:\.\d+)?|∞)"


class DocSession(NamedTuple):
    """One fence, read."""

    command: str
    typed: list[str]
    said: list[str]


def read(text: str) -> DocSession:
    first, *lines = text.splitlines()
    assert first.startswith("$ "), first
    typed = [line[2:] for line in lines if line.startswith("> ")]
    said = [line.rstrip() for line in lines if line.strip() and not line.startswith("> ")]
    return DocSession(first[2:], typed, said)


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
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    said = [line.rstrip() for line in done.stdout.splitlines() if line.strip()]
    assert re.fullmatch(_pattern(session.said), "".join(f"{line}\n" for line in said)), done.stdout


class Reader:
    """Types command lines in a folder, as after `. .venv/bin/activate`.

    A port of this machine, 127.0.0.1:5555, is replaced by a free one, the same each time, also in the folder's TOML and
    Python files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ports: dict[str, int] = {}
        self._background: list[subprocess.Popen[bytes]] = []

    def run(self, line: str) -> Ran:
        done = run_in(self._folder, "bash", "-c", self._with_free_ports(line), **self._environment())
        for file in [*self._folder.glob("*.toml"), *self._folder.glob("*.py")]:
            file.write_text(self._with_free_ports(file.read_text(encoding="utf-8")), encoding="utf-8")
        return done

    def start(self, line: str) -> None:
        """In another terminal."""
        with (self._folder / "other-terminals.txt").open("ab") as file:
            running = subprocess.Popen(
                ["bash", "-c", f"exec {self._with_free_ports(line)}"],
                cwd=self._folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        self._background.append(running)

    def said_in_other_terminals(self) -> str:
        path = self._folder / "other-terminals.txt"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def end(self) -> None:
        """SIGTERM for what was started, latest first, then SIGKILL."""
        for running in reversed(self._background):
            running.terminate()
        for running in self._background:
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.wait(10)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            running.wait()

    def _with_free_ports(self, line: str) -> str:
        for port in re.findall(r"127\.0\.0\.1:(\d+)", line):
            if port not in self._ports and int(port) not in self._ports.values():
                self._ports[port] = free_port()
        return re.sub(r"127\.0\.0\.1:(\d+)", lambda match: f"127.0.0.1:{self._ports.get(match[1], match[1])}", line)

    def _environment(self) -> dict[str, str]:
        path = f"{BIN}:{os.environ['PATH']}:/usr/games"
        return {"PATH": path, "HOME": str(self._folder), "LC_ALL": "C.UTF-8", "COLUMNS": "120"}


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
