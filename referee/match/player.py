"""A bot in a match, whatever its dialect. The match judges its moves and keeps its clock.

Moves of the others are held back and travel in one write with the next question.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence

from msgspec import structs

from ggp.protocol.channel import PEER_FAULTS, Channel
from ggp.protocol.connection import PeerRole
from ggp.protocol.errors import PeerGone, PeerTimeout, RemoteProtocolError
from ggp.protocol.messages import Reply
from ggp.protocol.records import Diagnostics, Party
from ggp.referee.match import clock, diagnosis
from ggp.referee.match.bot_spec import CHANGED, BotSpec, HostBusy, LaunchError, version_of
from ggp.referee.match.clock import Clock, ggp_clock
from ggp.referee.match.diagnosis import Notify, Silence
from ggp.referee.match.outcome import BotFault, CannotStart, Termination, gone_before_its_turn, rejected_legal_move
from ggp.referee.match.process import LAST_WORDS, NO_LIMITS, Peer, ProcessLimits, launch, sandbox_of
from ggp.referee.match.sandbox.machine import in_record
from ggp.referee.match.setting import TIMEOUTS, Setting, Timeouts
from ggp.referee.match.stolen_time import LEAST, LONG_FIRST_WAIT, MOST_LONGER

DIALOGUE_LINES = 20
SEED = "set_random_seed"
_new_reply = tuple.__new__  # half of the time of Reply(…)
_MOMENT = 0.01  # seconds that a fault waits, in case the bot is just ending
_TERMINATIONS: dict[type[Exception], Termination] = {
    PeerTimeout: Termination.STALLED,
    PeerGone: Termination.DISCONNECTED,
    RemoteProtocolError: Termination.PROTOCOL_ERROR,
}


class Player(ABC):
    """One bot through all its games. Its faults are raised as BotFault.

    Args:
        commands: The commands that it lists.
        limits: Commands that tell it its own limits for a move, sent before each match.
    """

    _clock_command = ""  # by which it learns the time before a genmove
    _analyze_command = ""  # by which it says more than its move

    def __init__(
        self, peer: Peer, party: Party, commands: frozenset[str], budgets: Timeouts, limits: tuple[str, ...] = ()
    ) -> None:
        self.peer = peer
        self.party = party
        self.name = party.name
        self.late = 0.0  # seconds that the referee itself kept an answer of this game waiting, at most
        self.credited = 0  # ms of its last answer's time that were not charged
        self.stolen = 0.0  # seconds of it that interrupts took, if they are to be credited (see stolen_time)
        self.patience = 0.0125  # seconds that a bot may think before we look whether we are late ourselves
        self.fit = True  # whether it can go on to a next game; if not, the process is restarted
        self._commands = commands
        self._budgets = budgets
        self._channel = peer.channel
        self._unsent: list[str] = []
        self._owed = 0  # answers that came too late to matter and are dropped when they come
        self._warned = 0
        self._skipped = 0  # of the lines skipped, those in warnings already
        self._declined = ""  # what it may refuse in a new game, and did
        self.asks_engine = False  # see BotSpec.asks_engine
        self.analyses = self._analyze_command in commands  # answers have a second line, for analysis
        self._genmove = self._analyze_command if self.analyses else "genmove"
        self._wants_clock = self._clock_command in commands
        self._limits = limits
        self.move_limit = round(budgets.move * 1000)  # ms that a move may take without a clock

    @property
    def commands(self) -> frozenset[str]:
        """Return the commands that it lists."""
        return self._commands

    # -- the life of a match, in order ----------------------------------------------------------------------

    async def new_game(self, setting: Setting, seed: int | None = None) -> None:
        """Have it set up a game.

        Args:
            seed: For its random choices, if it lists `set_random_seed` as GNU Go does. It may refuse that.

        Raises:
            CannotStart: It refuses the game.
            BotFault: Any other fault, which voids the match.
        """
        self._unsent.clear()
        self.late, self._declined = 0.0, ""
        lines = {**dict.fromkeys(self._limits, True), **self._lines_of_a_new_game(setting)}
        if seed is not None and SEED in self._commands:
            lines = {f"{SEED} {seed}": False, **lines}
        try:
            await self._set_up(lines)
        except PEER_FAULTS as error:
            raise self._fault(error, void=True) from None

    async def try_limits(self) -> None:
        """Check that it takes the limits for its moves. Raises CannotStart, BotFault."""
        try:
            await self._set_up(dict.fromkeys(self._limits, True))
        except PEER_FAULTS as error:
            raise self._fault(error, void=True) from None

    def tell(self, colour: str, move: str) -> None:
        """Tell it a move of the other side, which is sent with the next question."""
        self._unsent.append(f"play {colour} {move}")

    def check_alive(self) -> None:
        """Raise BotFault for a bot that has ended: before ply 2 this voids the match instead of losing it."""
        if ended := self.peer.exited():
            raise gone_before_its_turn(ended)

    async def agree(self, colour: str) -> Reply:
        """Ask for its `dead:` move by genmove, off the clock."""
        return (await self._question(f"{self._genmove} {colour}", self._budgets.agreement))[0]

    def genmove(self, colour: str, mine: Clock, other: Clock) -> Awaitable[tuple[Reply, int]]:
        """Ask for its move. Return the answer, and the ms from complete write to complete read, less credit."""
        if self._wants_clock and (line := self._clock_line(colour, mine, other)):
            self._unsent.append(line)
        return self._question(f"{self._genmove} {colour}", mine.left / 1000 + self._budgets.stall)

    @property
    @abstractmethod
    def agrees_by_genmove(self) -> bool:
        """Return True if it plays the agreement phase by genmove, False if final_status_list must ask it."""

    async def dead_stones(self) -> str | None:
        """Return the `dead:` move that `final_status_list dead` means, or None if it does not say.

        "Failing to answer counts as agreeing with the other side", and so does answering nothing in time.
        """
        try:
            reply, _ = await self._question("final_status_list dead", self._budgets.agreement)
        except BotFault as fault:
            if fault.termination is not Termination.STALLED:
                raise
            self._unsent.clear()
            self._owed = self._channel.connection.awaited
            return None
        return "dead:" + ",".join(dict.fromkeys(reply.text.upper().split())) if reply.ok else None

    def sit(self, seat: int, other: "Player", opening: int, known: int) -> None:
        """Take a seat in the next match. Only a human needs to know.

        Args:
            opening: How many plies no bot chooses.
            known: How many of the plies that it will be told it knows from the match that this one continues.
        """
        return

    async def take_back(self, plies: int) -> int:
        """Have it take back plies with `undo`; return how many it did. Raises BotFault."""
        for number in range(plies if "undo" in self._commands else 0):
            if not (await self._question("undo", self._budgets.command))[0].ok:
                return number
        return plies if "undo" in self._commands else 0

    async def agree_to_undo(self, plies: Sequence[tuple[str, str]]) -> str:
        """Ask it to take back these plies (colour and move). Return why it does not agree, "" after it undid them.

        If it does not agree, it is in the same position as before.
        """
        known = self.knows(plies)
        if "undo" not in self._commands:
            return f"{self.name} lists no undo"
        try:
            undone = await self.take_back(len(known))
        except BotFault as fault:  # what is wrong with it shows when it is its turn
            return f"{self.name}: {fault.termination}: {fault}"
        if undone == len(known):
            return ""
        for colour, move in known[len(known) - undone :]:
            self.tell(colour, move)
        return f"{self.name} does not undo"

    def knows(self, plies: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return those of the plies that it hears of: GTP has no lists of dead stones."""
        return [ply for ply in plies if self.agrees_by_genmove or not ply[1].startswith("dead:")]

    async def end_game(self, result: str) -> bool:
        """Send the result to a bot that lists `ggp-result`. Return True if it can play a next game."""
        try:
            if result and "ggp-result" in self._commands:
                await self._question(f"ggp-result {result}", self._budgets.command)
        except BotFault:
            return False
        return not self._channel.connection.awaited and not self.peer.exited()

    def new_warnings(self) -> list[str]:
        """Return the warnings since the last call, one for all skipped lines (see SeriesConfig.result)."""
        warnings = self._channel.warnings[self._warned :]
        self._warned += len(warnings)
        skipped, self._skipped = self._channel.skipped_lines - self._skipped, self._channel.skipped_lines
        if skipped > 1:
            first = warnings[0].partition(": ")[2] if warnings else ""
            warnings = [f"skipped {skipped} lines that are no answers" + (f", the first: {first}" if first else "")]
        declined, self._declined = self._declined, ""
        return [declined, *warnings] if declined else warnings

    def diagnostics(self) -> Diagnostics:
        """Return the diagnostics of a fault; `exit` is "" if the bot still runs, or its exit is unknown."""
        return Diagnostics(
            dialogue=tuple(self._channel.dialogue_tail(DIALOGUE_LINES)),
            stderr=self.peer.stderr_tail(),
            exit=self.peer.exited(_MOMENT),
        )

    # -- the conversation ------------------------------------------------------------------------------------

    @abstractmethod
    def _lines_of_a_new_game(self, setting: Setting) -> dict[str, bool]:
        """Return the commands of a new game; True if it cannot play after refusing one. Raises CannotStart."""

    async def _set_up(self, lines: dict[str, bool]) -> None:
        """Send them in one write. Raises CannotStart."""
        if self.peer.idle is not None:
            self.peer.idle.wake()
        replies = await self._channel.ask_all(tuple(lines), self._channel.now() + self._budgets.new)
        for (line, needed), reply in zip(lines.items(), replies, strict=True):
            said = self._objection(line, reply) if reply.ok else f"answers `{line}` with `? {reply.text[:200]}`"
            if needed and said:
                raise CannotStart(self.name, said)
            self._declined = "; ".join(part for part in (self._declined, said) if part)

    def _objection(self, line: str, reply: Reply) -> str:
        """Return what is wrong with a successful answer to a command of a new game, or ""."""
        return ""

    @abstractmethod
    def _clock_line(self, colour: str, mine: Clock, other: Clock) -> str:
        """Return the command that tells the time before a genmove, or ""."""

    async def _question(self, line: str, seconds: float) -> tuple[Reply, int]:  # noqa: C901 - the hot path, in one place
        """Send the queued lines and this one in one write. Return the reply to this line, and the ms used."""
        peer, wait = self.peer, min(self.patience, seconds)
        if peer.idle is not None:
            peer.idle.wake()
        watch = peer.turn_watch
        if watch is not None:
            wait = watch.begin(wait)
            self.stolen = 0.0
        channel, lines = self._channel, (*self._unsent, line)
        try:
            text, began, ended, unsent = channel.ask_at_once(lines, wait)
            if unsent:
                await channel.transport.write(unsent)
                began = channel.now() - peer.reader_cost()  # a write that is slow because of the reader is its time
        except PEER_FAULTS as error:  # what it said unasked it did not say in its own turn
            raise self._fault(error, void=isinstance(error, RemoteProtocolError)) from None
        if text is not None:
            self._unsent.clear()
            if watch is not None and ended - began > LONG_FIRST_WAIT:
                watch.first_wait_over(ended - began)
                self.stolen = watch.taken if watch.taken > LEAST else 0.0
            return _new_reply(Reply, (True, text, None)), self._charged(ended - began)
        early, deadline = began + wait, began + seconds
        receive = channel.receive
        if watch is not None:
            if not unsent:
                watch.first_wait_over(channel.now() - began)
            receive = self._receive_late
        elif peer.look > seconds:  # no check is due before the deadline
            receive, early = self._receive_late, deadline
        try:
            while self._owed:
                await channel.receive(deadline)
                self._owed -= 1
            for asked in lines:
                try:
                    reply = channel.next_reply() or await receive(deadline if watch is not None else early)
                except PeerTimeout:  # it thinks longer than our patience
                    if watch is not None:
                        raise
                    reply = await self._receive_late(deadline)
                if not reply.ok and asked.startswith("play "):
                    raise rejected_legal_move(asked, reply.text)
        except PEER_FAULTS as error:
            raise self._fault(error) from None
        self._unsent.clear()
        took = channel.now() - began
        if watch is not None:
            self.stolen = watch.taken if watch.taken > LEAST else 0.0
        return reply, self._charged(took)

    def _charged(self, took: float) -> int:
        """Return the ms of an answer's time that are charged."""
        if not (credit := self.peer.credit()):
            self.credited = 0
            return int(took * 1000)
        self.credited = int(min(took, credit) * 1000)
        return max(0, int((took - credit) * 1000))

    async def _receive_late(self, deadline: float) -> Reply:
        """Wait on for a reply. Check now and then if the bot has ended while a child holds its output open."""
        channel, peer = self._channel, self.peer
        watch, waited = peer.turn_watch, peer.waited()
        try:
            while True:
                ended = peer.exited()
                longer = min(watch.taken, MOST_LONGER) if watch is not None else 0.0
                until = min(deadline + longer, channel.now() + peer.look)
                if watch is not None:
                    watch.wait(until - channel.now())
                    waited = watch.waited_before
                try:
                    return await channel.receive(until)
                except PeerTimeout:
                    if ended:
                        raise PeerGone("it ended, and left its output open to a process it had started") from None
                    if channel.now() >= deadline + longer:
                        if lost := peer.lost():
                            raise PeerGone(lost) from None
                        raise
        finally:
            self.late = max(self.late, peer.waited() - waited)

    def _fault(self, error: Exception, void: bool = False) -> BotFault:
        termination = _TERMINATIONS.get(type(error), Termination.PROTOCOL_ERROR)
        return BotFault(
            termination, reason_of(error, self.peer, self.party.command), void, ms=_waited(error, self.peer)
        )


