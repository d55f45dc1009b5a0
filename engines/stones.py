"""The part of go and yugo that is written in Python: drawing a square board, komi, groups. The core has the rules."""

from typing import ClassVar, Self

from ggp.engines.game import Scene, shortest
from ggp.engines.native import Core, CoreState
from ggp.engines.scene import piece, pieces_by_cell, square, token

PIECES = {"X": ("black", "stone"), "O": ("white", "stone"), "#": ("black", "king"), "@": ("white", "king")}
"""The pieces by their letters on the core's board, which are also the glyphs of the text board."""


class StoneState(CoreState[Core]):
    """A State of go or yugo."""

    ordinary: ClassVar[str] = "stone"
    """The kind of the pieces that are not kings."""

    def __init__(self, core: Core, komi: float) -> None:
        super().__init__(core)
        self.komi = komi

    def copy(self) -> Self:
        """Return an independent copy."""
        return type(self)(self.core.copy(), self.komi)

    def scene(self) -> Scene:
        """Return the drawing: the pieces, the captured ones and the last move."""
        scene = square(self.core.size, self.core.size)
        for cell, letter in zip(scene["cells"], self.core.board(), strict=True):
            if letter != ".":
                colour, kind = PIECES[letter]
                kind = self.ordinary if kind == "stone" else kind
                scene["pieces"].append(piece(cell["at"], colour, kind, letter))
        black, white = self.captured()
        scene["tokens"] = [
            token("captured", "black", f"Black has captured {white}", white),
            token("captured", "white", f"White has captured {black}", black),
            *self.tokens(),
        ]
        scene["last"] = self.core.last_move()
        return scene

    def tokens(self) -> list[dict[str, object]]:
        """Return the facts beside the board, other than the captured pieces."""
        return [token("komi", "white", f"Komi: {shortest(self.komi)}", self.komi)]

    def groups(self) -> list[list[str]]:
        """Return the connected groups of one colour, kings and pawns together, by their first cells."""
        scene = self.scene()
        pieces = pieces_by_cell(scene)
        at = {(cell["x"], cell["y"]): cell["at"] for cell in scene["cells"] if cell["at"] in pieces}
        groups = []
        while at:
            place = next(iter(at))
            colour = pieces[at[place]]["colour"]
            group, edge = [at.pop(place)], [place]
            while edge:
                x, y = edge.pop()
                for near in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
                    if near in at and pieces[at[near]]["colour"] == colour:
                        group.append(at.pop(near))
                        edge.append(near)
            groups.append(sorted(group, key=lambda cell: (cell[0], int(cell[1:]))))
        return groups
