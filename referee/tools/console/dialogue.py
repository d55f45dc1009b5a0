"""The dialogue with one peer: typed lines, answers in order, faults.

Lines carry only ids that were typed, so the peer receives exactly what the user enters.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
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
from ggp.referee.match.setting import TIMEOUTS, new_game
from ggp.referee.terminal import quote

# -- which peer -------------------------------------------------------------------------------------------------------


class Target(NamedTuple):
    """A peer of a console, and the bots beside it."""

    name: str  # for display
    open: Callable[[Sink], Peer]  # starts a peer that passes its bytes to the sink; raises LaunchError
    engine: BotSpec  # how to start another such peer
    first: str = ""  # a command that is sent after every start, "" for none
    then: tuple[str, ...] = ()  # commands that follow it
    bots: tuple[BotSpec, ...] = ()


def read_target(words: tuple[str, ...], command: tuple[str, ...], url: str) -> Target:
    """Parse `GAME name=value … BOT …` for the built-in engine, the engine of a command line, or one at a URL.

    Args:
        words: The words; may be empty.
        command: The command line of the peer; () for none.
        url: The URL of the peer; "" for none.

    Raises:
        WordError: A word is invalid.
        LaunchError: A program does not exist.
    """
    target = read_peer(command, url)
    if not words:
        return target
    options = [word for word in words[1:] if _is_option(word)]
    bots = read_bots(word for word in words[1:] if not _is_option(word))
    return target._replace(first=new_game(*read_game(",".join([words[0], *options]))), bots=bots)


def read_peer(command: tuple[str, ...], url: str, role: PeerRole = PeerRole.BOT) -> Target:
    """Return the program of a command line, or a URL; without either the built-in engine.

    Args:
        command: The command line of the peer; () for none.
        url: The URL of the peer; "" for none.
        role: The role of a peer that is not the built-in engine.

    Raises:
        WordError: The URL is invalid, or both are given.
        LaunchError: The program does not exist.
    """
    if command and url:
        raise WordError("give either -- COMMAND or --connect URL, not both")
    if url:
        read_url(url)
        return Target(url, lambda sink: Remote(url, role, TIMEOUTS, sink=sink), BotSpec("engine", url, url=url))
    argv, name = command or ENGINE, " ".join(command) or "ggp engine"
    find_program(argv[0])
    # No clock runs here: a bot may use every core.
    start = partial(Process, argv, role if command else PeerRole.ENGINE, TIMEOUTS, spread=True)
    return Target(name, lambda sink: start(sink=sink), BotSpec("engine", name, argv))


def read_bots(words: Iterable[str]) -> tuple[BotSpec, ...]:
    """Parse the bots of a console, and make their names distinct.

    Raises:
        WordError: A word is not a bot.
        LaunchError: A program does not exist.
    """
    bots = [read_bot(word) for word in words]
    for bot in bots:
        name = bot.argv[len(BOTS)] if is_built_in(bot) else ""
        if name and name not in BUILT_IN:
            raise WordError(
                f"{name!r} is neither a program nor a built-in bot; the built-in bots are {', '.join(BUILT_IN)}"
            )
    return distinct(*bots)


def _is_option(word: str) -> bool:
    """Return True if a word after GAME is `name=value` for the game rather than `NAME=BOT`.

    It is a bot if the value is a built-in bot, a path, or several words.
    """
    name, equals, value = word.partition("=")
    a_bot = re.search(r"[\s/]", value) or value.partition(":")[0] in BUILT_IN
    return bool(equals) and name.isidentifier() and not a_bot


# -- commands by what they do ------------------------------------------------------------------------------------------


COLOURS = {"b": "black", "black": "black", "w": "white", "white": "white"}
PLAYS = frozenset(("play", "ggp-play"))
GENMOVES = frozenset(("genmove", "ggp-genmove_analyze", "lz-genmove_analyze", "kata-genmove_analyze"))
UNDOES = frozenset(("undo", "ggp-undo"))
SET_UPS = frozenset(("fixed_handicap", "set_free_handicap", "place_free_handicap", "gogui-play_sequence", "loadsgf"))
CHANGING = PLAYS | GENMOVES | UNDOES | SET_UPS | {"ggp-new", "boardsize", "clear_board", "komi"}
"""Commands that may change the position."""
_CLOCKS = frozenset(("time_settings", "kgs-time_settings", "kata-time_settings", "time_left", "ggp-clock"))
_SETTINGS = _CLOCKS | {"set_random_seed", "kgs-rules", "kata-set-rules", "kata-set-param"}


def name_of(line: str) -> str:
    """Return the name of the command in a line, without its id; "" for a blank line."""
    words = line.split(maxsplit=2)[:2]
    return words[-1] if words and words[0].isdecimal() else words[0] if words else ""


def streams(line: str) -> bool:
    """Return True if the answer continues until the next line is sent, as with lz-analyze and kata-analyze."""
    name = name_of(line)
    return name == "analyze" or name.endswith("-analyze")


def move_of(answer: str) -> str:
    """Return the move in the answer to a genmove: its first word, or the one after `play`; "" for none."""
    lines = [words for line in answer.splitlines() if (words := line.split())]
    played = [words[1] for words in lines if len(words) > 1 and words[0] == "play"]
    move = (played or [words[0] for words in lines] or [""])[0]
    return "" if move.lower() == "resign" else move


# -- the dialogue -----------------------------------------------------------------------------------------------------


MOMENT = 10.0  # seconds to wait for the answer to a question of the console
KEPT = 100_000  # exchanges that :save can write
_ENDED, _LOST = "the peer exited after quit", "the peer is lost, so nothing was sent"
_SAID = 4096  # bytes kept since the last complete answer
_SLICE = 1.0  # seconds between checks whether a silent peer has exited


@dataclass(slots=True, eq=False)
class Exchange:
    """A command and, once it arrives, its answer."""

    sent: str
    own: bool = False  # asked by the console, not typed by the user
    began: float = 0.0
    seconds: float = 0.0  # from the complete write to the complete read
    reply: Reply | None = None
    overdue: bool = False  # the time-out was reported
    then: Callable[[Reply], object] | None = None  # receives the reply


class PeerLost(CodedError):
    """The end of the conversation until a restart; str() explains why, and whose fault it was."""

    code = "peer-lost"


class Dialogue:
    """A conversation with a peer.

    `passed` is called with all bytes: a mark (`>` sent, `<` received), the bytes, and True if the console asked.
    `changed` is called with each typed command that changed the position, and the text of its answer.
    """

    def __init__(self, target: Target) -> None:
        """Start the peer.

        Raises:
            LaunchError: It does not start.
        """
        self.target = target
        self.passed: Callable[[str, bytes, bool], None] = lambda mark, data, own: None
        self.changed: Callable[[str, str], None] = lambda sent, answer: None
        self.kept: deque[tuple[str, Reply]] = deque(maxlen=KEPT)
        self.pending: deque[Exchange] = deque()
        self.lost = ""  # why the peer is lost
        self._said = bytearray()
        self._half = b""  # bytes sent after the last LF
        self._asks = False  # the bytes being sent are a question of the console
        self._quit = False  # quit was sent
        self._open()

    @property
    def channel(self) -> Channel:
        """Return the channel to the peer."""
        return self.peer.channel

    @property
    def awaited(self) -> Exchange | None:
        """Return the oldest typed command without an answer."""
        return next((exchange for exchange in self.pending if not exchange.own), None)

    def now(self) -> float:
        """Return the time of the channel's clock in seconds."""
        return self.channel.now()

    # -- sending -------------------------------------------------------------------------------------------------

    def send_line(self, line: str) -> Exchange | None:
        """Send a typed line. Return None for a comment or a blank line, which gets no answer.

        Raises:
            PeerLost: The peer is lost.
        """
        text = clean_line(line.encode("utf-8", "surrogateescape"))
        return self.send(f"{text}\n".encode("utf-8", "surrogateescape"))[0] if text else None

    def question(self, line: str, then: Callable[[Reply], object]) -> bool:
        """Ask a question of the console; `then` receives the reply. Return False if it cannot be asked now."""
        if self.lost or self._half or self._quit:
            return False
        try:
            (asked,) = self.send(f"{line}\n".encode(), own=True)
        except PeerLost:
            return False
        asked.then = then
        return True

    def ask(self, line: str, seconds: float) -> Reply:
        """Ask a question of the console, and wait for all open answers.

        Raises:
            PeerLost: The peer is lost.
            PeerTimeout: No answer arrives in time.
        """
        if self._half:
            raise LocalProtocolError("part of a line was sent: complete it first, with :send '\\n'")
        (asked,) = self.send(f"{line}\n".encode(), own=True)
        return self.wait(asked, self.now() + seconds)

    def send(self, data: bytes, own: bool = False) -> list[Exchange]:
        """Send bytes unchanged, and return the exchanges that they begin.

        Raises:
            PeerLost: The peer is lost.
        """
        if self.lost:  # the reason was reported when it happened
            raise PeerLost(f"{_ENDED if self.lost == _ENDED else _LOST}; type :restart")
        *whole, self._half = (self._half + data).split(b"\n")
        texts = [(clean_line(line), len(line)) for line in whole]
        names = [text[:MAX_LINE] or "(line too long)" for text, size in texts if text or size > MAX_LINE]
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
        """Read until the deadline. Return the next answered exchange, or None.

        Raises:
            PeerLost: The peer is lost. Raised once.
        """
        while not self.lost:
            ended = self.peer.exited() if self.pending else ""
            try:
                reply = run_blocking(self.channel.receive(min(deadline, self.now() + _SLICE)))
            except PeerTimeout:
                if ended:
                    left = PeerGone("the peer exited, but a process that it started keeps its output open")
                    raise self._lose(left) from None
                if self.now() >= deadline and not (self.pending and self.peer.exited()):
                    return None
            except PEER_FAULTS as error:
                raise self._lose(error) from None
            else:
                return self._answered(reply)
        return None

    def wait(self, exchange: Exchange, deadline: float) -> Reply:
        """Wait for an answer.

        Raises:
            PeerLost: The peer is lost.
            PeerTimeout: The deadline passed; the answer may still arrive.
        """
        while exchange.reply is None:
            if self.lost:
                raise PeerLost(self.lost)
            if self.pump(deadline) is None and self.now() >= deadline and exchange.reply is None:
                raise PeerTimeout(f"no answer to `{exchange.sent[:80]}` in time")
        return exchange.reply

    def take_stream(self) -> list[str]:
        """Return the new lines of an answer that streams."""
        connection, pending = self.channel.connection, self.pending
        return connection.take_lines() if not connection.ready and pending and streams(pending[0].sent) else []

    def stderr_news(self) -> str:
        """Return the new text of the peer's stderr, without a last line that `lost` already quotes."""
        news = self.peer.stderr_news()
        last = news.strip().rpartition("\n")[2]
        return news.rstrip().removesuffix(last) if last and self.lost.endswith(f": {last}") else news

    def new_warnings(self) -> list[str]:
        """Return the tolerated faults since the last call."""
        warnings = self.channel.warnings[self._warned :]
        self._warned += len(warnings)
        return [f"{warning}; PROTOCOL §2.10: tolerated from a bot" for warning in warnings]

    def note(self, sent: str, reply: Reply) -> None:
        """Keep a command as if it had been typed."""
        self.kept.append((sent, reply))
        if reply.ok and name_of(sent) in CHANGING:
            self.changed(sent, reply.text)

    def _answered(self, reply: Reply) -> Exchange:
        done = self.pending.popleft()
        done.reply, done.seconds = reply, self.now() - done.began
        if not self.channel.connection.ready:  # otherwise more bytes follow, which a diagnosis must show
            self._said.clear()
        self.trail.note(done.sent, reply)
        if not done.own:
            self.note(done.sent, reply)
        if done.then is not None:
            done.then(reply)
        return done

    def _lose(self, error: Exception) -> PeerLost:
        """Keep the reason why the peer is lost. Nothing more is sent to it."""
        assert isinstance(error, ProtocolError)
        exited = self.peer.exited(LAST_WORDS) if isinstance(error, PeerGone) else ""
        if self._quit and isinstance(error, PeerGone) and not self.pending:
            self.lost = _ENDED
        else:
            self.lost = "\n".join(_explain(error, bytes(self._said), exited, self.peer.stderr_tail()))
        self.pending.clear()
        return PeerLost(self.lost)

    # -- starting and ending -------------------------------------------------------------------------------------

    def restart(self) -> None:
        """End the peer, without quit if it is lost or late, and start it again.

        Raises:
            LaunchError: It does not start.
        """
        self.close()
        self._open()

    def close(self) -> None:
        """End the peer and its processes. Its last output is ignored."""
        self._asks = True
        run_blocking(self.peer.stop(kill=bool(self.pending or self.lost)))
        self.pending.clear()
        self.lost = self.lost or "the peer was stopped"

    def _open(self) -> None:
        self._asks = self._quit = False
        self._half = b""
        self._warned = 0
        self._said.clear()
        self.lost = ""
        self.trail = ReplayTrail()
        self.peer: Peer = self.target.open(self._sink)

    def _sink(self, mark: str, seconds: float, data: bytes) -> None:
        own = self._asks or bool(mark == "<" and self.pending and self.pending[0].own)
        if mark == "<":
            self._said += data
            del self._said[:-_SAID]
        self.passed(mark, data, own)