# -- the two dialects of bots: native (any game of the protocol) and plain GTP (go) ----------------------------------


RULES_OF_KATAGO, RULES_OF_KGS = "kata-set-rules", "kgs-rules"
FIXED, FREE = "fixed_handicap", "set_free_handicap"
_LONGEST = 200  # characters of a bot's name and version, which stand in every record
_LONGEST_SETTINGS = 1000
_NEEDED = ("play", "genmove")


LIMITS = {
    "kata-set-param": {"nodes": "kata-set-param maxVisits {}", "playouts": "kata-set-param maxPlayouts {}"},
    "lz-setoption": {
        "nodes": "lz-setoption name visits value {}",
        "playouts": "lz-setoption name playouts value {}",
    },
}
"""Commands that tell a bot how much to search for a move, by the one that it lists, as KataGo and Leela Zero do."""


async def start_bot(
    spec: BotSpec,
    budgets: Timeouts = TIMEOUTS,
    limits: ProcessLimits = NO_LIMITS,
    core: int | None = None,
    notify: Notify | None = None,
) -> Player:
    """Start a bot, on this core if one is given, or connect to one that listens, and return its player.

    Args:
        budgets: Those of the series; the bot's own override them.
        notify: Called once for a bot that gives no valid answer for a while.

    Raises:
        CannotStart: The bot is at fault; with the reason, and what its author should change.
        HostBusy: The host is, for the moment.
    """
    budgets = spec.timeouts(budgets)
    try:
        digest = version_of(spec) if spec.argv else ""
        if spec.version and digest and digest != spec.version:
            raise CannotStart(spec.name, f"{CHANGED}: its version is {digest}, not {spec.version}")
        peer = launch(spec, PeerRole.BOT, budgets, limits, core)
    except HostBusy:
        raise
    except LaunchError as error:
        raise CannotStart(spec.name, str(error)) from None
    try:
        confined = in_record(sandbox_of(spec, PeerRole.BOT, limits)) if spec.argv else ""
        party = Party(name=spec.name, command=spec.command, hash=digest, settings=said_settings(spec), sandbox=confined)
        player = await meet(peer, party, budgets, spec.limits, notify)
        player.asks_engine = spec.asks_engine
        return player
    except BaseException:
        await peer.stop(kill=True)
        raise


