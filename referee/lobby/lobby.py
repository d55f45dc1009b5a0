"""The lobby as a whole: lets bots in, has meetings begin, plays, keeps what was played, and ends in good order.

One thread, one event loop; the store's thread beside it. Killed at any instant it takes up its matches when it is
started again and both bots are back.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from protocol.records import Event, MovePlayed, Record
from referee.ladder.entries import Ladder
from referee.ladder.pairs import Pair
from referee.ladder.work import series_of
from referee.lobby.admission import Admission
from referee.lobby.bounds import Bounds
from referee.lobby.challenges import Challenges, Terms, Unrated
from referee.lobby.door import Door
from referee.lobby.engines import Engines
from referee.lobby.fixtures import Fixtures
from referee.lobby.guest import Guest
from referee.lobby.hall import FAREWELL, Hall
from referee.lobby.journal import Journal
from referee.lobby.lateness import Lateness
from referee.lobby.ledger import Ledger
from referee.lobby.left_over import LeftOver
from referee.lobby.live import Live
from referee.lobby.matchmaker import Matchmaker
from referee.lobby.meeting import Meeting, Room
from referee.lobby.metrics import Metric, label
from referee.lobby.orders import Orders
from referee.lobby.rated import Rated
from referee.lobby.roster import VERSIONS, Roster
from referee.store.errors import StoreError
from referee.store.store import Store

_BEAT = 10.0  # seconds between signs of life in the store
_AFTER_FAULT = 1.0  # seconds until pairing goes on after a look that failed, at the least


@dataclass(frozen=True, slots=True)
class Plan:
    """How a lobby is run: `pairing` seconds between looks at who is idle, `drain` seconds for matches at the end."""

    bounds: Bounds = field(default_factory=Bounds)
    pairing: float = 1.0
    drain: float = 60.0
    matches: int = 1000  # at once
    terms: Terms = field(default_factory=Terms)  # of challenges


class Lobby:
    """`open_door` binds the socket that bots dial in to."""

    def __init__(
        self,
        ladder: Ladder,
        store: Store,
        plan: Plan,
        live: Live,
        journal: Journal,
        admission: Admission,
        open_door: Callable[[Hall], Door],
        engines: Engines,
    ) -> None:
        pools = (*ladder.pools, *(pool.unrated() for pool in ladder.pools))
        ladder = replace(ladder, pools=pools, bots=tuple(bot.with_unrated() for bot in ladder.bots))
        self._ladder, self._store, self._plan, self._live, self._journal = ladder, store, plan, live, journal
        self._engines, self._open_door = engines, open_door
        self._lateness = Lateness()
        games = {pool.setting.game for pool in ladder.pools}
        self.hall = Hall(plan.bounds, ladder.budgets, games, admission, journal, self._lateness, self._changed)
        self.ledger = Ledger(store, journal)
        self.meetings: dict[asyncio.Task[None], Meeting] = {}
        self.plies = 0  # in this run
        series = series_of(ladder)
        self._room = Room(self.hall, engines, self.ledger, live, journal, ladder.budgets, series, self._seen)
        self._roster = Roster(ladder, store, self.ledger)
        self._left_over = LeftOver(self._room)
        self._fixtures: Sequence[Fixtures] = ()
        self._stopping = asyncio.Event()
        self._hurry = asyncio.Event()

    async def run(self, ready: Callable[[str], None]) -> None:
        """Until `stop`; `ready` is told the address. Raises StoreError, EngineFailed, AddressError at the start."""
        self._begin()
        await self._engines.open({pool.engine for pool in self._ladder.pools})
        try:
            self.hall.door = door = self._open_door(self.hall)
            door.open()
            self.ledger.open()
            self._lateness.start()
            self.hall.open()
            self._orders.open()
            self._left_over.until = time.monotonic() + self._plan.bounds.grace
            ready(door.url)
            await self._go_on()
        finally:
            await self._wind_up()

    def stop(self) -> None:
        """Begin no more matches, wait for those that are under way, then end; called again, wait no longer."""
        if self._stopping.is_set():
            self._hurry.set()
            self.ledger.hurry()
        self._stopping.set()

    def metrics(self) -> list[Metric]:
        """What an operator watches; nothing before the door is open."""
        if not hasattr(self.hall, "door"):
            return []
        journal, worst = self._journal, self._lateness.worst
        self._lateness.worst = 0.0
        ended = {label(kind=kind, termination=word): count for (kind, word), count in self._room.games.items()}
        refused = {label(why=word): count for (event, word), count in journal.counts.items() if event == "refused"}
        faults = {label(task=word): count for (event, word), count in journal.counts.items() if event == "fault"}
        guests = self.hall.guests.values()
        return [
            Metric("ggp_connections", "gauge", "Connections of bots.", {"": self.hall.door.connections}),
            Metric("ggp_bots", "gauge", "Bots that are here.", {"": len(guests)}),
            Metric("ggp_bots_away", "gauge", "Bots that lost their connection in a match.", {"": _away(guests)}),
            Metric("ggp_challenges", "gauge", "Challenges that are open.", {"": len(self._challenges.open)}),
            Metric("ggp_matches", "gauge", "Matches under way.", {"": len(self.meetings)}),
            Metric("ggp_plies_total", "counter", "Plies that were played.", {"": self.plies}),
            Metric("ggp_games_total", "counter", "Games that ended and are kept, by kind and end.", ended),
            Metric("ggp_refused_total", "counter", "Connections and bots that were refused, by reason.", refused),
            Metric("ggp_faults_total", "counter", "Failures of the server's own tasks, which go on, by task.", faults),
            Metric(
                "ggp_loop_late_seconds",
                "gauge",
                "How late the loop was, at most, since it was last asked.",
                {"": worst},
            ),
        ]

    # -- what begins meetings ----------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """From what the store and the run before left. Raises StoreError."""
        rows = self._roster.begin()
        pools, store = self._ladder.pools, self._store
        makers = [Matchmaker(self._ladder, pool, rows[pool.name], store) for pool in pools if pool.rated]
        unrated = [Unrated(pool, rows[pool.name], store) for pool in pools if not pool.rated]
        self._fixtures = [*makers, *unrated]
        self._left_over.begin(self._fixtures)
        self._rated = Rated(makers, self, self.ledger)
        self._challenges = Challenges(unrated, self._plan.terms, self, self._rated, self.ledger, store, self._journal)
        self._orders = Orders(self._challenges, self._journal, self._answer, self.hall.hang_up)
        self.hall.orders = self._orders.hear

    def _answer(self, route: bytes, answer: bytes) -> None:
        self.hall.door.send(route, b"R", [answer])

    def _changed(self, guest: Guest) -> None:
        """Whoever came is paired with the next look."""

    async def _go_on(self) -> None:
        """Pair who is idle until `stop`. A look that fails is logged, and the next one comes."""
        beat = time.monotonic()
        while not self._stopping.is_set():
            pause = self._plan.pairing
            try:
                await self._pair()
                if time.monotonic() - beat > _BEAT:
                    beat = time.monotonic()
                    await self.ledger.work(self._store.beat)
            except StoreError:  # it is tried again in a moment
                pass
            except Exception as error:
                self._journal.fault("pairing", error)
                pause = max(pause, _AFTER_FAULT)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)

    async def _pair(self) -> None:
        """One look at who is idle. Raises StoreError."""
        for guest in await self._roster.enrol(self.hall.ready(), self._enrolled, time.monotonic()):
            self.hall.dismiss(guest, f"{VERSIONS} other versions within an hour are enough: come back later")
        for one, bots in self._left_over.back(self.hall.ready()):
            self.begin(one.fixtures, one.pair, bots, one.record)
        await self._left_over.expire(self.hall.guests.values())
        await self._challenges.look()
        await self._rated.look(self._challenges.held())

    def _enrolled(self) -> None:
        for fixtures in self._fixtures:
            fixtures.enrolled()

    def guests(self) -> Iterable[Guest]:
        """See Tables."""
        return self.hall.guests.values()

    def idle(self) -> list[Guest]:
        """See Tables."""
        reserved, idle = self._left_over.reserved(), list[Guest]()
        for guest in self.hall.ready():
            if reserved[guest.name, guest.version] > 0:
                reserved[guest.name, guest.version] -= 1
            else:
                idle.append(guest)
        return idle

    def room_left(self) -> bool:
        """See Tables."""
        return not self._stopping.is_set() and len(self.meetings) < self._plan.matches and self._engines.free > 0

    def _seen(self, event: Event) -> None:
        self.plies += type(event) is MovePlayed

    # -- meetings ----------------------------------------------------------------------------------------------------

    def begin(self, fixtures: Fixtures, pair: Pair, bots: tuple[Guest, Guest], before: Record | None = None) -> None:
        """See Tables. `before`: a match that is to be taken up."""
        fixtures.take(pair)
        meeting = Meeting(self._room, fixtures.pool, pair, bots, before)
        for bot in bots:
            bot.playing, bot.challenged = True, not fixtures.pool.rated
        task = asyncio.get_running_loop().create_task(self._meet(fixtures, meeting))
        self.meetings[task] = meeting
        task.add_done_callback(lambda done: self.meetings.pop(done))

    async def _meet(self, fixtures: Fixtures, meeting: Meeting) -> None:
        pair = meeting.pair
        left: Pair | None = None  # somebody left: what is missing is played when both are here again
        try:
            results = await meeting.play()
            for result in results:
                fixtures.fix(result)
            if meeting.unplayable:  # somebody may be suspended
                await self.ledger.work(fixtures.enrolled)
            elif not results:
                with contextlib.suppress(StoreError):
                    left = await self.ledger.work(lambda: fixtures.still_open(pair))
        except Exception as error:
            self._journal.fault("match", error, pool=fixtures.pool.name)
        finally:
            fixtures.give_back(pair, left)
            for bot in meeting.bots:
                bot.playing = False
                if bot.leaving:
                    self.hall.dismiss(bot, FAREWELL)
                elif not bot.line.route and not bot.line.ended:
                    self.hall.forget(bot, "its connection was lost")

    # -- the end -----------------------------------------------------------------------------------------------------

    async def _wind_up(self) -> None:
        """Wait for the matches that are under way, keep what was played, say goodbye."""
        reason = "the lobby is closing: dial in again later"
        self.hall.refuse_newcomers(reason)
        for meeting in self.meetings.values():
            meeting.drain()
        if self.meetings:
            self._journal.tell("drain", matches=len(self.meetings), seconds=self._plan.drain)
            await self._drain()
        left = list(self.meetings)  # they are taken up by the next run
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self._orders.close()
        await self.hall.close(reason)
        await self.ledger.close()
        self._lateness.stop()
        if hasattr(self.hall, "door"):
            await asyncio.sleep(0.1)
            self.hall.door.close(linger=500)
        await self._engines.close()

    async def _drain(self) -> None:
        hurry = asyncio.get_running_loop().create_task(self._hurry.wait())
        until = time.monotonic() + self._plan.drain
        while self.meetings and not hurry.done() and (wait := until - time.monotonic()) > 0:
            await asyncio.wait([*self.meetings, hurry], timeout=wait, return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()


def _away(guests: Iterable[Guest]) -> int:
    return sum(not guest.line.route for guest in guests)
