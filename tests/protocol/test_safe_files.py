"""Links that another user planted in a folder: no command writes outside of the folder."""

import contextlib
import errno
import os
import pwd
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from ggp.protocol.safe_files import (
    create_file,
    is_private_folder,
    move_descriptor,
    open_folder,
    open_new,
    open_to_append,
    replace_file,
    replacing,
    resolve_file,
)
from ggp.protocol.transports.keys import new_pair, write_pair
from ggp.protocol.transports.recording import Recording
from ggp.referee.cli import show
from ggp.referee.command_line import opened
from ggp.referee.ladder.store.store import Store
from ggp.referee.match.record_file import RecordFile
from ggp.referee.match.resume import MatchFiles, SideFile
from ggp.referee.server.lobby.keys import Book, RegistryError, change
from ggp.referee.server.web.report import Folder
from ggp.referee.tools.console.prompt import PromptHistory
from ggp.referee.tools.regress import run

ROOT = os.geteuid() == 0
NO_CULPRIT = 65534 if ROOT else os.geteuid() + 1  # another user than this one


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of another user. Where the tests do not run as root, it is this process that counts as another user."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    if ROOT:
        os.chown(folder, NO_CULPRIT, NO_CULPRIT)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: NO_CULPRIT)
    return folder


def plant(link: Path, target: Path) -> None:
    link.symlink_to(target)
    if ROOT:
        os.lchown(link, NO_CULPRIT, NO_CULPRIT)


# -- every writer -----------------------------------------------------------------------------------------------------


def write_registry(path: Path) -> None:
    with change(path) as write:
        write(Book())


def write_lock(path: Path) -> None:
    write_registry(path.with_name(path.name.removeprefix(".").removesuffix(".lock")))


def write_record(path: Path) -> None:
    with RecordFile(path) as recorder:
        recorder.append(b"x\n")


def write_side_file(path: Path) -> None:
    side = SideFile(str(path).removesuffix(".live-1").removesuffix(".live-1.new"), 1)
    if (descriptor := side.begin()) is not None:
        os.write(descriptor, b"x\n")
    side.close()


def write_live(path: Path) -> None:
    descriptor, _ = MatchFiles(path.parent).open(path.stem)
    os.write(descriptor, b"x\n")
    os.close(descriptor)


def write_tap(path: Path) -> None:
    Recording(path, ("bot",), lambda warning: None).close()


def write_report(path: Path) -> None:
    folder = Folder(path.parent)
    folder.begin({path.name})
    folder.write(path.name, "page")
    folder.close()


def write_export(path: Path) -> None:
    with opened(str(path)) as file:
        file.write(b"x")


def write_store(path: Path) -> None:
    Store.open(f"sqlite:///{path}", create=True).close()


def write_history(path: Path) -> None:
    PromptHistory(path).store_string("genmove black")


