"""What go and yugo share in Python: a State that hands the rules to the core and draws stones on a square board."""

from collections.abc import Callable
from operator import attrgetter
from typing import ClassVar, Generic, Self, TypeVar

from engines._core import Go, Yugo
from engines.game import Playouts, Policy, Scene, Score, result_by_totals, shortest
from engines.scene import piece, pieces_by_cell, square, token

Core = TypeVar("Core", Go, Yugo)

PIECES = {"X": ("black", "stone"), "O": ("white", "stone"), "#": ("black", "king"), "@": ("white", "king")}
"""The letters of the core's board; these are also the glyphs of the text board."""


class StoneState(Generic[Core]):
    """A State around one object of the core. Each of its calls goes straight there: no layer in between."""

    ordinary: ClassVar[str] = "stone"
    """What the pieces that are not kings are called."""

    play: Callable[[str], str]
    why_illegal: Callable[[str], str]
    legal_moves: Callable[[], list[str]]
    answer_plays: Callable[[int, int, int], tuple[bytes, list[tuple[int, str, str]]]]
    hash: Callable[[], int]
    perft: Callable[[int], int]
    captured: Callable[[], tuple[int, int]]

    def __init__(self, core: Core, komi: float) -> None:
        self.core: Core = core
        self.komi = komi
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

    def copy(self) -> Self:
        return type(self)(self.core.copy(), self.komi)

    def playouts(self, n: int, seed: int, policy: Policy) -> Playouts:
        return Playouts(*self.core.playouts(n, seed, policy))

    def score(self) -> Score:
        parts = self.core.score_parts()
        return {"black": {**parts["black"]}, "white": {**parts["white"]}}

    def standing(self) -> str:
        return result_by_totals(self.score())

    def scene(self) -> Scene:
        scene = square(self.core.size, self.core.size)
        for cell, letter in zip(scene["cells"], self.core.board(), strict=True):
            if letter != ".":
                colour, kind = PIECES[letter]
                kind = self.ordinary if kind == "stone" else kind
                scene["pieces"].append(piece(cell["at"], colour, kind, letter))
        black, white = self.captured()
        scene["tokens"] = [
            token("captured", "black", f"Black has captured {white}", white),
            token("captured", "white", f"White has captured {black}", black),
            *self.tokens(),
        ]
        scene["last"] = self.core.last_move()
        return scene

    def tokens(self) -> list[dict[str, object]]:
        """What else lies beside the board."""
        return [token("komi", "white", f"Komi: {shortest(self.komi)}", self.komi)]

    def groups(self) -> list[list[str]]:
        """Connected pieces of one colour, kings and pawns together, in the order of their first cells."""
        scene = self.scene()
        pieces = pieces_by_cell(scene)
        at = {(cell["x"], cell["y"]): cell["at"] for cell in scene["cells"] if cell["at"] in pieces}
        groups = []
        while at:
            place = next(iter(at))
            colour = pieces[at[place]]["colour"]
            group, edge = [at.pop(place)], [place]
            while edge:
                x, y = edge.pop()
                for near in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
                    if near in at and pieces[at[near]]["colour"] == colour:
                        group.append(at.pop(near))
                        edge.append(near)
            groups.append(sorted(group, key=lambda cell: (cell[0], int(cell[1:]))))
        return groups
