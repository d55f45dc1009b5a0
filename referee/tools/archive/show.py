"""Positions of a recorded match as text boards or a picture, from the engine's scenes.

If the engine has no scene, the moves are listed.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import click

from ggp.protocol.drawing import svg, text
from ggp.protocol.drawing.scene import DrawingError, Scene, read_scene
from ggp.protocol.records import MatchStarted, Record
from ggp.referee.match.analysis import analysis_lines, caption, list_moves
from ggp.referee.match.bot_spec import read_engine
from ggp.referee.match.engine import OVER, GameRefused, Status, start_engine
from ggp.referee.match.outcome import BotFault, EngineFailed
from ggp.referee.match.replay import Replayer
from ggp.referee.terminal import draw_scene, escape_unprintable, shows_colour
from ggp.referee.tools.archive.places import how_to_name_engine, recorded_engine

_COLOURS = {"class:black": "1;34", "class:white": "1;33", "class:mark": "1;32"}
_CUT = 200  # characters of a line of stderr
_STDERR_LINES = 10  # lines of each bot's stderr
_FAULT_LINES = 40  # lines of the bot at fault, enough for a whole traceback


class ShownPosition(NamedTuple):
    """The position after `number` plies: its scene as the engine sent it ("" for none), as parsed, and its status."""

    number: int
    drawn: str
    scene: Scene | None
    status: Status


async def positions_of(record: Record, wanted: Sequence[int], word: str | None) -> list[ShownPosition]:
    """Return the wanted positions of a match, in that order.

    Args:
        record: The match.
        wanted: The numbers of plies before the positions.
        word: The engine; None for the built-in one.

    Raises:
        ClickException: The engine fails, or refuses the game or a move.
    """
    start, chosen, found = record.start, set(wanted), dict[int, ShownPosition]()
    engine = await start_engine(read_engine(word))
    try:
        if start.game not in await engine.games():
            if word is None and _agrees(start):
                return await positions_of(record, wanted, recorded_engine(start))
            raise GameRefused(f"it does not know {start.game}; {how_to_name_engine(start)}")
        replayer = Replayer(engine)
        for number in range(max(wanted) + 1):  # one by one, so that an illegal ply can be named
            status = await replayer.go_to(start, record.plies, number)
            if number in chosen:
                drawn = await engine.scene()
                found[number] = ShownPosition(number, drawn, read_scene(drawn) if drawn else None, status)
        return [found[number] for number in wanted]
    except GameRefused as refused:
        raise click.ClickException(f"the engine refuses the game: {escape_unprintable(str(refused))}") from None
    except BotFault as fault:
        raise click.ClickException(escape_unprintable(f"ply {number}: {fault}")) from None
    except (EngineFailed, DrawingError) as error:
        raise click.ClickException(escape_unprintable(str(error))) from None
    finally:
        await engine.peer.stop()


def _agrees(start: MatchStarted) -> bool:
    """Ask at the terminal whether to run the engine that the record names. Without a terminal the answer is no."""
    command = recorded_engine(start)
    if not (command and all(stream and stream.isatty() for stream in (sys.stdin, sys.stderr))):
        return False
    click.echo(
        f"The built-in engine does not know {start.game}. The record was judged by this engine:\n\n  {command}\n",
        err=True,
    )
    return click.confirm("Run it? Only do so if you trust the source of the record.", err=True)


def lines_of(record: Record, positions: list[ShownPosition], width: int) -> Iterator[str]:
    """Describe the match, each position, and the legend."""
    yield from _about(record, positions[0])
    if len(positions) > 1:
        yield _result(record)
    for position in positions:
        if len(positions) > 1:
            yield ""
        yield caption(record, position.number)
        if position.number and (lines := analysis_lines(record.plies[position.number - 1].analysis, width - 2)):
            yield from ("analysis:", *(f"  {line}" for line in lines))
        if len(positions) == 1:
            yield _result(record)
        if position.scene is not None:
            yield "\n" + _board(position, position.scene, width)
        elif len(positions) == 1:
            yield "\n" + list_moves(record.plies[: position.number], width=width)
    if (scene := positions[-1].scene) is not None:
        yield "\n" + "\n".join(text.describe(scene, width))
    yield from (*_dialogue(record), *_stderr(record))


def picture_of(record: Record, position: ShownPosition) -> str:
    """Draw a position as SVG.

    Raises:
        ClickException: The engine has no scene.
        DrawingError: The scene cannot be drawn.
    """
    if position.scene is None:
        raise click.ClickException("the engine lists no ggp-scene, so it cannot draw: name another one with --engine")
    title = "; ".join([*_about(record, position), caption(record, position.number), _result(record)])
    return svg.draw(position.scene, title=title)


def _about(record: Record, position: ShownPosition) -> Iterator[str]:
    """Yield the game, the players, and their sandboxes."""
    start, status = record.start, position.status
    yield escape_unprintable(" ".join([start.game, *(f"{name}={value}" for name, value in start.options.items())]))
    seat, colour = status.seat, status.to_play
    if status.phase == OVER and position.number:
        last = record.plies[position.number - 1]
        seat, colour = last.seat, last.colour
    other = {"black": "white", "white": "black"}.get(colour, colour)
    colours = (colour, other) if seat == 1 else (other, colour)
    players = (f"{bot.name} ({colour})" for bot, colour in zip(start.bots, colours, strict=True))
    yield escape_unprintable(f"{start.match}: {' - '.join(players)}")
    if confined := [f"{bot.name} {bot.sandbox}" for bot in start.bots if bot.sandbox]:
        yield escape_unprintable(f"sandbox: {' - '.join(confined)}")


def _result(record: Record) -> str:
    end = record.end
    if end is None:
        return "the match was not finished"
    seat = end.culprit.removeprefix("seat")
    by = f" by {record.start.bots[int(seat) - 1].name}" if seat in ("1", "2") else ""
    why = f": {end.detail}" if end.detail else ""
    return escape_unprintable(f"result: {end.result or 'void'}, {end.termination}{by}{why}")


def _dialogue(record: Record) -> Iterator[str]:
    """Yield the last lines between the referee and the bot at fault."""
    end = record.end
    if end is None or end.diagnostics is None or not end.culprit.startswith("seat"):
        return
    name = record.start.bots[int(end.culprit.removeprefix("seat")) - 1].name
    yield f"\nlast lines to (>) and from (<) {escape_unprintable(name)}:"
    yield from (f"  {escape_unprintable(line)[:_CUT]}" for line in end.diagnostics.dialogue)


def _stderr(record: Record) -> Iterator[str]:
    """Yield the last lines that each bot wrote to stderr in the match."""
    end = record.end
    for seat, bot in enumerate(record.start.bots, 1):
        tail = end.stderr[seat - 1] if end and len(end.stderr) == len(record.start.bots) else ""
        if end and not tail and end.diagnostics and end.culprit == f"seat{seat}":
            tail = end.diagnostics.stderr
        at_fault = end is not None and end.culprit == f"seat{seat}"
        lines = [line for line in tail.splitlines() if line.strip()][-_FAULT_LINES if at_fault else -_STDERR_LINES :]
        if lines:
            yield f"\nstderr of {escape_unprintable(bot.name)}:"
            yield from (f"  {escape_unprintable(line)[:_CUT]}" for line in lines)


def _board(position: ShownPosition, scene: Scene, width: int) -> str:
    """Return the board as text, in colour if the terminal shows colours."""
    plain = text.draw(scene, width)
    if not shows_colour():
        return plain
    lines = draw_scene(position.drawn).lines
    if "\n".join("".join(piece for _, piece in line) for line in lines) != plain:
        return plain  # on a narrow page the board is drawn differently
    return "\n".join(
        "".join(f"\x1b[{_COLOURS[style]}m{piece}\x1b[m" if style in _COLOURS else piece for style, piece in line)
        for line in lines
    )
