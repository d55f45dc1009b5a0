"""A time control and its clock in the words of plain GTP, as exactly as a bot's commands can say them.

What cannot be said is told as less, so that a bot never hopes for more than it has. Native bots: see clock.ggp_clock.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from referee.play.clock import Clock, Control, Kind, seconds

KATA, KGS, GTP = "kata-time_settings", "kgs-time_settings", "time_settings"
LIST = "kata-list_time_settings"
_NONE, _ABSOLUTE, _CANADIAN, _BYOYOMI, _FISCHER = "none", "absolute", "canadian", "byoyomi", "fischer"
SYSTEMS = {
    KATA: frozenset((_NONE, _ABSOLUTE, _CANADIAN, _BYOYOMI, _FISCHER)),
    KGS: frozenset((_NONE, _ABSOLUTE, _CANADIAN, _BYOYOMI)),
    GTP: frozenset((_NONE, _ABSOLUTE, _CANADIAN)),
}
"""What each command can say, best command first. A bot may know less of KATA's, and answers LIST with what it knows."""


@dataclass(frozen=True, slots=True)
class Told:
    """How a control is told: a time system with its times in ms. `command` is "" for a bot that lists none.

    `period` is Fischer's increment, too; `count` is stones in Canadian byo-yomi, periods in Japanese.
    """

    command: str
    system: str
    main: int = 0
    period: int = 0
    count: int = 0

    @property
    def settings(self) -> str:
        """The command of a new game, or "". KataGo's takes fractions of seconds, the others whole seconds."""
        if not self.command:
            return ""
        if self.command == KATA:
            main, period = seconds(self.main), seconds(self.period)
        else:
            # Where it is all that there is, 0 would mean no clock, or no time for anything.
            main = str(max(1 if self.system == _ABSOLUTE else 0, self.main // 1000))
            period = str(max(1, self.period // 1000))
        counted = [main, period, str(self.count)]
        if self.command == GTP:  # in the draft's words: without a period absolute, with one of no stones no limit
            words = {_NONE: ["0", "1", "0"], _ABSOLUTE: [main, "0", "0"]}.get(self.system, counted)
            return " ".join([self.command, *words])
        shorter: dict[str, list[str]] = {_NONE: [], _ABSOLUTE: [main], _FISCHER: [main, period]}
        return " ".join([self.command, self.system, *shorter.get(self.system, counted)])

    def time_left(self, colour: str, clock: Clock) -> str:
        """GTP's `time_left COLOUR SECONDS STONES` for a clock of the control, or "" when there is no limit.

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
        if clock.control.kind is Kind.FISCHER and self.system == _CANADIAN:
            return max(0, ms - self.period), 0
        return ms, min(stones, self.count)


def tell(control: Control, listed: Collection[str], kata: Collection[str] = SYSTEMS[KATA]) -> Told:
    """The best way to tell a bot that lists these commands; `kata`: the systems of its kata-time_settings."""
    known = {command: kata if command == KATA else systems for command, systems in SYSTEMS.items() if command in listed}
    for told in _ways(control):
        for command, systems in known.items():
            if told.system in systems:
                return replace(told, command=command)
    return next(told for told in _ways(control) if told.system in SYSTEMS[GTP])


def read_systems(answer: str) -> frozenset[str]:
    """The answer to LIST. KataGo's own documents say byo-yomi, and the program byoyomi."""
    return frozenset(answer.lower().replace("-", "").split())


def _ways(control: Control) -> list[Told]:
    """From the most exact one to one that plain GTP knows, without a command."""
    main, period = control.main, control.period
    match control.kind:
        case Kind.NONE:
            return [Told("", _NONE)]
        case Kind.FISCHER:
            fischer = Told("", _FISCHER, main, control.increment)
            return [*([fischer] if control.increment else []), *_without_increments(control)]
        case Kind.PERIOD:
            return [Told("", _CANADIAN, main, period, control.moves)]
        case Kind.BYOYOMI:  # a bot that knows no periods has one, and keeps it; the others are its reserve
            return [Told("", _BYOYOMI, main, period, control.periods), Told("", _CANADIAN, main, period, 1)]
        case Kind.MOVE:
            return [Told("", _BYOYOMI, 0, period, 1), Told("", _CANADIAN, 0, period, 1)]


def _without_increments(control: Control) -> list[Told]:
    """Fischer's time for bots that know no increments: each move has the increment at least, as in byo-yomi.

    That much is kept back of main time for the move at hand, so main time and the period are never more than there is.
    """
    kept = min(control.increment, control.main) // 1000 * 1000
    absolute = Told("", _ABSOLUTE, control.main)
    return [Told("", _CANADIAN, control.main - kept, kept, 1), absolute] if kept else [absolute]
