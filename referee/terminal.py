"""The terminal of a command (encoding, width, colour), and printing of texts and tables on it.

Tables have a frame on a terminal with enough room, otherwise they are plain columns. Output of bots is escaped, so it
cannot control the terminal.
"""

import contextlib
import io
import os
import re
import signal
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import current_thread, main_thread
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple, Protocol, TextIO, cast
from unicodedata import combining, east_asian_width

import msgspec

from ggp.protocol.drawing import text
from ggp.protocol.drawing.scene import DrawingError, Scene, read_scene
from ggp.protocol.standard_streams import encodable, write_stderr

if TYPE_CHECKING:
    from rich.console import Console

_LEAST = 16  # least width of a last text column, which may be wrapped
_UNBROKEN = 10_000  # columns of a pipe or a file, whose rows must not be broken


# -- encoding, width, colour: decided only here -----------------------------------------------------------------------


def on_terminal(stream: TextIO | None = None) -> bool:
    """Return True if the stream (stdout by default) is a terminal. Only then is output laid out for its width."""
    return (stream or sys.stdout).isatty()


def can_redraw(stream: TextIO | None = None) -> bool:
    """Return True if the stream (stdout by default) is a terminal with a movable cursor."""
    return on_terminal(stream) and os.environ.get("TERM", "").lower() not in ("", "dumb", "unknown")


def shows_colour(stream: TextIO | None = None) -> bool:
    """Return True if text on the stream (stdout by default) may have colours.

    NO_COLOR forbids them everywhere; FORCE_COLOR allows them even without a terminal.
    Source: no-color.org, force-color.org.
    """
    if os.environ.get("NO_COLOR"):
        return False
    return os.environ.get("FORCE_COLOR", "0") not in ("", "0") or can_redraw(stream)


def shows_unicode(stream: TextIO | None = None) -> bool:
    """Return True if the stream (stdout by default) can encode every character."""
    return (_encoding(stream or sys.stdout) or "utf-8").lower().startswith("utf")


def screen_columns(stream: TextIO | None = None) -> int | None:
    """Return the columns of the stream (stdout by default) if it is a terminal, else None. COLUMNS overrides them."""
    if not on_terminal(stream):
        return None
    said = os.environ.get("COLUMNS", "")
    try:
        return int(said) if said.isdecimal() and int(said) else os.get_terminal_size((stream or sys.stdout).fileno())[0]
    except (OSError, ValueError):
        return 80


def spelled(text: str) -> str:
    """Return the text as it appears on stdout. Measure only this text to align columns."""
    return encodable(text, _encoding(sys.stdout))


def _encoding(stream: TextIO) -> str | None:
    """Return the encoding of a stream; None for text that stays in memory.

    While Rich draws live, stdout is a proxy of Rich without an encoding.
    """
    return getattr(getattr(stream, "rich_proxied_file", stream), "encoding", None)


def rich_console(stderr: bool = False, soft_wrap: bool = False) -> "Console":
    """Return a Rich console on stdout or stderr with our decisions about encoding, width and colour."""
    from rich.console import Console

    class OurConsole(Console):
        def on_broken_pipe(self) -> None:
            raise

    stream = sys.stderr if stderr else sys.stdout
    system = "auto" if can_redraw(stream) else "standard" if shows_colour(stream) else None
    return OurConsole(
        file=None if shows_unicode(stream) else cast("TextIO", _OneColumn(stream)),
        stderr=stderr,
        color_system=system,  # type: ignore[arg-type]
        no_color=not shows_colour(stream),
        force_terminal=on_terminal(stream),
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=soft_wrap,
        # On a terminal Rich asks for the size each time it draws, because the window may change.
        width=None if can_redraw(stream) else screen_columns(stream) or _UNBROKEN,
    )


