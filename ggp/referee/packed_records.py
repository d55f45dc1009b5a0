"""A match's record as a store keeps it, and as it travels there: JSON lines, compressed by Zstandard."""

import threading
import zlib
from functools import cache

from ggp.protocol.records import RecordError

LONGEST = 1 << 28  # bytes of a record
_LEVEL = 1  # the higher ones save 1 % and take longer
_ZLIB = b"\x78"  # the first byte of a record that an earlier version stored


class _Zstandard(threading.local):
    """The two contexts of a thread: to make one takes longer than a record."""

    def __init__(self) -> None:
        import zstandard  # a match with a record file needs none

        self.size = zstandard.frame_content_size
        self.pack = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress
        self.unpack = zstandard.ZstdDecompressor().decompress
        self.error = zstandard.ZstdError


_zstandard = cache(_Zstandard)


def pack(lines: bytes) -> bytes:
    """Compress a record."""
    return _zstandard().pack(lines)


def unpack(data: bytes) -> bytes:
    """The lines of a packed record. Raises RecordError for a damaged one and for one above LONGEST."""
    if data[:1] == _ZLIB:
        return _unpack_zlib(data)
    zstandard = _zstandard()
    try:
        if zstandard.size(data) > LONGEST:
            raise RecordError("it is too long")
        return zstandard.unpack(data, allow_extra_data=False)
    except zstandard.error as error:
        raise RecordError(str(error)) from None


def _unpack_zlib(data: bytes) -> bytes:
    stream = zlib.decompressobj()
    try:
        lines = stream.decompress(data, LONGEST)
    except zlib.error as error:
        raise RecordError(str(error)) from None
    if not stream.eof:
        raise RecordError("it is cut off, or too long")
    return lines
