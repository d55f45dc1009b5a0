"""A scene as an SVG picture, without scripts or external references.

Lengths are in distances between neighbours. One distance is written as 40 units, because programs draw letters badly if
their size is below one. The picture is only the board; `sentence`, the tokens and `legend` are for the text beside it.
Nothing depends on colour alone: kings have a crown, cones are triangles, the pieces of the last ply have a ring, and a
controlled cell has a square mark in its side's colour unless a piece of that side stands there.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from html import escape
from itertools import combinations, pairwise
from math import cos, hypot, pi, sin
from typing import NamedTuple

import msgspec

from ggp.protocol.drawing import board_style
from ggp.protocol.drawing.scene import Cell, Label, Scene, replace_unprintable, sentence

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""left, top, right, bottom"""

SCALE = 40
UNIT, NAMED_UNIT = 40, 56  # pixels of a distance; more where cells contain their names
MAX_WIDTH, MAX_NAMED_WIDTH = 1600, 4000  # pixels
LETTER = 0.62  # average width of a sans-serif letter in font sizes (an upper bound)
NAME = 0.21  # font size of cell names
PLAIN = ("stone", "pawn", "tile", "half", "king", "cone")
"""Kinds that need no letter on them."""
RADIUS = {"square": 0.47, "points": 0.46, "hex": 0.405}
"""The radius of a stone by board; in a hexagon, part of the cell stays visible around it."""
HEXAGON = tuple((cos(turn) / 3**0.5, sin(turn) / 3**0.5) for turn in (pi / 6 + pi / 3 * step for step in range(6)))
"""The corners of a hexagonal cell around the origin, with one corner on top and neighbours at distance 1."""
SQUARE = ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))
TRIANGLE = ((0.0, -0.43), (0.39, 0.235), (-0.39, 0.235))
CROWN = ((-0.27, 0.21), (-0.29, -0.13), (-0.13, 0.04), (0.0, -0.22), (0.13, 0.04), (0.29, -0.13), (0.27, 0.21))
SHADOW = (0.03, 0.05)
GRADIENTS = (
    '<defs><radialGradient id="gb" cx=".36" cy=".3" r=".75"><stop offset="0" class="gb0"/>'
    '<stop offset="1" class="gb1"/></radialGradient><radialGradient id="gw" cx=".36" cy=".3" r=".8">'
    '<stop offset=".7" class="gw0"/><stop offset="1" class="gw1"/></radialGradient></defs>'
)
"""The gradients that fill the stones; a page needs them once, a picture file needs its own."""


class _Layout(NamedTuple):
    """The layout of a picture: the box of the ground, the labels with their places, and the box of everything."""

    ground: Box
    labels: list[tuple[Label, float, float]]
    font: float
    whole: Box


def draw(scene: Scene, title: str = "", *, page: bool = False, thumbnail: bool = False) -> str:
    """Return the picture as SVG, one element a line, with a final newline.

    Args:
        scene: The position.
        title: The title for screen readers; by default the game and the ply.
        page: The picture is part of a page, which has the style sheet and the gradients.
        thumbnail: Leave out labels, names and marks.
    """
    layout = _layout(scene, thumbnail)
    left, top, right, bottom = layout.whole
    named = not scene.labels
    unit = min(NAMED_UNIT if named else UNIT, (MAX_NAMED_WIDTH if named else MAX_WIDTH) / (right - left))
    heading = title or " ".join(part for part in (scene.game or "board", f"after ply {scene.ply}") if part)
    parts = [element("title", written(heading)), element("desc", written(description(scene)))]
    if not page:
        parts += [f"<style>\n{board_style.standalone()}</style>", GRADIENTS]
    parts += [*_ground(scene, layout), *_pieces(scene, thumbnail)]
    if not thumbnail:
        parts += [*_labels(scene, layout), *(_names(scene) if named else ()), *_marks(scene)]
    size = {} if page else {"width": str(round((right - left) * unit)), "height": str(round((bottom - top) * unit))}
    return (
        element(
            "svg",
            "\n" + "\n".join(parts) + "\n",
            xmlns="http://www.w3.org/2000/svg",
            class_="bd",
            viewBox=" ".join(map(number, (left, top, right - left, bottom - top))),
            **size,
            role="img",
            font_family="sans-serif",
        )
        + "\n"
    )


