"""Chance and counting in the C++ core: perft, random moves that are exactly uniform, playouts beside other threads."""

import signal
import threading
from collections import Counter
from collections.abc import Callable
from random import Random
from types import FrameType
from typing import TYPE_CHECKING

import pytest

from ggp.engines._core import Go, Laido, Stigmergy, Taugo, Yugo
from tests.rules.models.hexagon import Cell, name, names, near
from tests.rules.models.hexagon import cells as hexagon_cells
from tests.rules.models.laido import LaidoModel
from tests.support.positions import Position, are_as_likely, both, chi_square, play

if TYPE_CHECKING:
    from ggp.engines._core import _Position


def test_perft_counts_sequences() -> None:
    assert [Go(2).perft(depth) for depth in (0, 1, 2)] == [1, 5, 21]  # four points and a pass; 4 * 4 + 5
    assert [Yugo(3).perft(depth) for depth in (1, 2)] == [10, 91]  # nine points and the button; 9 * 9 + 10
    assert play(Go(3, agreement=True), "pass pass").perft(1) == 1


@pytest.mark.parametrize(
    "state",
    [
        Go(3),
        play(Go(5), "B1 C1 A2 D2 B3 C3 D4 B2 C2"),  # a ko: B2 is forbidden
        Yugo(3),
        play(Yugo(3), "button"),
        play(Yugo(4, handicap=3), "A1"),
        Laido(3),
        play(Laido(3), "C3"),
        play(Laido(3), "C3 swap-sides B3 pass"),
        play(Laido(2), "A2 A3 B1 B3 C1 C2"),
        Laido(2, pie=False),
        Stigmergy(3),
        play(Stigmergy(3), "bid:7"),
        play(Stigmergy(2, 0), "B2 A2 C2 B1 A3 pass"),  # a replacement, two cells, a pass
        play(Stigmergy(3, 3), "button"),
    ],
    ids=[
        "go",
        "go with a ko",
        "yugo",
        "yugo after the button",
        "yugo handicap",
        "laido, the first stone",
        "laido, the swap",
        "laido",
        "laido, the last point",
        "laido without the pie",
        "stigmergy, the bid",
        "stigmergy, the choice",
        "stigmergy, the end",
        "stigmergy after the button",
    ],
)
def test_random_moves_are_uniform_over_the_legal_moves(state: "_Position") -> None:
    chi_square(state)


@both
@pytest.mark.parametrize("side", ["black", "white"])
def test_random_moves_are_uniform_where_most_points_are_illegal(game: type[Position], side: str) -> None:
    state = game(size=5)
    state.set_up("XX.XOX.XXOXXXO.OOOO..O.OO", "black" if side == "black" else "white")
    empty = state.board().count(".")
    assert len(state.legal_moves()) - 1 < empty
    chi_square(state)


@pytest.mark.parametrize(("komi", "token"), [(7, "button"), (8, "pass")])
def test_random_moves_of_stigmergy_are_uniform_on_the_default_board(komi: int, token: str) -> None:
    """Some stones can be replaced, and one token is legal."""
    state, seed = Stigmergy(8, komi), 0
    cells = [name(at, 8) for at in hexagon_cells(8)]
    while token not in (legal := state.legal_moves()) or len(_stones(state, cells).intersection(legal)) < 2:
        seed += 1
        state.play(next(filter(str.isupper, (state.random_move(1000 * seed + i) for i in range(100)))))
    chi_square(state, 40_000)


def _stones(state: Stigmergy, cells: list[str]) -> set[str]:
    return {cell for cell, letter in zip(cells, state.board(), strict=True) if letter != "."}


@both
def test_rollouts_do_not_fill_their_own_eyes(game: type[Position]) -> None:
    state = game(size=3)
    state.set_up(".X.XXX...")
    assert {state.random_move(seed, "rollout") for seed in range(200)} == {"A1", "B1", "C1"}
    state = game(size=3)
    state.set_up(".X.XXXXXX")
    assert {state.random_move(seed, "rollout") for seed in range(50)} == {"pass" if game is Go else "button"}


@pytest.mark.parametrize("moves", ["D4 E5 pass C3 D5+D6+D7 B2", "C3 F2 C4+C5+C6+C7 F3+F4 G7 B6"])
def test_rollouts_of_taugo_take_of_two_moves_the_one_that_reaches_further(moves: str) -> None:
    """Each point that is filled counts once, and once more in the second or last but one row or column."""
    state = play(Taugo(8, pie=False), moves)
    legal = [move for move in state.legal_moves() if move != "pass"]
    reach = {move: sum(1 + ((point[0] in "BG") or (point[1] in "27")) for point in move.split("+")) for move in legal}
    pairs = Counter(second if reach[second] > reach[first] else first for first in legal for second in legal)
    chances = {move: pairs[move] / len(legal) ** 2 for move in legal}
    assert len(set(chances.values())) > 3
    are_as_likely(Counter(state.random_move(seed, "rollout") for seed in range(40_000)), chances)


