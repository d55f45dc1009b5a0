"""`ggp doctor`: print what this machine offers to this user, and how to get the rest."""

import os
import pwd
from collections.abc import Sequence
from typing import Any

import click

from ggp.protocol.printed import json_text
from ggp.referee.command_line import HELP, run_command
from ggp.referee.match.sandbox.levels import PROPERTIES
from ggp.referee.match.sandbox.machine import Machine, this_machine
from ggp.referee.terminal import escape_unprintable, say
from ggp.referee.tools.doctor import Condition, conditions, packages, programs

NAME = "ggp doctor"
EPILOGUE = """\b
Each mechanism is tried as this user, here: a service, a container and a
terminal may differ. Lines that begin with ! name a problem and its remedy.

\b
The exit status is 0 if bots can run at level strict and nothing is wrong; 1 if
there is a line with !; 2 for an invalid command line. Missing programs are only
listed: examples and tests use them.
"""


def main(argv: list[str]) -> int:
    """Run the command and return its exit status."""
    return run_command(doctor, NAME, argv)


@click.command("doctor", epilog=EPILOGUE, context_settings=HELP)
@click.option("--json", "as_object", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Print only problems.")
def doctor(as_object: bool, quiet: bool) -> int:
    """Report how far strangers' bots can be confined here, and what else on this machine affects matches."""
    machine = this_machine()
    found = list(conditions())
    wrong = bool(machine.missing) or any(one.remedy for one in found)
    if as_object:
        say(json_text(_as_json(machine, found)))
    elif quiet:
        say(*(escape_unprintable(line) for line in [*_not_kept(machine), *_problems(found)]))
    else:
        say(*(escape_unprintable(line) for line in _page(machine, found)))
    return 1 if wrong else 0


def _page(machine: Machine, found: Sequence[Condition]) -> list[str]:
    width = max(len(one) for one in [*PROPERTIES, *(one.subject for one in found)])
    lines = [_level(machine)]
    lines += [f"  {name:{width}}  {', '.join(machine.kept[name])}" for name in PROPERTIES if machine.kept.get(name)]
    lines += _not_kept(machine)
    lines += ["", "this machine"]
    for one in found:
        lines.append(f"  {one.subject:{width}}  {one.said}")
        lines += _problems([one])
    lines += ["", "programs"]
    missing: list[str] = []
    for use, names in programs().items():
        here = [name for name, place in names if place]
        missing += [name for name, place in names if not place]
        lines.append(f"  {use:{width}}  {', '.join(here) or 'none'}")
    if missing:
        lines.append(f"  {'not here':{width}}  {', '.join(missing)}: apt-get install {' '.join(packages(missing))}")
    return lines


def _level(machine: Machine) -> str:
    rest = ", without what is missing here" if machine.missing else ""
    return f"level {'default' if machine.missing else 'strict'}{rest} ({_user()})"


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"user {os.geteuid()}"


def _not_kept(machine: Machine) -> list[str]:
    lines: list[str] = []
    remedies: dict[str, None] = {}
    for name, (reason, remedy) in machine.missing.items():
        lines.append(f"! {name} not kept ({reason})")
        remedies[remedy] = None
    return [*lines, *(f"  remedy: {remedy}" for remedy in remedies)]


def _problems(found: Sequence[Condition]) -> list[str]:
    return [f"! {one.subject}: {one.remedy}" for one in found if one.remedy]


def _as_json(machine: Machine, found: Sequence[Condition]) -> dict[str, Any]:
    """Return the level, properties with mechanisms, what is missing and why, the machine, and programs."""
    return {
        "level": "default" if machine.missing else "strict",
        "user": {"id": os.geteuid(), "name": _user()},
        "kept": {name: list(machine.kept[name]) for name in PROPERTIES if machine.kept.get(name)},
        "missing": {name: {"reason": reason, "remedy": remedy} for name, (reason, remedy) in machine.missing.items()},
        "machine": {one.subject: one.value for one in found},
        "problems": {one.subject: one.remedy for one in found if one.remedy},
        "programs": {name: place or None for names in programs().values() for name, place in names},
    }
