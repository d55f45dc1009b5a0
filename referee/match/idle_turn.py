"""Processor time that a bot uses in its opponent's turns, on the core that they share.

The idle bot's usage is read before and after each move of the other. If it exceeds ALLOWED in a game, it is credited to
the clock of the side to move, and the idle bot is stopped in its opponent's turns from then on. A `strict` bot is
stopped from the first ply. Only bots in a sandbox are watched, because the usage of others cannot be measured
separately.
"""

from ggp.referee.match.sandbox.cgroups import BotGroups
from ggp.referee.match.sandbox.levels import NONE, STRICT, Sandbox

ALLOWED = 1_000_000  # ns in all turns of a game; runtimes do some work just after an answer


class IdleWatch:
    """The processes of one bot, watched in its opponent's turns. `stops`: they are stopped in these turns."""

    def __init__(self, groups: BotGroups, stops: bool) -> None:
        self.stops = stops
        self._groups = groups
        self._stopped = False
        self._before = 0  # ns, when the opponent's turn began
        self._idle = 0  # ns used in its opponent's turns of this game and not yet credited

    @property
    def used(self) -> int:
        """Return the ns used in opponents' turns of this game that have not been credited to anyone."""
        return self._idle

    def begin_game(self) -> None:
        """Start counting for a new game."""
        self._idle = 0

    def wake(self) -> None:
        """Let the bot run again, before it is asked a question or told to end."""
        if self._stopped:
            self._stopped = False
            self._groups.freeze(False)

    def rest(self) -> None:
        """Stop the bot at the end of its turn, if it is to be stopped."""
        if self.stops and not self._stopped:
            self._stopped = True
            self._groups.freeze(True)

    def begin_turn(self) -> None:
        """Start measuring at the beginning of the opponent's turn. Setup or undo may have woken this bot before."""
        self.rest()
        if not self._stopped:
            self._before = self._groups.usage()

    def end_turn(self) -> int:
        """Return the ns to credit to the opponent at the end of its turn. If not 0, the bot is stopped from now on."""
        if self._stopped:
            return 0
        self._idle += self._groups.usage() - self._before
        if self._idle <= ALLOWED:
            return 0
        stolen, self._idle, self.stops = self._idle, 0, True
        self.rest()
        return stolen


def watch_of(groups: BotGroups | None, sandbox: Sandbox, can_watch: bool) -> IdleWatch | None:
    """Return the watch of a bot; None if it may think in its opponent's turns, or cannot be watched here."""
    if groups is None or not can_watch or sandbox.level == NONE or "ponder" in sandbox.allow:
        return None
    return IdleWatch(groups, stops=sandbox.level == STRICT)
