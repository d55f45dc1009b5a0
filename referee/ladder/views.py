"""The commands that print a ladder: `ggp ladder standings`, `crosstable`, `games` and `events`."""

import csv
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial, wraps
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from ggp.protocol.printed import json_text, without_password
from ggp.protocol.records import Record
from ggp.referee.command_line import HELP
from ggp.referee.ladder import source
from ggp.referee.ladder.queries import (
    TIES,
    Crosstable,
    GameFilter,
    Standings,
    diagnostics,
    matching,
    plain,
    pools_json,
    read_crosstable,
    read_game,
    read_standings,
    standings_json,
    title_of,
    used,
    when,
)
from ggp.referee.ladder.source import chosen_pools, open_ladder, split
from ggp.referee.ladder.standings import RankedPlace, misfits_badly
from ggp.referee.ladder.store.model import PAIR_POINTS, RESULTS, GameRow, PoolEntry, StoredFit, StoreEvent
from ggp.referee.match.outcome import Termination
from ggp.referee.match.score_table import score_lines
from ggp.referee.ratings.scale import half
from ggp.referee.terminal import TextTable, escape_unprintable, say, screen_columns, show, width

if TYPE_CHECKING:
    from ggp.referee.ladder.store.store import Store


NO_POOL = "the ladder has no pool yet: ggp ladder run begins it"
_SPARE = (("+", "=", "-"), ("forfeits",), ("score",), ("to next", "± ", "LOS"), ("games",))
T = TypeVar("T")


@click.command("standings", epilog=source.EPILOGUE, context_settings=HELP)
@source.words("[LADDER]")
@source.pool_option
@click.option("--all", "everyone", is_flag=True, help="Versions that were withdrawn, too.")
@source.json_option
def standings(words: tuple[str, ...], pool_name: str | None, everyone: bool, as_object: bool) -> int:
    """Show the ratings of a ladder: Elo with 95 % error bars, games, the difference to the next one."""
    ladder, _ = split(words, 0, 0)
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


run_standings = partial(source.run_view, standings)  # argv -> the exit status


def say_pools(objects: dict[str, dict[str, Any]]) -> None:
    say(json_text(pools_json(objects)))


def show_each(found: Sequence[T], show_one: Callable[[T], None]) -> None:
    """One below the other, an empty line between."""
    for number, one in enumerate(found):
        say(*[""] * bool(number))
        show_one(one)
    if not found:
        say(NO_POOL)


def show_standings(found: Standings) -> None:
    if found.fit is None:
        names = ", ".join(seat.label for seat in found.seats if seat.active)
        say(
            escape_unprintable(title_of(found.pool)),
            escape_unprintable(f"no game counts yet; entered: {names or 'no bot'}"),
        )
        return
    forfeited = ["forfeits"] if any(place.score.forfeits for place in found.places) else []
    noted = ["note"] if any(place.note for place in found.places) else []
    heads = ["#", "bot", "Elo", "±", "games", "score", "+", "=", "-", *forfeited, "to next", "± ", "LOS", *noted]
    sheet = TextTable(heads, frozenset({"bot", "note"}), spare=_SPARE)
    for rank, place in enumerate(found.places, 1):
        score = place.score
        share = f"{score.share:.1%}" if score.games else ""
        sheet.add(
            *(rank, place.seat.label, f"{place.row.elo:z.1f}", half(place.row.se), score.games, share),
            *(score.wins, score.ties, score.losses, *([score.forfeits or ""] if forfeited else []), *_next(place)),
            *([place.note] if noted else []),
        )
    show(sheet, title_of(found.pool))
    say(*map(escape_unprintable, _remarks(found, found.fit)))


def _next(place: RankedPlace) -> tuple[str, str, str]:
    row = place.row
    if row.next_elo is None or row.next_se is None or row.next_los is None:
        return "", "", ""
    return f"{row.next_elo:z.1f}", half(row.next_se), f"{row.next_los:.1%}"


