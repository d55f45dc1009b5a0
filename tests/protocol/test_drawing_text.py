"""Text boards: exact for a small board of each kind, never wider than a terminal for a large one."""

from itertools import pairwise
from typing import Any

import pytest

from ggp.engines.scene import hexagon, lattice, open_square, piece, square, token
from ggp.protocol.drawing.scene import as_scene
from ggp.protocol.drawing.text import WIDTH, describe, draw
from tests.support.drawn_scenes import KINDS, NASTY, STATUS, bare, held, row_of_tiles

BOARDS = {
    "kings": """
  A B C
3 . . O 3
2 . @ . 2
1(#). . 1
  A B C""",
    "run": """
  A B C D E F
6   . O . .   6
5 . . . . . . 5
4 . X(X X X). 4
3 . . . . . O 3
2 . . . . . . 2
1   . . . .   1
  A B C D E F""",
    "points": """
     A B C
  5 . . . 5
 4 . . . . 4
3 X . O . . 3
 A . . . . 2
  B . .(O)1
   C D E""",
    "held": """
    A B
 3 .(X)3
2 + o O 2
 A - - 1
  B C""",
    "tiles": """
      -10                -1 0
 ,1    .                 X O 1 2
 ,0 -10                 O(@)X .
,-1                   -1(O X)2
                        0 1""",
}


def board(fields: dict[str, Any]) -> str:
    return draw(as_scene(fields))


@pytest.mark.parametrize("name", BOARDS)
def test_a_small_board_of_each_kind(name: str) -> None:
    assert "\n" + board(KINDS[name]()) == BOARDS[name]


def test_all_signs_are_explained() -> None:
    def told(name: str) -> list[str]:
        return describe(as_scene(KINDS[name]()))

    assert told("kings") == [
        "# black king, @ white king, O white pawn",
        "Black has the button",
        "White to move (seat 2)",
    ]
    assert told("held")[:1] == [
        "X black stone, O white stone, o white stone that black controls, + black controls, - white controls"
    ]
    assert told("tiles")[:2] == ["X black tile, @ white cone, O white tile", "Light cones left: 4"]
    assert describe(as_scene(held()), width=50) == [
        "X black stone, O white stone,",
        "o white stone that black controls,",
        "+ black controls, - white controls",
        "White to move (seat 2)",
    ]
    assert describe(as_scene(bare())) == []
    long = as_scene(bare(tokens=[token("note", "none", "many words " * 18)], last=["a"]))
    assert len(describe(long)) == 2 and max(map(len, describe(long))) <= WIDTH


def test_numbers_lean_on_the_board_and_a_mark_gets_its_own_room() -> None:
    scene = {**square(3, 10), "pieces": [piece("A10", "black")], "last": ["A10", "C1"]}
    lines = board(scene).split("\n")
    assert lines[:3] == ["   A B C", "10(X). . 10", " 9 . . . 9"]
    assert lines[-2:] == [" 1 . .(.)1", "   A B C"]
    marked = bare(cells=[{"at": "a", "x": 0, "y": 0}], labels=[{"text": "-", "x": 0, "y": 1}], last=["a"])
    assert board(marked) == "(.)\n -"


def test_a_scene_without_cells_is_no_board() -> None:
    assert board(bare(cells=[])) == ""


@pytest.mark.parametrize(
    "scene",
    [square(25, 25), open_square(25), open_square(16), hexagon(13, "points"), hexagon(13, "hex"), hexagon(8, "hex")],
    ids=lambda scene: f"{scene['board']['kind']} {scene['board']['width']}",
)
def test_every_board_fits_in_a_terminal(scene: dict[str, Any]) -> None:
    every = [cell["at"] for cell in scene["cells"]]
    lines = board({**scene, "pieces": [piece(at, "black") for at in every], "last": every}).split("\n")
    assert max(map(len, lines)) <= 60
    assert sum(line.count("X") for line in lines) == len(every) + sum(label["text"] == "X" for label in scene["labels"])


