"""`ggp import FILE…`: games of SGF files and GTP scripts become records, each move played on the engine."""

import re
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import click

from ggp.protocol.records import MatchEnded, MatchStarted, MovePlayed, Party, Record
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.command_line import HELP, run_command
from ggp.referee.match.bot_spec import read_engine
from ggp.referee.match.engine import OVER, Engine, GameRefused, Status, start_engine
from ggp.referee.match.outcome import BotFault, EngineFailed, Termination
from ggp.referee.match.setting import new_game
from ggp.referee.terminal import escape_unprintable
from ggp.referee.tools.archive.export import opened
from ggp.referee.tools.archive.game_files import (
    CannotImport,
    FoundMove,
    ImportedGame,
    games_in,
    read_file,
)

# -- A game becomes a record: the engine plays every move.


IMPORTED = "imported"
"""The termination where the file has a result without a cause."""

_BY_LETTER = {"R": Termination.RESIGNATION, "T": Termination.TIME}
_MAX_TEXT = 200


@dataclass(frozen=True)
class ImportRules:
    """How to treat a game that is not in order.

    Attributes:
        fill: Play a pass for a side whose turn is missing.
        lenient: Keep the plies before an invalid one.
    """

    fill: bool = False
    lenient: bool = False
    referee: str = ""


@dataclass(slots=True)
class _Replay:
    """The plies so far.

    Attributes:
        problem: Why there are no more plies.
        passes: How many passes after the end were left out.
    """

    status: Status
    plies: list[MovePlayed] = field(default_factory=list)
    problem: str = ""
    passes: int = 0

    @property
    def left_out(self) -> str:
        """Passes after the end in words, "" for none."""
        return f"{self.passes} pass{'es'[: 2 * (self.passes > 1)]} after the end left out" if self.passes else ""


class Imported(NamedTuple):
    """A record of an imported game.

    Attributes:
        problem: Why the record does not hold the whole game, "" if it does.
        left_out: What the file has after the end of the game, "" for nothing.
    """

    record: Record
    problem: str
    left_out: str


async def to_record(found: ImportedGame, key: str, engine: Engine, rules: ImportRules) -> Imported:
    """Play the game on the engine.

    Raises:
        CannotImport: The engine refuses the game or a move, and the rules are not lenient.
        EngineFailed: The engine crashed or broke the protocol.
    """
    replay = await _replay(found, key, engine, rules)
    if replay.problem and not rules.lenient:
        raise CannotImport(f"{replay.problem}; --lenient keeps the {len(replay.plies)} plies before it")
    start, end = _start(found, key, engine, replay, rules), await _end(found, key, engine, replay)
    return Imported(Record(start, tuple(replay.plies), end), replay.problem, replay.left_out)


async def _replay(found: ImportedGame, key: str, engine: Engine, rules: ImportRules) -> _Replay:
    if any(not _is_word(word) for word in (found.game, *found.options, *found.options.values())):
        raise CannotImport("its game or options are no words")
    if found.game not in await engine.games():
        raise CannotImport(f"the engine knows no {found.game}: name one that does with --engine")
    try:
        replay = _Replay(await engine.new_game(new_game(found.game, found.options)))
    except GameRefused as refused:
        raise CannotImport(f"the engine refuses the game: {escape_unprintable(str(refused))}") from None
    for number, move in enumerate(found.moves, 1):
        if replay.status.phase == OVER and move.move.lower() == "pass":
            replay.passes += 1  # servers write down a third pass
            continue
        if problem := await _play(replay, key, engine, move, rules.fill):
            step = f"move {number - found.set_up}" if number > found.set_up else "the position that is set up"
            replay.problem = f"{step}, {move.colour} {escape_unprintable(move.move)[:80]}: {problem}"
            return replay
    replay.problem = found.problem and escape_unprintable(f"after move {len(found.moves)}: {found.problem}")
    return replay


async def _play(replay: _Replay, key: str, engine: Engine, move: FoundMove, fill: bool) -> str:
    """Play a move, after a pass if `fill` needs one; the problem, or ""."""
    status = replay.status
    if status.phase == OVER:
        return "the game was over before it"
    if not _is_word(move.move):
        return "it is not one word"
    moves = [move]
    if status.to_play != move.colour:
        if not fill:
            return f"it is {status.to_play}'s turn (--fill lets the other side pass)"
        moves.insert(0, FoundMove(status.to_play, "pass"))
    for colour, word, left in moves:
        seat = replay.status.seat
        try:
            played, replay.status = await engine.play(colour, word)
        except BotFault as fault:
            return escape_unprintable(str(fault)) + ("" if word == move.move else " (the pass before it)")
        ply = len(replay.plies) + 1
        replay.plies.append(MovePlayed(ply, key, ply, seat, colour, played, 0, left))
    return ""


def _start(found: ImportedGame, key: str, engine: Engine, replay: _Replay, rules: ImportRules) -> MatchStarted:
    black, white = (
        Party(name=_text(name) or colour) for name, colour in zip(found.players, ("black", "white"), strict=True)
    )
    if black.name == white.name:
        black, white = Party(name=f"{black.name}-1"), Party(name=f"{white.name}-2")
    bots = (black, white) if _black(replay) == 1 else (white, black)
    return MatchStarted(
        match=key,
        game=found.game,
        options=found.options,
        bots=bots,
        engine=Party(name="engine", program=engine.party.program, version=engine.party.version),
        control=_text(found.control) or "none",
        opening=tuple(ply.move for ply in replay.plies[: found.set_up]),
        referee=_text(f"{rules.referee} {found.source}"),
        started=_text(found.date),
    )


