"""One bot that dialled in: a Transport that suspends, and a Peer. It outlives its connections.

A bot that reconnects is asked whether it is the same program, then receives the match so far (MatchTranscript) and the
open question again; the caller that awaits the answer observes only the delay. The round-trip time is measured before
each match and with each turn, on commands that need no computation, and credited up to a bound; delays of the server
itself are credited in full.
"""

import asyncio
import hashlib
import json
import math
import re
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ggp.protocol.channel import Channel
from ggp.protocol.connection import PeerRole
from ggp.protocol.errors import PeerTimeout
from ggp.protocol.grammar import MAX_LINE
from ggp.protocol.lobby_wire import Hello
from ggp.protocol.records import Party
from ggp.referee.ladder.store.model import Entrant, Pool
from ggp.referee.match.bot_spec import DIGITS, BotSpec
from ggp.referee.match.player import LIMITS, Player, said_settings
from ggp.referee.match.process import Peer
from ggp.referee.match.sandbox.machine import in_record
from ggp.referee.server.lobby.zmq_io import Inbox

# -- event-loop lag ---------------------------------------------------------------------------------------------------


TICK = 0.01  # seconds between measurements
STANDSTILL = 0.05  # seconds; a delay this long counts for every command sent meanwhile, whenever it is answered
_RECENT = 0.05  # seconds for which a shorter delay counts for the answers that came in with it
_MOST = 16  # standstills that are remembered


class Lateness:
    """Measures event-loop lag with a periodic timer. `now` in seconds, never backwards."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.worst = 0.0  # seconds, since the last reset
        self.now = now
        self._due = math.inf  # not started
        self._stood: deque[tuple[float, float]] = deque(maxlen=_MOST)  # from when to when, latest last
        self._last = self._when = 0.0  # the last shorter delay, and when it ended
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Measure from now on, in the running loop."""
        self._due = self.now() + TICK
        self._timer = asyncio.get_running_loop().call_later(TICK, self._tick)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def between(self, asked: float, now: float) -> float:
        """Return the seconds since `asked` in which the loop could neither send nor receive.

        They are all standstills, and the delay in which what is received `now` may have come.
        """
        due = self._due
        if now <= due and now - self._when >= _RECENT and (not self._stood or self._stood[-1][1] <= asked):
            return 0.0  # almost always
        late = now - due if now > due > asked else now - asked if now > asked >= due else 0.0
        if now - self._when < _RECENT:
            late += max(0.0, self._when - max(asked, self._when - self._last))
        for began, ended in reversed(self._stood):
            if ended <= asked:
                break
            late += ended - max(asked, began)
        return late

    def _tick(self) -> None:
        try:
            self._measure()
        finally:  # a measurement that fails does not end them
            self._timer = asyncio.get_running_loop().call_later(TICK, self._tick)

    def _measure(self) -> None:
        now, due = self.now(), self._due
        late = max(0.0, now - due)
        self.worst = max(self.worst, late)
        if late >= STANDSTILL:
            self._stood.append((due, now))
        elif late >= self._last or now - self._when >= _RECENT:
            self._last, self._when = late, now
        self._due = now + TICK


SAMPLES = 8  # of the round-trip time; the least counts, so that one slow answer gives no credit
_WINDOW = 32  # lines that are on their way at a time: the socket's queue for a connection is bounded
_LINES = 20  # of stderr that are kept
_PROBE = "protocol_version"  # which every bot answers, and at once
_WHO = ("name", "version")  # commands whose answers identify a program
_LONGEST_WHO = 200  # bytes of such an answer
_FOR_EVER = 1e9
Send = Callable[[bytes, bytes, Sequence[bytes]], bool]


