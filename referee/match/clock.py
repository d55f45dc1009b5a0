"""Time controls and clocks as arithmetic in whole milliseconds; nothing here reads a clock or waits."""

import re
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum

from ggp.protocol.errors import Problem

NO_LIMIT = 600_000  # ms: with the control `none` "a move may take 600 s"
LONGEST = 30 * 24 * 3600 * 1000  # ms; a longer time is a slip of the pen
FORMS = "10+0.1 (seconds+increment), 40/600 (moves/seconds), 600+25/300 (main+moves/seconds), \
600+5x30 (main+periods x seconds), 1/move or none"

_SECONDS = r"(\d{1,7}(?:\.\d{1,3})?)"
_FISCHER = re.compile(rf"{_SECONDS}(?:\+{_SECONDS})?", re.ASCII)
_PERIOD = re.compile(rf"(?:{_SECONDS}\+)?(\d{{1,4}})/{_SECONDS}", re.ASCII)
_BYOYOMI = re.compile(rf"(?:{_SECONDS}\+)?(\d{{1,3}})x{_SECONDS}", re.ASCII)
_MOVE = re.compile(rf"{_SECONDS}/move", re.ASCII)
_WITH_UNITS = re.compile(rf"(?=\d)(?:{_SECONDS}h)?(?:{_SECONDS}m(?:in)?)?(?:{_SECONDS}s)?(?:\+{_SECONDS}s?)?", re.ASCII)
_FOREIGN = re.compile(r"(?:(\d{1,4})/)?(?:(\d{0,5}):)?(\d{1,7}(?:\.\d{1,3})?)(?:\+(\d{1,7}(?:\.\d{1,3})?))?", re.ASCII)


class SettingError(Problem, ValueError):
    """An invalid time control or time-out; str() says what is accepted."""


class ControlKind(Enum):
    """The controls of the protocol contract, §5, and Canadian byo-yomi with main time before it."""

    FISCHER = "fischer"
    PERIOD = "period"  # moves per period (Canadian); a new period is a fresh one
    BYOYOMI = "byoyomi"  # Japanese: a move within the period keeps it
    MOVE = "move"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class TimeControl:
    """A time control. All times in ms; what a kind does not use is 0."""

    kind: ControlKind
    main: int = 0
    increment: int = 0
    moves: int = 0
    period: int = 0
    periods: int = 0

    @classmethod
    def parse(cls, text: str) -> "TimeControl":
        """Read `10+0.1`, `10`, `40/600`, `600+25/300`, `600+5x30`, `5x30`, `1/move` or `none`.

        SettingError says what is accepted.
        """
        if text == "none":
            return cls(ControlKind.NONE)
        control = None
        if match := _FISCHER.fullmatch(text):
            control = cls(ControlKind.FISCHER, main=_ms(match[1]), increment=_ms(match[2]))
        elif match := _PERIOD.fullmatch(text):
            control = cls(ControlKind.PERIOD, main=_ms(match[1]), moves=int(match[2]), period=_ms(match[3]))
        elif match := _BYOYOMI.fullmatch(text):
            control = cls(ControlKind.BYOYOMI, main=_ms(match[1]), periods=int(match[2]), period=_ms(match[3]))
        elif match := _MOVE.fullmatch(text):
            control = cls(ControlKind.MOVE, period=_ms(match[1]))
        ours = foreign_control(text)
        hint = f": write {ours}" if ours != text else ""
        if control is None:
            raise SettingError(f"time control {text!r} is none of {FORMS}{hint}")
        if not control._playable():
            raise SettingError(f"time control {text!r} leaves no time to move, or more than 30 days{hint}")
        return control

    def __str__(self) -> str:
        """Return the shortest text that parse reads back."""
        head = f"{seconds(self.main)}+" if self.main else ""
        match self.kind:
            case ControlKind.FISCHER:
                return seconds(self.main) + (f"+{seconds(self.increment)}" if self.increment else "")
            case ControlKind.PERIOD:
                return f"{head}{self.moves}/{seconds(self.period)}"
            case ControlKind.BYOYOMI:
                return f"{head}{self.periods}x{seconds(self.period)}"
            case ControlKind.MOVE:
                return f"{seconds(self.period)}/move"
            case ControlKind.NONE:
                return "none"

    def clock(self, most: int = NO_LIMIT) -> "Clock":
        """Return a fresh clock; `most`: the ms that a move may take if the control is `none`."""
        return _CLOCKS[self.kind](replace(self, period=most) if self.kind is ControlKind.NONE else self)

    def _playable(self) -> bool:
        times = (self.main, self.increment, self.period)
        if max(times) > LONGEST or not any((self.main, self.period)):
            return False
        counted = {ControlKind.PERIOD: self.moves, ControlKind.BYOYOMI: self.periods}
        return self.kind is ControlKind.FISCHER or (self.period > 0 and counted.get(self.kind, 1) > 0)


