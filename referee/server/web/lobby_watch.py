"""One spectator of a lobby on behalf of all visitors of a site: its matches as they are played, followed on demand.

A connection of spectators may hold few subscriptions, so there are more of them when many matches are watched at a
time. Each is a thread; a connection that is lost is made again, and the missed events are asked for by number.
"""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from ggp.protocol.errors import Problem
from ggp.protocol.records import Event, MatchEnded, MatchStarted, MovePlayed, Record
from ggp.protocol.spectator_wire import is_match_id
from ggp.protocol.token_bucket import TokenBucket
from ggp.protocol.transports.spectator import (
    Connected,
    Disconnected,
    LadderNews,
    MatchEvent,
    MatchRestarted,
    MatchUnknown,
    Spectator,
    SpectatorUpdate,
)
from ggp.referee.records import LiveHead

ROOM = 20  # matches of a connection: each takes two subscriptions at once, of the 50 that a lobby takes at once
CONNECTIONS = 25
SHOWN = 48  # matches of a lobby on the wall, the newest
IDLE = 30.0  # seconds for which a match that is not read stays
_RATE = 4.0  # matches a second that a connection begins to follow
_LOOK = 0.05  # seconds between looks for new wishes
_PATIENCE = 1.5  # seconds for the first event of a match
_MOMENT = 0.5  # seconds to wait for the state of matches that were not followed before
_SETTLED = 0.05  # seconds in which the plies of a match arrive after its begin
_AGAIN = 5.0  # seconds until a lobby that refused is tried again


@dataclass(eq=False)
class WatchedMatch:
    """A match as far as its events came, in order and each once. Any thread may read."""

    match: str
    start: MatchStarted | None = None
    plies: list[MovePlayed] = field(default_factory=list)
    end: MatchEnded | None = None
    lost: bool = False  # the lobby does not know it, or took it up from an earlier ply: then there is another one
    used: float = field(default_factory=time.monotonic)
    changed: float = field(default_factory=time.monotonic)
    some: threading.Event = field(default_factory=threading.Event)

    def read(self) -> Record | None:
        """The record so far, None before its begin."""
        self.used = time.monotonic()
        return Record(self.start, tuple(self.plies), self.end) if self.start is not None else None

    def playing(self) -> bool:
        """Whether more may come here."""
        return self.end is None and not self.lost

    def idle(self) -> int:
        """ms since its last event."""
        return int(1000 * (time.monotonic() - self.changed))

    def add(self, event: Event) -> None:
        self.changed = time.monotonic()
        if isinstance(event, MatchStarted):
            self.start = event
        elif isinstance(event, MovePlayed):
            self.plies.append(event)
        else:
            self.end = event
        self.some.set()

    def lose(self) -> None:
        self.lost = True
        self.some.set()


class LobbyWatch:
    """Any thread may call. `trouble`: why nothing comes from the lobby, "" while it does."""

    def __init__(self, url: str, server_key: str) -> None:
        """Raises AddressError."""
        self._url, self._server_key = url, server_key
        self._lock = threading.Lock()
        self._looked = -IDLE  # when a visitor last looked at all matches
        self._watchers = [_Watcher(url, server_key, self._follow_new)]
        self._watchers[0].start()

    @property
    def trouble(self) -> str:
        return self._watchers[0].trouble

    def heads(self) -> list[LiveHead]:
        """The matches under way, oldest first; those that begun last are followed.

        The lobby says how far a match is only to those who follow it, so a match that is seen for the first time is
        waited for; otherwise every match that is over before the next look would stand at ply 0.
        """
        self._looked = time.monotonic()
        heads = self._newest()
        known = {name for watcher in self._watchers for name in list(watcher.matches)}
        followed = {head.match: found for head in heads if (found := self._follow(head.match))}
        new = [one for name, one in followed.items() if name not in known]
        for one in new:
            one.some.wait(max(0.0, self._looked + _MOMENT - time.monotonic()))
        if new:
            time.sleep(_SETTLED)
        plies = {name: len(one.plies) for name, one in followed.items()}
        return [head._replace(ply=max(head.ply, plies.get(head.match, 0))) for head in heads]

    def _newest(self) -> list[LiveHead]:
        return sorted(self._watchers[0].heads, key=lambda head: head.started)[-SHOWN:]

    def _follow_new(self) -> None:
        """Follow what begins while a visitor looks, so that the next look finds it as it stands."""
        if time.monotonic() - self._looked < IDLE:
            for head in self._newest():
                self._follow(head.match)

    def find(self, match: str, under_way: bool = True) -> WatchedMatch | None:
        """A match, once its first events have come. under_way: only if it is, or was when it was followed."""
        with self._lock:
            found = next((one for watcher in self._watchers if (one := watcher.matches.get(match))), None)
        if found is None or found.lost:
            if under_way and all(head.match != match for head in self._watchers[0].heads):
                return None
            found = self._follow(match)
        if found is None or not found.some.wait(_PATIENCE) or found.start is None:
            return None
        return found

    def close(self) -> None:
        for watcher in self._watchers:
            watcher.closed = True

    def _follow(self, match: str) -> WatchedMatch | None:
        """None if there is no room, or this is no name of a match."""
        if not is_match_id(match):
            return None
        with self._lock:
            for watcher in self._watchers:
                if (found := watcher.matches.get(match)) is not None and not found.lost:
                    return found
            roomy = next((watcher for watcher in self._watchers if watcher.make_room()), None)
            if roomy is None and len(self._watchers) < CONNECTIONS:
                roomy = _Watcher(self._url, self._server_key)
                roomy.start()
                self._watchers.append(roomy)
            return roomy.follow(match) if roomy else None


