"""Runs `ggp doctor --json` where other things are allowed than here: `python -m tests.support.forbidding OPTION …`.

--namespaces=eperm forbids namespaces and mounts by a filter of seccomp, as the default profile of containers and
RestrictNamespaces of systemd do; =kill ends the process that tries, as a unit without SystemCallErrorNumber does; =none
sets user.max_user_namespaces to 0, in a namespace of users of its own. --user ID goes on as that user. --container: as
root with the rights that docker and podman leave. --group FOLDER: in that group of control. All is done after the
program was loaded, which others may not read.
"""

import argparse
import contextlib
import ctypes
import io
import json
import os
import platform
import struct
import sys
from pathlib import Path

from ggp.referee.cli.main import main as run

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 38, 22, 24
_ALLOW, _KILL, _EPERM, _ENOSYS = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026
_NEW = 0x7E020080  # of clone: every CLONE_NEW…
_LOAD, _EQUAL, _SET, _RETURN = 0x20, 0x15, 0x45, 0x06  # instructions of classic BPF
_NUMBERS = {  # of system calls
    "x86_64": {
        "clone": 56,
        "clone3": 435,
        "unshare": 272,
        "setns": 308,
        "mount": 165,
        "pivot_root": 155,
        "umount2": 166,
    },
    "aarch64": {"clone": 220, "clone3": 435, "unshare": 97, "setns": 268, "mount": 40, "pivot_root": 41, "umount2": 39},
}
_NEWER = (428, 429, 430, 431, 432, 433, 442)  # open_tree … fspick, mount_setattr: the same everywhere
# What docker and podman leave root: CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETGID SETUID SETPCAP NET_BIND_SERVICE
# NET_RAW SYS_CHROOT MKNOD AUDIT_WRITE SETFCAP.
_CONTAINER = {0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31}
_CAPABILITIES = 41


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--namespaces", choices=["eperm", "kill", "none"])
    parser.add_argument("--user", type=int)
    parser.add_argument("--container", action="store_true")
    parser.add_argument("--group", type=Path, action="append", default=[])
    said = parser.parse_args()
    with contextlib.redirect_stdout(io.StringIO()):
        run(["doctor", "--help"])  # loads what it needs, but for
        json.dumps({})
    if said.namespaces == "none":
        _enter_own_namespace()
        Path("/proc/sys/user/max_user_namespaces").write_text("0", encoding="utf-8")
        Path("/proc/sys/user/max_mnt_namespaces").write_text("0", encoding="utf-8")
    for group in said.group:
        (group / "cgroup.procs").write_text(str(os.getpid()), encoding="utf-8")
    if said.container:
        for capability in set(range(_CAPABILITIES)) - _CONTAINER:
            _prctl(_PR_CAPBSET_DROP, capability)
    if said.user is not None:
        os.chdir("/")
        os.setgroups([])
        os.setresgid(said.user, said.user, said.user)
        os.setresuid(said.user, said.user, said.user)
    if said.namespaces in ("eperm", "kill"):
        _forbid(_KILL if said.namespaces == "kill" else _EPERM)
    sys.exit(run(["doctor", "--json"]))


def _enter_own_namespace() -> None:
    """A namespace of users in which we are root, and may set limits."""
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x10000000):
        sys.exit(f"unshare: {os.strerror(ctypes.get_errno())}")
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        Path(f"/proc/self/{name}").write_text(text, encoding="utf-8")


def _forbid(answer: int) -> None:
    numbers = _NUMBERS[platform.machine()]
    program = [(_LOAD, 0, 0, 0)]
    for name in ("unshare", "setns", "mount", "pivot_root", "umount2"):
        program += [(_EQUAL, 0, 1, numbers[name]), (_RETURN, 0, 0, answer)]
    for number in _NEWER:
        program += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, answer)]
    program += [(_EQUAL, 0, 1, numbers["clone3"]), (_RETURN, 0, 0, _ENOSYS)]  # then clone is used, which is read below
    program += [(_EQUAL, 0, 3, numbers["clone"]), (_LOAD, 0, 0, 16), (_SET, 0, 1, _NEW), (_RETURN, 0, 0, answer)]
    program += [(_RETURN, 0, 0, _ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in program))
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    filter = ctypes.create_string_buffer(struct.pack("H6xP", len(program), ctypes.addressof(code)))
    _prctl(_PR_SET_SECCOMP, 2, ctypes.addressof(filter))


def _prctl(option: int, one: int, two: int = 0) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = [ctypes.c_ulong(value) for value in (one, two, 0, 0)]
    if libc.prctl(option, *arguments):
        sys.exit(f"prctl {option}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    main()
