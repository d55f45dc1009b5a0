"""A recorded match in the console: its plies and facts as lines, how it is followed while it is played, its caption."""

import json
import shlex
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from ggp.protocol.drawing import text
from ggp.protocol.drawing.scene import DrawingError, read_scene
from ggp.protocol.messages import Reply
from ggp.protocol.records import MatchEnded, Party, Record
from ggp.referee.match.analysis import line_of
from ggp.referee.match.bot_spec import HUMAN
from ggp.referee.match.clock import ControlKind, TimeControl
from ggp.referee.match.engine import parse_status
from ggp.referee.match.outcome import EngineFailed
from ggp.referee.match.score_table import score_lines
from ggp.referee.terminal import escape_unprintable, screen_columns
from ggp.referee.tools.console.completion import BotWord
from ggp.referee.tools.console.own_commands import OwnFailed
from ggp.referee.tools.console.tree import TreeNode
from ggp.referee.tools.console.workbench import HISTORY, SCENE, STATUS, Ask, Workbench, facts_of_scene, place_of

if TYPE_CHECKING:
    from ggp.referee.tools.archive.places import RecordSource  # which loads the stores of ladders

# -- a match as lines -------------------------------------------------------------------------------------------------


_OFTEN = 0.2  # seconds between looks at a match that is being played
_WIDTH = 100


def list_width() -> int:
    """Columns of lists and texts: at most those of the terminal."""
    return min(_WIDTH, screen_columns() or _WIDTH)


def told(record: Record) -> list[str]:
    """All of the record but the plies, a line for each fact, then what a fault left behind."""
    from ggp.referee.ladder.queries import diagnostics

    start, end, names = record.start, record.end, [bot.name for bot in record.start.bots]
    game = " ".join([start.game, *(f"{name}={value}" for name, value in start.options.items())])
    lines = [f"match {start.match}: {game}, time control {start.time}"]
    for seat, bot in enumerate(start.bots, 1):
        how = bot.command or bot.program
        ms = sum(ply.ms for ply in record.plies if ply.seat == seat)
        lines.append(
            f"seat {seat}: {bot.name}{f' ({how})' if how not in ('', bot.name) else ''}, {ms / 1000:.3f} s used"
        )
    lines += [f"sandbox of {bot.name}: {bot.sandbox}" for bot in start.bots if bot.sandbox]
    lines += [f"opening: {' '.join(start.opening)}"] if start.opening else []
    lines += [f"continues: {start.continues}"] if start.continues else []
    return [*lines, *(_of_the_end(end, names) if end else ["not finished"]), *diagnostics(end)]


def _of_the_end(end: MatchEnded, names: list[str]) -> Iterator[str]:
    winner = f", {names[end.winner - 1]} won" if end.winner else ""
    yield f"result: {end.result or 'void'}, {end.termination}{winner}, {end.plies} plies"
    seat = end.culprit.removeprefix("seat")
    waited = "an answer waited for this machine: a loss by time may be no fault of the bot"
    facts = {
        "ended": f"{end.ended[:10]} {end.ended[11:19]} UTC" if end.ended else "",
        "fault of": names[int(seat) - 1] if seat.isdigit() else end.culprit,
        "detail": end.detail,
        "score": _totals(end.score),
        "suspect": waited if end.suspect else "",
    }
    yield from (f"{name}: {fact}" for name, fact in facts.items() if fact)
    yield from (f"warning: {warning}" for warning in end.warnings)


def _totals(score: str) -> str:
    """`black 12, white 7` of an answer to ggp-score; the answer itself if it has no totals."""
    try:
        said = json.loads(score)
        totals = [(colour, said[colour]["total"]) for colour in ("black", "white")]
    except (ValueError, KeyError, TypeError, RecursionError):
        return score
    return ", ".join(f"{colour} {total}" for colour, total in totals) if totals[0][1] is not None else score


def score(ask: Ask) -> str:
    """Return the score of the position as a table. Raises OwnFailed if the engine gives none."""
    reply = ask("ggp-score")
    if not reply.ok:
        raise OwnFailed(f"the engine answers: {reply.text}", code="engine-refused")
    return "\n".join(score_lines(reply.text, list_width()))


def follow(bench: Workbench, source: "RecordSource", look: Callable[[], None], show: Callable[[str], None]) -> str:
    """Show each new ply and the position until the match ends or is dropped, or Ctrl-C."""
    seen = bench.last
    if not source.playing():
        bench.goto(-1)
        return f"{_ending(bench.record)}; {bench.caption()}"
    bench.goto(seen)
    look()
    playing = True
    try:
        while playing:
            time.sleep(_OFTEN)
            playing = source.playing()  # asked first, so that the read after the end is complete
            last = bench.last
            for ply in bench.record.plies[seen:last] if bench.record else ():
                show(line_of(ply))
            if last > seen:
                bench.goto(last)
                look()
            seen = last
    except KeyboardInterrupt:
        return bench.caption()
    return f"{_ending(bench.record)}; {bench.caption()}"


