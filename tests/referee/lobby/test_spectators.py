"""The gallery of a lobby, part by part: files that grow, are written anew and go; what strangers may ask of it."""

import asyncio
import os
import resource
from pathlib import Path

import pytest

from protocol.spectator_wire import Request, topic_of
from referee.lobby.game import Live
from referee.lobby.spectator_socket import PubSocket
from referee.lobby.spectators import FolderWatch, LiveMatches, RecordCache, SpectatorServer
from referee.play.record_file import RecordWriter
from tests.referee.lobby.test_spectator_socket import until
from tests.support.spectator_publisher import KEY, events, fail, fields

LINES = [line for _, line in events(6)]
FILE = f"{KEY}.live"


def write(folder: Path, *lines: bytes, mode: str = "ab") -> None:
    with (folder / FILE).open(mode) as file:
        file.writelines(lines)


def test_the_kernel_says_which_files_changed(tmp_path: Path) -> None:
    changes = FolderWatch(tmp_path)
    assert changes.descriptor >= 0
    assert changes.read() == set()
    write(tmp_path, b"1")
    (tmp_path / "other").touch()
    assert changes.read() == {FILE, "other"}
    write(tmp_path, b"2")
    (tmp_path / "other").unlink()
    assert changes.read() == {FILE, "other"}
    changes.close()
    assert changes.read() is None


def test_more_changes_than_the_kernel_keeps_are_a_look_at_everything(tmp_path: Path) -> None:
    changes = FolderWatch(tmp_path)
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    write(tmp_path, b"1")
    (tmp_path / "other").touch()
    one, two = (os.open(tmp_path / name, os.O_WRONLY) for name in (FILE, "other"))
    for _ in range(most):
        os.write(one, b"1")
        os.write(two, b"1")
    assert changes.read() is None
    assert changes.read() == set()
    os.write(one, b"1")
    assert changes.read() == {FILE}
    os.close(one)
    os.close(two)
    changes.close()


def test_a_folder_that_cannot_be_watched_is_looked_at(tmp_path: Path) -> None:
    changes = FolderWatch(tmp_path / "none")
    assert changes.descriptor == -1 and changes.read() is None
    changes.close()


def test_a_match_is_told_as_it_grows_and_its_end_when_it_is_kept(tmp_path: Path) -> None:
    matches = LiveMatches(tmp_path)
    assert matches.read_changes() == []
    write(tmp_path)
    assert matches.read_changes([FILE]) == []
    write(tmp_path, LINES[0][:50])
    assert matches.read_changes([FILE]) == []
    write(tmp_path, LINES[0][50:], LINES[1])
    (change,) = matches.read_changes([FILE])
    assert change.begun and change.events == [fields(line) for line in LINES[:2]] and not change.over
    assert (change.head.match, change.head.bots, change.head.plies) == (KEY, ("ann", "bob"), 1)
    write(tmp_path, *LINES[2:])
    (change,) = matches.read_changes()
    assert not change.begun and change.events == [fields(line) for line in LINES[2:-1]] and not change.over
    assert matches.page(KEY, 0, 100, 10**6) == (LINES[:-1], 7)
    (tmp_path / FILE).unlink()
    (change,) = matches.read_changes()
    assert change.over and change.events == [fields(LINES[-1])] and change.lines == b"".join(LINES)
    assert matches.read_changes() == [] and matches.page(KEY, 0, 1, 1) is None and matches.heads() == []
    matches.close()


def test_what_was_written_and_removed_unseen_is_told_once_it_was_seen_before(tmp_path: Path) -> None:
    matches = LiveMatches(tmp_path)
    write(tmp_path, *LINES[:2])
    matches.read_changes()
    write(tmp_path, *LINES[2:])
    (tmp_path / FILE).unlink()
    grown, over = matches.read_changes()
    assert grown.events == [fields(line) for line in LINES[2:-1]]
    assert over.over and over.lines == b"".join(LINES)
    matches.close()


def test_a_match_that_is_given_up_has_no_lines(tmp_path: Path) -> None:
    matches = LiveMatches(tmp_path)
    write(tmp_path, *LINES[:3])
    matches.read_changes()
    (tmp_path / FILE).unlink()
    (change,) = matches.read_changes()
    assert change.over and change.lines == b"" and change.events == []
    matches.close()


