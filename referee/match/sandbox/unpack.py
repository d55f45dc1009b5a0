"""Copies an untrusted folder or .tar.gz into a new directory. Only files, folders and links are accepted.

Each member is checked here, without the filters of tarfile, which Python 3.11.2 lacks. Symbolic links are made last, so
nothing is written through one, and none of them may lead outside.
"""

import errno
import gzip
import hashlib
import math
import os
import stat
import tarfile
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Literal

from ggp.protocol.errors import Problem
from ggp.protocol.input_files import open_input

MOST_FILES = 10_000  # files, folders and links
MOST_BYTES = 512 << 20  # of all files together
TOO_MUCH = f"it has more than {MOST_FILES} files or {MOST_BYTES >> 20} MiB"
DEEPEST = 50  # levels of folders: programs may walk through them by recursion
ARCHIVES = (".tar.gz", ".tgz")
HISTORY = frozenset({".git", ".hg", ".svn"})  # of version control, which can change without the source
_MOST_HEADERS = 32 << 20  # bytes of an archive outside the content of files
_MOST_PADDING = 1 << 20  # zero bytes after the end of an archive: tar fills its last record, of 10 KiB by default
_HEADER = 128 << 10  # most bytes of a header
_PIECE = 64 << 10
_OURS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)  # errors that are not the source's fault


class SourceRefused(Problem):
    """A source that cannot be used; str() is one line that says what has to change."""

    code = "bad-source"


@dataclass(frozen=True, slots=True)
class _Member:
    """One entry of a source: its place, its kind, and its content or target."""

    name: str
    kind: Literal["file", "folder", "link", "hard link"]
    executable: bool = False
    changed: float = 0.0  # seconds since 1970
    target: str = ""
    content: IO[bytes] | None = None


def is_archive(path: Path) -> bool:
    """Return True if the name of a file says that it is an archive to unpack."""
    return path.name.endswith(ARCHIVES)


def unpack(source: Path, folder: Path, seconds: float = math.inf) -> None:
    """Copy the source into this folder, which must be empty and belong to us.

    Files get mode 0644 or 0755, folders 0755; times are limited to the range from 1970 to now.

    Args:
        source: A folder or a .tar.gz file.
        folder: The folder to fill.
        seconds: The time limit.

    Raises:
        SourceRefused: The source is invalid, too large, or takes too long.
        OSError: The disk is full or fails.
    """
    until = time.monotonic() + seconds
    copy = _Copy(folder, until)
    try:
        if source.is_dir():
            copy.take(_of_folder(source))
        else:
            with open_input(source) as file:
                if os.fstat(file.fileno()).st_size > MOST_BYTES:  # the digest would not cover all of it
                    raise SourceRefused(TOO_MUCH)
                with gzip.GzipFile(fileobj=_Timed(file, until)) as opened:  # type: ignore[call-overload]  # it is only read
                    copy.take(_of_archive(opened))
    except (RecursionError, MemoryError):
        raise SourceRefused("its headers are too many or too long: pack it again") from None
    except (tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile, ValueError, OverflowError) as error:
        raise SourceRefused(f"it is damaged, or not a .tar.gz file: {str(error)[:100]}") from None


