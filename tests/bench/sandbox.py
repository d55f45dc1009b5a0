"""Measure the cost of the sandbox: a start and a ply at each level.

Starts are of a program that ends at once, from `start` to its end: bare (fork and exec alone), by `setpriv` and `sh`,
and at each level.
"""

import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

from ggp.protocol.transports.subreaper import adopting_orphans
from ggp.referee.match.process import available_cores, pin
from ggp.referee.match.sandbox.levels import LEVELS, Level, Sandbox, SandboxError
from ggp.referee.match.sandbox.machine import check_level
from ggp.referee.match.sandbox.spawn import reap
from ggp.referee.match.sandbox.start import start
from tests.bench.measure import Row, medians, run_ggp
from tests.support import ROOT

TRUE = shutil.which("true") or "/bin/true"


def main(quick: bool = False) -> list[Row]:
    """Return rows of starts, then of plies."""
    share = 10 if quick else 1
    levels = [level for level in LEVELS if _is_available(level)]
    pin(available_cores()[-1])
    plies = {f"match yugo random random, a ply under {each}": partial(_ply, each, 400 // share) for each in levels}
    with adopting_orphans():
        return [*_starts(levels, 300 // share), *medians(plies, 1 if quick else 5, "µs")]


def _is_available(level: Level) -> bool:
    try:
        check_level(level, "a bot")
    except SandboxError as error:
        print(error, file=sys.stderr)
        return False
    return True


def _starts(levels: list[Level], number: int) -> list[Row]:
    """Measure in random order: a start is quicker just after another of its kind."""
    setpriv, shell = shutil.which("setpriv"), shutil.which("sh")
    ways: dict[str, Callable[[], None]] = {"bare": partial(_popen, TRUE)}
    if setpriv and shell:
        check = '[ "$PPID" = "$0" ] && exec "$@"'
        before = (setpriv, "--pdeathsig", "KILL", "--", shell, "-c", check, str(os.getpid()), TRUE)
        ways["by setpriv and sh, as before"] = partial(_popen, *before)
    ways |= {level: partial(_start_and_end, level) for level in levels}
    spent: dict[str, list[float]] = {way: [] for way in ways}
    chance = random.Random(1)
    for _ in range(number):
        for way, run in chance.sample(sorted(ways.items(), key=lambda item: item[0]), len(ways)):
            began = time.perf_counter()
            run()
            spent[way].append(time.perf_counter() - began)
    return [(f"start and end of /bin/true, {way}", 1e3 * statistics.median(each), "ms") for way, each in spent.items()]


def _popen(*words: str) -> None:
    subprocess.run(words, check=True, process_group=0)


def _start_and_end(level: Level) -> None:
    sandbox = Sandbox(level=level, files=(sys.prefix, sys.base_prefix, str(ROOT)))
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        child = start([TRUE], (nothing,) * 3, environment={}, sandbox=sandbox, folder="")
    finally:
        os.close(nothing)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    reap(child.pid)
    child.end(())


def _ply(level: Level, games: int) -> float:
    words = ("match", "yugo", "random", "random", f"--games={games}", "--jobs=1", "--quiet", f"--sandbox={level}")
    result = run_ggp(*words)
    return float(1e6 * result["seconds"] / result["plies"])
