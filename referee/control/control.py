"""What the loop of a referee does on behalf of clients: pauses, ends, drops, suspends, and plays what they ask for.

It lives in the loop's thread; clients reach it through the desk.
"""

import contextlib
import math
import queue
import threading
import time
import zlib
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from protocol.errors import CommandFailed
from referee.play.pool import WorkerPool, WorkersLost, on_signals
from referee.play.record_file import Recorder
from referee.play.series import GameResult, SeriesConfig, SeriesTally
from referee.play.worker import ABORTED, REFEREE, Batch, BatchResult
from referee.store.model import StoreError

if TYPE_CHECKING:
    from referee.ladder.run import LadderRun
    from referee.store.model import Ladder


ORDERS = 64  # that wait for the loop
PATIENCE = 20.0  # seconds that the loop has to begin with an order: it may be waiting for a locked store
T = TypeVar("T")


class RunState(StrEnum):
    """What a referee does."""

    STARTING = "starting"  # the loop has not begun, and nothing is known of the ladder yet
    RUNNING = "running"
    PAUSED = "paused"  # gives out no pairs of the ladder
    STOPPING = "stopping"  # ends after what is being played
    OVER = "over"  # nothing of the ladder is left to play; or the referee has ended
    IDLE = "idle"  # there is no ladder and nothing else to play


@dataclass(frozen=True, slots=True)
class MatchUnderWay:
    """A pair of a ladder that was given out, or a match of a series; `since` in seconds of CLOCK_MONOTONIC."""

    key: str
    pool: str
    first: str
    second: str
    since: float


@dataclass(frozen=True, slots=True)
class Series:
    """How a series of ggp-match stands. `wins`, `draws`, `losses` of the first bot; `state`: playing, over, aborted,
    or failed."""

    key: str
    game: str
    first: str
    second: str
    games: int
    played: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    void: int = 0
    state: str = "playing"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ControlStatus:
    """What clients read. `change` grows with whatever ggp-wait waits for."""

    name: str = ""
    state: RunState = RunState.IDLE
    change: int = 0
    stored: int = 0
    games: int = 0
    plies: int = 0
    jobs: int = 0
    began: float = field(default_factory=time.monotonic)
    said: str = ""  # the last message of the run
    ladder: "Ladder | None" = None
    under_way: tuple[MatchUnderWay, ...] = ()
    series: tuple[Series, ...] = ()


class CommandQueue:
    """See the module. Clients call ask and wait, the loop serve and publish."""

    def __init__(self, news: ControlStatus) -> None:
        self.news = news
        self.closed = False
        self._orders: queue.Queue[tuple[Future[Any], Callable[[RunController], Any]]] = queue.Queue(ORDERS)
        self._changed = threading.Condition()

    # -- clients -------------------------------------------------------------------------------------------------

    def ask(self, order: "Callable[[RunController], T]", patience: float = PATIENCE) -> T:
        """Have the loop do this; what came of it. Raises CommandFailed, and then nothing was done."""
        answer: Future[T] = Future()
        if self.closed:
            raise CommandFailed("the referee has ended")
        try:
            self._orders.put_nowait((answer, order))
        except queue.Full:
            raise CommandFailed(f"{ORDERS} orders are waiting: ask again") from None
        try:
            return answer.result(patience if patience < math.inf else None)
        except TimeoutError:
            if answer.cancel():
                raise CommandFailed("the referee is busy: ask again") from None
            return answer.result()

    def wait(self, until: Callable[[ControlStatus], bool], seconds: float) -> ControlStatus:
        """The news once they are so, or after so many seconds, or when the referee ends."""
        with self._changed:
            self._changed.wait_for(lambda: self.closed or until(self.news), seconds)
            return self.news

    # -- the loop ------------------------------------------------------------------------------------------------

    def serve(self, steering: "RunController", seconds: float = 0.0) -> None:
        """Do what was ordered; wait so long for the first."""
        try:
            answer, order = self._orders.get(seconds > 0, seconds or None)
        except queue.Empty:
            return
        _carry_out(answer, order, steering)
        for _ in range(ORDERS):
            try:
                answer, order = self._orders.get_nowait()
            except queue.Empty:
                return
            _carry_out(answer, order, steering)

    def publish(self, news: ControlStatus) -> None:
        """These are the news now."""
        changed = news.change != self.news.change
        self.news = news
        if changed:
            with self._changed:
                self._changed.notify_all()

    def close(self) -> None:
        """The loop has ended: answer every waiting client."""
        self.closed = True
        with self._changed:
            self._changed.notify_all()
        while True:
            try:
                answer, _ = self._orders.get_nowait()
            except queue.Empty:
                return
            if answer.set_running_or_notify_cancel():
                answer.set_exception(CommandFailed("the referee has ended"))


