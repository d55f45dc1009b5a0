"""The console's commands for going through a match: back, forward, what happened, why not, and how it grows.

Going on from a position with bots is branch's part.
"""

import json
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator

from protocol.drawing import text
from protocol.drawing.scene import DrawingError, clean, read_scene
from protocol.records import MatchEnded, MovePlayed, Record
from referee.archive.places import Source
from referee.archive.show import list_moves
from referee.console.journey import Ask, Journey
from referee.console.own import Own, OwnFailed, Word

Beside = Callable[[], tuple[str, ...]]

_OFTEN = 0.2  # seconds between looks at a match that is being played
_WIDTH = 100


def rows(journey: Journey, source: Source, ask: Ask, show: Callable[[str], None], beside: Beside = tuple) -> list[Own]:
    """`show` prints what is to be seen before a command has ended; `beside`: what is said of each position shown."""

    def goto(words: list[str]) -> str:
        journey.goto(_number(words, "goto", "PLY"))
        return journey.caption()

    def back(words: list[str]) -> str:
        journey.back(_number(words, "back", "N", 1))
        return journey.caption()

    def forward(words: list[str]) -> str:
        journey.forward(_number(words, "forward", "N", 1))
        return journey.caption()

    def moves(words: list[str]) -> str:
        if words:
            return "\n".join(_ply(journey, _number(words, "moves", "PLY")))
        at, last = journey.where(), journey.last
        return list_moves(journey.record.plies[:last], at.ply, _width())

    def info(words: list[str]) -> str:
        _none(words, "info")
        journey.last  # noqa: B018  (it looks whether there is more)
        return "\n".join(map(clean, [*_told(journey.record), "", journey.caption()]))

    def why(words: list[str]) -> str:
        if len(words) != 1:
            raise OwnFailed("write :why MOVE")
        reason = journey.why(words[0])
        return clean(f"{words[0]} is illegal: {reason}" if reason else f"{words[0]} is legal")

    def score(words: list[str]) -> str:
        _none(words, "score")
        return _score(ask)

    def live(words: list[str]) -> str:
        _none(words, "live")

        def look() -> None:
            show("\n".join([_board(ask), *beside()]))

        return _follow(journey, source, look, show)

    ply, move = (Word.PLY,), (Word.MOVE,)
    return [
        Own("back", "[N]", "N plies back (1), of the match or of what was tried", back, changes=True),
        Own("forward", "[N]", "N plies of the match on (1)", forward, changes=True),
        Own("goto", "PLY", "to a ply of the match; 0 is the start, -1 the last", goto, ply, changes=True),
        Own("moves", "[PLY]", "the plies of the match; one with its time and analysis", moves, (Word.PLAYED,)),
        Own("info", "", "who plays, under what clock, the result, what a fault left behind", info),
        Own("why", "MOVE", "why a move is illegal here", why, move, changes=True),
        Own("score", "", "the score of the position, and what it is made of", score),
        Own("live", "", "follow the match while it is played; Ctrl-C ends that", live, changes=True),
    ]


def _number(words: list[str], name: str, what: str, default: int | None = None) -> int:
    if not words and default is not None:
        return default
    try:
        (word,) = words
        return int(word[:10])
    except ValueError:
        raise OwnFailed(f"write :{name} {what}, a number") from None


def _none(words: list[str], name: str) -> None:
    if words:
        raise OwnFailed(f"write :{name} alone")


def _ply(journey: Journey, number: int) -> Iterator[str]:
    last = journey.last
    number = number if number >= 0 else last + 1 + number
    if not 1 <= number <= last:
        raise OwnFailed(f"the match has the plies 1 to {last}")
    ply = journey.record.plies[number - 1]
    yield clean(line_of(ply) + (f", {ply.left / 1000:.3f} s left" if ply.left is not None else ""))
    if ply.analysis:
        yield from analysis_lines(ply.analysis)


def line_of(ply: MovePlayed) -> str:
    """`17 black D5  0.412 s`."""
    return clean(f"{ply.ply} {ply.colour} {ply.move}  {ply.ms / 1000:.3f} s")


