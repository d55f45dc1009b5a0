"""What the page of a match says, from its record: players, plies in words, analysis, score. No I/O.

Text from outside is cleaned and cut here, because it reaches scripts as well as templates.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ggp.protocol.drawing.scene import clean
from ggp.protocol.records import MatchEnded, MatchStarted, MovePlayed, Record
from ggp.referee.match.engine import Status
from ggp.referee.server.web.boards import BoardView
from ggp.referee.server.web.overlays import with_overlays

_LINES = 40  # of a score, of an analysis
_CUT = 200  # characters of one of them
_WORDS = {
    "pass": "passes",
    "swap-sides": "takes the other side",
    "keep-sides": "keeps its side",
    "button": "takes the button",
    "dead:": "names no dead group",
}
Facts = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class SeatLine:
    """A player: what it used and its longest move in ms, what its clock has left (None without a clock)."""

    number: int
    name: str
    program: str
    ms: int
    longest: int
    left: int | None
    stderr: str


@dataclass(frozen=True, slots=True)
class Analysis:
    """What a bot said of its move. `rate`: its own chance to win, 0 to 1; `line`: the moves it expects next."""

    rate: float | None
    line: tuple[str, ...]
    facts: Facts


@dataclass(frozen=True)
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

    @cached_property
    def rates(self) -> list[tuple[int, int, float]]:
        """(ply, seat of the bot that says so, the chance of seat 1 to win) wherever a bot said it."""
        found = ((ply, read_analysis(ply).rate) for ply in self.plies if ply.analysis)
        return [(ply.ply, ply.seat, rate if ply.seat == 1 else 1 - rate) for ply, rate in found if rate is not None]


def match_page(record: Record) -> MatchPage:
    end, names = record.end, [bot.name for bot in record.start.bots]
    winner = names[end.winner - 1] if end and end.winner else ""
    culprit = end.culprit if end else ""
    if culprit in ("seat1", "seat2"):
        culprit = names[int(culprit[-1]) - 1]
    return MatchPage(record.start, record.plies, end, (_seat(record, 1), _seat(record, 2)), winner, culprit)


def _seat(record: Record, number: int) -> SeatLine:
    bot, end = record.start.bots[number - 1], record.end
    own = [ply for ply in record.plies if ply.seat == number]
    program = " ".join(word for word in (bot.program, bot.version) if word)
    left = own[-1].left if own else None
    used, longest = sum(ply.ms for ply in own), max((ply.ms for ply in own), default=0)
    stderr = end.stderr[number - 1] if end and len(end.stderr) >= number else ""
    return SeatLine(number, bot.name, program, used, longest, left, stderr)


def position(record: Record, ply: int, view: BoardView | None, problem: str = "") -> dict[str, Any]:
    """A position as the page shows it, in plain values; `view` None: there is no picture, and `problem` says why."""
    said = read_analysis(record.plies[ply - 1]) if ply else Analysis(None, (), [])
    status = view.status if view else Status("", "black", 1, ply)
    legal = view.legal if view else ()
    return {
        "ply": ply,
        "caption": caption(record, ply),
        "words": in_words(record.plies[ply - 1].move) if ply else "",
        "svg": with_overlays(view.svg, view.cells, legal, said.line, status.to_play) if view else "",
        "legal": [clean(move) for move in legal],
        "score": score_table(view.score) if view else [],
        "analysis": said.facts,
        "colours": colours(record, ply, status.to_play, status.seat),
        "to_play": status.seat,
        "left": [_left(record, seat, ply) for seat in (1, 2)],
        "problem": problem,
    }


def _left(record: Record, seat: int, number: int) -> str:
    """What the clock of a seat had left after so many plies; "" before its first one, and without a clock."""
    left = next((ply.left for ply in reversed(record.plies[:number]) if ply.seat == seat), None)
    return "" if left is None else f"{left / 1000:.2f} s"


def in_words(move: str) -> str:
    """A bid, a choice of sides, the button, dead groups as what they are; any other move as it is."""
    if move.startswith("bid:"):
        return clean(f"bids {move[4:]}")
    if move.startswith("dead:") and len(move) > 5:
        return clean(f"names dead: {move[5:].replace(',', ' ')}")[:_CUT]
    return _WORDS.get(move) or clean(move)[:_CUT]


def caption(record: Record, number: int) -> str:
    """`ply 17 of 47: black D4 (0.31 s, 9.2 s left)`; of the last one the result, too."""
    text = f"ply {number} of {len(record.plies)}"
    if number:
        ply = record.plies[number - 1]
        left = "" if ply.left is None else f", {ply.left / 1000:.1f} s left"
        text += f": {ply.colour} {in_words(ply.move)} ({ply.ms / 1000:.2f} s{left})"
    if record.end is not None and number == len(record.plies):
        text += f"; {record.end.result or 'void'}, {record.end.termination.replace('_', ' ')}"
    return clean(text)


def colours(record: Record, number: int, to_play: str, seat: int) -> tuple[str, str]:
    """The colours of seats 1 and 2 after so many plies; `to_play` and `seat` as the engine says them."""
    if seat not in (1, 2) and number:
        to_play, seat = record.plies[number - 1].colour, record.plies[number - 1].seat
    first = to_play if seat != 2 else "white" if to_play == "black" else "black"
    return ("white", "black") if first == "white" else ("black", "white")


def read_analysis(ply: MovePlayed) -> Analysis:
    """Whatever a bot sent; it may be no JSON."""
    said = _read(ply.analysis)
    if not isinstance(said, dict):
        return Analysis(None, (), [("", clean(ply.analysis)[:_CUT])] if ply.analysis else [])
    rate, line = said.get("winrate"), said.get("pv")
    chance = float(rate) if isinstance(rate, int | float) and 0 <= rate <= 1 else None
    moves = [str(move) for move in line[:100]] if isinstance(line, list) else []
    moves = moves[1:] if moves[:1] == [ply.move] else []
    return Analysis(chance, tuple(moves), _facts(said))


def score_table(score: str) -> list[tuple[str, str, str]]:
    """Of a score as the engine's `ggp-score` says it: what it is made of, black's part and white's."""
    said = _read(score)
    sides = [said.get(colour) if isinstance(said, dict) else None for colour in ("black", "white")]
    black, white = (dict(_facts(side)) if isinstance(side, dict) else {} for side in sides)
    return [(name, black.get(name, ""), white.get(name, "")) for name in {**black, **white}][:_LINES]


def _facts(said: dict[str, Any]) -> Facts:
    """As far as they can be said in a line: numbers, words, lists of these."""
    lines: Facts = []
    for name, value in list(said.items())[:_LINES]:
        words = value if isinstance(value, list) else [value]
        if value is not None and all(isinstance(word, str | int | float) for word in words[:100]):
            lines.append((clean(name.replace("_", " "))[:_CUT], clean(" ".join(map(str, words[:100])))[:_CUT]))
    return lines


def _read(text: str) -> Any:
    try:
        return json.loads(text or "null")
    except (ValueError, RecursionError):
        return None
