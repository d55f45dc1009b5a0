"""The rules of the games in C++ (engines/core): positions that change move by move.

All game classes have the same methods. A position is a value: `copy()` is independent of the original. Moves are text
as in the rules; they are read without regard to case and returned in canonical form. Seats, plies and numbers of points
are ints.
"""

from typing import Literal, Self, TypedDict

class IllegalMove(ValueError):
    """An illegal or unreadable move; `str(error)` is the reason. The position has not changed."""

class _Parts(TypedDict):
    black: dict[str, float | int | list[int] | None]
    white: dict[str, float | int | list[int] | None]

class _Position:
    @property
    def phase(self) -> Literal["bid", "choose", "play", "agree", "over"]: ...
    @property
    def to_play(self) -> Literal["black", "white", "none"]:
        """Return the colour to act, "none" after the end. In the agreement phase it is the colour that answers."""
    @property
    def seat(self) -> Literal[0, 1, 2]:
        """Return the seat to act; 0 after the end."""
    @property
    def ply(self) -> int:
        """Return the number of plies played."""
    @property
    def result(self) -> str:
        """Return "B+3.5", "W+1" or "0"; "" before the end."""
    @property
    def winner(self) -> Literal[0, 1, 2]:
        """Return the winning seat; 0 for a draw and before the end."""
    @property
    def size(self) -> int:
        """Return the option `size`, or the width of a board without that option."""
    def copy(self) -> Self: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object) -> Self: ...
    def play(self, move: str) -> str:
        """Play a move and return its canonical text.

        Raises:
            IllegalMove: The move is illegal; nothing has changed.
        """
    def why_illegal(self, move: str) -> str:
        """Return the reason why `play(move)` would refuse the move, or "" if it would not."""
    def answer_plays(
        self, source: int, sink: int, plies: int, commands: int
    ) -> tuple[bytes | None, list[tuple[int, str, str]], bytes]:
        """Answer `[id] ggp-play COLOUR MOVE` and `[id] ggp-legal_moves`, read from `source`, on `sink`.

        It stops at any other input, and after `plies` plies or `commands` commands.

        Returns:
            The unanswered input (b"" at its end, None if there is none now or the limit is reached); the plies as seat,
            colour and canonical move; the part of an answer for which `sink` had no room.
        """
    def legal_moves(self) -> list[str]:
        """Return every legal move in canonical form, sorted by bytes; [] after the end.

        "dead:" stands for all lists of dead stones.
        """
    def hash(self) -> int:
        """Return 64 bits, the same in every process: equal positions (PROTOCOL: ggp-hash) have equal hashes."""
    def perft(self, depth: int) -> int:
        """Return the number of legal move sequences of that length. "dead:" counts once."""
    def playouts(
        self, n: int, seed: int = 0, policy: Literal["uniform", "rollout"] = "uniform"
    ) -> tuple[int, int, int, int]:
        """Play `n` random games from here, without the GIL. Return (plies, won by black, won by white, drawn).

        The same plies and the same seed (0..2**64-1) give the same games. "uniform" chooses every legal move with equal
        probability, passes and the button too. "rollout" chooses uniformly among the points that do not fill an own
        eye, and button or pass only if there is no such point. A game that has not ended after 20 plies per cell counts
        as drawn.
        """
    def search(self, seed: int = 0, threads: int = 1, megabytes: int = 64) -> _Search:
        """Return a search from here; see ggp.engines.game.State.search.

        Raises:
            ValueError: A number is out of its range.
            IllegalMove: The game is over.
        """
    def play_out(self, seed: int, policy: Literal["uniform", "rollout"] = "uniform") -> None:
        """Play at random to the end of the game, or until `playouts` would stop."""
    def random_move(self, seed: int, policy: Literal["uniform", "rollout"] = "uniform") -> str:
        """Return a random legal move by the policy of `playouts`; change nothing.

        Raises:
            IllegalMove: The game is over.
        """
    def board(self) -> str:
        """Return size*size characters, rows from the top, columns from A.

        They are "." empty, "X" black, "O" white, "#" black king, "@" white king.
        """
    def last_move(self) -> list[str]:
        """Return the points that the last ply filled; [] after a pass and the like."""
    def captured(self) -> tuple[int, int]:
        """Return the numbers of captured black and white pieces, without those that both sides agreed to be dead."""
    def set_up(self, board: str, side: Literal["black", "white"] = "black") -> None:
        """Begin with that board (as `board()` returns it) and that side to move, for tests and analysis.

        It works only before the first ply, on an empty board without handicap.

        Raises:
            ValueError: The position is impossible, with the reason.
        """
    def score_parts(self) -> _Parts:
        """Return the score of the current position: for each colour "total" and its parts by name.

        Whole values are ints. The total is the sum of the other numbers, or None if a game has no such number; lists
        are not part of the sum.
        """

class _Search:
    """See ggp.engines.game.Search. Calling it from another thread while it runs raises RuntimeError."""

    node_bytes: int
    """The size of a node of this game in bytes. Children are stored together, so a move takes only one node."""

    def run(self, playouts: int = 0, seconds: float = 0.0) -> None: ...
    def play(self, move: str) -> None: ...
    def votes(self) -> list[tuple[str, int, float, str]]: ...
    def line(self) -> list[str]: ...
    def hash(self) -> int: ...
    @property
    def swap_follows(self) -> bool: ...
    @property
    def nodes(self) -> int: ...

