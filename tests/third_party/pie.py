"""# Pie tic-tac-toe

A third-party game whose seats and colours part: tic-tac-toe where the second seat may answer the first stone with
`swap-sides`. It then holds black, and the first seat goes on as white. It is not part of the project.
"""

from ggp.engines.game import Game, Options
from tests.third_party.tictactoe import TicTacToeState

RULES = __doc__


class PieState(TicTacToeState):
    swapped = False

    def key(self) -> str:
        return f"{super().key()} {self.swapped} {self.ply == 1}"

    def canonical(self, move: str) -> str:
        return move.lower() if move.lower() == "swap-sides" else move.upper()

    def legal_moves(self) -> list[str]:
        return super().legal_moves() + (["swap-sides"] if self.ply == 1 and not self.result else [])

    def make(self, move: str) -> None:
        if move == "swap-sides":
            self.swapped = True
        else:
            super().make(move)

    @property
    def to_play(self) -> str:
        return "none" if self.result else ("black", "white")[(self.ply - self.swapped) % 2]

    @property
    def winner(self) -> int:
        black = 2 if self.swapped else 1
        return {"B": black, "W": 3 - black}.get(self.result[:1], 0)


class Pie(Game):
    name = "pie"
    rules = RULES

    def new(self, options: Options) -> PieState:
        return PieState(misere=False)


GAME = Pie()
