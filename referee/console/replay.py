"""Replay of a recorded match on an engine: go to any ply, try other moves, return to the record.

Each step reads the engine's position first, so other commands may change it, or restart the engine, in between.
"""

import json
import shlex
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from protocol.drawing import text
from protocol.drawing.scene import DrawingError, read_scene
from protocol.messages import Reply
from protocol.records import MatchEnded, MovePlayed, Party, Record
from referee.archive.places import RecordSource
from referee.archive.show import list_moves
from referee.console.completion import BotWord
from referee.console.own_commands import OwnCommand, OwnFailed
from referee.play.bot_spec import BUILT_IN, HUMAN
from referee.play.clock import ControlKind, TimeControl
from referee.play.engine import Status, parse_status
from referee.play.outcome import EngineFailed
from referee.play.setting import new_game
from referee.terminal import clean

ANOTHER_GAME = "the engine has another game before it: :goto PLY returns to the match"

Ask = Callable[[str], Reply]


class ReplayPosition(NamedTuple):
    """The position of the engine: the plies before it, of which the first `ply` are the record's, and their colours.

    `known`: the engine has this match, and not another game.
    """

    moves: tuple[str, ...]
    ply: int
    known: bool = True
    colours: tuple[str, ...] = ()

    @property
    def aside(self) -> tuple[str, ...]:
        """The plies that are not the record's."""
        return self.moves[self.ply :]


class ReplayCursor:
    """Moves an engine to plies of a record. `ask` sends a line and waits for the reply; what it raises goes through.

    `again` reads the record again while its match is being played.
    """

    def __init__(self, record: Record, ask: Ask, again: Callable[[], Record | None] = lambda: None) -> None:
        self.record = record
        self._ask = ask
        self._again = again
        self._moves: tuple[str, ...] = ()  # where it was put last, for engines that keep no history
        self._game: object = None  # what the scene says of game and options

    @property
    def new_game(self) -> str:
        start = self.record.start
        return new_game(start.game, start.options)

    @property
    def last(self) -> int:
        """The number of plies, after a look at whether there are more."""
        record = self._again()
        # A rewritten file is another match; keep what was read of ours.
        if record is not None and record.plies[: len(self.record.plies)] == self.record.plies:
            self.record = record
        return len(self.record.plies)

    def where(self) -> ReplayPosition:
        """Ask the engine."""
        reply = self._ask("ggp-history")
        if not reply.ok and reply.text != "unknown command":
            return ReplayPosition((), 0, known=False)
        return self.see(reply, self._look())

    def see(self, history: Reply, seen: object) -> ReplayPosition:
        """The position by the answer to ggp-history, and the game of the scene (see facts_of_scene)."""
        lines = [line.split() for line in history.text.splitlines() if line.count(" ") == 2] if history.ok else []
        moves = tuple(move for _, _, move in lines) if history.ok else self._moves
        if self._game is None:  # another command began the game: compare at least its name
            known = not (isinstance(seen, list) and seen[0] not in (None, self.record.start.game))
        else:
            known = seen == self._game
        colours = tuple(colour for _, colour, _ in lines)
        return ReplayPosition(moves, _common(moves, self._recorded()), known, colours)

    def coloured(self, at: ReplayPosition) -> list[tuple[str, str]]:
        """Colour and move of every ply before this position."""
        colours = at.colours or tuple(ply.colour for ply in self.record.plies)
        return list(zip(colours, at.moves, strict=False))

    def goto(self, ply: int) -> Status:
        """Go to a ply of the record; negative ones count from the end, -1 is the last."""
        last = self.last
        number = ply if ply >= 0 else last + 1 + ply
        if not 0 <= number <= last:
            raise OwnFailed(f"there is no ply {ply}: the match has the plies 0 to {last}", code="no-ply")
        return self._put(self._recorded()[:number])

    def back(self, count: int) -> Status:
        """Go back by plies of the record or of the tried moves."""
        at = self._here()
        if not 1 <= count <= len(at.moves):
            raise OwnFailed(f"only {len(at.moves)} plies precede this, so {count} cannot be taken back", code="no-ply")
        return self._put(at.moves[:-count])

    def forward(self, count: int) -> Status:
        """Go forward by plies of the record, at most to its end."""
        at, last = self._here(), self.last
        if at.aside:
            raise OwnFailed(f"off the record after ply {at.ply}: :goto {at.ply} returns to it", code="off-record")
        if at.ply == last:
            raise OwnFailed(f"ply {last} is the last" + ("" if self.record.end else " so far"), code="last-ply")
        if count < 1:
            raise OwnFailed(f":forward {count}: write a number of plies from 1 on", code="usage")
        return self._put(self._recorded()[: min(at.ply + count, last)])

    def why(self, move: str) -> str:
        """Why a move is illegal here, "" if it is legal; the move is tried if the engine gives no reasons."""
        reply = self._ask(f"ggp-legal {move}")
        if reply.ok:
            legal, _, reason = reply.text.partition(" ")
            return "" if legal == "true" else reason or "the engine gives no reason"
        if reply.text != "unknown command":
            raise OwnFailed(f"the engine answers: {reply.text}", code="engine-refused")
        at, status = self._here(), self.status()
        reply = self._ask(f"ggp-play {status.to_play} {move}")
        if reply.ok:
            self._moves = (*at.moves, move)
            self._put(at.moves)
        return "" if reply.ok else reply.text

    def status(self) -> Status:
        """The status of the position."""
        return self._read(self._ask("ggp-status"))

    def caption(self) -> str:
        """The position in a line."""
        at = self.where()
        if not at.known:
            return ANOTHER_GAME
        last = self.last
        ply = self.record.plies[at.ply - 1] if at.ply else None
        text = f"ply {at.ply} of {last}" + (f": {ply.colour} {ply.move}" if ply else "")
        if at.aside:
            return f"off the record after {text}; then {' '.join(at.aside)}"
        return text if at.ply < last or self.record.end else f"{text}, the last so far"

    # -- moving the engine -----------------------------------------------------------------------------------

    def _here(self) -> ReplayPosition:
        at = self.where()
        if not at.known:
            raise OwnFailed(ANOTHER_GAME, code="another-game")
        return at

    def _put(self, moves: tuple[str, ...]) -> Status:
        """Undo as few plies as possible if the engine can, else play all from the start."""
        at = self.where()
        common = _common(at.moves, moves)
        status = None
        if at.known and self._game is not None:
            undone = len(at.moves) - common
            reply = self._ask(f"ggp-undo {undone}") if undone else self._ask("ggp-status")
            status = self._read(reply) if reply.ok else None
        if status is None:
            status, common = self._read(self._ask(self.new_game)), 0
            self._game = self._look()
        for number, move in enumerate(moves[common:], common + 1):
            reply = self._ask(f"ggp-play {status.to_play} {move}")
            if not reply.ok:
                reason = f"the engine does not take ply {number}, {status.to_play} {move}: {reply.text}"
                raise OwnFailed(reason, code="ply-refused")
            self._moves = moves[:number]
            status = self._read(Reply(True, reply.text.partition(" ")[2]))
        self._moves = moves
        return status

    def _recorded(self) -> tuple[str, ...]:
        return tuple(ply.move for ply in self.record.plies)

    def _look(self) -> object:
        return facts_of_scene(self._ask("ggp-scene"))

    def _read(self, reply: Reply) -> Status:
        if not reply.ok:
            raise OwnFailed(f"the engine answers: {reply.text}", code="engine-refused")
        try:
            return parse_status(reply.text)
        except EngineFailed as error:
            raise OwnFailed(str(error), code=error.code) from None


