"""What the run loop of a referee does for clients: pauses, stops, drops matches, suspends bots, plays extra series.

All of it lives in the loop's thread. Clients put commands into a CommandQueue and read its status, a snapshot.
"""

import contextlib
import queue
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from ggp.protocol.errors import CommandFailed
from ggp.protocol.responder import Later
from ggp.protocol.transports.signal_fd import STOP_SIGNALS, on_signals
from ggp.referee.ladder.progress import RunControl
from ggp.referee.ladder.store.model import StoreError
from ggp.referee.match.pool import WorkerPool, WorkersLost
from ggp.referee.match.record_file import RecordFile
from ggp.referee.match.series import SeriesConfig, SeriesTally, seats
from ggp.referee.match.worker import ABORTED, REFEREE, Batch, BatchResult
from ggp.referee.records import unpack

if TYPE_CHECKING:
    from ggp.referee.ladder.run import LadderRun
    from ggp.referee.ladder.store.model import Ladder


COMMANDS = 64  # that wait for the loop
PATIENCE = 20.0  # seconds in which the loop must start a command: it may be waiting for a locked store
BUSY = "the referee is busy: ask again"
T = TypeVar("T")


class RunState(StrEnum):
    """What a referee does."""

    STARTING = "starting"  # the loop has not begun, and the ladder was not read yet
    RUNNING = "running"
    PAUSED = "paused"  # starts no pairs of the ladder
    STOPPING = "stopping"  # ends after the running matches
    OVER = "over"  # nothing of the ladder is left to play, or the referee has ended
    IDLE = "idle"  # there is no ladder and no series


@dataclass(frozen=True, slots=True)
class MatchUnderWay:
    """A pair of a ladder that a worker has, or a match of a series."""

    key: str
    pool: str
    first: str
    second: str
    since: float  # seconds of CLOCK_MONOTONIC


@dataclass(frozen=True, slots=True)
class SeriesStatus:
    """The progress of a series of ggp-match."""

    key: str
    state: str  # playing, over, aborted or failed
    game: str
    first: str
    second: str
    games: int
    played: int
    wins: int  # of the first bot
    draws: int
    losses: int
    void: int
    reason: str


@dataclass(frozen=True, slots=True)
class ControlStatus:
    """The snapshot of a run that clients read."""

    name: str = ""
    state: RunState = RunState.IDLE
    change: int = 0  # grows with everything that ggp-wait waits for
    stored: int = 0
    games: int = 0
    plies: int = 0
    jobs: int = 0
    began: float = field(default_factory=time.monotonic)
    message: str = ""  # the last of the run
    ladder: "Ladder | None" = None
    under_way: tuple[MatchUnderWay, ...] = ()
    series: Mapping[str, SeriesStatus] = field(default_factory=dict)
    records: Mapping[str, bytes] = field(default_factory=dict)  # of extra series, compressed


class CommandQueue:
    """Commands for the loop, from any thread, and the status that the loop publishes."""

    def __init__(self, ladder: "Ladder | None" = None) -> None:
        name, state = (ladder.name, RunState.STARTING) if ladder else ("", RunState.IDLE)
        self.status = ControlStatus(name, state, ladder=ladder)
        self.closed = False
        self._commands: queue.Queue[tuple[Future[Any], Callable[[RunController], Any]]] = queue.Queue(COMMANDS)

    def submit(self, command: "Callable[[RunController], T]") -> "Future[T]":
        """Have the loop execute a command.

        Raises:
            CommandFailed: Nothing was done. The future may raise it, too.
        """
        answer: Future[T] = Future()
        if self.closed:
            raise CommandFailed("the referee has ended", code="ended")
        try:
            self._commands.put_nowait((answer, command))
        except queue.Full:
            raise CommandFailed(f"{COMMANDS} commands are waiting: ask again", code="queue-full") from None
        return answer

    def ask(self, command: "Callable[[RunController], T]", seconds: float | None = PATIENCE) -> T:
        """Submit a command and wait for its result. Raises CommandFailed if nothing was done."""
        answer = self.submit(command)
        try:
            return answer.result(seconds)
        except TimeoutError:
            if answer.cancel():
                raise CommandFailed(BUSY, code="busy") from None
            return answer.result()

    def later(self, command: "Callable[[RunController], None]") -> Later:
        """Submit a command whose answer is empty, and return a function that returns it once it is there."""
        done, until = self.submit(command), time.monotonic() + PATIENCE

        def answer() -> str | None:
            if done.done():
                done.result()
                return ""
            if time.monotonic() > until and done.cancel():
                raise CommandFailed(BUSY, code="busy")
            return None

        return answer

    def serve(self, controller: "RunController", seconds: float = 0.0) -> None:
        """Execute the commands that have come. Wait `seconds` for the first."""
        for _ in range(COMMANDS):
            try:
                answer, command = self._commands.get(seconds > 0, seconds or None)
            except queue.Empty:
                return
            seconds = 0.0
            if answer.set_running_or_notify_cancel():
                try:
                    answer.set_result(command(controller))
                except Exception as error:  # the client gets it as its answer; the run goes on
                    answer.set_exception(error)

    def close(self) -> None:
        """Refuse the commands that wait, because the loop has ended."""
        self.closed = True
        with contextlib.suppress(queue.Empty):
            while True:
                answer, _ = self._commands.get_nowait()
                if answer.set_running_or_notify_cancel():
                    answer.set_exception(CommandFailed("the referee has ended", code="ended"))


