"""Runs one step of `make setup` and shows what it does and how far it is: python3 setup_step.py LABEL COMMAND ...

On a terminal one line is rewritten. Elsewhere a line is printed when the step begins, every ten seconds, and when it
ends. There are no colours. If the command fails, its output follows.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import TextIO

EVERY = 10.0  # seconds between two lines where there is no terminal


class StepProgress:
    """What the output of pip says about how far it is."""

    def __init__(self) -> None:
        self.state = ""
        self._found = 0

    def read(self, line: str) -> None:
        """Take a line of pip's output, or of the compiler's under `pip -v`."""
        line = line.strip()
        if match := re.match(r"Collecting ([\w.-]+)", line):
            self._found += 1
            self.state = f"{self._found} package{'s'[: self._found > 1]} found, now {match[1]}"
        elif match := re.match(r"\[(\d+)/(\d+)\] (?:Building|Linking)", line):
            self.state = f"{match[1]} of {match[2]} files compiled"
        elif match := re.match(r"Installing collected packages: (.*)", line):
            self.state = f"installing {match[1].count(',') + 1} packages"


def show(label: str, lines: Iterable[str], out: TextIO, terminal: bool, clock: Callable[[], float]) -> list[str]:
    """Show the progress of a command while its output comes; return that output."""
    progress, kept = StepProgress(), []
    began = shown = clock()
    print(f"{label} ...", file=out, end="" if terminal else "\n", flush=True)
    width = len(label) + 4
    for line in lines:
        kept.append(line)
        before = progress.state
        progress.read(line)
        now = clock()
        if terminal and progress.state != before:
            text = f"{label}: {progress.state}"[:79]
            print(f"\r{text:{width}}", file=out, end="", flush=True)
            width = len(text)
        elif not terminal and progress.state and now - shown >= EVERY:
            print(f"{label}: {progress.state}", file=out, flush=True)
            shown = now
    text = f"{label}: {clock() - began:.0f} s"
    print(f"\r{text:{width}}" if terminal else text, file=out, flush=True)
    return kept


def main(label: str, *command: str) -> int:
    """Run the command; its exit status is ours."""
    terminal = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", bufsize=1
    ) as running:
        assert running.stdout is not None
        said = show(label, running.stdout, sys.stdout, terminal, time.monotonic)
    if running.returncode != 0:
        sys.stderr.writelines(said)
    return running.returncode


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
