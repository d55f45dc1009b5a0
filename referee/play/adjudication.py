"""Ends a match early by what both bots say of it: a side that is lost, or a drawn position. Off unless it is asked for.

A bot tells its `winrate`, what it may hope for from 0 to 1, with each move (`ggp-genmove_analyze`).
"""

import math
import re
from collections import deque
from dataclasses import dataclass
from typing import Literal

from protocol.errors import Problem
from referee.play.analysis import read_analysis

Kind = Literal["resign", "draw"]
_MOST = 10_000  # plies
_FORM = re.compile(r"(winrate|plies|after)=([0-9.]{1,12})")


class AdjudicationError(Problem, ValueError):
    """An invalid rule; str() is one line with the right form."""

    code = "bad-adjudication"


@dataclass(frozen=True, slots=True)
class AdjudicationRule:
    """`resign`: one side hopes for `winrate` at most, and the other for the rest; `draw`: both for ½ ± `winrate`.

    It takes `plies` plies in a row by both bots, from ply `after` + 1 on.
    """

    kind: Kind
    winrate: float
    plies: int
    after: int = 0

    @classmethod
    def parse(cls, kind: Kind, text: str) -> "AdjudicationRule":
        """`winrate=0.02 plies=6 after=20`, with blanks or commas; `after` may be left out. Raises AdjudicationError."""
        said = dict[str, float]()
        for word in re.split(r"[\s,]+", text.strip()):
            found = _FORM.fullmatch(word)
            if found is None or found[1] in said:
                raise AdjudicationError(f"--{kind} {text[:80]!r}: write winrate=0.02 plies=6 after=20")
            try:
                said[found[1]] = float(found[2])
            except ValueError:
                said[found[1]] = math.nan
        if not 0 <= said.get("winrate", math.nan) < 0.5:
            raise AdjudicationError(f"--{kind}: winrate is a number from 0 to below 0.5, as in winrate=0.02")
        plies, after = said.get("plies", math.nan), said.get("after", 0.0)
        if not (2 <= plies <= _MOST and 0 <= after <= _MOST and plies.is_integer() and after.is_integer()):
            raise AdjudicationError(f"--{kind}: plies is a number of plies from 2, after one from 0: plies=6 after=20")
        return cls(kind, said["winrate"], int(plies), int(after))


class Adjudicator:
    """Reads the plies of one match. `seen` are the latest: the seat, and what seat 1 may hope for, None if unknown."""

    def __init__(self, rules: tuple[AdjudicationRule, ...]) -> None:
        self._rules = rules
        self._seen: deque[tuple[int, float | None]] = deque(maxlen=max(rule.plies for rule in rules))

    def see(self, ply: int, seat: int, analysis: str) -> tuple[int, str] | None:
        """The winner (0: a draw) that a rule finds after this ply, and the numbers behind it."""
        said = read_analysis(analysis).winrate
        self._seen.append((seat, None if said is None else said if seat == 1 else 1 - said))
        for rule in self._rules:
            if ply >= rule.after + rule.plies and (found := self._apply(rule)) is not None:
                return found
        return None

    def _apply(self, rule: AdjudicationRule) -> tuple[int, str] | None:
        latest = list(self._seen)[-rule.plies :]
        hopes = [hope for _, hope in latest if hope is not None]
        if len(hopes) < rule.plies or len({seat for seat, _ in latest}) < 2:
            return None
        numbers = " ".join(f"{hope:.3g}" for hope in hopes[-8:])
        told = f"{rule.plies} plies by both bots; what seat 1 hopes for: {numbers}"
        slack = rule.winrate + 1e-9  # 1 − 0.98 is above 0.02
        if rule.kind == "draw":
            return (0, f"drawn by {told}") if all(abs(hope - 0.5) <= slack for hope in hopes) else None
        for loser in (1, 2):
            if all((hope if loser == 1 else 1 - hope) <= slack for hope in hopes):
                return 3 - loser, f"seat {loser} is lost by {told}"
        return None
