"""The table of the console's own commands, and those that concern the peer and the tree of variations.

Each takes the console and the arguments and returns the text to show; what fails raises OwnFailed.
"""

import time
from ast import literal_eval
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ggp.protocol.commands import TABLE
from ggp.protocol.drawing import svg
from ggp.protocol.drawing.scene import DrawingError, read_scene
from ggp.protocol.printed import counted
from ggp.protocol.regression import write
from ggp.protocol.safe_files import replace_file
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.match.analysis import analysis_line, analysis_lines, line_of, list_moves, score_lines
from ggp.referee.match.engine import Status
from ggp.referee.terminal import escape_unprintable
from ggp.referee.tools.console import bots
from ggp.referee.tools.console.bots import list_width
from ggp.referee.tools.console.completion import PeerKind
from ggp.referee.tools.console.cursor import SCENE
from ggp.referee.tools.console.dialogue import MOMENT
from ggp.referee.tools.console.match import facts_of, follow
from ggp.referee.tools.console.own_commands import OwnCommand, OwnFailed
from ggp.referee.tools.console.tree import letters

if TYPE_CHECKING:
    from ggp.referee.tools.console.console import Console

_STDERR = 20  # lines that :stderr shows
_LONGEST = 86_400.0  # seconds
_MOST_COMMENT = 10_000  # characters

# -- commands for every peer -------------------------------------------------------------------------------------------


def _help(console: "Console", words: list[str]) -> str:
    listed = console.commands()
    if not words:
        return _overview(console, listed)
    name, lines = words[0].lstrip(":!"), list[str]()
    if own := COMMANDS.get(name):
        lines.append(f":{own.usage} — {own.help}")
    if not words[0].startswith((":", "!")):
        row = TABLE.get(name)
        if row:
            lines.append(f"{name} {row.arguments}".rstrip() + f" — {row.help}")
            lines.append(f"  answers: {row.answer or 'nothing'}")
        if name in listed:
            lines.append("  the peer lists it" + ("" if row else "; the protocol does not define it"))
        elif row:
            lines.append("  the peer does not list it")
    if not lines:
        raise OwnFailed(f"unknown command {name}; :help lists them")
    return "\n".join(lines)


def _overview(console: "Console", listed: tuple[str, ...]) -> str:
    rows = {row: f"  {f':{row.usage}':28} {row.help}" for row in COMMANDS.values()}
    lines = ["A line that begins with : or ! is for the console:"]
    lines += [line for row, line in rows.items() if not row.engine]
    if console.info.kind is PeerKind.ENGINE:
        lines += ["For the position on the engine:", *(line for row, line in rows.items() if row.engine)]
    lines += [f"Every other line is for the {console.info.kind}, {console.dialogue.target.name}. It lists:"]
    known = [name for name in listed if name in TABLE]
    groups = groupby(known, key=lambda name: name.partition("-")[0] if "-" in name else "")
    lines += [f"  {' '.join(group)}" for _, group in groups]
    others = [name for name in listed if name not in TABLE]
    return "\n".join([*lines, *([f"  not of the protocol: {' '.join(others)}"] if others else [])])


def _raw(console: "Console", words: list[str]) -> str:
    console.raw = _switch(words, console.raw)
    return f"raw bytes are {'shown' if console.raw else 'not shown'}"


def _board(console: "Console", words: list[str]) -> str:
    console.board, console.stale = _switch(words, console.board), True
    return f"the board is {'drawn' if console.board else 'not drawn'}"


def _switch(words: list[str], now: bool) -> bool:
    """Read `on` or `off`; nothing toggles."""
    if words not in ([], ["on"], ["off"]):
        raise OwnFailed("write on or off", code="usage")
    return words == ["on"] if words else not now


def _send(console: "Console", words: list[str]) -> str:
    """Send exactly these bytes. The answers are shown like any others."""
    text = " ".join(words).encode("ascii", "backslashreplace").decode().replace("'", "\\'")
    try:
        data: bytes = literal_eval(f"b'{text}'")
    except (ValueError, SyntaxError):
        raise OwnFailed("the bytes cannot be read: write escapes as in Python, such as \\n, \\x00, \\\\") from None
    awaited = console.dialogue.send(data)
    for exchange in awaited:
        console.answered(exchange.sent)
    return f"{len(data)} bytes sent; {len(awaited)} {'answer is' if len(awaited) == 1 else 'answers are'} awaited"


