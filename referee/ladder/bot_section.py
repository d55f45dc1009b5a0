"""Reads one `[bot.NAME]` of a ladder file into an Entrant, with the version that its files make. It starts nothing."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from referee.ladder.entries import Entrant
from referee.ladder.toml_section import Section, nearest, shown
from referee.play.launch import LaunchError
from referee.play.seating import Start
from referee.play.versions import Snapshot
from referee.play.words import BOTS, WordError, is_built_in, read_bot

_ASSIGNED = re.compile(r"[A-Za-z0-9_.-]+=")
_OF_PROCESSES = ("environment", "memory", "cores", "restart")


def read_entrant(name: str, section: Section, folder: Path, pools: Sequence[str], files: Snapshot) -> Entrant:
    """`pools` are all there are; `files` looks up what bots share once. Raises ConfigError."""
    start = _start(name, section, folder)
    try:
        start = replace(start, version=files.version_of(start))
    except LaunchError as error:
        raise section.error("command", str(error)) from None
    for pool in section.names("pools"):
        if pool not in pools:
            raise section.error("pools", f"there is no pool {shown(pool)}{nearest(pool, pools)}: {', '.join(pools)}")
    return Entrant(
        name=name,
        start=start,
        pools=section.names("pools") or tuple(pools),
        parent=section.text("parent"),
        anchor=section.number("anchor") if section.given("anchor") else None,
    )


def _start(name: str, section: Section, folder: Path) -> Start:
    if not section.given("command"):
        raise section.error("command", 'is missing: name a built-in bot or a command line, as in command = "greedy"')
    text = section.text("command")
    if _ASSIGNED.match(text):
        problem = f"{shown(text)} begins with NAME=: variables go into environment, and the bot's name is its table's"
        raise section.error("command", problem)
    try:
        start = _with_options(read_bot(text, folder), section)
    except (WordError, LaunchError) as error:
        raise section.error("command", str(error)) from None
    for key in _OF_PROCESSES if start.url else ():
        if section.given(key):
            raise section.error(key, f"nobody can give it to a bot that listens at {start.url}: leave it out")
    return replace(
        start,
        name=name,
        environment=_environment(section),
        memory=section.whole("memory"),
        cores=section.whole("cores") if section.given("cores") else start.cores,  # not every kind of file has these
        restart=section.flag("restart") if section.given("restart") else start.restart,
    )


def _with_options(start: Start, section: Section) -> Start:
    """A built-in bot with its options in alphabetical order, however they were written: the same version."""
    given = section.options("options")
    if not is_built_in(start):
        if given:
            raise section.error("options", "only built-in bots have them: put yours into the command")
        return start
    bot, *words = start.argv[len(BOTS) :]
    for key, value in given.items():
        if key in [word.partition("=")[0] for word in words]:
            raise section.error("options", f"{key} is also said by command: say it once")
        words.append(f"{key}={value}")
    words.sort()
    return replace(start, command=":".join([bot, *([",".join(words)] if words else [])]), argv=(*BOTS, bot, *words))


def _environment(section: Section) -> tuple[tuple[str, str], ...]:
    variables = section.texts("environment")
    for name in variables:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise section.error("environment", f"{shown(name)} is no name of a variable: write letters, digits and _")
    return tuple(sorted(variables.items()))
