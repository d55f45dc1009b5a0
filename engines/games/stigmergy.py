"""# Stigmergy

A territory game of lines of sight on a hexagon of cells, for two sides, by Steve Metzger and Luis Bolaños Mures; it
descends from Tumbleweed by Michał Zapała. Nothing is ever removed: an enemy stone is replaced where you see enough, and
no game can end in a draw.

## Start a game

```sh
ggp match stigmergy,size=5 human greedy   # play against a built-in bot, in this terminal
ggp console stigmergy size=5              # try moves on the engine: showboard, ggp-legal_moves, play B bid:3
```

Sight, control, the turns, komi, the button and the score are the designers', retold. What this project decided is
marked *ours*, with the reason.

## Options

| name | default | values | meaning |
|---|---|---|---|
| `size` | 8 | 2–13 | cells on a side of the hexagon |
| `komi` | bid | bid, or an integer | points for White; may be negative |

*Ours*: 8 as the default, a game of about an hour between people; the limits, from the smallest board with a game in it
to the last column letter.

## Board and words

A hexagon with s cells on a side has N = 3s(s−1)+1 cells. A cell is written as a column letter from A, without I, and
a row number from 1 at the bottom; rows are level, and columns lean to the right going up (*ours*: GTP needs letters
and numbers). With c the number of the column (A is 1, H is 8, J is 9) and r the row, both from 1 to 2s−1, the cells
are those with s+1 ≤ c+r ≤ 3s−1: for s = 2 they are A2 A3 B1 B2 B3 C1 C2, and the centre of s = 5 is E5. The
neighbours of column c, row r are the cells at (c−1, r), (c+1, r), (c, r−1), (c, r+1), (c+1, r−1) and (c−1, r+1):
those of E5 are D5, F5, E4, E6, F4 and D6.

### Sight and control

Two stones, or a stone and a cell, *see* each other if they lie on one straight line of neighbouring cells with no stone
between them. You *control* a cell, empty or not, if it sees more stones of yours than half the number of its
neighbours on the board: 4 stones inside, 3 on an edge, 2 in a corner. The stone that stands on the cell itself neither
counts nor blocks. No cell is ever controlled by both sides.

## Komi and sides

With `komi=bid` seat 1, who is Black, first plays `bid:k`: any integer k from 0 to N+1 (*ours*: a larger komi could
not be made up for). Then seat 2 answers `swap-sides`, and is Black from now on, or `keep-sides`. After that, or at
once with a fixed komi, Black moves.

Beside the board lies one *button*, but only if komi is odd; −5 is odd, too.

## Turns

Black begins; then turns alternate. A turn is exactly one of these:

1. **Place** a stone on an empty cell that the opponent does not control.
2. **Replace** an enemy stone on a cell that you control by a stone of yours.
3. `button`: take the button, if komi is odd and it is free.
4. `pass`: only if every empty cell is controlled, and the button is not waiting to be taken. On a board
   without an empty cell a pass is legal.

Placing and replacing are both written as the cell, `E5`: a cell allows one of them at most.

There is always something legal: if a pass is not, either the button waits or some empty cell is uncontrolled, and there
both sides may place.

## End and score

Two consecutive passes end the game. A side's score is the sum of

* its stones on the board;
* the empty cells that it controls;
* ½ for the button;
* White: komi.

The result is the difference: `B+3.5`. In the end each of the N cells is a point of one side, and N is odd: with an
even komi the difference is odd, with an odd one the button is half a point. So there is no draw.

The game is finite: replacing raises the number of pairs of like stones that see each other, placing lowers it by one at
most, and a full board has 3N−6s+3 pairs; so there are at most 5N−6s+3 placements and replacements.
"""

from ggp.engines import _core
from ggp.engines.game import Game, Option, OptionError, Options, OptionValue, Scene
from ggp.engines.native import CoreState
from ggp.engines.scene import hexagon, piece, token

RULES = __doc__

SIDES = {"X": "black", "O": "white"}


class StigmergyState(CoreState[_core.Stigmergy]):
    """A position of stigmergy; the rules are in engines/core/stigmergy.hpp."""

    def scene(self) -> Scene:
        """Return the drawing, with the cells that each side controls."""
        scene = hexagon(self.core.size, "hex")
        cells = [cell["at"] for cell in scene["cells"]]
        scene["pieces"] = [
            piece(at, SIDES[letter]) for at, letter in zip(cells, self.core.board(), strict=True) if letter != "."
        ]
        scene["control"] = [
            {"at": at, "colour": SIDES[letter]}
            for at, letter in zip(cells, self.core.control(), strict=True)
            if letter != "."
        ]
        scene["tokens"] = self.tokens()
        scene["last"] = self.core.last_move()
        return scene

    def tokens(self) -> list[dict[str, object]]:
        """Return the komi, and the button if it is used."""
        komi, owner = self.core.komi(), self.core.button()
        if komi is None:
            return [token("komi", "white", "Komi: no bid yet")]
        tokens = [token("komi", "white", f"Komi: {komi}", komi)]
        if komi % 2:
            text = "The button is free" if owner == "none" else f"{owner.capitalize()} has the button"
            tokens.insert(0, token("button", owner, text))
        return tokens


class Stigmergy(Game):
    """The game stigmergy; the rules are this module's docstring."""

    name = "stigmergy"
    rules = RULES
    options = (Option("size", "int", "8", "2..13"), Option("komi", "bid", "bid", "bid,*"))
    words = ("swap-sides", "keep-sides", "bid:", "button", "pass")

    def new(self, options: Options) -> StigmergyState:
        """Return the first position."""
        komi = options["komi"]
        try:
            return StigmergyState(_core.Stigmergy(int(options["size"]), None if komi == "bid" else int(komi)))
        except ValueError as error:
            raise OptionError(str(error)) from None

    def boardsize(self, width: int) -> Options | None:
        """Accept the width of the view, 2s-1 (PROTOCOL §3)."""
        return super().boardsize((width + 1) // 2) if width % 2 else None

    def komi(self, number: float) -> OptionValue:
        """Round towards zero (PROTOCOL §2.7)."""
        return int(number)


GAME = Stigmergy()
