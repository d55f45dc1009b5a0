"""Core and model walked side by side through one game, everything compared at every ply; not a test itself."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from random import Random
from typing import Any

from engines import _core
from tests.rules.models.go import GoModel
from tests.rules.models.laido import LaidoModel
from tests.rules.models.model import Model
from tests.rules.models.stigmergy import StigmergyModel
from tests.rules.models.taigo import TaigoModel
from tests.rules.models.taugo import TaugoModel
from tests.rules.models.yugo import YugoModel
from tests.support.walk_moves import any_case, choose, near_misses

MODELS: dict[str, Callable[..., Model]] = {
    "go": GoModel, "laido": LaidoModel, "stigmergy": StigmergyModel,
    "taigo": TaigoModel, "taugo": TaugoModel, "yugo": YugoModel,
}  # fmt: skip
CORES: dict[str, Callable[..., Any]] = {
    name: getattr(_core, name.capitalize()) for name in MODELS if hasattr(_core, name.capitalize())
}
STYLES = ("uniform", "stubborn", "rare", "back", "wordy")
GARBAGE = (
    "", "A", "1", "I1", "A0", "A01", "A-1", "a26", "Z99", "resign", "pass,", "dead", "dead:,", "dead:A1,", "+A1", "A1+",
    "bid:1", "swap-sides", "keep-sides", "D\u0663", "\u017f1", "A1 ", "buttons", "A1A1", "99999999999", "A1\x00",
)  # fmt: skip


class WalkCount:
    """All positions of a run: hashes are equal exactly when the models' keys are."""

    def __init__(self) -> None:
        self.hash_of: dict[Hashable, int] = {}
        self.key_of: dict[int, Hashable] = {}

    def check(self, key: Hashable, value: int) -> None:
        assert self.hash_of.setdefault(key, value) == value, f"equal positions, other hash: {key}"
        assert self.key_of.setdefault(value, key) == key, f"equal hashes: {key} and {self.key_of[value]}"


class Walk:
    """One game in the core and in the model. `compare` asserts that they agree; `play` plays in both and compares."""

    def __init__(self, game: str, options: dict[str, Any], seen: WalkCount | None) -> None:
        self.core = CORES[game](**options)
        self.model = MODELS[game](**options)
        self.seen = seen
        self.moves: list[str] = []
        self.compare()

    def compare(self) -> None:
        core, model = self.core, self.model
        assert core.board() == model.board(), self.moves
        for name in ("phase", "to_play", "seat", "ply", "result", "winner"):
            assert getattr(core, name) == getattr(model, name), (name, self.moves)
        assert core.legal_moves() == model.legal_moves(), self.moves
        self.compare_scores()
        assert core.captured() == (model.captured["black"], model.captured["white"]), self.moves
        assert core.last_move() == model.last, self.moves
        if isinstance(model, YugoModel) and model.ply % 4 == 0:  # "each surrounded group consists of kings only"
            for points in (*model.surrounded("black"), *model.surrounded("white")):
                assert {model.board_string[p] for p in points} <= {"#", "@"}, self.moves
        if self.seen is not None:
            self.seen.check(model.key(), core.hash())

    def compare_scores(self) -> None:
        parts, expected = self.core.score_parts(), self.model.parts()
        for colour in ("black", "white"):
            for name, value in expected[colour].items():
                assert parts[colour][name] == value, (colour, name, self.moves)
            if parts[colour]["total"] is not None:
                numbers = [value for value in parts[colour].values() if not isinstance(value, list)]
                assert sum(numbers) == 2 * parts[colour]["total"], (parts, self.moves)

    def play(self, text: str) -> str:
        assert self.core.why_illegal(text) == self.model.why_illegal(text) == "", (text, self.moves)
        canonical = self.model.play(text)
        assert self.core.play(text) == canonical, (text, self.moves)
        self.moves.append(canonical)
        self.compare()
        return canonical

    def refuse(self, text: str) -> None:
        """Both refuse the move, and nothing has changed by it."""
        assert self.model.why_illegal(text) and self.core.why_illegal(text), (text, self.moves)
        before = self.core.hash()
        for side in (self.core, self.model):
            try:
                side.play(text)
            except ValueError as error:
                assert str(error)
            else:
                raise AssertionError((text, self.moves))
        assert self.core.hash() == before and self.core.last_move() is not None
        self.compare()

    def swap_for_copies(self) -> None:
        """Go on with copies; moves in the originals, and in copies of the copies, must not be felt by them."""
        old_core, old_model = self.core, self.model
        self.core, self.model = old_core.copy(), old_model.copy()
        for core, model in ((old_core, old_model), (self.core.copy(), self.model.copy())):
            for move in model.legal_moves()[-1:]:
                assert core.play(move) == model.play(move)
            assert core.board() == model.board()
            self.compare()


def random_game(walk: Walk, random: Random, max_plies: int) -> None:
    """Play at random, in one of the styles, until the game is over or so many plies were played."""
    style = random.choice(STYLES)
    before = walk.model.copy()
    while walk.model.phase != "over" and walk.model.ply < max_plies:
        if random.random() < 0.1:
            walk.refuse(_illegal(walk.model, random))
        if random.random() < 0.03:
            walk.swap_for_copies()
        move = choose(walk.model, before, random, style)
        before = walk.model.copy()
        walk.play(move)
    if walk.model.phase == "over":
        walk.refuse(random.choice([*GARBAGE, "pass", "A1", "dead:", "button", "0,1/1,1"]))


def _illegal(model: Model, random: Random) -> str:
    """A move that is not legal now, as near to a legal one as can be found."""
    texts = [*random.sample(GARBAGE, 3), "pass", "button", "dead:", "swap-sides", "keep-sides"]
    texts += near_misses(model, random)
    text = random.choice([text for text in texts if model.why_illegal(text)])
    return any_case(text, random) if text.isascii() else text
