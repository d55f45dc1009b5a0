"""Attacks on files, rights and settings of the machine."""

import contextlib
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

from tests.system.zoo.prey import Prey, attack


@attack("files", "the same", none="the referee: only stdin, stdout and stderr are passed on")
def inherited_descriptors(prey: Prey) -> None:
    """Uses descriptors that were left open at its start."""
    prey.attempt("the descriptor of the secret", lambda: prey.is_secret(os.pread(prey.descriptor, 4096, 0)))
    for path in Path("/proc/self/fd").iterdir():
        if int(path.name) > 2:
            prey.attempt(f"descriptor {path.name}", lambda path=path: not str(path.readlink()).startswith("/proc/"))


CALLS = (("bpf", 321, 280), ("perf_event_open", 298, 241), ("userfaultfd", 323, 282), ("open_by_handle_at", 304, 265))
# quotactl_fd, memfd_secret, process_mrelease, futex_waitv, cachestat, statmount, listmount, lsm_get_self_attr,
# setxattrat, open_tree_attr, file_getattr, file_setattr
LATE_CALLS = (443, 447, 448, 449, 451, 457, 458, 459, 463, 467, 468, 469)


@attack("files", "seccomp")
def kernel_calls(prey: Prey) -> None:
    """Calls parts of the kernel that no bot needs: bpf, perf, userfaultfd, swap, module loading."""
    for name, x86, arm in CALLS:
        prey.attempt(name, prey.listens, x86, arm)


@attack("files", "seccomp")
def late_calls(prey: Prey) -> None:
    """Calls new parts of the kernel by their numbers: for mounts, attributes, memory and the cache of files."""
    for number in LATE_CALLS:
        prey.attempt(f"call {number}", prey.listens, number, number)


@attack("files", "no capabilities, landlock, seccomp", none="nothing for root; the kernel for others")
def machine_settings(prey: Prey) -> None:
    """Changes settings of the machine: its name, the clock, the kernel's values (to what they are already)."""
    name = os.uname().nodename.encode()
    prey.attempt("the machine's name", lambda: prey.call("sethostname", name, len(name)) == 0)
    value = Path("/proc/sys/kernel/randomize_va_space")
    prey.attempt("a value of the kernel", lambda: value.write_bytes(value.read_bytes()))


@attack("files", "no new privileges, no capabilities, landlock")
def more_rights(prey: Prey) -> None:
    """Gains rights: by programs of root, by its own capabilities, by devices."""
    prey.attempt("no bar against programs of root", lambda: b"NoNewPrivs:\t0" in Path("/proc/self/status").read_bytes())
    prey.attempt("capabilities", lambda: int(field("CapEff"), 16))
    device = prey.scratch / f"{prey.mark}-device"

    def made() -> None:
        os.mknod(device, stat.S_IFCHR | 0o600, os.makedev(1, 11))  # /dev/kmsg
        device.unlink()

    prey.attempt("a device", made)
    prey.attempt("the kernel's log", lambda: os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))


def field(name: str) -> str:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(line.split()[1] for line in lines if line.startswith(name))


@attack("files", "seccomp")
def own_namespaces(prey: Prey) -> None:
    """Makes namespaces of its own, in which it would be root: mounts, roots and names."""
    for name, flag in (("user", 0x10000000), ("mount", 0x20000), ("network", 0x40000000), ("name", 0x4000000)):
        prey.attempt(f"a {name} namespace", lambda flag=flag: in_child(lambda: prey.call("unshare", flag)))
    prey.attempt("the namespace of another", lambda: in_child(lambda: joined(prey)))
    prey.attempt("a mount", lambda: in_child(lambda: mounted(prey)))


def joined(prey: Prey) -> None:
    prey.call("setns", os.open(f"/proc/{prey.victim}/ns/net", os.O_RDONLY), 0)


def mounted(prey: Prey) -> None:
    prey.call("unshare", 0x10000000 | 0x20000)
    prey.call("mount", b"none", str(prey.scratch).encode(), b"tmpfs", 0, b"size=4k")


