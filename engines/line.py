"""One line of play: a game, its options, what was set up before ply 0, and the plies since. It knows no protocol."""

from collections.abc import Sequence
from typing import cast

from engines.game import Game, IllegalMove, Options, SetupState, State

MAX_PLIES = 100_000
"""Eight times what the referee allows the longest game; all other games end by their rules long before."""

Ply = tuple[int, str, str]
"""Seat, the colour that the seat held before the ply, canonical move."""


class Line:
    """`state` always is what `plies` lead to; going back is playing the line again from its start.

    So there is one way to make a position, and undo works for plies of every kind and after the end.
    """

    __slots__ = ("game", "handicap", "options", "plies", "state")

    def __init__(self, game: Game, options: Options, handicap: Sequence[str] = (), plies: Sequence[Ply] = ()) -> None:
        """Raises OptionError; ValueError for handicap points that cannot be."""
        self.game = game
        self.options = dict(options)
        self.handicap = tuple(handicap)
        self.plies = list(plies)
        self.state = self._replay()

    def play(self, colour: str, move: str, any_turn: bool = False) -> str:
        """Play for `black` or `white`; returns the canonical move. Raises IllegalMove, and nothing has changed.

        any_turn: whether the colour may take a turn that is not its own, in a game whose states can do that.
        """
        state = self.state
        if colour != state.to_play:
            if not any_turn or not self.game.setup or state.phase != "play":
                raise IllegalMove(_whose_turn(state))
            state = _out_of_turn(state, colour)
        if len(self.plies) >= MAX_PLIES:
            raise IllegalMove(f"a game of more than {MAX_PLIES} plies is not kept here; it can be taken back")
        seat = state.seat
        try:
            move = state.play(move)
        except IllegalMove:
            raise
        except Exception:  # a bug of the game's: what it left behind is not to be trusted
            self.state = self._replay()
            raise
        self.plies.append((seat, colour, move))
        self.state = state
        return move

    def taken_back(self, count: int) -> "Line":
        """The line without its last `count` plies; at most len(plies)."""
        return Line(self.game, self.options, self.handicap, self.plies[: len(self.plies) - count])

    def with_komi(self, options: Options) -> "Line":
        """The same plies under other options that do not change what is legal."""
        return Line(self.game, options, self.handicap, self.plies)

    def _replay(self) -> State:
        state = self.game.new(self.options)
        if self.handicap:
            cast(SetupState, state).place_handicap(list(self.handicap))
        for _, colour, move in self.plies:
            if state.to_play != colour:
                cast(SetupState, state).set_to_play(colour)
            state.play(move)
        return state


def _out_of_turn(state: State, colour: str) -> State:
    other = cast(SetupState, state.copy())
    other.set_to_play(colour)
    return other


def _whose_turn(state: State) -> str:
    return "the game is over" if state.phase == "over" else f"it is {state.to_play}'s turn"
