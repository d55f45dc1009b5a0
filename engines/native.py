"""A State that leaves the rules to the core: what all games on the core share in Python."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from ggp.engines.game import Playouts, Policy, Scene, Score, Search, result_by_totals
from ggp.engines.scene import pieces_by_cell

if TYPE_CHECKING:
    from ggp.engines._core import _Position

Core = TypeVar("Core", bound="_Position")


class CoreState(ABC, Generic[Core]):
    """A State around one object of the core. Its hot methods are the core's own, without a layer in between."""

    play: Callable[[str], str]
    why_illegal: Callable[[str], str]
    legal_moves: Callable[[], list[str]]
    answer_plays: Callable[[int, int, int, int], tuple[bytes | None, list[tuple[int, str, str]], bytes]]
    hash: Callable[[], int]
    perft: Callable[[int], int]
    captured: Callable[[], tuple[int, int]]

    def __init__(self, core: Core) -> None:
        self.core: Core = core
        self.play = core.play
        self.why_illegal = core.why_illegal
        self.legal_moves = core.legal_moves
        self.answer_plays = core.answer_plays
        self.hash = core.hash
        self.perft = core.perft
        self.captured = core.captured

    # These properties run in C, because they are read for every ply of a match.
    phase = property(attrgetter("core.phase"))
    to_play = property(attrgetter("core.to_play"))
    seat = property(attrgetter("core.seat"))
    ply = property(attrgetter("core.ply"))
    result = property(attrgetter("core.result"))
    winner = property(attrgetter("core.winner"))

    @abstractmethod
    def scene(self) -> Scene:
        """Return the drawing; see State.scene."""

    def copy(self) -> Self:
        """Return an independent copy."""
        return type(self)(self.core.copy())

    def playouts(self, n: int, seed: int, policy: Policy) -> Playouts:
        """Play n random games from here."""
        return Playouts(*self.core.playouts(n, seed, policy))

    def play_out(self, seed: int, policy: Policy) -> None:
        """Play at random to the end."""
        self.core.play_out(seed, policy)

    def search(self, seed: int, threads: int, megabytes: int) -> Search:
        """Return a search from here."""
        return self.core.search(seed, threads, megabytes)

    def score(self) -> Score:
        """Return the score of the current position; see State.score."""
        parts = self.core.score_parts()
        return {"black": {**parts["black"]}, "white": {**parts["white"]}}

    def standing(self) -> str:
        """Return the result if the game ended now; see State.standing."""
        return result_by_totals(self.score())

    def groups(self) -> list[list[str]]:
        """Return each piece as a group of its own."""
        return [[cell] for cell in pieces_by_cell(self.scene())]