def _carry_out(answer: "Future[Any]", order: "Callable[[RunController], Any]", steering: "RunController") -> None:
    if not answer.set_running_or_notify_cancel():
        return  # the client has given up
    try:
        answer.set_result(order(steering))
    except Exception as error:  # the client gets it as its answer; the run goes on
        answer.set_exception(error)


# -- extra series -----------------------------------------------------------------------------------------------------


OPEN = 32  # series at a time
KEPT = 256  # series that are remembered, and matches whose records are


@dataclass(slots=True)
class SeriesRequest:
    """A series as it was asked for. `tally` is what its record file held already, `left` what it did not."""

    setup: SeriesConfig
    left: deque[int]
    tally: SeriesTally = field(default_factory=SeriesTally)
    recorder: Recorder = field(default_factory=lambda: Recorder(None))


@dataclass(slots=True)
class _Open:
    order: SeriesRequest
    series: Series
    out: dict[str, tuple[int, float]] = field(default_factory=dict)  # keys of the matches given out: number, since when


class ExtraSeries:
    """All series of one run of the referee, by the names that their keys begin with."""

    def __init__(self) -> None:
        self.version = 0  # grows with each change
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._over: OrderedDict[str, Series] = OrderedDict()
        self._records: OrderedDict[str, bytes] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._open)

    # -- what clients ask ----------------------------------------------------------------------------------------

    def check(self, name: str) -> None:
        """Whether another series of that name may begin. Raises CommandFailed."""
        if name in self._open or name in self._over:
            raise CommandFailed(f"{name} is such a series already: choose another seed=N")
        if len(self._open) >= OPEN:
            raise CommandFailed(f"{OPEN} series are being played: wait for one, or abort one")

    def begin(self, order: SeriesRequest) -> str:
        """The name of the series, which is played from now on. Raises CommandFailed."""
        setup, name = order.setup, order.setup.series
        self.check(name)
        order.tally.forget_voids()
        one, two = setup.bots
        self._open[name] = _Open(order, Series(name, setup.setting.game, one.name, two.name, setup.games))
        self._count(self._open[name])
        return name

    def keys(self, key: str) -> list[str]:
        """The matches under way of the series of this name, or the one of this key; [] for another's."""
        if found := self._open.get(key):
            return list(found.out)
        bare = key.partition(".")[0]
        return [bare for one in self._open.values() if bare in one.out]

    def abort(self, key: str) -> None:
        """Give out no more of the series of this name; what is under way of it comes back."""
        if found := self._open.get(key):
            found.order.left.clear()
            found.series = replace(found.series, state=ABORTED, reason="by ggp-abort")
            self._count(found)

    def record(self, key: str) -> bytes | None:
        """Of a match that was played of late, as JSON lines."""
        data = self._records.get(key)
        return None if data is None else zlib.decompress(data)

    def all(self) -> tuple[Series, ...]:
        """The newest last."""
        return (*self._over.values(), *(one.series for one in self._open.values()))

    def under_way(self) -> list[MatchUnderWay]:
        """Every match that was given out."""
        return [
            MatchUnderWay(key, "", *_by_seat(one.order.setup, number), since)
            for one in self._open.values()
            for key, (number, since) in one.out.items()
        ]

    # -- what the loop does --------------------------------------------------------------------------------------

    def work(self, now: float) -> list[Batch]:
        """The next match of the series that has fewest under way."""
        waiting = [one for one in self._open.values() if one.order.left]
        if not waiting:
            return []
        one = min(waiting, key=lambda one: len(one.out))
        number = one.order.left.popleft()
        one.out[one.order.setup.key(number)] = number, now
        return [Batch(replace(one.order.setup, record=""), (number,))]

    def took(self, chunk: BatchResult) -> bool:
        """Count what came back, durable first if it is recorded; whether it was of a series of ours."""
        one = self._open.get(chunk.given[0]) if len(chunk.given) == 1 else None
        if one is None:
            return False
        tally = one.order.tally
        try:
            for facts, record in zip(chunk.played, chunk.records, strict=True):
                self._keep(facts, record)
                one.order.recorder.append(zlib.decompress(record))
            one.order.recorder.commit()
        except OSError as error:
            self._fail(one, f"cannot write the record: {error.strerror}")
        for facts in chunk.played:
            tally.add(facts)
        for refused in chunk.refused:
            if refused.who == REFEREE:
                tally.void += 1
                tally.lasting += 1
                tally.terminations[ABORTED] += 1
            else:
                self._fail(one, f"{refused.who}: {refused.reason}")
        if tally.suspended and one.order.left:
            self._fail(one, ": ".join(tally.suspended))
        one.out.pop(one.order.setup.key(chunk.number), None)
        self._count(one)
        return True

    def lost(self) -> None:
        """The workers are gone: what they had is played again."""
        for one in self._open.values():
            one.order.left.extendleft(sorted((number for number, _ in one.out.values()), reverse=True))
            one.out.clear()

    def close(self) -> None:
        """Nothing more is played: the record files are let go of."""
        for one in list(self._open.values()):
            one.order.left.clear()
            one.out.clear()
            one.series = replace(one.series, state=ABORTED, reason="the referee ended")
            self._count(one)

    def _fail(self, one: _Open, reason: str) -> None:
        one.order.left.clear()
        one.series = replace(one.series, state="failed", reason=reason)

    def _keep(self, facts: GameResult, record: bytes) -> None:
        self._records[facts.key] = record
        while len(self._records) > KEPT:
            self._records.popitem(last=False)

    def _count(self, one: _Open) -> None:
        """Have the news say how it stands; a series with nothing left is over."""
        self.version += 1
        tally, score = one.order.tally, one.order.tally.bots[0]
        one.series = replace(
            one.series,
            played=tally.games + tally.lasting,
            wins=score.wins,
            draws=score.draws,
            losses=score.losses,
            void=tally.void,
        )
        if one.out or one.order.left:
            return
        if one.series.state == "playing":
            one.series = replace(one.series, state="over")
        one.order.recorder.close()
        del self._open[one.series.key]
        self._over[one.series.key] = one.series
        while len(self._over) > KEPT:
            self._over.popitem(last=False)


