"""`make bench`: runs the benchmarks beside this file and prints one table. It measures nothing itself.

A benchmark is a module with `main(quick) -> rows`, a row being (what, figure, unit), each figure the median of
several rounds. `quick` asks for a tenth of the work: to see that it runs, not to be quoted. `--keep` writes ratios into
docs/explanation/performance.md.
"""

import argparse
import importlib
import json
import platform
import signal
import sys

from rich.console import Console
from rich.table import Table

BENCHMARKS = (
    "yardstick",
    "core_playouts",
    "core_search",
    "engine_plies",
    "adapters",
    "referee",
    "runners",
    "sandbox",
    "tap",
    "ratings",
    "records",
    "store",
    "schedule",
    "ladder",
    "ladder_size",
    "million",
    "console",
    "new_bot",
    "lobby",
    "fronts",
    "models",
    "web",
)


def main(arguments: list[str]) -> int:
    """Run what was asked for; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure this machine; one table.")
    parser.add_argument("only", nargs="*", metavar="BENCHMARK", help=f"some of: {', '.join(BENCHMARKS)} (default: all)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    parser.add_argument("--keep", action="store_true", help="write the ratios into docs/explanation/performance.md")
    chosen = parser.parse_args(arguments)
    if unknown := [name for name in chosen.only if name not in BENCHMARKS]:
        parser.error(f"no benchmark is called {unknown[0]}: there are {', '.join(BENCHMARKS)}")
    rows, names = [], chosen.only or list(BENCHMARKS)
    if chosen.keep:
        names = list(dict.fromkeys(["yardstick", *names]))
    for name in names:
        print(f"measuring {name} ...", file=sys.stderr)
        rows += importlib.import_module(f"tests.bench.{name}").main(quick=chosen.quick)
    if chosen.keep:
        from tests.bench.kept import keep

        keep(rows, names)
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    if chosen.json:
        print(json.dumps({"machine": machine, "rows": [list(row) for row in rows]}))
    else:
        _print_table(machine, rows)
    return 0


def _print_table(machine: str, rows: list[tuple[str, float, str]]) -> None:
    table = Table(title=f"Medians on {machine}")
    table.add_column("what")
    table.add_column("figure", justify="right")
    table.add_column("unit")
    for what, figure, unit in rows:
        table.add_row(what, f"{figure:,.0f}" if figure >= 100 else f"{figure:.2f}", unit)
    Console(width=100).print(table)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: what it has started ends with it
    sys.exit(main(sys.argv[1:]))
