"""One program under check: its processes, started as rarely as is safe, and the verdicts so far."""

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
        sent: The bytes sent in the last exchange; like `got` empty unless the step failed.
        got: The bytes received.
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
        """Return what to change."""
        return self.advice or self.check.remedy


class ScriptStopped(Exception):
    """An exception when a script cannot continue; the failure was recorded."""


class NotPrepared(Exception):
    """An exception when the preparation of a step failed; str() is the cause."""


def ok(answer: RawAnswer) -> bool:
    """Return True for a success."""
    return answer.ok


def empty(answer: RawAnswer) -> bool:
    """Return True for a success without text."""
    return answer.ok and answer.text == ""


def fails(answer: RawAnswer) -> bool:
    """Return True for a failure."""
    return not answer.ok


@dataclass
class Trial:
    """A program under check.

    Attributes:
        who: Bot or engine.
        start: Starts the program.
        patience: Seconds for an answer.
        first: Seconds for the first answer.
        remote: It is a service that we did not start.
        judge: An engine that knows the rules of the games that a bot plays.
        command: Its command line, as its author writes it.
        notify: Called with lines for the screen if it does not start soon.
        games: Arguments of ggp-new for each game.
        commands: The commands that it lists.
        lacking: Commands that every program has, but this one refuses.
        native: It is an engine, or a bot that lists ggp-new.
        ids: It echoes ids.
        openings: Legal first moves of the first game, from the judge.
        seconds_to_start: The time of its first answer.
        at: The number of the current step.
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
        """Return a conversation without unanswered commands. With `fresh`, start a new process."""
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
        """Return the open conversation."""
        assert self._talk is not None
        return self._talk

    @property
    def peer(self) -> Peer:
        """Return the running program."""
        assert self._peer is not None
        return self._peer

    @property
    def rules(self) -> Engine:
        """Return the judge of a bot."""
        assert self.judge is not None
        return self.judge

    @property
    def pid(self) -> int:
        """Return the process ID; 0 if another program started it."""
        return self._peer.pid if isinstance(self._peer, Process) else 0

    async def drop(self) -> None:
        """Kill the process and all processes that it started."""
        if self._peer is not None:
            peer, self._peer, self._talk = self._peer, None, None
            await peer.stop(kill=True)

    # -- what was found -------------------------------------------------------------------------------------

    def choose(self, checks: Iterable[Check]) -> None:
        """Set the steps to judge. Verdicts on other steps are not kept."""
        self._checks = {check.number: check for check in checks}

    def wants(self, number: str) -> bool:
        """Return True if this step is to be judged."""
        return number in self._checks

    def hold(self, number: str, right: bool, expected: str, note: str = "", advice: str = "") -> bool:
        """Judge a step by the last exchange. A failure is final.

        Args:
            number: The step.
            right: The step passed.
            expected: What was expected, for the report.
            note: Where or how it failed.
            advice: What to change, if more specific than the remedy of the check.

        Returns:
            `right`.
        """
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
        """Judge a step by the answer to one command.

        Args:
            number: The step.
            line: The command.
            right: Returns True for a right answer; by default for a success.
            expected: What was expected, for the report.
            note: A remark for the report.

        Returns:
            True if the answer was right.
        """
        self.at = number
        expected = expected or (
            "a failure" if right is fails else "an empty success" if right is empty else "a success"
        )
        return self.hold(number, right(await self.ask(line)), expected, note)

    async def refuses(self, number: str, line: str, text: str, note: str = "", reason: bool = False) -> bool:
        """Judge a step by a command that must fail with this text; with `reason`, a colon and a reason may follow."""
        form = f"`? {text}`{', and perhaps a reason after a colon' if reason else ''}"

        def right(answer: RawAnswer) -> bool:
            return not answer.ok and text == (answer.text.partition(":")[0] if reason else answer.text)

        return await self.expect(number, line, right, form, note)

    def lists(self, number: str, *names: str) -> bool:
        """Begin a step. If the program does not list a needed command, omit the step and return False."""
        self.at = number
        missing = next((name for name in names if name not in self.commands), "")
        if missing:
            self.omit(f"it lists no {missing}", number)
        return not missing

    def omit(self, why: str, *numbers: str) -> None:
        """Record that steps do not apply, unless they were judged."""
        self._note(CheckVerdict.NOT_APPLICABLE, why, numbers)

    def skip(self, cause: str, *numbers: str) -> None:
        """Record that steps were not tried because of `cause`, unless they were judged."""
        self._note(CheckVerdict.NOT_TRIED, cause, numbers)

    def _note(self, verdict: CheckVerdict, why: str, numbers: Iterable[str]) -> None:
        for number in numbers:
            if number in self._checks and number not in self._found:
                self._found[number] = StepResult(self._checks[number], verdict, note=why)

    def _heed(self, answer: RawAnswer) -> None:
        """Judge faults that any answer may have, because the framing steps ask only a few commands."""
        if answer.id is not None:
            self.hold("2.2.10", False, "no id, because none was sent")
        if not answer.begins_with_mark:
            self.hold("2.3.5", False, "the answer, and nothing before it")

    def findings(self) -> list[StepResult]:
        """Return a result for each step."""
        nothing = "this run did not reach it"
        return [
            self._found.get(number, StepResult(check, CheckVerdict.NOT_APPLICABLE, note=nothing))
            for number, check in self._checks.items()
        ]

    async def run(self, script: Callable[["Trial"], Awaitable[None]], numbers: list[str]) -> None:
        """Run a script for its steps. An unexpected end is a failure of the current step."""
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
            self.hold(self.at, False, "a start of the program", str(error))
            self.skip("it does not start", *numbers)

    async def why(self, surprise: UnexpectedEnd) -> str:
        """Return the event, how the process exited, and the last line of its stderr."""
        ended, last = self.last_words()
        return "; ".join(filter(None, [str(surprise), ended, last and f"stderr: {last}"]))

    def last_words(self) -> tuple[str, str]:
        """Return how the process exited and the last line of its stderr; ("", "") while it runs."""
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
        """Begin the first game.

        Raises:
            NotPrepared: The program does not begin it.
        """
        for line in self.lines_of(self.games[0]):
            try:
                answer = await self.ask(line)
            except UnexpectedEnd as surprise:
                raise NotPrepared(f"`{line}` was not answered: {await self.why(surprise)}") from None
            if not answer.ok and self.needs(line):
                raise NotPrepared(self.refusal(line, answer))

    def lines_of(self, game: str) -> list[str]:
        """Return the commands that begin a game: one ggp-new, or three of plain GTP."""
        if self.native:
            return [f"ggp-new {game}"]
        values = dict(word.split("=") for word in game.split()[1:])
        return [f"boardsize {values['size']}", "clear_board", f"komi {values['komi']}"]

    def needs(self, line: str) -> bool:
        """Return True if a game needs this line. A bot that lists no `komi` plays without it."""
        return not line.startswith("komi ") or "komi" in self.commands

    def refusal(self, line: str, answer: RawAnswer) -> str:
        """Return why a game does not begin: `komi is unknown`, or the answer to that line."""
        name = line.split()[0]
        if name not in self.commands or "unknown" in answer.text.lower():
            return f"{name} is unknown"
        return f"`{line}` is refused: {answer.text[:100] or '(no reason)'}"

    async def first_move(self) -> str:
        """Return a legal first move of the new game, a point if possible.

        Raises:
            NotPrepared: No legal move is known.
        """
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
    """Return the monotonic time in seconds."""
    return time.monotonic()
