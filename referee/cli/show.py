"""`ggp show RECORD`: print positions of a recorded match, or draw one as a picture."""

import re
from pathlib import Path

import click

from ggp.protocol.drawing import text
from ggp.protocol.drawing.scene import DrawingError
from ggp.protocol.records import Record
from ggp.protocol.safe_files import replace_file
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.command_line import HELP, run_command
from ggp.referee.terminal import screen_columns
from ggp.referee.tools.archive.places import count_plies, open_match
from ggp.referee.tools.archive.show import lines_of, picture_of, positions_of

_RANGE = re.compile(r"(-?\d{1,9})(?:\.\.(-?\d{1,9}))?", re.ASCII)
EPILOGUE = """\b
RECORD is FILE (its first match), FILE#MATCH, or with @PLY a position: games.jsonl#m-7@17.
FILE   is a record, or a ladder: its file, store or URL, as in club.toml#MATCH.
PLIES  are N, -1 for the last, -2 for the one before, A..B, and lists of those: 3,7,10..14
"""


def main(argv: list[str]) -> int:
    """Run the command and return its exit status."""
    return run_command(show, "ggp show", argv)


@click.command("show", epilog=EPILOGUE, context_settings=HELP)
@click.argument("place", metavar="RECORD")
@click.option("--ply", "plies", metavar="PLIES", help="After these plies.  [default: -1]")
@click.option("--all", "every", is_flag=True, help="After every ply.")
@click.option("-o", "--output", metavar="FILE.svg", help="Write an SVG picture; - is standard output.")
@click.option("--width", type=click.IntRange(20, 1000), help="Columns.  [default: those of the terminal, else 100]")
@click.option("--engine", metavar="COMMAND|URL", help="Engine that knows the game: a command line, or tcp://host:port.")
def show(
    place: str,
    plies: str | None,
    every: bool,
    output: str | None,
    width: int | None,
    engine: str | None,
) -> int:
    """Show positions of a match: the board with the last ply marked, its time and its analysis.

    The match is replayed on the engine, which describes the position, so every game that an engine knows can be
    shown. If the engine cannot describe the position, the moves are listed.
    """
    if output and output != "-" and not output.lower().endswith(".svg"):
        raise click.ClickException(f"-o {output}: pictures are SVG: end the name in .svg, or write -o -")
    found = open_match(place)
    record = found.record
    wanted = range(len(record.plies) + 1) if every else _read_plies(plies, found.ply, record)
    if output and len(wanted) != 1:
        raise click.ClickException(f"-o {output}: a picture is of one ply, and these are {len(wanted)}")
    positions = run_blocking(positions_of(record, wanted, engine))
    try:
        if output:
            _write(output, picture_of(record, positions[0]))
        else:
            for line in lines_of(record, positions, width or screen_columns() or text.WIDTH):
                click.echo(line)
    except DrawingError as error:
        raise click.ClickException(f"{record.start.match}: {error}") from None
    return 0


def _read_plies(words: str | None, placed: int, record: Record) -> list[int]:
    """Return the numbers of plies in the order of the option."""
    if words is None:
        return [placed]
    numbers: list[int] = []
    for word in words.split(","):
        found = _RANGE.fullmatch(word.strip())
        if found is None:
            raise click.UsageError(f"{word!r} is no ply: write 3, -1 (the last), 10..14, or 3,7,-1")
        first, last = (count_plies(record, int(number)) for number in (found[1], found[2] or found[1]))
        numbers += range(first, last + 1)
    if not numbers:
        raise click.UsageError(f"--ply {words}: the first of a range stands before the last")
    return numbers


def _write(output: str, picture: str) -> None:
    """Print the picture, or replace the file in one step."""
    if output == "-":
        click.echo(picture, nl=False)
        return
    try:
        replace_file(Path(output), picture.encode())
    except OSError as error:
        raise click.ClickException(f"cannot write {output}: {error.strerror}") from None
