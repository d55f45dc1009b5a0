"""The base of the models: a position that changes by text moves, plain enough to check against the rules by eye.

A model shares no code with the core. It computes everything anew each time and keeps only tables that never change
(names, neighbours). Quoted sentences state the exact rule; docs/reference/games explains it.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Self

COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"  # "column letter A..Z without I"
OTHER = {"black": "white", "white": "black"}
LETTER = {"black": "X", "white": "O"}
SEAT = {"black": 1, "white": 2}


def number(value: float) -> str:
    """Shortest decimals: 3, 0.5."""
    return str(int(value)) if value == int(value) else str(value)


def result(black: float, white: float) -> str:
    """ "`B+3.5`, `W+1`, ... `0` (draw)"."""
    return f"{'B' if black > white else 'W'}+{number(abs(black - white))}" if black != white else "0"


class Model(ABC):
    """A position. Its own are `allowed`, `canonical`, `apply`, `parts`, `board`, `set_up` and `key` of a game."""

    def __init__(self) -> None:
        self.phase = "play"
        self.to_play = "black"
        self.ply = 0
        self.result = ""
        self.swapped = False  # "`swap-sides` exchanges the colours of the seats and leaves the board alone"
        self.passers: list[str] = []  # who has passed since the last move of another kind
        self.placed: list[str] = []  # see last_move
        self.taken = {"black": 0, "white": 0}
        self.found: set[str] | None = None  # the legal moves, if they were asked for since the position changed

    # --- what all games answer ------------------------------------------------------------------------------------

    @property
    def seat(self) -> int:
        """ "Seat 1 starts as black"."""
        return self.seat_of(self.to_play)

    def seat_of(self, colour: str) -> int:
        """The seat that holds a colour now; 0 for none."""
        seat = SEAT.get(colour, 0)
        return 3 - seat if seat and self.swapped else seat

    @property
    def passes(self) -> int:
        """How many passes the last plies were."""
        return len(self.passers)

    @property
    def winner(self) -> int:
        """The seat that has won, 0 for none or a draw."""
        return self.seat_of({"B": "black", "W": "white"}.get(self.result[:1], "none"))

    def copy(self) -> Self:
        """An independent position. What a game changes in place it copies here."""
        twin = copy.copy(self)
        twin.taken = dict(self.taken)
        return twin

    def captured(self) -> tuple[int, int]:
        """How many pieces each colour has lost, by capture or replacement."""
        return self.taken["black"], self.taken["white"]

    def last_move(self) -> list[str]:
        """The cells that the last ply filled."""
        return self.placed

    def hash(self) -> int:
        """Equal for equal positions, in this process."""
        return hash(self.key())

    def legal_moves(self) -> list[str]:
        """Canonical, sorted bytewise; empty when over."""
        return [] if self.phase == "over" else sorted(self.all_allowed())

    def all_allowed(self) -> set[str]:
        """`allowed`, worked out once for each position."""
        if self.found is None:
            self.found = self.allowed()
        return self.found

    def why_illegal(self, text: str) -> str:
        """The reason, or "" for a legal move."""
        try:
            self.read(text)
        except ValueError as error:
            return str(error)
        return ""

    def read(self, text: str) -> str:
        """The canonical form of a legal move. Raises ValueError."""
        if not text.isascii():
            raise ValueError("moves are written in ASCII")
        if self.phase == "over":
            raise ValueError("the game is over")
        move = self.canonical(text.lower())
        if move not in self.all_allowed():
            raise ValueError(f"{move} is not among the legal moves")
        return move

    def play(self, text: str) -> str:
        """Play a move; its canonical form. ValueError says why it is illegal, and then nothing has changed."""
        move = self.read(text)
        self.placed = []
        self.passers = [*self.passers, self.to_play] if move == "pass" else []
        self.apply(move)
        self.found = None
        self.ply += 1
        return move

    def perft(self, depth: int) -> int:
        """How many sequences of `depth` legal moves there are."""
        if depth <= 1:
            return len(self.legal_moves()) if depth else 1
        total = 0
        for move in self.legal_moves():
            after = self.copy()
            after.play(move)
            total += after.perft(depth - 1)
        return total

    # --- what a game adds -----------------------------------------------------------------------------------------

    @abstractmethod
    def board(self) -> str:
        """The board as the core writes it."""

    @abstractmethod
    def set_up(self, board: str, side: str = "black") -> None:
        """Begin with that board (as `board` gives it) and that side to move."""

    @abstractmethod
    def allowed(self) -> set[str]:
        """The legal moves, canonical; not asked for when the game is over."""

    def canonical(self, text: str) -> str:
        """Text in lower case -> how the move is written in answers, or a text that is no move."""
        return text if text in self.words() else text.upper()

    def words(self) -> set[str]:
        """The moves that are written in lower case."""
        return {"pass", "button", "swap-sides", "keep-sides"}

    @abstractmethod
    def apply(self, move: str) -> None:
        """Play the legal canonical move, up to and including the change of turns."""

    @abstractmethod
    def score_parts(self) -> dict[str, dict[str, float | list[int] | None]]:
        """The score of the position as it stands as `ggp-score` has it."""

    @abstractmethod
    def key(self) -> Hashable:
        """Equal exactly for equal positions in the sense of `ggp-hash`."""


class PieModel(Model):
    """The opening and the end of taugo and laido.

    "With `pie=on`: at ply 0 seat 1 places a black stone, `pass` is not possible; at ply 1 seat 2 has every White move,
    `pass` included, and `swap-sides`"; "two consecutive passes" end the game.
    """

    def __init__(self, pie: bool) -> None:
        super().__init__()
        self.pie = pie
        self.stage = "first stone" if pie else "done"  # then "swap open"

    def allowed(self) -> set[str]:
        """See the class; the stones are the game's."""
        moves = self.stones()
        if self.stage != "first stone":
            moves.add("pass")  # "With `pie=off` there is no `swap-sides` and `pass` is legal from ply 0"
        if self.stage == "swap open":
            moves.add("swap-sides")
        return moves

    @abstractmethod
    def stones(self) -> set[str]:
        """The legal moves that put stones on the board."""

    @abstractmethod
    def place(self, move: str) -> None:
        """Put the stones of a move on the board."""

    @abstractmethod
    def standing(self) -> str:
        """The result of the position."""

    def apply(self, move: str) -> None:
        """See Model.apply."""
        first = self.stage == "first stone"
        self.stage = "swap open" if first else "done"
        if move == "swap-sides":
            self.swapped = True  # "After `swap-sides` White is still to move, now held by seat 1"
            return
        if move != "pass":
            self.place(move)
        self.to_play = OTHER[self.to_play]
        if self.passes == 2:
            self.result = self.standing()
            self.phase, self.to_play = "over", "none"

    def state(self) -> Hashable:
        """What of the key is the same for both games."""
        return (self.to_play, self.phase, self.swapped, self.passes, self.stage)
