"""A bot at the table, whatever its dialect (see dialects). It judges no move and keeps no clock.

Moves of the others are held back and travel in one write with the next question.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable

from protocol.channel import PEER_FAULTS
from protocol.errors import PeerGone, PeerTimeout, RemoteProtocolError
from protocol.messages import Reply
from protocol.records import Diagnostics, Party
from referee.config import Budgets, Setting
from referee.play.clock import Clock
from referee.play.launch import LAST_WORDS, Peer
from referee.play.outcome import CannotStart, Fault, Termination

DIALOGUE_LINES = 20
SEED = "set_random_seed"
_MAX_LAST_LINE = 300  # characters of the last line of stderr in a detail
_MOMENT = 0.01  # seconds that a fault waits, in case the bot is just ending
_TERMINATIONS: dict[type[Exception], Termination] = {
    PeerTimeout: Termination.STALLED,
    PeerGone: Termination.DISCONNECTED,
    RemoteProtocolError: Termination.PROTOCOL_ERROR,
}


class Player(ABC):
    """One bot through all its games. Its faults are raised as Fault.

    `late` is how many seconds the referee itself kept this bot's answers waiting, at most, in this game; `credited`
    the ms of its last answer's time that were not charged.
    """

    def __init__(self, peer: Peer, party: Party, commands: frozenset[str], budgets: Budgets) -> None:
        self.peer = peer
        self.party = party
        self.name = party.name
        self.late = 0.0
        self.credited = 0
        self.patience = 0.0125  # seconds that a bot may think before we look whether we are late ourselves
        self.fit = True  # whether it can go on to a next game; if not, the process is started anew
        self._commands = commands
        self._budgets = budgets
        self._channel = peer.channel
        self._unsent: list[str] = []
        self._owed = 0  # answers that came too late to matter and are dropped when they come
        self._warned = 0
        self._declined = ""  # what it may refuse in a new game, and did
        self.analyses = False  # whether answers have a second line, for analysis
        self._genmove = "genmove"
        self._wants_clock = False

    @property
    def commands(self) -> frozenset[str]:
        """What it lists."""
        return self._commands

    # -- the life of a match, in order ----------------------------------------------------------------------

    async def new_game(self, setting: Setting, seed: int | None = None) -> None:
        """Raises CannotStart when it refuses; every other fault makes the match void.

        `seed`: what it shall draw its chance from, if it lets itself be told (`set_random_seed`, as GNU Go's);
        it may refuse that.
        """
        self._unsent.clear()
        self.late, self._declined = 0.0, ""
        lines = self._lines_of_a_new_game(setting)
        if seed is not None and SEED in self._commands:
            lines = {f"{SEED} {seed}": False, **lines}
        try:
            await self._set_up(lines)
        except PEER_FAULTS as error:
            raise self._fault(error, void=True) from None

    def tell(self, colour: str, move: str) -> None:
        """The other side played this; it is sent with the next question."""
        self._unsent.append(f"play {colour} {move}")

    def check_alive(self) -> None:
        """Before ply 2 a bot that is already gone makes the match void instead of losing it."""
        if ended := self.peer.exited():
            raise Fault(Termination.DISCONNECTED, f"it ended before its turn: {ended}", void=True)

    async def agree(self, colour: str) -> Reply:
        """Its `dead:` move by genmove, off the clock."""
        return (await self._question(f"{self._genmove} {colour}", self._budgets.agreement))[0]

    def genmove(self, colour: str, mine: Clock, other: Clock) -> Awaitable[tuple[Reply, int]]:
        """Its answer, and the ms it took: complete write of `genmove` to complete read, less credit, rounded down."""
        if self._wants_clock and (line := self._clock_line(colour, mine, other)):
            self._unsent.append(line)
        return self._question(f"{self._genmove} {colour}", mine.left / 1000 + self._budgets.stall)

    @property
    @abstractmethod
    def agrees_by_genmove(self) -> bool:
        """Whether it plays the agreement phase by genmove, or has to be asked with final_status_list."""

    async def dead_stones(self) -> str | None:
        """The `dead:` move that `final_status_list dead` means; None: it does not say.

        "Failing to answer counts as agreeing with the other side", and so does answering nothing in time.
        """
        try:
            reply, _ = await self._question("final_status_list dead", self._budgets.agreement)
        except Fault as fault:
            if fault.termination is not Termination.STALLED:
                raise
            self._unsent.clear()
            self._owed = self._channel.connection.awaited
            return None
        return "dead:" + ",".join(dict.fromkeys(reply.text.upper().split())) if reply.ok else None

    async def end_game(self, result: str) -> bool:
        """Tell how it ended, if the bot cares; whether the bot can go on to a next game."""
        try:
            if result and "ggp-result" in self._commands:
                await self._question(f"ggp-result {result}", self._budgets.command)
        except Fault:
            return False
        return not self._channel.connection.awaited and not self.peer.exited()

    def new_warnings(self) -> list[str]:
        """What was borne with since it was last asked."""
        warnings = self._channel.warnings[self._warned :]
        self._warned += len(warnings)
        declined, self._declined = self._declined, ""
        return [declined, *warnings] if declined else warnings

    def diagnostics(self) -> Diagnostics:
        """What a fault left behind; `exit` is "" for a bot that still runs, or of which nobody can know."""
        return Diagnostics(
            dialogue=tuple(self._channel.dialogue_tail(DIALOGUE_LINES)),
            stderr=self.peer.stderr_tail(),
            exit=self.peer.exited(_MOMENT),
        )

    # -- the conversation ------------------------------------------------------------------------------------

    @abstractmethod
    def _lines_of_a_new_game(self, setting: Setting) -> dict[str, bool]:
        """The commands of a new game, and whether it cannot be played when one is refused. Raises CannotStart."""

    async def _set_up(self, lines: dict[str, bool]) -> None:
        """Send them in one write. Raises CannotStart."""
        channel = self._channel
        deadline = channel.now() + self._budgets.new
        await channel.send(*lines, deadline=deadline)
        replies = [await channel.receive(deadline) for _ in lines]
        for (line, needed), reply in zip(lines.items(), replies, strict=True):
            said = self._objection(line, reply) if reply.ok else f"answers `{line}` with `? {reply.text[:200]}`"
            if needed and said:
                raise CannotStart(self.name, said)
            self._declined = "; ".join(part for part in (self._declined, said) if part)

    def _objection(self, line: str, reply: Reply) -> str:
        """What is wrong with the answer to a command of a new game that it did not refuse, or ""."""
        return ""

    @abstractmethod
    def _clock_line(self, colour: str, mine: Clock, other: Clock) -> str:
        """The command that tells the time before a genmove, or ""."""

    async def _question(self, line: str, seconds: float) -> tuple[Reply, int]:
        """All that is unsent and this line in one write -> the reply to the line, ms used."""
        channel, lines = self._channel, (*self._unsent, line)
        try:
            await channel.send(*lines)
        except PEER_FAULTS as error:  # what it said unasked it did not say in its own turn
            raise self._fault(error, void=isinstance(error, RemoteProtocolError)) from None
        began = channel.now()
        early, deadline = began + self.patience, began + seconds
        try:
            while self._owed:
                await channel.receive(deadline)
                self._owed -= 1
            for asked in lines:
                try:
                    if self.peer.look > seconds:  # nobody has to look after it
                        reply = channel.next_reply() or await self._receive_late(deadline)
                    else:
                        reply = channel.next_reply() or await channel.receive(early)
                except PeerTimeout:  # who thinks longer than our patience is waited for with care
                    reply = await self._receive_late(deadline)
                if not reply.ok and asked.startswith("play "):
                    raise Fault(Termination.REJECTS_LEGAL_MOVE, f"answers `{asked}` with `? {reply.text[:200]}`")
        except PEER_FAULTS as error:
            raise self._fault(error) from None
        self._unsent.clear()
        took, credit = channel.now() - began, self.peer.credit()
        self.credited = int(min(took, credit) * 1000)
        return reply, max(0, int((took - credit) * 1000))

    async def _receive_late(self, deadline: float) -> Reply:
        """Wait on, looking whether the bot has ended behind an output that something else holds open."""
        channel, peer = self._channel, self.peer
        waited = peer.waited()
        try:
            while True:
                ended = peer.exited()
                try:
                    return await channel.receive(min(deadline, channel.now() + peer.look))
                except PeerTimeout:
                    if ended:
                        raise PeerGone("it ended, and left its output open to a process it had started") from None
                    if channel.now() >= deadline:
                        if lost := peer.lost():
                            raise PeerGone(lost) from None
                        raise
        finally:
            self.late = max(self.late, peer.waited() - waited)

    def _fault(self, error: Exception, void: bool = False) -> Fault:
        termination = _TERMINATIONS.get(type(error), Termination.PROTOCOL_ERROR)
        detail = str(error)
        if termination is Termination.DISCONNECTED:
            exited, stderr = self.peer.exited(LAST_WORDS), self.peer.stderr_tail().strip().splitlines()
            last = [line[:_MAX_LAST_LINE] for line in stderr[-1:]]
            detail = "; ".join([detail, *filter(None, [exited]), *last])
        return Fault(termination, detail, void)