async def check_limits(spec: BotSpec, budgets: Timeouts) -> None:
    """Start a bot that gets limits for its moves, see whether it takes them, and end it. Raises CannotStart."""
    player = await start_bot(spec, budgets)
    try:
        await player.try_limits()
    except BotFault as fault:
        raise CannotStart(spec.name, f"does not answer to its limits: {fault}") from None
    finally:
        await player.peer.stop()


def said_settings(spec: BotSpec) -> str:
    """Return a bot's own settings for the record. Of its environment only names: values may be secret."""
    names = ",".join(name for name, _ in spec.environment)
    return " ".join(filter(None, [spec.settings, f"environment={names}" if names else ""]))[:_LONGEST_SETTINGS]


async def meet(
    peer: Peer,
    party: Party,
    budgets: Timeouts,
    limits: tuple[tuple[str, int], ...] = (),
    notify: Notify | None = None,
) -> Player:
    """Ask a bot that has just started who it is, and return its player. Raises CannotStart.

    Args:
        limits: For its moves, by the names in LIMITS.
        notify: See start_bot.
    """
    channel = peer.channel
    watch(peer, party.command, notify)
    deadline = channel.now() + budgets.start
    try:
        program, version, commands = await channel.introduce(deadline)
        systems = clock.SYSTEMS[clock.KATA]
        if "ggp-new" not in commands and clock.LIST in commands:
            listed = await channel.ask(clock.LIST, deadline)
            systems = clock.read_systems(listed.text) if listed.ok else systems
    except PEER_FAULTS as error:
        raise CannotStart(party.name, f"does not start: {reason_of(error, peer, party.command)}") from None
    missing = [command for command in _NEEDED if command not in commands]
    if missing:
        raise CannotStart(party.name, f"lists no {' and no '.join(missing)}: not a bot", code="not-a-bot")
    program, version = program[:_LONGEST], version[:_LONGEST]
    known = structs.replace(party, program=program, version=version)
    told = _told_limits(party.name, limits, commands)
    if "ggp-new" in commands:
        return NativePlayer(peer, known, commands, budgets, told)
    player = PlainPlayer(peer, known, commands, budgets, told)
    player.systems = systems
    return player


