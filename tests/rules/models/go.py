"""A second implementation of Go: Tromp-Taylor areas, no suicide, three ko rules, all computed from whole boards."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Self

from tests.rules.models.square import OTHER, SquareModel, all_groups, names, neighbours, owner, points

STONE = {"black": "X", "white": "O"}


def fixed_points(size: int, handicap: int) -> list[str]:
    """The handicap points of the GTP draft (version 2, draft 2, section 4.1.1), in its order; ValueError beyond them.

    "The edge stones are moved to the fourth line for boards larger than 11x11"; even boards and 7x7 have four points,
    odd ones from 9x9 on nine, smaller ones none. GNU Go, the draft's reference implementation, does the same.
    """
    most = 0 if size < 7 else 4 if size % 2 == 0 or size == 7 else 9
    if handicap and not 2 <= handicap <= most:
        raise ValueError(f"there is no handicap {handicap} on {size}x{size}")
    low = 2 if size <= 11 else 3
    middle, high = size // 2, size - 1 - low
    order = [(low, low), (high, high), (low, high), (high, low)]
    sides = [(low, middle), (high, middle), (middle, low), (middle, high)]
    centre = [(middle, middle)]
    if handicap in (5, 7, 9):
        spots = order + sides[: handicap - 5] + centre
    else:
        spots = order[: min(handicap, 4)] + sides[: max(0, handicap - 4)]
    return [names(size)[y * size + x] for x, y in spots]


class GoModel(SquareModel):
    """A position of Go with what stood before it. `komi` is a multiple of ½; `ko` simple, positional or situational."""

    def __init__(
        self, size: int = 19, komi: float = 7.5, handicap: int = 0, ko: str = "positional", agreement: bool = False
    ) -> None:
        super().__init__(size, agreement)
        self.komi = komi
        self.handicap = handicap
        self.ko = ko
        for name in fixed_points(size, handicap):
            self.place(points(size)[name], "X")
        if handicap:
            self.to_play = "white"  # "White moves first"
        self.repeated = False  # a board has stood for the third time, and the game is drawn
        self.before: dict[str, str] = {}  # colour -> the board before its last move
        self.begin()

    def begin(self) -> None:
        """The history begins with the present position: every (board, side to move), those after passes included."""
        self.stood = [(self.board_string, self.to_play)]
        self.boards = {self.board_string}

    def set_up(self, board: str, side: str = "black") -> None:
        """See SquareModel."""
        super().set_up(board, side)
        self.begin()

    def key(self) -> Hashable:
        """Board, options, side, phase, pass count, dead lists, and a draw by repetition; not the ko history."""
        options = ("go", self.size, self.komi, self.handicap, self.ko, self.agreement)
        agreement = (self.asked, self.first_list)
        return (options, self.board_string, self.to_play, self.phase, self.passes, agreement, self.repeated)

    def copy(self) -> Self:
        """An independent position, history and all."""
        twin = super().copy()
        twin.stood, twin.boards, twin.before = list(self.stood), set(self.boards), dict(self.before)
        return twin

    # --- the turn -------------------------------------------------------------------------------------------------

    def after(self, p: int) -> str:
        """The board after the player's stone on this empty point; "" if that would be suicide."""
        board = self.board_string[:p] + STONE[self.to_play] + self.board_string[p + 1 :]
        groups = [g for g in all_groups(board, self.size) if g.colour and all(board[q] != "." for q in g.beside)]
        taken = {q for group in groups if group.colour != self.to_play for q in group.points}
        if groups and not taken:
            return ""
        return "".join("." if q in taken else piece for q, piece in enumerate(board))

    def forbidden(self, board: str) -> bool:
        """Whether the ko rule forbids a stone to make this board."""
        if self.ko == "positional":
            return board in self.boards  # "a stone may not recreate a board that stood earlier"
        if self.ko == "situational":
            return (board, OTHER[self.to_play]) in self.stood  # "nor a (board, side to move) that stood earlier"
        return board == self.before.get(OTHER[self.to_play])  # "the board before the opponent's last move"

    def allowed_points(self) -> list[int]:
        """`after` and `forbidden` of every empty point at once: only the groups beside the point can change by it."""
        group_of = {p: group for group in all_groups(self.board_string, self.size) for p in group.points}
        found = []
        for p, piece in enumerate(self.board_string):
            if piece == ".":
                board = list(self.board_string)
                board[p] = STONE[self.to_play]
                breathes = False
                for q in neighbours(self.size)[p]:
                    group = group_of[q]
                    last = [r for r in group.beside if self.board_string[r] == "."] == [p]
                    if group.colour == self.to_play:
                        breathes |= not last
                    elif not group.colour or last:
                        breathes = True
                        if group.colour:
                            for r in group.points:
                                board[r] = "."
                if breathes and not self.forbidden("".join(board)):
                    found.append(p)
        return found

    def allowed_words(self) -> list[str]:
        """ "Passing is never restricted"."""
        return ["pass"]

    def check(self, move: str) -> None:
        """A pass, or a stone that is neither suicide nor forbidden by the ko rule."""
        if move == "pass":
            return
        if move not in points(self.size):
            raise ValueError("not a move of Go")
        p = points(self.size)[move]
        if self.board_string[p] != ".":
            raise ValueError(f"{move} is occupied")
        board = self.after(p)
        if not board:
            raise ValueError(f"{move} is suicide")
        if self.forbidden(board):
            raise ValueError(f"{move} recreates a board: ko")

    def apply(self, move: str) -> None:
        """Play the move and give the turn away; "when a stone makes a (board, side to move) stand for the third time
        the game is over" under the simple ko rule."""
        self.before[self.to_play] = self.board_string
        if move != "pass":
            after = self.after(points(self.size)[move])
            enemy = OTHER[self.to_play]
            self.taken[enemy] += self.board_string.count(STONE[enemy]) - after.count(STONE[enemy])
            self.board_string = after
        self.to_play = OTHER[self.to_play]
        self.stood.append((self.board_string, self.to_play))
        self.boards.add(self.board_string)
        if self.ko == "simple" and move != "pass" and self.stood.count(self.stood[-1]) >= 3:
            self.repeated = True
            self.finish(drawn=True)

    # --- the score ------------------------------------------------------------------------------------------------

    def totals(self) -> tuple[float, float]:
        """Tromp-Taylor: stones, and empty points that reach only one colour; komi for White."""
        total = {"black": 0.0, "white": float(self.komi), "": 0.0}
        for group in all_groups(self.board_string, self.size):
            total[group.colour or owner(group, self.board_string)] += len(group.points)
        return total["black"], total["white"]

    # --- what plain GTP adds --------------------------------------------------------------------------------------

    def set_to_play(self, colour: str) -> None:
        """ "Plain GTP may play out of turn only in go". The board then stands with that side, as after a pass."""
        if self.phase != "play":
            raise ValueError("no side is to play a move")
        if colour != self.to_play:
            self.to_play = colour
            self.stood.append((self.board_string, colour))

    def set_komi(self, komi: float) -> None:
        """GTP's komi acts "in go at any time"."""
        self.komi = komi

    def place_handicap(self, stones: list[str]) -> None:
        """The draft's set_free_handicap: two stones or more on an empty board, one point at least stays empty. They
        are there "before ply 0, White moves first"."""
        where = {points(self.size).get(name.upper()) for name in stones}
        if self.ply or set(self.board_string) != {"."}:
            raise ValueError("a handicap is placed on an empty board before ply 0")
        if None in where or len(where) < len(stones) or not 2 <= len(stones) < self.size * self.size:
            raise ValueError("a handicap is two or more different points and leaves one empty")
        for name in stones:
            self.place(points(self.size)[name.upper()], "X")
        self.to_play = "white"
        self.begin()
