"""The matches of a ladder as records, results, SGF or scripts, one at a time."""

import csv
import io
from collections.abc import Iterator
from dataclasses import asdict

import click

from ggp.protocol.records import escaped_line
from ggp.referee.ladder.queries import check_filter, matching, read_one
from ggp.referee.ladder.store.model import GameFilter, GameRow
from ggp.referee.ladder.store.store import Store
from ggp.referee.match.outcome import BY_PLAY
from ggp.referee.match.record_forms import as_form


def exported(store: Store, wanted: GameFilter, form: str, played: bool, damaged: list[str]) -> Iterator[bytes]:
    """Yield the text of each match, b"" for a match that is left out.

    `damaged` collects the reasons why records cannot be written.
    """
    if form == "csv":
        yield b"first,second,result\n"
        for row in matching(store, wanted):
            yield _csv_line(row) if row.result and not (played and row.termination not in BY_PLAY) else b""
        return
    check_filter(store, wanted)
    for row, lines in store.records(**asdict(wanted), damaged=damaged.append):
        if played and row.termination not in BY_PLAY:
            yield b""
            continue
        try:
            record = read_one(lines, row.key)
            yield escaped_line(lines) if form == "jsonl" else as_form(record, form)
        except click.ClickException as error:
            damaged.append(error.format_message())
            yield b""


def _csv_line(row: GameRow) -> bytes:
    line = io.StringIO()
    result = ("0.5", "1", "0")[row.winner]
    csv.writer(line, lineterminator="\n").writerow((row.first, row.second, result))
    return line.getvalue().encode()