class RemoteBot(Peer):
    """One bot that dialled in, through all its connections."""

    look = _FOR_EVER  # no polling: the sessions report the end

    def __init__(self, send: Send, lateness: Lateness, cap: float) -> None:
        """Make a bot without a connection.

        Args:
            send: Sends payloads of a kind on a route. Returns False if the connection is gone or does not read.
            cap: Seconds of network delay that a move is credited, at most.
        """
        self.now = lateness.now
        self.route = b""  # "" while there is no connection
        self.ended = ""  # why nothing more comes from it
        self.away = 0.0  # since when it has no connection; 0: it has one
        self.unlike = ""  # why what came back cannot go on in its place
        self._send = send
        self._lateness = lateness
        self._cap = cap
        self._script = MatchTranscript()
        self._inbox = Inbox(self.now)
        self.way = 0.0  # round-trip time in seconds, the least of the last few samples
        self._ways: deque[float] = deque(maxlen=SAMPLES)
        self._way = 0.0  # the last sample
        self._asked = self._came = 0.0  # times of the last write, and of the last answer
        self._probe = 0.0  # when a quick command was sent whose answer is measured
        self._late = 0.0  # seconds that the server was late for its answers, in all
        self._host = 0.0  # the same since the last write
        self._held = 0.0  # seconds that the last line waited here, since the last write
        self._was_away = False  # since the last write
        self._out = 0  # lines that were sent and not answered
        self._queue: deque[bytes] = deque()  # lines that wait for these answers,
        self._since = 0.0  # and since when
        self._own: deque[str] = deque()  # lines of our own that it has not answered yet
        self._catching_up = False  # they come before what it is asked
        self._who: dict[str, bytes] = {}
        self._stderr: list[str] = []
        self._news = 0  # lines since the last stderr_news
        self.channel = Channel(self, PeerRole.BOT)

    # -- a Transport -------------------------------------------------------------------------------------------------

    async def write(self, data: bytes, deadline: float | None = None) -> None:
        """Write as a Transport does. What cannot leave now is sent when the bot is back."""
        lines, awaited = data.decode().split("\n")[:-1], self._script.awaited
        idle = not awaited
        self._asked, self._host, self._held = self.now(), 0.0, 0.0
        self._was_away = not self.route
        awaited.extend(lines)
        if not self.route or self._catching_up:
            return
        if self._queue or self._out + len(lines) > _WINDOW:
            self._put(lines, probe=idle)
            return
        if idle and lines:
            self._begin_probe(lines)
        self._out += len(lines)
        if not self._send(self.route, b"C", data.splitlines(keepends=True)):
            self.lose()

    async def read(self, deadline: float) -> bytes:
        """Read as a Transport does. No deadline passes while the server stands still."""
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
        """Do nothing: a connection cannot be closed by half."""

    def close(self) -> None:
        self.end("it was dismissed")

    # -- a Peer ------------------------------------------------------------------------------------------------------

    def exited(self, wait: float = 0) -> str:
        return self.ended

    def lost(self) -> str:
        return f"network: its connection was lost {self.now() - self.away:.1f} s ago" if self.away else ""

    def stderr_tail(self) -> str:
        return "\n".join(self._stderr)

    def end_game(self) -> None:
        self._news = 0
        self._stderr.clear()

    def stderr_news(self) -> str:
        news, self._news = self._news, 0
        return "\n".join(self._stderr[-news:] if news else ())

    async def stop(self, kill: bool = False) -> None:
        """Do nothing: Sessions ends the connection."""

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

    # -- events ------------------------------------------------------------------------------------------------------

    @property
    def awaited(self) -> int:
        """The number of answers that are still to come."""
        return len(self._script.awaited) + len(self._own)

    def on_answer(self, answer: bytes, now: float) -> bool:
        """Take an answer. Return False if it is unexpected, or if the bot cannot continue its match (`unlike`)."""
        self._out -= 1
        taken = self._on_own_answer(answer, now) if self._own else self._on_match_answer(answer, now)
        if self._queue and self._send_queued() and not self._queue:
            self._held = now - self._since
        return taken

    def _on_match_answer(self, answer: bytes, now: float) -> bool:
        script = self._script
        line = script.answered(answer)
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
        self._inbox.put(answer, more=bool(script.awaited) and answer[:1] == b"=")
        return True

    def on_stderr(self, text: str) -> None:
        """Take a line of its stderr."""
        self._stderr.append(text[:200])
        del self._stderr[:-_LINES]
        self._news = min(self._news + 1, _LINES)

    def begin_match(self) -> None:
        """Start the transcript, and measure the round-trip time again."""
        self._script.start()
        if self.route and not (self._catching_up or self._script.awaited):
            self._send_own([_PROBE])

    def end_match(self) -> None:
        self._script.end()

    def lose(self) -> None:
        """Mark the connection as lost. The clock keeps running."""
        if self.route and not self.ended:
            self.route, self.away, self._was_away = b"", self.now(), True
            self._probe, self._catching_up, self._out = 0.0, False, 0
            self._own.clear()
            self._queue.clear()

    def come_back(self, route: bytes) -> None:
        """Reconnect: send the identity questions, the match so far, then the open question."""
        self.lose()
        self.route, self.away = route, 0.0
        self._send_own([*self._who, *(self._script.told or ())])

    def end(self, reason: str) -> None:
        """End the bot, which will not reconnect."""
        if not self.ended:
            self.lose()
            self.ended = reason
            self._inbox.end()

    def _put(self, lines: Sequence[str], probe: bool) -> None:
        """Queue lines. With `probe`, measure the answer to the first one if it is a quick command."""
        if probe and lines:
            self._begin_probe(lines)
        self._queue.extend(f"{line}\n".encode() for line in lines)
        if self._send_queued() and self._queue:
            self._since = self.now()

    def _begin_probe(self, lines: Sequence[str]) -> None:
        self._probe = self.now() if without_id(lines[0]).partition(" ")[0] in QUICK else 0.0

    def _send_queued(self) -> bool:
        """Send what fits into the window. Return False if the connection is lost."""
        some = [self._queue.popleft() for _ in range(min(_WINDOW - self._out, len(self._queue)))]
        self._out += len(some)
        if some and not self._send(self.route, b"C", some):
            self.lose()
            return False
        return True

    def _measure(self, now: float) -> None:
        """Measure the round-trip time of a probe whose answer came, without delays of our own."""
        self._way = max(0.0, now - self._probe - self._lateness.between(self._probe, now))
        self._ways.append(self._way)
        self.way = min(self._ways)
        self._probe = 0.0

    # -- lines of our own ---------------------------------------------------------------------------------------------

    def _send_own(self, lines: list[str]) -> None:
        """Send these lines before anything else, and measure the round-trip time again with the first."""
        self._ways.clear()
        self.way = 0.0
        self._catching_up = True
        self._own.extend(lines)
        if lines:
            self._put(lines, probe=True)
        else:
            self._ask_again()

    def _ask_again(self) -> None:
        """Send what the bot is asked, with clocks that have run on."""
        self._catching_up, self._held = False, 0.0
        elapsed = int((self.now() - self._asked) * 1000)
        if clock := self._script.clock(elapsed):
            self._own.append(clock)
        self._put([*self._own, *self._script.again(elapsed)], probe=True)

    def _on_own_answer(self, answer: bytes, now: float) -> bool:
        line = self._own.popleft()
        if self._probe:
            self._measure(now)
        if line in _WHO and _body(answer) != self._who[line]:
            was, now_is = (text.decode("utf-8", "replace") for text in (self._who[line], _body(answer)))
            self.unlike = f"another program reconnected in its place: its {line} is {now_is!r} and was {was!r}"
        elif answer[:1] == b"?" and (line.startswith("play ") or line.split(" ")[0] not in QUICK):
            said = answer[1:_LONGEST_WHO].decode("utf-8", "replace").strip()
            self.unlike = f"it reconnected, and refuses the match so far: {said}"
        elif self._catching_up and not self._own:
            self._ask_again()
        return not self.unlike


