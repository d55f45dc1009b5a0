"""`ggp rate FILE…`: rates the bots of files of games and of ladders."""

import math
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

import click

from ggp.protocol.printed import counted, json_text
from ggp.referee.command_line import HELP, run_command
from ggp.referee.ratings.results import LONGEST_NAME, Results, ResultsError
from ggp.referee.ratings.scale import (
    effect_lines,
    half,
    too_few_line,
    with_enough,
)
from ggp.referee.ratings.sprt import effect
from ggp.referee.ratings.standings import RatingTable
from ggp.referee.terminal import TextTable, escape_unprintable, say, screen_columns, show, wrapped
from ggp.referee.tools.archive.game_results import listed, repeat_lines, results_of

FARTHEST = 100_000.0  # Elo of an anchor
LOGISTIC = "logistic"
RATE_EPILOGUE = """\b
FILE is a record of `ggp match`; a ladder: its file, its store's file or URL; CSV
with the columns first,second,result[,count] (result 1, 0.5 or 0 for the first);
PGN (tags White, who is first, Black, Result); SGF (PB, who is first, PW, RE).
- is standard input.
Without an anchor the mean rating is 0. An anchor has the rating that it is given,
and no error.

\b
The exit status is 0; 2 for an invalid command line or file, or if a rating is
infinite (with --prior none only).
"""


def run_rate(argv: list[str]) -> int:
    """Run the command line and return the exit status."""
    # A refit is many small products: with matches on every core, more threads would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return run_command(rate_files, "ggp rate", argv)


@click.command("rate", epilog=RATE_EPILOGUE, context_settings=HELP)
@click.argument("files", metavar="FILE…", nargs=-1, required=True)
@click.option(
    "--model",
    type=click.Choice(["davidson", "rao-kupper", LOGISTIC]),
    default="davidson",
    show_default=True,
    help="Bradley-Terry model; logistic: Elo from the score of two bots, as ggp match prints it.",
)
@click.option(
    "--prior",
    type=click.Choice(["pool", "none"]),
    default="pool",
    show_default=True,
    help="pool: ratings ~ N(mean, 350 Elo); none: the likeliest ratings, as other tools print them.",
)
@click.option("--no-advantage", is_flag=True, help="Sitting first is worth nothing.")
@click.option("--anchor", multiple=True, metavar="NAME=ELO", help="A bot whose rating is known.")
@click.option("--pool", metavar="NAME", help="Of a ladder: this pool.")
@click.option("--json", "as_object", is_flag=True, help="One JSON object on stdout.")
def rate_files(
    files: tuple[str, ...],
    model: str,
    prior: str,
    no_advantage: bool,
    anchor: tuple[str, ...],
    pool: str | None,
    as_object: bool,
) -> int:
    """Rate the bots whose results stand in FILE…: Elo with honest error bars, first-seat advantage, ties."""
    anchors = _anchors(anchor)
    results = results_of(files, pool, "ggp rate")
    if model == LOGISTIC:
        return _show_logistic(results, as_object)
    _check_anchors(anchors, results)
    table = _rate(results, files, model, prior, not no_advantage, anchors)
    if as_object:
        click.echo(json_text(_as_json(table, prior, results)))
    else:
        show_ratings(table, prior, results)
    return 0


def _anchors(words: Sequence[str]) -> dict[str, float]:
    """Return the anchors by name. Raises UsageError."""
    found = dict[str, float]()
    for name, elo in map(_anchor, words):
        if name in found:
            raise click.UsageError(f"--anchor {name[:LONGEST_NAME]}: it is given twice: write one rating")
        found[name] = elo
    return found


def _check_anchors(anchors: Iterable[str], results: Results) -> None:
    """Raise UsageError for a name that several bots have, which are listed under other names."""
    several = results.several
    for name in anchors:
        if name in several:
            raise click.UsageError(f"--anchor {name}: that is several bots: name one of {listed(several[name])}")


def _show_logistic(results: Results, as_object: bool) -> int:
    """Print the Elo of two bots that follows from their score, as `ggp match` prints it. Raises ResultsError."""
    if len(results.names) != 2:
        raise ResultsError(
            f"--model {LOGISTIC} is for two bots; there are {len(results.names)}: {listed(results.names)}"
        )
    by_pairs = any(results.penta)
    counts = results.penta_observed if by_pairs else results.games_observed
    found, (one, other) = effect(counts), results.names
    losses, ties, wins = results.games
    if as_object:
        said = {"model": LOGISTIC, "bots": [one, other], "wins": wins, "draws": ties, "losses": losses}
        click.echo(json_text({**said, "penta": counts if by_pairs else None, **asdict(found), **_repeats(results)}))
        return 0
    say(escape_unprintable(f"{one} {wins + ties / 2:g} - {losses + ties / 2:g} {other}"), *effect_lines(found, 1, 8))
    if found.enough:
        unit = "pairs" if by_pairs else "games"
        say(escape_unprintable(f"model {LOGISTIC}, of {one}, by {sum(counts)} {unit}; the other Elo: --model davidson"))
    say(*repeat_lines(results))
    return 0


