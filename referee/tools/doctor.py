"""Checks of what affects matches on this machine: cores, clock, load, memory, disk, descriptors, programs.

Everything is read from /proc and /sys. Nothing is started or changed permanently.
"""

import os
import re
import resource
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import gettempdir

SAMPLE = 0.5  # seconds over which stolen time is measured
GAMES = "/usr/games:/usr/local/games"  # root's PATH leaves them out
# Programs that examples, tests and the referee start, with their Debian packages.
PROGRAMS = {
    "bots and engines": {
        "gnugo": "gnugo",
        "go": "golang-go",
        "java": "default-jre-headless",
        "javac": "default-jdk-headless",
        "lua": "lua5.4",
        "node": "nodejs",
        "perl": "perl",
        "rustc": "rustc",
        "stockfish": "stockfish",
    },
    "sources": {"cc": "gcc", "g++": "g++", "make": "make"},
    "services": {"podman": "podman", "postgres": "postgresql", "systemctl": "systemd"},
    "tests": {
        "bash": "bash",
        "chromium": "chromium",
        "fish": "fish",
        "openssl": "openssl",
        "systemd-analyze": "systemd",
        "zsh": "zsh",
    },
}
_GOOD_CLOCKS = frozenset({"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"})  # no system call
_STOLEN = 0.02  # share of a core's time; more than this distorts the clocks of bots
_PRESSURE = 20.0  # percent of the last 10 seconds in which a process waited for a core
_LEAST_DISK = 1 << 30
_LEAST_INODES = 100_000
_LEAST_MEMORY = 1 << 30
_LEAST_DESCRIPTORS = 1024


@dataclass(frozen=True, slots=True)
class Condition:
    """One property of the machine: `said` is text for people, `value` is a JSON value.

    `remedy` says what to do about a problem; "" if there is none.
    """

    subject: str
    said: str
    value: object
    remedy: str = ""


def conditions(
    proc: Path = Path("/proc"), sys: Path = Path("/sys"), wait: Callable[[float], None] = time.sleep
) -> Iterator[Condition]:
    """Yield every condition. `wait` is called once, for the sample of stolen time."""
    before = processor_times(proc)
    yield cores(sys)
    yield pinning()
    yield clock(sys)
    wait(SAMPLE)
    yield stolen(before, processor_times(proc))
    yield pressure(proc)
    yield memory(proc)
    try:
        yield disk("disk here", Path.cwd())
    except FileNotFoundError:
        yield Condition("disk here", "this folder was removed", None, "change to an existing one")
    yield disk("disk for temporary files", Path(gettempdir()))
    yield descriptors()


def cores(sys: Path) -> Condition:
    """Return how many cores this process may use, and how much of their time."""
    here, all_of = len(os.sched_getaffinity(0)), os.cpu_count() or 1
    share = _quota(sys)
    said = f"{here} of {all_of}" + (f", limited to the time of {share:g}" if share else "")
    value = {"usable": here, "present": all_of, "quota": share}
    if share and share < here:
        return Condition("cores", said, value, f"do not play more matches at a time: use --jobs {max(1, int(share))}")
    return Condition("cores", said, value)


def _quota(sys: Path) -> float | None:
    """Return how many cores' worth of time a cgroup allows; None without a limit."""
    for file in ("fs/cgroup/cpu.max", "fs/cgroup/cpu/cpu.cfs_quota_us"):
        words = _words(sys / file)
        period = words[1:] or _words(sys / "fs/cgroup/cpu/cpu.cfs_period_us")
        if words and period and words[0].isdigit() and period[0].isdigit():
            return int(words[0]) / int(period[0])
    return None


def pinning() -> Condition:
    """Check that processes can be pinned to one core, as those of a match are."""
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        os.sched_setaffinity(0, before)
    except OSError as error:
        remedy = "matches are slower on several cores: allow sched_setaffinity, or use --no-pin"
        return Condition("pinning", f"not possible: {error.strerror}", False, remedy)
    return Condition("pinning", "possible", True)


def clock(sys: Path) -> Condition:
    """Return the clock that times games, and how long it takes to read it."""
    (name, *_) = _words(sys / "devices/system/clocksource/clocksource0/current_clocksource") or ["unknown"]
    began, times = time.perf_counter_ns(), 2000
    for _ in range(times):
        time.monotonic_ns()
    each = (time.perf_counter_ns() - began) / times
    value = {"source": name, "nanoseconds": round(each)}
    slow = name not in _GOOD_CLOCKS and name != "unknown" and each > 500
    remedy = "reading it is slow: boot with clocksource=tsc if the processor has a stable one" if slow else ""
    return Condition("clock", f"{name}, {each:.0f} ns to read", value, remedy)


