"""The settings of one bot: the same in `ggp match --bot`, in ladder files and in lobby files.

They are decoded into BotSettings, checked, and added to a BotSpec. Nothing is started here.
"""

import os
import re
import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import msgspec
from msgspec import Meta, field

from ggp.referee.ladder.toml_file import ConfigError, Options, Table, Text, blamed_on, decode, dotted, key, shown
from ggp.referee.match.bot_spec import BOTS, BotSpec, beside, is_built_in, is_human
from ggp.referee.match.clock import FORMS, ControlKind, TimeControl
from ggp.referee.match.process import NO_SANDBOX, available_cores
from ggp.referee.match.sandbox.levels import (
    APART,
    LEAST_MEMORY,
    MEMORY,
    NONE,
    PROCESSES,
    SCRATCH,
    Cores,
    Level,
    Sandbox,
    SandboxError,
    read_allow,
)
from ggp.referee.match.setting import Timeouts

Variable = Annotated[str, Meta(pattern=r"\A[A-Za-z_][A-Za-z0-9_]*\Z", title="a name of letters, digits and _")]
_Value = Annotated[str, Meta(pattern=r"\A[^\0]*\Z", max_length=100_000, title="text in quotes")]
_Limit = Annotated[int, Meta(ge=1, le=10**9)]
# Of a process that we start.
_LISTENS = ("cwd", "environment", "memory", "cores", "nice", "ponder", "restart", "sandbox", "allow")


_Allowed = Annotated[tuple[Text, ...], Meta(max_length=100, title="a list of words")]


class SandboxTable(Table, frozen=True):
    """`[sandbox]`: the sandbox of bots without one of their own."""

    level: Annotated[Level, key("`none`, `default` or `strict`: see *Run strangers' bots*.")] = NONE
    allow: Annotated[_Allowed, key("What the sandbox permits.", "nothing")] = ()
    memory: Annotated[int, Meta(ge=LEAST_MEMORY, le=1 << 30), key("Maximum memory in MiB.")] = MEMORY
    processes: Annotated[int, Meta(ge=1, le=1 << 20), key("Maximum number of processes and threads.")] = PROCESSES
    scratch: Annotated[int, Meta(ge=1, le=1 << 20), key("MiB of the bot's own folder, `$TMPDIR`.")] = SCRATCH
    cores: Annotated[
        Cores,
        key(
            "`apart`: two `strict` bots run on different cores, so half as many games are played at a time. `shared`: "
            "they take turns on one core. The key has no effect on other levels, nor in a lobby."
        ),
    ] = APART


def read_sandbox(file: str, values: Mapping[str, Any], private: Collection[str]) -> Sandbox:
    """Return the sandbox of the table `[sandbox]`; no bot may read the paths in `private`.

    Raises:
        ConfigError: The table is invalid.
    """
    said = decode(file, "sandbox", dict(values), SandboxTable)
    allow = _allow(file, "sandbox", said.allow, private)
    return Sandbox(
        said.level, allow, said.memory, said.processes, said.scratch, private=tuple(private), cores=said.cores
    )


def _allow(file: str, at: str, words: Collection[str], private: Collection[str]) -> tuple[str, ...]:
    with blamed_on(file, dotted(at, "allow"), SandboxError):
        allowed = Sandbox(allow=read_allow(words))
        for path in allowed.readable:
            for own in private:
                if Path(own).resolve().is_relative_to(Path(path).resolve()):
                    raise SandboxError(f"read:{path} would show {own}: name a folder without it")
        return allowed.allow