def _by_seat(setup: SeriesConfig, number: int) -> tuple[str, str]:
    one, two = setup.bots
    return (one.name, two.name) if number % 2 == 0 else (two.name, one.name)


WHO = "local"  # whoever may connect: see doors
TOLD = "it was told to stop"
_OFTEN = 0.1  # seconds between two looks at what is under way


class RunController:
    """Executes the commands of clients in the loop: the RunControl of a ladder's run, or that of an IdleRunner.

    `remains`: the referee waits for ggp-stop when nothing of the ladder is left to play. `read` reads the ladder's
    file again and raises ConfigError.
    """

    def __init__(self, desk: CommandQueue, remains: bool, read: "Callable[[], Ladder] | None" = None) -> None:
        self.desk = desk
        self.extras = ExtraSeries()
        self.run: LadderRun | None = None
        self.crew: LadderRun | IdleRunner | None = None  # what has the workers
        self.ending = ""
        self._remains = remains
        self._read = read
        self._paused = self._leaving = False
        self._over = ""  # why nothing of the ladder is left to play
        self._seen: tuple[object, ...] = ()
        self._looked = 0.0

    # -- what the loop asks (see ladder.run.RunControl) -------------------------------------------------------------

    @property
    def paused(self) -> bool:
        return self._paused or self._leaving or bool(self._over)

    @property
    def busy(self) -> bool:
        return self._remains or self._paused or bool(self.extras)

    def serve(self, run: "LadderRun | None") -> None:
        self.run = run
        self.crew = run or self.crew
        self.desk.serve(self)
        self._tell()

    def should_wait(self, why: str) -> bool:
        if self._leaving and not self.extras:
            self.ending = TOLD
            return False
        if self.extras or self._paused:
            return True
        if self._remains:
            self._over = self._over or why
        return self._remains

    def rest(self, seconds: float) -> None:
        if seconds:
            self.desk.serve(self, seconds)
        else:
            time.sleep(0)

    def on_start(self) -> None:
        self._over = ""

    def next_batches(self) -> list[Batch]:
        return [] if self.ending else self.extras.work(time.monotonic())

    def on_result(self, chunk: BatchResult) -> bool:
        return self.extras.took(chunk)

    def on_workers_lost(self) -> None:
        self.extras.lost()

    def close(self) -> None:
        """The loop has ended: answer every waiting client."""
        self.extras.close()
        self._over = self._over or TOLD
        self._leaving, self.ending = False, ""
        self._tell(True)
        self.desk.close()

    # -- orders: each raises CommandFailed and has then changed nothing --------------------------------------------

    def pause(self) -> None:
        """Give out no pairs of the ladder until resume; not kept for a later run."""
        self._need_run()
        if self.ending or self._leaving:
            raise CommandFailed("the referee is stopping")
        self._paused = True
        self.note("paused")

    def resume(self) -> None:
        self._need_run()
        if not self._paused:
            raise CommandFailed("it is not paused")
        self._paused = False
        self.note("resumed")

    def stop(self, after: bool) -> None:
        """End now, or `after` the ladder's matches that are being played and all series of ggp-match."""
        self._leaving = True
        if not after:
            self.ending = TOLD
        self.note("stop", "after what is being played" if after else "")
        self._tell(True)

    def abort(self, key: str) -> None:
        """Drop a match or a series of ggp-match, or a match of the ladder, whose pair is then given up."""
        keys = self.extras.keys(key) or self._pair(key)
        if self.crew is None or not self.crew.drop(keys):
            raise CommandFailed("workers on a cluster drop no single match: ggp-stop ends all")
        self.extras.abort(key)
        self.note("aborted", key)

    def suspend(self, bot: str, reason: str) -> None:
        """By name or label, in all pools."""
        store = self._need_run().store
        with _told():
            known = {seat.label: seat for pool in store.pools() for seat in store.seats(pool.id) if seat.entered}
            if bot not in known:
                raise CommandFailed(f"no bot {bot} is entered: ggp-bots lists them")
            if known[bot].suspended:
                raise CommandFailed(f"{bot} is suspended already: {known[bot].suspended}")
            store.suspend(known[bot].id, reason)
        self.note("order", f"ggp-suspend {bot} by {WHO}")

    def readmit(self, bot: str) -> None:
        """It is paired again from the next batch on."""
        store = self._need_run().store
        with _told():
            if not store.readmit(bot):
                raise CommandFailed(f"no bot {bot} is suspended: ggp-bots lists them")
        self._over = ""
        self.note("order", f"ggp-readmit {bot} by {WHO}")

    def reload(self) -> None:
        """Read the ladder's file again now, whether it has changed or not."""
        run = self._need_run()
        if self._read is None:
            raise CommandFailed("the ladder has no file")
        from referee.ladder.toml_section import ConfigError

        try:
            ladder = self._read()
        except ConfigError as error:
            raise CommandFailed(str(error)) from None
        with _told():
            run.read_again(ladder)
        self.note("order", f"ggp-reload by {WHO}")

    def begin(self, order: SeriesRequest) -> str:
        """Play a series that is not rated; its key."""
        if self._leaving or self.ending:
            raise CommandFailed("the referee is stopping")
        key = self.extras.begin(order)
        bots = " and ".join(bot.name for bot in order.setup.bots)
        self.note("order", f"ggp-match {key} of {bots} by {WHO}")
        self._tell(True)
        return key

    # --------------------------------------------------------------------------------------------------------------

    def note(self, kind: str, more: str = "") -> None:
        """An event of the ladder; whether the store takes it now or not, what was ordered is done."""
        if self.run is not None:
            with contextlib.suppress(StoreError):
                self.run.store.note(kind, f"by {WHO}" + (f": {more}" if more else "") if kind != "order" else more)
        self._tell(True)

    def _need_run(self) -> "LadderRun":
        if self.run is None:
            raise CommandFailed("there is no ladder: this referee plays matches only")
        return self.run

    def _pair(self, key: str) -> list[str]:
        """The matches of a pair of the ladder that is under way, by its name or the key of one of them."""
        for name, pair, _ in self.run.under_way.named() if self.run else ():
            if key.partition(".")[0] in (name, *(f"{name}-{game}" for game in (1, 2))):
                return [f"{name}-{game + 1}" for game in range(2) if game not in pair.played]
        raise CommandFailed(f"no match {key} is being played: ggp-matches lists them")

    def _tell(self, now: bool = False) -> None:
        """Publish what has changed."""
        run, progress = self.run, self.run.progress if self.run else None
        counted = (progress.stored, progress.games, len(progress.messages)) if progress else ()
        seen = (self._state(), counted, self.extras.version)
        moment = time.monotonic()
        if seen == self._seen and moment - self._looked < _OFTEN and not now:
            return
        news = self.desk.news
        change, self._seen, self._looked = news.change + (seen != self._seen), seen, moment
        if run is not None and progress is not None:
            news = replace(
                news,
                stored=progress.stored,
                games=progress.games,
                plies=progress.plies,
                ladder=run.ladder,
                said=progress.messages[-1] if progress.messages else "",
            )
        jobs = self.crew.jobs if self.crew else 0
        under_way = (*self._pairs(), *self.extras.under_way())
        state, series = self._state(), self.extras.all()
        self.desk.publish(replace(news, state=state, change=change, jobs=jobs, under_way=under_way, series=series))

    def _state(self) -> RunState:
        if self._leaving or self.ending:
            return RunState.STOPPING
        if self.run is None:
            return RunState.RUNNING if self.extras else RunState.IDLE
        return RunState.PAUSED if self._paused else RunState.OVER if self._over else RunState.RUNNING

    def _pairs(self) -> list[MatchUnderWay]:
        if self.run is None:
            return []
        run = self.run
        return [MatchUnderWay(name, *run.names(pair), since) for name, pair, since in run.under_way.named()]


