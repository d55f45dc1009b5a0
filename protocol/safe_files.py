"""Writes files in folders that other users may write, too: a planted link never leads to another file.

A symbolic link is followed only if it belongs to this user or to root, anywhere in the path. A file that has further
hard links is not appended to in a folder that others may write. Everything is done from descriptors of folders, so a
folder or a file that is exchanged meanwhile changes nothing. What is refused is an OSError whose `strerror` says why.
"""

import contextlib
import errno
import fcntl
import os
import pwd
import re
import secrets
import stat
from collections import deque
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import BinaryIO

from ggp.protocol.grammar import BOM

NEW = ".new"
"""Ends the name of a file of `open_new` until it is locked."""
_MOST_LINKS = 40
_OPEN_FILE = re.compile(r"(?:/dev/fd/|/proc/self/fd/|/dev/(?=std))(\d{1,9}|stdout|stderr)")
_STANDARD = {"stdout": "1", "stderr": "2"}
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_ALONE = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def without_mark(data: bytes) -> bytes:
    """Return a text file's bytes without the UTF-8 byte-order mark that some editors write at the beginning."""
    return data.removeprefix(BOM)


def replace_file(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write a file as `replacing` does."""
    with replacing(path, mode) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: Path, mode: int | None = None) -> Iterator[BinaryIO]:
    """Open a file that gets its name once everything is on the disk; after an exception nothing has changed.

    An existing file keeps its owner and its mode; `mode` is that of a new one, by default as the umask says. Devices,
    named pipes, /dev/stdout and the like are written to directly. Raises OSError.
    """
    if found := _OPEN_FILE.fullmatch(str(path)):
        with os.fdopen(os.dup(int(_STANDARD.get(found[1], found[1]))), "wb") as file:
            yield file
        return
    with _place(path) as (folder, name):
        before = _present(folder, name)
        if before is not None and not stat.S_ISREG(before.st_mode):
            with os.fdopen(_open_device(path, folder, name), "wb") as file:
                yield file
            return
        part = f".{name[:200]}.{secrets.token_hex(8)}.part"
        try:
            with os.fdopen(os.open(part, _ALONE | os.O_WRONLY, 0o666, dir_fd=folder), "wb") as file:
                if before is not None:
                    with contextlib.suppress(PermissionError):  # only root may give a file away
                        os.fchown(file.fileno(), before.st_uid, before.st_gid)
                    os.fchmod(file.fileno(), before.st_mode & 0o777)
                elif mode is not None:
                    os.fchmod(file.fileno(), mode)
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(part, dir_fd=folder)
            raise
        _sync(folder)


def create_file(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Create a file and write it to the disk. Raises FileExistsError, OSError."""
    with _place(path, follow=False) as (folder, name):
        with os.fdopen(os.open(name, _ALONE | os.O_WRONLY, mode, dir_fd=folder), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _sync(folder)


def open_to_append(path: Path, mode: int = 0o644, *, empty: bool = False) -> int:
    """Return a descriptor for reading and appending; the file is created if necessary, and truncated if `empty`.

    It may be a device or a pipe, which is not waited for. Raises OSError.
    """
    with _place(path) as (folder, name):
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(name, flags, mode, dir_fd=folder)
        try:
            _check_links(path, _opened(path, folder, name, descriptor), folder)
            if empty:
                os.ftruncate(descriptor, 0)
        except BaseException:
            os.close(descriptor)
            raise
    return descriptor


def open_folder(path: Path) -> tuple[int, str]:
    """Return a descriptor of the folder that a file is in, or will be in, and the file's name. Raises OSError."""
    with _place(path, follow=False) as (folder, name):
        return os.dup(folder), name


def open_new(folder: int, name: str, mode: int = 0o644) -> int:
    """Return a descriptor for appending to a new file, which is locked (flock) before it takes over the name.

    An old file of that name stays readable for those that have it open; a link is replaced, not followed. `folder` and
    `name` are those of open_folder. Raises OSError.
    """
    new = name + NEW
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new, dir_fd=folder)
    descriptor = os.open(new, _ALONE | os.O_WRONLY | os.O_APPEND, mode, dir_fd=folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def move_descriptor(new: int, old: int) -> None:
    """Make the descriptor `old` refer to the file of `new`, and close `new`. Raises OSError."""
    try:
        os.dup2(new, old, inheritable=False)
    finally:
        os.close(new)


def open_lock(path: Path) -> int:
    """Return a descriptor of a lock file, created if necessary; nothing is written to it. Raises OSError."""
    with _place(path) as (folder, name):
        flags = os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        return os.open(name, flags, 0o644, dir_fd=folder)


def resolve_file(path: Path) -> Path:
    """Return the path without links, for a library that opens the file by name. Raises OSError."""
    with _place(path) as (folder, name):
        if (found := _present(folder, name)) is not None:
            _check_links(path, found, folder)
        return Path(f"/proc/self/fd/{folder}").readlink() / name


def is_private_folder(path: Path) -> bool:
    """Return True for a folder of this user, not a link to one, that other users may not write."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


@contextlib.contextmanager
def owner_only() -> Iterator[None]:
    """Create all files and sockets in here, in any thread of this process, for this user alone."""
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)


@contextlib.contextmanager
def _place(path: Path, follow: bool = True) -> Iterator[tuple[int, str]]:
    """Open the folder, and yield its descriptor and the name in it, after following the links that may be followed.

    Without `follow`, the name itself may be that of a link.
    """
    parts = deque(part for part in path.parts if part != path.anchor)
    if not parts or parts[-1] == "..":
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    folder = os.open("/" if path.is_absolute() else ".", _FOLDER)
    links = 0
    try:
        while True:
            part = parts.popleft()
            target = _target(path, folder, part) if parts or follow else ""
            if target:
                links += 1
                if links > _MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
                aim = PurePath(target)
                parts.extendleft(reversed([one for one in aim.parts if one != aim.anchor]))
                if aim.is_absolute():
                    os.close(folder)
                    folder = os.open("/", _FOLDER)
            elif parts:
                inner = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
                os.close(folder)
                folder = inner
            else:
                break
        yield folder, part
    finally:
        os.close(folder)


def _target(path: Path, folder: int, part: str) -> str:
    """Return the target of a link that may be followed, "" for anything that is not a link."""
    try:
        link = os.open(part, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return ""
    try:
        found = os.fstat(link)
        if not stat.S_ISLNK(found.st_mode):
            return ""
        if found.st_uid not in (0, os.geteuid()):
            raise OSError(
                errno.ELOOP,
                f"{part} is a symbolic link that belongs to {_user(found.st_uid)}: delete it, or run this as that user",
                str(path),
            )
        return os.readlink("", dir_fd=link)
    finally:
        os.close(link)


def _present(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _open_device(path: Path, folder: int, name: str) -> int:
    """Open a device without creating or truncating it. Refuse a regular file that has taken its place meanwhile."""
    descriptor = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode) or found.st_uid not in (0, os.geteuid()):
        os.close(descriptor)
        raise OSError(errno.EPERM, f"it is not a file, and belongs to {_user(found.st_uid)}", str(path))
    return descriptor


def _opened(path: Path, folder: int, name: str, descriptor: int) -> os.stat_result:
    """Return the status of the opened file. Raises OSError if its name no longer leads to it.

    A hard link that was removed after the file was opened would not count any more.
    """
    found = _present(folder, name)
    if found is None or not os.path.samestat(found, os.fstat(descriptor)):
        raise OSError(errno.EAGAIN, "another process exchanged it just now: try again", str(path))
    return found


def _check_links(path: Path, found: os.stat_result, folder: int) -> None:
    if stat.S_ISREG(found.st_mode) and found.st_nlink > 1 and _shared(folder):
        raise OSError(
            errno.EMLINK, "it has another name (a hard link), and other users may write its folder", str(path)
        )


def _shared(folder: int) -> bool:
    """Return True if others may write this folder."""
    found = os.fstat(folder)
    return found.st_uid not in (0, os.geteuid()) or bool(found.st_mode & 0o022)


def _sync(folder: int) -> None:
    """Write the names in the folder to the disk. A folder that we may not read has no descriptor for that."""
    with contextlib.suppress(PermissionError):
        readable = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.fsync(readable)
        finally:
            os.close(readable)


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
