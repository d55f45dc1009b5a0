"""The workers of a pool, in memory that they share with their parent: who they are, and what they all were told.

There is no lock in it, for whoever is killed while he holds one holds it for ever. Each slot is one aligned word, and
one process alone writes it.
"""

import contextlib
import hashlib
import os
import signal
from collections.abc import Iterable
from multiprocessing.context import SpawnContext
from struct import Struct

CALLED_OFF = 64  # the newest matches that were called off are remembered
# What a worker makes of these, `worker` says. ABANDON is not SIGTERM, which an executor sends to workers as well.
ABANDON = signal.SIGUSR1
DROP = signal.SIGUSR2
_PLACE = Struct("i")


class Crew:
    """At most `size` workers. Made by the parent, who gives it to each of them as they are started."""

    def __init__(self, context: SpawnContext, size: int) -> None:
        self._places, free = context.Pipe(duplex=False)
        with free:  # so little fits in; a read takes out one whole number, whoever else reads
            os.write(free.fileno(), b"".join(map(_PLACE.pack, range(size))))
        self._pids = context.RawArray("i", size)  # 0: nobody has that place yet
        self._told = context.RawValue("i", 0)  # the signal that all were sent, 0 before
        self._called_off = context.RawArray("Q", CALLED_OFF)
        self._next = 0  # among these
        self._matches = context.RawArray("Q", size)  # what each place plays now, 0: nothing
        self._since = context.RawArray("d", size)  # from when on, seconds of CLOCK_MONOTONIC

    # -- the parent's ------------------------------------------------------------------------------------------------

    def tell(self, number: signal.Signals) -> None:
        """Signal every worker; one that has yet to begin will find that it was told."""
        self._told.value = number
        self._signal(number)

    def call_off(self, keys: Iterable[str]) -> None:
        """None of these matches is begun, and whoever is in one drops it. The oldest marks are forgotten."""
        for key in keys:
            self._called_off[self._next] = mark(key)
            self._next = (self._next + 1) % CALLED_OFF
        self._signal(DROP)

    def playing(self) -> dict[int, float]:
        """The marks of the matches that are being played, and since when (CLOCK_MONOTONIC)."""
        return {match: since for match, since in zip(self._matches[:], self._since[:], strict=True) if match}

    def _signal(self, number: signal.Signals) -> None:
        for pid in self._pids[:]:
            if pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)

    # -- a worker's --------------------------------------------------------------------------------------------------

    def join(self) -> int:
        """Take a place: its number, from 0. What all were told before comes now, or once more, as a signal."""
        with self._places as free:
            (place,) = _PLACE.unpack(os.read(free.fileno(), _PLACE.size))
        self._pids[place] = os.getpid()
        if self._told.value:
            os.kill(os.getpid(), self._told.value)
        return int(place)

    def plays(self, place: int, match: int, now: float) -> None:
        """It begins the match with this mark, or 0: it plays none."""
        if match:
            self._since[place] = now
        self._matches[place] = match

    def is_called_off(self, match: int) -> bool:
        """Whether this mark is one of those."""
        return match in self._called_off[:]


def mark(key: str) -> int:
    """A match in so many bits that no two are taken for each other; never 0."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8]) >> 1 or 1
