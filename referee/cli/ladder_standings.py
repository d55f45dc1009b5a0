"""`ggp ladder standings` and `ggp ladder crosstable`: print the ratings of a ladder, and all bots against all."""

import csv
import sys
from collections import Counter
from functools import partial

import click

from ggp.protocol.printed import counted
from ggp.referee.cli.ladder_view import json_option, pool_option, run_view, say_pools, show_each, view
from ggp.referee.ladder.queries import (
    COLUMNS,
    Crosstable,
    crosstable_json,
    crosstable_lines,
    read_crosstable,
)
from ggp.referee.ladder.source import chosen_pools, open_ladder
from ggp.referee.ladder.standings import Standings, read_standings, standings_json, title_of
from ggp.referee.ladder.store.model import PoolEntry
from ggp.referee.ratings.scale import half
from ggp.referee.ratings.standings import RatingTable
from ggp.referee.terminal import TextTable, escape_unprintable, say, screen_columns, show, width, wrapped

_SPARE = (("+", "=", "-"), ("forfeits",), ("score",), ("to next", "± ", "LOS"), ("games",))


@view("standings", "[LADDER]")
@pool_option
@click.option("--all", "everyone", is_flag=True, help="Include withdrawn versions.")
@json_option
def standings(ladder: str, pool_name: str | None, everyone: bool, as_object: bool) -> int:
    """Show the ratings of a ladder: Elo with 95 % error bars, games, the difference to the next one."""
    with open_ladder(ladder) as store:
        found = [read_standings(store, pool, everyone) for pool in chosen_pools(store.pools(), pool_name)]
        runs = store.running()
    if as_object:
        say_pools({one.pool.name: standings_json(one) for one in found})
        return 0
    show_each(found, show_standings)
    if runs:
        say(escape_unprintable(f"the ladder runs: {runs}"))
    return 0


run_standings = partial(run_view, standings)  # argv -> exit status


def show_standings(found: Standings) -> None:
    """Print the standings of a pool with lines on what the numbers mean."""
    if (table := found.table) is None:
        names = ", ".join(seat.label for seat in found.seats if seat.active)
        say(
            escape_unprintable(title_of(found.pool)),
            escape_unprintable(f"no game counts yet; entered: {names or 'no bot'}"),
        )
        return
    forfeited = ["forfeits"] if any(row.score.forfeits for row in found.places) else []
    noted = ["note"] if any(row.note for row in found.places) else []
    heads = ["#", "bot", "Elo", "±", "games", "score", "+", "=", "-", *forfeited, "to next", "± ", "LOS", *noted]
    sheet = TextTable(heads, frozenset({"bot", "note"}), spare=_SPARE)
    for rank, row in enumerate(found.places, 1):
        score = row.score
        sheet.add(
            *(rank, row.name, f"{row.elo:z.1f}", half(row.se), score.games),
            *(row.percent, score.wins, score.ties, score.losses),
            *([score.forfeits or ""] if forfeited else []),
            *row.next_cells(),
            *([row.note] if noted else []),
        )
    show(sheet, title_of(found.pool))
    columns = screen_columns() or sys.maxsize
    say(*(wrapped(escape_unprintable(text), columns) for text in _remarks(found, table)))


def _remarks(found: Standings, table: RatingTable) -> list[str]:
    """Return lines on what the numbers mean, and where the model misfits."""
    seat = f"{table.advantage:z.1f} ± {half(table.advantage_se)} Elo"
    model = f"model {table.model}, deviance {table.deviance:.1f} at {table.freedom} degrees of freedom"
    return [
        found.zero(),
        *filter(None, [found.repeats, found.provisional]),
        f"first seat {seat}; {table.ties}; {counted(found.pool.games, 'game')}",
        model + (": it misfits" if table.misfits_badly else ""),
        *(f"  {pair}" for pair in table.misfits if table.misfits_badly),
    ]


@view("crosstable", "[LADDER]")
@pool_option
@click.option("--seats", is_flag=True, help="Only games in which the row's bot had seat 1.")
@click.option("--all", "everyone", is_flag=True, help="Include withdrawn versions.")
@click.option("--csv", "as_csv", is_flag=True, help="CSV with a line for each pair.")
@json_option
def crosstable(ladder: str, pool_name: str | None, seats: bool, everyone: bool, as_csv: bool, as_object: bool) -> int:
    """Show the score of every bot against every other: points, and wins, ties and losses."""
    if as_csv and as_object:
        raise click.UsageError("choose either --csv or --json")
    with open_ladder(ladder) as store:
        pools = chosen_pools(store.pools(), pool_name)
        tables = [read_crosstable(store, pool, seats, everyone) for pool in pools]
    if as_object:
        say_pools({table.pool.name: crosstable_json(table) for table in tables})
    elif as_csv:
        writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(line for table in tables for line in crosstable_lines(table))
    else:
        show_each(tables, _show_crosstable)
    return 0


run_crosstable = partial(run_view, crosstable)


def _show_crosstable(table: Crosstable) -> None:
    """Print a column for each bot, named by its rank; on a terminal only as many as fit."""
    if not table.cells:
        say(escape_unprintable(title_of(table.pool)), "no game was finished yet")
        return
    columns = [[_cell(table, bot, other) for bot in table.bots] for other in table.bots]
    points = _points(table)
    fit = len(columns)
    if (columns_here := screen_columns()) is not None:
        used = 10 + max(width(bot.label) for bot in table.bots) + len(str(len(columns)))
        used += max(map(len, points))
        room = columns_here - used
        fit = 0
        for column in columns:
            room -= 3 + max(map(width, column))
            if room < 0:
                break
            fit += 1
        fit = max(1, fit)
    sheet = TextTable(("#", "bot", "points", *(str(rank + 1) for rank in range(fit))), frozenset({"bot"}))
    for rank, bot in enumerate(table.bots):
        sheet.add(rank + 1, bot.label, points[rank], *(column[rank] for column in columns[:fit]))
    show(sheet, title_of(table.pool))
    say(
        "a cell: points of the row's bot against the column's, +wins =ties -losses"
        + "; the row's had seat 1" * table.seats
    )
    if fit < len(columns):
        say(f"columns 1 to {fit} of {len(columns)}: a wider window shows more; all with --csv, or | less -S")


def _cell(table: Crosstable, bot: PoolEntry, other: PoolEntry) -> str:
    score = table.cells.get((bot.id, other.id))
    if bot.id == other.id or score is None:
        return "" if bot.id != other.id else "·"
    return f"{score.points:g} +{score.wins}={score.ties}-{score.losses}"


def _points(table: Crosstable) -> list[str]:
    """Return the total of each bot against all others in the table, as `points/games`."""
    points, games = Counter[int](), Counter[int]()
    for (first, _), score in table.cells.items():
        points[first] += score.wins * 2 + score.ties  # in halves, which are whole
        games[first] += score.games
    return [f"{points[bot.id] / 2:g}/{games[bot.id]}" for bot in table.bots]
