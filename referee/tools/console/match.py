"""A recorded match in the console: its facts as lines, its caption beside the board, and live following."""

import shlex
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec

from ggp.protocol.records import Record
from ggp.referee.match.analysis import line_of
from ggp.referee.match.bot_spec import HUMAN
from ggp.referee.match.clock import ControlKind, TimeControl
from ggp.referee.terminal import escape_unprintable
from ggp.referee.tools.console.completion import BotWord
from ggp.referee.tools.console.cursor import Cursor
from ggp.referee.tools.console.tree import TreeNode

if TYPE_CHECKING:
    from ggp.referee.tools.archive.places import RecordSource  # which loads the stores of ladders

_OFTEN = 0.2  # seconds between checks of a running match
_NAME = 16  # characters of a bot's name


def facts_of(record: Record) -> list[str]:
    """Return the facts of a record except its plies, one per line, and the diagnostics of a fault."""
    from ggp.referee.ladder.queries import diagnostics, used

    start, end, names = record.start, record.end, [bot.name for bot in record.start.bots]
    game = " ".join([start.game, *(f"{name}={value}" for name, value in start.options.items())])
    lines = [f"match {start.match}: {game}, time control {start.time}"]
    for seat, (bot, ms) in enumerate(zip(start.bots, used(record), strict=True), 1):
        how = bot.command or bot.program
        how = "" if how == bot.name else how
        lines.append(f"seat {seat}: {bot.name}{how and f' ({how})'}, {ms / 1000:.3f} s used")
    lines += [f"sandbox of {bot.name}: {bot.sandbox}" for bot in start.bots if bot.sandbox]
    facts = {"opening": " ".join(start.opening), "continues": start.continues}
    if end is not None:
        fault, won = end.culprit.removeprefix("seat"), f", {names[end.winner - 1]} won" if end.winner else ""
        facts |= {
            "result": f"{end.result or 'void'}, {end.termination}{won}, {end.plies} plies",
            "ended": f"{end.ended[:10]} {end.ended[11:19]} UTC" if end.ended else "",
            "fault of": names[int(fault) - 1] if fault.isdigit() else end.culprit,
            "detail": end.detail,
            "score": _totals(end.score),
            "suspect": "this machine was slow: a loss on time may not be the bot's fault" * end.suspect,
        }
    lines += [f"{name}: {fact}" for name, fact in facts.items() if fact]
    lines += [f"warning: {warning}" for warning in end.warnings] if end else ["not finished"]
    return [*lines, *diagnostics(end)]


def _totals(score: str) -> str:
    """Return `black 12, white 7` for an answer to ggp-score; the answer itself if it has no totals."""
    try:
        said = msgspec.json.decode(score)
        totals = [(colour, said[colour]["total"]) for colour in ("black", "white")]
    except (msgspec.DecodeError, RecursionError, KeyError, TypeError):
        return score
    return ", ".join(f"{colour} {total}" for colour, total in totals) if totals[0][1] is not None else score


def bots_of(record: Record) -> Iterator[BotWord]:
    """Yield the bots of the match that can be started again, under their names."""
    for seat, party in enumerate(record.start.bots, 1):
        if party.command and party.command != HUMAN:
            named = party.command.partition(":")[0] == party.name
            word = party.command if named else f"{party.name}={party.command}"
            yield BotWord(shlex.quote(word), escape_unprintable(f"seat {seat} of the match"))


def title_of(record: Record) -> str:
    """Return the game and the names of the bots."""
    start = record.start
    return escape_unprintable(f"{start.game}, {' against '.join(party.name[:_NAME] for party in start.bots)}")


def caption(record: Record, at: TreeNode | None) -> tuple[str, ...]:
    """Return `black one  9.882 s left` for each side, then `ply 17 of 63: black D5  0.412 s`.

    Args:
        record: The match.
        at: The node of the engine's position; None if it plays another game.
    """
    if at is None:
        return ("not the game of the match",)
    start, plies = record.start, record.plies[: at.match_ply]
    near = record.plies[at.match_ply : at.match_ply + 1] or plies[-1:]  # for the colours of the seats
    colours = {seat: f"seat {seat}" for seat in (1, 2)}
    for ply in near:
        other = {"black": "white", "white": "black"}.get(ply.colour)
        colours |= {ply.seat: ply.colour, 3 - ply.seat: other} if other else {}
    left = full_times(start.controls) | {ply.seat: ply.left for ply in plies if ply.left is not None}
    lines = []
    for seat in sorted((1, 2), key=lambda seat: colours[seat]):
        time = f"  {left[seat] / 1000:.3f} s left" if seat in left else ""
        lines.append(f"{colours[seat]} {start.bots[seat - 1].name[:_NAME]}{time}")
    where = at.place(len(record.plies)) + ("" if record.end else " so far")
    if at.move:
        where += f": {at.colour} {at.move}" + (f"  {at.ms / 1000:.3f} s" if at.recorded else "")
    return tuple(map(escape_unprintable, [*lines, where]))


def full_times(controls: tuple[str, str]) -> dict[int, int]:
    """Return the initial ms of each seat; a seat without a limit is left out."""
    try:
        read = {seat: TimeControl.parse(control) for seat, control in enumerate(controls, 1)}
    except ValueError:  # a control of another referee
        return {}
    return {seat: one.main or one.period for seat, one in read.items() if one.kind is not ControlKind.NONE}


def follow(cursor: Cursor, source: "RecordSource", look: Callable[[], None], show: Callable[[str], None]) -> str:
    """Show each new ply and the position until the match ends or is dropped, or Ctrl-C.

    Args:
        cursor: The cursor, which follows the match.
        source: The match.
        look: Shows the position.
        show: Prints a line.

    Returns:
        The final message.
    """
    seen = cursor.last()
    playing = source.playing()
    cursor.goto(seen if playing else -1)
    try:
        while playing:
            look()
            last = seen
            while playing and last == seen:
                time.sleep(_OFTEN)
                playing = source.playing()  # before the read, so that the last read is complete
                last = cursor.last()
            for ply in cursor.record.plies[seen:last] if cursor.record else ():
                show(line_of(ply))
            cursor.goto(last)
            seen = last
        look()
    except KeyboardInterrupt:
        return cursor.caption()
    end = cursor.record.end if cursor.record else None
    over = f"the match is over: {end.result or 'void'}, {end.termination}" if end else None
    return f"{escape_unprintable(over) if over else 'the match was dropped before its end'}; {cursor.caption()}"
