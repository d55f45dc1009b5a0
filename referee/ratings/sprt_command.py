"""`ggp sprt`: reads the command line, has the test judged, shows the verdict. No mathematics here."""

import json
import re
from typing import Any

import click

from referee.ratings.scale import after_stop, effect_lines
from referee.ratings.sprt import MODELS, PRESETS, Hypotheses, Model, SprtError, Verdict, judge
from referee.spelling import message_of

BAD_USAGE = 2
MOST_GAMES = 10**12
STATUS = {"H1": 0, "H0": 1, "continue": 3, "inconclusive": 4}
EPILOGUE = """\b
--penta a,b,c,d,e  pairs of games by their result for the new version:
                   two losses, loss and tie, even, tie and win, two wins
--wdl w,d,l        games: wins, ties, losses, where the pairs are not known
--preset gate      normalized Elo 0 against 20: is it better?
         simplify  -15 against 5: is it no worse?
         big       0 against 50: is it much better?

\b
State: continue; H1 (elo1 is accepted), H0 (elo0 is accepted), inconclusive
(the cap was reached). The exit status is 0 whatever the state, 2 for a command
line that cannot be; with --exit-code 0 for H1, 1 for H0, 3 for continue and
4 for inconclusive.
"""


def main(argv: list[str]) -> int:
    """The exit status."""
    try:
        return int(sprt.main(argv, prog_name="ggp sprt", standalone_mode=False) or 0)
    except SprtError as error:
        click.echo(f"ggp sprt: {error} (ggp sprt --help)", err=True)
    except click.ClickException as error:
        click.echo(f"ggp sprt: {message_of(error)} (ggp sprt --help)", err=True)
    except (click.Abort, KeyboardInterrupt):
        return 130
    return BAD_USAGE


@click.command("sprt", epilog=EPILOGUE, context_settings={"help_option_names": ["-h", "--help"]})
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
    counts = _counts(penta, wdl)
    hypotheses = _hypotheses(preset, elo0, elo1, model, alpha, beta)
    verdict = judge(counts, hypotheses, cap)
    if as_object:
        click.echo(json.dumps(_as_json(verdict, hypotheses)))
    else:
        for line in _lines(verdict, hypotheses, "pairs" if penta else "games"):
            click.echo(line)
    return STATUS[verdict.state] if exit_code else 0


def _counts(penta: str | None, wdl: str | None) -> list[int]:
    """Worst first, as the mathematics wants it."""
    if (penta is None) == (wdl is None):
        raise SprtError("give the record either as --penta a,b,c,d,e or as --wdl w,d,l")
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
            raise SprtError("--preset says elo0, elo1 and model: leave those out, or the preset")
        chosen = PRESETS[preset]
        return Hypotheses(chosen.elo0, chosen.elo1, alpha, beta, chosen.model)
    if elo0 is None or elo1 is None:
        raise SprtError("say what is tested: --elo0 and --elo1, or --preset gate")
    return Hypotheses(elo0, elo1, alpha, beta, model or "normalized")


def _as_json(verdict: Verdict, hypotheses: Hypotheses) -> dict[str, Any]:
    """The verdict; null where the record says nothing. A clean sweep has a one-sided bound only."""
    estimate = verdict.estimate
    return {
        "llr": verdict.llr,
        "lower": verdict.lower,
        "upper": verdict.upper,
        "state": verdict.state,
        "elo": verdict.elo,
        "nelo": verdict.nelo,
        "los": verdict.los,
        "elo_error": verdict.elo_error,
        "elo_low": verdict.elo_low,
        "elo_high": verdict.elo_high,
        "nelo_error": verdict.nelo_error,
        "games": verdict.games,
        "expected_games_left": verdict.expected_left,
        "worst_case_games": verdict.worst_case,
        "estimate": estimate and {"elo": estimate.elo, "low": estimate.low, "high": estimate.high},
        "model": hypotheses.model,
        "elo0": hypotheses.elo0,
        "elo1": hypotheses.elo1,
        "alpha": hypotheses.alpha,
        "beta": hypotheses.beta,
    }


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
        f"games {verdict.games}",
    ]
    if verdict.state == "continue":
        left = [f"{verdict.expected_left:.0f} games at this strength"] if verdict.expected_left is not None else []
        worst = [] if verdict.worst_case is None else [f"{verdict.worst_case:.0f} is the mean length in the worst case"]
        lines += [f"left  {'; '.join(left + worst)}"] if left + worst else []
    elif estimate := after_stop(verdict.estimate, 2):
        lines.append(f"after the stop: Elo {estimate}")
    elif verdict.games and verdict.elo_error is not None:
        lines.append("after the stop: no estimate, for the record goes on far beyond the bound")
    return lines
