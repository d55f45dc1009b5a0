"""Pipes to real child processes: slow, full, flooding, dying; nothing hangs or leaks. To end them is not its part."""

import contextlib
import fcntl
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from ggp.protocol.channel import Channel
from ggp.protocol.connection import PeerRole
from ggp.protocol.errors import PeerGone, PeerTimeout, RemoteProtocolError
from ggp.protocol.messages import Reply
from ggp.protocol.standard_streams import OutputError
from ggp.protocol.transports import pipe as pipe_module
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.pipe import SLOW_WRITE, Pipe, report_on_stderr, serve_stdio
from tests.support.answering_program import make_responder
from tests.support.codes import raises

Start = Callable[[str], Pipe]
# What each child program may use: say() writes to stdout, hear() reads a line of stdin, err() writes to stderr.
PRELUDE = """
import os, sys, time
from tests.support.codes import raises
def say(data): os.write(1, data)
def err(data): os.write(2, data)
def hear(file=os.fdopen(0, "rb", closefd=False)): return file.readline()
"""


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture(params=[pytest.param("process", marks=pytest.mark.slow)])
def start() -> Iterator[Start]:
    """Starts a child by its Python source; afterwards every descriptor must be closed again."""
    before = open_descriptors()
    pipes: list[Pipe] = []
    children: list[subprocess.Popen[bytes]] = []

    def started(source: str) -> Pipe:
        ends = [os.pipe() for _ in range(3)]
        child = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + source], stdin=ends[0][0], stdout=ends[1][1], stderr=ends[2][1]
        )
        for descriptor in (ends[0][0], ends[1][1], ends[2][1]):
            os.close(descriptor)
        children.append(child)
        pipes.append(Pipe(ends[0][1], ends[1][0], ends[2][0]))
        return pipes[-1]

    yield started
    for pipe in pipes:
        pipe.close()
        pipe.close()  # again is no error
    for child in children:
        child.kill()
        child.wait()
    assert open_descriptors() == before


def soon(pipe: Pipe, seconds: float = 60.0) -> float:
    return pipe.now() + seconds


def write(pipe: Pipe, data: bytes, seconds: float = 60.0) -> None:
    run_blocking(pipe.write(data, soon(pipe, seconds)))


def read(pipe: Pipe, seconds: float = 60.0) -> bytes:
    return run_blocking(pipe.read(soon(pipe, seconds)))


def read_all(pipe: Pipe) -> bytes:
    """All that stdout says until its end."""
    return b"".join(iter(lambda: read(pipe), b""))


def test_a_conversation(start: Start) -> None:
    pipe = start("from tests.support.answering_program import *; serve_stdio(make_responder())")
    channel = Channel(pipe, PeerRole.ENGINE)
    run_blocking(channel.probe_ids(soon(pipe)))
    assert channel.connection.ids
    assert run_blocking(channel.ask("echo a b", soon(pipe))).text == "a b"
    assert len(run_blocking(channel.ask("many 1000000", soon(pipe))).text) == 1_000_000
    run_blocking(channel.ask("quit", soon(pipe)))
    with pytest.raises(PeerGone):
        run_blocking(channel.receive(soon(pipe)))


def test_another_loop_may_wait_for_the_descriptors(start: Start) -> None:
    stdin, stdout, stderr = start("say(hear())").descriptors
    assert stderr is not None and not any(map(os.get_blocking, (stdin, stdout, stderr)))
    os.write(stdin, b"hello\n")
    while True:
        with contextlib.suppress(BlockingIOError):
            assert os.read(stdout, 100) == b"hello\n"
            return
        time.sleep(0.01)


def test_all_of_stderr_is_handed_on_and_its_end(start: Start) -> None:
    pipe = start("err(b'a' * 300_000); say(b'done')")
    told: list[bytes] = []
    pipe.on_stderr = told.append
    assert read_all(pipe) == b"done"
    while not told or told[-1]:
        pipe.drain_stderr()
    assert b"".join(told) == b"a" * 300_000 and len(pipe.stderr_tail) == 64 * 1024


