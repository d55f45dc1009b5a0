"""A board as it stands beside the dialogue: lines of styled pieces. How it is drawn is in drawing."""

from typing import NamedTuple

Line = list[tuple[str, str]]


class Board(NamedTuple):
    """`lines` of the board and `notes` in words beside it; `stones`: the cells with something on them."""

    lines: list[Line]
    notes: tuple[str, ...] = ()
    stones: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Columns."""
        return max((sum(len(piece) for _, piece in line) for line in self.lines), default=0)

    @property
    def height(self) -> int:
        """Lines."""
        return len(self.lines)


NOTHING = Board([])
