"""Builds strangers' sources: each is kept once, in a read-only folder that is named by its content and its command.

One process of ours (`python -m` with this module) builds one source, so that a hostile archive reaches no
other, and a build is ended by ending it. Processes that want the same source wait for each other at a lock; a folder
gets its name when it is whole, and what a killed process left is removed by the next.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import resource
import secrets
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ggp.protocol.errors import Problem
from ggp.protocol.transports.subreaper import adopt_orphans
from ggp.referee.match.sandbox.folders import open_up, remove_folder
from ggp.referee.match.sandbox.levels import Level, Sandbox
from ggp.referee.match.sandbox.spawn import StepFailed
from ggp.referee.match.sandbox.unpack import DEEPEST, SourceRefused, digest_of, is_archive, unpack
from ggp.referee.terminal import escape_unprintable

if TYPE_CHECKING:
    from ggp.referee.match.sandbox.machine import Machine

FAILED = "the build failed"  # how reasons begin
REFUSED = "the source cannot be used"
REASONS = (FAILED, REFUSED)
BUILD_TIME = 600.0  # seconds, unless the file says otherwise
MOST_BUILT = 2 << 30  # bytes that a source and what is built of it may have
MOST_BUILT_FILES = 100_000
_OUTPUT = 64 << 10  # bytes of a build's output that are kept, the last ones
_UNPACKING = 1 << 30  # bytes of memory that unpacking may take
_LINES, _LINE = 3, 200  # of them, and their characters, in the reason
_SLACK = 1 << 30  # bytes by which others may fill the disk meanwhile
_FLOOR = 256 << 20  # bytes that stay free on the disk
_LOOK = 0.5  # seconds between two looks at how much there is, or whether our parent lives
_LAST_WORDS = 5.0  # seconds for a build to end after SIGTERM
_DIGITS = 16
_NEW, _LOG, _LOCK = ".new", ".log", "lock"  # what lies beside the folders


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a bot's program, as a folder or an archive with an absolute `path`.

    `build` is the command, "" for none, which may take so many `seconds`. What is built is kept in `folder`, whose
    name is the digest of content and command.
    """

    path: str
    build: str
    seconds: float
    folder: str

    @property
    def digest(self) -> str:
        """Return the digest of the content and the command."""
        return Path(self.folder).name

    @property
    def is_built(self) -> bool:
        """Return True if the folder exists, which then is whole."""
        return Path(self.folder).is_dir()


@dataclass(frozen=True, slots=True)
class BuildOrder:
    """An order to a process to build a source in the sandbox of the bot. It ends with its parent."""

    source: Source
    sandbox: Sandbox
    parent: int


def read_source(path: Path, build: str, seconds: float, builds: Path) -> Source:
    """Describe the source of a bot whose builds are kept in `builds`. Writes nothing. Raises SourceRefused."""
    try:
        words = shlex.split(build)
    except ValueError as error:
        raise SourceRefused(f"build {build!r} is no command line: {str(error).lower()}", code="bad-build") from None
    if words and "/" not in words[0] and shutil.which(words[0]) is None:
        raise SourceRefused(f"no program called {words[0]!r} is here to build it: install it", code="bad-build")
    if not path.exists():
        raise SourceRefused(f"{path} does not exist: check the path")
    if not path.is_dir() and not (is_archive(path) and path.is_file()):
        raise SourceRefused(f"{path} is neither a folder nor a .tar.gz: pack it again")
    try:
        return Source(str(path), build, seconds, str(builds / _digest(path, build)))
    except OSError as error:
        raise SourceRefused(f"{error.filename or path} cannot be read: {error.strerror}") from None


def is_current(source: Source) -> bool:
    """Return True if a source is still what was read."""
    try:
        return _digest(Path(source.path), source.build) == source.digest
    except OSError:
        return False


def _digest(path: Path, build: str) -> str:
    said = json.dumps([digest_of(path), shlex.split(build)])
    return hashlib.sha256(said.encode()).hexdigest()[:_DIGITS]


# -- one build, as its parent sees it ----------------------------------------------------------------------------------