def _svg(console: "Console", words: list[str]) -> str:
    path = Path(words[0]).expanduser()
    if SCENE not in console.commands():
        raise OwnFailed("the peer lists no ggp-scene: it cannot say what to draw")
    reply = console.dialogue.ask(SCENE, MOMENT)
    if not reply.ok:
        raise OwnFailed(f"the peer answers ggp-scene with ? {reply.text}")
    try:
        replace_file(path, svg.draw(read_scene(reply.text)).encode())
    except DrawingError as error:
        raise OwnFailed(str(error)) from None
    return f"{path} written"


def _save(console: "Console", words: list[str]) -> str:
    path, main = Path(words[0]).expanduser(), words[1:] == ["main"]
    if (words[1:] and not main) or (main and path.suffix != ".jsonl"):
        raise OwnFailed(
            "write :save FILE.tst, :save FILE.sgf, :save FILE.jsonl, or :save FILE.jsonl main", code="usage"
        )
    if path.suffix in (".sgf", ".jsonl"):
        console.need_engine()
        from ggp.referee.tools.console import tree_files  # which loads the stores of ladders

        at, cursor = console.cursor.here(), console.cursor
        if path.suffix == ".sgf":
            return tree_files.save_sgf(cursor.tree, cursor.record, path)
        nodes = cursor.tree.main_line if main else cursor.tree.line_through(at)
        return tree_files.save_record(cursor.tree, nodes, cursor.record, console.dialogue.target.engine, path)
    kept = list(console.dialogue.kept)
    if not kept:
        raise OwnFailed("nothing has been asked yet")
    replace_file(path, write(kept).encode())
    return f"{path} written: {counted(len(kept), 'command')}"


def _timeout(console: "Console", words: list[str]) -> str:
    seconds = _number(words[0])
    if not 0.001 <= seconds <= _LONGEST:
        raise OwnFailed(f"write :timeout SECONDS, from 0.001 to {_LONGEST:.0f}; now it is {console.timeout:g}")
    console.timeout = seconds
    return f"an answer may take {seconds:g} s"


def _stderr(console: "Console", words: list[str]) -> str:
    return "\n".join(console.dialogue.peer.stderr_tail().splitlines()[-_STDERR:]) or "nothing"


def _restart(console: "Console", words: list[str]) -> str:
    for bot in console.bots:
        if words == [bot.name]:
            run_blocking(console.adviser.dismiss(bot))
            return f"{bot.name} is started again when it is next asked"
    if words not in ([], ["--fresh"]):
        raise OwnFailed("write :restart, :restart --fresh or :restart BOT", code="usage")
    count = console.restart(fresh=bool(words))
    again = f"; {count} {'command was' if count == 1 else 'commands were'} sent again" if count else ""
    return f"{console.dialogue.target.name} was restarted{again}"


def _quit(console: "Console", words: list[str]) -> str:
    console.ended = True
    return ""


def _number(text: str) -> float:
    """Return the number, -1 for any other word."""
    try:
        return float(text)
    except ValueError:
        return -1.0


# -- steps in the tree of variations ----------------------------------------------------------------------------------


def _move(console: "Console", words: list[str]) -> str:
    if not words:
        reply = console.ask("ggp-legal_moves")
        example = escape_unprintable(((reply.text.split() if reply.ok else []) or ["MOVE"])[0])[:40]
        raise OwnFailed(f"write :move MOVE, as in :move {example}, or :{example}", code="usage")
    console.cursor.play(words)
    return console.cursor.caption()


def _back(console: "Console", words: list[str]) -> str:
    return _step(console, console.cursor.back, "back", words)


def _forward(console: "Console", words: list[str]) -> str:
    return _step(console, console.cursor.forward, "forward", words)


def _step(console: "Console", step: Callable[[int], Status], name: str, words: list[str]) -> str:
    try:
        count = int((words or ["1"])[0][:10])
    except ValueError:
        raise OwnFailed(f"write :{name} N, a number", code="usage") from None
    step(count)
    return console.cursor.caption()


def _goto(console: "Console", words: list[str]) -> str:
    console.cursor.goto(words[0])
    comment = console.cursor.here().comment
    return "\n".join([console.cursor.caption(), *map(escape_unprintable, comment.splitlines())])


