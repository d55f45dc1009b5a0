"""Trees of variations in files: read from SGF and records, written as SGF, or one line as a record."""

import contextlib
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import click
import msgspec

from ggp.protocol.connection import PeerRole
from ggp.protocol.entry_points import entry_points, version
from ggp.protocol.input_files import open_input
from ggp.protocol.printed import counted
from ggp.protocol.records import Party, Record
from ggp.protocol.safe_files import replace_file, without_mark
from ggp.protocol.sgf import Node, written, written_tree
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.match.bot_spec import BotSpec
from ggp.referee.match.engine import start_engine
from ggp.referee.match.outcome import EngineFailed
from ggp.referee.match.record_forms import sgf_node, sgf_root
from ggp.referee.match.setting import new_game
from ggp.referee.terminal import escape_unprintable
from ggp.referee.tools.archive.game_files import CannotImport, FoundMove, ImportedGame, ImportedTree, sgf_trees
from ggp.referee.tools.archive.import_ import ImportRules, to_record
from ggp.referee.tools.archive.places import (
    RecordPlace,
    RecordSource,
    how_to_name_engine,
    open_match,
    read_place,
    recorded_engine,
)
from ggp.referee.tools.console.dialogue import Target, read_bots, read_peer
from ggp.referee.tools.console.own_commands import ConsoleError
from ggp.referee.tools.console.tree import Evaluation, GameTree, TreeFull, TreeNode

_MOST_FILE = 64 * 1024 * 1024  # bytes
_ABOUT = {"PB": "black", "PW": "white", "RE": "result", "DT": "date", "GN": "name", "EV": "event"}
LINE = "analysis"
"""The termination in the record of an unfinished line that was entered in a console."""

# -- `ggp console --match PLACE` --------------------------------------------------------------------------------------


class OpenTree(NamedTuple):
    """A match or a tree of variations, and the engine that shows it."""

    target: Target
    source: RecordSource | None
    tree: GameTree | None


def open_tree(text: str, words: tuple[str, ...], command: tuple[str, ...], url: str) -> OpenTree:
    """Open a place on the built-in engine, or on the engine of a command line or a URL.

    Args:
        text: The place, FILE[#MATCH][@PLY].
        words: The bots of the console.
        command: The command line of an engine; () for none.
        url: The URL of an engine; "" for none.

    Raises:
        ClickException: The place does not exist or is invalid.
        WordError: A bot or the URL is invalid.
        LaunchError: A program does not exist.
    """
    bots, target, place = read_bots(words), read_peer(command, url, PeerRole.ENGINE), read_place(text)
    tree, source = None, None
    if _is_sgf(place.source):
        tree = _read_sgf(place)
        line, last = tree.main_line, len(tree.main_line)
        ply = last if place.ply is None else place.ply if place.ply >= 0 else last + 1 + place.ply
        if not 0 <= ply <= last:
            raise click.ClickException(f"there is no ply {place.ply}: the game has plies 0 to {last}")
        first, moves = tree.new_game, [(node.colour, node.move) for node in line[:ply]]
    else:
        source = open_match(text)
        start, plies = source.record.start, source.record.plies[: source.ply]
        engine, installed = recorded_engine(start), [point.name for point in entry_points("ggp.games")]
        if engine and not (command or url or start.game in installed):
            how = how_to_name_engine(start, "--connect" if "://" in engine else "--")
            raise click.ClickException(escape_unprintable(f"the built-in engine does not know {start.game}: {how}"))
        first, moves = new_game(start.game, start.options), [(ply.colour, ply.move) for ply in plies]
    then = tuple(f"ggp-play {colour} {move}" for colour, move in moves)
    return OpenTree(target._replace(first=first, then=then, bots=bots), source, tree)


# -- SGF in -----------------------------------------------------------------------------------------------------------


def _is_sgf(file: str) -> bool:
    try:
        if not Path(file).is_file():
            return False
        with open_input(file) as opened:
            return file.lower().endswith(".sgf") or without_mark(opened.read(64)).lstrip().startswith(b"(")
    except (OSError, ValueError):
        return False


def _read_sgf(place: RecordPlace) -> GameTree:
    """Return the tree of a game: the one with the key or the number in the place, by default the first.

    Raises:
        ClickException: The file cannot be read, or has no such game.
    """
    try:
        with open_input(place.source) as file:
            data = file.read(_MOST_FILE + 1)
    except OSError as error:
        raise click.ClickException(f"cannot read {place.source}: {error.strerror}") from None
    if len(data) > _MOST_FILE:
        raise click.ClickException(f"{place.source} is larger than {_MOST_FILE >> 20} MiB: split it")
    seen = 0
    try:
        for seen, found in enumerate(sgf_trees(data), 1):
            if isinstance(found, CannotImport):
                if place.key in ("", str(seen)):
                    raise found
            elif place.key in ("", str(seen), found.found.key):
                return _as_tree(found)
    except (CannotImport, TreeFull) as problem:
        raise click.ClickException(f"{place.source}, game {max(seen, 1)}: {problem}") from None
    raise click.ClickException(
        escape_unprintable(f"{place.source} has {counted(seen, 'game')}, but no #{place.key}: write #1")
    )


def _as_tree(found: ImportedTree) -> GameTree:
    tree, root = GameTree(found.found.game, found.found.options), found.nodes[0][2]
    at: list[TreeNode] = []
    for parent, move, properties in found.nodes:
        node = at[parent] if parent >= 0 else tree.root
        if move is not None:
            node = tree.add(node, 0, move.colour, move.move)
            node.left = move.left
        at.append(node)
        _annotate(node, properties, ours="XG" in root or "XO" in root)
    tree.about = {name: " ".join(root[key][0].split())[:200] for key, name in _ABOUT.items() if key in root}
    return tree


