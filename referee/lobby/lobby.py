"""The lobby as a whole: lets bots in, pairs who is idle, plays, keeps what was played, and ends in good order.

One thread, one event loop; the store's thread beside it. Killed at any instant it takes up its matches when it is
started again and both bots are back.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from protocol.records import Event, MovePlayed, Record
from referee.ladder.entries import Entrant, Ladder
from referee.ladder.pairs import GAMES, Pair
from referee.ladder.work import make_setup, pair_name, series_of
from referee.lobby.admission import Admission
from referee.lobby.door import Door
from referee.lobby.engines import Engines
from referee.lobby.guest import DIALLED, Guest
from referee.lobby.hall import Bounds, Hall
from referee.lobby.journal import Journal
from referee.lobby.lateness import Lateness
from referee.lobby.ledger import Game, Ledger
from referee.lobby.live import Live
from referee.lobby.matchmaker import Matchmaker
from referee.lobby.meeting import Meeting, Room
from referee.lobby.metrics import Metric, label
from referee.play.seating import Start
from referee.play.series import played
from referee.store.errors import StoreError
from referee.store.store import Store

_BEAT = 10.0  # seconds between signs of life in the store


@dataclass(frozen=True, slots=True)
class Plan:
    """How a lobby is run: `pairing` seconds between looks at who is idle, `drain` seconds for matches at the end."""

    bounds: Bounds = field(default_factory=Bounds)
    pairing: float = 1.0
    drain: float = 60.0
    matches: int = 1000  # at once


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
        self._makers: list[Matchmaker] = []
        self._known: dict[str, Entrant] = {}
        self._to_take_up: dict[int, tuple[Matchmaker, Pair, Record]] = {}  # matches of the run before, by pair
        self._until = 0.0  # so long their bots are waited for
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
            self._until = time.monotonic() + self._plan.bounds.grace
            ready(door.url)
            await self._go_on()
        finally:
            await self._wind_up()

    def stop(self) -> None:
        """Begin no more matches, wait for those that are under way, then end; called again, wait no longer."""
        if self._stopping.is_set():
            self._hurry.set()
        self._stopping.set()

    def metrics(self) -> list[Metric]:
        """What an operator watches; nothing before the door is open."""
        if not hasattr(self.hall, "door"):
            return []
        journal, worst = self._journal, self._lateness.worst
        self._lateness.worst = 0.0
        ended = {label(termination=word): count for (event, word), count in journal.counts.items() if event == "game"}
        refused = {label(why=word): count for (event, word), count in journal.counts.items() if event == "refused"}
        guests = self.hall.guests.values()
        return [
            Metric("ggp_connections", "gauge", "Connections of bots.", {"": self.hall.door.connections}),
            Metric("ggp_bots", "gauge", "Bots that are here.", {"": len(guests)}),
            Metric("ggp_bots_away", "gauge", "Bots that lost their connection in a match.", {"": _away(guests)}),
            Metric("ggp_matches", "gauge", "Matches under way.", {"": len(self.meetings)}),
            Metric("ggp_plies_total", "counter", "Plies that were played.", {"": self.plies}),
            Metric("ggp_games_total", "counter", "Games that ended and are kept, by termination.", ended),
            Metric("ggp_refused_total", "counter", "Connections and bots that were refused, by reason.", refused),
            Metric(
                "ggp_loop_late_seconds",
                "gauge",
                "How late the loop was, at most, since it was last asked.",
                {"": worst},
            ),
        ]

    # -- the beginning -----------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """From what the store and the run before left."""
        rows = self._store.enrol(replace(self._ladder, bots=tuple(self._entered())))
        self._makers = [Matchmaker(self._ladder, pool, rows[pool.name], self._store) for pool in self._ladder.pools]
        for record, lines in self._live.left():
            self._take_up(record, lines)

    def _entered(self) -> list[Entrant]:
        """Who was here before: bots that are away are not withdrawn."""
        keys = {pool.key: pool.name for pool in self._ladder.pools}
        pools: dict[tuple[str, str], list[str]] = {}
        for row in self._store.pools():
            for seat in self._store.seats(row.id):
                if seat.entered and row.key in keys:
                    pools.setdefault((seat.name, seat.version), []).append(keys[row.key])
        for (name, version), theirs in pools.items():
            self._known[name] = Entrant(name, Start(name, DIALLED, version=version), tuple(theirs))
        return list(self._known.values())

    def _take_up(self, record: Record, lines: bytes) -> None:
        """A match of the run before: kept if it was finished, played on if its pair is still open."""
        key = record.start.match
        series, _, number = key.rpartition("-")
        for maker in self._makers:
            for pair in maker.open.values():
                if pair_name(self._room.series, maker.pool, pair.number) == series:
                    game, _, attempt = number.partition(".")
                    if record.end is not None:
                        self._keep_finished(maker, pair, int(game) - 1, int(attempt or 0), record, lines)
                    elif pair.id not in self._to_take_up and int(game) - 1 not in pair.played:
                        self._to_take_up[pair.id] = maker, pair, record
                        return
                    break
        self._live.done(key)

    def _keep_finished(
        self, maker: Matchmaker, pair: Pair, game: int, attempt: int, record: Record, lines: bytes
    ) -> None:
        names = [bot.name for bot in record.start.bots]
        one, two = names if game == 0 else reversed(names)
        starts = {pair.first: Start(one, DIALLED), pair.second: Start(two, DIALLED)}
        setup = make_setup(self._room.series, pair, maker.pool, starts, self._ladder.budgets)
        facts = played(setup, game, record)
        if not facts.replayed:
            for result in self.ledger.add_now(Game(pair, game, attempt, facts, lines)):
                maker.fix(result)
            maker.open = {left.id: left for left in self._store.open_pairs(maker.row)}

    # -- pairing -----------------------------------------------------------------------------------------------------

    def _changed(self, guest: Guest) -> None:
        """Whoever came is paired with the next look."""

    async def _go_on(self) -> None:
        beat = time.monotonic()
        while not self._stopping.is_set():
            with contextlib.suppress(StoreError):  # it is tried again in a moment
                await self._enrol()
                await self._pair()
                if time.monotonic() - beat > _BEAT:
                    beat = time.monotonic()
                    await self.ledger.work(self._store.beat)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), self._plan.pairing)

    async def _enrol(self) -> None:
        """Newcomers, and new versions of those who are known. Raises StoreError."""
        pools, new = self._ladder.pools, dict[str, Entrant]()
        for guest in self.hall.ready():
            theirs = tuple(pool.name for pool in pools if guest.plays(pool.setting.game))
            known = self._known.get(guest.name)
            if known is None or (known.version, known.pools) != (guest.version, theirs):
                new[guest.name] = Entrant(guest.name, guest.start, theirs)
        if not new:
            return
        known_then = {**self._known, **new}
        ladder = replace(self._ladder, bots=tuple(known_then.values()))

        def enrol() -> None:
            self._store.enrol(ladder)
            for maker in self._makers:
                maker.enrolled()

        await self.ledger.work(enrol)
        self._known = known_then

    async def _pair(self) -> None:
        """Give a match to everybody who can have one. Raises StoreError."""
        self._sit_down_again()
        for maker in sorted(self._makers, key=lambda one: len(one.open)):
            while not self._stopping.is_set():
                present = self._present(maker)
                for pair in [one for one in maker.open.values() if {one.first, one.second} <= present.keys()]:
                    if {pair.first, pair.second} <= present.keys() and self._room_left():
                        self._begin_meeting(maker, pair, (present.pop(pair.first), present.pop(pair.second)))
                if len(present) < 2 or not self._room_left():
                    break
                owners = {id: guest.identity.owner for id, guest in present.items()}
                made = await self.ledger.work(lambda maker=maker, owners=owners: maker.pair(owners))  # type: ignore[misc]
                maker.open |= {pair.id: pair for pair in made}
                if not made:
                    break

    def _present(self, maker: Matchmaker) -> dict[int, Guest]:
        """Who could play in this pool now, by version."""
        found: dict[int, Guest] = {}
        reserved = {id for _, pair, _ in self._to_take_up.values() for id in (pair.first, pair.second)}
        for guest in self.hall.ready():
            seat = maker.seats.get((guest.name, guest.version))
            if seat is not None and seat.active and seat.id not in reserved and guest.plays(maker.pool.setting.game):
                found[seat.id] = guest
        return found

    def _room_left(self) -> bool:
        return len(self.meetings) < self._plan.matches and self._engines.free > 0

    def _sit_down_again(self) -> None:
        """Matches of the run before go on as soon as both bots are back; not for ever."""
        late = time.monotonic() > self._until
        for id, (maker, pair, record) in list(self._to_take_up.items()):
            here = {
                seat.id: guest
                for guest in self.hall.ready()
                if (seat := maker.seats.get((guest.name, guest.version))) is not None
            }
            if {pair.first, pair.second} <= here.keys():
                del self._to_take_up[id]
                self._begin_meeting(maker, pair, (here[pair.first], here[pair.second]), record)
            elif late:
                del self._to_take_up[id]
                self._live.done(record.start.match)
                self._journal.tell("void", "restart", match=record.start.match, reason="its bots did not come back")

    def _seen(self, event: Event) -> None:
        self.plies += type(event) is MovePlayed

    # -- meetings ----------------------------------------------------------------------------------------------------

    def _begin_meeting(
        self, maker: Matchmaker, pair: Pair, bots: tuple[Guest, Guest], before: Record | None = None
    ) -> None:
        maker.open.pop(pair.id, None)
        meeting = Meeting(self._room, maker.pool, pair, bots, before)
        for bot in bots:
            bot.playing = True
        task = asyncio.get_running_loop().create_task(self._meet(maker, meeting))
        self.meetings[task] = meeting
        task.add_done_callback(lambda done: self.meetings.pop(done))

    async def _meet(self, maker: Matchmaker, meeting: Meeting) -> None:
        pair = meeting.pair
        try:
            results = await meeting.play()
            for result in results:
                maker.fix(result)
            if meeting.unplayable:  # somebody may be suspended
                await self.ledger.work(maker.enrolled)
            elif not results:
                await self._reopen(maker, pair)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._journal.tell("fault", type(error).__name__, pool=maker.pool.name, reason=str(error))
            raise
        finally:
            for bot in meeting.bots:
                bot.playing = False
                if not bot.line.route and not bot.line.ended:
                    self.hall.forget(bot, "its connection was lost")

    async def _reopen(self, maker: Matchmaker, pair: Pair) -> None:
        """Somebody left: what is missing of the pair is played when both are here again."""
        with contextlib.suppress(StoreError):
            stored = await self.ledger.work(lambda: self._store.open_pairs(maker.row))
            maker.open |= {one.id: one for one in stored if one.id == pair.id and len(one.played) < GAMES}

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
