"""The single parts of an SVG picture, in units of one distance: pieces, marks, grounds. Which and where is svg's part.

Written out, a distance is 40 units, because programs draw letters badly whose size is less than one.

Nothing depends on colour alone: dark stones are dark and light ones light, kings bear a crown, cones are triangles,
black's control is hatched and white's dotted, the last ply's pieces have a ring.
"""

from collections.abc import Iterable
from functools import lru_cache
from html import escape
from itertools import pairwise
from math import cos, hypot, pi, sin

from ggp.protocol.drawing.scene import replace_unprintable

Point = tuple[float, float]

PAGE, BOARD, GRID, INK = "#ffffff", "#efdfb8", "#5a4728", "#1c1c1c"
FILL = {"black": "#1c1c1c", "white": "#fdfdfd"}
EDGE = {"black": "#000000", "white": "#1c1c1c"}
ON = {"black": "#ffffff", "white": "#1c1c1c"}
"""What is legible on a piece of that colour."""
SHADE = {"black": "#cdbb90", "white": "#fbf4e0"}
SCALE = 40
PLAIN = ("stone", "pawn", "tile", "half", "king", "cone")
"""Kinds that need no letter on them."""
RADIUS = {"square": 0.46, "points": 0.46, "hex": 0.4}
"""Of a stone; in a hexagon the ground must show round it."""
HALF = 0.41  # half the width of a tile
HEXAGON = tuple((cos(turn) / 3**0.5, sin(turn) / 3**0.5) for turn in (pi / 6 + pi / 3 * step for step in range(6)))
"""The corners round 0 of a cell whose neighbours are one distance away, one of them on top."""
SQUARE = ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))
TRIANGLE = ((0.0, -0.42), (0.36, 0.2), (-0.36, 0.2))
CROWN = ((-0.26, 0.17), (-0.27, -0.15), (-0.13, 0.0), (0.0, -0.22), (0.13, 0.0), (0.27, -0.15), (0.26, 0.17))