class _OneColumn(io.TextIOBase):
    """A stream that replaces our special characters by others of one column if its encoding lacks them."""

    _SIGNS = str.maketrans({"…": "~", "–": "-", "—": "-", "−": "-", "·": "|", "±": "+", "×": "x", "µ": "u"})

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        missing = {ord(c): self._SIGNS[ord(c)] for c in {*text} if ord(c) in self._SIGNS and len(self._fit(c)) != 1}
        return self._stream.write(text.translate(missing))

    def flush(self) -> None:
        self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def _fit(self, character: str) -> str:
        return encodable(character, self._stream.encoding)


# -- tables ------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class TextTable:
    """A table with right-aligned columns, except those in `left`. In plain text the last column may have any length.

    On a terminal that is too narrow, the groups of columns in `spare` are left out, the first group first, with a note.
    """

    heads: Sequence[str]
    left: frozenset[str] = frozenset()
    rows: list[list[str]] = field(default_factory=list)
    spare: Sequence[tuple[str, ...]] = ()

    def add(self, *cells: object) -> None:
        """Add a row with one cell per column."""
        self.rows.append([escape_unprintable(str(cell)) for cell in cells])


def show(sheet: TextTable, title: str = "") -> None:
    """Print a table, with a frame on a terminal."""
    if on_terminal():
        _show_framed(sheet, title)
    else:
        say(*([escape_unprintable(title)] if title else []), *table_lines(sheet))