class BotSettings(Table, frozen=True):
    """The settings of one bot, in a match, a ladder or a lobby."""

    options: Annotated[Options, key("Options of a built-in bot: `{ playouts = 50 }`.", "the bot's defaults")] = field(
        default_factory=dict
    )
    time: Annotated[Text, key(f"Time control of this bot, for time odds: {FORMS}.", "that of the pool or match")] = ""
    nodes: Annotated[
        _Limit,
        key(
            "Maximum nodes for a move. The bot must list `kata-set-param` or `lz-setoption`, as KataGo and Leela Zero "
            "do.",
            "no limit",
        ),
    ] = 0
    playouts: Annotated[
        _Limit, key("Maximum playouts for a move; for a built-in bot, its option `playouts`.", "no limit")
    ] = 0
    cwd: Annotated[Text, key("Folder the bot runs in, relative to this file.", "where the command was started")] = ""
    environment: Annotated[
        dict[Variable, _Value],
        Meta(title="a table of texts in quotes"),
        key('Environment variables: `{ OMP_NUM_THREADS = "1" }`. Records hold only their names.', "none"),
    ] = field(default_factory=dict)
    memory: Annotated[
        int,
        Meta(ge=1, le=1 << 30),
        key("Maximum MiB of memory; without a sandbox, of address space.", "that of `[sandbox]`; else no limit"),
    ] = 0
    sandbox: Annotated[Level | None, key("Sandbox level: see *Run strangers' bots*.", "that of `[sandbox]`")] = None
    allow: Annotated[
        _Allowed | None,
        key(
            "What the sandbox permits: `network`, `gpu`, `ponder`, `read:/path`, `variable:NAME`.",
            "that of `[sandbox]`",
        ),
    ] = None
    cores: Annotated[int, Meta(ge=1, le=1024), key("Cores of the bot. With more than one it may run on all cores.")] = 1
    nice: Annotated[
        Annotated[int, Meta(ge=-20, le=19)] | None,
        key("Niceness of the process, added to ours. Values below 0 need root.", "0; in a lobby `lobby.nice`"),
    ] = None
    ponder: Annotated[
        bool, key("Give the bot its own core, to think in its opponent's time. A match then needs more cores.")
    ] = False
    restart: Annotated[bool | None, key("Restart the bot for each game.", "`false`; in a match `--restart`")] = None
    wait: Annotated[float, Meta(ge=0, le=3600), key("Seconds that the bot pauses between two games.")] = 0.0
    budget: Annotated[
        dict[str, Any], key("Time-outs of this bot: `{ start = 120, move = 30 }`.", "those of `[budget]`")
    ] = field(default_factory=dict)


def with_settings(
    file: str,
    at: str,
    spec: BotSpec,
    said: BotSettings,
    given: Collection[str],
    folder: Path,
    default: Sandbox = NO_SANDBOX,
) -> BotSpec:
    """Return the bot with its settings.

    Args:
        file: Name of the file, for messages.
        at: The table of the settings in the file.
        spec: The bot without settings.
        said: The settings.
        given: The keys that were written.
        folder: Where a relative `cwd` begins.
        default: The sandbox, unless the settings say otherwise.

    Raises:
        ConfigError: A setting is invalid.
    """
    for name in given:
        if spec.url and name in _LISTENS:
            raise ConfigError(file, dotted(at, name), f"has no effect on a bot that listens at {spec.url}: remove it")
        if is_human(spec) and name in BotSettings.__struct_fields__ and name != "time":
            raise ConfigError(file, dotted(at, name), "has no effect on a human: remove it")
    control, budget = _time(file, at, said)
    folder_said, cwd = said.cwd, str(folder / said.cwd) if said.cwd else ""
    if cwd and not Path(cwd).is_dir():
        problem = f"{shown(folder_said)} is no folder: create it, or correct the path (it is relative to {folder})"
        raise ConfigError(file, dotted(at, "cwd"), problem)
    if said.ponder and said.cores > 1:
        raise ConfigError(file, dotted(at, "ponder"), "cores lets it run on all cores already: remove one of them")
    if (said.nice or 0) < 0 and os.geteuid():
        raise ConfigError(file, dotted(at, "nice"), f"{said.nice} needs the rights of root: write 0 to 19")
    spec, limits = _with_options(file, at, spec, said)
    if cwd and not is_built_in(spec):
        spec = replace(spec, argv=beside(folder, spec.argv))
    sandbox = _sandbox(file, at, said, default)
    if said.ponder and sandbox and sandbox.level != NONE and "ponder" not in sandbox.allow:
        problem = 'needs allow = ["ponder"] in a sandbox, which stops a bot in its opponent\'s turn: write both'
        raise ConfigError(file, dotted(at, "ponder"), problem)
    words = [f"cwd={shlex.quote(folder_said)}" if cwd else "", *(f"{name}={number}" for name, number in limits)]
    return replace(
        spec,
        environment=tuple(sorted(said.environment.items())),
        memory=0 if sandbox and sandbox.level != NONE else said.memory,
        sandbox=sandbox,
        cores=said.cores,
        restart=said.restart,
        control=control,
        limits=limits,
        cwd=cwd,
        nice=said.nice,
        ponder=said.ponder,
        wait=said.wait if "wait" in given else spec.wait,
        budget=budget,
        settings=" ".join(filter(None, [*words, "ponder=true" if said.ponder else ""])),
    )


