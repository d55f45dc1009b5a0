"""The file that a tap writes: lines as in protocol.transports.transcript, which can replay it. It never fails its user.

    # ggp tap 1 2026-01-31T12:00:00.123456+00:00 12345.678901 ["./bot", "--fast"]
    12345.700123 > b'1 name\\n'
    12345.700456 < b'=1 bot\\n\\n'
    12345.700789 ! b'what went to stderr\\n'
    # 12345.800000 end of input
    # 12346.000000 exit status 0

Seconds are of the monotonic clock, to the microsecond; the head line says what they were on the wall's at the start.
"""

import fcntl
import json
import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from protocol.errors import Problem
from protocol.grammar import MAX_ANSWER, MAX_LINE, clean_line, parse_command, parse_reply
from protocol.messages import Reply
from protocol.safe_files import open_to_append
from protocol.transports.transcript import format_line, read_lines

HEAD = "# ggp tap 1 "
_TRIES = 1000


class NotARecord(Problem):
    """The file is there and no tap wrote it; str() says what to do."""

    code = "not-a-recording"


class Recording:
    """A session at the end of `path`, which may hold earlier ones. Raises NotARecord.

    A file that another tap is writing is left to it: this one takes the next free number, `x.2.log` for `x.log`.
    The first other error goes to `warn`; after it nothing is written.
    """

    def __init__(self, path: Path, command: Sequence[str], warn: Callable[[str], None]) -> None:
        self.path = path
        self._warn = warn
        self._file = -1
        try:
            self.path, self._file = _open(path)
        except OSError as error:
            self._give_up(error)
        wall = datetime.now(UTC).isoformat(timespec="microseconds")
        self._write(f"{HEAD}{wall} {time.monotonic():.6f} {json.dumps(list(command))}")

    def chunk(self, mark: str, seconds: float, data: bytes) -> None:
        """What passed: `>` to the program, `<` from it, `!` its stderr; `seconds` of the monotonic clock."""
        if self._file >= 0:
            self._write(format_line(mark, seconds, data))

    def note(self, text: str) -> None:
        self._write(f"# {time.monotonic():.6f} {text}")

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _write(self, line: str) -> None:
        if self._file < 0:
            return
        data = f"{line}\n".encode()
        try:
            while data:  # a disk that is filling up takes a part
                data = data[os.write(self._file, data) :]
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self.close()
        self._warn(f"{self.path}: {error.strerror}: the dialogue goes on and is not recorded")


def default_path() -> Path:
    """A new name in the current folder."""
    return Path(f"tap-{datetime.now():%Y%m%d-%H%M%S}-{os.getpid()}.log")


def _open(path: Path) -> tuple[Path, int]:
    for number in range(1, _TRIES):
        tried = path if number == 1 else path.with_name(f"{path.stem}.{number}{path.suffix}")
        file = open_to_append(tried, 0o666)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise NotARecord(f"{tried} is no plain file: name another with -o")
            head = os.pread(file, len(HEAD), 0).decode("utf-8", "replace")
            if head and head != HEAD:
                raise NotARecord(f"{tried} is there and is no record of `ggp tap`: name another file with -o")
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
        except (OSError, NotARecord):
            os.close(file)
            raise
        else:
            return tried, file
    raise FileExistsError(0, "too many taps write it", str(path))


# -- Reads what a tap recorded: its sessions, each as pairs of a command and its answer. It prints nothin


MAX_LINES = 10_000_000


class BadRecording(Problem):
    """The file is no recording; str() says where."""

    code = "bad-recording"


@dataclass(frozen=True, slots=True)
class CommandPair:
    """A command as it was sent, and its answer; None if none came. `sent` in seconds of the session's clock."""

    command: str
    sent: float
    reply: Reply | None
    seconds: float = 0.0  # from the command's end to the answer's
    odd: str = ""  # what is wrong with it, such as another id

    @property
    def name(self) -> str:
        return parse_command(self.command).name


@dataclass(slots=True)
class RecordedSession:
    """One run of a program. `wall`: when it began; `notes`: remarks, with seconds; `stray`: lines of no answer."""

    wall: str = ""
    command: list[str] = field(default_factory=list)
    began: float = 0.0
    pairs: list[CommandPair] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    stderr: list[tuple[float, bytes]] = field(default_factory=list)
    stray: list[str] = field(default_factory=list)


def read_sessions(path: Path) -> list[RecordedSession]:
    """Raises BadRecording, OSError. A last line that was cut off, as by a kill, is left out."""
    lines = path.read_text("utf-8", "replace").split("\n")[:MAX_LINES]
    if not lines[0].startswith(HEAD):
        raise BadRecording(f"{path} is no record of `ggp tap`: its first line does not begin with {HEAD.strip()}")
    heads = [number for number, line in enumerate(lines) if line.startswith(HEAD)]
    ends = [*heads[1:], len(lines) - 1]  # what follows the last LF was never whole
    return [_session(path, lines, first, end) for first, end in zip(heads, ends, strict=True)]


def _session(path: Path, lines: list[str], first: int, end: int) -> RecordedSession:
    session = RecordedSession()
    try:
        wall, seconds, command = lines[first].removeprefix(HEAD).split(" ", 2)
        session.wall, session.began, session.command = wall, float(seconds), json.loads(command)
    except ValueError:
        raise BadRecording(f"{path}:{first + 1} is no head of a session: {lines[first][:80]}") from None
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
    """Its time, too, from the session's beginning."""
    seconds, _, text = line.removeprefix("# ").partition(" ")
    return f"{float(seconds) - began:.6f}  {text}"


class _Talk:
    """Bytes both ways become pairs: the k-th answer is the k-th command's."""

    def __init__(self, session: RecordedSession) -> None:
        self._session = session
        self._sent = b""
        self._heard = b""
        self._answer: list[bytes] = []
        self._asked: deque[tuple[str, float]] = deque()

    def take(self, mark: str, seconds: float, data: bytes) -> None:
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
        """What is still open at the session's end."""
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
            self._session.stray.append(f"an answer that nothing asked for: {reply.text[:200]}")
            return
        command, sent = self._asked.popleft()
        want = parse_command(command).id
        odd = "" if reply.id == want else f"asked with id {want}, answered with {reply.id}"
        self._session.pairs.append(CommandPair(command, sent, reply, max(0.0, seconds - sent), odd))


def answered(sessions: Iterable[RecordedSession]) -> Iterator[tuple[str, Reply]]:
    """The dialogue of all sessions, as protocol.regression writes it."""
    for session in sessions:
        for pair in session.pairs:
            if pair.reply is not None:
                yield pair.command, pair.reply
