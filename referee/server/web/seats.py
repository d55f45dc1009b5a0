"""The seats of a site: people in browsers who play as bots of the lobby.

A seat is a bot with its own connection; the lobby asks it as it asks every bot, and keeps clocks, faults and records.
Its match is a challenge there. The second game of a challenge, with seats exchanged, is the rematch; after that comes
a new challenge. A seat whose browser is gone drops its connection without a goodbye, so the lobby's grace begins; a
browser that returns makes the seat dial again, and the lobby repeats the match.

Seats outlive the process: a file holds what the next process needs. Within the lobby's grace their matches go on.
"""

import asyncio
import contextlib
import fcntl
import hashlib
import os
import secrets
import threading
import time
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import msgspec
from starlette.exceptions import HTTPException

from ggp.protocol.drawing.scene import replace_unprintable
from ggp.protocol.errors import Problem
from ggp.protocol.input_files import read_input
from ggp.protocol.lobby_wire import Hello, LobbyAnswer, LobbyAsk
from ggp.protocol.records import MatchStarted, MovePlayed, Party
from ggp.protocol.responder import Responder
from ggp.protocol.safe_files import open_lock, replace_file
from ggp.protocol.transports.lobby_dial import Dial, LeftLobby, LobbyLink, Replaced
from ggp.referee.server.background_tasks import BackgroundTasks
from ggp.referee.server.lobby.auth import SEAT
from ggp.referee.server.lobby.ordering import ChallengeRefused, NotReached, Ordering, Values, values_of

PROGRAM = "a person in a browser"
RESIGN = "resign"
_LATE = 1000  # ms after the time is up; an answer then loses by time, no answer would end the connection
_NO_CLOCK, _DEAD_LIST = 600_000, 28_000  # ms: for a move without a clock; for a list of dead stones, which has none
_POLL = 1.0  # seconds between looks at the time
_GOODBYE = "the match is over"


class SeatPhase(StrEnum):
    """Where a seat stands."""

    INVITING = "inviting"  # a second person is to come
    WAITING = "waiting"  # the lobby has not begun the match
    PLAYING = "playing"
    OVER = "over"


class NotNow(Problem):
    """The seat cannot do that at the moment; str() is one sentence."""

    code = "not-now"


class KeptSeat(msgspec.Struct, frozen=True):
    """What another process needs to take a seat up. The lobby repeats a match under way; `moves`, with their colours,
    are those of one that is over."""

    name: str
    session: str
    phase: SeatPhase
    reason: str
    colour: str = ""
    game: str = ""
    options: dict[str, str] = {}
    moves: list[tuple[str, str]] = []
    result: str = ""


