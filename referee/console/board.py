"""A board as it stands beside the dialogue: lines of styled pieces. How it is drawn is in drawing."""

from typing import NamedTuple

_WIDEST = 34  # columns that a caption may take beside a smaller board: as many as 80 leave to it

Line = list[tuple[str, str]]


class Board(NamedTuple):
    """`lines` of the board and `notes` in words beside it; `stones`: the cells with something on them.

    `caption`: what is said over it about the match.
    """

    lines: list[Line]
    notes: tuple[str, ...] = ()
    stones: tuple[str, ...] = ()
    caption: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Columns."""
        return max((sum(len(piece) for _, piece in line) for line in self.lines), default=0)

    @property
    def height(self) -> int:
        """Lines."""
        return len(self.lines)

    def captioned(self) -> "Board":
        """With the caption among its lines, cut to the room that there is."""
        room = max(self.width, _WIDEST)
        cut = [text if len(text) <= room else f"{text[: room - 1]}…" for text in self.caption]
        over: list[Line] = [[("", text)] for text in cut]
        return self._replace(lines=[*over, *self.lines], caption=())


NOTHING = Board([])
