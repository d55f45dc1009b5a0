"""Lists of steps for the guard: namespaces, a new root, users, Landlock, seccomp and limits."""

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

NEW_MOUNTS, NEW_IPC, NEW_USER, NEW_PIDS, NEW_NETWORK = 0x20000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
SCRATCH = "/tmp"  # in a new root
# <asm/resource.h>
_FSIZE, _CORE, _NPROC, _NOFILE, _AS, _SIGPENDING, _MSGQUEUE, _NICE, _RTPRIO = 1, 4, 6, 7, 9, 11, 12, 13, 14
_DESCRIPTORS = 1024
_SIGNALS = 256  # queued signals, which also limit the timers of a user
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/etc", "/nix", "/gnu")
_DEVICES = ("null", "zero", "full", "random", "urandom")
_GRAPHICS = ("/dev/dri", "/dev/kfd", "/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")
_MOST_CHILDREN = 1000  # entries shown of a folder that only its owner can enter
_NODES = 10_000  # files in the scratch folder


def namespaces(user: bool, network: bool) -> list[str]:
    """Return the steps that make namespaces for processes, mounts, messages and perhaps the network.

    Args:
        user: We are an ordinary user, who keeps its ID in a user namespace.
        network: Make an empty network namespace. Without it `/proc/net` shows the connections of the machine.
    """
    flags = NEW_MOUNTS | NEW_PIDS | NEW_IPC | (NEW_USER if user else 0) | (NEW_NETWORK if network else 0)
    steps = ["unshare", str(flags)]
    if user:
        uid, gid = os.geteuid(), os.getegid()
        steps += ["map", f"{uid or 65534} {uid} 1", f"{gid or 65534} {gid} 1"]
    return steps


def limits(scratch: int, processes: int) -> list[str]:
    """Return the steps that limit single processes.

    Args:
        scratch: Most bytes of a file.
        processes: Most processes, if the kernel counts them by user; otherwise 0.
    """
    steps = ["limit", str(_FSIZE), str(scratch), "limit", str(_CORE), "0", "limit", str(_NOFILE), str(_DESCRIPTORS)]
    steps += ["limit", str(_NICE), "0", "limit", str(_RTPRIO), "0"]
    steps += ["limit", str(_SIGPENDING), str(_SIGNALS), "limit", str(_MSGQUEUE), "0"]
    return steps + (["limit", str(_NPROC), str(processes)] if processes else [])


def plain_limits(memory: int) -> list[str]:
    """Return the steps that forbid core files, and limit the address space to `memory` MiB (0: no limit)."""
    return ["limit", str(_CORE), "0", *(["limit", str(_AS), str(memory << 20)] if memory else [])]


def new_root(
    read: Iterable[str], write: str, size: int, uid: int | None, gpu: bool, settings: bool = True
) -> list[str]:
    """Return the steps that make a root with the system's files, readable paths and a scratch folder.

    Args:
        read: Paths that the program may read.
        write: A folder that it may write in; "" for none.
        size: Bytes of the scratch folder.
        uid: The user that it becomes; None if it keeps ours.
        gpu: Show the graphics devices.
        settings: Show all of /etc, because the program has no more rights there than everyone; else only public files.
    """
    owner = "" if uid is None else f",uid={uid},gid={uid}"
    binds = _Binds(uid is not None)
    binds.add_system(_SYSTEM if settings else [folder for folder in _SYSTEM if folder != "/etc"])
    for path in () if settings else _open_settings():
        binds.add_system_part(path)
    steps = ["root", "size=1m,nr_inodes=10000,mode=755", *binds.steps]
    binds.steps.clear()
    steps += ["tmpfs", SCRATCH, f"size={size},nr_inodes={_NODES},mode=700{owner}"]
    for path in sorted(set(read)):
        binds.add(path)
    for device in _DEVICES:
        binds.steps += ["bind", "d", f"/dev/{device}", f"/dev/{device}"]
    for device in _GRAPHICS if gpu else ():
        if Path(device).exists():
            binds.steps += ["bind", "d", device, device]
    if gpu:
        binds.add("/sys")
    steps += [*binds.steps, *_LINKS]
    if write:
        steps += ["bind", "w", os.path.realpath(write), write]
    return [*steps, "proc", "seal"]


_LINKS = [
    *("link", "/proc/self/fd", "/dev/fd", "link", "/proc/self/fd/0", "/dev/stdin"),
    *("link", "/proc/self/fd/1", "/dev/stdout", "link", "/proc/self/fd/2", "/dev/stderr"),
    *("link", SCRATCH, "/dev/shm"),
]


