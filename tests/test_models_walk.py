"""The core and the models say the same, ply by ply, in thousands of random games; the rules' examples are elsewhere."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.models.go import fixed_points
from tests.models.square import names
from tests.walk import CORES, MODELS, Seen, Walk, dead_list, random_game

GAMES = tuple(MODELS)


def random_options(game: str, random: Random, sizes: list[int]) -> dict[str, Any]:
    """Options of every kind, each often at its default."""
    size = random.choice(sizes)
    options: dict[str, Any] = {"size": size, "agreement": random.random() < 0.5}
    options["komi"] = random.choice([0, 7, -3, random.randint(-30, 30)])
    handicaps = [h for h in range(2, 10) if h < size * size]
    if game == "go":
        options["komi"] = random.choice([0.0, 7.5, -3.5, random.randint(-60, 60) / 2])
        options["ko"] = random.choice(["simple", "positional", "situational"])
        handicaps = [h for h in handicaps if _has_fixed_points(size, h)]
    if handicaps and random.random() < 0.3:
        options["handicap"] = random.choice(handicaps)
    return options


def walk_games(game: str, seeds: range, sizes: list[int], max_plies: int) -> int:
    """Walk a game for every seed; the number of plies. A failure names its seed."""
    plies, seen = 0, Seen()
    for seed in seeds:
        random = Random(f"{game} {seed}")
        options = random_options(game, random, sizes)
        try:
            # Hands put in between are not in the key: those games are compared without the hash.
            by_hand = game == "go" and random.random() < 0.15
            walk = Walk(game, options, None if by_hand else seen)
            if by_hand:
                _by_hand(walk, random, max_plies)
            random_game(walk, random, max_plies)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, {options}: {error}") from error
        plies += walk.model.ply
    return plies


@pytest.mark.parametrize("game", GAMES)
def test_small_boards(game: str) -> None:
    assert walk_games(game, range(400), [2, 3, 4, 5], 150) > 4000


@pytest.mark.parametrize("game", GAMES)
def test_real_boards(game: str) -> None:
    assert walk_games(game, range(1_000_000, 1_000_012), [6, 7, 9, 13], 150) > 200


@pytest.mark.parametrize("game", GAMES)
def test_the_largest_boards(game: str) -> None:
    assert walk_games(game, range(2_000_000, 2_000_002), [19, 25], 60) > 60


@pytest.mark.long
@pytest.mark.parametrize("game", GAMES)
def test_ten_thousand_games_on_small_boards(game: str) -> None:
    assert walk_games(game, range(10_000_000, 10_010_000), [2, 3, 4, 5, 6], 200) > 100_000


@pytest.mark.long
@pytest.mark.parametrize("game", GAMES)
def test_hundreds_of_games_on_full_boards(game: str) -> None:
    assert walk_games(game, range(20_000_000, 20_000_200), [7, 8, 9, 9, 11, 13], 600) > 10_000


@pytest.mark.long
@pytest.mark.parametrize("game", GAMES)
def test_whole_games_on_the_largest_boards(game: str) -> None:
    assert walk_games(game, range(30_000_000, 30_000_006), [19, 22, 25], 900) > 1_500


@pytest.mark.parametrize("game", GAMES)
def test_options_make_other_positions(game: str) -> None:
    """Equal hashes mean equal options: every start has its own."""
    hashes: dict[int, dict[str, Any]] = {}
    for options in _starts(game):
        core = CORES[game](**options)
        assert hashes.setdefault(core.hash(), options) == options
        assert CORES[game](**options).hash() == core.hash()
    assert len(hashes) > 100


@pytest.mark.parametrize("game", GAMES)
def test_both_refuse_impossible_sizes_and_handicaps_on_every_board(game: str) -> None:
    for size in range(2, 26):
        for handicap in range(11):
            possible = handicap == 0 or (2 <= handicap <= 9 and handicap < size * size)
            if game == "go":
                possible = possible and (handicap == 0 or _has_fixed_points(size, handicap))
            if possible:
                core = CORES[game](size=size, handicap=handicap)
                assert core.board() == MODELS[game](size=size, handicap=handicap).board()
            else:
                with pytest.raises(ValueError, match="handicap"):
                    CORES[game](size=size, handicap=handicap)
    for size in (-1, 0, 1, 26):
        with pytest.raises(ValueError, match="size"):
            CORES[game](size=size)


class _SideBySide(RuleBasedStateMachine):
    """Hypothesis chooses the game's moves, and shrinks a difference to a short game."""

    game = ""
    seen = Seen()

    @initialize(seed=st.integers(0, 2**32))
    def begin(self, seed: int) -> None:
        self.walk = Walk(self.game, random_options(self.game, Random(seed), [2, 3, 4]), self.seen)

    @precondition(lambda self: self.walk.model.phase == "play")
    @rule(number=st.integers(0, 99))
    def play(self, number: int) -> None:
        legal = self.walk.model.legal_moves()
        self.walk.play(legal[number % len(legal)])

    @precondition(lambda self: self.walk.model.phase == "play")
    @rule()
    def play_a_word(self) -> None:
        for word in [move for move in self.walk.model.legal_moves() if move[0].islower()]:
            self.walk.play(word)

    @precondition(lambda self: self.walk.model.phase == "agree")
    @rule(seed=st.integers(0, 2**32))
    def answer(self, seed: int) -> None:
        self.walk.play(dead_list(self.walk.model, Random(seed), self.walk.model.first_list))

    @rule(text=st.one_of(st.text(max_size=6), st.from_regex(r"(dead:)?[A-Ea-e][1-5](,[A-E][1-5])*", fullmatch=True)))
    def try_anything(self, text: str) -> None:
        if self.walk.model.why_illegal(text):
            self.walk.refuse(text)
        else:
            self.walk.play(text)

    @rule()
    def copies(self) -> None:
        self.walk.swap_for_copies()


