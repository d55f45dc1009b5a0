"""`ggp bisect`: the first ply of a recorded match at which two versions of a bot answer differently.

The plies are asked in order: equal answers at one ply say nothing about the plies before it. Versions are bisected,
which assumes that a change stays.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from textwrap import indent
from typing import Any, NamedTuple

import click

from ggp.protocol.drawing import text
from ggp.protocol.drawing.scene import DrawingError, read_scene
from ggp.protocol.printed import without_password
from ggp.protocol.records import Record
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.command_line import HELP, run_command
from ggp.referee.match.analysis import analysis_line
from ggp.referee.match.bot_spec import BotSpec, knowing, read_bot, read_engine
from ggp.referee.match.clock import FORMS, Clock, TimeControl
from ggp.referee.match.engine import Engine, GameRefused, start_engine
from ggp.referee.match.match import read_move
from ggp.referee.match.options import sandbox_option
from ggp.referee.match.outcome import BotFault, CannotStart, EngineFailed, Termination
from ggp.referee.match.player import SEED, Player, start_bot
from ggp.referee.match.sandbox.levels import Level, Sandbox
from ggp.referee.match.sandbox.machine import check_level
from ggp.referee.match.series import seeds_of
from ggp.referee.match.setting import Setting, Timeouts
from ggp.referee.terminal import escape_unprintable, progress_bar
from ggp.referee.tools.archive.places import how_to_name_engine, open_match

# -- One bot that follows a recorded match and is asked for its moves.


class BotAnswer(NamedTuple):
    """A bot's answer in a position: a move (or `resign`), or the fault instead."""

    move: str = ""
    analysis: str = ""
    fault: str = ""

    @property
    def said(self) -> str:
        return self.move or f"({self.fault})"


class BotReplayer:
    """A bot in one seat of a record. Close it in the end."""

    def __init__(
        self,
        start: BotSpec,
        record: Record,
        setting: Setting,
        seed: int | None,
        control: TimeControl,
        budgets: Timeouts,
    ) -> None:
        self.start = start
        self.seeded = False  # whether it takes a seed
        self._record, self._setting, self._seed = record, setting, seed
        self._control, self._budgets = control, budgets
        self._player: Player | None = None
        self._known = -1  # plies of its game; -1: it has none

    async def started(self) -> Player:
        """Raises CannotStart."""
        if self._player is None:
            self._player = await start_bot(self.start, self._budgets)
            self.seeded = SEED in self._player.commands
            self._known = -1
        return self._player

    async def begin(self) -> None:
        """Go back to before the first ply: with the same seed, else in a new process."""
        self._known = -1
        if self._seed is None or not self.seeded:
            await self.close()

    async def ask(self, number: int) -> BotAnswer:
        """Its answer for ply `number` (from 1), after the recorded ones. Raises CannotStart."""
        player, plies = await self.started(), self._record.plies
        ply = plies[number - 1]
        try:
            if self._known < 0:
                await player.new_game(self._setting, self._seed)
                self._known = 0
            for told in plies[self._known : number - 1]:
                player.tell(told.colour, told.move)
            mine, other = (self._clock(seat, number) for seat in (ply.seat, 3 - ply.seat))
            reply, _ = await player.genmove(ply.colour, mine, other)
            move, analysis = read_move(reply, player.analyses)
        except BotFault as fault:
            return await self._failed(fault)
        self._known = number if move.casefold() == ply.move.casefold() else -1
        return BotAnswer(move, analysis)

    async def close(self) -> None:
        if self._player is not None:
            await self._player.peer.stop()
            self._player = None

    async def _failed(self, fault: BotFault) -> BotAnswer:
        if fault.termination is Termination.RESIGNATION:
            self._known = -1
            return BotAnswer("resign")
        if self._player is not None:
            await self._player.peer.stop(kill=True)
            self._player = None
        return BotAnswer(fault=f"{fault.termination}: {fault}")

    def _clock(self, seat: int, number: int) -> Clock:
        """The clock of a seat before the ply, by the times of the record."""
        clock = self._control.clock()
        for ply in self._record.plies[: number - 1]:
            if ply.seat == seat:
                clock.spend(ply.ms)
        return clock


