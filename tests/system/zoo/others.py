"""Attacks on other processes of the machine."""

import ctypes
import fcntl
import os
import resource
import signal
import struct
import sys
import termios
from pathlib import Path

from tests.system.zoo.prey import Prey, attack


@attack("other processes", "seccomp")
def file_leases(prey: Prey) -> None:
    """Takes a lease on a file, for which whoever opens the file waits."""
    path = prey.scratch / f"{prey.mark}-lease"
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    path.unlink()
    prey.attempt("a lease", lambda: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK) == 0)


@attack("other processes", "the guard takes exclusive locks for it, of files that are open for writing; seccomp")
def file_locks(prey: Prey) -> None:
    """Locks files that all may read: a channel to another bot, and an obstacle to other programs."""
    file = os.open(sys.executable, os.O_RDONLY)
    other = os.open(sys.executable, os.O_RDONLY)
    asked = struct.pack("=hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)

    def seen() -> bool:
        """What a second bot would do: its attempt fails while the lock is held."""
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False

    prey.attempt("a lock that another sees", seen)
    prey.attempt("the locks of others", lambda: fcntl.fcntl(file, fcntl.F_GETLK, asked))


@attack("other processes", "seccomp")
def flush_disks(prey: Prey) -> None:
    """Orders the kernel to write everything to the disks, for which all wait."""
    prey.attempt("to write all disks", lambda: prey.system_call(162, 81) == 0)
    folder = os.open("/usr", os.O_RDONLY)
    prey.attempt("to write a disk", lambda: prey.system_call(306, 267, folder) == 0)


@attack("other processes", "seccomp")
def keyring(prey: Prey) -> None:
    """Uses the kernel's keys: reads that of another process, and leaves one behind."""
    name = f"{prey.mark}-key".encode()

    def left() -> bool:
        return prey.system_call(248, 217, b"user", name, b"left", 4, -4) > 0  # add_key, user keyring

    def read() -> bool:
        place = ctypes.create_string_buffer(64)
        prey.system_call(250, 219, 11, prey.key, place, 64, 0)  # keyctl, KEYCTL_READ
        return prey.is_secret(place.raw)

    prey.attempt("left a key behind", left)
    prey.attempt("the key of another", read)


@attack("other processes", "process namespace, seccomp")
def kill_others(prey: Prey) -> None:
    """Kills other processes: one of the referee's user, and its opponent."""
    prey.attempt("a signal to the referee", os.kill, prey.referee, signal.SIGCONT)
    prey.attempt("killed another process", os.kill, prey.victim, signal.SIGKILL)
    for pid in prey.siblings():
        prey.attempt("killed its opponent or the engine", os.kill, pid, signal.SIGKILL)


@attack("other processes", "process namespace, seccomp")
def list_others(prey: Prey) -> None:
    """Looks at the other processes of the machine: what runs, with which arguments."""
    own = os.getpid()
    for pid in {prey.victim, prey.referee} - {own}:
        way = Path(f"/proc/{pid}/cmdline")
        prey.attempt(f"the command line of process {pid}", way.read_bytes)


@attack("other processes", "process namespace, seccomp")
def read_memory(prey: Prey) -> None:
    """Reads the memory of another process."""

    def by_file() -> bool:
        with Path(f"/proc/{prey.victim}/mem").open("rb", buffering=0) as memory:
            memory.seek(prey.address)
            return prey.is_secret(memory.read(64))

    def by_call() -> bool:
        place = ctypes.create_string_buffer(64)
        ours = (ctypes.c_size_t * 2)(ctypes.addressof(place), 64)
        theirs = (ctypes.c_size_t * 2)(prey.address, 64)
        prey.call("process_vm_readv", prey.victim, ours, 1, theirs, 1, 0)
        return prey.is_secret(place.raw)

    prey.attempt("memory by /proc", by_file)
    prey.attempt("memory by process_vm_readv", by_call)


@attack("other processes", "a namespace of messages and shared memory")
def shared_memory(prey: Prey) -> None:
    """Attaches memory that others share, and leaves segments and message queues behind."""
    shmat = prey.libc.shmat
    shmat.restype = ctypes.c_void_p

    def attached() -> bool:
        place = shmat(prey.segment, None, 0o10000)  # SHM_RDONLY
        return place not in (None, ctypes.c_void_p(-1).value) and prey.is_secret(ctypes.string_at(place, 64))

    prey.attempt("the shared memory of another", attached)
    prey.tell("began a segment that stays")
    prey.call("shmget", 0, prey.segment_size, 0o1600)  # IPC_CREAT


@attack("other processes", "process namespace, or a user of its own, or seccomp")
def slow_others(prey: Prey) -> None:
    """Makes other processes slower: niceness, limits, the cores that they may use, their policy."""
    victim = prey.victim
    prey.attempt("changed the niceness of another", os.setpriority, os.PRIO_PROCESS, victim, 19)
    prey.attempt("changed the cores of another", os.sched_setaffinity, victim, {0})
    prey.attempt("changed the policy of another", os.sched_setscheduler, victim, os.SCHED_BATCH, os.sched_param(0))
    prey.attempt("changed the limits of another", lambda: resource.prlimit(victim, resource.RLIMIT_CORE, (0, 0)))


@attack("other processes", "process namespace, seccomp")
def steal_descriptors(prey: Prey) -> None:
    """Takes a copy of a descriptor of another process."""

    def stolen() -> bool:
        other = os.pidfd_open(prey.victim)
        copy = prey.system_call(438, 438, other, prey.descriptor, 0)  # pidfd_getfd
        return prey.is_secret(os.pread(copy, 4096, 0))

    prey.attempt("a descriptor of another process", stolen)


@attack("other processes", "process namespace, seccomp")
def stop_others(prey: Prey) -> None:
    """Stops another process, and sends it signals by a descriptor."""
    prey.attempt("a signal by a descriptor", lambda: by_descriptor(prey.victim))
    prey.attempt("stopped another process", os.kill, prey.victim, signal.SIGSTOP)


def by_descriptor(pid: int) -> bool:
    descriptor = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(descriptor, signal.SIGCONT)
        return True
    finally:
        os.close(descriptor)


@attack("other processes", "landlock, mount namespace, seccomp", none="nothing for root; the kernel for others")
def terminal_input(prey: Prey) -> None:
    """Types into the referee's terminal (TIOCSTI)."""

    def typed() -> None:
        terminal = os.open(prey.terminal, os.O_RDWR | os.O_NOCTTY)
        for byte in prey.mark.encode():
            fcntl.ioctl(terminal, termios.TIOCSTI, bytes([byte]))

    prey.attempt("typed into the terminal", typed)


@attack("other processes", "process namespace, seccomp")
def trace_others(prey: Prey) -> None:
    """Traces another process, which gives all power over it."""

    def traced() -> None:
        prey.call("ptrace", 16, prey.victim, None, None)  # PTRACE_ATTACH
        os.waitpid(prey.victim, 0x40000000)  # __WALL
        prey.call("ptrace", 17, prey.victim, None, None)  # PTRACE_DETACH

    prey.attempt("traced another process", traced)
