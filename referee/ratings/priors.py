"""What is believed before any game: a pool's spread, parents, anchors, first seat and ties, as a quadratic form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log

import numpy as np

from referee.ratings.counts import CountsError, Floats

ELO = 400 / log(10)  # Elo in one natural unit


@dataclass(frozen=True, slots=True)
class Priors:
    """Standard deviations in Elo. `parents`: the version before a bot; `anchors`: a bot's fixed rating, held softly.

    θ ~ N(pool mean, `pool`), of a bot with a parent ~ N(parent, `parent`), of an anchor also ~ N(its rating,
    `anchor`); first-seat advantage ~ N(0, `advantage`); ln ν (or ln δ) ~ N(`tie_mean`, `tie`). The pool mean is 0,
    or, if there are anchors, free. `plain`: no prior but the anchors, which makes the estimate the likeliest one.
    """

    parents: Mapping[str, str] = field(default_factory=dict)
    anchors: Mapping[str, float] = field(default_factory=dict)
    plain: bool = False
    pool: float = 350.0
    parent: float = 125.0
    anchor: float = 1.0
    advantage: float = 200.0
    tie_mean: float = -1.0
    tie: float = 1.5


def of_ratings(priors: Priors, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Precision P and vector b, natural units: the log-density is −θᵀPθ/2 + bᵀθ and a constant.

    CountsError for an anchor that nobody is, or parents in a circle.
    """
    index = {name: number for number, name in enumerate(names)}
    precision, pull = np.zeros((len(names), len(names))), np.zeros(len(names))
    for name, rating in priors.anchors.items():
        if name not in index:
            raise CountsError(f"the anchor {name} has no game")
        weight = (ELO / priors.anchor) ** 2
        precision[index[name], index[name]] += weight
        pull[index[name]] += weight * rating / ELO
    if priors.plain:
        return precision, pull
    parents = {child: parent for child, parent in priors.parents.items() if child in index and parent in index}
    _refuse_circles(parents)
    for child, parent in parents.items():
        pair, weight = np.ix_([index[child], index[parent]], [index[child], index[parent]]), (ELO / priors.parent) ** 2
        precision[pair] += weight * np.array([[1.0, -1.0], [-1.0, 1.0]])
    roots = np.array([index[name] for name in names if name not in parents])
    weight = (ELO / priors.pool) ** 2
    precision[roots, roots] += weight
    if priors.anchors:  # the free mean is integrated out
        precision[np.ix_(roots, roots)] -= weight / len(roots)
    return precision, pull


def _refuse_circles(parents: Mapping[str, str]) -> None:
    for child in parents:
        name, seen = child, set[str]()
        while name in parents:
            if name in seen:
                raise CountsError(f"the parents of {child} go in a circle")
            seen.add(name)
            name = parents[name]
