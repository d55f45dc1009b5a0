"""Who is to blame when a bot loses time that it did not use, judged over many games.

One game cannot tell the opponent from the machine, nor from the bot itself, which could arm timers against itself. Many
games can: if a bot loses time against only one opponent, that opponent is to blame; if it does against all, the machine
or the bot itself is. A match between two bots therefore reports only how much time was lost.
"""

import operator
from dataclasses import astuple, dataclass
from typing import NamedTuple

STOLEN_TIME, SLOW_INPUT = "stolen_time", "slow_input"
LEAST_STOLEN = 10  # ms in a game
LEAST_SHARE = 0.02  # share of the time that the bot would have been charged
LEAST_SLOW = 30  # ms in a game: three slow writes
REPEATED = 3  # games
_OTHERS = 5  # at most every fifth game against others may have lost time, too


class Interference(NamedTuple):
    """A repeated fault of a bot that does not end games. `reason` completes a sentence that begins with its name."""

    who: str
    kind: str
    games: int
    reason: str


@dataclass(slots=True)
class Losses:
    """The lost time of one bot in its games against one opponent."""

    games: int = 0
    robbed: int = 0  # games in which interrupts took time
    stolen: int = 0  # ms that they took
    slow: int = 0  # games with slow writes to the bot
    slow_input: int = 0  # ms that these took

    def add(self, used: int, stolen: int, slow: int) -> None:
        """Add a game.

        Args:
            used: Ms that the bot was charged.
            stolen: Ms that interrupts took.
            slow: Ms that slow writes to the bot took.
        """
        self.games += 1
        if stolen >= LEAST_STOLEN and stolen >= LEAST_SHARE * (stolen + used):
            self.robbed += 1
            self.stolen += stolen
        if slow >= LEAST_SLOW:
            self.slow += 1
            self.slow_input += slow

    def __add__(self, other: "Losses") -> "Losses":
        return Losses(*map(operator.add, astuple(self), astuple(other)))


class InterferenceTable:
    """The lost time of every bot against every opponent, and the faults that it proves."""

    def __init__(self) -> None:
        self._losses: dict[tuple[str, str], Losses] = {}
        self._told: set[tuple[str, str, str]] = set()

    def add(self, bot: str, opponent: str, losses: Losses) -> None:
        """Add what `bot` lost in games against `opponent`."""
        self._losses[bot, opponent] = self._losses.get((bot, opponent), Losses()) + losses

    def add_game(
        self, bots: tuple[str, str], used: tuple[int, int], stolen: tuple[int, int], slow: tuple[int, int]
    ) -> list[Interference]:
        """Add a game.

        Args:
            bots: The two bots; the other arguments are in the same order.
            used: Ms that each was charged.
            stolen: Ms that interrupts took from each.
            slow: Ms that slow writes to each took.

        Returns:
            The faults that are proven for the first time.
        """
        new = list[Interference]()
        for index in (0, 1):
            losses = Losses()
            losses.add(used[index], stolen[index], slow[index])
            self.add(bots[index], bots[1 - index], losses)
        for bot, opponent in (bots, bots[::-1]):
            for fault in (self._stolen(bot, opponent), self._slow_input(bot)):
                if fault is not None and (key := (fault.who, fault.kind, bot)) not in self._told:
                    self._told.add(key)
                    new.append(fault)
        return new

    def faults(self) -> list[Interference]:
        """Return all faults that the games prove."""
        found = [self._stolen(bot, opponent) for bot, opponent in self._losses]
        found += [self._slow_input(bot) for bot in dict.fromkeys(bot for bot, _ in self._losses)]
        return [fault for fault in found if fault is not None]

    def _stolen(self, bot: str, opponent: str) -> Interference | None:
        """Return the fault of `opponent` if `bot` loses time repeatedly, and with this opponent only."""
        here = self._losses[bot, opponent]
        if here.robbed < REPEATED or 2 * here.robbed < here.games:
            return None
        others = sum((one for (who, other), one in self._losses.items() if who == bot and other != opponent), Losses())
        # Without games against others the machine may have taken the time, from the bot that thinks longest.
        if others.games < REPEATED or _OTHERS * others.robbed > others.games:
            return None
        reason = (
            f"interrupts took {here.stolen} ms from {bot} in {here.robbed} of {here.games} games against it, and in "
            f"{others.robbed} of {others.games} against others; they were not charged to {bot}"
        )
        return Interference(opponent, STOLEN_TIME, here.robbed, reason)

    def taken(self) -> dict[str, int]:
        """Return the ms that interrupts took from each bot that lost any, in its games with losses."""
        found: dict[str, int] = {}
        for (bot, _), losses in self._losses.items():
            if losses.stolen:
                found[bot] = found.get(bot, 0) + losses.stolen
        return found

    def _slow_input(self, bot: str) -> Interference | None:
        mine = sum((one for (who, _), one in self._losses.items() if who == bot), Losses())
        if not mine.slow:
            return None
        where = f"in {mine.slow} of {mine.games} games"
        reason = f"writes to its input took {mine.slow_input} ms {where}, which were charged to it"
        return Interference(bot, SLOW_INPUT, mine.slow, reason)
