"""Who steers a run of a ladder from outside, as the run sees it. This one is nobody: the run goes its own way."""

import time
from typing import TYPE_CHECKING

from referee.play.worker import Chunk, Work

if TYPE_CHECKING:
    from referee.ladder.run import LadderRun


class Helm:
    """Asked by the loop of a run, in its thread, several times a second.

    `holds`: no pair of the ladder is given out now. `ending`: why the run is to end at once, "" while it is not.
    `busy`: the run goes on when its time is over, for what is not the ladder's.
    """

    holds = False
    ending = ""
    busy = False

    def serve(self, run: "LadderRun") -> None:
        """Do what was asked in the meantime."""

    def stays(self, why: str) -> bool:
        """Whether a run with nothing to play, and why that is, waits to be told to end."""
        return False

    def rest(self, seconds: float) -> None:
        """Nothing is being played: wait, or less if somebody asks for something."""
        time.sleep(seconds)

    def begun(self) -> None:
        """The run begins, or begins anew with another configuration."""

    def work(self) -> list[Work]:
        """What is to be played next that is not the ladder's."""
        return []

    def took(self, chunk: Chunk) -> bool:
        """Whether this came of `work`."""
        return False

    def lost(self) -> None:
        """The workers are gone: what they had of `work` is played again."""
