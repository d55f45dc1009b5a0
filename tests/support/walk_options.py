"""Options of every game for walks: of every kind, each often at its default; not a test itself."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any

from tests.rules.models.go import fixed_points

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