# -- extra series -----------------------------------------------------------------------------------------------------


OPEN = 32  # series at a time
KEPT = 256  # series that are remembered, and matches whose records are


@dataclass(slots=True)
class ExtraSeries:
    """A series that is being played."""

    setup: SeriesConfig
    left: deque[int]  # numbers of the matches that were not started
    tally: SeriesTally  # includes the matches that its record file held before
    recorder: RecordFile
    out: dict[str, tuple[int, float]] = field(default_factory=dict)  # number and start of each running match, by key
    state: str = "playing"
    reason: str = ""

    def end(self, state: str, reason: str) -> None:
        """Start no more matches of it."""
        self.left.clear()
        self.state, self.reason = state, reason

    @property
    def status(self) -> SeriesStatus:
        setup, tally, score = self.setup, self.tally, self.tally.bots[0]
        one, two = setup.bots
        return SeriesStatus(
            *(setup.series, self.state, setup.setting.game, one.name, two.name, setup.games),
            *(tally.games + tally.lasting, score.wins, score.draws, score.losses, tally.void, self.reason),
        )


class SeriesQueue:
    """All extra series of one run of the referee, by the names that their keys begin with."""

    def __init__(self) -> None:
        self.version = 0  # grows with each change
        self.status: OrderedDict[str, SeriesStatus] = OrderedDict()  # of every series, the newest last
        self.records: OrderedDict[str, bytes] = OrderedDict()
        self._open: OrderedDict[str, ExtraSeries] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._open)

    def begin(self, series: ExtraSeries) -> str:
        """Start a series and return its name. Raises CommandFailed."""
        name = series.setup.series
        if name in self.status:
            raise CommandFailed(f"{name} is such a series already: choose another seed=N")
        if len(self._open) >= OPEN:
            raise CommandFailed(f"{OPEN} series are being played: wait for one, or abort one")
        series.tally.forget_voids()
        self._open[name] = series
        self._publish(series)
        return name

    def keys(self, key: str) -> list[str]:
        """Return the running matches of the series of this name, or the one of this key."""
        if found := self._open.get(key):
            return list(found.out)
        bare = key.partition(".")[0]
        return [bare for series in self._open.values() if bare in series.out]

    def abort(self, key: str) -> None:
        """Start no more matches of the series of this name; the running ones still end."""
        if found := self._open.get(key):
            found.end(ABORTED, "by ggp-abort")
            self._publish(found)

    def under_way(self) -> Iterator[MatchUnderWay]:
        """Yield the running matches."""
        for series in self._open.values():
            for key, (number, since) in series.out.items():
                first, second = (series.setup.bots[bot].name for bot in seats(number))
                yield MatchUnderWay(key, "", first, second, since)

    def next_batches(self, now: float) -> list[Batch]:
        """Return the next match of the series with the fewest running ones, [] for none."""
        waiting = [series for series in self._open.values() if series.left]
        if not waiting:
            return []
        series = min(waiting, key=lambda series: len(series.out))
        number = series.left.popleft()
        series.out[series.setup.key(number)] = number, now
        return [Batch(replace(series.setup, record=""), (number,))]

    def on_result(self, chunk: BatchResult) -> bool:
        """Record and count a result. Return False if it belongs to none of these series."""
        series = self._open.get(chunk.given[0]) if len(chunk.given) == 1 else None
        if series is None:
            return False
        tally = series.tally
        try:
            for match in chunk.played:
                self.records[match.key] = match.record
                series.recorder.append(unpack(match.record))
            series.recorder.commit()
        except OSError as error:
            series.end("failed", f"cannot write the record: {error.strerror}")
        _forget(self.records)
        for match in chunk.played:
            tally.add(match)
        for refused in chunk.refused:
            if refused.who == REFEREE:
                tally.void += 1
                tally.lasting += 1
                tally.terminations[ABORTED] += 1
            else:
                series.end("failed", f"{refused.who}: {refused.reason}")
        if tally.suspended and series.left:
            series.end("failed", ": ".join(tally.suspended))
        series.out.pop(series.setup.key(chunk.number), None)
        self._publish(series)
        return True

    def on_workers_lost(self) -> None:
        """Play the running matches again."""
        for series in self._open.values():
            series.left.extendleft(sorted((number for number, _ in series.out.values()), reverse=True))
            series.out.clear()

    def close(self) -> None:
        """End every series, and close the record files."""
        for series in list(self._open.values()):
            series.end(ABORTED, "the referee ended")
            series.out.clear()
            self._publish(series)

    def _publish(self, series: ExtraSeries) -> None:
        """Publish the status; a series with nothing left is over."""
        name, over = series.setup.series, not (series.out or series.left)
        if over:
            series.state = "over" if series.state == "playing" else series.state
            series.recorder.close()
            del self._open[name]
            self.status.pop(name, None)  # the last to be forgotten
        self.version += 1
        self.status[name] = series.status
        if over:
            _forget(self.status, self._open)


