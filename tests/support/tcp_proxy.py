"""A TCP proxy on loopback that delays, cuts and stalls: a bad network for tests, without privileges. No test itself.

Bytes are never lost or reordered within a connection, as TCP promises; `lost packets` are delays here.
"""

import asyncio
import contextlib
import threading
from random import Random


class LossyProxy:
    """Listens on `port` and passes on to `target`, in a thread of its own; all settings may change while it runs.

    delay, jitter: seconds that each chunk waits, one way. `stalled`: nothing passes, and nobody is told (half open).
    """

    def __init__(self, target: tuple[str, int], seed: int = 1) -> None:
        self.delay = self.jitter = 0.0
        self.stalled = False
        self.connections = 0  # accepted so far
        self._target, self._chance = target, Random(seed)
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port: int = self._server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def cut(self, share: float = 1.0) -> None:
        """Reset this share of the connections, chosen at random."""
        self._loop.call_soon_threadsafe(self._cut, share)

    def close(self) -> None:
        """Reset all, and end the thread."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    def _cut(self, share: float) -> None:
        for writer in list(self._writers):
            if self._chance.random() < share:
                writer.transport.abort()

    async def _end(self) -> None:
        self._server.close()
        self._cut(1.0)
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            there, back = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, back}
        ways = [asyncio.ensure_future(way) for way in (self._pass(reader, back), self._pass(there, writer))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            for one in (writer, back):
                self._writers.discard(one)
                one.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Chunks in order, each when its time has come."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(1000)

        async def deliver() -> None:
            data = b"any"
            while data:
                due, data = await queue.get()
                await asyncio.sleep(max(0.0, due - loop.time()))
                while self.stalled:
                    await asyncio.sleep(0.01)
                writer.write(data)
                await writer.drain()

        delivering = asyncio.ensure_future(deliver())
        try:
            with contextlib.suppress(OSError):
                data = b"any"
                while data:
                    data = await reader.read(65536)
                    await queue.put((loop.time() + self.delay + self.jitter * self._chance.random(), data))
                await delivering  # what was said before the end
        finally:
            delivering.cancel()