def _silence(peer: Peer, command: str) -> Silence:
    asked, said = peer.channel.unanswered
    return Silence(asked, said, peer.stderr_tail(), command)


def watch(peer: Peer, command: str, notify: Notify | None) -> None:
    """Call `notify` if a bot gives no valid answer, unless it is thinking and has printed nothing wrong."""
    if notify is None:
        return

    def heed(channel: Channel) -> bool:
        silence = _silence(peer, command)
        if not silence.came and "genmove" in silence.asked:
            return False
        notify(silence)
        return True

    peer.channel.on_silence, peer.channel.patience = heed, diagnosis.PATIENCE


def reason_of(error: Exception, peer: Peer, command: str) -> str:
    """Tell its author why a bot is at fault: the problem, how it ended, what it printed, and what to change."""
    problem, ended = str(error), ""
    if isinstance(error, PeerTimeout) and error.code != "does-not-read":
        problem = f"no whole answer after {_waited(error, peer) / 1000:.1f} s"
    elif isinstance(error, PeerGone):
        ended = peer.exited(LAST_WORDS)
    silence = _silence(peer, command)
    if isinstance(error, PeerGone) and error.code == "answer-cut":  # the problem shows what was cut
        silence = silence._replace(said=b"")
    if not (ended or isinstance(error, PeerGone)):  # what a running bot logs is not why it is at fault
        silence = silence._replace(stderr="" if silence.came else silence.stderr)
    return diagnosis.reason(problem, silence, ended)


