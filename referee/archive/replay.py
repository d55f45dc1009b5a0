"""Plays a record again on an engine, or on two, and says where it comes out otherwise. The chain is records' part."""

from protocol.records import Record
from referee.config import Setting
from referee.play.clock import Control, Kind
from referee.play.engine import Engine, GameRefused, Status
from referee.play.outcome import EngineFailed, Fault, Termination


async def verify(record: Record, engine: Engine, other: Engine | None = None) -> str:
    """What is wrong with the record in one line, "" if nothing is.

    Every move must be legal and come out in its canonical form, by the seat and colour that the record names;
    a result by the rules must be the engine's, and so must the hash if it is the same engine in the same version.
    With an `other` engine, both must agree after each ply on status and legal moves, and at the end on history.
    """
    try:
        return await _verify(record, engine, other)
    except GameRefused as refused:
        return f"the engine refuses the game: {refused}"
    except EngineFailed as failure:
        return str(failure)


async def _verify(record: Record, engine: Engine, other: Engine | None) -> str:
    start = record.start
    setting = Setting(start.game, start.options, {}, Control(Kind.NONE))  # nobody thinks here
    status = await engine.new_game(setting.new_game)
    if other is not None and (apart := _apart(status, await other.new_game(setting.new_game))):
        return f"at the start: {apart}"
    for ply in record.plies:
        if (ply.seat, ply.colour) != (status.seat, status.to_play):
            return f"ply {ply.ply}: the record says seat {ply.seat} ({ply.colour}), the engine {_turn(status)}"
        try:
            move, status = await engine.play(ply.colour, ply.move)
        except Fault as fault:
            return f"ply {ply.ply}: {fault}"
        if move != ply.move:
            return f"ply {ply.ply}: the record says {ply.move}, the engine calls it {move}"
        if other is not None and (apart := await _compare(engine, status, other, ply.colour, ply.move)):
            return f"ply {ply.ply}: {apart}"
    if other is not None and await engine.history() != await other.history():
        return "the engines tell different histories"
    return await _verify_end(record, engine, status)


async def _verify_end(record: Record, engine: Engine, status: Status) -> str:
    end, started_by = record.end, record.start.engine
    if end is None:
        return "the record has no end"
    if end.plies != len(record.plies):
        return f"the record says {end.plies} plies and holds {len(record.plies)}"
    by_rules = end.termination == Termination.RULES
    if by_rules and (end.result, end.winner) != (status.result, status.winner):
        return f"the record says {end.result}, the engine {status.result or 'that it is not over'}"
    same = (started_by.program, started_by.version) == (engine.party.program, engine.party.version)
    if same and end.hash:
        position, _ = await engine.final()
        if position != end.hash:
            return f"the record ends at hash {end.hash}, the engine at {position}"
    return ""


async def _compare(engine: Engine, status: Status, other: Engine, colour: str, move: str) -> str:
    """How the other engine departs after this ply, "" if it does not."""
    try:
        name, theirs = await other.play(colour, move)
    except Fault as fault:
        return f"the other engine says {fault}"
    if name != move:
        return f"the other engine calls {move} {name}"
    if apart := _apart(status, theirs):
        return apart
    ours, legal = set(await engine.legal_moves()), set(await other.legal_moves())
    if ours != legal:
        return f"legal for one engine only: {' '.join(sorted(ours ^ legal))[:200]}"
    return ""


def _apart(status: Status, theirs: Status) -> str:
    return "" if status == theirs else f"the engine says {_turn(status)}, the other {_turn(theirs)}"


def _turn(status: Status) -> str:
    return f"over, {status.result}" if status.result else f"seat {status.seat} ({status.to_play}), {status.phase}"