@pytest.mark.parametrize("count", [20, 40, 200])
def test_what_is_too_wide_comes_in_parts(count: int) -> None:
    fields = row_of_tiles(count)
    lines = board(fields).split("\n")
    assert max(map(len, lines)) <= WIDTH
    drawn = [line for line in lines if not line.startswith("part ")]
    assert sum(line.count(".") for line in drawn) == len(fields["cells"]) - 2 * count
    assert sum(line.count("X") + line.count("O") for line in drawn) == 2 * count
    if count > 20:
        parts = (len(lines) - len(drawn)) or 1
        assert parts > 1 and lines[0] == f"part 1 of {parts}, from the left:"
        rows = [line.split()[0] for line in drawn if line.lstrip().startswith(",")]
        assert rows == [",2", ",1", ",0", ",-1", ",-2"] * parts
        tops = [drawn[at - 1].split() for at, line in enumerate(drawn) if line.lstrip().startswith(",2 ")]
        assert len(tops) == parts
        for top in tops:  # a slanting line without a number lies between two that have theirs
            assert all(0 < int(right) - int(left) <= 2 for left, right in pairwise(top))


def test_every_slanting_line_of_a_small_lattice_has_its_number_and_the_legend_says_how_to_read_it() -> None:
    near = [(q, r) for q in range(-3, 4) for r in range(-3, 4) if abs(q + r) <= 3]
    pieces = [piece("2,-1", "black"), piece("0,0", "white")]
    fields = {**lattice(near), "pieces": pieces, "last": ["2,-1"], **STATUS}
    assert (
        "\n" + board(fields)
        == """
         -3  -1 0
 ,3      . . . . 1
 ,2     . . . . . 2
 ,1    . . . . . . 3
 ,0   . . . O . . .
,-1 -3 . . . .(X).
,-2  -2 . . . . .
,-3   -1 . . . .
        0 1 2 3"""
    )
    assert describe(as_scene(fields))[1] == (
        "2,-1 is the cell where slanting line 2 (lower left to upper right) crosses row ,-1"
    )


def test_names_that_do_not_say_where_their_cell_lies_get_no_axes() -> None:
    cells = [{"at": "0,0", "x": 0, "y": 0}, {"at": "1,0", "x": 0, "y": 1}]
    assert board(bare(cells=cells)) == "0,0 . 0,0\n1,0 . 1,0"


def test_labels_stay_with_their_part() -> None:
    scene = square(3, 2)
    assert draw(as_scene(scene), width=8) == (
        "part 1 of 3, from the left:\n  A\n2 .\n1 .\n  A\n"
        "part 2 of 3, from the left:\nB\n.\n.\nB\npart 3 of 3, from the left:\nC\n. 2\n. 1\nC"
    )


@pytest.mark.parametrize("step", [1, 20, 2000])
def test_a_scene_spread_far_makes_no_more_lines_than_it_has_cells(step: int) -> None:
    cells = [{"at": str(n), "x": n * step % 2000 - 1000, "y": n / 10} for n in range(9000)]
    lines = board(bare(cells=cells)).split("\n")
    assert max(map(len, lines)) <= WIDTH and 9000 <= len(lines) <= 9050
    far = board(bare(labels=[{"text": "far", "x": 900, "y": 900}]))
    assert far == "part 1 of 1, from the left:\na . . b"
    apart = [{"at": "a", "x": -900, "y": 0}, {"at": "b", "x": 900, "y": 1}]
    assert board(bare(cells=apart)) == "part 1 of 2, from the left:\na . a\npart 2 of 2, from the left:\nb . b"


@pytest.mark.parametrize("glyph", ["", " ", "\x1b", "碁", "\u0301", "\u202e"])
def test_a_glyph_is_one_column(glyph: str) -> None:
    pieces = [{"at": "a", "colour": "black", "kind": "king", "glyph": glyph}, {"at": "b", "colour": "white"}]
    assert board(bare(pieces=pieces)) == "a # O b"


def test_no_text_reaches_the_terminal_as_it_is() -> None:
    label = {"text": NASTY, "x": 0, "y": 1}
    pieces = [{"at": "a", "colour": "black", "kind": NASTY}]
    scene = as_scene(bare(labels=[label], pieces=pieces, tokens=[token("x", "none", NASTY)]))
    lines = [*draw(scene).split("\n"), *describe(scene)]
    assert len(lines) == 4 and all(line.isprintable() for line in lines)


def test_an_empty_lattice_has_a_board() -> None:
    assert board(lattice([(0, 0)])) == "     0\n,0  .\n   0"
