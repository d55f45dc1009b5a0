"""What the guard is to do, as lists of its steps: namespaces, a root of its own, users, Landlock, seccomp, limits."""

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

NEW_MOUNTS, NEW_IPC, NEW_USER, NEW_PIDS, NEW_NETWORK = 0x20000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
SCRATCH = "/tmp"  # in a root of its own
# <asm/resource.h>
_FSIZE, _CORE, _NPROC, _NOFILE, _AS, _SIGPENDING, _MSGQUEUE, _NICE, _RTPRIO = 1, 4, 6, 7, 9, 11, 12, 13, 14
_DESCRIPTORS = 1024
_SIGNALS = 256  # waiting ones with a value, which also bound the timers of a user
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/etc", "/nix", "/gnu")
_DEVICES = ("null", "zero", "full", "random", "urandom")
_GRAPHICS = ("/dev/dri", "/dev/kfd", "/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")
_MOST_CHILDREN = 1000  # entries of a folder that others than its owner cannot enter
_NODES = 10_000  # files of the scratch folder


def namespaces(user: bool, network: bool) -> list[str]:
    """Make namespaces of processes, mounts, messages and, if `network`, an empty one of the network, without which
    `/proc/net` would show the connections of the machine.

    Args:
        user: As an ordinary user, who keeps its own number in a namespace of users.
        network: Whether the program gets a network of its own.
    """
    flags = NEW_MOUNTS | NEW_PIDS | NEW_IPC | (NEW_USER if user else 0) | (NEW_NETWORK if network else 0)
    steps = ["unshare", str(flags)]
    if user:
        uid, gid = os.geteuid(), os.getegid()
        steps += ["map", f"{uid or 65534} {uid} 1", f"{gid or 65534} {gid} 1"]
    return steps


def limits(scratch: int, processes: int) -> list[str]:
    """Limit single processes.

    `scratch`: bytes of a file; `processes` if the kernel counts them by user, else 0.
    """
    steps = ["limit", str(_FSIZE), str(scratch), "limit", str(_CORE), "0", "limit", str(_NOFILE), str(_DESCRIPTORS)]
    steps += ["limit", str(_NICE), "0", "limit", str(_RTPRIO), "0"]
    steps += ["limit", str(_SIGPENDING), str(_SIGNALS), "limit", str(_MSGQUEUE), "0"]
    return steps + (["limit", str(_NPROC), str(processes)] if processes else [])


def plain_limits(memory: int) -> list[str]:
    """Forbid core files, and limit the address space to `memory` MiB, 0 for no limit."""
    return ["limit", str(_CORE), "0", *(["limit", str(_AS), str(memory << 20)] if memory else [])]


def new_root(
    read: Iterable[str], write: str, size: int, uid: int | None, gpu: bool, settings: bool = True
) -> list[str]:
    """Make a root with the system, what is to be read, a scratch folder of so many bytes, and `write`, "" for none.

    `uid`: of the user that it becomes; None: it stays what it is. `settings`: it cannot read more of them than
    everyone; else only those are shown.
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
    """The steps that show parts of the old root at their places in the new one."""

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
        """Show the path as it is written, and what it leads to."""
        for one in dict.fromkeys((os.path.normpath(path), os.path.realpath(path))):
            if not any(one == shown or one.startswith(f"{shown}/") for shown in self._shown):
                self._bind(one)

    def _bind(self, path: str) -> None:
        """Show a path. A folder that its user could not enter is shown by its entries."""
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
    return ["user", str(uid), str(uid)]


def no_rights() -> list[str]:
    """Drop all capabilities, and let no program give it any."""
    return ["drop", "keep"]


def landlock(network: bool, paths: Iterable[tuple[str, str]]) -> list[str]:
    """Obey Landlock. `paths` have the rights that they get, as guard.c names them."""
    words = [word for rights, path in paths for word in ("path", rights, path)]
    return ["landlock", "1" if network else "0", *words, "obey"]


def root_paths(write: str) -> list[tuple[str, str]]:
    """Return the paths for Landlock in a root of its own."""
    return [("r", "/"), ("d", "/dev"), ("w", SCRATCH), *([("w", write)] if write else [])]


def old_root_paths(read: Iterable[str], scratch: str, write: str, gpu: bool) -> list[tuple[str, str]]:
    """Return the paths for Landlock if it sees the root of all."""
    devices = [f"/dev/{name}" for name in _DEVICES] + [device for device in _GRAPHICS if gpu]
    folders = [folder for folder in _SYSTEM if folder != "/etc"]
    paths = [("r", path) for path in (*folders, *_open_settings(), "/proc", *(["/sys"] if gpu else []), *read)]
    real = [("r", os.path.realpath(path)) for path in read]
    return [*paths, *real, *(("d", device) for device in devices), ("w", scratch), *([("w", write)] if write else [])]


@cache
def _open_settings() -> tuple[str, ...]:
    """Return what everyone may read in /etc; a folder of it that holds more is shown by its parts."""
    return tuple(_open_parts("/etc")[1])


def _open_parts(folder: str) -> tuple[bool, list[str]]:
    """Return True if everyone may read all of the folder, and what of it in as few paths as possible."""
    whole, parts = True, list[str]()
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return False, []
    for entry in entries:
        try:
            mode = entry.stat().st_mode
        except OSError:  # a link that leads nowhere
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
    """Filter system calls.

    `our_user`: it could reach the files and processes of our own user in ways that Landlock does not know. `shared`:
    what it leaves in the kernel, such as shared memory, would stay and be seen by others.
    """
    return ["seccomp", str(network | spread << 1 | our_user << 2 | shared << 3)]


@cache
def own_folders() -> tuple[str, ...]:
    """Return where this Python and our packages are: built-in bots need them, and `ggp` in the command of a bot."""
    ours = list(sys.modules["ggp"].__path__)
    # In a checkout, ggp/ holds links to the packages.
    linked = [os.path.realpath(entry.path) for path in ours for entry in os.scandir(path) if entry.is_symlink()]
    return tuple(_outermost([sys.prefix, sys.base_prefix, *ours, *linked]))


def _outermost(paths: Iterable[str]) -> Iterator[str]:
    """Iterate over the paths that lie in no other of them."""
    found = sorted({os.path.normpath(path) for path in paths})
    for path in found:
        if not any(path.startswith(f"{other}/") for other in found if other != path):
            yield path
