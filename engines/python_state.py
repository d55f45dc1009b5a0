"""Defaults for games in pure Python: a State needs the rules only. Games on the core do not use this."""

import copy
import hashlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

from ggp.engines.game import IllegalMove, Playouts, Policy, Scene, Score, result_by_totals
from ggp.engines.scene import pieces_by_cell

if TYPE_CHECKING:
    from random import Random


class PlainState(ABC):
    """Two seats that take turns, seat 1 black; `self.ply` and `self.result` are kept by the game.

    The game says: `key`, `legal_moves`, `make`, `scene`. A game that swaps sides or has phases overrides more.
    """

    ply: int = 0
    result: str = ""

    @abstractmethod
    def legal_moves(self) -> list[str]:
        """Return the legal moves; see State.legal_moves."""

    @abstractmethod
    def make(self, move: str) -> None:
        """Play a canonical legal move: change the board, and set `result` if that ended the game.

        `ply` is counted by the caller, afterwards.
        """

    @abstractmethod
    def key(self) -> str:
        """Return text that is equal exactly for equal positions; the hash is made of it."""

    @abstractmethod
    def scene(self) -> Scene:
        """Return the drawing; see State.scene."""

    def canonical(self, move: str) -> str:
        """Return the move as legal_moves has it, from text as a person wrote it. Upper case by default."""
        return move.upper()

    def explain(self, move: str) -> str:
        """Return why this canonical move is not among the legal ones."""
        return f"{move[:40]} is not possible here"

    @property
    def phase(self) -> str:
        return "over" if self.result else "play"

    @property
    def to_play(self) -> str:
        return "none" if self.result else ("black", "white")[self.ply % 2]

    @property
    def seat(self) -> int:
        return 0 if self.result else 1 + self.ply % 2

    @property
    def winner(self) -> int:
        return {"B": 1, "W": 2}.get(self.result[:1], 0)

    def play(self, move: str) -> str:
        reason = self.why_illegal(move)
        if reason:
            raise IllegalMove(reason)
        canonical = self.canonical(move)
        self.make(canonical)
        self.ply += 1
        return canonical

    def why_illegal(self, move: str) -> str:
        if self.result:
            return "the game is over"
        canonical = self.canonical(move)
        return "" if canonical in self.legal_moves() else self.explain(canonical)

    def hash(self) -> int:
        text = f"{self.key()} {self.phase} {self.to_play} {self.seat} {self.result}"
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())

    def copy(self) -> Self:
        return copy.deepcopy(self)

    def score(self) -> Score:
        return {"black": {"total": None}, "white": {"total": None}}

    def standing(self) -> str:
        return result_by_totals(self.score())

    def groups(self) -> list[list[str]]:
        return [[cell] for cell in pieces_by_cell(self.scene())]

    def captured(self) -> tuple[int, int]:
        return 0, 0

    def perft(self, depth: int) -> int:
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
        from random import Random  # costs 5 ms at the start, and few engines are asked

        random = Random(seed)
        plies, wins = 0, [0, 0, 0]
        for _ in range(n):
            state = self.copy()
            plies += state._play_out(random)
            wins["BW0".index(state.result[:1])] += 1
        return Playouts(plies, *wins)

    def play_out(self, seed: int, policy: Policy) -> None:
        from random import Random

        self._play_out(Random(seed))

    def _play_out(self, random: "Random") -> int:
        plies = 0
        while moves := self.legal_moves():
            self.play(random.choice(moves))
            plies += 1
        return plies

    def search(self, seed: int, threads: int, megabytes: int) -> None:
        return None
