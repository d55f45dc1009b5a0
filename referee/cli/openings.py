"""`ggp openings make GAME`: write a book of balanced openings, for `ggp match --openings`."""

import contextlib
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import click

from ggp.protocol.printed import json_text
from ggp.protocol.safe_files import replace_file
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.subreaper import adopting_orphans
from ggp.referee.command_line import BAD_USAGE, HELP, run_command
from ggp.referee.match.balance import FAULTS, BalancedDraw, DrawPlan, OpeningSelection
from ggp.referee.match.bot_spec import LaunchError, WordError, read_bot, read_engine, read_game
from ggp.referee.match.clock import TimeControl
from ggp.referee.match.engine import start_engine
from ggp.referee.match.options import NumberRange
from ggp.referee.match.outcome import CannotStart
from ggp.referee.match.series import PrepareError, ask
from ggp.referee.match.setting import Setting, Timeouts
from ggp.referee.terminal import duration, escape_unprintable, progress_bar

NAME = "ggp openings"
EVERY = 60.0  # seconds between lines where there is no terminal
EPILOGUE = """\b
An opening is balanced if the bot's estimates of both sides' chances differ by at
most --within percentage points. Positions with the same ggp-hash are kept once;
an engine may give mirrored positions the same hash.

\b
A line of the book is an opening: its moves, then # and black's chance.
The exit status is 0; 1 if fewer than --count were found (they are written); 2 for
an invalid command line, or a bot or engine that cannot do it.
"""


def main(argv: list[str]) -> int:
    """Run `ggp openings COMMAND …` and return its exit status."""
    if not argv:
        run_command(openings, NAME, ["--help"])
        return BAD_USAGE
    return run_command(openings, NAME, argv, ())


@click.group("openings", context_settings=HELP)
def openings() -> None:
    """Books of openings, for ggp match --openings."""


@openings.command("make", epilog=EPILOGUE, context_settings=HELP)
@click.argument("game", metavar="GAME[,name=value…]")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="File for the book.  [default: stdout]"
)
@click.option("--bot", default="mcts:playouts=400", show_default=True, help="Bot that judges a position.")
@click.option("--plies", type=click.IntRange(1, 1000), default=4, show_default=True, help="Plies of an opening.")
@click.option("--count", type=click.IntRange(1, 10**6), default=100, show_default=True, help="Openings to find.")
@click.option(
    "--within",
    type=NumberRange(0, 100),
    default=10.0,
    show_default=True,
    help="Maximal difference in percentage points.",
)
@click.option("--tries", type=click.IntRange(1, 10**8), help="Openings to draw at most.  [default: 50 x count]")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=1, show_default=True)
@click.option("--time", "control", default="none", show_default=True, help="Time control of the bot.")
@click.option("--engine", metavar="COMMAND|URL", help="Engine that knows the game.  [default: the built-in one]")
@click.option("--jobs", type=click.IntRange(1, 256), help="Positions at a time.  [default: one per core]")
@click.option("--json", "as_object", is_flag=True, help="Print one JSON object; write a book only with -o.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def make(
    game: str,
    output: Path | None,
    bot: str,
    plies: int,
    count: int,
    within: float,
    tries: int | None,
    seed: int,
    control: str,
    engine: str | None,
    jobs: int | None,
    as_object: bool,
    quiet: bool,
) -> int:
    """Draw openings at random and keep those in which both sides have about the same chance."""
    name, options = read_game(game)
    if output is not None and not output.absolute().parent.is_dir():  # before an hour of work
        raise click.UsageError(f"{output} cannot be written: there is no folder {output.absolute().parent}: make it")
    try:
        timed = TimeControl.parse(control)
        plan = DrawPlan(
            setting=Setting(name, options, {}, timed),
            engine=read_engine(engine),
            bot=read_bot(bot),
            plies=plies,
            within=within / 100,
            seed=seed,
            tries=tries or 50 * count,
            budgets=Timeouts(),
        )
    except (ValueError, LaunchError, WordError) as error:
        raise click.UsageError(str(error)) from None
    with adopting_orphans():
        try:
            run_blocking(_check_game(plan))
            found, stopped = _draw(plan, count, jobs or len(os.sched_getaffinity(0)), quiet or as_object)
        except CannotStart as error:
            raise click.UsageError(f"{error.who} {error}") from None
        except (*FAULTS, PrepareError) as error:
            raise click.UsageError(str(error)) from None
    _write(plan, game, found, output, as_object)
    if stopped:
        click.echo(f"{NAME} make: stopped: {len(found.kept)} of {count} openings were found and written", err=True)
        return 128 + signal.SIGINT
    if len(found.kept) < count:
        click.echo(f"{NAME} make: {_shortage(found, count)}", err=True)
        return 1
    return 0