def _body(answer: bytes) -> bytes:
    """Return the text of an answer, bounded."""
    return answer[1 : _LONGEST_WHO + 20].lstrip(b"0123456789").strip()[:_LONGEST_WHO]


# -- identity and connected bot ---------------------------------------------------------------------------------------


DIALLED = "dialled in"  # in place of a command line


@dataclass(frozen=True, slots=True)
class Local:
    """A bot of the lobby's own file."""

    entrant: Entrant
    copies: int = 1  # processes of it
    hash: str = ""  # of its program


@dataclass(frozen=True, slots=True)
class Identity:
    """The owner and the bot that a connection speaks for: proved by a key, or only claimed if no keys are used.

    Bots of one owner are not paired. A local bot is known by its process. Its copies, counted from 0, are one bot that
    plays several matches at a time.
    """

    owner: str
    name: str
    local: Local | None = None
    copy: int = 0

    @property
    def seat(self) -> str:
        """The key of the session: the name, with a suffix that no name can have for further copies."""
        return f"{self.name}#{self.copy}" if self.copy else self.name

    @property
    def key(self) -> str:
        """The key of its back-off."""
        return f"{self.owner}/{self.seat}"


@dataclass(slots=True, eq=False)
class ConnectedBot:
    """A bot that has said hello."""

    identity: Identity
    games: frozenset[str]  # empty: all
    line: RemoteBot
    player: Player | None = None  # until the handshake is over
    version: str = ""
    playing: bool = False  # it is in a match
    challenges: bool = True  # whether it accepts any
    seat: bool = False  # a person plays: unrated games only
    leaving: bool = False  # it has announced that it plays no other game
    resting: float = 0.0  # until then (time.monotonic) it begins no game
    challenged: bool = False  # its last pair was a challenge, and no rated one was offered since
    moves: bool = False  # it knows other addresses of the lobby, and goes where it is sent
    pairs: int = 0  # that it began on this connection, or since it was last considered for a move
    _entry: Entrant | None = None

    @property
    def name(self) -> str:
        return self.identity.name

    @property
    def roams(self) -> bool:
        """Whether it may dial in at any front of the lobby, and is at one of them at a time."""
        return self.identity.local is None and not self.seat

    @property
    def start(self) -> BotSpec:
        """Its ladder entry, with the version that the bot reports unless it is local."""
        local = self.identity.local
        return local.entrant.start if local else BotSpec(self.name, DIALLED, version=self.version)

    @property
    def party(self) -> Party:
        """Its identity in records before the handshake."""
        local = self.identity.local
        start = self.start
        return Party(
            name=self.name,
            command=start.command,
            hash=local.hash if local else "",
            settings=said_settings(start),
            sandbox=in_record(start.sandbox, credited=False) if start.sandbox else "",
        )

    def entry(self, pools: Sequence[Pool]) -> Entrant:
        """Return its ladder entry.

        A local bot plays in the pools of the file, and others in every pool whose game they play. A bot that accepts
        challenges is also in the unrated pools beside these. A person is in unrated pools only, if the file allows it.
        """
        if self._entry is None:  # every round of pairing asks for it
            if local := self.identity.local:
                entry = local.entrant
            else:
                mine = (pool for pool in pools if self.plays(pool.setting.game))
                theirs = tuple(pool.name for pool in mine if pool.rated != self.seat and (pool.seats or not self.seat))
                entry = Entrant(self.name, self.start, theirs)
            self._entry = entry.with_unrated() if self.challenges and not self.seat else entry
        return self._entry

    def set_terms(self, hello: Hello) -> None:
        """Apply what a hello says about what the bot plays."""
        self.challenges, self.seat, self._entry = hello.challenges, hello.seat, None
        self.moves = hello.moves

    def met(self, player: Player) -> None:
        """Take the player of a handshake that is over."""
        said = json.dumps([DIALLED, player.party.program, player.party.version])
        self.player = player
        player.asks_engine = self.start.asks_engine
        self.version = hashlib.sha256(said.encode()).hexdigest()[:DIGITS]
        if local := self.identity.local:
            self.version = local.entrant.version
        self._entry = None

    def plays(self, game: str) -> bool:
        return not self.games or game in self.games


