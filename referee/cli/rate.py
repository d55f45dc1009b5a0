"""`ggp rate FILE…` rates results; `ggp sprt` judges a sequential test. Both read files of games, and ladders."""

import json
import math
import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from ggp.protocol.input_files import open_input
from ggp.protocol.printed import counted, json_text, without_password
from ggp.referee.command_line import HELP, run_command
from ggp.referee.ratings.repeats import ADVICE
from ggp.referee.ratings.results import LONGEST_NAME, Line, PairedResults, Results, ResultsError, read_results
from ggp.referee.ratings.scale import (
    after_stop,
    effect_lines,
    groups_line,
    half,
    too_few_line,
    with_enough,
    zero,
    zero_line,
)
from ggp.referee.ratings.sprt import MODELS, PRESETS, Hypotheses, Model, SprtError, Verdict, effect, judge
from ggp.referee.terminal import TextTable, escape_unprintable, say, screen_columns, show, wrapped
from ggp.referee.tools.archive.places import is_ladder

if TYPE_CHECKING:
    from ggp.referee.ratings.ratings import Ratings, Standing


FARTHEST = 100_000.0  # Elo of an anchor
LOGISTIC = "logistic"
_NAMED = 8  # bots in a message
WORST = 5  # pairs that fit worst, in the JSON
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
    """The exit status."""
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
    results = PairedResults()
    for name in files:
        _read(name, results, pool)
        if is_ladder(name):
            _add_pairs(name, results, pool)
    _say_what_is_left_out("ggp rate", results)
    if model == LOGISTIC:
        return _show_logistic(results, as_object)
    _check_anchors(anchors, results)
    ratings = _rate(results, files, model, prior, not no_advantage, anchors)
    if as_object:
        click.echo(json_text(_as_json(ratings, prior, results)))
    else:
        show_ratings(ratings, prior, results)
    return 0


def _anchors(words: Sequence[str]) -> dict[str, float]:
    """The anchors by name. Raises UsageError."""
    found = dict[str, float]()
    for name, elo in map(_anchor, words):
        if name in found:
            raise click.UsageError(f"--anchor {name[:LONGEST_NAME]}: it is given twice: write one rating")
        found[name] = elo
    return found


def _check_anchors(anchors: Iterable[str], results: Results) -> None:
    """Raises UsageError for the name of several bots, which are listed under other names."""
    several = results.several
    for name in anchors:
        if name in several:
            raise click.UsageError(f"--anchor {name}: that is several bots: name one of {_listed(several[name])}")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return escape_unprintable(", ".join(names[:_NAMED]) + more)


