"""`ggp verify FILE…`: reads the records of files, has each played again and shows what came out otherwise."""

import json
import os
from collections import Counter, deque
from collections.abc import Awaitable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from queue import SimpleQueue
from textwrap import indent
from typing import Any, NamedTuple, TypeVar

import click

from ggp.protocol.drawing import text
from ggp.protocol.drawing.scene import DrawingError, read_scene
from ggp.protocol.printed import without_password
from ggp.protocol.records import Record
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.command_line import BAD_USAGE, HELP, run_command
from ggp.referee.match.bot_spec import BotSpec, confined_engine, read_engine
from ggp.referee.match.engine import OVER, Engine, GameRefused, Status, start_engine
from ggp.referee.match.options import sandbox_option
from ggp.referee.match.outcome import BotFault, EngineFailed, Termination
from ggp.referee.match.sandbox.levels import Level, Sandbox
from ggp.referee.match.sandbox.machine import check_level
from ggp.referee.match.setting import Timeouts, new_game
from ggp.referee.terminal import escape_unprintable, progress_bar
from ggp.referee.tools.archive.places import how_to_name_engine, open_matches

# -- Plays a record again on one or two engines, and finds the first ply that differs.


T = TypeVar("T")
RECORD, ENGINE, OTHER = "record", "engine", "other"
"""What deviates: the record from the engine, our engine, or the other one."""


