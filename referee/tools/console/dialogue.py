"""The dialogue with one peer: lines as typed, answers in order, faults.

Lines carry only the ids that were typed, so that the peer receives exactly what the user enters.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from ggp.protocol.channel import PEER_FAULTS, Channel
from ggp.protocol.connection import PeerRole
from ggp.protocol.errors import CodedError, LocalProtocolError, PeerGone, PeerTimeout, ProtocolError
from ggp.protocol.grammar import MAX_LINE, clean_line, parse_command
from ggp.protocol.messages import Reply
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.transcript import Sink
from ggp.referee.match.bot_spec import (
    BOTS,
    BUILT_IN,
    ENGINE,
    BotSpec,
    WordError,
    distinct,
    find_program,
    is_built_in,
    read_bot,
    read_game,
    read_url,
)
from ggp.referee.match.process import LAST_WORDS, Peer, Process, Remote
from ggp.referee.match.setting import Timeouts
from ggp.referee.terminal import quote

# -- targets ----------------------------------------------------------------------------------------------------------


class Target(NamedTuple):
    """`open` starts a peer that passes its bytes to the sink; it raises LaunchError. `name` is for display.

    `first` is a command that is sent after every start, "" for none, and `then` are more behind it. `engine`: how to
    start another such peer. `bots` are those of the console.
    """

    name: str
    open: Callable[[Sink], Peer]
    engine: BotSpec
    first: str = ""
    then: tuple[str, ...] = ()
    bots: tuple[BotSpec, ...] = ()


def read_target(words: tuple[str, ...], command: tuple[str, ...], url: str, budgets: Timeouts) -> Target:
    """`GAME name=value … BOT …` on our engine, on that of a command line, or of a url; each may be left out.

    Raises WordError or LaunchError for a mistake that shows before the start.
    """
    target = read_peer(command, url, budgets)
    if not words:
        return target
    options = [word for word in words[1:] if _is_option(word)]
    bots = read_bots(word for word in words[1:] if not _is_option(word))
    game, values = read_game(",".join([words[0], *options]))
    first = " ".join(["ggp-new", game, *(f"{name}={value}" for name, value in values.items())])
    return target._replace(first=first, bots=bots)


def read_peer(command: tuple[str, ...], url: str, budgets: Timeouts, role: PeerRole = PeerRole.BOT) -> Target:
    """The program of a command line, or the peer that listens at a url; neither: our engine. As read_target."""
    if command and url:
        raise WordError("give -- COMMAND or --connect URL, and not both")
    if url:
        read_url(url)
        return Target(url, lambda sink: Remote(url, role, budgets, sink=sink), BotSpec("engine", url, url=url))
    if not command:
        role = PeerRole.ENGINE
    argv, name = command or ENGINE, " ".join(command) or "ggp engine"
    find_program(argv[0])
    # No clock runs here: a bot may use every core.
    start = partial(Process, argv, role, budgets, spread=True)
    return Target(name, lambda sink: start(sink=sink), BotSpec("engine", name, argv))


def read_bots(words: Iterable[str]) -> tuple[BotSpec, ...]:
    """Bots of a console, each with a name of its own. Raises WordError, LaunchError."""
    bots = [read_bot(word) for word in words]
    for bot in bots:
        name = bot.argv[len(BOTS)] if is_built_in(bot) else ""
        if name and name not in BUILT_IN:
            raise WordError(f"{name!r} is no program, and no built-in bot: these are {', '.join(BUILT_IN)}")
    return distinct(*bots)


def _is_option(word: str) -> bool:
    """Whether a word behind GAME is `name=value` of the game, and not `NAME=BOT`: a built-in one, a path, or several
    words."""
    name, equals, value = word.partition("=")
    a_bot = re.search(r"[\s/]", value) or value.partition(":")[0] in BUILT_IN
    return bool(equals) and name.isidentifier() and not a_bot


MOMENT = 10.0  # seconds to wait for the answer to a question of the console's own
KEPT = 100_000  # exchanges that :save can write
_ENDED, _LOST = "the peer has ended after quit", "nothing is sent to a lost peer"
_SAID = 4096  # bytes kept since the last whole answer
_SLICE = 1.0  # seconds between looks at whether a silent peer is still there


@dataclass(slots=True, eq=False)
class Exchange:
    """One command and, once it came, its answer. `own`: sent by the console, not typed.

    `seconds`: from the complete write to the complete read.
    """

    sent: str
    own: bool = False
    began: float = 0.0
    seconds: float = 0.0
    reply: Reply | None = None
    overdue: bool = False  # the time-out was reported
    then: Callable[[Reply], None] | None = field(default=None, repr=False)


def streams(line: str) -> bool:
    """Whether the answer to a command goes on until the next line is sent, as that to lz-analyze and kata-analyze."""
    words = line.split()[:2]
    name = words[-1] if words and words[0].isdecimal() else words[0] if words else ""
    return name == "analyze" or name.endswith("-analyze")


class PeerLost(CodedError):
    """The conversation is over until a restart; str() has the lines that explain why, and whose fault it was."""

    code = "peer-lost"


class Dialogue:
    """`passed(mark, data, own)` receives all bytes: `>` sent, `<` received; `own`: of the console's own commands."""

    passed: Callable[[str, bytes, bool], None] = staticmethod(lambda mark, data, own: None)

    def __init__(self, target: Target) -> None:
        """Raises LaunchError."""
        self.target = target
        self.kept: deque[tuple[str, Reply]] = deque(maxlen=KEPT)
        self.changes: deque[tuple[str, str]] = deque(maxlen=KEPT)  # what was typed that changed the position, answered
        self.pending: deque[Exchange] = deque()
        self.lost = ""  # why nothing can be sent any more, or ""
        self.trail = ReplayTrail()
        self._said = bytearray()
        self._half = b""  # what was sent behind the last LF
        self._asks = False  # the bytes that pass are of the console's own commands
        self._quit = False  # quit was sent
        self._warned = 0
        self.peer: Peer = self._open()

    @property
    def channel(self) -> Channel:
        return self.peer.channel

    def now(self) -> float:
        return self.channel.now()

    # -- sending -------------------------------------------------------------------------------------------------

    def send_line(self, line: str) -> Exchange | None:
        """Send a typed line; None for a comment or a blank line, which gets no answer. Raises PeerLost."""
        text = clean_line(line.encode("utf-8", "surrogateescape"))
        return self.send(f"{text}\n".encode("utf-8", "surrogateescape"))[0] if text else None

    def question(self, line: str, then: Callable[[Reply], None]) -> bool:
        """Ask a question of the console's own; `then` gets the reply when it comes. False: it cannot be asked now."""
        if self.lost or self._half or self._quit:
            return False
        try:
            (asked,) = self.send(f"{line}\n".encode(), own=True)
        except PeerLost:
            return False
        asked.then = then
        return True

    def ask(self, line: str, seconds: float) -> Reply:
        """Ask a question of the console's own and wait for all open answers. Raises PeerLost, PeerTimeout."""
        if self._half:
            raise LocalProtocolError("half a line has been sent: end it first, with :send '\\n'")
        (asked,) = self.send(f"{line}\n".encode(), own=True)
        self.wait(asked, self.now() + seconds)
        assert asked.reply is not None
        return asked.reply

    def send(self, data: bytes, own: bool = False) -> list[Exchange]:
        """Send bytes as they are; the answers that they should get. Raises PeerLost."""
        if self.lost:  # the reason was reported when it happened
            raise PeerLost(f"{_ENDED if self.lost == _ENDED else _LOST}; type :restart")
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
        """Read until the deadline; the next exchange that is answered, or None.

        Raises PeerLost, once, when the conversation breaks.
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
        """Wait for an answer. Raises PeerLost; PeerTimeout at the deadline, after which the answer may still come."""
        while exchange.reply is None:
            if self.lost:
                raise PeerLost(self.lost)
            if self.pump(deadline) is None and self.now() >= deadline and exchange.reply is None:
                raise PeerTimeout(f"no answer to `{exchange.sent[:80]}` in time")

    def take_stream(self) -> list[str]:
        """The new lines of an answer that streams (see Connection.take_lines)."""
        ready, pending = self.channel.connection.ready, self.pending
        return [] if ready or not (pending and streams(pending[0].sent)) else self.channel.connection.take_lines()

    def stderr_news(self) -> str:
        """The new text of the peer's stderr, without a last line that `lost` has already."""
        news = self.peer.stderr_news()
        last = news.strip().rpartition("\n")[2]
        return news.rstrip().removesuffix(last) if last and self.lost.endswith(f": {last}") else news

    def new_warnings(self) -> list[str]:
        """Tolerated faults since the last call."""
        warnings = self.channel.warnings[self._warned :]
        self._warned += len(warnings)
        return warnings

    def _answered(self, reply: Reply) -> Exchange:
        done = self.pending.popleft()
        done.reply, done.seconds = reply, self.now() - done.began
        if not self.channel.connection.ready:  # else more bytes follow, which explain() must show
            self._said.clear()
        self.trail.note(done.sent, reply)
        if not done.own:
            self.note(done.sent, reply)
        if done.then is not None:
            done.then(reply)
        return done

    def note(self, sent: str, reply: Reply) -> None:
        """Keep a command as one that was typed."""
        self.kept.append((sent, reply))
        if reply.ok and any(word in CHANGING for word in sent.split()[:2]):
            self.changes.append((sent, reply.text))

    def take_changes(self) -> list[tuple[str, str]]:
        """The typed commands that changed the position since the last call, and the texts of their answers."""
        found = list(self.changes)
        self.changes.clear()
        return found

    def _lose(self, error: Exception) -> PeerLost:
        """Keep the reason; nothing is sent to this peer any more."""
        assert isinstance(error, ProtocolError)
        exited = self.peer.exited(LAST_WORDS) if isinstance(error, PeerGone) else ""
        if self._quit and isinstance(error, PeerGone) and not self.pending:
            self.lost = _ENDED
        else:
            self.lost = "\n".join(explain(error, bytes(self._said), exited, self.peer.stderr_tail()))
        self.pending.clear()
        return PeerLost(self.lost)

    # -- starting and ending -------------------------------------------------------------------------------------

    def restart(self) -> None:
        """End the peer, without quit if it is lost or late, and start it again. Raises LaunchError."""
        self.close()
        self.trail = ReplayTrail()
        self.peer = self._open()

    def close(self) -> None:
        """End the peer and its processes; its last output is ignored."""
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
        return self.target.open(self._sink)

    def _sink(self, mark: str, seconds: float, data: bytes) -> None:
        own = self._asks or bool(mark == "<" and self.pending and self.pending[0].own)
        if mark == "<":
            self._said += data
            del self._said[:-_SAID]
        self.passed(mark, data, own)