def facts_of_scene(reply: Reply | None) -> object:
    """Game and options of the engine's scene, "" without a scene."""
    try:
        scene = json.loads(reply.text) if reply and reply.ok else {}
        return [scene.get("game"), scene.get("options")]
    except (ValueError, AttributeError, RecursionError):
        return ""


def _common(one: tuple[str, ...], two: tuple[str, ...]) -> int:
    """The number of plies that both begin with."""
    count = 0
    for left, right in zip(one, two, strict=False):
        if left != right:
            break
        count += 1
    return count


# -- replay commands --------------------------------------------------------------------------------------------------


Beside = Callable[[], tuple[str, ...]]

_OFTEN = 0.2  # seconds between looks at a match that is being played
_WIDTH = 100


def rows(
    cursor: ReplayCursor, source: RecordSource, ask: Ask, show: Callable[[str], None], beside: Beside = tuple
) -> list[OwnCommand]:
    """The commands of a replay. `show` prints before a command ends; `beside`: lines below each position of :live."""

    def step(move: Callable[[int], Status], usage: str, default: int | None = None) -> Callable[[list[str]], str]:
        def run(words: list[str]) -> str:
            move(_number(words, usage, default))
            return cursor.caption()

        return run

    def moves(words: list[str]) -> str:
        if words:
            return "\n".join(_ply(cursor, _number(words, "moves PLY")))
        at, last = cursor.where(), cursor.last
        return list_moves(cursor.record.plies[:last], at.ply, _width())

    def info(words: list[str]) -> str:
        cursor.last  # noqa: B018  (it looks whether there is more)
        return "\n".join(map(clean, [*_told(cursor.record), "", cursor.caption()]))

    def why(words: list[str]) -> str:
        if len(words) != 1:
            raise OwnFailed("write :why MOVE", code="usage")
        reason = cursor.why(words[0])
        return clean(f"{words[0]} is illegal: {reason}" if reason else f"{words[0]} is legal")

    def live(words: list[str]) -> str:
        def look() -> None:
            show("\n".join([_board(ask), *beside()]))

        return _follow(cursor, source, look, show)

    back, forward, goto = (
        step(cursor.back, "back N", 1),
        step(cursor.forward, "forward N", 1),
        step(cursor.goto, "goto PLY"),
    )
    return [
        OwnCommand("back [N]", "N plies back (1), of the match or of what was tried", back, changes=True),
        OwnCommand("forward [N]", "N plies of the match on (1)", forward, changes=True),
        OwnCommand("goto PLY", "to a ply of the match; 0 is the start, -1 the last", goto, changes=True),
        OwnCommand("moves [PLY]", "the plies of the match; one with its time and analysis", moves, kinds="PLAYED"),
        OwnCommand("info", "players, clocks, result, diagnostics of a fault", info),
        OwnCommand("why MOVE", "why a move is illegal here", why, changes=True),
        OwnCommand("score", "the score of the position, and what it is made of", lambda words: _score(ask)),
        OwnCommand("live", "follow the match while it is played; Ctrl-C ends that", live, changes=True),
    ]


