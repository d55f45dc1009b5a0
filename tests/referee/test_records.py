"""The side files of matches that are being played: each read once, as it grows, and never another match's."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import pytest
from msgspec.structs import replace

from ggp.protocol.records import Record, RecordError, RecordReader
from ggp.referee.records import LiveMatches, live_path
from tests.support.sample_records import CUT_OFF, PLIES, RECORD, START, lines_of

Begin = Callable[[Record, int], BinaryIO]


@pytest.fixture
def base(tmp_path: Path) -> str:
    return str(tmp_path / "club.db")


@pytest.fixture
def begin(base: str) -> Iterator[Begin]:
    """A worker begins a match: a new file takes over the name, locked."""
    with ExitStack() as files:

        def begin(record: Record, worker: int = 1) -> BinaryIO:
            new = Path(f"{live_path(base, worker)}.begun")
            file = files.enter_context(new.open("wb", buffering=0))
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(record.lines())
            new.rename(live_path(base, worker))
            return file

        yield begin


def test_a_match_is_read_as_it_grows_and_each_line_once(
    base: str, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, lines, pread = list[int](), lines_of(RECORD), os.pread

    def counted(file: int, size: int, at: int) -> bytes:
        read.append(size)
        return pread(file, size, at)

    monkeypatch.setattr(os, "pread", counted)
    file, matches = begin(Record(START, (), None), 1), LiveMatches(base)
    for number, line in enumerate(lines[1:-1], 1):
        file.write(line[:20])
        assert matches.playing() == [Record(START, PLIES[: number - 1], None)]
        file.write(line[20:])
        assert matches.playing() == [Record(START, PLIES[:number], None)]
    found = matches.find(START.match)
    assert found is not None and found.read() is found.read() and found.playing()
    file.write(lines[-1] + b"what the next match would be\n")
    assert found.read() == RECORD and not found.playing() and matches.playing() == []
    assert sum(read) < 2 * len(RECORD.lines()), "only half lines are read again"


def test_a_match_that_gives_up_its_name_is_readable_to_its_end(base: str, begin: Begin) -> None:
    matches, file = LiveMatches(base), begin(CUT_OFF, 1)
    found = matches.find(START.match)
    assert found is not None
    other = Record(replace(START, match="m2"), (), None)
    begin(other, 1)
    assert matches.find(START.match) is None and matches.playing() == [other]
    file.write(b"".join(lines_of(RECORD)[len(CUT_OFF.plies) + 1 :]))
    assert found.read() == RECORD
    again = matches.find("m2")
    assert again is matches.find("m2") and again is matches.find("")


def test_a_file_that_was_written_again_is_read_again_and_a_damaged_one_is_none(base: str, begin: Begin) -> None:
    matches, file = LiveMatches(base), begin(CUT_OFF, 1)
    begin(RECORD, 2)
    assert matches.playing() == [CUT_OFF]
    file.truncate(0)
    file.seek(0)
    file.write(lines_of(RECORD)[0])
    assert matches.playing() == [Record(START, (), None)]
    file.write(lines_of(RECORD)[2])
    assert matches.playing() == []


def test_a_reader_of_one_match_takes_no_other_and_goes_on_after_a_line_that_is_none() -> None:
    reader, lines = RecordReader(), [line[:-1] for line in lines_of(RECORD)]
    for line in lines:
        for wrong in (lines[0] if reader.events else lines[1], line[:-1]):
            with pytest.raises(RecordError):
                reader.read(wrong)
        reader.read(line)
    assert reader.record == RECORD
