"""Plays a record again on an engine, or on two, and says at which ply it comes out otherwise, and whose doing that is.

The chain is records' part; who is asked and what is printed, verify's.
"""

import json
from collections.abc import Awaitable
from typing import NamedTuple, TypeVar

from protocol.drawing import text
from protocol.drawing.scene import DrawingError, clean, read_scene
from protocol.records import Record
from referee.config import Setting
from referee.play.clock import Control, Kind
from referee.play.engine import OVER, Engine, GameRefused, Status
from referee.play.outcome import EngineFailed, Fault, Termination

T = TypeVar("T")
RECORD, ENGINE, OTHER = "record", "engine", "other"
"""Who departs: the record from the engine; our engine or the other, which failed or which the two cannot agree on."""


class Deviation(NamedTuple):
    """Where a match comes out otherwise. `ply` is the one that was being played, 0 for the start, None for the end.

    `failed`: that engine died, fell silent or spoke nonsense. `board` is the position before the ply, if anybody can
    draw it.
    """

    who: str
    what: str
    ply: int | None
    failed: bool = False
    board: str = ""


class _Apart(Exception):
    def __init__(self, who: str, what: str, ply: int | None, failed: bool = False) -> None:
        self.deviation = Deviation(who, clean(what), ply, failed)


async def verify(record: Record, engine: Engine, other: Engine | None = None, deep: bool = False) -> Deviation | None:
    """Where the record comes out otherwise; None if it does nowhere.

    Every move must be legal and come out in its canonical form, by the seat and colour that the record names;
    a result by the rules must be the engine's, and so must the hash if it is the same engine in the same version.
    With an `other` engine, both must agree after each ply on status and legal moves, and at the end on history and
    score. `deep`: every ply is taken back again, and each position must be the one that was there before.
    """
    sides = [_Side(ENGINE, engine), *([_Side(OTHER, other)] if other else [])]
    try:
        await _replay(record, sides, deep)
    except _Apart as apart:
        found = apart.deviation
        return found if found.failed else found._replace(board=await _board_before(record, found.ply, engine))
    return None


class _Side(NamedTuple):
    """One of the engines; what goes wrong with it is its own."""

    who: str
    engine: Engine

    async def ask(self, question: Awaitable[T], ply: int | None) -> T:
        try:
            return await question
        except GameRefused as refused:
            raise _Apart(self.who, f"{self.name} refuses the game: {refused}", 0) from None
        except EngineFailed as failure:
            said = str(failure).removeprefix("the engine ")
            raise _Apart(self.who, f"{self.name} {said}" if said != str(failure) else said, ply, failed=True) from None

    @property
    def name(self) -> str:
        return "the engine" if self.who == ENGINE else "the other engine"


async def _replay(record: Record, sides: list[_Side], deep: bool) -> None:
    start = record.start
    setting = Setting(start.game, start.options, {}, Control(Kind.NONE))  # nobody thinks here
    statuses = [await side.ask(side.engine.new_game(setting.new_game), 0) for side in sides]
    _compare(statuses, 0)
    if len(sides) > 1:
        await _compare_legal_moves(sides, 0)
    trail = [[await _seen(side, status, 0, deep) for side, status in zip(sides, statuses, strict=True)]]
    for ply in record.plies:
        status, number = statuses[0], ply.ply
        if (ply.seat, ply.colour) != (status.seat, status.to_play):
            said = f"the record says seat {ply.seat} ({ply.colour}), the engine {_turn(status)}"
            raise _Apart(RECORD, said, number)
        statuses = [await _play(side, ply.colour, ply.move, number) for side in sides]
        _compare(statuses, number)
        if len(sides) > 1:
            await _compare_legal_moves(sides, number)
        if deep:
            trail.append(
                [await _seen(side, status, number, deep) for side, status in zip(sides, statuses, strict=True)]
            )
            _compare_hashes(sides, trail[-1], number)
    await _verify_end(record, sides, statuses[0])
    if deep:
        await _take_back(sides, trail)


async def _play(side: _Side, colour: str, move: str, number: int) -> Status:
    ours = side.who == ENGINE
    try:
        name, status = await side.ask(side.engine.play(colour, move), number)
    except Fault as fault:
        said = f"the record says {move}, the engine: {fault}" if ours else f"{move}: {side.name} says {fault}"
        raise _Apart(RECORD if ours else OTHER, said, number) from None
    if name != move:
        said = f"the record says {move}, the engine calls it {name}" if ours else f"{side.name} calls {move} {name}"
        raise _Apart(RECORD if ours else OTHER, said, number)
    return status