def foreign_control(text: str) -> str:
    """Return a time control of cutechess or fastchess in our form, or the text itself if it needs no other.

    `inf` is `none`; minutes become seconds, `1:30+1` is `90+1`, `:30` is `30` and `5m` is `300`. `0+5` is `5+5`,
    because both programs give the first move its increment; `0/10` is `10`, because a period of 0 moves is the whole
    game.
    """
    if text in ("inf", "infinite"):
        return "none"
    if found := _WITH_UNITS.fullmatch(text):
        hours, minutes, rest, increment = (Decimal(number or 0) for number in found.groups())
        main = f"{3600 * hours + 60 * minutes + rest:f}"
        return f"{main}+{increment:f}" if increment else main
    found = _FOREIGN.fullmatch(text)
    if found is None:
        return text
    moves, minutes_said, seconds, added = found.groups()
    main = str(60 * int(minutes_said or 0) + Decimal(seconds))
    counted = bool(moves) and int(moves) > 0
    if not float(main) and added and float(added) and not counted:
        main = added
    if not float(main):
        return text
    return "".join([f"{moves}/" if counted else "", main, f"+{added}" if added else ""])


NO_CLOCK = TimeControl(ControlKind.NONE)


class Clock(ABC):
    """One seat's clock. `left` is how many ms the next move may take, extra periods included."""

    left: int

    def __init__(self, control: TimeControl) -> None:
        self.control = control
        self.left = control.main

    @abstractmethod
    def spend(self, used: int) -> int:
        """Charge `used` ms for a finished move; the overrun in ms, 0 when in time.

        After an overrun (which the caller may forgive) the clock goes on as if all of it had been used.
        """

    def time_left(self) -> tuple[int, int]:
        """Return GTP's `time_left`: (ms, stones); stones is 0 in main time, else moves or periods left."""
        return self.left, 0

    def extras(self) -> str:
        """Return the part of `ggp-clock` after the two clocks, with a blank before it, or ""."""
        return ""


class FischerClock(Clock):
    """A main time that each move prolongs by the increment."""

    def spend(self, used: int) -> int:
        left = self.left - used
        if left >= 0:
            self.left = left + self.control.increment
            return 0
        self.left = self.control.increment
        return -left

    def extras(self) -> str:
        return f" increment={self.control.increment}" if self.control.increment else ""


