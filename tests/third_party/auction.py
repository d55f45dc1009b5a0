"""# Auction

A third-party game that is nothing but bidding: seat 1 bids a komi, seat 2 chooses a side, Black draws a number from 1
to 10 and wins if it is more than the komi; an equal number is a draw. So 5 or 6 is even. It is not part of the project.
"""

from ggp.engines.game import Game, Options, Scene
from ggp.engines.python_state import PlainState
from ggp.engines.scene import square

RULES = __doc__


class AuctionState(PlainState):
    komi = -1
    swapped = False

    def key(self) -> str:
        return f"{self.komi} {self.swapped} {self.ply}"

    def canonical(self, move: str) -> str:
        return move.lower()

    def legal_moves(self) -> list[str]:
        if self.phase == "bid":
            return sorted(f"bid:{komi}" for komi in range(101))
        if self.phase == "choose":
            return ["keep-sides", "swap-sides"]
        return [] if self.result else sorted(f"draw:{number}" for number in range(1, 11))

    def make(self, move: str) -> None:
        word, _, number = move.partition(":")
        if word == "bid":
            self.komi = int(number)
        elif word == "draw":
            margin = int(number) - self.komi
            self.result = "0" if not margin else "B+" if margin > 0 else "W+"
        else:
            self.swapped = word == "swap-sides"

    @property
    def phase(self) -> str:
        return "over" if self.result else ("bid", "choose", "play")[self.ply]

    @property
    def to_play(self) -> str:
        return {"over": "none", "choose": "white"}.get(self.phase, "black")

    @property
    def seat(self) -> int:
        return {"over": 0, "bid": 1, "choose": 2}.get(self.phase, 2 if self.swapped else 1)

    @property
    def winner(self) -> int:
        black = 2 if self.swapped else 1
        return {"B": black, "W": 3 - black}.get(self.result[:1], 0)

    def scene(self) -> Scene:
        return square(1, 1, lines=False)


class Auction(Game):
    name = "auction"
    rules = RULES

    def new(self, options: Options) -> AuctionState:
        return AuctionState()


GAME = Auction()