def test_rollouts_of_laido_pass_where_no_point_promises_anything() -> None:
    """None beside a group that reaches the edge twice does, nor one that is cut off from all but one of the edge."""

    def rollouts(state: Laido) -> set[str]:
        return {state.random_move(seed, "rollout") for seed in range(300)}

    for board, side, moves in (
        ("XXX.XXX", "black", {"pass"}),
        ("XXX.XXX", "white", {"pass"}),
        ("XX.....", "black", {"B1", "C1"}),
        ("XX.....", "white", {"A2", "B1", "B2", "C1", "C2"}),
        ("X......", "black", {"B1", "B2", "C1", "C2"}),
    ):
        state = Laido(2)
        state.set_up(board, "black" if side == "black" else "white")
        assert rollouts(state) == moves
    assert rollouts(Laido(2)) == set(Laido(2).legal_moves())
    assert rollouts(play(Laido(2), "B2")) == {"A2", "A3", "B1", "B3", "C1", "C2"}  # sides are not swapped


def test_rollouts_of_laido_never_waste_a_stone() -> None:
    """Agrees with the model, which finds groups each ply. A point that the last stone threatens to split is saved."""
    joins = saves = passes = lazy = 0
    for seed in range(60):
        state, model, last = Laido(4), LaidoModel(4), ""
        if seed % 2:
            board = "".join(Random(seed).choices(".XO", (4, 1, 1), k=37))
            state.set_up(board)
            model.set_up(board)
        while state.phase != "over":
            move = state.random_move(seed, "rollout")
            if state.ply > 1 or seed % 2:
                open_points = {name(cell, 4) for cell in prospects(model)}
                saved = saved_points(model, last) & open_points
                sensible = {point for point in open_points & set(model.stones()) if not wasteful(model, point)}
                assert move in (saved or sensible | {"pass"}), (state.board(), move)
                saves, passes = saves + bool(saved), passes + (move == "pass")
                lazy += move == "pass" and bool(saved or sensible)
                joins += not saved and len(beside(model, move)) > 1
            state.play(move)
            model.play(move)
            last = move
    assert min(joins, saves, passes) > 50 and lazy < 3, lazy


def beside(model: LaidoModel, move: str) -> list[Cell]:
    """The neighbours with stones of the side to move."""
    if move == "pass":
        return []
    return [q for q in near(4)[names(4)[move]] if model.stones_at.get(q) == model.to_play]


EDGE = {p for p, neighbours in near(4).items() if len(neighbours) < 6}


def wasteful(model: LaidoModel, move: str) -> bool:
    point, own = names(4)[move], beside(model, move)
    touching = any(one in near(4)[two] for one in own for two in own)
    return touching or (point in EDGE and bool(EDGE & set(own)))


def prospects(model: LaidoModel) -> set[Cell]:
    """Where the side to move can make a group that reaches the edge twice: apart from those that it has."""
    side, left = model.to_play, set(near(4))
    left -= {cell for cell, stone in model.stones_at.items() if stone != side}
    for group in model.groups(side):
        if len(group & EDGE) > 1:
            left -= group.union(*(near(4)[cell] for cell in group))
    found: set[Cell] = set()
    while left:
        stretch = [left.pop()]
        for cell in stretch:  # which grows
            stretch += left & set(near(4)[cell])
            left -= set(near(4)[cell])
        if len(EDGE & set(stretch)) > 1:
            found |= set(stretch)
    return found


def saved_points(model: LaidoModel, last: str) -> set[str]:
    """The empty points beside the last stone that have, on either side of it, a stone of the side to move."""
    if last in ("", "pass", "swap-sides"):
        return set()
    own, circle = beside(model, last), near(4)[names(4)[last]]
    empty = [p for p in circle if p not in model.stones_at]
    return {name(p, 4) for p in empty if sum(p in near(4)[q] for q in own) == 2}


def test_rollouts_of_laido_join_what_the_last_stone_is_about_to_part() -> None:
    for moves, replies in (
        ("D3 pass B4 C3", {"C4"}),
        ("D3 pass B4 pass C2 C3", {"B3", "C4", "D2"}),
        ("D3 C4 B4 pass C2 C3", {"B3", "D2"}),
    ):
        state = play(Laido(3, pie=False), moves)
        assert {state.random_move(seed, "rollout") for seed in range(100)} == replies


@both
def test_playouts_are_whole_games_and_seeded(game: type[Position]) -> None:
    state = game(size=7)
    plies, black, white, draws = state.playouts(500, 42)
    assert black + white + draws == 500
    assert min(black, white) > 0
    assert plies > 500 * 10
    assert state.playouts(500, 42) == (plies, black, white, draws)
    assert state.playouts(500, 43) != (plies, black, white, draws)
    assert play(Go(3, komi=0), "B2 pass pass").playouts(10) == (0, 10, 0, 0)


@pytest.mark.slow
@both
def test_playouts_let_other_threads_run(game: type[Position]) -> None:
    state = game(size=19)
    thread = threading.Thread(target=state.playouts, args=(10_000, 0))
    thread.start()
    turns = 0
    while thread.is_alive():
        turns += 1
    assert turns > 1000


@pytest.mark.parametrize("work", [lambda: Go(19).playouts(10**9), lambda: Go(19).perft(9)], ids=["playouts", "perft"])
def test_long_work_can_be_interrupted(work: Callable[[], object]) -> None:
    class Rung(Exception):
        pass

    def ring(number: int, frame: FrameType | None) -> None:
        raise Rung

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(Rung):
            work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