def _remarks(found: Standings, fit: StoredFit) -> list[str]:
    """The meaning of the numbers, and a misfit of the model."""
    labels = found.labels
    seat = f"{fit.advantage:z.1f} ± {half(fit.advantage_se)} Elo"
    model = f"model {fit.model}, deviance {fit.deviance:.1f} at {fit.freedom} degrees of freedom"
    remarks = [
        found.zero(),
        *filter(None, [found.repeats]),
        f"first seat {seat}; {TIES[fit.model]} = {fit.tie:.3f}; {found.pool.games} games",
        model + (": it misfits" if misfits_badly(fit) else ""),
    ]
    if misfits_badly(fit):
        remarks += [
            f"  {labels[pair.first]} against {labels[pair.second]}: {pair.score:g} of {pair.games:g} "
            f"where {pair.expected:.1f} were expected"
            for pair in fit.misfits
        ]
    return remarks


# -- `ggp ladder crosstable`: the scores of all bots against each other, in the order of their ratings.


COLUMNS = ("pool", "first", "second", "games", "points", "wins", "ties", "losses", "forfeits", "gifts", "void")


@click.command("crosstable", epilog=source.EPILOGUE, context_settings=HELP)
@source.words("[LADDER]")
@source.pool_option
@click.option("--seats", is_flag=True, help="By who sat first: the row's bot had seat 1.")
@click.option("--all", "everyone", is_flag=True, help="Versions that were withdrawn, too.")
@click.option("--csv", "as_csv", is_flag=True, help="A line for each pair, as CSV.")
@source.json_option
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
        say_pools({table.pool.name: crosstable_json(table) for table in tables})
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(line for table in tables for line in _lines(table))
    else:
        show_each(tables, _show_crosstable)
    return 0


run_crosstable = partial(source.run_view, crosstable)


def _lines(table: Crosstable) -> list[list[object]]:
    """COLUMNS of every pair."""
    return [
        [
            *(table.pool.name, first.label, second.label, score.games, score.points),
            *(score.wins, score.ties, score.losses, score.forfeits, score.gifts, score.void),
        ]
        for first, second, score in table.pairs
    ]


def crosstable_json(table: Crosstable) -> dict[str, Any]:
    cells = [dict(zip(COLUMNS[1:], line[1:], strict=True)) for line in _lines(table)]
    return {"bots": [bot.label for bot in table.bots], "seats": table.seats, "cells": cells}


def _show_crosstable(table: Crosstable) -> None:
    """One column a bot, named by its rank; on a terminal as many as there is room for."""
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
    """Of every bot against all others in the table: `points/games`."""
    points, games = Counter[int](), Counter[int]()
    for (first, _), score in table.cells.items():
        points[first] += score.wins * 2 + score.ties  # in halves, which are whole
        games[first] += score.games
    return [f"{points[bot.id] / 2:g}/{games[bot.id]}" for bot in table.bots]


# -- `ggp ladder games`: the stored matches, newest first; with a key, all of one match.


_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def filter_options(command: Callable[..., int]) -> Callable[..., int]:
    """The options that choose matches; the command gets them as `wanted`, a GameFilter."""

    @wraps(command)
    def filtered(**words: Any) -> int:
        since, until = since_when("--since", words.pop("since")), since_when("--until", words.pop("until"))
        pool = words.pop("pool_name")
        bot, against, termination = (words.pop(name) for name in ("bot", "against", "termination"))
        seat, result = words.pop("seat") or 0, words.pop("result") or ""
        points = None if (given := words.pop("points")) is None else float(given)
        return command(**words, wanted=GameFilter(pool, bot, against, termination, seat, result, since, until, points))

    for option in (
        click.option("--until", metavar="WHEN", help="Before then."),
        click.option("--since", metavar="WHEN", help="2026-11-30, 2026-11-30T18:00 (UTC), or 45m, 6h, 3d, 2w ago."),
        click.option("--termination", type=click.Choice([str(end) for end in Termination]), help="How they ended."),
        click.option("--points", type=click.Choice(PAIR_POINTS), help="Those of the bot in the match's pair."),
        click.option("--result", type=click.Choice(RESULTS), help="How they came out for the bot."),
        click.option("--seat", type=click.IntRange(1, 2), help="And the bot had this seat."),
        click.option("--against", metavar="NAME", help="And of this one."),
        click.option("--bot", metavar="NAME", help="Only matches of this bot, or NAME@VERSION."),
        source.pool_option,
    ):
        filtered = option(filtered)
    return filtered


