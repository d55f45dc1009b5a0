"""Matches that have ended, for whoever looks on late: the latest in memory, the others from the store."""

import asyncio
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

from referee.store.errors import StoreError
from referee.store.store import Store

_MOST = 16 * 1024 * 1024  # bytes of matches in memory
_WAITING = 50  # questions to the store


class Shelf:
    """`url` is the store's. Its owner closes it."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._matches: OrderedDict[str, list[bytes]] = OrderedDict()
        self._size = 0
        self._thread = ThreadPoolExecutor(1, "shelf")  # a slow store keeps nobody waiting who asks for nothing of it
        self._asked: dict[str, asyncio.Future[bytes | None]] = {}
        self._store: Store | None = None

    def put(self, match: str, lines: bytes) -> None:
        """All lines of a match that ended."""
        self._size -= sum(map(len, self._matches.pop(match, [])))
        self._matches[match] = lines.splitlines(keepends=True)
        self._size += len(lines)
        while self._size > _MOST and len(self._matches) > 1:
            _, dropped = self._matches.popitem(last=False)
            self._size -= sum(map(len, dropped))

    async def page(self, match: str, number: int, most: int, octets: int) -> tuple[list[bytes], int] | None:
        """See Matches.page; None if nobody knows the match, or too many want to know."""
        if match not in self._matches:
            data = await self._fetch(match)
            if data is None:
                return None
            self.put(match, data)
        self._matches.move_to_end(match)
        lines = self._matches[match]
        found: list[bytes] = []
        for line in lines[number : number + most]:
            if found and octets < len(line):
                break
            octets -= len(line)
            found.append(line)
        return found, len(lines)

    def close(self) -> None:
        """When it is asked no more."""
        self._thread.submit(self._close)
        self._thread.shutdown()

    async def _fetch(self, match: str) -> bytes | None:
        waiting = self._asked.get(match)
        if waiting is None:
            if len(self._asked) >= _WAITING:
                return None
            waiting = self._asked[match] = asyncio.get_running_loop().run_in_executor(self._thread, self._record, match)
        try:
            return await asyncio.shield(waiting)
        finally:
            self._asked.pop(match, None)

    def _record(self, match: str) -> bytes | None:
        try:
            if self._store is None:
                self._store = Store.open(self._url)
            return self._store.record(match)
        except StoreError:
            self._close()
            return None

    def _close(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()
