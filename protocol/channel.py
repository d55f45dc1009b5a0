"""The asking side of a conversation: a Connection over a Transport, with deadlines. Any transport will do."""

from collections import deque
from collections.abc import Callable, Coroutine
from math import inf
from typing import Any, NamedTuple, Protocol

from ggp.protocol.connection import Connection, PeerRole, ReadLimits
from ggp.protocol.errors import LocalProtocolError, PeerGone, PeerTimeout, RemoteProtocolError
from ggp.protocol.messages import Reply

DIALOGUE = 20  # questions and their answers kept for diagnostics; a fault's record shows the last 20 lines
_CHUNK = 4096  # the most bytes kept of each
PEER_FAULTS = (PeerGone, PeerTimeout, RemoteProtocolError, LocalProtocolError)


# Some transports have `exchange(lines, number, seconds)`. It writes command lines with ids from `number` on (0: no
# ids) and reads until their answers are complete, until something unexpected arrives, or until the seconds are over.
# It returns None, and writes nothing, if it cannot send these lines. Otherwise it returns: the bytes written; the text
# of the last answer, or None unless all are successes and only the last has text; the bytes read, or None; when the
# commands were sent and when the last byte was read, in seconds of now(); whether the peer wrote to stderr; and the
# seconds that the write took.
Exchanged = tuple[bytes, str | None, bytes | None, float, float, bool, float]
Exchange = Callable[[tuple[str, ...], int, float], Exchanged | None]


class Asked(NamedTuple):
    """A sent command, with its answer if that came at once.

    Attributes:
        text: The text of the last answer, if all are successes and only the last has text. None if the replies are
            still to be received.
        sent: When the command was sent, in seconds of now(); when it was prepared, if it is `unsent`.
        answered: When the answer arrived; 0 without a text.
        unsent: Bytes that the caller must write with `transport.write` before it receives.
    """

    text: str | None
    sent: float
    answered: float = 0.0
    unsent: bytes = b""


class Transport(Protocol):
    """A stream of bytes in both directions.

    Deadlines are absolute seconds of now(), which never goes backwards.
    """

    async def write(self, data: bytes, deadline: float | None = None) -> None:
        """Write all the data. Without a deadline, the transport uses its own time limit.

        A peer that no longer reads is not an error here: its earlier output can still be read.

        Raises:
            PeerTimeout: The peer did not read the data in time.
        """

    async def read(self, deadline: float) -> bytes:
        """Return some bytes, or b"" at the end of the stream.

        Raises:
            PeerTimeout: Nothing came before the deadline.
        """

    def now(self) -> float:
        """Return the current time in seconds."""

    def close_stdin(self) -> None:
        """Close the peer's stdin. Its remaining output can still be read."""

    def close(self) -> None:
        """Close both directions."""


