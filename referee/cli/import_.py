"""`ggp import FILE…`: turn games of SGF files and GTP scripts into records."""

import re
from importlib.metadata import version
from pathlib import Path

import click

from ggp.protocol.printed import counted
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.command_line import HELP, opened, run_command
from ggp.referee.match.bot_spec import read_engine
from ggp.referee.match.engine import start_engine
from ggp.referee.match.outcome import EngineFailed
from ggp.referee.terminal import escape_unprintable
from ggp.referee.tools.archive.game_files import CannotImport, ImportedGame, games_in, read_file
from ggp.referee.tools.archive.import_ import ImportRules, to_record

EPILOGUE = """\b
FILE is SGF of any program (FF[1] to FF[4], collections, any encoding; the main line
counts), a script of GTP commands, or - for standard input.

\b
The exit status is 0; 1 if a game could not be imported, or only in part; 2 for an
invalid command line or file. The other games are written in every case.
"""


def main(argv: list[str]) -> int:
    """Run the command and return its exit status."""
    return run_command(import_files, "ggp import", argv)


@click.command("import", epilog=EPILOGUE, context_settings=HELP)
@click.argument("files", metavar="FILE…", nargs=-1, required=True)
@click.option(
    "-o", "--output", metavar="FILE", help="Write to FILE, which appears when everything is written.  [default: stdout]"
)
@click.option(
    "--engine", metavar="COMMAND|URL", help="Engine that knows the games: a command line, or tcp://host:port."
)
@click.option("--fill", is_flag=True, help="If a side moves twice in a row, let the other side pass in between.")
@click.option("--lenient", is_flag=True, help="Keep the plies before an invalid move.")
@click.option("--quiet", is_flag=True, help="Do not report games that were imported.")
def import_files(
    files: tuple[str, ...], output: str | None, engine: str | None, fill: bool, lenient: bool, quiet: bool
) -> int:
    """Turn games of SGF files or GTP scripts into records, for ggp verify, ggp show, ggp export and ggp console.

    Every move is played on the engine; an illegal one is reported with its number.
    """
    rules = ImportRules(fill, lenient, f"ggp import {version('general-game-protocol')}")
    return run_blocking(_import_all(files, output, engine, rules, quiet))


async def _import_all(
    files: tuple[str, ...], output: str | None, text: str | None, rules: ImportRules, quiet: bool
) -> int:
    contents = [(file, read_file(file)) for file in files]
    engine = await start_engine(read_engine(text))
    done = cut = failed = 0
    keys = set[str]()
    try:
        with opened(output) as out:
            for file, data in contents:
                for number, found in enumerate(games_in(file, data), 1):
                    try:
                        if isinstance(found, CannotImport):
                            raise found
                        key = _key(found, file, number, keys)
                        record, problem, left_out = await to_record(found, key, engine, rules)
                        out.write(record.lines())
                        done += 1
                        cut += bool(problem)
                        if problem:
                            _tell(f"{file}, game {number}: {problem}; the {len(record.plies)} plies before it are kept")
                        if left_out and not quiet:
                            _tell(f"{file}, game {number}: {left_out}")
                    except CannotImport as problem:
                        failed += 1
                        _tell(f"{file}, game {number}: {problem}")
            out.flush()
    except EngineFailed as failure:
        raise click.ClickException(escape_unprintable(str(failure))) from None
    finally:
        await engine.peer.stop()
    if not quiet:
        refused, short = f", {failed} not" if failed else "", f", {cut} cut short" if cut else ""
        _tell(f"{counted(done, 'game')} imported{refused}{short}")
    return 1 if failed or cut else 0


def _key(found: ImportedGame, file: str, number: int, taken: set[str]) -> str:
    """Return a unique key for the match: the one that `ggp export` wrote, else FILE-NUMBER."""
    name = found.key if found.key and len(found.key) < 200 else f"{Path(file).stem.strip('-') or 'game'}-{number}"
    name = re.sub(r"[^\w.-]+", "-", name)[:200]
    key, more = name, 1
    while key in taken:
        more += 1
        key = f"{name}.{more}"
    taken.add(key)
    return key


def _tell(text: str) -> None:
    click.echo(escape_unprintable(f"ggp import: {text}"), err=True)
