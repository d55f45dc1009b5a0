"""`ggp verify FILE`: reads the records of a file, has each played again and shows what came out otherwise."""

from pathlib import Path

import click

from protocol.records import Record
from protocol.transports.blocking import run_blocking
from referee.archive.reading import records_in, started
from referee.archive.replay import verify
from referee.command_line import HELP, run_command
from referee.play.engine import Engine
from referee.play.words import read_engine


def main(argv: list[str]) -> int:
    """The exit status; it is 1 if a match does not come out as it was recorded."""
    return run_command(verify_file, "ggp verify", argv)


@click.command("verify", context_settings=HELP)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--engine", metavar="COMMAND|URL", help="Compare another engine with ours, ply by ply.")
def verify_file(file: Path, engine: str | None) -> int:
    """Check the hash chain of every match in FILE and play each again on the engine."""
    return run_blocking(_verify_all(file, engine))


async def _verify_all(file: Path, text: str | None) -> int:
    matches = wrong = 0
    skipped: list[str] = []
    ours = await started(read_engine(None))
    other = await started(read_engine(text)) if text else None
    try:
        for record in records_in(file, skipped.append):
            matches += 1
            problem = await _verify_one(record, ours, other)
            if problem:
                wrong += 1
                click.echo(f"{record.start.match}: {problem}")
    finally:
        for engine in (ours, other):
            if engine is not None:
                await engine.peer.stop()
    for piece in skipped:
        click.echo(f"skipped {piece}")
    unfinished = f"; {len(skipped)} that were not finished are skipped" if skipped else ""
    click.echo(f"{file}: {matches} matches, {matches - wrong} as recorded, {wrong} not{unfinished}")
    return 1 if wrong else 0


async def _verify_one(record: Record, ours: Engine, other: Engine | None) -> str:
    """On our engine and the other; a game that ours does not know, on the other alone."""
    if record.start.game in await ours.games():
        return await verify(record, ours, other)
    if other is None:
        return f"our engine knows no game {record.start.game}: name one that does with --engine"
    return await verify(record, other)
