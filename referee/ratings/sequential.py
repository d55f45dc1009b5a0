"""A sequential test as it is played: it reads pairs in the order of the schedule, and the first crossing decides.

Results may arrive in any order; a result is read when none before it is missing, and results after the stop are
ignored. ggp.referee.ratings.sprt has the statistics.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ggp.referee.ratings.repeats import Observations
from ggp.referee.ratings.scale import TOO_FEW, after_stop, in_elo
from ggp.referee.ratings.sprt import Hypotheses, Verdict, judge, log_likelihood_ratio


class PlayedPair(NamedTuple):
    """A pair as the new version sees it: `points`, 0 to 4 halves, and each game, 0, 1 or 2 for loss, tie or win.

    `opening` and `moves` are digests (see repeats): `moves` of the game in which the new version had seat 1, then of
    the other one; () where they are unknown.
    """

    points: int
    games: Sequence[int]
    opening: int = 0
    moves: tuple[int, ...] = ()


class ObservedPairs:
    """Counts of pairs of games without those that repeat others: see ggp.referee.ratings.repeats."""

    def __init__(self) -> None:
        self._pairs, self._games = Observations(), Observations()

    @property
    def penta(self) -> list[int]:
        """Return the pairs by the points of the new version, 0 to 2 in halves."""
        return [self._pairs.counts[points] for points in range(5)]

    @property
    def games(self) -> list[int]:
        """Return losses, ties and wins of the new version."""
        return [self._games.counts[cell] for cell in range(3)]

    def add(self, played: PlayedPair) -> None:
        """Count a pair."""
        if not played.moves:
            self._pairs.add_plain(played.points, 1)
            for cell in played.games:
                self._games.add_plain(cell, 1)
            return
        self._pairs.add(played.opening, played.moves, played.points)
        for seat, (moves, cell) in enumerate(zip(played.moves, played.games, strict=True)):
            self._games.add((seat, played.opening), moves, cell)


@dataclass
class SequentialTest:
    """A sequential test of a new version against an old one.

    `penta`: pairs that were read and count, by the points of the new version, 0 to 2 in halves; `games`: its losses,
    ties and wins. The verdict is on what is left of them without repeats: see ggp.referee.ratings.repeats.
    """

    hypotheses: Hypotheses
    penta: list[int] = field(default_factory=lambda: [0] * 5)
    games: list[int] = field(default_factory=lambda: [0] * 3)
    llr: float = 0.0  # as of the last result that was judged
    accepted: str = ""  # H0 or H1, once the test has stopped
    _observed: ObservedPairs = field(default_factory=ObservedPairs)
    _expected: deque[int] = field(default_factory=deque)
    _known: dict[int, PlayedPair | None] = field(default_factory=dict)

    @property
    def counts(self) -> list[int]:
        """Return the counts to judge, worst for the new version first: games for the model bayes, pairs for others."""
        return self._observed.games if self.hypotheses.model == "bayes" else self._observed.penta

    @property
    def penta_observed(self) -> list[int]:
        """Return `penta` without pairs that repeat others."""
        return self._observed.penta

    @property
    def pairs(self) -> int:
        """Return the number of pairs that were read and count."""
        return sum(self.penta)

    def expect(self, numbers: Iterable[int]) -> None:
        """Append the numbers of pairs that will be played, in order."""
        self._expected.extend(numbers)

    def offer(self, number: int, played: PlayedPair | None, decides: bool = True) -> None:
        """Take an expected pair, None if it will have no result. Without `decides` it is known not to be the stop."""
        self._known[number] = played
        while self._expected and self._expected[0] in self._known:
            self._read(self._known.pop(self._expected.popleft()), decides)

    def verdict(self, over: bool = False) -> Verdict:
        """Return the verdict on what was read. `over`: no more will be played, so an open test is inconclusive."""
        counts = self.counts
        verdict = judge(counts, self.hypotheses, sum(counts) if over else None)
        return replace(verdict, repeated=sum(self.games) - verdict.games)

    def _read(self, played: PlayedPair | None, decides: bool) -> None:
        if self.accepted or played is None:
            return
        self.penta[played.points] += 1
        for cell in played.games:
            self.games[cell] += 1
        self._observed.add(played)
        if not decides:
            return
        self.llr = log_likelihood_ratio(self.counts, self.hypotheses)
        if self.llr >= self.hypotheses.upper:
            self.accepted = "H1"
        elif self.llr <= self.hypotheses.lower:
            self.accepted = "H0"


def in_words(verdict: Verdict) -> str:
    """Write one line: the decision, its evidence, and the size of the effect."""
    open_or_given_up = {"continue": "not decided yet", "inconclusive": "inconclusive"}
    words = [
        open_or_given_up.get(verdict.state, f"{verdict.state} is accepted"),
        f"LLR {verdict.llr:.2f} of {verdict.lower:.2f} … {verdict.upper:.2f}",
        f"{verdict.games + verdict.repeated} games",
    ]
    if verdict.repeated:
        words.append(f"{verdict.repeated} of them repeat others and do not count")
    if not verdict.enough:
        words += [TOO_FEW] if verdict.games else []
        return ", ".join(words)
    estimate = None if verdict.state == "continue" else verdict.estimate
    if elo := after_stop(estimate, sign="+") or in_elo(verdict, sign="+"):
        words.append(f"Elo {elo}")
    return ", ".join(words)
