"""How matches end: terminations, the fault table of the protocol contract (§6), and outcomes."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from ggp.protocol.errors import CodedError, Problem
from ggp.protocol.printed import counted

REPLAYS = 3  # void attempts of a bot that are replayed: in a row for one game, and among its last WINDOW games
WINDOW = 100  # games


def void_reason(number: int, last: str) -> str:
    """Return the reason to suspend a bot that made `number` of its last games void."""
    return f"made {number} of its last {WINDOW} games void, last: {last}"


class Termination(StrEnum):
    """A reason for the end of a match, as its record names it."""

    RULES = "rules"
    RESIGNATION = "resignation"
    ILLEGAL_MOVE = "illegal_move"
    REFUSED = "refused"
    REJECTS_LEGAL_MOVE = "rejects_legal_move"
    TIME = "time"
    STALLED = "stalled"
    DISCONNECTED = "disconnected"
    PROTOCOL_ERROR = "protocol_error"
    PLY_LIMIT = "ply_limit"
    ADJUDICATED = "adjudicated"  # by a rule that the operator asked for
    ENGINE_FAILED = "engine_failed"
    TAKEN_BACK = "taken_back"  # by agreement; another match with its own key continues from an earlier ply


BY_PLAY = {Termination.RULES, Termination.RESIGNATION, Termination.PLY_LIMIT, Termination.ADJUDICATED}


class FaultRow(NamedTuple):
    """The consequences of a termination for the player at fault."""

    letter: str  # of the result: R, T or F; "" for a termination without a loser
    restart: bool  # the process is restarted before the next game


# §6, first and last column. A bot that rejects a move still owes us an answer to `genmove`, so it is
# restarted too: otherwise its next line would be taken for the answer to another question.
FAULTS = {
    Termination.RESIGNATION: FaultRow("R", restart=False),
    Termination.ILLEGAL_MOVE: FaultRow("F", restart=False),
    Termination.REFUSED: FaultRow("F", restart=False),
    Termination.REJECTS_LEGAL_MOVE: FaultRow("F", restart=True),
    Termination.TIME: FaultRow("T", restart=False),
    Termination.STALLED: FaultRow("T", restart=True),
    Termination.DISCONNECTED: FaultRow("F", restart=True),
    Termination.PROTOCOL_ERROR: FaultRow("F", restart=True),
    Termination.ENGINE_FAILED: FaultRow("", restart=True),
}


class BotFault(Exception):
    """A fault of a bot, or a resignation, that ends the match; str() is the detail for its author.

    Args:
        termination: How the match ends.
        detail: What the bot did, and what it should do.
        void: The fault happened out of the bot's turn, so a match that has hardly begun is void.
        analysis: The bot's analysis in the answer that ends the match.
        ms: Time used for an answer that did not come.
    """

    def __init__(
        self, termination: Termination, detail: str, void: bool = False, analysis: str = "", ms: int = 0
    ) -> None:
        super().__init__(detail)
        self.termination = termination
        self.void = void
        self.analysis = analysis
        self.ms = ms


class EngineFailed(Problem):
    """An engine that crashed, stopped answering or contradicted itself. The match has no loser."""

    code = "engine-failed"


# -- The texts of faults. Those of a failed conversation with a bot are in `diagnosis`.

_SHOWN = 200  # characters of a bot's answer


def refused_genmove(text: str, analysis: str = "") -> BotFault:
    """Return the fault of a bot that refuses to move."""
    return BotFault(
        Termination.REFUSED,
        f"answers `genmove` with `? {text[:_SHOWN]}`: answer with a move or `resign`",
        analysis=analysis,
    )


def refused_advice(text: str) -> BotFault:
    """Return the fault of a bot that refuses to give advice."""
    return BotFault(Termination.REFUSED, f"it answers `? {text[:_SHOWN]}`")


def refused_to_go_on(reason: str) -> BotFault:
    """Return the fault of a bot that refuses to continue a match."""
    return BotFault(Termination.REFUSED, f"it refuses to continue the match: {reason}")


def rejected_legal_move(asked: str, text: str) -> BotFault:
    """Return the fault of a bot that rejects a move of its opponent."""
    return BotFault(
        Termination.REJECTS_LEGAL_MOVE, f"answers `{asked}` with `? {text[:_SHOWN]}`, but the move is legal"
    )


def resigned(analysis: str) -> BotFault:
    """Return the resignation of a bot."""
    return BotFault(Termination.RESIGNATION, "", analysis=analysis)


def illegal_move(said_by_engine: str) -> BotFault:
    """Return the fault of an illegal move, with the engine's reason."""
    return BotFault(Termination.ILLEGAL_MOVE, said_by_engine)


