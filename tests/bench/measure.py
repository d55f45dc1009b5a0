"""Rows, bots that answer at once, and ways to measure a process, for all benchmarks."""

import contextlib
import json
import os
import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.request import urlopen

from ggp.engines.game import read_options
from ggp.engines.registry import Registry

GGP = [os.environ.get("GGP_BENCH_COMMAND") or str(Path(sys.executable).with_name("ggp"))]
"""The command that is measured: that of another checkout under `--against`."""
HERE = Path(__file__).parent
Row = tuple[str, float, str]
"""A name, a figure and its unit."""
K = TypeVar("K")
T = TypeVar("T")


class Cost(NamedTuple):
    """Seconds by the clock and of the processor, and the most memory in MiB."""

    clock: float
    processor: float
    mebibytes: float = 0.0


def in_turns(ways: Mapping[K, Callable[[], T]], rounds: int) -> dict[K, list[T]]:
    """Return the results of each way, measured in turns, so that a slow minute of the machine meets all of them."""
    found: dict[K, list[T]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, run in ways.items():
            found[way].append(run())
    return found


def medians(ways: Mapping[str, Callable[[], float]], rounds: int, unit: str) -> list[Row]:
    """Return a row for each way, the median of its rounds."""
    return [(what, statistics.median(each), unit) for what, each in in_turns(ways, rounds).items()]


def build(place: Path, source: str = "instant.c", *options: str) -> Path:
    """Compile a bot in C of this folder; `instant.c` answers at once with the moves of a file."""
    program = place / f"{Path(source).stem}{len(options)}"
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", program, HERE / source, *options], check=True)
    return program


def script(game: str, options: Mapping[str, str], path: Path) -> Path:
    """Write a random legal game, one move a line."""
    chance, rules = random.Random(7), Registry().load(game)
    state, moves = rules.new(read_options(rules, [f"{name}={value}" for name, value in options.items()])), []
    while state.phase != "over":
        moves.append(state.play(chance.choice(state.legal_moves())))
    return write_moves(path, moves)


def write_moves(path: Path, moves: Iterable[str]) -> Path:
    path.write_text("\n".join([*moves, ""]), encoding="utf-8")
    return path


def run_ggp(*words: str) -> dict[str, Any]:
    """Return what a command prints with `--json`."""
    done = subprocess.run([*GGP, *words, "--json"], capture_output=True, encoding="utf-8", check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def run_match(place: Path, game: str, bot: str, games: int, jobs: int, *more: str) -> dict[str, Any]:
    """Return the result of `ggp match` between two copies of a bot, with a record."""
    record = place / "record.jsonl"
    record.unlink(missing_ok=True)
    return run_ggp("match", game, bot, bot, f"--games={games}", f"--jobs={jobs}", f"--record={record}", *more)


@contextlib.contextmanager
def pinned(core: int) -> Iterator[None]:
    """Keep this process, and what it starts, on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def pin(pid: int, core: int) -> None:
    """Keep all threads of a process on one core."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), {core})


@contextlib.contextmanager
def piped(*words: str | Path) -> Iterator[tuple[Callable[[bytes], bytes], int]]:
    """Start a program. Yield a function that writes and returns what is read next, and the process id."""
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None and child.stdout is not None
    into, out = child.stdin.fileno(), child.stdout.fileno()

    def ask(line: bytes) -> bytes:
        os.write(into, line)
        return os.read(out, 1 << 16)

    try:
        yield ask, child.pid
    finally:
        child.stdin.close()
        child.wait()
        child.stdout.close()


def processor(pid: int) -> float:
    """Return the seconds of processor time that all threads of a process have used."""
    used = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            used += int((thread / "schedstat").read_text(encoding="utf-8").split()[0])
    return used / 1e9


def memory(pid: int, field: str = "VmRSS") -> int:
    """Return the resident memory of a process in KiB; 0 if it has ended."""
    found = re.search(rf"{field}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
    return int(found[1]) if found else 0


def metric(url: str, name: str) -> float:
    """Return the value of a metric of a lobby, with its labels or the sum over all; 0 if it is not there."""
    with urlopen(url, timeout=60) as page:
        lines = page.read().decode().splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith((f"{name} ", f"{name}{{")))


def command_cost(*words: str) -> Cost:
    """Return what a whole `ggp` process costs."""
    began = time.perf_counter()
    process = subprocess.Popen([*GGP, *words], stdout=subprocess.DEVNULL)
    most = 0  # the kernel's own, ru_maxrss, begins with what this process has
    while not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
        most = max(most, memory(process.pid, "VmHWM"))
        time.sleep(0.01)
    spent = time.perf_counter() - began
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    return Cost(spent, usage.ru_utime + usage.ru_stime, most / 1024)


def call_cost(call: Callable[[], object]) -> Cost:
    """Return what a call costs in this process."""
    clock, used = time.perf_counter(), time.process_time()
    call()
    return Cost(time.perf_counter() - clock, time.process_time() - used)


def best(measure: Callable[[], Cost], rounds: int = 3) -> Cost:
    """Return the least of each figure, after a round that is not counted."""
    measure()
    return Cost(*(min(values) for values in zip(*(measure() for _ in range(rounds)), strict=True)))


def cost_rows(what: str, cost: Cost) -> list[Row]:
    return [(f"{what}, processor", cost.processor, "s"), (f"{what}, clock", cost.clock, "s")]
