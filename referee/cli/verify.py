"""`ggp verify FILE…`: replay recorded matches and report every difference."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from textwrap import indent
from typing import Any

import click

from ggp.protocol.printed import counted, without_password
from ggp.protocol.records import Record
from ggp.referee.command_line import BAD_USAGE, HELP, run_command
from ggp.referee.match.bot_spec import confined_engine, read_engine
from ggp.referee.match.options import sandbox_option
from ggp.referee.match.sandbox.levels import Level, Sandbox
from ggp.referee.match.sandbox.machine import check_level
from ggp.referee.terminal import escape_unprintable, progress_bar
from ggp.referee.tools.archive.places import open_matches
from ggp.referee.tools.archive.verify import Checker, VerifiedMatch

_MOST_TOLD = 1000  # matches that are listed in JSON
EPILOGUE = """\b
FILE is a record (- is standard input), a match of it (FILE#MATCH), or a ladder: its
ladder.toml, its store's file or URL.

\b
The exit status is 0; 1 if a match does not come out as recorded, or an engine failed;
2 for a file that is not a record, or was changed since it was written (hash chain).
"""


def main(argv: list[str]) -> int:
    """Run the command and return its exit status."""
    return run_command(verify_files, "ggp verify", argv)


@click.command("verify", epilog=EPILOGUE, context_settings=HELP)
@click.argument("files", metavar="FILE…", nargs=-1, required=True)
@click.option("--engine", metavar="COMMAND|URL", help="Compare another engine with the built-in one, ply by ply.")
@sandbox_option("the other engine")
@click.option("--deep", is_flag=True, help="Undo every ply as well, and compare each position.")
@click.option("--jobs", type=click.IntRange(1, 64), help="Matches at a time.  [default: one per core]")
@click.option("--json", "as_object", is_flag=True, help="Print the result as one JSON object.")
@click.option("--quiet", is_flag=True, help="Print only differences.")
def verify_files(
    files: tuple[str, ...],
    engine: str | None,
    sandbox: Level,
    deep: bool,
    jobs: int | None,
    as_object: bool,
    quiet: bool,
) -> int:
    """Check the hash chain of every match in FILEs and play each again on the engine.

    With --engine, play it on that engine as well: after each ply both must give the same status and the same legal
    moves, and at the end the same history, result and score. A fault of an engine is not counted against the record.
    """
    report = _Report(as_object, quiet)
    check_level(sandbox, engine or "")
    other = confined_engine(read_engine(engine), Sandbox(sandbox)) if engine else None
    # An engine at an address takes any number of sessions; still, one process per core is enough.
    checker = Checker(read_engine(None), other, jobs or len(os.sched_getaffinity(0)), deep)
    with closing(checker), progress_bar("matches", not quiet) as progress:
        for file in files:
            for checked in checker.all((file, record) for record in _readable(file, report)):
                report.add(checked)
                progress(*report.done())
            report.end_of(file)
    return report.close()


def _readable(file: str, report: "_Report") -> Iterator[Record]:
    """Yield the records that can be read, and report the others."""
    try:
        yield from open_matches(file, report.skip, report.damaged)
    except click.ClickException as error:
        report.unreadable.append(error.format_message())


class _Report:
    """Prints lines as matches come, or one object at the end."""

    def __init__(self, as_object: bool, quiet: bool) -> None:
        self.unreadable: list[str] = []
        self._as_object, self._quiet = as_object, quiet
        self._told: list[dict[str, Any]] = []
        self._skipped: list[str] = []
        self._file: Counter[str] = Counter()  # of the current file
        self._all: Counter[str] = Counter()

    def skip(self, piece: str) -> None:
        self._file["skipped"] += 1
        if len(self._skipped) < _MOST_TOLD:
            self._skipped.append(piece)
        if not self._as_object and not self._quiet:
            click.echo(f"skipped {piece}")

    def damaged(self, reason: str) -> None:
        self._file["damaged"] += 1
        if len(self.unreadable) < _MOST_TOLD:
            self.unreadable.append(reason)

    def add(self, checked: VerifiedMatch) -> None:
        self._file["matches"] += 1
        found = checked.deviation
        if found is None:
            return
        self._file["not"] += 1
        file = without_password(checked.file.partition("#")[0])
        place = escape_unprintable(f"{file}#{checked.match}" + (f"@{found.ply}" if found.ply else ""))
        if self._as_object:
            if len(self._told) < _MOST_TOLD:
                self._told.append({"file": file, "match": checked.match, **found._asdict()})
            return
        click.echo(f"{place}: {found.what}")
        if found.board:
            before = (
                "the last position" if found.ply is None else f"before ply {found.ply}" if found.ply else "the start"
            )
            click.echo(indent(f"{before}:\n{found.board}", "    "))

    def end_of(self, file: str) -> None:
        matches, wrong, skipped, damaged = (self._file[key] for key in ("matches", "not", "skipped", "damaged"))
        self._all.update(self._file)
        self._file.clear()
        if self._as_object or (self._quiet and not wrong) or (self.unreadable and not (matches or damaged)):
            return
        were = "was not finished is" if skipped == 1 else "were not finished are"
        unfinished = f"; {skipped} that {were} skipped" if skipped else ""
        broken = f"; {damaged} that {'is' if damaged == 1 else 'are'} not whole (below)" if damaged else ""
        told = f"{counted(matches, 'match', 'matches')}, {matches - wrong} as recorded, {wrong} not"
        click.echo(f"{escape_unprintable(without_password(file))}: {told}{broken}{unfinished}")

    def close(self) -> int:
        """Print what is left, and return the exit status."""
        wrong = self._all["not"]
        status = BAD_USAGE if self.unreadable else 1 if wrong else 0
        if self._as_object:
            said = {
                "matches": self._all["matches"],
                "as_recorded": self._all["matches"] - wrong,
                "deviations": self._told,
                "deviating": wrong,
                "skipped": self._skipped,
                "unreadable": self.unreadable,
            }
            click.echo(json.dumps(said))
        for reason in self.unreadable:
            click.echo(f"ggp verify: {reason}", err=True)
        return status

    def done(self) -> tuple[int, None, str]:
        """Return the matches done, None for the unknown total, and a text for the progress bar."""
        seen = self._all + self._file
        return seen["matches"], None, f"{counted(seen['matches'], 'match', 'matches')}, {seen['not']} not as recorded"
