"""What rollouts of go play, against whole boards: answers to the last stone, else any point that is sound."""

from collections import Counter
from fractions import Fraction
from itertools import product
from random import Random
from typing import Literal

import pytest

from ggp.engines._core import Go
from tests.rules.models.go import STONE, GoModel
from tests.rules.models.square import OTHER, Group, all_groups, names, neighbours
from tests.support.positions import are_as_likely, play

SHAPES = """
XOX ... ???  hane that closes in
XO. ... ?.?  hane
XO? X.. x.?  hane that bends
XO? O.o ?o?  cut of what nothing protects
XO? O.X ???  cut that is peeped at
?X? O.O ooo  push between
OX? o.O ???  cut of a large knight's move
X.? O.? ###  chase along the edge
OX? X.O ###  cut that is blocked at the edge
?X? x.O ###  link that is blocked at the edge
?XO x.x ###  descent
?OX X.O ###  cut at the edge
"""
"""MoGo's (Gelly and others 2006). x is anything but X, o anything but O, ? anything, # lies beyond the edge."""
FITS = {"X": "X", "O": "O", "x": "O.", "o": "X.", ".": ".", "#": "#", "?": "XO.#"}


def test_rollouts_answer_the_last_stone() -> None:
    """Of positions that random games reach: where something is to be taken, saved or shaped, exactly that is played."""
    random, kinds = Random(1), Counter[str]()
    for size, plies in product((4, 5, 7, 9), range(1, 40, 2)):
        state, model = Go(size), GoModel(size)
        for _ in range(plies):
            move = random.choice([point for point in model.legal_moves() if point != "pass"] or ["pass"])
            state.play(move), model.play(move)
            if model.phase == "over":
                break
        if model.phase == "over":
            continue
        kind, answers = _answers(model, move)
        kinds[kind] += 1
        seen = Counter(state.random_move(seed, "rollout") for seed in range(40 * (len(answers) + 1)))
        if answers:
            are_as_likely(seen, dict.fromkeys(answers, 1 / len(answers)))
        else:
            assert set(seen) <= {*_sound(model), "pass"}
    assert min(kinds[kind] for kind in ("fight", "shape", "")) > 10, kinds


@pytest.mark.parametrize(
    ("board", "side"),
    [(".XO..XXO.....O.X......XO.", "black"), (".X.X.X.X..OX.O..O.O.X.O..", "white")],
)
def test_rollouts_throw_away_one_time_in_ten(board: str, side: Literal["black", "white"]) -> None:
    """Without a last stone: the first of a random order that is sound; one that gives stones away is so by chance."""
    state, model = Go(5), GoModel(5)
    state.set_up(board, side)
    model.set_up(board, side)
    sound = _sound(model)
    assert {Fraction(1), Fraction(1, 10)} == set(sound.values())
    are_as_likely(Counter(state.random_move(seed, "rollout") for seed in range(40_000)), _first_of(sound))


def test_rollouts_pass_when_the_opponent_takes_what_is_left() -> None:
    state = play(Go(3), "B1 pass B2 pass B3 pass")
    assert state.random_move(1, "rollout") in {"A1", "A2", "A3", "C1", "C2", "C3"}
    state = Go(2)
    state.set_up("X.XX")
    assert {state.random_move(seed, "rollout") for seed in range(50)} == {"pass"}  # an eye is all that is left


def _sound(model: GoModel) -> dict[str, Fraction]:
    """The points that are played without a cause, with the chance that each is taken when its turn comes."""
    return {
        names(model.size)[p]: Fraction(1, 10) if _gives_away(model, p) else Fraction(1)
        for p in model.allowed_points()
        if not _is_eye(model, p)
    }


