"""Gets a ladder, its store and its workers together, and plays it until it ends; who attends to it may be somebody.

Reading the command line and showing how it goes are for the commands.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from protocol.orphans import adopting_orphans
from referee.archive.live import live_base, live_folder
from referee.ladder.limits import Limits
from referee.ladder.progress import Progress
from referee.ladder.toml_section import ConfigError
from referee.play.pool import LocalPool, Pool
from referee.play.recorder import interrupted, remove_side_files
from referee.play.seating import Extras
from referee.play.worker import Place

if TYPE_CHECKING:
    from protocol.records import Record
    from referee.ladder.entries import Ladder
    from referee.ladder.helm import Helm
    from referee.ladder.watch import Watched
    from referee.store.store import Store

BOTS = 8  # that a worker keeps alive


class Crew(NamedTuple):
    """Who plays, as the command line says."""

    cluster: str | None = None
    jobs: int | None = None
    keep: int = BOTS
    pin: bool = True
    stderr: str = ""  # the folder that keeps what bots write to stderr, "" for none

    @property
    def workers(self) -> int:
        """On this machine; 0 for a cluster's."""
        return 0 if self.cluster else self.jobs or len(os.sched_getaffinity(0))

    def hire(self, live: str = "") -> Callable[[], Pool]:
        """What gives new workers, who write what they play to side files whose names begin so. Raises UsageError."""
        if self.cluster is None:
            return partial(LocalPool, self.workers, Place(self.pin, "", self.keep, live))
        if self.jobs or not self.pin:
            raise click.UsageError("--jobs and --no-pin are of workers on this machine: they do not go with --cluster")
        if self.stderr:
            raise click.UsageError("--log-stderr is of workers on this machine: it does not go with --cluster")
        from referee.ladder.cluster import DaskPool, address_of

        try:
            address_of(self.cluster)
        except ValueError as error:
            raise click.UsageError(f"--cluster {error}") from None
        return partial(DaskPool, self.cluster, self.keep)


class Attended(NamedTuple):
    """A run about to begin, for whoever attends to it: `read` reads the ladder's file again, or raises ConfigError;
    `live` is what the names of the workers' side files begin with."""

    ladder: "Ladder"
    store: "Store"
    read: "Callable[[], Ladder]"
    live: str


Attend = Callable[[Attended], contextlib.AbstractContextManager["Helm | None"]]


def unattended(run: Attended) -> contextlib.AbstractContextManager["Helm | None"]:
    """Nobody does."""
    return contextlib.nullcontext()


def play_ladder(
    name: str,
    file: Path,
    limits: Limits,
    crew: Crew,
    screen: contextlib.AbstractContextManager[Callable[[Progress], None]],
    attend: Attend,
) -> Progress:
    """Play it until it ends, as the command `name`. Raises ConfigError, UsageError, StoreError, WorkersLost."""
    from referee.ladder.run import LadderRun
    from referee.ladder.watch import Watched
    from referee.store.store import Store

    crew.hire()  # a cluster's address that cannot be, before anything begins
    watched = Watched(file)
    with adopting_orphans():  # only before there are workers, which would be taken for orphans
        ladder, warnings = _read(file, watched)
    again = partial(_read_again, file, watched, ladder)
    with Store.open(ladder.store, create=True) as store:
        store.take_lock(f"{name} {file}")
        try:
            live = live_base(ladder.store)
            with side_files(live), screen as seen, attend(Attended(ladder, store, again, live)) as helm:
                for warning in warnings:
                    click.echo(f"{name}: {warning}", err=True)
                read = partial(_read_changed, watched, again)
                left = partial(_take_interrupted, live)
                extras = Extras(stderr_folder=crew.stderr)
                return LadderRun(ladder, store, crew.hire(live), limits, seen, read, helm, left, extras).go()
        finally:
            store.release_lock()


@contextlib.contextmanager
def side_files(base: str) -> Iterator[None]:
    """Workers may write side files whose names begin so; they are removed at the end. base: of live_base."""
    if not base:
        click.echo(
            f"warning: {live_folder()} must be a folder that only you may write. Without it matches cannot be followed"
            " while they are played, nor taken up after a crash: delete it, or set TMPDIR to another folder",
            err=True,
        )
    try:
        yield
    finally:
        remove_side_files(base)


def _take_interrupted(base: str) -> "dict[str, Record]":
    """What workers that were killed left. Their side files are removed: others use the names again."""
    left = interrupted(base)
    remove_side_files(base)
    return left


def _read_changed(watched: "Watched", again: "Callable[[], Ladder]") -> "Ladder | None":
    """The file again, when it or a program in it has changed. Raises ConfigError."""
    return again() if watched.changed() else None


def _read_again(file: Path, watched: "Watched", begun: "Ladder") -> "Ladder":
    """The file again. Raises ConfigError, also for what makes it another ladder: that is for another run."""
    ladder, _ = _read(file, watched)
    for key in ("name", "seed", "store"):
        if getattr(ladder, key) != getattr(begun, key):
            raise ConfigError(str(file), key, "cannot change while the ladder runs: end the run and start it again")
    return ladder


def _read(file: Path, watched: "Watched") -> "tuple[Ladder, list[str]]":
    """The ladder, once engines and built-in bots were asked whether it can be, and what engines lack."""
    from referee.ladder.config import read_ladder
    from referee.ladder.prepare import check_programs, prepare_pools

    ladder, warnings = prepare_pools(read_ladder(file))
    check_programs(ladder)
    watched.follow(ladder)
    return ladder, warnings
