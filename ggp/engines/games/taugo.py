"""# Taugo

A game for two on a square board without edge lines, designed by Saïd Gadwen (2023). From Proto-Germanic *taugô*,
string or rope: strings of stones grow along the lines, cut through each other and reach for the edge. There are no
knots.

Board, turns, cuts, the end, the score and the swap of sides after the first stone are the designer's, in
other words. The designer's text leaves gaps; what this project decided is marked *ours*.

## Options

| name | default | values | meaning |
|---|---|---|---|
| `size` | 16 | 6–25 | points on a side, the edge included |
| `cut_from` | lateral | lateral, any | the stones that a cut may start from |
| `pie` | on | on, off | whether the second seat may swap sides after the first stone |

A board of 16 is the designer's; smaller and larger ones, the limits, `cut_from=any` and `pie=off` are *ours*.

## Board and words

n×n points without the four corners (*ours*: nothing can reach them). The points of the first and last rows and
columns are *edge points*, the others *inner points*; the inner points next to the edge are the *perimeter*. The lines
along the edge do not exist: two edge points are never adjacent, and an edge point is adjacent to one point only, the
perimeter point in front of it. On 16×16 there are 252 points: 196 inner ones, 52 of them on the perimeter.

A column is a letter from A, without I, a row a number from 1; A1 would be the lower left corner.

A *string* is a maximal connected set of stones of one colour; a single stone is one too. The *degree* of a stone is
the number of adjacent stones of its own colour: a stone of degree 0 is *isolated*, of degree 1 *lateral*, of 2 or
more *central*. A *knot* is a 2×2 square of inner points in one colour. A turn that makes a knot is illegal.

## Turns

Black (seat 1) begins; then turns alternate. A turn is exactly one of these:

1. A **new** stone on an empty inner point that has no adjacent friendly stone. It is not prolonged in the same turn.
2. **Growing**: from a friendly stone straight on in one direction, one or more successive points are filled.
   * An empty inner point may be filled, and the run may stop there.
   * A run ends before a friendly stone, and before an empty edge point unless that is a cut point.
   * A block of successive enemy stones, all of them up to the next other point, may be **cut**: replaced by friendly
     stones, together with the empty point right behind the block, the *cut point*. The stone before the block, where
     the run has arrived, must be lateral at that moment (with `cut_from=any`: may be any stone), and every stone
     of the block must be central in the position before the turn. The run may not stop inside a block. The cut point
     may be an edge point, which ends the run; from an inner cut point the run may go on, through another block too.
3. `pass`.

A move is written as the points that it fills, in their order: `D4`, or `D5+D6+D7` (*ours*). That the whole block is
looked at before the turn, that the stone before it must have exactly one friend *at that moment*, and that edge
points are filled in no other way than as cut points is how this project reads the designer's text.

The game is finite: a cut point must be empty, so every turn but `pass` occupies a point that was empty.

## The first stone

With `pie=on` Black's first ply is a stone, not `pass`. Then the second seat either plays as White or answers
`swap-sides`: the seats exchange their colours, the board stays, and White, now held by the first seat, is to move.
With `pie=off` there is no swap, and `pass` is legal from the start.

## End and score

Two consecutive passes end the game. T(k) is 1 + 2 + … + k. A side's score is the sum of

* T(number of its perimeter stones) for each of its strings;
* T(number of its edge stones), whatever strings they belong to;
* ½ for having strictly fewer strings than the opponent.

The result is the difference: `B+3.5`. Equal scores are a draw, `0` (*ours*).
"""

from typing import Literal

from ggp.engines import _core
from ggp.engines.game import Game, Option, OptionError, Options, Scene
from ggp.engines.native import CoreState
from ggp.engines.scene import open_square, piece, token

RULES = __doc__
COLOURS = {"X": "black", "O": "white"}


class TaugoState(CoreState[_core.Taugo]):
    """A position of taugo; the rules are in ggp/engines/core/taugo.hpp."""

    def scene(self) -> Scene:
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
    """See the module's text for the rules."""

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
        cut_from: Literal["lateral", "any"] = "any" if options["cut_from"] == "any" else "lateral"
        try:
            return TaugoState(_core.Taugo(int(options["size"]), cut_from, options["pie"] == "on"))
        except ValueError as error:
            raise OptionError(str(error)) from None

    def clicks(self, move: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The filled points in their order."""
        return tuple(move.split("+")), ()


GAME = Taugo()
