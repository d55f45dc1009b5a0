"""The position that a bot is asked about, with its colour and time."""

from collections.abc import Hashable, Sequence
from typing import Any

from ggp.bots.clock import BotClock
from ggp.engines.game import Game, Options, Playouts, Policy, Scene, Score, Search, State
from ggp.engines.history import GameHistory


class Position:
    """A ggp.engines.game.State with more information; the methods of State work as they do there.

    Attributes:
        colour: `black` or `white`, the colour that is asked to move; equal to `to_play` until a move is played here.
        game: Name of the game.
        options: Options of the game.
        plies: (seat, colour, move) of every ply so far, the opponent's last move at the end.
        times: The clock.
        analysis: Whatever the bot puts here is sent as JSON on request.
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
        """Return the milliseconds on the bot's clock when it was asked, or None without a clock."""
        return self.times.left(self.colour)

    @property
    def budget(self) -> int | None:
        """Return how many milliseconds a careful bot should think about this move, or None for no limit."""
        return self.times.budget(self.colour)

    @property
    def phase(self) -> str:
        """Return the phase; see State.phase."""
        return self._state.phase

    @property
    def to_play(self) -> str:
        """Return the colour to act, or `none` after the end."""
        return self._state.to_play

    @property
    def seat(self) -> int:
        """Return the seat to act, or 0 after the end."""
        return self._state.seat

    @property
    def ply(self) -> int:
        """Return the number of plies played."""
        return self._state.ply

    @property
    def result(self) -> str:
        """Return the result, or "" before the end."""
        return self._state.result

    @property
    def winner(self) -> int:
        """Return the seat that won, or 0."""
        return self._state.winner

    def play(self, move: str) -> str:
        """Play a move; see State.play."""
        return self._state.play(move)

    def why_illegal(self, move: str) -> str:
        """Return the reason why a move is illegal, or ""."""
        return self._state.why_illegal(move)

    def legal_moves(self) -> list[str]:
        """Return the legal moves, sorted."""
        return self._state.legal_moves()

    def distinct_moves(self) -> list[str]:
        """Return the legal moves, without those that lead to the same position as an earlier one."""
        if type(self._game).effect is Game.effect:
            return self._state.legal_moves()  # all moves of this game have different effects
        first: dict[Hashable, str] = {}
        for move in self._state.legal_moves():
            first.setdefault(self._game.effect(move), move)
        return list(first.values())

    def hash(self) -> int:
        """Return a hash that is equal for equal positions."""
        return self._state.hash()

    def copy(self) -> State:
        """Return the bare state, without colour and clock; a search copies it many times."""
        return self._state.copy()

    def score(self) -> Score:
        """Return the score of the current position; see State.score."""
        return self._state.score()

    def standing(self) -> str:
        """Return the result if the game ended now; see State.standing."""
        return self._state.standing()

    def scene(self) -> Scene:
        """Return the drawing; see State.scene."""
        return self._state.scene()

    def groups(self) -> list[list[str]]:
        """Return the pieces as groups; see State.groups."""
        return self._state.groups()

    def captured(self) -> tuple[int, int]:
        """Return the numbers of captured black and white pieces."""
        return self._state.captured()

    def perft(self, depth: int) -> int:
        """Return the number of legal move sequences of that length."""
        return self._state.perft(depth)

    def playouts(self, n: int, seed: int, policy: Policy) -> Playouts:
        """Play n random games from here; see State.playouts."""
        return self._state.playouts(n, seed, policy)

    def play_out(self, seed: int, policy: Policy) -> None:
        """Play at random to the end; see State.play_out."""
        self._state.play_out(seed, policy)

    def search(self, seed: int, threads: int, megabytes: int) -> Search | None:
        """Return a search from here; see State.search."""
        return self._state.search(seed, threads, megabytes)
