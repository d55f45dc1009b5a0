"""One program under check: its processes, started as few times as is safe, and the verdicts so far."""

import re
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from ggp.protocol.commands import Who
from ggp.protocol.conformance import Check, CheckVerdict
from ggp.referee.match.bot_spec import LaunchError
from ggp.referee.match.diagnosis import Silence, last_words, notice
from ggp.referee.match.engine import Engine
from ggp.referee.match.process import Peer, Process
from ggp.referee.tools.check.raw_channel import RawAnswer, RawChannel, UnexpectedEnd

_POINT = re.compile(r"[A-Z]\d+")


class StepResult(NamedTuple):
    """The verdict on one step.

    Attributes:
        sent: The bytes of the last exchange, as `got`; both empty unless the step failed.
        note: Where it failed, or why it was not tried or does not apply.
        advice: What to change, if this run shows more than the remedy of the check says.
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
        return self.advice or self.check.remedy


class ScriptStopped(Exception):
    """The script cannot continue; the failure is noted."""


class NotPrepared(Exception):
    """A preparation of the step failed; str() is the cause."""


def ok(answer: RawAnswer) -> bool:
    return answer.ok


def empty(answer: RawAnswer) -> bool:
    return answer.ok and answer.text == ""


def fails(answer: RawAnswer) -> bool:
    return not answer.ok


@dataclass
class Trial:
    """A program under check.

    Attributes:
        start: Starts it.
        patience: Seconds for an answer; `first` for the first one.
        remote: It is a service that stays, and its processes are not ours.
        judge: An engine that knows the rules of what a bot plays.
        command: Its command line, as its author writes it.
        notify: Called with lines for the screen if it does not start soon.
        games: Lines of ggp-new without the command.
        lacking: Commands that every program has and this one refuses.
        native: It is an engine, or a bot that lists ggp-new.
        ids: It echoes them.
        openings: Legal first moves of the first game, by the judge.
        at: The number of the step that is being asked about.
        where: The game and the place in it.
    """

    who: Who
    start: Callable[[], Peer]
    patience: float
    first: float
    remote: bool = False
    judge: Engine | None = None
    command: str = ""
    notify: Callable[[str], object] | None = None
    games: list[str] = field(default_factory=list)
    commands: frozenset[str] = frozenset()
    lacking: frozenset[str] = frozenset()
    native: bool = True
    ids: bool = True
    openings: list[str] = field(default_factory=list)
    seconds_to_start: float = 0.0
    at: str = ""
    where: str = ""
    _checks: dict[str, Check] = field(default_factory=dict)
    _found: dict[str, StepResult] = field(default_factory=dict)
    _peer: Peer | None = None
    _talk: RawChannel | None = None

    # -- the program ----------------------------------------------------------------------------------------

    async def open(self, fresh: bool = False) -> RawChannel:
        """Return a conversation without open answers; `fresh`: with a new process."""
        if self._talk is not None and not fresh and self._talk.in_order():
            self._talk.begin()
            return self._talk
        await self.drop()
        self._peer = self.start()
        transport = self._peer.channel.transport
        self._talk = RawChannel(transport, self.patience, self.first, self._heed, self._tell_of_silence)
        return self._talk

    async def ask(self, line: str, seconds: float | None = None) -> RawAnswer:
        """Ask one command in the open conversation."""
        return await self.talk.ask(line, seconds)

    @property
    def talk(self) -> RawChannel:
        assert self._talk is not None
        return self._talk

    @property
    def peer(self) -> Peer:
        assert self._peer is not None
        return self._peer

    @property
    def rules(self) -> Engine:
        """The judge of a bot."""
        assert self.judge is not None
        return self.judge

    @property
    def pid(self) -> int:
        """The process id; 0 if another program started it."""
        return self._peer.pid if isinstance(self._peer, Process) else 0

    async def drop(self) -> None:
        """Kill the process and all processes that it started."""
        if self._peer is not None:
            peer, self._peer, self._talk = self._peer, None, None
            await peer.stop(kill=True)

    # -- what was found -------------------------------------------------------------------------------------

    def choose(self, checks: Iterable[Check]) -> None:
        """Set the steps to judge; verdicts on others are not kept."""
        self._checks = {check.number: check for check in checks}

    def wants(self, number: str) -> bool:
        return number in self._checks

    def hold(self, number: str, right: bool, expected: str, note: str = "", advice: str = "") -> bool:
        """Judge a step by the last exchange, and return `right`. A failure stays."""
        before = self._found.get(number)
        if number not in self._checks or (before is not None and before.verdict is CheckVerdict.FAIL):
            return right
        check, talk = self._checks[number], self._talk
        if right:
            self._found[number] = StepResult(check, CheckVerdict.PASS, expected=expected, note=note, advice=advice)
        else:
            sent, got = (bytes(talk.sent), bytes(talk.got)) if talk else (b"", b"")
            note = "; ".join(part for part in (note, self.where) if part)
            self._found[number] = StepResult(check, CheckVerdict.FAIL, sent, got, expected, note, advice)
        return right

    async def expect(
        self,
        number: str,
        line: str,
        right: Callable[[RawAnswer], bool] = ok,
        expected: str = "",
        note: str = "",
    ) -> bool:
        """Judge a step by the answer to one command: a success, or what `right` accepts."""
        self.at = number
        expected = expected or (
            "a failure" if right is fails else "an empty success" if right is empty else "a success"
        )
        return self.hold(number, right(await self.ask(line)), expected, note)

    async def refuses(self, number: str, line: str, text: str, note: str = "", reason: bool = False) -> bool:
        """Judge a step by a command that must fail with this text; `reason`: a colon and more may follow."""
        form = f"`? {text}`{', and perhaps a reason after a colon' if reason else ''}"

        def right(answer: RawAnswer) -> bool:
            return not answer.ok and text == (answer.text.partition(":")[0] if reason else answer.text)

        return await self.expect(number, line, right, form, note)

    def lists(self, number: str, *names: str) -> bool:
        """Begin a step. Return False and omit it if the program does not list a command that it needs."""
        self.at = number
        missing = next((name for name in names if name not in self.commands), "")
        if missing:
            self.omit(f"it lists no {missing}", number)
        return not missing

    def omit(self, why: str, *numbers: str) -> None:
        """Note that steps do not apply, unless they were judged."""
        self._note(CheckVerdict.NOT_APPLICABLE, why, numbers)

    def skip(self, cause: str, *numbers: str) -> None:
        """Note that steps were not tried because of `cause`, unless they were judged."""
        self._note(CheckVerdict.NOT_TRIED, cause, numbers)

    def _note(self, verdict: CheckVerdict, why: str, numbers: Iterable[str]) -> None:
        for number in numbers:
            if number in self._checks and number not in self._found:
                self._found[number] = StepResult(self._checks[number], verdict, note=why)

    def _heed(self, answer: RawAnswer) -> None:
        """Judge the faults that any answer may have; the steps of framing ask only a few commands."""
        if answer.id is not None:
            self.hold("2.2.10", False, "no id: none was given")
        if not answer.begins_with_mark:
            self.hold("2.3.5", False, "the answer, and nothing before it")

    def findings(self) -> list[StepResult]:
        nothing = "nothing led to it"
        return [
            self._found.get(number, StepResult(check, CheckVerdict.NOT_APPLICABLE, note=nothing))
            for number, check in self._checks.items()
        ]

    async def run(self, script: Callable[["Trial"], Awaitable[None]], numbers: list[str]) -> None:
        """Run a script for its steps. An unexpected end is the failure of the step that it was at."""
        self.at, self.where = numbers[0], ""
        try:
            await script(self)
        except NotPrepared as unprepared:
            self.skip(str(unprepared), *numbers)
            if not self.talk.in_order():
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
        """Return the event, how the process ended, and the last line of its standard error."""
        ended, last = self.last_words()
        return "; ".join(filter(None, [str(surprise), ended, last and f"stderr: {last}"]))

    def last_words(self) -> tuple[str, str]:
        """Return how the process ended and the last line of its standard error; two empty texts while it runs."""
        ended = self._peer.exited(0.2) if self._peer is not None else ""
        return ended, last_words(self._peer.stderr_tail()) if self._peer is not None and ended else ""

    def silence(self) -> Silence:
        """Return what is known of a program that gave no valid answer to the last question."""
        asked = bytes(self.talk.sent).decode("utf-8", "replace").splitlines()[-1:] if self._talk else []
        said = bytes(self.talk.got) if self._talk else b""
        stderr = self._peer.stderr_tail() if self._peer is not None else ""
        return Silence("".join(asked), said, stderr, self.command)

    def _tell_of_silence(self) -> None:
        if self.notify is not None:
            self.notify(notice("the program", self.silence(), self.first, hint=False))

    # -- the beginning of a game ----------------------------------------------------------------------------

    async def begin(self) -> None:
        """Begin the first game. Raises NotPrepared."""
        for line in self.lines_of(self.games[0]):
            try:
                answer = await self.ask(line)
            except UnexpectedEnd as surprise:
                raise NotPrepared(f"`{line}` was not answered: {await self.why(surprise)}") from None
            if not answer.ok and self.needs(line):
                raise NotPrepared(self.refusal(line, answer))

    def lines_of(self, game: str) -> list[str]:
        """Return the commands that begin a game: one of ggp-new, or three of plain GTP."""
        if self.native:
            return [f"ggp-new {game}"]
        values = dict(word.split("=") for word in game.split()[1:])
        return [f"boardsize {values['size']}", "clear_board", f"komi {values['komi']}"]

    def needs(self, line: str) -> bool:
        """Return True if a game needs this line. A bot that lists no `komi` plays without it."""
        return not line.startswith("komi ") or "komi" in self.commands

    def refusal(self, line: str, answer: RawAnswer) -> str:
        """Say why a game does not begin: `komi is unknown`, or the answer to that line."""
        name = line.split()[0]
        if name not in self.commands or "unknown" in answer.text.lower():
            return f"{name} is unknown"
        return f"`{line}` is refused: {answer.text[:100] or '(no reason)'}"

    async def first_move(self) -> str:
        """Return a legal first move of the new game, a point if there is one. Raises NotPrepared."""
        if "ggp-legal_moves" in self.commands:
            answer = await self.ask("ggp-legal_moves")
            moves = answer.text.split() if answer.ok else []
        else:
            moves = self.openings or ["D4"]
        if not moves:
            raise NotPrepared("no legal first move is known")
        return points_or_all(moves)[0]


def points_or_all(moves: list[str]) -> list[str]:
    """Return the moves that are points, or all of them if none is."""
    return [move for move in moves if _POINT.fullmatch(move)] or moves


def now() -> float:
    return time.monotonic()
