"""`ggp ladder run [LADDER.toml]`: reads the command line, gets store and workers together, shows how the run goes."""

import contextlib
import json
import math
import os
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from referee.archive.live import live_base
from referee.ladder.limits import FORMS, LimitError, Limits, read_limits
from referee.ladder.progress import Progress
from referee.ladder.toml_section import ConfigError
from referee.play.pool import LocalPool, Pool, WorkersLost
from referee.play.recorder import remove_side_files
from referee.play.worker import Place
from referee.store.errors import StoreError

if TYPE_CHECKING:
    from referee.ladder.entries import Ladder
    from referee.ladder.watch import Watched

BAD_USAGE = 2
MINUTE = 60.0
BOTS = 8  # that a worker keeps alive
EPILOGUE = f"""\b
--until is {FORMS}.

\b
The exit status is 0 when the games were played or nothing is left to play; 1 if
the store or the workers failed; 2 for a command line or a file that cannot be;
130 after Ctrl-C, 143 after SIGTERM. What was finished is kept whatever happens,
and the same command goes on.
"""


def main(argv: list[str]) -> int:
    """The exit status."""
    # A refit is many small products; where matches keep every core busy, more threads only wait for one another.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        return int(run.main(argv, prog_name="ggp ladder run", standalone_mode=False) or 0)
    except (ConfigError, LimitError) as error:
        click.echo(f"ggp ladder run: {error}", err=True)
    except click.ClickException as error:
        click.echo(f"ggp ladder run: {error.format_message()} (ggp ladder run --help)", err=True)
    except (StoreError, WorkersLost) as error:
        click.echo(f"ggp ladder run: {error}", err=True)
        return 1
    except (click.Abort, KeyboardInterrupt):
        return 130
    return BAD_USAGE