class Deviation(NamedTuple):
    """Where a match comes out otherwise. `ply` is the one that was being played, 0 for the start, None for the end.

    `failed`: that engine died, stopped answering or gave an invalid answer. `board` is the position before the ply,
    if an engine draws it.
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
    """The first deviation from the record, None if there is none.

    Every move must be legal and in its canonical form, by the seat and colour that the record names; a result by the
    rules must be the engine's, and so must the hash if it is the same engine in the same version. With an `other`
    engine, both must agree after each ply on status and legal moves, and at the end on history and score. `deep`:
    every ply is undone again, and each position must be the one that was there before.
    """
    sides = [_Side(ENGINE, engine), *([_Side(OTHER, other)] if other else [])]
    try:
        await _replay(record, sides, deep)
    except _DeviationFound as apart:
        found = apart.deviation
        return found if found.failed else found._replace(board=await _board_before(record, found.ply, engine))
    return None


class _Side(NamedTuple):
    """One of the engines. Its failures are deviations of its own."""

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


_Seen = tuple[Status, str]  # and the hash


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
    """Two engines by their status and their legal moves."""
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
    """The position of each engine. Engines of the same name and version must have the same hash."""
    hashes = [await side.ask(side.engine.hash(), number) for side in sides]
    if sides[0].program == sides[-1].program and hashes[0] != hashes[-1]:
        raise _DeviationFound(OTHER, f"the engine's hash is {hashes[0]}, the other engine's {hashes[-1]}", number)
    return list(zip(statuses, hashes, strict=True))


async def _undo(side: _Side, trail: list[_Seen]) -> None:
    """Undo every ply of the trail, the last one first; each position must be as it was."""
    for number in range(len(trail) - 1, 0, -1):
        found = await side.ask(side.engine.undo(), number), await side.ask(side.engine.hash(), number)
        if found != trail[number - 1]:
            both = (f"{_turn(status)}, hash {position or 'none'}" for status, position in (found, trail[number - 1]))
            raise _DeviationFound(side.who, f"{side.name} undoes it and says {', where it was '.join(both)}", number)


async def _verify_end(record: Record, sides: list[_Side], status: Status) -> None:
    end, made_by = record.end, record.start.engine
    if len(sides) > 1:
        histories = [await side.ask(side.engine.history(), None) for side in sides]
        if histories[0] != histories[1]:
            raise _DeviationFound(OTHER, "the engines tell different histories", None)
    finals = [await side.ask(side.engine.final(), None) for side in sides]
    _compare_scores([score for _, score in finals])
    if end is None:
        return
    if end.plies != len(record.plies):
        raise _DeviationFound(RECORD, f"the record says {end.plies} plies and holds {len(record.plies)}", None)
    by_rules = end.termination == Termination.RULES
    if by_rules and (end.result, end.winner) != (status.result, status.winner):
        said = status.result if status.phase == OVER else "that it is not over"
        raise _DeviationFound(RECORD, f"the record says {end.result}, the engine {said}", None)
    position = finals[0][0]
    if (made_by.program, made_by.version) == sides[0].program and end.hash and position != end.hash:
        raise _DeviationFound(RECORD, f"the record ends at hash {end.hash}, the engine at {position or 'none'}", None)


def _compare_scores(scores: list[str]) -> None:
    """The totals of black and white, where both engines know a score."""
    if len(scores) < 2 or not all(scores):
        return
    try:
        ours, theirs = [[json.loads(score)[colour]["total"] for colour in ("black", "white")] for score in scores]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _DeviationFound(OTHER, "the other engine's ggp-score has another form", None) from None
    if ours != theirs:
        said = f"the engine scores {ours[0]} to {ours[1]}, the other engine {theirs[0]} to {theirs[1]}"
        raise _DeviationFound(OTHER, said[:300], None)


async def _board_before(record: Record, number: int | None, engine: Engine) -> str:
    """The position before this ply on our engine (None: the last one), "" if it cannot be drawn."""
    try:
        await engine.replay(record, len(record.plies) if number is None else max(0, number - 1))
        scene = await engine.scene()
        return text.draw(read_scene(scene)) if scene else ""
    except (EngineFailed, GameRefused, BotFault, DrawingError):
        return ""


def _turn(status: Status) -> str:
    return f"over, {status.result}" if status.result else f"seat {status.seat} ({status.to_play}), {status.phase}"


# -- Verifies many records at a time, each on its own engine processes, and reports in order.


_WAITING = 4  # records a job that are read ahead
_WORTH = 8  # matches for which one more engine is worth its start
_MOST_FAILURES = 10  # after which an engine is not started again


class VerifiedMatch(NamedTuple):
    """A match of a file, and its deviation, if any."""

    file: str
    match: str
    deviation: Deviation | None


class Checker:
    """Owns the engines. `for checked in checker.all(records)`, then close()."""

    def __init__(
        self, ours: BotSpec, other: BotSpec | None, jobs: int, deep: bool, budgets: Timeouts | None = None
    ) -> None:
        self._specs = {ENGINE: ours, **({OTHER: other} if other else {})}
        self._jobs, self._deep = jobs, deep
        self._budgets = budgets or Timeouts()
        self._engine_pairs: list[_EnginePair] = []
        self._free: SimpleQueue[_EnginePair] = SimpleQueue()
        self._threads = ThreadPoolExecutor(jobs)
        try:
            self._add_engines()  # a program that cannot start is an error at once
        except BaseException:
            self.close()
            raise

    def all(self, records: Iterable[tuple[str, Record]]) -> Iterator[VerifiedMatch]:
        """Raises ClickException when an engine fails again and again."""
        pending: deque[Future[VerifiedMatch]] = deque()
        for number, (file, record) in enumerate(records, 1):
            if len(self._engine_pairs) < min(self._jobs, 1 + number // _WORTH):
                self._add_engines()  # here, in the thread that outlives them all
            pending.append(self._threads.submit(self._check, file, record))
            if len(pending) >= _WAITING * self._jobs:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()

    def close(self) -> None:
        """Wait for the matches under way, drop the others, end every engine."""
        self._threads.shutdown(cancel_futures=True)
        for engines in self._engine_pairs:
            run_blocking(engines.close())

    def _add_engines(self) -> None:
        engines = _EnginePair(self._specs, self._budgets)
        self._engine_pairs.append(engines)
        run_blocking(engines.open())
        self._free.put(engines)

    def _check(self, file: str, record: Record) -> VerifiedMatch:
        engines = self._free.get()
        try:
            return VerifiedMatch(file, record.start.match, run_blocking(engines.check(record, self._deep)))
        finally:
            self._free.put(engines)


class _EnginePair:
    """Our engine and the other one; each is restarted when it fails."""

    def __init__(self, specs: dict[str, BotSpec], budgets: Timeouts) -> None:
        self._specs, self._budgets = specs, budgets
        self._engines: dict[str, Engine] = {}
        self._failures = 0

    async def open(self) -> None:
        for who, spec in self._specs.items():
            if who not in self._engines:
                self._engines[who] = await start_engine(spec, self._budgets)

    async def check(self, record: Record, deep: bool) -> Deviation | None:
        """On our engine and the other. Raises ClickException after too many failures of an engine."""
        await self.open()
        found = await self._verify(record, self._engines[ENGINE], self._engines.get(OTHER), deep)
        if found and found.failed:  # the next match gets a new engine
            self._failures += 1
            if self._failures >= _MOST_FAILURES:
                raise click.ClickException(f"given up after {self._failures} failures: {found.what}")
            await self._engines.pop(found.who).peer.stop(kill=True)
        return found

    async def _verify(self, record: Record, ours: Engine, other: Engine | None, deep: bool) -> Deviation | None:
        """A game that our engine does not know is verified on the other alone, and so is another game of that name."""
        game = record.start.game
        try:
            known = game in await ours.games()
            if known and (other is None or await _same_game(game, ours, other)):
                return await verify(record, ours, other, deep)
        except EngineFailed as failure:
            return Deviation(ENGINE, escape_unprintable(str(failure)), 0, failed=True)
        if other is None:
            said = f"our engine knows no game {record.start.game}: {how_to_name_engine(record.start)}"
            return Deviation(ENGINE, escape_unprintable(said), 0)
        found = await verify(record, other, None, deep)
        return found._replace(who=OTHER) if found and found.who == ENGINE else found

    async def close(self) -> None:
        for engine in self._engines.values():
            await engine.peer.stop()
        self._engines.clear()


async def _same_game(game: str, ours: Engine, other: Engine) -> bool:
    """Whether two engines mean the same by a name, as far as their options show: each then has no more than some of the
    other's. Go of OpenSpiel, for one, has a `board_size`."""
    if game not in await other.games():
        return True  # and the difference is found
    one, two = (await ours.options(game)).keys(), (await other.options(game)).keys()
    return one <= two or two <= one


