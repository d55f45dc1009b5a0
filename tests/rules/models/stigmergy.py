"""A second implementation of Stigmergy: every cell looks along its six lines each time."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Self

from tests.rules.models.hexagon import Cell, cells, name, names, near, rays
from tests.rules.models.model import LETTER, OTHER, Model, result


class StigmergyModel(Model):
    """A position of Stigmergy; `stones_at` maps the occupied cells to colours. komi None: it is bid for."""

    def __init__(self, size: int = 8, komi: int | None = None) -> None:
        super().__init__()
        self.size = size
        self.option = komi
        self.komi = komi
        self.stones_at: dict[Cell, str] = {}
        self.button = "none"
        if komi is None:
            self.phase = "bid"

    def copy(self) -> Self:
        """See Model.copy."""
        twin = super().copy()
        twin.stones_at = dict(self.stones_at)
        return twin

    def board(self) -> str:
        """Rows from the top."""
        return "".join(LETTER[self.stones_at[p]] if p in self.stones_at else "." for p in cells(self.size))

    def set_up(self, board: str, side: str = "black") -> None:
        """See Model.set_up."""
        colours = {"X": "black", "O": "white"}
        self.stones_at = {p: colours[one] for p, one in zip(cells(self.size), board, strict=True) if one in colours}
        self.to_play, self.found = side, None

    def key(self) -> Hashable:
        """Board, options, the bid, side, phase, seats, button, passes."""
        stones = frozenset(self.stones_at.items())
        turn = (self.to_play, self.phase, self.swapped, self.passes)
        return ("stigmergy", self.size, self.option, self.komi, stones, turn, self.button)

    # --- lines of sight -------------------------------------------------------------------------------------------

    def seen(self, cell: Cell) -> list[str]:
        """The colours of the stones that a cell sees: "along one of the six directions if no stone stands between"."""
        found = []
        for ray in rays(self.size)[cell]:
            for other in ray:
                if other in self.stones_at:
                    found.append(self.stones_at[other])
                    break
        return found

    def controller(self, cell: Cell) -> str:
        """ "You control a cell (empty or not) if 2 × (your stones it sees) > its number of neighbours on the board"."""
        seen = self.seen(cell)
        for colour in ("black", "white"):
            if 2 * seen.count(colour) > len(near(self.size)[cell]):
                return colour
        return ""

    def control(self) -> str:
        """The board's cells as they are controlled."""
        return "".join(LETTER.get(self.controller(cell), ".") for cell in cells(self.size))

    def empty(self) -> list[Cell]:
        """The cells without a stone."""
        return [cell for cell in cells(self.size) if cell not in self.stones_at]

    # --- the turn -------------------------------------------------------------------------------------------------

    @property
    def button_waits(self) -> bool:
        """ "the button is waiting (komi odd, untaken)"."""
        return self.komi is not None and self.komi % 2 == 1 and self.button == "none"

    def allowed(self) -> set[str]:
        """The four kinds of moves, and the bidding."""
        if self.phase == "bid":
            return {f"bid:{k}" for k in range(len(cells(self.size)) + 2)}  # "an integer 0 ≤ k ≤ N+1"
        if self.phase == "choose":
            return {"swap-sides", "keep-sides"}
        me = self.to_play
        controllers = {cell: self.controller(cell) for cell in cells(self.size)}
        found = set()
        for cell, controller in controllers.items():
            stone = self.stones_at.get(cell)
            if stone is None and controller != OTHER[me]:
                found.add(name(cell, self.size))  # "place on an empty cell that the opponent does not control"
            if stone == OTHER[me] and controller == me:
                found.add(name(cell, self.size))  # "replace an enemy stone on a cell you control"
        if self.button_waits:
            found.add("button")
        elif all(controllers[cell] for cell in self.empty()):
            found.add("pass")  # "if every empty cell is controlled by somebody and the button is not waiting"
        return found

    def canonical(self, text: str) -> str:
        """Also bids: "no leading zeros" stand in answers, and none are read."""
        return text if text.startswith("bid:") else super().canonical(text)

    def apply(self, move: str) -> None:
        """See Model.apply."""
        if move.startswith("bid:"):
            self.komi = int(move[4:])
            self.phase, self.to_play = "choose", "white"
        elif self.phase == "choose":
            self.swapped = move == "swap-sides"
            self.phase, self.to_play = "play", "black"  # "Then Black moves"
        else:
            self.turn(move)

    def turn(self, move: str) -> None:
        """One of place, replace, `button`, `pass`."""
        me = self.to_play
        if move == "button":
            self.button = me
        elif move != "pass":
            cell = names(self.size)[move]
            if cell in self.stones_at:
                self.taken[OTHER[me]] += 1
            self.stones_at[cell] = me
            self.placed = [move]
        self.to_play = OTHER[me]
        if self.passes == 2:
            totals = [sum(self.counts(colour).values()) for colour in ("black", "white")]
            self.result = result(*totals)
            self.phase, self.to_play = "over", "none"

    # --- the score ------------------------------------------------------------------------------------------------

    def counts(self, colour: str) -> dict[str, float]:
        """ "own stones + empty cells you control + komi (White) + ½ for the button"."""
        found = {
            "stones": float(list(self.stones_at.values()).count(colour)),
            "controlled": float(sum(self.controller(cell) == colour for cell in self.empty())),
            "button": 0.5 if self.button == colour else 0.0,
        }
        if colour == "white":
            found["komi"] = float(self.komi or 0)
        return found

    def score_parts(self) -> dict[str, dict[str, float | list[int] | None]]:
        """See Model.parts."""
        counts = {colour: self.counts(colour) for colour in ("black", "white")}
        return {colour: {"total": sum(count.values()), **count} for colour, count in counts.items()}