class Seat:
    """`name`: at the lobby. `changed` is called, in any thread, after the state has changed. Any thread may call."""

    def __init__(self, name: str, lobby: LobbyLink, changed: Callable[[], None]) -> None:
        self.name = name
        self.phase = SeatPhase.WAITING
        self.reason = ""  # why it waits, or how it ended beyond the result
        self._lobby, self._changed = lobby, changed
        self._session = os.urandom(8).hex()
        self._lock = threading.RLock()
        self._connection: _SeatConnection | None = None
        self._trouble = ""  # of the connection
        self._clear()

    def _clear(self) -> None:
        """No match."""
        self._start: MatchStarted | None = None
        self._plies: list[MovePlayed] = []
        self._colour = ""  # that the person plays
        self._turn = False
        self._result = ""
        self._clock: dict[str, int] = {}
        self._fresh = False  # the clock came for this turn
        self._asked = 0.0  # when the lobby asked last, or was answered
        # The person's last answer and the moves before it, None for any. It is kept when it is given, since it may be
        # lost with the connection: a lobby that did not get it asks again in the same position.
        self._chosen: tuple[list[str] | None, str] | None = None

    def kept(self) -> KeptSeat:
        with self._lock:
            kept = KeptSeat(self.name, self._session, self.phase, self.reason)
            if self._start is None or self.phase is not SeatPhase.OVER:
                return kept
            game, options = self._start.game, self._start.options
            moves = [(ply.colour, ply.move) for ply in self._plies]
            return msgspec.structs.replace(
                kept, colour=self._colour, game=game, options=options, moves=moves, result=self._result
            )

    def take_up(self, kept: KeptSeat) -> None:
        """Stand where another process left."""
        with self._lock:
            self._session, self.phase, self.reason = kept.session, kept.phase, kept.reason
            if kept.game:
                self._start = self._started(kept.game, kept.options)
                for colour, move in kept.moves:
                    self._add(colour, move)
                self._colour, self._result = kept.colour, kept.result

    # -- the browser's side ------------------------------------------------------------------------------------------

    def position(self) -> tuple[MatchStarted, list[MovePlayed]] | None:
        """The match so far; None before its begin."""
        with self._lock:
            return None if self._start is None else (self._start, list(self._plies))

    def state(self) -> dict[str, Any]:
        """What the page shows beside the board. Clocks in ms, as they were `age` ms ago."""
        with self._lock:
            start = self._start
            return {
                "phase": self.phase,
                "reason": self.reason,
                "trouble": self._trouble,
                "game": " ".join([start.game, *(f"{name}={value}" for name, value in start.options.items())])
                if start
                else "",
                "ply": len(self._plies),
                "last": f"{self._plies[-1].colour} {self._plies[-1].move}" if self._plies else "",
                "colour": self._colour,
                "turn": self._turn,
                "result": self._result,
                "clock": {colour: self._clock[colour] for colour in ("black", "white") if colour in self._clock},
                "age": int((time.monotonic() - self._asked) * 1000),
            }

    def move(self, word: str, ply: int) -> None:
        """Answer with this word, which must be legal after `ply` plies. Raises NotNow."""
        with self._lock:
            if not self._turn or len(self._plies) != ply:
                raise NotNow("It is not your turn.")
            self._turn, self._chosen = False, (self._moves(), word)
        self._wake()

    def resign(self) -> None:
        """At once, or when the lobby asks next. Raises NotNow."""
        with self._lock:
            if self.phase is not SeatPhase.PLAYING:
                raise NotNow("There is no match to resign.")
            self._turn, self._chosen = False, (None, RESIGN)
        self._wake()

    def wait(self) -> None:
        """For a new match."""
        with self._lock:
            self._clear()
            self.phase, self.reason = SeatPhase.WAITING, ""
        self._changed()

    def stand(self, phase: SeatPhase, reason: str) -> None:
        """What the lobby says of the challenge, or why there is none."""
        if (self.phase, self.reason) != (phase, reason):
            with self._lock:
                self.phase, self.reason = phase, reason
            self._changed()

    # -- the connection ----------------------------------------------------------------------------------------------

    @property
    def dialled(self) -> bool:
        return self._connection is not None

    def dial(self) -> None:
        """Be at the lobby, until `hang_up` or the end of the match."""
        with self._lock:
            if self._connection is None:
                self._connection = _SeatConnection(self, self._lobby, Hello(self.name, (), self._session, seat=True))
                self._connection.start()

    def hang_up(self) -> None:
        """Drop the connection."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.stop()

    def ended(self, connection: "_SeatConnection", reason: str) -> None:
        """The connection is no more. reason: "" where that was to be expected."""
        with self._lock:
            if connection is not self._connection:
                return
            self._connection = None
            if self.phase is not SeatPhase.OVER:
                self.phase, self.reason = SeatPhase.OVER, reason or "the lobby has ended the connection"
        self._changed()

    def told(self, what: str, why: str) -> None:
        """What becomes of the connection; see Dial."""
        if what == "up":
            self._trouble = ""
        elif what in ("lost", "bye"):
            self._trouble = why
        self._changed()

    def responder(self) -> Responder:
        """Answers the lobby on one connection."""
        return Responder(
            PROGRAM,
            "1",
            {
                "ggp-new": self._new,
                "play": self._play,
                "ggp-clock": self._note_clock,
                "genmove": self._genmove,
                "ggp-result": self._end,
            },
        )

    def _wake(self) -> None:
        self._changed()
        if (connection := self._connection) is not None:
            connection.wake()

    # -- what the lobby says -----------------------------------------------------------------------------------------

    def _new(self, arguments: list[str]) -> str:
        game, *options = arguments
        with self._lock:
            chosen = self._chosen
            self._clear()
            self._chosen = chosen
            self.phase, self.reason = SeatPhase.PLAYING, ""
            self._start = self._started(game, dict(option.partition("=")[::2] for option in options))
        self._changed()
        return ""

    def _started(self, game: str, options: dict[str, str]) -> MatchStarted:
        party = Party(name=self.name)
        return MatchStarted(match=self.name, game=game, options=options, bots=(party, party), engine=party, control="")

    def _play(self, arguments: list[str]) -> str:
        colour, move = arguments
        with self._lock:
            self._add(colour, move)
            self._asked = time.monotonic()
        self._changed()
        return ""

    def _add(self, colour: str, move: str) -> None:
        number = len(self._plies) + 1
        self._plies.append(MovePlayed(number, self.name, number, 0, colour, move, 0))
        if move == "swap-sides" and self._colour:
            self._colour = "white" if self._colour == "black" else "black"

    def _moves(self) -> list[str]:
        return [ply.move for ply in self._plies]

    def _choice(self) -> str | None:
        """What the person has answered in this position."""
        if self._chosen is not None and self._chosen[0] in (None, self._moves()):
            return self._chosen[1]
        return None

    def _note_clock(self, arguments: list[str]) -> str:
        pairs = (word.partition("=")[::2] for word in arguments)
        with self._lock:
            self._clock = {name: int(value) for name, value in pairs if value.isdecimal()}
            self._fresh = True
        return ""

    def _genmove(self, arguments: list[str]) -> Callable[[], str | None]:
        with self._lock:
            self._colour, self._asked = arguments[0], time.monotonic()
            self._turn = self._choice() is None
            clock = self._clock
            left = clock.get(self._colour, 0) + clock.get("period", 0) * clock.get("periods", 0)
            limit = left + _LATE if self._fresh else _DEAD_LIST if clock else _NO_CLOCK
            late = RESIGN if self._fresh or not clock else "dead:"
            self._fresh = False
        self._changed()

        def answer() -> str | None:
            with self._lock:
                if (choice := self._choice()) is not None:
                    word = choice
                elif (time.monotonic() - self._asked) * 1000 > limit:
                    word = late
                else:
                    return None
                used, self._asked = int((time.monotonic() - self._asked) * 1000), time.monotonic()
                self._turn = False
                if word != RESIGN:
                    self._add(self._colour, word)
                if self._colour in clock:
                    clock[self._colour] = max(0, clock[self._colour] - used) + clock.get("increment", 0)
            self._changed()
            return word

        return answer

    def _end(self, arguments: list[str]) -> str:
        with self._lock:
            self._result, self._turn, self._chosen = " ".join(arguments), False, None
            self.phase = SeatPhase.OVER
        self._changed()
        return ""


class _SeatConnection(threading.Thread):
    """Dials the lobby and answers it, until `stop`, or until the match is over and the lobby has said goodbye."""

    def __init__(self, seat: Seat, lobby: LobbyLink, hello: Hello) -> None:
        super().__init__(name=seat.name, daemon=True)
        self._seat, self._lobby, self._hello = seat, lobby, hello
        self._wakes = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._stopped = False

    def wake(self) -> None:
        with contextlib.suppress(OSError):
            os.eventfd_write(self._wakes, 1)

    def stop(self) -> None:
        self._stopped = True
        self.wake()

    def run(self) -> None:
        dial, reason = Dial(self._lobby, self._hello, self._seat.told, Random()), ""
        dial.watch(self._wakes)
        try:
            self._answer(dial)
        except LeftLobby:
            pass
        except (Replaced, Problem) as error:
            reason = str(error)
        finally:
            dial.close()
            self._seat.ended(self, reason)
            descriptor, self._wakes = self._wakes, -1
            os.close(descriptor)

    def _answer(self, dial: Dial) -> None:
        number, responder = 0, self._seat.responder()
        while not self._stopped:
            for _ in dial.poll(_POLL):
                with contextlib.suppress(BlockingIOError):
                    os.eventfd_read(self._wakes)
            while (message := dial.receive()) is not None:
                if isinstance(message, LobbyAsk):
                    if number != dial.number:
                        number, responder = dial.number, self._seat.responder()
                    responder.receive(message.data)
            while number == dial.number and (answer := responder.next_answer()) is not None:
                if self._seat.phase is SeatPhase.OVER:
                    dial.leave(_GOODBYE)  # before the answer: the lobby begins no second game of the pair
                dial.send(LobbyAnswer(answer))


T = TypeVar("T")
OF_ADDRESS = 4  # seats of one address
GONE, GIVEN_UP = 5.0, 60.0  # seconds without a browser until the connection is dropped; until a seat is free again
_KEPT = 600.0  # seconds that a match that is over stays on the page, without a browser
_LOOK = 2.0  # seconds between looks at the challenges
_FRESH = 2.0  # seconds for which what the lobby offers is not asked again
_TRIES, _PAUSE = 20, 0.5  # for a challenge: the lobby enters a new bot within its next round of pairing
_LEFT = 2  # looks at the challenges without that of a match until the match is over
_ALIVE = 15.0  # seconds of silence after which a stream gets a comment
_OPENING = b"retry: 1000\n\n"
_LARGEST_FILE = 64 << 20  # bytes
_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class SeatChallenge:
    """A challenge for one or two seats. `first` and `second` are bots at the lobby; id 0: none is open."""

    pool: str
    first: str
    second: str = ""
    id: int = 0


@dataclass(slots=True, eq=False)
class Place:
    """A seat, the visitor who has it, and the browsers that show it. `owner`: a hash of the visitor's token."""

    id: str
    seat: Seat
    duel: SeatChallenge
    owner: str
    address: str
    invite: str = ""  # the word of the link for a second person
    browsers: int = 0
    since: float = field(default_factory=time.monotonic)  # of the last change of that
    missed: int = 0  # looks at the challenges without that of its match
    version: int = 0
    more: asyncio.Event = field(default_factory=asyncio.Event)

    def kept(self) -> "KeptPlace":
        duel, seat = self.duel, self.seat.kept()
        return KeptPlace(
            self.id, self.owner, self.address, self.invite, duel.pool, duel.first, duel.second, duel.id, seat
        )