def processor_times(proc: Path) -> tuple[int, int]:
    """Return the ticks of all cores: the total, and those stolen by other virtual machines."""
    words = _words(proc / "stat")[1:9]
    ticks = [int(word) for word in words if word.isdigit()]
    return sum(ticks), ticks[7] if len(ticks) > 7 else 0


def stolen(before: tuple[int, int], after: tuple[int, int]) -> Condition:
    """Return the share of time that the host gave to others between two samples."""
    passed, lost = after[0] - before[0], after[1] - before[1]
    share = lost / passed if passed > 0 else 0.0
    remedy = "the host gives this machine's time to others: use longer clocks, or a dedicated host"
    said = f"{share:.1%} of the last {SAMPLE:g} s"
    return Condition("stolen time", said, round(share, 4), remedy if share > _STOLEN else "")


def pressure(proc: Path) -> Condition:
    """Return the share of the last ten seconds in which processes waited for a core, memory or disk."""
    found = {name: _waited(proc / "pressure" / name) for name in ("cpu", "memory", "io")}
    known = {name: share for name, share in found.items() if share is not None}
    if not known:
        return Condition("pressure", "not measured by this kernel", None)
    said = ", ".join(f"{name} {share:g} %" for name, share in known.items())
    busy = known.get("cpu", 0.0) > _PRESSURE
    remedy = "other programs use the cores: end them, or play fewer matches at a time (--jobs)" if busy else ""
    return Condition("pressure", f"{said} of the last 10 s", known, remedy)


def _waited(file: Path) -> float | None:
    try:
        found = re.search(r"^some avg10=([\d.]+)", file.read_text(encoding="utf-8"))
    except OSError:
        return None
    return float(found[1]) if found else None


def memory(proc: Path) -> Condition:
    """Return the free memory, regardless of the limits of a cgroup."""
    words = _words(proc / "meminfo")
    sizes = {name.rstrip(":"): int(size) << 10 for name, size in pairwise(words) if size.isdigit()}
    free, whole = sizes.get("MemAvailable", 0), sizes.get("MemTotal", 0)
    remedy = "bots and engines need 30 MiB or more each: free some" if whole and free < _LEAST_MEMORY else ""
    return Condition("memory", f"{_gib(free)} of {_gib(whole)} free", {"free": free, "total": whole}, remedy)


def disk(name: str, folder: Path) -> Condition:
    """Return the free space of a folder."""
    try:
        found = os.statvfs(folder)
    except OSError as error:
        return Condition(name, f"{folder} cannot be read: {error.strerror}", None, "use a readable folder")
    free, inodes = found.f_bavail * found.f_frsize, found.f_favail
    value = {"folder": str(folder), "free": free, "inodes": inodes, "writable": os.access(folder, os.W_OK)}
    said = f"{_gib(free)} free in {folder}"
    if not value["writable"]:
        return Condition(
            name, f"{said}, not writable", value, "ladders and records need a writable folder: use another one"
        )
    if free < _LEAST_DISK or 0 < inodes < _LEAST_INODES:
        what = f"{_gib(free)} and room for {inodes} files" if 0 < inodes < _LEAST_INODES else _gib(free)
        return Condition(
            name, said, value, f"only {what} left: free some space, because ladders pause when the disk is full"
        )
    return Condition(name, said, value)


def descriptors() -> Condition:
    """Return how many files and connections one process may open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = [None if limit == resource.RLIM_INFINITY else limit for limit in (soft, hard)]
    said = f"{_limit(soft)}, at most {_limit(hard)}"
    value = {"soft": most[0], "hard": most[1]}
    few = most[1] is not None and most[1] < _LEAST_DESCRIPTORS
    remedy = f"a lobby needs one per connection: raise it (ulimit -n {_LEAST_DESCRIPTORS}, LimitNOFILE)" if few else ""
    return Condition("descriptors", said, value, remedy)


def programs() -> dict[str, list[tuple[str, str]]]:
    """Return the programs with their paths, by purpose; "" for a missing one."""
    path = f"{os.environ.get('PATH', os.defpath)}:{GAMES}"
    return {
        use: [(name, shutil.which(name, path=path) or _unusual(name)) for name in names]
        for use, names in PROGRAMS.items()
    }


def packages(names: Sequence[str]) -> list[str]:
    """Return the Debian packages of these programs, without duplicates."""
    all_of = {name: package for names in PROGRAMS.values() for name, package in names.items()}
    return list(dict.fromkeys(all_of[name] for name in names))


def _unusual(name: str) -> str:
    """Return the path of the PostgreSQL server, which Debian keeps outside of PATH; "" for other programs."""
    if name != "postgres":
        return ""
    return max(map(str, Path("/usr/lib/postgresql").glob("*/bin/postgres")), default="")


def _words(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").split()
    except OSError:
        return []


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"


def _limit(limit: int) -> str:
    return "any number" if limit == resource.RLIM_INFINITY else str(limit)
