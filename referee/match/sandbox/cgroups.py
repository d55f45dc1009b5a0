"""Control groups of one program and its descendants: limits, usage, and suspending them.

Groups are made beside or below the group of this process, in the hierarchies of version 2 and version 1 that exist and
permit it. Their names contain the process that made them, so that groups of a dead process can be removed.
"""

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from ggp.referee.match.sandbox.folders import process_began

PREFIX = "ggp-"
REFEREE = "ggp-referee"  # the group of our own processes: in version 2 a group with processes has no child groups
MEMORY, PIDS, USAGE, FREEZE, KILL = "memory", "pids", "usage", "freeze", "kill"
_TRIES = 2000  # one per millisecond: a group may be busy for a moment after its last process has ended
_MEMORY_FILES = {1: ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"), 2: ("memory.max", "memory.swap.max")}
_numbers = count(1)
_ours: dict[str, list[str]] = {}  # names in use, and the paths of these groups


@dataclass(frozen=True, slots=True)
class GroupPlace:
    """A folder in which groups can be made, and what they offer."""

    folder: str
    version: int
    offers: frozenset[str]
    swaps: bool = False  # swap space can be limited, too

    def limits(self, index: int, memory: int, processes: int) -> list[str]:
        """Return the guard's steps that set limits in group `index`; `memory` is in bytes."""
        steps = list[tuple[str, str]]()
        if MEMORY in self.offers:
            limit, swap = _MEMORY_FILES[self.version]
            steps.append((limit, str(memory)))
            if self.swaps:
                steps.append((swap, "0" if self.version == 2 else str(memory)))
        if PIDS in self.offers:
            steps.append(("pids.max", str(processes)))
        return [word for name, value in steps for word in ("set", str(index), name, value)]


@dataclass(slots=True)
class BotGroups:
    """The groups of one program, one in each place. The guard creates them."""

    places: Sequence[GroupPlace]
    name: str = field(default_factory=lambda: _new_name())
    _files: dict[str, int] = field(default_factory=dict)  # open descriptors by file name

    def __post_init__(self) -> None:
        _ours[self.name] = self.paths

    @property
    def paths(self) -> list[str]:
        """Return the folders of the groups."""
        return [f"{place.folder}/{self.name}" for place in self.places]

    def usage(self) -> int:
        """Return the processor time used so far, in ns."""
        place = self._place(USAGE)
        if place.version == 1:
            return int(self._read(place, "cpuacct.usage"))
        return int(self._read(place, "cpu.stat").split(b"\n", 1)[0].split()[1]) * 1000

    def freeze(self, frozen: bool) -> None:
        """Suspend all processes of the groups, or let them run again."""
        place = self._place(FREEZE)
        if place.version == 1:
            self._write(place, "freezer.state", b"FROZEN" if frozen else b"THAWED")
        else:
            self._write(place, "cgroup.freeze", b"1" if frozen else b"0")

    def out_of_memory(self) -> bool:
        """Return True if one of its processes was killed because memory ran out."""
        found = [place for place in self.places if MEMORY in place.offers]
        name = "memory.events" if found and found[0].version == 2 else "memory.oom_control"
        return bool(found) and self._counter(found[0], name, b"oom_kill") > 0

    def refused_processes(self) -> bool:
        """Return True if it was refused a process or thread."""
        found = [place for place in self.places if PIDS in place.offers]
        return bool(found) and self._counter(found[0], "pids.events", b"max") > 0

    def remove(self) -> None:
        """Kill the processes left in the groups, and remove the groups."""
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files.clear()
        remove_groups(self.paths)
        _ours.pop(self.name, None)

    def _place(self, what: str) -> GroupPlace:
        return next(place for place in self.places if what in place.offers)

    def _read(self, place: GroupPlace, name: str) -> bytes:
        return os.pread(self._open(place, name, os.O_RDONLY), 4096, 0)

    def _write(self, place: GroupPlace, name: str, data: bytes) -> None:
        os.pwrite(self._open(place, name, os.O_WRONLY), data, 0)

    def _open(self, place: GroupPlace, name: str, mode: int) -> int:
        if name not in self._files:
            self._files[name] = os.open(f"{place.folder}/{self.name}/{name}", mode | os.O_CLOEXEC)
        return self._files[name]

    def _counter(self, place: GroupPlace, name: str, key: bytes) -> int:
        try:
            lines = Path(place.folder, self.name, name).read_bytes().splitlines()
        except OSError:
            return 0
        return next((int(line.split()[1]) for line in lines if line.split()[0] == key), 0)


def remove_groups(paths: Sequence[str]) -> None:
    """Kill the processes of these groups, all of one program, and remove the groups. They may be gone already.

    In version 1 a suspended process does not die, so all groups are resumed before we wait for any.
    """
    for path in paths:
        _resume(path)
    for path in paths:
        _remove_group(path)


def _resume(path: str) -> None:
    for name, value in (("freezer.state", "THAWED"), ("cgroup.freeze", "0")):
        with contextlib.suppress(OSError):
            file = os.open(f"{path}/{name}", os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.write(file, value.encode())
            finally:
                os.close(file)


def _remove_group(path: str) -> None:
    for tries in range(_TRIES):
        try:
            os.rmdir(path)  # noqa: PTH106
            return
        except FileNotFoundError:
            return
        except OSError:
            if tries == 0:
                _end_processes(path)
            time.sleep(0.001)


def _end_processes(path: str) -> None:
    with contextlib.suppress(OSError):
        Path(path, "cgroup.kill").write_text("1", encoding="utf-8")
        return
    with contextlib.suppress(OSError):
        for pid in Path(path, "cgroup.procs").read_text(encoding="utf-8").split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), 9)


