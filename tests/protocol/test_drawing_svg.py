"""SVG pictures: well-formed, one group a piece, nothing by colour alone, no text on another, nothing harmful."""

import re
from itertools import combinations, pairwise
from typing import Any
from xml.etree import ElementTree

import pytest

from ggp.engines.scene import hexagon, lattice, open_square, piece, square, token
from ggp.protocol.drawing import shapes
from ggp.protocol.drawing.scene import as_scene
from ggp.protocol.drawing.svg import LETTER, MAX_NAMED_WIDTH, MAX_WIDTH, description, draw
from tests.support.drawn_scenes import KINDS, NASTY, STATUS, bare, held, kings, points, row_of_tiles, run, tiles

SVG = "{http://www.w3.org/2000/svg}"
TAGS = {"svg", "title", "desc", "rect", "path", "polygon", "circle", "g", "text"}


def picture(fields: dict[str, Any]) -> ElementTree.Element:
    """The root; it is the same every time, and so are its units: 40 for a distance."""
    scene = as_scene(fields)
    assert draw(scene) == draw(scene)
    return ElementTree.fromstring(draw(scene))


def pieces_of(root: ElementTree.Element) -> dict[str, ElementTree.Element]:
    groups = root.findall(f"{SVG}g[@class='piece']")
    found = {group.attrib["data-at"]: group for group in groups}
    assert len(found) == len(groups)
    return found


def tags(element: ElementTree.Element) -> list[str]:
    return [child.tag.removeprefix(SVG) for child in element]


def texts(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return root.findall(f"{SVG}text[@class='{name}']")


def box(element: ElementTree.Element) -> tuple[float, float, float, float]:
    """left, top, right, bottom of a text, at the most."""
    size, x, y = (float(element.attrib[key]) for key in ("font-size", "x", "y"))
    width = len(element.text or "") * size * LETTER
    left = x if element.attrib["text-anchor"] == "start" else x - width / 2
    return left, y - 0.75 * size, left + width, y + 0.22 * size


def overlap(one: tuple[float, float, float, float], two: tuple[float, float, float, float]) -> bool:
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]


@pytest.mark.parametrize("name", KINDS)
def test_a_picture_is_plain_svg_with_one_group_for_each_piece(name: str) -> None:
    fields = KINDS[name]()
    root = picture(fields)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= TAGS
    assert set(pieces_of(root)) == {entry["at"] for entry in fields["pieces"]}
    assert root.attrib["role"] == "img" and tags(root)[:2] == ["title", "desc"]
    assert root[0].text == "play after ply 7"
    assert all(entry["at"] in (root[1].text or "") for entry in fields["pieces"])
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    assert float(root.attrib["width"]) / float(root.attrib["height"]) == pytest.approx(width / height, rel=0.01)
    at = {cell["at"]: (40 * cell["x"], 40 * cell["y"]) for cell in fields["cells"]}
    for name, group in pieces_of(root).items():
        x, y = map(float, group.attrib["transform"].removeprefix("translate(").removesuffix(")").split())
        assert (x, y) == pytest.approx(at[name], abs=0.01)
        assert left < x < left + width and top < y < top + height


BOARDS = {
    "go 25": square(25, 25),
    "small": square(2, 2),
    "taugo 16": open_square(16),
    "laido 13": hexagon(13, "points"),
    "stigmergy 2": hexagon(2, "hex"),
    "stigmergy 13": hexagon(13, "hex"),
    "far": lattice([(q, r) for q in range(-120, -110) for r in range(100, 103)]),
    "wide": row_of_tiles(40),
    **{name: build() for name, build in KINDS.items()},
}


@pytest.mark.parametrize("name", BOARDS)
def test_no_text_lies_on_another_or_outside(name: str) -> None:
    long = token("note", "none", "Black has captured more than fit on two hands, and " * 2)
    root = picture({**BOARDS[name], **STATUS, "tokens": [long, token("komi", "white", "Komi: 7")]})
    boxes = [box(element) for element in root.iter(f"{SVG}text")]
    assert len(boxes) > 4
    assert [pair for pair in combinations(sorted(boxes), 2) if overlap(*pair)] == []
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    for one in boxes:
        assert left <= one[0] and top <= one[1] and one[2] <= left + width and one[3] <= top + height


