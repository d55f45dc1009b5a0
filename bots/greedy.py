"""The bot that looks one ply deep: random games after every move, and the move that won most. No tree, no memory.

It is watched by its clock, never by its depth: when the time for a move is over it takes the best so far.
"""

import random
import time
from collections.abc import Sequence

from bots.options import SEED, parse_options
from bots.sdk import Choose, Position, run
from engines.game import Option, State

OPTIONS = (
    Option("playouts", "int", "20", "1..100000"),  # random games after each move
    SEED,
    Option("resign", "enum", "on", "on,off"),
)
ROUND = 5  # random games after a move before the next move gets its turn
HOPELESS = 0.01  # resign when no move wins more often than this
CERTAIN = 200  # random games, at least, before anything counts as decided
QUIET = ("pass", "button")  # preferred, in this order, to moves that are no better


def main(words: Sequence[str]) -> None:
    """Serve stdin with the options `playouts=N`, `seed=N`, `resign=on|off`. Raises OptionError."""
    options = parse_options("greedy", OPTIONS, words)
    choose = make_choose(int(options["playouts"]), int(options["seed"]), options["resign"] == "on")
    run(choose, name="greedy", analysis=True)


def make_choose(playouts: int, seed: int, resigns: bool) -> Choose:
    """The same seed, the same games and time enough: the same moves. seed 0: another each time."""
    chance = random.Random(seed or None)

    def choose(position: Position) -> str:
        if position.phase == "agree":
            return "dead:"  # it plays everything out, so nothing that stands is dead
        budget = position.budget
        deadline = None if budget is None else time.monotonic() + budget / 1000
        candidates = [Candidate(position, move) for move in position.legal_moves()]
        chance.shuffle(candidates)
        try_all(candidates, playouts, chance, deadline)
        best = settle(candidates, chance, deadline)
        games = sum(candidate.games for candidate in candidates)
        position.analysis.update(winrate=round(best.rate, 4), visits=games, pv=[best.move])
        if resigns and best.rate <= HOPELESS and games >= CERTAIN and position.ply > 0:
            return "resign"
        return best.move

    return choose


class Candidate:
    """A legal move, and how the random games after it ended. A draw is half a win."""

    def __init__(self, position: Position, move: str) -> None:
        self.move = move
        self._position = position
        self._after: State | None = None
        self.games = 0
        self.won = 0.0

    @property
    def rate(self) -> float:
        """Share of the games won, from 0 to 1; -1 if none was played."""
        return self.won / self.games if self.games else -1.0

    def sample(self, games: int, seed: int) -> None:
        """Play that many random games more after the move."""
        if self._after is None:
            self._after = self._position.copy()
            self._after.play(self.move)
        after = self._after
        self.games += games
        if after.phase == "over":
            self.won += games * (0.5 if after.winner == 0 else float(after.winner == self._position.seat))
            return
        _, black, white, draws = after.playouts(games, seed, "rollout")
        self.won += (black if self._colour_after(after) == "black" else white) + draws / 2

    def loses_as_it_stands(self, hope: float) -> bool:
        """Whether this is a pass that loses if the opponent passes too, with hope for better.

        The random games do not show that: they pass only when there is nothing else to play.
        """
        after = self._after
        if self.move != "pass" or after is None or after.phase == "over" or hope <= HOPELESS:
            return False
        return after.standing()[:1].lower() != self._colour_after(after)[0]

    def _colour_after(self, after: State) -> str:
        """The colour that the mover holds after the move, which may have swapped sides."""
        other = "white" if after.to_play == "black" else "black"
        return after.to_play if after.seat == self._position.seat else other


def try_all(candidates: Sequence[Candidate], playouts: int, chance: random.Random, deadline: float | None) -> None:
    """`playouts` games for each, a few in turn, until time is over; at least one of them gets some."""
    for done in range(0, playouts, ROUND):
        for candidate in candidates:
            candidate.sample(min(ROUND, playouts - done), chance.getrandbits(63))
            if deadline is not None and time.monotonic() >= deadline:
                return


def settle(candidates: Sequence[Candidate], chance: random.Random, deadline: float | None) -> Candidate:
    """The best; a quiet move only if it is as good as the best other one when both are looked at closely."""
    loud = [candidate for candidate in candidates if candidate.move not in QUIET]
    quiet = [candidate for candidate in candidates if candidate.move in QUIET]
    if not loud:
        return max(quiet, key=_rate)
    best = max(loud, key=_rate)
    for candidate in sorted(quiet, key=lambda candidate: QUIET.index(candidate.move)):
        if candidate.rate < best.rate or candidate.loses_as_it_stands(best.rate):
            continue
        for one in (candidate, best):
            while one.games < CERTAIN and (deadline is None or time.monotonic() < deadline):
                one.sample(ROUND, chance.getrandbits(63))
        if candidate.games >= CERTAIN and candidate.rate >= best.rate:
            return candidate
    return best


def _rate(candidate: Candidate) -> float:
    return candidate.rate
