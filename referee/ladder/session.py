"""Prepare a ladder, its store and its workers, and play the ladder until it ends.

The caller reads the command line, shows the progress, and may pass an object that controls the run.
"""

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from ggp.protocol.printed import without_password
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.subreaper import adopting_orphans
from ggp.referee.ladder.bot_settings import apart, cores_of_match, places
from ggp.referee.ladder.builds import BotBuilds, built, sources_of
from ggp.referee.ladder.progress import Progress, RunControl, StopConditions
from ggp.referee.ladder.store.model import Entrant, InUse, Ladder, Locked, Pool
from ggp.referee.ladder.toml_file import ConfigError, blamed_on, dotted
from ggp.referee.ladder.tune import filled
from ggp.referee.match.adjudication import AdjudicationRule
from ggp.referee.match.bot_spec import BOTS, BotSpec, LaunchError, Snapshot, bot_words, is_built_in, knowing
from ggp.referee.match.diagnosis import last_words
from ggp.referee.match.engine import start_engine
from ggp.referee.match.judge import check_report
from ggp.referee.match.match_runner import FIRST_PAUSE, LONGEST_PAUSE
from ggp.referee.match.outcome import CannotStart, EngineFailed
from ggp.referee.match.player import check_limits
from ggp.referee.match.pool import PATIENCE, LocalPool, WorkerPool
from ggp.referee.match.process import ProcessLimits
from ggp.referee.match.resume import remove_side_files, take_interrupted
from ggp.referee.match.sandbox.levels import NONE
from ggp.referee.match.sandbox.sources import is_current
from ggp.referee.match.sandbox.unpack import files_of
from ggp.referee.match.series import PrepareError, ask, lacks
from ggp.referee.match.setting import Timeouts
from ggp.referee.match.worker import WorkerConfig
from ggp.referee.records import live_base, live_folder

if TYPE_CHECKING:
    from ggp.referee.ladder.store.store import Store


KEPT_BOTS = 8  # that a worker keeps alive


class WorkerOptions(NamedTuple):
    """Options of the command line that choose the workers."""

    cluster: str | None = None
    jobs: int | None = None
    keep: int = KEPT_BOTS
    pin: bool = True
    stderr: str = ""  # the folder that keeps what bots write to stderr, "" for none
    cores: int = 1  # of a match

    @property
    def workers(self) -> int:
        """Return the number of workers on this machine; 0 with a cluster."""
        return 0 if self.cluster else self.jobs or len(os.sched_getaffinity(0))

    def hire(self, live: str = "") -> Callable[[], WorkerPool]:
        """Return a function that hires workers; names of their side files begin with `live`. Raise UsageError."""
        if self.cluster is None:
            return partial(LocalPool, self.workers, WorkerConfig(self.pin, "", self.keep, live, self.cores))
        if self.jobs or not self.pin:
            raise click.UsageError("--jobs and --no-pin are of workers on this machine: they do not go with --cluster")
        if self.stderr:
            raise click.UsageError("--log-stderr is of workers on this machine: it does not go with --cluster")
        try:
            from ggp.referee.ladder.dask_pool import DaskPool, address_of

            address_of(self.cluster)
        except ValueError as error:
            raise click.UsageError(f"--cluster {error}") from None
        except ImportError as error:
            raise click.UsageError(f"--cluster needs Dask ({error}): pip install distributed") from None
        return partial(DaskPool, self.cluster, self.keep)

    def placed(self, ladder: Ladder) -> "WorkerOptions":
        """Return options with the cores that the bots of this ladder need. Raise ConfigError if there are too few."""
        if (cores := cores_of(ladder)) == 1:
            if self.cluster:
                return self
            confined = [bot.start.sandbox for bot in ladder.bots if bot.start.sandbox]
            jobs, cores = apart(confined, self.jobs, self.pin)
            return self._replace(jobs=jobs, cores=cores)
        ponders = next(bot.name for bot in ladder.bots if bot.start.ponder)
        if self.cluster:
            problem = "needs workers on this machine: leave --cluster out, or ponder"
            raise ConfigError(ladder.path, dotted(dotted("bot", ponders), "ponder"), problem)
        return self._replace(jobs=places(ladder.path, ponders, cores, self.jobs, self.pin), cores=cores)


def cores_of(ladder: Ladder) -> int:
    """Return how many cores a match of this ladder needs."""
    return max(cores_of_match([bot.start for bot in ladder.entered(pool)]) for pool in ladder.pools)


class RunContext(NamedTuple):
    """A run that is about to begin, for its control.

    `read` reads the ladder's file again, or raises ConfigError; names of the workers' side files begin with `live`.
    """

    ladder: "Ladder"
    store: "Store"
    read: "Callable[[], Ladder]"
    live: str