# -- diagnosis of a broken dialogue -----------------------------------------------------------------------------------


# A phrase of the error, and the rule of PROTOCOL §2 that it breaks.
_RULES = (
    ("an answer is at most", "2.8: an answer is at most 1 MiB and 10,000 lines"),
    ("blank lines before", "2.8: everything that is read is bounded"),
    ("lines before an answer", "2.10: at most 200 lines that are no answer are tolerated"),
    ("begins with = or ?", "2.3: nothing but answers is written to stdout"),
    ("without a question", "2.3: one answer a command, and nothing else is written to stdout"),
    ("expected", "2.2: an id is echoed, and only if one was given"),
    ("echoes no ids", "2.11: a peer that echoes no ids must answer in time"),
    ("does not read", "2.8: never a hang"),
)
_SHOWN = 300  # of the last bytes


def explain(error: ProtocolError, said: bytes, exited: str, stderr: str) -> list[str]:
    """The lines of a PeerLost. `said`: bytes since the last whole answer; `exited`: how it ended."""
    lines = [_blame(error, exited)]
    if said:
        lines.append(f"since the last whole answer it said: {quote(said[-_SHOWN:])}")
    if isinstance(error, PeerGone) and (last := stderr.strip().splitlines()[-1:]):
        lines.append(f"the last line of its stderr: {last[0]}")
    return lines


