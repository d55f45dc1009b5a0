"""A scene as lines of characters, for people at a terminal. It uses no colours and never moves the cursor.

Half a distance is one column and every y is one line, so that rows of hexagons are shifted by half a step. A board
without labels gets axes if its cells are named `Q,R` by their place on a hexagonal lattice. On any other board without
labels, each row has the names of its first and last cell beside it.
"""

import re
from collections.abc import Iterable
from math import sqrt
from textwrap import wrap
from unicodedata import combining, east_asian_width

from ggp.protocol.drawing.scene import Cell, Label, Piece, Scene, replace_unprintable, sentence

WIDTH = 100  # columns of a terminal; a wider board is drawn in parts, from left to right
GLYPHS = {
    ("black", "king"): "#",
    ("white", "king"): "@",
    ("black", "cone"): "#",
    ("white", "cone"): "@",
}
FIXED = "\N{NO-BREAK SPACE}"  # replace_unprintable lets no other one through
EMPTY, MARKS = ".", {"black": "+", "white": "-"}
"""The mark of an empty uncontrolled cell, and of a controlled one."""
_LATTICE_NAME = re.compile(r"(-?\d{1,4}),(-?\d{1,4})", re.ASCII)
_ROUNDED = 0.01  # tolerance for the place of a lattice cell