def analysis_lines(analysis: str) -> list[str]:
    """A line for each thing that a bot says of its move; as it stands if it is no JSON object."""
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
    """Columns of what is made to fit: those of the terminal, if it has fewer."""
    return min(_WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else _WIDTH


def _told(record: Record) -> list[str]:
    """All that the record says but the plies: sentences, then what a fault left behind."""
    from referee.ladder.views.game import diagnostics  # which reads what only ladders have

    text = clean(
        " ".join([*_of_the_start(record), *(_of_the_end(record, record.end) if record.end else _unfinished())])
    )
    left = diagnostics(record.end) if record.end else []
    return [*textwrap.wrap(text, _width(), break_long_words=False, break_on_hyphens=False), *left]


def _of_the_start(record: Record) -> Iterator[str]:
    start = record.start
    game = " ".join([start.game, *(f"{name}={value}" for name, value in start.options.items())])
    time = "without a clock" if start.control == "none" else f"with {start.control} on the clock"
    yield f"Match {start.match} is {game}, {time}."
    for seat, bot in enumerate(start.bots, 1):
        how = bot.command or bot.program
        ms = sum(ply.ms for ply in record.plies if ply.seat == seat)
        yield f"Seat {seat} is {bot.name}{f' ({how})' if how not in ('', bot.name) else ''} and used {ms / 1000:.3f} s."
    if start.opening:
        yield f"The opening {' '.join(start.opening)} was given."


def _unfinished() -> Iterator[str]:
    yield "It has no end."


def _of_the_end(record: Record, end: MatchEnded) -> Iterator[str]:
    names = [bot.name for bot in record.start.bots]
    plies = f"after {end.plies} {'ply' if end.plies == 1 else 'plies'}"
    how = _ENDINGS.get(end.termination, f" by {end.termination.replace('_', ' ')}")
    when = f" on {end.ended[:10]} at {end.ended[11:19]} UTC" if end.ended else ""
    if not end.result:
        yield f"It is void{how} {plies}{when}."
    elif end.winner:
        yield f"{names[end.winner - 1]} won {end.result}{how} {plies}{when}."
    else:
        yield f"It was drawn{how} {plies}{when}."
    if end.culprit:
        seat = end.culprit.removeprefix("seat")
        yield f"The fault was that of {names[int(seat) - 1] if seat.isdigit() else f'the {end.culprit}'}."
    if end.detail:
        yield f"{end.detail[:1].upper()}{end.detail[1:]}."
    if end.score:
        yield f"The score was {_totals(end.score)}."
    if end.suspect:
        yield "An answer waited for this machine: the game counts, but a loss by time may be no fault of the bot."
    for warning in end.warnings:
        yield f"Warning: {warning}."


_ENDINGS = {
    "rules": "",
    "illegal_move": " by an illegal move",
    "refused": " by a refused genmove",
    "rejects_legal_move": " by a legal move that was rejected",
    "time": " on time",
    "stalled": " by an answer that never came",
    "disconnected": " by a disconnection",
    "protocol_error": " by a protocol error",
    "ply_limit": " at the limit of plies",
    "engine_failed": " by a failure of the engine",
}


def _totals(score: str) -> str:
    """`black 12, white 7` of an answer to ggp-score; as it stands if it says no totals."""
    try:
        said = json.loads(score)
        totals = [(colour, said[colour]["total"]) for colour in ("black", "white")]
    except (ValueError, KeyError, TypeError, RecursionError):
        return score
    return ", ".join(f"{colour} {total}" for colour, total in totals) if totals[0][1] is not None else score


def _score(ask: Ask) -> str:
    reply = ask("ggp-score")
    if not reply.ok:
        raise OwnFailed(f"the engine answers: {reply.text}")
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


def _follow(journey: Journey, source: Source, look: Callable[[], None], show: Callable[[str], None]) -> str:
    """Show each ply as it comes, and the position; until the match ends, is dropped, or Ctrl-C."""
    seen = journey.last
    if not source.playing():
        journey.goto(-1)
        return f"{_ending(journey)}; {journey.caption()}"
    journey.goto(seen)
    look()
    playing = True
    try:
        while playing:
            time.sleep(_OFTEN)
            playing = source.playing()  # asked first: what is read after it ended is all of it
            last = journey.last
            for ply in journey.record.plies[seen:last]:
                show(line_of(ply))
            if last > seen:
                journey.goto(last)
                look()
            seen = last
    except KeyboardInterrupt:
        return journey.caption()
    return f"{_ending(journey)}; {journey.caption()}"


def _ending(journey: Journey) -> str:
    end = journey.record.end
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
