"""Attacks that use the processor, or the kernel, in the opponent's turn."""

import contextlib
import ctypes
import fcntl
import os
import select
import signal
import struct
import threading
import time
from collections.abc import Callable
from itertools import product

from tests.system.zoo.prey import Prey, attack

HELPERS = 12  # processes
held: list[select.epoll] = []
STOPPED = "freezer: it is stopped in its opponent's turn from the first ply"
CREDITED = "cgroup cpu, freezer: what it uses is credited to the opponent, and it is stopped from then on"


@attack("idle turn", "seccomp")
def asynchronous_files(prey: Prey) -> None:
    """Lets the kernel read files by itself (io_setup), of which the whole machine has a bounded number."""

    def made() -> bool:
        context = ctypes.c_ulong()
        prey.system_call(206, 0, 64, ctypes.byref(context))
        return prey.system_call(207, 1, context) == 0

    prey.attempt("a context of asynchronous reads", made)


@attack("idle turn", CREDITED, strict=STOPPED)
def busy_children(prey: Prey) -> None:
    """Lets children use the processor in its opponent's turn."""
    prey.children(3, lambda: spin(4.0))
    prey.tell("began children that are busy")


def spin(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


@attack("idle turn", CREDITED, strict=STOPPED)
def busy_self(prey: Prey) -> None:
    """Thinks in its opponent's turn, on its opponent's core."""
    threading.Thread(target=spin, args=(3.0,), daemon=True).start()
    prey.tell("began a busy thread")


@attack("idle turn", "no capabilities, limits of priorities", none="nothing for root; the kernel for others")
def busy_with_priority(prey: Prey) -> None:
    """Takes the processor with a higher priority: niceness and real-time policies."""
    prey.attempt("a lower niceness", os.setpriority, os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) - 1)
    prey.attempt("a real-time policy", os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1))
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@attack("idle turn", "seccomp")
def file_watches(prey: Prey) -> None:
    """Watches files by inotify: a user has 128 such descriptors, and sees what other bots open."""
    prey.attempt("inotify", lambda: prey.call("inotify_init1", 0) >= 0)


@attack("idle turn", "limits of processes: each has one timer, which expires once while it is stopped")
def interval_timers(prey: Prey) -> None:
    """Sets the three interval timers of many processes."""
    prey.children(HELPERS, every_millisecond, seconds=4.0)
    prey.tell("began processes with interval timers")


def every_millisecond() -> None:
    for which, number in ((signal.ITIMER_REAL, signal.SIGALRM), (signal.ITIMER_VIRTUAL, signal.SIGVTALRM)):
        signal.signal(number, signal.SIG_IGN)
        signal.setitimer(which, 0.001, 0.001)


@attack("idle turn", "seccomp")
def message_queues(prey: Prey) -> None:
    """Makes POSIX message queues, which stay and can send signals."""
    name = f"/{prey.mark}-queue".encode()

    def made() -> bool:
        os.close(prey.call("mq_open", name, os.O_CREAT | os.O_RDWR, 0o600, None))
        return prey.call("mq_unlink", name) == 0

    prey.attempt("a message queue", made)


@attack("idle turn", "limits of processes and descriptors")
def poll_fan_out(prey: Prey) -> None:
    """Waits for its own input in every process, as often as it has descriptors, so that each line wakes them all."""
    prey.children(HELPERS, wait, seconds=30.0)
    prey.tell("began processes that wait for its input")


def wait() -> None:
    waiting = select.poll()
    for _ in range(1000):
        waiting.register(os.dup(0), select.POLLPRI)
    waiting.poll(30_000)


EVENT = struct.pack("=qiiq", 0, 10, 0, 0) + bytes(40)  # SIGEV_SIGNAL, SIGUSR1


@attack("idle turn", "seccomp; a limit of waiting signals")
def posix_timers(prey: Prey) -> None:
    """Makes POSIX timers whose signals are ignored; the kernel sets them again by itself, in interrupts."""
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    timers = prey.as_many(2000, lambda: make(prey))
    prey.attempt(f"{len(timers)} timers", lambda: len(timers) == 2000)