def emblem(scene: Scene) -> str:
    """Return the middle of the board with its pieces, as a small picture of the game."""
    cells = _board_cells(scene)
    if not cells:
        return draw(scene, thumbnail=True)
    x, y = (sum(one) / len(cells) for one in zip(*((cell.x, cell.y) for cell in cells), strict=True))
    middle = min(cells, key=lambda cell: (cell.x - x) ** 2 + (cell.y - y) ** 2)

    def is_near(cell_x: float, cell_y: float) -> bool:
        across, down = abs(cell_x - middle.x), abs(cell_y - middle.y)
        return (max(across, down) if scene.board.kind == "square" else hypot(across, down)) < 1.05

    near = {cell.at: cell for cell in cells if is_near(cell.x, cell.y)}
    lines = [
        (one.x, one.y, other.x, other.y)
        for one, other in combinations(near.values(), 2)
        if scene.lines and hypot(one.x - other.x, one.y - other.y) < 1.05
    ]
    small = msgspec.structs.replace(
        scene,
        cells=list(near.values()),
        pieces=[piece for piece in scene.pieces if piece.at in near],
        control=[entry for entry in scene.control if entry.at in near],
        joins=[pair for pair in scene.joins if near.keys() >= {*pair}],
        lines=lines,
        dots=[],
        marks=[],
        last=[],
        labels=[],
    )
    return draw(small, scene.game or "board", thumbnail=True)


def description(scene: Scene) -> str:
    """Return a description of the picture: the pieces by kind, the last ply, and the facts beside the board."""
    kinds: dict[str, list[str]] = {}
    for piece in scene.pieces:
        kinds.setdefault(f"{piece.colour} {piece.kind}", []).append(piece.at)
    for entry in scene.control:
        kinds.setdefault(f"{entry.colour} controls", []).append(entry.at)
    for mark in scene.marks:
        kinds.setdefault(f"{mark.kind} cells", []).append(mark.at)
    if scene.last:
        kinds["last ply"] = scene.last
    parts = [f"{what.capitalize()}: {' '.join(cells)}." for what, cells in kinds.items()]
    parts += [f"{token.text}." for token in scene.tokens]
    return replace_unprintable(" ".join([*parts, sentence(scene)]).strip() or "An empty board.")


def legend(scene: Scene) -> list[tuple[str, str]]:
    """Return the signs that occur in this picture, each with its meaning."""
    kinds = {piece.kind for piece in scene.pieces}
    signs = (
        ("crown", "king", "king" in kinds),
        ("triangle", "cone", "cone" in kinds),
        ("shade or black square", "controlled by Black", any(entry.colour == "black" for entry in scene.control)),
        ("light shade or white square", "controlled by White", any(entry.colour == "white" for entry in scene.control)),
        ("cross", "dead", any(mark.kind == "dead" for mark in scene.marks)),
        ("dot in a piece", "decides the game", any(mark.kind == "win" for mark in scene.marks)),
        ("ring or dashed square", "the last move", bool(scene.last)),
    )
    return [(sign, meaning) for sign, meaning, there in signs if there]


def element(name: str, content: str | None = None, /, **attributes: str | float) -> str:
    """Return one element; `content` is markup. `_` in attribute names becomes `-`; a final `_` is dropped."""
    pairs = (
        f' {key if key == "viewBox" else key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
    )
    start = f"<{name}{''.join(pairs)}"
    return f"{start}/>" if content is None else f"{start}>{content}</{name}>"


def written(content: str) -> str:
    """Return text escaped as markup."""
    return escape(replace_unprintable(content), quote=True)


