"""The core and the models agree: in thousands of random games, set-up positions, all positions of small boards."""

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.rules.models.square import SquareModel, names
from tests.support.model_walk import (
    CORES,
    LARGE,
    MODELS,
    REAL,
    SMALL,
    Walk,
    WalkCount,
    choose,
    dead_list,
    has_fixed_points,
    random_game,
    random_options,
    starts,
)
from tests.support.positions import turn

GAMES = tuple(CORES)
SQUARE = ("go", "yugo")
QUICK = {"go": 100, "laido": 150, "stigmergy": 80, "taigo": 70, "taugo": 100, "yugo": 100}  # games of some seconds
LIKE_A_MOVE = r"(dead:|bid:)?[A-Ea-e]?[1-5]([,+][A-E][1-5])*"
LONG_SMALL = {**SMALL, "go": [2, 3, 3, 4], "yugo": [2, 3, 3, 4], "laido": [2, 3], "stigmergy": [2, 3]}
LONG_REAL = {**REAL, "go": [5, 6, 7, 8, 9, 11, 13], "yugo": [5, 6, 7, 8, 9, 11, 13], "laido": [5, 6, 7]}


def walk_games(game: str, seeds: range, sizes: list[int], max_plies: int) -> int:
    """Walk a game for each seed; returns the number of plies. A failure names its seed."""
    plies, seen = 0, WalkCount()
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


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_small_boards(game: str) -> None:
    assert walk_games(game, range(QUICK[game]), SMALL[game], 150) > 300


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_real_boards(game: str) -> None:
    assert walk_games(game, range(1_000_000, 1_000_008), REAL[game], 100) > 150


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_the_largest_boards(game: str) -> None:
    assert walk_games(game, range(2_000_000, 2_000_003), LARGE[game], 15) > 30


@pytest.mark.long
@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("part", range(4))
def test_ten_thousand_games_on_small_boards(game: str, part: int) -> None:
    first = 10_000_000 + 2_500 * part
    assert walk_games(game, range(first, first + 2_500), LONG_SMALL[game], 200) > 15_000


@pytest.mark.long
@pytest.mark.parametrize("game", GAMES)
def test_games_on_full_boards(game: str) -> None:
    many = 200 if game in SQUARE else 60
    sizes = LONG_REAL[game]
    assert walk_games(game, range(20_000_000, 20_000_000 + many), sizes, 600) > 25 * many  # plies


@pytest.mark.long
@pytest.mark.parametrize("game", GAMES)
def test_whole_games_on_the_largest_boards(game: str) -> None:
    many = 6 if game in SQUARE else 2
    assert walk_games(game, range(30_000_000, 30_000_000 + many), LARGE[game], 900) > 60


@pytest.mark.parametrize("game", GAMES)
def test_options_make_other_positions(game: str) -> None:
    """Equal hashes mean equal options: every start has its own."""
    hashes: dict[int, dict[str, Any]] = {}
    for options in starts(game):
        core = CORES[game](**options)
        assert hashes.setdefault(core.hash(), options) == options
        assert CORES[game](**options).hash() == core.hash()
    assert len(hashes) > 40


@pytest.mark.parametrize("game", SQUARE)
def test_both_refuse_impossible_sizes_and_handicaps_on_every_board(game: str) -> None:
    for size in range(2, 26):
        for handicap in range(11):
            possible = handicap == 0 or (2 <= handicap <= 9 and handicap < size * size)
            if game == "go":
                possible = possible and (handicap == 0 or has_fixed_points(size, handicap))
            if possible:
                core = CORES[game](size=size, handicap=handicap)
                assert core.board() == MODELS[game](size=size, handicap=handicap).board()
            else:
                with pytest.raises(ValueError, match="handicap"):
                    CORES[game](size=size, handicap=handicap)
    for size in (-1, 0, 1, 26):
        with pytest.raises(ValueError, match="size"):
            CORES[game](size=size)


SET_UP: dict[str, dict[str, Any]] = {
    "go": {"size": 4},
    "laido": {"size": 3},
    "stigmergy": {"size": 3, "komi": 3},
    "taigo": {"dark_cones": 2, "light_cones": 3},
    "taugo": {"size": 7},
    "yugo": {"size": 4},
}