@pytest.mark.parametrize("name", BOARDS)
def test_the_size_is_sane_and_the_caption_legible(name: str) -> None:
    root = picture({**BOARDS[name], **STATUS})
    width, zoom = float(root.attrib["width"]), float(root.attrib["width"]) / float(root.attrib["viewBox"].split()[2])
    assert 320 <= width <= (MAX_WIDTH if BOARDS[name]["labels"] else MAX_NAMED_WIDTH) + 1
    caption = texts(root, "caption")
    assert [element.text for element in caption][:1] == ["White to move (seat 2)"]
    assert all(float(element.attrib["font-size"]) * zoom == pytest.approx(16, rel=0.02) for element in caption)


@pytest.mark.parametrize("kind", ["hex", "points"])
def test_hexagons_and_triangles_are_regular(kind: str) -> None:
    scene = {**hexagon(4, "points"), "board": {"kind": kind, "width": 7, "height": 7}}
    places = [(cell["x"], cell["y"]) for cell in scene["cells"]]
    near = [((a - c) ** 2 + (b - d) ** 2) ** 0.5 for (a, b), (c, d) in combinations(places, 2)]
    assert min(near) == pytest.approx(1, abs=1e-3)
    assert sum(distance < 1.1 for distance in near) == 3 * 37 - 3 * 7  # all neighbours are as near
    if kind == "hex":
        cells = next(path for path in picture(scene).findall(f"{SVG}path")).attrib["d"].split("M")[1:]
        assert len(cells) == 37
        for cell in cells:
            steps = [complex(*map(float, step.split())) for step in cell.removesuffix("z").split("l")[1:]]
            assert [abs(step) for step in steps] == pytest.approx([40 / 3**0.5] * 5, abs=0.02)
            assert [abs(one - two) for one, two in pairwise(steps)] == pytest.approx([40 / 3**0.5] * 4, abs=0.04)


def test_what_a_piece_is_shows_without_colour() -> None:
    shown = pieces_of(picture(kings()))
    assert tags(shown["C3"]) == ["circle"]  # a pawn
    assert tags(shown["B2"]) == ["circle", "polygon"]  # a crown on it
    assert tags(shown["A1"]) == ["circle", "polygon", "circle"]  # and the ring of the last ply
    shown = pieces_of(picture(tiles()))
    assert tags(shown["0,1"]) == ["path"] and tags(shown["0,0"]) == ["polygon", "circle"]
    odd = pieces_of(picture(bare(pieces=[{"at": "a", "colour": "white", "kind": "rook", "glyph": "R"}])))
    assert tags(odd["a"]) == ["circle", "text"] and odd["a"][1].text == "R"
    dull = pieces_of(picture(bare(pieces=[{"at": "a", "colour": "white", "kind": "rook"}])))
    assert tags(dull["a"]) == ["circle"]


def test_the_halves_of_a_tile_touch_in_the_middle() -> None:
    fields = tiles()
    at = {cell["at"]: (40 * cell["x"], 40 * cell["y"]) for cell in fields["cells"]}
    shown = pieces_of(picture(fields))
    for one, two in fields["joins"]:
        middle = [(a + b) / 2 for a, b in zip(at[one], at[two], strict=True)]
        for half in (one, two):
            numbers = [float(text) for text in re.findall(r"-?[\d.]+", shown[half][0].attrib["d"])]
            ends = zip(numbers[:2], numbers[-2:], at[half], strict=True)
            assert [place + (a + b) / 2 for a, b, place in ends] == pytest.approx(middle, abs=0.02)


def test_the_last_ply_is_marked_whatever_it_changed() -> None:
    for fields in (run(), points()):
        for at, group in pieces_of(picture(fields)).items():
            assert tags(group) == ["circle"] + ["circle"] * (at in fields["last"])
    taken = picture(bare(last=["a"]))
    assert len(taken.findall(f"{SVG}rect[@stroke-dasharray]")) == 1


