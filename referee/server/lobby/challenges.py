"""Challenges: unrated series between two bots that an author requested, and the commands for them.

A challenge is a batch of pairs in the unrated pool beside a pool. A bot that was challenged is offered a rated game
before it is challenged again. Everything but the store's work runs in the event loop.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count

from ggp.protocol.commands import Who, commands_of
from ggp.protocol.entry_points import version
from ggp.protocol.errors import CommandFailed
from ggp.protocol.grammar import clean_line, fit_lines, format_reply, parse_command
from ggp.protocol.messages import Reply
from ggp.referee.ladder.store.model import UNRATED, ChallengeRow, Pair, Pairing, PoolEntry, StoreError
from ggp.referee.ladder.store.store import Store
from ggp.referee.server.background_tasks import BackgroundTasks
from ggp.referee.server.lobby.auth import Author
from ggp.referee.server.lobby.config import LobbyTable
from ggp.referee.server.lobby.game import RunningPairs
from ggp.referee.server.lobby.log import EventLog
from ggp.referee.server.lobby.matchmaking import Rated
from ggp.referee.server.lobby.open_pairs import OpenPairs, StoreWriter
from ggp.referee.server.lobby.remote_bot import ConnectedBot

MOST = 1000  # open at a time, of all owners
LISTED = 100  # in one answer, the newest


class Unrated(OpenPairs):
    """The pairs of challenges in one pool, by batch and in their order."""

    def load(self) -> None:
        super().load()
        self.batches: dict[int, list[int]] = defaultdict(list)
        for pair in self.open.values():
            self.batches[pair.batch].append(pair.id)

    def issued(self, pairs: list[Pair]) -> None:
        """Add new pairs of a challenge."""
        for pair in pairs:
            self.open[pair.id] = pair
            self.batches[pair.batch].append(pair.id)

    def claim(self, pair: Pair) -> None:
        super().claim(pair)
        if pair.id in self.batches[pair.batch]:
            self.batches[pair.batch].remove(pair.id)

    def release(self, pair: Pair, left: Pair | None) -> None:
        super().release(pair, left)
        if left is not None:
            self.batches[pair.batch].insert(0, left.id)

    def next(self, batch: int) -> Pair | None:
        """Return the next pair of a challenge, None if there is none."""
        ids = self.batches.get(batch)
        return self.open[ids[0]] if ids else None

    def drop(self, batch: int) -> None:
        """Remove the open pairs of a challenge."""
        for id in self.batches.pop(batch, ()):
            del self.open[id]


@dataclass(slots=True, eq=False)
class Challenge:
    """An open challenge: `first` challenged `second`."""

    row: ChallengeRow
    open_pairs: Unrated
    first: PoolEntry
    second: PoolEntry
    reason: str  # why it was withdrawn
    turn: int = 0  # grows with every started pair of any challenge

    @property
    def bots(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """The names and versions of the two bots."""
        return (self.first.name, self.first.version), (self.second.name, self.second.version)

    @property
    def next_pair(self) -> Pair | None:
        return self.open_pairs.next(self.row.batch)

    @property
    def played_now(self) -> list[int]:
        """The ids of its pairs that are running, or wait for their bots."""
        return [pair.id for pair in self.open_pairs.taken.values() if pair.batch == self.row.batch]


class Challenges:
    """The open challenges of a lobby."""

    def __init__(
        self,
        open_pairs: list[Unrated],
        table: LobbyTable,
        running: RunningPairs,
        rated: Rated,
        writer: StoreWriter,
        store: Store,
        event_log: EventLog,
    ) -> None:
        """Load the open challenges, before the lobby opens. Raises StoreError.

        Args:
            open_pairs: The unrated pairs of each pool; none if the lobby takes no challenges.
        """
        self.open: dict[int, Challenge] = {}
        self._open_pairs = {one.pool.name.removesuffix(UNRATED): one for one in open_pairs}
        self._table, self._running, self._rated = table, running, rated
        self._writer, self._store, self._event_log = writer, store, event_log
        self._turns = count(1)
        for one in open_pairs:
            for row in store.challenges(one.row, only_open=True):
                self._add(one, row)

    # -- playing -----------------------------------------------------------------------------------------------------

    async def update(self) -> None:
        """Start pairs that can start, withdraw challenges that have become impossible. Raises StoreError."""
        moment = _now()
        for one in list(self.open.values()):
            if reason := one.reason or self._hopeless(one, moment):
                await self._end(one, reason)
            elif not one.next_pair and not one.played_now:
                await self._over(one)
        idle = {(bot.name, bot.version): bot for bot in self._running.idle()}
        for one in self._in_turn():
            pair = one.next_pair
            first, second = (idle.get(bot) for bot in one.bots)
            if pair is None or first is None or second is None or not self._running.room_left():
                continue
            if self._may_be_challenged(first) and self._may_be_challenged(second):
                one.turn = next(self._turns)
                for bot in one.bots:
                    del idle[bot]
                self._running.start(one.open_pairs, pair, (first, second))

    def waiting_challengers(self) -> set[ConnectedBot]:
        """Return idle challengers to keep out of rated pairing while their opponents play, one per opponent."""
        if not self.open:
            return set()
        idle = {(bot.name, bot.version): bot for bot in self._running.idle()}
        here = {(bot.name, bot.version) for bot in self._running.bots()}
        held: dict[tuple[str, str], ConnectedBot] = {}
        for one in self._in_turn():
            challenger, other = one.bots
            first = idle.get(challenger)
            if first and other in here and other not in idle and self._may_be_challenged(first):
                held.setdefault(other, first)
        return set(held.values())

    def _in_turn(self) -> list[Challenge]:
        """Return the challenges with a pair to play, the one that has waited longest first."""
        some = (one for one in self.open.values() if not one.reason and one.next_pair)
        return sorted(some, key=lambda one: (one.turn, one.row.id))

    def _may_be_challenged(self, bot: ConnectedBot) -> bool:
        """Return False if the bot is due for a rated pair: with rated opponents, every second pair is rated."""
        return not bot.challenged or not self._rated.has_opponent(bot)

    def _hopeless(self, one: Challenge, moment: str) -> str:
        """Return why no more pairs of a challenge can be played, "" if they can."""
        if one.row.until <= moment:
            return f"it was not finished by {one.row.until}"
        for entry in one.bots:
            name, seat = entry[0], one.open_pairs.seats.get(entry)
            if seat is None or not seat.active:
                why = f"is suspended: {seat.suspended}" if seat and seat.suspended else "is another version now"
                refuses = any(bot.name == name and not bot.challenges for bot in self._running.bots())
                return f"{name} {'takes no challenges' if refuses else why}"
        return ""

    async def _end(self, one: Challenge, reason: str) -> None:
        """Withdraw a challenge. A running pair is played to its end. Raises StoreError."""
        id, playing, new = one.row.id, one.played_now, not one.reason
        if new:
            one.reason = reason  # from here on no pair of it is started, however long the store takes
            self._event_log.log("challenge", "withdrawn", id=id, reason=reason)
        if new or not playing or one.next_pair:  # what was being played may be open again
            await self._writer.work(lambda: self._store.withdraw(id, one.reason, playing))
            one.open_pairs.drop(one.row.batch)
        if not playing:
            await self._over(one)

    async def _over(self, one: Challenge) -> None:
        id = one.row.id
        row = await self._writer.work(lambda: self._store.find_challenge(id))
        self.open.pop(id, None)
        if row is not None and not one.reason:
            self._event_log.log(
                "challenge", "over", id=id, wins=row.wins, draws=row.draws, losses=row.losses, void=row.void
            )

    # -- commands ----------------------------------------------------------------------------------------------------

    async def order(self, author: Author, pool: str, mine: str, theirs: str, pairs: int) -> int:
        """Store a new challenge and return its id. Raises CommandFailed, StoreError."""
        open_pairs = self._open_pairs.get(pool)
        if not self._open_pairs:
            raise CommandFailed("this lobby has several fronts and takes no challenges", code="no-challenges")
        if open_pairs is None:
            raise CommandFailed(f"no pool {pool[:60]}: there are {', '.join(self._open_pairs)}", code="no-pool")
        if not author.speaks_for(mine):
            theirs_all = ", ".join((author.bots or ())[:5])
            raise CommandFailed(
                f"this key speaks for {theirs_all}, not for {mine[:60]}: challenge with a bot of your own",
                code="not-yours",
            )
        if mine == theirs:
            raise CommandFailed("a bot cannot challenge itself: name two bots", code="same-bot")
        if not author.speaks_for(theirs) and any(bot.seat and bot.name == theirs for bot in self._running.bots()):
            raise CommandFailed(f"a person plays as {theirs[:60]}: invite by a link", code="not-challengeable")
        most = self._table.challenge_pairs
        if not 1 <= pairs <= most:
            raise CommandFailed(f"pairs={pairs} is not from 1 to {most}: ask for another number", code="bad-pairs")
        first, second = self._seat(open_pairs, mine), self._seat(open_pairs, theirs)
        owner = author.owner or mine
        if sum(one.row.owner == owner for one in self.open.values()) >= self._table.challenges:
            reason = f"{owner} has {self._table.challenges} challenges open: wait, or withdraw one"
            raise CommandFailed(reason, code="too-many-challenges")
        if len(self.open) >= MOST:
            raise CommandFailed(f"too many open challenges (limit {MOST}): ask later", code="too-many-challenges")
        until = _now(timedelta(days=self._table.challenge_days))
        pairing = Pairing(first.id, second.id)

        def store() -> tuple[list[Pair], ChallengeRow | None]:
            id, made = self._store.challenge(open_pairs.row, pairing, pairs, owner, until)
            return made, self._store.find_challenge(id)

        made, row = await self._writer.work(store)
        assert row is not None
        id = row.id
        open_pairs.issued(made)
        self._add(open_pairs, row)
        self._event_log.log("challenge", "asked", id=id, by=owner, pool=pool, first=mine, second=theirs, pairs=pairs)
        return id

    async def withdraw(self, author: Author, id: int) -> None:
        """Withdraw a challenge for its author or an owner of one of its bots. Raises CommandFailed, StoreError."""
        one = self.open.get(id)
        if one is None:
            row = await self._writer.work(lambda: self._store.find_challenge(id))
            if row is None:
                raise CommandFailed(f"there is no challenge {id}", code="no-challenge")
            raise CommandFailed(f"challenge {id} is over", code="challenge-over")
        if one.row.owner != author.owner and not any(author.speaks_for(name) for name, _ in one.bots):
            raise CommandFailed(f"challenge {id} is {one.row.owner}'s, and none of its bots is yours", code="not-yours")
        if one.reason:
            raise CommandFailed(f"challenge {id} was withdrawn: {one.reason}", code="withdrawn")
        await self._end(one, f"withdrawn by {author.owner or 'its author'}")

    async def status(self, id: int) -> str:
        """Describe a challenge in a line of `key=value`. Raises CommandFailed, StoreError."""
        row = await self._writer.work(lambda: self._store.find_challenge(id))
        if row is None:
            raise CommandFailed(f"there is no challenge {id}", code="no-challenge")
        return self._line(row)

    async def listed(self) -> list[str]:
        """Describe the newest open challenges, a line each. Raises StoreError."""
        rows = await self._writer.work(lambda: self._store.challenges(only_open=True, most=LISTED))
        return [self._line(row) for row in rows]

    def pools(self) -> list[str]:
        """Describe the pools, a line each."""
        lines = []
        for name, one in self._open_pairs.items():
            setting = one.pool.setting
            options = "".join(f",{key}={value}" for key, value in setting.options.items())
            lines.append(
                f"pool={name} game={setting.game}{options} time={setting.control} openings={one.pool.openings}"
                f" seats={'yes' if one.pool.seats else 'no'}"
            )
        return lines

    def bots(self) -> list[str]:
        """Describe the connected bots, a line each."""
        lines = []
        for bot in sorted(self._running.bots(), key=lambda bot: bot.name):
            state = "playing" if bot.playing else "idle" if bot.player else "joining"
            games = ",".join(sorted(bot.games)) or "all"
            takes = "yes" if bot.challenges else "no"
            owner = "_".join(bot.identity.owner.split())  # that of the lobby's own bots has blanks
            lines.append(f"name={bot.name} owner={owner} state={state} challenges={takes} games={games}")
        return lines

    # ----------------------------------------------------------------------------------------------------------------

    def _add(self, open_pairs: Unrated, row: ChallengeRow) -> None:
        seats = {seat.id: seat for seat in open_pairs.seats.values()}
        self.open[row.id] = Challenge(row, open_pairs, seats[row.first], seats[row.second], row.reason)

    def _seat(self, open_pairs: Unrated, name: str) -> PoolEntry:
        """Return the entry of the current version of a bot. Raises CommandFailed."""
        for seat in open_pairs.seats.values():
            if seat.name == name and seat.entered:
                if seat.suspended:
                    raise CommandFailed(f"{name} is suspended here: {seat.suspended}", code="suspended")
                return seat
        pool = open_pairs.pool.name.removesuffix(UNRATED)
        reason = f"{name[:60]} was never in {pool}, or takes no challenges: ggp-bots lists the bots"
        raise CommandFailed(reason, code="not-challengeable")

    def _line(self, row: ChallengeRow) -> str:
        open_pairs = next((one for one in self._open_pairs.values() if one.row == row.pool), None)
        names = {seat.id: seat.name for seat in open_pairs.seats.values()} if open_pairs else {}
        pool = open_pairs.pool.name.removesuffix(UNRATED) if open_pairs else "-"
        state, reason = self._state(row)
        first, second = (names.get(id, "-") for id in (row.first, row.second))
        return (
            f"id={row.id} state={state} pool={pool} first={first} second={second} owner={row.owner} pairs={row.pairs}"
            f" played={row.played} games={row.games} wins={row.wins} draws={row.draws} losses={row.losses}"
            f" void={row.void} asked={row.asked} until={row.until}"
            + (f" reason={' '.join(reason.split())}" if reason else "")
        )

    def _state(self, row: ChallengeRow) -> tuple[str, str]:
        """Return waiting, playing, over or withdrawn, and the reason."""
        if not row.open:
            over = row.played == row.pairs
            return ("over", "") if over else ("withdrawn", row.reason or "its pool or one of its bots is gone")
        one = self.open.get(row.id)
        if one is None:
            return "waiting", ""
        if one.played_now:
            return "playing", one.reason
        return "waiting", self._why(one)

    def _why(self, one: Challenge) -> str:
        here = {(bot.name, bot.version): bot for bot in self._running.bots()}
        away = [name for name, version in one.bots if (name, version) not in here]
        if away:
            return f"{' and '.join(away)} {'are' if len(away) > 1 else 'is'} away"
        both = [here[entry] for entry in one.bots]
        busy = [bot.name for bot in both if bot.playing]
        if busy:
            return f"{' and '.join(busy)} {'are' if len(busy) > 1 else 'is'} playing"
        turn = [bot.name for bot in both if not self._may_be_challenged(bot)]
        return f"{' and '.join(turn)} will be rated first" if turn else ""


def _now(later: timedelta = timedelta()) -> str:
    """Return a time in UTC, as ISO 8601."""
    return (datetime.now(UTC) + later).strftime("%Y-%m-%dT%H:%M:%SZ")


# -- commands of authors ----------------------------------------------------------------------------------------------


NAME = "ggp-lobby"
WAITING = 1000  # commands of all connections that are not answered yet
PAIRS = 1  # of a challenge, by default
_DIGITS = 9
_PAUSE = 0.01  # seconds; a list of a thousand bots takes the loop's thread a fifth of that
COMMANDS = {row.name: row for row in commands_of(Who.LOBBY)}
Send = Callable[[bytes, bytes], object]


class LobbyCommands:
    """Answers the commands of authors one after another."""

    def __init__(
        self, challenges: Challenges, event_log: EventLog, send: Send, hang_up: Callable[[bytes], None]
    ) -> None:
        """Answer nothing before `open`, which needs the running loop.

        Args:
            send: Sends an answer, and may fail for a closed connection.
            hang_up: Called after `quit`.
        """
        self._challenges, self._event_log, self._send, self._hang_up = challenges, event_log, send, hang_up
        self._waiting: asyncio.Queue[tuple[bytes, Author, bytes]] = asyncio.Queue(WAITING)
        self._tasks = BackgroundTasks(event_log.fault)

    def open(self) -> None:
        self._tasks.keep("orders", self._work)

    async def close(self) -> None:
        await self._tasks.close()

    def submit(self, route: bytes, author: Author, line: bytes) -> None:
        """Add a command line, with its LF, to those that wait."""
        try:
            self._waiting.put_nowait((route, author, line))
        except asyncio.QueueFull:
            identity = parse_command(clean_line(line)).id
            self._send(route, format_reply(Reply(False, "the lobby is busy: ask again", identity)))

    async def _work(self) -> None:
        while True:
            route, author, line = await self._waiting.get()
            name, arguments, identity = parse_command(clean_line(line))
            try:
                reply = Reply(True, await self._answer(author, name, arguments), identity)
            except (CommandFailed, StoreError) as error:
                reply = Reply(False, " ".join(str(error).split()), identity)
            except Exception as error:  # a bug in a command must not stop the others
                self._event_log.fault("order", error, order=name)
                reply = Reply(False, f"internal error: {type(error).__name__}", identity)
            self._send(route, format_reply(reply))
            if name == "quit":
                self._hang_up(route)
            await asyncio.sleep(_PAUSE)

    async def _answer(self, author: Author, name: str, arguments: Sequence[str]) -> str:  # noqa: C901 - one case for each command
        """Raises CommandFailed, StoreError."""
        challenges = self._challenges
        match name, arguments:
            case "protocol_version", _:
                return "2"
            case "name", _:
                return NAME
            case "version", _:
                return version("general-game-protocol")
            case "known_command", _:
                return "true" if arguments and arguments[0] in COMMANDS else "false"
            case "list_commands", _:
                return "\n".join(sorted(COMMANDS))
            case "quit", _:
                return ""
            case "ggp-version", []:
                return "1"
            case "ggp-bots", []:
                return fit_lines(challenges.bots())
            case "ggp-pools", []:
                return fit_lines(challenges.pools())
            case "ggp-challenges", []:
                return fit_lines(await challenges.listed())
            case "ggp-challenge", [pool, mine, theirs]:
                return f"id={await challenges.order(author, pool, mine, theirs, PAIRS)}"
            case "ggp-challenge", [pool, mine, theirs, option]:
                return f"id={await challenges.order(author, pool, mine, theirs, _pairs(option))}"
            case "ggp-challenge-status", [id]:
                return await challenges.status(_number(id))
            case "ggp-withdraw", [id]:
                await challenges.withdraw(author, _number(id))
                return ""
        if name in COMMANDS:
            raise CommandFailed(f"syntax error: {name} {COMMANDS[name].arguments}".rstrip())
        raise CommandFailed("unknown command")


def _pairs(option: str) -> int:
    name, _, value = option.partition("=")
    if name != "pairs":
        raise CommandFailed(f"{option[:60]!r} is no option: write pairs=N")
    return _number(value)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise CommandFailed(f"{text[:40]!r} is no number")
    return int(text)
