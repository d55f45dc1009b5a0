"""Which files of a folder have changed: told by the kernel (inotify), or not told, where it has no more of that.

What has changed in them is the reader's part. A writer pays about a microsecond for it, and never waits.
"""

import ctypes
import os
import struct
from pathlib import Path

_MODIFY, _CREATE, _DELETE, _MOVED_TO, _OVERFLOW = 0x002, 0x100, 0x200, 0x080, 0x4000
_HEAD = struct.Struct("iIII")  # watch, mask, cookie, length of the name
_BUFFER = 256 * 1024


class Changes:
    """`descriptor` is readable when something has changed; -1: nobody says so, so look from time to time."""

    def __init__(self, folder: Path) -> None:
        self.descriptor = _watch(folder)

    def read(self) -> set[str] | None:
        """Names of files that are new, longer or gone since this was asked last; None: look at all of them."""
        if self.descriptor < 0:
            return None
        names: set[str] = set()
        while True:
            try:
                data = os.read(self.descriptor, _BUFFER)
            except BlockingIOError:
                return names
            at = 0
            while at < len(data):
                _, mask, _, length = _HEAD.unpack_from(data, at)
                at += _HEAD.size
                if mask & _OVERFLOW:
                    self._drain()
                    return None
                names.add(data[at : at + length].rstrip(b"\0").decode("utf-8", "surrogateescape"))
                at += length

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def _drain(self) -> None:
        """All is looked at anyway."""
        try:
            while os.read(self.descriptor, _BUFFER):
                continue
        except BlockingIOError:
            return


def _watch(folder: Path) -> int:
    """A descriptor of inotify, -1 if there is none to be had."""
    library = ctypes.CDLL(None, use_errno=True)
    descriptor: int = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0:
        return -1
    if library.inotify_add_watch(descriptor, os.fsencode(folder), _MODIFY | _CREATE | _DELETE | _MOVED_TO) < 0:
        os.close(descriptor)
        return -1
    return descriptor
