"""Types of the compliance checks, and the numbered rules of docs/reference/protocol.md that they cite."""

from enum import StrEnum
from typing import NamedTuple


class Demand(StrEnum):
    """The consequence of a failed step.

    REQUIRED: the referee cannot use the program. FORFEIT: a bot loses the game in which it happens. RECOMMENDED: GTP
    requires it. NATIVE: only GGP requires it.
    """

    REQUIRED = "required"
    FORFEIT = "forfeit"
    RECOMMENDED = "recommended"
    NATIVE = "native"


class RuleSource(StrEnum):
    """The source of a rule: the GTP 2 draft or this protocol.

    Breaking a rule of this protocol is not a fault in GTP.
    """

    GTP = "GTP 2"
    GGP = "GGP"


class CheckVerdict(StrEnum):
    """The outcome of a step. NOT_TRIED means that a step it depends on failed."""

    PASS = "pass"
    FAIL = "fail"
    NOT_TRIED = "not tried"
    NOT_APPLICABLE = "not applicable"


class Check(NamedTuple):
    """One numbered step.

    Attributes:
        script: The sequence of commands that judges it (see ggp.referee.tools.check); "" for a single exchange.
        remedy: What the program's author should change if it fails.
        setup: A command line that is sent first and must succeed.
        expected: A regular expression that must match the whole response.
        how: "ends" if the program must then exit, "end of input" if our end is also closed after sending, "pieces" if
            each byte is sent alone.
    """

    number: str
    title: str
    demand: Demand
    source: RuleSource
    script: str
    remedy: str
    sent: bytes = b""
    expected: bytes = b""
    setup: bytes = b""
    how: str = ""

    @property
    def rule(self) -> str:
        """Return the number of its rule: `2.1` for `2.1.3`."""
        return self.number.rpartition(".")[0]


class Rule(NamedTuple):
    """A numbered rule of docs/reference/protocol.md.

    Attributes:
        anchor: The heading on that page, as an anchor.
        unchecked: Why no answer could break the rule; "" if there are checks.
    """

    number: str
    anchor: str
    text: str
    unchecked: str = ""


_ANSWERING = "the-answering-side-engine-or-bot"
_ASKING = "the-asking-side-referee-console-any-controller"
_OURS = "it applies to the asking side, which here is ggp check itself"

RULES: tuple[Rule, ...] = (
    Rule(
        "2.1",
        _ANSWERING,
        "control characters are dropped, # begins a comment, HT is a blank, blank lines get no answer",
    ),
    Rule("2.2", _ANSWERING, "an id is digits followed by a blank; it is echoed if and only if it was given"),
    Rule("2.3", _ANSWERING, "= or ?, the id, a blank and the text, an empty line; nothing else is written to stdout"),
    Rule("2.4", _ANSWERING, "some failures have fixed texts, such as `unknown command`"),
    Rule("2.5", _ANSWERING, "a failed command changes nothing; known_command never fails; how a session ends"),
    Rule("2.6", _ANSWERING, "command names are case-sensitive, colours and points are not; there is no column I"),
    Rule("2.7", _ANSWERING, "boardsize and clear_board begin a new game; komi succeeds for every number"),
    Rule("2.8", _ANSWERING, "a command line has at most 64 KiB, an answer 1 MiB and 10,000 lines"),
    Rule("2.9", _ASKING, "sloppy answers are accepted", _OURS),
    Rule("2.10", _ASKING, "a bot's junk before an answer is skipped", f"{_OURS}; 2.3.4 checks that there is no junk"),
    Rule("2.11", _ASKING, "ids are probed once, at the start", f"{_OURS}; 2.2.1 checks that ids are echoed"),
    Rule("2.12", _ASKING, "list_commands is split on any white space", f"{_OURS}; 2.3.7 checks its form"),
    Rule("2.13", _ASKING, "names in lower case, points in upper case, whole and non-negative numbers", _OURS),
    Rule(
        "2.14", _ASKING, "standard error is drained; how to close", f"{_OURS}; 2.5 checks that the program then exits"
    ),
    Rule("3.0", "what-an-engine-must-answer", "the commands that the referee needs from an engine"),
    Rule("3.1", "3-engines", "an engine lists its games and starts one"),
    Rule(
        "3.2",
        "the-status-line",
        "blank-separated key=value: phase, to_play, seat, ply; after the end also result, winner",
    ),
    Rule("3.3", "the-commands", "the answers of an engine's ggp- commands"),
    Rule("3.4", "other-views-of-the-same-game", "GTP's view of the same state"),
    Rule("4.0", "4-bots", "the commands that a bot must know"),
    Rule("4.1", "4-bots", "a bot starts a game, or says that it does not play it"),
    Rule("4.2", "4-bots", "a bot notes the other side's moves and makes legal ones"),
    Rule("5.1", "5-clocks", "a bot accepts the clock commands and keeps to its time"),
    Rule("5.2", "5-clocks", "commands other than moves have a separate time limit"),
    Rule("7.1", "7-zeromq", "each connection has its own session"),
)
_BY_NUMBER = {rule.number: rule for rule in RULES}


def rule_of(number: str) -> Rule:
    """Return the rule that a check such as `2.1.3` is about."""
    return _BY_NUMBER[number.rpartition(".")[0]]