def first_news(name: str, ladder: "Ladder | None") -> ControlStatus:
    """Before the loop has begun."""
    return ControlStatus(name, RunState.STARTING if ladder else RunState.IDLE, ladder=ladder)


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """What the store refuses, the client is told."""
    try:
        yield
    except StoreError as error:
        raise CommandFailed(str(error)) from None


# -- a referee without a ladder ---------------------------------------------------------------------------------------


_TURN = 0.05  # seconds that the loop waits for one thing before it looks at the other
_DEATHS = 3  # times in a row that workers may die without a match in between


class IdleRunner:
    """Plays until it is told to stop. `stopped` is the signal that ended it, `failed` why it could not go on."""

    def __init__(self, steering: RunController, jobs: int, hire: Callable[[], WorkerPool]) -> None:
        self.jobs = jobs
        self.stopped = 0
        self.failed = ""
        self._steering = steering
        self._hire = hire
        self._pool: WorkerPool | None = None
        self._deaths = 0
        steering.crew = self

    def go(self) -> None:
        """Returns when every worker has ended."""
        with on_signals(self._stop):
            try:
                self._play()
            finally:
                self._wind_up()

    def drop(self, keys: list[str]) -> bool:
        """Have these matches dropped."""
        return self._pool is not None and self._pool.drop(keys)

    def _play(self) -> None:
        steering = self._steering
        while not (self.stopped or self.failed):
            self._give()
            steering.serve(None)
            if steering.ending or not (self._busy or steering.should_wait("there is no ladder")):
                return
            if self._busy:
                self._take()
            else:
                steering.rest(_TURN)

    @property
    def _busy(self) -> int:
        return self._pool.running if self._pool else 0

    def _give(self) -> None:
        while self._busy < 2 * self.jobs and (chunk := self._steering.next_batches()):
            try:
                self._pool = self._pool or self._hire()
            except WorkersLost as lost:
                self.failed = str(lost)
                return
            self._pool.submit(chunk)

    def _take(self) -> None:
        assert self._pool is not None
        try:
            chunks = self._pool.gather(_TURN)
        except WorkersLost as lost:
            self._wind_up()
            self._steering.on_workers_lost()
            self._deaths += 1
            self.failed = str(lost) if self._deaths > _DEATHS else ""
            return
        for chunk in chunks:
            self._deaths = 0 if chunk.played else self._deaths
            self._steering.on_result(chunk)

    def _wind_up(self) -> None:
        """Drop what is being played, keep what was."""
        if self._pool is not None:
            if self._pool.running:
                self._pool.stop()
            for chunk in self._pool.drain():
                self._steering.on_result(chunk)
            self._pool.close()
            self._pool = None

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.stopped = number
