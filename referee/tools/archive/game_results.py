"""Results of games from files and ladders, for `ggp rate` and `ggp sprt`."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ggp.protocol.input_files import open_input
from ggp.protocol.printed import counted, without_password
from ggp.referee.ratings.repeats import ADVICE
from ggp.referee.ratings.results import Line, RatedBot, Results, ResultsError, read_results
from ggp.referee.terminal import escape_unprintable
from ggp.referee.tools.archive.places import is_ladder

if TYPE_CHECKING:
    from ggp.referee.ladder.store.model import PoolRow
    from ggp.referee.ladder.store.store import Store

_NAMED = 8  # bots in a message


def results_of(files: Sequence[str], pool: str | None, command: str) -> Results:
    """Read all results of files and ladders, and report on stderr what is left out.

    Args:
        files: Files of games, ladders, or `-` for standard input.
        pool: The name of a ladder's pool, if it has several.
        command: The name that begins the messages.

    Raises:
        ResultsError: A file cannot be read.
    """
    results = Results()
    for name in files:
        if is_ladder(name):
            _read_ladder(name, results, pool)
        else:
            _read_file(name, results)
    _say_what_is_left_out(command, results)
    return results


def _read_file(name: str, results: Results) -> None:
    try:
        with sys.stdin.buffer if name == "-" else open_input(name, pipe=True) as file:
            read_results(file, "standard input" if name == "-" else name, results)
    except ResultsError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ResultsError(f"cannot read {without_password(name)!r}: {reason}") from None


def _read_ladder(name: str, results: Results, pool_name: str | None) -> None:
    """Add all games of a pool by the labels of the versions, and the pairs of two versions."""
    from ggp.referee.ladder.source import open_ladder, the_pool  # the store, which files of results do without

    with open_ladder(name) as store:
        pool = the_pool(store.pools(), pool_name, "bots are rated within one")
        ids = {seat.label: seat.id for seat in store.seats(pool.id)}
        bots = {id: RatedBot(label) for label, id in ids.items()}
        for met in store.meetings(pool.id):
            outcomes = (met.wins + met.forfeit_wins, met.ties, met.losses + met.forfeit_losses)
            for outcome, count in enumerate(outcomes):
                if count:
                    results.add(bots[met.first], bots[met.second], outcome, count)
            results.unfinished += met.void
        for first, second, *repeated in store.repeats(pool.id):
            for outcome, count in enumerate(repeated):
                results.leave_out(bots[first], bots[second], outcome, count)
        if len(results.names) == 2:
            one, other = (ids[label] for label in results.names)
            _add_pairs(store, pool, results, one, other)


def _add_pairs(store: "Store", pool: "PoolRow", results: Results, one: int, other: int) -> None:
    from ggp.referee.ladder.sequential import played_pair

    for result in store.pair_results(pool.id, one, other):
        if result.points is not None:
            played = played_pair(result, one, result.points)
            lines: list[Line | None] = [Line(played.opening, moves) for moves in played.moves]
            lines = lines or [None, None]
            results.add_pair(played.points, lines[0], *lines)


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
        said = f"{escape_unprintable(name)} is {len(labels)} bots, listed apart: {listed(labels)}"
        click.echo(f"{command}: {said}", err=True)


def listed(names: Sequence[str]) -> str:
    """Write names for a message, the first few of many."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return escape_unprintable(", ".join(names[:_NAMED]) + more)


def repeat_lines(results: Results) -> list[str]:
    """Return a line about repeated games, and what to do about them; [] if all games are distinct."""
    lines = results.lines
    if lines.distinct == lines.games:
        return []
    return [f"{lines.distinct} of {lines.games} games are distinct" + (f": {ADVICE}" if lines.repeated else "")]
