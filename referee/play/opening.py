"""Openings that nobody chose: random plies, drawn by a seed from the engine's legal moves. It keeps nothing."""

import random

from referee.play.engine import OVER, Engine, GameRefused
from referee.play.outcome import EngineFailed, Fault
from referee.play.series import Setup

_DRAWS = 100  # attempts to draw an opening that is not over before it begins


async def draw_opening(engine: Engine, setup: Setup, pair: int) -> tuple[str, ...]:
    """The setup's position and random plies after it, the same for both matches of a pair. Raises GameRefused,
    EngineFailed.

    Words (`pass`, `swap-sides`, `bid:7`) are drawn only where no move on the board is legal.
    """
    if not setup.openings:
        return setup.position
    for draw in range(_DRAWS):
        chance = random.Random(f"{setup.seed} {pair} {draw}")
        moves = await _random_plies(engine, setup, chance)
        if moves is not None:
            return moves
    raise GameRefused(f"no opening of {setup.openings} plies leaves a game to play: ask for fewer")


async def _random_plies(engine: Engine, setup: Setup, chance: random.Random) -> tuple[str, ...] | None:
    """Canonical moves from the start of the game, or None if it is over before somebody could play it."""
    status, moves = await engine.new_game(setup.setting.new_game), list[str]()
    for move in setup.position:
        _, status = await engine.play(status.to_play, move)
        moves.append(move)
    while status.phase != OVER and len(moves) < len(setup.position) + setup.openings:
        legal = await engine.legal_moves()
        on_board = [move for move in legal if not move[0].islower()]
        words = [move for move in legal if move != "pass"]
        try:
            move, status = await engine.play(status.to_play, chance.choice(on_board or words or legal))
        except Fault as fault:
            raise EngineFailed(f"the engine refuses a move that it listed as legal: {fault}") from None
        moves.append(move)
    return None if status.phase == OVER else tuple(moves)
