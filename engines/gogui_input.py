"""Turns entered cell by cell, as GoGui does under --gogui, and GoGui's names of cells. It knows no protocol."""

import re
from collections import Counter
from collections.abc import Iterable

from ggp.engines.game import Game, IllegalMove, Scene
from ggp.engines.history import GameHistory
from ggp.engines.scene import piece, token

LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"  # GoGui skips I as GTP does
POINT = re.compile("[A-HJ-Z]{1,2}[1-9][0-9]?")
SHOWN = 5  # the most next cells that a message names


def point_of(game: Game, cell: str) -> str:
    """Return GoGui's name of a cell, or "" if it lies outside the window of an unbounded board.

    GoGui's columns are A to Z, then AA to AZ, BA and BB, without I: at most 52, and as many rows.
    """
    if not game.window:
        return cell
    half = game.window // 2
    column, row = (int(number) + half for number in cell.split(","))
    if not 0 <= column < game.window or not 0 <= row < game.window:
        return ""
    return f"{column_name(column)}{row + 1}"


def cell_of(game: Game, text: str) -> str:
    """Return the cell for one of GoGui's points, in any case, or "" if the text is not a point."""
    text = text.upper()
    if POINT.fullmatch(text) is None or not game.window:
        return text if POINT.fullmatch(text) else ""
    half = game.window // 2
    column, row = place(text)
    return f"{column - half},{row - half}" if column < game.window and row < game.window else ""


def place(point: str) -> tuple[int, int]:
    """Return a point's column and row, both from 0."""
    letters = point.rstrip("0123456789")
    column = 0
    for letter in letters:
        column = column * len(LETTERS) + LETTERS.index(letter) + 1
    return column - 1, int(point[len(letters) :]) - 1


def column_name(column: int) -> str:
    """Return the name of a column: A for 0, Z for 24, AA for 25."""
    first, second = divmod(column, len(LETTERS))
    return (LETTERS[first - 1] if first else "") + LETTERS[second]


def word_cells(line: GameHistory) -> dict[str, str]:
    """Return the moves that are not points by the cells with which GoGui enters them.

    `bid:N` is entered by any cell of row N, `swap-sides` by the stone on the board, or by any cell of an empty board.
    """
    words = {"bid:", "swap-sides"}.intersection(line.game.words)
    if not words or line.state.phase == "over":
        return {}
    legal = set(line.state.legal_moves())
    if line.state.phase == "bid":
        bids = ((cell["at"], f"bid:{place(cell['at'])[1] + 1}") for cell in line.state.scene()["cells"])
        return {at: bid for at, bid in bids if bid in legal}
    if "swap-sides" not in legal:
        return {}
    scene = line.state.scene()
    return {entry["at"]: "swap-sides" for entry in scene["pieces"] or scene["cells"]}


