"""`make bench`: one table of benchmarks, one runner.

A benchmark is a function `(quick) -> rows`, a row being (what, figure, unit), each figure the median of several rounds.
`quick` asks for a tenth of the work: to see that it runs, not to be quoted.
"""

import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from tests.bench.measure import Row


class Benchmark(NamedTuple):
    """`run`: module and function. `by_command`: it measures nothing but the `ggp` command."""

    run: str
    by_command: bool = False


BENCHMARKS = {
    "yardstick": Benchmark("referee:yardstick"),
    "core_playouts": Benchmark("core:playouts"),
    "core_search": Benchmark("core:search"),
    "start": Benchmark("referee:start", by_command=True),
    "engine_plies": Benchmark("referee:engine_plies", by_command=True),
    "referee": Benchmark("referee:series", by_command=True),
    "runners": Benchmark("runners:main", by_command=True),
    "adapters": Benchmark("referee:adapters", by_command=True),
    "sandbox": Benchmark("sandbox:main"),
    "tap": Benchmark("referee:tap", by_command=True),
    "ladder": Benchmark("ladder:main", by_command=True),
    "million": Benchmark("million:main"),
    "lobby": Benchmark("lobby:main"),
    "fronts": Benchmark("fronts:main"),
    "web": Benchmark("web:main"),
}


def main(arguments: list[str]) -> int:
    """Run the chosen benchmarks and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure this machine; one table.")
    parser.add_argument("only", nargs="*", metavar="BENCHMARK", help=f"some of: {', '.join(BENCHMARKS)} (default: all)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    parser.add_argument("--keep", action="store_true", help="write the ratios into docs/explanation/performance.md")
    parser.add_argument("--against", type=Path, metavar="DIR", help="measure another checkout too, in turns with this")
    parser.add_argument("--rounds", type=int, default=3, help="turns of --against (default: 3)")
    chosen = parser.parse_args(arguments)
    if unknown := [name for name in chosen.only if name not in BENCHMARKS]:
        parser.error(f"no benchmark is called {unknown[0]}: there are {', '.join(BENCHMARKS)}")
    names = chosen.only or list(BENCHMARKS)
    if chosen.against:
        return _compare(names, chosen.against, chosen.rounds, chosen.quick)
    rows: list[Row] = []
    if chosen.keep:
        names = list(dict.fromkeys(["yardstick", *names]))
    for name in names:
        print(f"measuring {name} ...", file=sys.stderr)
        module, _, function = BENCHMARKS[name].run.partition(":")
        rows += getattr(import_module(f"tests.bench.{module}"), function)(quick=chosen.quick)
    if chosen.keep:
        from tests.bench.kept import keep

        keep(rows, names)
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    if chosen.json:
        print(json.dumps({"machine": machine, "rows": [list(row) for row in rows]}))
    else:
        _print_table(f"Medians on {machine}", ["figure"], [(what, [figure], unit) for what, figure, unit in rows])
    return 0


def _compare(names: list[str], other: Path, rounds: int, quick: bool) -> int:
    """Measure this checkout and another in turns, and print both with their ratio."""
    found: dict[tuple[str, str], tuple[list[float], list[float]]] = {}
    for name in names:
        for number in range(rounds):
            for side in (0, 1) if number % 2 else (1, 0):
                print(f"measuring {name}, round {number + 1}, {('this', 'the other')[side]} ...", file=sys.stderr)
                for what, figure, unit in _measure(name, other if side else None, quick):
                    found.setdefault((what, unit), ([], []))[side].append(figure)
    lines = []
    for (what, unit), both in found.items():
        this, that = (statistics.median(each) if each else float("nan") for each in both)
        lines.append((what, [that, this, this / that if that else float("nan")], unit))
    _print_table(f"Medians of {rounds} rounds in turns with {other}", ["other", "this", "this / other"], lines)
    return 0


def _measure(name: str, other: Path | None, quick: bool) -> list[Row]:
    """Run one benchmark in a process. A checkout measures itself, except where its command is all that is measured."""
    words, folder, environment = [sys.executable], Path.cwd(), dict(os.environ)
    if other is not None and BENCHMARKS[name].by_command:
        environment["GGP_BENCH_COMMAND"] = str(other.resolve() / ".venv" / "bin" / "ggp")
    elif other is not None:
        words, folder = [str(other.resolve() / ".venv" / "bin" / "python")], other
    words += ["-m", "tests.bench", "--json", name, *(["--quick"] if quick else [])]
    done = subprocess.run(words, cwd=folder, env=environment, stdout=subprocess.PIPE, check=True)
    return [(what, figure, unit) for what, figure, unit in json.loads(done.stdout)["rows"]]


def _print_table(title: str, columns: list[str], rows: list[tuple[str, list[float], str]]) -> None:
    table = Table(title=title)
    table.add_column("what")
    for column in columns:
        table.add_column(column, justify="right")
    table.add_column("unit")
    for what, figures, unit in rows:
        table.add_row(what, *(f"{each:,.0f}" if each >= 100 else f"{each:.3g}" for each in figures), unit)
    Console(width=110).print(table)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: what it has started ends with it
    sys.exit(main(sys.argv[1:]))
