"""`ggp export FILE…`: records as JSON lines, as GTP scripts, as regression tests, as SGF."""

import contextlib
import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import click

from ggp.protocol.errors import in_words
from ggp.protocol.records import MovePlayed, Record, escaped_line, gtp_script
from ggp.protocol.regression import escape
from ggp.protocol.safe_files import replacing
from ggp.protocol.sgf import written, written_point
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.command_line import BAD_USAGE, HELP, run_command
from ggp.referee.ladder import source
from ggp.referee.ladder.queries import (
    GameFilter,
    check_filter,
    matching,
    read_game,
    read_one,
)
from ggp.referee.ladder.source import Trouble, ViewError, open_ladder, split, the_pool
from ggp.referee.ladder.store.model import GameRow
from ggp.referee.ladder.store.store import Store
from ggp.referee.ladder.views import filter_options
from ggp.referee.match.bot_spec import ENGINE, BotSpec
from ggp.referee.match.engine import GameRefused, start_engine
from ggp.referee.match.outcome import BY_PLAY, BotFault, EngineFailed
from ggp.referee.match.player import fixed_handicap
from ggp.referee.terminal import escape_unprintable, on_terminal, progress_bar, table_lines
from ggp.referee.tools.archive import model_answers
from ggp.referee.tools.archive.places import open_matches

# -- A record as SGF FF[4]: go in the properties that every viewer knows, other games in private ones.


PROGRAM = "general-game-protocol"
OPENSPIEL = BotSpec("engine", "ggp engine openspiel", (*ENGINE, "openspiel"))
OTHER = 100
"""The GM of every game but go, above all registered numbers (1 to 40). Without one, FF[4] takes the game for go."""


def sgf(record: Record) -> str:
    """One game tree, with its LF. Times left are BL and WL, in seconds.

    Other games than go have GM[100]. Private properties: XO (options) and XT (termination) of every game, XG (name) of
    all but go, XB and XW (moves as in RULES) of all but go, and of go's lists of dead stones, which are a comment, too.
    PB and PW are who had the colours in the end, after a swap of sides, because RE names a colour.
    """
    start = record.start
    said = [written("GN", start.match)]
    swaps = sum(ply.move == "swap-sides" for ply in record.plies)
    black, white = reversed(start.bots) if swaps % 2 else start.bots
    said += [written("PB", black.name), written("PW", white.name), written("DT", start.started[:10])]
    said += [written("OT", start.time), written("RE", (record.end.result or "Void") if record.end else "?")]
    said += [written("XT", record.end.termination)] if record.end else []
    plies = (sgf_node(start.game, start.options, ply) for ply in record.plies)
    return f"({sgf_root(start.game, start.options, said)}{''.join(plies)})\n"


def sgf_root(game: str, options: Mapping[str, str], said: Iterable[str]) -> str:
    """The root of a tree: the game and its options, with these properties about it."""
    root = ["FF[4]CA[UTF-8]", written("AP", f"{PROGRAM}:1"), *said]
    root += [f"GM[{OTHER}]", written("XG", game)] if game != "go" else []
    root += [written("XO", " ".join(f"{name}={value}" for name, value in options.items()))]
    if game != "go":
        return f";{''.join(root)}"
    size = int(options.get("size", "19"))
    root += ["GM[1]", f"SZ[{size}]", written("KM", options.get("komi", "7.5")), "RU[Chinese]"]
    handicap = int(options.get("handicap", "0"))
    if handicap:
        stones = "".join(f"[{written_point(vertex, size)}]" for vertex in fixed_handicap(size, handicap))
        root.append(f"HA[{handicap}]AB{stones}PL[W]")
    return f";{''.join(root)}"


def sgf_node(game: str, options: Mapping[str, str], ply: MovePlayed) -> str:
    """The node of a ply. Raises ValueError for a point that no board of go has."""
    if game != "go":
        return _private(ply)
    if ply.move.startswith("dead:"):
        return _private(ply) + written("C", f"{ply.colour} says {ply.move}")
    name, size = ply.colour[0].upper(), int(options.get("size", "19"))
    return f";{name}[{'' if ply.move == 'pass' else written_point(ply.move, size)}]{_left(ply)}"


def _private(ply: MovePlayed) -> str:
    return f";{written('X' + ply.colour[0].upper(), ply.move)}{_left(ply)}"


def _left(ply: MovePlayed) -> str:
    return "" if ply.left is None else f"{ply.colour[0].upper()}L[{ply.left / 1000:.3f}]".replace(".000]", "]")


# -- A record as a GTP regression test, with the answer that each command should get.


