"""The referee's side of a bot in a match, in either dialect. The match judges its moves and keeps its clock.

Moves of the opponent are queued and sent in one write with the next question.
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
_new_reply = tuple.__new__  # twice as fast as Reply(…)
_MOMENT = 0.01  # seconds to wait after a fault, in case the bot is about to exit
_TERMINATIONS: dict[type[Exception], Termination] = {
    PeerTimeout: Termination.STALLED,
    PeerGone: Termination.DISCONNECTED,
    RemoteProtocolError: Termination.PROTOCOL_ERROR,
}


class Player(ABC):
    """One bot through all its games. Its faults are raised as BotFault.

    Args:
        peer: The process or connection of the bot.
        party: Its name, program and version for the record.
        commands: The commands that it lists.
        budgets: Its time-outs.
        limits: Commands that limit its search for a move, sent before each match.
    """

    _clock_command = ""  # tells it the time before a genmove
    _analyze_command = ""  # asks for a move with an analysis

    def __init__(
        self, peer: Peer, party: Party, commands: frozenset[str], budgets: Timeouts, limits: tuple[str, ...] = ()
    ) -> None:
        self.peer = peer
        self.party = party
        self.name = party.name
        self.late = 0.0  # the longest time in seconds that the referee kept an answer of this game waiting
        self.credited = 0  # ms of its last answer's time that were not charged
        self.stolen = 0.0  # seconds of that time that interrupts took, if they are credited (see stolen_time)
        self.patience = 0.0125  # seconds that a bot may think before we check whether we are late ourselves
        self.fit = True  # the process can play another game; if False, it is restarted
        self._commands = commands
        self._budgets = budgets
        self._channel = peer.channel
        self._unsent: list[str] = []
        self._owed = 0  # answers that are still due after a time-out, and will be dropped
        self._warned = 0
        self._skipped = 0  # skipped lines that earlier warnings have counted
        self._declined = ""  # its refusals of setup commands that it may refuse
        self.asks_engine = False  # see BotSpec.asks_engine
        self.analyses = self._analyze_command in commands  # answers have a second line, for analysis
        self._genmove = self._analyze_command if self.analyses else "genmove"
        self._wants_clock = self._clock_command in commands
        self._limits = limits
        self.move_limit = round(budgets.move * 1000)  # ms that a move may take without a clock

    @property
    def commands(self) -> frozenset[str]:
        """Return the commands that the bot lists."""
        return self._commands

    # -- the life of a match, in order ----------------------------------------------------------------------

    async def new_game(self, setting: Setting, seed: int | None = None) -> None:
        """Set up a game on the bot.

        Args:
            setting: The game, its options and the time control.
            seed: A seed for a bot that lists `set_random_seed`, as GNU Go does. The bot may refuse it.

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
        """Check that the bot accepts the limits for its moves.

        Raises:
            CannotStart: It refuses one.
            BotFault: It crashes or does not answer.
        """
        try:
            await self._set_up(dict.fromkeys(self._limits, True))
        except PEER_FAULTS as error:
            raise self._fault(error, void=True) from None

    def tell(self, colour: str, move: str) -> None:
        """Queue a move of the other side, to be sent with the next question."""
        self._unsent.append(f"play {colour} {move}")

    def check_alive(self) -> None:
        """Check that the bot is running. Before ply 2, a bot that has exited voids the match instead of losing it.

        Raises:
            BotFault: The bot has exited.
        """
        if ended := self.peer.exited():
            raise gone_before_its_turn(ended)

    async def agree(self, colour: str) -> Reply:
        """Ask for a `dead:` move with genmove. No clock runs."""
        return (await self._question(f"{self._genmove} {colour}", self._budgets.agreement))[0]

    def genmove(self, colour: str, mine: Clock, other: Clock) -> Awaitable[tuple[Reply, int]]:
        """Ask for a move.

        Returns:
            The answer, and the ms from the end of our write to the end of the answer, less credited time.
        """
        if self._wants_clock and (line := self._clock_line(colour, mine, other)):
            self._unsent.append(line)
        return self._question(f"{self._genmove} {colour}", mine.left / 1000 + self._budgets.stall)

    @property
    @abstractmethod
    def agrees_by_genmove(self) -> bool:
        """Return True if genmove asks for dead stones, False if final_status_list does."""

    async def dead_stones(self) -> str | None:
        """Return a `dead:` move from `final_status_list dead`, or None if the bot does not answer.

        "Failing to answer counts as agreeing with the other side", and so does a time-out.
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
            seat: The seat, 1 or 2.
            other: The opponent.
            opening: The number of plies that no bot chooses.
            known: The number of plies that the player has seen in the match that this one continues.
        """
        return

    async def take_back(self, plies: int) -> int:
        """Undo plies with `undo`, and return how many the bot undid.

        Raises:
            BotFault: The bot crashes or does not answer.
        """
        for number in range(plies if "undo" in self._commands else 0):
            if not (await self._question("undo", self._budgets.command))[0].ok:
                return number
        return plies if "undo" in self._commands else 0

    async def agree_to_undo(self, plies: Sequence[tuple[str, str]]) -> str:
        """Ask the bot to take back these plies (colour and move).

        Returns:
            "" if it undid them, else the reason; its position is then unchanged.
        """
        known = self.knows(plies)
        if "undo" not in self._commands:
            return f"{self.name} does not support undo"
        try:
            undone = await self.take_back(len(known))
        except BotFault as fault:  # not its turn: the fault will show when it is
            return f"{self.name}: {fault.termination}: {fault}"
        if undone == len(known):
            return ""
        for colour, move in known[len(known) - undone :]:
            self.tell(colour, move)
        return f"{self.name} refused to undo"

    def knows(self, plies: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the plies that the bot must hear of. GTP has no command for a list of dead stones."""
        return [ply for ply in plies if self.agrees_by_genmove or not ply[1].startswith("dead:")]

    async def end_game(self, result: str) -> bool:
        """Send the result to a bot that lists `ggp-result`. Return True if it can play another game."""
        try:
            if result and "ggp-result" in self._commands:
                await self._question(f"ggp-result {result}", self._budgets.command)
        except BotFault:
            return False
        return not self._channel.connection.awaited and not self.peer.exited()

    def new_warnings(self) -> list[str]:
        """Return new warnings, with a single one for all skipped lines (SeriesConfig.result parses it)."""
        warnings = self._channel.warnings[self._warned :]
        self._warned += len(warnings)
        skipped, self._skipped = self._channel.skipped_lines - self._skipped, self._channel.skipped_lines
        if skipped > 1:
            first = warnings[0].partition(": ")[2] if warnings else ""
            warnings = [f"skipped {skipped} lines that are no answers" + (f", the first: {first}" if first else "")]
        declined, self._declined = self._declined, ""
        return [declined, *warnings] if declined else warnings

    def diagnostics(self) -> Diagnostics:
        """Return the diagnostics of a fault. `exit` is "" if the bot still runs or its exit is unknown."""
        return Diagnostics(
            dialogue=tuple(self._channel.dialogue_tail(DIALOGUE_LINES)),
            stderr=self.peer.stderr_tail(),
            exit=self.peer.exited(_MOMENT),
        )

    # -- the conversation ------------------------------------------------------------------------------------

    @abstractmethod
    def _lines_of_a_new_game(self, setting: Setting) -> dict[str, bool]:
        """Return the commands that set up a game. True marks commands that the bot must not refuse.

        Raises:
            CannotStart: The bot cannot play this game.
        """

    async def _set_up(self, lines: dict[str, bool]) -> None:
        """Send these commands in one write.

        Raises:
            CannotStart: The bot refuses a command that is needed.
        """
        if self.peer.idle is not None:
            self.peer.idle.wake()
        replies = await self._channel.ask_all(tuple(lines), self._channel.now() + self._budgets.new)
        for (line, needed), reply in zip(lines.items(), replies, strict=True):
            said = self._objection(line, reply) if reply.ok else f"answers `{line}` with `? {reply.text[:200]}`"
            if needed and said:
                raise CannotStart(self.name, said)
            self._declined = "; ".join(part for part in (self._declined, said) if part)

    def _objection(self, line: str, reply: Reply) -> str:
        """Return what is wrong with a successful answer to a setup command, or ""."""
        return ""

    @abstractmethod
    def _clock_line(self, colour: str, mine: Clock, other: Clock) -> str:
        """Return the command that tells the bot the time before a genmove, or ""."""

    async def _question(self, line: str, seconds: float) -> tuple[Reply, int]:  # noqa: C901 - the hot path, in one place
        """Send the queued lines and this one in one write. Return the answer to this line, and the ms used."""
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
                began = channel.now() - peer.reader_cost()  # time that the reader made the write take is charged
        except PEER_FAULTS as error:  # unsolicited output is a fault outside its turn
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
                except PeerTimeout:  # it thinks longer than `patience`
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
        """Return how many ms of an answer's time are charged."""
        if not (credit := self.peer.credit()):
            self.credited = 0
            return int(took * 1000)
        self.credited = int(min(took, credit) * 1000)
        return max(0, int((took - credit) * 1000))

    async def _receive_late(self, deadline: float) -> Reply:
        """Wait longer for a reply. Check at times whether the bot has exited while a child keeps its output open."""
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
                        raise PeerGone("the bot exited, but a process that it started keeps its output open") from None
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
_LONGEST = 200  # characters of a bot's program and version in records
_LONGEST_SETTINGS = 1000
_NEEDED = ("play", "genmove")


LIMITS = {
    "kata-set-param": {"nodes": "kata-set-param maxVisits {}", "playouts": "kata-set-param maxPlayouts {}"},
    "lz-setoption": {
        "nodes": "lz-setoption name visits value {}",
        "playouts": "lz-setoption name playouts value {}",
    },
}
"""Commands of KataGo and Leela Zero that limit the search for a move, by the command that the bot lists."""


async def start_bot(
    spec: BotSpec,
    budgets: Timeouts = TIMEOUTS,
    limits: ProcessLimits = NO_LIMITS,
    core: int | None = None,
    notify: Notify | None = None,
) -> Player:
    """Start a bot, or connect to one that listens, and return its player.

    Args:
        spec: The bot.
        budgets: The time-outs of the series; the bot's own override them.
        limits: The limits of its process.
        core: The core that it runs on; None for that of this process.
        notify: Called once if the bot gives no valid answer for a while.

    Raises:
        CannotStart: The bot is at fault; the error says what its author should change.
        HostBusy: This machine cannot start a process at the moment.
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
    """Start a bot to check that it accepts the limits for its moves, and end it.

    Raises:
        CannotStart: It does not start, or does not accept them.
    """
    player = await start_bot(spec, budgets)
    try:
        await player.try_limits()
    except BotFault as fault:
        raise CannotStart(spec.name, f"fails when its limits are set: {fault}") from None
    finally:
        await player.peer.stop()


def said_settings(spec: BotSpec) -> str:
    """Return a bot's own settings for the record. Its environment appears by name only: values may be secret."""
    names = ",".join(name for name, _ in spec.environment)
    return " ".join(filter(None, [spec.settings, f"environment={names}" if names else ""]))[:_LONGEST_SETTINGS]


async def meet(
    peer: Peer,
    party: Party,
    budgets: Timeouts,
    limits: tuple[tuple[str, int], ...] = (),
    notify: Notify | None = None,
) -> Player:
    """Ask a bot that has just started for its name and commands, and return its player.

    Args:
        peer: The process or connection of the bot.
        party: Its name and settings for the record.
        budgets: Its time-outs.
        limits: Limits for its moves, by the names in LIMITS.
        notify: Called once if the bot gives no valid answer for a while.

    Raises:
        CannotStart: It does not answer, or lacks a command.
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
        raise CannotStart(
            party.name,
            f"lists no {' and no '.join(missing)}, so it is not a bot: name the program of a bot",
            code="not-a-bot",
        )
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
    """Call `notify` if the bot gives no valid answer, except while it thinks without having printed anything."""
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
    """Return why a bot is at fault, for its author: the problem, how it exited, its output, and the remedy."""
    problem, ended = str(error), ""
    if isinstance(error, PeerTimeout) and error.code != "does-not-read":
        problem = f"no complete answer after {_waited(error, peer) / 1000:.1f} s"
    elif isinstance(error, PeerGone):
        ended = peer.exited(LAST_WORDS)
    silence = _silence(peer, command)
    if isinstance(error, PeerGone) and error.code == "answer-cut":  # the problem already shows the cut answer
        silence = silence._replace(said=b"")
    if not (ended or isinstance(error, PeerGone)):  # the log of a bot that still runs does not explain its fault
        silence = silence._replace(stderr="" if silence.came else silence.stderr)
    return diagnosis.reason(problem, silence, ended)


def _waited(error: Exception, peer: Peer) -> int:
    """Return how many ms we waited for an answer that timed out; 0 for other faults."""
    return round((peer.channel.now() - peer.channel.asked_at) * 1000) if isinstance(error, PeerTimeout) else 0


def _told_limits(name: str, limits: tuple[tuple[str, int], ...], listed: frozenset[str]) -> tuple[str, ...]:
    """Return the commands that set these limits.

    Raises:
        CannotStart: The bot lists none of these commands.
    """
    known = next((words for command, words in LIMITS.items() if command in listed), None)
    if limits and known is None:
        said, ways = " and ".join(name for name, _ in limits), " nor ".join(LIMITS)
        problem = f"cannot be limited by {said}: it lists neither {ways}; put a limit into its command instead"
        raise CannotStart(name, problem, code="no-limit")
    return tuple(known[kind].format(number) for kind, number in limits) if known else ()


class NativePlayer(Player):
    """A bot that lists `ggp-new`. It plays any game of the protocol, with all its phases."""

    _clock_command = "ggp-clock"
    _analyze_command = "ggp-genmove_analyze"

    @property
    def agrees_by_genmove(self) -> bool:
        """Return True: genmove asks for dead stones."""
        return True

    def _lines_of_a_new_game(self, setting: Setting) -> dict[str, bool]:
        return {setting.new_game: True}

    def _clock_line(self, colour: str, mine: Clock, other: Clock) -> str:
        black, white = (mine, other) if colour == "black" else (other, mine)
        return ggp_clock(black, white, mine)


class PlainPlayer(Player):
    """A bot of plain GTP. It plays go, under its own rules if it has no command to set them."""

    _clock_command = "time_left"
    systems = clock.SYSTEMS[clock.KATA]  # the time systems of its kata-time_settings, if it lists that
    _handicap: frozenset[str] = frozenset()  # the expected answer to fixed_handicap

    def tell(self, colour: str, move: str) -> None:
        """Queue a move. Lists of dead stones are skipped, because GTP has no command for them."""
        if not move.startswith("dead:"):
            super().tell(colour, move)

    @property
    def agrees_by_genmove(self) -> bool:
        """Return False: final_status_list asks for dead stones."""
        return False

    def _lines_of_a_new_game(self, setting: Setting) -> dict[str, bool]:
        values = setting.values
        if setting.game != "go":
            reason = f"lists no ggp-new, so it can only play go, not {setting.game}"
            raise CannotStart(self.name, reason, code="game-unknown")
        handicap = self._points(values["size"], values.get("handicap", "0"))
        self._handicap = frozenset(handicap)
        self._told = clock.tell(setting.control, self._commands, self.systems)
        needed = [f"boardsize {values['size']}", "clear_board", f"komi {values['komi']}"]
        needed += _stones(handicap, self._commands)
        rules = _rules(values.get("ko", "positional"), self._commands)
        lines = {rules: False, **dict.fromkeys(needed, True), self._told.settings: False}
        if "komi" not in self.commands:  # it plays without knowing the komi, but the engine's score includes it
            lines[f"komi {values['komi']}"] = False
        return {line: required for line, required in lines.items() if line}

    def _points(self, size: str, stones: str) -> list[str]:
        """Return the handicap stones.

        Raises:
            CannotStart: GTP does not define the points for this handicap.
        """
        if stones == "0":
            return []
        if re.fullmatch("[2-9]", stones) and re.fullmatch("[7-9]|1[0-9]|2[0-5]", size):
            return fixed_handicap(int(size), int(stones))
        reason = f"lists no ggp-new, and GTP does not define handicap={stones} on size={size}"
        raise CannotStart(self.name, reason, code="no-handicap")

    def _objection(self, line: str, reply: Reply) -> str:
        """Reject handicap stones at points that GTP does not fix: it would be another game."""
        placed = frozenset(reply.text.upper().split())
        if line.startswith(FIXED) and placed and placed != self._handicap:
            return f"answers `{line}` with {reply.text[:200]}, instead of {' '.join(sorted(self._handicap))}"
        return ""

    def _clock_line(self, colour: str, mine: Clock, other: Clock) -> str:
        return self._told.time_left(colour, mine)


def _stones(points: list[str], listed: frozenset[str]) -> list[str]:
    """Return the commands that place handicap stones. Plain `play` works, because GTP lets a side move repeatedly."""
    if not points:
        return []
    if FIXED in listed:
        return [f"{FIXED} {len(points)}"]
    return [f"{FREE} {' '.join(points)}"] if FREE in listed else [f"play black {point}" for point in points]


def _rules(ko: str, listed: frozenset[str]) -> str:
    """Return the command that sets our rules of go as exactly as the bot allows, or "" if it has none.

    Our rules are area scoring without suicide and without a bonus for handicap. The closest rules of KGS are Chinese:
    their positional superko forbids everything that another ko rule does, but they add a bonus for handicap.
    """
    if RULES_OF_KATAGO in listed:
        said = f'"ko":"{ko.upper()}","scoring":"AREA","tax":"NONE","suicide":false,"hasButton":false'
        return f'{RULES_OF_KATAGO} {{{said},"whiteHandicapBonus":"0"}}'
    return f"{RULES_OF_KGS} chinese" if RULES_OF_KGS in listed else ""


# -- the points of GTP's fixed handicap in go --------------------------------------------------------------------------


LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"  # vertices skip I


def fixed_handicap(size: int, stones: int) -> list[str]:
    """Return the vertices of GTP's `fixed_handicap`: corners first, then sides, the centre last.

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
