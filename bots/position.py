"""What a bot sees when it is asked for a move: the position, its colour, its time; a copy that it may change."""

from collections.abc import Hashable, Sequence
from typing import Any

from ggp.bots.clock import BotClock
from ggp.engines.game import Game, Options, Playouts, Policy, Scene, Score, Search, State
from ggp.engines.history import GameHistory


class Position:
    """An ggp.engines.game.State with more information; the methods of State do what they do there.

    colour: `black` or `white`, whose move is asked for; equal to `to_play` until something is played here.
    game, options: the rules. plies: (seat, colour, move) from the start, the opponent's last move at the end.
    times: the clock. analysis: what the bot puts here is sent as JSON on request.
    """

    def __init__(self, line: GameHistory, state: State, times: BotClock) -> None:
        self._state = state
        self.colour = state.to_play
        self._game = line.game
        self.game = line.game.name
        self.options: Options = line.options
        self.plies: Sequence[tuple[int, str, str]] = line.plies
        self.times = times
        self.analysis: dict[str, Any] = {}

    @property
    def rules(self) -> str:
        """Return the rules as text, as `ggp-rules` answers them."""
        return self._game.rules

    def first(self) -> State:
        """Return the position before ply 0."""
        return self._game.new(self.options)

    @property
    def clock(self) -> int | None:
        """Return the milliseconds on the bot's clock when it was asked, None without a clock."""
        return self.times.left(self.colour)

    @property
    def budget(self) -> int | None:
        """Return how many milliseconds a careful bot thinks about this move, None for no limit."""
        return self.times.budget(self.colour)

    @property
    def phase(self) -> str:
        return self._state.phase

    @property
    def to_play(self) -> str:
        return self._state.to_play

    @property
    def seat(self) -> int:
        return self._state.seat

    @property
    def ply(self) -> int:
        return self._state.ply

    @property
    def result(self) -> str:
        return self._state.result

    @property
    def winner(self) -> int:
        return self._state.winner

    def play(self, move: str) -> str:
        return self._state.play(move)

    def why_illegal(self, move: str) -> str:
        return self._state.why_illegal(move)

    def legal_moves(self) -> list[str]:
        return self._state.legal_moves()

    def distinct_moves(self) -> list[str]:
        """Return the legal moves without those that lead to the same position as an earlier one."""
        if type(self._game).effect is Game.effect:
            return self._state.legal_moves()  # no two moves of this game are alike
        first: dict[Hashable, str] = {}
        for move in self._state.legal_moves():
            first.setdefault(self._game.effect(move), move)
        return list(first.values())

    def hash(self) -> int:
        return self._state.hash()

    def copy(self) -> State:
        """Return the bare state, without colour and clock, which a search copies again and again."""
        return self._state.copy()

    def score(self) -> Score:
        return self._state.score()

    def standing(self) -> str:
        return self._state.standing()

    def scene(self) -> Scene:
        return self._state.scene()

    def groups(self) -> list[list[str]]:
        return self._state.groups()

    def captured(self) -> tuple[int, int]:
        return self._state.captured()

    def perft(self, depth: int) -> int:
        return self._state.perft(depth)

    def playouts(self, n: int, seed: int, policy: Policy) -> Playouts:
        return self._state.playouts(n, seed, policy)

    def play_out(self, seed: int, policy: Policy) -> None:
        self._state.play_out(seed, policy)

    def search(self, seed: int, threads: int, megabytes: int) -> Search | None:
        return self._state.search(seed, threads, megabytes)