class Judge:
    """Compares answers with the help of the engine."""

    def __init__(self, record: Record, engine: Engine) -> None:
        self._record, self._engine = record, engine

    async def same(self, number: int, one: BotAnswer, two: BotAnswer) -> bool:
        """Whether they are the same move of ply `number`, or the same kind of failure."""
        if one.move.casefold() == two.move.casefold():
            return one.move != "" or one.fault.partition(":")[0] == two.fault.partition(":")[0]
        if not one.move or not two.move or "resign" in (one.move.casefold(), two.move.casefold()):
            return False
        (name, wrong), (other, wrong_too) = await self.read(number, one.move), await self.read(number, two.move)
        return not wrong and not wrong_too and name == other

    async def read(self, number: int, move: str) -> tuple[str, str]:
        """The canonical form of the move, and the engine's reason against it ("" for a legal one)."""
        await self._lead(number)
        ply = self._record.plies[number - 1]
        try:
            name, _ = await self._engine.play(ply.colour, move)
        except BotFault as fault:
            return move, str(fault)
        return name, ""

    async def board(self, number: int) -> str:
        """The position before the ply, "" if it cannot be drawn."""
        await self._lead(number)
        try:
            scene = await self._engine.scene()
            return text.draw(read_scene(scene)) if scene else ""
        except DrawingError:
            return ""

    async def _lead(self, number: int) -> None:
        try:
            await self._engine.replay(self._record, number - 1)
        except BotFault as fault:
            raise EngineFailed(f"the record before ply {number}: {fault}; see ggp verify") from None


async def first_difference(
    judge: Judge, record: Record, bots: Sequence[BotReplayer], plies: Sequence[int], seen: Callable[[], None]
) -> tuple[int, list[list[BotAnswer]]]:
    """The first of these plies at which the two bots answer differently, or one bot does not play the recorded move.

    0 for none; and the answers of each bot up to there.
    """
    answers: list[list[BotAnswer]] = [[] for _ in bots]
    for number in plies:
        for bot, given in zip(bots, answers, strict=True):
            given.append(await bot.ask(number))
        seen()
        other = answers[1][-1] if len(bots) > 1 else BotAnswer(record.plies[number - 1].move)
        if not await judge.same(number, answers[0][-1], other):
            return number, answers
    return 0, answers


async def look_closer(
    judge: Judge, record: Record, bot: BotReplayer, plies: Sequence[int], answers: list[BotAnswer]
) -> dict[str, Any]:
    """What is known of a bot's last answer, as a JSON object. `answers`: those of the first time.

    `recorded`: it is what was played. `illegal`: the engine's reason, "" for a legal move. `again`: the answer when
    the bot was led there a second time; `by_chance`: the ply at which that time differed from the first, 0 for none.
    `alone`: the answer in a new game that was set up to there.
    """
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
    resigns = answer.move.lower() in ("", "resign")
    return {
        "bot": bot.start.command,
        "seeded": bot.seeded,
        "move": answer.said,
        "analysis": answer.analysis,
        "recorded": await judge.same(number, answer, BotAnswer(record.plies[number - 1].move)),
        "illegal": "" if resigns else (await judge.read(number, answer.move))[1],
        "again": again.said,
        "alone": alone.said,
        "by_chance": by_chance,
    }


async def first_changed(
    judge: Judge, versions: Sequence[BotReplayer], plies: Sequence[int], good: BotAnswer, seen: Callable[[], None]
) -> tuple[int, dict[int, BotAnswer]]:
    """Of versions in their order, the first of which answers `good` at the last of these plies and the last does not:
    the index of the first that does not, found by halving, and the answers that it took."""
    low, high = 0, len(versions) - 1
    asked: dict[int, BotAnswer] = {}
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


# -- `ggp bisect RECORD --good BOT --bad BOT`.


_CUT = 200  # characters of an analysis that are shown
EPILOGUE = f"""\b
RECORD is FILE, FILE#MATCH (else the first match), or with @PLY: begin after that ply.
BOT    is a built-in, a command line in quotes, or tcp://host:port, as in ggp match.
--time is {FORMS.partition(", 600")[0]} …; as long as a bot likes by default.
       With a control its clock stands as it stood in the match.

\b
Both get the seed that a ladder gives for this match, if they know set_random_seed. In
`ggp match` bots get none: repeat such a match with --seed none. What still differs from
one time to the next is found out and said: such answers prove nothing.

\b
The exit status is 0 if they never part; 1 if they do; 2 for a usage error.
"""


def main(argv: list[str]) -> int:
    """The exit status."""
    return run_command(bisect, "ggp bisect", argv)


