"""Where two versions of a bot part in a recorded match, and which of several versions was the first to part.

Plies are gone through one after another: that two bots answer alike at one ply says nothing of the plies before it, so
there is nothing to halve. Versions are halved, on the assumption of every bisection that what changed stays changed.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from protocol.drawing import text
from protocol.drawing.scene import DrawingError, read_scene
from protocol.records import Record
from referee.archive.walker import Answer, Walker
from referee.config import Setting
from referee.play.clock import Control, Kind
from referee.play.engine import Engine
from referee.play.outcome import EngineFailed, Fault

Seen = Callable[[], None]


class Said(NamedTuple):
    """One bot's answer at the ply in question, and what is known of it.

    `recorded`: it is what was played. `illegal`: the engine's reason, "" for a legal move. `again`: the answer when
    the bot was led there a second time. `alone`: the answer in a new game that was set up to there.
    """

    answer: Answer
    recorded: bool
    illegal: str
    again: Answer
    alone: Answer
    by_chance: int = 0  # the ply at which the second time was otherwise than the first, 0 for none


class Judge:
    """The engine that says whether two answers are one move."""

    def __init__(self, record: Record, engine: Engine) -> None:
        self._record, self._engine = record, engine

    async def same(self, number: int, one: Answer, two: Answer) -> bool:
        """Whether they are the same move of ply `number`, or the same kind of failure."""
        if one.move.casefold() == two.move.casefold():
            return one.move != "" or one.fault.partition(":")[0] == two.fault.partition(":")[0]
        if not one.move or not two.move or "resign" in (one.move.casefold(), two.move.casefold()):
            return False
        (name, wrong), (other, wrong_too) = await self.read(number, one.move), await self.read(number, two.move)
        return not wrong and not wrong_too and name == other

    async def read(self, number: int, move: str) -> tuple[str, str]:
        """What the engine calls the move there, and its reason against it ("" for a legal one)."""
        await self._lead(number)
        ply = self._record.plies[number - 1]
        try:
            name, _ = await self._engine.play(ply.colour, move)
        except Fault as fault:
            return move, str(fault)
        return name, ""

    async def board(self, number: int) -> str:
        """The position before the ply, "" if nobody can draw it."""
        await self._lead(number)
        try:
            scene = await self._engine.scene()
            return text.draw(read_scene(scene)) if scene else ""
        except DrawingError:
            return ""

    async def _lead(self, number: int) -> None:
        start = self._record.start
        await self._engine.new_game(Setting(start.game, start.options, {}, Control(Kind.NONE)).new_game)
        for ply in self._record.plies[: number - 1]:
            try:
                await self._engine.play(ply.colour, ply.move)
            except Fault as fault:
                raise EngineFailed(f"ply {ply.ply} of the record: {fault}; see ggp verify") from None


async def first_difference(
    judge: Judge, good: Walker, bad: Walker, plies: Sequence[int], seen: Seen
) -> tuple[int, list[Answer], list[Answer]]:
    """The first of these plies at which they answer otherwise, 0 for none; and all answers up to there."""
    ours: list[Answer] = []
    theirs: list[Answer] = []
    for number in plies:
        ours.append(await good.ask(number))
        theirs.append(await bad.ask(number))
        seen()
        if not await judge.same(number, ours[-1], theirs[-1]):
            return number, ours, theirs
    return 0, ours, theirs


async def first_departure(
    judge: Judge, record: Record, bot: Walker, plies: Sequence[int], seen: Seen
) -> tuple[int, list[Answer]]:
    """The first of these plies at which the bot does not play what the record says, 0 for none; its answers."""
    answers: list[Answer] = []
    for number in plies:
        answers.append(await bot.ask(number))
        seen()
        if not await judge.same(number, answers[-1], Answer(record.plies[number - 1].move)):
            return number, answers
    return 0, answers


async def look_closer(judge: Judge, record: Record, bot: Walker, plies: Sequence[int], answers: list[Answer]) -> Said:
    """Lead the bot there a second time, and set it up there; does it say the same? `answers` of the first time."""
    number, answer = plies[len(answers) - 1], answers[-1]
    await bot.begin()
    by_chance, again = 0, answer
    for at, before in zip(plies, answers, strict=False):
        again = await bot.ask(at)
        if not await judge.same(at, before, again):
            by_chance = at
            break
    await bot.begin()
    alone = await bot.ask(number)
    illegal = (await judge.read(number, answer.move))[1] if answer.move and answer.move.lower() != "resign" else ""
    recorded = await judge.same(number, answer, Answer(record.plies[number - 1].move))
    return Said(answer, recorded, illegal, again, alone, by_chance)


async def first_changed(
    judge: Judge, versions: Sequence[Walker], plies: Sequence[int], good: Answer, seen: Seen
) -> tuple[int, dict[int, Answer]]:
    """Of versions in their order, of which the first answers `good` at the last of these plies and the last does not:
    the index of the first that does not, found by halving, and what was asked on the way."""
    low, high = 0, len(versions) - 1
    asked: dict[int, Answer] = {}
    while high - low > 1:
        middle = (low + high) // 2
        for number in plies:
            asked[middle] = await versions[middle].ask(number)
        seen()
        await versions[middle].close()
        if await judge.same(plies[-1], asked[middle], good):
            low = middle
        else:
            high = middle
    return high, asked