@dataclass(frozen=True, slots=True)
class Offers:
    """Pools that allow seats, and the bots that are at the lobby and take challenges."""

    pools: list[Values]
    bots: list[Values]

    def opponents(self, pool: Values) -> list[Values]:
        """The bots that play the game of this pool."""
        game = pool["game"].partition(",")[0]
        return [bot for bot in self.bots if bot["games"] == "all" or game in bot["games"].split(",")]


class KeptPlace(msgspec.Struct, frozen=True):
    """A place as the file has it."""

    id: str
    owner: str
    address: str
    invite: str
    pool: str
    first: str
    second: str
    challenge: int
    seat: KeptSeat


_read_kept = msgspec.json.Decoder(list[KeptPlace]).decode


class SeatFile:
    """Keeps the seats of a site, for its user alone; one process at a time has it. `use` and `write` raise OSError."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock, self._written = path, -1, b"[]"
        self._state: tuple[int, ...] | None = None  # of the file, as it was written

    def use(self) -> list[KeptPlace]:
        """What the last process left. Raises MsgspecError too."""
        self._lock = open_lock(Path(f"{self._path}.lock"))
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError(f"another process uses {self._path}: name another file with --seats-file") from None
        with contextlib.suppress(FileNotFoundError):
            return _read_kept(read_input(self._path, _LARGEST_FILE))
        return []

    def write(self, kept: list[KeptPlace]) -> None:
        """Write what has changed, and all if the file was removed, replaced or truncated."""
        if (data := _encode(kept)) != self._written or (self._state is not None and self._look() != self._state):
            replace_file(self._path, data, 0o600)
            self._written, self._state = data, self._look()

    def _look(self) -> tuple[int, ...]:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return ()
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class Seats:
    """`most` at a time. Everything runs in the event loop but the lobby's answers; `open` in it."""

    def __init__(
        self, lobby: LobbyLink, most: int, report: Callable[[str, BaseException], None], file: Path | None = None
    ) -> None:
        """file: where they are kept for the next process; None: nowhere."""
        self.trouble = ""  # why the lobby does not answer
        self._lobby, self._most, self._report = lobby, most, report
        self._file = SeatFile(file) if file else None
        self._writing = ThreadPoolExecutor(1, "seat file")
        self._places: dict[str, Place] = {}
        self._orders = ThreadPoolExecutor(1, "orders")
        self._tasks = BackgroundTasks(report)
        self._offers: tuple[float, Offers] | None = None
        self._taking = asyncio.Lock()
        self._closed = False

    def open(self) -> None:
        """In the running loop."""
        self._take_up()
        self._tasks.keep("seats", self._watch)

    async def close(self) -> None:
        """End all streams. The lobby's grace begins."""
        self._closed = True
        self._tasks.cancel()
        for place in self._places.values():
            self._changed(place)
            place.seat.hang_up()

    # -- visitors ----------------------------------------------------------------------------------------------------

    async def offers(self) -> Offers:
        """Raises HTTPException while the lobby is away."""
        if self._offers is None or time.monotonic() > self._offers[0]:
            pools, bots = await self._ordered(lambda orders: [_rows(orders, "ggp-pools"), _rows(orders, "ggp-bots")])
            busy_first = sorted(bots, key=lambda bot: bot.get("state") != "playing")
            by_name = {bot["name"]: bot for bot in busy_first}  # of several connections, one that is free
            found = Offers(
                [pool for pool in pools if pool.get("seats") == "yes"],
                [by_name[name] for name in sorted(by_name) if _takes_challenges(by_name[name])],
            )
            self._offers = time.monotonic() + _FRESH, found
        return self._offers[1]

    async def take(self, visitor: str, address: str, pool: str, opponent: str) -> Place:
        """A new seat against this bot, or for a second person if it is "". Raises HTTPException."""
        offers = await self.offers()
        found = next((one for one in offers.pools if one["pool"] == pool), None)
        if found is None:
            raise HTTPException(404, "There is no such pool with seats.")
        if opponent and all(bot["name"] != opponent for bot in offers.opponents(found)):
            raise HTTPException(404, "There is no such opponent in this pool at the moment.")
        place = await self._new(visitor, address, SeatChallenge(pool, "", opponent))
        if opponent:
            self._begin(place)
        else:
            place.invite = secrets.token_hex(16)
            place.seat.stand(SeatPhase.INVITING, "")
        await self._keep()
        return place

    async def join(self, visitor: str, address: str, invite: str) -> Place:
        """The seat opposite the one that this link is of. Raises HTTPException."""
        host = self.host(invite)
        host.invite = ""
        try:
            place = await self._new(visitor, address, host.duel)
        except HTTPException:
            host.invite = invite
            raise
        host.duel.second = place.seat.name
        host.seat.wait()
        place.seat.dial()
        self._begin(host)
        await self._keep()
        return place

    def host(self, invite: str) -> Place:
        """The seat that waits for a second person by this link. Raises HTTPException."""
        for place in self._places.values():
            if invite and secrets.compare_digest(place.invite.encode(), invite.encode()):
                return place
        raise HTTPException(404, "This link is used, or its seat is gone.")

    def find(self, id: str, visitor: str) -> Place:
        """Raises HTTPException: also for a seat of another visitor."""
        place = self._places.get(id)
        if place is None:
            raise HTTPException(404, "There is no such seat, or not any more.")
        if not secrets.compare_digest(place.owner, _hash(visitor)):
            raise HTTPException(403, "This seat is another browser's.")
        return place

    def rematch(self, place: Place) -> None:
        """Raises HTTPException."""
        if place.seat.phase is not SeatPhase.OVER:
            raise HTTPException(409, "The match is not over.")
        place.seat.hang_up()
        place.seat.wait()
        self._begin(place)

    async def stream(self, place: Place) -> AsyncGenerator[bytes, None]:
        """Server-sent events: the state, whenever it has changed."""
        place.browsers, place.since = place.browsers + 1, time.monotonic()
        if place.seat.phase is SeatPhase.PLAYING:
            place.seat.dial()
        version = -1
        try:
            yield _OPENING
            while not self._closed and place.id in self._places:
                more = place.more
                if version != place.version:
                    version = place.version
                    yield b"id: %d\nevent: state\ndata: %s\n\n" % (version, _encode(self.state(place)))
                    continue
                try:
                    await asyncio.wait_for(more.wait(), _ALIVE)
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            place.browsers, place.since = place.browsers - 1, time.monotonic()

    def state(self, place: Place) -> dict[str, object]:
        """What its page shows, as JSON."""
        duel = place.duel
        opponent = duel.second if place.seat.name == duel.first else duel.first
        about = {"pool": duel.pool, "opponent": "a person" if _is_seat(opponent) else opponent}
        said = {**place.seat.state(), **about, "invite": place.invite, "lobby": self.trouble}
        return {name: replace_unprintable(value) if isinstance(value, str) else value for name, value in said.items()}

    async def _new(self, visitor: str, address: str, duel: SeatChallenge) -> Place:
        async with self._taking:
            for place in list(self._places.values()):
                if place.address == address and place.seat.phase is SeatPhase.OVER and not place.browsers:
                    await self._forget(place)
            if sum(place.address == address for place in self._places.values()) >= OF_ADDRESS:
                raise HTTPException(429, f"An address has at most {OF_ADDRESS} seats at a time.", {"retry-after": "60"})
            taken = {place.seat.name for place in self._places.values()}
            name = await self._ordered(lambda orders: self._free_name(orders, taken))
            if not name:
                raise HTTPException(503, "All seats are taken: try again in a moment.", {"retry-after": "30"})
            if not duel.first:
                duel.first = name
            return self._add(secrets.token_hex(8), name, duel, _hash(visitor), address)

    def _add(self, id: str, name: str, duel: SeatChallenge, owner: str, address: str) -> Place:
        loop = asyncio.get_running_loop()

        def changed() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._changed, place)

        place = self._places[id] = Place(id, Seat(name, self._lobby, changed), duel, owner, address)
        return place

    def _changed(self, place: Place) -> None:
        place.version += 1
        more, place.more = place.more, asyncio.Event()
        more.set()
        self._keep()

    # -- over a restart ----------------------------------------------------------------------------------------------

    def _take_up(self) -> None:
        """Take up the seats of the process before this one; their browsers come back by themselves."""
        try:
            kept = self._file.use() if self._file else []
        except (OSError, msgspec.MsgspecError) as error:
            self._report("the seats of the last process are lost", error)
            if isinstance(error, OSError):
                self._file = None
            return
        duels: dict[tuple[str, str, str], SeatChallenge] = {}
        for one in kept:
            duel = SeatChallenge(one.pool, one.first, one.second, one.challenge)
            duel = duels.setdefault((one.pool, one.first, one.second), duel)
            place = self._add(one.id, one.seat.name, duel, one.owner, one.address)
            place.invite = one.invite
            place.seat.take_up(one.seat)
            if place.seat.phase is SeatPhase.WAITING:
                self._begin(place)
            elif place.seat.phase is SeatPhase.PLAYING:
                place.seat.dial()

    def _keep(self) -> "asyncio.Future[None]":
        """Have the seats written as they are now; waiting for it is optional."""
        kept = [place.kept() for place in self._places.values()]
        return asyncio.get_running_loop().run_in_executor(self._writing, self._write, kept)

    def _write(self, kept: list[KeptPlace]) -> None:
        try:
            if self._file is not None:
                self._file.write(kept)
        except OSError as error:
            self._file = None
            self._report("seats are not kept over a restart", error)

    # -- the lobby ---------------------------------------------------------------------------------------------------

    def _free_name(self, orders: Ordering, taken: set[str]) -> str:
        """A name that is at the lobby neither as a bot nor in a challenge; "" if there is none."""
        taken |= {one["name"] for one in _rows(orders, "ggp-bots")}
        name = next((name for number in range(1, self._most + 1) if (name := f"{SEAT}{number}") not in taken), "")
        for one in _rows(orders, "ggp-challenges"):  # of a site that was killed
            if name and name in (one["first"], one["second"]):
                with contextlib.suppress(ChallengeRefused):  # it has ended meanwhile
                    orders.ask(f"ggp-withdraw {one['id']}")
        return name

    def _begin(self, place: Place) -> None:
        place.seat.dial()
        self._tasks.run("challenge", self._challenge(place))

    async def _challenge(self, place: Place) -> None:
        """Have the lobby play on, or a new challenge."""
        duel, seat, why = place.duel, place.seat, ""

        def ask(orders: Ordering) -> str:
            for row in _rows(orders, "ggp-challenges"):  # the last process may have asked
                if (row["pool"], row["first"], row["second"]) == (duel.pool, duel.first, duel.second):
                    return row["id"]
            return values_of(orders.ask(f"ggp-challenge {duel.pool} {duel.first} {duel.second} pairs=1"))["id"]

        for _ in range(_TRIES):
            try:
                duel.id = int(await self._ordered(ask))
                self._keep()
                return
            except HTTPException as error:
                why = error.detail
            await asyncio.sleep(_PAUSE)
            if seat.phase is not SeatPhase.WAITING:
                return
        seat.hang_up()
        seat.stand(SeatPhase.OVER, why)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_LOOK)
            if any(place.seat.phase in (SeatPhase.WAITING, SeatPhase.PLAYING) for place in self._places.values()):
                with contextlib.suppress(HTTPException):
                    rows = await self._ordered(lambda orders: _rows(orders, "ggp-challenges"))
                    self._compare({row["id"]: row for row in rows})
            for place in list(self._places.values()):
                if not place.browsers:
                    await self._leave_alone(place, time.monotonic() - place.since)
            self._keep()  # the file may be gone, although nothing has changed

    def _compare(self, rows: dict[str, Values]) -> None:
        """What the lobby says of the challenges, for seats that wait, and for those without a connection."""
        for place in self._places.values():
            seat, row = place.seat, rows.get(str(place.duel.id))
            place.missed = place.missed + 1 if row is None and seat.phase is SeatPhase.PLAYING else 0
            if seat.phase is SeatPhase.WAITING and row is not None:
                seat.stand(SeatPhase.WAITING, row.get("reason", ""))
            elif seat.phase is SeatPhase.PLAYING and (row is None or row["state"] == "waiting"):
                if not seat.dialled:
                    seat.stand(SeatPhase.OVER, "you were away for longer than the lobby waits")
                elif row is not None:
                    seat.stand(SeatPhase.WAITING, row.get("reason", ""))
                elif place.missed >= _LEFT:
                    seat.hang_up()
                    seat.stand(SeatPhase.OVER, "it ended while you were away")

    async def _leave_alone(self, place: Place, seconds: float) -> None:
        """What becomes of a seat without a browser for so long."""
        seat = place.seat
        if seat.phase is SeatPhase.PLAYING:
            if seconds > GONE:
                seat.hang_up()
        elif seconds > (_KEPT if seat.phase is SeatPhase.OVER else GIVEN_UP):
            await self._forget(place)

    async def _forget(self, place: Place) -> None:
        place.seat.hang_up()
        self._places.pop(place.id, None)
        self._changed(place)
        if place.duel.id and not any(other.duel is place.duel for other in self._places.values()):
            with contextlib.suppress(HTTPException):
                await self._ordered(lambda orders: orders.ask(f"ggp-withdraw {place.duel.id}"))

    async def _ordered(self, job: Callable[[Ordering], T]) -> T:
        """Give orders to the lobby, one job after another. Raises HTTPException if it is away or refuses."""

        def work() -> T:
            orders = Ordering(self._lobby)
            try:
                return job(orders)
            finally:
                orders.close()

        before = self.trouble
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._orders, work)
            self.trouble = ""
            return found
        except ChallengeRefused as refused:  # its store may be away, for one
            self.trouble = ""
            raise HTTPException(503, f"The bot server refuses: {refused}.", {"retry-after": "5"}) from None
        except (NotReached, Replaced, Problem) as error:
            self.trouble = f"The bot server is away: {error}"
            raise HTTPException(503, f"{self.trouble}.", {"retry-after": "5"}) from None
        finally:
            if self.trouble != before:
                for place in self._places.values():
                    self._changed(place)


def _rows(orders: Ordering, order: str) -> list[Values]:
    return [values_of(line) for line in orders.ask(order).split("\n") if line]


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _takes_challenges(bot: Values) -> bool:
    return bot.get("challenges") == "yes" and not _is_seat(bot["name"])


def _is_seat(name: str) -> bool:
    return name.startswith(SEAT)
