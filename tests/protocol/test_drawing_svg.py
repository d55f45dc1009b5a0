"""SVG pictures: well-formed, one element a piece, nothing by colour alone, no text on another, nothing harmful."""

import re
from itertools import combinations, pairwise
from typing import Any
from xml.etree import ElementTree

import pytest

from ggp.engines.scene import hexagon, lattice, open_square, piece, square, token
from ggp.protocol.drawing import board_style
from ggp.protocol.drawing.scene import as_scene
from ggp.protocol.drawing.svg import LETTER, MAX_NAMED_WIDTH, MAX_WIDTH, description, draw, emblem, legend
from tests.support.drawn_scenes import KINDS, NASTY, STATUS, bare, held, kings, points, row_of_tiles, run, tiles

SVG = "{http://www.w3.org/2000/svg}"
TAGS = {"svg", "title", "desc", "style", "defs", "radialGradient", "stop", "rect", "path", "circle", "text"}


def picture(fields: dict[str, Any], page: bool = False, thumbnail: bool = False) -> ElementTree.Element:
    """The root; it is the same every time, and so are its units: 40 for a distance."""
    drawn = [draw(as_scene(fields), page=page, thumbnail=thumbnail) for _ in range(2)]
    assert drawn[0] == drawn[1]
    return ElementTree.fromstring(drawn[0])


def pieces_of(root: ElementTree.Element) -> dict[str, ElementTree.Element]:
    found = [element for element in root if "data-at" in element.attrib]
    assert all(element.attrib["class"].startswith("pc pc-") for element in found)
    assert len({element.attrib["data-at"] for element in found}) == len(found)
    return {element.attrib["data-at"]: element for element in found}


def tag(element: ElementTree.Element) -> str:
    return element.tag.removeprefix(SVG)


def of_class(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [element for element in root if name in element.attrib.get("class", "").split()]


def numbers(element: ElementTree.Element) -> list[float]:
    return [float(text) for text in re.findall(r"-?[\d.]+", element.attrib["d"])]


def middle(element: ElementTree.Element) -> tuple[float, float]:
    """Where a piece or a mark lies."""
    if tag(element) == "circle":
        return float(element.attrib["cx"]), float(element.attrib["cy"])
    if tag(element) == "rect":
        x, y, width, height = (float(element.attrib[key]) for key in ("x", "y", "width", "height"))
        return x + width / 2, y + height / 2
    places = numbers(element)
    return sum(places[::2]) / len(places[::2]), sum(places[1::2]) / len(places[1::2])


def box(element: ElementTree.Element) -> tuple[float, float, float, float]:
    """left, top, right, bottom of a text, at the most."""
    size, x, y = (float(element.attrib[key]) for key in ("font-size", "x", "y"))
    width = len(element.text or "") * size * LETTER
    return x - width / 2, y - 0.75 * size, x + width / 2, y + 0.22 * size


def overlap(one: tuple[float, float, float, float], two: tuple[float, float, float, float]) -> bool:
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]


@pytest.mark.parametrize("name", KINDS)
def test_a_picture_is_plain_svg_with_one_element_for_each_piece(name: str) -> None:
    fields = KINDS[name]()
    root = picture(fields)
    assert {tag(element) for element in root.iter()} <= TAGS
    assert set(pieces_of(root)) == {entry["at"] for entry in fields["pieces"]}
    assert root.attrib["role"] == "img" and [tag(child) for child in root][:2] == ["title", "desc"]
    assert root[0].text == "play after ply 7"
    assert all(entry["at"] in (root[1].text or "") for entry in fields["pieces"])
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    assert float(root.attrib["width"]) / float(root.attrib["height"]) == pytest.approx(width / height, rel=0.02)
    at = {cell["at"]: (40 * cell["x"], 40 * cell["y"]) for cell in fields["cells"]}
    for name, shape in pieces_of(root).items():
        x, y = middle(shape)
        assert (x, y) == pytest.approx(at[name], abs=0.1 if tag(shape) == "circle" else 8)
        assert left < x < left + width and top < y < top + height


@pytest.mark.parametrize("name", KINDS)
def test_a_page_has_the_style_and_a_thumbnail_no_words_or_marks(name: str) -> None:
    fields = KINDS[name]()
    alone, within, small = picture(fields), picture(fields, page=True), picture(fields, thumbnail=True)
    assert {"style", "defs"} <= {tag(element) for element in alone}
    assert not {"style", "defs"} & {tag(element) for element in within} and "width" not in within.attrib
    assert not [element for element in small.iter(f"{SVG}text") if element.text not in ("@", "#")]
    assert not [one for one in small if re.match("mk-|last-|own-", one.attrib.get("class", ""))]
    used = {name for root in (alone, small) for element in root for name in element.attrib.get("class", "").split()}
    assert not {name for name in used if f".{name} " not in board_style.RULES}
    assert "var(" not in (alone.find(f"{SVG}style").text or "")  # type: ignore[union-attr]
    assert board_style.LIGHT.keys() == board_style.DARK.keys()
    assert {*re.findall(r"var\(--([\w-]+)\)", board_style.RULES)} == board_style.LIGHT.keys()


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
    assert len(boxes) >= 4
    assert [pair for pair in combinations(sorted(boxes), 2) if overlap(*pair)] == []
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    for one in boxes:
        assert left <= one[0] and top <= one[1] and one[2] <= left + width and one[3] <= top + height


