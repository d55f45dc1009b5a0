"""Early ends of a match: a side that is clearly lost resigns, and a level position is a draw. Off by default.

The evaluations come from both bots, with each move (`ggp-genmove_analyze`), or from a third bot that is asked after
each ply. An evaluation is a `winrate` (the chance of a side to win, 0 to 1) or a `score` (points ahead).
"""

import math
import re
from collections import deque
from dataclasses import dataclass
from typing import Literal

from ggp.protocol.errors import Problem
from ggp.referee.match.analysis import BotAnalysis, read_analysis

Kind = Literal["resign", "draw"]
Measure = Literal["winrate", "score"]
_MOST = 10_000  # plies
_LARGEST = 1e6  # points
_FORM = re.compile(r"(winrate|score|plies|after)=([0-9.]{1,12})")
_WRITE = "write winrate=0.02 plies=6 after=20, or score=10 instead of winrate"


class AdjudicationError(Problem, ValueError):
    """An invalid adjudication rule; str() is one line that shows the right form."""

    code = "bad-adjudication"


@dataclass(frozen=True, slots=True)
class AdjudicationRule:
    """A rule that ends a match early.

    A rule of kind `resign` applies when one side has a winrate of at most `level`, or is at least `level` points
    behind. A rule of kind `draw` applies when every winrate is within `level` of ½, or every score within `level` of 0.
    The condition must hold for `plies` plies in a row, by both sides, from ply `after` + 1 on.
    """

    kind: Kind
    level: float
    plies: int
    after: int = 0
    measure: Measure = "winrate"

    @classmethod
    def parse(cls, kind: Kind, text: str) -> "AdjudicationRule":
        """Parse a rule such as `winrate=0.02 plies=6 after=20` or `score=10 plies=6`.

        Args:
            kind: The kind of rule that the text describes.
            text: Fields separated by blanks or commas; `after` is optional.

        Raises:
            AdjudicationError: The text is not a valid rule.
        """
        said = dict[str, float]()
        for word in re.split(r"[\s,]+", text.strip()):
            found = _FORM.fullmatch(word)
            if found is None or found[1] in said:
                raise AdjudicationError(f"invalid rule {text[:80]!r}: {_WRITE}")
            try:
                said[found[1]] = float(found[2])
            except ValueError:
                said[found[1]] = math.nan
        measure: Measure = "score" if "score" in said else "winrate"
        if "score" in said and "winrate" in said:
            raise AdjudicationError(f"invalid rule {text[:80]!r}: {_WRITE}")
        level = said.get(measure, math.nan)
        if measure == "winrate" and not 0 <= level < 0.5:
            raise AdjudicationError("winrate must be at least 0 and below 0.5, as in winrate=0.02")
        if measure == "score" and not (0 <= level <= _LARGEST and (level or kind == "draw")):
            raise AdjudicationError(f"score must be a number of points up to {_LARGEST:.0f}, as in score=10")
        plies, after = said.get("plies", math.nan), said.get("after", 0.0)
        if not (2 <= plies <= _MOST and 0 <= after <= _MOST and plies.is_integer() and after.is_integer()):
            raise AdjudicationError("plies must be a whole number from 2, and after one from 0, as in plies=6 after=20")
        return cls(kind, level, int(plies), int(after), measure)

    def __str__(self) -> str:
        after = f" after={self.after}" if self.after else ""
        return f"{self.kind} {self.measure}={self.level:g} plies={self.plies}{after}"


class Adjudicator:
    """The rules of one match, applied to the evaluations of its plies. `who` names the source in messages."""

    def __init__(self, rules: tuple[AdjudicationRule, ...], who: str = "both bots") -> None:
        self._rules, self._who = rules, who
        # For each of the latest plies: the seat, then seat 1's winrate and score, None if unknown.
        self._seen: deque[tuple[int, float | None, float | None]] = deque(maxlen=max(rule.plies for rule in rules))

    def see(self, ply: int, seat: int, analysis: str) -> tuple[int, str] | None:
        """Take the evaluation of a ply, and end the match if a rule applies.

        Args:
            ply: The number of the ply, from 1.
            seat: The seat that the evaluation speaks for.
            analysis: The analysis of the ply, in JSON.

        Returns:
            The winner (0 for a draw) and the reason with its numbers, or None if the match continues.
        """
        said = read_analysis(analysis)
        winrate, score = said.winrate, said.score
        if seat == 2:
            winrate, score = None if winrate is None else 1 - winrate, None if score is None else -score
        self._seen.append((seat, winrate, score))
        for rule in self._rules:
            if ply >= rule.after + rule.plies and (found := self._apply(rule)) is not None:
                return found
        return None

    def _apply(self, rule: AdjudicationRule) -> tuple[int, str] | None:
        latest = list(self._seen)[-rule.plies :]
        said = [one for _, *both in latest if (one := both[rule.measure == "score"]) is not None]
        if len(said) < rule.plies or len({seat for seat, *_ in latest}) < 2:
            return None
        numbers = " ".join(f"{one:.3g}" for one in said[-8:])
        evidence = f"for {rule.plies} plies, judged by {self._who}; {_MEASURED[rule.measure]}: {numbers}"
        slack = rule.level + 1e-9  # in floating point, 1 − 0.98 is above 0.02
        even = 0.5 if rule.measure == "winrate" else 0.0
        if rule.kind == "draw":
            return (0, f"level {evidence}") if all(abs(one - even) <= slack for one in said) else None
        for loser, sign in ((1, 1), (2, -1)):
            of_loser = [even + sign * (one - even) for one in said]
            if all((one <= slack) if even else (one <= -rule.level + 1e-9) for one in of_loser):
                return 3 - loser, f"seat {loser} was lost {evidence}"
        return None


_MEASURED = {"winrate": "win rate of seat 1", "score": "points that seat 1 is ahead"}


def missing(rules: tuple[AdjudicationRule, ...], said: BotAnalysis) -> str:
    """Return the first measure that a rule needs and this analysis lacks, or ""."""
    return next((rule.measure for rule in rules if getattr(said, rule.measure) is None), "")
