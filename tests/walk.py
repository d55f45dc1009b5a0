"""Core and model walked side by side through one game, everything compared at every ply; not a test itself."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from random import Random
from typing import Any

from engines import _core
from tests.models.go import Go
from tests.models.square import SquareModel, all_groups, names
from tests.models.yugo import Yugo

MODELS: dict[str, Callable[..., SquareModel]] = {"go": Go, "yugo": Yugo}
CORES: dict[str, Callable[..., Any]] = {"go": _core.Go, "yugo": _core.Yugo}
STYLES = ("uniform", "stubborn", "fight", "ko", "wordy")
GARBAGE = (
    "", "A", "1", "I1", "A0", "A01", "A-1", "a26", "Z99", "resign", "pass,", "dead", "dead:,", "dead:A1,", "+A1", "A1+",
    "bid:1", "swap-sides", "keep-sides", "D\u0663", "\u017f1", "A1 ", "buttons", "A1A1", "99999999999", "A1\x00",
)  # fmt: skip


class Seen:
    """All positions of a run: hashes are equal exactly when the models' keys are."""

    def __init__(self) -> None:
        self.hash_of: dict[Hashable, int] = {}
        self.key_of: dict[int, Hashable] = {}

    def check(self, key: Hashable, value: int) -> None:
        assert self.hash_of.setdefault(key, value) == value, f"equal positions, other hash: {key}"
        assert self.key_of.setdefault(value, key) == key, f"equal hashes: {key} and {self.key_of[value]}"


class Walk:
    """One game in the core and in the model. `compare` asserts that they agree; `play` plays in both and compares."""

    def __init__(self, game: str, options: dict[str, Any], seen: Seen | None) -> None:
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
        parts = core.score_parts()
        assert (parts["black"]["total"], parts["white"]["total"]) == model.totals(), self.moves
        for colour in ("black", "white"):
            assert sum(parts[colour].values()) == 2 * parts[colour]["total"], (parts, self.moves)
        assert core.captured() == (model.captured["black"], model.captured["white"]), self.moves
        if isinstance(model, Yugo) and model.ply % 4 == 0:  # "each surrounded group consists of kings only"
            for points in (*model.surrounded("black"), *model.surrounded("white")):
                assert {model.board_string[p] for p in points} <= {"#", "@"}, self.moves
        if self.seen is not None:
            self.seen.check(model.key(), core.hash())

    def play(self, text: str) -> str:
        assert self.core.why_illegal(text) == self.model.why_illegal(text) == "", (text, self.moves)
        canonical = self.model.play(text)
        assert self.core.play(text) == canonical, self.moves
        self.moves.append(canonical)
        assert self.core.last_move() == ([canonical] if canonical in names(self.model.size) else []), self.moves
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
    emptied: list[str] = []
    while walk.model.phase != "over" and walk.model.ply < max_plies:
        if random.random() < 0.1:
            walk.refuse(_illegal(walk.model, random))
        if random.random() < 0.03:
            walk.swap_for_copies()
        before = walk.model.board_string
        walk.play(_choose(walk.model, random, style, emptied))
        after = walk.model.board_string
        emptied = [
            name
            for name, was, now in zip(names(walk.model.size), before, after, strict=True)
            if was != "." and now == "."
        ]
    if walk.model.phase == "over":
        walk.refuse(random.choice(["pass", "A1", "dead:", "button"]))


def dead_list(model: SquareModel, random: Random, first: frozenset[int] | None) -> str:
    """A dead list in some order and case that names some groups by some of their stones; at times the first list."""
    name = names(model.size)
    groups = [group.points for group in all_groups(model.board_string, model.size) if group.colour]
    if first is not None and random.random() < 0.6:
        groups = [points for points in groups if points <= first]
    else:
        groups = [points for points in groups if random.random() < 0.4]
    stones = [p for points in groups for p in random.sample(sorted(points), random.randint(1, len(points)))]
    random.shuffle(stones)
    return _any_case("dead:" + ",".join(name[p] for p in stones), random)


def _choose(model: SquareModel, random: Random, style: str, emptied: list[str]) -> str:
    if model.phase == "agree":
        return dead_list(model, random, model.first_list)
    legal = model.legal_moves()
    points = [move for move in legal if move[0].isupper()]
    words = [move for move in legal if move[0].islower()]
    if style == "wordy" and words and random.random() < 0.3:
        return random.choice(words)
    if style == "ko" and (back := [move for move in points if move in emptied]) and random.random() < 0.7:
        return random.choice(back)
    if style == "fight" and random.random() < 0.7:
        pieces = len(model.board_string) - model.board_string.count(".")
        for move in random.sample(points, min(5, len(points))):
            after = model.copy()
            after.play(move)
            if len(after.board_string) - after.board_string.count(".") <= pieces:
                return move
    if style != "uniform" and points and random.random() < 0.97:
        legal = points
    return _any_case(random.choice(legal), random)


def _any_case(text: str, random: Random) -> str:
    return "".join(random.choice((letter.upper(), letter.lower())) for letter in text)


def _illegal(model: SquareModel, random: Random) -> str:
    """A move that is not legal now, as near to a legal one as can be found."""
    name = names(model.size)
    taken = [n for n, piece in zip(name, model.board_string, strict=True) if piece != "."]
    free = [n for n, piece in zip(name, model.board_string, strict=True) if piece == "."]
    texts = [*random.sample(GARBAGE, 3), "pass", "button", "dead:", *random.sample(name, 2)]
    if taken and free:
        texts += [f"dead:{random.choice(taken)},{random.choice(free)}", ",".join(["dead:" + taken[0], taken[0]])]
    legal = set(model.legal_moves())
    texts += [n for n in free if n not in legal]
    texts = [text for text in texts if text not in legal and model.why_illegal(text)]
    text = random.choice(texts)
    return _any_case(text, random) if text.isascii() else text