@pytest.mark.parametrize("game", MODELS)
def test_a_position_is_set_up_alike(game: str) -> None:
    random, options = Random(game), SET_UP[game]
    for _ in range(12):
        played = MODELS[game](**options)
        for _ in range(random.randint(0, 25)):
            if played.phase == "over":
                break
            played.play(choose(played, played, random, "rare"))
        side = random.choice(["black", "white"])
        core, model = CORES[game](**options), MODELS[game](**options)
        for one in (core, model):
            one.set_up(played.board(), side)
        for _ in range(3):
            assert core.board() == model.board()
            assert turn(core) == turn(model)
            assert core.legal_moves() == model.legal_moves(), (played.board(), side)
            for colour, parts in model.score_parts().items():
                assert {name: core.score_parts()[colour][name] for name in parts} == parts
            if model.phase == "over":
                break
            move = random.choice(model.legal_moves())
            assert core.play(move) == model.play(move)


WHOLE_GAMES: list[tuple[str, dict[str, Any], int]] = [
    ("stigmergy", {"size": 2, "komi": 0}, 2_459),
    ("stigmergy", {"size": 2, "komi": -3}, 5_933),
    ("laido", {"size": 2, "pie": False, "half_point": "final"}, 12_357),
    ("laido", {"size": 2, "pie": True, "half_point": "first"}, 26_481),
]


@pytest.mark.slow
@pytest.mark.parametrize(("game", "options", "positions"), WHOLE_GAMES)
def test_every_position_that_can_be_reached(game: str, options: dict[str, Any], positions: int) -> None:
    """Each position once, by the model's key; core and model agree there on all that the rules say."""
    seen = WalkCount()
    todo = [(CORES[game](**options), MODELS[game](**options))]
    seen.check(todo[0][1].key(), todo[0][0].hash())
    while todo:
        core, model = todo.pop()
        legal = model.legal_moves()
        assert core.legal_moves() == legal, core.board()
        for name in ("phase", "to_play", "seat", "result", "winner"):
            assert getattr(core, name) == getattr(model, name), (name, core.board())
        assert core.score_parts() == model.score_parts(), core.board()
        for move in legal:
            after = core.copy(), model.copy()
            for position in after:
                position.play(move)
            known = len(seen.hash_of)
            seen.check(after[1].key(), after[0].hash())
            if len(seen.hash_of) > known:
                todo.append(after)
    assert len(seen.hash_of) == positions


class _SideBySide(RuleBasedStateMachine):
    """Hypothesis chooses the game's moves, and shrinks a difference to a short game."""

    game = ""
    seen = WalkCount()

    @initialize(seed=st.integers(0, 2**32))
    def begin(self, seed: int) -> None:
        self.walk = Walk(self.game, random_options(self.game, Random(seed), SMALL[self.game][:3]), self.seen)

    @precondition(lambda self: self.walk.model.phase in ("bid", "choose", "play"))
    @rule(number=st.integers(0, 999))
    def play(self, number: int) -> None:
        legal = self.walk.model.legal_moves()
        self.walk.play(legal[number % len(legal)])

    @precondition(lambda self: self.walk.model.phase == "play")
    @rule()
    def play_a_word(self) -> None:
        for word in [move for move in self.walk.model.legal_moves() if move[0].islower()]:
            if word in self.walk.model.legal_moves():  # a swap closes what a pass would have closed, and the other way
                self.walk.play(word)

    @rule(text=st.one_of(st.text(max_size=6), st.from_regex(LIKE_A_MOVE, fullmatch=True)))
    def try_anything(self, text: str) -> None:
        if self.walk.model.why_illegal(text):
            self.walk.refuse(text)
        else:
            self.walk.play(text)

    @rule()
    def copies(self) -> None:
        self.walk.swap_for_copies()


class _WithAgreement(_SideBySide):
    """Go and yugo."""

    @precondition(lambda self: self.walk.model.phase == "agree")
    @rule(seed=st.integers(0, 2**32))
    def answer(self, seed: int) -> None:
        model = self.walk.model
        assert isinstance(model, SquareModel)
        self.walk.play(dead_list(model, Random(seed), model.first_list))


_FEW = settings(
    max_examples=40,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)

for _name in GAMES:
    _base = _WithAgreement if _name in SQUARE else _SideBySide
    _machine: Any = type(f"{_name.capitalize()}SideBySide", (_base,), {"game": _name, "seen": WalkCount()})
    _case = pytest.mark.slow(_machine.TestCase)
    _case.settings = _FEW
    globals()[f"Test{_name.capitalize()}SideBySide"] = _case
del _case  # pytest would take it for one more


def _by_hand(walk: Walk, random: Random, max_plies: int) -> None:
    """What plain GTP may do in go: free handicap, another komi, the turn given to a side."""
    assert isinstance(walk.model, SquareModel)
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
