"""Everything of a lobby that pairs bots, on a real store, without sockets: matches wait for the test to end them."""

from collections.abc import Iterable, Mapping, Sequence

from ggp.protocol.records import Record
from ggp.referee.ladder.store.model import Entrant, Pair, Pool
from ggp.referee.ladder.store.store import Store
from ggp.referee.match.bot_spec import BotSpec
from ggp.referee.server.lobby.challenges import Challenges, Unrated
from ggp.referee.server.lobby.config import LobbyTable
from ggp.referee.server.lobby.game import RunningPairs
from ggp.referee.server.lobby.log import EventLog
from ggp.referee.server.lobby.matchmaking import Matchmaker, Rated
from ggp.referee.server.lobby.open_pairs import OpenPairs, StoreWriter
from ggp.referee.server.lobby.remote_bot import DIALLED, ConnectedBot, Identity, Lateness, RemoteBot
from tests.support.stores import ladder, match

Playing = tuple[OpenPairs, Pair, tuple[ConnectedBot, ConnectedBot]]


def connected_bot(name: str, owner: str = "", version: str = "v1", challenges: bool = True) -> ConnectedBot:
    """A bot on a connection that takes everything."""
    line = RemoteBot(lambda route, kind, payloads: True, Lateness(), 0.1)
    line.come_back(b"route")
    return ConnectedBot(Identity(owner or name, name), frozenset(), line, version=version, challenges=challenges)


class Club(RunningPairs):
    """The pools of a lobby; challenges are played in those that are not rated."""

    def __init__(
        self,
        store: Store,
        pools: Sequence[Pool],
        owners: Mapping[str, str] | None = None,
        table: LobbyTable | None = None,
    ) -> None:
        """Connect nobody yet. Without its name in `owners` a bot is its own owner."""
        self.store, self.event_log = store, EventLog(quiet=True)
        self.writer = StoreWriter(store, self.event_log)
        self.here: list[ConnectedBot] = []
        self.playing: list[Playing] = []
        self.met: list[tuple[str, str, str]] = []  # pool and names, in order
        self._pools, self._owners, self._table = pools, owners or {}, table or LobbyTable()
        self._known: dict[str, Entrant] = {}
        club = ladder([], pools)
        rows = store.enrol(club)
        self._makers = [Matchmaker(club, one, rows[one.name], store) for one in pools if one.rated]
        self._unrated = [Unrated(one, rows[one.name], store) for one in pools if not one.rated]
        self.rated = Rated(self._makers, self, self.writer)
        self.challenges = self.anew()

    @property
    def unrated(self) -> Unrated:
        """The only pool for challenges."""
        (one,) = self._unrated
        return one

    def anew(self) -> Challenges:
        """As after a restart."""
        for one in self._unrated:
            one.load()
        return Challenges(self._unrated, self._table, self, self.rated, self.writer, self.store, self.event_log)

    def come(
        self, *names: str, pools: tuple[str, ...] = ("fast",), challenges: bool = True, version: str = "v1"
    ) -> None:
        """Connect these bots, and enter them into the store."""
        for name in names:
            bot = connected_bot(name, self._owners.get(name, name), version, challenges)
            self.here = [one for one in self.here if one.name != name] + [bot]
            entry = Entrant(name, BotSpec(name, DIALLED, version=version), pools)
            self._known[name] = entry.with_unrated() if challenges else entry
        self.store.enrol(ladder(list(self._known.values()), self._pools))
        for one in (*self._makers, *self._unrated):
            one.enrolled()

    def leave(self, name: str) -> None:
        self.here = [one for one in self.here if one.name != name]

    # -- as RunningPairs, without matches -----------------------------------------------------------------------------

    def bots(self) -> list[ConnectedBot]:
        return self.here

    def idle(self) -> list[ConnectedBot]:
        return [bot for bot in self.here if not bot.playing]

    def room_left(self) -> bool:
        return True

    def start(
        self, open_pairs: OpenPairs, pair: Pair, bots: tuple[ConnectedBot, ConnectedBot], before: Record | None = None
    ) -> None:
        open_pairs.claim(pair)
        for bot in bots:
            bot.playing, bot.challenged = True, not open_pairs.pool.rated
        self.playing.append((open_pairs, pair, bots))
        self.met.append((open_pairs.pool.name, bots[0].name, bots[1].name))

    # -- the end of matches ------------------------------------------------------------------------------------------

    def finish(self, left: bool = False) -> None:
        """Every match ends; `left`: before it began, because a bot left."""
        for open_pairs, pair, bots in self.playing if not left else ():
            names = [bot.name for bot in bots]
            for result in self.store.add([match(pair, 0, 0, names=names), match(pair, 1, 0, names=names)]):
                open_pairs.fix(result)
        self.release(list(self.playing), left)

    def release(self, some: Iterable[Playing], left: bool = False) -> None:
        """These matches are over, without a result; `left`: they are still to be played."""
        for one in some:
            self.playing.remove(one)
            open_pairs, pair, bots = one
            open_pairs.release(pair, pair if left else None)
            for bot in bots:
                bot.playing = False

    async def look(self) -> None:
        """A round of pairing."""
        await self.challenges.update()
        await self.rated.pair_idle(self.challenges.waiting_challengers())

    async def play(self, rounds: int) -> list[tuple[str, str, str]]:
        """The pairs of so many rounds."""
        before = len(self.met)
        for _ in range(rounds):
            await self.look()
            self.finish()
        return list(self.met[before:])
