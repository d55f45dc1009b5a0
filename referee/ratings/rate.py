"""`ggp rate FILE…`: reads the command line, has the results read and rated, shows the ratings. No mathematics here."""

import math
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from protocol.printed import json_text, without_password
from referee.ratings.results import LONGEST_NAME, Results, ResultsError, read_results
from referee.ratings.scale import half, zero, zero_line
from referee.spelling import message_of

if TYPE_CHECKING:
    from referee.ratings.ratings import Ratings

BAD_USAGE = 2
FARTHEST = 100_000.0  # Elo of an anchor
WORST = 5  # pairs that fit worst, in the JSON
EPILOGUE = """\b
FILE is CSV with the columns first,second,result[,count] (result 1, 0.5 or 0 for
the first), or PGN (tags White, who is first, Black, Result); - is standard input.
Without an anchor the mean rating is 0. An anchor has the rating that it is given,
and no error.

\b
The exit status is 0; 2 for a command line or a file that cannot be, or if a
rating is infinite (with --prior none only).
"""


def main(argv: list[str]) -> int:
    """The exit status."""
    # A refit is many small products; where matches keep every core busy, more threads only wait for one another.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        return int(rate_files.main(argv, prog_name="ggp rate", standalone_mode=False) or 0)
    except ResultsError as error:
        click.echo(f"ggp rate: {error}", err=True)
    except click.ClickException as error:
        click.echo(f"ggp rate: {message_of(error)} (ggp rate --help)", err=True)
    except (click.Abort, KeyboardInterrupt):
        return 130
    return BAD_USAGE


