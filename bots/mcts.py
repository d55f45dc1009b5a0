"""The bot that searches: a tree of playouts on the compiled core (engines/core/search.hpp), kept from move to move.

This module decides what the search of one side's moves cannot: bids, sides, dead stones, and how long to think. A game
without a compiled core is searched by ggp.bots.tree_search.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from ggp.bots.options import SEED, parse_options
from ggp.bots.rng import BotRng
from ggp.bots.sdk import Position, run
from ggp.engines.game import IllegalMove, Option, Search, State
from ggp.engines.scene import pieces_by_cell

OPTIONS = (
    Option("playouts", "int", "1000", "0..100000000"),  # playouts a move; 0: as many as the time allows
    Option("time", "int", "0", "0..3600000"),  # the most milliseconds a move; 0: as the clock allows
    Option("threads", "int", "1", "1..64"),
    Option("memory", "int", "64", "1..65536"),  # MB for the tree, which stops growing when it is full
    SEED,
    Option("resign", "enum", "on", "on,off"),
)
UNLIMITED = 1.0  # seconds a move if neither playouts nor a clock limit it
HOPELESS = 0.02  # resign when no move wins more often than this
ENOUGH = 100  # the fewest playouts before anything counts as hopeless
LIVES = 40  # random games that decide whether a group is alive
DEAD = 0.2  # a group that survives at most this share of them is dead
SWAP, KEEP = "swap-sides", "keep-sides"


def main(words: Sequence[str], engines: Sequence[str] = ()) -> None:
    """Serve stdin with the options above.

    Raises:
        OptionError: An option is invalid.
    """
    options = parse_options("mcts", OPTIONS, words)
    threads, cores = int(options["threads"]), len(os.sched_getaffinity(0))
    if threads > cores:
        print(f"mcts: threads={threads} is more than the number of processor cores, {cores}", file=sys.stderr)
    bot = Searcher(
        BotRng(int(options["seed"])),
        playouts=int(options["playouts"]),
        milliseconds=int(options["time"]),
        threads=threads,
        megabytes=int(options["memory"]),
        resigns=options["resign"] == "on",
    )
    run(bot.choose, name="mcts", analysis=True, seed=bot.begin_match, engine=engines, words=())


class Look(NamedTuple):
    """The result of searching a position before sides are chosen."""

    black: float  # Black's winning chance if nobody swaps, from 0 to 1
    visits: int
    nodes: int


class Searcher:
    """A player that keeps the search tree of a game as long as the plies follow it."""

    def __init__(
        self,
        chance: BotRng,
        *,
        playouts: int = 1000,
        milliseconds: int = 0,
        threads: int = 1,
        megabytes: int = 64,
        resigns: bool = False,
    ) -> None:
        """Create it with limits for each move (0: none) and the size of its tree."""
        self._chance = chance
        self._playouts, self._milliseconds = playouts, milliseconds
        self._threads, self._megabytes, self._resigns = threads, megabytes, resigns
        self._search: Search | None = None
        self._plies: list[tuple[int, str, str]] = []

    def begin_match(self, seed: int) -> None:
        """Forget everything, and derive further random numbers from this seed and the bot's own."""
        self._search = None
        self._chance.begin_match(seed)

    def choose(self, position: Position) -> str:
        """Return a legal move in any phase, or `resign`.

        With one thread, the same seed, plies and playouts give the same move.
        """
        if position.phase == "agree":
            return self._agree(position)
        if position.phase == "bid":
            return self._bid(position)
        if position.phase == "choose":
            return self._choose_side(position)
        return self._move(position)

    def _move(self, position: Position) -> str:
        search = self._follow(position)
        search.run(self._playouts, self._seconds(position))
        votes = search.votes()
        move, _, won, proof = votes[0]
        rate = worth(won, proof)
        visits = sum(vote[1] for vote in votes)
        line = search.line()
        may_swap = SWAP in position.legal_moves()
        if search.swap_follows:
            rate = min(rate, 1 - rate)
        elif may_swap and rate < 0.5:
            move, rate, line = SWAP, 1 - rate, [SWAP]
        position.analysis.update(winrate=round(rate, 4), visits=visits, pv=line, nodes=search.nodes)
        if self._resigns and rate <= HOPELESS and visits >= ENOUGH and position.ply > 0:
            return "resign"
        return move

    def _follow(self, position: Position) -> Search:
        """Return the current search if the plies lead from its position to this one, else a new search."""
        known, plies = len(self._plies), list(position.plies)
        if self._search is not None and plies[:known] == self._plies:
            with suppress(IllegalMove):  # another game, or a move was taken back: then a new search begins below
                for _, _, move in plies[known:]:
                    self._search.play(move)
        if self._search is None or plies[:known] != self._plies or self._search.hash() != position.hash():
            self._search = self._begin(position)
        self._plies = plies
        return self._search

    def _begin(self, state: State) -> Search:
        seed = self._chance.getrandbits(63)
        search = state.search(seed, self._threads, self._megabytes)
        if search is None:
            from ggp.bots.tree_search import TreeSearch  # imported late: only games without a core need it

            search = TreeSearch(state, seed, self._megabytes)
        return search

    def _seconds(self, position: Position) -> float:
        """Return how many seconds to think, or 0 if the number of playouts is the only limit."""
        limits = [ms for ms in (self._milliseconds or None, position.budget) if ms is not None]
        if limits:
            return min(limits) / 1000
        return 0.0 if self._playouts else UNLIMITED

    def _bid(self, position: Position) -> str:
        """Return the bid after which a search finds both sides most nearly equal.

        More komi never helps Black, so a binary search finds it.
        """
        bids = sorted(position.legal_moves(), key=lambda bid: int(bid.removeprefix("bid:")))
        seconds = self._seconds(position) / len(bids).bit_length()
        looks: dict[str, Look] = {}
        low, high = 0, len(bids)
        while low < high:
            bid = bids[(low + high) // 2]
            after = position.copy()
            after.play(bid)
            looks[bid] = self._look(after, seconds)
            low, high = ((low + high) // 2 + 1, high) if looks[bid].black > 0.5 else (low, (low + high) // 2)
        best = min(looks, key=lambda bid: abs(looks[bid].black - 0.5))
        rate = min(looks[best].black, 1 - looks[best].black)
        visits, nodes = sum(look.visits for look in looks.values()), sum(look.nodes for look in looks.values())
        position.analysis.update(winrate=round(rate, 4), visits=visits, pv=[best], nodes=nodes)
        return best

    def _choose_side(self, position: Position) -> str:
        black, visits, nodes = self._look(position.copy(), self._seconds(position))
        black_is_mine = position.colour == "black"
        keeps = black > 0.5 if black_is_mine else black <= 0.5
        move = KEEP if keeps else SWAP
        position.analysis.update(winrate=round(max(black, 1 - black), 4), visits=visits, pv=[move], nodes=nodes)
        return move

    def _look(self, state: State, seconds: float) -> Look:
        state.play(KEEP)
        search = self._begin(state)
        search.run(self._playouts, seconds)
        votes = search.votes()
        _, _, won, proof = votes[0]
        black = worth(won, proof) if state.to_play == "black" else 1 - worth(won, proof)
        return Look(black, sum(vote[1] for vote in votes), search.nodes)

    def _agree(self, position: Position) -> str:
        """Return `dead:` and one stone of each group that does not survive random games."""
        groups = position.groups()
        if not groups:
            return "dead:"
        pieces = pieces_by_cell(position.scene())
        lives = [0] * len(groups)
        for _ in range(LIVES):
            end = play_on(position, groups[0][0])
            end.play_out(self._chance.getrandbits(63), "rollout")
            left = pieces_by_cell(end.scene())
            for index, group in enumerate(groups):
                lives[index] += any(cell in left and left[cell]["colour"] == pieces[cell]["colour"] for cell in group)
        dead = [group[0] for group, count in zip(groups, lives, strict=True) if count <= DEAD * LIVES]
        position.analysis.update(pv=["dead:" + ",".join(dead)])
        return "dead:" + ",".join(dead)


def worth(won: float, proof: str) -> float:
    """Return the value of a move for its player, from 0 to 1: the proven value, or else the share of wins."""
    return {"win": 1.0, "loss": 0.0, "draw": 0.5}.get(proof, won)


def play_on(position: Position, stone: str) -> State:
    """Return the position after the sides have named different lists of dead stones, one of them with `stone`."""
    for first in ("dead:", f"dead:{stone}"):
        state = position.copy()
        state.play(first)
        if state.phase == "agree":
            state.play(f"dead:{stone}")
        if state.phase != "over":
            break  # otherwise both lists were the same
    return state