@click.command("bisect", epilog=EPILOGUE, context_settings=HELP)
@click.argument("record", metavar="RECORD")
@click.option("--good", metavar="BOT", help="The version before.")
@click.option("--bad", metavar="BOT", help="The version after.")
@click.option("--version", "between", metavar="BOT", multiple=True, help="A version between them; in their order.")
@click.option("--check-replay", "replay", metavar="BOT", help="Instead: does BOT play the recorded moves again?")
@click.option("--seat", type=click.Choice(["1", "2", "both"]), default="both", show_default=True, help="Whose turns.")
@click.option("--seed", default="match", metavar="N", help="A seed for all, none, or what follows from the match.")
@click.option("--time", "control", default="none", metavar="CONTROL", help="Time control.")
@click.option("--engine", metavar="COMMAND|URL", help="Who knows the game: a command line, or tcp://host:port.")
@sandbox_option("each bot")
@click.option("--json", "as_object", is_flag=True, help="The result as one JSON object on stdout.")
@click.option("--quiet", is_flag=True, help="No progress.")
def bisect(
    record: str,
    good: str | None,
    bad: str | None,
    between: tuple[str, ...],
    replay: str | None,
    seat: str,
    seed: str,
    control: str,
    engine: str | None,
    sandbox: Level,
    as_object: bool,
    quiet: bool,
) -> int:
    """Find the first ply of a match at which two versions of a bot answer differently.

    Both are led through the recorded positions and asked at each turn of the seat. Where they part, both are led there
    a second time, and set up there in a new game. With --version the first version that answers otherwise is found.
    """
    if replay and (good or bad or between):
        raise click.UsageError("--check-replay asks one bot: leave out --good, --bad and --version")
    if not replay and not (good and bad):
        raise click.UsageError("two versions are compared: --good BOT and --bad BOT (or --check-replay BOT)")
    try:
        limits = TimeControl.parse(control)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    source = open_match(record)
    found = source.record
    first = source.ply if source.place.ply is not None else 0
    words = [replay] if replay else [str(good), *between, str(bad)]
    check_level(sandbox, words[0])
    starts = [replace(knowing(read_bot(bot), read_engine(engine)), sandbox=Sandbox(sandbox)) for bot in words]
    seeds = _read_seed(seed, found)
    job = _Job(without_password(source.place.source), found, first, seat, seeds, limits, starts, quiet)
    try:
        result = run_blocking(job.run(engine))
    except CannotStart as error:
        raise click.ClickException(f"{error.who}: {error}") from None
    except (EngineFailed, GameRefused) as error:
        raise click.ClickException(escape_unprintable(str(error))) from None
    click.echo(json.dumps(result) if as_object else "\n".join(_told(result)))
    return 1 if result["ply"] else 0


@dataclass
class _Job:
    """What was asked for."""

    file: str
    record: Record
    first: int  # plies that are replayed only
    seat: str
    seeds: tuple[int, int] | None  # by seat
    control: TimeControl
    starts: list[BotSpec]
    quiet: bool
    walkers: list[BotReplayer] = field(default_factory=list)

    async def run(self, engine_word: str | None) -> dict[str, Any]:
        """The result as a JSON object."""
        engine = await start_engine(read_engine(engine_word))
        try:
            setting = await self._setting(engine)
            judge = Judge(self.record, engine)
            best: dict[str, Any] | None = None
            asked = 0
            for seat in (1, 2) if self.seat == "both" else (int(self.seat),):
                plies = [number for number in self._plies(seat) if best is None or number < best["ply"]]
                found = await self._in_seat(seat, setting, judge, plies)
                asked += found.pop("asked")
                best = found if found["ply"] else best
            head = {"file": self.file, "match": self.record.start.match, "asked": asked}
            none = {"ply": 0, "plies": len(self.record.plies), "bots": [start.command for start in self.starts]}
            return {**head, **(best or none)}
        finally:
            for walker in self.walkers:
                await walker.close()
            await engine.peer.stop()

    def _plies(self, seat: int) -> list[int]:
        """The turns of the seat that a bot chose."""
        skip = max(self.first, len(self.record.start.opening))
        return [ply.ply for ply in self.record.plies[skip:] if ply.seat == seat]

    async def _setting(self, engine: Engine) -> Setting:
        start = self.record.start
        if start.game not in await engine.games():
            raise GameRefused(f"the engine knows no {start.game}; {how_to_name_engine(start)}")
        return Setting(start.game, start.options, await engine.options(start.game), self.control)

    async def _in_seat(self, seat: int, setting: Setting, judge: Judge, plies: list[int]) -> dict[str, Any]:
        seed = self.seeds[seat - 1] if self.seeds else None
        walkers = [BotReplayer(start, self.record, setting, seed, self.control, Timeouts()) for start in self.starts]
        self.walkers += walkers
        done = count(1)
        with progress_bar(f"seat {seat}", not self.quiet) as progress:

            def seen() -> None:
                progress(next(done), len(plies))

            bots = (walkers[0], walkers[-1])[: len(walkers)]
            ply, answers = await first_difference(judge, self.record, bots, plies, seen)
            result: dict[str, Any] = {"ply": ply, "asked": len(answers[0])}
            if ply:
                closer = [
                    await look_closer(judge, self.record, bot, plies, given)
                    for bot, given in zip(bots, answers, strict=True)
                ]
                result |= {"seat": seat, "seed": seed, "answers": closer, **await self._at(ply, judge)}
                if len(walkers) > 2:
                    upto = [number for number in plies if number <= ply]
                    changed, asked = await first_changed(judge, walkers, upto, answers[0][-1], seen)
                    result["first_changed"] = walkers[changed].start.command
                    result["versions"] = [
                        {"bot": walkers[at].start.command, "move": asked[at].said} for at in sorted(asked)
                    ]
        for walker in walkers:
            await walker.close()
        return result

    async def _at(self, ply: int, judge: Judge) -> dict[str, Any]:
        """The position at which they differ."""
        there = self.record.plies[ply - 1]
        return {
            "plies": len(self.record.plies),
            "colour": there.colour,
            "recorded": there.move,
            "board": await judge.board(ply),
            "place": f"{self.file}#{self.record.start.match}@{ply - 1}",
        }


