"""`ggp import FILE…`: games of SGF files and GTP scripts become records, each move played on the engine."""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import click

from protocol.drawing.scene import clean
from protocol.transports.blocking import run_blocking
from referee.archive.found import MAX_FILE, CannotImport, Found
from referee.archive.imported import Rules, to_record
from referee.archive.output import opened
from referee.archive.reading import started
from referee.archive.scripts import script_games
from referee.archive.sgf_games import sgf_games
from referee.command_line import HELP, run_command
from referee.play.outcome import EngineFailed
from referee.play.words import read_engine

EPILOGUE = """\b
FILE is SGF of any program (FF[1] to FF[4], collections, any encoding; the main line is
taken), a script of GTP commands, or - for standard input.

\b
The exit status is 0; 1 if a game could not be imported, or not whole; 2 for a command
line or a file that cannot be. Games that could are written in every case.
"""


def main(argv: list[str]) -> int:
    """The exit status."""
    return run_command(import_files, "ggp import", argv)


@click.command("import", epilog=EPILOGUE, context_settings=HELP)
@click.argument("files", metavar="FILE…", nargs=-1, required=True)
@click.option(
    "-o", "--output", metavar="FILE", help="Write to FILE, which appears when all is written.  [default: stdout]"
)
@click.option("--engine", metavar="COMMAND|URL", help="Who knows the games: a command line, or tcp://host:port.")
@click.option(
    "--fill", is_flag=True, help="Where a side moves twice, or black stones are set up, the other side passes."
)
@click.option("--lenient", is_flag=True, help="Of a game with a move that cannot be, keep the plies before it.")
@click.option("--quiet", is_flag=True, help="Say nothing of games that were imported.")
def import_files(
    files: tuple[str, ...], output: str | None, engine: str | None, fill: bool, lenient: bool, quiet: bool
) -> int:
    """Turn games of SGF files or GTP scripts into records, for ggp verify, ggp show, ggp export and ggp console.

    Every move is played on the engine; one that is illegal is named with its number.
    """
    rules = Rules(fill, lenient, f"ggp import {version('general-game-protocol')}")
    return run_blocking(_import_all(files, output, engine, rules, quiet))


async def _import_all(files: tuple[str, ...], output: str | None, text: str | None, rules: Rules, quiet: bool) -> int:
    contents = [(file, _read(file)) for file in files]
    engine = await started(read_engine(text))
    done = cut = failed = 0
    keys = set[str]()
    try:
        with opened(output) as out:
            for file, data in contents:
                for number, found in enumerate(_games(file, data, rules.fill), 1):
                    try:
                        if isinstance(found, CannotImport):
                            raise found
                        record, problem = await to_record(found, _key(found, file, number, keys), engine, rules)
                        out.write(record.lines())
                        done += 1
                        cut += bool(problem)
                        if problem:
                            _tell(f"{file}, game {number}: {problem}; the {len(record.plies)} plies before it are kept")
                    except CannotImport as problem:
                        failed += 1
                        _tell(f"{file}, game {number}: {problem}")
            out.flush()
    except EngineFailed as failure:
        raise click.ClickException(clean(str(failure))) from None
    finally:
        await engine.peer.stop()
    if not quiet:
        _tell(f"{done} games imported" + (f", {failed} not" if failed else "") + (f", {cut} cut short" if cut else ""))
    return 1 if failed or cut else 0


def _read(file: str) -> bytes:
    path = Path(file)
    try:
        if file != "-" and path.exists() and not path.is_file() and not path.is_dir():
            raise click.ClickException(f"cannot read {file}: it is no regular file")
        with sys.stdin.buffer if file == "-" else path.open("rb") as source:
            data = source.read(MAX_FILE + 1)
    except OSError as error:
        raise click.ClickException(f"cannot read {file}: {error.strerror}") from None
    if len(data) > MAX_FILE:
        raise click.ClickException(f"{file} is larger than {MAX_FILE >> 20} MiB: split it")
    return data


def _games(file: str, data: bytes, fill: bool) -> Iterator[Found | CannotImport]:
    """What stands in the file, read as SGF if that is what it begins with or is named."""
    named = Path(file).suffix.lower()
    is_sgf = named in (".sgf", ".sgfs") or (b"(;" in data[:4096] or data.lstrip()[:1] == b"(")
    try:
        if data.startswith(b'{"') and not is_sgf:
            raise CannotImport("looks like a record already: ggp verify, ggp show and ggp export take it as it is")
        yield from sgf_games(data, fill) if is_sgf and named not in (".gtp", ".tst") else script_games(data)
    except CannotImport as problem:
        yield problem


def _key(found: Found, file: str, number: int, taken: set[str]) -> str:
    """A name for the match: the one that `ggp export` gave it, else FILE-NUMBER; no two alike."""
    name = found.key if found.key and len(found.key) < 200 else f"{Path(file).stem.strip('-') or 'game'}-{number}"
    name = re.sub(r"[^\w.-]+", "-", name)[:200]
    key, more = name, 1
    while key in taken:
        more += 1
        key = f"{name}.{more}"
    taken.add(key)
    return key


def _tell(text: str) -> None:
    click.echo(clean(f"ggp import: {text}"), err=True)
