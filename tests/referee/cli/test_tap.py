"""The tap passes on every byte, signal and end as if it were not there, whatever happens to its record."""

import contextlib
import fcntl
import os
import pty
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggp.protocol.transports.transcript import read_lines
from tests.support import ROOT
from tests.support.cli import ggp, wait_until

pytestmark = pytest.mark.slow

TAP = [sys.executable, "-m", "ggp.referee.cli", "tap"]
PATIENCE = 60


class Tapped:
    """A tap of this test and the pipes around it."""

    def __init__(self, record: Path, *program: str, **more: object) -> None:
        self.record = record
        self.process: subprocess.Popen[bytes] = subprocess.Popen(  # type: ignore[call-overload]
            [*TAP, "-o", str(record), "--", *program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=ROOT,
            **more,
        )

    @property
    def stdin(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    def read(self, size: int) -> bytes:
        """Exactly so many bytes."""
        data = b""
        while len(data) < size:
            assert select.select([self.stdout], [], [], PATIENCE)[0], f"{len(data)} of {size} bytes came"
            more = os.read(self.stdout.fileno(), size - len(data))
            assert more, f"the output ended after {len(data)} bytes"
            data += more
        return data

    def end(self) -> tuple[int, bytes, bytes]:
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err

    def passed(self, mark: str) -> bytes:
        """All that the record has in one direction."""
        return b"".join(
            data for found, _, data in read_lines(self.record.read_text(encoding="utf-8").split("\n")) if found == mark
        )


@contextlib.contextmanager
def tapped(record: Path, *program: str, **more: object) -> Iterator[Tapped]:
    tap = Tapped(record, *program, **more)
    try:
        yield tap
    finally:
        tap.process.kill()
        tap.process.communicate()


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tapped]:
    with tapped(tmp_path_factory.mktemp("tap") / "echo.log", "cat") as tap:
        yield tap


sent_to_echo: list[bytes] = []


@settings(deadline=None, max_examples=60)
@given(st.lists(st.binary(min_size=1, max_size=3000), max_size=6))
def test_every_byte_passes_as_it_was_cut(echo: Tapped, pieces: list[bytes]) -> None:
    for piece in pieces:
        echo.stdin.write(piece)
        assert echo.read(len(piece)) == piece  # at once, whether it ends a line or not
        sent_to_echo.append(piece)


def test_then_the_record_holds_the_same(echo: Tapped) -> None:
    echo.stdin.write(b"\0\xff\r\n \n")
    sent = b"".join(sent_to_echo) + b"\0\xff\r\n \n"
    code, out, err = echo.end()
    assert (code, out, err) == (0, b"\0\xff\r\n \n", b"")
    assert echo.passed(">") == sent and echo.passed("<") == sent
    lines = echo.record.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# ggp tap 1 20") and lines[0].endswith('["cat"]')
    times = [seconds for _, seconds, _ in read_lines(lines)]
    assert times == sorted(times)
    assert lines[-1].endswith("exit status 0") and any(line.endswith("end of input") for line in lines)


def test_megabytes_pass_both_ways_and_stderr_apart(tmp_path: Path) -> None:
    program = python(
        "import sys,shutil; sys.stderr.write('e'*300000); shutil.copyfileobj(sys.stdin.buffer,sys.stdout.buffer)"
    )
    data = os.urandom(3_000_000)
    with tapped(tmp_path / "x.log", *program) as tap:
        out, err = tap.process.communicate(data, timeout=PATIENCE)
        assert (tap.process.returncode, out == data, err) == (0, True, b"e" * 300000)
        assert tap.passed("!") == err and tap.passed("<") == data


def test_a_slow_reader_slows_the_writer(tmp_path: Path) -> None:
    program = python("import os\nfor n in range(10**9): os.write(1, b'x' * 4096); os.write(2, b'%d ' % n)")
    with tapped(tmp_path / "x.log", *program) as tap:
        assert tap.process.stderr is not None
        said, quiet = b"", 0
        while quiet < 3:  # stdout is not read: it stops, and its stderr says how far it came
            ready = select.select([tap.process.stderr], [], [], 0.5)[0]
            quiet = 0 if ready else quiet + bool(said)
            said += os.read(tap.process.stderr.fileno(), 65536) if ready else b""
        assert int(said.split()[-1]) < 100  # two pipes of 64 KiB and one chunk, not memory without end
        assert tap.read(500_000) == b"x" * 500_000


def test_the_child_that_does_not_read_slows_the_controller(tmp_path: Path) -> None:
    with tapped(tmp_path / "x.log", "sleep", "60") as tap:
        os.set_blocking(tap.stdin.fileno(), False)
        taken, full = 0, 0
        while full < 5:
            try:
                taken += os.write(tap.stdin.fileno(), b"x" * 4096)
                full = 0
            except BlockingIOError:
                full += 1
                time.sleep(0.1)
        assert taken < 1_000_000
        assert tap.process.poll() is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_reach_the_child(tmp_path: Path, number: signal.Signals) -> None:
    program = python(
        f"import signal,sys,time\nsignal.signal({int(number)}, lambda *_: sys.exit(42))\n"
        "print('ready', flush=True)\nwhile True: time.sleep(60)"
    )
    with tapped(tmp_path / "x.log", *program) as tap:
        assert tap.read(6) == b"ready\n"
        tap.process.send_signal(number)
        assert tap.end()[0] == 42


def test_how_the_child_ended_is_how_the_tap_ends(tmp_path: Path) -> None:
    for code, status in (("exit 3", 3), ("kill -TERM $$", 143), ("kill -KILL $$", 137)):
        with tapped(tmp_path / "x.log", "sh", "-c", f"printf half; {code}") as tap:
            assert tap.end() == (status, b"half", b"")
    assert (tmp_path / "x.log").read_text(encoding="utf-8").count("# ggp tap 1 ") == 3  # one record, three sessions


def test_a_killed_tap_leaves_no_process(tmp_path: Path) -> None:
    with tapped(tmp_path / "x.log", *python("import os,time; print(os.getpid(), flush=True); time.sleep(300)")) as tap:
        pid = int(tap.stdout.readline())
        tap.process.kill()
        tap.process.wait(PATIENCE)
        wait_until(lambda: not _runs(pid))


def _runs(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in ("Z", "X")
    return False


def test_each_side_learns_that_the_other_left(tmp_path: Path) -> None:
    with tapped(tmp_path / "x.log", "yes") as tap:  # no reader: it dies of SIGPIPE, as it would without a tap
        tap.stdout.close()
        assert tap.process.wait(PATIENCE) == 128 + signal.SIGPIPE
    with tapped(tmp_path / "y.log", "sh", "-c", "exec 0<&-; sleep 60") as tap, pytest.raises(BrokenPipeError):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:  # it closed its input: so do we
            tap.stdin.write(b"x" * 1000)
            time.sleep(0.01)


def test_a_grandchild_that_keeps_the_pipes_keeps_no_reader_waiting(tmp_path: Path) -> None:
    with tapped(tmp_path / "x.log", "sh", "-c", "sleep 20 & echo said") as tap:
        assert tap.read(5) == b"said\n"
        assert tap.process.wait(PATIENCE) == 0


def _small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))