def test_control_is_hatched_or_dotted() -> None:
    def cells(fields: dict[str, Any], name: str) -> list[list[float]]:
        """The numbers that are drawn in each cell."""
        paths = picture(fields).findall(f"{SVG}path[@class='{name}']")
        return [
            [float(text) for text in re.findall(r"-?[\d.]+", cell)]
            for path in paths
            for cell in path.attrib["d"].split("M")[1:]
        ]

    fields = held()
    at = {cell["at"]: [40 * cell["x"], 40 * cell["y"]] for cell in fields["cells"]}
    for name, colour in (("hatched", "black"), ("dotted", "white")):
        places = [at[entry["at"]] for entry in fields["control"] if entry["colour"] == colour]
        assert [numbers[:2] for numbers in cells(fields, name)] == [pytest.approx(place, abs=0.01) for place in places]
        assert all(len(numbers) > 14 for numbers in cells(fields, name))
        assert cells({**fields, "control": []}, name) == []
    signs = " ".join(element.text or "" for element in texts(picture(fields), "caption")[1:])
    assert signs == "hatched: black controls; dotted: white controls"
    for kind in ("hex", "square"):
        pens = cells({**bare(control=[{"at": "a", "colour": "black"}]), "board": {"kind": kind}}, "hatched")[0]
        x = y = 0.0
        for dx, dy in zip(pens[2::2], pens[3::2], strict=True):
            x, y = x + dx, y + dy
            assert max(abs(x), abs(y)) < 23.1  # within the cell


def contrast(one: str, two: str) -> float:
    """WCAG 2: from 1 to 21."""

    def light(colour: str) -> float:
        parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((light(one), light(two)))
    return (high + 0.05) / (low + 0.05)


def test_all_text_can_be_read() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    for ground in (shapes.PAGE, shapes.BOARD, *shapes.SHADE.values()):
        assert contrast(shapes.INK, ground) >= 4.5
        assert contrast(shapes.GRID, ground) >= 3
    for colour in ("black", "white"):
        assert contrast(shapes.ON[colour], shapes.FILL[colour]) >= 4.5


def test_nothing_of_a_scene_becomes_markup() -> None:
    cells = [{"at": NASTY, "x": 0, "y": 0}, {"at": "]]>", "x": 1, "y": 0}]
    nasty = {
        "labels": [{"text": NASTY, "x": 0, "y": 1}],
        "pieces": [{"at": NASTY, "colour": "black", "kind": NASTY, "glyph": "<"}],
        "tokens": [token(NASTY, "none", NASTY)],
        "last": [NASTY, "]]>"],
        "game": NASTY,
        "phase": "over",
        "result": NASTY,
    }
    for fields in (bare(cells=cells, **nasty), bare(cells=cells, **{**nasty, "labels": []})):
        text = draw(as_scene(fields), title=NASTY)
        root = ElementTree.fromstring(text)
        assert {element.tag.removeprefix(SVG) for element in root.iter()} <= TAGS
        assert not any(key.startswith("on") or "href" in key for element in root.iter() for key in element.attrib)
        assert "\x1b" not in text and "\u202e" not in text and root[0].text == '<script>"&\ufffd[2J\ufffd\ufffd'


def test_a_board_without_pieces_or_cells_or_lines_is_drawn() -> None:
    assert picture(bare())[1].text == "An empty board."
    assert len(picture(bare()).findall(f"{SVG}rect")) == 2  # page and board
    (squares,) = picture(bare()).findall(f"{SVG}path")
    assert squares.attrib["d"].count("M") == 2
    assert tags(picture(bare(cells=[]))) == ["title", "desc", "rect"]
    assert len(picture({**bare(), "board": {"kind": "points"}}).findall(f"{SVG}text")) == 2
    assert picture(bare(game="", ply=0))[0].text == "board after ply 0"
    same = [{"at": "a", "x": 0, "y": 0}, {"at": "b", "x": 0, "y": 0}]
    one_place = bare(cells=same, pieces=[piece("a", "black")], joins=[["a", "b"]])
    assert tags(pieces_of(picture(one_place))["a"]) == ["path"]


def test_the_words_of_the_picture() -> None:
    assert description(as_scene(held())) == (
        "White stone: B2 C2. Black stone: B3. Black controls: A2 B2. White controls: B1 C1 C2. Last ply: B3. "
        "White to move (seat 2)"
    )
