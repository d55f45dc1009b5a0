"""Positions of the core and the models for tests: reached by plies, or set up from drawings and cells."""

import math
from collections import Counter
from typing import Any, NamedTuple

import pytest

from ggp.engines._core import Go, Yugo
from tests.rules.models.hexagon import Cell, cells
from tests.rules.models.model import COLUMNS

Position = Go | Yugo
both = pytest.mark.parametrize("game", [Go, Yugo])

# --- any game ---


def played(game: Any, moves: str, **options: Any) -> Any:
    """A game in which those moves have been played; they are canonical, and read without regard to case."""
    return play(game(**options), moves)


def play(state: Any, moves: str) -> Any:
    """That position after those moves."""
    for move in moves.split():
        assert state.play(move.lower()) == move
    return state


def totals(state: Any) -> tuple[float, float]:
    """Black's and White's score as the position stands."""
    parts = state.score_parts()
    return parts["black"]["total"], parts["white"]["total"]


def turn(state: Any) -> tuple[str, str, int, int]:
    return state.phase, state.to_play, state.seat, state.ply


def read_options(words: str) -> dict[str, Any]:
    """Read `size=5 komi=7.5 agreement=on` as the models and the core take them."""
    said: dict[str, Any] = {"on": True, "off": False, "bid": None}
    options: dict[str, Any] = {}
    for name, value in (word.split("=") for word in words.split()):
        number = float(value) if "." in value else int(value) if value[-1].isdigit() else value
        options[name] = said.get(value, number)
    return options


class Shown(NamedTuple):
    """A sentence of the rules, shown on a game: begun with `options`, at `start` (a side and a drawn board) if it is
    given; after `moves` all of `true` holds, as `check` reads it."""

    sentence: str
    options: str
    moves: str
    start: str
    true: dict[str, Any]

    def hold(self, game: Any) -> None:
        """Play it in the core or in a model, and check it."""
        side, _, board = self.start.strip().partition(" ")
        options = read_options(self.options)
        state = drawn(game, board, side, **options) if board else game(**options)
        check(play(state, self.moves), **self.true)


def shown(sentence: str, options: str = "", moves: str = "", start: str = "", **true: Any) -> Any:
    return pytest.param(Shown(sentence, options, moves, start, true), id=sentence)


def check(state: Any, **true: Any) -> None:
    """Check a position against `board` (a drawing, or its last rows), `turn`, `totals`, `over` (result and winner), the
    moves that are `legal` or `illegal`, all of the legal ones (`only`), or any of its attributes and answers."""
    for name, expected in true.items():
        if name == "board":
            assert state.board().endswith("".join(expected.split())), rows(state)
        elif name in ("turn", "totals"):
            assert (turn if name == "turn" else totals)(state) == expected
        elif name == "over":
            assert (state.phase, state.to_play, state.seat, state.legal_moves()) == ("over", "none", 0, [])
            assert (state.result, state.winner) == expected
            refuse(state, "pass", "A1", "dead:")
        elif name == "only":
            assert state.legal_moves() == expected.split()
        elif name == "legal":
            assert {*expected.split()} <= {*state.legal_moves()}
        elif name == "illegal":
            refuse(state, *(expected.split() if isinstance(expected, str) else expected))
        else:
            found = getattr(state, name)
            assert (found() if callable(found) else found) == expected, name


def refuse(state: Any, *moves: str) -> None:
    """Check that none of these is legal, and that to try it changes nothing."""
    before = state.board(), turn(state), state.legal_moves()
    for move in moves:
        assert move not in before[2] and state.why_illegal(move), move
        with pytest.raises(ValueError, match=r"."):
            state.play(move)
        assert (state.board(), turn(state), state.legal_moves()) == before


# --- square boards ---


def drawn(game: Any, drawing: str, side: str = "black", **options: Any) -> Any:
    """A game of go or yugo that begins with the drawn board, and that side to move."""
    board = "".join(drawing.split())
    state = game(size=round(len(board) ** 0.5), **options)
    state.set_up(board, side)
    return state


def rows(state: Any) -> list[str]:
    """The board, rows from the top."""
    board = state.board()
    return [board[i : i + state.size] for i in range(0, len(board), state.size)]