def remove_own() -> None:
    """Remove every group of this process, even of a program that was being started. All programs have ended."""
    for name, paths in list(_ours.items()):
        remove_groups(paths)
        _ours.pop(name, None)


def remove_stale(places: Sequence[GroupPlace]) -> None:
    """Remove groups left by processes that have died, and unused groups of this process."""
    stale = dict[str, list[str]]()
    for place in places:
        with contextlib.suppress(OSError):
            for name in os.listdir(place.folder):  # noqa: PTH208
                if name.startswith(PREFIX) and name != REFEREE and name not in _ours and not _lives(name):
                    stale.setdefault(name, []).append(f"{place.folder}/{name}")
    for paths in stale.values():
        remove_groups(paths)


def _new_name() -> str:
    name = f"{PREFIX}{os.getpid()}-{process_began(os.getpid())}-{next(_numbers)}"
    _ours[name] = []
    return name


def _lives(name: str) -> bool:
    """Return True if the process that made a group of this name is alive, and is not this process."""
    pid, _, rest = name.removeprefix(PREFIX).partition("-")
    if not pid.isdigit() or int(pid) == os.getpid():
        return not pid.isdigit()
    return process_began(int(pid)) == rest.partition("-")[0]


# -- where groups can be made -------------------------------------------------------------------------------------


def find_places(kill: bool = True) -> tuple[list[GroupPlace], str]:
    """Find the places in which we may make groups.

    Version 1 comes first: a process joins its groups without taking the kernel lock that blocks every fork.

    Args:
        kill: Groups are needed to kill what a program leaves behind.

    Returns:
        The places, and why the first of the others cannot be used.
    """
    found, reason = list[GroupPlace](), ""
    offered = set[str]()
    for folder, version, controllers in _hierarchies():
        wanted = _offers(version, controllers) - offered - (set() if kill else {KILL})
        if not wanted:
            continue
        try:
            place = _divided(folder) if version == 2 else folder
            offers, swaps = _try_group(place, version, wanted)
        except OSError as error:
            reason = reason or f"no cgroup can be created here: {error.strerror}"
            continue
        if offers:
            offered |= offers
            found.append(GroupPlace(place, version, frozenset(offers), swaps))
    return found, reason or "no cgroup can be created here"


