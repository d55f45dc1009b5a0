"""Recordings of a dialogue: appended, rotated, one writer each, and an error ends the recording alone."""

import os
from pathlib import Path

import pytest

from ggp.protocol.transports.recording import NotARecord, Recording
from ggp.referee.tools.tap.recording import read_sessions


def test_sessions_follow_one_another_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "bot.log"
    for number in (1, 2):
        recording = Recording(path, ["./bot", "--fast"], pytest.fail)
        recording.chunk(">", 1.5, b"name\n")
        recording.chunk("<", 2.0, b"= bot\n\n")
        recording.chunk("!", 2.5, b"hm\n")
        recording.note(f"exit status {number}")
        recording.close()
        recording.close()
        recording.chunk(">", 3.0, b"late\n")
        recording.note("late")
    first, second = read_sessions(path)
    for session, number in ((first, 1), (second, 2)):
        assert session.command == ["./bot", "--fast"] and session.stderr == [(2.5, b"hm\n")]
        assert [(pair.command, pair.reply and pair.reply.text, pair.seconds) for pair in session.pairs] == [
            ("name", "bot", 0.5)
        ]
        assert [note.split(" ", 1)[1].strip() for note in session.notes] == [f"exit status {number}"]


def test_a_log_that_grows_is_rotated(tmp_path: Path) -> None:
    path = tmp_path / "bot.log"
    recording = Recording(path, ["bot"], pytest.fail, most=2000)
    for number in range(100):
        recording.chunk(">", number, f"{number} name\n".encode())
        recording.chunk("<", number + 0.5, f"={number} bot\n\n".encode())
    recording.close()
    (now,), (before,) = read_sessions(path), read_sessions(tmp_path / "bot.log.1")
    assert [pair.command for pair in (*before.pairs, *now.pairs)][-1] == "99 name"
    numbers = [int(pair.command.split()[0]) for pair in (*before.pairs, *now.pairs)]
    assert numbers == list(range(numbers[0], 100)) and path.stat().st_size < 2200
    assert sorted(tmp_path.iterdir()) == [path, tmp_path / "bot.log.1"]


@pytest.mark.parametrize("how", ["removed", "removed with its folder", "replaced", "truncated", "truncated in a line"])
def test_a_log_that_is_gone_is_begun_anew(tmp_path: Path, how: str) -> None:
    path = tmp_path / "logs" / "bot.log"
    path.parent.mkdir()
    recording = Recording(path, ["bot"], pytest.fail)
    recording.chunk(">", 1.0, b"name\n")
    if how == "replaced":
        Recording(tmp_path / "other", ["another"], pytest.fail).close()
        (tmp_path / "other").replace(path)
    elif how.startswith("truncated"):
        os.truncate(path, path.stat().st_size - 3 if "line" in how else 0)
    else:
        path.unlink()
    if "folder" in how:
        path.parent.rmdir()
    recording.chunk(">", 2.0, b"version\n")
    recording.chunk("<", 3.0, b"=1\n\n")
    recording.close()
    *before, now = read_sessions(path)
    assert [(pair.command, pair.reply and pair.reply.text) for pair in now.pairs] == [("version", "")]
    (note,) = now.notes
    assert note.endswith(f"the file was {how.split()[0]}: earlier lines are lost")
    assert [session.command for session in before] == {"replaced": [["another"]], "truncated in a line": [["bot"]]}.get(
        how, []
    )


def test_a_log_replaced_by_another_kind_of_file_leaves_that_file_alone(tmp_path: Path) -> None:
    path, warnings = tmp_path / "bot.log", list[str]()
    recording = Recording(path, ["bot"], warnings.append)
    (tmp_path / "other").write_bytes(b"mine\n")
    (tmp_path / "other").replace(path)
    for number in range(3):
        recording.chunk(">", number, b"name\n")
    assert len(warnings) == 1 and "is not a recording of `ggp tap`" in warnings[0] and "is not recorded" in warnings[0]
    assert path.read_bytes() == b"mine\n"


def test_a_log_that_cannot_be_rotated_ends_with_one_warning(tmp_path: Path) -> None:
    path, warnings = tmp_path / "bot.log", list[str]()
    (tmp_path / "bot.log.1").mkdir()
    recording = Recording(path, ["bot"], warnings.append, most=100)
    for number in range(100):
        recording.chunk(">", number, b"name\n")
    recording.close()
    assert len(warnings) == 1 and warnings[0].startswith(f"{path}: ") and "continues but is not recorded" in warnings[0]
    assert path.stat().st_size < 300


def test_a_file_that_cannot_be_written_is_one_warning(tmp_path: Path) -> None:
    warnings: list[str] = []
    recording = Recording(tmp_path / "missing" / "bot.log", ["bot"], warnings.append)
    recording.chunk(">", 1.0, b"name\n")
    recording.close()
    assert len(warnings) == 1 and "No such file or directory" in warnings[0]


def test_a_full_disk_ends_the_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []
    recording = Recording(tmp_path / "bot.log", ["bot"], warnings.append)

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        recording.chunk(">", 1.0, b"name\n")
    recording.chunk(">", 2.0, b"name\n")
    assert len(warnings) == 1 and "No space left on device" in warnings[0]
    assert "name" not in (tmp_path / "bot.log").read_text(encoding="utf-8")


def test_a_file_that_another_writes_is_left_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.protocol.transports.recording._TRIES", 3)
    path, warnings = tmp_path / "bot.log", list[str]()
    first, second = (Recording(path, ["bot"], warnings.append) for _ in range(2))
    assert (first.path, second.path, warnings) == (path, tmp_path / "bot.2.log", [])
    third = Recording(path, ["bot"], warnings.append)
    assert len(warnings) == 1 and "too many taps are writing it" in warnings[0]
    for one in (first, second, third):
        one.close()


@pytest.mark.parametrize("kind", ["text", "device"])
def test_what_no_tap_wrote_is_not_appended_to(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "notes"
    if kind == "text":
        path.write_text("my notes\n", encoding="utf-8")
    else:
        path = Path("/dev/null")
    with pytest.raises(NotARecord, match="name another file"):
        Recording(path, ["bot"], pytest.fail)
    assert kind == "device" or path.read_text(encoding="utf-8") == "my notes\n"