def element(name: str, content: str | None = None, /, **attributes: str | float) -> str:
    """Return one element. `content` is markup; in attribute names `_` becomes `-`, and a trailing one is dropped."""
    pairs = (f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"' for key, value in attributes.items())
    start = f"<{name}{''.join(pairs)}"
    return f"{start}/>" if content is None else f"{start}>{content}</{name}>"


def written(text: str) -> str:
    """Return text as markup."""
    return escape(replace_unprintable(text), quote=True)


def number(value: float) -> str:
    """Format a length, given in distances: never -0, and to a hundredth of a unit."""
    return f"{round(value * SCALE, 2) + 0.0:.2f}".rstrip("0").rstrip(".")


def polygon(points: Iterable[Point], **attributes: str | float) -> str:
    """Return a closed line through these points."""
    return element("polygon", points=" ".join(f"{number(x)},{number(y)}" for x, y in points), **attributes)


def moved(x: float, y: float) -> str:
    """Return the value of `transform` that moves a shape from 0 to (x, y)."""
    return f"translate({number(x)} {number(y)})"


@lru_cache(maxsize=256)
def piece_shape(piece: tuple[str, str, str], radius: float) -> str:
    """Return the piece (colour, kind, glyph) at 0, without its mark; a stone has this radius."""
    colour, kind, glyph = piece
    look: dict[str, str | float] = {"fill": FILL[colour], "stroke": EDGE[colour], "stroke_width": 0.04}
    if kind == "cone":
        return polygon(TRIANGLE, **look, stroke_linejoin="round")
    stone = element("circle", r=radius, **look)
    if kind == "king":
        return stone + polygon(CROWN, fill=ON[colour])
    if kind in PLAIN or not glyph.strip():
        return stone
    return stone + text(glyph, 0, 0, 0.42, fill=ON[colour])


@lru_cache(maxsize=256)
def half_of_body(colour: str, to_x: float, to_y: float) -> str:
    """Return half of a body that reaches from 0 to (to_x, to_y): round here, cut straight in the middle."""
    length = hypot(to_x, to_y) or 1.0
    x, y = -to_y / length * HALF, to_x / length * HALF  # to the side
    corners = [(to_x / 2 + x, to_y / 2 + y), (x, y), (-x, -y), (to_x / 2 - x, to_y / 2 - y)]
    one, two, three, four = (f"{number(cx)} {number(cy)}" for cx, cy in corners)
    path = f"M{one}L{two}A{number(HALF)} {number(HALF)} 0 0 1 {three}L{four}Z"
    return element("path", d=path, fill=FILL[colour], stroke=EDGE["white"], stroke_width=0.04)


@lru_cache(maxsize=64)
def last_mark(colour: str, kind: str, radius: float) -> str:
    """Return the mark of the last ply, a ring of this radius in a piece."""
    radius = 0.1 if kind == "cone" else radius
    return element("circle", r=radius, fill="none", stroke=ON[colour], stroke_width=0.055)


def empty_mark(x: float, y: float) -> str:
    """Return the mark of the last ply on a cell that it left empty."""
    look = {"fill": "none", "stroke": INK, "stroke_dasharray": "3 1.5"}
    return element("rect", x=x - 0.12, y=y - 0.12, width=0.24, height=0.24, stroke_width=0.04, **look)


def outlines(places: Iterable[Point], kind: str, fill: str) -> str:
    """Return the outlines of cells, hexagons or squares, as one path."""
    corners = HEXAGON if kind == "hex" else SQUARE
    steps = "".join(f"l{number(bx - ax)} {number(by - ay)}" for (ax, ay), (bx, by) in pairwise(corners))
    (x0, y0), *_ = corners
    path = "".join(f"M{number(x + x0)} {number(y + y0)}{steps}z" for x, y in places)
    return element("path", d=path, fill=fill, stroke=GRID, stroke_width=0.03)


def hatching(places: Iterable[Point], kind: str) -> str:
    """Return the strokes in the cells that black controls, as one path."""
    corners = HEXAGON if kind == "hex" else SQUARE
    chords = [chord for step in range(-4, 5) if (chord := _chord(corners, step * 0.15))]
    strokes = "".join(
        f"m{number(ax - x)} {number(ay - y)}l{number(bx - ax)} {number(by - ay)}"
        for (_, (x, y)), ((ax, ay), (bx, by)) in pairwise([((0.0, 0.0), (0.0, 0.0)), *chords])
    )
    path = "".join(f"M{number(x)} {number(y)}{strokes}" for x, y in places)
    return element("path", d=path, stroke=GRID, stroke_width=0.04, class_="hatched")


def dotting(places: Iterable[Point], kind: str) -> str:
    """Return the dots in the cells that white controls, as one path, where a stone does not hide all of them."""
    spots = [(0.0, 0.0), *((0.82 * x, 0.82 * y) for x, y in (HEXAGON if kind == "hex" else SQUARE))]
    steps = "".join(f"m{number(bx - ax)} {number(by - ay)}h0" for (ax, ay), (bx, by) in pairwise(spots))
    path = "".join(f"M{number(x)} {number(y)}h0{steps}" for x, y in places)
    return element("path", d=path, stroke=GRID, stroke_width=0.085, stroke_linecap="round", class_="dotted")


def _chord(corners: Iterable[Point], offset: float) -> tuple[Point, Point] | None:
    """Return where the line x + y = offset * sqrt 2 crosses a convex outline round 0, or None."""
    level = offset * 2**0.5
    crossings = []
    outline = list(corners)
    for (ax, ay), (bx, by) in pairwise([*outline, outline[0]]):
        a, b = ax + ay - level, bx + by - level
        if (a < 0) != (b < 0):
            crossings.append((ax + (bx - ax) * a / (a - b), ay + (by - ay) * a / (a - b)))
    return (crossings[0], crossings[1]) if crossings else None


def text(content: str, x: float, y: float, size: float, anchor: str = "middle", **attributes: str | float) -> str:
    """Return text whose middle is at the height y, in a generic font."""
    look: dict[str, str | float] = {"fill": INK, "text_anchor": anchor, **attributes}
    return element("text", written(content), x=x, y=y + size * 0.35, font_size=size, **look)


def _value(value: str | float) -> str:
    return written(value) if isinstance(value, str) else number(value)
