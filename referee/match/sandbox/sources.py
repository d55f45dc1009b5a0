"""Builds of untrusted sources. Each is kept once, in a read-only folder that is named by a hash of content and command.

Each build has its own process (`python -m` with this module), so a hostile archive affects nothing else, and a build is
stopped by ending its process. Processes that want the same source wait for each other with a lock. A folder gets its
name only when it is complete; the remains of a killed process are removed by the next one.
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

FAILED = "the build failed"  # the beginning of reasons
REFUSED = "the source cannot be used"
REASONS = (FAILED, REFUSED)
BUILD_TIME = 600.0  # seconds, unless the file says otherwise
MOST_BUILT = 2 << 30  # bytes of a source together with the results of its build
MOST_BUILT_FILES = 100_000
_OUTPUT = 64 << 10  # bytes of a build's output that are kept, from its end
_UNPACKING = 1 << 30  # bytes of memory for unpacking
_LINES, _LINE = 3, 200  # lines of output in a reason, and characters of each
_SLACK = 1 << 30  # bytes by which other processes may fill the disk meanwhile
_FLOOR = 256 << 20  # bytes that must stay free on the disk
_LOOK = 0.5  # seconds between checks of the size, and of our parent
_LAST_WORDS = 5.0  # seconds for a build to end after SIGTERM
_DIGITS = 16
_NEW, _LOG, _LOCK = ".new", ".log", "lock"  # names beside the folders


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a bot's program: a folder or an archive at the absolute `path`.

    `build` is the build command, "" for none, which may take `seconds`. The result is kept in `folder`, whose name is
    the digest of content and command.
    """

    path: str
    build: str
    seconds: float
    folder: str

    @property
    def digest(self) -> str:
        """Return the digest of the content and the build command."""
        return Path(self.folder).name

    @property
    def is_built(self) -> bool:
        """Return True if the folder exists; it is then complete."""
        return Path(self.folder).is_dir()


@dataclass(frozen=True, slots=True)
class BuildOrder:
    """An order to a process to build a source for a bot with this sandbox. The process ends with its parent."""

    source: Source
    sandbox: Sandbox
    parent: int


def read_source(path: Path, build: str, seconds: float, builds: Path) -> Source:
    """Describe the source of a bot whose builds are kept in `builds`. Nothing is written.

    Raises:
        SourceRefused: The source or the build command is unusable.
    """
    try:
        words = shlex.split(build)
    except ValueError as error:
        raise SourceRefused(f"build {build!r} is not a command line: {str(error).lower()}", code="bad-build") from None
    if words and "/" not in words[0] and shutil.which(words[0]) is None:
        raise SourceRefused(f"the build program {words[0]!r} is not in PATH: install it", code="bad-build")
    if not path.exists():
        raise SourceRefused(f"{path} does not exist: check the path")
    if not path.is_dir() and not (is_archive(path) and path.is_file()):
        raise SourceRefused(f"{path} is neither a folder nor a .tar.gz file: pack it as one")
    try:
        return Source(str(path), build, seconds, str(builds / _digest(path, build)))
    except OSError as error:
        raise SourceRefused(f"{error.filename or path} cannot be read: {error.strerror}") from None


def is_current(source: Source) -> bool:
    """Return True if the source has not changed since it was read."""
    try:
        return _digest(Path(source.path), source.build) == source.digest
    except OSError:
        return False


def _digest(path: Path, build: str) -> str:
    said = json.dumps([digest_of(path), shlex.split(build)])
    return hashlib.sha256(said.encode()).hexdigest()[:_DIGITS]


# -- one build, as its parent sees it ----------------------------------------------------------------------------------


