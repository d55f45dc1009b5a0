"""A bot that has dialled in: whose it is, what it plays, and the line to it. Who may come in is the hall's to say."""

import hashlib
import json
from dataclasses import dataclass, field

from referee.lobby.line import Line
from referee.play.player import Player
from referee.play.seating import Start
from referee.play.versions import DIGITS

DIALLED = "dialled in"  # in place of a command line


@dataclass(frozen=True, slots=True)
class Identity:
    """Who speaks: proved by a key, or only said where no keys are asked for. Bots of one owner do not meet."""

    owner: str
    name: str


@dataclass(slots=True, eq=False)
class Guest:
    """One bot. `player` is None until it has said what it is; `playing`: it sits at a table."""

    identity: Identity
    games: frozenset[str]  # empty: all
    line: Line
    player: Player | None = None
    version: str = ""
    playing: bool = False
    barred: set[str] = field(default_factory=set)  # pools that it cannot play in

    @property
    def name(self) -> str:
        return self.identity.name

    @property
    def start(self) -> Start:
        """As ladders know it. Its version is what it says it is: nobody can look into it."""
        return Start(self.name, DIALLED, version=self.version)

    def met(self, player: Player) -> None:
        """It has said what it is."""
        said = json.dumps([DIALLED, player.party.program, player.party.version])
        self.player = player
        self.version = hashlib.sha256(said.encode()).hexdigest()[:DIGITS]

    def plays(self, game: str) -> bool:
        return not self.games or game in self.games