def say(*lines: str) -> None:
    """Print lines."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))


class ShowProgress(Protocol):
    """A callback that shows progress."""

    def __call__(self, done: int, total: int | None = None, what: str = "") -> None:
        """Show how much is done, of how much in total, and what is being done."""


@contextlib.contextmanager
def progress_bar(what: str, wanted: bool = True) -> Iterator[ShowProgress]:
    """Show a progress bar on stderr if that is a terminal. It is removed at the end."""
    if not (wanted and can_redraw(sys.stderr)):
        yield lambda done, total=None, what="": None
        return
    from rich.progress import Progress as Bar

    with Bar(console=rich_console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def show(done: int, total: int | None = None, what: str = what) -> None:
            bar.update(task, completed=done, total=total, description=what)

        yield show


class LinePart(NamedTuple):
    """A part of a live line. Parts with the highest `rank` are left out first; one with `cut` may be shortened."""

    text: str
    rank: int
    cut: bool = False
    bar: bool = False


def bar_part(share: float, rank: int, columns: int = 16) -> LinePart:
    """Return a bar that is filled up to a share from 0 to 1."""
    full, empty = "━─" if shows_unicode(sys.stderr) else "#-"
    filled = round(min(max(share, 0.0), 1.0) * columns)
    return LinePart(full * filled + empty * (columns - filled), rank, bar=True)


def fitted(parts: Sequence[LinePart], columns: int) -> list[LinePart]:
    """Return the parts that fit on one line, in order, with two blanks between them."""
    chosen, room = dict[int, LinePart](), columns - 1  # some terminals wrap after the last column
    for place, part in sorted(enumerate(parts), key=lambda one: one[1].rank):
        left = room - 2 * bool(chosen)
        if part.cut and width(part.text) > left >= _LEAST:
            part = part._replace(text=_cut(part.text, left))
        if part.text and width(part.text) <= left:
            chosen[place] = part
            room = left - width(part.text)
    return [chosen[place] for place in sorted(chosen)]


def _cut(text: str, columns: int) -> str:
    sign = "…" if shows_unicode(sys.stderr) else "~"
    while width(text) >= columns:
        text = text[:-1]
    return text + sign


class LiveLine:
    """The last line of stderr, redrawn in place on a terminal. A context manager, which removes the line at the end.

    The cursor stays at its beginning. If the window becomes narrower and the line wraps, all its parts are after the
    cursor, so erasing from the cursor loses nothing above the line.
    """

    _ERASE = "\r\x1b[J"

    def __init__(self) -> None:
        self._parts: Sequence[LinePart] = ()
        self._drawn = ""
        self._before: signal._HANDLER = None

    def __enter__(self) -> "LiveLine":
        if current_thread() is main_thread():
            self._before = signal.signal(signal.SIGWINCH, self._resized)
        return self

    def __exit__(self, *error: object) -> None:
        if current_thread() is main_thread():
            signal.signal(signal.SIGWINCH, self._before)
        write_stderr(self._ERASE)

    def update(self, parts: Sequence[LinePart]) -> None:
        """Show these parts."""
        self._parts = [
            part._replace(text=encodable(escape_unprintable(part.text), _encoding(sys.stderr))) for part in parts
        ]
        if (line := self._line()) != self._drawn:
            self._draw(line)

    def print_above(self, *lines: str) -> None:
        """Print lines above the live line."""
        self._draw(self._line(), "".join(f"{line}\n" for line in lines))

    def _resized(self, number: int, frame: FrameType | None) -> None:
        self._draw(self._line())

    def _draw(self, line: str, above: str = "") -> None:
        self._drawn = line
        write_stderr(f"{self._ERASE}{above}{line}\r")  # one write, because a signal may arrive between two

    def _line(self) -> str:
        colour, plain = ("\x1b[32m", "\x1b[0m") if shows_colour(sys.stderr) else ("", "")
        shown = fitted(self._parts, screen_columns(sys.stderr) or 80)
        return "  ".join(f"{colour}{part.text}{plain}" if part.bar else part.text for part in shown)


def escape_unprintable(text: str) -> str:
    r"""Return the text with each unprintable character written as its escape sequence, such as \x1b."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def width(text: str) -> int:
    """Return the number of columns that a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def table_lines(sheet: TextTable) -> Iterable[str]:
    """Return the lines of a table in plain columns."""
    left = [head in sheet.left for head in sheet.heads]
    lines = [[spelled(cell) for cell in row] for row in (sheet.heads, *sheet.rows)]
    widths = [max(map(width, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(
            cell + " " * (size - width(cell)) if flush else " " * (size - width(cell)) + cell
            for cell, size, flush in zip(line, widths, left, strict=True)
        ).rstrip()


def _widths(sheet: TextTable) -> list[int]:
    return [max(map(width, column)) for column in zip(sheet.heads, *sheet.rows, strict=True)]


def _show_framed(sheet: TextTable, title: str) -> None:
    from rich.table import Table
    from rich.text import Text

    sheet = TextTable(
        [*map(spelled, sheet.heads)],
        frozenset(map(spelled, sheet.left)),
        [[*map(spelled, row)] for row in sheet.rows],
        [tuple(map(spelled, group)) for group in sheet.spare],
    )
    console = rich_console()
    table = Table(title=Text(escape_unprintable(title)) if title else None, title_justify="left")
    widths, shown = _widths(sheet), list(sheet.heads)
    if sum(widths) + 3 * len(widths) + 1 > console.width:  # without a frame it needs a fifth less room
        table.box, table.pad_edge, table.padding = None, False, (0, 2, 0, 0)
        shown = _fitting(sheet, widths, console.width)
    for head in shown:
        # Numbers are never broken. Names are, if not even the required columns fit.
        left = head in sheet.left
        table.add_column(Text(head), justify="left" if left else "right", overflow="fold", no_wrap=not left)
    chosen = [head in shown for head in sheet.heads]
    for row in sheet.rows:
        table.add_row(*(Text(cell) for cell, there in zip(row, chosen, strict=True) if there))
    console.print(table)
    if out := [head.strip() for head in sheet.heads if head not in shown]:
        console.print(Text(f"not shown: {' '.join(out)} (a wider window or | less -S shows all)"))


def _fitting(sheet: TextTable, widths: Sequence[int], room: int) -> list[str]:
    """Return the heads of the columns that fit, with two cells between columns. A last text column may be wrapped."""
    sizes = dict(zip(sheet.heads, widths, strict=True))
    last = sheet.heads[-1]
    if last in sheet.left:
        sizes[last] = min(sizes[last], max(_LEAST, width(last)))
    for group in sheet.spare:
        if sum(sizes.values()) + 2 * (len(sizes) - 1) <= room:
            break
        for head in group:
            sizes.pop(head, None)
    return list(sizes)


# -- A board beside the dialogue: lines of styled pieces. protocol.drawing lays it out.


_WIDEST = 34  # columns of a caption over a smaller board, on a terminal of 80

Line = list[tuple[str, str]]


class BoardText(NamedTuple):
    """A board as text: its `lines`, and `notes` beside it.

    `stones` are the cells with pieces on them; `caption` is the text above the board.
    """

    lines: list[Line]
    notes: tuple[str, ...] = ()
    stones: tuple[str, ...] = ()
    caption: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Return the number of columns."""
        return max((sum(len(piece) for _, piece in line) for line in self.lines), default=0)

    @property
    def height(self) -> int:
        """Return the number of lines."""
        return len(self.lines)

    def captioned(self) -> "BoardText":
        """Return the board with the caption as its first lines, shortened to the available room."""
        room = max(self.width, _WIDEST)
        cut = [text if len(text) <= room else f"{text[: room - 1]}…" for text in self.caption]
        over: list[Line] = [[("", text)] for text in cut]
        return self._replace(lines=[*over, *self.lines], caption=())