async def _check_game(plan: DrawPlan) -> None:
    """Check that the engine knows the game. Raises PrepareError, EngineFailed."""
    engine = await start_engine(plan.engine, plan.budgets)
    try:
        await ask(engine, plan.setting, 0)
    finally:
        await engine.peer.stop()


def _draw(plan: DrawPlan, count: int, jobs: int, quiet: bool) -> tuple[OpeningSelection, bool]:
    """Search for openings. Return them, and True if Ctrl-C ended the search."""
    found, began, said = OpeningSelection(plan.within), time.monotonic(), time.monotonic()
    try:
        with progress_bar("drawing openings", not quiet) as shown, contextlib.closing(BalancedDraw(plan, jobs)) as draw:
            for drawn in draw:
                found.add(drawn)
                kept, now = len(found.kept), time.monotonic()
                rate = found.drawn / max(now - began, 1e-3)
                left = duration((count - kept) * (now - began) / kept) if kept else "?"
                words = f"{kept:,} of {count:,} openings, {found.drawn:,} drawn, {rate:.1f}/s, {left} left"
                shown(kept, count, words)
                if not quiet and now - said > EVERY:
                    said = now
                    click.echo(words, err=True)
                if kept == count:
                    break
    except KeyboardInterrupt:
        return found, True
    return found, False


def _write(plan: DrawPlan, game: str, found: OpeningSelection, output: Path | None, as_object: bool) -> None:
    lines = [
        f"# {game}: {plan.plies} plies, sides within {100 * plan.within:g} % by {plan.bot.command}, seed {plan.seed}",
        *(f"{' '.join(one.moves)}  # {100 * (one.chance or 0):.1f} %" for one in found.kept),
    ]
    text = "".join(f"{escape_unprintable(line)}\n" for line in lines)
    if output is not None:
        try:
            replace_file(output, text.encode())
        except OSError as error:
            raise click.UsageError(f"{output} cannot be written: {error.strerror}: name another file") from None
    if as_object:
        click.echo(json_text(_as_json(found)))
    elif output is None:
        click.echo(text, nl=False)


def _as_json(found: OpeningSelection) -> dict[str, object]:
    """Return JSON values: black's `chance` from 0 to 1, and the numbers of openings that were not kept."""
    return {
        "openings": [{"moves": one.moves, "hash": one.hash, "chance": one.chance} for one in found.kept],
        "drawn": found.drawn,
        "twice": found.twice,
        "uneven": found.uneven,
        "over": found.over,
    }


def _shortage(found: OpeningSelection, count: int) -> str:
    why: Sequence[tuple[int, str]] = (
        (found.uneven, "uneven"),
        (found.twice, "in a position that is there"),
        (found.over, "over before they were played"),
    )
    others = ", ".join(f"{number:,} {what}" for number, what in why if number)
    remedy = "raise --within, --plies or --tries, or ask for fewer"
    return f"found {len(found.kept):,} of {count:,} openings among {found.drawn:,} that were drawn ({others}): {remedy}"
