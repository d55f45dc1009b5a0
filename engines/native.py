"""A State that hands the rules to the core: what all games on the core share in Python. No drawing, no options."""

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
    """A State around one object of the core. Each of its calls goes straight there: no layer in between."""

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

    # Properties made in C: these are read for every ply of a match.
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
        return type(self)(self.core.copy())

    def playouts(self, n: int, seed: int, policy: Policy) -> Playouts:
        return Playouts(*self.core.playouts(n, seed, policy))

    def play_out(self, seed: int, policy: Policy) -> None:
        self.core.play_out(seed, policy)

    def search(self, seed: int, threads: int, megabytes: int) -> Search:
        return self.core.search(seed, threads, megabytes)

    def score(self) -> Score:
        parts = self.core.score_parts()
        return {"black": {**parts["black"]}, "white": {**parts["white"]}}

    def standing(self) -> str:
        return result_by_totals(self.score())

    def groups(self) -> list[list[str]]:
        return [[cell] for cell in pieces_by_cell(self.scene())]
