"""Read a ladder file into a Ladder (`read_ladder`).

Programs are looked up, and hashed for the versions of bots, but not started: session.prepare_pools asks the engines
and the built-in bots.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlsplit

from msgspec import Meta, Struct, field

from ggp.referee.ladder.bot_settings import (
    BotSettings,
    SandboxTable,
    Variable,
    check_move_limit,
    read_sandbox,
    with_settings,
)
from ggp.referee.ladder.store.model import Entrant, Format, FormatKind, Ladder, Pool
from ggp.referee.ladder.toml_file import (
    ConfigError,
    Options,
    Table,
    Text,
    blamed_on,
    decode,
    dotted,
    key,
    keys_of,
    nearest,
    read_toml,
    shown,
)
from ggp.referee.ladder.tune import START, TUNED, ParamTable, check_fields, entrants, make_plan, read_parameters
from ggp.referee.match.adjudication import AdjudicationError, AdjudicationRule, Kind
from ggp.referee.match.bot_spec import (
    BotSpec,
    HostBusy,
    LaunchError,
    Snapshot,
    WordError,
    confined_engine,
    read_bot,
    read_engine,
    read_game,
    read_sourced,
)
from ggp.referee.match.clock import FORMS, ControlKind, TimeControl
from ggp.referee.match.judge import JUDGE
from ggp.referee.match.sandbox.levels import NONE, Level, Sandbox
from ggp.referee.match.sandbox.sources import BUILD_TIME, read_source
from ggp.referee.match.sandbox.unpack import SourceRefused
from ggp.referee.match.setting import Setting, Timeouts
from ggp.referee.ratings.sprt import PRESETS, Hypotheses, Model, SprtError
from ggp.referee.ratings.spsa import FASTEST, MOST_CHAINS, RATE, TunePlan

# -- The tables of a ladder file, for the decoder and for the reference page.


_COMMAND = "a command line, or `tcp://host:port`"
_NAMES = "1 to 40 letters, digits, _ . or -, the first no . or -"
_PATTERN = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,39}\Z"
Name = Annotated[str, Meta(pattern=rf"\A{_PATTERN}", title=f"a name: {_NAMES}")]
# In records and tables of faults `engine` is the name of the engine.
_TableName = Annotated[str, Meta(pattern=rf"\A(?!engine\Z){_PATTERN}", title=f"a name: {_NAMES}; not engine")]
Tables = Annotated[dict[_TableName, dict[str, Any]], Meta(max_length=5000, title="a table of up to 5000 tables")]
_Names = Annotated[tuple[Text, ...], Meta(min_length=1, title="a list of names")]
_Elo = Annotated[float, Meta(ge=-2000, le=2000)]
_Risk = Annotated[float, Meta(ge=1e-9, le=0.5)]

_Params = Annotated[dict[Variable, dict[str, Any]], Meta(max_length=100, title="a table of up to 100 tables")]

_TEST, _TUNE = [FormatKind.TEST, FormatKind.TUNE], [FormatKind.TUNE]
PAIRS = {
    FormatKind.ROUND_ROBIN: 10,
    FormatKind.GAUNTLET: 100,
    FormatKind.SWISS: 1,
    FormatKind.TEST: 10_000,
    FormatKind.TUNE: 1000,
}


class TopTable(Table, frozen=True):
    """The keys at the top of the files of ladders and lobbies."""

    name: Annotated[Name, key("Name of the ladder.", "the file's name without `.toml`")] = ""
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1), key("Seed of all random numbers of the ladder.")] = 1
    store: Annotated[
        Text,
        key(
            "The database of games: an SQLite file, relative to this one, or a URL such as "
            "`postgresql://ladder:${PASSWORD}@host/games`. In this key alone, `${NAME}` is an environment variable.",
            "`NAME.db`, with the name of the ladder",
        ),
    ] = ""
    engine: Annotated[Text, key(f"The engine that knows the rules: {_COMMAND}.", "the built-in one")] = ""
    model: Annotated[Literal["davidson", "rao-kupper"], key("Rating model for ties.")] = "davidson"
    engine_sandbox: Annotated[Level, key("Sandbox level of engines that are not built in.")] = NONE
    sandbox: Annotated[dict[str, Any], key("Sandbox of bots without one of their own.", "as below")] = field(
        default_factory=dict
    )
    budget: Annotated[dict[str, Any], key("Time-outs in seconds, besides the clock.", "as below")] = field(
        default_factory=dict
    )
    pool: Annotated[Tables, key("A table for each pool: `[pool.NAME]`.", "needed")] = field(default_factory=dict)
    bot: Annotated[Tables, key("A table for each bot: `[bot.NAME]`.", "needed")] = field(default_factory=dict)


class LadderTable(TopTable, frozen=True):
    """The keys at the top of a ladder file."""

    format: Annotated[dict[str, Any], key("How pairs are chosen.", "a ladder")] = field(default_factory=dict)
    param: Annotated[_Params, key("A table for each parameter of a tune: `[param.NAME]`.", "none")] = field(
        default_factory=dict
    )


class FormatTable(Table, frozen=True):
    """`[format]`."""

    kind: Annotated[FormatKind, key("The format.")] = FormatKind.LADDER
    pairs: Annotated[
        int,
        Meta(ge=1, le=10**9),
        key(
            "Pairs of games between any two bots that meet. A test, even the one at the end of a tune, ends undecided "
            "after this number.",
            ", ".join(f"{number} ({kind})" for kind, number in PAIRS.items()),
            list(PAIRS),
        ),
    ] = 0
    rounds: Annotated[int, Meta(ge=1, le=1000), key("Number of rounds.", formats=[FormatKind.SWISS])] = 9
    bots: Annotated[
        _Names,
        key(
            "In a gauntlet, the bots that meet all others; in a test, the new version and the old one.",
            "required in a gauntlet; in a test the two bots of the file, the new version being the one with a `parent`",
            [FormatKind.GAUNTLET, FormatKind.TEST],
        ),
    ] = ()
    share: Annotated[
        float,
        Meta(ge=0.001, le=1),
        key("Largest share of a pool's games that one bot plays while others can play.", "", [FormatKind.LADDER]),
    ] = Format().share
    batch: Annotated[
        int,
        Meta(ge=1, le=100_000),
        key(
            "Pairs scheduled at a time. At most twice as many are played at once, so a tune on many cores needs larger "
            "batches.",
            "depends on the number of bots; two per chain in a tune",
        ),
    ] = 0
    iterations: Annotated[
        int, Meta(ge=1, le=10**7), key("Pairs of games that a tune learns from, all chains together.", "", _TUNE)
    ] = 4000
    chains: Annotated[
        int,
        Meta(ge=1, le=MOST_CHAINS),
        key("Parallel tunes. Their mean is the result, and their spread gives the error.", "", _TUNE),
    ] = 4
    rate: Annotated[
        Annotated[float, Meta(ge=1e-9, le=10)] | None,
        key(
            "How far one game moves a parameter in the last iterations, in steps.",
            f"{RATE:g} divided by the iterations of a chain, at most {FASTEST:g}",
            _TUNE,
        ),
    ] = None
    check: Annotated[bool, key("Test the tuned values against the initial ones at the end.", "", _TUNE)] = True
    preset: Annotated[
        Literal["gate", "simplify", "big"] | None,
        key(
            "Hypotheses to test, instead of `elo0`, `elo1` and `model`: "
            + ", ".join(f"`{name}` {test.elo0:g} against {test.elo1:g}" for name, test in PRESETS.items())
            + " (normalized Elo).",
            "`gate`",
            _TEST,
        ),
    ] = None
    elo0: Annotated[_Elo | None, key("H0: the new version is stronger by this much.", "from `preset`", _TEST)] = None
    elo1: Annotated[_Elo | None, key("H1: the new version is stronger by this much.", "from `preset`", _TEST)] = None
    alpha: Annotated[_Risk, key("Risk of accepting H1 if H0 is true.", "", _TEST)] = 0.05
    beta: Annotated[_Risk, key("Risk of accepting H0 if H1 is true.", "", _TEST)] = 0.05
    model: Annotated[Model, key("The kind of Elo in `elo0` and `elo1`.", "", _TEST)] = "normalized"


class PoolTable(Table, frozen=True):
    """`[pool.NAME]`."""

    game: Annotated[Text, key("A game of the engine, optionally with options: `yugo,size=7`.")]
    options: Annotated[Options, key("Options of the game: `{ size = 7, komi = 6.5 }`.", "the game's defaults")] = field(
        default_factory=dict
    )
    control: Annotated[Text, key(f"Time control of each side: {FORMS}.")] = "10+0.1"
    openings: Annotated[int, Meta(ge=0, le=1000), key("Random first plies, the same in both games of a pair.")] = 0
    margin: Annotated[int, Meta(ge=0, le=60_000), key("Milliseconds a bot may exceed its time.")] = 50
    max_plies: Annotated[
        int,
        Meta(ge=1, le=10**7),
        key(
            "End longer games: score the position, or void the game if it has no score.",
            "20 times the cells of the board",
        ),
    ] = 0
    weight: Annotated[
        float,
        Meta(ge=0.001, le=1000),
        key(
            "The pool's share of the games, relative to other pools: with weights 3 and 1, three of four games are "
            "played in the first pool, as long as both have bots that can play."
        ),
    ] = 1.0
    engine: Annotated[Text, key(f"The engine of this pool: {_COMMAND}.", "that of the ladder")] = ""
    resign: Annotated[
        Text,
        key(
            "In a ladder, end a game that both bots consider lost: `winrate=0.02 plies=6 after=20`, or `score=10 …`.",
            "none",
        ),
    ] = ""
    draw: Annotated[Text, key("End a game that both bots consider even: `score=1 plies=10 after=60`.", "none")] = ""
    adjudicator: Annotated[Text, key("Bot that judges `resign` and `draw` instead of the players.", "none")] = ""
    seats: Annotated[bool, key("In a lobby, let people play its bots from a browser (`ggp web`), always unrated.")] = (
        False
    )


class BotTable(BotSettings, frozen=True, kw_only=True):
    """`[bot.NAME]` of a ladder, and its keys in a lobby."""

    command: Annotated[Text, key(f"A built-in bot (`greedy`, `greedy:playouts=50`), {_COMMAND}.")]
    source: Annotated[
        Text,
        key(
            "Folder or .tar.gz of the bot's source, relative to this file. `command`, such as `./bot`, then runs in a "
            "read-only copy, and the version of the bot is that of the source.",
            "none",
        ),
    ] = ""
    build: Annotated[
        Text, key("Command that builds the source once, in a sandbox without network: `make`.", "nothing to build")
    ] = ""
    build_time: Annotated[float, Meta(ge=1, le=86_400), key("Seconds that the build may take.")] = BUILD_TIME
    pools: Annotated[_Names, key("Pools that the bot plays in.", "all pools")] = ()
    parent: Annotated[Text, key("The bot that this one was made from. Its rating is the first guess.", "none")] = ""
    anchor: Annotated[
        Annotated[float, Meta(ge=-10_000, le=10_000)] | None, key("Known Elo of the bot, which is held.", "none")
    ] = None


TABLES: dict[str, type[Struct]] = {
    "": LadderTable,
    "format": FormatTable,
    "param.NAME": ParamTable,
    "sandbox": SandboxTable,
    "budget": Timeouts,
    "pool.NAME": PoolTable,
    "bot.NAME": BotTable,
}


# -- A whole file.


def read_ladder(path: Path, lenient: bool = False) -> Ladder:
    """Return the ladder that a file describes, as far as it can be known without starting a process.

    Args:
        path: The file.
        lenient: A bot whose program is missing is unfit, unless the ladder could not be played without it.

    Raises:
        ConfigError: The file is invalid.
    """
    return ladder_of(read_toml(path), path, lenient)


def ladder_of(values: dict[str, Any], path: Path, lenient: bool = False) -> Ladder:
    """Return the ladder that these values describe, read from the file or to be written there.

    Args:
        values: The content of the file.
        path: The file, for messages and relative paths.
        lenient: As in read_ladder.

    Raises:
        ConfigError: The values are invalid.
    """
    file = str(path)
    top = decode(file, "", values, LadderTable)
    if not top.bot:
        raise ConfigError(file, "bot", "there is none: add a table [bot.NAME]")
    ladder = without_format(file, top, BotTable, lenient=lenient)
    form = read_format(file, top, ladder.bots, ladder.pools)
    _check_missing(file, ladder, form)
    if form.plan:
        template = ladder.bots[0]
        check_fields(file, template, form.plan.parameters)
        return replace(ladder, format=form, bots=entrants(template, form.plan, ladder.seed), template=template.start)
    for pool in ladder.pools:
        if (entered := len(ladder.entered(pool))) < 2:
            problem = f"bots that play in it: {entered}: enter two bots at least, or remove the pool"
            raise ConfigError(file, dotted("pool", pool.name), problem)
    return replace(ladder, format=form)


def _check_missing(file: str, ladder: Ladder, form: Format) -> None:
    """Raise ConfigError for a bot without its program if the ladder could not be played without that bot."""
    missing = {bot.name: bot.unfit for bot in ladder.bots if bot.unfit}
    needed = set(missing) if form.plan else missing.keys() & set(form.bots)
    for pool in ladder.pools:
        entered = [bot.name for bot in ladder.entered(pool)]
        if sum(name not in missing for name in entered) < 2:
            needed |= missing.keys() & set(entered)
    for name in (name for name in missing if name in needed):
        raise ConfigError(file, f"{dotted('bot', name)}.command", missing[name])


def without_format(
    file: str, top: TopTable, bot_table: type[BotTable], secrets: Sequence[str] = (), lenient: bool = False
) -> Ladder:
    """Return a ladder, or the part of a lobby that is a ladder, in the default format.

    Args:
        file: Name of the file.
        top: The content of the file.
        bot_table: The struct of `[bot.NAME]`.
        secrets: Paths that no bot in a sandbox may read, besides the file itself and the store.
        lenient: As in read_ladder.

    Raises:
        ConfigError: The file is invalid.
    """
    folder, name = Path(file).absolute().parent, ladder_name(file, top)
    store = read_store(file, top.store or f"{name}.db", folder)
    private = [
        *secrets,
        str(Path(file).absolute()),
        *([store.removeprefix(_SQLITE)] if store.startswith(_SQLITE) else []),
        str(_builds(file, top)),
    ]
    private += sorted({str(Path(path).with_suffix(".seats")) for path in private[len(secrets) : -1]})  # of ggp web
    sandbox = read_sandbox(file, top.sandbox, private)
    pools = _read_pools(file, top, folder, replace(sandbox, level=top.engine_sandbox))
    bots = _read_bots(file, top, folder, [pool.name for pool in pools], bot_table, sandbox, lenient)
    for bot in bots:
        _check_move_limit(file, bot, pools)
    return Ladder(
        name=name,
        seed=top.seed,
        store=store,
        pools=pools,
        bots=bots,
        format=Format(),
        budgets=decode(file, "budget", top.budget, Timeouts),
        model=top.model,
        path=file,
    )


def ladder_name(file: str, top: TopTable) -> str:
    """Return the name in the file, or else the one that follows from the name of the file."""
    return top.name or re.sub(r"[^A-Za-z0-9_.-]+", "-", Path(file).stem).strip("-.")[:40] or "ladder"


def _builds(file: str, top: TopTable) -> Path:
    """Return the folder that keeps what is built from sources."""
    return Path(file).absolute().parent / f"{ladder_name(file, top)}.builds"


# -- Pools.


def _read_pools(file: str, top: TopTable, folder: Path, sandbox: Sandbox) -> tuple[Pool, ...]:
    if not top.pool:
        raise ConfigError(file, "pool", "there is none: add a table [pool.NAME]")
    default = _engine(file, "engine", top.engine, folder, sandbox)
    pools: dict[str, Pool] = {}
    for name, values in top.pool.items():
        at = dotted("pool", name)
        pool = _pool(file, name, decode(file, at, values, PoolTable), folder, default, sandbox)
        twin = pools.setdefault(pool.key, pool)
        if twin is not pool:
            problem = f"is {dotted('pool', twin.name)} again: change game, options, control or openings, or remove it"
            raise ConfigError(file, at, problem)
    return tuple(pools.values())


def _pool(file: str, name: str, table: PoolTable, folder: Path, default: BotSpec, sandbox: Sandbox) -> Pool:
    at = dotted("pool", name)
    with blamed_on(file, f"{at}.game", WordError):
        game, options = read_game(table.game)
    if twice := [option for option in table.options if option in options]:
        raise ConfigError(file, f"{at}.options", f"{twice[0]} is also in game: remove one of them")
    with blamed_on(file, f"{at}.control", ValueError):
        control = TimeControl.parse(table.control)
    rules = list[AdjudicationRule]()
    said: tuple[tuple[Kind, str], ...] = (("resign", table.resign), ("draw", table.draw))
    for kind, text in said:
        with blamed_on(file, f"{at}.{kind}", AdjudicationError):
            rules += [AdjudicationRule.parse(kind, text)] if text else []
    judge = None
    if table.adjudicator:
        if not rules:
            raise ConfigError(file, f"{at}.adjudicator", "has nothing to judge by: write resign or draw, too")
        with blamed_on(file, f"{at}.adjudicator", WordError, LaunchError):
            judge = replace(read_bot(table.adjudicator, folder), name=JUDGE)
    return Pool(
        name=name,
        setting=Setting(game, options | {name: str(value) for name, value in table.options.items()}, {}, control),
        engine=_engine(file, f"{at}.engine", table.engine, folder, sandbox) if table.engine else default,
        margin=table.margin,
        max_plies=table.max_plies,
        openings=table.openings,
        seats=table.seats,
        weight=table.weight,
        rules=tuple(rules),
        judge=judge,
    )


def _engine(file: str, at: str, command: str, folder: Path, sandbox: Sandbox) -> BotSpec:
    with blamed_on(file, at, WordError, LaunchError):
        return confined_engine(read_engine(command or None, folder), sandbox)


# -- Bots.


def _read_bots(
    file: str,
    top: TopTable,
    folder: Path,
    pools: Sequence[str],
    bot_table: type[BotTable],
    sandbox: Sandbox,
    lenient: bool,
) -> tuple[Entrant, ...]:
    shared = Snapshot()  # looks up once what bots share
    bots = []
    for name, values in top.bot.items():
        at = dotted("bot", name)
        table = decode(file, at, values, bot_table)
        _check_names(file, f"{at}.pools", "pool", table.pools, pools)
        unfit = ""
        try:
            start = _bot_spec(file, at, values, table, folder, _builds(file, top), sandbox)
            start = replace(start, name=name, version=shared.version_of(start))
        except (WordError, LaunchError) as error:
            if not lenient or table.source or isinstance(error, WordError | HostBusy):
                raise ConfigError(file, f"{at}.command", str(error)) from None
            unfit = str(error)
            read = read_bot(table.command, folder, missing=True)
            start = with_settings(file, at, read, table, values, folder, sandbox)
            start = replace(start, name=name, version=shared.version_without_program(start))
        bots.append(Entrant(name, start, table.pools or tuple(pools), table.parent, table.anchor, unfit))
    _check_parents(file, {bot.name: bot.parent for bot in bots})
    return tuple(bots)


def _check_names(file: str, at: str, kind: str, names: Sequence[str], known: Sequence[str]) -> None:
    for number, name in enumerate(names):
        if name not in known:
            raise ConfigError(file, at, f"there is no {kind} {shown(name)}{nearest(name, known)}: write one that is")
        if name in names[:number]:
            raise ConfigError(file, at, f"{shown(name)} is named twice: once is enough")


def _bot_spec(
    file: str, at: str, values: dict[str, Any], table: BotTable, folder: Path, builds: Path, sandbox: Sandbox
) -> BotSpec:
    """Return how a bot is started; `builds` is the folder of what is built from sources.

    Raises:
        ConfigError: A key is invalid.
        WordError, LaunchError: The command is invalid.
    """
    if re.match(r"[A-Za-z0-9_.-]+=", table.command):
        problem = "begins with NAME=: write variables into environment; the name of the bot is that of its table"
        raise WordError(f"{shown(table.command)} {problem}")
    if not table.source:
        for name in ("build", "build_time"):
            if name in values:
                raise ConfigError(file, dotted(at, name), "is of a source: write source, too, or remove it")
        return with_settings(file, at, read_bot(table.command, folder), table, values, folder, sandbox)
    if "cwd" in values:
        raise ConfigError(file, dotted(at, "cwd"), "it runs in the folder of its source: remove cwd, or source")
    path = (folder / table.source).resolve()
    for own in sandbox.private:
        if Path(own).resolve().is_relative_to(path):
            problem = f"{shown(table.source)} holds {own}, which no bot may have: move it to its own folder"
            raise ConfigError(file, dotted(at, "source"), problem)
    try:
        source = read_source(folder / table.source, table.build, table.build_time, builds)
    except SourceRefused as error:
        where = "build" if error.code == "bad-build" else "source"
        raise ConfigError(file, dotted(at, where), str(error)) from None
    spec = with_settings(file, at, read_sourced(table.command, source), table, values, folder, sandbox)
    return replace(spec, cwd=source.folder)


def _check_move_limit(file: str, bot: Entrant, pools: Sequence[Pool]) -> None:
    """Raise ConfigError for a bot with a time-out for moves that plays with a clock everywhere."""
    if any(name == "move" for name, _ in bot.start.budget):
        controls = [bot.start.control or pool.setting.control for pool in pools if pool.name in bot.pools]
        clocked = [control for control in controls if control.kind is not ControlKind.NONE]
        if len(clocked) == len(controls):
            check_move_limit(file, f"{dotted('bot', bot.name)}.budget", clocked[0])


def _check_parents(file: str, parents: dict[str, str]) -> None:
    """Raise ConfigError if a parent is not entered, or a bot descends from itself."""
    fine = {""}
    for bot in parents:
        line: dict[str, None] = {}  # from the bot up; in order, and quick to look up
        while bot not in fine:
            at = f"{dotted('bot', bot)}.parent"
            if bot in line:
                circle = " -> ".join([*list(line)[list(line).index(bot) :], bot])
                raise ConfigError(file, at, f"the bot descends from itself, {circle}: remove one parent")
            line[bot] = None
            if parents[bot]:
                _check_names(file, at, "bot", [parents[bot]], list(parents))
            bot = parents[bot]
        fine.update(line)


# -- The format, checked against the bots of each pool.


def read_format(file: str, top: LadderTable, bots: Sequence[Entrant], pools: Sequence[Pool]) -> Format:
    """Return the format, with the plan of a tune.

    Raises:
        ConfigError: The format is invalid or does not fit the bots of a pool.
    """
    values = top.format
    table = decode(file, "format", values, FormatTable)
    for name, row in keys_of(FormatTable).items():
        if name in values and row.formats and table.kind not in row.formats:
            problem = f"is no key of format {table.kind}, only of {', '.join(row.formats)}: remove it"
            raise ConfigError(file, f"format.{name}", problem)
    tunes = table.kind is FormatKind.TUNE
    if top.param and not tunes:
        problem = f'is of a tune: write kind = "tune" into [format], or remove [param.{next(iter(top.param))}]'
        raise ConfigError(file, "param", problem)
    test = _hypotheses(file, values, table)
    form = Format(
        kind=table.kind,
        pairs=table.pairs or PAIRS.get(table.kind, 0),
        rounds=table.rounds if table.kind is FormatKind.SWISS else 0,
        bots=(TUNED, START) if tunes else _bots(file, table, bots),
        share=table.share,
        batch=table.batch,
        model=test.model,
        elo0=test.elo0,
        elo1=test.elo1,
        alpha=test.alpha,
        beta=test.beta,
        check=table.check,
        plan=_plan(file, table, top, bots, pools) if tunes else None,
    )
    for pool in () if tunes else pools:
        _check_pool(file, form, pool.name, [bot.name for bot in bots if pool.name in bot.pools])
    return form


def _plan(file: str, table: FormatTable, top: LadderTable, bots: Sequence[Entrant], pools: Sequence[Pool]) -> TunePlan:
    if len(bots) != 1:
        raise ConfigError(file, "bot", f"a tune is of one bot, and there are {len(bots)}: leave one [bot.NAME]")
    if len(pools) > 1:
        raise ConfigError(file, "pool", f"a tune plays in one pool, and there are {len(pools)}: leave one [pool.NAME]")
    parameters = read_parameters(file, top.param)
    return make_plan(file, parameters, table.iterations, table.chains, table.batch, table.rate)


def _bots(file: str, table: FormatTable, bots: Sequence[Entrant]) -> tuple[str, ...]:
    at, known = "format.bots", [bot.name for bot in bots]
    _check_names(file, at, "bot", table.bots, known)
    if table.kind is FormatKind.GAUNTLET and not table.bots:
        raise ConfigError(file, at, f'is missing: name the bots that meet all others, as in bots = ["{known[0]}"]')
    if table.kind is FormatKind.TEST and not table.bots and len(bots) == 2:
        old, new = sorted(bots, key=lambda bot: bot.parent in known)  # stable: without parents the first is new
        return (new.name, old.name) if new.parent == old.name else (old.name, new.name)
    if table.kind is FormatKind.TEST and len(table.bots) != 2:
        raise ConfigError(file, at, "a test is between two bots: name the new version, then the old one")
    return table.bots


def _check_pool(file: str, form: Format, pool: str, entered: Sequence[str]) -> None:
    there = [name for name in form.bots if name in entered]
    if form.kind is FormatKind.TEST and sorted(entered) != sorted(form.bots):
        problem = f"a test needs {' and '.join(form.bots)} in it, and no other bot: there are {len(entered)} bots"
        raise ConfigError(file, dotted("pool", pool), problem)
    if form.kind is FormatKind.GAUNTLET and not there:
        raise ConfigError(file, "format.bots", f"none of them plays in pool {pool}: enter one, or remove the pool")
    if form.kind is FormatKind.GAUNTLET and len(there) == len(entered):
        raise ConfigError(file, "format.bots", f"no other bot plays in pool {pool}: enter an opponent, or remove one")


def _hypotheses(file: str, values: dict[str, Any], table: FormatTable) -> Hypotheses:
    given = [name for name in ("elo0", "elo1", "model") if name in values]
    if table.preset and given:
        raise ConfigError(file, "format.preset", f"says {given[0]} already: remove {given[0]}, or the preset")
    chosen = PRESETS[table.preset or "gate"]
    elo0, elo1 = (table.elo0, table.elo1) if given else (chosen.elo0, chosen.elo1)
    if elo0 is None or elo1 is None:
        missing = "elo0" if elo0 is None else "elo1"
        raise ConfigError(file, f"format.{missing}", "is missing: write elo0 and elo1, or a preset alone")
    with blamed_on(file, "format", SprtError):
        return Hypotheses(elo0, elo1, table.alpha, table.beta, table.model)


# -- The store as a URL of SQLAlchemy.


_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SQLITE = "sqlite:///"
_POSTGRES = re.compile(r"postgres(?:ql)?(?:\+psycopg)?://")


def read_store(file: str, store: str, folder: Path) -> str:
    """Return the URL of a store for SQLAlchemy: `sqlite:////absolute/path` or `postgresql+psycopg://…`.

    Args:
        file: Name of the ladder's file, for messages.
        store: The value of the key. Messages do not show it, because it may hold a password.
        folder: Where relative paths begin.

    Raises:
        ConfigError: The value is invalid.
    """
    text = _VARIABLE.sub(lambda match: _value(file, match), store)
    if "${" in _VARIABLE.sub("", store):
        raise ConfigError(file, "store", "a variable is written ${NAME}, with letters, digits and _")
    if postgres := _POSTGRES.match(text):
        try:
            urlsplit(f"postgresql://{text[postgres.end() :]}").port  # noqa: B018  (it raises)
        except ValueError:
            form = "postgresql://user:password@host:port/database"
            problem = f"is no URL: write {form}, and %40, %2F and %3A for @, / and : in a password"
            raise ConfigError(file, "store", problem) from None
        return f"postgresql+psycopg://{text[postgres.end() :]}"
    if "://" in text and not text.startswith(_SQLITE):
        problem = "is no known kind of store: name a file, or write postgresql://user@host/database"
        raise ConfigError(file, "store", problem)
    path = text.removeprefix(_SQLITE)
    if path in ("", ":memory:") or "?" in path or "\0" in path:
        raise ConfigError(file, "store", "names no file: write a path without ? in it")
    return f"{_SQLITE}{folder / path}"


def _value(file: str, match: re.Match[str]) -> str:
    """Return the value of a variable, percent-encoded if it is a user name or a password in a URL."""
    value = os.environ.get(match[1])
    if value is None:
        raise ConfigError(file, "store", f"there is no variable {match[1]} in the environment: export it first")
    before, after = match.string[: match.start()], match.string[match.end() :]
    return quote(value, safe="") if "://" in before and "@" in after else value
