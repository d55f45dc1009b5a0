"""Tells games that repeat from games that are evidence: bots that do not randomise play one game again and again.

Two bots repeat themselves from an opening and seating if every game of theirs there, three or more, is the same move
by move. All of these together are one observation: the hundredth says nothing that the first did not. Where one game
differs, the bots do randomise, and a game that comes again by chance is an observation like any other.
"""

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from hashlib import blake2b

FEWEST = 3  # games from one opening and seating that show that two bots repeat themselves
_REMEMBERED = 500_000  # openings, and games; what comes later counts as new, so that memory stays bounded
ADVICE = "these bots do not randomise, so the games that repeat count once; play from different openings: --openings"


def line_digest(moves: Iterable[str], result: str = "") -> int:
    """Return 63 bits that stand for these moves and the result; games with different ones have the same by chance only.

    The result belongs to a game because a bot may resign or lose on time after the same moves.
    """
    said = "\n".join([*moves, f"={result}"])
    return int.from_bytes(blake2b(said.encode("utf-8", "surrogatepass"), digest_size=8).digest()) >> 1


@dataclass(slots=True)
class _Group:
    """The games from one opening and seating: how many, the first of them and its outcome, whether another differed."""

    games: int
    line: Hashable
    cell: Hashable
    varied: bool = False


class Observations:
    """Independent outcomes among games, or pairs of games, that may repeat each other.

    `counts`: observations by outcome. `games`: all that were added. `distinct`: how many of them differ.
    """

    def __init__(self) -> None:
        self.counts = Counter[Hashable]()
        self.games = 0
        self.distinct = 0
        self._groups: dict[Hashable, _Group] = {}
        self._lines: set[Hashable] = set()

    @property
    def repeated(self) -> int:
        """Return how many games do not count because they repeat another game."""
        return self.games - self.counts.total()

    def add(self, start: Hashable, line: Hashable, outcome: Hashable) -> None:
        """Count one game. `start`: its bots, their seats and the opening; `line`: its moves."""
        self.games += 1
        self.counts[outcome] += 1
        known = (start, line) in self._lines
        self.distinct += not known
        if not known and len(self._lines) < _REMEMBERED:
            self._lines.add((start, line))
        group = self._groups.get(start)
        if group is None:
            if len(self._groups) < _REMEMBERED:
                self._groups[start] = _Group(1, line, outcome)
            return
        group.games += 1
        if group.varied:
            return
        if (line, outcome) != (group.line, group.cell):
            group.varied = True
            if group.games - 1 >= FEWEST:  # they were one observation until now
                self.counts[group.cell] += group.games - 2
        elif group.games == FEWEST:
            self.counts[outcome] -= FEWEST - 1
        elif group.games > FEWEST:
            self.counts[outcome] -= 1

    def add_plain(self, outcome: Hashable, count: int) -> None:
        """Count games whose moves are unknown, each as an observation."""
        self.games += count
        self.distinct += count
        self.counts[outcome] += count
