"""Half-written records: what a killed worker leaves in the middle of the file, and files that can hold no record."""

import os
import shlex
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from ggp.protocol.records import MAX_RECORD_LINE, RecordError, read_records
from ggp.protocol.safe_files import NEW
from ggp.referee.cli.export import main as main_export
from ggp.referee.cli.verify import main as main_verify
from ggp.referee.match.record_file import RecordFile, RecordFileError, RecordGone
from ggp.referee.match.resume import SideFile, remove_side_files
from ggp.referee.records import side_files
from tests.support.chaos import chaos
from tests.support.cli import Ggp, ggp, wait_until
from tests.support.codes import raises
from tests.support.memory_match import MemoryMatch, bot

SERIES = ("match", "yugo,size=4", "random", "random", "--jobs", "2", "--quiet")


def whole() -> bytes:
    return MemoryMatch("go size=2 komi=0.5", bot(["A1", "pass"]), bot(["B2", "pass"])).run().record.lines()


def test_a_match_torn_anywhere_is_skipped_and_the_next_one_read() -> None:
    record = whole()
    for cut, between in product(range(1, len(record)), (b"", b"\n")):
        torn: list[str] = []
        file = (record[:cut] + between + record).splitlines(keepends=True)
        *_, last = found = list(read_records(file, torn.append))
        assert last.lines() == record
        only_lf_lost = cut == len(record) - 1 and between == b"\n"
        assert [match.lines() == record for match in found if match.end] == [True] * (1 + only_lf_lost)
        whole_lines = record[:cut].endswith(b"\n") or (record[cut : cut + 1] == b"\n" == between)
        assert len(torn) == (not whole_lines)


def test_writers_that_were_killed_one_after_another_leave_several_pieces() -> None:
    record = whole()
    start = record.splitlines()[0]
    for pieces in (
        [record[:-50], start[:40]],
        [start[:30], start[:40], start[:50]],
        [start[:100], b"\n", start[:50]],
        [record, start[:100], record[:-1]],
    ):
        for end in (b"", b"\n", record, b"\n" + record):
            torn: list[str] = []
            found = list(read_records(b"".join([*pieces, end]).splitlines(keepends=True), torn.append))
            assert all(match.lines() == record for match in found if match.end)
            if pieces[-1] != record[:-1]:  # which lacks its LF only
                assert bool(found and found[-1].end) == end.endswith(record)
            assert torn


def test_half_a_line_is_said_with_its_number() -> None:
    torn: list[str] = []
    assert list(read_records([b"\n", whole()[:50] + b"\n"], torn.append)) == []
    assert torn == ["line 2: only the first 50 bytes of an event were written"]
    torn.clear()
    within = '{"bots":[{"command":"é'.encode()[:-1]  # it ends within a character
    assert list(read_records([within], torn.append)) == []
    assert torn == ["line 1: only the first 22 bytes of an event were written"]
    with raises(RecordError, "not-a-record"):
        list(read_records([b"\n", whole()[:50]]))


@pytest.mark.parametrize(
    ("at", "line", "code"),
    [
        (2, b"{half\n", "changed"),
        (2, b"hello\n", "not-a-record"),
        (0, b"hello\n", "not-a-record"),
        (0, b'{"bots":1}\n', "not-a-record"),
        (2, b'{"a":' + b" " * MAX_RECORD_LINE + b"\n", "too-long"),
    ],
)
def test_what_no_killed_writer_leaves_is_still_refused(at: int, line: bytes, code: str) -> None:
    lines = whole().splitlines(keepends=True)
    lines[at] = line
    torn: list[str] = []
    with raises(RecordError, code) as caught:
        list(read_records(lines, torn.append))
    assert str(caught.value).startswith(f"line {at + 1}: ")


