"""Regression transcripts, run several at a time, each against a fresh program."""

import itertools
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from ggp.protocol.channel import PEER_FAULTS, Channel
from ggp.protocol.connection import PeerRole
from ggp.protocol.errors import LocalProtocolError, PeerTimeout, Problem
from ggp.protocol.input_files import read_input
from ggp.protocol.messages import Reply
from ggp.protocol.printed import without_password
from ggp.protocol.regression import MAX_FILE, RegressionVerdict, Script, Step, TranscriptError, judge, parse
from ggp.protocol.safe_files import open_to_append, without_mark
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.subreaper import adopt_orphans
from ggp.protocol.transports.transcript import Sink, format_line
from ggp.referee.match.bot_spec import BotSpec, LaunchError
from ggp.referee.match.process import NO_SANDBOX, Peer, Process, Remote
from ggp.referee.match.setting import Timeouts
from ggp.referee.terminal import progress_bar

# -- The transcripts: files, folders, and suites named by `@FILE`.

MAX_FILES = 10_000


class SuiteError(Problem):
    """An unusable file; str() names it and says what is wrong."""

    code = "bad-suite"


class SuiteFile:
    """A transcript: `path` as it was named, the text of the file, and its steps."""

    def __init__(self, path: Path) -> None:
        """Read a transcript.

        Raises:
            SuiteError: It cannot be read, or is invalid.
        """
        self.path = path
        try:
            # Invalid UTF-8 and line ends survive a rewrite.
            self.text = without_mark(read_input(path, MAX_FILE)).decode("utf-8", "surrogateescape")
        except (OSError, ValueError) as error:  # ValueError: a name that holds a NUL
            raise SuiteError(_unreadable(path, error)) from None
        try:
            self.script: Script = parse(self.text)
        except TranscriptError as error:
            raise SuiteError(f"{path}:{error.line}: {error.what}") from None


def read_suite(words: tuple[str, ...]) -> list[SuiteFile]:
    """Read the transcripts that the words name: a file, a folder (every *.tst in it), or `@FILE`, a list of these.

    Raises:
        SuiteError: One cannot be read.
    """
    paths: list[Path] = []
    _collect(list(words), paths, ())
    return [SuiteFile(path) for path in paths]


def _collect(words: list[str], paths: list[Path], inside: tuple[Path, ...]) -> None:
    for word in words:
        path = Path(word.removeprefix("@"))
        if word.startswith("@"):
            if path.resolve() in inside:
                raise SuiteError(f"{path} includes itself: remove it from the list")
            lines = [line.strip() for line in _read(path).splitlines()]
            named = [line for line in lines if line and not line.startswith("#")]
            _collect([_beside(path.parent, line) for line in named], paths, (*inside, path.resolve()))
        elif path.is_dir():
            found = sorted(path.glob("*.tst"))
            if not found:
                raise SuiteError(f"{path} contains no *.tst file")
            paths += found
        else:
            paths.append(path)
        if len(paths) > MAX_FILES:
            raise SuiteError(f"more than {MAX_FILES} transcripts: run them in parts")


def _beside(folder: Path, line: str) -> str:
    return f"@{folder / line[1:]}" if line.startswith("@") else str(folder / line)


def _read(path: Path) -> str:
    try:
        return read_input(path, MAX_FILE).decode("utf-8-sig", "surrogateescape")
    except (OSError, ValueError) as error:
        raise SuiteError(_unreadable(path, error)) from None


def _unreadable(path: Path, error: OSError | ValueError) -> str:
    return f"{without_password(str(path))} cannot be read: {getattr(error, 'strerror', None) or error}"


# -- One transcript.

_START = 60.0  # seconds for the first answer of a fresh program
_GLANCE = 0.2  # seconds between checks of the stop event
_UNASKED = "not sent: "
_STDERR = 2000  # characters shown of the end of stderr


