"""Time controls and clocks, in whole milliseconds. Nothing here reads a clock or waits."""

import re
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum

from ggp.protocol.errors import Problem

NO_LIMIT = 600_000  # ms: with the control `none` "a move may take 600 s"
LONGEST = 30 * 24 * 3600 * 1000  # ms; a longer time is surely a typing error
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
    """The time controls of the protocol contract, §5, and Canadian byo-yomi after a main time."""

    FISCHER = "fischer"
    PERIOD = "period"  # moves per period (Canadian); unused time is lost at its end
    BYOYOMI = "byoyomi"  # Japanese: a move within the period starts it again
    MOVE = "move"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class TimeControl:
    """A time control. All times are in ms; fields that the kind does not use are 0."""

    kind: ControlKind
    main: int = 0
    increment: int = 0
    moves: int = 0
    period: int = 0
    periods: int = 0

    @classmethod
    def parse(cls, text: str) -> "TimeControl":
        """Parse `10+0.1`, `10`, `40/600`, `600+25/300`, `600+5x30`, `5x30`, `1/move` or `none`.

        Raises:
            SettingError: The text is none of these; the error says what is accepted.
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
            raise SettingError(f"unknown time control {text!r}{hint or f': use {FORMS}'}")
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
        """Return a fresh clock. `most` is the longest move in ms under the control `none`."""
        return _CLOCKS[self.kind](replace(self, period=most) if self.kind is ControlKind.NONE else self)

    def _playable(self) -> bool:
        times = (self.main, self.increment, self.period)
        if max(times) > LONGEST or not any((self.main, self.period)):
            return False
        counted = {ControlKind.PERIOD: self.moves, ControlKind.BYOYOMI: self.periods}
        return self.kind is ControlKind.FISCHER or (self.period > 0 and counted.get(self.kind, 1) > 0)


def foreign_control(text: str) -> str:
    """Return a time control of cutechess or fastchess in our form; any other text is returned unchanged.

    `inf` becomes `none`, `1:30+1` becomes `90+1`, `:30` becomes `30` and `5m` becomes `300`. `0+5` becomes `5+5`,
    because both programs add the increment before the first move; `0/10` becomes `10`, because a period of 0 moves is
    the whole game.
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
    """The clock of one seat. `left` is how long the next move may take, in ms, extra periods included."""

    left: int

    def __init__(self, control: TimeControl) -> None:
        self.control = control
        self.left = control.main

    @abstractmethod
    def spend(self, used: int) -> int:
        """Charge a finished move that took `used` ms.

        Returns:
            The overrun in ms, 0 if the move was in time. After an overrun, which the caller may forgive, the clock
            continues as if all its time had been used.
        """

    def time_left(self) -> tuple[int, int]:
        """Return the arguments of GTP's `time_left`: ms, and stones (0 in main time, else moves or periods left)."""
        return self.left, 0

    def extras(self) -> str:
        """Return the fields of `ggp-clock` that follow the two clocks, with a leading blank, or ""."""
        return ""


class FischerClock(Clock):
    """A clock whose main time grows by the increment after each move."""

    def spend(self, used: int) -> int:
        """Charge a move and add the increment."""
        left = self.left - used
        if left >= 0:
            self.left = left + self.control.increment
            return 0
        self.left = self.control.increment
        return -left

    def extras(self) -> str:
        """Return the increment."""
        return f" increment={self.control.increment}" if self.control.increment else ""


