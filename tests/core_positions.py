"""Positions of the core for its tests: of which games, and how they come about."""

from typing import TypeVar

import pytest

from engines._core import Go, Yugo

Position = Go | Yugo
P = TypeVar("P", bound=Position)
both = pytest.mark.parametrize("game", [Go, Yugo])


def played(state: P, moves: str) -> P:
    for move in moves.split():
        state.play(move)
    return state
