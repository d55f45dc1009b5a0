"""The way to one bot that dialled in: a Transport that suspends, and a Peer. It outlives its connections.

A bot that comes back is asked whether it is the same program, told the match so far (script) and then what it was
asked; whoever waits for the answer notices nothing but the time. The way's own time is measured before each match and
with each turn, on answers that take no thought, and credited up to a bound; the server's own delays are credited whole.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence

from protocol.channel import Channel
from protocol.connection import PeerRole
from protocol.errors import PeerTimeout
from referee.lobby.inbox import Inbox
from referee.lobby.lateness import Lateness
from referee.lobby.script import QUICK, Script, without_id
from referee.play.launch import Peer

SAMPLES = 8  # of the way's time; the least counts, so that one slow answer is no credit
_WINDOW = 32  # lines that are on their way at a time: the door's queue for a connection is bounded
_WORDS = 20  # lines of stderr
_PROBE = "protocol_version"  # which every bot answers, and at once
_WHO = ("name", "version")  # what tells one program from another
_LONGEST_WHO = 200  # bytes of that
_FOR_EVER = 1e9
Send = Callable[[bytes, bytes, Sequence[bytes]], bool]


class Line(Peer):
    """`send(route, kind, payloads)` is False for a connection that is gone or does not read; `cap`: seconds."""

    look = _FOR_EVER  # nobody has to look whether it has ended: we are told

    def __init__(self, send: Send, lateness: Lateness, cap: float, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self.route = b""  # "" while there is no connection
        self.ended = ""  # why nothing more comes from it
        self.away = 0.0  # since when it has no connection; 0: it has one
        self.unlike = ""  # why what came back cannot go on in its place
        self._send = send
        self._lateness = lateness
        self._cap = cap
        self._script = Script()
        self._inbox = Inbox(now)
        self.way = 0.0  # seconds to the bot and back, the least of the last few times
        self._ways: deque[float] = deque(maxlen=SAMPLES)
        self._way = 0.0  # of the last question
        self._asked = self._came = 0.0  # when it was last asked, and last answered
        self._probe = 0.0  # when something quick was asked
        self._late = 0.0  # seconds that the server was late for its answers, in all
        self._host = 0.0  # the same since it was last asked
        self._held = 0.0  # seconds that the last line waited here, since it was last asked
        self._was_away = False  # since it was last asked
        self._out = 0  # lines that were sent and not answered
        self._queue: deque[bytes] = deque()  # lines that wait until those are answered, and
        self._since = 0.0  # since when they do
        self._to_tell: deque[str] | None = None  # what we say to it ourselves, as far as it was not yet sent
        self._telling: deque[str] = deque()  # what of that it has not answered yet
        self._who: dict[str, bytes] = {}
        self._said: deque[str] | None = None
        self._news = 0  # lines of it that nobody has asked for
        self.channel = Channel(self, PeerRole.BOT)

    # -- a Transport -------------------------------------------------------------------------------------------------

    async def write(self, data: bytes, deadline: float | None = None) -> None:
        """See Transport.write. What cannot leave now is sent when the bot is back."""
        lines = data.decode().split("\n")[:-1]
        idle = not self._script.awaited
        self._asked, self._host, self._held = self.now(), 0.0, 0.0
        self._was_away = not self.route
        for line in lines:
            self._script.sent(line)
        if self.route and self._to_tell is None:
            self._put(lines, probe=idle)

    async def read(self, deadline: float) -> bytes:
        """See Transport.read. No deadline passes while the server stands still."""
        given = 0.0
        while True:
            try:
                return await self._inbox.get(deadline + given)
            except PeerTimeout:
                late = self._lateness.between(self._asked, self.now())
                if late <= given:
                    raise
                given = late

    def close_stdin(self) -> None:
        """There is no half of a connection."""

    def close(self) -> None:
        self.end("it was let go")

    # -- a Peer ------------------------------------------------------------------------------------------------------

    def exited(self, wait: float = 0) -> str:
        return self.ended

    def lost(self) -> str:
        return f"network: its connection was lost {self.now() - self.away:.1f} s ago" if self.away else ""

    def stderr_tail(self) -> str:
        return "\n".join(self._said or ())

    def end_game(self) -> None:
        self._said, self._news = None, 0

    def stderr_news(self) -> str:
        news, self._news = self._news, 0
        return "\n".join(list(self._said or ())[-news:] if news else ())

    async def stop(self, kill: bool = False) -> None:
        """Whoever dialled in is let go at the door (hall)."""

    def waited(self) -> float:
        return self._late

    def credit(self) -> float:
        return min(self.way + self._held, self._cap) + self._host + (self.now() - self._came)

    def credit_because(self) -> str:
        host = f"host: the server was late by {self._host * 1000:.0f} ms; " if self._host >= 0.001 else ""
        taken = self.way + self._held
        way, credited, cap = (seconds * 1000 for seconds in (taken, min(taken, self._cap), self._cap))
        return f"{host}network: the way takes {way:.0f} ms, credited {credited:.0f} of at most {cap:.0f} ms"

    def late_because(self, overrun: int) -> str:
        if self._was_away:
            whose = "network: its connection was lost meanwhile"
        elif (self._way - min(self.way, self._cap)) * 1000 >= overrun:
            whose = f"network: the way took {self._way * 1000:.0f} ms this time"
        else:
            whose = "bot"
        return f"{whose} ({self.credit_because()})"

    # -- what happens to it ------------------------------------------------------------------------------------------

    @property
    def awaited(self) -> int:
        """Answers that are still to come."""
        return len(self._script.awaited) + len(self._telling)

    def take(self, answer: bytes, now: float) -> bool:
        """An answer came; False if nobody asked for it, or if it is no answer of the bot that was here (`unlike`)."""
        self._out -= 1
        taken = self._take(answer, now)
        if self._queue and self._go_on() and not self._queue:
            self._held = now - self._since
        return taken

    def _take(self, answer: bytes, now: float) -> bool:
        if self._telling:
            return self._take_own(answer, now)
        line = self._script.answered(answer)
        if line is None:
            return False
        if self._probe:
            self._measure(now)
        self._came = now
        if (late := self._lateness.between(self._asked, now)) > self._host:
            self._late += late - self._host
            self._host = late
        if line in _WHO:
            self._who[line] = _body(answer)
        self._inbox.put(answer, more=bool(self._script.awaited) and answer[:1] == b"=")
        return True

    def heard(self, text: str) -> None:
        """A line of its stderr."""
        if self._said is None:
            self._said = deque(maxlen=_WORDS)
        self._said.append(text[:200])
        self._news = min(self._news + 1, _WORDS)

    def begin_match(self) -> None:
        """From here on it is told again what it is told. The way is measured anew."""
        self._script.begin()
        if self.route and self._to_tell is None and not self._script.awaited:
            self._say_own([_PROBE])

    def end_match(self) -> None:
        self._script.end()

    def lose(self) -> None:
        """There is no connection any more; the clock runs on."""
        if self.route and not self.ended:
            self.route, self.away, self._was_away = b"", self.now(), True
            self._probe, self._to_tell, self._out = 0.0, None, 0
            self._telling.clear()
            self._queue.clear()

    def come_back(self, route: bytes) -> None:
        """On another connection: asked who it is, told the match so far, then asked again."""
        self.lose()
        self.route, self.away = route, 0.0
        self._say_own([*self._who, *(self._script.told or ())])

    def end(self, reason: str) -> None:
        """It will not come back."""
        if not self.ended:
            self.lose()
            self.ended = reason
            self._inbox.end()

    def _put(self, lines: Sequence[str], probe: bool) -> None:
        """`probe`: the answer to the first is measured, if it is a quick one."""
        if probe and lines:
            self._probe = self.now() if without_id(lines[0]).partition(" ")[0] in QUICK else 0.0
        self._queue.extend(f"{line}\n".encode() for line in lines)
        if self._go_on() and self._queue:
            self._since = self.now()

    def _go_on(self) -> bool:
        """Send of what waits as much as may be on its way; False: the connection is lost."""
        some = [self._queue.popleft() for _ in range(min(_WINDOW - self._out, len(self._queue)))]
        self._out += len(some)
        if some and not self._send(self.route, b"C", some):
            self.lose()
            return False
        return True

    def _measure(self, now: float) -> None:
        """The answer to a probe came. What we were late ourselves is not the way's."""
        self._way = max(0.0, now - self._probe - self._lateness.between(self._probe, now))
        self._ways.append(self._way)
        self.way = min(self._ways)
        self._probe = 0.0

    # -- what we say to it ourselves, and hear of ourselves -----------------------------------------------------------

    def _say_own(self, lines: list[str]) -> None:
        """Before anything else is said; the way is measured anew with it."""
        self._ways.clear()
        self.way = 0.0
        self._to_tell = deque(lines)
        self._tell_on(probe=True)

    def _tell_on(self, probe: bool = False) -> None:
        """The next lines of that; after the last one, what it was asked."""
        assert self._to_tell is not None
        while self._to_tell and len(self._telling) < _WINDOW:
            line = self._to_tell.popleft()
            self._telling.append(line)
            self._put([line], probe)
            if self._to_tell is None:  # gone again
                return
            probe = False
        if not self._telling:
            self._to_tell = None
            elapsed = int((self.now() - self._asked) * 1000)
            if clock := self._script.clock(elapsed):
                self._telling.append(clock)
            self._put([*self._telling, *self._script.again(elapsed)], probe=True)

    def _take_own(self, answer: bytes, now: float) -> bool:
        line = self._telling.popleft()
        if self._probe:
            self._measure(now)
        if line in _WHO and _body(answer) != self._who[line]:
            was, now_is = (text.decode("utf-8", "replace") for text in (self._who[line], _body(answer)))
            self.unlike = f"another program came back in its place: its {line} is {now_is!r} and was {was!r}"
        elif answer[:1] == b"?" and (line.startswith("play ") or line.split(" ")[0] not in QUICK):
            said = answer[1:_LONGEST_WHO].decode("utf-8", "replace").strip()
            self.unlike = f"it came back, and refuses the match so far: {said}"
        elif self._to_tell is not None:
            self._tell_on()
        return not self.unlike


def _body(answer: bytes) -> bytes:
    """What an answer says, without its id."""
    return answer[1 : _LONGEST_WHO + 20].lstrip(b"0123456789").strip()[:_LONGEST_WHO]
