"""The lobby's side of spectating: hands the lines of running matches to the spectator process, and supervises it.

The spectator process serves strangers, so its failures must not delay the lobby. The lobby writes to its stdin and
never waits for it. A process that ends, or stops reading, is started again and gets all running matches again.
"""

import asyncio
import contextlib
import sys
from asyncio.subprocess import PIPE, STDOUT, Process

import msgspec

from ggp.protocol.records import Event, MatchEnded
from ggp.referee.server.background_tasks import BackgroundTasks, keep_running, kill, wait_or_kill
from ggp.referee.server.lobby.log import EventLog

COMMAND = (sys.executable, "-P", "-m", "ggp.referee.server.lobby.spectator_process")
SOON, LATEST = 0.2, 30.0  # seconds until it is started again; doubled each time
GATHER = 0.02  # seconds in which lines wait for others, to be written together
OPEN, DROPPED = b"open\n", b"dropped "  # on stdin: all running matches are sent; a match has no end
_BACKLOG = 16 * 1024 * 1024  # unread bytes, after which it is killed
_REPORT = 256 * 1024  # bytes of a line of its stdout


class SpectatorConfig(msgspec.Struct, frozen=True):
    """The first line of the process's stdin: `url` to listen at, the ladder's name and store, the file of the server's
    key pair ("" for no encryption), and how many connections it accepts."""

    url: str
    ladder: str
    store: str
    server_key: str
    connections: int


class SpectatorReport(msgspec.Struct):
    """A line of the process's stdout."""

    event: str
    word: str = ""
    url: str = ""
    reason: str = ""
    source: str = ""
    traceback: str = ""
    times: int = 1


class Spectators:
    """The running matches as spectators may see them. Without a `config` there is no process to send them to."""

    def __init__(self, config: SpectatorConfig | None, log: EventLog) -> None:
        self._config, self._log = config, log
        self._tasks = BackgroundTasks(log.fault)
        self._matches: dict[str, list[bytes]] = {}  # lines without the end, by match
        self._ends: dict[str, bytes] = {}  # lines of matches that are not stored yet
        self._waiting: list[bytes] = []  # lines for the next write
        self._process: Process | None = None
        self._limit = 0  # of unread bytes

    def open(self) -> None:
        """In the running loop."""
        if self._config is not None:
            self._tasks.keep("spectators", self._supervise)

    async def close(self) -> None:
        """End the process, after a moment for what it has to send."""
        self._flush()
        await self._tasks.close()

    def publish(self, event: Event, line: bytes) -> None:
        """Publish an event, whose line in the record is given; the end waits until `end`. A repeated line of a resumed
        match is not sent again; another line in its place replaces it and all that followed."""
        if isinstance(event, MatchEnded):
            self._ends[event.match] = line
            return
        lines = self._matches.setdefault(event.match, [])
        if event.seq < len(lines):
            if lines[event.seq] == line:
                return
            del lines[event.seq :]
        lines.append(line)
        self._send(line)

    def end(self, match: str) -> None:
        """The match is stored, or dropped if it has no end."""
        if self._matches.pop(match, None) is not None:
            self._send(self._ends.pop(match, DROPPED + match.encode() + b"\n"))

    # -- the process -------------------------------------------------------------------------------------------------

    def _send(self, line: bytes) -> None:
        if self._process is not None:
            if not self._waiting:
                asyncio.get_running_loop().call_later(GATHER, self._flush)
            self._waiting.append(line)

    def _flush(self) -> None:
        lines, self._waiting = self._waiting, []
        if lines and self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(b"".join(lines))
            if self._process.stdin.transport.get_write_buffer_size() > self._limit:
                kill(self._process)

    async def _supervise(self) -> None:
        await keep_running(self._run, self._ended, SOON, LATEST)

    def _ended(self, reason: str, again: float) -> None:
        self._log.log_limited(asyncio.get_running_loop().time(), "spectators", "ended", "", reason=reason, again=again)

    async def _run(self) -> str:
        """Run the process to its end; returns how it ended. Raises OSError."""
        process = await asyncio.create_subprocess_exec(
            *COMMAND, stdin=PIPE, stdout=PIPE, stderr=STDOUT, limit=_REPORT, process_group=0
        )
        assert process.stdin is not None and process.stdout is not None
        try:
            running = [line for lines in self._matches.values() for line in lines]
            first = b"".join([msgspec.json.encode(self._config), b"\n", *running, OPEN])
            process.stdin.write(first)
            self._process, self._waiting, self._limit = process, [], len(first) + _BACKLOG
            with contextlib.suppress(ValueError):  # a line without end: no process of ours writes that
                async for line in process.stdout:
                    self._relay(line)
        finally:
            self._process = None
            process.stdin.close()  # which ends it
            await asyncio.shield(wait_or_kill(process))
        return f"exit status {process.returncode}"

    def _relay(self, line: bytes) -> None:
        """Log a line of the process's output."""
        now = asyncio.get_running_loop().time()
        try:
            report = msgspec.json.decode(line, type=SpectatorReport)
        except msgspec.MsgspecError:
            text = line.decode("utf-8", "backslashreplace").rstrip("\n")
            self._log.log_limited(now, "spectators", "output", text[:100], reason=text)
            return
        if report.url and self._config is not None:  # the same port after a restart, if any would do
            self._config = msgspec.structs.replace(self._config, url=report.url)
            self._log.log(report.event, report.word, url=report.url)
            return
        fields = {"traceback": report.traceback} if report.traceback else {}
        self._log.log_limited(
            now, report.event, report.word, report.source, report.times, reason=report.reason, **fields
        )
