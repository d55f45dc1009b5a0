"""A connection to the lobby: who is behind it, as far as it has said so, and how much it may say. Decides nothing."""

from collections.abc import Iterable
from dataclasses import dataclass

from referee.lobby.admission import Author, NotAdmitted
from referee.lobby.allowance import Allowance
from referee.lobby.guest import Guest

STRANGER = 4.0  # messages a second of a connection that has not said who it is
AUTHORS, ORDERS = 8, 10.0  # connections for orders of one author, commands a second on each
PAUSE = 60.0  # seconds between orders


@dataclass(slots=True)
class Caller:
    """`guest` once it has said who it is; `author` once it has given an order. Times as time.monotonic has them."""

    address: str
    since: float
    user: str
    allowance: Allowance
    hellos: Allowance
    guest: Guest | None = None
    author: Author | None = None
    refused: bool = False

    def orders(self, author: Author, callers: Iterable["Caller"], octets: float, now: float) -> None:
        """This author gives orders here; `octets` a second. Raises NotAdmitted if he does so in too many places."""
        if self.author is None:
            theirs = sum(one.author == author and not one.refused for one in callers)
            if author.owner and theirs >= AUTHORS:
                raise NotAdmitted("connections", f"{AUTHORS} connections for orders are as many as may be")
            self.allowance = Allowance(ORDERS, octets, now)
        self.author, self.since = author, now

    def silent(self, patience: float, now: float) -> bool:
        """Whether it has said nothing for too long; `patience` is for a hello. A bot may be silent."""
        patience = patience if self.author is None else PAUSE
        return self.guest is None and not self.refused and now - self.since > patience