def _compare(statuses: list[Status], number: int) -> None:
    ours, theirs = statuses[0], statuses[-1]
    if ours != theirs:
        raise _Apart(OTHER, f"the engine says {_turn(ours)}, the other engine {_turn(theirs)}", number)


async def _compare_legal_moves(sides: list[_Side], number: int) -> None:
    ours, theirs = [set(await side.ask(side.engine.legal_moves(), number)) for side in sides]
    said = [
        f"legal for {side.name} only: {' '.join(sorted(more))[:200]}"
        for side, more in zip(sides, (ours - theirs, theirs - ours), strict=True)
        if more
    ]
    if said:
        raise _Apart(OTHER, "; ".join(said), number)


async def _verify_end(record: Record, sides: list[_Side], status: Status) -> None:
    end, started_by, engine = record.end, record.start.engine, sides[0].engine
    if len(sides) > 1:
        histories = [await side.ask(side.engine.history(), None) for side in sides]
        if histories[0] != histories[1]:
            raise _Apart(OTHER, "the engines tell different histories", None)
    finals = [await side.ask(side.engine.final(), None) for side in sides]
    _compare_scores([score for _, score in finals])
    if end is None:
        return
    if end.plies != len(record.plies):
        raise _Apart(RECORD, f"the record says {end.plies} plies and holds {len(record.plies)}", None)
    by_rules = end.termination == Termination.RULES
    if by_rules and (end.result, end.winner) != (status.result, status.winner):
        said = status.result if status.phase == OVER else "that it is not over"
        raise _Apart(RECORD, f"the record says {end.result}, the engine {said}", None)
    same = (started_by.program, started_by.version) == (engine.party.program, engine.party.version)
    if same and end.hash and finals[0][0] != end.hash:
        raise _Apart(RECORD, f"the record ends at hash {end.hash}, the engine at {finals[0][0] or 'none'}", None)


def _compare_scores(scores: list[str]) -> None:
    """Where both know a score: the totals of black and white."""
    if len(scores) < 2 or not all(scores):
        return
    try:
        ours, theirs = [[json.loads(score)[colour]["total"] for colour in ("black", "white")] for score in scores]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _Apart(OTHER, "the other engine's ggp-score is not what it should be", None) from None
    if ours != theirs:
        raise _Apart(
            OTHER, f"the engine scores {ours[0]} to {ours[1]}, the other engine {theirs[0]} to {theirs[1]}"[:300], None
        )


async def _seen(side: _Side, status: Status, number: int, deep: bool) -> tuple[Status, str]:
    """What is to be there again when all later plies are taken back: the status, and the hash if it has one."""
    return status, await side.ask(side.engine.hash(), number) if deep else ""


def _compare_hashes(sides: list[_Side], seen: list[tuple[Status, str]], number: int) -> None:
    """Of engines that are the same in name and version."""
    one, two = sides[0].engine.party, sides[-1].engine.party
    if (one.program, one.version) == (two.program, two.version) and seen[0][1] != seen[-1][1]:
        raise _Apart(OTHER, f"the engine's hash is {seen[0][1]}, the other engine's {seen[-1][1]}", number)


async def _take_back(sides: list[_Side], trail: list[list[tuple[Status, str]]]) -> None:
    """Every ply, the last one first, on each engine that lists `ggp-undo`."""
    for at, side in enumerate(sides):
        for number in range(len(trail) - 1, 0, -1) if side.engine.lists("ggp-undo") else ():
            there = trail[number - 1][at]
            status = await side.ask(side.engine.undo(), number)
            if (found := await _seen(side, status, number, True)) != there:
                said = f"{_place(*found)}, where it was {_place(*there)}"
                raise _Apart(side.who, f"{side.name} takes it back and says {said}", number)


async def _board_before(record: Record, number: int | None, engine: Engine) -> str:
    """The position before this ply on our engine (None: the last one), "" if it cannot be drawn."""
    start = record.start
    try:
        await engine.new_game(Setting(start.game, start.options, {}, Control(Kind.NONE)).new_game)
        for ply in record.plies[: len(record.plies) if number is None else max(0, number - 1)]:
            await engine.play(ply.colour, ply.move)
        scene = await engine.scene()
        return text.draw(read_scene(scene)) if scene else ""
    except (EngineFailed, GameRefused, Fault, DrawingError):
        return ""


def _place(status: Status, position: str) -> str:
    return f"{_turn(status)}, hash {position or 'none'}"


def _turn(status: Status) -> str:
    return f"over, {status.result}" if status.result else f"seat {status.seat} ({status.to_play}), {status.phase}"
