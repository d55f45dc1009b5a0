"""The bot that plays every legal move with equal chance, passes and tokens too; the measure of all others."""

import random
from collections.abc import Sequence

from bots.options import SEED, parse_options
from bots.sdk import Choose, Position, run

OPTIONS = (SEED,)


def main(words: Sequence[str]) -> None:
    """Serve stdin with the options `seed=N`. Raises OptionError."""
    run(make_choose(int(parse_options("random", OPTIONS, words)["seed"])), name="random")


def make_choose(seed: int) -> Choose:
    """The same seed and the same games: the same moves. 0: another seed each time."""
    chance = random.Random(seed or None)

    def choose(position: Position) -> str:
        return chance.choice(position.legal_moves())

    return choose
