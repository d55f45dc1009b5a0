"""The bot that looks one ply ahead: it plays random games after every move and chooses the best. No tree, no memory.

Its clock limits it, not a depth: when the time for a move is over, it plays the best move found so far.
"""

import random
import time
from collections.abc import Sequence

from ggp.bots.options import SEED, parse_options
from ggp.bots.rng import BotRng
from ggp.bots.sdk import Choose, Position, run
from ggp.engines.game import Option, State

OPTIONS = (
    Option("playouts", "int", "5", "1..100000"),  # random games after each move
    SEED,
    Option("resign", "enum", "on", "on,off"),
)
ROUND = 5  # random games after one move before the next move is tried
HOPELESS = 0.01  # resign when no move wins more often than this
CERTAIN = 200  # the fewest random games before anything counts as decided
QUIET = ("pass", "button")  # preferred, in this order, to moves that are not better
SWAP = "swap-sides"


def main(words: Sequence[str], engines: Sequence[str] = ()) -> None:
    """Serve stdin with the options `playouts=N`, `seed=N` and `resign=on|off`.

    Raises:
        OptionError: An option is invalid.
    """
    options = parse_options("greedy", OPTIONS, words)
    chance = BotRng(int(options["seed"]))
    choose = make_choose(int(options["playouts"]), chance, options["resign"] == "on")
    run(choose, name="greedy", analysis=True, seed=chance.begin_match, engine=engines, words=())


def make_choose(playouts: int, chance: BotRng, resigns: bool) -> Choose:
    """Return a bot that plays the same move for the same seeds and position, given enough time."""

    def choose(position: Position) -> str:
        chance.begin_ply(position.ply)
        if position.phase == "agree":
            return "dead:"  # it plays everything out, so no group on the board is dead
        budget = position.budget
        deadline = None if budget is None else time.monotonic() + budget / 1000
        candidates = [Candidate(position, move) for move in position.legal_moves()]
        if position.phase == "bid":
            best = even_bid(candidates, max(playouts, CERTAIN), chance, deadline)
        else:
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
    """A legal move with the results of the random games after it. A draw is half a win.

    Random games are counted by colour, and a swap of sides changes neither the board nor the turn. So `won` counts the
    games won by the colour that the mover has after the move, even if sides are swapped later.
    """

    def __init__(self, position: Position, move: str) -> None:
        self.move = move
        self._position = position
        self._after: State | None = None
        self._swap_follows = False
        self.games = 0
        self.won = 0.0

    @property
    def share(self) -> float:
        """Return the share of games that the mover's colour won, from 0 to 1; -1 before the first game."""
        return self.won / self.games if self.games else -1.0

    @property
    def rate(self) -> float:
        """Return the value for the mover: its colour's share, or the smaller share if the opponent may choose sides."""
        return min(self.share, 1 - self.share) if self._swap_follows else self.share

    def sample(self, games: int, seed: int) -> None:
        """Play `games` more random games after the move."""
        if self._after is None:
            self._after = self._position.copy()
            self._after.play(self.move)
            self._swap_follows = self._after.seat != self._position.seat and SWAP in self._after.legal_moves()
        after = self._after
        self.games += games
        if after.phase == "over":
            self.won += games * (0.5 if after.winner == 0 else float(after.winner == self._position.seat))
            return
        _, black, white, draws = after.playouts(games, seed, "rollout")
        self.won += (black if self._colour_after(after) == "black" else white) + draws / 2

    def loses_as_it_stands(self, hope: float) -> bool:
        """Return True for a pass that loses if the opponent passes too, although another move may win.

        Random games do not show this, because they rarely pass while other moves remain. `hope` is the value of the
        best other move.
        """
        after = self._after
        if self.move != "pass" or after is None or after.phase == "over" or hope <= HOPELESS:
            return False
        return after.standing()[:1].lower() != self._colour_after(after)[0]

    def _colour_after(self, after: State) -> str:
        """Return the mover's colour after the move, which may have swapped sides."""
        other = "white" if after.to_play == "black" else "black"
        return after.to_play if after.seat == self._position.seat else other


def try_all(candidates: Sequence[Candidate], playouts: int, chance: random.Random, deadline: float | None) -> None:
    """Play `playouts` games for each candidate, a few at a time, until the deadline; at least one gets some."""
    for done in range(0, playouts, ROUND):
        for candidate in candidates:
            candidate.sample(min(ROUND, playouts - done), chance.getrandbits(63))
            if _is_over(deadline):
                return


def even_bid(candidates: Sequence[Candidate], games: int, chance: random.Random, deadline: float | None) -> Candidate:
    """Return the bid after which both colours win about half of the games, so that choosing a side gains nothing.

    More komi never helps Black, whom the bidder holds at first, so a binary search finds it.
    """
    bids = sorted(candidates, key=lambda candidate: int(candidate.move.removeprefix("bid:")))
    tried: list[Candidate] = []
    low, high = 0, len(bids)
    while low < high and (not tried or not _is_over(deadline)):
        middle = (low + high) // 2
        bid = bids[middle]
        look_closely(bid, games, chance, deadline)
        tried.append(bid)
        low, high = (middle + 1, high) if bid.share > 0.5 else (low, middle)
    return max(tried, key=_rate)


def look_closely(candidate: Candidate, games: int, chance: random.Random, deadline: float | None) -> None:
    """Play more random games until this number or the deadline is reached, but at least one round."""
    while candidate.games < games and not (candidate.games and _is_over(deadline)):
        candidate.sample(min(ROUND, games - candidate.games), chance.getrandbits(63))


def settle(candidates: Sequence[Candidate], chance: random.Random, deadline: float | None) -> Candidate:
    """Return the best candidate; a quiet one only if a closer look finds it as good as the best other one.

    Swapping sides gets a closer look too, because the best of many moves after a few games is often just lucky.
    """
    loud = [candidate for candidate in candidates if candidate.move not in QUIET]
    quiet = [candidate for candidate in candidates if candidate.move in QUIET]
    if not loud:
        return max(quiet, key=_rate)
    best = max(loud, key=_rate)
    for candidate in loud:
        if candidate.move == SWAP and candidate is not best:
            look_closely(candidate, CERTAIN, chance, deadline)
            look_closely(best, CERTAIN, chance, deadline)
            best = max(candidate, best, key=_rate)
    for candidate in sorted(quiet, key=lambda candidate: QUIET.index(candidate.move)):
        if candidate.rate < best.rate or candidate.loses_as_it_stands(best.rate):
            continue
        for one in (candidate, best):
            look_closely(one, CERTAIN, chance, deadline)
        if candidate.games >= CERTAIN and candidate.rate >= best.rate:
            return candidate
    return best


def _is_over(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline


def _rate(candidate: Candidate) -> float:
    return candidate.rate
