"""One line of play: a game, its options, what was set up before ply 0, and the plies since. It knows no protocol."""

from collections.abc import Sequence
from typing import NamedTuple, cast

from ggp.engines.game import Game, IllegalMove, Options, Scene, SetupState, State

MAX_PLIES = 100_000
"""Eight times what the referee allows the longest game; all other games end by their rules long before."""

Ply = tuple[int, str, str]
"""Seat, the colour that the seat held before the ply, canonical move."""


class SetUp(NamedTuple):
    """A position that a game begins from: the board as SetupState.board writes it, and the colour to move."""

    board: str
    colour: str


class GameHistory:
    """`state` always is what `plies` lead to; going back is playing the line again from its start.

    So there is one way to make a position, and undo works for plies of every kind and after the end.

    `handicap` stones or `set_up`, a whole position, are there before ply 0; the history that ko rules look at begins
    with them. `turn` is the colour to move after the last ply if that is not the game's own order, else "".
    """

    __slots__ = ("game", "handicap", "options", "plies", "set_up", "state", "turn")

    def __init__(
        self,
        game: Game,
        options: Options,
        handicap: Sequence[str] = (),
        plies: Sequence[Ply] = (),
        set_up: SetUp | None = None,
        turn: str = "",
    ) -> None:
        """Play the line. Raises OptionError, and ValueError for impossible handicap points or positions."""
        self.game = game
        self.options = dict(options)
        self.handicap = tuple(handicap)
        self.plies = list(plies)
        self.set_up = set_up
        self.turn = turn
        self.state = self._replay()

    def play(self, colour: str, move: str, any_turn: bool = False) -> str:
        """Play for `black` or `white`; returns the canonical move. Raises IllegalMove, and nothing has changed.

        any_turn: whether the colour may take a turn that is not its own, in a game whose states can do that.
        """
        if self.turn and colour != self.turn:  # no command used that turn
            self.turn = ""
            self.state = self._replay()
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
        self.turn = ""
        return move

    def note(self, plies: Sequence[Ply]) -> None:
        """Add plies that `state` has played by itself."""
        if plies:
            self.plies += plies
            self.turn = ""

    def scene(self) -> Scene:
        """Return the drawing of the position with what is the same for all games: options, status, result."""
        state = self.state
        return {
            "game": self.game.name,
            "options": self.options,
            **state.scene(),
            "phase": state.phase,
            "to_play": state.to_play,
            "seat": state.seat,
            "ply": state.ply,
            "result": state.result,
            "winner": state.winner,
        }

    def taken_back(self, count: int) -> "GameHistory":
        """Return the line without its last `count` plies; at most len(plies)."""
        return GameHistory(self.game, self.options, self.handicap, self.plies[: len(self.plies) - count], self.set_up)

    def with_komi(self, options: Options) -> "GameHistory":
        """Return the same plies under other options, which must not change what is legal."""
        return GameHistory(self.game, options, self.handicap, self.plies, self.set_up, self.turn)

    def _replay(self) -> State:
        state = self.game.new(self.options)
        if self.handicap:
            cast(SetupState, state).place_handicap(list(self.handicap))
        if self.set_up:
            cast(SetupState, state).set_up(*self.set_up)
        for _, colour, move in self.plies:
            if state.to_play != colour:
                cast(SetupState, state).set_to_play(colour)
            state.play(move)
        if self.turn and state.to_play != self.turn:
            cast(SetupState, state).set_to_play(self.turn)
        return state


def _out_of_turn(state: State, colour: str) -> State:
    other = cast(SetupState, state.copy())
    other.set_to_play(colour)
    return other


def _whose_turn(state: State) -> str:
    return "the game is over" if state.phase == "over" else f"it is {state.to_play}'s turn"
