"""The history of one game: its options, the position before ply 0, and the plies. It knows no protocol."""

from collections.abc import Sequence
from typing import NamedTuple, cast

from ggp.engines.game import Game, IllegalMove, Options, Scene, SetupState, State

MAX_PLIES = 100_000
"""Eight times the referee's limit for the longest game; all other games end by their rules long before."""

Ply = tuple[int, str, str]
"""The seat, the colour that it held before the ply, and the canonical move."""


class SetUp(NamedTuple):
    """A position that a game begins with: the board, as SetupState.board writes it, and the colour to move."""

    board: str
    colour: str


class GameHistory:
    """A game and its plies; `state` is always the position after them.

    Taking back replays the game from its start. So positions arise in only one way, and undo works for every kind of
    ply, even after the end.

    Attributes:
        handicap: Handicap stones before ply 0; the history that ko rules consider begins with them.
        set_up: A whole position before ply 0, in the same way.
        turn: The colour to move after the last ply, if it is not the usual one; else "".
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
        """Play the given plies.

        Raises:
            OptionError: The options are impossible.
            ValueError: The handicap points or the position are impossible.
        """
        self.game = game
        self.options = dict(options)
        self.handicap = tuple(handicap)
        self.plies = list(plies)
        self.set_up = set_up
        self.turn = turn
        self.state = self._replay()

    def play(self, colour: str, move: str, any_turn: bool = False) -> str:
        """Play a move for `black` or `white` and return it in canonical form.

        Args:
            colour: The colour.
            move: The move as text.
            any_turn: Whether the colour may play out of turn, in a game that supports this.

        Raises:
            IllegalMove: The move is illegal; nothing has changed.
        """
        if self.turn and colour != self.turn:  # the special turn was not used
            self.turn = ""
            self.state = self._replay()
        state = self.state
        if colour != state.to_play:
            if not any_turn or not self.game.setup or state.phase != "play":
                raise IllegalMove(_whose_turn(state))
            state = _out_of_turn(state, colour)
        if len(self.plies) >= MAX_PLIES:
            raise IllegalMove(f"a game has at most {MAX_PLIES} plies here; plies can still be taken back")
        seat = state.seat
        try:
            move = state.play(move)
        except IllegalMove:
            raise
        except Exception:  # a bug of the game, which may have left an inconsistent state
            self.state = self._replay()
            raise
        self.plies.append((seat, colour, move))
        self.state = state
        self.turn = ""
        return move

    def note(self, plies: Sequence[Ply]) -> None:
        """Append plies that `state` has already played."""
        if plies:
            self.plies += plies
            self.turn = ""

    def scene(self) -> Scene:
        """Return the drawing of the position, with the parts that all games share: options, status, result."""
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
        """Return the game without its last `count` plies, at most len(plies)."""
        return GameHistory(self.game, self.options, self.handicap, self.plies[: len(self.plies) - count], self.set_up)

    def with_komi(self, options: Options) -> "GameHistory":
        """Return the same plies with other options, which must not change what is legal."""
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