def _forget(kept: "OrderedDict[str, Any]", but: Collection[str] = ()) -> None:
    """Delete the oldest, above KEPT, except these."""
    for key in [key for key in kept if key not in but][:-KEPT]:
        del kept[key]


# -- the controller ---------------------------------------------------------------------------------------------------


WHO = "local"  # any client: see server
STOPPED = "stopped by a command"
_OFTEN = 0.1  # seconds between two snapshots of the running matches


class RunController(RunControl):
    """Executes the commands of clients in the loop of a LadderRun (see RunControl) or of an IdleRunner."""

    def __init__(self, commands: CommandQueue, remains: bool, read: "Callable[[], Ladder] | None" = None) -> None:
        """Wait for a loop that serves the commands.

        Args:
            remains: Wait for ggp-stop when nothing of the ladder is left to play.
            read: Reads the ladder's file again, or raises ConfigError.
        """
        self.commands = commands
        self.extras = SeriesQueue()
        self.run: LadderRun | None = None
        self.workers: LadderRun | IdleRunner | None = None  # the owner of the workers
        self.ending = ""
        self._remains = remains
        self._read = read
        self._paused = self._leaving = False
        self._over = ""  # why nothing of the ladder is left to play
        self._seen: tuple[object, ...] = ()
        self._looked = 0.0

    # -- what the loop asks (see ladder.progress.RunControl) ----------------------------------------------------------

    @property
    def paused(self) -> bool:
        return self._paused or self._leaving or bool(self._over)

    @property
    def busy(self) -> bool:
        return self._remains or self._paused or bool(self.extras)

    def serve(self, run: "LadderRun | None") -> None:
        self.run = run
        self.workers = run or self.workers
        self.commands.serve(self)
        self._publish()

    def should_wait(self, why: str) -> bool:
        if self._leaving and not self.extras:
            self.ending = STOPPED
            return False
        if self.extras or self._paused:
            return True
        if self._remains:
            self._over = self._over or why
        return self._remains

    def rest(self, seconds: float) -> None:
        if seconds:
            self.commands.serve(self, seconds)
        else:
            time.sleep(0)

    def on_start(self) -> None:
        self._over = ""

    def next_batches(self) -> list[Batch]:
        return [] if self.ending else self.extras.next_batches(time.monotonic())

    def on_result(self, chunk: BatchResult) -> bool:
        return self.extras.on_result(chunk)

    def on_workers_lost(self) -> None:
        self.extras.on_workers_lost()

    def close(self) -> None:
        """Answer every waiting client, because the loop has ended."""
        self.extras.close()
        self._over = self._over or STOPPED
        self._leaving, self.ending = False, ""
        self._publish(True)
        self.commands.close()

    # -- commands: each raises CommandFailed and has then changed nothing ---------------------------------------------

    def pause(self) -> None:
        """Start no pairs of the ladder until `resume`. A later run is not paused."""
        self._need_run()
        if self.ending or self._leaving:
            raise CommandFailed("the referee is stopping")
        self._paused = True
        self._note("paused")

    def resume(self) -> None:
        """Start pairs again."""
        self._need_run()
        if not self._paused:
            raise CommandFailed("it is not paused")
        self._paused = False
        self._note("resumed")

    def stop(self, after: bool) -> None:
        """End now, or `after` the running matches of the ladder and all series of ggp-match."""
        self._leaving = True
        if not after:
            self.ending = STOPPED
        self._note("stop", "after what is being played" if after else "")

    def abort(self, key: str) -> None:
        """Drop a match or a series of ggp-match, or a match of the ladder and with it its pair."""
        keys = self.extras.keys(key) or self._pair(key)
        if self.workers is None or not self.workers.drop(keys):
            raise CommandFailed("workers on a cluster drop no single match: ggp-stop ends all")
        self.extras.abort(key)
        self._note("aborted", key)

    def suspend(self, bot: str, reason: str) -> None:
        """Suspend a bot in all pools, by its name or label."""
        store = self._need_run().store
        with _refused():
            known = {seat.label: seat for pool in store.pools() for seat in store.seats(pool.id) if seat.entered}
            if bot not in known:
                raise CommandFailed(f"no bot {bot} is entered: ggp-bots lists them")
            if known[bot].suspended:
                raise CommandFailed(f"{bot} is suspended already: {known[bot].suspended}")
            store.suspend(known[bot].id, reason)
        self._note("order", f"ggp-suspend {bot}")

    def readmit(self, bot: str) -> None:
        """Pair a suspended bot again, from the next batch on."""
        store = self._need_run().store
        with _refused():
            if not store.readmit(bot):
                raise CommandFailed(f"no bot {bot} is suspended: ggp-bots lists them")
        self._over = ""
        self._note("order", f"ggp-readmit {bot}")

    def reload(self) -> None:
        """Read the ladder's file again now, whether it has changed or not."""
        run = self._need_run()
        if self._read is None:
            raise CommandFailed("the ladder has no file")
        with _refused():
            run.read_again(self._read())
        self._note("order", "ggp-reload")

    def begin(self, series: ExtraSeries) -> str:
        """Play a series that is not rated, and return its key."""
        if self._leaving or self.ending:
            raise CommandFailed("the referee is stopping")
        key = self.extras.begin(series)
        self._note("order", f"ggp-match {key} of {' and '.join(bot.name for bot in series.setup.bots)}")
        return key

    # -----------------------------------------------------------------------------------------------------------------

    def _note(self, kind: str, more: str = "") -> None:
        """Store an event of the ladder. The command is executed even if that fails."""
        if self.run is not None:
            text = f"{more} by {WHO}" if kind == "order" else f"by {WHO}" + (f": {more}" if more else "")
            with contextlib.suppress(StoreError):
                self.run.store.note(kind, text)
        self._publish(True)

    def _need_run(self) -> "LadderRun":
        if self.run is None:
            raise CommandFailed("there is no ladder: this referee plays matches only")
        return self.run

    def _pair(self, key: str) -> list[str]:
        """Return the matches of a running pair of the ladder, by its name or the key of one of them."""
        for name, pair, _ in self.run.under_way.named() if self.run else ():
            if key.partition(".")[0] in (name, *(f"{name}-{game}" for game in (1, 2))):
                return [f"{name}-{game + 1}" for game in range(2) if game not in pair.played]
        raise CommandFailed(f"no match {key} is being played: ggp-matches lists them")

    def _publish(self, now: bool = False) -> None:
        """Publish the status if it has changed or is old."""
        run, state, version = self.run, self._state, self.extras.version
        progress = run.progress if run else None
        seen = (state, version, progress and (progress.stored, progress.games, len(progress.messages)))
        moment = time.monotonic()
        if seen == self._seen and moment - self._looked < _OFTEN and not now:
            return
        status = self.commands.status
        change, self._seen, self._looked = status.change + (seen != self._seen), seen, moment
        if run is not None and progress is not None:
            status = replace(
                status,
                stored=progress.stored,
                games=progress.games,
                plies=progress.plies,
                ladder=run.ladder,
                message=progress.messages[-1] if progress.messages else "",
            )
        self.commands.status = replace(
            status,
            state=state,
            change=change,
            jobs=self.workers.jobs if self.workers else 0,
            under_way=(*self._pairs(), *self.extras.under_way()),
            series=dict(self.extras.status),
            records=dict(self.extras.records),
        )

    @property
    def _state(self) -> RunState:
        if self._leaving or self.ending:
            return RunState.STOPPING
        if self.run is None:
            return RunState.RUNNING if self.extras else RunState.IDLE
        return RunState.PAUSED if self._paused else RunState.OVER if self._over else RunState.RUNNING

    def _pairs(self) -> Iterator[MatchUnderWay]:
        if run := self.run:
            yield from (MatchUnderWay(name, *run.names(pair), since) for name, pair, since in run.under_way.named())


