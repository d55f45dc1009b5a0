"""The trial of one program: who it is, its processes, started as few times as is safe, and what was found so far.

Which questions are put to it is in the scripts.
"""

import json
import re
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ggp.protocol.commands import Who
from ggp.protocol.conformance import Check, CheckVerdict
from ggp.referee.match.bot_spec import LaunchError
from ggp.referee.match.diagnosis import Silence, last_words, notice
from ggp.referee.match.engine import Engine
from ggp.referee.match.process import Peer, Process
from ggp.referee.tools.check.raw_channel import RawAnswer, RawChannel, UnexpectedEnd

Start = Callable[[], Peer]


class StepResult(NamedTuple):
    """The verdict on one step. `sent` and `got` are bytes as they passed; `note` says where, or why not.

    `advice`: what to change, where what was seen says more than the remedy of the check.
    """

    check: Check
    verdict: CheckVerdict
    sent: bytes = b""
    got: bytes = b""
    expected: str = ""
    note: str = ""
    advice: str = ""

    @property
    def remedy(self) -> str:
        """What to change."""
        return self.advice or self.check.remedy


class ScriptStopped(Exception):
    """The script cannot continue; the failure is noted."""


class NotPrepared(Exception):
    """A preparation of the step failed; str() is the cause."""


@dataclass
class CheckContext:
    """`native`: an engine, or a bot that lists ggp-new. `games`: lines of ggp-new without the command."""

    who: Who
    start: Start
    patience: float
    first: float
    remote: bool = False
    games: list[str] = field(default_factory=list)
    commands: frozenset[str] = frozenset()
    lacking: frozenset[str] = frozenset()  # of the commands that every program has, those that it refuses
    native: bool = True
    where: str = ""
    ids: bool = True  # whether it echoes them
    judge: Engine | None = None  # who knows the rules of what a bot plays
    openings: list[str] = field(default_factory=list)  # legal first moves of the first game, as the judge says
    command: str = ""  # of the program, as its author writes it
    notify: Callable[[str], object] | None = None  # gets lines for the screen about a program that does not start
    starts: int = 0
    seconds_to_start: float = 0.0

    def __post_init__(self) -> None:
        self._checks: dict[str, Check] = {}
        self._found: dict[str, StepResult] = {}
        self._peer: Peer | None = None
        self._talk: RawChannel | None = None
        self.at = ""  # the number of the step that is being asked about

    # -- the program ----------------------------------------------------------------------------------------

    async def talk(self, fresh: bool = False) -> RawChannel:
        """A conversation without open answers; `fresh`: with a new process."""
        if self._talk is not None and not fresh and self._talk.in_order():
            self._talk.begin()
            return self._talk
        await self.drop()
        self._peer = self.start()
        self.starts += 1
        transport, patience = self._peer.channel.transport, self.patience
        self._talk = RawChannel(transport, patience, self.first, self._heed, self._tell_of_silence)
        return self._talk

    @property
    def peer(self) -> Peer:
        assert self._peer is not None
        return self._peer

    @property
    def talking(self) -> RawChannel:
        assert self._talk is not None
        return self._talk

    @property
    def pid(self) -> int:
        """0 for a process of another program."""
        return self._peer.pid if isinstance(self._peer, Process) else 0

    @property
    def end_patience(self) -> float:
        """Seconds for a process that may still load to notice the end of its input."""
        return self.patience + 2 * self.seconds_to_start

    async def drop(self, kill: bool = True) -> None:
        """End the process and all processes that it started."""
        if self._peer is not None:
            peer, self._peer, self._talk = self._peer, None, None
            await peer.stop(kill=kill)

    # -- what was found -------------------------------------------------------------------------------------

    def expect(self, checks: Iterable[Check]) -> None:
        """Choose the steps to judge; verdicts on others are not kept."""
        self._checks = {check.number: check for check in checks}

    def wants(self, *numbers: str) -> bool:
        return any(number in self._checks for number in numbers)

    def hold(self, number: str, right: bool, expected: str, note: str = "", advice: str = "") -> bool:
        """Judge a step by the last exchange; a failure stays. Returns `right`."""
        if number in self._checks:
            check, before = self._checks[number], self._found.get(number)
            if before is None or before.verdict is not CheckVerdict.FAIL:
                talk = self._talk
                sent, got = (bytes(talk.sent), bytes(talk.got)) if talk and not right else (b"", b"")
                note = "; ".join(part for part in (note, self.where) if part) if not right else note
                verdict = CheckVerdict.PASS if right else CheckVerdict.FAIL
                self._found[number] = StepResult(check, verdict, sent, got, expected, note, advice)
        return right

    async def accepts(self, number: str, line: str, expected: str = "a success", note: str = "") -> bool:
        """Judge a step by a command that must succeed."""
        self.at = number
        return self.hold(number, (await self.talking.ask(line)).ok, expected, note)

    async def refuses(
        self, number: str, line: str, text: str = "", expected: str = "", note: str = "", reason: bool = False
    ) -> bool:
        """Judge a step by a command that must fail, with this text if one is given; `reason`: one may follow it."""
        self.at = number
        answer = await self.talking.ask(line)
        said = answer.text.partition(":")[0] if reason else answer.text
        form = f"`? {text}`{', and perhaps a reason after a colon' if reason else ''}" if text else "a failure"
        return self.hold(number, not answer.ok and text in ("", said), expected or form, note)

    def _heed(self, answer: RawAnswer) -> None:
        """The faults that an answer to any command may have; the steps of framing ask a few commands only."""
        if answer.id is not None:
            self.hold("2.2.10", False, "no id: none was given")
        if answer.raw.lstrip(b"\r\n")[:1] not in (b"=", b"?"):
            self.hold("2.3.5", False, "the answer, and nothing before it")

    def remark(self, number: str, note: str) -> None:
        """Add a note to a step that passed."""
        found = self._found.get(number)
        if found is not None and found.verdict is CheckVerdict.PASS:
            self._found[number] = found._replace(note=note)

    def omit(self, why: str, *numbers: str) -> None:
        """Note that steps do not apply, unless they were judged."""
        self._note(CheckVerdict.NOT_APPLICABLE, why, numbers)

    def lists(self, number: str, *names: str) -> bool:
        """Begin a step; False, and the step is omitted, if a command that it needs is not listed."""
        self.at = number
        missing = next((name for name in names if name not in self.commands), "")
        if missing:
            self.omit(f"it lists no {missing}", number)
        return not missing

    def skip(self, cause: str, *numbers: str) -> None:
        """Note that steps were not tried because of `cause`, unless they were judged."""
        self._note(CheckVerdict.NOT_TRIED, cause, numbers)

    def _note(self, verdict: CheckVerdict, why: str, numbers: Iterable[str]) -> None:
        for number in numbers:
            if number in self._checks and number not in self._found:
                self._found[number] = StepResult(self._checks[number], verdict, note=why)

    def findings(self) -> list[StepResult]:
        return [
            self._found.get(number, StepResult(check, CheckVerdict.NOT_APPLICABLE, note="nothing led to it"))
            for number, check in self._checks.items()
        ]

    async def run(self, script: Callable[["CheckContext"], Awaitable[None]], numbers: list[str]) -> None:
        """Run a script; an unexpected end is the failure of its present step."""
        self.at, self.where = numbers[0], ""
        try:
            await script(self)
        except NotPrepared as unprepared:
            self.skip(str(unprepared), *numbers)
            if not self.talking.in_order():
                await self.drop()
        except (UnexpectedEnd, ScriptStopped) as surprise:
            if isinstance(surprise, UnexpectedEnd):
                self.hold(self.at, False, "an answer", await self.why(surprise))
                await self.drop()
            self.skip(f"{self.at} failed", *numbers)
        except LaunchError as error:
            self.hold(self.at, False, "that it starts", str(error))
            self.skip("it does not start", *numbers)

    async def why(self, surprise: UnexpectedEnd) -> str:
        """The event, how the process ended, and the last line of its standard error."""
        ended, last = self.last_words()
        return "; ".join(filter(None, [str(surprise), ended, last and f"stderr: {last}"]))

    def last_words(self) -> tuple[str, str]:
        """How the process ended and the last line of its standard error; two empty texts while it runs."""
        ended = self._peer.exited(0.2) if self._peer is not None else ""
        return ended, last_words(self._peer.stderr_tail()) if self._peer is not None and ended else ""

    def silence(self) -> Silence:
        """What is known of a program that gave no valid answer to the last question."""
        asked = bytes(self.talking.sent).decode("utf-8", "replace").splitlines()[-1:] if self._talk else []
        said = bytes(self.talking.got) if self._talk else b""
        stderr = self._peer.stderr_tail() if self._peer is not None else ""
        return Silence("".join(asked), said, stderr, self.command)

    def _tell_of_silence(self) -> None:
        if self.notify is not None:
            self.notify(notice("the program", self.silence(), self.first, hint=False))


