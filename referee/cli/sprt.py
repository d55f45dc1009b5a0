"""`ggp sprt`: judges a sequential test between two versions, from counts, files of games or ladders."""

import json
import re
from dataclasses import asdict, replace
from typing import Any

import click

from ggp.protocol.printed import counted
from ggp.referee.command_line import HELP, run_command
from ggp.referee.ratings.results import Results
from ggp.referee.ratings.scale import after_stop, effect_lines
from ggp.referee.ratings.sprt import MODELS, PRESETS, Hypotheses, Model, SprtError, Verdict, judge
from ggp.referee.tools.archive.game_results import listed, repeat_lines, results_of

MOST_GAMES = 10**12
STATUS = {"H1": 0, "H0": 1, "continue": 3, "inconclusive": 4}
EPILOGUE = """\b
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
    """Run the command line and return the exit status."""
    return run_command(sprt, "ggp sprt", argv)


@click.command("sprt", epilog=EPILOGUE, context_settings=HELP)
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
    counts, played, repeated = [] if files else _counts(penta, wdl), 0, list[str]()
    hypotheses = _hypotheses(preset, elo0, elo1, model, alpha, beta)
    if files:
        results = results_of(files, pool, "ggp sprt")
        _first_is(new, results)
        (counts, played), repeated = _counts_of(results, hypotheses.model), repeat_lines(results)
    verdict = judge(counts, hypotheses, cap)
    verdict = replace(verdict, repeated=max(0, played - verdict.games))
    if as_object:
        click.echo(json.dumps(_as_json(verdict, hypotheses)))
    else:
        for line in [*_lines(verdict, hypotheses, "pairs" if len(counts) == 5 else "games"), *repeated]:
            click.echo(line)
    return STATUS[verdict.state] if exit_code else 0


def _first_is(new: str | None, results: Results) -> None:
    """Make the new version the first bot. Raises SprtError for results that are not those of one test."""
    if len(results.names) != 2:
        which = f": {listed(results.names)}" if results.names else ", because no game has a result"
        raise SprtError(f"a test is of two bots; there are {len(results.names)}{which}")
    if new is not None and new not in results.names:
        raise SprtError(f"--new {new}: the bots are {' and '.join(results.names)}")
    if new not in (None, results.names[0]):
        results.swap()


def _counts_of(results: Results, model: Model) -> tuple[list[int], int]:
    """Return the counts by pairs where these are known, else by games, and the number of games with repeats."""
    if model == "bayes" or not any(results.penta):
        return results.games_observed, sum(results.games)
    if results.single:
        said = counted(results.single, "game is in no complete pair: it is", "games are in no complete pair: they are")
        click.echo(f"ggp sprt: {said} left out", err=True)
    return results.penta_observed, 2 * sum(results.penta)


def _counts(penta: str | None, wdl: str | None) -> list[int]:
    """Read the counts of --penta or --wdl, and return them worst result first. Raises SprtError."""
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


def _as_json(verdict: Verdict, hypotheses: Hypotheses) -> dict[str, Any]:
    """Return the verdict as plain values; null where there is no estimate. A clean sweep has only one bound."""
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
