"""`ggp ladder games`: the matches that were played, newest first; with a key, all that is known of one."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from protocol.printed import json_text
from referee.ladder.views import running
from referee.ladder.views.game import show_game
from referee.ladder.views.sheet import Sheet, say, show
from referee.ladder.views.source import check_bots, chosen_pools, open_ladder, split
from referee.play.outcome import Termination
from referee.store.rows import GameRow

if TYPE_CHECKING:
    from referee.store.store import Store

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_SLACK = timedelta(days=1)  # a match may be stored after another that ended later


@dataclass(frozen=True, slots=True)
class Filter:
    """Which matches: None is any. `since` is UTC; a bot is a name or a version's label."""

    pool: str | None = None
    bot: str | None = None
    against: str | None = None
    termination: str | None = None
    since: datetime | None = None

    @property
    def any(self) -> bool:
        """Whether it lets all pass."""
        return self == Filter()


def main(argv: list[str]) -> int:
    """The exit status."""
    return running.run_view(games, argv)


def filter_options(command: running.Command) -> running.Command:
    """--pool, --bot, --against, --termination, --since."""
    since = click.option("--since", metavar="WHEN", help="2026-11-30, 2026-11-30T18:00 (UTC), or 45m, 6h, 3d, 2w ago.")
    why = click.option("--termination", type=click.Choice([str(end) for end in Termination]), help="How they ended.")
    against = click.option("--against", metavar="NAME", help="And of this one.")
    bot = click.option("--bot", metavar="NAME", help="Only matches of this bot, or NAME@VERSION.")
    return running.pool_option(bot(against(why(since(command)))))


@click.command("games", epilog=running.EPILOGUE, context_settings=running.SETTINGS)
@running.words("[KEY] [LADDER]")
@filter_options
@click.option("--limit", type=click.IntRange(0), default=20, show_default=True, help="Most to show; 0: all.")
@running.json_option
def games(
    words: tuple[str, ...],
    pool_name: str | None,
    bot: str | None,
    against: str | None,
    termination: str | None,
    since: str | None,
    limit: int,
    as_object: bool,
) -> int:
    """List the matches of a ladder, newest first, void ones included; KEY shows all that is known of one."""
    ladder, keys = split(words, 0, 1)
    wanted = Filter(pool_name, bot, against, termination, since_when(since))
    if keys and not wanted.any:
        raise click.UsageError("a KEY is one match: leave out what chooses among many")
    with open_ladder(ladder) as store:
        if keys:
            return show_game(store, keys[0], ladder, as_object)
        found = islice(matching(store, wanted), limit or None)
        if as_object:
            _print_json(found)
        else:
            _print_sheet(found, limit)
    return 0


def since_when(text: str | None) -> datetime | None:
    """A moment, or how long ago it was. UsageError says how to write it."""
    if text is None:
        return None
    try:
        if text[-1:] in _UNITS:
            return datetime.now(UTC) - timedelta(**{_UNITS[text[-1]]: float(text[:-1])})
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise click.UsageError(f"--since {text!r}: write 2026-11-30, 2026-11-30T18:00, 45m, 6h, 3d or 2w") from None


def check_filter(store: "Store", wanted: Filter) -> int | None:
    """The id of the pool that is meant, None for all. ViewError for a pool or a bot that there is not."""
    pools = store.pools(unrated=True)
    chosen = chosen_pools(pools, wanted.pool)
    if wanted.against and not wanted.bot:
        raise click.UsageError("--against goes with --bot")
    if wanted.bot:
        check_bots([seat for pool in chosen for seat in store.seats(pool.id)], wanted.bot, wanted.against)
    return chosen[0].id if wanted.pool is not None else None


def matching(store: "Store", wanted: Filter) -> Iterator[GameRow]:
    """The matches that pass, newest first."""
    pool = check_filter(store, wanted)
    rows = store.games(pool, bot=wanted.bot, opponent=wanted.against, termination=wanted.termination)
    return rows if wanted.since is None else _later(rows, wanted.since)


def ended_after(row: GameRow, moment: datetime) -> bool:
    """Whether a match ended at that moment or later."""
    return bool(row.ended) and datetime.fromisoformat(row.ended) >= moment


def long_before(row: GameRow, moment: datetime) -> bool:
    """Whether no match that was stored before this one can have ended at that moment or later."""
    return bool(row.ended) and not ended_after(row, moment - _SLACK)


def when(row: GameRow) -> str:
    """`2026-11-30 18:04:05`, UTC."""
    return row.ended[:19].replace("T", " ")


def _later(rows: Iterator[GameRow], since: datetime) -> Iterator[GameRow]:
    for row in rows:
        if ended_after(row, since):
            yield row
        elif long_before(row, since):
            return


def _print_json(found: Iterator[GameRow]) -> None:
    """A row at a time: there may be many."""
    between = '{"games": ['
    for row in found:
        say(between + json_text(as_object(row)))
        between = ", "
    say("]}" if between == ", " else '{"games": []}')


def as_object(row: GameRow) -> dict[str, Any]:
    """A row without the store's own number."""
    return {name: value for name, value in asdict(row).items() if name != "id"}


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


def game_sheet() -> Sheet:
    """For add_game."""
    heads = ("key", "ended (UTC)", "pool", "seat 1", "seat 2", "result", "winner", "plies", "termination", "detail")
    spare = tuple((head,) for head in ("plies", "result", "ended (UTC)", "pool", "detail"))
    return Sheet(heads, frozenset(heads) - {"plies"}, spare=spare)


def add_game(sheet: Sheet, row: GameRow) -> None:
    """One line of a game_sheet."""
    winner = (row.first, row.second)[row.winner - 1] if row.winner else ""
    detail = f"{row.culprit}: {row.detail}" if row.culprit and row.detail else row.culprit or row.detail
    result = row.result or "void"
    sheet.add(
        *(row.key, when(row), row.pool, row.first, row.second, result, winner, row.plies, row.termination),
        detail if len(detail) <= 120 else detail[:119] + "…",
    )