NOTHING = BoardText([])


# -- Drawing of a board for the console, from a scene or from `showboard`, in styled pieces.


_FIRST = 0x2801  # from here on are characters of one column that no glyph uses


def draw_scene(answer: str) -> BoardText:
    """Draw an answer to `ggp-scene`. If it cannot be drawn, a note says why."""
    try:
        scene = read_scene(answer)
        lines = _paint(scene)
        return BoardText(lines, tuple(text.describe(scene, 60)), tuple(piece.at for piece in scene.pieces))
    except DrawingError as error:
        return BoardText([], (visible(str(error)),))


def draw_text(answer: str) -> BoardText:
    """Return the answer to `showboard` as it is, with control characters escaped."""
    return BoardText([[("", line)] for line in visible(answer).strip("\n").split("\n")])


def _paint(scene: Scene) -> list[Line]:
    """Draw a scene as text with coloured stones.

    Each stone is drawn as a placeholder first, so that no label is taken for a stone.
    """
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


# -- Text of peers made harmless and readable on a terminal: escapes, wrapped lines, times.


def visible(text: str) -> str:
    """Return the text with unprintable characters escaped, so that it cannot control the terminal.

    Line feeds stay; a tab becomes four blanks.
    """
    if text.isprintable():
        return text
    return "\n".join(map(escape_unprintable, text.replace("\t", "    ").split("\n")))


def quote(data: bytes) -> str:
    r"""Return bytes between quotes, with `\n` and other unprintable characters as escapes."""
    return f"'{escape_unprintable(data.decode('utf-8', 'backslashreplace'))}'"


def wrapped(text: str, width: int) -> str:
    """Wrap lines that are longer than `width`, and indent continuations to the first word. No word is cut.

    In a row of two columns the second one is wrapped. Other lines with several blanks in a row stay, because they may
    be rows of a board.
    """
    return "\n".join(line for each in text.split("\n") for line in _continued(each, width))


def _continued(line: str, width: int) -> list[str]:
    row = _ROW.fullmatch(line)
    if len(line) <= width or row is None:
        return [line]
    head, words = row.groups()
    room = max(width - len(head), 20)
    first, *rest = textwrap.wrap(words, room, break_long_words=False, break_on_hyphens=False)
    return [head + first, *(" " * len(head) + each for each in rest)]


# An indentation, or a first column and at least two blanks; then words with a blank between each two.
_ROW = re.compile(r"( *|.*?\S {2,})(\S+(?: \S+)*)")


def span(seconds: float) -> str:
    """Format seconds as `12.3 s`, `4:05 min` or `1:04:05`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d} min"


def duration(seconds: float) -> str:
    """Format seconds as `350 µs`, `1.2 ms` or `12.3 s`."""
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        milliseconds = seconds * 1e3
        return f"{milliseconds:.1f} ms" if milliseconds < 100 else f"{milliseconds:.0f} ms"
    return f"{seconds:.1f} s"
