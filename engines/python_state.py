"""Defaults for games in pure Python: such a State needs only the rules. Games on the core do not use them."""

import copy
import hashlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

from ggp.engines.game import IllegalMove, Playouts, Policy, Scene, Score, result_by_totals
from ggp.engines.scene import pieces_by_cell

if TYPE_CHECKING:
    from random import Random


class PlainState(ABC):
    """A State for two seats that take turns; seat 1 is black. The game sets `self.result`.

    A game defines `key`, `legal_moves`, `make` and `scene`. A game with swaps or phases overrides more.
    """

    ply: int = 0
    result: str = ""

    @abstractmethod
    def legal_moves(self) -> list[str]:
        """Return the legal moves; see State.legal_moves."""

    @abstractmethod
    def make(self, move: str) -> None:
        """Play a canonical legal move: change the board, and set `result` if the move ends the game.

        The caller then increments `ply`.
        """

    @abstractmethod
    def key(self) -> str:
        """Return a text that is equal exactly for equal positions; the hash is derived from it."""

    @abstractmethod
    def scene(self) -> Scene:
        """Return the drawing; see State.scene."""

    def canonical(self, move: str) -> str:
        """Return the canonical form of a move that a person wrote; by default in upper case."""
        return move.upper()

    def explain(self, move: str) -> str:
        """Return why this canonical move is illegal."""
        return f"{move[:40]} is not possible here"

    @property
    def phase(self) -> str:
        """Return `over` or `play`; see State.phase."""
        return "over" if self.result else "play"

    @property
    def to_play(self) -> str:
        """Return the colour to move, or `none` after the end."""
        return "none" if self.result else ("black", "white")[self.ply % 2]

    @property
    def seat(self) -> int:
        """Return the seat to move, or 0 after the end."""
        return 0 if self.result else 1 + self.ply % 2

    @property
    def winner(self) -> int:
        """Return the seat that won, or 0."""
        return {"B": 1, "W": 2}.get(self.result[:1], 0)

    def play(self, move: str) -> str:
        """Play a move; see State.play."""
        reason = self.why_illegal(move)
        if reason:
            raise IllegalMove(reason)
        canonical = self.canonical(move)
        self.make(canonical)
        self.ply += 1
        return canonical

    def why_illegal(self, move: str) -> str:
        """Return the reason why a move is illegal, or ""."""
        if self.result:
            return "the game is over"
        canonical = self.canonical(move)
        return "" if canonical in self.legal_moves() else self.explain(canonical)

    def hash(self) -> int:
        """Return a hash of the key and the turn; see State.hash."""
        text = f"{self.key()} {self.phase} {self.to_play} {self.seat} {self.result}"
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())

    def copy(self) -> Self:
        """Return a deep copy."""
        return copy.deepcopy(self)

    def score(self) -> Score:
        """Return a score without totals; a game with points overrides this."""
        return {"black": {"total": None}, "white": {"total": None}}

    def standing(self) -> str:
        """Return the result if the game ended now; see State.standing."""
        return result_by_totals(self.score())

    def groups(self) -> list[list[str]]:
        """Return each piece as a group of its own."""
        return [[cell] for cell in pieces_by_cell(self.scene())]

    def captured(self) -> tuple[int, int]:
        """Return (0, 0); a game with captures overrides this."""
        return 0, 0

    def perft(self, depth: int) -> int:
        """Return the number of legal move sequences of that length."""
        if depth == 0:
            return 1
        moves = self.legal_moves()
        if depth == 1:
            return len(moves)
        total = 0
        for move in moves:
            child = self.copy()
            child.play(move)
            total += child.perft(depth - 1)
        return total

    def playouts(self, n: int, seed: int, policy: Policy) -> Playouts:
        """Play random games; both policies are uniform here."""
        from random import Random  # takes 5 ms to import, and few engines play at random

        random = Random(seed)
        plies, wins = 0, [0, 0, 0]
        for _ in range(n):
            state = self.copy()
            plies += state._play_out(random)
            wins["BW0".index(state.result[:1])] += 1
        return Playouts(plies, *wins)

    def play_out(self, seed: int, policy: Policy) -> None:
        """Play at random to the end."""
        from random import Random

        self._play_out(Random(seed))

    def _play_out(self, random: "Random") -> int:
        plies = 0
        while moves := self.legal_moves():
            self.play(random.choice(moves))
            plies += 1
        return plies

    def search(self, seed: int, threads: int, megabytes: int) -> None:
        """Return None: games in pure Python have no search."""
        return None  # noqa: RET501
