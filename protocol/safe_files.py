"""Writes files in folders that other users may write too, without following links that they planted.

A symbolic link is followed only if this user or root owns it, anywhere in the path. In a folder that others may write,
a file with several hard links is not appended to. All operations use descriptors of folders, so exchanging a folder or
file in the meantime has no effect. A refusal is an OSError whose `strerror` gives the reason.
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
"""The suffix of a file name in `open_new` until the file is locked."""
_MOST_LINKS = 40
_OPEN_FILE = re.compile(r"(?:/dev/fd/|/proc/self/fd/|/dev/(?=std))(\d{1,9}|stdout|stderr)")
_STANDARD = {"stdout": "1", "stderr": "2"}
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_ALONE = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def without_mark(data: bytes) -> bytes:
    """Return a text file's bytes without the UTF-8 byte-order mark that some editors write."""
    return data.removeprefix(BOM)


def replace_file(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write a file as `replacing` does."""
    with replacing(path, mode) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: Path, mode: int | None = None) -> Iterator[BinaryIO]:
    """Open a file that gets its name once all data is on disk; after an exception nothing has changed.

    An existing file keeps its owner and its mode. Devices, named pipes, /dev/stdout and the like are written directly.

    Args:
        path: The file.
        mode: Mode of a new file; by default the umask decides.

    Raises:
        OSError: The file cannot be written, or a link in the path is not trusted.
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
                    with contextlib.suppress(PermissionError):  # only root may change an owner
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
    """Create a file and flush it to disk.

    Raises:
        FileExistsError: There is already a file of this name.
        OSError: The file cannot be written.
    """
    with _place(path, follow=False) as (folder, name):
        with os.fdopen(os.open(name, _ALONE | os.O_WRONLY, mode, dir_fd=folder), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _sync(folder)


def open_to_append(path: Path, mode: int = 0o644, *, empty: bool = False) -> int:
    """Return a descriptor for reading and appending.

    The file is created if necessary, and truncated if `empty`. It may be a device or a pipe; opening it does not wait.

    Raises:
        OSError: The file cannot be opened, or a link to it is not trusted.
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
    """Return a descriptor of a file's folder, and the file's name. The file need not exist.

    Raises:
        OSError: The folder cannot be opened.
    """
    with _place(path, follow=False) as (folder, name):
        return os.dup(folder), name


def open_new(folder: int, name: str, mode: int = 0o644) -> int:
    """Create a file, lock it (flock), then give it its name. Return a descriptor for appending.

    An older file of that name stays readable for those that have it open. A link is replaced, not followed.

    Args:
        folder: Descriptor of the folder, from open_folder.
        name: Name of the file, from open_folder.
        mode: Mode of the new file.

    Raises:
        OSError: The file cannot be created.
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
    """Make the descriptor `old` refer to the file of `new`, and close `new`.

    Raises:
        OSError: The descriptor cannot be duplicated.
    """
    try:
        os.dup2(new, old, inheritable=False)
    finally:
        os.close(new)


def open_lock(path: Path) -> int:
    """Return a descriptor of a lock file, which is created if necessary. Nothing is written to it.

    Raises:
        OSError: The file cannot be opened.
    """
    with _place(path) as (folder, name):
        flags = os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        return os.open(name, flags, 0o644, dir_fd=folder)


def resolve_file(path: Path) -> Path:
    """Return the path without links, for a library that opens the file by name.

    Raises:
        OSError: A link in the path is not trusted.
    """
    with _place(path) as (folder, name):
        if (found := _present(folder, name)) is not None:
            _check_links(path, found, folder)
        return Path(f"/proc/self/fd/{folder}").readlink() / name


def is_private_folder(path: Path) -> bool:
    """Return True for a folder (not a link) that belongs to this user and that no other user may write."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


@contextlib.contextmanager
def owner_only() -> Iterator[None]:
    """Create all files and sockets in this context for this user alone. Affects all threads of the process."""
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)


@contextlib.contextmanager
def _place(path: Path, follow: bool = True) -> Iterator[tuple[int, str]]:
    """Open the folder of a path and yield its descriptor and the file's name, after following trusted links.

    If `follow` is False, the name itself may be a link.
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
    """Return the target of a trusted link, or "" for anything that is not a link."""
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
                f"{part} is a symbolic link that belongs to {_user(found.st_uid)}: delete it, or run as that user",
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
    """Open a device without creating or truncating it. Refuse a regular file that has taken its place."""
    descriptor = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode) or found.st_uid not in (0, os.geteuid()):
        os.close(descriptor)
        raise OSError(errno.EPERM, f"it is not a regular file and belongs to {_user(found.st_uid)}", str(path))
    return descriptor


def _opened(path: Path, folder: int, name: str, descriptor: int) -> os.stat_result:
    """Return the status of the opened file.

    The file must still have its name: a hard link that was removed after opening would no longer be counted.

    Raises:
        OSError: Another file, or none, has this name now.
    """
    found = _present(folder, name)
    if found is None or not os.path.samestat(found, os.fstat(descriptor)):
        raise OSError(errno.EAGAIN, "another process replaced it just now: try again", str(path))
    return found


def _check_links(path: Path, found: os.stat_result, folder: int) -> None:
    if stat.S_ISREG(found.st_mode) and found.st_nlink > 1 and _shared(folder):
        raise OSError(
            errno.EMLINK, "it has another name (a hard link), and other users may write to its folder", str(path)
        )


def _shared(folder: int) -> bool:
    """Return True if other users may write this folder."""
    found = os.fstat(folder)
    return found.st_uid not in (0, os.geteuid()) or bool(found.st_mode & 0o022)


def _sync(folder: int) -> None:
    """Flush the folder's entries to disk, unless we may not read the folder."""
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
