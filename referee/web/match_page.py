"""What the page of a match says, from its record: players, result, the line under the board. No I/O."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from protocol.records import MatchEnded, MatchStarted, MovePlayed, Record

_SCORE_LINES = 40


@dataclass(frozen=True, slots=True)
class SeatLine:
    """A player: what it used and its longest move in ms, what its clock has left (None without a clock)."""

    number: int
    name: str
    program: str
    ms: int
    longest: int
    left: int | None


@dataclass(frozen=True, slots=True)
class MatchPage:
    """See the module. `winner` and `culprit` are names; `end` is None of a match that is not over."""

    start: MatchStarted
    plies: Sequence[MovePlayed]
    end: MatchEnded | None
    seats: tuple[SeatLine, SeatLine]
    winner: str
    culprit: str

    @property
    def title(self) -> str:
        return " – ".join(seat.name for seat in self.seats)

    @property
    def game(self) -> str:
        return " ".join([self.start.game, *(f"{name}={value}" for name, value in self.start.options.items())])


def match_page(record: Record) -> MatchPage:
    end, names = record.end, [bot.name for bot in record.start.bots]
    winner = names[end.winner - 1] if end and end.winner else ""
    culprit = end.culprit if end else ""
    if culprit in ("seat1", "seat2"):
        culprit = names[int(culprit[-1]) - 1]
    return MatchPage(record.start, record.plies, end, (_seat(record, 1), _seat(record, 2)), winner, culprit)


def _seat(record: Record, number: int) -> SeatLine:
    bot = record.start.bots[number - 1]
    own = [ply for ply in record.plies if ply.seat == number]
    program = " ".join(word for word in (bot.program, bot.version) if word)
    left = own[-1].left if own else None
    return SeatLine(
        number, bot.name, program, sum(ply.ms for ply in own), max((ply.ms for ply in own), default=0), left
    )


def caption(record: Record, number: int) -> str:
    """`ply 17 of 47: black D4 (0.31 s, 9.2 s left)`; of the last one the result, too."""
    text = f"ply {number} of {len(record.plies)}"
    if number:
        ply = record.plies[number - 1]
        left = "" if ply.left is None else f", {ply.left / 1000:.1f} s left"
        text += f": {ply.colour} {ply.move} ({ply.ms / 1000:.2f} s{left})"
    if record.end is not None and number == len(record.plies):
        text += f"; {record.end.result or 'void'}, {record.end.termination.replace('_', ' ')}"
    return text


def score_lines(score: str) -> list[tuple[str, str]]:
    """The parts of a score as the engine's `ggp-score` names them: `black territory`, `12`."""
    try:
        said = json.loads(score or "{}")
    except (ValueError, RecursionError):
        return []
    lines: list[tuple[str, str]] = []
    for name, value in said.items() if isinstance(said, dict) else ():
        parts = value.items() if isinstance(value, dict) else [("", value)]
        lines += [
            (f"{name} {part}".strip(), str(number)) for part, number in parts if isinstance(number, str | int | float)
        ]
    return lines[:_SCORE_LINES]