@pytest.mark.parametrize("name", BOARDS)
def test_the_size_is_sane(name: str) -> None:
    width = float(picture({**BOARDS[name], **STATUS}).attrib["width"])
    assert 80 <= width <= (MAX_WIDTH if BOARDS[name]["labels"] else MAX_NAMED_WIDTH) + 1


@pytest.mark.parametrize("kind", ["hex", "points"])
def test_hexagons_and_triangles_are_regular(kind: str) -> None:
    scene = {**hexagon(4, "points"), "board": {"kind": kind, "width": 7, "height": 7}}
    places = [(cell["x"], cell["y"]) for cell in scene["cells"]]
    near = [((a - c) ** 2 + (b - d) ** 2) ** 0.5 for (a, b), (c, d) in combinations(places, 2)]
    assert min(near) == pytest.approx(1, abs=1e-3)
    assert sum(distance < 1.1 for distance in near) == 3 * 37 - 3 * 7  # all neighbours are as near
    if kind == "hex":
        cells = of_class(picture(scene), "bd-rim")[0].attrib["d"].split("M")[1:]
        assert len(cells) == 37
        for cell in cells:
            steps = [complex(*map(float, step.split())) for step in cell.removesuffix("z").split("l")[1:]]
            assert [abs(step) for step in steps] == pytest.approx([40 / 3**0.5] * 5, abs=0.1)
            assert [abs(one - two) for one, two in pairwise(steps)] == pytest.approx([40 / 3**0.5] * 4, abs=0.2)


def test_what_a_piece_is_shows_without_colour() -> None:
    root = picture(kings())
    shown = pieces_of(root)
    assert {tag(shape) for shape in shown.values()} == {"circle"}
    assert [middle(shown[at]) for at in ("A1", "B2")] == [
        pytest.approx(middle(crown), abs=4) for kind in ("crown-b", "crown-w") for crown in of_class(root, kind)
    ]
    shown = pieces_of(picture(tiles()))
    assert len(numbers(shown["0,1"])) == 12 and len(numbers(shown["0,0"])) == 6  # half of a tile; a cone
    odd = picture(bare(pieces=[{"at": "a", "colour": "white", "kind": "rook", "glyph": "R"}], labels=[LABEL]))
    assert [element.text for element in of_class(odd, "on-w")] == ["R"]
    dull = picture(bare(pieces=[{"at": "a", "colour": "white", "kind": "rook"}], labels=[LABEL]))
    assert of_class(dull, "on-w") == []


LABEL = {"text": "A", "x": 0, "y": 1}


def test_the_halves_of_a_tile_touch_in_the_middle() -> None:
    fields = tiles()
    at = {cell["at"]: (40 * cell["x"], 40 * cell["y"]) for cell in fields["cells"]}
    shown = pieces_of(picture(fields))
    for one, two in fields["joins"]:
        edges = []
        for half in (one, two):
            places = numbers(shown[half])
            corners = sorted(
                zip(places[::2], places[1::2], strict=True),
                key=lambda corner: abs(complex(*corner) - complex(*at[two if half == one else one])),
            )
            edges.append(sorted(corners[:2]))
        assert edges[0] == [pytest.approx(corner, abs=0.2) for corner in edges[1]]


def test_the_last_ply_is_marked_whatever_it_changed() -> None:
    for fields in (run(), points(), kings(), tiles()):
        root = picture(fields)
        rings = [middle(ring) for kind in ("last-b", "last-w") for ring in of_class(root, kind)]
        at = {cell["at"]: (40 * cell["x"], 40 * cell["y"]) for cell in fields["cells"]}
        assert sorted(rings) == [pytest.approx(place, abs=0.1) for place in sorted(at[one] for one in fields["last"])]
    assert len(of_class(picture(bare(last=["a"])), "mk-left")) == 1


def test_control_is_shaded_and_marked_where_no_piece_of_that_side_stands() -> None:
    fields = held()
    at = {cell["at"]: (40 * cell["x"], 40 * cell["y"]) for cell in fields["cells"]}
    root, owner = picture(fields), {entry["at"]: entry["colour"] for entry in fields["pieces"]}
    for colour in ("black", "white"):
        cells = [entry["at"] for entry in fields["control"] if entry["colour"] == colour]
        (shade,) = of_class(root, f"bd-ctl-{colour[0]}")
        assert shade.attrib["d"].count("M") == len(cells)
        marked = [middle(mark) for mark in of_class(root, f"own-{colour[0]}")]
        assert marked == [pytest.approx(at[cell], abs=0.1) for cell in cells if owner.get(cell) != colour]
    assert not of_class(picture({**fields, "control": []}), "own-b")
    assert dict(legend(as_scene(fields)))["shade or black square"] == "controlled by Black"


