"""Attacks that use more processes, descriptors, disk or memory than allowed."""

import fcntl
import os
import resource
import shutil
import threading
from pathlib import Path

from tests.system.zoo.prey import Prey, attack


@attack("process count", "a limit of descriptors", none="the limit of the machine")
def descriptor_bomb(prey: Prey) -> None:
    """Opens more files than it may."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    opened: list[int] = []

    def opened_all() -> None:
        while len(opened) < prey.descriptors:
            opened.append(os.open("/dev/null", os.O_RDONLY))

    prey.attempt(f"{prey.descriptors} descriptors", opened_all)
    for number in opened:
        os.close(number)


@attack("disk", "mount namespace: its scratch folder is a file system of its own; a limit of the size of files")
def disk_bomb(prey: Prey) -> None:
    """Fills the disk, in its scratch folder and in others."""
    for folder in {str(prey.scratch), prey.temporary, "/dev/shm"}:
        prey.attempt(f"{prey.disk} MiB in {folder}", lambda folder=folder: filled(prey, Path(folder)))


def filled(prey: Prey, folder: Path) -> None:
    paths = [folder / f"{prey.mark}-{number}" for number in range(4)]
    try:
        for path in paths:
            with path.open("wb", buffering=0) as file:
                for _ in range(prey.disk // 4):
                    file.write(b"x" * (1 << 20))
    finally:
        for path in paths:
            path.unlink(missing_ok=True)


@attack("process count", "cgroup pids, or a limit of processes")
def fork_bomb(prey: Prey) -> None:
    """Starts more processes than it may."""
    started: list[int] = []

    def started_all() -> None:
        for _ in range(prey.processes + 8):
            started.extend(prey.children(1, lambda: None))

    prey.attempt(f"{prey.processes + 8} processes", started_all)
    prey.reap(started)


@attack("disk", "mount namespace: its scratch folder is a file system of its own")
def inode_bomb(prey: Prey) -> None:
    """Makes more files than a disk has room for, all of them empty."""
    folder = prey.scratch / f"{prey.mark}-many"
    made = 0

    def all_made() -> None:
        nonlocal made
        folder.mkdir()
        for made in range(prey.inodes):
            (folder / str(made)).touch()

    prey.attempt(f"{prey.inodes} files", all_made)
    shutil.rmtree(folder, ignore_errors=True)


@attack("memory", "cgroup memory")
def memory_bomb(prey: Prey) -> None:
    """Uses more memory than it may, alone and in several processes."""
    own = prey.attempt(f"{prey.memory} MiB", lambda: len(bytearray(b"x") * (prey.memory << 20)))
    if not own:
        return

    def several() -> None:
        part = prey.memory // 4 << 20
        prey.reap(prey.children(6, lambda: bytearray(b"x") * part, 1.0))

    prey.attempt("more in several processes", several)


@attack("memory", "cgroup memory; a limit of the size of files")
def memory_file_bomb(prey: Prey) -> None:
    """Uses more memory than it may by files that are memory: memfd."""

    def filled() -> None:
        descriptor = os.memfd_create(prey.mark)
        block = b"x" * (1 << 20)
        for _ in range(prey.memory):
            os.write(descriptor, block)
        os.close(descriptor)

    prey.attempt(f"{prey.memory} MiB in a memory file", filled)


@attack("memory", "cgroup memory; the limit of pipes of a user", none="nothing for root; the kernel for others")
def pipe_bomb(prey: Prey) -> None:
    """Fills pipes that nothing reads: memory of the kernel."""
    opened: list[int] = []

    def filled() -> None:
        block = b"x" * (1 << 20)
        for _ in range(prey.memory):
            reader, writer = os.pipe()
            opened.extend((reader, writer))
            fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 1 << 20)
            os.set_blocking(writer, False)
            os.write(writer, block)

    prey.attempt(f"{prey.memory} MiB in pipes", filled)
    for number in opened:
        os.close(number)


@attack("process count", "cgroup pids, or a limit of processes")
def thread_bomb(prey: Prey) -> None:
    """Starts more threads than it may."""
    leave = threading.Event()
    threading.stack_size(65536)
    threads: list[threading.Thread] = []

    def started_all() -> None:
        for _ in range(prey.processes + 8):
            threads.append(threading.Thread(target=leave.wait, args=(3,)))
            threads[-1].start()

    prey.attempt(f"{prey.processes + 8} threads", started_all)
    leave.set()