def in_child(action: Callable[[], object]) -> bool:
    """Whether a child of ours may do that: this process stays as it is."""
    pid = os.fork()
    if not pid:
        try:
            action()
        except OSError as error:
            os._exit(error.errno or 1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status > 0:
        raise OSError(status, os.strerror(status))
    return status == 0


@attack("files", "the environment is replaced; process namespace")
def read_environment(prey: Prey) -> None:
    """Reads variables of the referee: in its own environment and in those of other processes."""
    prey.attempt("a secret from its own environment", lambda: prey.is_secret(repr(dict(os.environ)).encode()))
    for pid in {prey.referee, prey.victim, os.getppid()}:
        way = Path(f"/proc/{pid}/environ")
        prey.attempt(f"the environment of process {pid}", lambda way=way: prey.is_secret(way.read_bytes()))


@attack("files", "landlock, mount namespace")
def read_files(prey: Prey) -> None:
    """Reads files that are not its own: a secret, the store, keys, the password hashes."""
    for path in prey.secrets:
        prey.attempt(f"the contents of {Path(path).name}", lambda path=path: prey.is_secret(Path(path).read_bytes()))
    prey.attempt("the password hashes", Path("/etc/shadow").read_bytes)
    prey.attempt("the names of the files beside the store", lambda: [*Path(prey.folder).iterdir()])


@attack("files", "landlock, mount namespace")
def read_files_by_links(prey: Prey) -> None:
    """Reaches files by links in its own folder: symbolic, hard, and one that is exchanged while it is opened."""
    link = prey.scratch / f"{prey.mark}-link"
    for make in (os.symlink, os.link):

        def read(make: Callable[[str, Path], None] = make) -> bool:
            make(prey.secrets[0], link)
            try:
                return prey.is_secret(link.read_bytes())
            finally:
                link.unlink()

        prey.attempt(f"a secret by os.{make.__name__}", read)
    prey.attempt("a secret by a race of links", lambda: race(prey, link))


def race(prey: Prey, link: Path) -> bool:
    """A child exchanges a file and a link to the secret while this process opens it."""
    own = prey.scratch / f"{prey.mark}-own"
    own.write_bytes(b"own")
    (child,) = prey.children(1, lambda: exchange(prey, own, link))
    end = time.monotonic() + 0.3
    try:
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                if prey.is_secret(link.read_bytes()):
                    return True
        return False
    finally:
        prey.reap([child])
        for path in (own, link):
            path.unlink(missing_ok=True)


def exchange(prey: Prey, own: Path, link: Path) -> None:
    other = link.with_suffix(".other")
    end = time.monotonic() + 2
    while time.monotonic() < end:
        for make, target in ((os.symlink, prey.secrets[0]), (os.link, own)):
            with contextlib.suppress(OSError):
                make(target, other)
                other.replace(link)


@attack("files", "landlock, mount namespace")
def read_files_by_proc(prey: Prey) -> None:
    """Reaches files by way of other processes in /proc: their root, working folder and descriptors."""

    def is_there(path: str) -> bool:
        return prey.is_secret(Path(path).read_bytes())

    for pid in {prey.victim, prey.referee, os.getppid(), 1}:
        prey.attempt(f"a secret by the root of process {pid}", is_there, f"/proc/{pid}/root{prey.secrets[0]}")
    prey.attempt("a secret by the working folder of another", is_there, f"/proc/{prey.victim}/cwd/secret")
    prey.attempt("a secret by the descriptor of another", is_there, f"/proc/{prey.victim}/fd/{prey.descriptor}")


@attack("files", "landlock, mount namespace")
def write_files(prey: Prey) -> None:
    """Writes outside its folder: over a secret and the store, into the system's folders, and removes and renames."""
    for path in map(Path, prey.targets):
        prey.attempt(f"written {path.name}", lambda path=path: path.open("ab").write(b"changed"))
    first = Path(prey.targets[0])
    prey.attempt("changed rights", first.chmod, 0o777)
    prey.attempt("changed times", os.utime, first, (0, 0))
    prey.attempt("changed its owner", os.chown, first, os.geteuid(), -1)
    prey.attempt("given an attribute", os.setxattr, first, "user.zoo", b"new")
    prey.attempt("renamed", lambda: first.rename(f"{first}.moved"))
    prey.attempt("removed", Path(prey.targets[1]).unlink)
    for folder in (prey.folder, prey.temporary, "/var/tmp", "/usr", "/etc"):
        path = Path(folder) / f"{prey.mark}-written"
        prey.attempt(f"a file in {folder}", path.write_bytes, b"new")
    for folder in ("/tmp", "/dev/shm", str(Path.home())):  # where these are its own, nothing is left of it
        with contextlib.suppress(OSError):
            (Path(folder) / f"{prey.mark}-written").write_bytes(b"new")


@attack("files", "landlock, mount namespace")
def write_own_program(prey: Prey) -> None:
    """Changes its own program and leaves a file beside it, for the next game."""
    program = Path(__file__)
    prey.attempt("its program opened for writing", lambda: program.open("ab"))
    beside = program.with_name(f"{prey.mark}-beside.py")
    prey.attempt("a file beside it", lambda: beside.write_text("left", encoding="utf-8"))