class _Copy:
    """The folder in which members are created."""

    def __init__(self, root: Path, until: float) -> None:
        self._root, self._until = root, until
        self._now = time.time()
        self._bytes = self._files = 0

    def take(self, members: Iterator[_Member]) -> None:
        """Create all members.

        Raises:
            SourceRefused: A member is not acceptable, or there is no file among them.
        """
        hard: list[_Member] = []
        links: list[_Member] = []
        has_file = False
        for member in members:
            if member.kind == "folder":
                self._folder(self._place(member.name), member.name)
            elif member.kind == "file":
                has_file = True
                self._make(member.name, partial(self._write, member))
            else:
                self._place(member.name)
                (links if member.kind == "link" else hard).append(member)
                self._count(len(hard) + len(links))
        for member in hard:
            self._make(member.name, partial(self._link_hard, member))
        for member in links:
            if PurePosixPath(member.target).is_absolute():
                raise _leads_out(member.name)
            self._make(member.name, partial(os.symlink, member.target))
        for member in links:  # links may also lead outside through other links
            root, end = os.path.realpath(self._root), os.path.realpath(self._root / member.name)
            if end != root and not end.startswith(f"{root}/"):
                raise _leads_out(member.name)
        if not has_file:
            raise SourceRefused("it contains no file: pack the bot's program")

    def _make(self, name: str, make: Callable[[Path], None]) -> None:
        """Create a file or a link.

        Raises:
            SourceRefused: The name is taken or invalid.
        """
        place = self._place(name)
        self._files += 1
        self._count()
        self._folder(place.parent, name)
        try:
            make(place)
        except FileExistsError:
            raise SourceRefused(f"{_shown(name)} occurs twice: pack it again") from None
        except OSError as error:
            raise self._cannot(name, error) from None

    def _place(self, name: str) -> Path:
        """Return the place of a name in our folder.

        Raises:
            SourceRefused: It is outside, or nested too deeply.
        """
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            raise _leads_out(name)
        if len(path.parts) > DEEPEST:
            raise SourceRefused(f"{_shown(name)} is nested more than {DEEPEST} folders deep")
        return self._root / path

    def _folder(self, place: Path, name: str) -> None:
        """Create a folder and its parents, none of which may be a link."""
        path = self._root
        for part in place.relative_to(self._root).parts:
            path /= part
            try:
                path.mkdir()
                path.chmod(0o755)
                self._files += 1
                self._count()
            except FileExistsError:
                if not stat.S_ISDIR(path.lstat().st_mode):
                    raise SourceRefused(f"{_shown(name)} is inside a file or a link: pack it again") from None
            except OSError as error:
                raise self._cannot(name, error) from None

    def _write(self, member: _Member, place: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(place, flags, 0o600), "wb") as file:
            while member.content is not None and (piece := member.content.read(_PIECE)):
                self._bytes += len(piece)
                self._count()
                file.write(piece)
            file.flush()
            os.fchmod(file.fileno(), 0o755 if member.executable else 0o644)
            changed = max(0.0, min(self._now, member.changed))
            os.utime(file.fileno(), (changed, changed))

    def _link_hard(self, member: _Member, place: Path) -> None:
        before = self._place(member.target)
        if not before.is_file():  # no symbolic link was made yet
            raise SourceRefused(
                f"{_shown(member.name)} is a hard link to {_shown(member.target)}, which is not a file in it"
            )
        place.hardlink_to(before)

    def _count(self, more: int = 0) -> None:
        if self._files + more > MOST_FILES or self._bytes > MOST_BYTES:
            raise SourceRefused(TOO_MUCH)
        _check_time(self._until)

    def _cannot(self, name: str, error: OSError) -> Exception:
        return error if error.errno in _OURS else SourceRefused(f"{_shown(name)} cannot be created: {error.strerror}")


def _check_time(until: float) -> None:
    if time.monotonic() > until:
        raise SourceRefused("it takes too long to unpack: increase build_time, or pack fewer files")


def _leads_out(name: str) -> SourceRefused:
    return SourceRefused(f"{_shown(name)} leads outside of its folder")


def _is_no_file(name: str) -> SourceRefused:
    return SourceRefused(f"{_shown(name)} is a device or a pipe: remove it")


def _shown(name: str) -> str:
    name = name.removeprefix("./")
    return repr(name if len(name) <= 60 else f"{name[:60]}…")


# -- the members of a folder -------------------------------------------------------------------------------------------


def _of_folder(source: Path) -> Iterator[_Member]:
    for path, status in _walk(source):
        name = str(path.relative_to(source))
        if stat.S_ISDIR(status.st_mode):
            yield _Member(name, "folder")
        elif stat.S_ISLNK(status.st_mode):
            yield _Member(name, "link", target=str(path.readlink()))
        elif stat.S_ISREG(status.st_mode):
            with _open_file(path) as file:
                yield _Member(name, "file", bool(status.st_mode & 0o100), status.st_mtime, content=file)
        else:
            raise _is_no_file(name)


def files_of(source: Path) -> list[Path]:
    """Return the files whose change would change the digest: the archive, or everything in the folder."""
    if not source.is_dir():
        return [source]
    files = [source]
    for path, _ in _walk(source):
        files.append(path)
        if len(files) > MOST_FILES:
            break
    return files


def digest_of(source: Path) -> str:
    """Return the SHA-256 in hex of an archive, or of the names, kinds and contents in a folder.

    Sources that will be refused have a digest, too.

    Raises:
        OSError: Something cannot be read.
    """
    found, left = hashlib.sha256(), MOST_BYTES
    if not source.is_dir():
        with open_input(source) as file:
            _add(found.update, file, left)
        return found.hexdigest()
    for count, (path, status) in enumerate(_walk(source)):
        if count > MOST_FILES or left < 0:
            break
        executable = stat.S_ISREG(status.st_mode) and bool(status.st_mode & 0o100)
        said = (str(path.relative_to(source)), stat.S_IFMT(status.st_mode), executable)
        found.update(repr(said).encode("utf-8", "surrogateescape"))
        if stat.S_ISLNK(status.st_mode):
            found.update(os.fsencode(path.readlink()) + b"\0")
        elif stat.S_ISREG(status.st_mode):
            with _open_file(path) as file:
                size = _add(found.update, file, left)
            found.update(b"%d\0" % size)
            left -= size
    return found.hexdigest()


