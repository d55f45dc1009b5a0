"""One match of a ladder: its facts, what a fault left behind, and which commands go on from there."""

from typing import TYPE_CHECKING, Any

from protocol.printed import json_text, without_password
from protocol.records import MatchEnded, Record, read_records
from referee.ladder.views.sheet import clean, say
from referee.ladder.views.source import Trouble, ViewError

if TYPE_CHECKING:
    from referee.store.store import Store


def show_game(store: "Store", key: str, ladder: str, as_object: bool) -> int:
    """The exit status. ViewError if there is no such match."""
    record = read_game(store, key)
    if as_object:
        say(json_text(_as_json(record)))
        return 0
    say(*map(clean, [*facts(record), *(diagnostics(record.end) if record.end else ()), *_next(key, ladder)]))
    return 0


def read_game(store: "Store", key: str) -> Record:
    """The record of a match, its chain checked. ViewError if there is none, Trouble if it is damaged."""
    data = store.record(key)
    if data is None:
        raise ViewError(f"there is no match {key!r}: ggp ladder games lists them")
    return read_one(data, key)


def read_one(lines: bytes, key: str) -> Record:
    """A stored record, its chain checked. Trouble if it is damaged."""
    try:
        (record,) = read_records(lines.splitlines(keepends=True))
    except ValueError as error:  # RecordError, or another number of matches
        raise Trouble(f"the record of {clean(key)} is not whole: {clean(str(error))}") from None
    return record


def diagnostics(end: MatchEnded) -> list[str]:
    """The last lines of dialogue, the exit status and stderr, as far as a fault left them."""
    left = end.diagnostics
    if left is None:
        return []
    lines = ["dialogue:", *(f"  {line}" for line in left.dialogue)] if left.dialogue else []
    lines += [f"exit: {left.exit}"] if left.exit else []
    lines += ["stderr:", *(f"  {line}" for line in left.stderr.splitlines())] if left.stderr else []
    return lines


def used(record: Record) -> tuple[int, int]:
    """ms of seat 1 and seat 2."""
    first, second = (sum(ply.ms for ply in record.plies if ply.seat == seat) for seat in (1, 2))
    return first, second


def facts(record: Record) -> list[str]:
    start, end = record.start, record.end
    game = " ".join([start.game, *(f"{name}={value}" for name, value in start.options.items())])
    lines = [f"match        {start.match}", f"game         {game}, time {start.control}"]
    for seat, (bot, ms) in enumerate(zip(start.bots, used(record), strict=True), 1):
        lines.append(f"seat {seat}       {bot.name} ({bot.command or bot.program}), {ms / 1000:.3f} s used")
    if start.opening:
        lines.append(f"opening      {' '.join(start.opening)}")
    if end is None:
        return [*lines, "it has no end"]
    winner = f", won by {start.bots[end.winner - 1].name}" if end.winner else ""
    lines += [f"result       {end.result or 'void'}{winner}", f"termination  {end.termination}"]
    if end.culprit:
        blamed = end.culprit.removeprefix("seat")
        lines.append(f"at fault     {start.bots[int(blamed) - 1].name if blamed.isdigit() else end.culprit}")
    for name, value in (("detail", end.detail), ("score", end.score), ("ended", end.ended)):
        lines += [f"{name:<12} {value}"] if value else []
    lines.append(f"plies        {end.plies}")
    if end.suspect:
        lines.append(
            "suspect      an answer waited for this machine: the game counts, but a loss by time may be no fault"
        )
    return lines + [f"warning      {warning}" for warning in end.warnings]


def _next(key: str, ladder: str) -> list[str]:
    place = f"{without_password(ladder)}#{key}"
    return [
        "",
        f"ggp show {place}      draws it",
        f"ggp verify {place}    plays it again",
    ]


def _as_json(record: Record) -> dict[str, Any]:
    """Start and end as they stand in the record, and the time used."""
    import msgspec

    return {
        "start": msgspec.to_builtins(record.start),
        "end": msgspec.to_builtins(record.end),
        "ms": list(used(record)),
    }
