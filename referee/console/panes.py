"""The prompt's part of the screen: the input line, hints and notes under it, the board at their right or below."""

from collections.abc import Callable
from typing import NamedTuple

from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import has_completions, is_done
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Container,
    Dimension,
    DynamicContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    ScrollbarMargin,
    ScrollOffsets,
    VSplit,
    Window,
)
from prompt_toolkit.layout.menus import CompletionsMenuControl
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.widgets import SearchToolbar

from referee.console.board import Board
from referee.console.talk import PROMPT
from referee.console.visible import wrapped

MENU = 10  # lines of the menu of completions
_LEFT = 44  # columns that the dialogue's side needs at least
_GAP = 2
_HINT = 3  # lines
_UNDER = 4  # lines that the menu leaves to the input, the hint and the notes
_KEPT = 6  # lines of the screen that the board leaves to the dialogue


class Shown(NamedTuple):
    """What the panes show, asked for whenever they are drawn."""

    hint: Callable[[], str]
    notes: Callable[[], list[str]]
    board: Callable[[], Board]


def layout(buffer: Buffer, shown: Shown) -> Layout:
    """The layout; the board goes where there is room for it, and nowhere if there is none."""
    search = SearchToolbar()
    control = BufferControl(
        buffer, input_processors=[BeforeInput([("class:prompt", PROMPT)])], search_buffer_control=search.control
    )
    line = Window(control, height=_height_of_input, wrap_lines=True, dont_extend_height=True)
    hint = Window(
        FormattedTextControl(lambda: [("class:dim", wrapped(shown.hint(), _left(shown)))]),
        height=Dimension(min=1, max=_HINT),
        dont_extend_height=True,
    )
    left = HSplit(
        [
            line,
            search,
            hint,
            _menu(shown),
            Window(FormattedTextControl(lambda: _dim(_notes(shown))), wrap_lines=True, height=Dimension(min=0)),
        ]
    )
    board = Window(
        FormattedTextControl(lambda: _text(_fitted(shown))),
        width=lambda: Dimension.exact(_fitted(shown).width),
        dont_extend_height=True,
        ignore_content_width=True,
    )
    beside = VSplit([left, Window(width=_GAP), board])
    below = HSplit([left, Window(board.content, dont_extend_height=True)])

    def fitting() -> Container:
        return {"beside": beside, "below": below}.get(place(_fitted(shown), *_size()), left)

    return Layout(DynamicContainer(fitting), focused_element=line)


def _menu(shown: Shown) -> Container:
    """The completions between the hint and the notes, so that they cover neither them nor the board."""

    def room() -> Dimension:
        board, (columns, rows) = _fitted(shown), _size()
        taken = board.height if place(board, columns, rows) == "below" else 0
        return Dimension(min=1, max=max(1, min(MENU, rows - taken - _UNDER)))

    menu = Window(
        CompletionsMenuControl(),
        height=room,
        dont_extend_width=True,
        dont_extend_height=True,
        right_margins=[ScrollbarMargin()],
        scroll_offsets=ScrollOffsets(top=1, bottom=1),
        style="class:completion-menu",
    )
    return ConditionalContainer(VSplit([menu, Window()]), filter=has_completions & ~is_done)


def fitted(board: Board, columns: int, rows: int) -> Board:
    """With its caption where both have room at the board's place; else that is left over, for the notes."""
    whole = board.captioned()
    fits = board.lines and place(whole, columns, rows) == place(board, columns, rows) != ""
    return whole if fits else board


def place(board: Board, columns: int, rows: int) -> str:
    """Where a board fits on a screen: "beside" the dialogue, "below" it, or "" for nowhere."""
    if not board.lines:
        return ""
    if board.width + _GAP + _LEFT <= columns and board.height + 1 <= rows:
        return "beside"
    return "below" if board.width <= columns and board.height + 2 + _KEPT <= rows else ""


def _left(shown: Shown) -> int:
    """Columns of the dialogue's side."""
    board, (columns, rows) = _fitted(shown), _size()
    return columns - board.width - _GAP if place(board, columns, rows) == "beside" else columns


def _fitted(shown: Shown) -> Board:
    return fitted(shown.board(), *_size())


def _size() -> tuple[int, int]:
    size = get_app().output.get_size()
    return size.columns, size.rows


def _height_of_input() -> Dimension:
    return Dimension(min=1)


def _notes(shown: Shown) -> list[str]:
    board, (columns, rows) = _fitted(shown), _size()
    notes = [*board.caption, *shown.notes()]
    if board.lines and not place(board, columns, rows):
        return [f"(the board needs {board.width} columns and {board.height + 1} lines)", *notes]
    return notes


def _dim(lines: list[str]) -> StyleAndTextTuples:
    return [("class:dim", "\n".join(lines))]


def _text(board: Board) -> StyleAndTextTuples:
    out: StyleAndTextTuples = []
    for line in board.lines:
        out += [*line, ("", "\n")]
    return out[:-1]
