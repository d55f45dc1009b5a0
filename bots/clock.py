"""A bot's time as `ggp-clock` reports it, and how long the bot may think. It reads no clock itself.

Times are whole milliseconds. The referee owns the clocks; these are its latest reports.
"""

import re
from typing import NamedTuple

EXPECTED_MOVES = 30  # moves for which a sudden-death or Fischer clock must still last
SHARE = 0.8  # usable share of a time that each move renews; the rest is for the pipe and for delays
FIELDS = ("black", "white", "increment", "moves", "period", "periods")


class BotClock(NamedTuple):
    """A `ggp-clock` line. None means not given, so there may be no clock; 0 means not used."""

    black: int | None = None
    white: int | None = None
    increment: int = 0  # added for each move (Fischer)
    moves: int = 0  # to be played in the time left (moves per period)
    period: int = 0  # length of a byo-yomi period
    periods: int = 0  # byo-yomi periods left

    def left(self, colour: str) -> int | None:
        """Return the milliseconds on the clock of a colour, or None without a clock."""
        return self.black if colour == "black" else self.white

    def longest(self, colour: str) -> float | None:
        """Return the seconds that the next move may take: all time left, and one byo-yomi period to come."""
        left = self.left(colour)
        if left is None:
            return None
        last = (
            self.periods == 1 and left == self.period
        )  # the main time is over, and this is the rest of the last period
        return (left + (self.period if self.periods and not last else 0)) / 1000

    def budget(self, colour: str) -> int | None:
        """Return how many milliseconds a careful bot should think about its next move, or None without a clock."""
        left = self.left(colour)
        if left is None:
            return None
        if self.moves:
            return max(1, int(SHARE * (left / self.moves + self.increment)))
        share = left / EXPECTED_MOVES + SHARE * self.increment
        if self.periods:  # a used period is renewed for the next move
            share = max(share, SHARE * self.period)
            left += self.period
        return max(1, int(min(share, SHARE * left)))


def parse_clock(words: list[str]) -> BotClock:
    """Parse the arguments of `ggp-clock`, ignoring unknown names.

    Raises:
        ValueError: An argument is not name=MILLISECONDS.
    """
    values: dict[str, int] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not re.fullmatch("-?[0-9]{1,15}", text):
            raise ValueError(f"expected name=MILLISECONDS, not {word}")
        if name in FIELDS:
            values[name] = max(0, int(text))
    return BotClock(**values)


def parse_time_settings(words: list[str]) -> BotClock:
    """Parse GTP's `time_settings MAIN BYO_YOMI STONES`, in seconds.

    "byo_yomi_time > 0 and byo_yomi_stones == 0 means no time limits."

    Raises:
        ValueError: The arguments are invalid.
    """
    if len(words) != 3:
        raise ValueError("expected time_settings MAIN BYO_YOMI STONES")
    main, period, stones = (_milliseconds(word) for word in words)
    if period and not stones:
        return BotClock()
    if not period:
        return BotClock(main, main)
    moves = stones // 1000
    if main:  # each stone of the later overtime adds its share
        return BotClock(main, main, period=period // max(moves, 1), periods=1)
    return BotClock(period, period, moves=moves)


def parse_time_left(words: list[str], clock: BotClock) -> BotClock:
    """Return the clock, updated with GTP's `time_left COLOUR SECONDS STONES`.

    Raises:
        ValueError: The arguments are invalid.
    """
    if len(words) != 3 or words[0].lower() not in ("b", "black", "w", "white"):
        raise ValueError("expected time_left COLOUR SECONDS STONES")
    left, stones = _milliseconds(words[1]), _milliseconds(words[2]) // 1000
    return clock._replace(**{"black" if words[0].lower()[0] == "b" else "white": left}, moves=stones)


def _milliseconds(seconds: str) -> int:
    """Parse seconds with at most nine digits before the point. A negative time has run out and becomes 0."""
    if not re.fullmatch(r"-?[0-9]{1,9}(\.[0-9]{0,9})?", seconds):
        raise ValueError(f"expected seconds, not {seconds[:40]}")
    return max(0, int(1000 * float(seconds)))