@contextlib.contextmanager
def _refused() -> Iterator[None]:
    """Turn an error of the store or of the ladder's file into the client's answer."""
    from ggp.referee.ladder.toml_file import ConfigError

    try:
        yield
    except (StoreError, ConfigError) as error:
        raise CommandFailed(str(error)) from None


# -- a referee without a ladder ---------------------------------------------------------------------------------------


_TURN = 0.05  # seconds that the loop waits for results, or for commands
_DEATHS = 3  # times in a row that workers may die without a match in between


class IdleRunner:
    """Plays extra series until it is stopped."""

    def __init__(self, controller: RunController, jobs: int, hire: Callable[[], WorkerPool]) -> None:
        self.jobs = jobs
        self.stopped = 0  # by this signal
        self.failed = ""  # for this reason
        self._controller = controller
        self._hire = hire
        self._pool: WorkerPool | None = None
        self._deaths = 0
        controller.workers = self

    def go(self) -> None:
        """Play, and return when every worker has ended."""
        with on_signals(self._stop, *STOP_SIGNALS):
            try:
                self._play()
            finally:
                self._wind_up()

    def drop(self, keys: list[str]) -> bool:
        """Drop these matches. Return False if there are no workers, or they cannot."""
        return self._pool is not None and self._pool.drop(keys)

    def _play(self) -> None:
        controller = self._controller
        while not (self.stopped or self.failed):
            try:
                self._give()
                controller.serve(None)
                busy = self._pool.running if self._pool else 0
                if controller.ending or not (busy or controller.should_wait("there is no ladder")):
                    return
                if self._pool and busy:
                    self._take(self._pool.gather(_TURN))
                else:
                    controller.rest(_TURN)
            except WorkersLost as lost:
                self._deaths += 1
                self.failed = str(lost) if self._pool is None or self._deaths > _DEATHS else ""
                self._wind_up()
                controller.on_workers_lost()

    def _give(self) -> None:
        while (self._pool.running if self._pool else 0) < 2 * self.jobs and (chunk := self._controller.next_batches()):
            self._pool = self._pool or self._hire()
            self._pool.submit(chunk)

    def _take(self, chunks: list[BatchResult]) -> None:
        for chunk in chunks:
            self._deaths = 0 if chunk.played else self._deaths
            self._controller.on_result(chunk)

    def _wind_up(self) -> None:
        """Drop the running matches, and count the finished ones."""
        if self._pool is not None:
            if self._pool.running:
                self._pool.stop()
            self._take(self._pool.drain())
            self._pool.close()
            self._pool = None

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.stopped = number
