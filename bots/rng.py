"""The random numbers of a built-in bot, from its own seed and from that of the match if there is one."""

import random


class BotRng(random.Random):
    """A generator for all random choices of a bot.

    With its own seed 0, each process differs until a match brings a seed.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed or None)
        self._own = seed
        self._match = ""  # both seeds, once a match brings one

    def begin_match(self, seed: int) -> None:
        """Make all further numbers depend only on this seed and the bot's own."""
        self._match = f"{self._own} {seed}"
        self.seed(self._match)

    def begin_ply(self, ply: int) -> None:
        """In a match with a seed, make the next numbers depend on the ply and not on earlier numbers.

        So an interrupted match continues unchanged, although its bots are new processes.
        """
        if self._match:
            self.seed(f"{self._match} {ply}")
