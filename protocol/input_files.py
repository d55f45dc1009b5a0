"""Opens files for reading whose names come from users or other files: regular files only, of limited size.

A name may lead to a named pipe, where opening waits for a writer, or to a device such as /dev/zero, which never ends.
Every such file is therefore opened here. Errors are OSErrors whose `strerror` says what to do.
"""

import errno
import io
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_OWN_PIPE = re.compile(r"/dev/fd/\d{1,9}|/proc/self/fd/\d{1,9}|/dev/stdin")
_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISLNK, "a symbolic link"),
)


class NotRegular(OSError):
    """A refusal to open a pipe, a device or a socket."""


def open_input(path: str | Path, *, pipe: bool = False, follow: bool = True) -> io.BufferedReader:
    """Open a regular file for reading, without waiting.

    Args:
        path: The file, which may be a symbolic link to one.
        pipe: Also accept a pipe that this process was given, as in `ggp rate <(zcat games.csv.gz)`.
        follow: Follow a symbolic link at the end of the path.

    Raises:
        NotRegular: It is a pipe, a device or a socket.
        OSError: It cannot be opened, or is a folder.
        ValueError: The path contains a NUL.
    """
    name = os.fspath(path)
    _check(name, Path(name).stat(follow_symlinks=follow).st_mode, pipe)  # opening a device may already do something
    descriptor = os.open(name, _FLAGS | (0 if follow else os.O_NOFOLLOW))
    try:
        mode = os.fstat(descriptor).st_mode
        _check(name, mode, pipe)
        if stat.S_ISFIFO(mode):
            os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_input(path: str | Path, most: int, *, follow: bool = True) -> bytes:
    """Return the content of a regular file.

    Args:
        path: The file, which may be a symbolic link to one.
        most: The largest allowed size in bytes.
        follow: Follow a symbolic link at the end of the path.

    Raises:
        OSError: See `open_input`; EFBIG if the file is too large.
        ValueError: The path contains a NUL.
    """
    with open_input(path, follow=follow) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {in_words(most)}", os.fspath(path))
    return data


def in_words(size: int) -> str:
    """Return a number of bytes in the largest unit that divides it, as in `64 KiB`."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} bytes"


def _check(name: str, mode: int, pipe: bool) -> None:
    if stat.S_ISREG(mode) or (pipe and stat.S_ISFIFO(mode) and _OWN_PIPE.fullmatch(name)):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    kind = next((word for matches, word in _KINDS if matches(mode)), "a special file")
    raise NotRegular(errno.EINVAL, f"it is {kind}, not a regular file: name a regular file", name)
