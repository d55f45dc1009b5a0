"""A second implementation of Yugo: each turn finds the groups anew and counts the surrounded ones."""

from __future__ import annotations

from collections.abc import Hashable

from tests.rules.models.square import COLOUR, OTHER, SquareModel, all_groups, neighbours, owner, points

PAWN = {"black": "X", "white": "O"}
KING = {"black": "#", "white": "@"}


class YugoModel(SquareModel):
    """A position of Yugo. `komi` is an integer; `handicap` 0 or 2..9 and less than size²."""

    def __init__(self, size: int = 9, komi: int = 7, handicap: int = 0, agreement: bool = False) -> None:
        super().__init__(size, agreement)
        self.komi = komi
        self.handicap = handicap
        self.pawns_left = handicap  # Black's handicap pawns that are not yet placed
        self.button = "none"

    def key(self) -> Hashable:
        """Board, options, side, phase, tokens, pass count, dead lists."""
        options = ("yugo", self.size, self.komi, self.handicap, self.agreement)
        tokens = (self.button, self.pawns_left)
        agreement = (self.asked, self.first_list)
        return (options, self.board_string, self.to_play, self.phase, tokens, self.passes, agreement)

    def kind(self, p: int) -> str:
        """The piece that the player may put on this point: "pawn", "king" or ""; straight from the two sentences."""
        if self.board_string[p] != ".":
            return ""
        before = {colour: self.surrounded(colour) for colour in OTHER}
        after = self.copy()
        after.place(p, PAWN[self.to_play])
        grown = {colour: len(after.surrounded(colour)) - len(before[colour]) for colour in OTHER}
        if grown == {"black": 0, "white": 0}:
            return "pawn"  # "the number of surrounded groups (both colours) is unchanged"
        if grown[OTHER[self.to_play]] > 0 and not self.pawns_left:
            return "king"  # "the number of surrounded *enemy* groups has grown"
        return ""

    def surrounded(self, colour: str) -> list[frozenset[int]]:
        """The groups of a colour that have no liberty."""
        return [
            group.points
            for group in all_groups(self.board_string, self.size)
            if group.colour == colour and all(self.board_string[q] != "." for q in group.beside)
        ]

    # --- the turn -------------------------------------------------------------------------------------------------

    def allowed_points(self) -> list[int]:
        """`kind` of every empty point at once: only the groups beside the point can change by it."""
        liberties = {}
        for group in all_groups(self.board_string, self.size):
            free = {q for q in group.beside if self.board_string[q] == "."}
            liberties.update(dict.fromkeys(group.points, free))
        found = []
        for p, piece in enumerate(self.board_string):
            if piece == ".":
                beside = neighbours(self.size)[p]
                own = [q for q in beside if COLOUR.get(self.board_string[q]) == self.to_play]
                enemy = [q for q in beside if COLOUR.get(self.board_string[q]) == OTHER[self.to_play]]
                takes = any(liberties[q] == {p} for q in enemy)
                breathes = len(own) + len(enemy) < len(beside) or any(liberties[q] != {p} for q in own)
                if (takes and not self.pawns_left) or (breathes and not takes):
                    found.append(p)
        return found

    def allowed_words(self) -> list[str]:
        """ "`button`: take the button, if nobody has it"; "`pass`: only if the button has been taken"."""
        if self.pawns_left:
            return []  # "in h consecutive plies, in which nothing else is legal"
        return ["button" if self.button == "none" else "pass"]

    def check(self, move: str) -> None:
        """See allowed_words and kind."""
        if move in ("button", "pass"):
            if move not in self.allowed_words():
                raise ValueError(f"{move} is not possible now")
        elif move not in points(self.size):
            raise ValueError("not a move of Yugo")
        elif not self.kind(points(self.size)[move]):
            raise ValueError(f"neither a pawn nor a king may be put on {move}")

    def apply(self, move: str) -> None:
        """Play the move and give the turn away, unless handicap pawns are left."""
        mine, enemy = self.to_play, OTHER[self.to_play]
        if move == "button":
            self.button = mine
        elif move != "pass":
            p = points(self.size)[move]
            if self.kind(p) == "pawn":
                self.place(p, PAWN[mine])
            else:
                self.place(p, KING[mine])
                self.remove_pawns(enemy)  # "Then remove all pawns of all surrounded enemy groups;
                self.remove_pawns(mine)  # then, in the resulting position, all pawns of all surrounded friendly groups"
        self.pawns_left = max(0, self.pawns_left - 1)
        if not self.pawns_left:
            self.to_play = enemy

    def remove_pawns(self, colour: str) -> None:
        """Remove the pawns of all surrounded groups of a colour, which are all found before the first is removed."""
        for group in self.surrounded(colour):
            for p in group:
                if self.board_string[p] == PAWN[colour]:
                    self.place(p, ".")
                    self.taken[colour] += 1

    def set_komi(self, komi: int) -> None:
        """GTP's komi "acts at once before ply 0"."""
        if self.ply:
            raise ValueError("the game has begun")
        self.komi = komi

    # --- the score ------------------------------------------------------------------------------------------------

    def totals(self) -> tuple[float, float]:
        """ "empty points of own territory + own pieces in groups with a liberty + enemy kings in groups without
        liberties + ½ for the button + komi (White) − (h−1) (Black, h ≥ 2)"."""
        total = {"black": 0.0, "white": 0.0}
        for group in all_groups(self.board_string, self.size):
            if not group.colour:
                if owns := owner(group, self.board_string):
                    total[owns] += len(group.points)
            elif any(self.board_string[q] == "." for q in group.beside):
                total[group.colour] += len(group.points)
            else:
                total[OTHER[group.colour]] += sum(self.board_string[p] == KING[group.colour] for p in group.points)
        if self.button != "none":
            total[self.button] += 0.5
        total["white"] += self.komi
        total["black"] -= max(0, self.handicap - 1)
        return total["black"], total["white"]