def _moves(console: "Console", words: list[str]) -> str:
    """List the plies of this line; or one ply with its time, analysis and comment."""
    at, last = console.cursor.here(), console.cursor.last()
    if not words:
        return list_moves([node.as_ply() for node in console.cursor.tree.line_through(at)], at.ply, list_width())
    node = console.cursor.tree.find(words[0])
    if node is None or node.parent is None:
        listed = f"the {console.cursor.main_line} has the plies 1 to {last}, and :tree lists the variations"
        raise OwnFailed(escape_unprintable(f"there is no ply {words[0][:40]}: {listed}"), code="no-ply")
    left = f", {node.left / 1000:.3f} s left" if node.left is not None else ""
    time = f"  {node.ms / 1000:.3f} s" if node.recorded or node.ms else ""
    lines = [escape_unprintable(f"{node.name} {node.colour} {node.move}{time}{left}")]
    lines += analysis_lines(node.analysis, list_width()) if node.analysis else []
    return "\n".join([*lines, *(escape_unprintable(f"comment: {line}") for line in node.comment.splitlines())])


def _tree(console: "Console", words: list[str]) -> str:
    """List every line, with brackets where we are and `*` for a comment or an evaluation."""
    at, last, tree = console.cursor.here(), console.cursor.last(), console.cursor.tree
    lines, width = list[str](), list_width()
    for number, first in enumerate((tree.root, *tree.variations)):
        head = f"{letters(number)}, which leaves ply {first.parent.name}: " if first.parent else ""
        line = ""
        for node in (first, *first.onward) if number else first.onward:
            word = f"{node.name} {node.move}{'*' if node.comment or node.evaluations else ''}"
            word = escape_unprintable(f"[{word}]" if node is at else word)
            if line and len(head) + len(line) + 2 + len(word) > width:
                lines.append(head + line)
                head, line = "  " if number else "", ""
            line += f"  {word}" if line else word
        lines += [head + line] if line else []
    return "\n".join(lines) or f"nothing is played yet; ply 0 of {last}"


def _comment(console: "Console", words: list[str]) -> str:
    node, text = console.cursor.here(), " ".join(words)
    if not words:
        lines = map(escape_unprintable, node.comment.splitlines())
        return "\n".join(lines) or "no comment: :comment TEXT writes one"
    if len(text) > _MOST_COMMENT:
        raise OwnFailed(f"a comment has at most {_MOST_COMMENT} characters", code="usage")
    node.comment = "" if text == "-" else text
    return f"{node.place(console.cursor.last())}: the comment is {'kept' if node.comment else 'removed'}"


def _info(console: "Console", words: list[str]) -> str:
    console.cursor.here()
    console.cursor.last()  # which reads a match that is being played
    if console.cursor.record is not None:
        lines = [*facts_of(console.cursor.record), ""]
    else:
        tree = console.cursor.tree
        lines = [tree.new_game.removeprefix("ggp-new "), *(f"{name}: {text}" for name, text in tree.about.items())]
        lines += [f"the tree: {tree.size}", *(f"bot {bot.name}: {bot.command}" for bot in console.bots)]
    return "\n".join(map(escape_unprintable, [*lines, console.cursor.caption()]))


def _why(console: "Console", words: list[str]) -> str:
    reason = console.cursor.why(words[0])
    return escape_unprintable(f"{words[0]} is illegal: {reason}" if reason else f"{words[0]} is legal")


def _score(console: "Console", words: list[str]) -> str:
    reply = console.ask("ggp-score")
    if not reply.ok:
        raise OwnFailed(f"the engine answers: {reply.text}", code="engine-refused")
    return "\n".join(score_lines(reply.text, list_width()))


# -- time, new matches ------------------------------------------------------------------------------------------------


def _replay(console: "Console", words: list[str]) -> str:
    """Step through the line from here, from its start at its end; Ctrl-C stops."""
    text = words[0] if words else "1x"
    speed, times = _number(text.removesuffix("x")), text.endswith("x")
    if not (0.001 <= speed <= 1e6 if times else 0 <= speed <= _LONGEST):
        raise OwnFailed("write :replay, :replay 10x, or :replay 0.5 (seconds for each ply)", code="usage")
    cursor = console.cursor
    node = cursor.here()
    onward = node.onward or node.path
    if not onward:
        raise OwnFailed("there is nothing to replay: play some plies first", code="no-ply")
    cursor.put(onward[0].parent or node)
    console.look()
    try:
        for step in onward:
            time.sleep(min(step.ms / 1000 / speed, _LONGEST) if times else speed)
            cursor.put(step)
            said = analysis_line(step.analysis, list_width())
            click.echo("  ".join([line_of(step.as_ply()), *([said] if said else [])]))
            console.look()
    except KeyboardInterrupt:
        pass
    return cursor.caption()