@dataclass(frozen=True, slots=True)
class RegressLimits:
    """Seconds for one command and for a whole file, and MiB of address space (0 for no limit)."""

    command: float = 60.0
    file: float = 3600.0
    memory: int = 0


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """The result of one command. Without a `reply`, `why` says what happened instead."""

    step: Step
    verdict: RegressionVerdict
    reply: Reply | None
    seconds: float = 0.0
    why: str = ""

    @property
    def bad(self) -> bool:
        """Return True for an unexpected failure or a refused command."""
        return self.verdict in (RegressionVerdict.FAIL, RegressionVerdict.ERROR)

    @property
    def unasked(self) -> bool:
        """Return True if the file ended before this command was sent."""
        return self.reply is None and self.why.startswith(_UNASKED)

    @property
    def got(self) -> str:
        """Return the answer as text; a refusal begins with `? `."""
        if self.reply is None:
            return self.why
        return self.reply.text if self.reply.ok else f"? {self.reply.text}"


Seen = Callable[[CommandOutcome], None]


@dataclass(slots=True)
class FileReport:
    """The results of a transcript. `trouble` says why it ended early; then `stderr` and `exit` are set, too."""

    path: Path
    outcomes: list[CommandOutcome] = field(default_factory=list)
    name: str = ""
    version: str = ""
    seconds: float = 0.0
    cpu: float = 0.0
    trouble: str = ""
    stderr: str = ""
    exit: str = ""

    def count(self, verdict: RegressionVerdict) -> int:
        """Return the number of commands with this verdict."""
        return Counter(outcome.verdict for outcome in self.outcomes)[verdict]

    @property
    def tests(self) -> int:
        """Return the number of tests with a verdict; tests marked `&` have none."""
        return sum(outcome.step.is_test and outcome.verdict is not RegressionVerdict.NONE for outcome in self.outcomes)

    @property
    def surprises(self) -> int:
        """Return the number of unexpected passes."""
        return self.count(RegressionVerdict.UNEXPECTED_PASS)

    @property
    def bad(self) -> bool:
        """Return True if the file ended early or a command had a bad outcome."""
        return bool(self.trouble) or any(outcome.bad for outcome in self.outcomes)


def run_file(
    transcript: SuiteFile,
    start: BotSpec,
    limits: RegressLimits,
    *,
    stop: threading.Event | None = None,
    sink: Sink | None = None,
    seen: Seen = lambda outcome: None,
) -> FileReport:
    """Send the transcript to a fresh program that runs in the file's folder. Faults of the program never raise.

    Args:
        transcript: The transcript.
        start: The program.
        limits: Its limits.
        stop: Ends the file early when set.
        sink: Receives the dialogue.
        seen: Called with each outcome.
    """
    report = FileReport(transcript.path)

    def keep(outcome: CommandOutcome) -> None:
        report.outcomes.append(outcome)
        seen(outcome)

    budgets = Timeouts(start=limits.command, command=limits.command)
    began = time.monotonic()
    try:
        peer = _launch(start, budgets, limits, transcript.path.absolute().parent, sink)
    except LaunchError as error:
        report.trouble = str(error)
    else:
        dialogue = _Dialogue(peer.channel, limits, stop or threading.Event())
        try:
            run_blocking(dialogue.run(transcript, report, keep))
            report.cpu = _cpu_seconds(peer)
            if report.trouble:
                report.exit = peer.exited(0.5)
        finally:
            run_blocking(peer.stop(kill=bool(report.trouble)))
        report.stderr = peer.stderr_tail()[-_STDERR:] if report.trouble else ""
    for step in transcript.script.steps[len(report.outcomes) :]:
        why = _UNASKED + report.trouble
        verdict = judge(step, None) if step.is_test else RegressionVerdict.NONE
        keep(CommandOutcome(step, verdict, None, why=why))
    report.seconds = time.monotonic() - began
    return report