# -- transcript of the running match, for reconnects ------------------------------------------------------------------


_GENMOVES = ("genmove", "ggp-genmove_analyze")
_KEPT = (
    *("ggp-new", "play", "set_random_seed", "boardsize", "clear_board", "komi"),
    *("fixed_handicap", "set_free_handicap", "kata-set-rules", "kgs-rules"),
)
_CLOCKS = ("ggp-clock", "time_left")
_TIMES = ("time_settings", "kgs-time_settings", "kata-time_settings")
QUICK = frozenset(("play", "ggp-clock", "time_left", "protocol_version", "name", "version"))
"""Commands that need no computation: the time of their answers is the round-trip time."""


class MatchTranscript:
    """The commands of one bot in a match, which are sent again when it reconnects."""

    __slots__ = ("_clock", "awaited", "told")

    def __init__(self) -> None:
        self._clock = ""  # the clock command for the awaited move, if it was answered
        self.awaited: deque[str] = deque()  # not answered yet, as sent, with ids
        self.told: list[str] | None = None  # answered, and needed for the position; None between matches

    def start(self) -> None:
        """Begin a match."""
        self.told = []

    def end(self) -> None:
        self.told = None
        self._clock = ""

    def answered(self, answer: bytes) -> str | None:
        """Take an answer, and return its command without the id. Return None if it is unexpected."""
        if not self.awaited:
            return None
        line = without_id(self.awaited.popleft())
        if self.told is not None:
            self._store(line, answer)
        return line

    def again(self, elapsed: int) -> list[str]:
        """Return the awaited commands with clocks that have run on by `elapsed` milliseconds."""
        mover = self._mover()
        return [run_on(line, mover, elapsed) for line in self.awaited]

    def clock(self, elapsed: int) -> str:
        """Return the clock command to send before these, "" if none was answered already."""
        mover = self._mover()
        return run_on(self._clock, mover, elapsed) if mover else ""

    def _mover(self) -> str:
        """Return the colour whose move is awaited, or ""."""
        asked = [word for word in map(without_id, self.awaited) if word.startswith(_GENMOVES)]
        return asked[-1].partition(" ")[2] if asked else ""

    def _store(self, line: str, answer: bytes) -> None:
        assert self.told is not None
        command, _, rest = line.partition(" ")
        if command in _GENMOVES:
            self._clock = ""
        if answer[:1] != b"=":  # a refused command changed nothing
            return
        if command == "play":
            self.told.append(line)
        elif command in _GENMOVES:
            words = answer[:MAX_LINE].decode("utf-8", "replace").partition("\n")[0].lstrip("=0123456789").split()
            if words and words[0].lower() != "resign":
                self.told.append(f"play {rest} {words[0]}")
        elif command in _CLOCKS:
            self._clock = line
        elif command in _KEPT or command in _TIMES or command in LIMITS:
            self.told.append(line)