class Build:
    """A process that builds a source. It ends by itself or with `stop`."""

    def __init__(self, source: Source, sandbox: Sandbox) -> None:
        """Start the build within the limits of the bot's sandbox."""
        self.source = source
        order = msgspec.json.encode(BuildOrder(source, sandbox, os.getpid())).decode()
        words = [sys.executable, "-P", "-m", "ggp.referee.match.sandbox.sources", order]
        # A separate group, so that Ctrl-C reaches only the parent, which then ends the build.
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, process_group=0)

    def wait(self, seconds: float) -> str | None:
        """Wait up to `seconds`. Return "" if the source is built, the reason if it failed, None if it still runs."""
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
        """End the build and everything that it started."""
        self._process.terminate()
        try:
            self._process.communicate(timeout=_LAST_WORDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


# -- the process itself ------------------------------------------------------------------------------------------------


Run = Callable[..., Any]  # start.run_confined


def make(source: Source, sandbox: Sandbox, run: Run) -> str:
    """Build the source, unless that is done. Return "" if it can be used, else the reason."""
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
                raise SourceRefused("it changed while it was read; it will be read again")
            reason = _run(source, staging, sandbox, run) if source.build else ""
            if not reason:
                _seal(staging)
                os.sync()  # a named folder must be complete even after a crash of the machine
                staging.rename(folder)
            return reason
        except SourceRefused as error:
            return f"{REFUSED}: {error}"
        except StepFailed as error:
            remedy = ': use a program in /usr, or write allow = ["read:/its/folder"]' if error.step == "exec" else ""
            return f"{FAILED}: {error}{remedy}"
        except Problem as error:  # an error of the sandbox
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
    """Return the sandbox in which a bot with this sandbox is built.

    It is strict, or default if this machine does not support strict and the bot does not request it. Of the bot's
    `allow`, only paths and variables are kept.
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
    """A watch on the size of a folder during a build, which ends the build if the folder grows too large."""

    def __init__(self, folder: Path) -> None:
        self.exceeded = ""  # the limit that the build exceeded
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
            open_up(self._folder)  # safe, because the build has ended
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
        """Return why the disk fills up, even if by deleted files that are still open, or ""."""
        free = _free(self._folder)
        if free < self._free - MOST_BUILT - _SLACK:
            return f"it wrote more than {MOST_BUILT >> 20} MiB to the disk"
        if free < min(_FLOOR, self._free // 2):
            return f"the disk has less than {_FLOOR >> 20} MiB left"
        return ""

    def _too_much(self) -> str:
        size = 0
        try:
            for count, (_, status) in enumerate(_walk(self._folder), 1):
                size += status.st_blocks << 9
                if size > MOST_BUILT or count > MOST_BUILT_FILES:
                    return f"it created more than {MOST_BUILT_FILES} files or {MOST_BUILT >> 20} MiB"
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
    """Kill the children of this process: the guard of the build, which takes its processes along."""
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # a thread, or a child, that has just ended
            for pid in (task / "children").read_text(encoding="utf-8").split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)


def _walk(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield everything in a folder that may change meanwhile.

    Raises:
        _NotCounted: The folder cannot be read, or is nested too deeply.
    """
    folders = [(folder, 0)]
    while folders:
        inside, depth = folders.pop()
        if depth > 2 * DEEPEST:
            raise _NotCounted(f"it created folders nested more than {2 * DEEPEST} levels deep")
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
            raise _NotCounted(f"it created a folder that cannot be read: {error.strerror}") from None


def _seal(folder: Path) -> None:
    """Make everything ours and read-only. Anything other than a file, folder or link is removed.

    All processes of the build have ended, so nothing changes meanwhile.
    """
    open_up(folder)
    for path, status in [*_walk(folder), (folder, folder.stat())]:
        if stat.S_ISLNK(status.st_mode):
            continue
        if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
            path.unlink()
            continue
        if status.st_uid != os.geteuid():
            if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:  # the file may also exist elsewhere
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
    """Carry out a build order, and print the answer."""
    from ggp.referee.match.sandbox.machine import this_machine
    from ggp.referee.match.sandbox.start import run_confined

    adopt_orphans()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))  # SystemExit lets `make` clean up
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
