"""The protections that this machine offers to this user, and their mechanisms, found by trying each once per process.

Version numbers are not enough: containers, services and kernels may forbid anything.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from ggp.referee.match.sandbox import steps
from ggp.referee.match.sandbox.cgroups import (
    FREEZE,
    KILL,
    MEMORY,
    PIDS,
    USAGE,
    BotGroups,
    GroupPlace,
    find_places,
    remove_stale,
)
from ggp.referee.match.sandbox.folders import remove_stale_scratch
from ggp.referee.match.sandbox.levels import DEFAULT, NONE, PROPERTIES, STRICT, Sandbox, SandboxError
from ggp.referee.match.sandbox.spawn import StepFailed, try_steps

_AS_ROOT_OR_UNIT = "run as root, or as a systemd unit with Delegate=yes"
_NAMESPACES = "run as root, or allow user namespaces (user.max_user_namespaces; the seccomp profile of a container)"
_KERNEL = "use Linux 5.13 or newer, with landlock in the lsm= list of its command line"
_NETWORK = "allow network namespaces (user.max_net_namespaces; RestrictNamespaces= of a systemd unit)"
_COUNTING = "use Linux 5.9 or newer, and no container that intercepts system calls itself"
_SECCOMP = "use a kernel with CONFIG_SECCOMP_FILTER"
_UIDS = 1 << 30  # if we are root, programs run as users from this ID on


@dataclass(frozen=True)
class Machine:
    """The protections of this machine, and the mechanisms behind them.

    `kept` maps each protection to the mechanisms that provide it. `missing` maps each other one to `mechanism: reason`
    and a remedy.
    """

    kept: Mapping[str, tuple[str, ...]]
    missing: Mapping[str, tuple[str, str]]
    namespaces: str = ""  # "root", "user" or "" for none
    own_network: bool = False  # a network namespace is among them
    landlock: bool = False
    seccomp: bool = False
    users: int = 0  # the first user ID for programs, 0 if they keep ours
    places: tuple[GroupPlace, ...] = field(default=(), compare=False)


@cache
def this_machine() -> Machine:
    """Try all mechanisms, which takes some ms, and return what this machine offers.

    Raises:
        SandboxError: The guard is not installed.
    """
    reasons = dict[str, str]()
    landlock = _try("landlock", ["keep", *steps.landlock(False, [("r", "/usr")])], reasons)
    seccomp = _try("seccomp", ["keep", *steps.seccomp(False, False, True, True)], reasons)
    counting = seccomp and _try("counting", ["init", "keep", *steps.seccomp(False, False), "listener"], reasons)
    users = _user_ids() if os.geteuid() == 0 else 0
    namespaces, own_network = "", False
    kinds = ("root", "user") if os.geteuid() == 0 else ("user",)
    for kind, network in [(kind, network) for network in (True, False) for kind in kinds]:
        if _try("namespaces" if not network else "network namespace", _namespaces(kind, users, network), reasons):
            namespaces, own_network = kind, network
            break
    users = 0 if namespaces == "user" else users
    if not namespaces and landlock:
        _try("signals", ["keep", *steps.landlock(False, [("r", "/usr")]), "signal"], reasons)
    offered, reason = find_places(kill=not namespaces)
    remove_stale(offered)
    places, refused = try_places(offered)
    reasons["cgroups"] = refused or reason
    if not namespaces:
        remove_stale_scratch()
    return describe(namespaces, landlock, seccomp, users, tuple(places), reasons, own_network, counting)


def try_places(places: Sequence[GroupPlace]) -> tuple[list[GroupPlace], str]:
    """Return the places where a process can get limits and join groups, and why the others cannot be used."""
    groups = BotGroups(places)
    words = [word for path in groups.paths for word in ("group", path)]
    limits = [word for index, place in enumerate(places) for word in place.limits(index, 1 << 30, 64)]
    try:
        try_steps([*words, "make", *limits, "join"])
    except StepFailed as error:
        if len(places) < 2:
            return [], f"no process can join a cgroup: {error}"
        tried = [try_places([place]) for place in places]
        return [place for kept, _ in tried for place in kept], next((reason for _, reason in tried if reason), "")
    finally:
        groups.remove()
    return list(places), ""


def describe(
    namespaces: str,
    landlock: bool,
    seccomp: bool,
    users: int,
    places: tuple[GroupPlace, ...],
    reasons: Mapping[str, str],
    own_network: bool = True,
    counting: bool = True,
) -> Machine:
    """Return what these mechanisms provide.

    Args:
        namespaces: "root" or "user" for who may make namespaces; "" for none.
        landlock: Landlock works.
        seccomp: Seccomp filters work.
        users: The first user ID for programs; 0 if they keep ours.
        places: Where control groups can be made.
        reasons: Why the other mechanisms are unavailable.
        own_network: The namespaces include one of the network.
        counting: The guard can answer system calls, and so count what wakes others. Needs seccomp.
    """
    offers = {offer for place in places for offer in place.offers}
    cgroups, apart = reasons.get("cgroups", ""), reasons.get("namespaces", "")
    if "signals" in reasons:
        apart = f"{apart}; landlock does not block signals"
    why = {
        "files": (f"landlock: {reasons.get('landlock', '')}", f"{_KERNEL}, or {_NAMESPACES}"),
        "network": (
            (f"network namespace: {reasons.get('network namespace', '')}", _NETWORK)
            if seccomp
            else (f"seccomp: {reasons.get('seccomp', '')}", _SECCOMP)
        ),
        "other processes": (f"process namespace: {apart}", _NAMESPACES),
        "process count": (f"cgroup pids: {cgroups}", _AS_ROOT_OR_UNIT),
        "memory": (f"cgroup memory: {cgroups}", _AS_ROOT_OR_UNIT),
        "disk": (f"mount namespace: {apart}", _NAMESPACES),
        "idle turn": (
            (f"cgroup cpu, freezer: {cgroups}", _AS_ROOT_OR_UNIT)
            if not {USAGE, FREEZE} <= offers
            else (f"seccomp: {reasons.get('seccomp', '') or reasons.get('counting', '')}", _COUNTING)
        ),
        "clean end": (f"process namespace: {apart}", _NAMESPACES),
    }
    apart_from_others = ["process namespace"] if namespaces else ["landlock"] * (landlock and "signals" not in reasons)
    # Without namespaces seccomp still blocks the network, but /proc/net shows the connections of the machine.
    cut_off = ["seccomp"] if not namespaces else ["seccomp", "network namespace"] if own_network else []
    counted = ["process limit"] if namespaces == "user" or users else []
    mechanisms: dict[str, list[str]] = {
        "files": [*(["landlock"] if landlock else []), *(["mount namespace"] if namespaces else [])],
        "network": cut_off if seccomp else [],
        "other processes": [*apart_from_others, "seccomp"] if seccomp and apart_from_others else [],
        "process count": ["cgroup pids"] if PIDS in offers else counted,
        "memory": ["cgroup memory"] if MEMORY in offers else [],
        "disk": ["mount namespace"] if namespaces else [],
        "idle turn": ["cgroup cpu", "freezer", "seccomp"] if {USAGE, FREEZE} <= offers and seccomp and counting else [],
        "clean end": ["process namespace"] if namespaces else ["cgroup kill"] if KILL in offers else [],
    }
    kept = {name: tuple(mechanisms[name]) for name in PROPERTIES if mechanisms[name]}
    missing = {name: why[name] for name in PROPERTIES if not mechanisms[name]}
    return Machine(kept, missing, namespaces, own_network and namespaces != "", landlock, seccomp, users, places)


def check_level(level: str, who: str = "", machine: Callable[[], Machine] | None = None) -> None:
    """Check that this machine supports this level.

    Args:
        level: The level.
        who: Who requests it, for the error.
        machine: Returns the machine; by default this one.

    Raises:
        SandboxError: It does not support a strict sandbox.
    """
    if level != STRICT or not (missing := (machine or this_machine)().missing):
        return
    problems = [f"{name} ({reason}): {remedy}" for name, (reason, remedy) in missing.items()]
    words = f'{who}: sandbox = "{STRICT}" is not supported here: {"; ".join(problems)}'.removeprefix(": ")
    raise SandboxError(f'{words}, or write sandbox = "{DEFAULT}"', code="no-strict")


def in_record(sandbox: Sandbox, credited: bool = True) -> str:
    """Return what a record says about a sandbox; "" for none.

    Args:
        sandbox: The sandbox.
        credited: Time that the bot uses in its opponent's turns is credited. A strict bot cannot use any.
    """
    if sandbox.level == NONE:
        return ""
    taken = not credited and sandbox.level != STRICT and "ponder" not in sandbox.allow
    unkept = [name for name in PROPERTIES if name in this_machine().missing or (taken and name == "idle turn")]
    missing = ", ".join(unkept)
    return "; ".join(filter(None, [str(sandbox), f"not kept: {missing}" if missing else ""]))


def _namespaces(kind: str, users: int, network: bool) -> list[str]:
    uid = users if kind == "root" and users else None
    root = steps.new_root((), "", 1 << 20, uid, False)
    made = steps.namespaces(kind == "user", network)
    return [*made, "init", *root, *(steps.other_user(uid) if uid else []), "drop", "keep"]


def _user_ids() -> int:
    """Return the first of many user IDs that no user has. Some containers map only few."""
    for first in (_UIDS, 50_000):
        try:
            try_steps(steps.other_user(first))
        except StepFailed:
            continue
        return first
    return 0


def _try(name: str, words: list[str], reasons: dict[str, str]) -> bool:
    try:
        try_steps(words)
    except StepFailed as error:
        reasons[name] = str(error)
        return False
    return True