def _show_logistic(results: PairedResults, as_object: bool) -> int:
    """Print the Elo of two bots that follows from their score, as `ggp match` prints it. Raises ResultsError."""
    if len(results.names) != 2:
        raise ResultsError(
            f"--model {LOGISTIC} is for two bots; there are {len(results.names)}: {_listed([*results.names])}"
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
    say(*_repeat_lines(results))
    return 0


def _repeats(results: Results) -> dict[str, int]:
    return {"distinct": results.lines.distinct, "repeated": results.lines.repeated}


def _repeat_lines(results: Results) -> list[str]:
    """Say how many games are distinct, unless all are, and what to do about it."""
    lines = results.lines
    if lines.distinct == lines.games:
        return []
    return [f"{lines.distinct} of {lines.games} games are distinct" + (f": {ADVICE}" if lines.repeated else "")]


def _anchor(word: str) -> tuple[str, float]:
    name, equals, number = word.rpartition("=")
    try:
        elo = float(number)
    except ValueError:
        elo = math.nan
    if not (name and equals and abs(elo) <= FARTHEST):
        raise click.UsageError(f"--anchor {word[:LONGEST_NAME]!r}: write NAME=ELO, for example gnugo=1800")
    return name, elo


def _say_what_is_left_out(command: str, results: Results) -> None:
    for count, one, many in (
        (results.unfinished, "game has no result", "games have no result"),
        (results.nameless, "game lacks the names of its players", "games lack the names of their players"),
        (results.self_play, "game of a bot against itself", "games of a bot against itself"),
        (results.damaged, "line is damaged (`ggp verify` names it)", "lines are damaged (`ggp verify` names them)"),
    ):
        if count:
            click.echo(f"{command}: left out: {counted(count, one, many)}", err=True)
    if results.changed:
        what = counted(results.changed, "match was", "matches were")
        click.echo(
            f"{command}: {what} changed since the record was written: left out; `ggp verify` names them", err=True
        )
    for name, labels in results.several.items():
        click.echo(
            f"{command}: {escape_unprintable(name)} is {len(labels)} bots, listed apart: {_listed(labels)}", err=True
        )


def _read(name: str, results: Results, pool: str | None) -> None:
    if is_ladder(name):
        _read_ladder(name, results, pool)
        return
    try:
        with sys.stdin.buffer if name == "-" else open_input(name, pipe=True) as file:
            read_results(file, "standard input" if name == "-" else name, results)
    except ResultsError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ResultsError(f"cannot read {without_password(name)!r}: {reason}") from None


def _read_ladder(name: str, results: Results, pool_name: str | None) -> None:
    """All games of a pool, by the labels of the bots' versions. Raises ResultsError, ViewError."""
    from ggp.referee.ladder.source import open_ladder, the_pool  # the store, which files of results do without

    with open_ladder(name) as store:
        pool = the_pool(store.pools(), pool_name, "bots are rated within one")
        labels = {seat.id: seat.label for seat in store.seats(pool.id)}
        for met in store.meetings(pool.id):
            outcomes = (met.wins + met.forfeit_wins, met.ties, met.losses + met.forfeit_losses)
            for outcome, count in enumerate(outcomes):
                if count:
                    results.add(labels[met.first], labels[met.second], outcome, count)
            results.unfinished += met.void
        for first, second, *repeated in store.repeats(pool.id):
            for outcome, count in enumerate(repeated):
                results.leave_out(labels[first], labels[second], outcome, count)


def _rate(
    results: Results, files: Sequence[str], model: str, prior: str, advantage: bool, anchors: dict[str, float]
) -> "Ratings":
    from ggp.referee.ratings.bradley_terry import MODELS, Counts, CountsError, Priors
    from ggp.referee.ratings.ratings import rate

    try:
        counts = Counts.of(results.rows(), names=results.names)
        return rate(counts, MODELS[model], Priors(anchors=anchors, plain=prior == "none"), advantage)
    except CountsError as error:
        raise ResultsError(f"{', '.join(files)}: {error}") from None


def _as_json(ratings: "Ratings", prior: str, results: Results) -> dict[str, Any]:
    """Elo throughout. `se` is the error of this `elo`, whose zero is `zero`; null of an anchor, which is held.

    `next` is the difference to the next in the list. `enough`: whether the table shows this Elo.
    """
    standings, enough = ratings.standings(), _with_elo(ratings, results)
    misfits, totals = ratings.misfits(), results.totals()
    return {
        "ratings": [
            {**asdict(line), "se": line.se or None}
            | dict(zip(("games", "score"), totals[line.name], strict=True))
            | {"enough": line.name in enough}
            for line in standings
        ],
        "advantage": ratings.advantage,
        "model": ratings.model.name,
        "advantage_se": ratings.advantage_se,
        "tie": ratings.tie,
        "prior": prior,
        "anchors": list(ratings.anchors),
        "zero": zero(ratings.anchors, grouped=any(line.group for line in standings)),
        "deviance": math.fsum(pair.deviance for pair in misfits),
        "degrees_of_freedom": ratings.degrees_of_freedom(),
        "misfits": [{**asdict(pair), "games": int(pair.games)} for pair in misfits[:WORST]],
        **_repeats(results),
    }


def show_ratings(ratings: "Ratings", prior: str, results: Results) -> None:
    standings = ratings.standings()
    enough = _with_elo(ratings, results)
    grouped = bool(enough) and any(line.group for line in standings)
    elo, gaps = (["Elo", "±"], ["to next", "± ", "LOS"]) if enough else ([], [])
    heads = ("#", *["group"] * grouped, "bot", *elo, "games", "score", *gaps)
    sheet = TextTable(heads, frozenset({"bot"}), spare=(("score",), ("to next", "± ", "LOS"), ("games",)))
    totals = results.totals()
    for rank, (line, lower) in enumerate(zip(standings, [*standings[1:], None], strict=True), 1):
        games, points = totals[line.name]
        share = f"{points / games:.1%}" if games else ""
        rating, next = [""] * len(elo), [""] * len(gaps)
        if line.name in enough:
            rating = [f"{line.elo:z.1f}", half(line.se)]
            if (after := line.next) and lower and lower.name in enough:
                next = [f"{after.elo:z.1f}", half(after.se), f"{after.los:.1%}"]
        sheet.add(rank, *[line.group] * grouped, line.name, *rating, games, share, *next)
    show(sheet)
    columns = screen_columns() or sys.maxsize
    notes = [*_notes(ratings, prior, results), *_repeat_lines(results)]
    say(*(wrapped(escape_unprintable(text), columns) for text in notes))


def _with_elo(ratings: "Ratings", results: Results) -> set[str]:
    """Return the bots whose Elo is worth printing; that of an anchor is given."""
    return with_enough(results.rows()) | ratings.anchors.keys()


def groups_of(standings: Iterable["Standing"]) -> list[list[str]]:
    """The names of the bots of each group, if there are several."""
    found = dict[int, list[str]]()
    for line in standings:
        if line.group:
            found.setdefault(line.group, []).append(line.name)
    return list(found.values())


def _notes(ratings: "Ratings", prior: str, results: Results) -> list[str]:
    """The meaning of the numbers, and a misfit of the model."""
    seat = f"{ratings.advantage:z.1f} ± {half(ratings.advantage_se)} Elo" if ratings.advantage_se else "fixed at 0"
    other = f"; the Elo of ggp match: --model {LOGISTIC}" if len(results.names) == 2 else ""
    standings, enough = ratings.standings(), _with_elo(ratings, results)
    few = too_few_line([line.name for line in standings if line.name not in enough])
    if not enough:
        return [few, counted(results.lines.games, "game")]
    groups = groups_of(standings)
    shared = ", shared by the groups" if groups else ""
    notes = [
        *filter(None, [few, groups_line(groups)]),
        zero_line(ratings.anchors, idle=not (ratings.counts.games > 0).all(), grouped=bool(groups)),
        f"model {ratings.model.name} (Bradley-Terry), prior {prior}{other}",
        f"first seat {seat}; {ratings.model.tie} = {ratings.tie:.3f}{shared}; {counted(results.lines.games, 'game')}",
    ]
    deviance, free = ratings.deviance(), ratings.degrees_of_freedom()
    if free and deviance > free + 3 * math.sqrt(2 * free):
        (worst,) = ratings.misfits(1)
        notes.append(
            f"the model misfits: deviance {deviance:.1f}, {free} expected; worst: {worst.first} against "
            f"{worst.second}, {worst.score:g} of {worst.games:g} where {worst.expected:.1f} were expected"
        )
    return notes


# -- `ggp sprt`: reads the command line, judges the test and prints the verdict.


MOST_GAMES = 10**12
STATUS = {"H1": 0, "H0": 1, "continue": 3, "inconclusive": 4}
SPRT_EPILOGUE = """\b
FILE is of two bots, and of the kinds that ggp rate reads; --new names the new
version, by default the bot that the file names first. Records and ladders have
pairs of games; of other files games are counted.
--penta a,b,c,d,e  pairs of games by their result for the new version:
                   two losses, loss and tie, even, tie and win, two wins
--wdl w,d,l        games: wins, ties, losses, where the pairs are not known
--preset gate      normalized Elo 0 against 20: is it better?
         simplify  -15 against 5: is it no worse?
         big       0 against 50: is it much better?

\b
State: continue; H1 (elo1 is accepted), H0 (elo0 is accepted), inconclusive
(the cap was reached). The exit status is 0 in every state, 2 for an invalid
command line; with --exit-code 0 for H1, 1 for H0, 3 for continue and 4 for
inconclusive.
"""


def run_sprt(argv: list[str]) -> int:
    """The exit status."""
    return run_command(sprt, "ggp sprt", argv)


@click.command("sprt", epilog=SPRT_EPILOGUE, context_settings=HELP)
@click.argument("files", metavar="[FILE…]", nargs=-1)
@click.option("--new", "new", metavar="NAME", help="The new version among the two bots of FILE.")
@click.option("--pool", metavar="NAME", help="Of a ladder: this pool.")
@click.option("--penta", metavar="A,B,C,D,E", help="Counts of pairs, worst first.")
@click.option("--wdl", metavar="W,D,L", help="Counts of games.")
@click.option("--model", type=click.Choice(MODELS), help="What Elo means.  [default: normalized]")
@click.option("--elo0", type=float, help="H0: the effect is this.")
@click.option("--elo1", type=float, help="H1: the effect is this.")
@click.option("--preset", type=click.Choice(list(PRESETS)), help="In place of --elo0, --elo1 and --model.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Risk of H1 where H0 is true.")
@click.option("--beta", type=float, default=0.05, show_default=True, help="Risk of H0 where H1 is true.")
@click.option("--cap", type=click.IntRange(1, MOST_GAMES), help="Most pairs (or games): then it is inconclusive.")
@click.option("--exit-code", is_flag=True, help="Say the state by the exit status.")
@click.option("--json", "as_object", is_flag=True, help="One JSON object on stdout.")
def sprt(
    files: tuple[str, ...],
    new: str | None,
    pool: str | None,
    penta: str | None,
    wdl: str | None,
    model: Model | None,
    elo0: float | None,
    elo1: float | None,
    preset: str | None,
    alpha: float,
    beta: float,
    cap: int | None,
    exit_code: bool,
    as_object: bool,
) -> int:
    """Judge a sequential test between two versions: go on, or which hypothesis is accepted."""
    if files and not (penta is None and wdl is None):
        raise SprtError("give files, or counts as --penta or --wdl: not both")
    if not files and not (new is None and pool is None):
        raise SprtError(f"--{'new' if new is not None else 'pool'} goes with FILE")
    counts, results = [] if files else _counts(penta, wdl), PairedResults()
    hypotheses = _hypotheses(preset, elo0, elo1, model, alpha, beta)
    played = 0
    if not counts:
        counts, played = _counts_of_files(files, new, pool, hypotheses.model, results)
    verdict = judge(counts, hypotheses, cap)
    verdict = replace(verdict, repeated=max(0, played - verdict.games))
    if as_object:
        click.echo(json.dumps(_sprt_as_json(verdict, hypotheses)))
    else:
        for line in [*_lines(verdict, hypotheses, "pairs" if len(counts) == 5 else "games"), *_repeat_lines(results)]:
            click.echo(line)
    return STATUS[verdict.state] if exit_code else 0


def _counts_of_files(
    files: Sequence[str], new: str | None, pool: str | None, model: Model, results: PairedResults
) -> tuple[list[int], int]:
    """Read the results of a test, and count each repeated pair once.

    Returns:
        The counts by pairs where these are known, else by games, worst result of the new version first; and the number
        of games, repeats included.

    Raises:
        SprtError: The results are not those of one test.
        ResultsError: A file cannot be read.
    """
    for name in files:
        _read(name, results, pool)
        if is_ladder(name):
            _add_pairs(name, results, pool)
    _say_what_is_left_out("ggp sprt", results)
    if len(results.names) != 2:
        raise SprtError(f"a test is of two bots; there are {len(results.names)}: {_listed([*results.names])}")
    if new is not None and new not in results.names:
        raise SprtError(f"--new {new}: the bots are {' and '.join(results.names)}")
    if new not in (None, next(iter(results.names))):
        results.swap()
    if model == "bayes" or not any(results.penta):
        return results.games_observed, sum(results.games)
    if results.single:
        said = counted(results.single, "game is in no complete pair: it is", "games are in no complete pair: they are")
        click.echo(f"ggp sprt: {said} left out", err=True)
    return results.penta_observed, 2 * sum(results.penta)


def _add_pairs(name: str, results: PairedResults, pool_name: str | None) -> None:
    from ggp.referee.ladder.sequential import played_pair
    from ggp.referee.ladder.source import open_ladder, the_pool

    with open_ladder(name) as store:
        pool = the_pool(store.pools(), pool_name, "bots are rated within one")
        ids = {seat.label: seat.id for seat in store.seats(pool.id)}
        if len(results.names) == 2:
            one, other = (ids[label] for label in results.names)
            for result in store.pair_results(pool.id, one, other):
                if result.points is not None:
                    played = played_pair(result, one, result.points)
                    lines: list[Line | None] = [Line(played.opening, moves) for moves in played.moves]
                    lines = lines or [None, None]
                    results.add_pair(played.points, lines[0], *lines)


def _counts(penta: str | None, wdl: str | None) -> list[int]:
    """The counts, worst first."""
    if (penta is None) == (wdl is None):
        raise SprtError("give FILE of games, or counts: --penta a,b,c,d,e of pairs or --wdl w,d,l of games")
    name, text, size = ("--penta", penta, 5) if penta is not None else ("--wdl", wdl, 3)
    words = (text or "").split(",")
    if len(words) != size or not all(re.fullmatch(r"\s*[0-9]{1,13}\s*", word) for word in words):
        raise SprtError(f"{name} takes {size} whole numbers with commas, for example {name} {'7,' * (size - 1)}7")
    counts = [int(word) for word in words]
    if max(counts) > MOST_GAMES:
        raise SprtError(f"{name}: a count is more than {MOST_GAMES}")
    return counts if penta is not None else counts[::-1]


def _hypotheses(
    preset: str | None, elo0: float | None, elo1: float | None, model: Model | None, alpha: float, beta: float
) -> Hypotheses:
    if preset:
        if elo0 is not None or elo1 is not None or model is not None:
            raise SprtError("--preset sets elo0, elo1 and model: leave them out, or the preset")
        chosen = PRESETS[preset]
        return Hypotheses(chosen.elo0, chosen.elo1, alpha, beta, chosen.model)
    if elo0 is None or elo1 is None:
        raise SprtError("give the hypotheses: --elo0 and --elo1, or --preset gate")
    return Hypotheses(elo0, elo1, alpha, beta, model or "normalized")


def _sprt_as_json(verdict: Verdict, hypotheses: Hypotheses) -> dict[str, Any]:
    """The verdict; null where the record has no estimate. A clean sweep has only a one-sided bound."""
    said = asdict(verdict) | asdict(hypotheses)
    said["expected_games_left"], said["worst_case_games"] = said.pop("expected_left"), said.pop("worst_case")
    first = ("llr", "lower", "upper", "state", "elo", "nelo", "los")
    return {name: said[name] for name in first} | said


def _lines(verdict: Verdict, hypotheses: Hypotheses, unit: str) -> list[str]:
    h0, h1 = (f"{hypotheses.model} Elo {elo:g}" for elo in (hypotheses.elo0, hypotheses.elo1))
    state = {
        "continue": "continue: nothing is decided yet",
        "H0": f"H0 is accepted: {h0} rather than {h1}",
        "H1": f"H1 is accepted: {h1} rather than {h0}",
        "inconclusive": "inconclusive: the cap is reached, and nothing is decided",
    }[verdict.state]
    lines = [
        state,
        f"LLR   {verdict.llr:z.3f} within {verdict.lower:.3f} and {verdict.upper:.3f} ({h0} against {h1}, by {unit})",
        *effect_lines(verdict, 2, 6),
        f"games {verdict.games + verdict.repeated}",
    ]
    if verdict.state == "continue":
        left = [f"{verdict.expected_left:.0f} games at this strength"] if verdict.expected_left is not None else []
        worst = [] if verdict.worst_case is None else [f"{verdict.worst_case:.0f} is the mean length in the worst case"]
        lines += [f"left  {'; '.join(left + worst)}"] if left + worst else []
    elif not verdict.enough:
        pass  # the line of the Elo says that there are too few games
    elif estimate := after_stop(verdict.estimate, 2):
        lines.append(f"after the stop: Elo {estimate}")
    elif verdict.games and verdict.elo_error is not None:
        lines.append("after the stop: no estimate, for the record goes on far beyond the bound")
    return lines