def _number(words: list[str], usage: str, default: int | None = None) -> int:
    if not words and default is not None:
        return default
    try:
        (word,) = words
        return int(word[:10])
    except ValueError:
        raise OwnFailed(f"write :{usage}, a number", code="usage") from None


def _ply(cursor: ReplayCursor, number: int) -> Iterator[str]:
    last = cursor.last
    number = number if number >= 0 else last + 1 + number
    if not 1 <= number <= last:
        raise OwnFailed(f"the match has the plies 1 to {last}", code="no-ply")
    ply = cursor.record.plies[number - 1]
    yield clean(line_of(ply) + (f", {ply.left / 1000:.3f} s left" if ply.left is not None else ""))
    if ply.analysis:
        yield from analysis_lines(ply.analysis)


def line_of(ply: MovePlayed) -> str:
    """`17 black D5  0.412 s`."""
    return clean(f"{ply.ply} {ply.colour} {ply.move}  {ply.ms / 1000:.3f} s")


def analysis_lines(analysis: str) -> list[str]:
    """A line for each member of the JSON object; the text itself if it is none."""
    try:
        said = json.loads(analysis)
    except (ValueError, RecursionError):
        said = analysis
    if not isinstance(said, dict):
        return textwrap.wrap(clean(str(said)), _WIDTH)[:20]
    lines = []
    for name, value in list(said.items())[:20]:
        shown = " ".join(map(str, value)) if isinstance(value, list) else str(value)
        lines += textwrap.wrap(clean(f"{name}: {shown}"), _WIDTH, subsequent_indent="  ")[:10]
    return lines