async def _end(found: ImportedGame, key: str, engine: Engine, replay: _Replay) -> MatchEnded:
    status = replay.status
    result, termination, detail = found.result, found.termination or IMPORTED, ""
    over = status.phase == OVER
    if over and result in ("", status.result):
        result, termination = status.result, str(Termination.RULES)
    elif result[2:] in _BY_LETTER and not found.termination:
        termination = str(_BY_LETTER[result[2:]])
    elif termination == Termination.RULES:
        termination = IMPORTED
    if termination == IMPORTED:
        counted = f"the engine's is {status.result}" if over else "the game is not over by the rules"
        detail = f"the file says {result}, {counted}" if result else f"the file says no result, {counted}"
    position, score = await engine.final()
    black = _black(replay)
    return MatchEnded(
        seq=len(replay.plies) + 1,
        match=key,
        result=result,
        winner={"B": black, "W": 3 - black}.get(result[:1], 0),
        termination=termination,
        detail="; ".join(filter(None, [detail, replay.left_out, replay.problem])),
        plies=len(replay.plies),
        hash=position,
        score=score,
    )


def _black(replay: _Replay) -> int:
    """The seat that has the black stones at the end."""
    status = replay.status
    seat, colour = status.seat, status.to_play
    if status.phase == OVER and replay.plies:
        seat, colour = replay.plies[-1].seat, replay.plies[-1].colour
    return seat if colour == "black" else 3 - seat


def _is_word(text: str) -> bool:
    return len(text) <= 8192 and bool(re.fullmatch(r"[^\s#]+", text)) and text.isprintable()


def _text(text: str) -> str:
    return escape_unprintable(" ".join(text.split()))[:_MAX_TEXT]


EPILOGUE = """\b
FILE is SGF of any program (FF[1] to FF[4], collections, any encoding; the main line is
taken), a script of GTP commands, or - for standard input.

\b
The exit status is 0; 1 if a game could not be imported, or not whole; 2 for a command
line or a file that is invalid. The other games are written in every case.
"""


def main(argv: list[str]) -> int:
    """The exit status."""
    return run_command(import_files, "ggp import", argv)


@click.command("import", epilog=EPILOGUE, context_settings=HELP)
@click.argument("files", metavar="FILE…", nargs=-1, required=True)
@click.option(
    "-o", "--output", metavar="FILE", help="Write to FILE, which appears when all is written.  [default: stdout]"
)
@click.option("--engine", metavar="COMMAND|URL", help="Who knows the games: a command line, or tcp://host:port.")
@click.option("--fill", is_flag=True, help="Where a side moves twice in a row, let the other side pass in between.")
@click.option("--lenient", is_flag=True, help="Of a game with a move that cannot be, keep the plies before it.")
@click.option("--quiet", is_flag=True, help="Say nothing of games that were imported.")
def import_files(
    files: tuple[str, ...], output: str | None, engine: str | None, fill: bool, lenient: bool, quiet: bool
) -> int:
    """Turn games of SGF files or GTP scripts into records, for ggp verify, ggp show, ggp export and ggp console.

    Every move is played on the engine; one that is illegal is named with its number.
    """
    rules = ImportRules(fill, lenient, f"ggp import {version('general-game-protocol')}")
    return run_blocking(_import_all(files, output, engine, rules, quiet))


async def _import_all(
    files: tuple[str, ...], output: str | None, text: str | None, rules: ImportRules, quiet: bool
) -> int:
    contents = [(file, read_file(file)) for file in files]
    engine = await start_engine(read_engine(text))
    done = cut = failed = 0
    keys = set[str]()
    try:
        with opened(output) as out:
            for file, data in contents:
                for number, found in enumerate(games_in(file, data), 1):
                    try:
                        if isinstance(found, CannotImport):
                            raise found
                        key = _key(found, file, number, keys)
                        record, problem, left_out = await to_record(found, key, engine, rules)
                        out.write(record.lines())
                        done += 1
                        cut += bool(problem)
                        if problem:
                            _tell(f"{file}, game {number}: {problem}; the {len(record.plies)} plies before it are kept")
                        if left_out and not quiet:
                            _tell(f"{file}, game {number}: {left_out}")
                    except CannotImport as problem:
                        failed += 1
                        _tell(f"{file}, game {number}: {problem}")
            out.flush()
    except EngineFailed as failure:
        raise click.ClickException(escape_unprintable(str(failure))) from None
    finally:
        await engine.peer.stop()
    if not quiet:
        _tell(f"{done} games imported" + (f", {failed} not" if failed else "") + (f", {cut} cut short" if cut else ""))
    return 1 if failed or cut else 0


def _key(found: ImportedGame, file: str, number: int, taken: set[str]) -> str:
    """A unique key for the match: the one of `ggp export`, else FILE-NUMBER."""
    name = found.key if found.key and len(found.key) < 200 else f"{Path(file).stem.strip('-') or 'game'}-{number}"
    name = re.sub(r"[^\w.-]+", "-", name)[:200]
    key, more = name, 1
    while key in taken:
        more += 1
        key = f"{name}.{more}"
    taken.add(key)
    return key


def _tell(text: str) -> None:
    click.echo(escape_unprintable(f"ggp import: {text}"), err=True)