def regression(record: Record) -> str:
    """Numbered commands, each with its expectation `#? [regular expression]` below it, as GNU Go's regression has them.

    Of a position the record tells whose turn it was; of the last one the result, if the game was over by the rules.
    """
    start, end = record.start, record.end
    options = [f"{name}={value}" for name, value in start.options.items()]
    lines = [f"# {start.match}: {start.bots[0].name} - {start.bots[1].name}"]
    lines += [" ".join(["ggp-new", start.game, *options]), ""]
    for ply, following in pairwise((*record.plies, None)):
        assert ply is not None
        lines += [
            f"{10 * ply.ply} ggp-play {ply.colour} {ply.move}",
            f"#? [move={escape(ply.move)} {_then(ply, following)}]",
        ]
        lines.append("")
    plies = len(record.plies)
    if end is not None and end.termination == "rules":
        over = f"phase=over to_play=none seat=0 ply={plies} result={escape(end.result)} winner={end.winner}"
        lines += [f"{10 * plies + 10} ggp-status", f"#? [{over}]", ""]
    return "\n".join(lines)


def _then(ply: MovePlayed, following: MovePlayed | None) -> str:
    if following is None:
        return f"phase=.* ply={ply.ply}.*"
    return f"phase=[a-z]+ to_play={following.colour} seat={following.seat} ply={ply.ply}"


FORMS: dict[str, Callable[[Record], str | bytes]] = {
    "jsonl": Record.lines,
    "gtp": gtp_script,
    "sgf": sgf,
    "tst": regression,
}
EPILOGUE = """\b
FILE is a record (- is standard input) or a ladder: its file, store or URL. It may be
a place: FILE#MATCH is one match, FILE#MATCH@PLY (or FILE@PLY) a match up to that ply.

\b
jsonl  the records themselves, whose chain ggp verify checks
gtp    a script that any engine of the game can run (go: any Go program)
tst    the same with the answer that each ply should get, a GTP regression test
sgf    SGF FF[4], which ggp import reads back

\b
The columns of --table: rate is that of answers that were illegal or could not be read,
tokens and cost are those of a game, s the seconds of an answer.
"""


def main(argv: list[str]) -> int:
    """The exit status."""
    return run_command(export_files, "ggp export", argv)


@click.command("export", epilog=EPILOGUE, context_settings=HELP)
@click.argument("files", metavar="FILE…", nargs=-1, required=True)
@click.option("--format", "form", type=click.Choice(list(FORMS)), default="jsonl", show_default=True)
@click.option("--match", "key", metavar="NAME", help="Only the match of this name.")
@click.option("--transcript", is_flag=True, help="Instead: what models were asked and answered, as JSON lines.")
@click.option("--table", is_flag=True, help="Instead: of each model the illegal answers, tokens and cost.")
@click.option("--openspiel", is_flag=True, help="Instead: the last position for OpenSpiel; of FILE@N, that of ply N.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE, which appears when all is written.")
def export_files(
    files: tuple[str, ...],
    form: str,
    key: str | None,
    transcript: bool,
    table: bool,
    openspiel: bool,
    output: str | None,
) -> int:
    """Print the matches of FILEs as JSON lines, as GTP scripts that an engine of the game can run, or as SGF."""
    if transcript + table + openspiel > 1:
        raise click.UsageError("--transcript, --table and --openspiel are different outputs: choose one")
    if (transcript or table or openspiel) and form != "jsonl":
        others = "--transcript, --table and --openspiel"
        raise click.UsageError(f"--format {form} is of whole matches: leave it out with {others}")
    damaged: list[str] = []
    with opened(output) as out:
        if transcript or table:
            _export_answers(files, key, table, out, damaged)
            files = ()
        for file in files:
            for record in open_matches(file, key, _tell, damaged.append):
                try:
                    out.write(run_blocking(openspiel_state(record)) if openspiel else as_form(record, form))
                except click.ClickException as error:
                    damaged.append(error.format_message())
        out.flush()
    for reason in damaged:
        click.echo(f"ggp export: {reason}", err=True)
    return BAD_USAGE if damaged else 0


def _export_answers(files: Iterable[str], key: str | None, table: bool, out: BinaryIO, damaged: list[str]) -> None:
    """What models were asked in these matches: a line for each question, or a table."""
    sums = model_answers.ModelTable()
    for file in files:
        for record in open_matches(file, key, _tell, damaged.append):
            if table:
                sums.add(record)
            else:
                out.writelines(model_answers.transcript(record))
    if table:
        out.writelines(f"{line}\n".encode() for line in table_lines(sums.sheet()))


def as_form(record: Record, form: str) -> bytes:
    """The record in that form. ClickException for one that cannot have it.

    A record's chain says that it was not changed, not that we wrote it: its words may be no options and moves."""
    words = [*record.start.options, *record.start.options.values(), *(ply.move for ply in record.plies)]
    try:
        if form != "jsonl" and not all(word.isprintable() and " " not in word for word in words):
            raise ValueError("an option or a move is not one word")
        text = FORMS[form](record)
    except ValueError as error:
        raise click.ClickException(
            escape_unprintable(f"{record.start.match} cannot be written as {form}: {error}")
        ) from None
    return text if isinstance(text, bytes) else text.encode()


