"""# Taugo

A game for two on a square board without edge lines, designed by Saïd Gadwen (2023). The name is Proto-Germanic *taugô*,
string or rope: strings of stones grow along the lines, cut through each other and reach for the edge, and must never
tie a knot.

## Start a game

```sh
ggp match taugo,size=8 human greedy   # play against a built-in bot, in this terminal
ggp console taugo size=8              # try moves on the engine: showboard, ggp-legal_moves, play B D4
```

The rules are the designer's, retold. The text leaves gaps; what this project decided is marked *ours*, with the reason.

## Options

| name | default | values | meaning |
|---|---|---|---|
| `size` | 16 | 6–25 | points on a side, the edge included |
| `cut_from` | lateral | lateral, any | the stones that a cut may start from |
| `pie` | on | on, off | whether the second seat may swap sides after the first stone |

The designer recommends 16 and allows smaller boards for shorter games. *Ours*: the limits of `size`, because below 6
there is hardly an inner board and Z is the last column letter; `pie=off`, for matches that play every opening from
both sides anyway. `cut_from=any` follows a later text of the designer, in which a cut may start from any friendly
stone; the default follows the first one.

## Board and words

The board has n×n points. The four corners are missing, because nothing can reach them. The points of the first and last
rows and columns are *edge points*, the others *inner points*; the inner points next to the edge are the *perimeter*. On
16×16 there are 252 points: 196 inner ones, 52 of them on the perimeter.

The lines along the edge do not exist. So two edge points are never adjacent (*ours*, read from the missing lines), and
each edge point has one neighbour, the perimeter point in front of it.

A column is a letter from A, without I; a row is a number from 1. A1 would be the lower left corner.

A *string* is a maximal connected set of stones of one colour; a single stone is one too. The *degree* of a stone is
the number of adjacent stones of its own colour. A stone of degree 0 is *isolated*, of degree 1 *lateral*, of 2 or more
*central*.

## Turns

Black (seat 1) begins; then turns alternate. A turn is one of these:

1. A **new** stone on an empty inner point that has no adjacent friendly stone. It is not prolonged in the same turn.
2. **Growing**: from a friendly stone, one or more successive points are filled, straight away from that stone in one
   direction (*ours*: the designer's "straight line" does not say where it begins).
   * An empty inner point may be filled, and the run may stop there.
   * The run ends before a friendly stone, and before an empty edge point unless that is a cut point.
   * Enemy stones in the way may be cut: see below.
3. `pass`.

A move is written as the points that it fills, in their order: `D4`, or `D5+D6+D7`. The same points may be filled from
either end, `D3+D4+D5` from D2 or `D5+D4+D3` from D6: these are two moves with one result. The bot `random` counts them
once, `ggp-playouts` twice.

The game is finite: a cut point must be empty, so every turn but `pass` occupies a point that was empty.

### Cuts

A run may replace a block of successive enemy stones with friendly ones if all of this holds:

* The friendly stone before the block, where the run has arrived, is lateral at that moment (with `cut_from=any` any
  stone will do). *Ours*: "at that moment", because a run may cut several blocks.
* Every stone of the block is central. *Ours*: in the position before the turn, so that a cut does not help itself to
  the next one.
* The point right after the block, the *cut point*, is empty (*ours*: otherwise a game need never end). It is filled in
  the same turn.

The run may not stop inside a block. It may begin with a block (*ours*: the designer's cut point only needs a lateral
stone on the other side). The cut point may be an edge point, which ends the run; from an inner cut point the run may
continue, through another block too. Edge points are filled in no other way.

### Knots

A *knot* is a 2×2 square of stones of one colour, edge stones included. A turn that makes a knot, in whatever way, is
illegal. The corners are not points, so a square with a corner is never a knot.

## The first stone

With `pie=on` Black's first ply is a stone, not `pass`. Then the second seat either plays as White or answers
`swap-sides`: the seats exchange their colours, the board stays, and White, now held by the first seat, is to move.
With `pie=off` there is no swap, and `pass` is legal from the start.

## End and score

Two consecutive passes end the game. T(k) is 1 + 2 + … + k. A side's score is the sum of

* T(number of its perimeter stones) for each of its strings. Only perimeter stones count here (*ours*: the text says
  both "stones found on the perimeter line" and "stones on the string");
* T(number of its edge stones), whatever strings they belong to;
* ½ for having strictly fewer strings than the opponent. With equally many, neither side gets it (*ours*: the text gives
  it to "the player with the fewest strings").

The result is the difference: `B+3.5`. Equal scores are a draw, `0` (*ours*: the text gives no further tie-break).
"""

from typing import Literal

from ggp.engines import _core
from ggp.engines.game import Game, Option, OptionError, Options, Scene
from ggp.engines.native import CoreState
from ggp.engines.scene import open_square, piece, token

RULES = __doc__
COLOURS = {"X": "black", "O": "white"}


class TaugoState(CoreState[_core.Taugo]):
    """A position of taugo; the rules are in engines/core/taugo.hpp."""

    def scene(self) -> Scene:
        """Return the drawing, with the number of strings of each side."""
        size = self.core.size
        scene = open_square(size)
        letters = self.core.board()
        for cell in scene["cells"]:
            colour = COLOURS.get(letters[cell["y"] * size + cell["x"]])
            if colour is not None:
                scene["pieces"].append(piece(cell["at"], colour))
        parts = self.core.score_parts()
        for colour, values in (
            ("black", parts["black"]["string_values"]),
            ("white", parts["white"]["string_values"]),
        ):
            count = len(values) if isinstance(values, list) else 0
            text = f"{colour.capitalize()} has {count} string{'' if count == 1 else 's'}"
            scene["tokens"].append(token("strings", colour, text, count))
        scene["last"] = self.core.last_move()
        return scene


class Taugo(Game):
    """The game taugo; the rules are this module's docstring."""

    name = "taugo"
    rules = RULES
    options = (
        Option("size", "int", "16", "6..25"),
        Option("cut_from", "enum", "lateral", "lateral,any"),
        Option("pie", "enum", "on", "on,off"),
    )
    words = ("swap-sides", "pass")
    compound = True

    def new(self, options: Options) -> TaugoState:
        """Return the first position."""
        cut_from: Literal["lateral", "any"] = "any" if options["cut_from"] == "any" else "lateral"
        try:
            return TaugoState(_core.Taugo(int(options["size"]), cut_from, options["pie"] == "on"))
        except ValueError as error:
            raise OptionError(str(error)) from None

    def clicks(self, move: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the filled points in their order."""
        return tuple(move.split("+")), ()

    def effect(self, move: str) -> frozenset[str]:
        """Return the filled points, because two runs from opposite ends may fill the same ones."""
        return frozenset(move.split("+"))


GAME = Taugo()