class _Dialogue:
    """The conversation about one transcript."""

    def __init__(self, channel: Channel, limits: RegressLimits, stop: threading.Event) -> None:
        self._channel, self._limits, self._stop = channel, limits, stop
        self._end = channel.now() + limits.file
        self._patience = limits.command  # seconds for the current question

    async def run(self, transcript: SuiteFile, report: FileReport, keep: Seen) -> None:
        last: Step | None = None
        try:
            await self._meet(report)
            for last in transcript.script.steps:
                keep(await self._ask(last))
        except PEER_FAULTS as error:
            report.trouble = self._in_words(error)
        if report.trouble and last is not None:
            keep(CommandOutcome(last, judge(last, None), None, why=report.trouble))

    async def _meet(self, report: FileReport) -> None:
        """Ask for name and version. The first answer shows whether the program echoes ids."""
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

    async def _ask(self, step: Step) -> CommandOutcome:
        channel = self._channel
        line = step.command if channel.connection.ids or step.id is None else step.command.split(" ", 1)[1]
        began = channel.now()
        deadline = self._deadline()
        await channel.send_exactly(f"{line}\n".encode(), deadline)
        reply = await self._receive(deadline)
        seconds = channel.now() - began
        try:
            return CommandOutcome(step, judge(step, reply), reply, seconds)
        except TranscriptError as error:
            return CommandOutcome(step, RegressionVerdict.FAIL, reply, seconds, str(error))

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


def _launch(start: BotSpec, budgets: Timeouts, limits: RegressLimits, folder: Path, sink: Sink | None) -> Peer:
    if start.url:
        return Remote(start.url, PeerRole.BOT, budgets, sink=sink)
    sandbox = start.sandbox or NO_SANDBOX
    return Process(start.argv, PeerRole.BOT, budgets, memory=limits.memory, sink=sink, folder=folder, sandbox=sandbox)


def _cpu_seconds(peer: Peer) -> float:
    """Return the processor time of the process and its reaped children; 0 for a service."""
    if not isinstance(peer, Process):
        return 0.0
    try:
        words = Path(f"/proc/{peer.pid}/stat").read_bytes().rpartition(b")")[2].split()
        return sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return 0.0


# -- Many transcripts, several at a time.


def run_all(
    transcripts: list[SuiteFile], start: BotSpec, limits: RegressLimits, jobs: int, logs: Path | None, *, shown: bool
) -> list[FileReport]:
    """Run all transcripts, and return the reports in the same order.

    Args:
        transcripts: The transcripts.
        start: The program.
        limits: Its limits.
        jobs: Transcripts run at a time.
        logs: A folder for the dialogues, or None.
        shown: Show a progress bar.

    Raises:
        KeyboardInterrupt: The user interrupted; all processes have been ended.
        SuiteError: A log cannot be written.
    """
    adopt_orphans()
    stop = threading.Event()
    names = _file_names(transcript.path for transcript in transcripts)
    steps, done = sum(len(transcript.script.steps) for transcript in transcripts), itertools.count(1)
    with progress_bar("commands", shown) as progress:

        def seen(outcome: CommandOutcome) -> None:
            progress(next(done), steps)

        executor = ThreadPoolExecutor(max(1, min(jobs, len(transcripts))))
        try:
            futures = [
                executor.submit(_run_one, transcript, start, limits, stop, logs and logs / f"{name}.log", seen)
                for transcript, name in zip(transcripts, names, strict=True)
            ]
            return [future.result() for future in futures]
        finally:
            stop.set()
            executor.shutdown(cancel_futures=True)


def _file_names(paths: Iterable[Path]) -> list[str]:
    """Return a distinct name for each path that is valid in every file system."""
    names: list[str] = []
    for path in paths:
        stem = name = re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem)[:80] or "test"
        number = 1
        while name in names:
            number += 1
            name = f"{stem}_{number}"
        names.append(name)
    return names


def _run_one(
    transcript: SuiteFile, start: BotSpec, limits: RegressLimits, stop: threading.Event, log: Path | None, seen: Seen
) -> FileReport:
    """Run one transcript. The dialogue is written to `log`, which is open only during the run."""
    if log is None:
        return run_file(transcript, start, limits, stop=stop, seen=seen)
    with _open_log(log) as file:

        def keep(mark: str, seconds: float, data: bytes) -> None:
            file.write(f"{format_line(mark, seconds, data)}\n".encode())

        return run_file(transcript, start, limits, stop=stop, sink=keep, seen=seen)


def _open_log(path: Path) -> BinaryIO:
    """Create the file, and its folder if needed.

    Raises:
        SuiteError: It cannot be created.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.fdopen(open_to_append(path, empty=True), "ab")
    except OSError as error:
        raise SuiteError(f"cannot write to {path.parent}: {error.strerror}") from None
