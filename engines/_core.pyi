"""The rules of the games in C++ (engines/core): positions that change move by move. Not their drawing or their options' texts.

Every game class has the same methods. A position is a value: `copy()` is independent of the original. Moves are texts as
in the rules, read without regard to case, answered in canonical form. All numbers of seats, plies and points are ints.
"""

from typing import Literal, Self, TypedDict

class IllegalMove(ValueError):
    """The move is forbidden or unreadable; `str(error)` is the reason. The position has not changed."""

class _Parts(TypedDict):
    black: dict[str, float | int | list[int] | None]
    white: dict[str, float | int | list[int] | None]

class _Position:
    @property
    def phase(self) -> Literal["bid", "choose", "play", "agree", "over"]: ...
    @property
    def to_play(self) -> Literal["black", "white", "none"]:
        """The colour to act; "none" when over. In the agreement phase the colour that answers."""
    @property
    def seat(self) -> Literal[0, 1, 2]:
        """The seat to act; 0 when over."""
    @property
    def ply(self) -> int:
        """Plies played so far."""
    @property
    def result(self) -> str:
        """"B+3.5", "W+1", "0"; "" while the game goes on."""
    @property
    def winner(self) -> Literal[0, 1, 2]:
        """The winning seat; 0 for a draw and while the game goes on."""
    @property
    def size(self) -> int:
        """The option `size`; of a board without one, its width."""
    def copy(self) -> Self: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object) -> Self: ...
    def play(self, move: str) -> str:
        """Plays a move; returns its canonical text. Raises IllegalMove and changes nothing."""
    def why_illegal(self, move: str) -> str:
        """The reason why `play(move)` would be refused; "" if it would not."""
    def answer_plays(
        self, source: int, sink: int, plies: int, commands: int
    ) -> tuple[bytes | None, list[tuple[int, str, str]], bytes]:
        """Answer `[id] ggp-play COLOUR MOVE` and `[id] ggp-legal_moves` that are read from one descriptor on another,
        until anything else comes or so many plies were played or commands answered.

        Returns that input, which is not answered (b"": it ended; None: there is no more now, or so many commands were
        answered); the plies: seat, colour, canonical move; and what `sink` had no room for.
        """
    def legal_moves(self) -> list[str]:
        """Every legal move, canonical, sorted bytewise; [] when over. "dead:" stands for every dead list."""
    def hash(self) -> int:
        """64 bits, the same in every process: equal positions (PROTOCOL: ggp-hash) have equal hashes."""
    def perft(self, depth: int) -> int:
        """The number of legal move sequences of that length. "dead:" counts once."""
    def playouts(
        self, n: int, seed: int = 0, policy: Literal["uniform", "rollout"] = "uniform"
    ) -> tuple[int, int, int, int]:
        """Plays `n` random games from here, without the GIL: (plies, won by black, won by white, drawn).

        The same position reached by the same plies and the same seed (0..2**64-1) give the same games. "uniform": every
        legal move is exactly equally likely, passes and the button too. "rollout": uniform over the points that do not
        fill an own eye; button and pass only when there is none. A game that has not ended after 20 plies a cell counts
        as drawn.
        """
    def search(self, seed: int = 0, threads: int = 1, megabytes: int = 64) -> _Search:
        """A search from here: see ggp.engines.game.State.search. Raises ValueError for a number out of its range, and
        IllegalMove when the game is over."""
    def play_out(self, seed: int, policy: Literal["uniform", "rollout"] = "uniform") -> None:
        """Goes on at random to the end of the game, as far as `playouts` goes."""
    def random_move(self, seed: int, policy: Literal["uniform", "rollout"] = "uniform") -> str:
        """A random legal move by the policy of `playouts`; changes nothing. Raises IllegalMove when the game is over."""
    def board(self) -> str:
        """size*size characters, rows from the top, columns from A: "." "X" black "O" white "#" black king "@" white king."""
    def last_move(self) -> list[str]:
        """The points that the last ply filled; empty after a pass and the like."""
    def captured(self) -> tuple[int, int]:
        """How many black and how many white pieces were captured; not those that the sides agreed to be dead."""
    def set_up(self, board: str, side: Literal["black", "white"] = "black") -> None:
        """Begins with that board (as `board()` gives it) and that side to move: for tests and analysis.

        Before the first ply, on an empty board without handicap. Raises ValueError with the reason.
        """
    def score_parts(self) -> _Parts:
        """The score as the position stands: for each colour "total" and, by name, what it is made of. Whole values are ints.

        The total is the sum of the other numbers, or None where a game has no such number; lists stand beside.
        """

