"""One seat: a person in a browser as a bot of the lobby, with a connection of its own.

The lobby asks as it asks every bot, and keeps clocks, faults and records. A seat whose browser is gone drops its
connection without a goodbye, so the lobby's grace begins; a browser that returns makes the seat dial again, and the
lobby repeats the match.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable
from enum import StrEnum
from random import Random
from typing import Any

import msgspec

from ggp.protocol.errors import Problem
from ggp.protocol.lobby_wire import Hello, LobbyAnswer, LobbyAsk
from ggp.protocol.records import MatchStarted, MovePlayed, Party
from ggp.protocol.responder import Responder
from ggp.protocol.transports.lobby_dial import Dial, LeftLobby, LobbyLink, Replaced

PROGRAM = "a person in a browser"
RESIGN = "resign"
_LATE = 1000  # ms after the time is up; an answer then loses by time, no answer would end the connection
_NO_CLOCK, _DEAD_LIST = 600_000, 28_000  # ms: for a move without a clock; for a list of dead stones, which has none
_LOOK = 1.0  # seconds between looks at the time
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
            for _ in dial.poll(_LOOK):
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