def number(value: float) -> str:
    """Return a length in distances as SVG units: at most one decimal, never -0."""
    return f"{round(value * SCALE, 1) + 0.0:.1f}".removesuffix(".0")


def text(content: str, x: float, y: float, size: float, class_: str) -> str:
    """Return a text element centred at (x, y)."""
    return element("text", written(content), class_=class_, x=x, y=y + size * 0.35, font_size=size)


def circle(x: float, y: float, radius: float, class_: str) -> str:
    """Return a circle around (x, y)."""
    return element("circle", class_=class_, cx=x, cy=y, r=radius)


def _value(value: str | float) -> str:
    return written(value) if isinstance(value, str) else number(value)


def _path(class_: str, steps: str, **attributes: str) -> str:
    return element("path", class_=class_, d=steps, **attributes)


def _polygon(x: float, y: float, corners: Iterable[Point]) -> str:
    return "M" + "L".join(f"{number(x + a)} {number(y + b)}" for a, b in corners) + "Z"


def _disc(x: float, y: float, radius: float) -> str:
    r, width = number(radius), number(2 * radius)
    return f"M{number(x - radius)} {number(y)}a{r} {r} 0 1 0 {width} 0a{r} {r} 0 1 0 -{width} 0"


def _strokes(lines: Iterable[tuple[float, float, float, float]]) -> str:
    return "".join(f"M{number(a)} {number(b)}L{number(c)} {number(d)}" for a, b, c, d in lines)


@lru_cache(maxsize=8)
def _outline(kind: str) -> tuple[Point, str]:
    """Return the first corner of a cell, and the path steps around it."""
    corners = HEXAGON if kind == "hex" else SQUARE
    return corners[0], "".join(
        f"l{number(bx - ax)} {number(by - ay)}" for (ax, ay), (bx, by) in pairwise(corners)
    ) + "z"


def _outlines(places: Iterable[Point], kind: str) -> str:
    (x0, y0), steps = _outline(kind)
    return "".join(f"M{number(x + x0)} {number(y + y0)}{steps}" for x, y in places)


# -- layout


def _board_cells(scene: Scene) -> list[Cell]:
    """Return the cells on the board, without those under a label, such as a column that a move names."""
    labels = {(label.x, label.y) for label in scene.labels}
    return [cell for cell in scene.cells if (cell.x, cell.y) not in labels] or scene.cells


def _layout(scene: Scene, thumbnail: bool) -> _Layout:
    cells = _board_cells(scene)
    xs, ys = [cell.x for cell in cells] or [0.0], [cell.y for cell in cells] or [0.0]
    kind = scene.board.kind
    margin_x, margin_y = {"square": (0.62, 0.62), "hex": (0.62, 0.7), "points": (0.8, 0.8)}[kind]
    ground = min(xs) - margin_x, min(ys) - margin_y, max(xs) + margin_x, max(ys) + margin_y
    if thumbnail or not scene.labels:
        return _Layout(ground, [], 0, _grown(ground, 0.06))
    font = max(0.26, 0.026 * (ground[2] - ground[0]))
    shown = [(label, label.x, label.y) for label in scene.labels]
    if kind == "square":
        # Labels stand on the wood, once for each row and column where an engine names both ends.
        inner, ground = ground, ground
        shown, seen = [], set[str]()
        for label in sorted(scene.labels, key=lambda label: (label.x > max(xs), label.y < min(ys))):
            if label.text in seen:
                continue
            seen.add(label.text)
            x, y = label.x, label.y
            room = font * max(1.5, 0.4 + LETTER * len(label.text))
            if x < min(xs) or x > max(xs):
                x = inner[0] - room / 2 if x < min(xs) else inner[2] + room / 2
            elif y > max(ys) or y < min(ys):
                y = inner[3] + font * 0.6 if y > max(ys) else inner[1] - font * 0.6
            half = room / 2
            ground = (
                min(ground[0], x - half),
                min(ground[1], y - font * 0.9),
                max(ground[2], x + half),
                max(ground[3], y + font * 0.9),
            )
            shown.append((label, x, y))
        return _Layout(ground, shown, font, _grown(ground, 0.06))
    whole = ground
    for label, x, y in shown:
        half = len(label.text) * font * LETTER / 2 + 0.05
        whole = min(whole[0], x - half), min(whole[1], y - font), max(whole[2], x + half), max(whole[3], y + font)
    return _Layout(ground, shown, font, _grown(whole, 0.06))