def make(prey: Prey) -> int:
    number = ctypes.c_int()
    prey.system_call(222, 107, 1, ctypes.create_string_buffer(EVENT), ctypes.byref(number))
    spec = ctypes.create_string_buffer(struct.pack("=qqqq", 0, 1_000_000, 0, 1_000_000))
    prey.system_call(223, 110, number.value, 0, spec, None)
    return number.value


@attack("idle turn", "seccomp")
def signal_descriptors(prey: Prey) -> None:
    """Waits for signals by descriptors (signalfd), which others can watch."""
    mask = ctypes.create_string_buffer(struct.pack("=Q", 1 << 13))  # SIGALRM
    prey.attempt("a descriptor of signals", lambda: prey.system_call(289, 74, -1, mask, 8, 0) >= 0)


SETOWN, SETSIG, SETOWN_EX, NOTIFY, MODIFIED = 8, 10, 15, 1026, 2


@attack("idle turn", "seccomp")
def signals_by_files(prey: Prey) -> None:
    """Asks for signals to all its processes when the referee writes (F_SETOWN, O_ASYNC), and for notices of folders."""
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    signal.signal(signal.SIGWINCH, signal.SIG_IGN)
    flags = fcntl.fcntl(0, fcntl.F_GETFL)
    owner = struct.pack("=ii", 1, os.getpid())
    prey.attempt("signals to a process", lambda: fcntl.fcntl(0, SETOWN, os.getpid()) == 0)
    prey.attempt("signals to a process, by its kind", lambda: fcntl.fcntl(0, SETOWN_EX, owner))
    prey.attempt("another signal", lambda: fcntl.fcntl(0, SETSIG, signal.SIGWINCH) == 0)
    prey.attempt("signals of its input", lambda: fcntl.fcntl(0, fcntl.F_SETFL, flags | os.O_ASYNC) == 0)
    prey.attempt("signals of its input, by ioctl", lambda: fcntl.ioctl(0, 0x5452, struct.pack("=i", 1)))
    folder = os.open("/usr", os.O_RDONLY)
    prey.attempt("notices of a folder", lambda: fcntl.fcntl(folder, NOTIFY, MODIFIED) == 0)


@attack("idle turn", "the guard makes its epolls: at most 64 are open; an epoll has 64 entries, a file 100")
def stdin_fan_out(prey: Prey) -> None:
    """Watches its own input by thousands of entries, so that each line of the referee wakes them all."""
    epolls, most = 60, 100

    def copies() -> list[int]:
        made = [os.dup(0) for _ in range(most)]
        # Another file of the same pipe, where its user may open it, has entries of its own.
        with contextlib.suppress(OSError):
            made = made[: most // 2] + [os.open("/proc/self/fd/0", os.O_RDONLY) for _ in range(most // 2)]
        return made

    entries = prey.together(HELPERS, lambda: watch(prey, epolls, copies), 30.0)
    prey.attempt(f"{entries} entries on its input", lambda: entries == epolls * most * HELPERS)


@attack(
    "idle turn", "the guard makes its timers and epolls: at most 4 and 64 are open; an epoll has 64 entries, a file 100"
)
def timer_storm(prey: Prey) -> None:
    """Arms timers that wake thousands of watchers in its opponent's turn; no group is charged for the interrupts."""
    timers, epolls = 60, 300
    first, apart = 0.002, 0.0005  # seconds after its move
    armed = prey.as_many(timers, lambda: prey.system_call(283, 85, 1, 0))

    def set_again() -> None:
        """One that is not read expires once."""
        for number, timer in enumerate(armed):
            spec = struct.pack("=qqqq", 0, 0, 0, int((first + apart * number) * 1e9))
            prey.system_call(286, 86, timer, 0, ctypes.create_string_buffer(spec), None)

    prey.before_move = set_again
    entries = prey.together(HELPERS, lambda: watch(prey, epolls, lambda: armed), 30.0)
    prey.attempt(f"{entries} entries on {len(armed)} timers", lambda: entries == timers * epolls * HELPERS)


def watch(prey: Prey, epolls: int, watched: Callable[[], list[int]]) -> int:
    """Return how many entries it made. One that has the number of a descriptor stays when that is closed."""
    held.extend(prey.as_many(epolls, select.epoll))
    entries = 0
    for epoll, file in product(held, watched()):
        with contextlib.suppress(OSError):
            epoll.register(file, select.EPOLLIN)
            entries += 1
    return entries
