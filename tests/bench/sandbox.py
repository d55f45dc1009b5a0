"""What the sandbox costs: a start, a ply, memory, the end of many children, and what an opponent can steal.

Starts are of a program that ends at once, from `start` to its end: bare (fork and exec alone), as bots were started
before there was a guard (`setpriv` and `sh`), and at each level. Not a test: nothing is asserted.
"""

import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from ggp.protocol.transports.subreaper import adopting_orphans
from ggp.referee.match.process import available_cores, pin
from ggp.referee.match.sandbox.levels import LEVELS, Level, Sandbox, SandboxError
from ggp.referee.match.sandbox.machine import check_level, this_machine
from ggp.referee.match.sandbox.spawn import reap
from ggp.referee.match.sandbox.start import Child, start
from tests.bench.referee import GGP
from tests.support import ROOT
from tests.support.series import make_setup, play, script

TRUE = shutil.which("true") or "/bin/true"
STARTS, ENDS, ROUNDS = 300, 30, 5
CHILDREN = 60
# Starts children that do nothing, says so, and waits.
FAMILY = f"""
import os, time
for _ in range({CHILDREN}):
    if not os.fork():
        os.setsid()
        time.sleep(600)
print("ready", flush=True)
time.sleep(600)
"""
# Plays the button, then passes; in its opponent's turn a thread is busy.
BUSY_BOT = """
import threading
turn = threading.Event()
def work():
    while True:
        turn.wait()
        busy()
threading.Thread(target=work, daemon=True).start()
free = True
while True:
    words = ask().split()
    turn.clear()
    if words[0] == 'list_commands': say('ggp-new play genmove name version quit')
    elif words[0] == 'ggp-new': free = True; say()
    elif words[0] == 'genmove': say('button' if free else 'pass'); free = False; turn.set()
    elif words[0] == 'quit': say(); sys.exit()
    else: say()
"""
BUSY = "for i in range(100000): pass"
HONEST = "greedy:playouts=60,resign=off"
LIMITS = Sandbox(processes=2 * CHILDREN)


