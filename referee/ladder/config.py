"""Reads a ladder file into a Ladder (`read_ladder`).

It looks programs up and hashes them for the versions of bots, and starts none of them; session.prepare_pools asks the
engines and the built-in bots.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote, urlsplit

from referee.ladder.toml_section import (
    BOT,
    BUDGET,
    FORMAT,
    MOST_BOTS,
    MOST_POOLS,
    PAIRS,
    POOL,
    TOP,
    ConfigError,
    Key,
    Section,
    dotted,
    nearest,
    read_toml,
    shown,
)
from referee.play.bot_spec import BOTS, BotSpec, Snapshot, WordError, is_built_in, read_bot, read_engine, read_game
from referee.play.clock import TimeControl
from referee.play.process import LaunchError
from referee.play.setting import Setting, Timeouts
from referee.ratings.sprt import PRESETS, Hypotheses, Model, SprtError
from referee.store.model import Entrant, Format, FormatKind, Ladder, Pool

__all__ = ["ConfigError", "bots_of", "budgets_of", "engine_of", "ladder_name", "ladder_of", "pools_of", "read_ladder"]

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,39}")
_NAMES = "1 to 40 letters, digits, _ . or -, the first no . or -"
TAKEN = "engine"  # in records and tables of faults this is the engine's name


def read_ladder(path: Path) -> Ladder:
    """The ladder of a file, with all that can be known without starting a process. Raises ConfigError."""
    return ladder_of(read_toml(path), path)


def ladder_of(values: dict[str, Any], path: Path) -> Ladder:
    """The ladder that these values are, read from the file or to be written there. Raises ConfigError."""
    file, folder = str(path), path.absolute().parent
    top = Section(file, "", values, TOP)
    name = ladder_name(top, path)
    engine = engine_of(top, folder, None)
    pools = pools_of(top, folder, engine)
    bots = bots_of(top, folder, pools)
    for pool in pools:
        _check_entered(file, pool.name, sum(pool.name in bot.pools for bot in bots))
    return Ladder(
        name=name,
        seed=top.whole("seed"),
        store=read_store(top, folder, name),
        pools=pools,
        bots=bots,
        format=read_format(top, bots, pools),
        budgets=budgets_of(top),
        model=top.text("model"),
        path=file,
    )


def ladder_name(top: Section, path: Path) -> str:
    """What the file says, or else what it is called. Raises ConfigError."""
    if not top.given("name"):
        return re.sub(r"[^A-Za-z0-9_.-]+", "-", path.stem).strip("-.")[:40] or "ladder"
    name = top.text("name")
    if not _NAME.fullmatch(name):
        raise top.error("name", f"{shown(name)} is no name: write {_NAMES}")
    return name


def engine_of(section: Section, folder: Path, default: BotSpec | None) -> BotSpec:
    """What the key `engine` says; the default, or else the built-in one. Raises ConfigError."""
    if default is not None and not section.given("engine"):
        return default
    try:
        return read_engine(section.text("engine") or None, folder)
    except (WordError, LaunchError) as error:
        raise section.error("engine", str(error)) from None


def budgets_of(top: Section) -> Timeouts:
    """The table `[budget]`. Raises ConfigError."""
    section = Section(top.file, "budget", top.table("budget"), BUDGET)
    return Timeouts(**{row.name: section.number(row.name) for row in fields(Timeouts)})


def _named(top: Section, kind: str, most: int) -> dict[str, dict[str, Any]]:
    """The tables `[kind.NAME]`, by name."""
    tables = top.table(kind)
    if not tables:
        raise top.error(kind, f"there is none: add a table [{kind}.NAME]")
    if len(tables) > most:
        raise top.error(kind, f"there are {len(tables)}, and at most {most} may be: split the file")
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise top.error(kind, f"{name[:40]!r} stands there alone: write a table [{kind}.NAME]")
        if not _NAME.fullmatch(name) or name == TAKEN:
            raise top.error(kind, f"{shown(name)} is no name: write {_NAMES}; {TAKEN} is taken")
    return tables


# -- pools ----------------------------------------------------------------------------------------------


def pools_of(top: Section, folder: Path, engine: BotSpec) -> tuple[Pool, ...]:
    """The tables `[pool.NAME]`. Raises ConfigError."""
    tables = _named(top, "pool", MOST_POOLS)
    pools = tuple(
        _pool(name, Section(top.file, dotted("pool", name), table, POOL), folder, engine)
        for name, table in tables.items()
    )
    seen: dict[str, str] = {}
    for pool in pools:
        if pool.key in seen:
            twin = dotted("pool", seen[pool.key])
            text = f"game, options, control and openings are those of {twin}: change or remove one"
            raise ConfigError(top.file, dotted("pool", pool.name), text)
        seen[pool.key] = pool.name
    return pools


def _pool(name: str, section: Section, folder: Path, engine: BotSpec) -> Pool:
    if not section.given("game"):
        raise section.error("game", 'is missing: name a game, as in game = "yugo,size=7"')
    try:
        game, options = read_game(section.text("game"))
    except WordError as error:
        raise section.error("game", str(error)) from None
    for key, value in section.options("options").items():
        if key in options:
            raise section.error("options", f"{key} is also said by game: say it once")
        options[key] = value
    said = section.text("control")
    try:
        control = TimeControl.parse(said)
    except ValueError as error:
        raise section.error("control", str(error)) from None
    return Pool(
        name=name,
        setting=Setting(game, options, {}, control),
        engine=engine_of(section, folder, engine),
        margin=section.whole("margin"),
        max_plies=section.whole("max_plies"),
        openings=section.whole("openings"),
    )


# -- bots -----------------------------------------------------------------------------------------------


def bots_of(top: Section, folder: Path, pools: Sequence[Pool], rows: Sequence[Key] = BOT) -> tuple[Entrant, ...]:
    """The tables `[bot.NAME]`, which have these keys. Raises ConfigError."""
    tables = _named(top, "bot", MOST_BOTS)
    names = [pool.name for pool in pools]
    files = Snapshot()
    bots = tuple(
        read_entrant(name, Section(top.file, dotted("bot", name), table, rows), folder, names, files)
        for name, table in tables.items()
    )
    _check_parents(top.file, {bot.name: bot.parent for bot in bots})
    return bots


def _check_parents(file: str, parents: dict[str, str]) -> None:
    """Check that every parent is entered and that no bot descends from itself."""
    fine = {""}
    for bot in parents:
        line: dict[str, None] = {}  # from the bot up; in order, and quick to look up
        while bot not in fine:
            if bot in line:
                circle = " -> ".join([*list(line)[list(line).index(bot) :], bot])
                problem = f"the bot descends from itself, {circle}: take one parent away"
                raise ConfigError(file, f"{dotted('bot', bot)}.parent", problem)
            line[bot] = None
            parent = parents[bot]
            if parent and parent not in parents:
                problem = f"there is no bot {shown(parent)}{nearest(parent, list(parents))}: enter it or name no parent"
                raise ConfigError(file, f"{dotted('bot', bot)}.parent", problem)
            bot = parent
        fine.update(line)


def _check_entered(file: str, pool: str, entered: int) -> None:
    if entered < 2:
        who = "only one bot plays" if entered else "no bot plays"
        raise ConfigError(file, dotted("pool", pool), f"{who} in it: enter two bots at least, or remove the pool")


# -- Reads one `[bot.NAME]` of a ladder file into an Entrant with the version of its files.


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


def _start(name: str, section: Section, folder: Path) -> BotSpec:
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
            raise section.error(key, f"it has no effect on a bot that listens at {start.url}: leave it out")
    return replace(
        start,
        name=name,
        environment=_environment(section),
        memory=section.whole("memory"),
        cores=section.whole("cores") if section.given("cores") else start.cores,  # not every kind of file has these
        restart=section.flag("restart") if section.given("restart") else start.restart,
    )


def _with_options(start: BotSpec, section: Section) -> BotSpec:
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


# -- Reads `[format]` of a ladder file and checks it against the bots of a pool.


def read_format(top: Section, bots: Sequence[Entrant], pools: Sequence[Pool]) -> Format:
    """The format, which every pool must fit. Raises ConfigError."""
    section = Section(top.file, "format", top.table("format"), FORMAT)
    kind = FormatKind(section.text("kind"))
    for row in FORMAT:
        if row.kinds and kind not in row.kinds and section.given(row.name):
            raise section.error(row.name, f"format {kind} does not know it, only {', '.join(row.kinds)}: leave it out")
    test = _hypotheses(section)
    form = Format(
        kind=kind,
        pairs=section.whole("pairs") or PAIRS.get(kind, 0),
        rounds=section.whole("rounds") if kind is FormatKind.SWISS else 0,
        bots=_bots(section, kind, bots),
        share=section.number("share"),
        batch=section.whole("batch"),
        model=test.model,
        elo0=test.elo0,
        elo1=test.elo1,
        alpha=test.alpha,
        beta=test.beta,
    )
    for pool in pools:
        _check_pool(section, form, pool.name, [bot.name for bot in bots if pool.name in bot.pools])
    return form


def _bots(section: Section, kind: FormatKind, bots: Sequence[Entrant]) -> tuple[str, ...]:
    named = section.names("bots")
    known = [bot.name for bot in bots]
    for name in named:
        if name not in known:
            raise section.error(
                "bots", f"there is no bot {shown(name)}{nearest(name, known)}: enter it, or name another"
            )
    if kind is FormatKind.GAUNTLET and not named:
        raise section.error("bots", f'is missing: name who meets all others, as in bots = ["{known[0]}"]')
    if kind is FormatKind.TEST and not named and len(bots) == 2:
        old, new = sorted(bots, key=lambda bot: bot.parent in known)  # stable: without parents the first is new
        return (new.name, old.name) if new.parent == old.name else (old.name, new.name)
    if kind is FormatKind.TEST and len(named) != 2:
        raise section.error("bots", "a test is between two: name the new version, then the old one")
    return named


def _check_pool(section: Section, form: Format, pool: str, entered: Sequence[str]) -> None:
    there = [name for name in form.bots if name in entered]
    if form.kind is FormatKind.TEST and sorted(entered) != sorted(form.bots):
        problem = f"a test needs {' and '.join(form.bots)} in it, and no other bot: there are {len(entered)} bots"
        raise ConfigError(section.file, dotted("pool", pool), problem)
    if form.kind is FormatKind.GAUNTLET and not there:
        raise section.error("bots", f"none of them plays in pool {pool}: enter one there, or remove the pool")
    if form.kind is FormatKind.GAUNTLET and len(there) == len(entered):
        raise section.error("bots", f"no other bot plays in pool {pool}: leave out one, or enter an opponent")


def _hypotheses(section: Section) -> Hypotheses:
    model = cast("Model", section.text("model"))  # one of the row's choices
    given = [key for key in ("elo0", "elo1", "model") if section.given(key)]
    if section.given("preset") and given:
        raise section.error("preset", f"says {given[0]} already: leave out {given[0]}, or the preset")
    chosen = PRESETS[section.text("preset") or "gate"]
    elo0, elo1 = chosen.elo0, chosen.elo1
    if given:
        for key in ("elo0", "elo1"):
            if not section.given(key):
                raise section.error(key, "is missing: say elo0 and elo1, or a preset alone")
        elo0, elo1 = section.number("elo0"), section.number("elo1")
    try:
        return Hypotheses(elo0, elo1, section.number("alpha"), section.number("beta"), model)
    except SprtError as error:
        raise section.error("", str(error)) from None


# -- The store of a ladder file as a URL of SQLAlchemy.


_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SQLITE = "sqlite:///"
_POSTGRES = re.compile(r"postgres(?:ql)?(?:\+psycopg)?://")


def read_store(section: Section, folder: Path, name: str) -> str:
    """`sqlite:////absolute/path` or `postgresql+psycopg://…`; what is relative is seen from `folder`.

    No message shows what the file says: a password may be in it. Raises ConfigError.
    """
    said = section.text("store") or f"{name}.db"
    text = _VARIABLE.sub(lambda match: _value(section, match), said)
    if "${" in _VARIABLE.sub("", said):
        raise section.error("store", "a variable is written ${NAME}, with letters, digits and _")
    if postgres := _POSTGRES.match(text):
        try:
            urlsplit(f"postgresql://{text[postgres.end() :]}").port  # noqa: B018  (it raises)
        except ValueError:
            form = "postgresql://user:password@host:port/database"
            problem = f"is no URL: write {form}, and %40, %2F and %3A for @, / and : in a password"
            raise section.error("store", problem) from None
        return f"postgresql+psycopg://{text[postgres.end() :]}"
    if "://" in text and not text.startswith(_SQLITE):
        raise section.error("store", "is no store that is known: name a file, or write postgresql://user@host/database")
    path = text.removeprefix(_SQLITE)
    if path in ("", ":memory:") or "?" in path or "\0" in path:
        raise section.error("store", "names no file that could be kept: write a path without ? in it")
    return f"{_SQLITE}{folder / path}"


def _value(section: Section, match: re.Match[str]) -> str:
    """What a variable stands for; encoded where it is a user's name or a password within a URL."""
    value = os.environ.get(match[1])
    if value is None:
        raise section.error("store", f"there is no variable {match[1]} in the environment: export it first")
    before, after = match.string[: match.start()], match.string[match.end() :]
    return quote(value, safe="") if "://" in before and "@" in after else value
