"""`ggp ladder games` and `ggp ladder events`: print the matches of a ladder, one match, and what happened."""

from collections.abc import Callable, Iterator
from functools import partial, wraps
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ggp.protocol.printed import json_text, without_password
from ggp.protocol.records import Record
from ggp.referee.cli.ladder_view import json_option, pool_option, run_view, view
from ggp.referee.ladder.queries import (
    diagnostics,
    game_json,
    matching,
    read_game,
    since_when,
    told_once,
    used,
    when,
)
from ggp.referee.ladder.source import open_ladder
from ggp.referee.ladder.standings import plain
from ggp.referee.ladder.store.model import PAIR_POINTS, RESULTS, GameFilter, GameRow
from ggp.referee.match.analysis import score_lines
from ggp.referee.match.outcome import Termination
from ggp.referee.terminal import TextTable, escape_unprintable, say, show

if TYPE_CHECKING:
    from ggp.referee.ladder.store.store import Store


def filter_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options that choose matches; the command gets them as `wanted`, a GameFilter."""

    @wraps(command)
    def filtered(*words: str, **given: Any) -> int:
        chosen = {name: given.pop(name) for name in ("bot", "against", "termination")}
        chosen["pool"] = given.pop("pool_name")
        for name in ("since", "until"):
            chosen[name] = since_when(f"--{name}", given.pop(name))
        points = None if (text := given.pop("points")) is None else float(text)
        seat, result = given.pop("seat") or 0, given.pop("result") or ""
        return command(*words, **given, wanted=GameFilter(**chosen, seat=seat, result=result, points=points))

    for option in (
        click.option("--until", metavar="WHEN", help="Before then, in the form of --since."),
        click.option("--since", metavar="WHEN", help="Since 2026-11-30, 2026-11-30T18:00 (UTC), or 45m, 6h, 3d ago."),
        click.option("--termination", type=click.Choice([str(end) for end in Termination]), help="How it ended."),
        click.option("--points", type=click.Choice(PAIR_POINTS), help="Points of --bot in the match's pair."),
        click.option("--result", type=click.Choice(RESULTS), help="Result for --bot."),
        click.option("--seat", type=click.IntRange(1, 2), help="Seat of --bot."),
        click.option("--against", metavar="NAME", help="Opponent of --bot."),
        click.option("--bot", metavar="NAME", help="Only matches of this bot or NAME@VERSION."),
        pool_option,
    ):
        filtered = option(filtered)
    return filtered


@view("games", "[KEY] [LADDER]", 0, 1)
@filter_options
@click.option("--limit", type=click.IntRange(0), default=20, show_default=True, help="Most matches; 0 shows all.")
@json_option
def games(ladder: str, key: str | None = None, *, wanted: GameFilter, limit: int, as_object: bool) -> int:
    """List the matches of a ladder, newest first, even void ones. With KEY, show one match in detail."""
    if key is not None and not wanted.any:
        raise click.UsageError("a KEY is one match: leave out what chooses among many")
    with open_ladder(ladder) as store:
        if key is not None:
            return show_game(store, key, ladder, as_object)
        found = islice(matching(store, wanted), limit or None)
        if as_object:
            _print_games(found)
        else:
            _print_sheet(found, limit)
    return 0


run_games = partial(run_view, games)  # argv -> exit status


def _print_games(found: Iterator[GameRow]) -> None:
    """Print a row at a time, because there may be many."""
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
    """Return an empty table for add_game."""
    heads = ("key", "ended (UTC)", "pool", "seat 1", "seat 2", "result", "winner", "plies", "termination", "detail")
    spare = tuple((head,) for head in ("plies", "result", "ended (UTC)", "pool", "detail"))
    return TextTable(heads, frozenset(heads) - {"plies"}, spare=spare)


def add_game(sheet: TextTable, row: GameRow) -> None:
    """Add a match to a game_sheet."""
    winner = (row.first, row.second)[row.winner - 1] if row.winner else ""
    detail = f"{row.culprit}: {row.detail}" if row.culprit and row.detail else row.culprit or row.detail
    result = row.result or "void"
    sheet.add(
        *(row.key, when(row.ended), row.pool, row.first, row.second, result, winner, row.plies, row.termination),
        detail if len(detail) <= 120 else detail[:119] + "…",
    )


# -- `ggp ladder events`: who joined, left, was suspended, and other events, newest last.


@view("events", "[LADDER]")
@click.option("--limit", type=click.IntRange(1, 1_000_000), default=50, show_default=True, help="Most events to show.")
@json_option
def events(ladder: str, limit: int, as_object: bool) -> int:
    """Show what happened: bots that joined, left or were suspended, verdicts of tests."""
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


run_events = partial(run_view, events)


# -- One match of a ladder: its facts, the traces of a fault, and the commands that continue from there.


def show_game(store: "Store", key: str, ladder: str, as_object: bool) -> int:
    """Show a match and return the exit status. Raise ViewError for an unknown key."""
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
