"""The sequential test of a pool: it reads the results of the pool's pairs."""

from itertools import zip_longest
from typing import cast

from ggp.referee.ladder.standings import score_of
from ggp.referee.ladder.store.model import Format, Pair, PairResult
from ggp.referee.ratings.sequential import PlayedPair, SequentialTest
from ggp.referee.ratings.sprt import Hypotheses, Model


class PoolTest(SequentialTest):
    """A test of the version `new` against `old`, which are ids in the store."""

    def __init__(self, form: Format, new: int, old: int) -> None:
        super().__init__(Hypotheses(form.elo0, form.elo1, form.alpha, form.beta, cast("Model", form.model)))
        self.new, self.old = new, old

    def concerns(self, pair: Pair | PairResult) -> bool:
        """Return whether this pair is part of the test."""
        return {pair.first, pair.second} == {self.new, self.old}

    def offer_result(self, result: PairResult, decides: bool = True) -> None:
        """Offer a stored pair, as in `offer`; one that does not count has no result."""
        played = None if result.points is None else played_pair(result, self.new, result.points)
        self.offer(result.number, played, decides)

    def lose(self, number: int) -> None:
        """Read on without this pair, which was withdrawn."""
        self.offer(number, None)


def played_pair(result: PairResult, new: int, points: float) -> PlayedPair:
    """Return a pair that counts as the version `new` sees it; `points` are those of `result.first`, 0 to 2."""
    games: list[int] = []
    moves: list[tuple[bool, int]] = []
    opening = result.lines[0][0] if result.lines else 0
    for meeting, line in zip_longest(result.meetings, result.lines):
        score = score_of(meeting, 1 if meeting.first == new else 2)
        games += [0] * score.losses + [1] * score.ties + [2] * score.wins
        moves += [(meeting.first != new, line[1])] if line else []
    if len(moves) == len(games):  # first the game in which the new version had seat 1
        order = sorted(range(len(games)), key=lambda game: moves[game][0])
        games, moves = [games[game] for game in order], [moves[game] for game in order]
    else:
        moves = []
    halves = round(2 * (points if result.first == new else 2 - points))
    return PlayedPair(halves, games, opening, tuple(line for _, line in moves))
