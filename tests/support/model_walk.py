"""Core and model walked side by side through games, everything compared at every ply: the walk, moves, options."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from itertools import product
from random import Random
from typing import Any

from ggp.engines import _core
from tests.rules.models.go import GoModel, fixed_points
from tests.rules.models.laido import LaidoModel
from tests.rules.models.model import OTHER, Model
from tests.rules.models.square import SquareModel, all_groups, names
from tests.rules.models.stigmergy import StigmergyModel
from tests.rules.models.taigo import TaigoModel, neighbours, read_cell
from tests.rules.models.taugo import TaugoModel
from tests.rules.models.taugo import is_edge as on_edge
from tests.rules.models.taugo import names as points
from tests.rules.models.yugo import YugoModel

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
        assert core.captured() == model.captured(), self.moves
        assert core.last_move() == model.last_move(), self.moves
        if isinstance(model, YugoModel) and model.ply % 4 == 0:  # "each surrounded group consists of kings only"
            for points in (*model.surrounded("black"), *model.surrounded("white")):
                assert {model.board_string[p] for p in points} <= {"#", "@"}, self.moves
        if self.seen is not None:
            self.seen.check(model.key(), core.hash())

    def compare_scores(self) -> None:
        parts, expected = self.core.score_parts(), self.model.score_parts()
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


# --- moves: rare ones, so that every branch of the rules is taken, and near misses ---


def any_case(text: str, random: Random) -> str:
    """Moves are read without regard to case."""
    return "".join(random.choice((letter.upper(), letter.lower())) for letter in text)


def choose(model: Model, before: Model, random: Random, style: str) -> str:
    """A legal move in some spelling. `before`: the position one ply ago."""
    if isinstance(model, SquareModel) and model.phase == "agree":
        return dead_list(model, random, model.first_list)
    legal = model.legal_moves()
    stones = [move for move in legal if not move[0].islower()]
    words = [move for move in legal if move[0].islower()]
    if style == "wordy" and words and random.random() < 0.3:
        move = random.choice(words)
    elif style == "back" and (back := emptied(model, before, stones)) and random.random() < 0.7:
        move = random.choice(back)
    elif style == "rare" and stones and random.random() < 0.8:
        move = random.choice(rare(model, stones, random) or stones)
    elif style != "uniform" and stones and random.random() < 0.97:
        move = random.choice(stones)
    else:
        move = random.choice(legal)
    return any_case(shuffled(move, random), random)


def emptied(model: Model, before: Model, stones: list[str]) -> list[str]:
    """On square boards: points that the last ply emptied, where kos are."""
    if not isinstance(model, SquareModel) or not isinstance(before, SquareModel):
        return []
    was = before.board_string
    gone = {name for i, name in enumerate(names(model.size)) if was[i] != "." and model.board_string[i] == "."}
    return [move for move in stones if move in gone]


def rare(model: Model, stones: list[str], random: Random) -> list[str]:
    """Moves that take one of the rarer branches of the rules: captures, cuts, cuts to the edge, cones, closed gaps."""
    if isinstance(model, TaugoModel):
        runs = [(move, [points(model.size)[name] for name in move.split("+")]) for move in stones]
        cuts = [move for move, run in runs if any(p in model.stones_at for p in run)]
        edge = [move for move, run in runs if on_edge(run[-1], model.size)]
        lateral = [move for move in stones if "+" in move]
        return edge if edge and random.random() < 0.5 else cuts or lateral
    if isinstance(model, TaigoModel):
        many = [move for move in stones if move.count("+") > 1]
        cones = [move for move in stones if "+" in move]
        return many or (cones if cones and random.random() < 0.6 else _closest(model, stones))
    few = random.sample(stones, min(6, len(stones)))
    return [move for move in few if _takes(model, move)]


def near_misses(model: Model, random: Random) -> list[str]:
    """Texts that look like legal moves; some are legal."""
    legal = model.legal_moves()
    found = []
    for move in random.sample(legal, min(3, len(legal))):
        found += _edits(move, random)
    if isinstance(model, SquareModel):
        name = names(model.size)
        taken = [n for n, piece in zip(name, model.board_string, strict=True) if piece != "."]
        free = [n for n in name if n not in taken]
        found += [*random.sample(name, 2), *free[:2]]
        if taken and free:
            found += [f"dead:{random.choice(taken)},{random.choice(free)}", f"dead:{taken[0]},{taken[0]}"]
    other = model.copy()
    if other.phase == "play":
        other.to_play, other.found = OTHER[other.to_play], None
        theirs = [move for move in other.legal_moves() if move not in legal]
        found += random.sample(theirs, min(4, len(theirs)))
    return found


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
    return any_case("dead:" + ",".join(name[p] for p in stones), random)


def shuffled(move: str, random: Random) -> str:
    """Cones are read in any order."""
    tile, *cones = move.split("+")
    if "/" not in tile:
        return move
    random.shuffle(cones)
    return "+".join([tile, *cones])


def _takes(model: Model, move: str) -> bool:
    """Whether a move removes or replaces a piece."""
    after = model.copy()
    after.play(move)
    return after.captured() != model.captured()


def _closest(model: TaigoModel, stones: list[str]) -> list[str]:
    """Tiles with the most neighbours, and those that lack one: so gaps close."""
    scored = []
    for move in stones:
        halves = [read_cell(text) for text in move.split("+")[0].split("/")]
        scored.append((sum(near in model.cells for half in halves for near in neighbours(half)), move))
    best = max(score for score, _ in scored)
    return [move for score, move in scored if score >= best - 1]


def _edits(move: str, random: Random) -> list[str]:
    """A move with a part left out, doubled, or put elsewhere."""
    at = random.randrange(len(move))
    parts = move.split("+")
    found = [move[:at] + move[at + 1 :], move[:at] + random.choice("+-,:/0129ABdl") + move[at + 1 :], "0" + move]
    found += ["+".join(parts[:-1]), "+".join([*parts, parts[-1]]), "+".join(reversed(parts))]
    if "/" in move:
        dark, _, light = parts[0].partition("/")
        found += [f"{light}/{dark}", f"{dark}/{dark}", f"{parts[0]}+d:{dark}", f"{parts[0]}+l:0,0", parts[0]]
        found.append(move.translate(str.maketrans("dl", "ld")))
    return found


# --- options of every kind, each often at its default ---

SMALL = {
    "go": [2, 3, 4, 5],
    "yugo": [2, 3, 4, 5],
    "taugo": [6, 7],
    "laido": [2, 3, 4],
    "stigmergy": [2, 3, 4],
    "taigo": [2, 5, 10, 20],
}
REAL = {
    "go": [6, 7, 9, 13],
    "yugo": [6, 7, 9, 13],
    "taugo": [8, 9, 10],
    "laido": [5, 6],
    "stigmergy": [4, 5],
    "taigo": [40],
}
LARGE = {"go": [19, 25], "yugo": [19, 25], "taugo": [16, 25], "laido": [9, 13], "stigmergy": [8, 13], "taigo": [200]}
SIZES = {"go": (2, 25), "yugo": (2, 25), "taugo": (6, 25), "laido": (2, 13), "stigmergy": (2, 13)}
"""`size` (taigo: `tiles`) by the kind of walk; the least and the most `size`."""


def random_options(game: str, random: Random, sizes: list[int]) -> dict[str, Any]:
    """What the constructors of core and model take."""
    if game == "taigo":
        cones = [0, 1, 2, 3, 5, 20]
        return {"dark_cones": random.choice(cones), "light_cones": random.choice(cones), "tiles": random.choice(sizes)}
    size = random.choice(sizes)
    if game == "taugo":
        return {"size": size, "cut_from": random.choice(["lateral", "any"]), "pie": random.random() < 0.6}
    if game == "laido":
        return {"size": size, "pie": random.random() < 0.6, "half_point": random.choice(["final", "first"])}
    if game == "stigmergy":
        return {"size": size, "komi": random.choice([None, None, 0, 3, -5, 4, random.randint(-40, 40)])}
    return _square_options(game, random, size)


def starts(game: str) -> Iterator[dict[str, Any]]:
    """Many different starts."""
    if game == "taigo":
        for dark, light, tiles in product((0, 1, 5, 19, 20), (0, 1, 5, 20), (2, 3, 40, 199, 200)):
            yield {"dark_cones": dark, "light_cones": light, "tiles": tiles}
        return
    low, high = SIZES[game]
    for size in range(low, high + 1):
        if game == "taugo":
            yield from ({"size": size, "cut_from": c, "pie": p} for c in ("lateral", "any") for p in (True, False))
        elif game == "laido":
            yield from ({"size": size, "half_point": h, "pie": p} for h in ("final", "first") for p in (True, False))
        elif game == "stigmergy":
            yield from ({"size": size, "komi": komi} for komi in (None, 0, -1, 1, 7, 1_000_000, -1_000_000))
        else:
            yield from _square_starts(game, size)


def has_fixed_points(size: int, handicap: int) -> bool:
    try:
        fixed_points(size, handicap)
    except ValueError:
        return False
    return True


def _square_options(game: str, random: Random, size: int) -> dict[str, Any]:
    options: dict[str, Any] = {"size": size, "agreement": random.random() < 0.5}
    options["komi"] = random.choice([0, 7, -3, random.randint(-30, 30)])
    handicaps = [h for h in range(2, 10) if h < size * size]
    if game == "go":
        options["komi"] = random.choice([0.0, 7.5, -3.5, random.randint(-60, 60) / 2])
        options["ko"] = random.choice(["simple", "positional", "situational"])
        handicaps = [h for h in handicaps if has_fixed_points(size, h)]
    if handicaps and random.random() < 0.3:
        options["handicap"] = random.choice(handicaps)
    return options


def _square_starts(game: str, size: int) -> Iterator[dict[str, Any]]:
    for komi, agreement in product((-2, 0, 7), (False, True)):
        options = {"size": size, "komi": komi, "agreement": agreement}
        yield options
        if game == "go":
            yield from ({**options, "ko": ko} for ko in ("simple", "situational"))
            yield {**options, "komi": komi + 0.5}
        if size > 8:
            yield {**options, "handicap": 2}
