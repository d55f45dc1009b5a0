"""Who may come in: everybody under the name he says (one's own machine), or whoever has a key for that name.

The keys are in keys, the handshake in zap; here a connection's key and its hello become an owner and a bot.
"""

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import zmq

from protocol.dialling import Hello, printable
from protocol.transports.keys import KeyPair, read_pair
from referee.lobby.guest import Identity
from referee.lobby.journal import Journal
from referee.lobby.keys import Entry, Refusal, Registry, RegistryError
from referee.lobby.reading import Reading
from referee.lobby.zap import Gatekeeper, Refused, Zap, require_keys

Context = zmq.Context["zmq.Socket[bytes]"]

_STRANGERS = 20  # unknown keys that are told one by one in a minute; the others by their addresses
_MINUTE = 60.0  # seconds


class NotAdmitted(Exception):
    """A connection is refused; `word` to count by, str() says why and what to do. `lasting`: time changes nothing."""

    def __init__(self, word: str, reason: str, *, lasting: bool = False) -> None:
        super().__init__(reason)
        self.word = word
        self.lasting = lasting


@dataclass(frozen=True, slots=True)
class Author:
    """Who gives orders: an owner, and the bots that he may speak for (None: for any, and `owner` is "")."""

    owner: str
    bots: tuple[str, ...] | None = None

    def speaks_for(self, bot: str) -> bool:
        return self.bots is None or bot in self.bots


class Admission(Protocol):
    """`authenticated`: whether connections carry a key, which every message is then checked for."""

    authenticated: bool

    def identify(self, key: str, hello: Hello) -> Identity:
        """Raises NotAdmitted."""

    def author(self, key: str) -> Author:
        """Raises NotAdmitted."""

    def limits(self, owner: str, defaults: Mapping[str, int]) -> Mapping[str, int]:
        """What an owner may take: `connections`, `matches`, `messages` and `bytes` a second."""

    def prepare(self, context: Context, socket: "zmq.Socket[bytes]") -> None:
        """Before the socket is bound."""

    def open(self) -> None:
        """In the running loop."""

    def close(self) -> None: ...

    def changed(self) -> bool:
        """Whether who is admitted may be others than a moment ago."""


class Anybody:
    """For a loopback address: whoever can reach it is who he says, and his own owner."""

    authenticated = False

    def identify(self, key: str, hello: Hello) -> Identity:
        return Identity(hello.name, hello.name)

    def author(self, key: str) -> Author:
        return Author("")

    def limits(self, owner: str, defaults: Mapping[str, int]) -> Mapping[str, int]:
        return defaults

    def prepare(self, context: Context, socket: "zmq.Socket[bytes]") -> None:
        """Nothing to prepare."""

    def open(self) -> None:
        """Nothing to open."""

    def close(self) -> None:
        """Nothing to close."""

    def changed(self) -> bool:
        return False


class Keyed:
    """Admits those with a key of the registry. Raises KeyFileError, RegistryError for files that cannot be used.

    A registry that is not `needed` may be missing: no key is accepted until the file exists.
    """

    authenticated = True

    def __init__(self, pair: Path, registry: Path, journal: Journal, needed: bool = True) -> None:
        self.pair: KeyPair = read_pair(pair)
        self._registry = Registry(registry)
        if self._registry.problem:
            if needed or registry.exists():
                raise RegistryError(self._registry.problem)
            journal.tell("keys", "problem", reason=f"nobody else is let in: {self._registry.problem}")
        self._journal = journal
        self._keeper = Gatekeeper(self._registry, self._tell)
        self._strangers: deque[float] = deque(maxlen=_STRANGERS)  # when unknown keys were told one by one
        self._zap: Zap | None = None
        self._reading: Reading | None = None

    def identify(self, key: str, hello: Hello) -> Identity:
        entry = self._entry(key)
        if hello.name not in entry.bots:
            name = printable(hello.name, 60)
            bots = ", ".join(entry.bots[:5])
            raise NotAdmitted("forged", f"this key speaks for {bots}, not for {name!r}: use such a name", lasting=True)
        return Identity(entry.owner, hello.name)

    def author(self, key: str) -> Author:
        entry = self._entry(key)
        return Author(entry.owner, entry.bots)

    def limits(self, owner: str, defaults: Mapping[str, int]) -> Mapping[str, int]:
        return self._registry.limits(owner).over(defaults)

    def _entry(self, key: str) -> Entry:
        entry = self._registry.find(key)
        if isinstance(entry, Refusal):
            raise NotAdmitted("key", f"{entry}: ask the operator of this lobby", lasting=True)
        return entry

    def prepare(self, context: Context, socket: "zmq.Socket[bytes]") -> None:
        self._zap = Zap(context, self._keeper)
        require_keys(socket, self.pair)

    def open(self) -> None:
        assert self._zap is not None
        self._reading = Reading(self._zap.socket, self._answer)

    def close(self) -> None:
        if self._reading is not None:
            self._reading.close()
        if self._zap is not None:
            self._zap.close()
        self._reading = self._zap = None

    def changed(self) -> bool:
        if self._registry.refresh():
            self._journal.tell("keys", "problem" if self._registry.problem else "read", reason=self._registry.problem)
        return True  # keys expire without a change of the file

    def _answer(self) -> None:
        if self._zap is None or not self._zap.handle_one():
            raise zmq.Again

    def _tell(self, refused: Refused) -> None:
        now, source = time.monotonic(), f"{refused.address} {refused.key}".strip()
        if self._registry.find(refused.key) is Refusal.UNKNOWN:  # such keys cost nothing to make
            if len(self._strangers) == _STRANGERS and now - self._strangers[0] < _MINUTE:
                source = refused.address
            else:
                self._strangers.append(now)
        self._journal.trouble(
            now,
            "refused",
            "handshake",
            source,
            refused.times,
            key=refused.key,
            reason=refused.reason,
        )
