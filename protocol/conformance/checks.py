"""What a compliance check is, and what it found; the checks themselves are in framing, engines and bots."""

from enum import StrEnum
from typing import NamedTuple

from protocol.commands import Who


class Demand(StrEnum):
    """How much depends on a check: the referee cannot use a program that fails it (required), the failure loses a bot
    the game in which it happens (forfeit), GTP asks for it (recommended), GGP alone asks for it (native)."""

    REQUIRED = "required"
    FORFEIT = "forfeit"
    RECOMMENDED = "recommended"
    NATIVE = "native"


class RuleSource(StrEnum):
    """Whose rule it is: the GTP 2 draft's, or ours. One of ours never counts against a program as GTP."""

    GTP = "GTP 2"
    GGP = "GGP"


class CheckVerdict(StrEnum):
    """NOT_TRIED: something before it failed, so nothing was seen of it."""

    PASS = "pass"
    FAIL = "fail"
    NOT_TRIED = "not tried"
    NOT_APPLICABLE = "not applicable"


class Check(NamedTuple):
    """One numbered step. With `sent`, an exchange: what comes back must match the regular expression `expected` as a
    whole. Without, `script` names the sequence of questions that judges it (referee.check knows how).

    `setup` is one command line that is sent first and must succeed. `ends` says that the peer's stream must end after
    it, `end_input` that our end is closed after sending, `pieces` that each byte is sent alone. `remedy` says to the
    program's author what to change.
    """

    number: str
    title: str
    sent: bytes = b""
    expected: bytes = b""
    demand: Demand = Demand.RECOMMENDED
    who: Who | None = None  # None: both
    ends: bool = False
    end_input: bool = False
    pieces: bool = False
    remedy: str = ""
    source: RuleSource = RuleSource.GTP
    script: str = ""
    setup: bytes = b""

    @property
    def rule(self) -> str:
        """The number of the rule that says so: `2.1` of `2.1.3`."""
        return self.number.rpartition(".")[0]


class Finding(NamedTuple):
    """What a check found: `got` is all that came back, and `ended` whether the stream ended."""

    check: Check
    passed: bool
    got: bytes
    ended: bool
