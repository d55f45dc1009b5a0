"""A terminal's screen, as far as our programs use one: what stands on it after everything they wrote. No colours."""

import re

from rich.cells import get_character_cell_size

_TOKEN = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|([\r\n\b\a])|([^\x1b\r\n])", re.DOTALL)


class TerminalScreen:
    """Rows of cells and a cursor; `write` takes text with control sequences."""

    def __init__(self, width: int, height: int) -> None:
        self.cursor_shown = True
        self._row = self._column = 0
        self.resize(width, height)
        self._cells = [[" "] * width for _ in range(height)]

    def resize(self, width: int, height: int) -> None:
        """What stands there is not moved: whoever draws must clear it."""
        self._width, self._height = width, height
        if hasattr(self, "_cells"):
            kept = self._cells[-height:] + [[]] * (height - len(self._cells))
            self._cells = [(row + [" "] * width)[:width] for row in kept]
            self._row, self._column = min(self._row, height - 1), min(self._column, width)

    @property
    def rows(self) -> list[str]:
        """From the top, without blanks at the ends; the empty ones at the bottom are left out."""
        return "\n".join("".join(row).rstrip() for row in self._cells).rstrip().split("\n")

    def write(self, text: str) -> None:
        """As a terminal would; AssertionError for what this one does not know."""
        at = 0
        while at < len(text):
            token = _TOKEN.match(text, at)
            assert token is not None, f"unknown control sequence {text[at : at + 20]!r}"
            at = token.end()
            parameters, final, control, character = token.groups()
            if final:
                self._control(parameters, final)
            elif control == "\b":
                self._column = max(0, self._column - 1)
            elif control == "\a":
                pass
            elif control == "\r":
                self._column = 0
            elif control == "\n":
                self._next_row()
            else:
                self._put(character)

    def _control(self, parameters: str, final: str) -> None:
        if final == "A":
            self._row = max(0, self._row - int(parameters or 1))
        elif final == "B":
            self._row = min(self._height - 1, self._row + int(parameters or 1))
        elif final == "C":
            self._column = min(self._width - 1, self._column + int(parameters or 1))
        elif final == "D":
            self._column = max(0, min(self._column, self._width - 1) - int(parameters or 1))
        elif final == "H":
            row, _, column = parameters.partition(";")
            self._row, self._column = int(row or 1) - 1, int(column or 1) - 1
        elif final == "J":
            first = 0 if parameters == "2" else self._row + 1
            self._cells[first:] = [[" "] * self._width for _ in range(self._height - first)]
            if first:
                self._erase_line(self._column)
        elif final == "K":
            self._erase_line(0 if parameters == "2" else self._column)
        elif parameters == "?25":
            self.cursor_shown = final == "h"
        elif final == "n":
            assert parameters == "6", f"unknown question {parameters}"  # whoever holds the terminal answers it
        elif final in "hl":
            assert parameters in ("?2004", "?7", "?1", "?12"), f"unknown mode {parameters}"
        else:
            assert final == "m", f"unknown control sequence {parameters}{final}"

    def _erase_line(self, column: int) -> None:
        row = self._cells[self._row]
        row[column:] = [" "] * (self._width - column)

    def _put(self, character: str) -> None:
        cells = get_character_cell_size(character)
        if self._column + cells > self._width:
            self._column = 0
            self._next_row()
        if cells:
            self._cells[self._row][self._column : self._column + cells] = [character, *[""] * (cells - 1)]
            self._column += cells

    def _next_row(self) -> None:
        self._row += 1
        if self._row == self._height:
            self._row -= 1
            self._cells = [*self._cells[1:], [" "] * self._width]
