"""An engine of one game that has more than 2,000 legal moves: `pairs_engine.py URL` listens there.

Each side in turn puts stones on two empty cells, `A1+B2`, in any order; after two plies the game is a draw.
"""

import sys
from itertools import permutations

from ggp.engines.command import serve_at
from ggp.engines.game import Game, Options, Scene
from ggp.engines.python_state import PlainState
from ggp.engines.registry import Registry
from ggp.engines.scene import piece, square
from ggp.engines.service import make_responder
from ggp.engines.session import Session

CELLS = [f"{column}{row}" for row in range(8, 0, -1) for column in "ABCDEFGH"]


class PairsState(PlainState):
    """See the module."""

    def __init__(self) -> None:
        self.stones: dict[str, str] = {}

    def key(self) -> str:
        return repr(self.stones)

    def legal_moves(self) -> list[str]:
        free = [cell for cell in CELLS if cell not in self.stones]
        return [] if self.result else sorted(f"{one}+{other}" for one, other in permutations(free, 2))

    def make(self, move: str) -> None:
        self.stones |= dict.fromkeys(move.split("+"), self.to_play)
        self.result = "0" if self.ply else ""

    def scene(self) -> Scene:
        return {**square(8, 8, lines=False), "pieces": [piece(*stone) for stone in self.stones.items()]}


class Pairs(Game):
    """See the module."""

    name = "pairs"
    rules = "# Pairs"

    def new(self, options: Options) -> PairsState:
        return PairsState()


class OnlyPairs(Registry):
    """No other game."""

    def names(self) -> list[str]:
        return ["pairs"]

    def load(self, name: str) -> Game:
        return Pairs()


if __name__ == "__main__":
    sys.exit(serve_at("pairs", sys.argv[1], lambda: make_responder(Session(OnlyPairs()))))