def _grown(box: Box, by: float) -> Box:
    return box[0] - by, box[1] - by, box[2] + by, box[3] + by


def _hull(points: Iterable[Point]) -> list[Point]:
    """Return the corners of the convex hull."""
    ordered = sorted(set(points))

    def half(some: list[Point]) -> list[Point]:
        chain: list[Point] = []
        for point in some:
            while len(chain) > 1 and _turns_right(chain[-2], chain[-1], point):
                chain.pop()
            chain.append(point)
        return chain[:-1]

    return half(ordered) + half(ordered[::-1]) or ordered


def _turns_right(a: Point, b: Point, c: Point) -> bool:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) <= 0


# -- the parts


def _ground(scene: Scene, layout: _Layout) -> Iterator[str]:
    """Draw the board without pieces, and shade the cells that a side controls."""
    kind, cells = scene.board.kind, _board_cells(scene)
    places = [(cell.x, cell.y) for cell in cells]
    if not places:
        return
    left, top, right, bottom = layout.ground
    if kind == "square":
        yield element("rect", class_="bd-wood", x=left, y=top, width=right - left, height=bottom - top, rx=0.16)
        if not scene.lines:
            yield _path("bd-hole", "".join(_disc(x, y, 0.43) for x, y in places))
    elif kind == "points":
        yield _path("bd-wood bd-hull", _polygon(0, 0, _hull(places)))
    else:
        outlines = _outlines(places, kind)
        yield _path("bd-rim", outlines)
        yield _path("bd-wood", outlines)
    at = {cell.at: (cell.x, cell.y) for cell in scene.cells}
    for colour in ("black", "white"):
        if held := [at[entry.at] for entry in scene.control if entry.colour == colour]:
            yield _path(f"bd-ctl-{colour[0]}", _outlines(held, kind))
    if kind == "hex":
        yield _path("bd-grid", outlines)
    elif scene.lines:
        yield _path("bd-grid", _strokes(scene.lines))
    if scene.dots:
        yield _path("bd-star", "".join(_disc(x, y, 0.085) for x, y in scene.dots))


def _labels(scene: Scene, layout: _Layout) -> Iterator[str]:
    """Draw the names of columns and rows, and a stroke from the name of a slanting column to its first cell."""
    handles = {(cell.x, cell.y) for cell in scene.cells}
    ticks, chutes = [], []
    for label, x, y in layout.labels:
        if label.to:
            dx, dy = label.to[0] - x, label.to[1] - y
            ticks.append((x + 0.34 * dx, y + 0.34 * dy, x + 0.5 * dx, y + 0.5 * dy))
        if (label.x, label.y) in handles and scene.board.kind == "square":
            below = y + layout.font * 0.75
            chutes += [(x - 0.22, below, x, below + 0.14), (x, below + 0.14, x + 0.22, below)]
    if ticks:
        yield _path("bd-tick", _strokes(ticks))
    if chutes:
        yield _path("bd-handle", _strokes(chutes))
    kind = "bd-on" if scene.board.kind == "square" else "bd-lab"
    for label, x, y in layout.labels:
        yield text(label.text, x, y, layout.font, kind)


