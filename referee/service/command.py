"""`ggp referee [LADDER.toml]`: a referee that is steered and inspected by commands, with a ladder or without one."""

import contextlib
import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from referee.command_line import HELP, run_command

if TYPE_CHECKING:
    from referee.ladder.limits import Limits
    from referee.ladder.playing import Crew
    from referee.service.attend import Doors

NAME = "ggp referee"
BOTS = 8  # that a worker keeps alive
EPILOGUE = """\b
Commands come on standard input, a line each, or with --bind over ZeroMQ, or
both; `list_commands` lists them. With `quit`, or when the input ends, the
referee ends as after Ctrl-C, unless --bind was given: then it goes on.

\b
Whoever reaches the address steers the ladder. Over tcp that is every user of
this machine, who may stop it and abort matches; the socket of ipc://FILE is
for your user alone. Only standard input and ipc:// may name command lines,
files, and bots on other machines (ggp-match).

\b
The exit status is 0 when it was told to stop; 1 if the store or the workers
failed; 2 for a command line or a file that cannot be; 130 after Ctrl-C, 143
after SIGTERM. What was finished is kept whatever happens.
"""


def main(argv: list[str]) -> int:
    """The exit status."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # see referee.ladder.run_command
    from referee.ladder.limits import LimitError
    from referee.ladder.toml_section import ConfigError
    from referee.play.pool import WorkersLost
    from referee.store.errors import StoreError

    try:
        return run_command(referee, NAME, argv, ConfigError, LimitError)
    except (StoreError, WorkersLost) as error:
        click.echo(f"{NAME}: {error}", err=True)
        return 1


@click.command("referee", epilog=EPILOGUE, context_settings=HELP)
@click.argument("file", metavar="[LADDER.toml]", required=False, type=click.Path(path_type=Path))
@click.option("--bind", metavar="URL", default="", help="Answer there, too: tcp://127.0.0.1:PORT or ipc://FILE.")
@click.option("--games", type=click.IntRange(1, 10**9), help="Play no more once the ladder holds so many.")
@click.option("--until", metavar="WHEN", help="Play no more from a time on, or when ratings are known well enough.")
@click.option("--jobs", type=click.IntRange(1, 256), help="Matches at a time.  [default: one a core]")
@click.option("--cluster", metavar="URL", help="Workers of a Dask cluster: dask://HOST:PORT.")
@click.option(
    "--keep", type=click.IntRange(2, 1000), default=BOTS, show_default=True, help="Bots a worker keeps alive."
)
@click.option("--pin/--no-pin", default=True, help="Keep a match's processes on one core (the default).")
def referee(
    file: Path | None,
    bind: str,
    games: int | None,
    until: str | None,
    jobs: int | None,
    cluster: str | None,
    keep: int,
    pin: bool,
) -> int:
    """Play matches, or the ladder of LADDER.toml, and answer commands meanwhile.

    The ladder is played as by ggp ladder run; when nothing of it is left, the referee waits for commands.
    """
    from referee.ladder.playing import Crew
    from referee.service.attend import Doors

    crew, doors = Crew(cluster, jobs, keep, pin), Doors(bind, True, True)
    if file is None:
        if games or until or cluster:
            raise click.UsageError("--games, --until and --cluster are of a ladder: name its file")
        return _play_alone(crew, doors)
    from referee.ladder.limits import read_limits

    return _play_ladder(file, read_limits(games, until, datetime.now().astimezone()), crew, doors)


def _play_ladder(file: Path, limits: "Limits", crew: "Crew", doors: "Doors") -> int:
    from referee.ladder.playing import play_ladder
    from referee.service.attend import attended

    screen = contextlib.nullcontext(lambda progress: None)  # how it goes is asked for
    progress = play_ladder(NAME, file, limits, crew, screen, attended(NAME, doors))
    if progress.failed:
        click.echo(f"{NAME}: {progress.failed}; the same command goes on from what is stored", err=True)
    return 128 + progress.stopped if progress.stopped else 1 if progress.failed else 0


def _play_alone(crew: "Crew", doors: "Doors") -> int:
    from referee.archive.live import live_base
    from referee.ladder.playing import side_files
    from referee.service.alone import Alone
    from referee.service.attend import opened
    from referee.service.desk import Desk
    from referee.service.service import responders
    from referee.service.steering import Steering, first_news

    desk = Desk(first_news("", None))
    steering = Steering(desk, remains=True)
    live = live_base(f"{NAME} {os.getpid()}")
    with side_files(live), opened(NAME, doors, desk, responders(desk, None, live)), contextlib.closing(steering):
        alone = Alone(steering, crew.workers, crew.hire(live))
        alone.go()
    if alone.failed:
        click.echo(f"{NAME}: {alone.failed}", err=True)
    return 128 + alone.stopped if alone.stopped else 1 if alone.failed else 0