Control = Callable[[RunContext], contextlib.AbstractContextManager[RunControl]]


def play_ladder(
    name: str,
    file: Path,
    limits: StopConditions,
    options: WorkerOptions,
    screen: contextlib.AbstractContextManager[Callable[[Progress], None]],
    attend: Control | None = None,
) -> Progress:
    """Play the ladder of this file until it ends, as the command `name`.

    `screen` gives the function that shows the progress, `attend` the control of the run.

    Raises:
        ConfigError, UsageError, StoreError, WorkersLost: The ladder cannot be played.
    """
    from ggp.referee.ladder.run import LadderRun
    from ggp.referee.ladder.store.store import Store

    options.hire()  # raises for an invalid address of a cluster before anything begins
    watched = Watched(file)
    builds = BotBuilds(lambda line: click.echo(f"{name}: {line}", err=True))
    with contextlib.closing(builds), contextlib.ExitStack() as opened:
        with adopting_orphans():  # only before there are workers, which would be taken for orphans
            ladder, warnings = _read(file, watched, builds)
        options = options.placed(ladder)
        again = partial(_read_again, file, watched, ladder, builds)
        store = opened.enter_context(Store.open(ladder.store, create=True))
        _take_lock(name, file, store, limits)
        try:
            live = live_base(ladder.store)
            controlled = attend(RunContext(ladder, store, again, live)) if attend else contextlib.nullcontext()
            with side_files(live), screen as seen, controlled as control:
                for warning in warnings:
                    click.echo(f"{name}: {warning}", err=True)

                def read() -> Ladder | None:
                    changed, ended = watched.changed(), builds.ended()
                    return again() if changed or ended else None

                left = partial(take_interrupted, live)
                extras = ProcessLimits(stderr_folder=options.stderr)
                return LadderRun(ladder, store, options.hire(live), limits, seen, read, control, left, extras).go()
        finally:
            store.release_lock()


def _take_lock(name: str, file: Path, store: "Store", limits: StopConditions) -> None:
    """Take the run lock. Wait until `limits` while another process holds the database, but not if it runs the ladder.

    Raises:
        StoreError: The lock cannot be had.
    """
    began, pause = time.monotonic(), FIRST_PAUSE
    while True:
        try:
            return store.take_lock(f"{name} {file}")
        except InUse:
            raise
        except Locked as error:
            left = limits.seconds_left(time.time(), time.monotonic())
            if time.monotonic() - began > PATIENCE or (left is not None and left <= 0):
                raise
            if pause == FIRST_PAUSE:
                click.echo(f"{name}: {error}; the run waits", err=True)
        time.sleep(pause if left is None else min(pause, left))
        pause = min(2 * pause, LONGEST_PAUSE)


@contextlib.contextmanager
def side_files(base: str) -> Iterator[None]:
    """Let workers write side files, whose names begin with `base` (of live_base), and remove these at the end."""
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


def _read_again(file: Path, watched: "Watched", begun: "Ladder", builds: BotBuilds | None = None) -> "Ladder":
    """Read the file again. Raise ConfigError if it is invalid, or describes another ladder than the one that runs."""
    ladder, _ = _read(file, watched, builds, begun)
    for key in ("name", "seed", "store"):
        if getattr(ladder, key) != getattr(begun, key):
            raise ConfigError(str(file), key, "cannot change while the ladder runs: end the run and start it again")
    if cores_of(ladder) > cores_of(begun):
        problem = "more bots ponder than at the start of the run: end the run and start it again"
        raise ConfigError(str(file), "bot", problem)
    return ladder


def _read(
    file: Path, watched: "Watched", builds: BotBuilds | None = None, before: Ladder | None = None
) -> "tuple[Ladder, list[str]]":
    """Read the file, build bots, and ask engines and built-in bots. Return the ladder, and what engines lack.

    If a ladder `before` is running, do not wait for builds.
    """
    from ggp.referee.ladder.config import read_ladder

    ladder = read = read_ladder(file, lenient=True)
    known = {bot.name for bot in before.bots if bot.unfit} if before is not None else set()
    for bot in ladder.bots if before is not None else ():
        if bot.unfit and bot.name not in known:  # it may be written at this moment: go on with the version before
            raise ConfigError(str(file), f"{dotted('bot', bot.name)}.command", bot.unfit)
    if builds is not None:
        bots = builds.finish(ladder.bots) if before is None else builds.begin(ladder.bots, before.bots)
        ladder = built(ladder, bots)
    ladder, warnings = prepare_pools(ladder)
    check_programs(ladder)
    check_adjudication(ladder)
    watched.follow(read)
    return ladder, warnings


