"""What a series of matches is: two bots, a setting, a schedule that is a pure function of both and of the seed.

It plays nothing (see table) and writes nothing (see recorder).
"""

import hashlib
import json
from collections import Counter, deque
from dataclasses import dataclass, field
from functools import cached_property

from protocol.records import Record
from referee.config import Budgets, Setting
from referee.play.outcome import REPLAYS, WINDOW, Termination, void_reason
from referee.play.seating import Extras, Start

MOST_SUSPECTS = 1000  # whose keys a tally keeps


@dataclass(frozen=True)
class Setup:
    """All that a worker needs to play any match of the series. `record` is the path of the record, "" for none."""

    setting: Setting
    engine: Start
    bots: tuple[Start, Start]
    games: int
    max_plies: int
    margin: int
    seed: int
    openings: int
    budgets: Budgets
    restart: bool
    extras: Extras
    pin: bool
    record: str
    referee: str
    name: str = ""  # of the series in its keys; by default it follows from the rest
    seeded: bool = False  # whether bots that can are given a seed of chance for each match
    position: tuple[str, ...] = ()  # the plies that every match begins with, before those that are drawn

    @cached_property
    def series(self) -> str:
        """Its name, or eight hex digits for what is played by whom: the same keys after a restart."""
        if self.name:
            return self.name
        said = [
            *(self.setting.game, self.setting.options, str(self.setting.control), self.margin, self.max_plies),
            *(self.seed, self.openings, self.engine.command, [(bot.name, bot.command) for bot in self.bots]),
            *([self.position] if self.position else []),
        ]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:8]

    def key(self, number: int, attempt: int = 0) -> str:
        """The name of a match in records: `SERIES-NUMBER` from 1, with `.ATTEMPT` when a void one is replayed."""
        return f"{self.series}-{number + 1}" + (f".{attempt}" if attempt else "")

    def number(self, key: str) -> int | None:
        """The match that a key means, from 0; None if it is of another series."""
        series, _, rest = key.rpartition("-")
        digits = rest.partition(".")[0]
        return int(digits) - 1 if series == self.series and digits.isdigit() else None

    def bot_seeds(self, key: str) -> tuple[int, int] | None:
        """What the bots of the match with this key draw their chance from, by seat; None: what they like."""
        return seeds_of(key) if self.seeded else None


def attempt_of(key: str) -> int:
    """The attempt that a key names, from 0."""
    digits = key.rpartition("-")[2].partition(".")[2]
    return int(digits) if digits.isdigit() else 0


def seeds_of(key: str) -> tuple[int, int]:
    """What bots draw their chance from in the match of this name, by seat, where a series is seeded."""
    one, two = (hashlib.sha256(f"{key} {seat}".encode()).digest() for seat in (1, 2))
    return int.from_bytes(one[:4]) >> 1, int.from_bytes(two[:4]) >> 1


def seats(number: int) -> tuple[int, int]:
    """Which bot (0 or 1) has seat 1 and which seat 2. Matches 2k and 2k+1 are a pair: seats exchanged."""
    return (0, 1) if number % 2 == 0 else (1, 0)


@dataclass(frozen=True, slots=True)
class Played:
    """The facts of a match that was played to its end, void ones included; by bot, not by seat."""

    number: int
    key: str
    result: str
    winner: int  # the bot, 0 or 1; -1 for nobody
    culprit: str  # a bot's name, "engine" or ""
    termination: str
    detail: str
    plies: int
    used: tuple[int, int]  # ms
    suspect: bool
    ended: str = ""  # UTC, ISO 8601

    @property
    def replayed(self) -> bool:
        """Whether this was a void attempt of a match that is still to be played (see outcome)."""
        return not self.result and self.termination != Termination.PLY_LIMIT


