"""Recordings of `ggp tap`: sessions of commands and answers. ggp.protocol.transports.recording writes them."""

import json
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ggp.protocol.errors import Problem
from ggp.protocol.grammar import MAX_ANSWER, MAX_LINE, clean_line, parse_command, parse_reply
from ggp.protocol.input_files import read_input
from ggp.protocol.messages import Reply
from ggp.protocol.transports.recording import HEAD
from ggp.protocol.transports.transcript import read_lines

MAX_LINES = 10_000_000
MAX_FILE = 256 * 1024 * 1024  # bytes


class BadRecording(Problem):
    """An invalid recording; str() says where."""

    code = "bad-recording"


@dataclass(frozen=True, slots=True)
class CommandPair:
    """A command as it was sent, and its answer (None if none came). `sent` is in seconds of the session's clock."""

    command: str
    sent: float
    reply: Reply | None
    seconds: float = 0.0  # from the command's end to the answer's
    odd: str = ""  # what is wrong with the answer, such as a different id

    @property
    def name(self) -> str:
        """Return the name of the command."""
        return parse_command(self.command).name


@dataclass(slots=True)
class RecordedSession:
    """One run of a program.

    `wall` is when it began, `notes` are remarks with their times, and `stray` are lines that are not answers.
    """

    wall: str = ""
    command: list[str] = field(default_factory=list)
    began: float = 0.0
    pairs: list[CommandPair] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    stderr: list[tuple[float, bytes]] = field(default_factory=list)
    stray: list[str] = field(default_factory=list)


def read_sessions(path: Path) -> list[RecordedSession]:
    """Read a recording of `ggp tap`. An incomplete last line, as after a kill, is ignored.

    Raises:
        BadRecording: The file is not a recording.
        OSError: It cannot be read, is not a regular file, or is larger than MAX_FILE.
    """
    lines = read_input(path, MAX_FILE).decode("utf-8-sig", "replace").split("\n")[:MAX_LINES]
    if not lines[0].startswith(HEAD):
        raise BadRecording(f"{path} is not a recording of `ggp tap`: its first line does not begin with {HEAD.strip()}")
    heads = [number for number, line in enumerate(lines) if line.startswith(HEAD)]
    ends = [*heads[1:], len(lines) - 1]  # the text after the last LF is incomplete
    return [_session(path, lines, first, end) for first, end in zip(heads, ends, strict=True)]


def _session(path: Path, lines: list[str], first: int, end: int) -> RecordedSession:
    session = RecordedSession()
    try:
        wall, seconds, command = lines[first].removeprefix(HEAD).split(" ", 2)
        session.wall, session.began, session.command = wall, float(seconds), json.loads(command)
    except (ValueError, RecursionError):
        raise BadRecording(f"{path}:{first + 1}: invalid head of a session: {lines[first][:80]}") from None
    body = lines[first + 1 : end]
    talk = _Talk(session)
    try:
        session.notes = [_note(line, session.began) for line in body if line.startswith("#")]
        for mark, seconds_, data in read_lines(body):
            talk.take(mark, seconds_, data)
    except ValueError as error:
        raise BadRecording(f"{path}, in the session of line {first + 1}: {error}") from None
    talk.end()
    return session


def _note(line: str, began: float) -> str:
    """Return a remark with its time since the session began."""
    seconds, _, text = line.removeprefix("# ").partition(" ")
    return f"{float(seconds) - began:.6f}  {text}"


class _Talk:
    """A reader that turns the bytes of both directions into pairs: answer k belongs to command k."""

    def __init__(self, session: RecordedSession) -> None:
        self._session = session
        self._sent = b""
        self._heard = b""
        self._answer: list[bytes] = []
        self._asked: deque[tuple[str, float]] = deque()

    def take(self, mark: str, seconds: float, data: bytes) -> None:
        """Take bytes: `>` for input of the program, `<` for output, `!` for stderr."""
        if mark == "!":
            self._session.stderr.append((seconds, data))
        elif mark == ">":
            *lines, self._sent = (self._sent + data).split(b"\n")
            for line in lines:
                if command := clean_line(line[: 4 * MAX_LINE]):
                    self._asked.append((command, seconds))
        else:
            *lines, self._heard = (self._heard + data).split(b"\n")
            for line in lines:
                self._line(line.rstrip(b"\r"), seconds)

    def end(self) -> None:
        """Keep what is still open when the session ends."""
        if self._heard or self._answer:
            self._line(self._heard, self._session.began)
            self._finish(self._session.began)
        self._session.pairs += [CommandPair(command, sent, None) for command, sent in self._asked]

    def _line(self, line: bytes, seconds: float) -> None:
        if self._answer and not line.strip():
            self._finish(seconds)
        elif self._answer or line[:1] in (b"=", b"?"):
            self._answer.append(line[:MAX_ANSWER])
        elif line.strip():
            self._session.stray.append(line[:200].decode("utf-8", "backslashreplace"))

    def _finish(self, seconds: float) -> None:
        reply = parse_reply(b"\n".join(self._answer)) if self._answer else None
        self._answer = []
        if reply is None:
            return
        if not self._asked:
            self._session.stray.append(f"an unsolicited answer: {reply.text[:200]}")
            return
        command, sent = self._asked.popleft()
        want = parse_command(command).id
        odd = "" if reply.id == want else f"asked with id {want}, answered with {reply.id}"
        self._session.pairs.append(CommandPair(command, sent, reply, max(0.0, seconds - sent), odd))


def answered(sessions: Iterable[RecordedSession]) -> Iterator[tuple[str, Reply]]:
    """Yield the answered commands of all sessions, for ggp.protocol.regression.write."""
    for session in sessions:
        for pair in session.pairs:
            if pair.reply is not None:
                yield pair.command, pair.reply
