"""Positions of the core for its tests: of which games, and how they come about."""

from typing import TYPE_CHECKING, TypeVar

import pytest

from engines._core import Go, Yugo

if TYPE_CHECKING:
    from engines._core import _Position

Position = Go | Yugo
P = TypeVar("P", bound="_Position")
both = pytest.mark.parametrize("game", [Go, Yugo])


def played(state: P, moves: str) -> P:
    for move in moves.split():
        state.play(move)
    return state