def played(setup: Setup, number: int, record: Record) -> Played:
    """The facts of a finished match."""
    end, order = record.end, seats(number)
    assert end is not None
    by_seat = [sum([ply.ms for ply in record.plies if ply.seat == seat]) for seat in (1, 2)]
    at_fault = end.culprit.removeprefix("seat")
    return Played(
        number=number,
        key=end.match,
        result=end.result,
        winner=order[end.winner - 1] if end.winner else -1,
        culprit=setup.bots[order[int(at_fault) - 1]].name if at_fault.isdigit() else end.culprit,
        termination=end.termination,
        detail=end.detail,
        plies=end.plies,
        used=(by_seat[order.index(0)], by_seat[order.index(1)]),
        suspect=end.suspect,
        ended=end.ended,
    )


@dataclass(slots=True)
class Score:
    """One bot's score, as wins, draws and losses."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    def add(self, won: bool | None) -> None:
        """None is a draw."""
        if won is None:
            self.draws += 1
        elif won:
            self.wins += 1
        else:
            self.losses += 1

    @property
    def points(self) -> float:
        return self.wins + self.draws / 2

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses


@dataclass(slots=True)
class Tally:
    """The score of a series as it grows: by bot, by seat, by colour."""

    bots: tuple[Score, Score] = field(default_factory=lambda: (Score(), Score()))
    seats: tuple[tuple[Score, Score], tuple[Score, Score]] = field(
        default_factory=lambda: ((Score(), Score()), (Score(), Score()))
    )  # of each bot: in seat 1, in seat 2
    colours: tuple[Score, Score] = field(default_factory=lambda: (Score(), Score()))  # black, white
    terminations: Counter[str] = field(default_factory=Counter)
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)  # (who, termination)
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)  # why, of the last of each of these
    used: list[int] = field(default_factory=lambda: [0, 0])
    plies: int = 0
    void: int = 0
    lasting: int = 0  # void ones that are not replayed
    suspect: int = 0
    suspects: list[str] = field(default_factory=list)  # keys of the first of these
    tried: Counter[int] = field(default_factory=Counter)  # by number: attempts at a match that were void
    late: int = 0  # of these, lost on time
    suspended: tuple[str, str] | None = None  # a bot that made too many of its last games void, and why
    _void: deque[str] = field(default_factory=lambda: deque(maxlen=WINDOW))  # who made each game void, "" for no bot

    @property
    def games(self) -> int:
        """Games that count: every one that was not void."""
        return self.bots[0].games

    def forget_voids(self) -> None:
        """Count the games that bots make void from here on: beginning the series again readmits them."""
        self.suspended = None
        self._void.clear()

    def add(self, played: Played) -> None:
        """Count a match that is in the record."""
        self.terminations[played.termination] += 1
        if played.culprit:
            self.faults[played.culprit, played.termination] += 1
            self.reasons[played.culprit, played.termination] = played.detail
        at_fault = played.culprit if played.replayed and played.culprit != "engine" else ""
        self._void.append(at_fault)
        if at_fault and (number := self._void.count(at_fault)) > REPLAYS:
            reason = void_reason(number, f"{played.termination}: {played.detail}")
            self.suspended = self.suspended or (at_fault, reason)
        if played.suspect:
            self.suspect += 1
            self.late += played.termination == Termination.TIME
            self.suspects += [played.key] if len(self.suspects) < MOST_SUSPECTS else []
        self.plies += played.plies
        for bot in (0, 1):
            self.used[bot] += played.used[bot]
        if played.replayed:
            self.tried[played.number] = max(self.tried[played.number], 1 + attempt_of(played.key))
        if not played.result:
            self.void += 1
            self.lasting += not played.replayed
            return
        for bot in (0, 1):
            won = None if played.winner < 0 else played.winner == bot
            self.bots[bot].add(won)
            self.seats[bot][seats(played.number).index(bot)].add(won)
        for colour, letter in enumerate("BW"):
            self.colours[colour].add(None if played.winner < 0 else played.result[0] == letter)