async def openspiel_state(record: Record) -> bytes:
    """The position at the end of the record as OpenSpiel writes it, asked from its engine. Raises ClickException."""
    try:
        engine = await start_engine(OPENSPIEL)
        try:
            await engine.replay(record, len(record.plies))
            return str(json.loads(await engine.answer("openspiel-state"))).encode()
        finally:
            await engine.peer.stop()
    except (EngineFailed, GameRefused, BotFault, ValueError, RecursionError) as error:
        why = in_words(error)
        raise click.ClickException(
            escape_unprintable(f"{record.start.match} cannot be written for OpenSpiel: {why}")
        ) from None


def _tell(piece: str) -> None:
    click.echo(f"ggp export: skipped {piece}", err=True)


# -- The output of an archive command: stdout, or a file that appears when all is written.


@contextlib.contextmanager
def opened(
    output: str | None,
    refused: type[click.ClickException] = click.ClickException,
    failed: type[click.ClickException] = click.ClickException,
) -> Iterator[BinaryIO]:
    """`output` None or `-` is stdout. Raises `refused` if it cannot be opened, `failed` later; then nothing appears."""
    if output in (None, "-"):
        yield sys.stdout.buffer
        return
    path = Path(str(output))
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(replacing(path))
        except OSError as error:
            raise refused(f"cannot write {output}: {error.strerror}; name another file") from None
        try:
            with stack.pop_all():
                yield file
        except BrokenPipeError:
            raise
        except OSError as error:
            raise failed(f"cannot write {output}: {error.strerror}; make room or name another file") from None


# -- `ggp ladder export`: the matches of a ladder as records, results, SGF or scripts, one at a time.


def run_export(argv: list[str]) -> int:
    """The exit status."""
    return source.run_view(export, argv)


@click.command("export", epilog=source.EPILOGUE, context_settings=HELP)
@source.words("[LADDER]")
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv", "sgf", "gtp"]),
    default="jsonl",
    show_default=True,
    help="jsonl: for ggp verify and ggp show; csv: first,second,result for ggp rate.",
)
@filter_options
@click.option("--key", metavar="KEY", help="Only the match of this key.")
@click.option("--played", is_flag=True, help="Only games that were decided by play, not by a fault.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE, which appears when all is written.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
def export(
    words: tuple[str, ...],
    form: str,
    wanted: GameFilter,
    key: str | None,
    played: bool,
    output: str | None,
    quiet: bool,
) -> int:
    """Write the matches of a ladder, newest first, to stdout or a file.

    Void matches are left out of csv, which has results alone; a forfeit is there as a win or a loss.
    """
    ladder, _ = split(words, 0, 0)
    if key is not None and (wanted.any is False or played or form == "csv"):
        raise click.UsageError("--key is one match: leave out what chooses among many, and the format csv")
    with open_ladder(ladder) as store:
        if form == "csv":
            pool = the_pool(store.pools(), wanted.pool, "results of several may not be rated together")
            wanted = replace(wanted, pool=pool.name)
        damaged: list[str] = []
        pieces = _one(store, key, form) if key is not None else exported(store, wanted, form, played, damaged)
        visible = not quiet and (output not in (None, "-") or not on_terminal())
        totals = store.totals()
        total = totals.games + totals.void if wanted.any else None
        with opened(output, ViewError, Trouble) as file, progress_bar("matches", visible) as progress:
            for number, piece in enumerate(pieces, 1):
                file.write(piece)
                progress(number, total, "matches")
            file.flush()
    for reason in damaged:
        click.echo(f"ggp ladder export: {reason}", err=True)
    return source.TROUBLE if damaged else 0


def _one(store: Store, key: str, form: str) -> Iterator[bytes]:
    yield as_form(read_game(store, key), form)


def exported(store: Store, wanted: GameFilter, form: str, played: bool, damaged: list[str]) -> Iterator[bytes]:
    """What to write, a piece a match; b"" for one that is left out. `damaged` gets why a record cannot be written."""
    if form == "csv":
        yield b"first,second,result\n"
        for row in matching(store, wanted):
            yield _csv_line(row) if row.result and not (played and row.termination not in BY_PLAY) else b""
        return
    for row, lines in store.records(**check_filter(store, wanted), damaged=damaged.append):
        if played and row.termination not in BY_PLAY:
            yield b""
            continue
        try:
            record = read_one(lines, row.key)
            yield escaped_line(lines) if form == "jsonl" else as_form(record, form)
        except click.ClickException as error:
            damaged.append(error.format_message())
            yield b""


def _csv_line(row: GameRow) -> bytes:
    line = io.StringIO()
    result = ("0.5", "1", "0")[row.winner]
    csv.writer(line, lineterminator="\n").writerow((row.first, row.second, result))
    return line.getvalue().encode()
