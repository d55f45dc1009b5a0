"""What the loop of a referee does on behalf of clients: pauses, ends, drops, suspends, and plays what they ask for.

It lives in the loop's thread; clients reach it through the desk.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from protocol.errors import CommandFailed
from referee.ladder.helm import Helm
from referee.play.worker import Chunk, Work
from referee.service.desk import Desk, News, State, UnderWay
from referee.service.series import Extras, Order
from referee.store.errors import StoreError

if TYPE_CHECKING:
    from referee.ladder.entries import Ladder
    from referee.ladder.run import LadderRun

WHO = "local"  # whoever may connect: see doors
TOLD = "it was told to stop"
_OFTEN = 0.1  # seconds between two looks at what is under way


class Crew(Protocol):
    """Whoever has the workers."""

    @property
    def jobs(self) -> int: ...

    def drop(self, keys: list[str]) -> bool: ...


class Steering(Helm):
    """A Helm for a run of a ladder, and all that a referee without one does.

    `remains`: with nothing of the ladder left to play the referee waits to be told to stop. `read` reads the ladder's
    file again and raises ConfigError.
    """

    def __init__(self, desk: Desk, remains: bool, read: "Callable[[], Ladder] | None" = None) -> None:
        self.desk = desk
        self.extras = Extras()
        self.run: LadderRun | None = None
        self.crew: Crew | None = None  # the run of the ladder, or what plays without one
        self.ending = ""
        self._remains = remains
        self._read = read
        self._paused = self._leaving = False
        self._over = ""  # why nothing of the ladder is left to play
        self._seen: tuple[object, ...] = ()
        self._looked = 0.0

    # -- what the run asks (see Helm) ------------------------------------------------------------------------------

    @property
    def holds(self) -> bool:  # type: ignore[override]
        return self._paused or self._leaving or bool(self._over)

    @property
    def busy(self) -> bool:  # type: ignore[override]
        return self._remains or self._paused or bool(self.extras)

    def serve(self, run: "LadderRun | None") -> None:
        self.run = run
        self.crew = run or self.crew
        self.desk.serve(self)
        self._tell()

    def stays(self, why: str) -> bool:
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

    def begun(self) -> None:
        self._over = ""

    def work(self) -> list[Work]:
        return [] if self.ending else self.extras.work(time.monotonic())

    def took(self, chunk: Chunk) -> bool:
        return self.extras.took(chunk)

    def lost(self) -> None:
        self.extras.lost()

    def close(self) -> None:
        """The loop has ended: nobody is left waiting."""
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

    def begin(self, order: Order) -> str:
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

    def _state(self) -> State:
        if self._leaving or self.ending:
            return State.STOPPING
        if self.run is None:
            return State.RUNNING if self.extras else State.IDLE
        return State.PAUSED if self._paused else State.OVER if self._over else State.RUNNING

    def _pairs(self) -> list[UnderWay]:
        if self.run is None:
            return []
        run = self.run
        return [UnderWay(name, *run.names(pair), since) for name, pair, since in run.under_way.named()]


def first_news(name: str, ladder: "Ladder | None") -> News:
    """Before the loop has begun."""
    return News(name, State.STARTING if ladder else State.IDLE, ladder=ladder)


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """What the store refuses, the client is told."""
    try:
        yield
    except StoreError as error:
        raise CommandFailed(str(error)) from None
