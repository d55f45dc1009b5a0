"""`ggp tune TUNE.toml`: play a tune as a ladder is played, and show the values that it found."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ggp.protocol.printed import json_text
from ggp.protocol.safe_files import replace_file
from ggp.referee.cli.referee import exit_status, run_json, run_options, run_player, run_screen, say_end
from ggp.referee.command_line import HELP
from ggp.referee.ladder.config import read_ladder
from ggp.referee.ladder.progress import Progress, StopConditions
from ggp.referee.ladder.queries import thinned
from ggp.referee.ladder.schedule import PoolSchedule
from ggp.referee.ladder.session import WorkerOptions, play_ladder
from ggp.referee.ladder.store.model import Ladder, StoreError
from ggp.referee.ladder.store.store import Store
from ggp.referee.ladder.toml_file import ConfigError
from ggp.referee.ladder.tune import TUNE_HEADS, TuneState, filled, state_of
from ggp.referee.ratings.sequential import in_words
from ggp.referee.ratings.sprt import Verdict
from ggp.referee.terminal import TextTable, escape_unprintable, say, show

NAME = "ggp tune"
_REPEATS = "the bot does not randomise, so they tell nothing new; write openings = 4 into [pool]"
POINTS = 100  # of a curve in the JSON
_WIDTH, _HEIGHT = 64, 8  # of a plot, in characters
EPILOGUE = """\b
TUNE.toml is a ladder's file with kind = "tune": `ggp ladder init --tune` writes
one, docs/how-to/tune-a-bot.md explains it. The games are in its store; all of
`ggp ladder` that only looks works on it, too.

\b
The exit status is 0 when the tune is over or was only shown; 1 if the store or
the workers failed, or too many games ended by faults; 2 for an invalid command
line or file; 130 after Ctrl-C, 143 after SIGTERM. What was finished is kept
whatever happens, and the same command resumes.
"""


@dataclass(frozen=True, slots=True)
class TuneResult:
    """The stored state of a tune. `verdict` is None before its test; `repeated` of its `games` repeat others."""

    ladder: Ladder
    state: TuneState
    verdict: Verdict | None
    repeated: int = 0
    games: int = 0

    @property
    def command(self) -> str:
        """The bot's command with the tuned values."""
        plan = self.state.plan
        tuned = plan.playable(tuple(one.value for one in self.state.estimates))
        assert self.ladder.template is not None, "a tune has one"
        return filled(self.ladder.template, plan, tuned).command


def main(argv: list[str]) -> int:
    """Run the command. Return its exit status."""
    return run_player(tune, NAME, argv)


@click.command("tune", epilog=EPILOGUE, context_settings=HELP)
@click.argument("file", metavar="TUNE.toml", type=click.Path(path_type=Path))
@run_options("Stop when the ladder holds this many games, earlier runs included.", "Stop at a time or after a while.")
@click.option("--show", "only_show", is_flag=True, help="Play nothing: show the state of the tune, even while it runs.")
@click.option("--svg", type=click.Path(path_type=Path, dir_okay=False), help="File for the plot.")
@click.option("--json", "as_object", is_flag=True, help="Print the result as one JSON object.")
@click.option("--quiet", is_flag=True, help="Print a line now and then instead of the live table, and no plot.")
def tune(
    file: Path,
    limits: StopConditions,
    workers: WorkerOptions,
    only_show: bool,
    svg: Path | None,
    as_object: bool,
    quiet: bool,
) -> int:
    """Tune the parameters of a bot by games between sets of values (SPSA), then test the result against the start."""
    if read_ladder(file).template is None:
        raise ConfigError(str(file), "format.kind", 'is not tune: write kind = "tune", or use ggp ladder run')
    progress = Progress("")
    if not only_show:
        progress = play_ladder(NAME, file, limits, workers, run_screen(quiet or as_object, limits))
    result = read_result(read_ladder(file))
    if svg is not None:
        _write_plot(result.state, svg)
    if as_object:
        click.echo(json_text(_as_json(result, progress)))
    else:
        _show(result, progress, quiet)
    say_end(NAME, progress)
    return exit_status(progress.stopped, progress.unsuccessful)


