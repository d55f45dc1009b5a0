"""A complete game in one Python file, hexapawn; nothing needs to be installed.

    engine   ggp engine hexapawn.py hexapawn size=4
    check    ggp check --engine -- ggp engine hexapawn.py

To write your own game, replace the rules. The class of the position says which moves are legal and what a move does;
the class of the game gives its name, its options and its rules as text.
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
    """A position. PlainState provides `ply`, `result`, the turn, undo, hashes and random games."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.pawns = {f"{column}1": "black" for column in COLUMNS[:size]}
        self.pawns |= {f"{column}{size}": "white" for column in COLUMNS[:size]}
        self.last: list[str] = []

    def key(self) -> str:
        """Return all pawns with their cells."""
        return " ".join(f"{cell}{colour}" for cell, colour in sorted(self.pawns.items()))

    def legal_moves(self) -> list[str]:
        """Return the moves of the side to move."""
        return [] if self.result else self.moves_of(self.to_play)

    def moves_of(self, colour: str) -> list[str]:
        """Return the moves of a colour in canonical form, sorted."""
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
        """Move a pawn, and end the game if that wins."""
        colour, source, target = self.to_play, move[:2], move[2:]
        del self.pawns[source]
        self.pawns[target] = colour
        self.last = [target]
        opponent = "white" if colour == "black" else "black"
        if int(target[1]) in (1, self.size) or not self.moves_of(opponent):
            self.result = "B+" if colour == "black" else "W+"

    def explain(self, move: str) -> str:
        """Return what a move must look like."""
        return f"{move[:40]} is neither a step straight ahead nor a diagonal capture, such as A1A2"

    def scene(self) -> Scene:
        """Return the drawing: the pawns and the last move."""
        pieces = [piece(cell, colour) for cell, colour in sorted(self.pawns.items())]
        return {**square(self.size, self.size, lines=False), "pieces": pieces, "last": self.last}


class Hexapawn(Game):
    """The game: its name, its options and its rules."""

    name = "hexapawn"
    rules = RULES
    options = (Option("size", "int", "3", "3..8"),)

    def new(self, options: Options) -> HexapawnState:
        """Return the first position."""
        return HexapawnState(int(options["size"]))


GAME = Hexapawn()
