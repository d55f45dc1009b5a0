"""Whole games of Stigmergy beside its definitions, told again without lines or sets; how long games get."""

from random import Random
from typing import Literal

import pytest

from engines._core import Stigmergy
from tests.support.stigmergy_positions import Axial, cells, name

STEPS = ((1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1))


def slow_control(side: int, stones: dict[Axial, str]) -> dict[Axial, str]:
    """Who controls each cell, straight from the definition."""
    board = set(cells(side))
    owner = {}
    for q, r in board:
        seen, neighbours = {"X": 0, "O": 0}, 0
        for dq, dr in STEPS:
            neighbours += (q + dq, r + dr) in board
            for far in range(1, 2 * side):
                at = (q + far * dq, r + far * dr)
                if at in stones:
                    seen[stones[at]] += 1
                    break
        owner[q, r] = next((colour for colour in "XO" if 2 * seen[colour] > neighbours), ".")
    return owner


def slow_legal(state: Stigmergy) -> list[str]:
    """The moves of the phase `play`, sentence by sentence."""
    side, me = state.size, {"black": "X", "white": "O"}[state.to_play]
    enemy = "XO".replace(me, "")
    stones = {at: letter for at, letter in zip(cells(side), state.board(), strict=True) if letter != "."}
    owner = slow_control(side, stones)
    assert "".join(owner[at] for at in cells(side)) == state.control()
    legal = [
        name(side, *at)
        for at in cells(side)
        if (at not in stones and owner[at] != enemy) or (stones.get(at) == enemy and owner[at] == me)
    ]
    waits = state.komi() % 2 == 1 and state.button() == "none"  # type: ignore[operator]
    if waits:
        legal.append("button")
    elif all(at in stones or owner[at] != "." for at in cells(side)):
        legal.append("pass")
    return sorted(legal)


@pytest.mark.parametrize(("side", "games"), [(2, 40), (3, 20), (4, 8), (5, 4), (8, 2), (13, 2)])
@pytest.mark.parametrize("policy", ["uniform", "rollout"])
def test_random_games_obey_the_definitions(side: int, games: int, policy: Literal["uniform", "rollout"]) -> None:
    count = len(cells(side))
    for seed in range(games):
        random = Random(seed)
        state = Stigmergy(side)
        for move in (f"bid:{random.randrange(count + 2)}", random.choice(["keep-sides", "swap-sides"])):
            state.play(move)
        board_moves = replaced = 0
        while state.phase != "over":
            legal = state.legal_moves()
            assert legal
            if side < 5 or random.random() < 0.1:
                assert legal == slow_legal(state)
            stones = state.board().count(".")
            move = state.random_move(random.randrange(2**32), policy)
            assert move in legal
            state.play(move)
            if move[0].isupper():
                board_moves += 1
                replaced += state.board().count(".") == stones
        assert sum(state.captured()) == replaced
        assert board_moves <= 5 * count - 6 * side + 3
        parts = state.score_parts()
        assert parts["black"]["stones"] == state.board().count("X")
        assert sum(parts[c][what] for c in ("black", "white") for what in ("stones", "controlled")) == count  # type: ignore[misc]
        assert state.result[1] == "+" and state.winner in (1, 2)


def test_no_game_is_drawn_or_endless() -> None:
    for side, komi in [(2, 0), (2, 1), (3, -5), (4, 8), (5, 11), (8, 0), (13, 3)]:
        plies, black, white, draws = Stigmergy(side, komi).playouts(50, 1)
        assert (black + white, draws) == (50, 0)
        assert plies > 50 * len(cells(side))
