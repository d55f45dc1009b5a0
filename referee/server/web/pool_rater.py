"""Ratings of pools that the store does not have, made by one thread and kept: no page computes them itself."""

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ggp.referee.ladder.standings import RatedLater, rate_pool
from ggp.referee.ladder.store.model import PoolEntry
from ggp.referee.ladder.store.store import Store
from ggp.referee.server.web.guard import PATIENT

if TYPE_CHECKING:
    from ggp.referee.ratings.ratings import Ratings  # loads numpy, which stored ratings do not need

_MOMENT = 0.5  # seconds that a page waits for ratings
_PATIENT = 10.0  # seconds that one waits which is made for the next visitor, too, where there are none yet
_SHARE = 10.0  # times that ratings took to make, for which they are not made again, whatever is played
_POOLS = 8  # whose ratings are kept: of 1000 versions they take 8 MB


@dataclass(frozen=True, slots=True)
class _Basis:
    """What ratings were made from."""

    games: int
    model: str
    seats: tuple[PoolEntry, ...]


@dataclass(frozen=True, slots=True)
class _RatedPool:
    basis: _Basis
    ratings: "Ratings | None"
    began: float
    ended: float

    @property
    def took(self) -> float:
        return self.ended - self.began


class PoolRater:
    """See the module; it is a Rater that any thread may call. `clock`: for tests."""

    def __init__(self, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._url, self._clock = url, clock
        self._thread = ThreadPoolExecutor(1, "rater")
        self._lock = threading.Lock()
        self._made: dict[int, _RatedPool] = {}
        self._making: dict[int, Future[_RatedPool]] = {}

    def __call__(
        self, store: Store, pool: int, seats: Sequence[PoolEntry], model: str, least: int = 0
    ) -> "Ratings | None":
        """The last ones where new ones take longer than a moment. Raises RatedLater if there are none."""
        basis = _Basis(store.counted(pool), model, tuple(seats))
        with self._lock:
            made, making = self._made.get(pool), self._making.get(pool)
            if made is not None and made.basis == basis:
                return made.ratings
            if making is None and (made is None or self._clock() - made.ended >= _SHARE * made.took):
                making = self._making[pool] = self._thread.submit(self._make, pool, basis)
        moment = _PATIENT if made is None and PATIENT.get() else _MOMENT
        if making is not None and (made is None or made.took < moment):
            with contextlib.suppress(LateError):
                made = making.result(moment)
        if made is None or made.basis.games < least:
            raise RatedLater("the ratings are being computed: ask again in a few seconds")
        return made.ratings

    def _make(self, pool: int, basis: _Basis) -> _RatedPool:
        from ggp.referee.ladder import rating  # noqa: F401  # loads numpy, which is no part of the time that it takes

        began = self._clock()
        try:
            with Store.open(self._url) as store:  # without a bound of time: no page waits for it
                ratings = rate_pool(store, pool, basis.seats, basis.model)
            made = _RatedPool(basis, ratings, began, self._clock())
            with self._lock:
                self._made.pop(pool, None)
                self._made[pool] = made
                while len(self._made) > _POOLS:
                    del self._made[next(iter(self._made))]
        finally:
            with self._lock:
                del self._making[pool]
        return made
