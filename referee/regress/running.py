"""Runs one transcript against one fresh program: every command and what came of it. It reads and writes no file."""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from protocol.channel import PEER_FAULTS, Channel
from protocol.connection import PeerRole
from protocol.errors import LocalProtocolError, PeerTimeout
from protocol.messages import Reply
from protocol.regression import Step, TranscriptError, Verdict, judge
from protocol.transports.blocking import run_blocking
from protocol.transports.transcript import Sink
from referee.config import Budgets
from referee.play.launch import LaunchError, Peer, Process, Remote
from referee.play.seating import Start
from referee.regress.suite import Transcript

_START = 60.0  # seconds until a fresh program must have said its first word
_GLANCE = 0.2  # seconds between two looks whether everything is to stop
_UNASKED = "not asked: "
_STDERR = 2000  # characters of its tail that a report shows


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds that one command, and a whole file, may take; MiB of address space, 0 for no limit."""

    command: float = 60.0
    file: float = 3600.0
    memory: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one command. `reply` is None if there was none; `why` then says what happened instead."""

    step: Step
    verdict: Verdict
    reply: Reply | None
    seconds: float = 0.0
    why: str = ""

    @property
    def bad(self) -> bool:
        return self.verdict in (Verdict.FAIL, Verdict.ERROR)

    @property
    def unasked(self) -> bool:
        """Whether an earlier command ended the file before this one."""
        return self.reply is None and self.why.startswith(_UNASKED)

    @property
    def got(self) -> str:
        """The answer in words; a refusal begins with `? `."""
        if self.reply is None:
            return self.why
        return self.reply.text if self.reply.ok else f"? {self.reply.text}"


@dataclass(slots=True)
class FileReport:
    """How a transcript went. `trouble`: what ended it early, in a line; `stderr` and `exit` are then told, too."""

    path: Path
    outcomes: list[Outcome] = field(default_factory=list)
    name: str = ""
    version: str = ""
    seconds: float = 0.0
    cpu: float = 0.0
    trouble: str = ""
    stderr: str = ""
    exit: str = ""

    def count(self, verdict: Verdict) -> int:
        return Counter(outcome.verdict for outcome in self.outcomes)[verdict]

    @property
    def tests(self) -> int:
        """How many have a verdict; those with a `&` have none."""
        return sum(outcome.step.is_test and outcome.verdict is not Verdict.NONE for outcome in self.outcomes)

    @property
    def surprises(self) -> int:
        return self.count(Verdict.UNEXPECTED_PASS)

    @property
    def bad(self) -> bool:
        return bool(self.trouble) or any(outcome.bad for outcome in self.outcomes)


def run_file(
    transcript: Transcript,
    start: Start,
    limits: Limits,
    *,
    stop: threading.Event | None = None,
    sink: Sink | None = None,
    seen: Callable[[Outcome], None] = lambda outcome: None,
) -> FileReport:
    """Say the transcript to a fresh program that runs in the file's folder; `stop` ends it early.

    Never raises for what the program does.
    """
    report = FileReport(transcript.path)
    budgets = Budgets(start=limits.command, command=limits.command)
    began = time.monotonic()
    try:
        peer = _launch(start, budgets, limits, transcript.path.absolute().parent, sink)
    except LaunchError as error:
        report.trouble = str(error)
    else:
        dialogue = _Dialogue(peer.channel, limits, stop or threading.Event())
        try:
            run_blocking(dialogue.run(transcript, report, seen))
            report.cpu = _cpu_seconds(peer)
            if report.trouble:
                report.exit = peer.exited(0.5)
        finally:
            run_blocking(peer.stop(kill=bool(report.trouble)))
        report.stderr = peer.stderr_tail()[-_STDERR:] if report.trouble else ""
    for step in transcript.script.steps[len(report.outcomes) :]:
        why = _UNASKED + report.trouble
        verdict = judge(step, None) if step.is_test else Verdict.NONE
        report.outcomes.append(_seen(Outcome(step, verdict, None, why=why), seen))
    report.seconds = time.monotonic() - began
    return report


class _Dialogue:
    """One conversation, to its end or to what ends it."""

    def __init__(self, channel: Channel, limits: Limits, stop: threading.Event) -> None:
        self._channel, self._limits, self._stop = channel, limits, stop
        self._end = channel.now() + limits.file
        self._patience = limits.command  # seconds for what is asked now

    async def run(self, transcript: Transcript, report: FileReport, seen: Callable[[Outcome], None]) -> None:
        last: Step | None = None
        try:
            await self._meet(report)
            for last in transcript.script.steps:
                report.outcomes.append(_seen(await self._ask(last), seen))
        except PEER_FAULTS as error:
            report.trouble = self._in_words(error)
        if report.trouble and last is not None:
            report.outcomes.append(_seen(Outcome(last, judge(last, None), None, why=report.trouble), seen))

    async def _meet(self, report: FileReport) -> None:
        """Its first answer, which shows whether it echoes ids, and who it is."""
        channel = self._channel
        self._patience = max(_START, self._limits.command)
        patience = min(self._end, channel.now() + self._patience)
        try:
            await channel.probe_ids(channel.now() + _GLANCE)
        except PeerTimeout:
            await self._receive(patience)
        self._patience = self._limits.command
        names = []
        for question in ("name", "version"):
            await channel.send(question, deadline=self._deadline())
            names.append(await self._receive(self._deadline()))
        report.name, report.version = (reply.text if reply.ok else "" for reply in names)

    async def _ask(self, step: Step) -> Outcome:
        channel = self._channel
        line = step.command if channel.connection.ids or step.id is None else step.command.split(" ", 1)[1]
        began = channel.now()
        deadline = self._deadline()
        await channel.send_exactly(f"{line}\n".encode(), deadline)
        reply = await self._receive(deadline)
        seconds = channel.now() - began
        try:
            return Outcome(step, judge(step, reply), reply, seconds)
        except TranscriptError as error:
            return Outcome(step, Verdict.FAIL, reply, seconds, str(error))

    async def _receive(self, deadline: float) -> Reply:
        while True:
            try:
                return await self._channel.receive(min(deadline, self._channel.now() + _GLANCE))
            except PeerTimeout:
                if self._stop.is_set():
                    raise LocalProtocolError("interrupted") from None
                if self._channel.now() >= deadline:
                    raise

    def _deadline(self) -> float:
        return min(self._end, self._channel.now() + self._limits.command)

    def _in_words(self, error: Exception) -> str:
        if not isinstance(error, PeerTimeout):
            return str(error)
        if self._channel.now() >= self._end:
            return f"the file took more than {self._limits.file:g} s"
        return f"no answer within {self._patience:g} s"


def _seen(outcome: Outcome, seen: Callable[[Outcome], None]) -> Outcome:
    seen(outcome)
    return outcome


def _launch(start: Start, budgets: Budgets, limits: Limits, folder: Path, sink: Sink | None) -> Peer:
    if start.url:
        return Remote(start.url, PeerRole.BOT, budgets, sink=sink)
    return Process(start.argv, PeerRole.BOT, budgets, memory=limits.memory, sink=sink, folder=folder)


def _cpu_seconds(peer: Peer) -> float:
    """Of the process and of the children that it has reaped; 0 for one that we did not start."""
    if not isinstance(peer, Process):
        return 0.0
    try:
        words = Path(f"/proc/{peer.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return 0.0
