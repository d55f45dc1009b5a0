"""Records as a store keeps them."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from ggp.protocol.records import RecordError
from ggp.referee import records
from ggp.referee.records import pack, unpack

LINES = b'{"event":"start","match":"1"}\n' * 100


@given(st.binary(min_size=1))
def test_what_is_packed_comes_back(lines: bytes) -> None:
    assert unpack(pack(lines)) == lines


def test_every_changed_bit_is_noticed() -> None:
    data = pack(LINES)
    for at in range(8 * len(data)):
        changed = bytearray(data)
        changed[at // 8] ^= 1 << at % 8
        try:
            assert unpack(bytes(changed)) == LINES, f"bit {at}"  # of a header, a bit may mean nothing
        except RecordError:
            continue


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not packed",
        pack(b""),
        pack(b"") + b"junk",
        pack(LINES[:100])[:5] + bytes(1) + pack(LINES[:100])[6:],  # of size 0, as it says
        pack(LINES)[:-1],
        pack(LINES) + b"x",
        pack(LINES) + pack(LINES),
        b"\x78",
        zstandard.ZstdCompressor(write_content_size=False).compress(LINES),
    ],
)
def test_what_is_not_one_whole_record_is_refused(data: bytes) -> None:
    with pytest.raises(RecordError):
        unpack(data)


def test_a_record_above_the_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pack(LINES)
    monkeypatch.setattr(records, "LONGEST", len(LINES))
    assert unpack(data) == LINES
    monkeypatch.setattr(records, "LONGEST", len(LINES) - 1)
    with pytest.raises(RecordError, match="too long"):
        unpack(data)


def test_threads_do_not_disturb_each_other() -> None:
    def work(number: int) -> bool:
        lines = b"%d" % number * 10_000
        return all(unpack(pack(lines)) == lines for _ in range(200))

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(work, range(8)))
