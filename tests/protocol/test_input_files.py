"""Files that users name: whatever the name leads to, reading neither waits nor fills the memory."""

import errno
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ggp.protocol.input_files import NotRegular, in_words, open_input, read_input

GGP_COMMAND = [sys.executable, "-m", "ggp.referee.cli"]
BOUND = 2 << 30  # bytes of address space of a command
PATIENCE = 120  # seconds: a command that waits for a writer never ends


def test_a_regular_file_is_read_also_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("file")
    assert read_input(tmp_path / "file", 3) == read_input(str(tmp_path / "link"), 3) == b"abc"
    with open_input(tmp_path / "link") as file:
        assert file.readline() == b"abc" and not os.get_inheritable(file.fileno())
    with pytest.raises(NotRegular, match="it is a symbolic link"):
        open_input(tmp_path / "link", follow=False)


def test_what_is_larger_is_refused_before_it_is_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abcd")
    with pytest.raises(OSError, match="it is larger than 3 bytes") as caught:
        read_input(tmp_path / "file", 3)
    assert caught.value.errno == errno.EFBIG
    os.truncate(tmp_path / "file", 1 << 40)  # sparse
    with pytest.raises(OSError, match="it is larger than 1 KiB"):
        read_input(tmp_path / "file", 1024)


@pytest.mark.timeout(20)
def test_pipes_devices_sockets_and_folders_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket"))
        for name, kind in (("pipe", "a named pipe"), ("zero", "a device"), ("socket", "a socket")):
            with pytest.raises(NotRegular, match=f"it is {kind}, not a regular file"):
                read_input(tmp_path / name, 10)
    with pytest.raises(IsADirectoryError):
        open_input(tmp_path)
    with pytest.raises(FileNotFoundError):
        open_input(tmp_path / "none")
    with pytest.raises(ValueError, match="null byte"):
        open_input("a\0b")


def test_a_pipe_that_the_shell_gave_us_is_read_to_its_end_where_that_is_wanted(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    thread = threading.Timer(0.2, _write, (writing, b"late"))
    thread.start()
    with pytest.raises(NotRegular):
        open_input(f"/dev/fd/{reading}")
    with open_input(f"/dev/fd/{reading}", pipe=True) as file:
        assert file.read() == b"late", "it waits for the writer, which the user has started"
    thread.join()
    os.close(reading)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotRegular):
        open_input(tmp_path / "pipe", pipe=True)


def _write(descriptor: int, data: bytes) -> None:
    os.write(descriptor, data)
    os.close(descriptor)


def test_a_file_that_becomes_a_pipe_while_it_is_opened_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    real_open, opened = os.open, list[int]()

    def exchange_and_open(name: str, flags: int) -> int:
        Path(name).unlink()
        os.mkfifo(name)
        opened.append(real_open(name, flags))
        return opened[-1]

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", exchange_and_open)
        with pytest.raises(NotRegular, match="it is a named pipe"):
            open_input(tmp_path / "file")
    (descriptor,) = opened
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


@pytest.mark.parametrize(
    ("size", "text"), [(16 << 20, "16 MiB"), (4 << 30, "4 GiB"), (2048, "2 KiB"), (999, "999 bytes")]
)
def test_sizes_in_words(size: int, text: str) -> None:
    assert in_words(size) == text


# -- every command that reads a file ---------------------------------------------------------------------------------


COMMANDS = [
    "check -- FILE",
    "check FILE",
    "connect tcp://127.0.0.1:1 FILE",
    "connect tcp://127.0.0.1:1 --key FILE random",
    "console FILE",
    "engine FILE.py",
    "export FILE",
    "import FILE",
    "keys list --registry FILE",
    "ladder check FILE",
    "ladder report FILE -o site",
    "ladder run FILE",
    "ladder standings FILE",
    "match yugo,size=3 a=FILE random",
    "match yugo,size=3 random greedy --engine FILE",
    "match yugo,size=3 random greedy --openings FILE",
    "match yugo,size=3 random greedy --record FILE --games 2",
    "rate FILE",
    "regress FILE -- random",
    "regress @FILE -- random",
    "serve FILE",
    "show FILE",
    "tap -- FILE",
    "tap --show FILE",
    "tune FILE",
    "verify FILE",
    "web FILE",
]


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("kind", ["pipe", "zero"])
def test_no_command_waits_for_a_pipe_or_reads_a_device(tmp_path: Path, words: str, kind: str) -> None:
    python = words.endswith(".py")
    words = words.removesuffix(".py")
    name = tmp_path / ("x.toml" if words.startswith(("ladder", "serve", "tune")) else ("x.py" if python else "x.tst"))
    if kind == "pipe":
        os.mkfifo(name, 0o700)  # executable, as a program is
    else:
        name.symlink_to("/dev/zero")
    ran = subprocess.run(
        ["prlimit", f"--as={BOUND}", *GGP_COMMAND, *words.replace("FILE", str(name)).split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        stdin=subprocess.DEVNULL,
    )
    assert ran.returncode in (1, 2), ran.stderr
    assert "Traceback" not in ran.stderr and "MemoryError" not in ran.stderr
    assert str(name) in ran.stderr + ran.stdout
