"""What the guard answers a program: how many epolls, entries and timers it may have, and which files it may lock."""

import sys
from pathlib import Path

import pytest

from ggp.referee.match.sandbox.levels import Level, Sandbox
from ggp.referee.match.sandbox.start import run_confined

pytestmark = pytest.mark.slow

BEGINNING = """
import ctypes, errno, fcntl, os, select, socket, threading, time
libc = ctypes.CDLL(None, use_errno=True)
timerfd = 283 if os.uname().machine == "x86_64" else 85
def tried(action, *words):
    try:
        return action(*words)
    except OSError as error:
        return errno.errorcode[error.errno]
def call(number, *words):
    came = libc.syscall(number, *words)
    return came if came >= 0 else errno.errorcode[ctypes.get_errno()]
def many(action, most=10_000):
    made = []
    while len(made) < most and not isinstance(one := tried(action), str):
        made.append(one)
    return made
here, there = os.pipe()
"""


def said(code: str, level: Level = "default") -> list[str]:
    """What the program prints in the sandbox, in words."""
    sandbox = Sandbox(level)
    words = (sys.executable, "-S", "-E", "-c", BEGINNING + code)
    ran = run_confined(words, folder=Path("/usr"), writable=False, sandbox=sandbox, seconds=60, output=4000)
    assert ran.how == "", ran
    return ran.output.decode().split()


def test_the_number_of_epolls_is_bounded_and_closed_ones_do_not_count() -> None:
    code = """
polls = many(select.epoll)
print(len(polls), tried(select.epoll))
del polls[60:]
print(len(many(select.epoll)))
"""
    assert said(code) == ["64", "EMFILE", "4"]


def test_epolls_count_wherever_they_are() -> None:
    """A child that holds inherited ones, and a socket in which some lie, keep them open."""
    code = """
left, right = socket.socketpair()
polls = many(select.epoll, 40)
socket.send_fds(left, [b"x"], [poll.fileno() for poll in polls[:20]])
if not os.fork():
    time.sleep(60)
for poll in polls[:20]:
    poll.close()
print(len(many(select.epoll)))
"""
    assert said(code) == ["24"]


def test_epolls_of_ended_processes_do_not_count() -> None:
    code = """
for _ in range(200):
    if not os.fork():
        os._exit(len(many(select.epoll, 3)))
    print(os.waitstatus_to_exitcode(os.wait()[1]), end=" ")
"""
    assert said(code) == ["3"] * 200


def test_entries_are_bounded_and_removed_ones_do_not_count() -> None:
    code = """
poll = select.epoll()
pipes = [os.pipe()[0] for _ in range(100)]
print(sum(tried(poll.register, one) is None for one in pipes), tried(poll.register, pipes[-1]))
poll.unregister(pipes[0])
os.close(pipes[1])
print(tried(poll.register, pipes[-1]), tried(poll.register, pipes[-2]), tried(poll.register, pipes[-3]))
"""
    assert said(code) == ["64", "ENOSPC", "None", "None", "ENOSPC"]


def test_one_file_has_a_bounded_number_of_entries() -> None:
    """Each line that the referee writes runs all that are on the input."""
    code = """
numbers = [os.dup(here) for _ in range(60)]
polls = many(select.epoll)
entries = sum(tried(poll.register, number, select.EPOLLIN) is None for poll in polls for number in numbers)
print(entries)
"""
    assert said(code) == ["100"]


def test_an_entry_works_as_without_the_guard() -> None:
    """It has the number of the caller's descriptor, so that it can be changed and removed."""
    code = """
poll = select.epoll()
number = os.dup2(here, 500)
poll.register(500, select.EPOLLIN)
print(poll.poll(0), tried(poll.register, 500), tried(poll.register, 501), tried(poll.register, poll.fileno()))
os.write(there, b"x")
print(poll.poll(1))
poll.modify(500, select.EPOLLIN | select.EPOLLONESHOT)
print(poll.poll(1), poll.poll(0))
poll.unregister(500)
print(tried(poll.unregister, 500), tried(poll.register, 500, select.EPOLLIN))
thread = threading.Thread(target=lambda: print(tried(poll.register, here, select.EPOLLIN)))
thread.start(); thread.join()
for number in range(3, 40):  # whatever numbers the guard uses itself
    if tried(os.fstat, number) == "EBADF":
        os.dup2(here, number); print(tried(poll.register, number, select.EPOLLIN), end=" "); os.close(number)
print(len(poll.poll(0)) > 30)
"""
    came = " ".join(said(code))
    assert came.startswith("[] EEXIST EBADF EINVAL [(500, 1)] [(500, 1)] [] ENOENT None None None None")
    assert came.endswith("None True") and "E" not in came.rpartition("ENOENT")[2]


