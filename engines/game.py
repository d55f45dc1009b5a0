"""The contract of a game: what a Game and a State must offer. It knows no rules and no protocol (see service)."""

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
"""The largest absolute value of an option; no board has this many points."""

OptionValue = int | float | str
Options = Mapping[str, OptionValue]
Policy = Literal["uniform", "rollout"]
Score = dict[str, dict[str, float | int | list[int] | None]]
Scene = dict[str, Any]  # its shape: ggp.engines.scene


class Phase(StrEnum):
    """The decision that the side to act has to make."""

    BID = "bid"
    CHOOSE = "choose"
    PLAY = "play"
    AGREE = "agree"
    OVER = "over"


class OptionError(ValueError):
    """An impossible option or set of options; str() names it and says what is possible."""


class Option(NamedTuple):
    """One option of a game; str() is its `ggp-options` line: `size int 9 2..25`.

    type: `int`, `half` (a multiple of 0.5), `bid` (an integer, or `bid`) or `enum`.
    domain: comma-separated: values, ranges `2..25`, or `*` for every number.
    """

    name: str
    type: str
    default: str
    domain: str

    def parse(self, text: str) -> OptionValue:
        """Parse a value as a person wrote it. Raises OptionError."""
        text = text.lower()
        if self.type in ("enum", "bid") and text in self.domain.split(","):
            return text
        if self.type != "enum":
            number = _read_number(text)
            if number is not None and self._in_domain(number) and (self.type == "half" or "." not in text):
                return number + 0.0 if self.type == "half" else int(number)  # + 0.0: there is no -0
        raise OptionError(f"{self.name}={text[:40]}: {self.name} is {self._words()}")

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
    """The result of random games: their plies, and how many each colour won."""

    plies: int
    black: int
    white: int
    draws: int


class Search(Protocol):
    """A search from one position, with its own copy of it. `ggp.engines.native.CoreState.search` makes one.

    With one thread the same seed, playouts and moves find the same on every machine, as long as no time ends a run.
    """

    def run(self, playouts: int = 0, seconds: float = 0.0) -> None:
        """Play more playouts, up to this number or time (0: no limit); fewer if they could not change the best move.

        Without the GIL; Ctrl-C is heard. Raises ValueError without any limit, IllegalMove when the game is over.
        """

    def play(self, move: str) -> None:
        """Continue from the position after `move`, and keep what was found about it. Raises IllegalMove."""

    def votes(self) -> list[tuple[str, int, float, str]]:
        """Return (move, playouts, share of wins, proof) of each move, best first; [] before the first run.

        The share, 0 to 1, is that of the side to move; a draw is half a win. The proof is `win`, `loss`, `draw`
        or "". Colours count, not seats: `swap-sides` is never among the moves.
        """

    def line(self) -> list[str]:
        """Return the moves that both sides are expected to play, the best one first."""

    def hash(self) -> int:
        """Return State.hash of its position."""

    @property
    def swap_follows(self) -> bool:
        """Return True if the opponent may answer by taking the side: the best move is then the most even one."""

    @property
    def nodes(self) -> int:
        """Return how many nodes it holds."""


class State(Protocol):
    """One position of one game, with the past that its rules need. ggp.engines.python_state has defaults."""

    @property
    def phase(self) -> str:
        """Return a value of Phase."""

    @property
    def to_play(self) -> str:
        """Return `black` or `white`; `none` when over."""

    @property
    def seat(self) -> int:
        """Return the seat to act, 1 or 2; 0 when over."""

    @property
    def ply(self) -> int:
        """Return how many plies were played."""

    @property
    def result(self) -> str:
        """Return `B+3.5`, `W+` or `0`; "" until over."""

    @property
    def winner(self) -> int:
        """Return the seat that won; 0 for a draw or before the end."""

    def play(self, move: str) -> str:
        """Play for the side to act; letter case does not count. Returns the canonical move.

        Raises IllegalMove with the reason, and then nothing has changed.
        """

    def why_illegal(self, move: str) -> str:
        """Return the reason why `move` cannot be played, "" if it can."""

    def legal_moves(self) -> list[str]:
        """Return every legal move, canonical, sorted bytewise; `dead:` stands for every dead list; [] when over."""

    def hash(self) -> int:
        """Return 64 bits that are equal for equal positions in every process.

        Board, side, phase, seats, tokens, passes, dead lists and an open swap count, the ply number not. The service
        adds the options.
        """

    def copy(self) -> "State": ...

    def score(self) -> Score:
        """Return `{"black": {"total": x, ...}, "white": {...}}` as the position stands; total None: no such number.

        The other values are the numbers that add up to the total, and lists such as the values of groups.
        """

    def standing(self) -> str:
        """Return the result if the position were scored as it stands, `B+3.5`; "" if it cannot be."""

    def scene(self) -> Scene:
        """Return the drawing, in the shape of ggp.engines.scene; the service adds the status."""

    def groups(self) -> list[list[str]]:
        """Return the pieces on the board as lists of cells that live and die together."""

    def captured(self) -> tuple[int, int]:
        """Return how many black and how many white pieces were taken from the board."""

    def perft(self, depth: int) -> int:
        """Return the number of legal move sequences of that length."""

    def playouts(self, n: int, seed: int, policy: Policy) -> Playouts:
        """Play n random games from here, the same ones for the same seed (0..2**64-1)."""

    def play_out(self, seed: int, policy: Policy) -> None:
        """Play at random to the end, as in one game of `playouts`; a game without end stops before it."""

    def search(self, seed: int, threads: int, megabytes: int) -> Search | None:
        """Return a search from here, where the game is not over, or None if this game has none.

        Args:
            seed: 0..2**64-1.
            threads: 1..64.
            megabytes: 1..65536 for its nodes; when they are full, it searches on without new ones.
        """