def _sandbox(file: str, at: str, said: BotSettings, default: Sandbox) -> Sandbox | None:
    """Return the sandbox, or None without any setting of one."""
    if said.sandbox is None and said.allow is None and default.level == NONE:
        return None
    level = default.level if said.sandbox is None else said.sandbox
    allow = default.allow if said.allow is None else _allow(file, at, said.allow, default.private)
    if said.allow is not None and level == NONE:
        raise ConfigError(file, dotted(at, "allow"), 'is of a sandbox: write sandbox = "default", too')
    if "ponder" in allow and not said.ponder:
        if said.allow is not None:
            problem = '"ponder" opens the opponent\'s turn to a bot with a core of its own: write ponder = true, too'
            raise ConfigError(file, dotted(at, "allow"), problem)
        allow = tuple(word for word in allow if word != "ponder")
    if level != NONE and 0 < said.memory < LEAST_MEMORY:
        raise ConfigError(file, dotted(at, "memory"), f"{said.memory} MiB is too little to start: write {LEAST_MEMORY}")
    return replace(default, level=level, allow=allow, memory=said.memory or default.memory)


def _time(file: str, at: str, said: BotSettings) -> tuple[TimeControl | None, tuple[tuple[str, float], ...]]:
    """Return the time control and the time-outs of a bot."""
    with blamed_on(file, dotted(at, "time"), ValueError):
        control = TimeControl.parse(said.time) if said.time else None
    where = dotted(at, "budget")
    budgets = decode(file, where, said.budget, Timeouts)
    if "move" in said.budget and control is not None:
        check_move_limit(file, where, control)
    return control, tuple((name, float(getattr(budgets, name))) for name in said.budget)


def check_move_limit(file: str, at: str, control: TimeControl) -> None:
    """Raise ConfigError for a time-out of moves in a game with a clock; `at` is the table of time-outs."""
    if control.kind is not ControlKind.NONE:
        problem = f"has no effect, for the clock {control} ends its moves: remove it, or play without a clock (none)"
        raise ConfigError(file, dotted(at, "move"), problem)


def _with_options(file: str, at: str, spec: BotSpec, said: BotSettings) -> tuple[BotSpec, tuple[tuple[str, int], ...]]:
    """Return the bot, and the limits that it gets by commands; those of a built-in bot become options.

    The options of a built-in bot are sorted, so that its version does not depend on their order.
    """
    limits = {name: number for name, number in (("nodes", said.nodes), ("playouts", said.playouts)) if number}
    if not is_built_in(spec):
        if said.options:
            problem = "only built-in bots have them: write yours into the command"
            raise ConfigError(file, dotted(at, "options"), problem)
        return spec, tuple(limits.items())
    options = {name: str(value) for name, value in said.options.items()}
    bot, *words = spec.argv[len(BOTS) :]
    for place, added in (("options", options), ("", {name: str(number) for name, number in limits.items()})):
        known = [word.partition("=")[0] for word in words]
        if twice := [name for name in added if name in known]:
            where = "options" if twice[0] in options and not place else "command"
            name = dotted(at, place or twice[0])
            raise ConfigError(file, name, f"{twice[0]} is also in {where}: remove one of them")
        words += [f"{name}={value}" for name, value in added.items()]
    words.sort()
    command = ":".join([bot, *([",".join(words)] if words else [])])
    return replace(spec, command=command, argv=(*BOTS, bot, *words)), ()


# -- How many cores a match needs.


def cores_of_match(bots: Collection[BotSpec]) -> int:
    """Return how many cores a match between two of these bots needs at most."""
    return 1 + min(2, sum(bot.ponder for bot in bots))