def main(quick: bool = False) -> list[tuple[str, float, str]]:
    """Rows (what, figure, unit), medians."""
    share = 10 if quick else 1
    levels = [level for level in LEVELS if _is_to_be_had(level)]
    pin(available_cores()[-1])
    with adopting_orphans():
        return [
            *_starts(levels, STARTS // share),
            *_plies(levels, 400 // share, ROUNDS if share == 1 else 1),
            *_memory(levels),
            *_ends(levels, max(3, ENDS // share)),
            *_stolen(levels, 60 // share),
            ("a look at what the machine offers", 1e3 * statistics.median(_looks(20 // share + 1)), "ms"),
        ]


def _is_to_be_had(level: Level) -> bool:
    try:
        check_level(level, "a bot")
    except SandboxError as error:
        print(error, file=sys.stderr)
        return False
    return True


# -- starts ----------------------------------------------------------------------------------------------------------


def _starts(levels: list[Level], number: int) -> Iterator[tuple[str, float, str]]:
    """Measured in turn, in random order, so that what else the machine does meets all of them."""
    setpriv, shell = shutil.which("setpriv"), shutil.which("sh")
    ways: dict[str, Callable[[], None]] = {"bare": lambda: _popen(TRUE)}
    if setpriv and shell:
        check = '[ "$PPID" = "$0" ] && exec "$@"'
        before = (setpriv, "--pdeathsig", "KILL", "--", shell, "-c", check, str(os.getpid()), TRUE)
        ways["by setpriv and sh, as before"] = lambda: _popen(*before)
    for level in levels:
        ways[level] = lambda level=level: _start_and_end(level)  # type: ignore[misc]
    spent: dict[str, list[float]] = {way: [] for way in ways}
    chance = random.Random(1)
    for _ in range(number):
        for way, do in chance.sample(
            sorted(ways.items()), len(ways)
        ):  # a start is quicker just after another of its kind
            began = time.perf_counter()
            do()
            spent[way].append(time.perf_counter() - began)
    for way, found in spent.items():
        yield f"start and end of /bin/true, {way}", 1e3 * statistics.median(found), "ms"


def _popen(*words: str) -> None:
    subprocess.run(words, check=True, process_group=0)


def _start_and_end(level: Level) -> None:
    with open(os.devnull, "r+b", buffering=0) as nothing:  # noqa: PTH123 - a descriptor is wanted
        _end(_start(level, [TRUE], nothing.fileno()))


def _start(level: Level, words: list[str], output: int, folder: str = "") -> Child:
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        sandbox = replace(LIMITS, level=level, files=tuple(own_files()))
        return start(words, (nothing, output, nothing), environment={}, sandbox=sandbox, folder=folder)
    finally:
        os.close(nothing)


def own_files() -> list[str]:
    return [sys.prefix, sys.base_prefix, str(ROOT)]


def _end(child: Child) -> None:
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    reap(child.pid)
    child.end(())


# -- plies, and what is stolen ---------------------------------------------------------------------------------------


def _plies(levels: list[Level], games: int, rounds: int) -> Iterator[tuple[str, float, str]]:
    """The levels in turn, round by round."""
    found: dict[Level, list[float]] = {level: [] for level in levels}
    for _ in range(rounds):
        for level in levels:
            words = [
                "match",
                "yugo",
                "random",
                "random",
                "--games",
                str(games),
                "--jobs",
                "1",
                "--sandbox",
                level,
            ]
            done = subprocess.run(
                [*GGP, *words, "--json", "--quiet"], capture_output=True, encoding="utf-8", check=True
            )
            result = json.loads(done.stdout)
            found[level].append(1e6 * result["seconds"] / result["plies"])
    for level, each in found.items():
        yield f"match yugo random random, a ply under {level}", statistics.median(each), "µs"


def _stolen(levels: list[Level], games: int) -> Iterator[tuple[str, float, str]]:
    """What a bot that is busy in its opponent's turn costs that one: what it is charged more than in the same games
    against one that waits."""
    for level in levels:
        busy, waiting = (_charged(level, what, max(2, games)) for what in (BUSY, ""))
        stolen = [more - less for more, less in zip(busy, waiting, strict=False)]
        yield f"stolen from an opponent, a game, {level}", statistics.median(stolen), "ms"


def _charged(level: Level, what: str, games: int) -> list[float]:
    """Milliseconds of the opponent in each game."""
    setup = make_setup(
        "yugo,size=5", script(BUSY_BOT.replace("busy()", what or "pass")), HONEST, name="bench", seeded=True
    )
    bots = [replace(bot, sandbox=Sandbox(level=level)) for bot in setup.bots]
    came = play(replace(setup, bots=(bots[0], bots[1])), range(0, 2 * games, 2))
    return [float(sum(ply.ms for ply in one.plies if ply.seat == 2)) for one in came.records]


# -- memory, ends, the look -------------------------------------------------------------------------------------------


def _memory(levels: list[Level]) -> Iterator[tuple[str, float, str]]:
    """What stays beside a bot: the private memory of the processes of the guard."""
    for level in levels:
        child = _start(level, ["/bin/sleep", "600"], os.open(os.devnull, os.O_WRONLY))
        time.sleep(0.2)
        size = _private(child.spawned.init) if child.spawned.init else 0
        os.kill(child.pid, signal.SIGKILL)
        _end(child)
        yield f"memory of the guard beside a bot, {level}", size / 1024, "MiB"


def _private(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def _ends(levels: list[Level], number: int) -> Iterator[tuple[str, float, str]]:
    """From SIGKILL of a program to the end of the children that it started in sessions of their own."""
    for level in levels:
        spent = []
        for _ in range(number):
            read, write = os.pipe()
            child = _start(level, [sys.executable, "-S", "-E", "-c", FAMILY], write)
            os.close(write)
            assert os.read(read, 100) == b"ready\n"
            began = time.perf_counter()
            os.killpg(child.pid, signal.SIGKILL)
            _end(child)
            _reap_orphans()
            spent.append(time.perf_counter() - began)
            os.close(read)
        yield f"{CHILDREN} children of other sessions ended, {level}", 1e3 * statistics.median(spent), "ms"


def _reap_orphans() -> None:
    from ggp.protocol.transports.subreaper import kill_strays

    kill_strays(())


def _looks(number: int) -> Iterator[float]:
    for _ in range(number):
        this_machine.cache_clear()
        began = time.perf_counter()
        this_machine()
        yield time.perf_counter() - began