class PeriodClock(Clock):
    """A main time, if any, then so many moves in each period: GTP's Canadian byo-yomi.

    The move in which main time ends is the first of the first period, which gives what main time lacks for it.
    """

    def __init__(self, control: TimeControl) -> None:
        super().__init__(control)
        self.main, self.moves, self._period = control.main, control.moves, control.period
        self._sum()

    def spend(self, used: int) -> int:
        overrun = max(0, used - self.left)
        beyond = used - self.main
        if beyond > 0 or not self.main:
            self._period = max(0, self._period - beyond)
            self.moves -= 1
            if self.moves == 0:
                self.moves, self._period = self.control.moves, self.control.period
        self.main = max(0, -beyond)
        self._sum()
        return overrun

    def time_left(self) -> tuple[int, int]:
        return (self.main, 0) if self.main else (self._period, self.moves)

    def extras(self) -> str:
        """Return the period; in main time as an increment, because each move has a whole one."""
        share = max(1, self.control.period // self.control.moves)
        return f" period={share} periods=1" if self.main else f" moves={self.moves}"

    def _sum(self) -> None:
        self.left = self.main + self._period


class ByoyomiClock(Clock):
    """A main time, then periods: one that a move outlasts is lost, otherwise it starts again."""

    def __init__(self, control: TimeControl) -> None:
        super().__init__(control)
        self.main, self.periods = control.main, control.periods
        self._sum()

    def spend(self, used: int) -> int:
        overrun = max(0, used - self.left)
        beyond = used - self.main
        self.main = max(0, -beyond)
        if beyond > 0:  # a move of exactly n periods has outlasted n - 1 of them
            self.periods = max(1, self.periods - (beyond - 1) // self.control.period)
        self._sum()
        return overrun

    def time_left(self) -> tuple[int, int]:
        return (self.main, 0) if self.main else (self.control.period, self.periods)

    def extras(self) -> str:
        return f" period={self.control.period} periods={self.periods}"

    def _sum(self) -> None:
        self.left = self.main + self.periods * self.control.period


class MoveClock(Clock):
    """The same time for each move."""

    def __init__(self, control: TimeControl) -> None:
        super().__init__(control)
        self.left = control.period

    def spend(self, used: int) -> int:
        return max(0, used - self.left)

    def time_left(self) -> tuple[int, int]:
        return self.left, 1

    def extras(self) -> str:
        return " moves=1"


def ggp_clock(black: Clock, white: Clock, mover: Clock) -> str:
    """Return the `ggp-clock` line for the player whose clock is `mover`, or "" without a limit.

    `black` and `white` are main time (Fischer) or what is left of the period; `moves` and `periods` are the mover's.
    """
    if mover.control.kind is ControlKind.NONE:
        return ""
    return f"ggp-clock black={black.time_left()[0]} white={white.time_left()[0]}{mover.extras()}"


def seconds(ms: int) -> str:
    """Format ms as the shortest decimal number of seconds."""
    return f"{ms // 1000}.{ms % 1000:03d}".rstrip("0").rstrip(".") if ms % 1000 else str(ms // 1000)


_CLOCKS: dict[ControlKind, type[Clock]] = {
    ControlKind.FISCHER: FischerClock,
    ControlKind.PERIOD: PeriodClock,
    ControlKind.BYOYOMI: ByoyomiClock,
    ControlKind.MOVE: MoveClock,
    ControlKind.NONE: MoveClock,
}


def _ms(text: str | None) -> int:
    whole, _, part = (text or "0").partition(".")
    return int(whole) * 1000 + int(part.ljust(3, "0"))


# -- A time control and its clock in the words of plain GTP, as exactly as a bot's commands can say them.


KATA, KGS, GTP = "kata-time_settings", "kgs-time_settings", "time_settings"
LIST = "kata-list_time_settings"
_NONE, _ABSOLUTE, _CANADIAN, _GTP_BYOYOMI, _GTP_FISCHER = "none", "absolute", "canadian", "byoyomi", "fischer"
SYSTEMS = {
    KATA: frozenset((_NONE, _ABSOLUTE, _CANADIAN, _GTP_BYOYOMI, _GTP_FISCHER)),
    KGS: frozenset((_NONE, _ABSOLUTE, _CANADIAN, _GTP_BYOYOMI)),
    GTP: frozenset((_NONE, _ABSOLUTE, _CANADIAN)),
}
"""What each command can say, best command first. A bot may know less of KATA's, and answers LIST with what it knows."""


@dataclass(frozen=True, slots=True)
class ClockCommand:
    """A time system with its times in ms, as a bot learns it. `command` is "" for a bot that lists none.

    `period` is Fischer's increment, too; `count` is stones in Canadian byo-yomi, periods in Japanese.
    """

    command: str
    system: str
    main: int = 0
    period: int = 0
    count: int = 0

    @property
    def settings(self) -> str:
        """Return the command of a new game, or "". KataGo's takes fractions of seconds, the others whole seconds."""
        if not self.command:
            return ""
        if self.command == KATA:
            main, period = seconds(self.main), seconds(self.period)
        else:
            # Without main time, 0 would mean no clock, or no time at all.
            main = str(max(1 if self.system == _ABSOLUTE else 0, self.main // 1000))
            period = str(max(1, self.period // 1000))
        counted = [main, period, str(self.count)]
        if self.command == GTP:  # in the draft's words: without a period absolute, with one of no stones no limit
            words = {_NONE: ["0", "1", "0"], _ABSOLUTE: [main, "0", "0"]}.get(self.system, counted)
            return " ".join([self.command, *words])
        shorter: dict[str, list[str]] = {_NONE: [], _ABSOLUTE: [main], _GTP_FISCHER: [main, period]}
        return " ".join([self.command, self.system, *shorter.get(self.system, counted)])

    def time_left(self, colour: str, clock: Clock) -> str:
        """Return GTP's `time_left COLOUR SECONDS STONES` for a clock of the control, or "" without a limit.

        STONES are 0 in main time. In Japanese byo-yomi they are the periods left, as KGS has it.
        """
        if self.system == _NONE:
            return ""
        ms, stones = self._left(clock)
        if not stones and ms < 1000 and self.count:  # 0 seconds would be said of main time
            ms, stones = self.period, self.count
        return f"time_left {colour} {ms // 1000} {stones}"

    def _left(self, clock: Clock) -> tuple[int, int]:
        ms, stones = clock.time_left()
        if clock.control.kind is ControlKind.FISCHER and self.system == _CANADIAN:
            return max(0, ms - self.period), 0
        return ms, min(stones, self.count)


def tell(control: TimeControl, listed: Collection[str], kata: Collection[str] = SYSTEMS[KATA]) -> ClockCommand:
    """Choose the best way to tell a bot that lists these commands; `kata`: the systems of its kata-time_settings."""
    known = {command: kata if command == KATA else systems for command, systems in SYSTEMS.items() if command in listed}
    for told in _ways(control):
        for command, systems in known.items():
            if told.system in systems:
                return replace(told, command=command)
    return next(told for told in _ways(control) if told.system in SYSTEMS[GTP])


def read_systems(answer: str) -> frozenset[str]:
    """Read the answer to LIST. KataGo's own documents say byo-yomi, and the program byoyomi."""
    return frozenset(answer.lower().replace("-", "").split())


def _ways(control: TimeControl) -> list[ClockCommand]:
    """Return ways to tell a control, the most exact first; plain GTP knows the last."""
    main, period = control.main, control.period
    match control.kind:
        case ControlKind.NONE:
            return [ClockCommand("", _NONE)]
        case ControlKind.FISCHER:
            fischer = ClockCommand("", _GTP_FISCHER, main, control.increment)
            return [*([fischer] if control.increment else []), *_without_increments(control)]
        case ControlKind.PERIOD:
            return [ClockCommand("", _CANADIAN, main, period, control.moves)]
        case ControlKind.BYOYOMI:  # a bot that knows no periods has one, and keeps it; the others are its reserve
            return [
                ClockCommand("", _GTP_BYOYOMI, main, period, control.periods),
                ClockCommand("", _CANADIAN, main, period, 1),
            ]
        case ControlKind.MOVE:
            return [ClockCommand("", _GTP_BYOYOMI, 0, period, 1), ClockCommand("", _CANADIAN, 0, period, 1)]


def _without_increments(control: TimeControl) -> list[ClockCommand]:
    """Tell Fischer's time to bots that know no increments as byo-yomi: each move has at least the increment.

    That much is kept back of main time for the move at hand, so main time and the period are never more than there is.
    """
    kept = min(control.increment, control.main) // 1000 * 1000
    absolute = ClockCommand("", _ABSOLUTE, control.main)
    return [ClockCommand("", _CANADIAN, control.main - kept, kept, 1), absolute] if kept else [absolute]
