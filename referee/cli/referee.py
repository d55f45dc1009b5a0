"""`ggp referee [LADDER.toml]` and `ggp ladder run`: play a ladder, and what other commands that play one share."""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ggp.protocol.local_time import LOCAL
from ggp.protocol.printed import json_text
from ggp.referee.command_line import HELP, make_folder, run_command
from ggp.referee.ladder.progress import FORMS, Progress, StopConditions, read_limits
from ggp.referee.ladder.session import KEPT_BOTS, Control, WorkerOptions, play_ladder, side_files
from ggp.referee.ladder.store.model import StoreError
from ggp.referee.match.pool import WorkersLost
from ggp.referee.records import live_base
from ggp.referee.terminal import can_redraw, escape_unprintable, rich_console

if TYPE_CHECKING:
    from ggp.referee.server.control.server import ControlAddresses


NAME = "ggp referee"
RUN_NAME = "ggp ladder run"
MINUTE = 60.0
EPILOGUE = """\b
Commands come on standard input, a line each, or with --bind over ZeroMQ, or
both; `list_commands` lists them. With `quit`, or when the input ends, the
referee ends as after Ctrl-C, unless --bind was given: then it goes on.

\b
Every client of the address controls the ladder. Over tcp any user of this
machine may connect, stop it and abort matches; only your user may open the
socket of ipc://FILE. Only standard input and ipc:// may name command lines,
files, and bots on other machines (ggp-match).

\b
The exit status is 0 after a stop; 1 if the store or the workers failed; 2 for
an invalid command line or file; 130 after Ctrl-C, 143 after SIGTERM. Finished
games are stored in any case.
"""


RUN_EPILOGUE = f"""\b
--until is {FORMS}.
At the given time, games that are not finished are dropped, and the next run
plays them again; with se=ELO they are finished first.

\b
The exit status is 0 when the games were played or nothing is left to play; 1 if
the store or the workers failed; 2 for an invalid command line or file;
130 after Ctrl-C, 143 after SIGTERM. What was finished is kept whatever happens,
and the same command resumes.
"""


def main(argv: list[str]) -> int:
    """Run `ggp referee`. Return its exit status."""
    return run_player(referee, NAME, argv)


def run_ladder(argv: list[str]) -> int:
    """Run `ggp ladder run`. Return its exit status."""
    return run_player(run, RUN_NAME, argv)


def run_player(command: click.Command, name: str, argv: list[str]) -> int:
    """Run a command that plays a ladder. Return its exit status."""
    # A refit is many small products: with matches on every core, more threads would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return run_command(command, name, argv, (StoreError, WorkersLost))