def _ending(record: Record | None) -> str:
    end = record.end if record else None
    if end is None:
        return "the match was dropped before its end"
    return escape_unprintable(f"the match is over: {end.result or 'void'}, {end.termination}")


def board(ask: Ask) -> str:
    """The position in text, "" if the engine does not describe it."""
    reply = ask(SCENE)
    if not reply.ok:
        return ""
    try:
        return text.draw(read_scene(reply.text), _WIDTH)
    except DrawingError as error:
        return f"the engine's board cannot be drawn: {error}"


# -- caption and completion of a match --------------------------------------------------------------------------------


_NAME = 16  # characters of a bot's name


class MatchCaption:
    """Captions and completions for a match on a workbench, by the record that was read last."""

    def __init__(self, bench: Workbench, record: Record) -> None:
        self._bench, self._record = bench, record

    @property
    def record(self) -> Record:
        """As it was read last."""
        return self._bench.record or self._record

    def lines(self, history: Reply | None, status: Reply | None, scene: Reply | None) -> tuple[str, ...]:
        """A line for each side, and the position; None: the engine was not asked."""
        if history is None or not history.ok:
            return ()
        at = self._bench.see(history, facts_of_scene(scene))
        if at is None:
            return ("another game than the match",)
        return tuple(map(escape_unprintable, caption(self.record, at, _colours(status))))

    def ask(self, ask: Ask) -> tuple[str, ...]:
        """Ask the engine, then the same."""
        return self.lines(ask(HISTORY), ask(STATUS), ask(SCENE))

    @property
    def of(self) -> str:
        """The game and the bots."""
        start = self.record.start
        return escape_unprintable(f"{start.game}, {' against '.join(party.name[:_NAME] for party in start.bots)}")

    def bots(self) -> Iterable[BotWord]:
        """The bots of the match that can be started again."""
        for seat, party in enumerate(self.record.start.bots, 1):
            if party.command and party.command != HUMAN:
                yield BotWord(
                    shlex.quote(bot_word(party)), bot_word(party), escape_unprintable(f"seat {seat} of the match")
                )


def caption(record: Record, at: TreeNode, colours: dict[int, str]) -> list[str]:
    """`black one  9.882 s left` for each side, then `ply 17 of 63: black D5  0.412 s`; `colours` by seat, if known."""
    plies = record.plies[: at.match_ply]
    near = record.plies[at.match_ply : at.match_ply + 1] or plies[-1:]  # whose turn it is, or was at last
    for ply in near if not colours else ():
        colours = _both(ply.seat, ply.colour)
    left = _full_time(record.start.controls)
    left |= {ply.seat: ply.left for ply in plies if ply.left is not None}
    lines = []
    for seat in sorted((1, 2), key=lambda seat: colours.get(seat, "")):
        time = f"  {left[seat] / 1000:.3f} s left" if seat in left else ""
        lines.append(f"{colours.get(seat, f'seat {seat}')} {record.start.bots[seat - 1].name[:_NAME]}{time}")
    where = place_of(at, len(record.plies)) + ("" if record.end else " so far")
    if not at.recorded:
        return [*lines, where + (f": {at.colour} {at.move}" if at.move else "")]
    return [*lines, where + "".join(f": {ply.colour} {ply.move}  {ply.ms / 1000:.3f} s" for ply in plies[-1:])]


def _colours(status: Reply | None) -> dict[int, str]:
    """The colour of each seat; {} if the engine does not say, as after the end of the game."""
    try:
        said = parse_status(status.text) if status and status.ok else None
    except EngineFailed:
        return {}
    return _both(said.seat, said.to_play) if said else {}


def _both(seat: int, colour: str) -> dict[int, str]:
    """The colours of both seats by that of one; {} for another colour."""
    other = {"black": "white", "white": "black"}.get(colour)
    return {seat: colour, 3 - seat: other} if other and seat in (1, 2) else {}


def _full_time(controls: tuple[str, str]) -> dict[int, int]:
    """The ms that each seat begins with, of those that have a limit."""
    try:
        read = {seat: TimeControl.parse(control) for seat, control in enumerate(controls, 1)}
    except ValueError:  # another referee's words
        return {}
    return {seat: one.main or one.period for seat, one in read.items() if one.kind is not ControlKind.NONE}


def bot_word(party: Party) -> str:
    """The word of a command line that starts a bot again under its name."""
    return party.command if party.command.partition(":")[0] == party.name else f"{party.name}={party.command}"
