"""Supervises the spectator process: starts it, restarts it when it ends, and logs its reports.

No data of a match passes here: the spectator process reads the files of running matches. Its failures, and attacks on
it, cost the lobby nothing.
"""

import asyncio
import contextlib
import os
import resource
import signal
import sys
from pathlib import Path

import msgspec

from protocol.connection import PeerRole
from protocol.errors import AddressError
from protocol.transports.blocking import run_blocking
from protocol.transports.keys import KeyFileError, read_pair
from referee.background import BackgroundTasks
from referee.lobby.log import EventLog
from referee.lobby.spectator_socket import PubSocket, RequestQueue
from referee.lobby.spectators import RecordCache, SpectatorConfig, SpectatorServer
from referee.play.process import LaunchError, Process
from referee.play.setting import Timeouts

COMMAND = (sys.executable, "-P", "-m", "referee.lobby.spectator_process")
SOON, LATEST = 0.2, 30.0  # seconds until it is started again; doubled each time
SETTLED = 60.0  # seconds that it runs until the waits are short again
_LAST_WORDS = 2.0  # seconds to end by itself
_CHUNK = 64 * 1024


class SpectatorReport(msgspec.Struct):
    """A line of the gallery's stdout."""

    event: str
    word: str = ""
    url: str = ""
    reason: str = ""
    source: str = ""
    traceback: str = ""
    times: int = 1


class SpectatorSupervisor:
    """`open` in the running loop; `close` ends the gallery."""

    def __init__(self, orders: SpectatorConfig, budgets: Timeouts, journal: EventLog) -> None:
        self._orders, self._budgets, self._journal = orders, budgets, journal
        self._tasks = BackgroundTasks(journal.fault)

    def open(self) -> None:
        self._tasks.keep("gallery", self._supervise)

    async def close(self) -> None:
        await self._tasks.close()

    async def _supervise(self) -> None:
        loop, wait = asyncio.get_running_loop(), SOON
        while True:
            began = loop.time()
            try:
                reason = await self._run()
            except LaunchError as error:
                reason = str(error)
            if loop.time() - began > SETTLED:
                wait = SOON
            self._journal.log_limited(began, "gallery", "ended", "", reason=reason, again=wait)
            await asyncio.sleep(wait)
            wait = min(2 * wait, LATEST)

    async def _run(self) -> str:
        """One gallery from its start to its end: how it ended. Raises LaunchError."""
        process = Process(COMMAND, PeerRole.ENGINE, self._budgets)
        stdin, stdout, stderr = process.descriptors
        lines: asyncio.Queue[tuple[int, bytes]] = asyncio.Queue()
        readers = [_LineQueue(descriptor, lines) for descriptor in (stdout, stderr) if descriptor is not None]
        try:
            with contextlib.suppress(BrokenPipeError):
                os.write(stdin, msgspec.json.encode(self._orders) + b"\n")
            while True:
                descriptor, line = await lines.get()
                if line:
                    self._on_line(line, descriptor == stdout)
                elif descriptor == stdout:
                    break
        finally:
            for reader in readers:
                reader.close()
            await asyncio.shield(asyncio.to_thread(_end, process))  # it takes its time, and the loop has none
        return process.exited()

    def _on_line(self, line: bytes, is_news: bool) -> None:
        try:
            said = msgspec.json.decode(line, type=SpectatorReport) if is_news else None
        except msgspec.MsgspecError:
            said = None
        if said is None:
            if line.strip():
                text = line.decode("utf-8", "backslashreplace")
                self._journal.log_limited(asyncio.get_running_loop().time(), "gallery", "said", text[:100], reason=text)
            return
        fields = {name: value for name in ("source", "url", "reason") if (value := getattr(said, name))}
        if said.event == "fault":
            now = asyncio.get_running_loop().time()
            source, trace = f"gallery {said.source}", {"reason": said.reason, "traceback": said.traceback}
            self._journal.log_limited(now, "fault", f"gallery: {said.word}", source, said.times, **trace)
        elif said.word == "cannot":  # each time that it is tried
            self._journal.log_limited(asyncio.get_running_loop().time(), said.event, said.word, "", reason=said.reason)
        else:
            self._journal.log(said.event, said.word, **fields)
        if said.url:  # the same port the next time, if any would do
            self._orders = msgspec.structs.replace(self._orders, url=said.url)


class _LineQueue:
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


# -- the spectator process itself: a SpectatorConfig as JSON on stdin, reports on stdout ------------------------------


_NICE = 10  # players go before spectators
_MEMORY = 4 << 30  # bytes of address space: if a stranger finds a way to more, the gallery ends and not the host


def main() -> int:
    """The exit status: 1 if the socket cannot be opened; the reason is on stdout."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the lobby's to end us
    orders = msgspec.json.decode(sys.stdin.buffer.readline(), type=SpectatorConfig)
    os.nice(_NICE)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    journal = EventLog(as_json=True, write=_print)
    try:
        asyncio.run(_run(orders, journal))
    except (AddressError, KeyFileError) as error:
        journal.log("gallery", "cannot", reason=str(error))
        return 1
    return 0


async def _run(orders: SpectatorConfig, journal: EventLog) -> None:
    """Raises AddressError, KeyFileError."""
    asyncio.get_running_loop().set_exception_handler(journal.unhandled)
    pair = read_pair(Path(orders.server_key)) if orders.server_key else None

    def refuse(word: str, address: str, reason: str) -> None:
        journal.log_limited(asyncio.get_running_loop().time(), "spectator", word, address, reason=reason)

    def open_stage(requests: RequestQueue) -> PubSocket:
        return PubSocket(orders.url, pair, orders.connections, requests, refuse, journal.fault)

    gallery = SpectatorServer(orders.ladder, Path(orders.folder), RecordCache(orders.store), open_stage, journal.fault)
    gallery.open()
    journal.log("gallery", "open", url=gallery.stage.url)
    await _end_of_input()
    await gallery.close()


async def _end_of_input() -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def look() -> None:
        try:
            data = os.read(0, 4096)
        except OSError:
            data = b""
        if not data:
            loop.remove_reader(0)
            ended.set()

    loop.add_reader(0, look)
    await ended.wait()


def _print(line: str) -> None:
    try:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except OSError:  # the lobby does not read it any more
        return


if __name__ == "__main__":
    sys.exit(main())
