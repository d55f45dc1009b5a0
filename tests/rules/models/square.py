"""What the square-board models share: names of points, groups and regions, passing and the agreement; not a game.

A board is a string of size*size characters, A1 first, then B1 ...: `.` empty, `X #` black, `O @` white (`#` and `@`
are kings). Everything is computed from that string each time.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache
from typing import NamedTuple

from tests.rules.models.model import COLUMNS, OTHER, Model, number, result

__all__ = ["COLOUR", "OTHER", "Group", "SquareModel", "all_groups", "names", "neighbours", "number", "owner", "points"]

COLOUR = {"X": "black", "#": "black", "O": "white", "@": "white"}


class Group(NamedTuple):
    """A maximal orthogonally connected set of one colour, or (colour "") of empty points."""

    colour: str
    points: frozenset[int]
    beside: frozenset[int]  # the points that are adjacent to it and not in it


@lru_cache
def names(size: int) -> tuple[str, ...]:
    """The names of the points, in the order of the board string."""
    return tuple(f"{COLUMNS[i % size]}{i // size + 1}" for i in range(size * size))


@lru_cache
def points(size: int) -> dict[str, int]:
    """The way back: upper-case name -> index."""
    return {name: i for i, name in enumerate(names(size))}


@lru_cache
def neighbours(size: int) -> tuple[tuple[int, ...], ...]:
    """The orthogonally adjacent points of each point."""
    steps = ((1, 0), (-1, 0), (0, 1), (0, -1))
    return tuple(
        tuple(
            (y + dy) * size + x + dx
            for dx, dy in steps
            if 0 <= x + dx < size and 0 <= y + dy < size
        )
        for y in range(size)
        for x in range(size)
    )  # fmt: skip


def all_groups(board: str, size: int) -> list[Group]:
    """Every group of stones and every empty region of the board."""
    near = neighbours(size)
    colours = [COLOUR.get(piece, "") for piece in board]
    seen: set[int] = set()
    found = []
    for start, colour in enumerate(colours):
        if start in seen:
            continue
        members, beside, open_ends = {start}, set(), [start]
        while open_ends:
            for q in near[open_ends.pop()]:
                if colours[q] != colour:
                    beside.add(q)
                elif q not in members:
                    members.add(q)
                    open_ends.append(q)
        seen |= members
        found.append(Group(colour, frozenset(members), frozenset(beside)))
    return found


def owner(region: Group, board: str) -> str:
    """Whose an empty region is: the one colour that it touches, or "" (both, or none)."""
    touched = {COLOUR[board[q]] for q in region.beside}
    return touched.pop() if len(touched) == 1 else ""


class SquareModel(Model):
    """A position on the square grid with passes, two consecutive ones ending the game, and the agreement phase.

    A game says in `allowed_points`, `allowed_words`, `check`, `apply` and `totals` what is its own.
    """

    def __init__(self, size: int, agreement: bool) -> None:
        super().__init__()
        self.size = size
        self.agreement = agreement
        self.board_string = "." * (size * size)
        self.last_passer = ""
        self.asked = False  # the agreement has been asked for: it is asked for once
        self.first_list: frozenset[int] | None = None  # the first dead list, between the two answers

    # --- what all square games answer -----------------------------------------------------------------------------

    def board(self) -> str:
        """The board as the core writes it: rows from the top."""
        rows = [self.board_string[y * self.size : (y + 1) * self.size] for y in range(self.size)]
        return "".join(reversed(rows))

    def set_up(self, board: str, side: str = "black") -> None:
        """Begin with that board (as `board` gives it) and that side to move."""
        rows = [board[y * self.size : (y + 1) * self.size] for y in range(self.size)]
        self.board_string = "".join(reversed(rows))
        self.to_play = side

    def legal_moves(self) -> list[str]:
        """Canonical, sorted bytewise; empty when over; `dead:` stands for every dead list."""
        if self.phase == "over":
            return []
        if self.phase == "agree":
            return ["dead:"]
        return sorted(self.allowed())

    def allowed(self) -> set[str]:
        """In the phase `play`."""
        return {*(names(self.size)[p] for p in self.allowed_points()), *self.allowed_words()}

    def play(self, text: str) -> str:
        """Play a move; its canonical form. ValueError says why it is illegal, and then nothing has changed."""
        move = self.read(text)
        self.placed = [move] if move in points(self.size) else []
        self.passers = [*self.passers, self.to_play] if move == "pass" else []
        if move.startswith("dead:"):
            self.answer(frozenset(points(self.size)[name] for name in move[5:].split(",") if name))
        elif move == "pass":
            self.apply(move)
            self.pass_turn()
        else:
            self.apply(move)
        self.ply += 1
        return move

    # --- what a game adds -----------------------------------------------------------------------------------------

    @abstractmethod
    def allowed_points(self) -> list[int]:
        """The points on which the player may play now."""

    @abstractmethod
    def allowed_words(self) -> list[str]:
        """The moves that are words."""

    @abstractmethod
    def check(self, move: str) -> None:
        """ValueError if this canonical point, or word, is not legal in the phase `play`."""

    @abstractmethod
    def totals(self) -> tuple[float, float]:
        """Black's and White's score of the position as it stands."""

    def score_parts(self) -> dict[str, dict[str, float | list[int] | None]]:
        """The totals; what they are made of differs."""
        black, white = self.totals()
        return {"black": {"total": black}, "white": {"total": white}}

    # --- helpers --------------------------------------------------------------------------------------------------

    def read(self, text: str) -> str:
        """The canonical form of a legal move."""
        word = text.lower()
        if not text.isascii():
            raise ValueError("moves are written in ASCII")
        if self.phase == "over":
            raise ValueError("the game is over")
        if self.phase == "agree":
            return self.read_dead(word)
        name = word.upper()
        move = name if name in points(self.size) else word
        self.check(move)
        return move

    def read_dead(self, word: str) -> str:
        """ "`dead:` + a comma-separated list of points, `dead:` alone for none. Any stone names its whole group; an
        empty point or a repeated one is illegal; canonical: all points of the groups, by column, then row"."""
        if not word.startswith("dead:"):
            raise ValueError("only a dead list can be given now")
        named = [points(self.size).get(name.upper()) for name in word[5:].split(",")] if word != "dead:" else []
        if None in named:
            raise ValueError("not a point of the board")
        if any(self.board_string[p] == "." for p in named if p is not None):
            raise ValueError("an empty point is not dead")
        if len(set(named)) < len(named):
            raise ValueError("a point is named twice")
        dead = {
            p for group in all_groups(self.board_string, self.size) if group.points & set(named) for p in group.points
        }
        return "dead:" + ",".join(names(self.size)[p] for p in sorted(dead, key=lambda p: (p % self.size, p)))

    def pass_turn(self) -> None:
        """ "End: two consecutive passes"; "after the first double pass the phase is `agree`: first the seat that passed
        first"."""
        self.last_passer = self.passers[-1]
        if self.passes < 2:
            return
        if self.agreement and not self.asked:
            self.phase, self.asked = "agree", True
            self.to_play = self.passers[0]  # its turn anyhow, unless go was played out of turn
        else:
            self.finish()

    def answer(self, dead: frozenset[int]) -> None:
        """ "Equal sets: those groups, kings included, are removed, the game is over and the resulting position is
        scored. Different: play goes on with the opponent of the last passer"."""
        if self.first_list is None:
            self.first_list = dead
            self.to_play = OTHER[self.to_play]
            return
        agreed, self.first_list = self.first_list == dead, None
        if agreed:
            self.board_string = "".join("." if p in dead else piece for p, piece in enumerate(self.board_string))
            self.finish()
        else:
            self.phase = "play"
            self.to_play = OTHER[self.last_passer]

    def finish(self, *, drawn: bool = False) -> None:
        """Over: by the score, or drawn."""
        self.result = "0" if drawn else result(*self.totals())
        self.phase, self.to_play = "over", "none"

    def place(self, p: int, piece: str) -> None:
        """Put a piece, or `.`, on a point."""
        self.board_string = self.board_string[:p] + piece + self.board_string[p + 1 :]