@click.command("games", epilog=source.EPILOGUE, context_settings=HELP)
@source.words("[KEY] [LADDER]")
@filter_options
@click.option("--limit", type=click.IntRange(0), default=20, show_default=True, help="Most to show; 0: all.")
@source.json_option
def games(words: tuple[str, ...], wanted: GameFilter, limit: int, as_object: bool) -> int:
    """List the matches of a ladder, newest first, void ones included; KEY shows all that is known of one."""
    ladder, keys = split(words, 0, 1)
    if keys and not wanted.any:
        raise click.UsageError("a KEY is one match: leave out what chooses among many")
    with open_ladder(ladder) as store:
        if keys:
            return show_game(store, keys[0], ladder, as_object)
        found = islice(matching(store, wanted), limit or None)
        if as_object:
            _print_games(found)
        else:
            _print_sheet(found, limit)
    return 0


run_games = partial(source.run_view, games)


def since_when(option: str, text: str | None) -> datetime | None:
    """A moment, or how long ago it was. UsageError says how to write it."""
    if text is None:
        return None
    try:
        if text[-1:] in _UNITS:
            return datetime.now(UTC) - timedelta(**{_UNITS[text[-1]]: float(text[:-1])})
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise click.UsageError(f"{option} {text!r}: write 2026-11-30, 2026-11-30T18:00, 45m, 6h, 3d or 2w") from None


def _print_games(found: Iterator[GameRow]) -> None:
    """A row at a time: there may be many."""
    between = '{"games": ['
    for row in found:
        say(between + json_text(plain(row)))
        between = ", "
    say("]}" if between == ", " else '{"games": []}')


def _print_sheet(found: Iterator[GameRow], limit: int) -> None:
    sheet = game_sheet()
    shown = 0
    for row in found:
        add_game(sheet, row)
        shown += 1
        if shown % 10_000 == 0:  # never all of a large ladder in memory
            show(sheet)
            sheet.rows.clear()
    if not shown:
        say("no such match was played")
    elif sheet.rows:
        show(sheet)
    if shown == limit:
        say(f"the newest {limit}: --limit shows more; ggp ladder games KEY shows one")


def game_sheet() -> TextTable:
    """For add_game."""
    heads = ("key", "ended (UTC)", "pool", "seat 1", "seat 2", "result", "winner", "plies", "termination", "detail")
    spare = tuple((head,) for head in ("plies", "result", "ended (UTC)", "pool", "detail"))
    return TextTable(heads, frozenset(heads) - {"plies"}, spare=spare)


def add_game(sheet: TextTable, row: GameRow) -> None:
    """One line of a game_sheet."""
    winner = (row.first, row.second)[row.winner - 1] if row.winner else ""
    detail = f"{row.culprit}: {row.detail}" if row.culprit and row.detail else row.culprit or row.detail
    result = row.result or "void"
    sheet.add(
        *(row.key, when(row.ended), row.pool, row.first, row.second, result, winner, row.plies, row.termination),
        detail if len(detail) <= 120 else detail[:119] + "…",
    )


# -- `ggp ladder events`: who joined, left, was suspended, and other events, newest last.