_MOST_TOLD = 1000  # matches that are listed in JSON
EPILOGUE = """\b
FILE is a record (- is standard input), a match of it (FILE#MATCH), or a ladder: its
ladder.toml, its store's file or URL.

\b
The exit status is 0; 1 if a match does not come out as it was recorded, or an engine
failed; 2 for a file that is no record, or is not as it was written (its hash chain).
"""


def main(argv: list[str]) -> int:
    """The exit status."""
    return run_command(verify_files, "ggp verify", argv)


@click.command("verify", epilog=EPILOGUE, context_settings=HELP)
@click.argument("files", metavar="FILE…", nargs=-1, required=True)
@click.option("--engine", metavar="COMMAND|URL", help="Compare another engine with ours, ply by ply.")
@sandbox_option("the other engine")
@click.option("--deep", is_flag=True, help="Take every ply back again, too, and compare each position.")
@click.option("--jobs", type=click.IntRange(1, 64), help="Matches at a time.  [default: one a core]")
@click.option("--json", "as_object", is_flag=True, help="The result as one JSON object on stdout.")
@click.option("--quiet", is_flag=True, help="Say only what is not as recorded.")
def verify_files(
    files: tuple[str, ...],
    engine: str | None,
    sandbox: Level,
    deep: bool,
    jobs: int | None,
    as_object: bool,
    quiet: bool,
) -> int:
    """Check the hash chain of every match in FILEs and play each again on the engine.

    With --engine on another one as well: after each ply both must name the same status and the same legal moves, in
    the end the same history, result and score. What an engine does wrong is not said of the record.
    """
    report = _Report(as_object, quiet)
    check_level(sandbox, engine or "")
    other = confined_engine(read_engine(engine), Sandbox(sandbox)) if engine else None
    # The other engine at its url has as many sessions as we like; still, one process a core is enough.
    checker = Checker(read_engine(None), other, jobs or len(os.sched_getaffinity(0)), deep)
    with closing(checker), progress_bar("matches", not quiet) as progress:
        for file in files:
            for checked in checker.all((file, record) for record in _readable(file, report)):
                report.add(checked)
                progress(*report.done())
            report.end_of(file)
    return report.close()


