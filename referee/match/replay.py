"""Replays of a record on one or two engines, to find the first ply that differs."""

import json
from collections.abc import Awaitable, Sequence
from typing import NamedTuple, TypeVar

from ggp.protocol.drawing import text
from ggp.protocol.drawing.scene import DrawingError, read_scene
from ggp.protocol.records import MatchStarted, MovePlayed, Record
from ggp.referee.match.engine import OVER, Engine, GameRefused, Status
from ggp.referee.match.outcome import BotFault, EngineFailed, Termination
from ggp.referee.match.setting import new_game
from ggp.referee.terminal import escape_unprintable


class Replayer:
    """A driver that takes an engine to positions of games with as few commands as possible."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._new_game = ""
        self._moves: list[tuple[str, str]] = []
        self._status: Status | None = None  # None: the position is unknown

    async def go_to(self, start: MatchStarted, plies: Sequence[MovePlayed], number: int) -> Status:
        """Go to the position after `number` plies, continuing from the previous position if possible.

        Args:
            start: The start of the match.
            plies: The plies of the match.
            number: The number of plies to play.

        Returns:
            The engine's status of the position.

        Raises:
            GameRefused: The engine refuses the game.
            BotFault: A move is illegal.
        """
        line, status = new_game(start.game, start.options), self._status
        moves = [(ply.colour, ply.move) for ply in plies[:number]]
        if status is None or line != self._new_game or self._moves != moves[: len(self._moves)]:
            self._status, self._new_game, self._moves = None, line, []
            status = await self._engine.new_game(line)
        for colour, move in moves[len(self._moves) :]:
            self._status = None
            _, status = await self._engine.play(colour, move)
            self._moves.append((colour, move))
        self._status = status
        return status

    def forget(self) -> None:
        """Forget the position, after another command has changed it."""
        self._status = None


T = TypeVar("T")
RECORD, ENGINE, OTHER = "record", "engine", "other"
"""Which side deviates: the record, our engine, or the other engine."""


class Deviation(NamedTuple):
    """The first difference between a record and its replay.

    `ply` is the ply that was being replayed; 0 means the start, None the end. `failed` means that the engine crashed,
    stopped answering or gave an invalid answer. `board` is the position before the ply, if an engine draws it.
    """

    who: str
    what: str
    ply: int | None
    failed: bool = False
    board: str = ""


class _DeviationFound(Exception):
    def __init__(self, who: str, what: str, ply: int | None, failed: bool = False) -> None:
        self.deviation = Deviation(who, escape_unprintable(what), ply, failed)


async def verify(record: Record, engine: Engine, other: Engine | None = None, deep: bool = False) -> Deviation | None:
    """Replay a record, and return the first deviation, or None.

    Every move must be legal, in its canonical form, and by the recorded seat and colour. A result by the rules must be
    the engine's, and so must the hash if the record is from the same version of this engine.

    Args:
        record: The record.
        engine: The engine that replays it.
        other: A second engine, which must agree on status and legal moves after each ply, and on history and score at
            the end.
        deep: Undo every ply afterwards, and check that each position is as it was before.
    """
    sides = [_Side(ENGINE, engine), *([_Side(OTHER, other)] if other else [])]
    try:
        await _replay(record, sides, deep)
    except _DeviationFound as apart:
        found = apart.deviation
        return found if found.failed else found._replace(board=await _board_before(record, found.ply, engine))
    return None


class _Side(NamedTuple):
    """One of the engines. Its failures are deviations, too."""

    who: str
    engine: Engine

    async def ask(self, question: Awaitable[T], ply: int | None) -> T:
        try:
            return await question
        except GameRefused as refused:
            raise _DeviationFound(self.who, f"{self.name} refuses the game: {refused}", 0) from None
        except EngineFailed as failure:
            said = str(failure)
            what = f"{self.name} {said.removeprefix('the engine ')}" if said.startswith("the engine ") else said
            raise _DeviationFound(self.who, what, ply, failed=True) from None

    @property
    def name(self) -> str:
        return "the engine" if self.who == ENGINE else "the other engine"

    @property
    def program(self) -> tuple[str, str]:
        return self.engine.party.program, self.engine.party.version


_Seen = tuple[Status, str]  # status and hash


async def _replay(record: Record, sides: list[_Side], deep: bool) -> None:
    begin = new_game(record.start.game, record.start.options)
    statuses = [await side.ask(side.engine.new_game(begin), 0) for side in sides]
    await _compare(sides, statuses, 0)
    trail = [await _look(sides, statuses, 0)] if deep else []
    for ply in record.plies:
        status, number = statuses[0], ply.ply
        if (ply.seat, ply.colour) != (status.seat, status.to_play):
            said = f"the record says seat {ply.seat} ({ply.colour}), the engine {_turn(status)}"
            raise _DeviationFound(RECORD, said, number)
        statuses = [await _play(side, ply.colour, ply.move, number) for side in sides]
        await _compare(sides, statuses, number)
        if deep:
            trail.append(await _look(sides, statuses, number))
    await _verify_end(record, sides, statuses[0])
    for at, side in enumerate(sides):
        if side.engine.lists("ggp-undo"):
            await _undo(side, [seen[at] for seen in trail])


async def _play(side: _Side, colour: str, move: str, number: int) -> Status:
    ours = side.who == ENGINE
    try:
        name, status = await side.ask(side.engine.play(colour, move), number)
    except BotFault as fault:
        said = f"the record says {move}, the engine: {fault}" if ours else f"{move}: {side.name} says {fault}"
        raise _DeviationFound(RECORD if ours else OTHER, said, number) from None
    if name != move:
        said = f"the record says {move}, the engine calls it {name}" if ours else f"{side.name} calls {move} {name}"
        raise _DeviationFound(RECORD if ours else OTHER, said, number)
    return status


async def _compare(sides: list[_Side], statuses: list[Status], number: int) -> None:
    """Compare the status and the legal moves of two engines."""
    if len(sides) < 2:
        return
    if statuses[0] != statuses[1]:
        said = f"the engine says {_turn(statuses[0])}, the other engine {_turn(statuses[1])}"
        raise _DeviationFound(OTHER, said, number)
    ours, theirs = [set(await side.ask(side.engine.legal_moves(), number)) for side in sides]
    differences = [
        f"legal for {side.name} only: {' '.join(sorted(more))[:200]}"
        for side, more in zip(sides, (ours - theirs, theirs - ours), strict=True)
        if more
    ]
    if differences:
        raise _DeviationFound(OTHER, "; ".join(differences), number)


async def _look(sides: list[_Side], statuses: list[Status], number: int) -> list[_Seen]:
    """Return the position of each engine. Engines of the same name and version must have the same hash."""
    hashes = [await side.ask(side.engine.hash(), number) for side in sides]
    if sides[0].program == sides[-1].program and hashes[0] != hashes[-1]:
        raise _DeviationFound(OTHER, f"the engine's hash is {hashes[0]}, the other engine's {hashes[-1]}", number)
    return list(zip(statuses, hashes, strict=True))


async def _undo(side: _Side, trail: list[_Seen]) -> None:
    """Undo all plies, the last one first, and check that each position is as it was."""
    for number in range(len(trail) - 1, 0, -1):
        found = await side.ask(side.engine.undo(), number), await side.ask(side.engine.hash(), number)
        if found != trail[number - 1]:
            both = (f"{_turn(status)}, hash {position or 'none'}" for status, position in (found, trail[number - 1]))
            raise _DeviationFound(side.who, f"after undo {side.name} is at {', but was at '.join(both)}", number)


async def _verify_end(record: Record, sides: list[_Side], status: Status) -> None:
    end, made_by = record.end, record.start.engine
    if len(sides) > 1:
        histories = [await side.ask(side.engine.history(), None) for side in sides]
        if histories[0] != histories[1]:
            raise _DeviationFound(OTHER, "the engines return different histories", None)
    finals = [await side.ask(side.engine.final(), None) for side in sides]
    _compare_scores([score for _, score in finals])
    if end is None:
        return
    if end.plies != len(record.plies):
        raise _DeviationFound(RECORD, f"the record claims {end.plies} plies, but holds {len(record.plies)}", None)
    by_rules = end.termination == Termination.RULES
    if by_rules and (end.result, end.winner) != (status.result, status.winner):
        said = status.result if status.phase == OVER else "that the game is not over"
        raise _DeviationFound(RECORD, f"the record says {end.result}, the engine says {said}", None)
    position = finals[0][0]
    if (made_by.program, made_by.version) == sides[0].program and end.hash and position != end.hash:
        raise _DeviationFound(RECORD, f"the record ends at hash {end.hash}, the engine at {position or 'none'}", None)


def _compare_scores(scores: list[str]) -> None:
    """Compare the totals of black and white, if both engines have a score."""
    if len(scores) < 2 or not all(scores):
        return
    try:
        ours, theirs = [[json.loads(score)[colour]["total"] for colour in ("black", "white")] for score in scores]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _DeviationFound(OTHER, "the other engine's ggp-score has a different form", None) from None
    if ours != theirs:
        said = f"the engine scores {ours[0]} to {ours[1]}, the other engine {theirs[0]} to {theirs[1]}"
        raise _DeviationFound(OTHER, said[:300], None)


async def _board_before(record: Record, number: int | None, engine: Engine) -> str:
    """Draw the position before this ply (None: the last position) on our engine; "" if it cannot be drawn."""
    try:
        before = len(record.plies) if number is None else max(0, number - 1)
        await Replayer(engine).go_to(record.start, record.plies, before)
        scene = await engine.scene()
        return text.draw(read_scene(scene)) if scene else ""
    except (EngineFailed, GameRefused, BotFault, DrawingError):
        return ""


def _turn(status: Status) -> str:
    return f"over, {status.result}" if status.result else f"seat {status.seat} ({status.to_play}), {status.phase}"