def square_names(size: int) -> list[str]:
    """All points, rows from the top, in the order of board texts."""
    return [f"{COLUMNS[x]}{y}" for y in range(size, 0, -1) for x in range(size)]


def stones(state: Any, letter: str = "X") -> set[str]:
    """The points of a square board with that letter."""
    return {name for name, mark in zip(square_names(state.size), state.board(), strict=True) if mark == letter}


# --- hexagons ---


def on_hexagon(game: Any, side: int, black: list[Cell], white: list[Cell], to_play: str = "black", **more: Any) -> Any:
    """A game of laido or stigmergy that begins with those stones."""
    state = game(size=side, **more)
    state.set_up("".join("X" if at in black else "O" if at in white else "." for at in cells(side)), to_play)
    return state


def axial(stones: str) -> list[Cell]:
    """Blank-separated axial `q,r`."""
    return [(int(q), int(r)) for q, r in (stone.split(",") for stone in stones.split())]


# --- taigo ---

TWO = {(-1, 0), (0, 0), (1, 0), (2, 0)}
"""The tile on 0,0 and 1,0 leaves a hole on either side."""
FOUR = [{(0, 1), (-1, 0), (1, -1), (2, 0)}, {(-1, 1), (0, -1), (1, 1), (2, -1)}]
"""Both ways in which the tile on 0,0 and 1,0 leaves four holes."""
RING = "1,0=X -1,1=X 0,1=O -1,0=O"
"""Example (b): the tile on 0,-1 and 1,-1 closes the ring round 0,0."""


def at(cell: Cell) -> str:
    return f"{cell[0]},{cell[1]}"


def taigo_board(taigo: Any, board: str, side: str = "black", **options: Any) -> Any:
    """A game that begins with that board, and that side to move."""
    state = taigo(**options)
    state.set_up(board, side)
    return state


def walls(empty: set[Cell], radius: int) -> str:
    """A hexagon of cells round 0,0, all occupied but these. No line in it is longer than two."""
    return " ".join(f"{at((q, r))}={'XXOO'[(q + 2 * (r % 2)) % 4]}" for q, r in sorted({*cells(radius + 1)} - empty))


def on(state: Any, *cells: str) -> list[str]:
    """The legal moves whose tile lies on those two cells."""
    return [move for move in state.legal_moves() if sorted(move.split("+")[0].split("/")) == sorted(cells)]


# --- taugo ---


def taugo_board(taugo: Any, black: str = "", white: str = "", side: str = "black", size: int = 8, **more: Any) -> Any:
    """A game that begins with stones at those points, and that side to move."""
    corners = {f"{column}{row}" for column in (COLUMNS[0], COLUMNS[size - 1]) for row in (1, size)}
    marks = dict.fromkeys(corners, "?") | dict.fromkeys(black.split(), "X") | dict.fromkeys(white.split(), "O")
    state = taugo(size=size, **more)
    state.set_up("".join(marks.get(name, ".") for name in square_names(size)), side)
    return state


def runs(state: Any, start: str = "") -> list[str]:
    """The legal moves of several points that begin with that point."""
    return [move for move in state.legal_moves() if "+" in move and move.split("+")[0].startswith(start)]


# --- chance ---


def chi_square(state: Any, draws: int = 20_000) -> None:
    """Random moves are uniform over the legal ones."""
    legal = state.legal_moves()
    are_as_likely(Counter(state.random_move(seed) for seed in range(draws)), dict.fromkeys(legal, 1 / len(legal)))


def are_as_likely(seen: Counter[str], chances: dict[str, float]) -> None:
    """The moves were drawn with those chances, none of which is 0."""
    assert set(seen) == set(chances)
    if len(chances) == 1:
        return
    draws = seen.total()
    statistic = sum((seen[move] - draws * chance) ** 2 / (draws * chance) for move, chance in chances.items())
    freedom = len(chances) - 1
    # Wilson and Hilferty 1931: the cube root of chi-square over its freedom is nearly normal; 4.9 is a chance of 1e-6.
    z = ((statistic / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / math.sqrt(2 / (9 * freedom))
    assert z < 4.9