def now() -> float:
    return time.monotonic()


# -- Shared by the scripts: the beginning of a game and its first moves.


async def begin(trial: CheckContext, talk: RawChannel) -> None:
    """A new game: `ggp-new` of the first game, or plain GTP's three commands. Raises NotPrepared."""
    for line in lines_of(trial, trial.games[0]):
        try:
            answer = await talk.ask(line)
        except UnexpectedEnd as surprise:
            raise NotPrepared(f"`{line}` was not answered: {await trial.why(surprise)}") from None
        if not answer.ok and is_needed(trial, line):
            raise NotPrepared(refusal(trial, line, answer))


def refusal(trial: CheckContext, line: str, answer: RawAnswer) -> str:
    """Why a game does not begin: `komi is unknown`, or the answer to that line."""
    name = line.split()[0]
    if name not in trial.commands or "unknown" in answer.text.lower():
        return f"{name} is unknown"
    return f"`{line}` is refused: {answer.text[:100] or '(no reason)'}"


def is_needed(trial: CheckContext, line: str) -> bool:
    """Whether a game needs this line. A bot that lists no `komi` plays without it."""
    return not line.startswith("komi ") or "komi" in trial.commands


def lines_of(trial: CheckContext, game: str) -> list[str]:
    """The commands that begin `game` (a line of ggp-new without the command)."""
    if trial.native:
        return [f"ggp-new {game}"]
    values = dict(word.split("=") for word in game.split()[1:])
    return [f"boardsize {values['size']}", "clear_board", f"komi {values['komi']}"]


