"""A scene, the answer to `ggp-scene`, as typed and checked values. It draws nothing.

docs/reference/scene.md describes the format. A scene may come from an untrusted engine. Anything wrong with it is
therefore a DrawingError of one line, and its texts reach a terminal or a page only through `replace_unprintable`.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ggp.protocol.errors import in_words

MAX_SCENE = 4 * 1024 * 1024  # bytes of JSON
MAX_CELLS = 10_000
REACH = 1000  # the largest coordinate, positive or negative

Name = Annotated[str, Meta(min_length=1, max_length=24)]
Word = Annotated[str, Meta(max_length=24)]
Text = Annotated[str, Meta(max_length=200)]
Place = Annotated[float, Meta(ge=-REACH, le=REACH)]
Count = Annotated[int, Meta(ge=0, le=2**53)]
Colour = Literal["black", "white"]
Option = bool | Annotated[int, Meta(ge=-(2**53), le=2**53)] | float | Text


class DrawingError(ValueError):
    """A scene that cannot be drawn; str() says where and why."""


class Board(msgspec.Struct, frozen=True):
    """The kind of board: points on square lines (or cells, without lines), hexagons, or points on triangles."""

    kind: Literal["square", "hex", "points"]


class Cell(msgspec.Struct, frozen=True):
    """A cell that moves can name. `x` points right and `y` down; the distance between neighbours is 1."""

    at: Name
    x: Place
    y: Place


class Label(msgspec.Struct, frozen=True):
    """The name of a column or a row. A stroke leads to its first cell at `to`, if given."""

    text: Name
    x: Place
    y: Place
    to: tuple[Place, Place] | None = None


class Piece(msgspec.Struct, frozen=True):
    """A piece on a cell; `glyph` is its character on a text board."""

    at: Name
    colour: Colour
    kind: Word = "stone"
    glyph: Annotated[str, Meta(max_length=1)] = ""


class Control(msgspec.Struct, frozen=True):
    """A cell that a side controls, empty or not."""

    at: Name
    colour: Colour


class Mark(msgspec.Struct, frozen=True):
    """A cell that the engine highlights.

    The kind `win` marks where the game was decided, `dead` a dead piece; other kinds are ignored.
    """

    at: Name
    kind: Word


class Token(msgspec.Struct, frozen=True):
    """A fact beside the board, as text."""

    text: Text
    kind: Word = ""
    owner: Literal["black", "white", "none"] = "none"


class Scene(msgspec.Struct, frozen=True):
    """A drawing of a position, and whose turn it is; unknown facts are empty."""

    board: Board
    cells: Annotated[list[Cell], Meta(max_length=MAX_CELLS)]
    pieces: Annotated[list[Piece], Meta(max_length=MAX_CELLS)]
    lines: Annotated[list[tuple[Place, Place, Place, Place]], Meta(max_length=4000)] = []
    dots: Annotated[list[tuple[Place, Place]], Meta(max_length=1000)] = []
    labels: Annotated[list[Label], Meta(max_length=2000)] = []
    joins: Annotated[list[tuple[Name, Name]], Meta(max_length=MAX_CELLS)] = []
    control: Annotated[list[Control], Meta(max_length=MAX_CELLS)] = []
    marks: Annotated[list[Mark], Meta(max_length=MAX_CELLS)] = []
    tokens: Annotated[list[Token], Meta(max_length=40)] = []
    last: Annotated[list[Name], Meta(max_length=MAX_CELLS)] = []
    game: Text = ""
    options: Annotated[dict[Word, Option], Meta(max_length=40)] = {}
    phase: Word = ""
    to_play: Literal["black", "white", "none"] = "none"
    seat: Annotated[int, Meta(ge=0, le=2)] = 0
    ply: Count = 0
    result: Word = ""


_decoder = msgspec.json.Decoder(Scene)


def read_scene(text: str | bytes) -> Scene:
    """Return the scene in a JSON text.

    Raises:
        DrawingError: It is not a valid scene.
    """
    if len(text) > MAX_SCENE:
        raise DrawingError(f"the scene has {len(text)} characters; at most {MAX_SCENE} are allowed")
    try:
        return _checked(_decoder.decode(text))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _unreadable(error) from None


def as_scene(fields: dict[str, Any]) -> Scene:
    """Return a scene made from plain values.

    Raises:
        DrawingError: It is not a valid scene.
    """
    try:
        return _checked(msgspec.convert(fields, Scene))
    except msgspec.MsgspecError as error:
        raise _unreadable(error) from None


def replace_unprintable(text: str) -> str:
    """Return the text with U+FFFD for each unprintable character.

    Such characters move a terminal's cursor, change the reading direction or are not allowed in XML.
    """
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def replace_unprintable_lines(text: str) -> str:
    """Return the text with unprintable characters replaced but line ends kept; tabs become blanks."""
    return text if text.isprintable() else "\n".join(map(replace_unprintable, text.expandtabs().split("\n")))


def sentence(scene: Scene) -> str:
    """Return whose turn it is, or how the game ended; "" if the scene does not say."""
    if scene.phase == "over":
        return f"Game over: {replace_unprintable(scene.result)}"
    what = {"play": "to move", "agree": "to name the dead stones", "bid": "to bid", "choose": "to choose a side"}
    if scene.to_play == "none" or scene.phase not in what:
        return ""
    return f"{scene.to_play.capitalize()} {what[scene.phase]} (seat {scene.seat})"


def _checked(scene: Scene) -> Scene:
    """Return the scene if every name in it is a cell's, and no cell or piece occurs twice.

    Raises:
        DrawingError: It is not.
    """
    names = {cell.at for cell in scene.cells}
    if len(names) < len(scene.cells):
        raise DrawingError("invalid scene: two cells have the same name")
    if len({piece.at for piece in scene.pieces}) < len(scene.pieces):
        raise DrawingError("invalid scene: two pieces stand on the same cell")
    used = [
        *(("pieces", piece.at) for piece in scene.pieces),
        *(("control", entry.at) for entry in scene.control),
        *(("marks", mark.at) for mark in scene.marks),
        *(("joins", at) for pair in scene.joins for at in pair),
        *(("last", at) for at in scene.last),
    ]
    for where, at in used:
        if at not in names:
            raise DrawingError(f"invalid scene: {where} names {replace_unprintable(at)}, which is not a cell")
    return scene


def _unreadable(error: Exception) -> DrawingError:
    if isinstance(error, DrawingError):
        return error
    return DrawingError(f"invalid scene: {replace_unprintable(in_words(error))[:200]}")