def _annotate(node: TreeNode, properties: Node, ours: bool) -> None:
    """Give a node its comment, and the properties of our own files."""
    node.comment = "\n".join(properties.get("C", ()))
    if node.move.startswith("dead:"):
        said = _says(node)
        node.comment = "" if ours and node.comment == said else node.comment.removeprefix(f"{said}\n")
    if not ours:
        return
    for value in properties.get("XM", ())[:1]:
        node.ms = int(value) if value.isdecimal() and len(value) < 16 else 0
    for value in properties.get("XA", ())[:1]:
        node.analysis = value
    for value in properties.get("XE", ())[:100]:
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            said_by = msgspec.json.decode(value, type=Evaluation)
            node.evaluations[said_by.bot] = said_by


def _says(node: TreeNode) -> str:
    return f"{node.colour} says {node.move}"


# -- SGF out ----------------------------------------------------------------------------------------------------------


def save_sgf(tree: GameTree, record: Record | None, path: Path) -> str:
    """Write the whole tree, replacing an existing file.

    Raises:
        ConsoleError: A move cannot be written as SGF.
        OSError: The file cannot be written.
    """
    nodes = [tree.root, *tree.walk()]
    numbers = {node: number for number, node in enumerate(nodes)}
    try:
        moves = [sgf_node(tree.game, tree.options, node.as_ply()).partition("C[")[0] for node in nodes[1:]]
    except ValueError as error:
        raise ConsoleError(escape_unprintable(f"the tree cannot be written as SGF: {error}"), code="not-sgf") from None
    heads = [sgf_root(tree.game, tree.options, _about(tree, record)), *moves]
    texts = [head + _beside(node) for head, node in zip(heads, nodes, strict=True)]
    text = written_tree(texts, [[numbers[child] for child in node.children] for node in nodes])
    replace_file(path, f"{text}\n".encode("utf-8", "replace"))
    return f"{path} written: {tree.size}"


def _about(tree: GameTree, record: Record | None) -> list[str]:
    """Return the properties of the root that describe the game."""
    if record is None:
        return [written(key, tree.about[name]) for key, name in _ABOUT.items() if name in tree.about]
    start, end = record.start, record.end
    black, white = (bot.name for bot in start.bots)
    if sum(ply.move == "swap-sides" for ply in record.plies) % 2:
        black, white = white, black
    result = (end.result or "Void") if end else "?"
    said = {"GN": start.match, "PB": black, "PW": white, "DT": start.started[:10], "RE": result}
    return [written(key, text) for key, text in said.items()]


def _beside(node: TreeNode) -> str:
    """Return the comment of a node, and in private properties its time, analysis and evaluations."""
    comment = [_says(node)] if node.move.startswith("dead:") else []
    properties = {
        "C": ["\n".join([*comment, node.comment] if node.comment else comment)],
        "XM": [str(node.ms or "")],
        "XA": [node.analysis],
        "XE": [msgspec.json.encode(one).decode() for one in node.evaluations.values()],
    }
    return "".join(written(key, *values) for key, values in properties.items() if any(values))


# -- a line as a record -----------------------------------------------------------------------------------------------


def save_record(tree: GameTree, nodes: list[TreeNode], record: Record | None, engine: BotSpec, path: Path) -> str:
    """Write a line from the start to its end as a record, in a new file.

    The main line of a finished match is written as it was recorded. Another line was not played by two bots: its record
    says so, and a new engine judges each ply again.

    Args:
        tree: The tree.
        nodes: The line.
        record: The record of the match, if there is one.
        engine: The engine that judges the plies.
        path: The new file.

    Returns:
        A message that says what was written.

    Raises:
        ConsoleError: The file exists, the line is empty, or the engine refuses a ply.
        OSError: The file cannot be written.
    """
    if path.exists():
        raise ConsoleError(f"{path} already exists: name a new file", code="file-exists")
    if not nodes:
        raise ConsoleError("no ply has been played: a record needs at least one", code="no-ply")
    if record is not None and nodes[-1].recorded and len(nodes) == len(record.plies):
        replace_file(path, record.lines())
        return f"{path} written: the match {escape_unprintable(record.start.match)}, {len(nodes)} plies"
    made = run_blocking(_as_record(tree, nodes, engine))
    replace_file(path, made.lines())
    return f"{path} written: a record of {counted(len(nodes), 'ply', 'plies')}, {made.start.match}"


async def _as_record(tree: GameTree, nodes: list[TreeNode], engine: BotSpec) -> Record:
    names = ("console-1", "console-2")
    key = f"console-{secrets.token_hex(4)}"
    moves = tuple(FoundMove(node.colour, node.move, node.left) for node in nodes)
    game = ImportedGame(tree.game, tree.options, moves, names, key)
    rules = ImportRules(referee=f"general-game-protocol {version('general-game-protocol')}, ggp console")
    try:
        judge = await start_engine(engine)
        try:
            record = (await to_record(game, key, judge, rules)).record
        finally:
            await judge.peer.stop()
    except (CannotImport, EngineFailed) as error:
        raise ConsoleError(escape_unprintable(str(error)), code=getattr(error, "code", "not-a-record")) from None
    change, end = msgspec.structs.replace, record.end
    started = datetime.now(UTC).isoformat(timespec="milliseconds")
    start = change(record.start, bots=(Party(name=names[0]), Party(name=names[1])), started=started)
    plies = tuple(
        change(ply, ms=node.ms, left=node.left, analysis=node.analysis)
        for ply, node in zip(record.plies, nodes, strict=True)
    )
    if end is not None and end.termination != "rules":
        end = change(end, termination=LINE, detail="a line of ggp console, which is not finished")
    return Record(start, plies, end)
