"""Turns the words of a command line into a Setup, asking the engine what they mean. It plays nothing."""

import json
from dataclasses import replace
from difflib import get_close_matches

from protocol.transports.blocking import run_blocking
from referee.config import Setting
from referee.play.engine import OVER, Engine, GameRefused
from referee.play.launch import LaunchError
from referee.play.outcome import EngineFailed, Fault
from referee.play.seating import start_engine
from referee.play.series import Setup

PLIES_PER_CELL = 20  # "A match ends void after --max-plies (default 20 x cells)"


class PrepareError(Exception):
    """The engine knows no such game or option, or is none; str() is one line that names the remedy."""


def prepare(setup: Setup) -> tuple[Setup, list[str]]:
    """The setup with the game's defaults and the limit on plies filled in, and what this engine cannot do."""
    return run_blocking(_prepare(setup))


async def _prepare(setup: Setup) -> tuple[Setup, list[str]]:
    try:
        engine = await start_engine(setup.engine, setup.budgets, setup.extras)
    except (EngineFailed, LaunchError) as error:
        raise PrepareError(f"{setup.engine.command}: {error}") from None
    try:
        return await _ask(engine, setup)
    except EngineFailed as error:
        raise PrepareError(f"{setup.engine.command}: {error}") from None
    finally:
        await engine.peer.stop()


async def _ask(engine: Engine, setup: Setup) -> tuple[Setup, list[str]]:
    setting, max_plies = await ask(engine, setup.setting, setup.max_plies)
    await _play_up_to(engine, setup)
    return replace(setup, setting=setting, max_plies=max_plies), lacks(engine)


async def ask(engine: Engine, setting: Setting, max_plies: int) -> tuple[Setting, int]:
    """The setting with the game's defaults; the limit on plies, for which 0 asks. Raises PrepareError, EngineFailed."""
    games = await engine.games()
    if setting.game not in games:
        near = get_close_matches(setting.game, games, 1)
        guess = f"; did you mean {near[0]}?" if near else ""
        raise PrepareError(f"the engine knows no game {setting.game!r}; it knows {', '.join(games)}{guess}")
    try:
        defaults = await engine.options(setting.game)
        await engine.new_game(setting.new_game)
    except GameRefused as refused:
        raise PrepareError(f"{setting.game}: {refused}") from None
    return replace(setting, defaults=defaults), max_plies or PLIES_PER_CELL * await _cells(engine)


async def _play_up_to(engine: Engine, setup: Setup) -> None:
    """Whether this engine lets the plies be played that every match begins with, and a game is left to play then."""
    status = await engine.new_game(setup.setting.new_game) if setup.position else None
    for number, move in enumerate(setup.position, 1):
        assert status is not None
        try:
            _, status = await engine.play(status.to_play, move)
        except Fault as fault:
            raise PrepareError(f"the engine does not take ply {number} of the position, {move}: {fault}") from None
    if status is not None and status.phase == OVER:
        raise PrepareError(f"the game is over after ply {status.ply}: begin from an earlier one, as in FILE@-2")


def lacks(engine: Engine) -> list[str]:
    """What is missed with this engine, in words."""
    return [f"the engine has no {command}: {_MISSED[command]}" for command in engine.lacks]


_MISSED = {
    "ggp-hash": "records hold no hash of the last position",
    "ggp-score": "records hold no score",
    "ggp-scene": "--max-plies is counted from the first legal moves instead of the cells",
}


async def _cells(engine: Engine) -> int:
    """How many cells the board has; without a scene, how many moves there are at first."""
    scene = await engine.scene()
    if scene:
        try:
            drawn = json.loads(scene)
            return max(1, len(drawn.get("cells") or drawn.get("points") or ()))
        except (ValueError, AttributeError, TypeError) as error:
            raise EngineFailed(f"ggp-scene answers no JSON object: {error}") from None
    return max(1, len(await engine.legal_moves()))
