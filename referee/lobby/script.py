"""What a bot was told of the match at hand, so that one that lost its connection can be told again. Pure.

Answered commands become what sets the position up anew: `genmove B` that was answered `D4` becomes `play B D4`. What
was not answered yet is asked again as it was, with the clock that has run on meanwhile.
"""

import re
from collections import deque

from protocol.grammar import MAX_LINE

_GENMOVES = ("genmove", "ggp-genmove_analyze")
_KEPT = (
    *("ggp-new", "play", "set_random_seed", "boardsize", "clear_board", "komi"),
    *("fixed_handicap", "set_free_handicap", "kata-set-rules", "kgs-rules"),
)
_CLOCKS = ("ggp-clock", "time_left")
_TIMES = ("time_settings", "kgs-time_settings", "kata-time_settings")
QUICK = frozenset(("play", "ggp-clock", "time_left", "protocol_version", "name", "version"))
"""Commands that take no thought: how long their answers take is how long the way is."""


class Script:
    """The commands of one bot: `told` were answered, `awaited` were not (as they were sent, with ids)."""

    __slots__ = ("_clock", "awaited", "told")

    def __init__(self) -> None:
        self._clock = ""  # what it was told of the time for the move that is awaited, if it has answered that
        self.awaited: deque[str] = deque()
        self.told: list[str] | None = None  # None: no match is at hand

    def begin(self) -> None:
        """A new match."""
        self.told = []

    def end(self) -> None:
        self.told = None
        self._clock = ""

    def sent(self, line: str) -> None:
        self.awaited.append(line)

    def answered(self, answer: bytes) -> str | None:
        """The command that this is the answer to, without its id; None: nobody asked."""
        if not self.awaited:
            return None
        line = without_id(self.awaited.popleft())
        if self.told is not None:
            self._keep(line, answer)
        return line

    def again(self, elapsed: int) -> list[str]:
        """What is awaited, to be sent once more `elapsed` ms after it was sent first: clocks have run on."""
        mover = self._mover()
        return [run_on(line, mover, elapsed) for line in self.awaited]

    def clock(self, elapsed: int) -> str:
        """What it must be told of the time before that, because it was told before; "" if nothing."""
        mover = self._mover()
        return run_on(self._clock, mover, elapsed) if mover else ""

    def _mover(self) -> str:
        """The colour whose move is awaited, or ""."""
        asked = [word for word in map(without_id, self.awaited) if word.startswith(_GENMOVES)]
        return asked[-1].partition(" ")[2] if asked else ""

    def _keep(self, line: str, answer: bytes) -> None:
        assert self.told is not None
        command, _, rest = line.partition(" ")
        if command in _GENMOVES:
            self._clock = ""
        if answer[:1] != b"=":  # what it refused it need not be told again
            return
        if command in _GENMOVES:
            words = answer[:MAX_LINE].decode("utf-8", "replace").partition("\n")[0].lstrip("=0123456789").split()
            if words and words[0].lower() != "resign":
                self.told.append(f"play {rest} {words[0]}")
        elif command in _CLOCKS:
            self._clock = line
        elif command in _KEPT or command in _TIMES:
            self.told.append(line)


def without_id(line: str) -> str:
    """`12 play B D4` -> `play B D4`."""
    number, _, rest = line.partition(" ")
    return rest if number.isdigit() else line


def run_on(line: str, mover: str, elapsed: int) -> str:
    """A clock line with the mover's time `elapsed` ms less; any other line as it is. `mover`: a colour."""
    if not mover or elapsed <= 0:
        return line
    command = without_id(line).partition(" ")[0]
    if command == "ggp-clock":
        values = {name: int(value) for name, value in re.findall(r"\b(\w+)=(\d+)", line)}
        if mover not in values:
            return line
        after = _after(values[mover], values.get("period", 0), values.get("periods", 0), elapsed)
        for name, value in zip((mover, "periods"), after, strict=True):
            line = re.sub(rf"\b{name}=\d+", f"{name}={value}", line)
        return line
    if command == "time_left":
        left = lambda found: f"{found[1]}{max(0, int(found[2]) - -(-elapsed // 1000))}"  # noqa: E731
        return re.sub(rf"(time_left {mover} )(\d+)", left, line)
    return line


def _after(left: int, period: int, periods: int, elapsed: int) -> tuple[int, int]:
    """What is left of main time, and periods of Japanese byo-yomi, `elapsed` ms later.

    What is left of a period that has begun comes in place of main time, and the period is counted no more: the sum
    is what is left. Main time that is exactly as long as a period is taken for one: nobody is told of more than he has.
    """
    if not periods:
        return max(0, left - elapsed), 0
    beyond = elapsed if left == period else elapsed - left
    if beyond <= 0:
        return left - elapsed, periods
    lost = (beyond - 1) // period  # a move of exactly n periods has outlasted n - 1 of them
    return (period - (beyond - lost * period), periods - lost - 1) if lost < periods else (0, 0)
