"""The sequential test of a pool: it reads results in the order of the schedule, and the first crossing decides.

Results may arrive in any order; a result is read when none before it is missing, and results after the stop are
ignored. referee.ratings.sprt has the statistics.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from referee.ladder.standings import score_of
from referee.ratings.scale import after_stop, in_elo
from referee.ratings.sprt import Hypotheses, Model, Verdict, judge, log_likelihood_ratio
from referee.store.model import Format, PairResult


@dataclass
class SequentialTest:
    """Of the version `new` against `old`, by ids.

    `penta`: pairs that were read and count, by the points of `new`, 0 to 2 in halves; `games`: its losses, ties, wins.
    """

    format: Format
    new: int
    old: int
    penta: list[int] = field(default_factory=lambda: [0] * 5)
    games: list[int] = field(default_factory=lambda: [0] * 3)
    llr: float = 0.0  # as of the last result that was judged
    accepted: str = ""  # H0 or H1, once the test has stopped
    _expected: deque[int] = field(default_factory=deque)
    _known: dict[int, PairResult | None] = field(default_factory=dict)

    @property
    def counts(self) -> list[int]:
        """What the verdict is on: games for the model bayes, else pairs; worst for `new` first."""
        return self.games if self.format.model == "bayes" else self.penta

    @property
    def pairs(self) -> int:
        """Pairs that were read and count."""
        return sum(self.penta)

    @cached_property
    def hypotheses(self) -> Hypotheses:
        form = self.format
        return Hypotheses(form.elo0, form.elo1, form.alpha, form.beta, cast("Model", form.model))

    def concerns(self, first: int, second: int) -> bool:
        """Whether a pair of these is part of the test."""
        return {first, second} == {self.new, self.old}

    def expect(self, numbers: Iterable[int]) -> None:
        """Pairs that were issued, in order."""
        self._expected.extend(numbers)

    def offer(self, number: int, result: PairResult | None, decides: bool = True) -> None:
        """The result of an expected pair, None if it will have none. Not `decides`: it is known not to be the stop."""
        self._known[number] = result
        while self._expected and self._expected[0] in self._known:
            self._look_at(self._known.pop(self._expected.popleft()), decides)

    def verdict(self, over: bool = False) -> Verdict:
        """On what was looked at; `over`: no more will be played, so an open test is inconclusive."""
        return judge(self.counts, self.hypotheses, sum(self.counts) if over else None)

    def _look_at(self, result: PairResult | None, decides: bool) -> None:
        if self.accepted or result is None or result.points is None:
            return
        self.penta[round(2 * (result.points if result.first == self.new else 2 - result.points))] += 1
        for meeting in result.meetings:
            score = score_of(meeting, 1 if meeting.first == self.new else 2)
            for cell, number in enumerate((score.losses, score.ties, score.wins)):
                self.games[cell] += number
        if not decides:
            return
        self.llr = log_likelihood_ratio(self.counts, self.hypotheses)
        if self.llr >= self.hypotheses.upper:
            self.accepted = "H1"
        elif self.llr <= self.hypotheses.lower:
            self.accepted = "H0"


def in_words(verdict: Verdict) -> str:
    """One line: the decision, its evidence, and the size of the effect."""
    open_or_given_up = {"continue": "not decided yet", "inconclusive": "inconclusive"}
    words = [
        open_or_given_up.get(verdict.state, f"{verdict.state} is accepted"),
        f"LLR {verdict.llr:.2f} of {verdict.lower:.2f} … {verdict.upper:.2f}",
        f"{verdict.games} games",
    ]
    estimate = None if verdict.state == "continue" else verdict.estimate
    if elo := after_stop(estimate, sign="+") or in_elo(verdict, sign="+"):
        words.append(f"Elo {elo}")
    return ", ".join(words)
