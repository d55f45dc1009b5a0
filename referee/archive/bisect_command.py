"""`ggp bisect RECORD --good BOT --bad BOT`: reads the command line, starts who is asked, says where they part."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from textwrap import indent
from typing import Any

import click

from protocol.drawing.scene import clean
from protocol.printed import without_password
from protocol.records import Record
from protocol.transports.blocking import run_blocking
from referee.archive.bisect import Judge, Said, first_changed, first_departure, first_difference, look_closer
from referee.archive.places import open_match
from referee.archive.reading import started
from referee.archive.walker import Answer, Walker
from referee.command_line import HELP, run_command
from referee.config import Budgets, Setting
from referee.play.clock import FORMS, Control
from referee.play.engine import Engine, GameRefused
from referee.play.outcome import CannotStart, EngineFailed
from referee.play.seating import Start
from referee.play.series import seeds_of
from referee.play.words import read_bot, read_engine

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
The exit status is 0 if they never part; 1 if they do; 2 for a command line that cannot be.
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
        limits = Control.parse(control)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    source = open_match(record)
    found = source.record
    first = source.ply if source.place.ply is not None else 0
    starts = [read_bot(bot) for bot in ([replay] if replay else [str(good), *between, str(bad)])]
    seeds = _read_seed(seed, found)
    job = _Job(without_password(source.place.source), found, first, seat, seeds, limits, starts, quiet)
    try:
        result = run_blocking(job.run(engine))
    except CannotStart as error:
        raise click.ClickException(f"{error.who}: {error}") from None
    except (EngineFailed, GameRefused) as error:
        raise click.ClickException(clean(str(error))) from None
    click.echo(json.dumps(result) if as_object else "\n".join(_told(result)))
    return 1 if result["ply"] else 0


@dataclass
class _Job:
    """What was asked for."""

    file: str
    record: Record
    first: int  # plies that are only told
    seat: str
    seeds: tuple[int, int] | None  # by seat
    control: Control
    starts: list[Start]
    quiet: bool
    walkers: list[Walker] = field(default_factory=list)

    async def run(self, engine_word: str | None) -> dict[str, Any]:
        """The result as a JSON object."""
        engine = await started(read_engine(engine_word))
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
        """The turns of the seat that somebody chose."""
        skip = max(self.first, len(self.record.start.opening))
        return [ply.ply for ply in self.record.plies[skip:] if ply.seat == seat]

    async def _setting(self, engine: Engine) -> Setting:
        start = self.record.start
        if start.game not in await engine.games():
            raise GameRefused(f"the engine knows no {start.game}; name one that does with --engine")
        return Setting(start.game, start.options, await engine.options(start.game), self.control)

    async def _in_seat(self, seat: int, setting: Setting, judge: Judge, plies: list[int]) -> dict[str, Any]:
        seed = self.seeds[seat - 1] if self.seeds else None
        walkers = [Walker(start, self.record, setting, seed, self.control, Budgets()) for start in self.starts]
        self.walkers += walkers
        one, last = walkers[0], walkers[-1]
        with _progress(self.quiet, f"seat {seat}", len(plies)) as seen:
            if one is last:
                ply, *answers = await first_departure(judge, self.record, one, plies, seen)
            else:
                ply, *answers = await first_difference(judge, one, last, plies, seen)
            result: dict[str, Any] = {"ply": ply, "asked": len(answers[0])}
            if ply:
                result |= await self._at(ply, seat, seed, judge, walkers, plies, answers, seen)
        for walker in walkers:
            await walker.close()
        return result

    async def _at(
        self,
        ply: int,
        seat: int,
        seed: int | None,
        judge: Judge,
        walkers: list[Walker],
        plies: list[int],
        answers: list[list[Answer]],
        seen: Callable[[], None],
    ) -> dict[str, Any]:
        """All about the ply at which they part."""
        there = self.record.plies[ply - 1]
        bots = []
        for walker, said in zip((walkers[0], walkers[-1]), answers, strict=False):
            closer = await look_closer(judge, self.record, walker, plies, said)
            bots.append({"bot": walker.start.command, "seeded": walker.seeded, **_as_json(closer)})
        result: dict[str, Any] = {
            "plies": len(self.record.plies),
            "seat": seat,
            "colour": there.colour,
            "recorded": there.move,
            "seed": seed,
            "answers": bots,
            "board": await judge.board(ply),
            "place": f"{self.file}#{self.record.start.match}@{ply - 1}",
        }
        if len(walkers) > 2:
            upto = [number for number in plies if number <= ply]
            changed, asked = await first_changed(judge, walkers, upto, answers[0][-1], seen)
            result["first_changed"] = walkers[changed].start.command
            result["versions"] = [{"bot": walkers[at].start.command, "move": asked[at].said} for at in sorted(asked)]
        return result


def _as_json(said: Said) -> dict[str, Any]:
    return {
        "move": said.answer.said,
        "analysis": said.answer.analysis,
        "recorded": said.recorded,
        "illegal": said.illegal,
        "again": said.again.said,
        "alone": said.alone.said,
        "by_chance": said.by_chance,
    }


def _told(result: dict[str, Any]) -> Iterator[str]:
    """The result for people."""
    bots = result.get("answers", [])
    if not result["ply"]:
        who = "it plays what the record says" if len(result["bots"]) == 1 else "they answer alike"
        yield clean(f"{result['file']}#{result['match']}: {who}, all {result['asked']} times")
        return
    what = "the answers differ" if len(bots) > 1 else "it does not play what the record says"
    who = f"seat {result['seat']}, {result['colour']}"
    yield clean(f"{result['file']}#{result['match']}: ply {result['ply']} of {result['plies']} ({who}): {what}")
    if result["board"]:
        yield "\n" + indent(result["board"], "    ") + "\n"
    yield clean(f"recorded: {result['recorded']}")
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
        yield clean(f"version:  {version['bot']}: {version['move']}")
    if "first_changed" in result:
        yield clean(f"The first version that answers otherwise: {result['first_changed']}")
    yield clean(f"Look at it: ggp show {result['place']}, ggp console --match {result['place']}")


def _told_of(name: str, bot: dict[str, Any], seed: int | None) -> Iterator[str]:
    notes = ["as recorded"] if bot["recorded"] else []
    notes += [bot["illegal"]] if bot["illegal"] else []
    notes += [f"set up here alone: {bot['alone']}"] if bot["alone"] != bot["move"] else []
    yield clean(f"{name} {bot['move']}" + (f" ({'; '.join(notes)})" if notes else ""))
    if bot["analysis"]:
        yield clean(f"          {bot['analysis'][:_CUT]}")
    if bot["by_chance"]:
        told = bot["seeded"] and seed is not None
        cure = (
            "do its limits follow the clock?" if told else "it was told no seed: give it one, by --seed or its options"
        )
        yield f"          by chance: led there again it answered otherwise at ply {bot['by_chance']} ({cure})"
    elif not bot["seeded"]:
        yield "          it lists no set_random_seed, and answered the same twice"


def _read_seed(word: str, record: Record) -> tuple[int, int] | None:
    if word in ("match", "none"):
        return seeds_of(record.start.match) if word == "match" else None
    if not (word.isascii() and word.isdigit() and len(word) <= 10 and int(word) < 2**31):
        raise click.UsageError(f"--seed {word}: write a number below {2**31}, none, or match")
    return int(word), int(word)


@contextmanager
def _progress(quiet: bool, what: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar on stderr, where it is seen."""
    if quiet or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)