def test_a_timer_works_and_their_number_is_bounded() -> None:
    code = """
made = [call(timerfd, 1, 0o4000) for _ in range(5)]
os.close(made[0])
print(len([one for one in made if isinstance(one, int)]), made[4])
print(isinstance(call(timerfd, 1, 0), int), call(timerfd, 8, 0))
when = bytes(24) + (10**7).to_bytes(8, "little")
libc.timerfd_settime(made[1], 0, ctypes.create_string_buffer(when), None)
poll = select.epoll()
poll.register(made[1], select.EPOLLIN)
print(poll.poll(10) == [(made[1], 1)], int.from_bytes(os.read(made[1], 8), "little"), tried(os.read, made[1], 8))
"""
    assert said(code) == ["4", "EMFILE", "True", "EINVAL", "True", "1", "EAGAIN"]


@pytest.mark.parametrize(
    ("flags", "operation", "answer"),
    [
        ("os.O_RDWR", "fcntl.LOCK_EX", ["None", "EAGAIN", "None"]),
        ("os.O_RDONLY", "fcntl.LOCK_EX", ["EBADF", "EBADF", "None"]),
        ("os.O_RDONLY", "fcntl.LOCK_SH", ["None", "None", "None"]),
    ],
)
def test_only_a_file_that_is_open_for_writing_is_locked_exclusively(
    flags: str, operation: str, answer: list[str]
) -> None:
    code = f"""
path = os.environ["TMPDIR"] + "/file"
one, other = (os.open(path, {flags} | os.O_CREAT, 0o600) for _ in "12")
print(tried(fcntl.flock, one, {operation}), tried(fcntl.flock, other, {operation} | fcntl.LOCK_NB))
print(tried(fcntl.flock, one, fcntl.LOCK_UN))
"""
    assert said(code) == answer


def test_a_lock_that_is_held_is_waited_for() -> None:
    code = """
path = os.environ["TMPDIR"] + "/file"
one, other = (os.open(path, os.O_RDWR | os.O_CREAT, 0o600) for _ in "12")
fcntl.flock(one, fcntl.LOCK_EX)
threading.Timer(0.2, fcntl.flock, (one, fcntl.LOCK_UN)).start()
began = time.monotonic()
fcntl.flock(other, fcntl.LOCK_EX)
print(time.monotonic() - began >= 0.15)
"""
    assert said(code) == ["True"]


def test_calls_that_are_newer_than_the_sandbox_are_unknown() -> None:
    """The last one of Linux 6.18 is 469; C libraries use 452, 453 and 462."""
    code = """
print(*(call(number, -1, 0, 0, 0, 0, 0) for number in (*range(470, 512), 1000, 447, 449, 457, 469)))
print(call(452, -100, b"/nowhere", 0, 0))
"""
    assert said(code) == [*["ENOSYS"] * 47, "ENOENT"]


def test_advice_about_files_that_all_read_is_taken_and_ignored() -> None:
    code = "print(tried(os.posix_fadvise, os.open('/usr/bin/env', os.O_RDONLY), 0, 0, os.POSIX_FADV_DONTNEED))"
    assert said(code) == ["None"]


@pytest.mark.parametrize("level", ["default", "strict"])
@pytest.mark.needs("strict")
def test_it_sees_no_connections_of_the_machine(level: Level) -> None:
    code = "print(*(sum(1 for _ in open(f'/proc/net/{name}')) - 1 for name in ('tcp', 'tcp6', 'udp', 'unix')))"
    assert said(code, level) == ["0"] * 4