def _blame(error: ProtocolError, exited: str) -> str:
    if isinstance(error, LocalProtocolError):
        return f"this was not sent: {error}"
    if isinstance(error, PeerGone):
        ended = f" ({exited})" if exited else ""
        return f"the peer's fault: {error}{ended}; PROTOCOL §2.5: it ends after `quit` or when its input ends"
    if isinstance(error, PeerTimeout):
        return f"the peer's fault: {error}; PROTOCOL §2.8: never a hang"
    rule = next((rule for phrase, rule in _RULES if phrase in str(error)), "")
    return f"the peer's fault: {error}" + (f"; PROTOCOL §{rule}" if rule else "")


# -- the commands that led to the position, resent after a restart ----------------------------------------------------


PLAYS = frozenset(("play", "ggp-play"))
GENMOVES = frozenset(("genmove", "ggp-genmove_analyze", "lz-genmove_analyze", "kata-genmove_analyze"))
UNDOES = frozenset(("undo", "ggp-undo"))
SET_UPS = frozenset(("fixed_handicap", "set_free_handicap", "place_free_handicap", "gogui-play_sequence", "loadsgf"))
CHANGING = PLAYS | GENMOVES | UNDOES | SET_UPS | {"ggp-new", "boardsize", "clear_board", "komi"}
"""Commands that may change the position."""
_CLOCKS = frozenset(("time_settings", "kgs-time_settings", "kata-time_settings", "time_left", "ggp-clock"))
_SETTINGS = _CLOCKS | {"set_random_seed", "kgs-rules", "kata-set-rules", "kata-set-param"}
_MOST = 20_000  # commands