def test_a_full_disk_does_not_disturb(tmp_path: Path) -> None:
    with tapped(tmp_path / "x.log", "cat", preexec_fn=_small_files) as tap:
        for number in range(100):
            tap.stdin.write(b"%03d\n" % number * 25)
            assert tap.read(100) == b"%03d\n" % number * 25
        code, _, err = tap.end()
    assert code == 0
    assert (
        err.decode() == f"ggp tap: {tmp_path / 'x.log'}: File too large: the dialogue continues but is not recorded\n"
    )
    assert (tmp_path / "x.log").stat().st_size == 2000


def test_a_record_that_cannot_be_made_does_not_disturb(tmp_path: Path) -> None:
    with tapped(tmp_path / "none" / "x.log", "echo", "said") as tap:
        code, out, err = tap.end()
    assert (code, out) == (0, b"said\n") and err.count(b"not recorded") == 1


def test_no_file_of_another_user_is_touched(tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("dear diary", encoding="utf-8")
    ran = ggp("tap", "-o", str(mine), "--", "echo", "said")
    assert (ran.status, ran.out) == (2, "") and "name another file" in ran.err
    assert mine.read_text(encoding="utf-8") == "dear diary"
    ran = ggp("tap", "-o", str(tmp_path), "--", "echo", "said")
    assert ran.status == 0 and ran.out == "said\n" and "not recorded" in ran.err


def test_two_taps_do_not_write_one_file(tmp_path: Path) -> None:
    with tapped(tmp_path / "x.log", "cat") as one, tapped(tmp_path / "x.log", "cat") as two:
        for tap in (one, two):
            tap.stdin.write(b"a\n")
            assert tap.read(2) == b"a\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.2.log", "x.log"]


def test_behind_a_terminal(tmp_path: Path) -> None:
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [*TAP, "-o", str(tmp_path / "x.log"), "sh", "-c", "read line; echo got $line; read line; echo $line"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=ROOT,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, 0x540E, 0),  # TIOCSCTTY: Ctrl-C goes to this group
    )
    os.close(terminal)
    try:
        os.write(controller, b"one\n")
        said = b""
        while b"got one\r\n" not in said:
            said += os.read(controller, 1000)
        os.write(controller, b"\x03")
        assert process.wait(PATIENCE) == 128 + signal.SIGINT
    finally:
        process.kill()
        process.wait()
        os.close(controller)


def test_missing_descriptors_are_no_trouble(tmp_path: Path) -> None:
    record = tmp_path / "x.log"
    line = f'"{sys.executable}" -m ggp.referee.cli tap -o "{record}" echo said <&- 2>&-'
    done = subprocess.run(["sh", "-c", line], stdout=subprocess.PIPE, timeout=PATIENCE, cwd=ROOT)
    assert (done.returncode, done.stdout) == (0, b"said\n")


def test_bad_usage_says_what_to_write() -> None:
    for words in ((), ("tcp://127.0.0.1:5",), ("no-such-program-anywhere",), ("--show",), ("--show", "/no/such/file")):
        ran = ggp("tap", *words)
        assert ran.status == 2 and ran.out == "" and ran.err.startswith("ggp tap: ") and ran.err.count("\n") == 1
