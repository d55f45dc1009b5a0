"""# Laido

A connection game for two sides by Saïd Galdseid (2024), on the points of a hexagonal board of triangles. What counts
is a long chain between two edge stones with as little as possible hanging on it: each group is worth twice the stones
of its shortest such chain, less all its stones. The best group wins; equal ones are set aside and the next best
compared.

## Start a game

```sh
ggp match laido,size=5 human greedy   # play against a built-in bot, in this terminal
ggp console laido size=5              # try moves on the engine: showboard, ggp-legal_moves, play B E5
```

Board, turns, the value of a group, the comparison, the half point and the pie are the designer's, retold. What this
project decided is marked *ours*, with the reason.

## Options

| name | default | values | meaning |
|---|---|---|---|
| `size` | 9 | 2–13 | points on a side of the hexagon |
| `pie` | on | on, off | whether seat 2 may swap sides after the first stone |
| `half_point` | final | final, first | which pass wins where all values are equal (below) |

The designer recommends 9 and also names 7 and 11. *Ours*: the limits, from the smallest board with a game in it to the
last column letter; `pie=off`, for matches that play every opening from both sides anyway; `half_point`, because the
designer's sentence allows two readings (below).

## Board and words

A hexagon with s points on a side has 3s(s − 1) + 1 points; inside, each has six neighbours along the lines. The
points of the outermost ring are *edge points*, stones on them *edge stones*. A point is written as a column letter
from A, without I, and a row number from 1 at the bottom; rows are level, and columns lean to the right going up
(*ours*: GTP needs letters and numbers). With c the number of the column (A is 1, H is 8, J is 9) and r the row, both
from 1 to 2s − 1, the points are those with s+1 ≤ c+r ≤ 3s−1: for s = 2 they are A2 A3 B1 B2 B3 C1 C2, and the centre
of s = 5 is E5. The neighbours of column c, row r are the points at (c − 1, r), (c + 1, r), (c, r − 1), (c, r + 1), (c
+ 1, r − 1) and (c − 1, r + 1): those of E5 are D5, F5, E4, E6, F4 and D6.

A *group* is all stones of one colour that are connected along lines.

## Opening

`pie=on`: in ply 0 seat 1 places a black stone on any point; `pass` is not possible. In ply 1 seat 2 plays for White
(a stone, or `pass`), or answers `swap-sides`: the seats exchange their colours, the board stays as it is, and White,
who is now seat 1, is still to move. Swapping is a ply of its own (*ours*: records and clocks count plies).

`pie=off`: no swap, and Black may pass from the start.

## Turns

Black begins; then turns alternate. A turn is exactly one of these:

1. a stone of the own colour on any empty point, written as the point: `E5`;
2. `pass`.

Stones are never moved or taken. Two consecutive passes end the game, at any time.

## Values and the end

The value of a group with g stones is 2p − g. Here p is the smallest number of stones on a chain of neighbouring
stones, all in that group, that joins two *different* edge stones of it; both ends count. A group with fewer than two
edge stones has p = 0. So two edge stones beside each other have p = 2, and a lone stone is worth −1, on the edge too.

The designer calls the p stones the connection part, a minimally connected subgroup with two edge stones, and the
others the surplus. A group may have several such subgroups that are minimal in the sense that no stone can be left
out. *Ours*: the one with the fewest stones counts, because it can be computed quickly and named without doubt.

Each side's values are sorted in descending order. The shorter list is filled up with zeros at its end (*ours*: a side
with no group left is neither better nor worse off than 0, so [5] beats [5, −1]), and the lists are compared pair by
pair. At the first difference the higher value wins, `B+3`, by the difference (*ours*: the designer names no margin).

If no pair differs, half a point decides, `B+0.5`. It belongs to the side that passed first: with `half_point=final`
the side that made the first of the two final passes, with `half_point=first` the side that made the first pass of the
whole game. The designer's sentence, "the player who passed their turn first", allows both readings. *Ours*: `final` is
the default, because a pass in the middle of the game should not decide it. There are no draws. A later text of the
designer breaks this tie by the stones nearer the centre instead; this project keeps to the first text.
"""

from typing import Literal

from ggp.engines import _core
from ggp.engines.game import Game, Option, Options, Scene
from ggp.engines.native import CoreState
from ggp.engines.scene import COLUMNS, hexagon, piece, pieces_by_cell, token

RULES = __doc__

COLOURS = {"X": "black", "O": "white"}
NEIGHBOURS = ((1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1))
"""The offsets of a point's neighbours, as columns and rows."""


class LaidoState(CoreState[_core.Laido]):
    """A position of laido; the rules are in engines/core/laido.hpp."""

    def scene(self) -> Scene:
        """Return the drawing, with the holder of the half point."""
        scene = hexagon(self.core.size, "points")
        for cell, letter in zip(scene["cells"], self.core.board(), strict=True):
            if letter != ".":
                scene["pieces"].append(piece(cell["at"], COLOURS[letter]))
        holder = self.core.half_point()
        if holder != "none":
            scene["tokens"] = [token("half-point", holder, f"{holder.capitalize()} has the half point", 0.5)]
        scene["last"] = self.core.last_move()
        return scene

    def standing(self) -> str:
        """Return the result if the game ended now."""
        return self.core.standing()

    def groups(self) -> list[list[str]]:
        """Return connected stones of one colour, by column, then row, in the order of their first cells."""
        stones = {_place(cell): stone["colour"] for cell, stone in pieces_by_cell(self.scene()).items()}
        groups = []
        while stones:
            (place, colour) = next(iter(stones.items()))
            del stones[place]
            group, edge = [place], [place]
            while edge:
                column, row = edge.pop()
                for x, y in NEIGHBOURS:
                    near = (column + x, row + y)
                    if stones.get(near) == colour:
                        del stones[near]
                        group.append(near)
                        edge.append(near)
            groups.append([f"{COLUMNS[column]}{row}" for column, row in sorted(group)])
        return groups


class Laido(Game):
    """The game laido; the rules are this module's docstring."""

    name = "laido"
    rules = RULES
    options = (
        Option("size", "int", "9", "2..13"),
        Option("pie", "enum", "on", "on,off"),
        Option("half_point", "enum", "final", "final,first"),
    )
    words = ("pass", "swap-sides")

    def new(self, options: Options) -> LaidoState:
        """Return the first position."""
        rule: Literal["final", "first"] = "first" if options["half_point"] == "first" else "final"
        return LaidoState(_core.Laido(int(options["size"]), options["pie"] == "on", rule))

    def boardsize(self, width: int) -> Options | None:
        """Accept the width of the view, 2s−1 (PROTOCOL §3)."""
        return super().boardsize((width + 1) // 2) if width % 2 else None


def _place(cell: str) -> tuple[int, int]:
    """Return a point's column, counted from 0, and its row."""
    return COLUMNS.index(cell[0]), int(cell[1:])


GAME = Laido()
