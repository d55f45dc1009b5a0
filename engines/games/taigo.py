"""# Taigo

A five-in-a-row game with two-coloured tiles, for two sides, by Néstor Romeral Andrés. Every tile serves both sides at
once, and the holes that tiles leave are filled with cones, of either colour, from a supply that both sides share.

## Start a game

```sh
ggp match taigo human greedy   # play against a built-in bot, in this terminal
ggp console taigo              # try moves on the engine: showboard, play B 1,1/2,1
```

Tiles, turns, holes, cones and the end are the designer's, retold. What this project decided is marked *ours*, with the
reason.

## Options

| name | default | values | meaning |
|---|---|---|---|
| `dark_cones` | 5 | 0–20 | dark cones in the supply |
| `light_cones` | 5 | 0–20 | light cones in the supply |
| `tiles` | 40 | 2–200 | all tiles, the first one included |

The designer plays with 40 tiles and with 5 to 10 cones of each colour, 5 in a first game; as a handicap the less
experienced side gets more cones of its colour. *Ours*: the limits, wide enough for short tests and long games.

## Board and words

The board is an unbounded lattice of hexagons. A cell is written `q,r` (*ours*: letters would run out); its neighbours
are q±1,r and q,r±1 and q+1,r−1 and q−1,r+1. A *tile* covers two adjacent cells; one half is Dark, the other Light.
Black plays Dark, White plays Light. Beside the board lie the tiles and a common supply of dark and light *cones*,
each of which covers one cell.

The first tile lies on the board from the start, Dark on `0,0` and Light on `1,0` (*ours*: on an unbounded board every
place is the same). It counts among the `tiles`, so 39 of 40 are played.

## Turns

Black (seat 1) begins; then turns alternate. A turn:

1. Put a tile on two adjacent empty cells, either way round, so that at least one of them is adjacent to an occupied
   cell. Colours need not match.
2. If this leaves *holes*, single empty cells whose six neighbours are all occupied now and were not before, fill each
   of them with a cone of either colour. You must, even if it helps your opponent. If there are fewer cones than
   holes, all cones are used, and you choose which holes they fill (*ours*: the designer only says that an empty
   supply fills nothing). A hole that stays open stays open for the rest of the game (*ours*: a turn fills only the
   holes that it makes).

Two adjacent empty cells are not a hole: a tile fits there. There is no pass (*ours*: the designer does not mention
one).

A move is written as dark cell, stroke, light cell, and each cone after it, `+d:` for a dark one and `+l:` for a light
one: `3,0/4,0+l:2,0`. Cones are named in any order; the engine answers with them in ascending order, by q, then by r.

## End and result

A *line* is five or more cells of one colour, tile halves and cones alike, in a row along one of the three axes.
After a turn, in this order:

* the opponent of the side that moved has a line: the opponent wins;
* the side that moved has a line: it wins;
* the last tile has been played: the game is drawn.

The result is `B+`, `W+` or `0`. There is no score, so `final_score` before the end answers `cannot score`. `boardsize`
takes 51, the width of the window that GTP programs are shown (*ours*: GTP needs a number), and `komi` has no effect.
"""

from ggp.engines import _core
from ggp.engines.game import Game, Option, Options, Scene
from ggp.engines.native import CoreState
from ggp.engines.scene import lattice, piece, token

RULES = __doc__
VIEW = 51
"""The width that GTP's boardsize accepts."""

PIECES = {"X": ("black", "tile"), "O": ("white", "tile"), "x": ("black", "cone"), "o": ("white", "cone")}
CONES = {"black": "#", "white": "@"}
STEPS = ((1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1))
AROUND = {(0, 0), *STEPS, *((q1 + q2, r1 + r2) for q1, r1 in STEPS for q2, r2 in STEPS)}
"""The cells within distance 2 of a cell, which tiles that touch it can reach."""


class TaigoState(CoreState[_core.Taigo]):
    """A position of taigo; the rules are in engines/core/taigo.hpp."""

    def scene(self) -> Scene:
        """Return the drawing: tiles, cones, and the supplies."""
        letters = dict(entry.split("=") for entry in self.core.board().split())
        occupied = [_cell(at) for at in letters]
        scene = lattice({(q + dq, r + dr) for q, r in occupied for dq, dr in AROUND})
        for at, letter in letters.items():
            colour, kind = PIECES[letter]
            scene["pieces"].append(piece(at, colour, kind, CONES[colour] if kind == "cone" else ""))
        scene["joins"] = [list(halves) for halves in self.core.tiles()]
        dark, light = self.core.cones_left()
        tiles = self.core.tiles_left()
        scene["tokens"] = [
            token("cones", "black", f"Dark cones left: {dark}", dark),
            token("cones", "white", f"Light cones left: {light}", light),
            token("tiles", "none", f"Tiles left: {tiles}", tiles),
        ]
        scene["last"] = self.core.last_move()
        return scene

    def groups(self) -> list[list[str]]:
        """Return the pieces that were played together: tiles as their two cells, and single cones."""
        tiles = dict(self.core.tiles())
        second = set(tiles.values())
        cells = [entry.split("=")[0] for entry in self.core.board().split()]
        return [[at, tiles[at]] if at in tiles else [at] for at in cells if at not in second]


class Taigo(Game):
    """The game taigo; the rules are this module's docstring."""

    name = "taigo"
    rules = RULES
    options = (
        Option("dark_cones", "int", "5", "0..20"),
        Option("light_cones", "int", "5", "0..20"),
        Option("tiles", "int", "40", "2..200"),
    )
    words = ()
    compound = True
    window = VIEW

    def new(self, options: Options) -> TaigoState:
        """Return the first position."""
        return TaigoState(_core.Taigo(int(options["dark_cones"]), int(options["light_cones"]), int(options["tiles"])))

    def boardsize(self, width: int) -> Options | None:
        """Accept the window of GoGui's views; it changes no option (PROTOCOL §3)."""
        return {} if width == VIEW else None

    def clicks(self, move: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the dark cell, the light cell, then each hole: once for a dark cone, twice for a light one."""
        tile, *cones = move.split("+")
        return tuple(tile.split("/")), tuple(hole for cone in cones for hole in [cone[2:]] * (1 + (cone[0] == "l")))

    def clicked(self, cells: tuple[str, ...], colour: str) -> dict[str, str]:
        """Return the dark cell, the light cell, and the holes with the colours of their cones."""
        tile = dict(zip(cells, ("black", "white"), strict=False))
        holes = cells[2:]
        return tile | {hole: "black" if holes.count(hole) == 1 else "white" for hole in holes}


def _cell(name: str) -> tuple[int, int]:
    q, r = name.split(",")
    return int(q), int(r)


GAME = Taigo()