class _Search:
    """See ggp.engines.game.Search. Asked from another thread while it runs, it raises RuntimeError."""

    node_bytes: int
    """The size of a node of this game's, in bytes. Children lie together, so a node is all that a move takes."""

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
        """size 2..25; handicap 0 or 2..9, as far as the board has fixed points for it. Raises ValueError with the reason."""
    def set_komi(self, komi: float) -> None:
        """At any time. Raises ValueError unless finite."""
    def set_to_play(self, side: Literal["black", "white"]) -> None:
        """For plain GTP, where moves may come out of turn. Raises IllegalMove outside of the phase "play"."""
    def place_handicap(self, vertices: list[str]) -> None:
        """Free handicap: at least two black stones on an empty board before ply 0; then White moves. Raises IllegalMove."""
    @staticmethod
    def fixed_handicap_points(size: int, stones: int) -> list[str]:
        """The fixed points of the GTP draft. Raises ValueError if the board has none for that number."""

class Laido(_Position):
    """Laido. score_parts: half_point, 0.5 for who holds it now, and the list "groups", the values of the groups in
    descending order; no total, because the lists are compared and never summed. "rollout" plays the first acceptable one
    of four random points (which may be the same), and passes if all were wasteful: beside three own stones, or an edge
    point beside an own edge stone. It never swaps sides.
    """

    def __init__(self, size: int = 9, pie: bool = True, half_point: Literal["final", "first"] = "final") -> None:
        """size 2..13, the side. Raises ValueError with the reason."""
    def standing(self) -> str:
        """The result if the game ended as it stands; "0" if all values are equal and neither side holds the half point."""
    def half_point(self) -> Literal["none", "black", "white"]:
        """Who would have the half point if the game ended now."""

class Stigmergy(_Position):
    """Stigmergy. score_parts: stones, controlled (empty cells), button, White's komi, which counts 0 until it is bid.

    Rollouts place or replace where that wins a point at once; when nothing does they take the button if it waits, else
    pass. Bids and sides are chosen at random by both policies.
    """

    def __init__(self, size: int = 8, komi: int | None = None) -> None:
        """size 2..13, the cells on a side; komi None: it is bid. Raises ValueError with the reason."""
    def komi(self) -> int | None:
        """The option, or what was bid; None before that."""
    def button(self) -> Literal["none", "black", "white"]:
        """Who has taken the button."""
    def control(self) -> str:
        """Who controls each cell, empty or not, in the order of `board()`: "." neither, "X" black, "O" white."""

class Taigo(_Position):
    """Taigo. Black is dark, white is light. score_parts: longest_line, cones_left; no total.

    The board is text: `0,0=X 1,0=O`, dark and light tile halves, `x` and `o` for cones, ascending. `set_up` takes it in
    any order, within 100 of 0,0, in place of the first tile. "rollout": of four random moves the first that wins at
    once, else the first that does not lose at once.
    """

    def __init__(self, dark_cones: int = 5, light_cones: int = 5, tiles: int = 40) -> None:
        """Cones 0..20; tiles 2..200, the first of which lies on the board. Raises ValueError with the reason."""
    def cones_left(self) -> tuple[int, int]:
        """Dark and light cones in the common supply."""
    def tiles_left(self) -> int:
        """How many are still to be played."""
    def tiles(self) -> list[tuple[str, str]]:
        """The cells of each tile, dark half and light half, in the order of play; not those of a board that was set up."""

class Taugo(_Position):
    """Taugo. score_parts: string_points, edge_points, fewer_strings; string_values lists the value of every string, zeros too.

    A board has "?" at its corners. captured(): stones that cuts have replaced. The policy "rollout" is uniform over the
    moves that put stones on the board; it passes, and never swaps sides, only when there is no such move.
    """

    def __init__(self, size: int = 16, cut_from: Literal["lateral", "any"] = "lateral", pie: bool = True) -> None:
        """size 6..25. Raises ValueError with the reason."""

class Yugo(_Position):
    """Yugo. score_parts: territory, pieces, surrounded_kings (enemy kings without liberties), button, Black's handicap, White's komi."""

    def __init__(self, size: int = 9, komi: int = 7, handicap: int = 0, agreement: bool = False) -> None:
        """size 2..25; handicap 0 or 2..9 and less than size**2. Raises ValueError with the reason."""
    def set_komi(self, komi: int) -> None:
        """Before ply 0; later IllegalMove. Raises ValueError if it has more than 15 digits."""
    def button(self) -> Literal["none", "black", "white"]:
        """Who has taken the button."""
