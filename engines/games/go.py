"""# Go

The game of go on a square grid, with the rules that computer programs agree on most easily: Tromp–Taylor area
scoring, suicide forbidden. It is here for the many bots that already play it. No territory scoring, no removal
of dead stones by judgement: what stands on the board counts, unless both sides agree otherwise.

## Start a game

```sh
ggp match go,size=9 human greedy   # play against a built-in bot, in this terminal
ggp console go size=9              # try moves on the engine: showboard, ggp-legal_moves, play B D4
```

The rules are common property. What this project decided is marked *ours*, with the reason.

## Options

| name | default | values | meaning |
|---|---|---|---|
| `size` | 19 | 2–25 | points on a side |
| `komi` | 7.5 | a multiple of 0.5 | points for White; may be negative; GTP's `komi` may set any number |
| `handicap` | 0 | 0, 2–9 | black stones that stand on the board at the start |
| `ko` | positional | simple, positional, situational | which positions may not come again |
| `agreement` | off | on, off | whether the sides may agree on dead stones after two passes |

## Board and moves

n×n points, adjacent along the lines. A column is a letter from A, without I, a row a number from 1; A1 is the lower
left corner. Stones of one colour that are connected along lines are a *group*; the empty points next to it are
its *liberties*.

Black (seat 1) moves first; then turns alternate. A turn is a stone on an empty point, written as the point (`D4`), or
`pass`. After a stone is placed, enemy groups without liberties are taken from the board. A stone that would leave its
own group without liberties after that is suicide and illegal (*ours*: few programs play it).

## Ko

Passing is never restricted. A stone may not be placed

* `positional`: if it would recreate a board that stood earlier in the game;
* `situational`: if it would recreate a board that stood earlier with the same side to move; positions after passes
  count;
* `simple`: if it would recreate the board before the opponent's last move. Longer cycles are possible then, so when a
  stone makes a board with the same side to move stand for the third time, the game is over and drawn, `0` (*ours*:
  such a game would never end).

## Handicap

The stones stand on the points that version 2 of the GTP draft fixes, before ply 0; White moves first. Boards smaller
than 7×7 have no such points; 7×7 and boards of even size have four. Over plain GTP `fixed_handicap` and
`set_free_handicap` place stones on the empty board instead.

## Positions from SGF

GTP's `loadsgf FILE [MOVE]` plays the main line of a record, up to but not including that move, and takes stones that
are set up anywhere (`AB`, `AW`, `AE`), whose turn it is (`PL`), and sides that move twice in a row. After set-up stones
the game restarts: the position is ply 0, `undo` goes back to it and no further, `ggp-history` lists the plies since,
and the ko rules count from it. `ggp-hash` is that of the position, however it came about. A move that these rules
forbid (ko, suicide, after two passes) is executed as SGF says, and the game restarts after it. Black moves first
after set-up stones, with `HA[2]` or more White, unless `PL` or the next move says otherwise; `HA` without stones
stands for those of `fixed_handicap`. Loading stops before a move on an occupied point, and the answer says where. A
group set up without a liberty is refused, and then nothing changes.

## End and score

Two consecutive passes end the game. The score of a side is its stones on the board, all of them, and the points of
the empty regions that touch only its stones; White has the komi added. The result is the difference: `B+3.5`, `W+1`,
or `0` for a draw, which needs an integer komi.

`agreement=on` (*ours*, as in Yugo, for bots that do not play a position out): the first two consecutive passes do not
end the game. First the side that passed first, then the other, answers `dead:` and a comma-separated list of points,
or `dead:` alone. A stone names its whole group; an empty point or a repeated one is illegal. If both lists name the
same groups, these are removed, the game is over and the board counts. If not, play goes on with the opponent of the
side that passed last, and the next two consecutive passes end the game without removals.
"""

from typing import Literal, cast

from ggp.engines import _core
from ggp.engines.game import Game, Option, OptionError, Options, OptionValue
from ggp.engines.stones import StoneState

RULES = __doc__


class GoState(StoneState[_core.Go]):
    """A position of go; the rules are in engines/core/go.hpp."""

    def __init__(self, core: _core.Go, komi: float) -> None:
        super().__init__(core, komi)
        self.set_to_play = core.set_to_play
        self.place_handicap = core.place_handicap
        self.board = core.board
        self.set_up = core.set_up


class Go(Game):
    """The game of go; the rules are this module's docstring."""

    name = "go"
    rules = RULES
    options = (
        Option("size", "int", "19", "2..25"),
        Option("komi", "half", "7.5", "*"),
        Option("handicap", "int", "0", "0,2..9"),
        Option("ko", "enum", "positional", "simple,positional,situational"),
        Option("agreement", "enum", "off", "on,off"),
    )
    words = ("pass", "dead:")
    setup = True
    komi_at_any_time = True

    def new(self, options: Options) -> GoState:
        """Return the first position."""
        komi = float(options["komi"])
        ko = cast(Literal["simple", "positional", "situational"], options["ko"])  # as Option.parse made it
        try:
            core = _core.Go(int(options["size"]), komi, int(options["handicap"]), ko, options["agreement"] == "on")
        except ValueError as error:
            raise OptionError(str(error)) from None
        return GoState(core, komi)

    def komi(self, number: float) -> OptionValue:
        """Accept any number (PROTOCOL §2.7)."""
        return number + 0.0  # turns -0 into 0, because equal positions must have equal hashes


GAME = Go()
