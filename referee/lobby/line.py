"""The way to one bot that dialled in: a Transport that suspends, and a Peer. It outlives its connections.

A bot that comes back is told the match so far (script) and then what it was asked; whoever waits for the answer notices
nothing but the time. The way's own time is measured on answers that take no thought, and credited up to a bound.
"""

import time
from collections import deque
from collections.abc import Callable

from protocol.channel import Channel
from protocol.connection import PeerRole
from referee.lobby.inbox import Inbox
from referee.lobby.lateness import Lateness
from referee.lobby.script import QUICK, Script, without_id
from referee.play.launch import Peer

SAMPLES = 8  # of the way's time; the least counts, so that one slow answer is no credit
_WINDOW = 32  # lines of a match that are on their way to a bot that is told it again
_WORDS = 20  # lines of stderr
_FOR_EVER = 1e9
Send = Callable[[bytes, bytes, bytes], bool]


class Line(Peer):
    """`send(route, kind, payload)` is False for a connection that is gone or does not read; `cap`: seconds."""

    look = _FOR_EVER  # nobody has to look whether it has ended: we are told

    def __init__(self, send: Send, lateness: Lateness, cap: float) -> None:
        self.now = time.monotonic
        self.route = b""  # "" while there is no connection
        self.ended = ""  # why nothing more comes from it
        self.away = 0.0  # since when it has no connection; 0: it has one
        self._send = send
        self._lateness = lateness
        self._cap = cap
        self._script = Script()
        self._inbox = Inbox()
        self._ways: deque[float] = deque(maxlen=SAMPLES)
        self._way = 0.0  # of the last question
        self._asked = self._came = 0.0  # when it was last asked, and last answered
        self._probe = 0.0  # when something quick was asked
        self._late = 0.0
        self._was_away = False  # since it was last asked
        self._to_tell: deque[str] | None = None  # what it is told again, as far as it was not yet sent
        self._telling = 0  # answers to that which are still to come
        self._said: deque[str] | None = None
        self._news = 0  # lines of it that nobody has asked for
        self.channel = Channel(self, PeerRole.BOT)

    # -- a Transport -------------------------------------------------------------------------------------------------

    async def write(self, data: bytes, deadline: float | None = None) -> None:
        """See Transport.write. What cannot leave now is sent when the bot is back."""
        lines = data.decode().splitlines()
        self._asked = now = time.monotonic()
        self._was_away = not self.route
        self._probe = now if not self._script.awaited and without_id(lines[0]).split(" ")[0] in QUICK else 0.0
        for line in lines:
            self._script.sent(line)
        if self.route and self._to_tell is None:
            self._put(lines)

    async def read(self, deadline: float) -> bytes:
        return await self._inbox.get(deadline)

    def close_stdin(self) -> None:
        """There is no half of a connection."""

    def close(self) -> None:
        self.end("it was let go")

    # -- a Peer ------------------------------------------------------------------------------------------------------

    def exited(self, wait: float = 0) -> str:
        return self.ended

    def lost(self) -> str:
        return f"network: its connection was lost {self._seconds_away():.1f} s ago" if self.away else ""

    def stderr_tail(self) -> str:
        return "\n".join(self._said or ())

    def stderr_news(self) -> str:
        news, self._news = self._news, 0
        return "\n".join(list(self._said or ())[-news:] if news else ())

    async def stop(self, kill: bool = False) -> None:
        """Whoever dialled in is let go at the door (hall)."""

    def waited(self) -> float:
        return self._late

    def credit(self) -> float:
        return min(self.way, self._cap) + (time.monotonic() - self._came)

    def late_because(self, overrun: int) -> str:
        credited = min(self.way, self._cap)
        seconds = overrun / 1000
        if self._was_away:
            whose = "network: its connection was lost meanwhile"
        elif self._lateness.now(time.monotonic()) >= seconds:
            whose = "host: the server was late itself"
        elif self._way - credited >= seconds:
            whose = f"network: the way took {self._way * 1000:.0f} ms this time"
        else:
            whose = "bot"
        return f"{whose} (way {self.way * 1000:.0f} ms, credited {credited * 1000:.0f} of {self._cap * 1000:.0f} ms)"

    # -- what happens to it ------------------------------------------------------------------------------------------

    @property
    def way(self) -> float:
        """Seconds to the bot and back, the least of the last few times."""
        return min(self._ways, default=0.0)

    @property
    def awaited(self) -> int:
        """Answers that are still to come."""
        return len(self._script.awaited) + self._telling

    def take(self, answer: bytes, now: float) -> bool:
        """An answer came; False if nobody asked for it."""
        if self._telling:
            return self._take_again(answer)
        line = self._script.answered(answer)
        if line is None:
            return False
        if self._probe:
            self._way = now - self._probe
            self._ways.append(self._way)
            self._probe = 0.0
        self._came = now
        self._late += self._lateness.now(now)
        self._inbox.put(answer, more=bool(self._script.awaited) and answer[:1] == b"=")
        return True

    def heard(self, text: str) -> None:
        """A line of its stderr."""
        if self._said is None:
            self._said = deque(maxlen=_WORDS)
        self._said.append(text[:200])
        self._news = min(self._news + 1, _WORDS)

    def begin_match(self) -> None:
        """From here on it is told again what it is told."""
        self._script.begin()

    def end_match(self) -> None:
        self._script.end()

    def lose(self) -> None:
        """There is no connection any more; the clock runs on."""
        if self.route and not self.ended:
            self.route, self.away, self._was_away = b"", time.monotonic(), True
            self._probe, self._to_tell, self._telling = 0.0, None, 0

    def come_back(self, route: bytes) -> None:
        """On another connection: told the match so far, then asked again."""
        self.lose()
        self.route, self.away = route, 0.0
        self._to_tell = deque(self._script.told or ())
        self._tell_on()

    def end(self, reason: str) -> None:
        """It will not come back."""
        if not self.ended:
            self.lose()
            self.ended = reason
            self._inbox.end()

    def _seconds_away(self) -> float:
        return time.monotonic() - self.away

    def _put(self, lines: list[str]) -> None:
        for line in lines:
            if not self._send(self.route, b"C", f"{line}\n".encode()):
                self.lose()
                return

    def _tell_on(self) -> None:
        """The next lines of what it is told again; after the last one, what it was asked."""
        assert self._to_tell is not None
        while self._to_tell and self._telling < _WINDOW:
            self._telling += 1
            self._put([self._to_tell.popleft()])
            if self._to_tell is None:  # gone again
                return
        if not self._telling:
            self._to_tell = None
            self._put(self._script.again(int((time.monotonic() - self._asked) * 1000)))

    def _take_again(self, answer: bytes) -> bool:
        self._telling -= 1
        if answer[:1] == b"?":
            self.end(f"it came back, and refuses the match so far: {answer[1:200].decode('utf-8', 'replace').strip()}")
        else:
            self._tell_on()
        return True
