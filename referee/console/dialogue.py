"""The dialogue with one peer: lines as they were typed, answers in order, what went wrong. No terminal, no prompt.

The lines carry no ids but those that were typed, so that the peer gets exactly what somebody wants to try on it.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from protocol.channel import PEER_FAULTS, Channel
from protocol.errors import LocalProtocolError, PeerGone, PeerTimeout, ProtocolError
from protocol.grammar import MAX_LINE, clean_line
from protocol.messages import Reply
from protocol.transports.blocking import run_blocking
from referee.console.faults import explain
from referee.console.target import Target
from referee.console.trail import Trail
from referee.play.launch import LAST_WORDS, Peer

MOMENT = 10.0  # seconds that the console waits for the answer to a question of its own
KEPT = 100_000  # exchanges that :save can write
_ENDED, _LOST = "the peer has ended, as it was told", "nothing is sent to a peer that was lost"
_SAID = 4096  # bytes kept of what came since the last whole answer
_SLICE = 1.0  # seconds between looks at whether a silent peer is still there


@dataclass(slots=True, eq=False)
class Exchange:
    """One command and, once it came, its answer. `own`: the console's question, which nobody typed.

    `seconds`: from the complete write to the complete read.
    """

    sent: str
    own: bool = False
    began: float = 0.0
    seconds: float = 0.0
    reply: Reply | None = None
    overdue: bool = False  # the time-out was told
    then: Callable[[Reply], None] | None = field(default=None, repr=False)


def streams(line: str) -> bool:
    """Whether the answer to a command goes on until the next line is sent, as that to lz-analyze and kata-analyze."""
    words = line.split()[:2]
    name = words[-1] if words and words[0].isdecimal() else words[0] if words else ""
    return name == "analyze" or name.endswith("-analyze")


class Lost(Exception):
    """The conversation is over until restart; str() says what happened, a line each, whose fault it was and why."""


class Dialogue:
    """`passed(mark, data, own)` is told all bytes: `>` sent, `<` received; `own`: they are of its questions."""

    def __init__(self, target: Target, passed: Callable[[str, bytes, bool], None]) -> None:
        """Raises LaunchError."""
        self.target = target
        self.kept: deque[tuple[str, Reply]] = deque(maxlen=KEPT)
        self.pending: deque[Exchange] = deque()
        self.lost = ""  # why nothing can be said any more; "" while it can
        self.starts = 0
        self.trail = Trail()
        self._passed = passed
        self._said = bytearray()
        self._half = b""  # what was sent behind the last LF
        self._asks = False  # what passes now is the console's own
        self._quit = False  # it was told to go
        self._warned = 0
        self.peer: Peer = self._open()

    @property
    def channel(self) -> Channel:
        return self.peer.channel

    def now(self) -> float:
        return self.channel.now()

    # -- sending -------------------------------------------------------------------------------------------------

    def say(self, line: str) -> Exchange | None:
        """Send a line that somebody typed; None for a comment or a blank line, which gets no answer. Raises Lost."""
        text = clean_line(line.encode("utf-8", "surrogateescape"))
        return self._send(f"{text}\n".encode("utf-8", "surrogateescape"))[0] if text else None

    def send(self, data: bytes) -> list[Exchange]:
        """Send bytes as they are; the answers that they should get. Raises Lost."""
        return self._send(data)

    def question(self, line: str, then: Callable[[Reply], None]) -> bool:
        """Ask on the console's own account; `then` gets the reply when it comes. False: this is no time for it."""
        if self.lost or self._half or self._quit:
            return False
        try:
            (asked,) = self._send(f"{line}\n".encode(), own=True)
        except Lost:
            return False
        asked.then = then
        return True

    def ask(self, line: str, seconds: float) -> Reply:
        """Ask on the console's own account, and wait, also for all that is still awaited. Raises Lost, PeerTimeout."""
        if self._half:
            raise LocalProtocolError("half a line has been sent: end it first, with :send '\\n'")
        (asked,) = self._send(f"{line}\n".encode(), own=True)
        self.wait(asked, self.now() + seconds)
        assert asked.reply is not None
        return asked.reply

    def _send(self, data: bytes, own: bool = False) -> list[Exchange]:
        if self.lost:  # what happened was told when it did
            raise Lost(f"{_ENDED if self.lost == _ENDED else _LOST}; type :restart")
        *whole, self._half = (self._half + data).split(b"\n")
        names = [
            text[:MAX_LINE] or "(a line too long)"
            for line in whole
            if (text := clean_line(line)) or len(line) > MAX_LINE
        ]
        self._quit = self._quit or any("quit" in name.split()[:2] for name in names)
        self._asks = own
        try:
            run_blocking(self.channel.send_exactly(data))
        except PEER_FAULTS as error:
            raise self._lose(error) from None
        finally:
            self._asks = False
        new = [Exchange(name, own, self.now()) for name in names]
        self.pending += new
        return new

    # -- receiving -----------------------------------------------------------------------------------------------

    def pump(self, deadline: float) -> Exchange | None:
        """Take what comes until the deadline; the next exchange that has got its answer, None if none came.

        Raises Lost, once, when the conversation breaks.
        """
        while not self.lost:
            ended = self.peer.exited() if self.pending else ""
            try:
                reply = run_blocking(self.channel.receive(min(deadline, self.now() + _SLICE)))
            except PeerTimeout:
                if ended:
                    raise self._lose(
                        PeerGone("it ended, and left its output open to a process it had started")
                    ) from None
                if self.now() >= deadline and not (self.pending and self.peer.exited()):
                    return None
            except PEER_FAULTS as error:
                raise self._lose(error) from None
            else:
                return self._answered(reply)
        return None

    def wait(self, exchange: Exchange, deadline: float) -> None:
        """Until that has been answered. Raises Lost; PeerTimeout at the deadline, and the answer may still come."""
        while exchange.reply is None:
            if self.lost:
                raise Lost(self.lost)
            if self.pump(deadline) is None and self.now() >= deadline and exchange.reply is None:
                raise PeerTimeout(f"no answer to `{exchange.sent[:80]}` in time")

    def new_warnings(self) -> list[str]:
        """What was borne with since it was last asked."""
        warnings = self.channel.warnings[self._warned :]
        self._warned += len(warnings)
        return warnings

    def _answered(self, reply: Reply) -> Exchange:
        done = self.pending.popleft()
        done.reply, done.seconds = reply, self.now() - done.began
        if not self.channel.connection.ready:  # else what follows is trouble, and is still to be shown
            self._said.clear()
        self.trail.note(done.sent, reply)
        if not done.own:
            self.kept.append((done.sent, reply))
        if done.then is not None:
            done.then(reply)
        return done

    def _lose(self, error: Exception) -> Lost:
        """Remember why, and let the peer go."""
        assert isinstance(error, ProtocolError)
        exited = self.peer.exited(LAST_WORDS) if isinstance(error, PeerGone) else ""
        if self._quit and isinstance(error, PeerGone) and not self.pending:
            self.lost = _ENDED
        else:
            self.lost = "\n".join(explain(error, bytes(self._said), exited, self.peer.stderr_tail()))
        self.pending.clear()
        return Lost(self.lost)

    # -- starting and ending -------------------------------------------------------------------------------------

    def restart(self) -> None:
        """End the peer, without asking it if it is in trouble, and start it anew. Raises LaunchError."""
        self.close()
        self.trail = Trail()
        self.peer = self._open()

    def close(self) -> None:
        """End the peer; nothing of it is left behind. What it says to that is nobody's business."""
        self._asks = True
        run_blocking(self.peer.stop(kill=bool(self.pending or self.lost)))
        self.pending.clear()
        self.lost = self.lost or "the peer has been ended"

    def _open(self) -> Peer:
        self._asks = self._quit = False
        self._half = b""
        self._warned = 0
        self._said.clear()
        self.lost = ""
        self.starts += 1
        return self.target.open(self._sink)

    def _sink(self, mark: str, seconds: float, data: bytes) -> None:
        own = self._asks or bool(mark == "<" and self.pending and self.pending[0].own)
        if mark == "<":
            self._said += data
            del self._said[:-_SAID]
        self._passed(mark, data, own)