def test_what_an_engine_points_out_is_marked() -> None:
    marks = [{"at": "a", "kind": "win"}, {"at": "b", "kind": "dead"}, {"at": "b", "kind": "fancy"}]
    fields = bare(pieces=[piece("a", "black"), piece("b", "white")], marks=marks)
    root = picture(fields)
    assert [middle(mark) for mark in of_class(root, "crown-b")] == [(0, 0)] and len(of_class(root, "mk-dead")) == 1
    assert pieces_of(root)["b"].attrib["opacity"] == "0.45"
    assert [meaning for _, meaning in legend(as_scene(fields))] == ["dead", "decides the game"]
    assert "Win cells: a." in description(as_scene(fields))


def test_the_signs_that_are_explained_are_those_on_the_board() -> None:
    assert legend(as_scene(bare())) == []
    assert legend(as_scene(kings())) == [("crown", "king"), ("ring or dashed square", "the last move")]


def contrast(one: str, two: str) -> float:
    """WCAG 2: from 1 to 21."""

    def light(colour: str) -> float:
        parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((light(one), light(two)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("look", [board_style.LIGHT, board_style.DARK], ids=["light", "dark"])
def test_everything_can_be_told_from_its_ground(look: dict[str, str]) -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    for ground in ("wood", "hole"):
        assert contrast(look["on-wood"], look[ground]) >= (4.5 if ground == "wood" else 3)
    for ground in ("wood", "own-b", "own-w"):
        assert max(contrast(look["stone-b1"], look[ground]), contrast(look["stone-b-edge"], look[ground])) >= 3
        assert max(contrast(look["stone-w0"], look[ground]), contrast(look["stone-w-edge"], look[ground])) >= 3
    for colour in ("b", "w"):
        for shade in ("0", "1"):
            assert contrast(look[f"on-{colour}"], look[f"stone-{colour}{shade}"]) >= 4.5
            assert contrast(look[f"crown-{colour}"], look[f"stone-{colour}{shade}"]) >= 3


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
    assert len(of_class(picture(bare()), "bd-wood")) == 1
    (holes,) = of_class(picture(bare()), "bd-hole")
    assert holes.attrib["d"].count("M") == 2
    assert [tag(child) for child in picture(bare(cells=[]), page=True)] == ["title", "desc"]
    assert len(picture({**bare(), "board": {"kind": "points"}}).findall(f"{SVG}text")) == 2
    assert picture(bare(game="", ply=0))[0].text == "board after ply 0"
    same = [{"at": "a", "x": 0, "y": 0}, {"at": "b", "x": 0, "y": 0}]
    one_place = bare(cells=same, pieces=[piece("a", "black")], joins=[["a", "b"]])
    assert tag(pieces_of(picture(one_place))["a"]) == "path"


def test_the_words_of_the_picture() -> None:
    assert description(as_scene(held())) == (
        "White stone: B2 C2. Black stone: B3. Black controls: A2 B2. White controls: B1 C1 C2. Last ply: B3. "
        "White to move (seat 2)"
    )


@pytest.mark.parametrize("name", KINDS)
def test_an_emblem_is_the_middle_of_the_board_without_words_and_marks(name: str) -> None:
    fields = KINDS[name]()
    root = ElementTree.fromstring(emblem(as_scene(fields)))
    assert not root.findall(f"{SVG}text") and not of_class(root, "mk-left")
    whole, shown = pieces_of(picture(fields)), pieces_of(root)
    assert shown.keys() <= whole.keys()
    left, _, width, height = map(float, root.attrib["viewBox"].split())
    assert max(width, height) <= 180, "three cells across"
    assert all(left < middle(piece)[0] < left + width for piece in shown.values())
    lines = of_class(root, "bd-grid")
    assert bool(lines) == bool(fields["lines"] or fields["board"]["kind"] == "hex")


def test_an_emblem_of_a_board_without_cells_is_empty() -> None:
    root = ElementTree.fromstring(emblem(as_scene(bare(cells=[]))))
    assert not of_class(root, "bd-wood")


def test_a_column_that_a_move_names_is_a_chute_over_the_board() -> None:
    """As in Connect four: the cell `A` lies where its label is, over the column."""
    cells = [{"at": "A", "x": 0, "y": -1}, {"at": "B", "x": 1, "y": -1}]
    cells += [{"at": f"{column}{row}", "x": x, "y": 1 - row} for x, column in enumerate("AB") for row in (0, 1)]
    labels = [{"text": column, "x": x, "y": -1} for x, column in enumerate("AB")]
    root = picture(bare(cells=cells, labels=labels))
    (chutes,) = of_class(root, "bd-handle")
    assert chutes.attrib["d"].count("M") == 4 and not of_class(root, "bd-tick")
    (holes,) = of_class(root, "bd-hole")
    assert holes.attrib["d"].count("M") == 4, "no hole under a label"
    top = float(root.attrib["viewBox"].split()[1])
    assert all(box(label)[1] >= top for label in root.iter(f"{SVG}text"))


def test_a_label_between_the_cells_stays_where_it_is() -> None:
    root = picture(bare(labels=[{"text": "*", "x": 0.5, "y": 0}]))
    assert [float(label.attrib["x"]) for label in of_class(root, "bd-on")] == [20]
