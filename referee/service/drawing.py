"""What an engine says of a match: its board, its drawing, its games and options. Each question starts an engine anew.

It is asked in the thread of the client who wants to know, one at a time, so that no client slows another much.
"""

import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

from protocol.drawing import text
from protocol.drawing.scene import DrawingError, read_scene
from protocol.errors import CommandFailed
from protocol.records import Record
from protocol.transports.blocking import run_blocking
from referee.config import Budgets, Setting
from referee.play.clock import Control, Kind
from referee.play.engine import Engine, GameRefused
from referee.play.launch import LaunchError
from referee.play.outcome import EngineFailed, Fault
from referee.play.seating import Extras, Start, start_engine

T = TypeVar("T")
_one = threading.Lock()


def games(start: Start, budgets: Budgets) -> str:
    """The games that the engine knows, one a line. Raises CommandFailed, as all here."""

    async def ask(engine: Engine) -> str:
        return "\n".join(await engine.games())

    return _asked(start, budgets, ask)


def options(start: Start, budgets: Budgets, game: str) -> str:
    """As the engine answers ggp-options."""
    return _asked(start, budgets, lambda engine: engine.option_lines(game))


def scene(start: Start, budgets: Budgets, record: Record, plies: int) -> str:
    """The drawing after so many plies, as one line of JSON."""
    return _asked(start, budgets, lambda engine: _scene(engine, record, plies))


def board(start: Start, budgets: Budgets, record: Record, plies: int) -> str:
    """The board after so many plies, as text without empty lines."""
    try:
        drawn = read_scene(scene(start, budgets, record, plies))
        lines = [*text.draw(drawn).splitlines(), *text.describe(drawn)]
    except DrawingError as error:
        raise CommandFailed(str(error)) from None
    return "\n".join(line for line in lines if line.strip())


async def _scene(engine: Engine, record: Record, plies: int) -> str:
    start = record.start
    if "ggp-scene" in engine.lacks:
        raise CommandFailed("the engine lists no ggp-scene: it cannot say what to draw")
    await engine.new_game(Setting(start.game, start.options, {}, Control(Kind.NONE)).new_game)
    for ply in record.plies[:plies]:
        await engine.play(ply.colour, ply.move)
    return await engine.scene()


def _asked(start: Start, budgets: Budgets, ask: Callable[[Engine], Awaitable[T]]) -> T:
    async def session() -> T:
        engine = await start_engine(start, budgets, Extras())
        try:
            return await ask(engine)
        finally:
            await engine.peer.stop(kill=True)

    with _one:
        try:
            return run_blocking(session())
        except (EngineFailed, LaunchError, GameRefused, Fault) as error:
            raise CommandFailed(" ".join(str(error).split())) from None