def without_id(line: str) -> str:
    """Remove the id of a command: `12 play B D4` becomes `play B D4`."""
    number, _, rest = line.partition(" ")
    return rest if number.isdigit() else line


def run_on(line: str, mover: str, elapsed: int) -> str:
    """Return a clock line with the mover's time reduced by `elapsed` milliseconds, or any other line as it is."""
    if not mover or elapsed <= 0:
        return line
    command = without_id(line).partition(" ")[0]
    if command == "ggp-clock":
        values = {name: int(value) for name, value in re.findall(r"\b(\w+)=(\d+)", line)}
        if mover not in values:
            return line
        after = _after(values[mover], values.get("period", 0), values.get("periods", 0), elapsed)
        for name, value in zip((mover, "periods"), after, strict=True):
            line = re.sub(rf"\b{name}=\d+", f"{name}={value}", line)
        return line
    if command == "time_left":
        left = lambda found: f"{found[1]}{max(0, int(found[2]) - -(-elapsed // 1000))}"  # noqa: E731
        return re.sub(rf"(time_left {mover} )(\d+)", left, line)
    return line


def _after(left: int, period: int, periods: int, elapsed: int) -> tuple[int, int]:
    """Return the main time and the periods of Japanese byo-yomi that are left `elapsed` milliseconds later.

    The rest of a period that has begun is given as main time, and the period is not counted: the sum is the time left.
    Main time that is exactly as long as a period counts as one: no clock shows too much time.
    """
    if not periods:
        return max(0, left - elapsed), 0
    beyond = elapsed if left == period else elapsed - left
    if beyond <= 0:
        return left - elapsed, periods
    lost = (beyond - 1) // period  # a move of exactly n periods has outlasted n - 1 of them
    return (period - (beyond - lost * period), periods - lost - 1) if lost < periods else (0, 0)
