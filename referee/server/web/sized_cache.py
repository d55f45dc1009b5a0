"""A cache that forgets what was used longest ago when it holds too many bytes."""

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class SizedCache(Generic[K, V]):
    """Any thread may call it. `most`: bytes that are kept; a larger value alone is kept, too."""

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._lock = threading.Lock()
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def get(self, key: K) -> V | None:
        with self._lock:
            if (found := self._kept.get(key)) is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: K, value: V, size: int) -> None:
        """`size`: bytes, about."""
        with self._lock:
            self._forget(key)
            self._kept[key] = value, size
            self._size += size
            while self._size > self._most and len(self._kept) > 1:
                self._forget(next(iter(self._kept)))

    def forget(self, key: K) -> None:
        with self._lock:
            self._forget(key)

    def _forget(self, key: K) -> None:
        if (found := self._kept.pop(key, None)) is not None:
            self._size -= found[1]