class _YugoSideBySide(_SideBySide):
    game = "yugo"


class _GoSideBySide(_SideBySide):
    game = "go"


_FEW = settings(
    max_examples=40,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
TestYugoSideBySide = _YugoSideBySide.TestCase
TestYugoSideBySide.settings = _FEW
TestGoSideBySide = _GoSideBySide.TestCase
TestGoSideBySide.settings = _FEW


def _has_fixed_points(size: int, handicap: int) -> bool:
    try:
        fixed_points(size, handicap)
    except ValueError:
        return False
    return True


def _starts(game: str) -> Iterator[dict[str, Any]]:
    for size in range(2, 26):
        for komi in (-2, 0, 7):
            for agreement in (False, True):
                options = {"size": size, "komi": komi, "agreement": agreement}
                yield options
                if game == "go":
                    yield from ({**options, "ko": ko} for ko in ("simple", "situational"))
                    yield {**options, "komi": komi + 0.5}
                if size > 8:
                    yield {**options, "handicap": 2}


def _by_hand(walk: Walk, random: Random, max_plies: int) -> None:
    """What plain GTP may do in go: free handicap, another komi, the turn given to somebody."""
    name = list(names(walk.model.size))
    stones = random.sample(name, random.randint(0, min(5, len(name))))
    refused = []
    both: tuple[Any, Any] = (walk.core, walk.model)
    for side in both:
        try:
            side.place_handicap(stones)
        except ValueError:
            refused.append(side)
    assert len(refused) in (0, 2), stones
    walk.compare()
    for _ in range(random.randint(0, max_plies // 2)):
        if walk.model.phase != "play":
            break
        if random.random() < 0.15:
            colour, komi = random.choice(["black", "white"]), random.choice([0.5, 6.5, -2.0])
            for side in both:
                side.set_to_play(colour)
                side.set_komi(komi)
            walk.compare()
        walk.play(random.choice(walk.model.legal_moves()))