async def first_moves(trial: CheckContext, talk: RawChannel) -> list[str]:
    """Legal first moves of the new game, points if there are any."""
    if "ggp-legal_moves" in trial.commands:
        answer = await talk.ask("ggp-legal_moves")
        moves = answer.text.split() if answer.ok else []
    elif trial.openings:
        moves = trial.openings
    else:
        moves = ["D4"]
    points = [move for move in moves if move[:1].isupper() and move[1:].isdigit()]
    return points or moves


# -- The forms of what engines answer: status lines, results, options, scores.


# "Shortest decimals: B+3, never B+3.0".
_RESULT = re.compile(r"0|[BW]\+(?:[RTF]|(?:[1-9]\d*(?:\.\d*[1-9])?|0\.\d*[1-9])?)")
_OPTION = re.compile(r"(\S+) (int|half|bid|enum) (\S+) (\S+)")
_PLAYOUTS = re.compile(r"games=(\d+) plies=\d+ seconds=[\d.e+-]+ black=(\d+) white=(\d+) draws=(\d+)")
PHASES = ("bid", "choose", "play", "agree", "over")


class StatusFields(NamedTuple):
    """A status line that has the form."""

    phase: str
    to_play: str
    seat: int
    ply: int
    result: str = ""
    winner: str = ""
    move: str = ""


