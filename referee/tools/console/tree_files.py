"""Trees of variations in files: read from SGF and records, written as SGF and, a line of them, as a record."""

import json
import re
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
from ggp.protocol.records import MatchEnded, MovePlayed, Party, Record
from ggp.protocol.safe_files import replace_file, without_mark
from ggp.protocol.sgf import Node, written, written_tree
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.match.bot_spec import BotSpec
from ggp.referee.match.engine import start_engine
from ggp.referee.match.outcome import EngineFailed
from ggp.referee.match.record_forms import sgf_node, sgf_root
from ggp.referee.match.setting import Timeouts, new_game
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
from ggp.referee.tools.console.own_commands import OwnFailed
from ggp.referee.tools.console.tree import Evaluation, GameTree, TreeFull, TreeNode
from ggp.referee.tools.console.workbench import played

_MOST_FILE = 64 * 1024 * 1024  # bytes
_ABOUT = {"PB": "black", "PW": "white", "RE": "result", "DT": "date", "GN": "name", "EV": "event"}
LINE = "analysis"
"""The termination of a record of a line that was entered in a console and is not over."""

# -- `ggp console --match PLACE` --------------------------------------------------------------------------------------


class OpenTree(NamedTuple):
    """A match or a tree of variations, and the engine that it is shown on."""

    target: Target
    source: RecordSource | None
    tree: GameTree | None


def open_tree(place: str, words: tuple[str, ...], command: tuple[str, ...], url: str, budgets: Timeouts) -> OpenTree:
    """The place on our engine, or on that of a command line or an address; `words` are bots of the console.

    Raises ClickException, WordError, LaunchError.
    """
    bots = read_bots(words)
    target = read_peer(command, url, budgets, PeerRole.ENGINE)
    if _is_sgf(read_place(place)):
        tree, moves = _read_sgf(read_place(place))
        source, first = None, tree.new_game
    else:
        tree, source = None, open_match(place)
        start, plies = source.record.start, source.record.plies[: source.ply]
        installed = [point.name for point in entry_points("ggp.games")]
        if recorded_engine(start) and not (command or url or start.game in installed):
            how = how_to_name_engine(start, "--connect" if "://" in recorded_engine(start) else "--")
            raise click.ClickException(escape_unprintable(f"our engine knows no {start.game}: {how}"))
        first, moves = new_game(start.game, start.options), [(ply.colour, ply.move) for ply in plies]
    then = tuple(f"ggp-play {colour} {move}" for colour, move in moves)
    return OpenTree(target._replace(first=first, then=then, bots=bots), source, tree)


# -- SGF in ---------------------------------------------------------------------------------------------------------


def _is_sgf(place: RecordPlace) -> bool:
    try:
        path = Path(place.source)
        if not path.is_file():
            return False
        with open_input(path) as file:
            return path.suffix.lower() == ".sgf" or without_mark(file.read(64)).lstrip().startswith(b"(")
    except (OSError, ValueError):
        return False


def _read_sgf(place: RecordPlace) -> tuple[GameTree, list[tuple[str, str]]]:
    """The tree, and the plies before the place. ClickException."""
    try:
        with open_input(place.source) as file:
            data = file.read(_MOST_FILE + 1)
    except OSError as error:
        raise click.ClickException(f"cannot read {place.source}: {error.strerror}") from None
    if len(data) > _MOST_FILE:
        raise click.ClickException(f"{place.source} is larger than {_MOST_FILE >> 20} MiB: split it")
    number = int(place.key) if re.fullmatch(r"[1-9]\d{0,5}", place.key) else 0
    seen = 0
    try:
        for seen, found in enumerate(sgf_trees(data), 1):
            if isinstance(found, CannotImport):
                if number in (0, seen) and not (place.key and not number):
                    raise found
            elif not place.key or number == seen or place.key == found.found.key:
                tree = _as_tree(found)
                return tree, _plies_at(tree, place)
    except (CannotImport, TreeFull) as problem:
        raise click.ClickException(f"{place.source}, game {max(seen, 1)}: {problem}") from None
    raise click.ClickException(
        escape_unprintable(f"{place.source} holds {counted(seen, 'game')}, and none is #{place.key}: write #1")
    )


def _plies_at(tree: GameTree, place: RecordPlace) -> list[tuple[str, str]]:
    line = tree.main_line
    ply = len(line) if place.ply is None else place.ply if place.ply >= 0 else len(line) + 1 + place.ply
    if not 0 <= ply <= len(line):
        raise click.ClickException(f"ply {place.ply}: the game has the plies 0 to {len(line)}")
    return [(node.colour, node.move) for node in line[:ply]]


def _as_tree(found: ImportedTree) -> GameTree:
    tree = GameTree(found.found.game, found.found.options)
    at: list[TreeNode] = []
    for parent, move, properties in found.nodes:
        node = at[parent] if parent >= 0 else tree.root
        if move is not None:
            node = tree.add(node, 0, move.colour, move.move)
            node.left = move.left
        at.append(node)
        _note(node, properties, ours="XG" in found.nodes[0][2] or "XO" in found.nodes[0][2])
    root = found.nodes[0][2]
    tree.about = {name: " ".join(root[key][0].split())[:200] for key, name in _ABOUT.items() if key in root}
    return tree


def _note(node: TreeNode, properties: Node, ours: bool) -> None:
    """The comment, and what our files have beside it."""
    comment = "\n".join(properties.get("C", ()))
    if not (ours and node.move.startswith("dead:") and comment == _says(node)):
        node.comment = comment.removeprefix(f"{_says(node)}\n") if node.move.startswith("dead:") else comment
    if not ours:
        return
    for value in properties.get("XM", ())[:1]:
        node.ms = int(value) if value.isdecimal() and len(value) < 16 else 0
    for value in properties.get("XA", ())[:1]:
        node.analysis = value
    for value in properties.get("XE", ())[:100]:
        if said := _read_evaluation(value):
            node.evaluations[said.bot] = said


