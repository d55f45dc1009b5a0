"""Which moves a walk tries: rare ones, so that every branch of the rules is taken, and near misses; not a test."""

from __future__ import annotations

from random import Random

from tests.rules.models.model import OTHER, Model
from tests.rules.models.square import SquareModel, all_groups, names
from tests.rules.models.taigo import TaigoModel, neighbours, read_cell
from tests.rules.models.taugo import TaugoModel
from tests.rules.models.taugo import is_edge as on_edge
from tests.rules.models.taugo import names as points


def any_case(text: str, random: Random) -> str:
    """Moves are read without regard to case."""
    return "".join(random.choice((letter.upper(), letter.lower())) for letter in text)


def choose(model: Model, before: Model, random: Random, style: str) -> str:
    """A legal move, as somebody might write it. `before`: the position one ply ago."""
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
    return after.captured != model.captured


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