def _live(console: "Console", words: list[str]) -> str:
    if console.source is None:
        raise OwnFailed("there is no match to follow: ggp console --match PLACE names one", code="no-match")
    return follow(console.cursor, console.source, console.look, click.echo)


def _fork(console: "Console", words: list[str]) -> str:
    from ggp.referee.tools.console import fork  # which loads numpy

    return fork.fork(console, words)


def _play(console: "Console", words: list[str]) -> str:
    from ggp.referee.tools.console import fork  # which loads numpy

    return fork.play(console, words)


# -- the table --------------------------------------------------------------------------------------------------------

_SAVED = "FILE.tst: what passed, a regression transcript; FILE.sgf: the tree; FILE.jsonl: this line or the main one"
_RESTART = "restart the peer and replay the position; --fresh: without it; BOT: restart that bot"
_MATCH = "[time=CONTROL] [record=FILE]"
_GRAPH = "Black's win rate along the line; SECONDS: ask BOT where it said nothing"
MOVE = OwnCommand("move [MOVE …]", "play moves for the side to move; `:D4` is short for :move D4", _move)
_FOR_EVERY_PEER = (
    OwnCommand("help [COMMAND]", "what a command does; without one, which there are", _help),
    OwnCommand("raw [on|off]", "show all bytes as they pass, with escapes", _raw),
    OwnCommand("board [on|off]", "draw the board after each change", _board),
    OwnCommand("send 'BYTES'", "send exactly these bytes, escapes as in Python: :send 'name\\r\\n'", _send),
    OwnCommand("svg FILE", "write the position as a picture", _svg),
    OwnCommand("save FILE [main]", _SAVED, _save),
    OwnCommand("timeout SECONDS", "time limit of an answer, after which a warning is shown", _timeout),
    OwnCommand("stderr", f"the last {_STDERR} lines that the peer wrote there", _stderr),
    OwnCommand("restart [--fresh|BOT]", _RESTART, _restart),
    OwnCommand("quit", "tell the peer to quit, and leave", _quit),
)
_FOR_ENGINES = (
    MOVE,
    OwnCommand("back [N]", "N plies back (1)", _back),
    OwnCommand("forward [N]", "N plies on (1), along the first continuation", _forward),
    OwnCommand("goto PLY", "to a ply: 17, -1 (the last), 17b or b of variation b; 0 is the start", _goto),
    OwnCommand("moves [PLY]", "the plies of this line; one with its time, analysis and comment", _moves),
    OwnCommand("tree", "every line: the main one and the variations, with the names of their plies", _tree),
    OwnCommand("comment [TEXT …]", "the comment on this position, or a new one; :comment - removes it", _comment),
    OwnCommand("info", "the game, the players, clocks, result, diagnostics of a fault", _info),
    OwnCommand("why MOVE", "why a move is illegal here", _why),
    OwnCommand("score", "the score of the position, and what it is made of", _score),
    OwnCommand("ask [BOT …] [SECONDS]", "what the bots, or these, would play here, side by side", bots.ask),
    OwnCommand("hint [BOT] [SECONDS]", "what a bot (the console's first) would play here, and why", bots.hint),
    OwnCommand("answer [BOT] [SECONDS]", "have a bot play the next ply", bots.answer),
    OwnCommand("eval", "what was said of this position", bots.evaluations),
    OwnCommand("graph [BOT] [SECONDS]", _GRAPH, bots.graph),
    OwnCommand("bots [BOT …]", "the bots of the console; with words, more of them", bots.add_bots),
    OwnCommand(f"fork [PLAYER PLAYER] {_MATCH} [games=N]", "a new match from here; bots play, or a `human`", _fork),
    OwnCommand(f"play BOT BOT GAMES {_MATCH}", "a series from here in both seats", _play),
    OwnCommand("replay [SPEED]", "step through the line from here: as it was played, 10x, or 0.5 (s a ply)", _replay),
    OwnCommand("live", "follow the match while it is played; Ctrl-C stops", _live),
)
_QUICK = ("raw", "board", "send", "timeout", "stderr", "quit")  # they wait for nothing
_CHANGING = ("restart", "move", "back", "forward", "goto", "why", "answer", "graph", "replay", "live")
COMMANDS = {
    row.name: row._replace(engine=row in _FOR_ENGINES, changes=row.name in _CHANGING, quick=row.name in _QUICK)
    for row in (*_FOR_EVERY_PEER, *_FOR_ENGINES)
}
