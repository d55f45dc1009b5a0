"""`ggp ladder crosstable`: who scored what against whom, bots in the order of their ratings."""

import csv
import shutil
import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from protocol.printed import json_text
from referee.ladder.pairs import Seat
from referee.ladder.standings import Score, score_of
from referee.ladder.views import running
from referee.ladder.views.sheet import Sheet, clean, on_terminal, say, show, width
from referee.ladder.views.source import chosen_pools, open_ladder, split
from referee.ladder.views.standings import read_standings, title_of
from referee.store.rows import PoolRow

if TYPE_CHECKING:
    from referee.store.store import Store

COLUMNS = ("pool", "first", "second", "games", "points", "wins", "ties", "losses", "forfeits", "gifts", "void")


@dataclass(frozen=True, slots=True)
class Crosstable:
    """A pool's: the scores of row against column. `seats`: only the games in which the row had seat 1."""

    pool: PoolRow
    bots: list[Seat]
    cells: dict[tuple[int, int], Score]
    seats: bool


def main(argv: list[str]) -> int:
    """The exit status."""
    return running.run_view(crosstable, argv)


@click.command("crosstable", epilog=running.EPILOGUE, context_settings=running.SETTINGS)
@running.words("[LADDER]")
@running.pool_option
@click.option("--seats", is_flag=True, help="By who sat first: the row's bot had seat 1.")
@click.option("--all", "everyone", is_flag=True, help="Versions that were withdrawn, too.")
@click.option("--csv", "as_csv", is_flag=True, help="A line for each pair, as CSV.")
@running.json_option
def crosstable(
    words: tuple[str, ...], pool_name: str | None, seats: bool, everyone: bool, as_csv: bool, as_object: bool
) -> int:
    """Show the score of every bot against every other: points, and wins, ties and losses."""
    if as_csv and as_object:
        raise click.UsageError("choose either --csv or --json")
    ladder, _ = split(words, 0, 0)
    with open_ladder(ladder) as store:
        pools = chosen_pools(store.pools(), pool_name)
        tables = [read_crosstable(store, pool, seats, everyone) for pool in pools]
    if as_object:
        objects = {table.pool.name: _as_json(table) for table in tables}
        one = next(iter(objects.values())) if len(tables) == 1 else {"pools": objects}
        say(json_text(one))
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(line for table in tables for line in _lines(table))
    else:
        _show_all(tables)
    return 0


def read_crosstable(store: "Store", pool: PoolRow, seats: bool = False, everyone: bool = False) -> Crosstable:
    """Bots best first; those who are in no standings yet (nothing is rated) as they were entered."""
    standings = read_standings(store, pool, everyone)
    bots = [place.seat for place in standings.places] or [seat for seat in standings.seats if seat.active]
    shown = {bot.id for bot in bots}
    cells: dict[tuple[int, int], Score] = {}
    for met in store.meetings(pool.id):
        if met.first in shown and met.second in shown:
            here, there = (met.first, met.second), (met.second, met.first)
            cells[here] = cells.get(here, Score()) + score_of(met)
            if not seats:
                cells[there] = cells.get(there, Score()) + score_of(met, 2)
    return Crosstable(pool, bots, cells, seats)


def _lines(table: Crosstable) -> list[list[object]]:
    """COLUMNS of every pair that met, once each; with seats once for each order."""
    order = {bot.id: rank for rank, bot in enumerate(table.bots)}
    labels = {bot.id: bot.label for bot in table.bots}
    return [
        [
            *(table.pool.name, labels[first], labels[second], score.games, score.points),
            *(score.wins, score.ties, score.losses, score.forfeits, score.gifts, score.void),
        ]
        for (first, second), score in sorted(table.cells.items(), key=lambda cell: [order[bot] for bot in cell[0]])
        if table.seats or order[first] < order[second]
    ]


def _as_json(table: Crosstable) -> dict[str, Any]:
    cells = [dict(zip(COLUMNS[1:], line[1:], strict=True)) for line in _lines(table)]
    return {"bots": [bot.label for bot in table.bots], "seats": table.seats, "cells": cells}


def _show_all(tables: list[Crosstable]) -> None:
    if not tables:
        say("the ladder has no pool yet: ggp ladder run begins it")
    for number, table in enumerate(tables):
        say(*[""] * bool(number))
        if not table.cells:
            say(clean(title_of(table.pool)), "no game was finished yet")
        else:
            _show(table)


def _show(table: Crosstable) -> None:
    """One column a bot, named by its rank; on a terminal as many as there is room for."""
    columns = [[_cell(table, bot, other) for bot in table.bots] for other in table.bots]
    points = _points(table)
    fit = len(columns)
    if on_terminal():
        used = 10 + max(width(bot.label) for bot in table.bots) + len(str(len(columns)))
        used += max(map(len, points))
        room = shutil.get_terminal_size().columns - used
        fit = 0
        for column in columns:
            room -= 3 + max(map(width, column))
            if room < 0:
                break
            fit += 1
        fit = max(1, fit)
    sheet = Sheet(("#", "bot", "points", *(str(rank + 1) for rank in range(fit))), frozenset({"bot"}))
    for rank, bot in enumerate(table.bots):
        sheet.add(rank + 1, bot.label, points[rank], *(column[rank] for column in columns[:fit]))
    show(sheet, title_of(table.pool))
    say(
        "a cell: points of the row's bot against the column's, +wins =ties -losses"
        + "; the row's had seat 1" * table.seats
    )
    if fit < len(columns):
        say(f"columns 1 to {fit} of {len(columns)}: a wider window shows more; all with --csv, or | less -S")


def _cell(table: Crosstable, bot: Seat, other: Seat) -> str:
    score = table.cells.get((bot.id, other.id))
    if bot.id == other.id or score is None:
        return "" if bot.id != other.id else "·"
    return f"{score.points:g} +{score.wins}={score.ties}-{score.losses}"


def _points(table: Crosstable) -> list[str]:
    """Of every bot against all others in the table: `points/games`."""
    points, games = Counter[int](), Counter[int]()
    for (first, _), score in table.cells.items():
        points[first] += score.wins * 2 + score.ties  # in halves, which are whole
        games[first] += score.games
    return [f"{points[bot.id] / 2:g}/{games[bot.id]}" for bot in table.bots]
