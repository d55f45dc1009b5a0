"""What is drawn over the picture of a position: cells to click on, legal moves, the line that a bot expects.

A style sheet shows and hides the groups: `cells`, `legal`, `line`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ggp.protocol.drawing.shapes import FILL, INK, ON, SCALE, element, text

MOST_LINE = 12  # moves of a line that are drawn
Cells = Mapping[str, tuple[float, float]]


def with_overlays(svg: str, cells: Cells, legal: Sequence[str], line: Sequence[str], to_play: str) -> str:
    """The picture with the groups before its end. `line`: moves from this position on, `to_play` first."""
    if not svg:
        return ""
    cells_of = cell_finder(cells)
    begins = {named[0] for move in legal if (named := cells_of(move))}
    groups = [
        ("cells", (element("circle", cx=x, cy=y, r=0.5, data_at=at) for at, x, y in _places(cells, cells))),
        ("legal", (element("circle", cx=x, cy=y, r=0.13) for _, x, y in _places(cells, begins))),
        ("line", _line(cells, line[:MOST_LINE], to_play)),
    ]
    drawn = "".join(
        element("g", "\n" + "".join(f"{part}\n" for part in parts), class_=name) + "\n" for name, parts in groups
    )
    return f"{svg.rstrip().removesuffix('</svg>')}{drawn}\n</svg>\n"


def cell_finder(names: Iterable[str]) -> Callable[[str], list[str]]:
    """What finds the cells with these names in a move, in the move's order: `1,-1/2,-1`, `L7+M7`, `D4`; [] for `pass`.

    A move is read from left to right: the longest name of a cell is a cell, the rest is not looked at.
    """
    known = frozenset(names)
    longest = max(map(len, known), default=0)

    def cells_of(move: str) -> list[str]:
        found, at = [], 0
        while at < len(move):
            for end in range(min(len(move), at + longest), at, -1):
                if move[at:end] in known and not (_joins(move, at) or _joins(move, end)):
                    found.append(move[at:end])
                    at = end
                    break
            else:
                at += 1
        return found

    return cells_of


def _joins(move: str, at: int) -> bool:
    """Whether a word goes on here."""
    return 0 < at < len(move) and move[at - 1].isalnum() and move[at].isalnum()


def _places(cells: Cells, some: "Cells | set[str]") -> Iterator[tuple[str, float, float]]:
    """In distances between neighbours."""
    return ((at, x / SCALE, y / SCALE) for at, (x, y) in cells.items() if at in some)


def _line(cells: Cells, line: Sequence[str], to_play: str) -> Iterator[str]:
    """A numbered stone for each move; a move of several cells has its number on each."""
    cells_of = cell_finder(cells)
    colours = ("black", "white") if to_play != "white" else ("white", "black")
    seen = set[str]()
    for number, move in enumerate(line):
        colour = colours[number % 2]
        for at in cells_of(move):
            if at in seen:
                continue
            seen.add(at)
            x, y = (length / SCALE for length in cells[at])
            look: dict[str, str | float] = {"fill": FILL[colour], "stroke": INK, "stroke_width": 0.04}
            yield element("circle", cx=x, cy=y, r=0.34, **look, stroke_dasharray="3 2")
            yield text(str(number + 1), x, y, 0.36, fill=ON[colour])
