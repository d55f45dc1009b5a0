"""What the turn of a slow player has: its longest time, and the room in a record for what was said in it."""

import json
from typing import Any

from ggp.bots.position import Position

_UNCLOCKED = 580.0  # seconds for a move without a clock, of the 600 that the referee allows
_AGREEMENT = 25.0  # seconds for a list of dead stones, of its 30
_MOST_ANALYSIS = 60_000  # characters of JSON; the referee keeps 65,536
_CUTS = (16_000, 8_000, 4_000, 2_000, 1_000, 300, 80, 20, 8)  # of each text, until all fit


def seconds_of(position: Position, more: float) -> float:
    """Return how long the move may take: the time on the clock plus `more` seconds, which may be negative."""
    if position.phase == "agree":
        return _AGREEMENT
    longest = position.times.longest(position.colour)
    return _UNCLOCKED if longest is None else longest + more


def fit(kept: dict[str, Any]) -> None:
    """Cut the texts in it and in its `answers`, each to the same length, until all of it fits into a record."""
    for most in _CUTS:
        if len(json.dumps(kept)) <= _MOST_ANALYSIS:
            return
        for texts in (kept, *kept["answers"]):
            for name, text in texts.items():
                if isinstance(text, str) and len(text) > most:
                    texts[name] = f"{text[: most // 2]}… ({len(text) - most} characters) …{text[-(most // 2) :]}"
