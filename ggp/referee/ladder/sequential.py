"""The sequential test of a pool, read from the results of its pairs."""

from typing import cast

from ggp.referee.ladder.standings import score_of
from ggp.referee.ratings.sequential import PlayedPair, SequentialTest
from ggp.referee.ratings.sprt import Hypotheses, Model
from ggp.referee.store.model import Format, PairResult


class PoolTest(SequentialTest):
    """Of the version `new` against `old`, by their ids in the store."""

    def __init__(self, form: Format, new: int, old: int) -> None:
        super().__init__(Hypotheses(form.elo0, form.elo1, form.alpha, form.beta, cast("Model", form.model)))
        self.new, self.old = new, old

    def concerns(self, first: int, second: int) -> bool:
        """Whether a pair of these is part of the test."""
        return {first, second} == {self.new, self.old}

    def offer_result(self, result: PairResult, decides: bool = True) -> None:
        """As `offer`; a pair that does not count will have no result."""
        self.offer(result.number, None if result.points is None else self._played(result, result.points), decides)

    def _played(self, result: PairResult, points: float) -> PlayedPair:
        games: list[int] = []
        for meeting in result.meetings:
            score = score_of(meeting, 1 if meeting.first == self.new else 2)
            games += [0] * score.losses + [1] * score.ties + [2] * score.wins
        return PlayedPair(round(2 * (points if result.first == self.new else 2 - points)), games)