@click.command("rate", epilog=EPILOGUE, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", metavar="FILE…", nargs=-1, required=True)
@click.option("--model", type=click.Choice(["davidson", "rao-kupper"]), default="davidson", show_default=True)
@click.option(
    "--prior",
    type=click.Choice(["pool", "none"]),
    default="pool",
    show_default=True,
    help="pool: ratings ~ N(mean, 350 Elo); none: the likeliest ratings, as other tools print them.",
)
@click.option("--no-advantage", is_flag=True, help="Sitting first is worth nothing.")
@click.option("--anchor", multiple=True, metavar="NAME=ELO", help="A bot whose rating is known.")
@click.option("--json", "as_object", is_flag=True, help="One JSON object on stdout.")
def rate_files(
    files: tuple[str, ...], model: str, prior: str, no_advantage: bool, anchor: tuple[str, ...], as_object: bool
) -> int:
    """Rate the bots whose results stand in FILE…: Elo with honest error bars, first-seat advantage, ties."""
    anchors = dict(_anchor(word) for word in anchor)
    results = Results()
    for name in files:
        _read(name, results)
    if results.unfinished:
        click.echo(f"ggp rate: {results.unfinished} games have no result (*): they are left out", err=True)
    ratings = _rate(results, files, model, prior, not no_advantage, anchors)
    if as_object:
        click.echo(json_text(_as_json(ratings, prior)))
    else:
        _show(ratings, prior)
    return 0


def _anchor(word: str) -> tuple[str, float]:
    name, equals, number = word.rpartition("=")
    try:
        elo = float(number)
    except ValueError:
        elo = math.nan
    if not (name and equals and abs(elo) <= FARTHEST):
        raise click.UsageError(f"--anchor {word[:LONGEST_NAME]!r}: write NAME=ELO, for example gnugo=1800")
    return name, elo


def _read(name: str, results: Results) -> None:
    try:
        if name == "-":
            read_results(sys.stdin.buffer, "standard input", results)
        else:
            with open(name, "rb") as file:  # noqa: PTH123  (a path may be a pipe)
                read_results(file, name, results)
    except (OSError, ValueError) as error:
        if isinstance(error, ResultsError):
            raise
        raise ResultsError(
            f"cannot read {without_password(name)!r}: {getattr(error, 'strerror', None) or error}"
        ) from None


def _rate(
    results: Results, files: Sequence[str], model: str, prior: str, advantage: bool, anchors: dict[str, float]
) -> "Ratings":
    from referee.ratings.counts import Counts, CountsError
    from referee.ratings.outcome_models import MODELS
    from referee.ratings.priors import Priors
    from referee.ratings.ratings import rate

    try:
        counts = Counts.of(results.rows(), names=results.names)
        return rate(counts, MODELS[model], Priors(anchors=anchors, plain=prior == "none"), advantage)
    except CountsError as error:
        raise ResultsError(f"{', '.join(files)}: {error}") from None


def _as_json(ratings: "Ratings", prior: str) -> dict[str, Any]:
    """Elo throughout. `se` is the error of this `elo`, whose zero is `zero`; null of an anchor, which is held.

    `next` is the difference to the next in the list.
    """
    lines = [
        {
            "name": line.name,
            "elo": line.elo,
            "se": line.se or None,
            "games": line.games,
            "score": line.score,
            "next": None if line.next is None else {"elo": line.next.elo, "se": line.next.se, "los": line.next.los},
        }
        for line in ratings.standings()
    ]
    misfits = ratings.misfits()
    return {
        "ratings": lines,
        "advantage": ratings.advantage,
        "model": ratings.model.name,
        "advantage_se": ratings.advantage_se,
        "tie": ratings.tie,
        "prior": prior,
        "anchors": list(ratings.anchors),
        "zero": zero(ratings.anchors),
        "deviance": math.fsum(pair.deviance for pair in misfits),
        "degrees_of_freedom": ratings.degrees_of_freedom(),
        "misfits": [
            {
                "first": pair.first,
                "second": pair.second,
                "games": int(pair.games),
                "score": pair.score,
                "expected": pair.expected,
                "deviance": pair.deviance,
            }
            for pair in misfits[:WORST]
        ],
    }


def _show(ratings: "Ratings", prior: str) -> None:
    """A table on a terminal; elsewhere the same in plain columns, nothing cut off."""
    console = Console(highlight=False)
    plain = not console.is_terminal
    table = Table(box=None, pad_edge=False) if plain else Table()
    table.add_column("#", justify="right")
    table.add_column("bot", overflow="fold")
    for head in ("Elo", "±", "games", "score", "to next", "±", "LOS"):
        table.add_column(head, justify="right", no_wrap=True)
    for rank, line in enumerate(ratings.standings(), 1):
        share = f"{line.score / line.games:.1%}" if line.games else ""
        numbers = [f"{line.elo:z.1f}", half(line.se), str(line.games), share]
        if line.next is not None:
            numbers += [f"{line.next.elo:z.1f}", half(line.next.se), f"{line.next.los:.1%}"]
        table.add_row(str(rank), Text(line.name), *numbers)
    if plain:
        console.width = 4 * LONGEST_NAME
    elif table.__rich_measure__(console, console.options.update(max_width=10_000)).maximum > console.width:
        table.box, table.pad_edge = None, False  # it needs a fifth less
    console.print(table)
    for text in _notes(ratings, prior):
        console.print(Text(text))


def _notes(ratings: "Ratings", prior: str) -> list[str]:
    """What the numbers are, and where the model does not hold."""
    seat = f"{ratings.advantage:z.1f} ± {half(ratings.advantage_se)} Elo" if ratings.advantage_se else "fixed at 0"
    games = int(ratings.counts.played.games.sum())
    notes = [
        zero_line(ratings.anchors, idle=not (ratings.counts.games > 0).all()),
        f"model {ratings.model.name}, prior {prior}",
        f"first seat {seat}; {ratings.model.tie} = {ratings.tie:.3f}; {games} games",
    ]
    deviance, free = ratings.deviance(), ratings.degrees_of_freedom()
    if free and deviance > free + 3 * math.sqrt(2 * free):
        (worst,) = ratings.misfits(1)
        notes.append(
            f"the model misfits: deviance {deviance:.1f}, {free} expected; worst: {worst.first} against "
            f"{worst.second}, {worst.score:g} of {worst.games:g} where {worst.expected:.1f} were expected"
        )
    return notes
