"""How long from nothing to the end of the first games: `ggp new-bot`, the build, two games, in each language.

Nothing of a build before is used: the caches of compilers are in the folder. Not a test: nothing is asserted.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ggp.referee.cli.new import BOTS


def main(quick: bool = False) -> list[tuple[str, float, str]]:
    """Rows (what, figure, unit), medians."""
    rounds = 1 if quick else 3
    here = [name for name, language in BOTS.items() if all(map(shutil.which, language.tools))]
    return [
        (f"ggp new-bot, build and first games: {BOTS[name].title}", statistics.median(_seconds(name, rounds)), "s")
        for name in here
    ]


def _seconds(language: str, rounds: int) -> list[float]:
    found = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            caches = {"GOCACHE": f"{folder}/cache", "GOPATH": f"{folder}/go", "GOFLAGS": ""}
            path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
            began = time.perf_counter()
            for words in (["ggp", "new-bot", "mine", "--language", language], ["make", "-C", "mine", "play"]):
                subprocess.run(
                    words,
                    cwd=folder,
                    env={**os.environ, **caches, "PATH": path},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    check=True,
                )
            found.append(time.perf_counter() - began)
    return found
