"""A whole game in one Python file, hexapawn, of which nothing has to be installed.

    engine   ggp engine hexapawn.py hexapawn size=4
    check    ggp check --engine -- ggp engine hexapawn.py

Replace the rules: the class of the position says which moves are legal and what a move does, the class of the game says
its name, its options and its rules in words.
"""

from ggp.engines.game import Game, Option, Options, Scene
from ggp.engines.python_state import PlainState
from ggp.engines.scene import piece, square

COLUMNS = "ABCDEFGH"
RULES = """Hexapawn: three pawns a side on a small chessboard; the side that crosses it wins.

Columns are A, B, C …, rows 1, 2, 3 … from below. Black's pawns stand on the first row and go up, White's on the last
row and go down; Black begins. A pawn goes one step straight ahead onto an empty cell, or takes diagonally ahead.
A move is the two cells: A1A2. A side wins when one of its pawns reaches the far row, or when the other cannot move.
The option size (3 to 8, by default 3) is the width and height of the board.
"""


class HexapawnState(PlainState):
    """One position. `ply` and `result` are PlainState's, and so are the turn, undo, hashes and random games."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.pawns = {f"{column}1": "black" for column in COLUMNS[:size]}
        self.pawns |= {f"{column}{size}": "white" for column in COLUMNS[:size]}
        self.last: list[str] = []

    def key(self) -> str:
        return " ".join(f"{cell}{colour}" for cell, colour in sorted(self.pawns.items()))

    def legal_moves(self) -> list[str]:
        return [] if self.result else self.moves_of(self.to_play)

    def moves_of(self, colour: str) -> list[str]:
        """Canonical, sorted."""
        moves = []
        for cell in (cell for cell, owner in self.pawns.items() if owner == colour):
            column, row = COLUMNS.index(cell[0]), int(cell[1]) + (1 if colour == "black" else -1)
            for other in range(max(column - 1, 0), min(column + 2, self.size)):
                target = f"{COLUMNS[other]}{row}"
                taken = self.pawns.get(target)
                if taken is None if other == column else taken not in (None, colour):
                    moves.append(cell + target)
        return sorted(moves)

    def make(self, move: str) -> None:
        colour, source, target = self.to_play, move[:2], move[2:]
        del self.pawns[source]
        self.pawns[target] = colour
        self.last = [target]
        opponent = "white" if colour == "black" else "black"
        if int(target[1]) in (1, self.size) or not self.moves_of(opponent):
            self.result = "B+" if colour == "black" else "W+"

    def explain(self, move: str) -> str:
        return f"{move[:40]} is no step straight ahead and no take diagonally, like A1A2"

    def scene(self) -> Scene:
        pieces = [piece(cell, colour) for cell, colour in sorted(self.pawns.items())]
        return {**square(self.size, self.size, lines=False), "pieces": pieces, "last": self.last}


class Hexapawn(Game):
    name = "hexapawn"
    rules = RULES
    options = (Option("size", "int", "3", "3..8"),)

    def new(self, options: Options) -> HexapawnState:
        return HexapawnState(int(options["size"]))


GAME = Hexapawn()