class Go(_Position):
    """Go. score_parts: stones, territory, and komi for White."""

    def __init__(
        self,
        size: int = 19,
        komi: float = 7.5,
        handicap: int = 0,
        ko: Literal["simple", "positional", "situational"] = "positional",
        agreement: bool = False,
    ) -> None:
        """Begin a game.

        Args:
            size: 2..25.
            komi: Points for White.
            handicap: 0 or 2..9, if the board has so many fixed points.
            ko: The ko rule.
            agreement: Whether the sides may agree on dead stones.

        Raises:
            ValueError: An option is impossible, with the reason.
        """
    def set_komi(self, komi: float) -> None:
        """Change the komi at any time.

        Raises:
            ValueError: It is not finite.
        """
    def set_to_play(self, side: Literal["black", "white"]) -> None:
        """Give the turn to a side, for plain GTP, where moves may come out of turn.

        Raises:
            IllegalMove: The phase is not "play".
        """
    def place_handicap(self, vertices: list[str]) -> None:
        """Place at least two black stones on an empty board before ply 0; then White moves.

        Raises:
            IllegalMove: The points are impossible.
        """
    @staticmethod
    def fixed_handicap_points(size: int, stones: int) -> list[str]:
        """Return the fixed points of the GTP draft.

        Raises:
            ValueError: The board has none for that number.
        """

class Laido(_Position):
    """Laido. score_parts: half_point, 0.5 for its current holder, and "groups", the groups' values in descending order.

    There is no total, because the lists are compared and never summed. "rollout" plays the first acceptable one of four
    random points, which may repeat, and passes if all are wasteful: beside three own stones, or an edge point beside an
    own edge stone. It never swaps sides.
    """

    def __init__(self, size: int = 9, pie: bool = True, half_point: Literal["final", "first"] = "final") -> None:
        """Begin a game on a hexagon with `size` (2..13) points on a side.

        Raises:
            ValueError: An option is impossible, with the reason.
        """
    def standing(self) -> str:
        """Return the result if the game ended now; "0" if all values are equal and nobody holds the half point."""
    def half_point(self) -> Literal["none", "black", "white"]:
        """Return who would have the half point if the game ended now."""

class Stigmergy(_Position):
    """Stigmergy. score_parts: stones, controlled (empty cells), button, and White's komi, 0 until it is bid.

    "rollout" places or replaces a stone if that wins a point at once; otherwise it takes the button if it is free, or
    else passes. Both policies choose bids and sides at random.
    """

    def __init__(self, size: int = 8, komi: int | None = None) -> None:
        """Begin a game on a hexagon with `size` (2..13) cells on a side; a komi of None is bid.

        Raises:
            ValueError: An option is impossible, with the reason.
        """
    def komi(self) -> int | None:
        """Return the option, or the bid; None before that."""
    def button(self) -> Literal["none", "black", "white"]:
        """Return who has taken the button."""
    def control(self) -> str:
        """Return who controls each cell, empty or not, in the order of `board()`: "." nobody, "X" black, "O" white."""

class Taigo(_Position):
    """Taigo. Black is dark, White is light. score_parts: longest_line, cones_left; no total.

    The board is text: `0,0=X 1,0=O` for dark and light tile halves, `x` and `o` for cones, in ascending order. `set_up`
    accepts it in any order, within 100 of 0,0, instead of the first tile. "rollout" plays, of four random moves, the
    first that wins at once, or else the first that does not lose at once.
    """

    def __init__(self, dark_cones: int = 5, light_cones: int = 5, tiles: int = 40) -> None:
        """Begin a game with 0..20 cones of each colour and 2..200 tiles, the first of which is on the board.

        Raises:
            ValueError: An option is impossible, with the reason.
        """
    def cones_left(self) -> tuple[int, int]:
        """Return the numbers of dark and light cones in the common supply."""
    def tiles_left(self) -> int:
        """Return the number of tiles still to be played."""
    def tiles(self) -> list[tuple[str, str]]:
        """Return the cells of each tile, dark half and light half, in the order of play.

        A set-up board has no tiles.
        """

class Taugo(_Position):
    """Taugo. score_parts: string_points, edge_points, fewer_strings, and string_values, the value of every string.

    The board has "?" at its corners. captured() counts the stones that cuts have replaced. "rollout" chooses uniformly
    among the moves that put stones on the board. It passes only if there is no such move, and never swaps sides.
    """

    def __init__(self, size: int = 16, cut_from: Literal["lateral", "any"] = "lateral", pie: bool = True) -> None:
        """Begin a game on a board with `size` (6..25) points on a side.

        Raises:
            ValueError: An option is impossible, with the reason.
        """

class Yugo(_Position):
    """Yugo. score_parts: territory, pieces, surrounded_kings, button, Black's handicap, White's komi.

    surrounded_kings counts enemy kings without liberties.
    """

    def __init__(self, size: int = 9, komi: int = 7, handicap: int = 0, agreement: bool = False) -> None:
        """Begin a game on a board of `size` 2..25, with a handicap of 0 or 2..9 that is less than size**2.

        Raises:
            ValueError: An option is impossible, with the reason.
        """
    def set_komi(self, komi: int) -> None:
        """Change the komi before ply 0; later it raises IllegalMove.

        Raises:
            ValueError: It has more than 15 digits.
        """
    def button(self) -> Literal["none", "black", "white"]:
        """Return who has taken the button."""
