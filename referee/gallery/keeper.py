"""The lobby's end of the gallery: starts it, starts it again when it ends, and says in the log what it says.

Not a word of a match passes here: the gallery reads the files of the matches under way. So whatever happens to it,
or is done to it by strangers, costs the lobby nothing.
"""

import asyncio
import contextlib
import os
import sys

import msgspec

from protocol.connection import PeerRole
from protocol.transports.blocking import run_blocking
from referee.background import BackgroundTasks
from referee.config import Budgets
from referee.gallery.orders import Orders
from referee.lobby.journal import Journal
from referee.play.launch import LaunchError, Process

COMMAND = (sys.executable, "-P", "-m", "referee.gallery")
SOON, LATEST = 0.2, 30.0  # seconds until it is started again; doubled each time
SETTLED = 60.0  # seconds that it runs until the waits are short again
_LAST_WORDS = 2.0  # seconds to end by itself
_CHUNK = 64 * 1024


class Said(msgspec.Struct):
    """A line of the gallery's stdout."""

    event: str
    word: str = ""
    url: str = ""
    reason: str = ""
    source: str = ""
    traceback: str = ""
    times: int = 1


class Keeper:
    """`open` in the running loop; `close` ends the gallery."""

    def __init__(self, orders: Orders, budgets: Budgets, journal: Journal) -> None:
        self._orders, self._budgets, self._journal = orders, budgets, journal
        self._tasks = BackgroundTasks(journal.fault)

    def open(self) -> None:
        self._tasks.keep("gallery", self._keep)

    async def close(self) -> None:
        await self._tasks.close()

    async def _keep(self) -> None:
        loop, wait = asyncio.get_running_loop(), SOON
        while True:
            began = loop.time()
            try:
                reason = await self._run()
            except LaunchError as error:
                reason = str(error)
            if loop.time() - began > SETTLED:
                wait = SOON
            self._journal.trouble(began, "gallery", "ended", "", reason=reason, again=wait)
            await asyncio.sleep(wait)
            wait = min(2 * wait, LATEST)

    async def _run(self) -> str:
        """One gallery from its start to its end: how it ended. Raises LaunchError."""
        process = Process(COMMAND, PeerRole.ENGINE, self._budgets)
        stdin, stdout, stderr = process.descriptors
        lines: asyncio.Queue[tuple[int, bytes]] = asyncio.Queue()
        readers = [_Lines(descriptor, lines) for descriptor in (stdout, stderr) if descriptor is not None]
        try:
            with contextlib.suppress(BrokenPipeError):
                os.write(stdin, msgspec.json.encode(self._orders) + b"\n")
            while True:
                descriptor, line = await lines.get()
                if line:
                    self._hear(line, descriptor == stdout)
                elif descriptor == stdout:
                    break
        finally:
            for reader in readers:
                reader.close()
            await asyncio.shield(asyncio.to_thread(_end, process))  # it takes its time, and the loop has none
        return process.exited()

    def _hear(self, line: bytes, is_news: bool) -> None:
        try:
            said = msgspec.json.decode(line, type=Said) if is_news else None
        except msgspec.MsgspecError:
            said = None
        if said is None:
            if line.strip():
                text = line.decode("utf-8", "backslashreplace")
                self._journal.trouble(asyncio.get_running_loop().time(), "gallery", "said", text[:100], reason=text)
            return
        fields = {name: value for name in ("source", "url", "reason") if (value := getattr(said, name))}
        if said.event == "fault":
            now = asyncio.get_running_loop().time()
            source, trace = f"gallery {said.source}", {"reason": said.reason, "traceback": said.traceback}
            self._journal.trouble(now, "fault", f"gallery: {said.word}", source, said.times, **trace)
        elif said.word == "cannot":  # each time that it is tried
            self._journal.trouble(asyncio.get_running_loop().time(), said.event, said.word, "", reason=said.reason)
        else:
            self._journal.tell(said.event, said.word, **fields)
        if said.url:  # the same port the next time, if any would do
            self._orders = msgspec.structs.replace(self._orders, url=said.url)


class _Lines:
    """Puts whole lines of a descriptor into a queue, b"" at its end."""

    def __init__(self, descriptor: int, queue: "asyncio.Queue[tuple[int, bytes]]") -> None:
        self._descriptor, self._queue, self._rest = descriptor, queue, b""
        asyncio.get_running_loop().add_reader(descriptor, self._read)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            self._queue.put_nowait((self._descriptor, b""))
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[-_CHUNK:]
        for line in lines:
            self._queue.put_nowait((self._descriptor, line or b" "))


def _end(process: Process) -> None:
    process.channel.transport.close_stdin()
    process.exited(_LAST_WORDS)
    run_blocking(process.stop(kill=True))
