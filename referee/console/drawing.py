"""Draws a board for the console from a scene or from `showboard`, in pieces with a style each; on no terminal."""

import msgspec

from protocol.drawing import text
from protocol.drawing.scene import DrawingError, Scene, read_scene
from referee.console.board import Board, Line
from referee.console.visible import visible

_FIRST = 0x2801  # a row of characters that are one column wide and stand in nobody's glyphs


def draw_scene(answer: str) -> Board:
    """The answer to `ggp-scene`, drawn; what cannot be drawn is said in a note."""
    try:
        scene = read_scene(answer)
        lines = _paint(scene)
        return Board(lines, tuple(text.describe(scene, 60)), tuple(piece.at for piece in scene.pieces))
    except DrawingError as error:
        return Board([], (visible(str(error)),))


def draw_text(answer: str) -> Board:
    """The answer to `showboard` as it is, without what a terminal would obey."""
    return Board([[("", line)] for line in visible(answer).strip("\n").split("\n")])


def _paint(scene: Scene) -> list[Line]:
    """The text board, its stones coloured: each is drawn as a placeholder, so that no label is taken for one."""
    held = text.controlled(scene)
    signs: dict[str, tuple[str, str]] = {}
    holders: dict[tuple[str, str], str] = {}
    pieces = []
    for piece in scene.pieces:
        look = (f"class:{piece.colour}", text.sign(piece, held))
        holder = holders.setdefault(look, chr(_FIRST + len(holders)))
        signs[holder] = look
        pieces.append(msgspec.structs.replace(piece, glyph=holder))
    drawn = text.draw(msgspec.structs.replace(scene, pieces=pieces))
    return [_pieces(line, signs) for line in drawn.split("\n")]


def _pieces(line: str, signs: dict[str, tuple[str, str]]) -> Line:
    out: Line = []
    for character in line:
        style, shown = signs.get(character) or ("class:mark" if character in "()" else "", character)
        if out and out[-1][0] == style:
            out[-1] = (style, out[-1][1] + shown)
        else:
            out.append((style, shown))
    return out