# -- Notices changes of a ladder's file and of the programs of its bots.


_State = tuple[int, int, int]  # of a file: when it was modified (ns), size, inode
_ABSENT: _State = (0, 0, 0)


class Watched:
    """The files of a ladder: its own, and the programs, scripts and modules of its bots.

    Watch first and then read, so that no change is missed: `watched = Watched(path)`, `read_ladder(path)`, `follow`.
    """

    def __init__(self, path: Path, ladder: Ladder | None = None) -> None:
        self._path = str(path)
        self._states = {self._path: _state(self._path)}
        if ladder is not None:
            self.follow(ladder)

    def follow(self, ladder: Ladder) -> None:
        """Watch the programs of this ladder, which was just read. This takes a few ms for a thousand bots."""
        look, files = Snapshot(), dict[str, None]()
        missing = {bot.start for bot in ladder.bots if bot.unfit and not bot.start.source}
        files |= dict.fromkeys(start.argv[0] for start in missing)  # it is a new version as soon as it is there
        for start in ladder.programs:
            with contextlib.suppress(LaunchError):  # it vanished: its version differs
                files |= dict.fromkeys(look.files_of(start))
        sources = sources_of(ladder)
        for source in sources:
            with contextlib.suppress(OSError):  # the same
                files |= dict.fromkeys(map(str, files_of(Path(source.path))))
        self._states = {self._path: self._states[self._path]} | {file: _state(file) for file in files}
        look = Snapshot()  # what changes from here on has another state
        if not all(map(is_current, sources)) or any(
            _version(look, start) != start.version for start in ladder.programs if start not in missing
        ):
            self._states[self._path] = _ABSENT  # it changed between the reading and now

    def changed(self) -> bool:
        """Return whether a file has changed since the last call, or since `follow`.

        So an unreadable file is reported once. What it lacked is not watched: save the file again.
        """
        states = {file: _state(file) for file in self._states}
        changed, self._states = states != self._states, states
        return changed


def _version(look: Snapshot, start: BotSpec) -> str:
    try:
        return look.version_of(start)
    except LaunchError:
        return ""


def _state(file: str) -> _State:
    try:
        found = Path(file).stat()
    except OSError:
        return _ABSENT
    return found.st_mtime_ns, found.st_size, found.st_ino


# -- Asks engines and built-in bots, before the first game, whether a ladder can be played.


def prepare_pools(ladder: Ladder) -> tuple[Ladder, list[str]]:
    """Return the ladder with defaults and limits of plies from the engines, and warnings about what engines lack.

    Every engine is started once, whatever the number of its pools. A bot that its sandbox keeps from the engine of a
    pool is left out of that pool.

    Raises:
        ConfigError: An engine fails, or does not know a game.
    """
    answers: dict[str, Pool] = {}
    warnings: list[str] = []
    for engine in dict.fromkeys(pool.engine for pool in ladder.pools):
        pools = [pool for pool in ladder.pools if pool.engine == engine]
        prepared, missed = run_blocking(_ask(ladder.path, engine, pools, ladder.budgets))
        answers |= {pool.name: pool for pool in prepared}
        warnings += missed
    warnings += [line for bot in ladder.bots for line in cut_off(bot, ladder.pools).values()]
    bots = tuple(within_reach(bot, ladder.pools) for bot in ladder.bots)
    return replace(ladder, pools=tuple(answers[pool.name] for pool in ladder.pools), bots=bots), warnings


def cut_off(bot: Entrant, pools: Sequence[Pool]) -> dict[str, str]:
    """Return the pools that a built-in bot cannot play in, because its sandbox keeps it from the engine.

    The values are lines that say so, by the names of the pools.
    """
    box = bot.start.sandbox
    if box is None or box.level == NONE or "network" in box.allow or not bot_words(bot.start):
        return {}
    return {
        pool.name: f"{dotted('bot', bot.name)}: does not play in pool {pool.name}, because its sandbox keeps it from"
        f' the engine at {without_password(pool.engine.url)}: write allow = ["network"], or leave that pool out of its'
        " pools"
        for pool in pools
        if pool.name in bot.pools and pool.engine.url
    }


def within_reach(bot: Entrant, pools: Sequence[Pool]) -> Entrant:
    """Return the bot, entered only in those of its pools whose engine its sandbox lets it reach."""
    lost = cut_off(bot, pools)
    return replace(bot, pools=tuple(name for name in bot.pools if name not in lost)) if lost else bot


