"""`ggp show FILE`: a position of a recorded match as a text board or an SVG picture. What is drawn the engine says."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from protocol.drawing import svg, text
from protocol.drawing.scene import DrawingError, Scene, clean, read_scene
from protocol.records import Record
from protocol.transports.blocking import run_blocking
from referee.archive.reading import count_plies, find_record, started
from referee.command_line import HELP, run_command
from referee.config import Setting
from referee.play.clock import Control, Kind
from referee.play.engine import OVER, Engine, GameRefused, Status
from referee.play.outcome import EngineFailed, Fault
from referee.play.words import read_engine


def main(argv: list[str]) -> int:
    """`ggp show FILE [--match NAME] [--ply N] [-o FILE.svg] [--engine …]`."""
    return run_command(show, "ggp show", argv)


@click.command("show", context_settings=HELP)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--match", "key", metavar="NAME", help="The match of this name.  [default: the first]")
@click.option("--ply", type=int, metavar="N", help="After N plies; -1 is the last, -2 the one before.  [default: -1]")
@click.option("-o", "--output", metavar="FILE.svg", help="Write an SVG picture; - is standard output.")
@click.option("--engine", metavar="COMMAND|URL", help="Who knows the game: a command line, or tcp://host:port.")
def show(file: Path, key: str | None, ply: int | None, output: str | None, engine: str | None) -> int:
    """Show a position of a match in FILE: the board, what lies beside it, the last ply marked.

    The match is played again on the engine, which describes the position; so every game can be shown that an
    engine knows.
    """
    if output and output != "-" and not output.lower().endswith(".svg"):
        raise click.ClickException(f"-o {output}: pictures are SVG: end the name in .svg, or write -o -")
    record = find_record(file, key)
    number = count_plies(record, ply)
    scene, status = run_blocking(_replay(record, number, engine))
    heading = list(_heading(record, number, status))
    try:
        if output:
            _write(output, svg.draw(scene, title="; ".join(heading)))
        else:
            click.echo("\n".join([*heading, "", text.draw(scene), "", *text.describe(scene)]))
    except DrawingError as error:
        raise click.ClickException(f"{record.start.match}: {error}") from None
    return 0


async def _replay(record: Record, number: int, text: str | None) -> tuple[Scene, Status]:
    """The position after so many plies, from the engine."""
    engine = await started(read_engine(text))
    try:
        if "ggp-scene" in engine.lacks:
            raise click.ClickException("the engine lists no ggp-scene: it cannot say what to draw")
        return await _position(record, number, engine)
    except GameRefused as refused:
        raise click.ClickException(f"the engine refuses the game: {clean(str(refused))}") from None
    except (EngineFailed, DrawingError) as error:
        raise click.ClickException(clean(str(error))) from None
    finally:
        await engine.peer.stop()


async def _position(record: Record, number: int, engine: Engine) -> tuple[Scene, Status]:
    start = record.start
    if start.game not in await engine.games():
        raise GameRefused(f"it knows no {start.game}; name an engine that does with --engine")
    status = await engine.new_game(Setting(start.game, start.options, {}, Control(Kind.NONE)).new_game)
    for ply in record.plies[:number]:
        try:
            _, status = await engine.play(ply.colour, ply.move)
        except Fault as fault:
            raise EngineFailed(f"ply {ply.ply}: {fault}") from None
    return read_scene(await engine.scene()), status


def _heading(record: Record, number: int, status: Status) -> Iterator[str]:
    """The game, who plays, the ply, and how the match ended."""
    start, end = record.start, record.end
    yield clean(" ".join([start.game, *(f"{name}={value}" for name, value in start.options.items())]))
    seat, colour = status.seat, status.to_play
    if status.phase == OVER and number:
        seat, colour = record.plies[number - 1].seat, record.plies[number - 1].colour
    other = {"black": "white", "white": "black"}.get(colour, colour)
    colours = (colour, other) if seat == 1 else (other, colour)
    players = (f"{bot.name} ({colour})" for bot, colour in zip(start.bots, colours, strict=True))
    yield clean(f"{start.match}: {' - '.join(players)}")
    ply = record.plies[number - 1] if number else None
    yield clean(f"ply {number} of {len(record.plies)}" + (f": {ply.colour} {ply.move}" if ply else ""))
    if end is None:
        yield "the match was not finished"
    else:
        yield clean(f"result: {end.result or 'void'}, {end.termination}")


def _write(output: str, picture: str) -> None:
    """To the file whole or not at all."""
    if output == "-":
        click.echo(picture, nl=False)
        return
    target = Path(output)
    name = ""
    try:
        with tempfile.NamedTemporaryFile("w", dir=target.parent, suffix=".part", delete=False, encoding="utf-8") as new:
            name = new.name
            new.write(picture)
        Path(name).chmod(0o644)
        Path(name).replace(target)
    except OSError as error:
        if name:
            Path(name).unlink(missing_ok=True)
        raise click.ClickException(f"cannot write {output}: {error.strerror}") from None