@pytest.mark.parametrize("how", ["shorter", "longer", "another file"])
def test_a_file_that_is_written_anew_is_read_anew(tmp_path: Path, how: str) -> None:
    matches = LiveMatches(tmp_path)
    write(tmp_path, *LINES[:4])
    matches.read_changes()
    other = [line for _, line in events(5 if how == "longer" else 1, bot="somebody", ended=False)]
    if how == "another file":
        (tmp_path / FILE).unlink()
    write(tmp_path, *other, mode="wb")
    found = [event for change in matches.read_changes() for event in change.events]
    assert found[-len(other) :] == [fields(line) for line in other]
    assert matches.page(KEY, 0, 100, 10**6) == (other, len(other))
    matches.close()


def test_what_is_no_match_is_not_told(tmp_path: Path) -> None:
    matches = LiveMatches(tmp_path)
    for name in ("x", ".live", "a b.live", f"{KEY}1.live"):
        (tmp_path / name).write_bytes(b"".join(LINES))
    write(tmp_path, LINES[0].replace(b'"bots"', b'"boots"'))
    assert matches.read_changes() == [] and matches.heads() == []
    write(tmp_path, b"[" * 10_000 + b"\n", mode="wb")
    assert matches.read_changes() == []
    assert matches.read_changes(["../x.live", "gone.live"]) == []
    matches.close()


def test_pages_are_bounded_in_events_and_bytes(tmp_path: Path) -> None:
    matches = LiveMatches(tmp_path)
    write(tmp_path, *LINES[:-1])
    matches.read_changes()
    assert matches.page(KEY, 2, 3, 10**6) == (LINES[2:5], 7)
    assert matches.page(KEY, 2, 100, 1) == (LINES[2:3], 7)
    assert matches.page(KEY, 7, 100, 10**6) == ([], 7)
    assert matches.page(KEY, 10**9, 100, 10**6) == ([], 7)
    matches.close()


async def test_the_shelf_keeps_the_latest_and_asks_the_store(tmp_path: Path) -> None:
    shelf = RecordCache(f"sqlite:///{tmp_path}/none.db")
    shelf.put(KEY, b"".join(LINES))
    assert await shelf.page(KEY, 1, 2, 10**6) == (LINES[1:3], 8)
    assert await shelf.page(KEY, 1, 9, 1) == (LINES[1:2], 8)
    assert await shelf.page("another", 0, 2, 10**6) is None
    for number in range(20):
        shelf.put(f"m{number}", b"x" * 1024 * 1024)
    assert await shelf.page(KEY, 1, 2, 10**6) is None
    assert await shelf.page("m19", 0, 2, 10**6) is not None
    shelf.close()


def test_a_match_that_is_taken_up_is_written_on(tmp_path: Path) -> None:
    live, told = Live(tmp_path), events(6)
    write(tmp_path, *LINES[:4], LINES[4][:20])
    descriptor, kept = live.open(KEY, again=True)
    tape, size = RecordWriter(descriptor, kept), (tmp_path / FILE).stat().st_size
    for event, _ in told[:4]:
        tape.emit(event)
        assert (tmp_path / FILE).stat().st_size == size
    for event, _ in told[4:]:
        tape.emit(event)
    assert (tmp_path / FILE).read_bytes() == b"".join(LINES) == b"".join(tape.lines)
    os.close(descriptor)
    descriptor, kept = live.open(KEY)
    assert kept == b"" and (tmp_path / FILE).stat().st_size == 0
    os.close(descriptor)


def test_a_match_that_is_taken_up_by_others_is_written_anew(tmp_path: Path) -> None:
    write(tmp_path, *LINES[:4])
    descriptor, kept = Live(tmp_path).open(KEY, again=True)
    tape, other = RecordWriter(descriptor, kept), events(3, bot="cid", ended=False)
    for event, _ in other:
        tape.emit(event)
    assert (tmp_path / FILE).read_bytes() == b"".join(line for _, line in other)
    os.close(descriptor)


def test_nothing_is_written_behind_a_line_that_is_torn(tmp_path: Path) -> None:
    """The disk is full in the middle of a line, and has room again: what came before can still be taken up."""
    live, told = Live(tmp_path), events(6)
    descriptor, _ = live.open(KEY)
    tape, (soft, hard) = RecordWriter(descriptor), resource.getrlimit(resource.RLIMIT_FSIZE)
    room = len(b"".join(LINES[:3])) + 10
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
        for event, _ in told[:4]:
            tape.emit(event)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / FILE).stat().st_size == room
    for event, _ in told[4:]:
        tape.emit(event)
    os.close(descriptor)
    assert b"".join(tape.lines) == b"".join(LINES)
    ((record, _),) = live.recover()
    assert list(record.plies) == [event for event, _ in told[1:3]]


