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
    """See `replacing`."""
    with replacing(path, mode) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: Path, mode: int | None = None) -> Iterator[BinaryIO]:
    """A file that gets the name when everything is written and on the disk; after an exception all is as before.

    An existing file keeps its owner and its mode; `mode` is that of a new one (by default as the umask says). A
    device, a pipe with a name, and /dev/stdout and its like are written to as they are. Raises OSError.
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
    """A file that was not there, on the disk. Raises FileExistsError, OSError."""
    with _place(path, follow=False) as (folder, name):
        with os.fdopen(os.open(name, _ALONE | os.O_WRONLY, mode, dir_fd=folder), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _sync(folder)


def open_to_append(path: Path, mode: int = 0o644, *, empty: bool = False) -> int:
    """A descriptor for reading and appending, of a file that is made if there is none; `empty`: what it held is
    gone. It may be a device or a pipe, which is not waited for: see to that. Raises OSError."""
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
    """A descriptor of the folder that a file is in, or is to be in, and the file's name. Raises OSError."""
    with _place(path, follow=False) as (folder, name):
        return os.dup(folder), name


def open_new(folder: int, name: str, mode: int = 0o644) -> int:
    """A descriptor for appending to a new, empty file, which is locked (flock) before it takes over the name.

    What had the name stays readable for those that have it open; a link with that name is replaced, not followed.
    `folder` and `name` as open_folder gives them. Raises OSError.
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
    """A descriptor of a file to be locked, made if there is none; nothing is written to it. Raises OSError."""
    with _place(path) as (folder, name):
        flags = os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        return os.open(name, flags, 0o644, dir_fd=folder)


def resolve_file(path: Path) -> Path:
    """Where the file is, without links in the path; for a library that opens it by name. Raises OSError."""
    with _place(path) as (folder, name):
        if (found := _present(folder, name)) is not None:
            _check_links(path, found, folder)
        return Path(f"/proc/self/fd/{folder}").readlink() / name


def is_private_folder(path: Path) -> bool:
    """Whether it is a folder of this user, no link to one, that other users may not write."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


@contextlib.contextmanager
def owner_only() -> Iterator[None]:
    """Files and sockets that this process makes in here, in any thread, are for this user alone."""
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)


@contextlib.contextmanager
def _place(path: Path, follow: bool = True) -> Iterator[tuple[int, str]]:
    """The folder's descriptor and the name in it, which is no link (any more) that may be followed.

    Not `follow`: whatever has the name now.
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
    """Of a link that may be followed; "" for what is no link."""
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
    """Neither made nor truncated, and no regular file, even if one has taken its place meanwhile."""
    descriptor = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode) or found.st_uid not in (0, os.geteuid()):
        os.close(descriptor)
        raise OSError(errno.EPERM, f"it is not a file, and belongs to {_user(found.st_uid)}", str(path))
    return descriptor


def _opened(path: Path, folder: int, name: str, descriptor: int) -> os.stat_result:
    """The file that was opened, while it has this name. A link that was taken away after it was opened would not count
    as one any more. Raises OSError."""
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
    """Whether others may write this folder."""
    found = os.fstat(folder)
    return found.st_uid not in (0, os.geteuid()) or bool(found.st_mode & 0o022)


def _sync(folder: int) -> None:
    """The names in it. A folder that we may not read has no descriptor to do it with."""
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