def _waited(error: Exception, peer: Peer) -> int:
    """Return the ms for which we waited for an answer that timed out; 0 for other faults."""
    return round((peer.channel.now() - peer.channel.asked_at) * 1000) if isinstance(error, PeerTimeout) else 0


def _told_limits(name: str, limits: tuple[tuple[str, int], ...], listed: frozenset[str]) -> tuple[str, ...]:
    """Return the commands for these limits. Raises CannotStart if the bot lists none of them."""
    known = next((words for command, words in LIMITS.items() if command in listed), None)
    if limits and known is None:
        said, ways = " and ".join(name for name, _ in limits), " nor ".join(LIMITS)
        problem = f"takes no limit of {said}: it lists neither {ways}; write a limit of its own into its command"
        raise CannotStart(name, problem, code="no-limit")
    return tuple(known[kind].format(number) for kind, number in limits) if known else ()


class NativePlayer(Player):
    """A bot that lists `ggp-new`: it plays any game of the protocol, and knows its phases."""

    _clock_command = "ggp-clock"
    _analyze_command = "ggp-genmove_analyze"

    @property
    def agrees_by_genmove(self) -> bool:
        return True

    def _lines_of_a_new_game(self, setting: Setting) -> dict[str, bool]:
        return {setting.new_game: True}

    def _clock_line(self, colour: str, mine: Clock, other: Clock) -> str:
        black, white = (mine, other) if colour == "black" else (other, mine)
        return ggp_clock(black, white, mine)


