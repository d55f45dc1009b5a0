"""# Yugo

A finite territory game on a square grid, for two sides, by Luis Bolaños Mures (2017). It descends from go, but pieces
that capture stay for ever, so no position comes again and no ko rule is needed. It is not go with another score:
one point takes a pawn or a king by the position alone, never by choice.

## Start a game

```sh
ggp match yugo,size=5 human greedy   # play against a built-in bot, in this terminal
ggp console yugo size=5              # try moves on the engine: showboard, ggp-legal_moves, play B C3
```

Board, pieces, turns, captures, button, komi, handicap, score and the agreement after two passes are the designer's,
retold. What this project decided is marked *ours*, with the reason.

## Options

| name | default | values | meaning |
|---|---|---|---|
| `size` | 9 | 2–25 | points on a side |
| `komi` | 7 | an integer | points for White; may be negative |
| `handicap` | 0 | 0, 2–9, less than size² | pawns that Black places before White's first turn |
| `agreement` | off | on, off | whether the sides may agree on dead groups after two passes |

The designer suggests boards of 9 to 19, a komi of 7 on 9×9 and larger, and handicaps of 2 to 9 pawns. *Ours*: 9 as the
default, the size that bots play fastest; sizes from 2, for tests, up to 25, the last column letter; a handicap below
size², so that White can move; `agreement=off`, because bots can play a position out.

## Board and words

n×n points, adjacent along the lines. A column is a letter from A, without I, a row a number from 1; A1 is the lower
left corner. Each colour has *pawns* and *kings*. A *group* is all pieces of one colour that are connected along lines,
pawns and kings together. An empty point next to a group is its *liberty*; a group without liberties is *surrounded*.
Beside the board lies one *button*.

## Turns

Black (seat 1) begins; then turns alternate. A turn is exactly one of these:

1. `button`: take the button, if it is free. This is not a pass.
2. `pass`: only when the button has been taken.
3. A **pawn** on an empty point, if right after placing it as many groups (of both colours) are surrounded as before.
4. A **king** on an empty point, if right after placing it more enemy groups are surrounded than before. All pawns of
   all surrounded enemy groups are removed. If own groups are surrounded in the position that results, all their
   pawns are removed too.

No point allows both a pawn and a king, so a move is written as the point alone, `D4` (*ours*: the engine knows the
piece).
Kings never leave the board. A king may be placed against a group of kings only, from which nothing is removed.
A placement that surrounds own groups but no enemy group is illegal.

The game is finite: kings stay, and between two kings pawns only fill points.

## Handicap

With a handicap h of 2 or more, Black places h pawns before White's first turn. *Ours*: each is a ply of its own, where
rule 3 allows a pawn; kings, the button and passes are not legal there, because the designer speaks of pawns alone.

## End and score

Two consecutive passes end the game. A side's score is the sum of

* the empty points of its territory: regions of connected empty points that touch at least one of its pieces and no
  enemy piece;
* its pieces in groups that have a liberty;
* the enemy's kings in groups that have none;
* ½ for the button;
* White: komi; Black: minus (h − 1) for a handicap of h.

The result is the difference: `B+3.5`. Komi is an integer and the button is half a point, so no draw is possible once
the button is taken, and no pass before.

`agreement=on`: the first two consecutive passes do not end the game. First the side that passed first, then the
other, answers `dead:` and a comma-separated list of points, or `dead:` alone (the order and the form are *ours*:
players who talk need neither). A stone names its whole group; an empty point or a repeated one is illegal. If both
lists name the same groups, these are removed, kings included, the game is over and the board counts. If not, play
goes on with the opponent of the side that passed last, and the next two consecutive passes end the game without
removals.
"""

from ggp.engines import _core
from ggp.engines.game import Game, Option, OptionError, Options, OptionValue
from ggp.engines.scene import token
from ggp.engines.stones import StoneState

RULES = __doc__


class YugoState(StoneState[_core.Yugo]):
    """A position of yugo; the rules are in engines/core/yugo.hpp."""

    ordinary = "pawn"

    def tokens(self) -> list[dict[str, object]]:
        """Return the button and the komi."""
        owner = self.core.button()
        text = "The button is free" if owner == "none" else f"{owner.capitalize()} has the button"
        return [token("button", owner, text), *super().tokens()]


class Yugo(Game):
    """The game yugo; the rules are this module's docstring."""

    name = "yugo"
    rules = RULES
    options = (
        Option("size", "int", "9", "2..25"),
        Option("komi", "int", "7", "*"),
        Option("handicap", "int", "0", "0,2..9"),
        Option("agreement", "enum", "off", "on,off"),
    )
    words = ("button", "pass", "dead:")

    def new(self, options: Options) -> YugoState:
        """Return the first position."""
        komi = int(options["komi"])
        try:
            core = _core.Yugo(int(options["size"]), komi, int(options["handicap"]), options["agreement"] == "on")
        except ValueError as error:
            raise OptionError(str(error)) from None
        return YugoState(core, komi)

    def komi(self, number: float) -> OptionValue:
        """Round towards zero (PROTOCOL §2.7)."""
        return int(number)


GAME = Yugo()