def _first_of(chance: dict[str, Fraction]) -> dict[str, float]:
    """Whom a random order names first, of those that are taken with their chances: each comes at a time t of 0..1.

    Its share is chance * the integral of the product of (1 - chance * t) of all others. The rest is a pass.
    """
    shares = {}
    for name, own in chance.items():
        polynomial = [Fraction(1)]
        for other, its in chance.items():
            if other != name:
                padded = [*polynomial, Fraction(0)]
                polynomial = [a - its * b for a, b in zip(padded, [Fraction(0), *polynomial], strict=True)]
        shares[name] = float(own * sum(a / (power + 1) for power, a in enumerate(polynomial)))
    if (rest := 1 - sum(shares.values())) > 1e-12:
        shares["pass"] = rest
    return shares


def _answers(model: GoModel, last: str) -> tuple[str, set[str]]:
    """What answers that move: a fight's points, else those of shapes; which of both it is, or ""."""
    if last == "pass":
        return "", set()
    size, board, mine = model.size, model.board_string, STONE[model.to_play]
    allowed, p = set(model.allowed_points()), names(model.size).index(last)
    groups = all_groups(board, size)

    def group(q: int) -> Group:
        return next(g for g in groups if q in g.points)

    def only(q: int) -> list[int]:
        free = [r for r in group(q).beside if board[r] == "."]
        return free if len(free) == 1 else []

    fight = set(only(p))
    for q in neighbours(size)[p]:
        if board[q] == mine and only(q):
            fight |= {r for r in only(q) if not _gives_away(model, r)}
            fight |= {r for e in group(q).beside if board[e] not in ("." + mine) for r in only(e)}
    if fight & allowed:
        return "fight", {names(size)[q] for q in fight & allowed}
    near = {(p % size + dx, p // size + dy) for dx, dy in product((-1, 0, 1), repeat=2)} - {(p % size, p // size)}
    beside = {y * size + x for x, y in near if 0 <= x < size and 0 <= y < size}
    shaped = {q for q in beside & allowed if _is_shaped(board, size, q) and not _gives_away(model, q)}
    return "shape" if shaped else "", {names(size)[q] for q in shaped}


def _is_shaped(board: str, size: int, p: int) -> bool:
    def at(dx: int, dy: int) -> str:
        x, y = p % size + dx, p // size + dy
        return board[y * size + x] if 0 <= x < size and 0 <= y < size else "#"

    for line in SHAPES.strip().splitlines():
        rows = line.split()[:3]
        for flip, turn, swap in product((1, -1), range(4), (False, True)):
            fits = True
            for dx, dy in product((-1, 0, 1), repeat=2):
                x, y = flip * dx, dy
                for _ in range(turn):
                    x, y = -y, x
                piece = at(x, y)
                piece = {"X": "O", "O": "X"}.get(piece, piece) if swap else piece
                fits &= piece in FITS[rows[dy + 1][dx + 1]]
            if fits:
                return True
    return False


def _gives_away(model: GoModel, p: int) -> bool:
    """A stone there would take nothing, and have one liberty or none with all that it joins."""
    board, mine = model.board_string, STONE[model.to_play]
    after = board[:p] + mine + board[p + 1 :]
    groups = all_groups(after, model.size)
    if any(g.colour == OTHER[model.to_play] and all(after[q] != "." for q in g.beside) for g in groups):
        return False
    own = next(g for g in groups if p in g.points)
    return sum(after[q] == "." for q in own.beside) < 2


def _is_eye(model: GoModel, p: int) -> bool:
    """All beside it is its own, and of the points aslant fewer than two are not: the edge counts as one of them."""
    size, board, mine = model.size, model.board_string, STONE[model.to_play]
    if any(board[q] != mine for q in neighbours(size)[p]):
        return False
    aslant = [(p % size + dx, p // size + dy) for dx, dy in product((-1, 1), repeat=2)]
    inside = [y * size + x for x, y in aslant if 0 <= x < size and 0 <= y < size]
    return sum(board[q] not in ("." + mine) for q in inside) + (len(inside) < 4) < 2