# A phrase of the error, and the rule of PROTOCOL §2 that the peer breaks.
_RULES = (
    ("the answer is longer", "2.8: an answer is at most 1 MiB and 10,000 lines"),
    ("blank lines before", "2.8: input is bounded"),
    ("lines before an answer", "2.10: at most 200 lines that are not answers are tolerated"),
    ("begins with = or ?", "2.3: only answers may be written to stdout"),
    ("unsolicited", "2.3: each command gets one answer, and nothing else may be written to stdout"),
    ("expected", "2.2: an id is echoed if one was sent, and only then"),
    ("does not echo ids", "2.11: a peer that does not echo ids must answer in time"),
    ("does not read", "2.8: never a hang"),
)
_SHOWN = 300  # bytes of the last output


def _explain(error: ProtocolError, said: bytes, exited: str, stderr: str) -> list[str]:
    """Return the lines of a PeerLost.

    Args:
        error: The fault.
        said: The bytes since the last complete answer.
        exited: How the process exited, or "".
        stderr: The end of its stderr.
    """
    if isinstance(error, LocalProtocolError):
        lines = [f"not sent: {error}"]
    else:
        rule = next((rule for phrase, rule in _RULES if phrase in str(error)), "")
        if isinstance(error, PeerGone):
            rule = "2.5: a program exits after `quit` or when its input ends, and only then"
        elif isinstance(error, PeerTimeout):
            rule = "2.8: never a hang"
        how = f" ({exited})" if exited else ""
        lines = [f"the peer's fault: {error}{how}" + (f"; PROTOCOL §{rule}" if rule else "")]
    if said:
        lines.append(f"output since the last complete answer: {quote(said[-_SHOWN:])}")
    if isinstance(error, PeerGone) and (last := stderr.strip().splitlines()[-1:]):
        lines.append(f"last line of its stderr: {last[0]}")
    return lines


