"""Challenges: unrated series between two bots that an author asked for. Beside Rated, it begins meetings at the tables.

A challenge is a batch of pairs in the unrated pool beside a pool, so all that is true of pairs is true of it. A bot
that was challenged is offered a rated game before it is challenged again. All of it lives in the loop but for what the
ledger's thread is asked to do.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count

from protocol.errors import CommandFailed
from referee.ladder.entries import UNRATED
from referee.ladder.pairs import Pair, Pairing, Seat
from referee.lobby.admission import Author
from referee.lobby.fixtures import Fixtures
from referee.lobby.guest import Guest
from referee.lobby.journal import Journal
from referee.lobby.ledger import Ledger
from referee.lobby.rated import Rated, Tables
from referee.store.rows import ChallengeRow
from referee.store.store import Store

MOST = 1000  # open at a time, of all owners
LISTED = 100  # in one answer, the newest


@dataclass(frozen=True, slots=True)
class Terms:
    """What an owner may ask for: challenges at a time, pairs of each; days after which what is left is withdrawn."""

    challenges: int = 10
    pairs: int = 50
    days: float = 7.0


class Unrated(Fixtures):
    """The pairs of challenges in one pool, by batch and in their order."""

    def load(self) -> None:
        super().load()
        self.batches: dict[int, list[int]] = defaultdict(list)
        for pair in self.open.values():
            self.batches[pair.batch].append(pair.id)

    def issued(self, pairs: list[Pair]) -> None:
        """New ones, of one challenge."""
        for pair in pairs:
            self.open[pair.id] = pair
            self.batches[pair.batch].append(pair.id)

    def take(self, pair: Pair) -> None:
        super().take(pair)
        if pair.id in self.batches[pair.batch]:
            self.batches[pair.batch].remove(pair.id)

    def give_back(self, pair: Pair, left: Pair | None) -> None:
        super().give_back(pair, left)
        if left is not None:
            self.batches[pair.batch].insert(0, left.id)

    def next(self, batch: int) -> Pair | None:
        """The pair of this challenge that comes next."""
        ids = self.batches.get(batch)
        return self.open[ids[0]] if ids else None

    def played_now(self, batch: int) -> list[int]:
        """The pairs of this challenge that are being played, or are waited for."""
        return [pair.id for pair in self.taken.values() if pair.batch == batch]

    def drop(self, batch: int) -> None:
        """Nothing of this challenge is to be played any more."""
        for id in self.batches.pop(batch, ()):
            del self.open[id]


@dataclass(slots=True, eq=False)
class Challenge:
    """One that is open: `first` challenged `second`. `reason`: it was withdrawn, and what is played of it ends."""

    id: int
    fixtures: Unrated
    batch: int
    owner: str
    first: Seat
    second: Seat
    until: str
    reason: str
    turn: int = 0  # grows with every meeting of any challenge

    @property
    def bots(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """By name and version."""
        return (self.first.name, self.first.version), (self.second.name, self.second.version)


class Challenges:
    """`fixtures`: of each pool the unrated one. Made before the lobby opens; raises StoreError."""

    def __init__(
        self,
        fixtures: list[Unrated],
        terms: Terms,
        tables: Tables,
        rated: Rated,
        ledger: Ledger,
        store: Store,
        journal: Journal,
    ) -> None:
        self.open: dict[int, Challenge] = {}
        self._fixtures = {one.pool.name.removesuffix(UNRATED): one for one in fixtures}
        self._terms, self._tables, self._rated = terms, tables, rated
        self._ledger, self._store, self._journal = ledger, store, journal
        self._turns = count(1)
        for one in fixtures:
            for row in store.challenges(one.row, only_open=True):
                self._add(one, row.id, row.batch, row.owner, row.first, row.second, row.until, row.reason)

    # -- playing -----------------------------------------------------------------------------------------------------

    async def look(self) -> None:
        """Begin what can begin, end what cannot go on. Raises StoreError."""
        moment = _now()
        for one in list(self.open.values()):
            if reason := one.reason or self._hopeless(one, moment):
                await self._end(one, reason)
            elif not one.fixtures.next(one.batch) and not one.fixtures.played_now(one.batch):
                await self._over(one)
        idle = {(guest.name, guest.version): guest for guest in self._tables.idle()}
        for one in self._in_turn():
            pair = one.fixtures.next(one.batch)
            first, second = (idle.get(bot) for bot in one.bots)
            if pair is None or first is None or second is None or not self._tables.room_left():
                continue
            if self._may_be_challenged(first) and self._may_be_challenged(second):
                one.turn = next(self._turns)
                for bot in one.bots:
                    del idle[bot]
                self._tables.begin(one.fixtures, pair, (first, second))

    def held(self) -> set[Guest]:
        """Challengers, kept from rated games while whom they challenged is at a table: one for each of these."""
        if not self.open:
            return set()
        idle = {(guest.name, guest.version): guest for guest in self._tables.idle()}
        here = {(guest.name, guest.version) for guest in self._tables.guests()}
        held: dict[tuple[str, str], Guest] = {}
        for one in self._in_turn():
            challenger, other = one.bots
            first = idle.get(challenger)
            if first and other in here and other not in idle and self._may_be_challenged(first):
                held.setdefault(other, first)
        return set(held.values())

    def _in_turn(self) -> list[Challenge]:
        """Of which something can be begun, whoever waited longest first."""
        some = (one for one in self.open.values() if not one.reason and one.fixtures.next(one.batch))
        return sorted(some, key=lambda one: (one.turn, one.id))

    def _may_be_challenged(self, guest: Guest) -> bool:
        """At most every second meeting, if there is anybody to be rated against."""
        return not guest.challenged or not self._rated.anybody_for(guest)

    def _hopeless(self, one: Challenge, moment: str) -> str:
        """Why nothing more will be played of it, "" if it may."""
        if one.until <= moment:
            return f"it was not finished by {one.until}"
        for bot in one.bots:
            seat = one.fixtures.seats.get(bot)
            if seat is None or not seat.active:
                why = f"is suspended: {seat.suspended}" if seat and seat.suspended else "is another version now"
                guest = next((guest for guest in self._tables.guests() if guest.name == bot[0]), None)
                return f"{bot[0]} {'takes no challenges' if guest and not guest.challenges else why}"
        return ""

    async def _end(self, one: Challenge, reason: str) -> None:
        """Play no more of it but for the pair that is being played. Raises StoreError."""
        playing, new = one.fixtures.played_now(one.batch), not one.reason
        if new:
            one.reason = reason  # from here on nothing of it begins, however long the store takes
            self._journal.tell("challenge", "withdrawn", id=one.id, reason=reason)
        if new or not playing or one.fixtures.next(one.batch):  # what was being played may be open again
            await self._ledger.work(lambda: self._store.withdraw(one.id, one.reason, playing))
            one.fixtures.drop(one.batch)
        if not playing:
            await self._over(one)

    async def _over(self, one: Challenge) -> None:
        row = await self._ledger.work(lambda: self._store.find_challenge(one.id))
        self.open.pop(one.id, None)
        if row is not None and not one.reason:
            self._journal.tell(
                "challenge", "over", id=one.id, wins=row.wins, draws=row.draws, losses=row.losses, void=row.void
            )

    # -- orders ------------------------------------------------------------------------------------------------------

    async def order(self, author: Author, pool: str, mine: str, theirs: str, pairs: int) -> int:
        """A new one, durable; its id. Raises CommandFailed, StoreError."""
        fixtures = self._fixtures.get(pool)
        if fixtures is None:
            raise CommandFailed(f"no pool {pool[:60]}: there are {', '.join(self._fixtures)}")
        if not author.speaks_for(mine):
            theirs_all = ", ".join((author.bots or ())[:5])
            raise CommandFailed(
                f"this key speaks for {theirs_all}, not for {mine[:60]}: challenge with a bot of your own"
            )
        if mine == theirs:
            raise CommandFailed("a bot cannot challenge itself: name two bots")
        if not 1 <= pairs <= self._terms.pairs:
            raise CommandFailed(f"pairs={pairs} is not from 1 to {self._terms.pairs}: ask for another number")
        first, second = self._seat(fixtures, mine), self._seat(fixtures, theirs)
        owner = author.owner or mine
        if sum(one.owner == owner for one in self.open.values()) >= self._terms.challenges:
            raise CommandFailed(f"{owner} has {self._terms.challenges} challenges open: wait, or withdraw one")
        if len(self.open) >= MOST:
            raise CommandFailed(f"{MOST} challenges are open, which is as many as may be: ask later")
        until = _now(timedelta(days=self._terms.days))
        pairing = Pairing(first.id, second.id)
        id, made = await self._ledger.work(lambda: self._store.challenge(fixtures.row, pairing, pairs, owner, until))
        fixtures.issued(made)
        self._add(fixtures, id, made[0].batch, owner, first.id, second.id, until, "")
        self._journal.tell("challenge", "asked", id=id, by=owner, pool=pool, first=mine, second=theirs, pairs=pairs)
        return id

    async def withdraw(self, author: Author, id: int) -> None:
        """By whoever asked for it, or has one of the two bots. Raises CommandFailed, StoreError."""
        one = self.open.get(id)
        if one is None:
            row = await self._ledger.work(lambda: self._store.find_challenge(id))
            raise CommandFailed(f"challenge {id} is over" if row else f"there is no challenge {id}")
        if one.owner != author.owner and not any(author.speaks_for(name) for name, _ in one.bots):
            raise CommandFailed(f"challenge {id} is {one.owner}'s, and none of its bots is yours")
        if one.reason:
            raise CommandFailed(f"challenge {id} was withdrawn: {one.reason}")
        await self._end(one, f"withdrawn by {author.owner or 'its author'}")

    async def status(self, id: int) -> str:
        """A line of `key=value`. Raises CommandFailed, StoreError."""
        row = await self._ledger.work(lambda: self._store.find_challenge(id))
        if row is None:
            raise CommandFailed(f"there is no challenge {id}")
        return self._line(row)

    async def listed(self) -> list[str]:
        """Those that are open, the newest so many, a line each. Raises StoreError."""
        rows = await self._ledger.work(lambda: self._store.challenges(only_open=True, most=LISTED))
        return [self._line(row) for row in rows]

    def pools(self) -> list[str]:
        """A line each."""
        lines = []
        for name, one in self._fixtures.items():
            setting = one.pool.setting
            options = "".join(f",{key}={value}" for key, value in setting.options.items())
            lines.append(
                f"pool={name} game={setting.game}{options} time={setting.control} openings={one.pool.openings}"
            )
        return lines

    def bots(self) -> list[str]:
        """Who is here, a line each."""
        lines = []
        for guest in sorted(self._tables.guests(), key=lambda guest: guest.name):
            state = "playing" if guest.playing else "idle" if guest.player else "joining"
            games = ",".join(sorted(guest.games)) or "all"
            takes = "yes" if guest.challenges else "no"
            owner = "_".join(guest.identity.owner.split())  # that of the lobby's own bots has blanks
            lines.append(f"name={guest.name} owner={owner} state={state} challenges={takes} games={games}")
        return lines

    # ----------------------------------------------------------------------------------------------------------------

    def _add(
        self, fixtures: Unrated, id: int, batch: int, owner: str, first: int, second: int, until: str, reason: str
    ) -> None:
        seats = {seat.id: seat for seat in fixtures.seats.values()}
        self.open[id] = Challenge(id, fixtures, batch, owner, seats[first], seats[second], until, reason)

    def _seat(self, fixtures: Unrated, name: str) -> Seat:
        """Of the version that is entered now. Raises CommandFailed."""
        for seat in fixtures.seats.values():
            if seat.name == name and seat.entered:
                if seat.suspended:
                    raise CommandFailed(f"{name} is suspended here: {seat.suspended}")
                return seat
        pool = fixtures.pool.name.removesuffix(UNRATED)
        raise CommandFailed(f"{name[:60]} was never in {pool}, or takes no challenges: ggp-bots lists who is here")

    def _line(self, row: ChallengeRow) -> str:
        fixtures = next((one for one in self._fixtures.values() if one.row == row.pool), None)
        names = {seat.id: seat.name for seat in fixtures.seats.values()} if fixtures else {}
        pool = fixtures.pool.name.removesuffix(UNRATED) if fixtures else "-"
        state, reason = self._state(row)
        first, second = (names.get(id, "-") for id in (row.first, row.second))
        return (
            f"id={row.id} state={state} pool={pool} first={first} second={second} owner={row.owner} pairs={row.pairs}"
            f" played={row.played} games={row.games} wins={row.wins} draws={row.draws} losses={row.losses}"
            f" void={row.void} asked={row.asked} until={row.until}"
            + (f" reason={' '.join(reason.split())}" if reason else "")
        )

    def _state(self, row: ChallengeRow) -> tuple[str, str]:
        """waiting, playing, over or withdrawn, and why."""
        if not row.open:
            over = row.played == row.pairs
            return ("over", "") if over else ("withdrawn", row.reason or "its pool or one of its bots is gone")
        one = self.open.get(row.id)
        if one is None:
            return "waiting", ""
        if one.fixtures.played_now(one.batch):
            return "playing", one.reason
        return "waiting", self._why(one)

    def _why(self, one: Challenge) -> str:
        here = {(guest.name, guest.version): guest for guest in self._tables.guests()}
        away = [name for name, version in one.bots if (name, version) not in here]
        if away:
            return f"{' and '.join(away)} {'are' if len(away) > 1 else 'is'} away"
        busy = [guest.name for bot in one.bots if (guest := here[bot]).playing]
        if busy:
            return f"{' and '.join(busy)} {'are' if len(busy) > 1 else 'is'} playing"
        turn = [guest.name for bot in one.bots if not self._may_be_challenged(guest := here[bot])]
        return f"{' and '.join(turn)} will be rated first" if turn else ""


def _now(later: timedelta = timedelta()) -> str:
    """UTC, ISO 8601."""
    return (datetime.now(UTC) + later).strftime("%Y-%m-%dT%H:%M:%SZ")