@pytest.mark.slow
def test_a_series_goes_on_after_a_torn_match_and_verify_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "games"
    assert ggp(*SERIES, "--games", "3", "--record", str(path)).status == 0
    with path.open("rb") as file:
        first, second, third = (record.lines() for record in read_records(file))
    path.write_bytes(first + second[: -len(second.splitlines()[-1]) // 2] + third)

    assert main_verify([str(path)]) == 0
    said = capsys.readouterr().out
    assert "skipped" in said and "plies, but no end; line " in said and "bytes of an event were written" in said
    assert "2 matches, 2 as recorded, 0 not; 1 that was not finished is skipped" in said
    assert main_export([str(path)]) == 0
    assert "ggp export: skipped" in capsys.readouterr().err

    again = ggp(*SERIES[:-1], "--json", "--games", "3", "--record", str(path))
    assert again.status == 0 and again.json["games"] == 3
    assert any("an unfinished match" in text for text in again.json["warnings"])
    torn: list[str] = []
    with path.open("rb") as file:
        ends = [record.end.match for record in read_records(file, torn.append) if record.end]
    assert len(ends) == len(set(ends)) == 3


def test_what_was_torn_at_the_end_is_cut_off_but_nothing_that_is_not_ours(tmp_path: Path) -> None:
    path = tmp_path / "games"
    record = whole()
    path.write_bytes(b"\n" + record + b"\n" + record[:300])
    with RecordFile(path) as recorder:
        assert recorder.dropped == 301
    assert path.read_bytes() == b"\n" + record
    for text in (b"precious", b"\nprecious", b"\n\nprecious"):
        path.write_bytes(text)
        with pytest.raises(RecordFileError):
            RecordFile(path)
        assert path.read_bytes() == text


@pytest.mark.slow
def test_a_record_is_a_regular_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, kind in ((tmp_path / "pipe", "a named pipe"), (Path("/dev/null"), "a device")):
        with raises(RecordFileError, "not-regular"):
            RecordFile(path)
        assert path.exists()
        assert main_verify([str(path)]) == 2
        assert f"it is {kind}, not a regular file" in capsys.readouterr().err


@pytest.mark.slow
def test_a_full_disk_ends_the_series_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "games"
    words = [sys.executable, "-m", "ggp.referee.cli", *SERIES, "--games", "500", "--record", str(path)]
    # 128 KiB in blocks of 512: room for some matches, however long the first is. SIGXFSZ is ignored by Python.
    limited = f"ulimit -f 256; exec {shlex.join(words)}"
    ran = subprocess.run(["sh", "-c", limited], capture_output=True, encoding="utf-8", timeout=180, check=False)
    assert ran.returncode == 1 and "Traceback" not in ran.stderr
    assert "cannot write the record" in ran.stderr
    assert ggp("verify", str(path)).status == 0


@pytest.mark.slow
def test_ctrl_c_before_a_worker_has_begun_does_not_wait_for_its_match(tmp_path: Path) -> None:
    sleepy = chaos("fault=late,ms=3000,move=0")
    running = Ggp("match", "yugo", sleepy, "random", "--games", "4", "--jobs", "2", "--record", str(tmp_path / "r"))
    wait_until(lambda: any("spawn_main" in line for line in running.running()))
    running.process.send_signal(signal.SIGINT)
    ended = running.wait(20)
    assert ended.status == 130 and not list(tmp_path.iterdir())


@pytest.mark.slow
def test_output_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "games").write_bytes(whole())
    words = [sys.executable, "-m", "ggp.referee.cli", "export", str(tmp_path / "games")]
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, encoding="utf-8", timeout=180, check=False)
    assert (ran.returncode, ran.stderr) == (1, "ggp: cannot write the output: No space left on device\n")


def test_side_files_are_removed_whatever_their_numbers(tmp_path: Path) -> None:
    """Worker 1 may have been stopped before it opened its own."""
    record = tmp_path / "games"
    for name in ("games.live-10", "games.live-2", f"games.live-3{NEW}", "games.live-x", "games2.live-1"):
        (tmp_path / name).write_text("", encoding="utf-8")
    assert [path.name for path in side_files(str(record))] == ["games.live-2", "games.live-10"]
    remove_side_files(str(record))
    assert {path.name for path in tmp_path.iterdir()} == {"games.live-x", "games2.live-1"}


def test_a_side_file_comes_back_with_its_folder_and_leaves_nothing_open(tmp_path: Path) -> None:
    folder, opened = tmp_path / "games", Path("/proc/self/fd")
    before = len(list(opened.iterdir()))
    side = SideFile(str(folder / "record"), 1)
    assert side.begin() is None
    folder.mkdir()
    first = side.begin()
    assert first is not None
    os.write(first, b"1")
    assert side.begin() is not None
    assert (folder / "record.live-1").read_bytes() == b""
    (folder / "record.live-1").unlink()
    folder.rmdir()
    assert side.begin() is None
    folder.mkdir()
    assert side.begin() is not None
    side.end()
    assert [path.name for path in folder.iterdir()] == ["record.live-1"]
    side.close()
    assert len(list(opened.iterdir())) == before


@pytest.mark.parametrize("how", ["removed", "replaced", "truncated"])
def test_a_record_that_is_gone_while_it_is_written_is_noticed_and_rescued(tmp_path: Path, how: str) -> None:
    path = tmp_path / "games.jsonl"
    one = MemoryMatch("go size=2 komi=0.5", bot(["A1", "pass"]), bot(["B2", "pass"])).run().record.lines()
    with RecordFile(path) as recorder:
        recorder.append(one)
        recorder.commit()
        if how == "removed":
            path.unlink()
        elif how == "replaced":
            (tmp_path / "other").write_bytes(b"another\n")
            (tmp_path / "other").replace(path)
        else:
            os.truncate(path, 10)
        recorder.append(one)
        if how == "truncated":
            os.truncate(path, 10)
        with pytest.raises(RecordGone, match=f"was {how}") as caught:
            recorder.commit()
        recorder.commit()  # it is said once, and the end is as always
    rescued = tmp_path / "games.jsonl.rescued"
    assert str(rescued) in str(caught.value)
    assert rescued.read_bytes() == (one[:10] if how == "truncated" else one * 2)
    assert how != "replaced" or path.read_bytes() == b"another\n"
