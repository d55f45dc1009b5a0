"""The interface of a game: what a Game and a State must offer. It knows no rules and no protocol (see service)."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from enum import StrEnum
from typing import Any, Literal, NamedTuple, Protocol

from ggp.engines._core import IllegalMove

__all__ = [
    "Game",
    "IllegalMove",
    "Option",
    "OptionError",
    "OptionValue",
    "Options",
    "Phase",
    "Playouts",
    "Policy",
    "Scene",
    "Score",
    "Search",
    "SetupState",
    "State",
    "read_options",
    "result_by_totals",
    "shortest",
]

MAX_NUMBER = 1_000_000
"""The largest absolute value of an option; no board has that many points."""

OptionValue = int | float | str
Options = Mapping[str, OptionValue]
Policy = Literal["uniform", "rollout"]
Score = dict[str, dict[str, float | int | list[int] | None]]
Scene = dict[str, Any]  # ggp.engines.scene describes the keys


class Phase(StrEnum):
    """The kind of decision that the side to act has to make."""

    BID = "bid"
    CHOOSE = "choose"
    PLAY = "play"
    AGREE = "agree"
    OVER = "over"


class OptionError(ValueError):
    """An impossible option or combination of options; str() names it and says what is possible."""


class Option(NamedTuple):
    """One option of a game; str() is its `ggp-options` line: `size int 9 2..25`.

    Attributes:
        type: `int`, `half` (a multiple of 0.5), `bid` (an integer, or `bid`) or `enum`.
        domain: Values or ranges such as `2..25`, separated by commas, or `*` for every number.
    """

    name: str
    type: str
    default: str
    domain: str

    def parse(self, text: str) -> OptionValue:
        """Parse a value that a person wrote.

        Raises:
            OptionError: The value is not in the domain.
        """
        text = text.lower()
        if self.type in ("enum", "bid") and text in self.domain.split(","):
            return text
        if self.type != "enum":
            number = _read_number(text)
            if number is not None and self._in_domain(number) and (self.type == "half" or "." not in text):
                return number + 0.0 if self.type == "half" else int(number)  # + 0.0 turns -0 into 0
        raise OptionError(f"{self.name}={text[:40]}: {self.name} must be {self._words()}")

    def _in_domain(self, number: float) -> bool:
        if not (number * 2).is_integer() or (self.type != "half" and not number.is_integer()):
            return False
        for part in self.domain.split(","):
            low, dots, high = part.partition("..")
            if part == "*":
                return abs(number) <= MAX_NUMBER
            if part != "bid" and float(low) <= number <= float(high if dots else low):
                return True
        return False

    def _words(self) -> str:
        kind = {"int": "an integer", "half": "a multiple of 0.5", "bid": "bid or an integer"}.get(self.type, "one")
        return f"{kind} from -{MAX_NUMBER} to {MAX_NUMBER}" if "*" in self.domain else f"{kind} of {self.domain}"

    def __str__(self) -> str:
        return f"{self.name} {self.type} {self.default} {self.domain}"


class Playouts(NamedTuple):
    """The result of random games: the number of plies, of wins by colour, and of draws."""

    plies: int
    black: int
    white: int
    draws: int


class Search(Protocol):
    """A search from one position, on its own copy of it; `ggp.engines.native.CoreState.search` makes one.

    With one thread, the same seed, playouts and moves give the same result on every machine, unless a time limit ends a
    run.
    """

    def run(self, playouts: int = 0, seconds: float = 0.0) -> None:
        """Play more playouts, up to this number or time (0: no limit), or fewer if the best move can no longer change.

        It runs without the GIL, and Ctrl-C interrupts it.

        Raises:
            ValueError: There is no limit at all.
            IllegalMove: The game is over.
        """

    def play(self, move: str) -> None:
        """Continue from the position after `move`, and keep what is known about it.

        Raises:
            IllegalMove: The move is illegal.
        """

    def votes(self) -> list[tuple[str, int, float, str]]:
        """Return (move, playouts, share of wins, proof) of each move, best first; [] before the first run.

        The share, 0 to 1, is that of the side to move; a draw is half a win. The proof is `win`, `loss`, `draw` or "".
        Wins are counted by colour, not by seat, so `swap-sides` is never among the moves.
        """

    def line(self) -> list[str]:
        """Return the expected moves of both sides, beginning with the best move."""

    def hash(self) -> int:
        """Return State.hash of its position."""

    @property
    def swap_follows(self) -> bool:
        """Return True if the opponent may answer by swapping sides; the best move is then the most even one."""

    @property
    def nodes(self) -> int:
        """Return the number of nodes that it holds."""


class State(Protocol):
    """A position of a game, with the past that its rules need. ggp.engines.python_state has defaults."""

    @property
    def phase(self) -> str:
        """Return a value of Phase."""

    @property
    def to_play(self) -> str:
        """Return `black` or `white`; `none` after the end."""

    @property
    def seat(self) -> int:
        """Return the seat to act, 1 or 2; 0 after the end."""

    @property
    def ply(self) -> int:
        """Return the number of plies played."""

    @property
    def result(self) -> str:
        """Return `B+3.5`, `W+` or `0`; "" before the end."""

    @property
    def winner(self) -> int:
        """Return the seat that won; 0 for a draw or before the end."""

    def play(self, move: str) -> str:
        """Play for the side to act and return the canonical move. Letter case is ignored.

        Raises:
            IllegalMove: The move is illegal, with the reason; nothing has changed.
        """

    def why_illegal(self, move: str) -> str:
        """Return the reason why `move` is illegal, or "" if it is legal."""

    def legal_moves(self) -> list[str]:
        """Return every legal move in canonical form, sorted by bytes; [] after the end.

        `dead:` stands for all lists of dead stones.
        """

    def hash(self) -> int:
        """Return 64 bits that are equal for equal positions in every process.

        The board, side, phase, seats, tokens, passes, dead lists and an open swap count; the ply number does not. The
        service adds the options.
        """

    def copy(self) -> "State":
        """Return an independent copy."""

    def score(self) -> Score:
        """Return `{"black": {"total": x, ...}, "white": {...}}` for the current position.

        A game without points has None as its totals. The other values are the parts of the total, and lists such as the
        values of groups.
        """

    def standing(self) -> str:
        """Return the result if the game ended now, such as `B+3.5`; "" if it cannot be scored."""

    def scene(self) -> Scene:
        """Return the drawing, in the format of ggp.engines.scene; the service adds the status."""

    def groups(self) -> list[list[str]]:
        """Return the pieces on the board as lists of cells that live and die together."""

    def captured(self) -> tuple[int, int]:
        """Return the numbers of captured black and white pieces."""

    def perft(self, depth: int) -> int:
        """Return the number of legal move sequences of that length."""

    def playouts(self, n: int, seed: int, policy: Policy) -> Playouts:
        """Play n random games from here, the same ones for the same seed (0..2**64-1)."""

    def play_out(self, seed: int, policy: Policy) -> None:
        """Play at random to the end, as in one game of `playouts`; an endless game stops earlier."""

    def search(self, seed: int, threads: int, megabytes: int) -> Search | None:
        """Return a search from here, before the end, or None if this game has none.

        Args:
            seed: 0..2**64-1.
            threads: 1..64.
            megabytes: Memory for its nodes, 1..65536; when it is full, the search continues without new nodes.
        """


class SetupState(State, Protocol):
    """A State for the GTP commands that only go has: moves out of turn, free handicap, positions of SGF."""

    def set_to_play(self, colour: str) -> None:
        """Give the turn to `black` or `white`.

        Raises:
            IllegalMove: There is no turn to give, for example after the end.
        """

    def place_handicap(self, points: list[str]) -> None:
        """Place black stones before ply 0 and give White the move.

        Raises:
            ValueError: The points are impossible.
        """

    def board(self) -> str:
        """Return the stones: rows from the top, columns from the left, `.` empty, `X` black, `O` white."""

    def set_up(self, board: str, colour: str) -> None:
        """Begin, before ply 0 on an empty board, with that board and that colour to move.

        The history for ko rules begins there.

        Raises:
            ValueError: The position is impossible, with the reason, such as a group without a liberty.
        """


class Game(ABC):
    """A game: its name, its options, its rules as text, and how to start it.

    Register an instance under the entry point group `ggp.games`, under its own name.
    """

    name: str
    rules: str
    options: tuple[Option, ...] = ()
    words: tuple[str, ...] = ("pass",)
    """The moves that are not cells, for menus; `bid:` and `dead:` continue after the colon."""
    setup = False
    """Whether its states are SetupState; the service then has the handicap and SGF commands of GTP."""
    compound = False
    """Whether a move may consist of several cells: `--gogui` enters each move by cells (ggp.engines.gogui_input)."""
    window = 0
    """The width of the part around 0,0 that GoGui shows of an unbounded board of cells `q,r`; 0 if it is finite."""
    komi_at_any_time = False
    """True if GTP's `komi` takes effect in the middle of a game, too. It must not change which moves are legal."""

    @abstractmethod
    def new(self, options: Options) -> State:
        """Return the position before ply 0.

        Args:
            options: A parsed value for every option.

        Raises:
            OptionError: The values are possible on their own but not together.
        """

    def boardsize(self, width: int) -> Options | None:
        """Return the options that GTP's `boardsize` replaces, or None for an impossible size."""
        for option in self.options:
            if option.name == "size":
                try:
                    return {"size": option.parse(str(width))}
                except OptionError:
                    return None
        return None

    def clicks(self, move: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the cells of a canonical move: those that must be entered in this order, then those in any order."""
        return (move,), ()

    def clicked(self, cells: tuple[str, ...], colour: str) -> dict[str, str]:
        """Return the cells that `colour` has entered so far, with the colours of their pieces."""
        return dict.fromkeys(cells, colour)

    def effect(self, move: str) -> Hashable:
        """Return a key that is equal for legal moves of a position that lead to the same position."""
        return move

    def komi(self, number: float) -> OptionValue | None:
        """Return the option `komi` for GTP's `komi` (any finite number), or None if this game does not use it."""
        return None


def read_options(game: Game, words: Iterable[str]) -> dict[str, OptionValue]:
    """Parse `name=value` words and return a value for every option of the game.

    Raises:
        OptionError: An option is unknown, repeated or impossible.
    """
    known = {option.name: option for option in game.options}
    given: dict[str, OptionValue] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise OptionError(f"{word[:40]} is not an option: write name=value")
        if name not in known:
            names = " ".join(known) or "none"
            raise OptionError(f"unknown option: {name[:40]}; the options of {game.name} are: {names}")
        if name in given:
            raise OptionError(f"repeated option: {name}")
        given[name] = known[name].parse(text)
    return {name: given[name] if name in given else known[name].parse(known[name].default) for name in known}


def result_by_totals(score: Score) -> str:
    """Return the result from the two totals, such as `B+3.5`, `W+1` or `0`; "" without totals."""
    black, white = score["black"]["total"], score["white"]["total"]
    if not isinstance(black, int | float) or not isinstance(white, int | float):
        return ""
    margin = round(black - white, 9)  # a komi like 6.3 has no exact binary form
    return f"{'B' if margin > 0 else 'W'}+{shortest(abs(margin))}" if margin else "0"


def shortest(number: float) -> str:
    """Format a number as the shortest decimal of at most nine places: 3.5, 3, never 3.0."""
    text = f"{number:.9f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _read_number(text: str) -> float | None:
    """Parse a decimal number of at most 20 characters, without exponent. Return None for anything else."""
    digits = text[1:] if text[:1] in ("-", "+") else text
    whole, _, part = digits.partition(".")
    if len(text) > 20 or not (whole + part).isdigit() or not (whole + part).isascii():
        return None
    return float(text)
