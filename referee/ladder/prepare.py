"""Asks engines and built-in bots whether a ladder can be played, before anything is. It plays nothing.

The file itself was read without starting a process (see config); what is asked here needs one.
"""

import json
import subprocess
from dataclasses import replace

from protocol.transports.blocking import run_blocking
from referee.config import Budgets
from referee.ladder.entries import Ladder, Pool
from referee.ladder.toml_section import ConfigError, dotted
from referee.play.launch import LaunchError
from referee.play.outcome import EngineFailed
from referee.play.prepare import PrepareError, ask, lacks
from referee.play.seating import Extras, Start, start_engine
from referee.play.words import BOTS, is_built_in


def prepare_pools(ladder: Ladder) -> tuple[Ladder, list[str]]:
    """The ladder with the defaults and the limit on plies that each pool's engine says, and what engines lack.

    Every engine is started once, whatever the number of its pools. Raises ConfigError.
    """
    answers: dict[str, Pool] = {}
    warnings: list[str] = []
    for engine in dict.fromkeys(pool.engine for pool in ladder.pools):
        pools = [pool for pool in ladder.pools if pool.engine == engine]
        prepared, missed = run_blocking(_ask(ladder.path, engine, pools, ladder.budgets))
        answers |= {pool.name: pool for pool in prepared}
        warnings += missed
    return replace(ladder, pools=tuple(answers[pool.name] for pool in ladder.pools)), warnings


def check_programs(ladder: Ladder) -> None:
    """Whether the built-in bots exist and know their options: one process asks for all. Raises ConfigError."""
    built_in = [bot for bot in ladder.bots if is_built_in(bot.start)]
    calls = list(dict.fromkeys(bot.start.argv[len(BOTS) :] for bot in built_in))
    problems = dict(zip(calls, _ask_bots(ladder, calls), strict=True)) if calls else {}
    for bot in built_in:
        if problem := problems[bot.start.argv[len(BOTS) :]]:
            key, text = problem
            lone = key == "command" and ":" not in bot.start.command
            text = f"no program called {bot.start.command!r} is in PATH, and no built-in bot: {text}" if lone else text
            raise ConfigError(ladder.path, dotted(dotted("bot", bot.name), key), text)


async def _ask(file: str, engine: Start, pools: list[Pool], budgets: Budgets) -> tuple[list[Pool], list[str]]:
    place = dotted("pool", pools[0].name)
    try:
        running = await start_engine(engine, budgets, Extras())
    except (EngineFailed, LaunchError) as error:
        raise ConfigError(file, f"{place}.engine", f"{engine.command}: {error}") from None
    prepared: list[Pool] = []
    try:
        for pool in pools:
            place = dotted("pool", pool.name)
            setting, max_plies = await ask(running, pool.setting, pool.max_plies)
            prepared.append(replace(pool, setting=setting, max_plies=max_plies))
    except PrepareError as error:
        raise ConfigError(file, f"{place}.game", str(error)) from None
    except EngineFailed as error:
        raise ConfigError(file, f"{place}.engine", f"{engine.command}: {error}") from None
    finally:
        await running.peer.stop()
    return prepared, [f"{place}: {text}" for text in lacks(running)]


def _ask_bots(ladder: Ladder, calls: list[tuple[str, ...]]) -> list[list[str] | None]:
    """For each call a key and what is wrong with it, or None."""
    try:
        asked = subprocess.run(
            [*BOTS, "--check"], input=json.dumps(calls), capture_output=True, text=True, timeout=ladder.budgets.start
        )
        problems: list[list[str] | None] = json.loads(asked.stdout)
    except subprocess.TimeoutExpired:
        late = f"the built-in bots do not answer within {ladder.budgets.start:g} s: raise budget.start"
        raise ConfigError(ladder.path, "bot", late) from None
    except (OSError, ValueError):  # not installed whole
        raise ConfigError(ladder.path, "bot", "the built-in bots do not start: make setup, or install anew") from None
    return problems
