"""A match's record as a store keeps it, and as it travels there: JSON lines, compressed by Zstandard."""

import threading

import zstandard

from ggp.protocol.records import RecordError

LONGEST = 1 << 28  # bytes of a record
_LEVEL = 1  # the higher ones save 1 % and take longer


class _Contexts(threading.local):
    """Those of a thread: to make one takes longer than a record."""

    def __init__(self) -> None:
        self.pack = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress
        self.unpack = zstandard.ZstdDecompressor().decompress


_contexts = _Contexts()


def pack(lines: bytes) -> bytes:
    """Compress a record."""
    return _contexts.pack(lines)


def unpack(data: bytes) -> bytes:
    """The lines of a packed record. Raises RecordError for a damaged or empty one, and for one above LONGEST."""
    try:
        size = zstandard.frame_content_size(data)
        if size > LONGEST:
            raise RecordError("it is too long")
        if size == 0:  # then the library does not look at the rest
            raise RecordError("it is empty")
        return _contexts.unpack(data, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise RecordError(str(error)) from None
