"""A scene as an SVG picture, to be put in a page or a file of its own: no scripts, no references, no style sheets.

Lengths are in distances between neighbours (see shapes); only the width and the height of the whole are in pixels.
"""

from collections.abc import Iterable, Iterator
from textwrap import wrap

from ggp.protocol.drawing import shapes
from ggp.protocol.drawing.scene import Cell, Scene, replace_unprintable, sentence
from ggp.protocol.drawing.shapes import BOARD, GRID, INK, ON, PAGE, SHADE, element, moved, number, text, written

UNIT = 40  # pixels of a distance, of a big picture less
NAMED_UNIT = 56  # for cells that contain their names
MAX_WIDTH, MAX_NAMED_WIDTH = 1600, 4000  # pixels
LETTER = 0.62  # width of a letter in a sans-serif font, at most on average, in font sizes
LABEL, NAME = 0.36, 0.21  # font sizes
CAPTION = 16  # pixels of its font; a line and a half from one line to the next
NARROWEST = 320  # pixels; a caption is not squeezed under a small board
FRAME = 0.3  # of paper round all


def draw(scene: Scene, title: str = "") -> str:
    """Return the picture, one element a line, with a final newline. Screen readers read `title`."""
    named = not scene.labels
    left, top, right, bottom = _box(scene)
    widest = MAX_NAMED_WIDTH if named else MAX_WIDTH
    unit = min(NAMED_UNIT if named else UNIT, widest / (right - left + 2 * FRAME))
    spare = max(0.0, NARROWEST / unit - (right - left)) / 2
    left, right = left - spare, right + spare
    letter = CAPTION / unit
    caption = _caption_lines(scene, int((right - left) / (letter * LETTER)))
    height = bottom - top + (len(caption) * letter * 1.5 + 0.3 if caption else 0)
    box = (left - FRAME, top - FRAME, right - left + 2 * FRAME, height + 2 * FRAME)
    heading = title or " ".join(part for part in (scene.game or "board", f"after ply {scene.ply}") if part)
    parts = [
        element("title", written(heading)),
        element("desc", written(description(scene))),
        element("rect", x=box[0], y=box[1], width=box[2], height=box[3], fill=PAGE),
        *_ground(scene),
        *_pieces(scene),
        *(_names(scene) if named else ()),
        *(text(label.text, label.x, label.y, LABEL, class_="label") for label in scene.labels),
        *(
            text(line, left, bottom + 0.3 + letter * (1.5 * row + 0.75), letter, "start", class_="caption")
            for row, line in enumerate(caption)
        ),
    ]
    return (
        element(
            "svg",
            "\n" + "\n".join(parts) + "\n",
            xmlns="http://www.w3.org/2000/svg",
            viewBox=" ".join(map(number, box)),
            width=str(round(box[2] * unit)),
            height=str(round(box[3] * unit)),
            role="img",
            font_family="sans-serif",
        )
        + "\n"
    )


def description(scene: Scene) -> str:
    """Describe the picture in words: the pieces by kind, the last ply, what lies beside the board."""
    kinds: dict[str, list[str]] = {}
    for piece in scene.pieces:
        kinds.setdefault(f"{piece.colour} {piece.kind}", []).append(piece.at)
    for entry in scene.control:
        kinds.setdefault(f"{entry.colour} controls", []).append(entry.at)
    if scene.last:
        kinds["last ply"] = scene.last
    parts = [f"{what.capitalize()}: {' '.join(cells)}." for what, cells in kinds.items()]
    parts += [f"{token.text}." for token in scene.tokens]
    return replace_unprintable(" ".join([*parts, sentence(scene)]).strip() or "An empty board.")