class _Watcher(threading.Thread):
    """One connection, and the matches that it follows. `news`: called after matches began or ended."""

    def __init__(self, url: str, server_key: str, news: Callable[[], None] | None = None) -> None:
        super().__init__(name="watch", daemon=True)
        self._url, self._server_key, self._news = url, server_key, news
        self._spectator = Spectator(url, server_key)
        self._wishes: deque[tuple[bool, str]] = deque()  # to follow or to leave
        self._bucket = TokenBucket(_RATE, ROOM, time.monotonic())
        self.matches: OrderedDict[str, WatchedMatch] = OrderedDict()
        self.heads: list[LiveHead] = []
        self.trouble = f"The bot server at {url} has not answered yet."
        self.closed = False

    def make_room(self) -> bool:
        """Whether one more match can be followed. What is over or was not read for a while makes room."""
        now = time.monotonic()
        idle = [name for name, one in self.matches.items() if now - one.used > IDLE and one.some.is_set()]
        for name in idle if len(self.matches) >= ROOM else ():
            del self.matches[name]
            self._wishes.append((False, name))
        return len(self.matches) < ROOM

    def follow(self, match: str) -> WatchedMatch:
        found = self.matches[match] = WatchedMatch(match)
        self._wishes.append((True, match))
        return found

    def run(self) -> None:
        while not self.closed:
            try:
                with self._spectator:
                    self._watch()
            except Problem as refused:  # AccessRefused: its keys may change
                self.trouble = f"The bot server refuses spectators: {refused}."
                time.sleep(_AGAIN)
                self._spectator = Spectator(self._url, self._server_key)
                for one in self.matches.values():
                    one.lose()
                self.matches.clear()

    def _watch(self) -> None:
        if self._news is not None:
            self._spectator.follow_ladder()
        while not self.closed:
            while self._wishes and self._bucket.try_consume(1, time.monotonic()):
                begins, match = self._wishes.popleft()
                (self._spectator.follow if begins else self._spectator.leave)(match)
            if (update := self._spectator.read(_LOOK)) is not None:
                self._take(update)

    def _take(self, update: SpectatorUpdate) -> None:
        match update:
            case MatchEvent(name, event):
                if (found := self.matches.get(name)) is not None:
                    found.add(event)
            case MatchRestarted(name):
                if (found := self.matches.get(name)) is not None:
                    self.matches[name] = WatchedMatch(name)
                    found.lose()
            case MatchUnknown(name):
                if (found := self.matches.pop(name, None)) is not None:
                    found.lose()
            case LadderNews():
                matches = self._spectator.roll.matches.values()
                self.heads = [
                    LiveHead(head.match, head.game, head.options, head.bots, head.control, head.started, head.plies)
                    for head in matches
                ]
                if self._news is not None:
                    self._news()
            case Connected():
                self.trouble = ""
            case Disconnected(reason):
                self.trouble = f"The bot server is away ({reason}); what is missed comes when it is back."
