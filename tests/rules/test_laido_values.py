"""What groups of laido are worth: the worked examples, the comparison of lists, and a brute force on random boards."""

from random import Random
from typing import Any

import pytest

from engines import _core
from tests.support.laido_positions import points, set_up, values

IMPLEMENTATIONS = pytest.mark.parametrize("laido", [_core.Laido], ids=["core"])
pytestmark = IMPLEMENTATIONS


ROW = "-2,0 -1,0 0,0 1,0 2,0"
ARCH = "-3,0 -2,0 -1,0 1,0 2,0 3,0 -1,-1 0,-2 1,-2 1,-1"


@pytest.mark.parametrize(
    ("side", "stones", "value"),
    [
        (3, ROW, [5]),
        (3, f"{ROW} 0,1", [4]),
        (3, f"{ROW} -2,1", [-2]),
        (3, "0,0", [-1]),
        (3, "2,0", [-1]),
        (3, "0,0 1,0 2,0", [-3]),
        (3, "2,0 2,-1", [2]),
        (3, "2,0 2,-1 2,-2", [1]),
        (4, ARCH, [8]),
        (4, f"{ARCH} 0,0", [3]),
        (3, "", []),
    ],
)
def test_the_values_of_the_examples(laido: Any, side: int, stones: str, value: list[int]) -> None:
    assert values(set_up(laido, side, stones)) == value
    assert values(set_up(laido, side, white=stones), "white") == value


def test_lists_are_padded_with_zeros_at_the_end(laido: Any) -> None:
    """[5, -1] loses to [5]; [5, 2] beats [5]; [-1] loses to []."""
    row, other = "-2,4 -1,3 0,2 1,1 2,0 3,-1 4,-2", "-4,2 -3,1 -2,0 -1,-1 0,-2 1,-3 2,-4"
    assert values(set_up(laido, 5, row)) == [7] and values(set_up(laido, 5, white=other), "white") == [7]
    for more, result in (("", "0"), ("0,0", "W+1"), ("4,0", "W+1")):
        state = set_up(laido, 5, f"{row} {more}", other)
        assert state.standing() == result, (more, values(state), values(state, "white"))
    assert set_up(laido, 5, f"{row} 4,-4 3,-4", other).standing() == "B+2"
    assert set_up(laido, 5, row, f"{other} 4,-1 4,0").standing() == "W+2"
    assert set_up(laido, 5, "0,0").standing() == "W+1"
    assert set_up(laido, 5, "", "0,0").standing() == "B+1"
    assert set_up(laido, 5, "0,0 1,0", "-3,0").standing() == "W+1"  # [-2] against [-1]
    assert set_up(laido, 5, "0,0 2,0", "-3,0").standing() == "W+1"  # [-1, -1] against [-1]


def test_zero_is_a_value_like_any_other(laido: Any) -> None:
    """Two edge stones and two more are worth 0: as good as nothing there, better than a lone stone."""
    zero = "3,0 3,-1 2,0 2,-1"
    assert values(set_up(laido, 4, zero)) == [0]
    assert set_up(laido, 4, zero).standing() == "0"
    assert set_up(laido, 4, zero, "-1,0").standing() == "B+1"


# --- values against a brute force ----------------------------------------------------------------------------------


def brute_force(side: int, board: str, letter: str) -> tuple[list[int], int]:
    """Values in descending order, and the largest p, by the shortest ways between all pairs of stones (Floyd 1962)."""
    stones = [at for at, here in zip(points(side), board, strict=True) if here == letter]
    far = 10**6
    away = {one: dict.fromkeys(stones, far) for one in stones}
    for q, r in stones:
        away[q, r][q, r] = 0
        for near in ((q + 1, r), (q, r + 1), (q + 1, r - 1), (q - 1, r), (q, r - 1), (q - 1, r + 1)):
            if near in away:
                away[q, r][near] = 1
    for middle in stones:
        for one in stones:
            for two in stones:
                away[one][two] = min(away[one][two], away[one][middle] + away[middle][two])
    edge = {(q, r) for q, r in stones if max(abs(q), abs(r), abs(q + r)) == side - 1}
    groups = {frozenset(two for two in stones if away[one][two] < far) for one in stones}
    chains = {}
    for group in groups:
        ways = [away[one][two] + 1 for one in group & edge for two in group & edge if one != two]
        chains[group] = min(ways, default=0)
    return sorted((2 * p - len(group) for group, p in chains.items()), reverse=True), max(chains.values(), default=0)


def by_pairs(black: list[int], white: list[int]) -> str:
    longest = max(len(black), len(white))
    for one, two in zip(black + [0] * (longest - len(black)), white + [0] * (longest - len(white)), strict=True):
        if one != two:
            return f"B+{one - two}" if one > two else f"W+{two - one}"
    return "0"


@pytest.mark.slow
@pytest.mark.parametrize("side", [2, 3, 4, 5])
def test_values_of_random_boards(laido: Any, side: int) -> None:
    """Sparse and dense boards, and boards with few edge stones, whose chains go through the middle."""
    random = Random(side)
    longest = 0
    for _ in range({2: 200, 3: 200, 4: 100, 5: 50}[side]):
        density, edge = random.choice((0.35, 0.5, 0.65)), random.choice((0.1, 0.3, 1))
        board = "".join(
            "." if random.random() > (edge if max(abs(q), abs(r), abs(q + r)) == side - 1 else 1)
            else random.choices("XO.", (density, 0.9 - density, 0.1))[0]
            for q, r in points(side)
        )  # fmt: skip
        state = laido(size=side)
        state.set_up(board, "black")
        (black, black_p), (white, white_p) = brute_force(side, board, "X"), brute_force(side, board, "O")
        assert (values(state), values(state, "white")) == (black, white), board
        assert state.standing() == by_pairs(black, white), board
        longest = max(longest, black_p, white_p)
    assert longest >= side + 1, "boards that prove too little"


def test_a_comb_of_the_largest_board(laido: Any) -> None:
    """One group of side 13 whose edge stones are far apart: p and g by hand."""
    side = 13
    row = " ".join(f"{q},0" for q in range(-12, 13))
    assert values(set_up(laido, side, row)) == [25]
    teeth = " ".join(f"{q},{r}" for q in range(-10, 11, 2) for r in range(-1, -8, -1) if abs(q + r) < 12)
    stones = len(teeth.split())
    assert stones == 65  # the seven of a tooth, fewer where the edge is near: it is not touched
    assert values(set_up(laido, side, f"{row} {teeth}")) == [25 - stones]