def _add(update: Callable[[bytes], None], file: IO[bytes], most: int) -> int:
    """Hash a file, and return its size. Reading stops soon after `most` bytes."""
    size = 0
    while size <= most and (piece := file.read(_PIECE)):
        update(piece)
        size += len(piece)
    return size


def _walk(folder: Path, depth: int = 0) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield everything in a folder in a fixed order, parents first. Folders that are too deep are not entered."""
    with os.scandir(folder) as entries:
        inside = sorted((entry for entry in entries if entry.name not in HISTORY), key=lambda entry: entry.name)
    for entry in inside:
        yield Path(entry.path), entry.stat(follow_symlinks=False)
        if depth < DEEPEST and entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path), depth + 1)


def _open_file(path: Path) -> IO[bytes]:
    """Open a file in a folder that may change meanwhile, without following links or blocking on a pipe."""
    return open_input(path, follow=False)


# -- the members of an archive -----------------------------------------------------------------------------------------


def _of_archive(opened: gzip.GzipFile) -> Iterator[_Member]:
    reader = _Forward(opened)
    contents = 0
    with tarfile.TarFile(mode="r", fileobj=reader) as archive:  # type: ignore[arg-type]  # tarfile only reads
        while (info := archive.next()) is not None:
            archive.members.clear()  # type: ignore[attr-defined]  # otherwise it would keep all members in memory
            name = info.name.rstrip("/") or "."
            # tarfile reads a size that is not a number as 0, and accepts negative ones.
            if info.size < 0 or not info.pax_headers.get("size", "0").isdecimal():
                raise SourceRefused(f"{_shown(name)} has an impossible size: pack it again")
            if info.isdir():
                yield _Member(name, "folder")
            elif info.issym():
                yield _Member(name, "link", target=info.linkname)
            elif info.islnk():
                yield _Member(name, "hard link", target=info.linkname)
            elif info.issparse():
                raise SourceRefused(f"{_shown(name)} is stored as a sparse file: pack it without --sparse")
            elif info.isreg():
                if info.size > MOST_BYTES:
                    raise SourceRefused(TOO_MUCH)
                contents += info.size
                yield _Member(name, "file", bool(info.mode & 0o100), info.mtime, content=archive.extractfile(info))
            else:
                raise _is_no_file(name)
            if reader.tell() - contents > _MOST_HEADERS:
                raise SourceRefused(TOO_MUCH)
    reader.check_end()


class _Timed:
    """A file that cannot be read after this moment: gzip may skip millions of empty parts in one call."""

    def __init__(self, file: IO[bytes], until: float) -> None:
        self._file, self._until = file, until

    def read(self, size: int = -1) -> bytes:
        """Read like a file, unless the time is up."""
        _check_time(self._until)
        return self._file.read(size)


class _Forward:
    """The decompressed archive, which tarfile reads only forwards and in pieces no longer than a header may be."""

    def __init__(self, opened: gzip.GzipFile) -> None:
        self._opened = opened
        self._at = 0
        self._last = b""

    def check_end(self) -> None:
        """Check that the archive ends where tarfile stopped, by reading the rest of the file.

        tarfile takes a damaged header for the end, and ignores what follows the end, such as a second archive.

        Raises:
            SourceRefused: Something else follows, or too many zero bytes.
        """
        left = _MOST_PADDING
        while not self._last.strip(b"\0"):
            if left < 0:
                raise SourceRefused(f"more than {_MOST_PADDING >> 20} MiB follow its end: pack it again")
            if not self.read(_PIECE):
                return
            left -= len(self._last)
        raise SourceRefused("it is damaged, or something follows its end, such as a second archive: pack it again")

    def tell(self) -> int:
        """Return the current position."""
        return self._at

    def read(self, size: int) -> bytes:
        """Read like a file, up to the longest header."""
        if not 0 <= size <= _HEADER:
            raise tarfile.ReadError("a header is too long")
        self._last = data = self._opened.read(size)
        self._at += len(data)
        return data

    def seek(self, to: int) -> int:
        """Skip forwards to a position."""
        if to < self._at:
            raise tarfile.ReadError("its members overlap")
        while self._at < to and self.read(min(_PIECE, to - self._at)):
            pass
        return self._at