_MOST = 20_000  # commands


class ReplayTrail:
    """The commands that led to the position, which a restart sends again.

    Commands of an earlier game and undone plies are dropped.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.whole = True  # False if there were too many to keep

    def note(self, sent: str, reply: Reply) -> None:
        """Follow a command that was answered."""
        if not reply.ok or not sent.split():
            return
        name, arguments, _ = parse_command(sent)
        if name == "ggp-new":
            self.lines = [line for line in self.lines if name_of(line) in _SETTINGS]
            self.whole = True
        elif name in ("clear_board", "loadsgf"):
            self.lines = [line for line in self.lines if name_of(line) not in PLAYS | UNDOES | SET_UPS]
        if name in UNDOES:
            count = int(arguments[0]) if arguments and arguments[0].isdecimal() else 1
            while count and self.lines and name_of(self.lines[-1]) in PLAYS:
                self.lines.pop()
                count -= 1
            self._add(*[name] * count)
        elif name in GENMOVES:
            if arguments and (move := move_of(reply.text)):
                self._add(f"play {arguments[0]} {move}")
        elif name in CHANGING | _SETTINGS:
            if name in _SETTINGS:  # the last of each kind counts
                self.lines = [line for line in self.lines if line.split()[:2] != [name, *arguments[:1]]]
            self._add(" ".join([name, *arguments]))

    def _add(self, *lines: str) -> None:
        if len(self.lines) + len(lines) <= _MOST:
            self.lines += lines
        else:
            self.whole = False