def _repeats(results: Results) -> dict[str, int]:
    return {"distinct": results.lines.distinct, "repeated": results.lines.repeated}


def _anchor(word: str) -> tuple[str, float]:
    name, equals, number = word.rpartition("=")
    try:
        elo = float(number)
    except ValueError:
        elo = math.nan
    if not (name and equals and abs(elo) <= FARTHEST):
        raise click.UsageError(f"--anchor {word[:LONGEST_NAME]!r}: write NAME=ELO, for example gnugo=1800")
    return name, elo


def _rate(
    results: Results, files: Sequence[str], model: str, prior: str, advantage: bool, anchors: dict[str, float]
) -> RatingTable:
    """Return the table of these results, with all games in its rows and `enough` by the games that count once."""
    from ggp.referee.ratings.bradley_terry import MODELS, Counts, CountsError, Priors
    from ggp.referee.ratings.ratings import rate

    try:
        counts = Counts.of(results.rows(), names=results.names)
        table = rate(counts, MODELS[model], Priors(anchors=anchors, plain=prior == "none"), advantage).table()
    except CountsError as error:
        raise ResultsError(f"{', '.join(files)}: {error}") from None
    enough, totals = with_enough(results.rows()) | anchors.keys(), results.totals()
    rows = []
    for row in table.rows:
        games, points = totals[row.name]
        rows.append(replace(row, games=games, points=points, enough=row.name in enough))
    return replace(table, rows=rows)


def _as_json(table: RatingTable, prior: str, results: Results) -> dict[str, Any]:
    """Return the ratings as plain values, all in Elo.

    `se` is the error of this `elo`, whose zero is `zero`; it is null for an anchor, which is held. `next` is the
    difference to the next bot in the list. `enough` says whether the table shows this Elo.
    """
    return table.json() | {"prior": prior, **_repeats(results)}


def show_ratings(table: RatingTable, prior: str, results: Results) -> None:
    """Print the ratings as a table with notes; a bot with too few games has no Elo there."""
    rows, some = table.rows, any(row.enough for row in table.rows)
    grouped = some and any(row.group for row in rows)
    elo, gaps = (["Elo", "±"], ["to next", "± ", "LOS"]) if some else ([], [])
    heads = ("#", *["group"] * grouped, "bot", *elo, "games", "score", *gaps)
    sheet = TextTable(heads, frozenset({"bot"}), spare=(("score",), ("to next", "± ", "LOS"), ("games",)))
    for rank, (row, lower) in enumerate(zip(rows, [*rows[1:], None], strict=True), 1):
        rating = [f"{row.elo:z.1f}", half(row.se)] if row.enough else [""] * len(elo)
        next = row.next_cells() if row.enough and lower and lower.enough else [""] * len(gaps)
        sheet.add(rank, *[row.group] * grouped, row.name, *rating, row.games, row.percent, *next)
    show(sheet)
    columns = screen_columns() or sys.maxsize
    notes = [*_notes(table, prior, results), *repeat_lines(results)]
    say(*(wrapped(escape_unprintable(text), columns) for text in notes))


def _notes(table: RatingTable, prior: str, results: Results) -> list[str]:
    """Say what the numbers mean, and where the model misfits."""
    seat = f"{table.advantage:z.1f} ± {half(table.advantage_se)} Elo" if table.advantage_se else "fixed at 0"
    other = f"; the Elo of ggp match: --model {LOGISTIC}" if len(results.names) == 2 else ""
    few, games = too_few_line([row.name for row in table.rows if not row.enough]), counted(results.lines.games, "game")
    if not any(row.enough for row in table.rows):
        return [few, games]
    shared = ", shared by the groups" if table.groups else ""
    notes = [
        *filter(None, [few, table.groups_line]),
        table.zero_line(),
        f"model {table.model} (Bradley-Terry), prior {prior}{other}",
        f"first seat {seat}; {table.ties}{shared}; {games}",
    ]
    if table.misfits_badly:
        said = f"the model misfits: deviance {table.deviance:.1f}, {table.freedom} expected"
        notes.append(f"{said}; worst: {table.misfits[0]}")
    return notes
