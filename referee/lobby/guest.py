"""A bot that has dialled in: whose it is, what it plays, and the line to it. Who may come in is the hall's to say."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from protocol.records import Party
from referee.ladder.entries import Entrant, Pool
from referee.lobby.line import Line
from referee.play.player import Player
from referee.play.seating import Start
from referee.play.versions import DIGITS

DIALLED = "dialled in"  # in place of a command line


@dataclass(frozen=True, slots=True)
class Local:
    """A bot of the lobby's own file, here `copies` times at once. `hash`: of its program."""

    entrant: Entrant
    copies: int = 1
    hash: str = ""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who speaks: proved by a key, or only said where no keys are asked for. Bots of one owner do not meet.

    Of a local bot the server knows it, and `copy` counts from 0: copies are one bot that plays many matches at a time.
    """

    owner: str
    name: str
    local: Local | None = None
    copy: int = 0

    @property
    def seat(self) -> str:
        """By which there is one at a time: the name, of further copies one that nobody can have."""
        return f"{self.name}#{self.copy}" if self.copy else self.name

    @property
    def key(self) -> str:
        """What it is remembered by."""
        return f"{self.owner}/{self.seat}"


@dataclass(slots=True, eq=False)
class Guest:
    """One bot. `player` is None until it has said what it is; `playing`: it sits at a table."""

    identity: Identity
    games: frozenset[str]  # empty: all
    line: Line
    player: Player | None = None
    version: str = ""
    playing: bool = False
    challenges: bool = True  # whether it takes any
    leaving: bool = False  # it has said that it takes no other game
    challenged: bool = False  # its last meeting was a challenge, and it has not been offered a rated one since
    _entry: Entrant | None = None
    barred: set[str] = field(default_factory=set)  # pools that it cannot play in

    @property
    def name(self) -> str:
        return self.identity.name

    @property
    def start(self) -> Start:
        """As ladders know it. Its version is what it says it is: nobody can look into it, unless it is local."""
        local = self.identity.local
        return local.entrant.start if local else Start(self.name, DIALLED, version=self.version)

    @property
    def party(self) -> Party:
        """Who it is before it has said anything, as records know it."""
        local = self.identity.local
        return Party(name=self.name, command=self.start.command, hash=local.hash if local else "")

    def entry(self, pools: Sequence[Pool]) -> Entrant:
        """What it is entered as: a local bot as the file says, another one in every pool whose game it plays.

        Who takes challenges is in the unrated pools beside these, too.
        """
        if self._entry is None:  # it is asked for with every look
            if local := self.identity.local:
                rated = local.entrant
            else:
                theirs = tuple(pool.name for pool in pools if pool.rated and self.plays(pool.setting.game))
                rated = Entrant(self.name, self.start, theirs)
            self._entry = rated.with_unrated() if self.challenges else rated
        return self._entry

    def take_challenges(self, takes: bool) -> None:
        """Whether it takes any from now on."""
        self.challenges, self._entry = takes, None

    def met(self, player: Player) -> None:
        """It has said what it is."""
        said = json.dumps([DIALLED, player.party.program, player.party.version])
        self.player = player
        self.version = hashlib.sha256(said.encode()).hexdigest()[:DIGITS]
        if local := self.identity.local:
            self.version = local.entrant.version
        self._entry = None

    def plays(self, game: str) -> bool:
        return not self.games or game in self.games