def _box(scene: Scene) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom of the drawing without the caption."""
    margin = {"square": 0.75, "hex": 0.6, "points": 0.75}[scene.board.kind]
    xs, ys = [0.0], [0.0]
    if scene.cells:
        xs = [x for cell in scene.cells for x in (cell.x - margin, cell.x + margin)]
        ys = [y for cell in scene.cells for y in (cell.y - margin, cell.y + margin)]
    for label in scene.labels:
        half = len(label.text) * LABEL * LETTER / 2
        xs += [label.x - half, label.x + half]
        ys += [label.y - LABEL / 2, label.y + LABEL / 2]
    return min(xs), min(ys), max(xs), max(ys)


def _ground(scene: Scene) -> Iterator[str]:
    """Draw the board without pieces, and who controls its cells."""
    kind, places = scene.board.kind, {cell.at: (cell.x, cell.y) for cell in scene.cells}
    if kind == "square" and scene.cells:
        yield _board_rectangle(scene.cells)
    if scene.cells and (kind == "hex" or (kind == "square" and not scene.lines)):
        yield shapes.outlines(places.values(), kind, BOARD)
    elif kind == "points" and scene.lines:
        path = _path(scene.lines)
        yield element("path", d=path, stroke=BOARD, stroke_width=1.4, stroke_linecap="round", stroke_linejoin="round")
    for colour, marks in (("black", shapes.hatching), ("white", shapes.dotting)):
        if held := [places[entry.at] for entry in scene.control if entry.colour == colour]:
            yield shapes.outlines(held, kind, SHADE[colour])
            yield marks(held, kind)
    if scene.lines:
        yield element("path", d=_path(scene.lines), stroke=GRID, stroke_width=0.035, stroke_linecap="round")
    if strokes := _strokes(scene):
        yield element("path", d=strokes, stroke=GRID, stroke_width=0.03)
    yield from (element("circle", cx=x, cy=y, r=0.09, fill=GRID) for x, y in scene.dots)


def _board_rectangle(cells: list[Cell]) -> str:
    xs, ys = [cell.x for cell in cells], [cell.y for cell in cells]
    width, height = max(xs) - min(xs) + 1.2, max(ys) - min(ys) + 1.2
    return element("rect", x=min(xs) - 0.6, y=min(ys) - 0.6, width=width, height=height, rx=0.1, fill=BOARD)


def _path(lines: Iterable[tuple[float, float, float, float]]) -> str:
    return "".join(f"M{number(a)} {number(b)}L{number(c)} {number(d)}" for a, b, c, d in lines)


def _pieces(scene: Scene) -> Iterator[str]:
    """Draw one group for each piece: its shape, and its mark if the last ply put it there."""
    places, last = {cell.at: (cell.x, cell.y) for cell in scene.cells}, set(scene.last)
    pieces = {piece.at: piece for piece in scene.pieces}
    partner = {at: other for one, two in scene.joins for at, other in ((one, two), (two, one)) if at in pieces}
    radius = shapes.RADIUS[scene.board.kind]
    for piece in scene.pieces:
        x, y = places[piece.at]
        if piece.at in partner:
            to_x, to_y = places[partner[piece.at]]
            shape, ring = shapes.half_of_body(piece.colour, round(to_x - x, 4), round(to_y - y, 4)), shapes.HALF - 0.05
        else:
            shape, ring = shapes.piece_shape((piece.colour, piece.kind, piece.glyph), radius), radius - 0.1
        mark = shapes.last_mark(piece.colour, piece.kind, ring) if piece.at in last else ""
        yield element("g", shape + mark, class_="piece", data_at=piece.at, transform=moved(x, y))
    yield from (shapes.empty_mark(*places[at]) for at in scene.last if at not in pieces)


def _strokes(scene: Scene) -> str:
    """Draw strokes from the labels of slanting columns to where the columns begin."""
    reach = 0.5 if scene.board.kind == "hex" else 0.0
    lines = []
    for label in scene.labels:
        if label.to:
            x, y = label.to[0] - label.x, label.to[1] - label.y
            lines.append((label.x + 0.3 * x, label.y + 0.3 * y, label.to[0] - reach * x, label.to[1] - reach * y))
    return _path(lines)


def _names(scene: Scene) -> Iterator[str]:
    """Write the name of every cell into it, below a piece that leaves no room."""
    pieces = {piece.at: piece for piece in scene.pieces}
    for cell in scene.cells:
        piece = pieces.get(cell.at)
        cone = piece is not None and piece.kind == "cone"
        room = 0.66 if piece else 0.8
        size = min(NAME, room / (len(cell.at) * LETTER))
        colour = INK if piece is None or cone else ON[piece.colour]
        yield text(cell.at, cell.x, cell.y + 0.33 * cone, size * (0.85 if cone else 1), fill=colour, class_="name")


def _caption_lines(scene: Scene, letters: int) -> list[str]:
    """Return the side to act and the tokens beside the board, in lines of at most so many letters."""
    lines = [sentence(scene), *(replace_unprintable(token.text) for token in scene.tokens), "; ".join(_signs(scene))]
    return [part for line in lines for part in wrap(line, letters)]


def _signs(scene: Scene) -> Iterator[str]:
    """Explain the signs that this picture has."""
    kinds, sides = {piece.kind for piece in scene.pieces}, {entry.colour for entry in scene.control}
    for sign, meaning, there in (
        ("crowned", "king", "king" in kinds),
        ("triangle", "cone", "cone" in kinds),
        ("hatched", "black controls", "black" in sides),
        ("dotted", "white controls", "white" in sides),
    ):
        if there:
            yield f"{sign}: {meaning}"