class Build:
    """A process that builds a source, already started. It ends with `stop`, or by itself."""

    def __init__(self, source: Source, sandbox: Sandbox) -> None:
        """Start the build within the limits of the bot's sandbox."""
        self.source = source
        order = msgspec.json.encode(BuildOrder(source, sandbox, os.getpid())).decode()
        words = [sys.executable, "-P", "-m", "ggp.referee.match.sandbox.sources", order]
        # A group of its own: Ctrl-C is its parent's, which then ends it.
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, process_group=0)

    def wait(self, seconds: float) -> str | None:
        """Return why it failed, "" if it is built, None if it is not over after so many seconds."""
        try:
            self._process.wait(seconds)  # what it prints is short and does not fill the pipe
        except subprocess.TimeoutExpired:
            return None
        try:
            said, _ = self._process.communicate()
            return str(json.loads(said)["reason"])
        except (ValueError, KeyError, TypeError):
            return f"{FAILED}: its process ended with status {self._process.returncode}"

    def stop(self) -> None:
        """End it, and all that it started."""
        self._process.terminate()
        try:
            self._process.communicate(timeout=_LAST_WORDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


# -- the process itself ------------------------------------------------------------------------------------------------


Run = Callable[..., Any]  # start.run_confined


def make(source: Source, sandbox: Sandbox, run: Run) -> str:
    """Build it, unless that is done; why it cannot be used, "" if it can."""
    folder = Path(source.folder)
    folder.parent.mkdir(exist_ok=True)
    folder.parent.chmod(0o755)  # bots run as other users, whatever our umask
    with (folder.parent / _LOCK).open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if source.is_built:
            return ""
        for left in folder.parent.glob(f"*{_NEW}"):
            remove_folder(left)
        staging = folder.with_suffix(_NEW)
        staging.mkdir()
        staging.chmod(0o755)
        try:
            with _little_memory():
                unpack(Path(source.path), staging, source.seconds)
            if not is_current(source):
                raise SourceRefused("it changed while it was read: it is read again")
            reason = _run(source, staging, sandbox, run) if source.build else ""
            if not reason:
                _seal(staging)
                os.sync()  # a folder that has its name is whole, also after the machine has failed
                staging.rename(folder)
            return reason
        except SourceRefused as error:
            return f"{REFUSED}: {error}"
        except StepFailed as error:
            remedy = ': name a program in /usr, or write allow = ["read:/its/folder"]' if error.step == "exec" else ""
            return f"{FAILED}: {error}{remedy}"
        except Problem as error:  # of the sandbox
            return f"{FAILED}: {error}"
        except OSError as error:
            return f"{FAILED}: {error.strerror}: {error.filename or staging}"
        finally:
            remove_folder(staging)


@contextlib.contextmanager
def _little_memory() -> Iterator[None]:
    """Limit the memory that a hostile archive can make this process use."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()
    most = used + _UNPACKING
    resource.setrlimit(resource.RLIMIT_AS, (most if before[0] < 0 else min(most, before[0]), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def for_building(asked: Sandbox, machine: "Machine") -> Sandbox:
    """Return the sandbox in which a bot of this sandbox is built.

    It is strict, or default if this machine cannot keep that and the bot does not ask for it. Of what the bot is
    allowed only paths and variables stay open.
    """
    level: Level = "strict" if asked.level == "strict" or not machine.missing else "default"
    return replace(asked, level=level, allow=tuple(word for word in asked.allow if ":" in word))


def _run(source: Source, staging: Path, sandbox: Sandbox, run: Run) -> str:
    """Run the build command. Return why it failed, or ""."""
    program, *words = shlex.split(source.build)
    argv = [str(staging / program) if "/" in program else shutil.which(program) or program, *words]
    with _Size(staging) as size:
        done = run(
            argv,
            folder=staging,
            writable=True,
            sandbox=sandbox,
            seconds=source.seconds,
            output=_OUTPUT,
            file_size=MOST_BUILT,
        )
    if size.exceeded:
        return f"{FAILED}: {size.exceeded}"
    if not done.how:
        return ""
    lines = [escape_unprintable(line) for line in done.output.decode("utf-8", "replace").splitlines() if line.strip()]
    Path(source.folder).with_suffix(_LOG).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    last = " | ".join(line.strip()[:_LINE] for line in lines[: -_LINES - 1 : -1])
    return f"{FAILED} ({done.how})" + (f": {last}" if last else "")


class _Size:
    """A watch on the size of a folder while a build runs, which ends the build if it grows too large."""

    def __init__(self, folder: Path) -> None:
        self.exceeded = ""  # what it did too much of
        self._folder = folder
        self._free = _free(folder)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "_Size":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if not self.exceeded:
            open_up(self._folder)  # what it closed to us in the end is no secret: it has ended
            self.exceeded = self._too_much()

    def _watch(self) -> None:
        looked, took = time.monotonic(), 0.0
        while not self._over.wait(_LOOK):
            began = time.monotonic()
            too_much = self._disk_is_filled()
            if not too_much and began >= looked + 10 * took:
                too_much = self._too_much()
                looked = time.monotonic()
                took = looked - began
            if too_much:
                self.exceeded = too_much
                _end_children()

    def _disk_is_filled(self) -> str:
        """Say if the disk fills up, even by files that no longer have a name."""
        free = _free(self._folder)
        if free < self._free - MOST_BUILT - _SLACK:
            return f"it filled the disk by more than {MOST_BUILT >> 20} MiB"
        if free < min(_FLOOR, self._free // 2):
            return f"the disk has less than {_FLOOR >> 20} MiB left"
        return ""

    def _too_much(self) -> str:
        size = 0
        try:
            for count, (_, status) in enumerate(_walk(self._folder), 1):
                size += status.st_blocks << 9
                if size > MOST_BUILT or count > MOST_BUILT_FILES:
                    return f"it made more than {MOST_BUILT_FILES} files or {MOST_BUILT >> 20} MiB"
        except _NotCounted as error:
            return str(error)
        return ""


class _NotCounted(Exception):
    """A folder of a build whose content cannot be counted; str() says why."""


def _free(folder: Path) -> int:
    """Return the free bytes on the disk of this folder."""
    about = os.statvfs(folder)
    return about.f_bavail * about.f_frsize


def _end_children() -> None:
    """Kill what this process has started itself: the program that confines the build, which takes the rest along."""
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # a thread, or a child, that has just ended
            for pid in (task / "children").read_text(encoding="utf-8").split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)


def _walk(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Iterate over all that lies in a folder that may change meanwhile. Raises _NotCounted if it cannot."""
    folders = [(folder, 0)]
    while folders:
        inside, depth = folders.pop()
        if depth > 2 * DEEPEST:
            raise _NotCounted(f"it made folders that lie in more than {2 * DEEPEST} others")
        try:
            with os.scandir(inside) as entries:
                for entry in entries:
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    yield Path(entry.path), status
                    if stat.S_ISDIR(status.st_mode):
                        folders.append((Path(entry.path), depth + 1))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise _NotCounted(f"it made a folder that cannot be read: {error.strerror}") from None


def _seal(folder: Path) -> None:
    """Make everything ours and read-only; what is neither file, folder nor link is removed.

    Whatever built it has ended, so nothing changes in there meanwhile.
    """
    open_up(folder)
    for path, status in [*_walk(folder), (folder, folder.stat())]:
        if stat.S_ISLNK(status.st_mode):
            continue
        if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
            path.unlink()
            continue
        if status.st_uid != os.geteuid():
            if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:  # of a file that may lie elsewhere, too
                copy = path.with_name(f".{secrets.token_hex(8)}")
                shutil.copyfile(path, copy)
                copy.replace(path)
            os.chown(path, os.geteuid(), os.getegid(), follow_symlinks=False)
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.fchmod(opened, 0o555 if stat.S_ISDIR(status.st_mode) or status.st_mode & 0o111 else 0o444)
        finally:
            os.close(opened)


def main(argv: list[str]) -> int:
    """Build what the order says, and print the answer."""
    from ggp.referee.match.sandbox.machine import this_machine
    from ggp.referee.match.sandbox.start import run_confined

    adopt_orphans()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))  # what is begun is ended and removed
    order = msgspec.json.decode(argv[0], type=BuildOrder)
    threading.Thread(target=_end_with_parent, args=[order.parent], daemon=True).start()
    reason = make(order.source, for_building(order.sandbox, this_machine()), run_confined)
    print(json.dumps({"reason": reason}))
    return 0


def _end_with_parent(parent: int) -> None:
    """End this process when its parent has ended. Runs in a thread."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_LAST_WORDS)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