class SetupState(State, Protocol):
    """A State for the plain GTP commands that only go has: out of turn, handicap by hand, positions of SGF."""

    def set_to_play(self, colour: str) -> None:
        """Give the turn to `black` or `white`. Raises IllegalMove when there is no turn to give."""

    def place_handicap(self, points: list[str]) -> None:
        """Place black stones before ply 0 and give White the move. Raises ValueError."""

    def board(self) -> str:
        """Return the stones: rows from the top, columns from the left, `.` empty, `X` black, `O` white."""

    def set_up(self, board: str, colour: str) -> None:
        """Begin, before ply 0 on an empty board, with that board and that colour to move. Ko rules count from there.

        Raises ValueError with the reason, such as a group without a liberty.
        """


class Game(ABC):
    """A game: its name, its options, its rules in words, and how to start it.

    Offer an instance under the entry point group `ggp.games`, under its own name.
    """

    name: str
    rules: str
    options: tuple[Option, ...] = ()
    words: tuple[str, ...] = ("pass",)
    """The moves that are no cells, for menus; `bid:` and `dead:` take more after the colon."""
    setup = False
    """Whether its states are SetupState; the service then has the handicap and SGF commands of GTP."""
    compound = False
    """Whether a move may consist of several cells: `--gogui` enters each move by cells (ggp.engines.gogui_input)."""
    window = 0
    """Of an unbounded hex board with cells `q,r`: how wide a part, round 0,0, GoGui shows; 0: the board is finite."""
    komi_at_any_time = False
    """Whether GTP's `komi` acts at once also after ply 0; it must not change what is legal."""

    @abstractmethod
    def new(self, options: Options) -> State:
        """Return the position before ply 0. `options` has a parsed value for every option.

        Raises OptionError for values that are possible each but not together.
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
        """Return the cells of a canonical move in the order of their entry, and then those that come in any order."""
        return (move,), ()

    def clicked(self, cells: tuple[str, ...], colour: str) -> dict[str, str]:
        """Return the cells that `colour` has entered so far, with the colours of their pieces."""
        return dict.fromkeys(cells, colour)

    def effect(self, move: str) -> Hashable:
        """Return a key that is equal for legal moves of one position that lead to the same position."""
        return move

    def komi(self, number: float) -> OptionValue | None:
        """Return the option `komi` for GTP's `komi` (any finite number), or None if this game has no use for it."""
        return None


def read_options(game: Game, words: Iterable[str]) -> dict[str, OptionValue]:
    """Parse `name=value` words into a value for every option of the game. Raises OptionError."""
    known = {option.name: option for option in game.options}
    given: dict[str, OptionValue] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise OptionError(f"{word[:40]}: write options as name=value")
        if name not in known:
            names = " ".join(known) or "none"
            raise OptionError(f"unknown option: {name[:40]}; {game.name} has: {names}")
        if name in given:
            raise OptionError(f"repeated option: {name}")
        given[name] = known[name].parse(text)
    return {name: given[name] if name in given else known[name].parse(known[name].default) for name in known}


def result_by_totals(score: Score) -> str:
    """Return the result of the two totals, `B+3.5`, `W+1` or `0`; "" without totals."""
    black, white = score["black"]["total"], score["white"]["total"]
    if not isinstance(black, int | float) or not isinstance(white, int | float):
        return ""
    margin = round(black - white, 9)  # a komi like 6.3 is no binary fraction
    return f"{'B' if margin > 0 else 'W'}+{shortest(abs(margin))}" if margin else "0"


def shortest(number: float) -> str:
    """Format a number as the shortest decimal of at most nine places: 3.5, 3, never 3.0."""
    text = f"{number:.9f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _read_number(text: str) -> float | None:
    """Parse a decimal number without exponent, at most 20 characters."""
    digits = text[1:] if text[:1] in ("-", "+") else text
    whole, _, part = digits.partition(".")
    if len(text) > 20 or not (whole + part).isdigit() or not (whole + part).isascii():
        return None
    return float(text)
