"""`ggp ladder games` and `ggp ladder events`: print the matches of a ladder, one match, and what happened."""

from collections.abc import Callable, Iterator
from functools import partial, wraps
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ggp.protocol.printed import json_text, without_password
from ggp.protocol.records import Record
from ggp.referee.command_line import HELP
from ggp.referee.ladder import source
from ggp.referee.ladder.queries import (
    GameFilter,
    diagnostics,
    game_json,
    matching,
    read_game,
    since_when,
    told_once,
    used,
    when,
)
from ggp.referee.ladder.source import open_ladder, split
from ggp.referee.ladder.standings import plain
from ggp.referee.ladder.store.model import PAIR_POINTS, RESULTS, GameRow
from ggp.referee.match.outcome import Termination
from ggp.referee.match.score_table import score_lines
from ggp.referee.terminal import TextTable, escape_unprintable, say, show

if TYPE_CHECKING:
    from ggp.referee.ladder.store.store import Store


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
