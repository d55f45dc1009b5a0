"""A game between two native bots, spoken to raw and judged by the game's own State; no referee, no clock."""

from collections.abc import Sequence
from typing import NamedTuple

from engines.game import State, read_options
from engines.registry import Registry
from tests.support.raw_peer import RawPeer


class RawGame(NamedTuple):
    """How a game went: the final state (not over after a resignation), the moves, what the bots said against it."""

    state: State
    moves: list[str]
    resigned: str = ""  # the colour that did


def play_game(game: str, words: Sequence[str], first: RawPeer, second: RawPeer, most: int = 2000) -> RawGame:
    """Play to the end. An illegal move raises IllegalMove; a refusal or more than `most` plies AssertionError."""
    rules = Registry().load(game)
    state = rules.new(read_options(rules, words))
    for bot in (first, second):
        assert bot.ask(" ".join(["ggp-new", game, *words])) == ""
    moves: list[str] = []
    while state.phase != "over":
        assert len(moves) < most, f"{most} plies and no end"
        seat, colour = state.seat, state.to_play
        mover, other = (first, second) if seat == 1 else (second, first)
        move = mover.ask(f"genmove {colour}")
        if move == "resign":
            return RawGame(state, moves, colour)
        assert not move.startswith("?"), f"{move} after {moves}"
        moves.append(state.play(move))
        answer = other.ask(f"play {colour} {move}")
        assert answer == "", f"{answer} to {colour} {move} after {moves}"
    for bot in (first, second):
        assert bot.ask("genmove black") == "pass"
    return RawGame(state, moves)