def _offers(version: int, controllers: set[str]) -> set[str]:
    if version == 2:
        return {USAGE, FREEZE, KILL, MEMORY, PIDS}
    known = {"memory": MEMORY, "pids": PIDS, "cpuacct": USAGE, "freezer": FREEZE}
    return {offer for controller, offer in known.items() if controller in controllers}


def _try_group(folder: str, version: int, wanted: set[str]) -> tuple[set[str], bool]:
    """Make a group. Return which of the `wanted` features it offers, and whether it limits swap space.

    Raises:
        OSError: No group can be made.
    """
    path = f"{folder}/{_new_name()}"
    os.mkdir(path, 0o755)  # noqa: PTH102
    try:
        files = {
            MEMORY: _MEMORY_FILES[version][0],
            PIDS: "pids.max",
            USAGE: "cpu.stat" if version == 2 else "cpuacct.usage",
            FREEZE: "cgroup.freeze" if version == 2 else "freezer.state",
            KILL: "cgroup.kill",
        }
        offers = {offer for offer in wanted if os.access(f"{path}/{files[offer]}", os.F_OK)}
        return offers, os.access(f"{path}/{_MEMORY_FILES[version][1]}", os.F_OK)
    finally:
        remove_groups([path])
        _ours.pop(path.rpartition("/")[2], None)


def _divided(folder: str) -> str:
    """Return the folder of version 2 for groups with controllers, if it is delegated to us.

    Raises:
        OSError: No group can be made.
    """
    if folder.endswith(f"/{REFEREE}"):
        return folder.rpartition("/")[0]
    try:
        controllers = Path(folder, "cgroup.controllers").read_text(encoding="utf-8").split()
        offered = {"memory", "pids", "cpu"} & {*controllers}
        given = set(Path(folder, "cgroup.subtree_control").read_text(encoding="utf-8").split())
        if offered and not offered <= given and _is_delegated(folder):
            leaf = Path(folder, REFEREE)
            leaf.mkdir(exist_ok=True)
            for pid in Path(folder, "cgroup.procs").read_text(encoding="utf-8").split():
                with contextlib.suppress(ProcessLookupError):
                    (leaf / "cgroup.procs").write_text(pid, encoding="utf-8")
            switched_on = " ".join(f"+{name}" for name in sorted(offered))
            Path(folder, "cgroup.subtree_control").write_text(switched_on, encoding="utf-8")
    except OSError:
        pass  # groups without controllers may still be possible
    return folder


def _is_delegated(folder: str) -> bool:
    """Return True if systemd has delegated this whole group to us with Delegate=yes."""
    with contextlib.suppress(OSError):
        if os.getxattr(folder, "user.delegate") == b"1":
            return True
    with contextlib.suppress(OSError):
        return os.getxattr(folder, "trusted.delegate") == b"1"
    return False


def _hierarchies() -> Iterator[tuple[str, int, set[str]]]:
    """Yield the folder of our own group in each hierarchy, with its version and controllers; version 2 last."""
    try:
        # Paths are bytes for the kernel. One that is invalid UTF-8 must not prevent using the others.
        own = [line.split(":", 2) for line in os.fsdecode(Path("/proc/self/cgroup").read_bytes()).splitlines()]
        mounts = [line.split(" - ", 1) for line in os.fsdecode(Path("/proc/self/mountinfo").read_bytes()).splitlines()]
    except OSError:
        return
    for number, names, path in sorted(own, key=lambda line: line[0] == "0"):
        controllers = set(names.split(",")) - {""}
        for left, right in mounts:
            kind, _, options = right.split(" ", 2)
            _, _, _, root, point, *_ = left.split(" ")
            if kind == ("cgroup2" if number == "0" else "cgroup") and controllers <= set(options.split(",")) | {""}:
                below = os.path.relpath(path, root) if root != "/" else path.lstrip("/")
                yield os.path.normpath(f"{point}/{below}"), 2 if number == "0" else 1, controllers
                break