class PeriodClock(Clock):
    """A clock with a main time, then a number of moves in each period (GTP's Canadian byo-yomi).

    The move that uses up the main time counts as the first move of the first period, which is charged for the rest.
    """

    def __init__(self, control: TimeControl) -> None:
        super().__init__(control)
        self.main, self.moves, self._period = control.main, control.moves, control.period
        self._sum()

    def spend(self, used: int) -> int:
        """Charge a move to the main time, then to the period."""
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
        """Return the main time, or what is left of the period and its moves."""
        return (self.main, 0) if self.main else (self._period, self.moves)

    def extras(self) -> str:
        """Return the moves left in the period; in main time, a period's time for one move."""
        share = max(1, self.control.period // self.control.moves)
        return f" period={share} periods=1" if self.main else f" moves={self.moves}"

    def _sum(self) -> None:
        self.left = self.main + self._period


class ByoyomiClock(Clock):
    """A clock with a main time, then Japanese periods. A move that exceeds a period uses it up."""

    def __init__(self, control: TimeControl) -> None:
        super().__init__(control)
        self.main, self.periods = control.main, control.periods
        self._sum()

    def spend(self, used: int) -> int:
        """Charge a move to the main time, then to as many periods as it exceeded."""
        overrun = max(0, used - self.left)
        beyond = used - self.main
        self.main = max(0, -beyond)
        if beyond > 0:  # a move of exactly n periods uses up n - 1 of them
            self.periods = max(1, self.periods - (beyond - 1) // self.control.period)
        self._sum()
        return overrun

    def time_left(self) -> tuple[int, int]:
        """Return the main time, or the length of a period and the number of periods left."""
        return (self.main, 0) if self.main else (self.control.period, self.periods)

    def extras(self) -> str:
        """Return the length of a period and the number of periods left."""
        return f" period={self.control.period} periods={self.periods}"

    def _sum(self) -> None:
        self.left = self.main + self.periods * self.control.period


class MoveClock(Clock):
    """A clock with the same time for each move."""

    def __init__(self, control: TimeControl) -> None:
        super().__init__(control)
        self.left = control.period

    def spend(self, used: int) -> int:
        """Compare a move with its time; nothing carries over to the next move."""
        return max(0, used - self.left)

    def time_left(self) -> tuple[int, int]:
        """Return the time of a move, for one stone."""
        return self.left, 1

    def extras(self) -> str:
        """Return that the time is for one move."""
        return " moves=1"


def ggp_clock(black: Clock, white: Clock, mover: Clock) -> str:
    """Return the `ggp-clock` line for the player whose clock is `mover`, or "" if there is no limit.

    `black` and `white` become the main time, or what is left of the period; `moves` and `periods` are the mover's.
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


# -- A time control and its clock in commands of plain GTP, as exactly as those of the bot allow.


KATA, KGS, GTP = "kata-time_settings", "kgs-time_settings", "time_settings"
LIST = "kata-list_time_settings"
_NONE, _ABSOLUTE, _CANADIAN, _GTP_BYOYOMI, _GTP_FISCHER = "none", "absolute", "canadian", "byoyomi", "fischer"
SYSTEMS = {
    KATA: frozenset((_NONE, _ABSOLUTE, _CANADIAN, _GTP_BYOYOMI, _GTP_FISCHER)),
    KGS: frozenset((_NONE, _ABSOLUTE, _CANADIAN, _GTP_BYOYOMI)),
    GTP: frozenset((_NONE, _ABSOLUTE, _CANADIAN)),
}
"""The systems of each command, best command first. A bot may support fewer of KATA's, and answers LIST with these."""


@dataclass(frozen=True, slots=True)
class ClockCommand:
    """A time control as a bot can be told it, in one of GTP's time systems. Times are in ms.

    `command` is "" for a bot that lists no such command. `period` is also Fischer's increment; `count` is the number of
    stones in Canadian byo-yomi and of periods in Japanese.
    """

    command: str
    system: str
    main: int = 0
    period: int = 0
    count: int = 0

    @property
    def settings(self) -> str:
        """Return the command that announces the control, or "".

        KataGo's command takes fractions of seconds, the others take whole seconds.
        """
        if not self.command:
            return ""
        if self.command == KATA:
            main, period = seconds(self.main), seconds(self.period)
        else:
            # In absolute time, 0 would mean no clock, or no time at all.
            main = str(max(1 if self.system == _ABSOLUTE else 0, self.main // 1000))
            period = str(max(1, self.period // 1000))
        counted = [main, period, str(self.count)]
        if self.command == GTP:  # the GTP draft: period 0 means absolute time, a period for 0 stones no limit
            words = {_NONE: ["0", "1", "0"], _ABSOLUTE: [main, "0", "0"]}.get(self.system, counted)
            return " ".join([self.command, *words])
        shorter: dict[str, list[str]] = {_NONE: [], _ABSOLUTE: [main], _GTP_FISCHER: [main, period]}
        return " ".join([self.command, self.system, *shorter.get(self.system, counted)])

    def time_left(self, colour: str, clock: Clock) -> str:
        """Return `time_left COLOUR SECONDS STONES` for a clock of this control, or "" if there is no limit.

        STONES is 0 in main time. In Japanese byo-yomi it is the number of periods left, as on KGS.
        """
        if self.system == _NONE:
            return ""
        ms, stones = self._left(clock)
        if not stones and ms < 1000 and self.count:  # with 0 stones, 0 seconds would mean main time
            ms, stones = self.period, self.count
        return f"time_left {colour} {ms // 1000} {stones}"

    def _left(self, clock: Clock) -> tuple[int, int]:
        ms, stones = clock.time_left()
        if clock.control.kind is ControlKind.FISCHER and self.system == _CANADIAN:
            return max(0, ms - self.period), 0
        return ms, min(stones, self.count)


def tell(control: TimeControl, listed: Collection[str], kata: Collection[str] = SYSTEMS[KATA]) -> ClockCommand:
    """Choose the most exact way to tell a bot its time control.

    Args:
        control: The time control.
        listed: The commands that the bot lists.
        kata: The systems that its kata-time_settings supports.
    """
    known = {command: kata if command == KATA else systems for command, systems in SYSTEMS.items() if command in listed}
    for told in _ways(control):
        for command, systems in known.items():
            if told.system in systems:
                return replace(told, command=command)
    return next(told for told in _ways(control) if told.system in SYSTEMS[GTP])


def read_systems(answer: str) -> frozenset[str]:
    """Parse the answer to LIST. KataGo's documents spell `byo-yomi`, the program `byoyomi`."""
    return frozenset(answer.lower().replace("-", "").split())


def _ways(control: TimeControl) -> list[ClockCommand]:
    """Return the ways to tell a control, most exact first. Plain GTP can express the last one."""
    main, period = control.main, control.period
    match control.kind:
        case ControlKind.NONE:
            return [ClockCommand("", _NONE)]
        case ControlKind.FISCHER:
            fischer = ClockCommand("", _GTP_FISCHER, main, control.increment)
            return [*([fischer] if control.increment else []), *_without_increments(control)]
        case ControlKind.PERIOD:
            return [ClockCommand("", _CANADIAN, main, period, control.moves)]
        case ControlKind.BYOYOMI:  # a bot without periods learns of only one; the others are its reserve
            return [
                ClockCommand("", _GTP_BYOYOMI, main, period, control.periods),
                ClockCommand("", _CANADIAN, main, period, 1),
            ]
        case ControlKind.MOVE:
            return [ClockCommand("", _GTP_BYOYOMI, 0, period, 1), ClockCommand("", _CANADIAN, 0, period, 1)]


def _without_increments(control: TimeControl) -> list[ClockCommand]:
    """Return ways to tell Fischer's time to a bot that knows no increments: byo-yomi, then absolute time.

    The byo-yomi period is the increment. It is taken from the main time, so the bot never counts on more than it has.
    """
    kept = min(control.increment, control.main) // 1000 * 1000
    absolute = ClockCommand("", _ABSOLUTE, control.main)
    return [ClockCommand("", _CANADIAN, control.main - kept, kept, 1), absolute] if kept else [absolute]
