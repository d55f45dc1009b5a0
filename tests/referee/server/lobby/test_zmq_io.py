"""The byte queue with its deadlines, edge-triggered reading, and the folder of a lobby's sockets."""

import asyncio
import contextlib
import gc
import os
import random
import selectors
import tempfile
import weakref
from collections.abc import Callable, Coroutine, Iterator
from contextvars import Context
from pathlib import Path
from typing import Any, TypeVarTuple, Unpack

import pytest
import zmq

from ggp.protocol.errors import PeerTimeout
from ggp.referee.server.lobby.zmq_io import (
    Inbox,
    Reading,
    RouterMessages,
    folder_of,
    new_context,
    quiet_moment,
    socket_folder,
)
from tests.bench.lobby import idle
from tests.support.cli import wait_until

Arguments = TypeVarTuple("Arguments")


class JumpingLoop(asyncio.SelectorEventLoop):
    """Time passes only when every task waits, and then at once. `timers`: how many were set."""

    def __init__(self) -> None:
        self.clock, self.timers = 0.0, 0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self.clock

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[Arguments]], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        self.timers += 1
        return super().call_later(delay, callback, *args, context=context)


class _Jumping(selectors.SelectSelector):
    def __init__(self, loop: JumpingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "every task waits for ever"
        self._loop.clock += max(0.0, timeout)
        return super().select(0)


def run(play: Callable[[JumpingLoop, Inbox], Coroutine[Any, Any, None]]) -> None:
    loop = JumpingLoop()
    try:
        loop.run_until_complete(play(loop, Inbox(loop.time)))
    finally:
        loop.close()


async def wait(loop: JumpingLoop, inbox: Inbox, deadline: float) -> float:
    """When it timed out."""
    with pytest.raises(PeerTimeout):
        await inbox.get(deadline)
    return loop.time()


def answer_at(loop: JumpingLoop, inbox: Inbox, when: float) -> None:
    loop.call_at(when, inbox.put, b"=\n\n")


@pytest.mark.parametrize("deadline", [0.0, 0.5, 10.0, 3600.0])
def test_wait_ends_at_the_deadline(deadline: float) -> None:
    async def play(loop: JumpingLoop, inbox: Inbox) -> None:
        assert await wait(loop, inbox, deadline) == pytest.approx(deadline, abs=0.001)

    run(play)


@pytest.mark.parametrize("second", [3.0, 30.0, 1000.0])
def test_each_wait_has_its_own_deadline(second: float) -> None:
    async def play(loop: JumpingLoop, inbox: Inbox) -> None:
        answer_at(loop, inbox, 1.0)
        assert await inbox.get(100.0) == b"=\n\n"
        assert await wait(loop, inbox, second) == pytest.approx(second, abs=0.001)

    run(play)


def test_quick_answers_need_no_timer_each() -> None:
    async def play(loop: JumpingLoop, inbox: Inbox) -> None:
        for number in range(1, 1001):
            answer_at(loop, inbox, number * 0.01)
            assert await inbox.get(loop.time() + 60.0) == b"=\n\n"
        assert loop.timers <= 2

    run(play)


def test_ended_inbox_keeps_no_timer() -> None:
    async def play(loop: JumpingLoop, _: Inbox) -> None:
        inbox = Inbox(loop.time)
        kept = weakref.ref(inbox)
        loop.call_at(1.0, inbox.end)
        assert await inbox.get(3600.0) == b""
        del inbox
        await asyncio.sleep(0)
        assert kept() is None  # a timer would have it until the deadline

    run(play)


def test_reader_continues_in_the_next_turn() -> None:
    async def play(loop: JumpingLoop, inbox: Inbox) -> None:
        read = loop.create_task(inbox.get(100.0))
        await asyncio.sleep(0)
        inbox.put(b"=\n\n")
        assert not read.done()
        assert await read == b"=\n\n"

    run(play)


@pytest.mark.parametrize(("patience", "quiet"), [(60.0, True), (0.0, False)])
def test_a_quiet_moment_comes_when_no_reader_is_about_to_run(patience: float, quiet: bool) -> None:
    """Each of 50 readers has something for the next one."""

    async def play(loop: JumpingLoop, inbox: Inbox) -> None:
        inboxes = [inbox, *(Inbox(loop.time) for _ in range(50))]

        async def pass_on(number: int) -> None:
            inboxes[number + 1].put(await inboxes[number].get(100.0))

        reading = [loop.create_task(pass_on(number)) for number in range(50)]
        await asyncio.sleep(0)
        inbox.put(b"=\n\n")
        await quiet_moment(patience)
        assert all(task.done() for task in reading) == quiet
        await asyncio.gather(*reading)
        last = loop.create_task(inbox.get(100.0))
        await asyncio.sleep(0)
        inbox.put(b"=\n\n")
        last.cancel()  # woken, and never runs on
        await asyncio.gather(last, return_exceptions=True)
        assert Inbox.woken == 0

    run(play)


def test_a_reader_that_timed_out_is_kept_by_nothing() -> None:
    """Its exception would keep what it waited with, until the collector looks."""

    async def play(loop: JumpingLoop, inbox: Inbox) -> None:
        kept = list[weakref.ref[Inbox]]()

        async def read() -> None:
            held = Inbox(loop.time)
            kept.append(weakref.ref(held))
            await inbox.get(0.5)

        with contextlib.suppress(PeerTimeout):
            await read()
        await asyncio.sleep(0)  # until then the task has the exception
        assert kept[0]() is None

    gc.disable()
    try:
        run(play)
    finally:
        gc.enable()


def test_cancelled_read_loses_nothing() -> None:
    async def play(loop: JumpingLoop, inbox: Inbox) -> None:
        read = loop.create_task(inbox.get(100.0))
        await asyncio.sleep(0)
        read.cancel("enough")
        inbox.put(b"=\n\n")  # the reader gets the cancellation only
        with pytest.raises(asyncio.CancelledError, match="enough"):
            await read
        read.cancel()
        assert await inbox.get(100.0) == b"=\n\n"
        late = loop.create_task(inbox.get(100.0))
        await asyncio.sleep(0)
        loop.call_soon(inbox.put, b"= 2\n\n")
        loop.call_soon(late.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            assert await late == b"= 2\n\n"

    run(play)


def test_asyncio_timeout_ends_a_wait() -> None:
    async def play(loop: JumpingLoop, inbox: Inbox) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3.0):
                await inbox.get(100.0)
        assert loop.time() == pytest.approx(3.0, abs=0.001)

    run(play)


def test_tasks_continue_in_the_order_of_their_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers that come while tasks continue do not overtake earlier ones, in whatever order ZeroMQ returns them."""
    monkeypatch.setattr(
        "ggp.referee.server.lobby.zmq_io.TURN", 3600.0
    )  # a machine that halts must not end a turn in the middle
    answers, first, patience = 1000, 20, 20
    chance = random.Random(1)

    async def play() -> int:
        inboxes = [Inbox() for _ in range(answers)]
        gone_on: list[int] = []
        before: list[int] = []  # of each answer: how many had gone on when it came
        idle = list(dealers)
        whose = []

        def take() -> None:
            number = int(router.recv_multipart(zmq.NOBLOCK)[1])
            inboxes[number].put(b"=\n\n")

        def answer() -> None:
            """The answer arrives before any task continues."""
            whose.append(idle.pop(chance.randrange(len(idle))))
            whose[-1].send(str(len(whose) - 1).encode())
            before.append(len(gone_on))
            assert router.poll(1000 * patience)

        async def one(number: int) -> None:
            await inboxes[number].get(asyncio.get_running_loop().time() + patience)
            gone_on.append(number)
            idle.append(whose[number])
            if len(whose) < answers:
                answer()
                reading.poll_again()

        tasks = [asyncio.ensure_future(one(number)) for number in range(answers)]
        await asyncio.sleep(0)
        for _ in range(first):
            answer()
        reading = Reading(router, take)
        await asyncio.gather(*tasks)
        reading.close()
        return max(gone_on.index(number) - before[number] for number in range(answers))

    with zmq.Context() as context, context.socket(zmq.ROUTER) as router, contextlib.ExitStack() as stack:
        router.bind("inproc://router")
        dealers = [stack.enter_context(context.socket(zmq.DEALER)) for _ in range(2 * first)]
        for dealer in dealers:
            dealer.connect("inproc://router")
        assert asyncio.run(play()) <= first  # the number of tasks that waited then


# -- the folder of a lobby's sockets -----------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))


def test_leftovers_of_a_killed_run_are_deleted(tmp_path: Path) -> None:
    killed = socket_folder(tmp_path / "club.toml")
    left = killed.__enter__()
    (left / "engine-0-0").touch()
    with socket_folder(tmp_path / "club.toml") as folder, socket_folder(tmp_path / "other.toml") as other:
        assert folder == left and list(folder.iterdir()) == []
        assert other != folder
        assert folder.stat().st_mode & 0o777 == 0o700
    assert list((tmp_path / "tmp").iterdir()) == []


def test_folder_of_another_user_is_not_touched(tmp_path: Path) -> None:
    with socket_folder(tmp_path / "club.toml") as place:
        pass
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    place.symlink_to(elsewhere)
    with socket_folder(tmp_path / "club.toml") as folder:
        assert folder not in (place, elsewhere) and folder.stat().st_mode & 0o777 == 0o700
    assert place.is_symlink() and elsewhere.is_dir()


@pytest.mark.slow
def test_the_bench_of_the_lobby_leaves_no_folder_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)  # as in the process of the lobby
    idle(tmp_path / "lobby", 5, keys=False)
    assert not folder_of(tmp_path / "lobby" / "club.toml").exists()


# -- the messages of a ROUTER -----------------------------------------------------------------------------------------


@contextlib.contextmanager
def connected() -> Iterator[tuple[RouterMessages, "zmq.Socket[bytes]", Callable[[], bool]]]:
    """A ROUTER's messages, a DEALER that has sent nothing yet, and whether something has come."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    router, dealer = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
    try:
        router.setsockopt(zmq.ROUTER_MANDATORY, 1)
        port = router.bind_to_random_port("tcp://127.0.0.1")
        dealer.connect(f"tcp://127.0.0.1:{port}")
        read = RouterMessages(router)
        yield read, dealer, lambda: bool(router.poll(60_000))
        read.close()
    finally:
        context.destroy(linger=0)


def all_of(read: RouterMessages, known: dict[bytes, Any], count: int, came: Callable[[], bool]) -> list[Any]:
    found: list[Any] = []
    while len(found) < count:
        assert came()
        found += read.receive(known, 10, 3)
    return found


def test_messages_are_read_in_order_and_the_first_with_its_source() -> None:
    with connected() as (read, dealer, came):
        assert read.receive({}, 10, 3) == []
        for number in range(20):
            dealer.send_multipart([b"R", b"%d" % number])
        assert came()
        ((route, frames, more, source),) = read.receive({}, 10, 3)
        assert (frames, more, len(route)) == ([b"R", b"0"], False, 5)
        assert source is not None and source[0] > 0 and source[1:] == ("", "127.0.0.1")
        rest = all_of(read, {route: 1}, 19, came)
        assert rest == [(route, [b"R", b"%d" % number], False, None) for number in range(1, 20)]
        assert read.receive({route: 1}, 10, 3) == []


def test_long_message_is_the_last_of_its_batch_and_can_be_skipped() -> None:
    with connected() as (read, dealer, came):
        dealer.send_multipart([b"a"])
        dealer.send_multipart([b"x"] * 1000)
        dealer.send_multipart([b"", b"b"])
        assert came()
        ((route, frames, _, _),) = read.receive({}, 10, 3)
        assert frames == [b"a"]
        known = {route: None}
        (long,) = all_of(read, known, 1, came)
        assert long == (route, [b"x"] * 3, True, None)
        assert read.skip(500) and not read.skip(500)
        assert all_of(read, known, 1, came) == [(route, [b"", b"b"], False, None)]


def test_messages_are_sent_until_the_connection_ends() -> None:
    with connected() as (read, dealer, came):
        dealer.send_multipart([b"a"])
        assert came()
        ((route, _, _, _),) = read.receive({}, 10, 3)
        assert read.send(route, b"C", [b"name\n", b"", b"x" * 100_000])
        assert read.send(route, b"C", [])
        assert [dealer.recv_multipart() for _ in range(3)] == [[b"C", b"name\n"], [b"C", b""], [b"C", b"x" * 100_000]]
        assert not read.send(b"\0gone", b"C", [b"name\n"])
        with pytest.raises(TypeError):
            read.send(route, b"C", ["text"])  # type: ignore[list-item]


def test_closed_socket_is_an_error() -> None:
    with connected() as (read, _, _):
        pass
    assert not read.send(b"\0gone", b"C", [b"name\n"])
    with pytest.raises(zmq.ZMQError):
        read.receive({}, 10, 3)


def test_zeromqs_threads_interrupt_no_other() -> None:
    before = {path.name for path in Path("/proc/self/task").iterdir()}
    with new_context() as context:
        socket = context.socket(zmq.ROUTER)
        started = {path.name for path in Path("/proc/self/task").iterdir()} - before
        assert started
        wait_until(lambda: all(os.sched_getscheduler(int(thread)) == os.SCHED_BATCH for thread in started))
        socket.close()