def _told(result: dict[str, Any]) -> Iterator[str]:
    """The result for people."""
    bots = result.get("answers", [])
    if not result["ply"]:
        who = "it plays what the record says" if len(result["bots"]) == 1 else "they answer alike"
        yield escape_unprintable(f"{result['file']}#{result['match']}: {who}, all {result['asked']} times")
        return
    what = "the answers differ" if len(bots) > 1 else "it does not play what the record says"
    who = f"seat {result['seat']}, {result['colour']}"
    yield escape_unprintable(
        f"{result['file']}#{result['match']}: ply {result['ply']} of {result['plies']} ({who}): {what}"
    )
    if result["board"]:
        yield "\n" + indent(result["board"], "    ") + "\n"
    yield escape_unprintable(f"recorded: {result['recorded']}")
    for name, bot in zip(("good", "bad") if len(bots) > 1 else ("bot",), bots, strict=True):
        yield from _told_of(f"{name}:".ljust(9), bot, result["seed"])
    if len(bots) > 1 and not any(bot["by_chance"] for bot in bots):
        same = bots[0]["alone"] == bots[1]["alone"]
        yield (
            "It takes what came before: set up here alone, they answer alike."
            if same
            else "It is so in this position alone, too."
        )
    for version in result.get("versions", ()):
        yield escape_unprintable(f"version:  {version['bot']}: {version['move']}")
    if "first_changed" in result:
        yield escape_unprintable(f"The first version that answers otherwise: {result['first_changed']}")
    yield escape_unprintable(f"Look at it: ggp show {result['place']}, ggp console --match {result['place']}")


def _told_of(name: str, bot: dict[str, Any], seed: int | None) -> Iterator[str]:
    notes = ["as recorded"] if bot["recorded"] else []
    notes += [bot["illegal"]] if bot["illegal"] else []
    notes += [f"set up here alone: {bot['alone']}"] if bot["alone"] != bot["move"] else []
    yield escape_unprintable(f"{name} {bot['move']}" + (f" ({'; '.join(notes)})" if notes else ""))
    if said := analysis_line(bot["analysis"], _CUT):
        yield f"          {said}"
    if bot["by_chance"]:
        told = bot["seeded"] and seed is not None
        cure = "do its limits follow the clock?" if told else "it got no seed: give it one, by --seed or its options"
        yield f"          by chance: led there again it answered otherwise at ply {bot['by_chance']} ({cure})"
    elif not bot["seeded"]:
        yield "          it lists no set_random_seed, and answered the same twice"


def _read_seed(word: str, record: Record) -> tuple[int, int] | None:
    if word in ("match", "none"):
        return seeds_of(record.start.match) if word == "match" else None
    if not (word.isascii() and word.isdigit() and len(word) <= 10 and int(word) < 2**31):
        raise click.UsageError(f"--seed {word}: write a number below {2**31}, none, or match")
    return int(word), int(word)
