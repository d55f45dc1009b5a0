"""Counting and random games with limits, so that no command keeps an engine busy without end."""

import time

from ggp.engines.game import Playouts, Policy, State
from ggp.protocol.errors import CommandFailed

MAX_SECONDS = 300.0
MAX_DEPTH = 100
MAX_PLAYOUTS = 10_000_000
SLOW = frozenset({"ggp-perft", "ggp-playouts"})
"""The commands that use these functions: they may take MAX_SECONDS, and change nothing."""
FEW = 1_000  # up to this many games run at once; for more, the time is estimated from samples
SAMPLE, SAMPLES = 8, 3  # games in a sample, and the number of samples


def perft(state: State, depth: int) -> int:
    """Return the number of legal move sequences of length `depth`.

    Smaller depths are counted first. Each predicts the cost of the next one: its time multiplied by the branching
    factor.

    Raises:
        CommandFailed: Counting would take more than MAX_SECONDS.
    """
    count, before, seconds = 1, 1, 0.0
    for nearer in range(1, depth + 1):
        branching = count / before
        if seconds * branching > MAX_SECONDS:
            raise CommandFailed(
                f"too deep: depth {nearer} would take about {seconds * branching:.0f} s; the limit is {MAX_SECONDS:.0f}"
            )
        start = time.perf_counter()
        before, count = count, state.perft(nearer)
        seconds = time.perf_counter() - start
        if count == 0:
            return 0
    return count


def playouts(state: State, n: int, seed: int, policy: Policy) -> tuple[Playouts, float]:
    """Return the outcome of n random games and the seconds they took.

    Raises:
        CommandFailed: Samples show that the games would take more than MAX_SECONDS.
    """
    if n > FEW:  # the fastest sample counts, because the first games are slow and the processor may be shared
        expected = min(_timed(state, SAMPLE, seed, policy)[1] for _ in range(SAMPLES)) * n / SAMPLE
        if expected > MAX_SECONDS:
            raise CommandFailed(
                f"too many: {n} games would take about {expected:.0f} s; the limit is {MAX_SECONDS:.0f}"
            )
    return _timed(state, n, seed, policy)


def _timed(state: State, n: int, seed: int, policy: Policy) -> tuple[Playouts, float]:
    start = time.perf_counter()
    outcome = state.playouts(n, seed, policy)
    return outcome, time.perf_counter() - start
