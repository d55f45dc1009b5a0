"""The standard streams of a command: spelling, streams that are missing, output that cannot be written."""

import codecs
import errno
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ggp.protocol import standard_streams
from ggp.protocol.standard_streams import (
    OutputError,
    encodable,
    open_missing,
    prepare_streams,
    run_program,
    write_stderr,
)


@pytest.mark.parametrize(
    ("encoding", "text", "written"),
    [
        ("ascii", "120 ± 35 …", "120 +/- 35 ..."),
        ("latin-1", "120 ± 35 …", "120 ± 35 ..."),
        ("latin-1", "ν = 0.2, José", "nu = 0.2, José"),
        ("ascii", "José \u4e2d", "Jos\\xe9 \\u4e2d"),
        ("utf-8", "± … \u4e2d", "± … \u4e2d"),
        ("utf-8", "\udcff", "\\udcff"),
    ],
)
def test_a_character_that_the_encoding_lacks_is_spelled(encoding: str, text: str, written: str) -> None:
    assert text.encode(encoding, standard_streams.ERRORS).decode(encoding) == written
    if "\udcff" not in text:
        assert encodable(text, encoding) == written
        assert encodable(text, None) == text


def test_bytes_that_cannot_be_read_stay_an_error() -> None:
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("utf-8", standard_streams.ERRORS)


def test_only_our_encoding_is_added() -> None:
    with pytest.raises(LookupError):
        codecs.lookup("ggp_no_such_encoding")


def _on(descriptor: int, encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.FileIO(descriptor, "wb", closefd=False), encoding=encoding)


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Streams as the interpreter makes them, on descriptors 1 and 2."""

    def make(encoding: str) -> None:
        for name, descriptor in (("stdout", 1), ("stderr", 2)):
            stream = _on(descriptor, encoding)
            monkeypatch.setattr(sys, name, stream)
            monkeypatch.setattr(sys, f"__{name}__", stream)

    return make


def test_ascii_streams_take_every_character(own: Callable[[str], None], capfd: pytest.CaptureFixture[str]) -> None:
    own("ascii")
    prepare_streams()
    prepare_streams()
    for stream in (sys.stdout, sys.stderr):
        print("Elo ± 3", file=stream, flush=True)
        assert stream.encoding != "ascii"  # click would write UTF-8
    assert capfd.readouterr() == ("Elo +/- 3\n", "Elo +/- 3\n")
    write_stderr("ply … 3\n")
    assert capfd.readouterr().err == "ply ... 3\n"


def test_a_stream_of_a_test_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, wrapped = io.StringIO(), io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "stdout", memory)
    monkeypatch.setattr(sys, "stderr", wrapped)
    prepare_streams()
    assert sys.stdout is memory and sys.stderr is wrapped and wrapped.errors == standard_streams.ERRORS


def test_closed_streams_are_opened(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
        monkeypatch.setattr(sys, f"__{name}__", None)
    prepare_streams()
    assert sys.stdin is not None
    print("said", flush=True)
    assert capfd.readouterr().out == "said\n"


@pytest.mark.parametrize("far", [0, 300])
def test_closed_descriptors_are_opened_on_nothing(far: int) -> None:
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    open_missing({free + far: os.O_RDONLY})
    open_missing({free + far: os.O_RDONLY})  # it is open now
    assert os.get_inheritable(free + far)
    with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
        os.write(free + far, b"x")
    os.close(free + far)


def _full() -> int:
    print("± results")
    return 0


@pytest.mark.parametrize(
    ("target", "status", "said"),
    [
        ("/dev/full", 1, "ggp x: cannot write the output: No space left on device\n"),
        ("pipe", 141, ""),
    ],
)
def test_output_that_cannot_be_written_is_one_line(
    target: str, status: int, said: str, own: Callable[[str], None], capfd: pytest.CaptureFixture[str]
) -> None:
    own("utf-8")
    if target == "pipe":
        reading, writing = os.pipe()
        os.close(reading)
    else:
        writing = os.open(target, os.O_WRONLY)
    kept = os.dup(1)
    os.dup2(writing, 1)
    try:
        assert run_program("ggp x", _full) == status
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(writing)
    assert capfd.readouterr().err == said


def test_a_full_stderr_ends_nothing(own: Callable[[str], None]) -> None:
    own("utf-8")
    kept = os.dup(2)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, 2)
    try:
        prepare_streams()
        print("nobody reads this", file=sys.stderr, flush=True)
        write_stderr("nor this\n")
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(full)


def _raising(error: BaseException) -> Callable[[], int]:
    def main() -> int:
        raise error

    return main


def test_what_ends_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program("ggp x", lambda: 3) == 3
    assert run_program("ggp x", _raising(KeyboardInterrupt())) == 130
    with pytest.raises(FileNotFoundError):
        run_program("ggp x", _raising(FileNotFoundError(errno.ENOENT, "no such file")))
    assert capsys.readouterr().err == ""


def test_output_errors_are_distinguished_from_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setattr(sys, "stderr", said := io.StringIO())
    assert run_program("ggp x", _raising(OutputError(errno.EIO, "it is gone"))) == 1
    assert said.getvalue() == "ggp x: cannot write the output: it is gone\n"