@click.command("events", epilog=source.EPILOGUE, context_settings=HELP)
@source.words("[LADDER]")
@click.option("--limit", type=click.IntRange(1, 1_000_000), default=50, show_default=True, help="Most to show.")
@source.json_option
def events(words: tuple[str, ...], limit: int, as_object: bool) -> int:
    """Show what happened: bots that joined, left or were suspended, verdicts of tests."""
    ladder, _ = split(words, 0, 0)
    with open_ladder(ladder) as store:
        found = sorted(store.events(limit), key=lambda event: event.at)
    if as_object:
        say(json_text({"events": msgspec.to_builtins(found)}))
        return 0
    if not found:
        say("nothing happened yet")
        return 0
    sheet = TextTable(("when (UTC)", "what", "more"), frozenset({"when (UTC)", "what", "more"}))
    for at, kind, text in told_once(found):
        sheet.add(when(at), kind, text)
    show(sheet)
    return 0


run_events = partial(source.run_view, events)

_OF_A_POOL = re.compile(r"(.*?) in ([\w.-]+)((?:: .*)?)", re.DOTALL)


def told_once(found: Iterable[StoreEvent]) -> list[tuple[str, str, str]]:
    """Return time, kind and text of each event; what happened to a bot in several pools at once is one of them."""
    pools: dict[tuple[str, str, str, str], list[str]] = {}
    for event in found:
        of = _OF_A_POOL.fullmatch(event.text) if event.kind in ("joined", "left", "replaced") else None
        bot, pool, more = of.groups() if of else (event.text, "", "")
        pools.setdefault((event.at, event.kind, bot, more), []).append(pool)
    return [
        (at, kind, f"{bot} in {', '.join(names)}{more}" if any(names) else bot)
        for (at, kind, bot, more), names in pools.items()
    ]


# -- One match of a ladder: its facts, the traces of a fault, and the commands that continue from there.


def show_game(store: "Store", key: str, ladder: str, as_object: bool) -> int:
    """The exit status. ViewError if there is no such match."""
    record = read_game(store, key)
    if as_object:
        say(json_text(game_json(record)))
        return 0
    say(*map(escape_unprintable, [*_facts(record), *diagnostics(record.end), *_next_game(key, ladder)]))
    return 0


def _facts(record: Record) -> list[str]:
    start, end = record.start, record.end
    game = " ".join([start.game, *(f"{name}={value}" for name, value in start.options.items())])
    lines = [f"match        {start.match}", f"game         {game}, time {start.time}"]
    for seat, (bot, ms) in enumerate(zip(start.bots, used(record), strict=True), 1):
        lines.append(f"seat {seat}       {bot.name} ({bot.command or bot.program}), {ms / 1000:.3f} s used")
    if start.opening:
        lines.append(f"opening      {' '.join(start.opening)}")
    if end is None:
        return [*lines, "it has no end"]
    winner = f", won by {start.bots[end.winner - 1].name}" if end.winner else ""
    lines += [f"result       {end.result or 'void'}{winner}", f"termination  {end.termination}"]
    if end.culprit:
        blamed = end.culprit.removeprefix("seat")
        lines.append(f"at fault     {start.bots[int(blamed) - 1].name if blamed.isdigit() else end.culprit}")
    for name, value in (("detail", end.detail), ("ended", end.ended)):
        lines += [f"{name:<12} {value}"] if value else []
    for name, line in zip(chain(["score"], repeat("")), score_lines(end.score, 100) if end.score else (), strict=False):
        lines.append(f"{name:<12} {line}")
    lines.append(f"plies        {end.plies}")
    if end.suspect:
        lines.append(
            "suspect      an answer waited for this machine: the game counts, but a loss by time may be no fault"
        )
    return lines + [f"warning      {warning}" for warning in end.warnings]


def _next_game(key: str, ladder: str) -> list[str]:
    place = f"{without_password(ladder)}#{key}"
    return [
        "",
        f"ggp show {place}      draws it",
        f"ggp verify {place}    plays it again",
    ]


def game_json(record: Record) -> dict[str, Any]:
    """Start and end as they stand in the record, and the time used."""
    return {
        "start": msgspec.to_builtins(record.start),
        "end": msgspec.to_builtins(record.end),
        "ms": list(used(record)),
    }