def test_silence_times_out_at_the_deadline(start: Start) -> None:
    pipe = start("time.sleep(100)")
    began = time.monotonic()
    with pytest.raises(PeerTimeout):
        read(pipe, 0.2)
    assert 0.2 <= time.monotonic() - began < 30
    with pytest.raises(PeerTimeout):  # a deadline that is over is no reason to wait
        read(pipe, -1.0)
    assert time.monotonic() - began < 30


def test_what_has_come_is_read_also_after_the_deadline(start: Start) -> None:
    pipe = start("say(b'= a\\n\\n'); time.sleep(100)")
    assert read(pipe)[:1] == b"="
    pipe = start("say(b'= a\\n\\n'); err(b'x'); time.sleep(100)")
    while not pipe.drain_stderr():
        time.sleep(0.01)
    assert read(pipe, -1.0) == b"= a\n\n"


def test_a_deadline_further_away_than_poll_can_wait(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = start("hear(); time.sleep(0.1); hear(); say(b'= a\\n\\n')")
    month = 30 * 24 * 3600.0
    write(pipe, b"x" * 100_000 + b"\n" + b"x" * 100_000 + b"\n", month)
    assert read(pipe, month) == b"= a\n\n"
    monkeypatch.setattr(pipe_module, "_SLICE", 0.01)  # so that a wait of several slices is seen
    pipe = start("hear(); time.sleep(0.1); hear(); say(b'= a\\n\\n')")
    write(pipe, b"x" * 100_000 + b"\n" + b"x" * 100_000 + b"\n", month)
    assert read(pipe, month) == b"= a\n\n"


def test_a_slow_reader_gets_all_that_is_written(start: Start) -> None:
    pipe = start("n = 0\nwhile n < 300_000: time.sleep(0.02); n += len(os.read(0, 40_000))\nsay(b'= %d\\n\\n' % n)")
    write(pipe, b"x" * 299_999 + b"\n")
    assert read(pipe) == b"= 300000\n\n"


def test_both_pipes_full_do_not_lock_up(start: Start) -> None:
    # The child answers each line at length before it reads the next, and the parent reads nothing until all is written.
    pipe = start("while hear(): say(b'= ' + b'y' * 999 + b'\\n\\n')")
    write(pipe, b"name\n" * 2_000 + b"x" * 200_000 + b"\n")
    pipe.close_stdin()
    answers = read_all(pipe)
    assert answers.count(b"= " + b"y" * 999 + b"\n\n") == 2_001


def test_a_peer_that_does_not_read_times_out_and_is_sent_nothing_more(start: Start, tmp_path: Path) -> None:
    wait = f"while not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.01)\n"
    pipe = start(wait + "data = b''\nwhile part := os.read(0, 65536): data += part\nsay(data[-5:])")
    began = time.monotonic()
    with raises(PeerTimeout, "does-not-read"):
        write(pipe, b"x" * 1_000_000 + b"\n", 0.3)
    assert 0.3 <= time.monotonic() - began < 30
    (tmp_path / "go").touch()
    write(pipe, b"quit\n")  # would be glued to half of the line
    pipe.close_stdin()
    assert read_all(pipe) == b"xxxxx"


def test_the_transports_own_patience(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipe_module, "WRITE_PATIENCE", 0.1)
    pipe = start("time.sleep(100)")
    with pytest.raises(PeerTimeout):
        run_blocking(pipe.write(b"x" * 1_000_000))


def test_a_pipe_that_is_full_from_the_start(start: Start) -> None:
    pipe = start("time.sleep(0.3)\nwhile hear() != b'last\\n': pass\nsay(b'=\\n\\n')")
    ends = os.pipe()
    size = fcntl.fcntl(ends[1], fcntl.F_GETPIPE_SZ)
    for end in ends:
        os.close(end)
    write(pipe, b"\n" * size)
    assert pipe.take_reader_cost() == 0.0
    write(pipe, b"last\n")
    assert read(pipe) == b"=\n\n"
    assert 0.1 < pipe.take_reader_cost() < 30, "the wait for a child that does not read is the child's time"
    assert pipe.take_reader_cost() == 0.0


def test_a_flood_on_stderr_is_drained_while_we_wait_and_its_tail_kept(start: Start) -> None:
    pipe = start("hear()\nfor i in range(50): err(b'e' * 100_000)\nerr(b'the end')\nsay(b'= a\\n\\n')\nhear()")
    write(pipe, b"name\n")
    assert read(pipe) == b"= a\n\n"
    tail = pipe.drain_stderr()
    assert len(tail) == 65_536 and tail.endswith(b"ethe end")


def test_a_flood_on_stderr_is_drained_while_we_write(start: Start) -> None:
    pipe = start("for i in range(50): err(b'e' * 100_000)\nhear(); say(b'= a\\n\\n')\nhear()")
    write(pipe, b"x" * 1_000_000 + b"\n")
    assert read(pipe) == b"= a\n\n"


def test_a_flood_on_stderr_without_end_is_no_answer(start: Start) -> None:
    pipe = start("while True: err(b'e' * 60_000)")
    began = time.monotonic()
    while not pipe.drain_stderr() and time.monotonic() < began + 20:  # its start takes a while
        time.sleep(0.01)
    with pytest.raises(PeerTimeout):
        read(pipe, 0.2)
    with pytest.raises(PeerTimeout):
        write(pipe, b"x" * 1_000_000, 0.2)
    assert len(pipe.drain_stderr()) == 65_536
    assert len(pipe.drain_stderr()) == 65_536
    assert time.monotonic() - began < 30


def test_draining_stderr_ends_though_more_keeps_coming(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = start("hear()")
    reads = iter([65_536] * 100)
    monkeypatch.setattr(pipe, "_drain_stderr", lambda: next(reads))
    pipe.drain_stderr()
    assert len(list(reads)) == 100 - 16  # 1 MiB was read: no pipe holds more


def test_the_rest_of_stderr_is_read_after_the_end(start: Start) -> None:
    pipe = start("err(b'first '); say(b'= a\\n\\n'); err(b'last')")
    assert read(pipe) == b"= a\n\n"
    assert read(pipe) == b""
    assert pipe.drain_stderr() == b"first last"
    assert pipe.drain_stderr() == b"first last"
    pipe.close()
    assert pipe.drain_stderr() == b"first last"


def test_stderr_that_is_closed_early_ends_nothing(start: Start) -> None:
    pipe = start("err(b'bye'); os.close(2); time.sleep(0.1); say(b'= a\\n\\n'); hear()")
    assert read(pipe) == b"= a\n\n"
    assert pipe.drain_stderr() == b"bye"
    pipe = start("err(b'bye'); os.close(2); time.sleep(0.1); hear(); say(b'= a\\n\\n'); hear()")
    write(pipe, b"x" * 500_000 + b"\n")
    assert read(pipe) == b"= a\n\n"


def test_a_child_that_ends_in_the_middle_of_an_answer_is_gone(start: Start) -> None:
    channel = Channel(start("hear(); say(b'= a last\\n'); os._exit(3)"), PeerRole.ENGINE)
    assert run_blocking(channel.ask("name", channel.now() + 10)) == Reply(True, "a last")
    with pytest.raises(PeerGone):
        run_blocking(channel.ask("name", channel.now() + 10))
    channel = Channel(start("hear(); say(b'= half an'); os._exit(3)"), PeerRole.ENGINE)
    with raises(PeerGone, "answer-cut"):
        run_blocking(channel.ask("name", channel.now() + 10))
    channel = Channel(start("hear(); os._exit(3)"), PeerRole.ENGINE)
    with pytest.raises(PeerGone):
        run_blocking(channel.ask("name", channel.now() + 10))


def test_a_child_that_no_longer_reads_is_still_heard(start: Start) -> None:
    pipe = start("say(b'= last words\\n\\n'); os.close(0); err(b'x'); time.sleep(100)")
    while not pipe.drain_stderr():
        time.sleep(0.01)
    for _ in range(2):
        write(pipe, b"name\n")
    assert read(pipe) == b"= last words\n\n"
    with pytest.raises(PeerTimeout):  # it did not end
        read(pipe, 0.05)


def test_a_child_that_stops_reading_in_the_middle_of_a_write(start: Start) -> None:
    pipe = start("say(b'= a\\n\\n'); os.read(0, 10); time.sleep(0.1); os.close(0); time.sleep(100)")
    write(pipe, b"x" * 1_000_000 + b"\n")
    assert read(pipe) == b"= a\n\n"


def test_a_child_that_closes_only_its_output_is_gone(start: Start) -> None:
    pipe = start("say(b'= a\\n\\n'); os.close(1); time.sleep(0.3)\nwhile hear(): pass")
    write(pipe, b"x" * 1_000_000 + b"\n")
    assert read(pipe) == b"= a\n\n"
    assert [read(pipe), read(pipe)] == [b"", b""]


def test_a_peer_that_talks_without_end_while_we_write_is_stopped(start: Start) -> None:
    channel = Channel(start("while True: say(b'y' * 60_000)"), PeerRole.BOT)
    run_blocking(channel.send("x" * 65_000, "x" * 65_000, "x" * 65_000))
    with raises(RemoteProtocolError, "answer-too-long"):
        run_blocking(channel.receive(channel.now() + 10))
    with pytest.raises(RemoteProtocolError):
        run_blocking(channel.send("quit"))


class Jumpy:
    """A poll object that says at every other call that everything is ready."""

    def __init__(self, pipe: Pipe, *more: int) -> None:
        assert pipe._stderr is not None
        self.inner, self.descriptors, self.calls = pipe._poll, [pipe._stdout, pipe._stderr, *more], 0
        self.register, self.unregister = pipe._poll.register, pipe._poll.unregister

    def poll(self, wait: float) -> list[tuple[int, int]]:
        self.calls += 1
        return self.inner.poll(wait) if self.calls % 2 == 0 else [(number, 1) for number in self.descriptors]


def test_a_spurious_wake_up_of_a_reader_is_nothing(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = start("hear(); say(b'= a\\n\\n'); hear()")
    jumpy = Jumpy(pipe)
    monkeypatch.setattr(pipe, "_poll", jumpy)
    with pytest.raises(PeerTimeout):
        read(pipe, 0.05)
    assert jumpy.calls > 1
    write(pipe, b"name\n")
    assert read(pipe) == b"= a\n\n"


def test_a_spurious_wake_up_of_a_writer_is_nothing(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = start("time.sleep(0.2); hear(); say(b'= a\\n\\n'); hear()")
    jumpy = Jumpy(pipe, pipe._stdin)
    monkeypatch.setattr(pipe, "_poll", jumpy)
    write(pipe, b"x" * 500_000 + b"\n")
    assert jumpy.calls > 1
    monkeypatch.undo()
    assert read(pipe) == b"= a\n\n"


def test_after_close_the_stream_has_ended_and_no_other_file_is_touched(start: Start) -> None:
    pipe = start("say(b'= a\\n\\n'); hear()")
    pipe.close()
    others = [os.pipe() for _ in range(3)]  # they get the numbers that the pipe had
    try:
        assert read(pipe) == b""
        write(pipe, b"name\n")
        assert pipe.drain_stderr() == b""
        pipe.close()
        for reading, writing in others:
            os.write(writing, b"x")
            assert os.read(reading, 10) == b"x"
    finally:
        for descriptor in [end for pair in others for end in pair]:
            os.close(descriptor)


def test_a_pipe_without_stderr() -> None:
    before = open_descriptors()
    (there, stdin), (stdout, here) = os.pipe(), os.pipe()
    pipe = Pipe(stdin, stdout)
    os.write(here, b"= a\n\n")
    write(pipe, b"name\n")
    assert (os.read(there, 100), read(pipe)) == (b"name\n", b"= a\n\n")
    assert pipe.drain_stderr() == b""
    pipe.close()
    os.close(there)
    os.close(here)
    assert open_descriptors() == before


# -- what the reader of a pipe costs its writer --------------------------------------------------------------------


class SlowPipe(Pipe):
    """A pipe of 4 KiB on clocks of its own, which move only while it writes or waits.

    The reader reads all that is in the pipe as soon as the writer waits for it.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.write_seconds = self.processor_seconds = self.wait_seconds = 0.0  # of each write, and of each wait
        self.wall = self.processor = 100.0
        self.heard = b""
        self.there, stdin = os.pipe()
        stdout, self.here = os.pipe()
        fcntl.fcntl(stdin, fcntl.F_SETPIPE_SZ, 4096)
        os.set_blocking(self.there, False)
        super().__init__(stdin, stdout)
        real_poll, real_write = self._poll, os.write

        def write(descriptor: int, data: bytes) -> int:
            if descriptor == stdin:
                self.wall += self.write_seconds
                self.processor += self.processor_seconds
            return real_write(descriptor, data)

        def poll(ms: float) -> list[tuple[int, int]]:
            self.wall += self.wait_seconds
            self.hear()
            return real_poll.poll(ms)

        clocks = SimpleNamespace(monotonic=lambda: self.wall, thread_time=lambda: self.processor)
        polling = SimpleNamespace(poll=poll, register=real_poll.register, unregister=real_poll.unregister)
        monkeypatch.setattr(pipe_module, "time", clocks)
        monkeypatch.setattr(os, "write", write)
        monkeypatch.setattr(self, "_poll", polling)

    def hear(self) -> bytes:
        """Read what is in the pipe; return all that was read so far."""
        with contextlib.suppress(BlockingIOError):
            self.heard += os.read(self.there, 100_000)
        return self.heard

    def cost(self, data: bytes = b"genmove b\n") -> float:
        """Write, and return what that cost because of the reader."""
        run_blocking(self.write(data))
        return self.take_reader_cost()


@pytest.fixture
def slow_pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowPipe]:
    made = SlowPipe(monkeypatch)
    yield made
    made.close()
    os.close(made.there)
    os.close(made.here)


def test_from_the_second_slow_write_on_the_reader_pays(slow_pipe: SlowPipe) -> None:
    slow_pipe.write_seconds = slow_pipe.processor_seconds = 2 * SLOW_WRITE
    costs = [slow_pipe.cost() for _ in range(3)]
    assert costs == pytest.approx([0.0, 4 * SLOW_WRITE, 4 * SLOW_WRITE])
    assert slow_pipe.hear() == b"genmove b\n" * 3, "it is sent whole, whatever is measured"


def test_a_referee_that_waits_for_its_core_is_not_the_reader(slow_pipe: SlowPipe) -> None:
    slow_pipe.write_seconds = 2 * SLOW_WRITE
    assert [slow_pipe.cost() for _ in range(20)] == [0.0] * 20
    assert slow_pipe.hear() == b"genmove b\n" * 20


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("size", [4097, 10_000])
def test_only_a_long_wait_for_the_reader_counts(slow_pipe: SlowPipe, size: int, watched: bool) -> None:
    if watched:
        slow_pipe.write_seconds = 2 * SLOW_WRITE
        slow_pipe.cost(b"")
    slow_pipe.write_seconds = 0.0
    slow_pipe.wait_seconds = SLOW_WRITE / 10
    assert slow_pipe.cost(b"x" * size) == 0.0
    assert slow_pipe.hear() == b"x" * size
    slow_pipe.wait_seconds = 2 * SLOW_WRITE
    assert slow_pipe.cost(b"y" * size) > SLOW_WRITE
    assert slow_pipe.hear() == b"x" * size + b"y" * size


def test_after_a_slow_native_write_the_writes_are_measured(
    slow_pipe: SlowPipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = (b"name\n", "a", b"= a\n\n", 0.0, 0.1, False, 2 * SLOW_WRITE)
    monkeypatch.setattr(pipe_module, "native_exchange", lambda *question: answered)
    assert slow_pipe.exchange(("name",), 0, 1.0) == answered
    assert slow_pipe.exchange(("name",), 0, 1.0) is None, "the native way does not measure processor time"
    slow_pipe.processor_seconds = 2 * SLOW_WRITE
    assert slow_pipe.cost() == pytest.approx(4 * SLOW_WRITE)


# -- waiting without reading ---------------------------------------------------------------------------------------


def test_a_wait_tells_output_from_stderr_from_silence() -> None:
    (there, stdin), (stdout, here), (stderr, complaints) = [os.pipe() for _ in range(3)]
    pipe = Pipe(stdin, stdout, stderr)
    assert pipe.wait_for_output(0) is False
    os.write(complaints, b"oops")
    assert pipe.wait_for_output(60_000) is None and pipe.stderr_tail == b"oops"
    assert pipe.wait_for_output(0) is False
    os.write(here, b"= a\n\n")
    assert pipe.wait_for_output(60_000) is True and read(pipe) == b"= a\n\n", "the wait read nothing"
    os.close(here)
    assert pipe.wait_for_output(60_000) is True and read(pipe) == b"", "its end counts as output"
    pipe.close()
    assert pipe.wait_for_output(0) is True, "there is nothing to wait for"
    os.close(there)
    os.close(complaints)


# -- the answering loop, in this process --------------------------------------------------------------------------


def test_an_answer_longer_than_the_pipe_is_written_whole() -> None:
    (stdin, ask), (hear, stdout) = os.pipe(), os.pipe()
    os.set_blocking(ask, True)
    thread = threading.Thread(target=serve_stdio, args=(make_responder(), stdin, stdout))
    thread.start()
    os.write(ask, b"many 1000000\nquit\n")
    heard = b""
    while not heard.endswith(b"=\n\n"):
        heard += os.read(hear, 1 << 16)
    thread.join(10)
    assert not thread.is_alive() and len(heard) == 1_000_000 + 4 + 3
    for descriptor in (stdin, ask, hear, stdout):
        os.close(descriptor)


def test_a_write_that_takes_a_part_only_is_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    whole_write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: whole_write(descriptor, data[:3]))
    (stdin, ask), (hear, stdout) = os.pipe(), os.pipe()
    whole_write(ask, b"echo abcdefgh\n")
    os.close(ask)
    serve_stdio(make_responder(), stdin, stdout)
    assert os.read(hear, 100) == b"= abcdefgh\n\n"
    for descriptor in (stdin, hear, stdout):
        os.close(descriptor)


def test_answers_that_cannot_be_written_are_an_error_of_the_output() -> None:
    (stdin, ask), full = os.pipe(), os.open("/dev/full", os.O_WRONLY)
    os.write(ask, b"name\n")
    with pytest.raises(OutputError, match="No space left"):
        serve_stdio(make_responder(), stdin, full)
    for descriptor in (stdin, ask, full):
        os.close(descriptor)


def test_the_answering_loop_ends_when_the_controller_left() -> None:
    (stdin, ask), (hear, stdout) = os.pipe(), os.pipe()
    os.close(hear)
    os.write(ask, b"name\nname\n")
    serve_stdio(make_responder(), stdin, stdout)
    for descriptor in (stdin, ask, stdout):
        os.close(descriptor)


def test_diagnostics_go_to_stderr_or_nowhere(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class UnreadStderr:
        def write(self, text: str) -> int:
            raise BrokenPipeError

        def flush(self) -> None:
            raise BrokenPipeError

    report_on_stderr(ValueError("what went wrong"))
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err == "ValueError: what went wrong\n"
    for stderr in (None, UnreadStderr()):
        monkeypatch.setattr(sys, "stderr", stderr)
        report_on_stderr(ValueError("again"))
    monkeypatch.undo()
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""
