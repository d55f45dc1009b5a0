"""What a match is worth to a pair and to the meetings of two versions. Pure; what counts is decided here alone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from referee.ladder.pairs import GAMES, Meeting
from referee.play.outcome import Termination
from referee.play.series import seats

COLUMNS = ("wins", "ties", "losses", "forfeit_wins", "forfeit_losses", "void")
SCORE_COLUMNS = ("wins", "ties", "losses", "forfeits", "gifts", "void")
ALL_DONE = (1 << GAMES) - 1
_IN_SCORES = {
    "wins": (("wins",), ("losses",)),
    "ties": (("ties",), ("ties",)),
    "losses": (("losses",), ("wins",)),
    "forfeit_wins": (("wins", "gifts"), ("losses", "forfeits")),
    "forfeit_losses": (("losses", "forfeits"), ("wins", "gifts")),
    "void": (("void",), ("void",)),
}
BY_PLAY = {Termination.RULES, Termination.RESIGNATION, Termination.PLY_LIMIT}


@dataclass(frozen=True, slots=True)
class Ending:
    """How a finished game of a pair came out. `winner` is a seat, 0 for nobody; `result` is "" for a void one."""

    game: int
    result: str
    winner: int
    termination: str


def column(result: str, winner: int, termination: str) -> str:
    """What it counts as, as seat 1 sees it: the field of a Meeting. A game lost by a fault is a forfeit."""
    if not result:
        return "void"
    if not winner:
        return "ties"
    won = "wins" if winner == 1 else "losses"
    return won if termination in BY_PLAY else f"forfeit_{won}"


def score_columns(column: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What such a game counts as in the score of seat 1, and in that of seat 2."""
    return _IN_SCORES[column]


def ordered(first: int, second: int, game: int) -> tuple[int, int]:
    """Who of a pair had seat 1 and who seat 2."""
    return (first, second) if seats(game) == (0, 1) else (second, first)


def meetings_of(first: int, second: int, endings: Iterable[Ending]) -> tuple[Meeting, ...]:
    """What each finished game of a pair adds, in the order of the games."""
    return tuple(
        Meeting(*ordered(first, second, one.game), **{column(one.result, one.winner, one.termination): 1})
        for one in sorted(endings, key=lambda one: one.game)
    )


def points_of(endings: Sequence[Ending]) -> float | None:
    """Of the pair's first in both games; None unless both are there and count."""
    if len(endings) < GAMES or not all(one.result for one in endings):
        return None
    return sum(0.5 if not one.winner else float(seats(one.game)[one.winner - 1] == 0) for one in endings)


def played_games(done: int) -> tuple[int, ...]:
    """The games that the bits of pairs.done stand for."""
    return tuple(game for game in range(GAMES) if done >> game & 1)
