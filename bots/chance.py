"""The one source of chance of a built-in bot: its own seed, and that of the match if it is told one."""

import random


class Chance(random.Random):
    """All that a bot draws. Its own seed 0: another one in every process, until a match brings one."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed or None)
        self._own = seed

    def begin_match(self, seed: int) -> None:
        """From here on what is drawn depends on this and the bot's own seed alone, whatever was drawn before."""
        self.seed(f"{self._own} {seed}")
