"""Build the bots of a file that have a source, before the first game or during the games of a running ladder.

A bot whose build fails is unfit (`Entrant.unfit`): it is entered, so that its version has a name, and suspended.
"""

from collections import deque
from collections.abc import Callable, Collection
from dataclasses import replace

from ggp.referee.ladder.store.model import Entrant, Ladder
from ggp.referee.ladder.store.store import Store
from ggp.referee.ladder.toml_file import ConfigError, dotted
from ggp.referee.match.bot_spec import LaunchError, find_program
from ggp.referee.match.sandbox.levels import Sandbox
from ggp.referee.match.sandbox.sources import REASONS, REFUSED, Build, Source

_LOOK = 0.2  # seconds between two looks whether a signal came


class BotBuilds:
    """The builds of a ladder's bots, one at a time. This process does not try a failed one again."""

    def __init__(self, say: Callable[[str], None]) -> None:
        """Call `say` with a line about each build that begins."""
        self._say = say
        self._failed: dict[str, str] = {}  # reasons by folder
        self._waiting: deque[Entrant] = deque()
        self._running: Build | None = None

    def finish(self, bots: Collection[Entrant]) -> tuple[Entrant, ...]:
        """Build what is not built, and wait for it. Return the bots, some of them unfit."""
        self._want(bots)
        while self._running or self._waiting:
            self._go_on(_LOOK)
        return tuple(map(self._judged, bots))

    def begin(self, bots: Collection[Entrant], before: Collection[Entrant]) -> tuple[Entrant, ...]:
        """Do the same without waiting: until its build is over, a bot is what it was before, or is missing."""
        self._want(bots)
        old = {bot.name: bot for bot in before}
        there = {bot.name: self._judged(bot) if self._is_over(bot) else old.get(bot.name) for bot in bots}
        while orphans := [name for name, bot in there.items() if bot and bot.parent and not there.get(bot.parent)]:
            there |= dict.fromkeys(orphans)
        return tuple(bot for bot in there.values() if bot)

    def ended(self) -> bool:
        """Return True once when all builds are over that had begun."""
        began = self._running is not None
        while self._running is not None and self._go_on(0):
            pass
        return began and self._running is None

    def close(self) -> None:
        """Stop what is being built."""
        self._waiting.clear()
        if self._running is not None:
            self._running.stop()
            self._running = None

    def _want(self, bots: Collection[Entrant]) -> None:
        """Begin to build what these bots need, and drop what only others need."""
        missing = {bot.start.source.folder: bot for bot in bots if bot.start.source and not self._is_over(bot)}
        if self._running is not None and missing.pop(self._running.source.folder, None) is None:
            self._running.stop()
            self._running = None
        self._waiting = deque(missing.values())
        self._start_next()

    def _start_next(self) -> None:
        if self._running is None and self._waiting:
            bot = self._waiting.popleft()
            assert bot.start.source is not None, "only such bots wait"
            self._say(f"{bot.name} is being built" + (f": {bot.start.source.build}" if bot.start.source.build else ""))
            self._running = Build(bot.start.source, bot.start.sandbox or Sandbox())

    def _go_on(self, seconds: float) -> bool:
        """Wait so long for the running build, then begin the next one. Return False if it is still running."""
        if self._running is not None:
            reason = self._running.wait(seconds)
            if reason is None:
                return False
            if reason:
                self._failed[self._running.source.folder] = reason
            self._running = None
        self._start_next()
        return True

    def _is_over(self, bot: Entrant) -> bool:
        source = bot.start.source
        return source is None or source.is_built or source.folder in self._failed

    def _judged(self, bot: Entrant) -> Entrant:
        if bot.start.source is None:
            return bot
        reason = self._failed.get(bot.start.source.folder, "")
        try:
            if not reason:
                find_program(bot.start.argv[0])
        except LaunchError as error:
            reason = f"{REFUSED}: {error}"
        return replace(bot, unfit=reason)


def built(ladder: Ladder, bots: tuple[Entrant, ...]) -> Ladder:
    """Return the ladder with the bots as builds have left them. Raise ConfigError for a tune of an unfit bot."""
    unfit = next((bot.unfit for bot in bots if bot.unfit), "")
    if ladder.template is not None and unfit:
        raise ConfigError(ladder.path, dotted("bot", ladder.template.name), unfit)
    return replace(ladder, bots=bots)


def suspend_unfit(ladder: Ladder, store: Store, pools: Collection[int], say: Callable[[str], None]) -> None:
    """Suspend the unfit bots in the pools with these ids, and readmit those whose build failed before, but not now.

    Raises:
        StoreError: The store failed.
    """
    seats = {(seat.name, seat.version): seat for pool in pools for seat in store.seats(pool)}
    for bot in ladder.bots:
        seat = seats.get((bot.name, bot.version))
        if seat is None or not (bot.unfit or bot.start.source):
            continue
        if bot.unfit:
            say(f"{bot.name} is suspended: {bot.unfit}")
            if not seat.suspended:
                store.suspend(seat.id, bot.unfit)
        elif seat.suspended.startswith(REASONS):
            store.readmit(f"{bot.name}@{bot.version}")


def sources_of(ladder: Ladder) -> list[Source]:
    """Return the sources of a ladder's bots."""
    return [start.source for start in ladder.programs if start.source]
