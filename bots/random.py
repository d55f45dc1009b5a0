"""The bot that chooses among all legal moves with equal probability, passes and the button included.

All other bots are measured against it.
"""

from collections.abc import Sequence

from ggp.bots.options import SEED, parse_options
from ggp.bots.rng import BotRng
from ggp.bots.sdk import Choose, Position, run

OPTIONS = (SEED,)


def main(words: Sequence[str], engines: Sequence[str] = ()) -> None:
    """Serve stdin with the option `seed=N`.

    Raises:
        OptionError: An option is invalid.
    """
    chance = BotRng(int(parse_options("random", OPTIONS, words)["seed"]))
    run(make_choose(chance), name="random", seed=chance.begin_match, engine=engines, words=())


def make_choose(chance: BotRng) -> Choose:
    """Return a bot that always plays the same moves for the same seeds and positions.

    Moves with the same result count once: in Taugo, two runs may fill the same points from opposite ends.
    """

    def choose(position: Position) -> str:
        chance.begin_ply(position.ply)
        return chance.choice(position.distinct_moves())

    return choose
