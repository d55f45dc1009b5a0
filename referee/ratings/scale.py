"""What ratings and effects mean: points that they let expect, and their text forms. Imports no numpy."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from ggp.referee.ratings.sprt import FEWEST_GAMES, Effect, Estimate

ELO = 400 / math.log(10)  # Elo in one natural unit
MEANS = ("LL", "LD", "DD+WL", "WD", "WW")  # pairs by their points, 0, ½, 1, 1½, 2
Z95 = 1.96  # standard errors of half a 95 % interval
_NAMED = 5  # bots of a group, and groups
TOO_FEW = "too few games for an Elo"


def expected_share(model: str, elo: float, tie: float) -> float:
    """Return the expected share of the points of a game.

    Args:
        model: Name of the rating model; the formulas are those of bradley_terry.
        elo: Difference of the ratings, with the first seat's advantage.
        tie: Parameter of ties of the model.
    """
    if elo < 0:
        return 1 - expected_share(model, -elo, tie)
    lower = math.exp(-elo / ELO)
    if model == "davidson":
        tied = tie * math.sqrt(lower)
        return (1 + tied / 2) / (1 + tied + lower)
    shift = math.exp(tie)
    return (1 + 1 / (1 + lower * shift) - lower / (lower + shift)) / 2


def half(se: float | None, digits: int = 1) -> str:
    """Return half of the 95 % interval as text; "" for an anchor, which is held and has no error."""
    return f"{Z95 * se:.{digits}f}" if se else ""


def zero(anchors: Mapping[str, float], here: bool = True, grouped: bool = False) -> str:
    """Return the meaning of zero.

    Args:
        anchors: Given ratings by name.
        here: Whether the table above lists the bots.
        grouped: Whether they are of several groups that never met.
    """
    if not anchors and grouped:
        return "the mean of each group"
    if not anchors:
        return "the mean of these bots" if here else "the mean of the bots in the standings"
    if len(anchors) > 1:
        return f"set by the anchors {', '.join(f'{name} = {elo:g}' for name, elo in anchors.items())}"
    ((name, elo),) = anchors.items()
    return f"{abs(elo):g} Elo {'below' if elo > 0 else 'above'} the anchor {name}" if elo else f"the anchor {name}"


def zero_line(anchors: Mapping[str, float], idle: bool = False, here: bool = True, grouped: bool = False) -> str:
    """Return the line under a table of ratings, which explains zero and ±.

    Args:
        anchors: Given ratings by name.
        idle: Whether some of the bots have no game: they do not move the mean.
        here: Whether the table above lists the bots.
        grouped: Whether they are of several groups that never met.
    """
    if len(anchors) > 1:
        return f"zero is {zero(anchors)}; ± is 95 %, with the anchors taken as exact"
    to, which = ("the anchor", "") if anchors else ("that mean", " that have a game" * idle)
    return f"zero is {zero(anchors, here, grouped)}{which}; ± is 95 %, of the difference to {to}"


def groups_line(groups: Sequence[Sequence[str]]) -> str:
    """Return what a table of ratings says of groups of bots that never met; "" for one group."""
    if len(groups) < 2:
        return ""
    said = [f"group {number}: {_some(names)}" for number, names in enumerate(groups[:_NAMED], 1)]
    said += [f"and {len(groups) - _NAMED} more groups"] if len(groups) > _NAMED else []
    return (
        f"{len(groups)} groups of bots never met, not even through others, so their ratings cannot be compared "
        f"({'; '.join(said)}); zero is the mean of the group where it has no anchor"
    )


def with_enough(rows: Iterable[tuple[str, str, float, float, float]]) -> set[str]:
    """Return the bots whose games suffice for an Elo: as many as an Effect takes, which did not all end alike.

    Args:
        rows: First, second, and wins, ties and losses of the first, without games that repeat others.
    """
    ends = defaultdict[str, Counter[int]](Counter)
    for first, second, wins, ties, losses in rows:
        ends[first].update({2: int(wins), 1: int(ties), 0: int(losses)})
        ends[second].update({0: int(wins), 1: int(ties), 2: int(losses)})
    return {bot for bot, found in ends.items() if are_enough(found.values())}


def are_enough(counts: Collection[float]) -> bool:
    """Return whether so many wins, ties and losses suffice for an Elo."""
    return sum(counts) >= FEWEST_GAMES and sum(count > 0 for count in counts) > 1


def too_few_line(names: Sequence[str], what: str = TOO_FEW) -> str:
    """Say which bots have too few games for an Elo, and how many are enough; "" without such bots."""
    enough = f"{FEWEST_GAMES} games of a bot are enough, unless they repeat each other or all end alike"
    return f"{what}: {_some(names)}; {enough}" if names else ""


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def in_elo(found: Effect, digits: int = 0, sign: str = "") -> str:
    """Write `12 ± 34` or `700 (300 to 1500)`; "" if there are too few games. `sign`: "" or "+"."""
    if found.elo is None or not found.enough:
        return ""
    low, high = (None if end is None else f"{end:z.{digits}f}" for end in (found.elo_low, found.elo_high))
    elo = f"{found.elo:{sign}z.{digits}f}"
    return f"{elo} ({low} to {high})" if found.elo_error is None else f"{elo} ± {found.elo_error:.{digits}f}"


def after_stop(estimate: Estimate | None, digits: int = 0, sign: str = "") -> str:
    """Write `12 (3 to 20, median-unbiased)`, or "" if the record gives no estimate."""
    if estimate is None or estimate.elo is None:
        return ""
    low, high = (None if end is None else f"{end:z.{digits}f}" for end in (estimate.low, estimate.high))
    if low is not None and high is not None:
        ends = f"{low} to {high}, "
    else:
        ends = f"above {low}, " if low is not None else f"below {high}, " if high is not None else ""
    return f"{estimate.elo:{sign}z.{digits}f} ({ends}median-unbiased)"


def effect_lines(found: Effect, digits: int, column: int) -> list[str]:
    """Write Elo, nElo and LOS, a line each, with numbers from this column on; [] without games."""
    if not found.enough:
        return [] if found.elo is found.elo_low is found.elo_high is None else [f"{'Elo':{column}}{TOO_FEW}"]
    lines = []
    if elo := in_elo(found, digits):
        lines.append(f"{'Elo':{column}}{elo} (95 %)")
    if found.nelo is not None and found.nelo_error is not None:
        lines.append(f"{'nElo':{column}}{found.nelo:z.{digits}f} ± {found.nelo_error:.{digits}f}")
    if found.los is not None:
        lines.append(f"{'LOS':{column}}{found.los:.2%}")
    return lines