class PlainPlayer(Player):
    """A bot of plain GTP: it plays go, under the rules that it was started with if it has no command for rules."""

    _clock_command = "time_left"
    systems = clock.SYSTEMS[clock.KATA]  # the time systems of its kata-time_settings, if it lists that
    _handicap: frozenset[str] = frozenset()  # the points that its fixed_handicap has to answer

    def tell(self, colour: str, move: str) -> None:
        """Skip lists of dead stones: GTP has no command for them, nor needs one."""
        if not move.startswith("dead:"):
            super().tell(colour, move)

    @property
    def agrees_by_genmove(self) -> bool:
        return False

    def _lines_of_a_new_game(self, setting: Setting) -> dict[str, bool]:
        values = setting.values
        if setting.game != "go":
            reason = f"lists no ggp-new, so it can play go only, not {setting.game}"
            raise CannotStart(self.name, reason, code="game-unknown")
        handicap = self._points(values["size"], values.get("handicap", "0"))
        self._handicap = frozenset(handicap)
        self._told = clock.tell(setting.control, self._commands, self.systems)
        needed = [f"boardsize {values['size']}", "clear_board", f"komi {values['komi']}"]
        needed += _stones(handicap, self._commands)
        rules = _rules(values.get("ko", "positional"), self._commands)
        lines = {rules: False, **dict.fromkeys(needed, True), self._told.settings: False}
        if "komi" not in self.commands:  # it plays without knowing it; the engine counts
            lines[f"komi {values['komi']}"] = False
        return {line: required for line, required in lines.items() if line}

    def _points(self, size: str, stones: str) -> list[str]:
        """Return the handicap stones. Raises CannotStart if another engine's options mean none that GTP has."""
        if stones == "0":
            return []
        if re.fullmatch("[2-9]", stones) and re.fullmatch("[7-9]|1[0-9]|2[0-5]", size):
            return fixed_handicap(int(size), int(stones))
        reason = f"lists no ggp-new, and GTP has no points for handicap={stones} on size={size}"
        raise CannotStart(self.name, reason, code="no-handicap")

    def _objection(self, line: str, reply: Reply) -> str:
        """Object to handicap stones at other points than GTP fixes: it would be another game."""
        placed = frozenset(reply.text.upper().split())
        if line.startswith(FIXED) and placed and placed != self._handicap:
            return f"answers `{line}` with {reply.text[:200]}, which are not {' '.join(sorted(self._handicap))}"
        return ""

    def _clock_line(self, colour: str, mine: Clock, other: Clock) -> str:
        return self._told.time_left(colour, mine)


def _stones(points: list[str], listed: frozenset[str]) -> list[str]:
    """Return the commands that place handicap stones. Plain `play` can: GTP lets a side play repeatedly."""
    if not points:
        return []
    if FIXED in listed:
        return [f"{FIXED} {len(points)}"]
    return [f"{FREE} {' '.join(points)}"] if FREE in listed else [f"play black {point}" for point in points]


def _rules(ko: str, listed: frozenset[str]) -> str:
    """Return the command that tells our rules of go as exactly as the bot can be told; "" if it cannot.

    They are area scoring without suicide or a bonus for handicap. Nothing that KGS knows is nearer than its Chinese
    rules: their positional superko forbids whatever another ko rule does, but they give a bonus for handicap.
    """
    if RULES_OF_KATAGO in listed:
        said = f'"ko":"{ko.upper()}","scoring":"AREA","tax":"NONE","suicide":false,"hasButton":false'
        return f'{RULES_OF_KATAGO} {{{said},"whiteHandicapBonus":"0"}}'
    return f"{RULES_OF_KGS} chinese" if RULES_OF_KGS in listed else ""


# -- the points of GTP's fixed handicap in go --------------------------------------------------------------------------


LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"  # vertices skip I


def fixed_handicap(size: int, stones: int) -> list[str]:
    """Return the vertices of GTP's `fixed_handicap`: corners, then middles of sides, the centre last.

    Source: GTP 2 draft 2, 4.1.1.
    """
    low, middle = (4 if size > 11 else 3), (size + 1) // 2
    high = size + 1 - low
    sides = [(low, middle), (high, middle), (middle, low), (middle, high)]
    points = [(low, low), (high, high), (low, high), (high, low)][: min(stones, 4)]
    points += sides[: (stones - 4) // 2 * 2] if stones > 5 else []
    if stones in (5, 7, 9):
        points.append((middle, middle))
    return [f"{LETTERS[column - 1]}{row}" for column, row in points]