class _Binds:
    """The steps that show parts of the old root in the new one."""

    def __init__(self, other_user: bool) -> None:
        self.steps = list[str]()
        self._other_user = other_user
        self._shown = list[str]()

    def add_system(self, folders: Iterable[str]) -> None:
        for folder in folders:
            if os.path.islink(folder):  # noqa: PTH114
                self.steps += ["link", os.readlink(folder), folder]  # noqa: PTH115
                self._shown.append(folder)
            elif os.path.isdir(folder):  # noqa: PTH112
                self._bind(folder)

    def add_system_part(self, path: str) -> None:
        self.steps += ["bind", "r", os.path.realpath(path), path]
        self._shown.append(path)

    def add(self, path: str) -> None:
        """Show a path as it is written, and the path that its links lead to."""
        for one in dict.fromkeys((os.path.normpath(path), os.path.realpath(path))):
            if not any(one == shown or one.startswith(f"{shown}/") for shown in self._shown):
                self._bind(one)

    def _bind(self, path: str) -> None:
        """Show a path. A folder that the program's user could not enter is replaced by its entries."""
        try:
            status = os.stat(path)  # noqa: PTH116
        except OSError:
            return
        if self._other_user and stat.S_ISDIR(status.st_mode) and status.st_mode & 0o005 != 0o005:
            self.steps += ["mkdir", path]
            for entry in sorted(os.scandir(path), key=lambda entry: entry.name)[:_MOST_CHILDREN]:
                if entry.is_file() or entry.is_dir():
                    self.steps += ["bind", "r", os.path.realpath(entry.path), entry.path]
        else:
            self.steps += ["bind", "r", os.path.realpath(path), path]
        self._shown.append(path)


def other_user(uid: int) -> list[str]:
    """Return the step that changes to this user and group."""
    return ["user", str(uid), str(uid)]


def no_rights() -> list[str]:
    """Return the steps that drop all capabilities, and keep programs from gaining any."""
    return ["drop", "keep"]


def landlock(network: bool, paths: Iterable[tuple[str, str]]) -> list[str]:
    """Return the steps that apply Landlock.

    Args:
        network: The network stays open.
        paths: Pairs of rights, as guard_rules.h names them, and path.
    """
    words = [word for rights, path in paths for word in ("path", rights, path)]
    return ["landlock", "1" if network else "0", *words, "obey"]


def root_paths(write: str) -> list[tuple[str, str]]:
    """Return the paths for Landlock in a new root."""
    return [("r", "/"), ("d", "/dev"), ("w", SCRATCH), *([("w", write)] if write else [])]


def old_root_paths(read: Iterable[str], scratch: str, write: str, gpu: bool) -> list[tuple[str, str]]:
    """Return the paths for Landlock in the root of the machine."""
    devices = [f"/dev/{name}" for name in _DEVICES] + [device for device in _GRAPHICS if gpu]
    folders = [folder for folder in _SYSTEM if folder != "/etc"]
    paths = [("r", path) for path in (*folders, *_open_settings(), "/proc", *(["/sys"] if gpu else []), *read)]
    real = [("r", os.path.realpath(path)) for path in read]
    return [*paths, *real, *(("d", device) for device in devices), ("w", scratch), *([("w", write)] if write else [])]


@cache
def _open_settings() -> tuple[str, ...]:
    """Return what everyone may read in /etc. A folder that also holds other files is replaced by its parts."""
    return tuple(_open_parts("/etc")[1])


def _open_parts(folder: str) -> tuple[bool, list[str]]:
    """Return whether everyone may read all of the folder, and the fewest paths that cover what everyone may read."""
    whole, parts = True, list[str]()
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return False, []
    for entry in entries:
        try:
            mode = entry.stat().st_mode
        except OSError:  # a dangling link
            continue
        if stat.S_ISDIR(mode) and mode & 0o005 == 0o005 and not entry.is_symlink():
            all_of, some = _open_parts(entry.path)
            whole = whole and all_of
            parts += [entry.path] if all_of else some
        elif mode & 0o005 == 0o005 or (stat.S_ISREG(mode) and mode & 0o004):
            parts.append(entry.path)
        else:
            whole = False
    return whole, parts


def seccomp(network: bool, spread: bool, our_user: bool = False, shared: bool = False) -> list[str]:
    """Return the step that filters system calls.

    Args:
        network: The network stays open.
        spread: The program may run on several cores.
        our_user: It has our user ID, so it could reach our files and processes in ways that Landlock does not cover.
        shared: Objects that it leaves in the kernel, such as shared memory, would stay and be visible to others.
    """
    return ["seccomp", str(network | spread << 1 | our_user << 2 | shared << 3)]


@cache
def own_folders() -> tuple[str, ...]:
    """Return the folders of this Python and of our packages, which built-in bots and `ggp` commands need."""
    ours = list(sys.modules["ggp"].__path__)
    # In a checkout, ggp/ holds links to the packages.
    linked = [os.path.realpath(entry.path) for path in ours for entry in os.scandir(path) if entry.is_symlink()]
    return tuple(_outermost([sys.prefix, sys.base_prefix, *ours, *linked]))


def _outermost(paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths that are not inside another one of them."""
    found = sorted({os.path.normpath(path) for path in paths})
    for path in found:
        if not any(path.startswith(f"{other}/") for other in found if other != path):
            yield path