class Channel:
    """The asking side of a conversation.

    Attributes:
        warnings: Tolerated faults of the peer.
        on_silence: Called with the channel if `receive` has waited `patience` seconds for an answer. It returns True if
            it has reported this; it is then not called again.
    """

    def __init__(self, transport: Transport, peer: PeerRole, limits: ReadLimits | None = None) -> None:
        self.transport = transport
        self.connection = Connection(peer, limits)
        self._passed: deque[tuple[bytes, bytes]] = deque(maxlen=DIALOGUE)  # bytes sent, and bytes received after it
        self.asked_at = 0.0  # when the last command was sent that was not answered at once
        self.on_silence: Callable[[Channel], bool] | None = None
        self.patience = inf
        self._silent_from = inf  # when the peer has been silent for `patience` seconds
        self.now = transport.now
        self._exchange: Exchange | None = getattr(transport, "exchange", None)
        self.next_reply = self.connection.next_reply  # returns a reply that has already come; does not wait

    @property
    def warnings(self) -> list[str]:
        """Return the tolerated faults of the peer, such as junk lines."""
        return self.connection.warnings

    @property
    def skipped_lines(self) -> int:
        """Return the number of the peer's lines that were not answers."""
        return self.connection.skipped_lines

    def send(self, *lines: str, deadline: float | None = None) -> Coroutine[Any, Any, None]:
        """Send command lines (no LF) in one write, which is complete once the result was awaited."""
        data = self.connection.send(*lines)
        self._passed.append((data[-_CHUNK:], b""))
        self._wait_from(self.now())
        return self.transport.write(data, deadline)

    def ask_at_once(self, lines: tuple[str, ...], seconds: float) -> Asked:
        """Send command lines and wait up to `seconds` for their answers, in one native call if possible.

        A timeout is not an error: the replies can still be received.

        Raises:
            ProtocolError: As in Connection.send.
        """
        connection = self.connection
        number = connection.quick_id
        if number >= 0 and self._exchange and (exchanged := self._exchange(lines, number, seconds)):
            asked, text, said, sent, answered, _, _ = exchanged
            self._passed.append((asked, said[-_CHUNK:] if said else b""))
            if text is not None:
                connection.count_answered(len(lines))
                return Asked(text, sent, answered)
            self._wait_from(sent)
            connection.send(*lines)
            if said is not None:
                connection.receive(said)
            return Asked(None, sent)
        self._wait_from(self.now())
        data = connection.send(*lines)
        self._passed.append((data[-_CHUNK:], b""))
        return Asked(None, self.asked_at, unsent=data)

    async def send_exactly(self, data: bytes, deadline: float | None = None) -> None:
        """Send any bytes unchanged (see Connection.send_exactly). Return after the complete write."""
        self._passed.append((self.connection.send_exactly(data)[-_CHUNK:], b""))
        await self.transport.write(data, deadline)

    async def receive(self, deadline: float) -> Reply:
        """Return the next reply in order.

        Raises:
            PeerTimeout: It did not come before the deadline.
            PeerGone: The stream ended.
            RemoteProtocolError: The peer broke the protocol.
        """
        connection, passed = self.connection, self._passed
        reply = connection.next_reply()
        while reply is None:
            try:
                data = await self.transport.read(min(deadline, self._silent_from))
            except PeerTimeout:
                if self._silent_from >= deadline:
                    raise
                self._tell_of_silence()
                continue
            # The pieces of what one side said belong together, however small they came.
            asked, said = passed.pop() if passed else (b"", b"")
            passed.append((asked, (said + data)[-_CHUNK:]))
            connection.receive(data)
            reply = connection.next_reply()
            # A transport returns data even after the deadline; a peer must not gain time by sending it in small pieces.
            if reply is None and self.now() > deadline:
                raise PeerTimeout("no complete answer before the deadline")
        return reply

    async def ask(self, line: str, deadline: float) -> Reply:
        """Send one command and return its reply. Replies that are still awaited are read and dropped first.

        A timeout here ends the connection if the peer does not echo ids (PROTOCOL §2.11); a caller of receive may keep
        waiting.
        """
        try:
            while self.connection.awaited:
                await self.receive(deadline)
            await self.send(line, deadline=deadline)
            return await self.receive(deadline)
        except PeerTimeout:
            self.connection.give_up()
            raise

    async def ask_all(self, lines: tuple[str, ...], deadline: float) -> list[Reply]:
        """Send commands in one write and return their replies."""
        asked = self.ask_at_once(lines, deadline - self.now())
        if asked.text is not None:
            return [*[Reply(True)] * (len(lines) - 1), Reply(True, asked.text)]
        if asked.unsent:
            await self.transport.write(asked.unsent, deadline)
        return [await self.receive(deadline) for _ in lines]

    async def introduce(self, deadline: float) -> tuple[str, str, frozenset[str]]:
        """Return the name, version and commands of a peer that has just started."""
        await self.probe_ids(deadline)
        name, version, listed = await self.ask_all(("name", "version", "list_commands"), deadline)
        return name.text, version.text, _names(listed)

    async def probe_ids(self, deadline: float) -> Reply:
        """Send `1 protocol_version`; a peer that does not echo the id gets no ids (PROTOCOL §2.11)."""
        data = self.connection.send_probe("protocol_version")
        self._passed.append((data[-_CHUNK:], b""))
        self._wait_from(self.now())
        await self.transport.write(data, deadline)
        return await self.receive(deadline)

    async def list_commands(self, deadline: float) -> frozenset[str]:
        """Return the command names that the peer lists, "split on any white space"; none if it refuses."""
        return _names(await self.ask("list_commands", deadline))

    @property
    def unanswered(self) -> tuple[str, bytes]:
        """Return the oldest command without a complete answer ("" if none) and the bytes received since."""
        lines = self._passed[-1][0].decode("utf-8", "replace").splitlines() if self._passed else []
        awaited = self.connection.awaited
        return (lines[-min(awaited, len(lines))] if awaited and lines else ""), self.connection.unanswered

    def _wait_from(self, now: float) -> None:
        self.asked_at = now
        if self.on_silence is not None:
            self._silent_from = now + self.patience

    def _tell_of_silence(self) -> None:
        if self.on_silence is not None and not self.on_silence(self):
            self._silent_from = self.now() + self.patience
            return
        self._silent_from, self.on_silence = inf, None

    def dialogue_tail(self, lines: int = 20) -> list[str]:
        """Return the last lines exchanged, oldest first, marked `> ` (sent) or `< ` (received).

        Each line is cut at 200 characters.
        """
        out: list[str] = []
        for turn in self._passed:
            for mark, data in zip("><", turn, strict=True):
                text = data.decode("utf-8", "backslashreplace")
                out += [f"{mark} {line[:200]}" for line in text.split("\n") if line.strip()]
        return out[-lines:]

    def close(self) -> None:
        """Close the transport. The launcher ends the process."""
        self.transport.close()


def _names(listed: Reply) -> frozenset[str]:
    return frozenset(listed.text.split()) if listed.ok else frozenset()