def draw(scene: Scene, width: int = WIDTH) -> str:
    """Return the board, with no line longer than `width`. Parentheses mark the cells of the last ply."""
    if not scene.cells:
        return ""
    left, right = min(cell.x for cell in scene.cells), max(cell.x for cell in scene.cells)
    labels = scene.labels or _own_labels(scene, scene.cells)
    if 2 * (right - left) < width:
        whole = _draw_part(scene, scene.cells, labels)
        if max(map(len, whole)) <= width:
            return "\n".join(whole)
    margin = max(len(label.text) for label in labels) + 1
    if not scene.labels and _lattice(scene.cells):
        margin += 2  # the number of a row stands left of the numbers of slanting lines
    step = max(1, (width - 2 * margin - 2) // 2)  # distances that fit between the labels
    starts = range(int((right - left) // step) + 1)
    parts = []
    for start in starts:
        low, high = left + start * step, left + (start + 1) * step
        inside = [cell for cell in scene.cells if low <= cell.x < high]
        if inside:
            low, high = low - 2 * (start == starts[0]), high + 2 * (start == starts[-1])  # where the rows' names stand
            given = [label for label in scene.labels if low <= label.x < high]
            parts.append(_draw_part(scene, inside, given or _own_labels(scene, inside)))
    titled = ([f"part {number} of {len(parts)}, from the left:", *part] for number, part in enumerate(parts, 1))
    return "\n".join(line for part in titled for line in part)


def describe(scene: Scene, width: int = WIDTH) -> list[str]:
    """Return lines that explain the signs, give the facts beside the board, and say whose turn it is."""
    held, stands = controlled(scene), dict[str, str]()
    for piece in scene.pieces:
        owner = held.get(piece.at, piece.colour)
        under = "" if owner == piece.colour else f" that {owner} controls"
        stands[sign(piece, held)] = f"{piece.colour} {replace_unprintable(piece.kind)}{under}"
    taken = {piece.at for piece in scene.pieces}
    empty = {MARKS[entry.colour]: f"{entry.colour} controls" for entry in scene.control if entry.at not in taken}
    signs = [f"{sign} {word}" for part in (stands, empty) for sign, word in sorted(part.items(), key=lambda at: at[1])]
    legend = ", ".join(sign.replace(" ", FIXED) for sign in signs)
    lines = [
        legend,
        *(replace_unprintable(token.text) for token in scene.tokens),
        *_how_to_name(scene),
        sentence(scene),
    ]
    return [part.replace(FIXED, " ") for line in lines for part in wrap(line, width)]


def sign(piece: Piece, held: dict[str, str]) -> str:
    """Return the piece's character, in lower case on a cell that the other side controls."""
    glyph = piece.glyph
    if not glyph.strip() or not glyph.isprintable() or combining(glyph) or east_asian_width(glyph) in "WF":
        glyph = GLYPHS.get((piece.colour, piece.kind), "X" if piece.colour == "black" else "O")
    return glyph.lower() if held.get(piece.at, piece.colour) != piece.colour else glyph


def controlled(scene: Scene) -> dict[str, str]:
    """Return the controlled cells, each with the side that controls it."""
    return {entry.at: entry.colour for entry in scene.control}


def _draw_part(scene: Scene, cells: list[Cell], labels: list[Label]) -> list[str]:
    """Return the lines of a part of the board, with these cells and labels."""
    heights = {cell.y for cell in cells} | {label.y for label in labels}
    rows: dict[float, dict[int, str]] = {y: {} for y in sorted(heights)}
    pieces, held, last = {piece.at: piece for piece in scene.pieces}, controlled(scene), set(scene.last)
    opens, first = set(), dict[float, int]()
    for cell in cells:
        column = round(2 * cell.x)
        piece = pieces.get(cell.at)
        rows[cell.y][column] = sign(piece, held) if piece else MARKS.get(held.get(cell.at, ""), EMPTY)
        first[cell.y] = min(first.get(cell.y, column), column)
        if cell.at in last:
            opens.add((cell.y, column))
    for y, column in opens:  # one pair encloses both neighbours, whose own parentheses would share a column
        rows[y][column - 1] = " " if (y, column - 2) in opens else "("
        rows[y][column + 1] = " " if (y, column + 2) in opens else ")"
    for label in labels:
        column, text = round(2 * label.x), replace_unprintable(label.text)
        if column < first.get(label.y, column):  # a label left of a row is aligned to the right
            column -= len(text) - 1
        rows[label.y].update(enumerate(text, column))
    start = min(min(row) for row in rows.values() if row)
    end = max(max(row) for row in rows.values() if row)
    return ["".join(row.get(column, " ") for column in range(start, end + 1)).rstrip() for row in rows.values()]


def _how_to_name(scene: Scene) -> list[str]:
    """Explain the axes with one cell as an example; return [] for a board with other labels."""
    lattice = {} if scene.labels else _lattice(scene.cells)
    places = [lattice[at] for at in (*(piece.at for piece in scene.pieces), *lattice) if at in lattice]
    if not places:
        return []
    q, r = next((place for place in places if place[0] != place[1]), places[0])
    return [f"{q},{r} is the cell where slanting line {q} (lower left to upper right) crosses row ,{r}"]


def _own_labels(scene: Scene, cells: list[Cell]) -> list[Label]:
    """Return labels for cells of a scene that has none."""
    lattice = _lattice(scene.cells)
    return _axes(scene, {at: lattice[at] for at in (cell.at for cell in cells)}, cells) if lattice else _row_ends(cells)


def _lattice(cells: Iterable[Cell]) -> dict[str, tuple[int, int]]:
    """Return the coordinates (q, r) of every cell by its name `Q,R`, or {} unless all cells have such names and places.

    Source: axial coordinates of hexagons, x = q + r/2 and y = -r * sqrt(3)/2.
    """
    found = dict[str, tuple[int, int]]()
    for cell in cells:
        name = _LATTICE_NAME.fullmatch(cell.at)
        if name is None:
            return {}
        q, r = int(name[1]), int(name[2])
        if abs(cell.x - q - r / 2) > _ROUNDED or abs(cell.y + r * sqrt(3) / 2) > _ROUNDED:
            return {}
        found[cell.at] = q, r
    return found


def _axes(scene: Scene, lattice: dict[str, tuple[int, int]], cells: list[Cell]) -> list[Label]:
    """Return labels: `,R` left of every row, and Q at both ends of every slanting line.

    A Q that would touch its neighbour is left out; of two-digit numbers, every other one remains.
    """
    heights = {lattice[cell.at][1]: cell.y for cell in cells}
    rows, lines, solid, marks = (dict[int, set[int]]() for _ in range(4))
    last = set(scene.last)
    for at, (q, r) in lattice.items():
        rows.setdefault(r, set()).add(q)
        lines.setdefault(q, set()).add(r)
        solid.setdefault(r, set()).add(2 * q + r)
        marks.setdefault(r, set()).update((2 * q + r - 1, 2 * q + r + 1) if at in last else ())
    labels = list[Label]()
    for r, q in sorted({(r, q) for q, line in lines.items() for r in (min(line) - 1, max(line) + 1)}):
        text, column, beside = str(q), 2 * q + r, solid.setdefault(r, set())
        begin = column - (len(text) - 1 if r not in rows or q < min(rows[r]) else 0)
        own = set(range(begin, begin + len(text)))
        if own & marks.get(r, set()) or (own | {begin - 1, begin + len(text)}) & beside:
            continue
        beside |= own
        labels.append(Label(text, (column if r in rows else begin) / 2, heights.get(r, -r * sqrt(3) / 2)))
    left = min(min(columns) for columns in (*solid.values(), *marks.values()) if columns) - 2
    return [*(Label(f",{r}", left / 2, heights[r]) for r in rows), *labels]


def _row_ends(cells: Iterable[Cell]) -> list[Label]:
    """Return labels with the names of the first and last cell beside each row."""
    rows: dict[float, list[Cell]] = {}
    for cell in cells:
        rows.setdefault(cell.y, []).append(cell)
    labels = []
    for row in rows.values():
        first, last = min(row, key=lambda cell: cell.x), max(row, key=lambda cell: cell.x)
        labels += [Label(first.at, first.x - 1, first.y), Label(last.at, last.x + 1, last.y)]
    return labels