@click.command("run", epilog=EPILOGUE, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", metavar="[LADDER.toml]", default="ladder.toml", type=click.Path(path_type=Path))
@click.option("--games", type=click.IntRange(1, 10**9), help="End when so many of the ladder were played or given up.")
@click.option("--until", metavar="WHEN", help="End at a time, after a while, or when ratings are known well enough.")
@click.option("--jobs", type=click.IntRange(1, 256), help="Matches at a time.  [default: one a core]")
@click.option("--cluster", metavar="URL", help="Workers of a Dask cluster: dask://HOST:PORT.")
@click.option(
    "--keep", type=click.IntRange(2, 1000), default=BOTS, show_default=True, help="Bots a worker keeps alive."
)
@click.option("--pin/--no-pin", default=True, help="Keep a match's processes on one core (the default).")
@click.option("--json", "as_object", is_flag=True, help="The result as one JSON object on stdout.")
@click.option("--quiet", is_flag=True, help="A line now and then instead of the live table.")
def run(
    file: Path,
    games: int | None,
    until: str | None,
    jobs: int | None,
    cluster: str | None,
    keep: int,
    pin: bool,
    as_object: bool,
    quiet: bool,
) -> int:
    """Play the ladder that LADDER.toml describes, and go on where it was stopped, however that was."""
    from referee.ladder.run import LadderRun
    from referee.ladder.watch import Watched
    from referee.store.store import Store

    limits = read_limits(games, until, datetime.now().astimezone())
    if cluster and (jobs or not pin):
        raise click.UsageError("--jobs and --no-pin are of workers on this machine: they do not go with --cluster")
    hire = _hire(cluster, jobs or len(os.sched_getaffinity(0)), pin, keep)
    watched = Watched(file)
    ladder, warnings = _read(file, watched)
    with Store.open(ladder.store, create=True) as store:
        store.take_lock(f"ggp ladder run {file}")
        try:
            with _side_files(ladder.store) as live, _screen(quiet or as_object, limits) as seen:
                for warning in warnings:
                    click.echo(f"ggp ladder run: {warning}", err=True)
                reread = _rereader(file, watched, ladder)
                ladder_run = LadderRun(ladder, store, partial(hire, live), limits, seen, reread)
                progress = ladder_run.go()
        finally:
            store.release_lock()
    _show(progress, file, as_object, quiet)
    return _status(progress)


@contextlib.contextmanager
def _screen(quiet: bool, limits: Limits) -> Iterator[Callable[[Progress], None]]:
    """Where to show the run: a live table on a terminal, else lines of a log, both on stderr."""
    from referee.ladder.live import LiveTable, LogLines

    err = Console(stderr=True)
    if quiet or not err.is_terminal:
        left = math.inf if limits.at is None else limits.at - time.time()
        every = max(1.0, min(MINUTE, left / 5))  # a short run says something, too
        yield LogLines(lambda line: click.echo(line, err=True), every).update
        return
    with LiveTable(err, time.monotonic) as table:
        yield table.update


def _rereader(file: Path, watched: "Watched", begun: "Ladder") -> "Callable[[], Ladder | None]":
    """Reads the file again when it, or a program in it, has changed. Raises ConfigError.

    What makes it another ladder than the one that was begun is for another run.
    """

    def read() -> "Ladder | None":
        if not watched.changed():
            return None
        ladder, _ = _read(file, watched)
        for key in ("name", "seed", "store"):
            if getattr(ladder, key) != getattr(begun, key):
                raise ConfigError(str(file), key, "cannot change while the ladder runs: end the run and start it again")
        return ladder

    return read


def _read(file: Path, watched: "Watched") -> "tuple[Ladder, list[str]]":
    """The ladder, once engines and built-in bots were asked whether it can be, and what engines lack."""
    from referee.ladder.config import read_ladder
    from referee.ladder.prepare import check_programs, prepare_pools

    ladder, warnings = prepare_pools(read_ladder(file))
    check_programs(ladder)
    watched.follow(ladder)
    return ladder, warnings


def _hire(cluster: str | None, jobs: int, pin: bool, keep: int) -> Callable[[str], Pool]:
    """Makes a pool; its workers write what they play to side files whose names begin so."""
    if cluster is None:
        return lambda live: LocalPool(jobs, Place(pin, "", keep, live))
    from referee.ladder.cluster import DaskPool, address_of

    try:
        address_of(cluster)
    except ValueError as error:
        raise click.UsageError(f"--cluster {error}") from None
    return lambda live: DaskPool(cluster, keep)


@contextlib.contextmanager
def _side_files(store: str) -> Iterator[str]:
    """What the names of the workers' side files begin with; those that a run left which was killed are removed."""
    base = live_base(store)
    folder = Path(base).parent
    with contextlib.suppress(OSError):
        folder.mkdir(0o700, exist_ok=True)
    remove_side_files(base)
    try:
        yield base
    finally:
        remove_side_files(base)


def _show(progress: Progress, file: Path, as_object: bool, quiet: bool) -> None:
    from referee.ladder.live import final_summary

    if as_object:
        click.echo(json.dumps(_as_json(progress), ensure_ascii=False))
    elif not quiet:
        Console().print(final_summary(progress))
        click.echo(
            f"\nNext: ggp ladder standings {file}, ggp ladder crosstable {file}, ggp ladder report {file} -o site"
        )
    if progress.finished:
        click.echo(f"ggp ladder run: over: {progress.finished}", err=True)
    if progress.failed:
        click.echo(f"ggp ladder run: {progress.failed}; the same command goes on from what is stored", err=True)
    if progress.stopped:
        click.echo("ggp ladder run: stopped; the same command goes on", err=True)


def _as_json(progress: Progress) -> dict[str, Any]:
    """Games that are stored and of this run, standings by pool (Elo), how the games ended, why the run did."""
    return {
        "ladder": progress.ladder,
        "stored": progress.stored,
        "games": progress.games,
        "plies": progress.plies,
        "seconds": round(progress.seconds, 3),
        "pools": {
            pool: [
                {"name": line.label, "elo": line.elo, "se": line.se, "games": line.games, "share": line.share}
                for line in lines
            ]
            for pool, lines in progress.standings.items()
        },
        "terminations": dict(progress.terminations),
        "faults": [{"who": who, "what": what, "games": n} for (who, what), n in sorted(progress.faults.items())],
        "verdicts": progress.verdicts,
        "messages": progress.messages,
        "finished": progress.finished,
        "interrupted": progress.stopped,
        "failed": progress.failed,
    }


def _status(progress: Progress) -> int:
    if progress.stopped:
        return 128 + progress.stopped
    return 1 if progress.failed else 0
