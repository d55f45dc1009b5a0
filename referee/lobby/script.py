"""What a bot was told of the match at hand, so that one that lost its connection can be told again. Pure.

Answered commands become what sets the position up anew: `genmove B` that was answered `D4` becomes `play B D4`. What
was not answered yet is asked again as it was, with the clock that has run on meanwhile.
"""

import re
from collections import deque

from protocol.grammar import MAX_LINE

_GENMOVES = ("genmove", "ggp-genmove_analyze")
_KEPT = ("ggp-new", "boardsize", "clear_board", "komi", "fixed_handicap", "play", "set_random_seed")
_SETTINGS = "time_settings"  # with kata- or kgs- before it
QUICK = frozenset(("play", "ggp-clock", "time_left", "protocol_version", "name", "version"))
"""Commands that take no thought: how long their answers take is how long the way is."""


class Script:
    """The commands of one bot: `told` were answered, `awaited` were not (as they were sent, with ids)."""

    __slots__ = ("awaited", "told")

    def __init__(self) -> None:
        self.awaited: deque[str] = deque()
        self.told: list[str] | None = None  # None: no match is at hand

    def begin(self) -> None:
        """A new match."""
        self.told = []

    def end(self) -> None:
        self.told = None

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
        asked = [word for word in map(without_id, self.awaited) if word.startswith(_GENMOVES)]
        mover = asked[-1].partition(" ")[2] if asked else ""
        return [run_on(line, mover, elapsed) for line in self.awaited]

    def _keep(self, line: str, answer: bytes) -> None:
        assert self.told is not None
        command, _, rest = line.partition(" ")
        if command in _GENMOVES:
            words = answer[:MAX_LINE].decode("utf-8", "replace").partition("\n")[0].lstrip("=0123456789").split()
            if answer[:1] == b"=" and words and words[0].lower() != "resign":
                self.told.append(f"play {rest} {words[0]}")
        elif command in _KEPT or command.endswith(_SETTINGS):
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
        return re.sub(rf"\b{mover}=(\d+)", lambda found: f"{mover}={max(0, int(found[1]) - elapsed)}", line)
    if command == "time_left":
        left = lambda found: f"{found[1]}{max(0, int(found[2]) - -(-elapsed // 1000))}"  # noqa: E731
        return re.sub(rf"(time_left {mover} )(\d+)", left, line)
    return line