def run_options(games: str, until: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Add the options of all commands that play a ladder; the command gets them as `limits` and `workers`.

    Args:
        games: The help of --games.
        until: The help of --until.
    """
    options = (
        click.option("--games", type=click.IntRange(1, 10**9), help=games),
        click.option("--until", metavar="WHEN", help=until),
        click.option("--jobs", type=click.IntRange(1, 256), help="Matches at a time.  [default: one per core]"),
        click.option("--cluster", metavar="URL", help="Dask cluster that plays the matches: dask://HOST:PORT."),
        click.option(
            *("--keep", "keep"),
            type=click.IntRange(2, 1000),
            default=KEPT_BOTS,
            show_default=True,
            help="Number of bots that a worker keeps alive.",
        ),
        click.option("--pin/--no-pin", default=True, help="Keep the processes of a match on one core (the default)."),
    )

    def add(command: Callable[..., int]) -> Callable[..., int]:
        @wraps(command)
        def with_values(**given: Any) -> int:
            limits = read_limits(given.pop("games"), given.pop("until"), datetime.now(LOCAL), time.monotonic())
            workers = WorkerOptions(*(given.pop(name) for name in ("cluster", "jobs", "keep", "pin")))
            return command(**given, limits=limits, workers=workers)

        for option in reversed(options):
            with_values = option(with_values)
        return with_values

    return add


@click.command("referee", epilog=EPILOGUE, context_settings=HELP)
@click.argument("file", metavar="[LADDER.toml]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--bind",
    metavar="URL",
    default="",
    help="Also accept commands at this address: tcp://127.0.0.1:PORT or ipc://FILE.",
)
@run_options(
    "Stop when the ladder holds this many games, earlier runs included.",
    "Stop playing at a time, or when ratings are exact enough.",
)
def referee(file: Path | None, bind: str, limits: StopConditions, workers: WorkerOptions) -> int:
    """Play matches, or the ladder of LADDER.toml, and answer commands meanwhile.

    The ladder is played as by ggp ladder run; when nothing of it is left, the referee waits for commands.
    """
    from ggp.referee.server.control.server import ControlAddresses, controlled

    addresses = ControlAddresses(bind, True, True)
    if file is None:
        if limits != StopConditions() or workers.cluster:
            raise click.UsageError("--games, --until and --cluster are of a ladder: name its file")
        return _play_alone(workers, addresses)
    screen = contextlib.nullcontext(lambda progress: None)  # clients ask for the progress
    progress = play_ladder(NAME, file, limits, workers, screen, controlled(NAME, addresses))
    if progress.failed:
        click.echo(f"{NAME}: {progress.failed}; the same command resumes from what is stored", err=True)
    return exit_status(progress.stopped, progress.unsuccessful)


def _play_alone(workers: WorkerOptions, addresses: "ControlAddresses") -> int:
    from ggp.referee.server.control.control import CommandQueue, IdleRunner, RunController
    from ggp.referee.server.control.server import serving

    commands = CommandQueue()
    controller = RunController(commands, remains=True)
    live = live_base(f"{NAME} {os.getpid()}")
    with side_files(live), serving(NAME, addresses, commands, None, live), contextlib.closing(controller):
        runner = IdleRunner(controller, workers.workers, workers.hire(live))
        runner.go()
    if runner.failed:
        click.echo(f"{NAME}: {runner.failed}", err=True)
    return exit_status(runner.stopped, runner.failed)


def exit_status(stopped: int, failed: object) -> int:
    """Return 128 + the signal that stopped a run, 1 after a failure, 0 otherwise."""
    return 128 + stopped if stopped else 1 if failed else 0


# -- `ggp ladder run` -------------------------------------------------------------------------------------------------


@click.command("run", epilog=RUN_EPILOGUE, context_settings=HELP)
@click.argument("file", metavar="[LADDER.toml]", default="ladder.toml", type=click.Path(path_type=Path))
@run_options(
    "Stop when the ladder holds this many games, earlier runs included.",
    "Stop at a time, after a while, or when ratings are exact enough.",
)
@click.option("--control", metavar="URL", help="Accept commands at this address: tcp://127.0.0.1:PORT or ipc://FILE.")
@click.option(
    "--log-stderr",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder that keeps what bots write to stderr.",
)
@click.option("--json", "as_object", is_flag=True, help="Print the result as one JSON object.")
@click.option("--quiet", is_flag=True, help="Print a line now and then instead of the live table.")
def run(
    file: Path,
    limits: StopConditions,
    workers: WorkerOptions,
    control: str | None,
    log_stderr: Path | None,
    as_object: bool,
    quiet: bool,
) -> int:
    """Play the ladder that LADDER.toml describes. Stop or kill it at any time; the same command resumes it."""
    workers = workers._replace(stderr=make_folder("--log-stderr", log_stderr))
    screen = run_screen(quiet or as_object, limits)
    progress = play_ladder(RUN_NAME, file, limits, workers, screen, _control(control))
    _show(progress, file, as_object, quiet)
    return exit_status(progress.stopped, progress.unsuccessful)


def _control(url: str | None) -> Control | None:
    if url is None:
        return None
    from ggp.referee.server.control.server import ControlAddresses, controlled

    return controlled(RUN_NAME, ControlAddresses(url))


@contextlib.contextmanager
def run_screen(quiet: bool, limits: StopConditions) -> Iterator[Callable[[Progress], None]]:
    """Show the run on stderr: as a live table on a terminal, otherwise as log lines."""
    from ggp.referee.ladder.live import live_table, log_lines

    err = rich_console(stderr=True)
    if quiet or not can_redraw(sys.stderr):
        left = limits.seconds_left(time.time(), time.monotonic())
        every = MINUTE if left is None else max(1.0, min(MINUTE, left / 5))  # a short run says something, too
        yield log_lines(lambda line: click.echo(line, err=True), every)
        return
    with live_table(err, time.monotonic) as update:
        yield update


def _show(progress: Progress, file: Path, as_object: bool, quiet: bool) -> None:
    from ggp.referee.ladder.live import final_summary

    if as_object:
        click.echo(json_text(_as_json(progress)))
    elif not quiet:
        rich_console().print(final_summary(progress))
        click.echo(
            f"\nNext: ggp ladder standings {file}, ggp ladder crosstable {file}, ggp ladder report {file} -o site"
        )
    say_end(RUN_NAME, progress)


def say_end(name: str, progress: Progress) -> None:
    """Say on stderr why a run has ended, as the command `name`."""
    if progress.finished:
        click.echo(f"{name}: over: {escape_unprintable(progress.finished)}", err=True)
    if progress.failed:
        click.echo(f"{name}: {progress.failed}; the same command resumes from what is stored", err=True)
    if progress.stopped:
        click.echo(f"{name}: stopped; the same command resumes", err=True)


def run_json(progress: Progress) -> dict[str, Any]:
    """Return what the JSON objects of all runs hold: games, faults, messages, and why the run ended."""
    return {
        "games": progress.games,
        "seconds": round(progress.seconds, 3),
        "faults": [{"who": who, "what": what, "games": n} for (who, what), n in sorted(progress.faults.items())],
        "messages": progress.messages,
        "finished": progress.finished,
        "interrupted": progress.stopped,
        "failed": progress.failed,
    }


def _as_json(progress: Progress) -> dict[str, Any]:
    return {
        "ladder": progress.ladder,
        "stored": progress.stored,
        "plies": progress.plies,
        "pools": {
            pool: [
                {"name": row.name, "elo": row.elo, "se": row.se or None, "games": row.games, "share": row.share}
                for row in table.rows
            ]
            for pool, table in progress.standings.items()
        },
        "zero": {pool: table.about() for pool, table in progress.standings.items()},
        "terminations": dict(progress.terminations),
        "verdicts": progress.verdicts,
        **run_json(progress),
    }