class GoguiEntry:
    """The cells of the turn that is being entered, and those of earlier turns.

    The cells belong to one position of one game. Any ply that is played or taken back in another way discards them.
    """

    def __init__(self) -> None:
        self._line: GameHistory | None = None
        self._ply = 0
        self._cells: tuple[str, ...] = ()
        self._turns: dict[int, tuple[str, tuple[str, ...]]] = {}  # the move and its cells, by ply

    def on(self, copy: GameHistory, line: GameHistory) -> "GoguiEntry":
        """Return the same entry for a copy of the game."""
        other = GoguiEntry()
        other._turns = dict(self._turns)
        other._keep(copy, self.cells_in_order(line))
        return other

    def cells_in_order(self, line: GameHistory) -> tuple[str, ...]:
        """Return the cells entered so far in the current turn."""
        return self._cells if line is self._line and len(line.plies) == self._ply else ()

    def play(self, line: GameHistory, colour: str, move: str) -> str:
        """Enter one point, or `pass` at the end of a turn.

        Return the move to play, or "" if the turn is not complete.

        Raises:
            IllegalMove: The point is not possible; nothing has changed.
        """
        cells = self.cells_in_order(line)
        cell = cell_of(line.game, move)
        if cells and move.lower() == "pass":
            return self._whole(line, cells)
        if not cell:
            if cells:
                raise IllegalMove(f"the turn {_points(line.game, cells)} is not finished: write pass, or undo")
            return move
        if colour != line.state.to_play:
            raise IllegalMove(f"it is {line.state.to_play}'s turn" if line.state.seat else "the game is over")
        possible = self.next_cells(line)
        if cell not in possible:
            raise IllegalMove(self._why_not(line, cells, cell, possible))
        self._keep(line, (*cells, cell))
        return ""

    def played(self, line: GameHistory, cells: tuple[str, ...]) -> None:
        """Note that the last ply of the game was entered with these cells."""
        self._turns[len(line.plies) - 1] = (line.plies[-1][2], cells)

    def take_back_cell(self, line: GameHistory) -> bool:
        """Forget the last cell of the current turn. Return False if no cell was entered yet."""
        cells = self.cells_in_order(line)
        if cells:
            self._keep(line, cells[:-1])
        return bool(cells)

    def taken_back(self, line: GameHistory, move: str, cells_too: bool) -> None:
        """Note that `line` has lost its last ply, which was `move`.

        Unless `cells_too`, the cells of that turn are restored, as only the `pass` that ended it was taken back.
        """
        ply = len(line.plies)
        turn = self._turns.get(ply)
        self._turns = {number: turn for number, turn in self._turns.items() if number < ply}
        if turn is not None and turn[0] == move and not cells_too:
            self._keep(line, turn[1])

    def next_cells(self, line: GameHistory) -> set[str]:
        """Return the cells that may come next."""
        cells = self.cells_in_order(line)
        return {cell for move in self._moves(line) for cell in follow(line.game, move, cells)}

    def whole_move(self, line: GameHistory) -> str:
        """Return the move that the cells entered so far make, or "" if they make none."""
        cells = self.cells_in_order(line)
        return next((move for move in self._moves(line) if is_whole(line.game, move, cells)), "") if cells else ""

    def drawn(self, line: GameHistory, scene: Scene) -> Scene:
        """Return the scene with the cells entered so far as stones, marked like a last ply."""
        cells = self.cells_in_order(line)
        if not cells:
            return scene
        stones = line.game.clicked(cells, line.state.to_play)
        standing = [entry for entry in scene["pieces"] if entry["at"] not in stones]
        text = f"Entered so far: {_points(line.game, cells)}; pass ends the turn"
        return {
            **scene,
            "pieces": standing + [piece(at, colour) for at, colour in stones.items()],
            "tokens": [*scene["tokens"], token("entry", line.state.to_play, text)],
            "last": list(stones),
        }

    def _keep(self, line: GameHistory, cells: tuple[str, ...]) -> None:
        self._line, self._ply, self._cells = line, len(line.plies), cells

    def _moves(self, line: GameHistory) -> Iterable[str]:
        return (move for move in line.state.legal_moves() if move not in line.game.words)

    def _whole(self, line: GameHistory, cells: tuple[str, ...]) -> str:
        if move := self.whole_move(line):
            return move
        named, more = _points(line.game, cells), _some(line.game, self.next_cells(line))
        raise IllegalMove(f"{named} is not a complete turn; the next cell may be {more}")

    def _why_not(self, line: GameHistory, cells: tuple[str, ...], cell: str, possible: set[str]) -> str:
        point = point_of(line.game, cell)
        if cells:
            named, more = _points(line.game, cells), _some(line.game, possible)
            return f"{point} cannot follow {named}; the next cell may be {more or 'pass only'}"
        return (not line.game.window and line.state.why_illegal(cell)) or f"no turn begins with {point}"


def follow(game: Game, move: str, cells: tuple[str, ...]) -> set[str]:
    """Return the cells that may come next on the way to that move: none if it is complete or out of reach."""
    first, free = game.clicks(move)
    if len(cells) < len(first):
        return {first[len(cells)]} if first[: len(cells)] == cells else set()
    if cells[: len(first)] != first:
        return set()
    left = Counter(free)
    left.subtract(cells[len(first) :])
    return set() if min(left.values(), default=0) < 0 else {cell for cell, times in left.items() if times}


def is_whole(game: Game, move: str, cells: tuple[str, ...]) -> bool:
    """Return True if these cells make up that move."""
    first, free = game.clicks(move)
    return cells[: len(first)] == first and Counter(cells[len(first) :]) == Counter(free)


def _points(game: Game, cells: Iterable[str]) -> str:
    return " ".join(point_of(game, cell) for cell in cells)


def _some(game: Game, cells: set[str]) -> str:
    points = sorted(filter(None, (point_of(game, cell) for cell in cells)))
    return " ".join(points[:SHOWN]) + (" …" if len(points) > SHOWN else "")