def read_result(ladder: Ladder) -> TuneResult:
    """Read the state of a tune. Raise StoreError if no game of it was played."""
    (pool,) = ladder.pools
    with Store.open(ladder.store) as store:
        row = next((row for row in store.pools() if row.key == pool.key), None)
        entered = {(seat.name, seat.version) for seat in store.seats(row.id) if seat.entered} if row else set()
        if row is None or not all((bot.name, bot.version) in entered for bot in ladder.bots):
            raise StoreError(f"{ladder.path}: nothing is played with this program and these values: {NAME} begins")
        schedule = PoolSchedule(ladder, pool, row.id, store).schedule
        assert schedule.tune is not None, "both versions are entered"
        schedule.due()  # whether the test is over is known to who asks for more pairs
        repeated = sum(sum(counts) for _, _, *counts in store.repeats(row.id))
        return TuneResult(ladder, state_of(schedule.tune), schedule.verdict, repeated, row.games)


def _write_plot(state: TuneState, path: Path) -> None:
    from ggp.referee.server.web.pages import render_plot  # Jinja is loaded for a picture alone
    from ggp.referee.server.web.plots import tune_plot

    try:
        replace_file(path, str(render_plot("tune", **tune_plot(state))).encode())
    except OSError as error:
        raise click.UsageError(f"--svg {path} cannot be written: {error.strerror}: name another file") from None


# -- what is shown ----------------------------------------------------------------------------------------------------


def _show(result: TuneResult, progress: Progress, quiet: bool) -> None:
    state = result.state
    sheet = TextTable(TUNE_HEADS, frozenset({TUNE_HEADS[0], TUNE_HEADS[-1]}))
    for row in state.rows:
        sheet.add(*row)
    show(sheet)
    say(state.summary)
    if not quiet:
        for place, one in enumerate(state.plan.parameters):
            say("", *plot_lines(one.name, [(done, values[place]) for done, values in state.history]))
    say(
        "",
        "still moving: the values are not tuned yet"
        if state.moving
        else f"tuned: {escape_unprintable(result.command)}",
    )
    if result.repeated:
        say(f"{result.repeated} of {result.games} games repeat others: {_REPEATS}")
    if result.verdict:
        say(f"against the start: {in_words(result.verdict)}")
    for (who, what), number in sorted(progress.faults.items()):
        say(f"faults of this run: {escape_unprintable(who)} {what} {number:,}")


def plot_lines(name: str, points: Sequence[tuple[int, float]]) -> list[str]:
    """Draw the value of a parameter over the iterations in text."""
    low, high = min(value for _, value in points), max(value for _, value in points)
    last, span = max(1, points[-1][0]), high - low or 1.0
    columns = [0.0] * _WIDTH
    at = 0
    for column in range(_WIDTH):
        while at + 1 < len(points) and points[at + 1][0] <= last * column / (_WIDTH - 1):
            at += 1
        columns[column] = points[at][1]
    levels = [round((value - low) / span * (_HEIGHT - 1)) for value in columns]
    labels = {_HEIGHT - 1: f"{high:.6g}", 0: f"{low:.6g}"}
    wide = max(map(len, labels.values()))
    rows = [
        f"{labels.get(level, ''):>{wide}} |{''.join('*' if at == level else ' ' for at in levels)}".rstrip()
        for level in range(_HEIGHT - 1, -1, -1)
    ]
    foot = f"{'0':<{_WIDTH - len(str(last))}}{last}"
    return [name, *rows, f"{'':>{wide}} +{'-' * _WIDTH}", f"{'':>{wide}}  {foot} iterations"]


def _as_json(result: TuneResult, progress: Progress) -> dict[str, Any]:
    """Return the tune for --json.

    `half` is half of the 95 % interval of `tuned`: null with a single chain and, like `command`, while values move.
    """
    state, verdict = result.state, result.verdict
    names = [one.name for one in state.plan.parameters]
    return {
        "ladder": result.ladder.name,
        "iterations": state.plan.iterations,
        "played": state.known,
        "without_result": state.silent,
        "chains": state.plan.chains,
        "parameters": [
            {"name": one.name, "start": one.start, "min": one.low, "max": one.high, "step": one.step}
            | {"integer": one.whole, "tuned": found.value, "half": None if state.moving else found.half}
            for one, found in zip(state.plan.parameters, state.estimates, strict=True)
        ],
        "history": [
            {"iterations": done, "values": dict(zip(names, values, strict=True))}
            for done, values in thinned(state.history, POINTS)
        ],
        "moving": state.moving,
        "repeated": result.repeated,
        "command": None if state.moving else result.command,
        "verdict": verdict
        and {"state": verdict.state, "llr": verdict.llr, "games": verdict.games, "text": in_words(verdict)},
        **run_json(progress),
    }
