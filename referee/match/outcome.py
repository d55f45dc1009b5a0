"""How matches end: terminations, the fault table of the protocol contract (§6), outcomes."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from ggp.protocol.errors import CodedError, Problem
from ggp.protocol.printed import counted

REPLAYS = 3  # void attempts of a bot that are replayed: of one game in a row, and among its last games
WINDOW = 100  # games over which they are counted


def void_reason(number: int, last: str) -> str:
    """Say why a bot is suspended that made `number` of its last games void."""
    return f"made {number} of its last {WINDOW} games void, last: {last}"


class Termination(StrEnum):
    """A reason for the end of a match; the word stands in its record."""

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
    TAKEN_BACK = "taken_back"  # by agreement; the match goes on from an earlier ply under another key


BY_PLAY = {Termination.RULES, Termination.RESIGNATION, Termination.PLY_LIMIT, Termination.ADJUDICATED}


class FaultRow(NamedTuple):
    """The consequences of a termination for the player at fault."""

    letter: str  # of the result: R, T or F; "" for a termination without a loser
    restart: bool  # the process is restarted before the next game


# §6, first and last column. A bot that rejects a move still owes us the answer to `genmove`, so it is
# restarted too: what it says next would be taken for the answer to another question.
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
    """A bot did what ends the match; str() is the detail for its author. `void`: it did so out of its turn, which
    makes a match void that has hardly begun. `analysis`: what the bot said with the answer that ends the match.
    `ms`: what it used of its time for the answer that did not come."""

    def __init__(
        self, termination: Termination, detail: str, void: bool = False, analysis: str = "", ms: int = 0
    ) -> None:
        super().__init__(detail)
        self.termination = termination
        self.void = void
        self.analysis = analysis
        self.ms = ms


class EngineFailed(Problem):
    """The engine crashed, stopped answering or contradicted itself: the match has no loser."""

    code = "engine-failed"


# -- The faults in words: a match is lost for one of these reasons, or for what the conversation with the bot became
# (diagnosis).

_SHOWN = 200  # characters of what a bot said


def refused_genmove(text: str, analysis: str = "") -> BotFault:
    return BotFault(Termination.REFUSED, f"answers `genmove` with `? {text[:_SHOWN]}`", analysis=analysis)


def refused_advice(text: str) -> BotFault:
    return BotFault(Termination.REFUSED, f"it answers `? {text[:_SHOWN]}`")


def refused_to_go_on(reason: str) -> BotFault:
    """Return the fault of a bot that does not take the setting of a match that is under way."""
    return BotFault(Termination.REFUSED, f"it refuses to go on with the match: {reason}")


def rejected_legal_move(asked: str, text: str) -> BotFault:
    return BotFault(Termination.REJECTS_LEGAL_MOVE, f"answers `{asked}` with `? {text[:_SHOWN]}`")


def resigned(analysis: str) -> BotFault:
    return BotFault(Termination.RESIGNATION, "", analysis=analysis)


def illegal_move(said_by_engine: str) -> BotFault:
    return BotFault(Termination.ILLEGAL_MOVE, said_by_engine)


def illegal_move_at_failure(move: str, failure: EngineFailed) -> BotFault:
    """Return the fault of a move that is not listed as legal, and at which two engines failed."""
    return BotFault(Termination.ILLEGAL_MOVE, f"illegal move: {move[:80]}, at which the engine failed: {failure}")


def unreadable_move(text: str) -> BotFault:
    return BotFault(Termination.ILLEGAL_MOVE, f"unreadable move {text[:80]!r}: an answer to genmove is one word")


def late_move(overrun: int, because: str) -> BotFault:
    """Return the fault of a move that came `overrun` ms after its time and margin.

    `because`: why it was late, after a semicolon, or "".
    """
    return BotFault(Termination.TIME, f"the answer came {overrun} ms after its time was up{because}")


def no_move_in_time() -> BotFault:
    return BotFault(Termination.TIME, "there was no move when the time was up")


def gone_before_its_turn(exit: str) -> BotFault:
    return BotFault(Termination.DISCONNECTED, f"it ended before its turn: {exit}", void=True)


def not_reconnected() -> BotFault:
    return BotFault(Termination.DISCONNECTED, "it did not reconnect after the server was restarted")


class PliesTakenBack(Exception):
    """The side to move and its opponent have agreed to take back so many plies."""

    def __init__(self, plies: int) -> None:
        super().__init__(f"{counted(plies, 'ply', 'plies')} taken back by agreement")
        self.plies = plies


class CannotStart(CodedError):
    """A bot that does not start, does not know the game or refuses its size: `who`, suspended with the reason."""

    code = "cannot-start"

    def __init__(self, who: str, reason: str, *, code: str = "") -> None:
        super().__init__(reason, code=code)
        self.who = who


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a match. `result` as engines write it (`B+3.5`), "" for a void one; seats are 1, 2, or 0 for none."""

    termination: Termination
    result: str = ""
    winner: int = 0
    culprit: str = ""  # seat1, seat2, engine or ""
    detail: str = ""
    taken_back: int = 0  # plies
    analysis: str = ""  # of the answer that ended it, which is no ply
    ms: int = 0  # used of its time by the loser in the turn that ended it, which is no ply

    @property
    def void(self) -> bool:
        return not self.result


def forfeit(fault: BotFault, seat: int, black: int, void: bool = False) -> Outcome:
    """Return the outcome when `seat` is at fault while `black` (a seat) holds the black stones."""
    culprit, detail = f"seat{seat}", str(fault)
    if fault.termination is Termination.RESIGNATION:
        culprit = ""  # resigning is no fault
    if void:
        return Outcome(fault.termination, culprit=culprit, detail=detail, analysis=fault.analysis)
    winner = 3 - seat
    result = f"{'B' if winner == black else 'W'}+{FAULTS[fault.termination].letter}"
    return Outcome(fault.termination, result, winner, culprit, detail, analysis=fault.analysis)
