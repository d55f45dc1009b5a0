"""Small positions solved plainly: minimax over all moves, which knows nothing but the rules."""

from engines._core import Go, Laido, Stigmergy, Taigo, Taugo, Yugo

Position = Go | Laido | Stigmergy | Taigo | Taugo | Yugo

MOST = 1_000  # positions that may be looked at to solve one


class TooManyError(Exception):
    """The position is not near enough to the end to be solved plainly."""


def solve(state: Position, left: list[int]) -> str:
    """Who wins if both sides do what is best: black, white or draw. Plain minimax over all moves."""
    if state.phase == "over":
        return {"B": "black", "W": "white", "0": "draw"}[state.result[0]]
    left[0] -= 1
    if left[0] < 0:
        raise TooManyError
    mover = state.to_play
    found = set()
    for move in state.legal_moves():
        after = state.copy()
        after.play(move)
        found.add(solve(after, left))
        if mover in found:
            return mover
    return "draw" if "draw" in found else {"black": "white", "white": "black"}[mover]


def winning_moves(state: Position) -> set[str]:
    """By plain minimax; empty also if that is too far."""
    winners = set()
    for move in state.legal_moves():
        after = state.copy()
        after.play(move)
        try:
            if solve(after, [10 * MOST]) == state.to_play:
                winners.add(move)
        except TooManyError:
            return set()
    return winners
