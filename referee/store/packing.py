"""Records as they are stored: JSON lines, compressed by zlib. It reads no record."""

import zlib

from referee.store.errors import StoreError

LONGEST = 1 << 28  # bytes of a record


def unpacked(data: bytes, key: str) -> bytes:
    """A record as JSON lines. Raises StoreError for one that is damaged, or would fill the memory."""
    stream = zlib.decompressobj()
    try:
        lines = stream.decompress(data, LONGEST)
    except zlib.error as error:
        raise StoreError(f"the record of {key} is damaged ({error}): see ggp ladder check") from None
    if not stream.eof:
        raise StoreError(f"the record of {key} is damaged (cut off, or too long): see ggp ladder check")
    return lines