def _pieces(scene: Scene, thumbnail: bool) -> Iterator[str]:
    """Draw one path for all shadows, then each piece with its crown or letter."""
    kind = scene.board.kind
    at = {cell.at: (cell.x, cell.y) for cell in scene.cells}
    standing = {piece.at for piece in scene.pieces}
    partner = {one: two for pair in scene.joins for one, two in (pair, pair[::-1]) if one in standing}
    radius = RADIUS[kind] if kind != "square" or scene.lines else 0.4
    shadows, drawn = [], []
    dead = {mark.at for mark in scene.marks if mark.kind == "dead"}
    for piece in scene.pieces:
        x, y = at[piece.at]
        colour = piece.colour[0]
        look = {"class_": f"pc pc-{colour}", "data_at": piece.at}
        if piece.at in dead:
            look["opacity"] = "0.45"
        if piece.at in partner or piece.kind == "cone":
            corners = TRIANGLE if piece.at not in partner else _half_of_tile((x, y), at[partner[piece.at]])
            shadows.append(_polygon(x + SHADOW[0], y + SHADOW[1], corners))
            drawn.append(element("path", d=_polygon(x, y, corners), **look))
            continue
        shadows.append(_disc(x + SHADOW[0], y + SHADOW[1], radius))
        drawn.append(element("circle", cx=x, cy=y, r=radius, **look))
        if piece.kind == "king":
            drawn.append(_path(f"crown-{colour}", _polygon(x, y, CROWN)))
        elif piece.kind not in PLAIN and piece.glyph.strip():
            drawn.append(text(piece.glyph, x, y, 0.42, f"on-{colour}"))
    if shadows and not thumbnail:
        yield _path("bd-shadow", "".join(shadows))
    yield from drawn


def _half_of_tile(place: Point, other: Point) -> list[Point]:
    """Return the corners, around the origin, of one half of a tile of two hexagons, with a gap to all other cells."""
    dx, dy = other[0] - place[0], other[1] - place[1]
    corners = []
    for x, y in ((0.84 * a, 0.84 * b) for a, b in HEXAGON):
        along = x * dx + y * dy
        move = 0.5 - along if along > 0.3 else 0.0
        corners.append((x + dx * move, y + dy * move))
    return corners


def _names(scene: Scene) -> Iterator[str]:
    """Draw every cell's name in the cell, lower if a cone leaves no room."""
    pieces = {piece.at: piece for piece in scene.pieces}
    for cell in scene.cells:
        piece = pieces.get(cell.at)
        cone = piece is not None and piece.kind == "cone"
        size = min(NAME, (0.66 if piece else 0.8) / (len(cell.at) * LETTER))
        class_ = "bd-on" if piece is None or cone else f"on-{piece.colour[0]}"
        yield text(cell.at, cell.x, cell.y + 0.33 * cone, size * (0.85 if cone else 1), class_)


def _marks(scene: Scene) -> Iterator[str]:
    """Draw the marks: control, the last ply, dead pieces, and the cells that decided the game."""
    at = {cell.at: (cell.x, cell.y) for cell in scene.cells}
    pieces = {piece.at: piece for piece in scene.pieces}
    for entry in scene.control:
        if entry.at not in pieces or pieces[entry.at].colour != entry.colour:
            x, y = at[entry.at]
            yield element("rect", class_=f"own-{entry.colour[0]}", x=x - 0.1, y=y - 0.1, width=0.2, height=0.2)
    radius = RADIUS[scene.board.kind]
    for name in scene.last:
        x, y = at[name]
        if (piece := pieces.get(name)) is None:
            yield element("rect", class_="mk-left", x=x - 0.13, y=y - 0.13, width=0.26, height=0.26)
        else:
            ring = {"cone": 0.1, "king": radius - 0.075}.get(piece.kind, radius * 0.62)
            yield circle(x, y, ring, f"last-{piece.colour[0]}")
    for mark in scene.marks:
        x, y = at[mark.at]
        if mark.kind == "dead":
            yield _path(
                "mk-dead", _strokes([(x - 0.2, y - 0.2, x + 0.2, y + 0.2), (x + 0.2, y - 0.2, x - 0.2, y + 0.2)])
            )
        elif mark.kind == "win":
            piece = pieces.get(mark.at)
            yield circle(x, y, radius * 0.36, f"crown-{piece.colour[0] if piece else 'w'}")