# -- the whole ---------------------------------------------------------------------------------------------------------


class Still(PubSocket):
    """A stage that nobody stands before: what is published is kept."""

    def __init__(self) -> None:
        self.published: list[tuple[bytes, bytes]] = []

    connections = 1

    def open(self) -> None:
        return

    async def close(self, linger: float = 0.0) -> None:
        return

    def publish(self, topic: bytes, payload: bytes) -> None:
        self.published.append((topic, payload))


async def test_without_word_of_the_kernel_it_looks_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("referee.lobby.spectators._watch", lambda folder: -1)
    still = Still()
    gallery = SpectatorServer(
        "club", tmp_path, RecordCache(f"sqlite:///{tmp_path}/none.db"), lambda gallery: still, fail
    )
    gallery.open()
    write(tmp_path, *LINES)
    await until(lambda: len(still.published) == len(LINES))
    await gallery.close()


async def test_questions_are_answered_in_turn_and_not_kept_for_ever(tmp_path: Path) -> None:
    write(tmp_path, *LINES[:3])
    still = Still()
    gallery = SpectatorServer(
        "club", tmp_path, RecordCache(f"sqlite:///{tmp_path}/none.db"), lambda gallery: still, fail
    )
    topics = [f"catch-up/match/{KEY}/0/{number}".encode() for number in range(100)]
    for topic in topics:
        gallery.requests.subscribed(1, topic)
    gallery.requests.subscribed(2, b"catch-up/match/unknown/0/a")
    gallery.requests.subscribed(3, b"catch-up/ladder/other/0/a")
    gallery.requests.subscribed(4, b"match/no-question")
    gallery.requests.subscribed(5, b"catch-up/match/gone/0/a")
    gallery.requests.left(5)
    gallery.open()
    await until(lambda: len(still.published) >= 4 * 4 + 2)
    await gallery.close()
    order = list(dict.fromkeys(topic for topic, _ in still.published))
    assert order == [topics[0], b"catch-up/match/unknown/0/a", b"catch-up/ladder/other/0/a", *topics[1:4]]
    assert Request(topics[0], "match", KEY, 0) and topic_of("match", KEY) not in order


async def test_who_asks_again_before_his_turn_is_answered_what_he_asked_last(tmp_path: Path) -> None:
    write(tmp_path, *LINES[:3])
    still = Still()
    gallery = SpectatorServer(
        "club", tmp_path, RecordCache(f"sqlite:///{tmp_path}/none.db"), lambda gallery: still, fail
    )
    first, others, again = (f"catch-up/match/{KEY}/0/{nonce}".encode() for nonce in "abc")
    gallery.requests.subscribed(1, first)
    gallery.requests.subscribed(2, others)
    gallery.requests.unsubscribed(1, first)
    gallery.requests.subscribed(1, again)
    gallery.requests.subscribed(3, first)
    gallery.requests.unsubscribed(3, first)
    gallery.requests.unsubscribed(4, first)
    gallery.open()
    await until(lambda: len(still.published) >= 2 * 4)
    await gallery.close()
    assert list(dict.fromkeys(topic for topic, _ in still.published)) == [again, others]


async def test_who_asks_and_leaves_at_once_keeps_nobody_from_an_answer(tmp_path: Path) -> None:
    write(tmp_path, *LINES[:3])
    still = Still()
    gallery = SpectatorServer(
        "club", tmp_path, RecordCache(f"sqlite:///{tmp_path}/none.db"), lambda gallery: still, fail
    )
    hasty, other = (f"catch-up/match/{KEY}/0/{nonce}".encode() for nonce in "ab")
    gallery.open()
    await asyncio.sleep(0)  # it waits for questions
    gallery.requests.subscribed(1, hasty)
    gallery.requests.left(1)
    await asyncio.sleep(0)
    gallery.requests.subscribed(2, other)
    await until(lambda: len(still.published) >= 4)
    await gallery.close()
    assert {topic for topic, _ in still.published} == {other}