def read_status(text: str) -> StatusFields | str:
    """The fields, or the fault of the line."""
    pairs = [word.partition("=") for word in text.split(" ")]
    if any(not key or equals != "=" for key, equals, _ in pairs):
        return "a status line is key=value, separated by one blank"
    keys = {key: value for key, _, value in pairs}
    missing = [key for key in ("phase", "to_play", "seat", "ply") if key not in keys]
    if missing:
        return f"{missing[0]}= is missing"
    if keys["phase"] not in PHASES:
        return f"phase is one of {', '.join(PHASES)}"
    over = keys["phase"] == "over"
    if over != (keys["to_play"] == "none") or keys["to_play"] not in ("black", "white", "none"):
        return "to_play is black or white, and none when over"
    if keys["seat"] not in (("0",) if over else ("1", "2")) or not re.fullmatch(r"\d+", keys["ply"]):
        return "seat is 1 or 2, 0 when over; ply is a number"
    result, winner = keys.get("result", ""), keys.get("winner", "")
    return StatusFields(
        keys["phase"], keys["to_play"], int(keys["seat"]), int(keys["ply"]), result, winner, keys.get("move", "")
    )


def is_result(text: str) -> bool:
    """`B+3.5`, `W+1`, `B+`, `0`, and forfeits."""
    return _RESULT.fullmatch(text) is not None


def ends_right(status: StatusFields) -> bool:
    """Result and winner when over, and only then."""
    if status.phase != "over":
        return not status.result and not status.winner
    return is_result(status.result) and status.winner in (("0",) if status.result == "0" else ("1", "2"))


def read_option(line: str) -> tuple[str, str, str, str] | None:
    """`name type default domain`, the default within the domain; else None."""
    match = _OPTION.fullmatch(line)
    if match is None:
        return None
    name, kind, default, domain = match.groups()
    return (name, kind, default, domain) if _within(kind, default, domain) else None


def ends_of(kind: str, domain: str) -> list[str]:
    """Values that a domain promises: each that stands alone, both ends of each range."""
    values: list[str] = []
    for part in domain.split(","):
        low, dots, high = part.partition("..")
        values += [low, high] if dots else [{"half": "6.5", "bid": "3"}.get(kind, "7")] if part == "*" else [part]
    return list(dict.fromkeys(values))


def beyond(kind: str, domain: str) -> list[str]:
    """Values that a domain excludes."""
    wrong = ["no-such-value"]
    if kind == "int" and "*" not in domain:
        wrong += ["1000000", "-1000000", "2.25"]
    if kind == "half":
        wrong.append("0.3")
    return wrong


def is_score(text: str, over: bool) -> bool:
    """One line of JSON: black, white with totals (numbers or null), and final."""
    value = _json(text)
    if not isinstance(value, dict) or not isinstance(value.get("final"), bool):
        return False
    sides = [value.get("black"), value.get("white")]
    if any(not isinstance(side, dict) or "total" not in side for side in sides):
        return False
    totals = [side["total"] for side in sides if isinstance(side, dict)]
    return all(total is None or isinstance(total, int | float) for total in totals) and value["final"] == over


def adds_up(text: str, games: int) -> bool:
    """Whether an answer of ggp-playouts is about `games` games."""
    match = _PLAYOUTS.fullmatch(text)
    return match is not None and [int(match[1]), sum(map(int, match.groups()[1:]))] == [games, games]


def is_json(text: str) -> bool:
    return _json(text) is not None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _within(kind: str, value: str, domain: str) -> bool:
    number = re.fullmatch(r"-?\d+(?:\.5)?" if kind == "half" else r"-?\d+", value)
    for part in domain.split(","):
        low, dots, high = part.partition("..")
        if value == part or (part == "*" and (number or kind == "enum")):
            return True
        try:
            if dots and number and float(low) <= float(value) <= float(high):
                return True
        except ValueError:
            return False
    return False
