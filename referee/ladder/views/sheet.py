"""Tables of text: framed on a terminal with room, else plain columns. What bots say cannot command the terminal."""

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from unicodedata import combining, east_asian_width


@dataclass(slots=True)
class Sheet:
    """Columns by their heads, right-aligned but those in `left`; in plain text the last one has any length."""

    heads: Sequence[str]
    left: frozenset[str] = frozenset()
    rows: list[list[str]] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        """A row, as long as the heads."""
        self.rows.append([clean(str(cell)) for cell in cells])


def show(sheet: Sheet, title: str = "") -> None:
    """Print it."""
    if on_terminal():
        _show_framed(sheet, title)
    else:
        say(*([clean(title)] if title else []), *_plain(sheet))


def say(*lines: str) -> None:
    """Print lines."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def on_terminal() -> bool:
    """Whether somebody looks at stdout, or says so."""
    return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()


def clean(text: str) -> str:
    """The text with what is not printable written out, as \\x1b."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def width(text: str) -> int:
    """Columns that it takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _plain(sheet: Sheet) -> Iterable[str]:
    lines, widths = [list(sheet.heads), *sheet.rows], _widths(sheet)
    left = [head in sheet.left for head in sheet.heads]
    for line in lines:
        yield "  ".join(
            cell + " " * (size - width(cell)) if flush else " " * (size - width(cell)) + cell
            for cell, size, flush in zip(line, widths, left, strict=True)
        ).rstrip()


def _widths(sheet: Sheet) -> list[int]:
    return [max(map(width, column)) for column in zip(sheet.heads, *sheet.rows, strict=True)]


def _show_framed(sheet: Sheet, title: str) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    table = Table(title=Text(clean(title)) if title else None, title_justify="left")
    if sum(_widths(sheet)) + 3 * len(sheet.heads) + 1 > console.width:  # without a frame it needs a fifth less
        table.box, table.pad_edge, table.padding = None, False, (0, 2, 0, 0)
    for head in sheet.heads:
        table.add_column(Text(head), justify="left" if head in sheet.left else "right", overflow="fold")
    for row in sheet.rows:
        table.add_row(*map(Text, row))
    console.print(table)