class ReplayTrail:
    """The commands that led to the position: those of an earlier game and plies that were undone are dropped."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.whole = True  # False: there were too many to keep

    def note(self, sent: str, reply: Reply) -> None:
        """A command was answered."""
        if not reply.ok or not sent.split():
            return
        name, arguments, _ = parse_command(sent)
        line = " ".join([name, *arguments])
        if name == "ggp-new":
            self.lines = [each for each in self.lines if each.split()[0] in _SETTINGS]
            self.whole = True
        elif name in ("clear_board", "loadsgf"):
            self.lines = [each for each in self.lines if each.split()[0] not in PLAYS | UNDOES | SET_UPS]
        if name in UNDOES:
            self._take_back(name, int(arguments[0]) if arguments and arguments[0].isdecimal() else 1)
        elif name in GENMOVES:
            if arguments and (move := move_of(reply.text)):
                self._add(f"play {arguments[0]} {move}")
        elif name in _SETTINGS:
            self.lines = [each for each in self.lines if each.split()[:2] != [name, *arguments[:1]]]
            self._add(line)
        elif name in CHANGING:
            self._add(line)

    def _take_back(self, name: str, count: int) -> None:
        while count and self.lines and self.lines[-1].split()[0] in PLAYS:
            self.lines.pop()
            count -= 1
        for _ in range(count):
            self._add(name)

    def _add(self, line: str) -> None:
        if len(self.lines) < _MOST:
            self.lines.append(line)
        else:
            self.whole = False


def move_of(answer: str) -> str:
    """The move in the answer to a genmove: its first word, or the one behind `play`; "" for none."""
    lines = [line.split() for line in answer.splitlines()]
    played = [words[1] for words in lines if len(words) > 1 and words[0] == "play"]
    first = [words[0] for words in lines if words]
    move = (played or first or [""])[0]
    return "" if move.lower() in ("resign", "") else move
