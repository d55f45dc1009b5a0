"""Whose processor time it is: what a bot uses in its opponent's turn, on the core that they share.

The idle side's use is read before and after each move of the other. What is above ALLOWED in a game is credited to the
clock of the side to move, and from then on the idle side is stopped in its opponent's turns; a `strict` bot is stopped
from the first ply. Only bots in a sandbox are watched, for theirs alone can be told apart from all else.
"""

from ggp.referee.match.sandbox.cgroups import BotGroups
from ggp.referee.match.sandbox.levels import NONE, STRICT, Sandbox

ALLOWED = 1_000_000  # ns in all turns of a game; what a runtime does for a moment after its answer


class IdleWatch:
    """One bot's processes: what they used, and whether they are stopped between its turns (`stops`)."""

    def __init__(self, groups: BotGroups, stops: bool) -> None:
        self.stops = stops
        self._groups = groups
        self._stopped = False
        self._before = 0  # ns, when the opponent's turn began
        self._idle = 0  # ns used in its opponent's turns of this game and credited to none

    @property
    def used(self) -> int:
        """Return the ns that its opponents' turns cost so far and that were credited to nobody."""
        return self._idle

    def begin_game(self) -> None:
        self._idle = 0

    def wake(self) -> None:
        """Let it run again, because it is to be asked something or told to end."""
        if self._stopped:
            self._stopped = False
            self._groups.freeze(False)

    def rest(self) -> None:
        """End its turn."""
        if self.stops and not self._stopped:
            self._stopped = True
            self._groups.freeze(True)

    def begin_turn(self) -> None:
        """Begin the opponent's turn. A new game was told to this bot, or a move taken back, while it ran."""
        self.rest()
        if not self._stopped:
            self._before = self._groups.usage()

    def end_turn(self) -> int:
        """End the opponent's turn. Return the ns to credit to it; if there are any, this bot stops from now on."""
        if self._stopped:
            return 0
        self._idle += self._groups.usage() - self._before
        if self._idle <= ALLOWED:
            return 0
        stolen, self._idle, self.stops = self._idle, 0, True
        self.rest()
        return stolen


def watch_of(groups: BotGroups | None, sandbox: Sandbox, can_watch: bool) -> IdleWatch | None:
    """Return the watch of a process; None if it may think in its opponent's turn, or cannot be watched here."""
    if groups is None or not can_watch or sandbox.level == NONE or "ponder" in sandbox.allow:
        return None
    return IdleWatch(groups, stops=sandbox.level == STRICT)