def _readable(file: str, report: "_Report") -> Iterator[Record]:
    """The records that can be read; the report gets what is wrong with the others."""
    try:
        yield from open_matches(file, None, report.skip, report.damaged)
    except click.ClickException as error:
        report.unreadable.append(error.format_message())


class _Report:
    """The report: lines as matches come, or one object at the end."""

    def __init__(self, as_object: bool, quiet: bool) -> None:
        self.unreadable: list[str] = []
        self._as_object, self._quiet = as_object, quiet
        self._told: list[dict[str, Any]] = []
        self._skipped: list[str] = []
        self._file: Counter[str] = Counter()  # of the file at hand
        self._all: Counter[str] = Counter()

    def skip(self, piece: str) -> None:
        self._file["skipped"] += 1
        if len(self._skipped) < _MOST_TOLD:
            self._skipped.append(piece)
        if not self._as_object and not self._quiet:
            click.echo(f"skipped {piece}")

    def damaged(self, reason: str) -> None:
        self._file["damaged"] += 1
        if len(self.unreadable) < _MOST_TOLD:
            self.unreadable.append(reason)

    def add(self, checked: VerifiedMatch) -> None:
        self._file["matches"] += 1
        found = checked.deviation
        if found is None:
            return
        self._file["not"] += 1
        file = without_password(checked.file.partition("#")[0])
        place = escape_unprintable(f"{file}#{checked.match}" + (f"@{found.ply}" if found.ply else ""))
        if self._as_object:
            if len(self._told) < _MOST_TOLD:
                self._told.append({"file": file, "match": checked.match, **found._asdict()})
            return
        click.echo(f"{place}: {found.what}")
        if found.board:
            before = (
                "the last position" if found.ply is None else f"before ply {found.ply}" if found.ply else "the start"
            )
            click.echo(indent(f"{before}:\n{found.board}", "    "))

    def end_of(self, file: str) -> None:
        matches, wrong, skipped, damaged = (self._file[key] for key in ("matches", "not", "skipped", "damaged"))
        self._all.update(self._file)
        self._file.clear()
        if self._as_object or (self._quiet and not wrong) or (self.unreadable and not (matches or damaged)):
            return
        were = "was not finished is" if skipped == 1 else "were not finished are"
        unfinished = f"; {skipped} that {were} skipped" if skipped else ""
        broken = f"; {damaged} that {'is' if damaged == 1 else 'are'} not whole (below)" if damaged else ""
        told = f"{_count(matches)}, {matches - wrong} as recorded, {wrong} not"
        click.echo(f"{escape_unprintable(without_password(file))}: {told}{broken}{unfinished}")

    def close(self) -> int:
        """The exit status."""
        wrong = self._all["not"]
        status = BAD_USAGE if self.unreadable else 1 if wrong else 0
        if self._as_object:
            said = {
                "matches": self._all["matches"],
                "as_recorded": self._all["matches"] - wrong,
                "deviations": self._told,
                "deviating": wrong,
                "skipped": self._skipped,
                "unreadable": self.unreadable,
            }
            click.echo(json.dumps(said))
        for reason in self.unreadable:
            click.echo(f"ggp verify: {reason}", err=True)
        return status

    def done(self) -> tuple[int, None, str]:
        """How many matches, of an unknown number, and how many of them deviate."""
        seen = self._all + self._file
        return seen["matches"], None, f"{_count(seen['matches'])}, {seen['not']} not as recorded"


def _count(matches: int) -> str:
    return f"{matches} match" if matches == 1 else f"{matches} matches"
