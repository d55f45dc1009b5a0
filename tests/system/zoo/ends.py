"""Attacks on the end of a game, and on whoever reads what a bot writes."""

import contextlib
import os
import signal
import sys
import time

from tests.system.zoo.prey import Prey, attack


@attack("clean end", "process namespace: it ends whole", none="the referee: it adopts orphans and kills them")
def double_fork(prey: Prey) -> None:
    """Leaves processes behind that have left its group and session."""
    for _ in range(5):
        if not os.fork():
            os.setsid()
            if not os.fork():
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                time.sleep(20)
            os._exit(0)
    prey.tell("began processes of other sessions")


@attack("referee", "the same", none="the referee: it keeps the last 64 KiB, and 10 MiB a file")
def error_flood(prey: Prey) -> None:
    """Writes without end to stderr, all through its opponent's turn."""
    os.set_blocking(2, False)
    end = time.monotonic() + 1
    while time.monotonic() < end:
        try:
            os.write(2, b"zoo flood " + b"x" * 4000 + b"\n")
        except BlockingIOError:
            time.sleep(0.001)
    os.set_blocking(2, True)


@attack("clean end", "mount namespace: its scratch folder goes with it")
def files_left(prey: Prey) -> None:
    """Leaves files where it may write."""
    path = prey.scratch / f"{prey.mark}-left"
    path.write_bytes(b"left")
    prey.tell("began with a file in its scratch folder")


@attack("clean end", "process namespace: it ends whole", none="the referee adopts orphans and kills them")
def fork_chain(prey: Prey) -> None:
    """Each process starts the next and ends, so that no list of processes has all."""
    if os.fork():
        prey.tell("began a chain of processes")
        return
    os.setsid()
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            if os.fork():
                os._exit(0)
        except OSError:
            time.sleep(0.01)


CLONE_PARENT, SIGCHLD = 0x8000, 17


@attack("clean end", "seccomp; the referee, too", none="the referee: it kills what it has not started")
def give_children_away(prey: Prey) -> None:
    """Starts processes that are children of the referee and not its own, which no end of it waits for."""
    for _ in range(3):
        prey.attempt("a child of the referee", lambda: started(prey))


def started(prey: Prey) -> bool:
    if prey.system_call(56, 220, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0):
        return True
    time.sleep(20)
    os._exit(0)


@attack(
    "clean end",
    "process namespace: it ends whole",
    none="the referee: it waits for the process, not for the end of its output",
)
def held_pipes(prey: Prey) -> None:
    """Ends while a child of another session holds its output and stderr open."""
    if os.fork():
        os._exit(3)
    os.setsid()
    time.sleep(20)


@attack(
    "clean end",
    "process namespace: it ends whole",
    none="the referee: SIGKILL to its group after a grace",
    at_quit=True,
)
def ignoring_signals(prey: Prey) -> None:
    """Ignores every signal that can be ignored, and `quit`."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with contextlib.suppress(OSError):
            signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(1)


@attack(
    "clean end",
    "the same; process namespace: it ends whole",
    none="the referee: SIGKILL to the program as well as to its group",
    at_quit=True,
)
def leave_group(prey: Prey) -> None:
    """Joins the process group of its child and ignores SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = os.fork()
    with contextlib.suppress(OSError):  # the other has done it, or the child has ended
        os.setpgid(child, child)
    if child:
        os.setpgid(0, child)
        prey.tell("is in another group")
    while True:
        time.sleep(1)


@attack("referee", "the same", none="the referee: answers and lines have bounds")
def output_flood(prey: Prey) -> None:
    """Writes without end to its output."""
    for _ in range(400):
        sys.stdout.write("x" * 10_000 + "\n")
    sys.stdout.flush()


@attack("referee", "the same", none="the referee: each wait has a deadline, then the game is lost", time="2")
def stalled_reads(prey: Prey) -> None:
    """Reads nothing more, and leaves its opponent's moves in the pipe."""
    time.sleep(20)


@attack(
    "referee",
    "the same",
    none="the referee: only printable characters reach terminals, records and pages",
    bot="bot \x1b]0;owned\x07\x1b[2J",
)
def terminal_escapes(prey: Prey) -> None:
    """Sends what a terminal obeys: in its name, in an answer's text, on stderr."""
    os.write(2, b"zoo \x1b]0;owned\x07 \x1b[2J \x9b5n \x1bP+q\x1b\\ \r got rid of this line\n")