def check_programs(ladder: Ladder) -> None:
    """Raise ConfigError if a built-in bot does not exist or know its options, or another bot takes no limits."""
    plan, starts = ladder.format.plan, [bot.start for bot in ladder.bots if not bot.unfit]
    if ladder.template and plan:  # bounds that the bot does not take are found out before the first game
        starts = [filled(ladder.template, plan, values) for values in plan.extremes()]
    check_bots(ladder.path, starts, ladder.budgets)


_limited: set[tuple[BotSpec, Timeouts]] = set()  # bots that took their limits


def check_bots(file: str, bots: Sequence[BotSpec], budgets: Timeouts) -> None:
    """Check the bots of a file, "" for none, in the same way.

    One process answers for all built-in bots; each bot with limits is started once. A program of `ggp bot oneshot` is
    looked up when it starts, in its own folder.
    """
    built_in = [bot for bot in bots if bot_words(bot) and (is_built_in(bot) or bot_words(bot)[0] != "oneshot")]
    calls = list(dict.fromkeys(map(bot_words, built_in)))
    problems = dict(zip(calls, _ask_bots(file, calls, budgets), strict=True)) if calls else {}
    for bot in built_in:
        if problem := problems[bot_words(bot)]:
            key, text = problem if is_built_in(bot) else ("command", problem[1])
            lone = key == "command" and ":" not in bot.command and is_built_in(bot)
            text = f"no program called {bot.command!r} is in PATH, and no built-in bot: {text}" if lone else text
            raise ConfigError(file, dotted(dotted("bot", bot.name), key), text)
    for bot in bots:
        if bot.limits and (bot, budgets) not in _limited:
            with blamed_on(file, dotted(dotted("bot", bot.name), bot.limits[0][0]), CannotStart):
                run_blocking(check_limits(bot, budgets))
            _limited.add((bot, budgets))


_reporting: set[tuple[BotSpec, str, tuple[AdjudicationRule, ...]]] = set()  # who said what rules need


def check_adjudication(ladder: Ladder) -> None:
    """Raise ConfigError if the judge of a pool with rules, or else one of its bots, does not report what they need."""
    for pool in ladder.pools if any(pool.rules for pool in ladder.pools) else ():
        bots = {f"{dotted('bot', bot.name)}.command": bot.start for bot in ladder.entered(pool) if not bot.unfit}
        if pool.judge is not None:
            bots = {f"{dotted('pool', pool.name)}.adjudicator": pool.judge}
        for at, bot in bots.items() if pool.rules else ():
            asked = (bot, pool.setting.new_game, pool.rules)
            if asked not in _reporting:
                try:
                    run_blocking(check_report(knowing(bot, pool.engine), pool.setting, pool.rules, ladder.budgets))
                except CannotStart as error:
                    raise ConfigError(ladder.path, at, f"{error} (pool {pool.name})") from None
                _reporting.add(asked)


async def _ask(file: str, engine: BotSpec, pools: list[Pool], budgets: Timeouts) -> tuple[list[Pool], list[str]]:
    place = dotted("pool", pools[0].name)
    with blamed_on(file, f"{place}.engine", EngineFailed):
        running = await start_engine(engine, budgets)
    prepared: list[Pool] = []
    try:
        for pool in pools:
            place = dotted("pool", pool.name)
            setting, max_plies = await ask(running, pool.setting, pool.max_plies)
            prepared.append(replace(pool, setting=setting, max_plies=max_plies))
    except PrepareError as error:
        raise ConfigError(file, f"{place}.game", str(error)) from None
    except EngineFailed as error:
        raise ConfigError(file, f"{place}.engine", f"{engine.command}: {error}") from None
    finally:
        await running.peer.stop()
    return prepared, [f"{place}: {text}" for text in lacks(running)]


def _ask_bots(file: str, calls: list[tuple[str, ...]], budgets: Timeouts) -> list[list[str] | None]:
    """Return for each call a key and what is wrong with it, or None."""
    last = ""
    try:
        asked = subprocess.run(
            [*BOTS, "--check"], input=json.dumps(calls), capture_output=True, encoding="utf-8", timeout=budgets.start
        )
        last = last_words(asked.stderr)
        problems: list[list[str] | None] = json.loads(asked.stdout)
    except subprocess.TimeoutExpired:
        late = f"the built-in bots do not answer within {budgets.start:g} s: raise budget.start"
        raise ConfigError(file, "bot", late) from None
    except (OSError, ValueError) as error:  # not installed whole
        why = last or (str(error) if isinstance(error, OSError) else f"exit status {asked.returncode}")
        raise ConfigError(file, "bot", f"the built-in bots do not start: {why}: make setup, or install again") from None
    return problems