def _says(node: TreeNode) -> str:
    return f"{node.colour} says {node.move}"


def _read_evaluation(value: str) -> Evaluation | None:
    try:
        said = json.loads(value)
        bot, colour, move, seconds, analysis = (said[name] for name in Evaluation._fields)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    texts = (bot, colour, move, analysis)
    if not all(isinstance(text, str) for text in texts) or not isinstance(seconds, int | float):
        return None
    return Evaluation(bot, colour, move, float(seconds), analysis)


# -- SGF out --------------------------------------------------------------------------------------------------------


def save_sgf(tree: GameTree, record: Record | None, path: Path) -> str:
    """Write the whole tree, in the place of a file that is there. Raises OwnFailed, OSError."""
    numbers = {tree.root: 0}
    texts = [sgf_root(tree.game, tree.options, _said(tree, record)) + _beside(tree.root)]
    children: list[list[int]] = [[]]
    try:
        for number, node in enumerate(tree.walk(), 1):
            ply = played(node, "", node.ply)
            text = sgf_node(tree.game, tree.options, ply).partition("C[")[0] + _beside(node)
            numbers[node] = number
            texts.append(text)
            children.append([])
    except ValueError as error:
        raise OwnFailed(escape_unprintable(f"the tree cannot be written as SGF: {error}"), code="not-sgf") from None
    for node, number in numbers.items():
        children[number] = [numbers[child] for child in node.children]
    replace_file(path, f"{written_tree(texts, children)}\n".encode("utf-8", "replace"))
    return f"{path} written: {tree.size}"


def _said(tree: GameTree, record: Record | None) -> list[str]:
    """What the root says of the game."""
    if record is None:
        return [written(key, tree.about[name]) for key, name in _ABOUT.items() if name in tree.about]
    start, end = record.start, record.end
    black, white = (bot.name for bot in start.bots)
    swaps = sum(ply.move == "swap-sides" for ply in record.plies)
    black, white = (white, black) if swaps % 2 else (black, white)
    said = [written("GN", start.match), written("PB", black), written("PW", white), written("DT", start.started[:10])]
    return [*said, written("RE", (end.result or "Void") if end else "?")]


def _beside(node: TreeNode) -> str:
    """The comment of a node, and in private properties the time, the analysis of its ply and the evaluations."""
    comment = [_says(node)] if node.move.startswith("dead:") else []
    comment += [node.comment] if node.comment else []
    said = [json.dumps(one._asdict(), ensure_ascii=False) for one in node.evaluations.values()]
    return "".join(
        [
            written("C", "\n".join(comment)) if comment else "",
            written("XM", str(node.ms)) if node.ms else "",
            written("XA", node.analysis) if node.analysis else "",
            written("XE", *said) if said else "",
        ]
    )


# -- a line as a record -----------------------------------------------------------------------------------------------


def save_record(tree: GameTree, last: TreeNode, record: Record | None, engine: BotSpec, path: Path) -> str:
    """Write the line that goes through this node to its end as a record, in a new file. Raises OwnFailed, OSError.

    The main line of a match that is over is written as it was recorded. Another line was played by no two bots: its
    record says so, and each ply is judged again by an engine of its own.
    """
    if path.exists():
        raise OwnFailed(f"{path} is there already: name a new file", code="file-exists")
    nodes = tree.line_through(last)
    if not nodes:
        raise OwnFailed("nothing is played yet: a record holds at least one ply", code="no-ply")
    if record is not None and nodes[-1].recorded and len(nodes) == len(record.plies):
        replace_file(path, record.lines())
        return f"{path} written: the match {escape_unprintable(record.start.match)}, {len(nodes)} plies"
    made = run_blocking(_as_record(tree, nodes, engine))
    replace_file(path, made.lines())
    return f"{path} written: a record of {counted(len(nodes), 'ply', 'plies')}, {made.start.match}"


async def _as_record(tree: GameTree, nodes: list[TreeNode], engine: BotSpec) -> Record:
    key = f"console-{secrets.token_hex(4)}"
    moves = tuple(FoundMove(node.colour, node.move, node.left) for node in nodes)
    game = ImportedGame(tree.game, tree.options, moves, ("console-1", "console-2"), key)
    rules = ImportRules(referee=f"general-game-protocol {version('general-game-protocol')}, ggp console")
    try:
        judge = await start_engine(engine)
        try:
            record = (await to_record(game, key, judge, rules)).record
        finally:
            await judge.peer.stop()
    except (CannotImport, EngineFailed) as error:
        raise OwnFailed(escape_unprintable(str(error)), code=getattr(error, "code", "not-a-record")) from None
    started = datetime.now(UTC).isoformat(timespec="milliseconds")
    bots = (Party(name="console-1"), Party(name="console-2"))
    start = msgspec.structs.replace(record.start, bots=bots, started=started)
    plies = tuple(_as_entered(ply, node) for ply, node in zip(record.plies, nodes, strict=True))
    return Record(start, plies, _ended(record.end))


def _as_entered(ply: MovePlayed, node: TreeNode) -> MovePlayed:
    """The ply with what it took and what its bot said, as far as it is known."""
    return msgspec.structs.replace(ply, ms=node.ms, left=node.left, analysis=node.analysis)


def _ended(end: MatchEnded | None) -> MatchEnded | None:
    if end is None or end.termination == "rules":
        return end
    return msgspec.structs.replace(end, termination=LINE, detail="a line of ggp console; it is not over")