def _width() -> int:
    """Columns of lists and texts: at most those of the terminal."""
    return min(_WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else _WIDTH


def _told(record: Record) -> list[str]:
    """All of the record but the plies, a line for each fact, then what a fault left behind."""
    from referee.ladder.queries import diagnostics

    start, end, names = record.start, record.end, [bot.name for bot in record.start.bots]
    game = " ".join([start.game, *(f"{name}={value}" for name, value in start.options.items())])
    lines = [f"match {start.match}: {game}, time control {start.control}"]
    for seat, bot in enumerate(start.bots, 1):
        how = bot.command or bot.program
        ms = sum(ply.ms for ply in record.plies if ply.seat == seat)
        lines.append(
            f"seat {seat}: {bot.name}{f' ({how})' if how not in ('', bot.name) else ''}, {ms / 1000:.3f} s used"
        )
    lines += [f"opening: {' '.join(start.opening)}"] if start.opening else []
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


def _score(ask: Ask) -> str:
    reply = ask("ggp-score")
    if not reply.ok:
        raise OwnFailed(f"the engine answers: {reply.text}", code="engine-refused")
    try:
        said = json.loads(reply.text)
        lines = []
        for colour in ("black", "white"):
            parts = {name: value for name, value in said[colour].items() if name != "total"}
            total = said[colour].get("total")
            made = ", ".join(f"{name} {value}" for name, value in parts.items())
            lines.append(f"{colour}: {'-' if total is None else total}" + (f" ({made})" if made else ""))
        return "\n".join(map(clean, [*lines, *([] if said.get("final") else ["the game is not over"])]))
    except (ValueError, KeyError, AttributeError, TypeError):
        return clean(reply.text)


def _follow(cursor: ReplayCursor, source: RecordSource, look: Callable[[], None], show: Callable[[str], None]) -> str:
    """Show each new ply and the position until the match ends or is dropped, or Ctrl-C."""
    seen = cursor.last
    if not source.playing():
        cursor.goto(-1)
        return f"{_ending(cursor)}; {cursor.caption()}"
    cursor.goto(seen)
    look()
    playing = True
    try:
        while playing:
            time.sleep(_OFTEN)
            playing = source.playing()  # asked first, so that the read after the end is complete
            last = cursor.last
            for ply in cursor.record.plies[seen:last]:
                show(line_of(ply))
            if last > seen:
                cursor.goto(last)
                look()
            seen = last
    except KeyboardInterrupt:
        return cursor.caption()
    return f"{_ending(cursor)}; {cursor.caption()}"


def _ending(cursor: ReplayCursor) -> str:
    end = cursor.record.end
    if end is None:
        return "the match was dropped before its end"
    return clean(f"the match is over: {end.result or 'void'}, {end.termination}")


def _board(ask: Ask) -> str:
    """The position in text, "" if the engine does not describe it."""
    reply = ask("ggp-scene")
    if not reply.ok:
        return ""
    try:
        return text.draw(read_scene(reply.text), _WIDTH)
    except DrawingError as error:
        return f"the engine's board cannot be drawn: {error}"


# -- caption and completion of a match --------------------------------------------------------------------------------


HISTORY, STATUS = "ggp-history", "ggp-status"
_NAME = 16  # characters of a bot's name


class MatchCaption:
    """Captions and completions for the match of a replay, by the record that was read last."""

    def __init__(self, cursor: ReplayCursor) -> None:
        self._cursor = cursor

    def lines(self, history: Reply | None, status: Reply | None, scene: Reply | None) -> tuple[str, ...]:
        """A line for each side, and the position; None: the engine was not asked."""
        if history is None or not history.ok:
            return ()
        at = self._cursor.see(history, facts_of_scene(scene))
        if not at.known:
            return ("another game than the match",)
        return tuple(map(clean, caption(self._cursor.record, at, _colours(status))))

    def ask(self, ask: Ask) -> tuple[str, ...]:
        """Ask the engine, then the same."""
        return self.lines(ask(HISTORY), ask(STATUS), ask("ggp-scene"))

    @property
    def of(self) -> str:
        """The game and the bots."""
        start = self._cursor.record.start
        return clean(f"{start.game}, {' against '.join(party.name[:_NAME] for party in start.bots)}")

    def plies(self) -> tuple[str, ...]:
        """The ply before each position of the match, from the start on."""
        return ("the start", *(clean(f"{ply.colour} {ply.move}") for ply in self._cursor.record.plies))

    def bots(self) -> tuple[BotWord, ...]:
        """Bots that a command can name: built-in ones, those of the match, a human."""
        known = {name: BotWord(name, name, "built in") for name in BUILT_IN}
        for seat, party in enumerate(self._cursor.record.start.bots, 1):
            if party.command and party.command != HUMAN:
                bot = BotWord(shlex.quote(_word(party)), _word(party), clean(f"seat {seat} of the match"))
                known[bot.word] = bot
        return (*known.values(), BotWord(HUMAN, HUMAN, "you, at this terminal", human=True))


def caption(record: Record, at: ReplayPosition, colours: dict[int, str]) -> list[str]:
    """`black one  9.882 s left` for each side, then `ply 17 of 63: black D5  0.412 s`; `colours` by seat, if known."""
    plies = record.plies[: at.ply]
    near = record.plies[at.ply : at.ply + 1] or plies[-1:]  # whose turn it is, or was at last
    for ply in near if not colours else ():
        colours = _both(ply.seat, ply.colour)
    left = _full_time(record.start.control)
    left |= {ply.seat: ply.left for ply in plies if ply.left is not None}
    lines = []
    for seat in sorted((1, 2), key=lambda seat: colours.get(seat, "")):
        time = f"  {left[seat] / 1000:.3f} s left" if seat in left else ""
        lines.append(f"{colours.get(seat, f'seat {seat}')} {record.start.bots[seat - 1].name[:_NAME]}{time}")
    where = f"ply {at.ply} of {len(record.plies)}" + ("" if record.end else " so far")
    if at.aside:
        return [*lines, f"off the record after {where}"]
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


def _full_time(control: str) -> dict[int, int]:
    """The ms that each seat begins with; {} without a limit."""
    try:
        read = TimeControl.parse(control)
    except ValueError:  # another referee's words
        return {}
    return {} if read.kind is ControlKind.NONE else dict.fromkeys((1, 2), read.main or read.period)


def _word(party: Party) -> str:
    """The word of a command line that starts a bot again under its name."""
    return party.command if party.command.partition(":")[0] == party.name else f"{party.name}={party.command}"
