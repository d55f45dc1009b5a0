"""Tables of text: framed on a terminal with room, else plain columns. What bots say cannot command the terminal."""

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from unicodedata import combining, east_asian_width

_LEAST = 16  # cells of a last column of text, over several lines if need be


@dataclass(slots=True)
class Sheet:
    """Columns by their heads, right-aligned but those in `left`; in plain text the last one has any length.

    On a terminal with too little room the groups in `spare` are left out, the first of them first, and it says so.
    """

    heads: Sequence[str]
    left: frozenset[str] = frozenset()
    rows: list[list[str]] = field(default_factory=list)
    spare: Sequence[tuple[str, ...]] = ()

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
    widths, shown = _widths(sheet), list(sheet.heads)
    if sum(widths) + 3 * len(widths) + 1 > console.width:  # without a frame it needs a fifth less
        table.box, table.pad_edge, table.padding = None, False, (0, 2, 0, 0)
        shown = _fitting(sheet, widths, console.width)
    for head in shown:
        # Numbers are never broken: names are, where not even the columns that must be there have room.
        left = head in sheet.left
        table.add_column(Text(head), justify="left" if left else "right", overflow="fold", no_wrap=not left)
    chosen = [head in shown for head in sheet.heads]
    for row in sheet.rows:
        table.add_row(*(Text(cell) for cell, there in zip(row, chosen, strict=True) if there))
    console.print(table)
    if out := [head.strip() for head in sheet.heads if head not in shown]:
        console.print(Text(f"not shown: {' '.join(out)} (a wider window or | less -S shows all)"))


def _fitting(sheet: Sheet, widths: Sequence[int], room: int) -> list[str]:
    """The heads of the columns that are shown, two cells between any two. A last one of text may be broken."""
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