def illegal_move_at_failure(move: str, failure: EngineFailed) -> BotFault:
    """Return the fault of a move that is not listed as legal and made two engines fail."""
    return BotFault(Termination.ILLEGAL_MOVE, f"illegal move: {move[:80]} (the engine failed on it: {failure})")


def unreadable_move(text: str) -> BotFault:
    """Return the fault of an answer that is not one word."""
    return BotFault(Termination.ILLEGAL_MOVE, f"unreadable move {text[:80]!r}: answer `genmove` with one word")


def late_move(overrun: int, because: str) -> BotFault:
    """Return the fault of a late move.

    Args:
        overrun: Ms that the move exceeded its time.
        because: Why it was late, beginning with a semicolon, or "".
    """
    return BotFault(Termination.TIME, f"the answer came {overrun} ms after its time was up{because}")


def no_move_in_time() -> BotFault:
    """Return the fault of a human who did not move in time."""
    return BotFault(Termination.TIME, "no move before the time ran out")


def gone_before_its_turn(exit: str) -> BotFault:
    """Return the fault of a bot that exited in its opponent's turn."""
    return BotFault(Termination.DISCONNECTED, f"the bot exited before its turn: {exit}", void=True)


def not_reconnected() -> BotFault:
    """Return the fault of a bot that did not come back after the server was restarted."""
    return BotFault(Termination.DISCONNECTED, "it did not reconnect after the server was restarted")


class PliesTakenBack(Exception):
    """An exception when both sides agree to take back plies."""

    def __init__(self, plies: int) -> None:
        super().__init__(f"{counted(plies, 'ply', 'plies')} taken back by agreement")
        self.plies = plies


class CannotStart(CodedError):
    """A bot that does not start, or does not support the game. `who` is suspended for this reason."""

    code = "cannot-start"

    def __init__(self, who: str, reason: str, *, code: str = "") -> None:
        super().__init__(reason, code=code)
        self.who = who


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a match. `result` is as engines write it (`B+3.5`), "" if void; `winner` is a seat, 0 for none."""

    termination: Termination
    result: str = ""
    winner: int = 0
    culprit: str = ""  # seat1, seat2, engine or ""
    detail: str = ""
    taken_back: int = 0  # plies
    analysis: str = ""  # in the answer that ended the match
    ms: int = 0  # time that the loser used in the turn that ended the match

    @property
    def void(self) -> bool:
        """Return True if the match has no result."""
        return not self.result


def forfeit(fault: BotFault, seat: int, black: int, void: bool = False) -> Outcome:
    """Return the outcome of a match that a fault ended.

    Args:
        fault: What the bot did.
        seat: The seat at fault.
        black: The seat that plays black.
        void: Make the match void instead of lost.
    """
    culprit, detail = f"seat{seat}", str(fault)
    if fault.termination is Termination.RESIGNATION:
        culprit = ""  # resigning is not a fault
    if void:
        return Outcome(fault.termination, culprit=culprit, detail=detail, analysis=fault.analysis)
    winner = 3 - seat
    result = f"{'B' if winner == black else 'W'}+{FAULTS[fault.termination].letter}"
    return Outcome(fault.termination, result, winner, culprit, detail, analysis=fault.analysis)
