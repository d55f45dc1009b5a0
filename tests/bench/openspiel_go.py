"""A bot for a ladder: OpenSpiel's tree search in C++ (`pyspiel.MCTSBot`) at our own go, with a time for each move.

It has no limit of time itself. So each search gets as many simulations as the ones before it say that the time allows,
of processor time: other work of the machine takes nothing from it. `bots/openspiel.toml` has it meet `mcts`.

OpenSpiel's rules are Tromp-Taylor, as ours, but a board that comes back ends its games in a draw. Where ours forbids
the move, the next best one that is legal is played.
"""

import argparse
import time
from typing import Any

import pyspiel

from ggp import Position, run

FIRST = 50  # simulations, before anything was measured
LONGEST = 1000  # plies
MEMORY = 256  # MB
EXPLORES = 2.0  # OpenSpiel's own examples have it


class TimedSearch:
    """Chooses moves; a search takes about that many seconds of processor time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._simulations = float(FIRST)
        self._seed = 0

    def begin_match(self, seed: int) -> None:
        self._seed = seed

    def choose(self, position: Position) -> str:
        state = state_of(position)
        legal = set(position.legal_moves())
        if state.is_terminal():
            return "pass"
        for action in self._ranked(state):
            vertex = str(state.action_to_string(action)).split()[1]
            move = "pass" if vertex == "PASS" else vertex.upper()
            if move in legal:
                return move
        return "pass"

    def _ranked(self, state: Any) -> list[int]:
        """The actions, those that were simulated most first."""
        self._seed = (self._seed * 69069 + 1) % 2**31
        evaluator = pyspiel.RandomRolloutEvaluator(1, self._seed)
        simulations = max(2, int(self._simulations))
        bot = pyspiel.MCTSBot(state.get_game(), evaluator, EXPLORES, simulations, MEMORY, True, self._seed, False)
        begin = time.process_time()
        root = bot.mcts_search(state)
        spent = max(time.process_time() - begin, 1e-6)
        self._simulations = simulations * min(max(self._seconds / spent, 0.5), 2.0)
        best = root.best_child().action
        ranked = sorted(root.children, key=lambda child: (child.action == best, child.explore_count), reverse=True)
        return [int(child.action) for child in ranked]


def state_of(position: Position) -> Any:
    """The position as OpenSpiel has it."""
    said = position.options
    options = {"board_size": int(said["size"]), "komi": float(said["komi"]), "max_game_length": LONGEST}
    state = pyspiel.load_game("go", options).new_initial_state()
    for _, colour, move in position.plies:
        if state.is_terminal():
            break
        vertex = "PASS" if move == "pass" else move.lower()
        state.apply_action(state.string_to_action(f"{colour[0].upper()} {vertex}"))
    return state


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench.openspiel_go", description=__doc__)
    parser.add_argument("--milliseconds", type=int, default=50, help="of processor time for a move")
    said, words = parser.parse_known_args()
    search = TimedSearch(said.milliseconds / 1000)
    run(search.choose, name="openspiel-mcts", games=["go"], seed=search.begin_match, words=words)
