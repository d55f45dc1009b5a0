"""Limits of a slow player's turn: its longest time, and the size of its analysis in a record."""

import json
from typing import Any

from ggp.bots.position import Position

_UNCLOCKED = 580.0  # seconds for a move without a clock; the referee allows 600
_AGREEMENT = 25.0  # seconds for a list of dead stones; the referee allows 30
_MOST_ANALYSIS = 60_000  # characters of JSON; the referee keeps 65,536
_CUTS = (16_000, 8_000, 4_000, 2_000, 1_000, 300, 80, 20, 8)  # lengths to try for each text


def seconds_of(position: Position, more: float) -> float:
    """Return how many seconds the move may take: the time on the clock plus `more`, which may be negative."""
    if position.phase == "agree":
        return _AGREEMENT
    longest = position.times.longest(position.colour)
    return _UNCLOCKED if longest is None else longest + more


def fit(kept: dict[str, Any]) -> None:
    """Shorten the texts in `kept` and in its `answers`, all to the same length, until they fit into a record."""
    for most in _CUTS:
        if len(json.dumps(kept)) <= _MOST_ANALYSIS:
            return
        for texts in (kept, *kept["answers"]):
            for name, text in texts.items():
                if isinstance(text, str) and len(text) > most:
                    texts[name] = f"{text[: most // 2]}… ({len(text) - most} characters) …{text[-(most // 2) :]}"