WRITERS: dict[str, Callable[[Path], object]] = {
    "keys.json": write_registry,
    ".keys.json.lock": write_lock,
    "ggp.key": lambda path: write_pair(path, new_pair()),
    "games.jsonl": write_record,
    "games.jsonl.live-1": write_side_file,
    "games.jsonl.live-1.new": write_side_file,
    "0-1-1.live": write_live,
    "tap.log": write_tap,
    "games.sgf": write_export,
    "picture.svg": lambda path: show._write(str(path), "<svg/>"),
    "suite.log": lambda path: run._open_log(path).close(),
    "club.db": write_store,
    "history": write_history,
    "lobby.toml": lambda path: create_file(path, b"x"),
    "index.html": write_report,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_writer_writes(tmp_path: Path, name: str) -> None:
    """Without this the tests below would hold of a writer that does nothing."""
    WRITERS[name](tmp_path / name)
    assert (tmp_path / name.removesuffix(".new")).exists()


@pytest.mark.parametrize("name", WRITERS)
def test_a_link_of_another_user_is_not_followed(theirs: Path, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "victim").write_bytes(b"")
    for target in ("victim", "new"):
        (theirs / name).unlink(missing_ok=True)
        plant(theirs / name, outside / target)
        with contextlib.suppress(Exception):  # each writer has its own; what counts is the folder outside
            WRITERS[name](theirs / name)
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == {"victim": b""}


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_that_is_a_link_of_another_user_is_not_entered(theirs: Path, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    plant(theirs / "sub", outside)
    with contextlib.suppress(Exception):
        WRITERS[name](theirs / "sub" / name)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("name", WRITERS)
def test_a_hard_link_in_a_folder_of_others_keeps_its_content(theirs: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "victim").write_bytes(b"")
    (theirs / name).hardlink_to(tmp_path / "victim")
    with contextlib.suppress(Exception):
        WRITERS[name](theirs / name)
    assert (tmp_path / "victim").read_bytes() == b""


def test_a_hard_link_that_is_taken_away_while_it_is_opened(
    theirs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim, link, opened = tmp_path / "victim", theirs / "games.jsonl", os.open
    victim.write_bytes(b"precious")
    link.hardlink_to(victim)

    def open_and_unlink(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        descriptor = opened(path, flags, mode, dir_fd=dir_fd)
        if path == link.name and flags & os.O_APPEND:
            link.unlink()
        return descriptor

    monkeypatch.setattr(os, "open", open_and_unlink)
    with pytest.raises(OSError, match="replaced"):
        open_to_append(link, empty=True)
    assert victim.read_bytes() == b"precious"


def test_the_registry_as_root_in_the_folder_of_the_service(theirs: Path, tmp_path: Path) -> None:
    """The name of the file while it was written was known beforehand, and a link there was followed."""
    write_registry(theirs / "keys.json")
    (tmp_path / "shadow").write_bytes(b"precious")
    plant(theirs / f".keys.json.{os.getpid()}", tmp_path / "shadow")
    (theirs / "keys.json").chmod(0o640)
    if ROOT:
        os.chown(theirs / "keys.json", NO_CULPRIT, NO_CULPRIT)
    write_registry(theirs / "keys.json")
    assert (tmp_path / "shadow").read_bytes() == b"precious"
    after = (theirs / "keys.json").stat()
    assert after.st_mode & 0o777 == 0o640 and (not ROOT or (after.st_uid, after.st_gid) == (NO_CULPRIT, NO_CULPRIT))


def test_the_refusal_says_whose_link_it_is(theirs: Path, tmp_path: Path) -> None:
    plant(theirs / "keys.json", tmp_path / "elsewhere")
    with pytest.raises(RegistryError, match=r"keys.json is a symbolic link that belongs to .*: delete it, or run as"):
        write_registry(theirs / "keys.json")


def test_folders_and_links_that_change_all_the_time(theirs: Path, tmp_path: Path) -> None:
    """`sub` is a folder and a link in turn, as fast as another thread can exchange them."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(b"precious")
    (theirs / "sub").mkdir()
    plant(theirs / "link", outside)
    stop = threading.Event()

    def exchange() -> None:
        while not stop.is_set():
            for source, target in (("sub", "kept"), ("link", "sub"), ("sub", "link"), ("kept", "sub")):
                (theirs / source).rename(theirs / target)

    racing = threading.Thread(target=exchange)
    racing.start()
    written = attempts = 0
    until = time.monotonic() + 60  # the two may keep step for a while
    try:
        while attempts < 300 or (not written and time.monotonic() < until):
            attempts += 1
            with contextlib.suppress(OSError):
                replace_file(theirs / "sub" / "file", b"x")
                written += 1
            with contextlib.suppress(OSError):
                os.close(open_to_append(theirs / "sub" / "file", empty=True))
                written += 1
    finally:
        stop.set()
        racing.join()
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == {"file": b"precious"}
    assert written, "the folder was there now and then"


def test_a_pipe_of_another_user_is_not_written(theirs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(theirs / "pipe")
    if ROOT:
        os.chown(theirs / "pipe", NO_CULPRIT, NO_CULPRIT)
    reader = os.open(theirs / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    owner = pwd.getpwuid(os.fstat(reader).st_uid).pw_name
    with pytest.raises(OSError, match=f"it is not a regular file and belongs to {owner}: "):
        replace_file(theirs / "pipe", b"x")

    def unknown(number: int) -> NoReturn:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", unknown)  # of a user that was deleted only the number is left
    with pytest.raises(OSError, match=r"belongs to user \d+: "):
        replace_file(theirs / "pipe", b"x")
    assert os.read(reader, 10) == b""
    os.close(reader)


# -- in one's own folders ---------------------------------------------------------------------------------------------


def test_own_links_lead_on(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "there").symlink_to("data")
    (tmp_path / "data" / "name").symlink_to(tmp_path / "data" / "file")
    replace_file(tmp_path / "there" / "name", b"one")
    descriptor = open_to_append(tmp_path / "data" / ".." / "there" / "name")
    os.write(descriptor, b" two")
    os.close(descriptor)
    assert (tmp_path / "data" / "file").read_bytes() == b"one two" and (tmp_path / "data" / "name").is_symlink()
    assert resolve_file(tmp_path / "there" / "name") == tmp_path.resolve() / "data" / "file"
    with pytest.raises(FileExistsError):
        create_file(tmp_path / "data" / "name", b"")
    (tmp_path / "turn").symlink_to("turn")
    with pytest.raises(OSError, check=lambda error: error.errno == errno.ELOOP):
        replace_file(tmp_path / "turn", b"")


@pytest.mark.parametrize("path", ["..", "/", "."])
def test_what_can_only_be_a_folder_is_not_written(path: str) -> None:
    with pytest.raises(IsADirectoryError):
        replace_file(Path(path), b"")


def test_a_new_file_that_cannot_have_its_name_is_closed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    folder, name = open_folder(tmp_path / "folder")
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(IsADirectoryError):
        open_new(folder, name)
    assert len(list(Path("/proc/self/fd").iterdir())) == before and (tmp_path / "folder").is_dir()
    os.close(folder)


def test_a_private_folder_is_a_folder_of_this_user_that_others_may_not_write(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir(0o755)
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o775)
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("mine")
    assert [path.name for path in tmp_path.iterdir() if is_private_folder(path)] == ["mine"]
    assert not is_private_folder(tmp_path / "absent")


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"before")
    (tmp_path / "file").chmod(0o604)
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "file") as file:
        file.write(b"after")
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"before"
    replace_file(tmp_path / "file", b"after")
    assert (tmp_path / "file").read_bytes() == b"after"
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o604


def test_a_pipe_with_a_name_and_an_open_file_are_written_as_they_are(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    replace_file(tmp_path / "pipe", b"said")
    assert os.read(reader, 10) == b"said" and (tmp_path / "pipe").is_fifo()
    os.close(reader)
    there, here = os.pipe()
    replace_file(Path(f"/dev/fd/{here}"), b"said")
    assert os.read(there, 10) == b"said"
    os.close(there)
    os.close(here)
    with pytest.raises(IsADirectoryError):
        replace_file(tmp_path, b"")


def test_a_descriptor_is_moved_to_another_file(tmp_path: Path) -> None:
    old = os.open(tmp_path / "old", os.O_CREAT | os.O_WRONLY)
    new = os.open(tmp_path / "new", os.O_CREAT | os.O_WRONLY)
    move_descriptor(new, old)
    os.write(old, b"moved")
    assert ((tmp_path / "old").read_bytes(), (tmp_path / "new").read_bytes()) == (b"", b"moved")
    assert not os.get_inheritable(old)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(new)
    os.close(old)