def apart(sandboxes: Iterable[Sandbox], jobs: int | None, pin: bool) -> tuple[int | None, int]:
    """Return how many matches are played at a time, and the cores of each, if no bot ponders.

    Bots in a strict sandbox get two cores a match, unless there are too few for `jobs` matches.

    Args:
        sandboxes: Those of the bots.
        jobs: The number of matches that the user asked for, None for as many as possible.
        pin: The processes of a match stay on their cores.
    """
    here = len(available_cores())
    if not pin or here < 2 * (jobs or 1) or not any(sandbox.apart for sandbox in sandboxes):
        return jobs, 1
    return jobs or here // 2, 2


def places(file: str, bot: str, cores: int, jobs: int | None, pin: bool) -> int:
    """Return how many matches this machine plays at a time if each needs `cores`, because `bot` ponders.

    Raises:
        ConfigError: The machine has too few cores.
    """
    at, here = dotted(dotted("bot", bot) if file else "", "ponder"), len(available_cores())
    file = file or f"bot {bot}"
    if not pin:
        raise ConfigError(file, at, "needs processes that are kept on cores: leave --no-pin out, or ponder")
    if jobs and jobs > 1 and cores * jobs > here:
        problem = (
            f"{jobs} matches at a time need {cores * jobs} cores, and this machine has {here}: ask for fewer --jobs"
        )
        raise ConfigError(file, at, problem)
    if cores > here:
        raise ConfigError(file, at, f"a match needs {cores} cores, and this machine has {here}: remove ponder")
    return jobs or here // cores


# -- The words of `ggp match --bot NAME,KEY=VALUE,…`.


EVERY = "*"  # in place of the name of a bot
_COMMA = re.compile(r",(?=[a-z_]+(?:\.[^,=]*)?=)")  # other commas belong to a value
_WORD = re.compile(r"([a-z_]+)(?:\.([^=]*))?=(.*)", re.DOTALL)


def read_words(texts: Collection[str], bots: Collection[BotSpec], default: Sandbox = NO_SANDBOX) -> tuple[BotSpec, ...]:
    """Return the bots with settings from the command line.

    Args:
        texts: `NAME,KEY=VALUE,…`; NAME is `*` for every bot, but the settings of a single bot take precedence.
        bots: The bots without settings.
        default: The sandbox, unless the settings say otherwise.

    Raises:
        ConfigError: A setting is invalid.
    """
    every, own = dict[str, Any](), {bot.name: dict[str, Any]() for bot in bots}
    for text in texts:
        name, *words = _COMMA.split(text)
        if name != EVERY and name not in own:
            raise ConfigError(
                "--bot", name[:40], f"is no bot here: the bots are {', '.join(own)}, and * is all of them"
            )
        if not words:
            raise ConfigError("--bot", name, "write settings after the name, as in NAME,time=5+0.05,nice=5")
        _add(name, words, every if name == EVERY else own[name])
    return tuple(_read(bot, _merged(every, own[bot.name]), default) for bot in bots)


def _add(bot: str, words: Collection[str], to: dict[str, Any]) -> None:
    for word in words:
        match = _WORD.fullmatch(word)
        assert match is not None  # _COMMA found its beginning
        name, inner, text = match.groups()
        table = to if inner is None else to.setdefault(name, {})
        entry = name if inner is None else inner
        if not isinstance(table, dict) or entry in table:
            raise ConfigError(f"bot {bot}", name if inner is None else dotted(name, inner), "is given twice")
        table[entry] = _value(name, inner, text)


def _value(name: str, inner: str | None, text: str) -> object:
    """Return the value that a TOML file would hold; an invalid one stays text, so that decoding reports it."""
    if inner is not None:
        wanted: Any = float if name == "budget" else str
    else:
        if name == "allow":
            return text.split(",")
        wanted = next((field.type for field in msgspec.structs.fields(BotSettings) if field.name == name), str)
        while get_origin(wanted) is Annotated:
            wanted = get_args(wanted)[0]
    try:
        return msgspec.convert(text, wanted, strict=False) if text != "null" else text
    except msgspec.ValidationError:
        return text


def _merged(every: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    tables = {name: {**every[name], **own[name]} for name in every if name in own and isinstance(own[name], dict)}
    return {**every, **own, **tables}


def _read(bot: BotSpec, values: dict[str, Any], default: Sandbox) -> BotSpec:
    if not values:
        return bot
    file = f"bot {bot.name}"
    said = decode(file, "", values, BotSettings)
    return with_settings(file, "", bot, said, values, Path.cwd(), default)
