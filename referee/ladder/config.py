"""Reads a ladder file into a Ladder: `read_ladder`. It starts no process, so games and built-in bots are not asked for
(see prepare); programs are looked up, and hashed for the versions of bots.
"""

import re
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from referee.config import Budgets, Setting
from referee.ladder.bot_section import read_entrant
from referee.ladder.entries import Entrant, Ladder, Pool
from referee.ladder.format_section import read_format
from referee.ladder.keys import BOT, BUDGET, MOST_BOTS, MOST_POOLS, POOL, TOP, Key
from referee.ladder.store_url import read_store
from referee.ladder.toml_section import ConfigError, Section, dotted, nearest, read_toml, shown
from referee.play.clock import Control
from referee.play.launch import LaunchError
from referee.play.seating import Start
from referee.play.versions import Snapshot
from referee.play.words import WordError, read_engine, read_game

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


def engine_of(section: Section, folder: Path, default: Start | None) -> Start:
    """What the key `engine` says; the default, or else the built-in one. Raises ConfigError."""
    if default is not None and not section.given("engine"):
        return default
    try:
        return read_engine(section.text("engine") or None, folder)
    except (WordError, LaunchError) as error:
        raise section.error("engine", str(error)) from None


def budgets_of(top: Section) -> Budgets:
    """The table `[budget]`. Raises ConfigError."""
    section = Section(top.file, "budget", top.table("budget"), BUDGET)
    return Budgets(**{row.name: section.number(row.name) for row in fields(Budgets)})


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


# -- pools -----------------------------------------------------------------------------------------------------------


def pools_of(top: Section, folder: Path, engine: Start) -> tuple[Pool, ...]:
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


def _pool(name: str, section: Section, folder: Path, engine: Start) -> Pool:
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
        control = Control.parse(said)
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


# -- bots ------------------------------------------------------------------------------------------------------------


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
    """Every parent is entered, and nobody descends from itself."""
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
        who = "only one bot plays" if entered else "nobody plays"
        raise ConfigError(file, dotted("pool", pool), f"{who} in it: enter two bots at least, or remove the pool")
