"""# Tic-tac-toe

A whole third-party game in one Python file, which the engines' tests add from outside. It is not part of the project.

Three by three cells. Black begins; in turn each side puts a stone on an empty cell. Three in a row win. `wild=on`
turns that round: three in a row lose.
"""

from ggp.engines.game import Game, Option, Options, Scene
from ggp.engines.python_state import PlainState
from ggp.engines.scene import piece, square

CELLS = [f"{column}{row}" for row in (3, 2, 1) for column in "ABC"]
ROWS = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
RULES = __doc__


class TicTacToeState(PlainState):
    def __init__(self, misere: bool) -> None:
        self.board = dict.fromkeys(CELLS, "")
        self.misere = misere
        self.last = ""

    def key(self) -> str:
        return ",".join(self.board.values())

    def legal_moves(self) -> list[str]:
        return [] if self.result else sorted(cell for cell in CELLS if not self.board[cell])

    def make(self, move: str) -> None:
        colour = self.to_play
        self.board[move] = colour
        self.last = move
        if any(all(self.board[CELLS[place]] == colour for place in row) for row in ROWS):
            self.result = "B+" if (colour == "black") != self.misere else "W+"
        elif all(self.board.values()):
            self.result = "0"

    def scene(self) -> Scene:
        pieces = [piece(cell, colour) for cell, colour in self.board.items() if colour]
        return {**square(3, 3, lines=False), "pieces": pieces, "last": [self.last] if self.last else []}


class TicTacToe(Game):
    name = "tictactoe"
    rules = RULES
    options = (Option("wild", "enum", "off", "on,off"),)

    def new(self, options: Options) -> TicTacToeState:
        return TicTacToeState(misere=options["wild"] == "on")


GAME = TicTacToe()
