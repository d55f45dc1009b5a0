"""What a compliance check is, and what it found; the checks themselves are in framing, engines and bots."""

from enum import StrEnum
from typing import NamedTuple

from protocol.commands import Who


class Demand(StrEnum):
    """How hard a check is meant: the referee needs it (required), GTP says so (recommended), GGP only (native)."""

    REQUIRED = "required"
    RECOMMENDED = "recommended"
    NATIVE = "native"


class Source(StrEnum):
    """Whose rule it is: the GTP 2 draft's, or ours. One of ours never counts against a program as GTP."""

    GTP = "GTP 2"
    GGP = "GGP"


class Verdict(StrEnum):
    PASS = "pass"
    FAIL = "fail"
    NOT_APPLICABLE = "not applicable"


class Check(NamedTuple):
    """One numbered step. With `sent`, an exchange: what comes back must match the regular expression `expected` as a
    whole. Without, `script` names the sequence of questions that judges it (referee.check knows how).

    `ends` says that the peer's stream must end after it, `end_input` that our end is closed after sending,
    `pieces` that each byte is sent alone. `remedy` says to the program's author what to change.
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
    source: Source = Source.GTP
    script: str = ""

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
