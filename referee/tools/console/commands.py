"""The table of the console's commands, and the commands about the peer and the tree of variations.

Each command takes the console and its arguments, and returns the text to show. Failures raise ConsoleError.
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
from ggp.referee.tools.console.own_commands import ConsoleError, OwnCommand
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
            lines.append("  the peer lists it" + ("" if row else "; it is not part of the protocol"))
        elif row:
            lines.append("  the peer does not list it")
    if not lines:
        raise ConsoleError(f"unknown command {name}; :help lists them")
    return "\n".join(lines)


def _overview(console: "Console", listed: tuple[str, ...]) -> str:
    rows = {row: f"  {f':{row.usage}':28} {row.help}" for row in COMMANDS.values()}
    lines = ["Lines that begin with : or ! are commands of the console:"]
    lines += [line for row, line in rows.items() if not row.engine]
    if console.info.kind is PeerKind.ENGINE:
        lines += ["For the position on the engine:", *(line for row, line in rows.items() if row.engine)]
    lines += [f"All other lines are sent to the {console.info.kind}, {console.dialogue.target.name}. It lists:"]
    known = [name for name in listed if name in TABLE]
    groups = groupby(known, key=lambda name: name.partition("-")[0] if "-" in name else "")
    lines += [f"  {' '.join(group)}" for _, group in groups]
    others = [name for name in listed if name not in TABLE]
    return "\n".join([*lines, *([f"  not in the protocol: {' '.join(others)}"] if others else [])])


def _raw(console: "Console", words: list[str]) -> str:
    console.raw = _switch(words, console.raw)
    return f"raw bytes are {'shown' if console.raw else 'not shown'}"


def _board(console: "Console", words: list[str]) -> str:
    console.board, console.stale = _switch(words, console.board), True
    return f"the board is {'drawn' if console.board else 'not drawn'}"


def _switch(words: list[str], now: bool) -> bool:
    """Parse `on` or `off`; without a word, toggle."""
    if words not in ([], ["on"], ["off"]):
        raise ConsoleError("write on or off", code="usage")
    return words == ["on"] if words else not now


def _send(console: "Console", words: list[str]) -> str:
    """Send exactly these bytes. The answers are shown like any others."""
    text = " ".join(words).encode("ascii", "backslashreplace").decode().replace("'", "\\'")
    try:
        data: bytes = literal_eval(f"b'{text}'")
    except (ValueError, SyntaxError):
        raise ConsoleError("invalid bytes: write escapes as in Python, such as \\n, \\x00, \\\\") from None
    awaited = console.dialogue.send(data)
    for exchange in awaited:
        console.answered(exchange.sent)
    return f"{len(data)} bytes sent; {len(awaited)} {'answer is' if len(awaited) == 1 else 'answers are'} due"


def _svg(console: "Console", words: list[str]) -> str:
    path = Path(words[0]).expanduser()
    if SCENE not in console.commands():
        raise ConsoleError("the peer lists no ggp-scene, so there is nothing to draw")
    reply = console.dialogue.ask(SCENE, MOMENT)
    if not reply.ok:
        raise ConsoleError(f"the peer answers `ggp-scene` with `? {reply.text}`")
    try:
        replace_file(path, svg.draw(read_scene(reply.text)).encode())
    except DrawingError as error:
        raise ConsoleError(str(error)) from None
    return f"{path} written"


def _save(console: "Console", words: list[str]) -> str:
    path, main = Path(words[0]).expanduser(), words[1:] == ["main"]
    if (words[1:] and not main) or (main and path.suffix != ".jsonl"):
        raise ConsoleError(
            "write :save FILE.tst, :save FILE.sgf, :save FILE.jsonl, or :save FILE.jsonl main", code="usage"
        )
    if path.suffix in (".sgf", ".jsonl"):
        console.need_engine()
        from ggp.referee.tools.console import tree_files  # imports the stores of ladders

        at, cursor = console.cursor.here(), console.cursor
        if path.suffix == ".sgf":
            return tree_files.save_sgf(cursor.tree, cursor.record, path)
        nodes = cursor.tree.main_line if main else cursor.tree.line_through(at)
        return tree_files.save_record(cursor.tree, nodes, cursor.record, console.dialogue.target.engine, path)
    kept = list(console.dialogue.kept)
    if not kept:
        raise ConsoleError("nothing has been asked yet")
    replace_file(path, write(kept).encode())
    return f"{path} written: {counted(len(kept), 'command')}"


def _timeout(console: "Console", words: list[str]) -> str:
    seconds = _number(words[0])
    if not 0.001 <= seconds <= _LONGEST:
        raise ConsoleError(f"write :timeout SECONDS, from 0.001 to {_LONGEST:.0f}; it is {console.timeout:g} now")
    console.timeout = seconds
    return f"an answer may take {seconds:g} s"


def _stderr(console: "Console", words: list[str]) -> str:
    return "\n".join(console.dialogue.peer.stderr_tail().splitlines()[-_STDERR:]) or "nothing"


def _restart(console: "Console", words: list[str]) -> str:
    for bot in console.bots:
        if words == [bot.name]:
            run_blocking(console.adviser.dismiss(bot))
            return f"{bot.name} will be started again when it is next asked"
    if words not in ([], ["--fresh"]):
        raise ConsoleError("write :restart, :restart --fresh or :restart BOT", code="usage")
    count = console.restart(fresh=bool(words))
    again = f"; {count} {'command was' if count == 1 else 'commands were'} sent again" if count else ""
    return f"{console.dialogue.target.name} was restarted{again}"


def _quit(console: "Console", words: list[str]) -> str:
    console.ended = True
    return ""


def _number(text: str) -> float:
    """Return the number; -1 for any other word."""
    try:
        return float(text)
    except ValueError:
        return -1.0


# -- steps in the tree of variations ----------------------------------------------------------------------------------


def _move(console: "Console", words: list[str]) -> str:
    if not words:
        reply = console.ask("ggp-legal_moves")
        example = escape_unprintable(((reply.text.split() if reply.ok else []) or ["MOVE"])[0])[:40]
        raise ConsoleError(f"write :move MOVE, as in :move {example}, or :{example}", code="usage")
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
        raise ConsoleError(f"write :{name} N, a number", code="usage") from None
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
        listed = f"the {console.cursor.main_line} has plies 1 to {last}, and :tree lists the variations"
        raise ConsoleError(escape_unprintable(f"there is no ply {words[0][:40]}: {listed}"), code="no-ply")
    left = f", {node.left / 1000:.3f} s left" if node.left is not None else ""
    time = f"  {node.ms / 1000:.3f} s" if node.recorded or node.ms else ""
    lines = [escape_unprintable(f"{node.name} {node.colour} {node.move}{time}{left}")]
    lines += analysis_lines(node.analysis, list_width()) if node.analysis else []
    return "\n".join([*lines, *(escape_unprintable(f"comment: {line}") for line in node.comment.splitlines())])


def _tree(console: "Console", words: list[str]) -> str:
    """List every line, with brackets around the current ply and `*` for a comment or an evaluation."""
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
        return "\n".join(lines) or "no comment: type :comment TEXT to write one"
    if len(text) > _MOST_COMMENT:
        raise ConsoleError(f"a comment has at most {_MOST_COMMENT} characters", code="usage")
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
        raise ConsoleError(f"the engine answers: {reply.text}", code="engine-refused")
    return "\n".join(score_lines(reply.text, list_width()))


# -- time, new matches ------------------------------------------------------------------------------------------------


def _replay(console: "Console", words: list[str]) -> str:
    """Step through the line from here, or from its start if we are at its end. Ctrl-C stops."""
    text = words[0] if words else "1x"
    speed, times = _number(text.removesuffix("x")), text.endswith("x")
    if not (0.001 <= speed <= 1e6 if times else 0 <= speed <= _LONGEST):
        raise ConsoleError("write :replay, :replay 10x, or :replay 0.5 (seconds per ply)", code="usage")
    cursor = console.cursor
    node = cursor.here()
    onward = node.onward or node.path
    if not onward:
        raise ConsoleError("there is nothing to replay: play some plies first", code="no-ply")
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
        raise ConsoleError("there is no match to follow: start the console with --match PLACE", code="no-match")
    return follow(console.cursor, console.source, console.look, click.echo)


def _fork(console: "Console", words: list[str]) -> str:
    from ggp.referee.tools.console import fork  # imports numpy

    return fork.fork(console, words)


def _play(console: "Console", words: list[str]) -> str:
    from ggp.referee.tools.console import fork  # imports numpy

    return fork.play(console, words)


# -- the table --------------------------------------------------------------------------------------------------------

_SAVED = (
    "save to FILE.tst the dialogue as a regression test, to FILE.sgf the tree, to FILE.jsonl this line or the main one"
)
_RESTART = "restart the peer and replay the position (--fresh: without it), or restart a bot"
_MATCH = "[time=CONTROL] [record=FILE]"
_GRAPH = "show Black's win rate along the line; with SECONDS, ask BOT about positions that it has not evaluated"
MOVE = OwnCommand("move [MOVE …]", "play moves for the side to move; `:D4` is short for :move D4", _move)
_FOR_EVERY_PEER = (
    OwnCommand("help [COMMAND]", "explain a command, or list all commands", _help),
    OwnCommand("raw [on|off]", "show all bytes sent and received, with escapes", _raw),
    OwnCommand("board [on|off]", "draw the board after each change", _board),
    OwnCommand("send 'BYTES'", "send exactly these bytes, with escapes as in Python: :send 'name\\r\\n'", _send),
    OwnCommand("svg FILE", "write the position as a picture", _svg),
    OwnCommand("save FILE [main]", _SAVED, _save),
    OwnCommand("timeout SECONDS", "set the time after which a missing answer is reported", _timeout),
    OwnCommand("stderr", f"show the last {_STDERR} lines of the peer's stderr", _stderr),
    OwnCommand("restart [--fresh|BOT]", _RESTART, _restart),
    OwnCommand("quit", "end the peer and the console", _quit),
)
_FOR_ENGINES = (
    MOVE,
    OwnCommand("back [N]", "go back N plies (1)", _back),
    OwnCommand("forward [N]", "go forward N plies (1), along the first continuation", _forward),
    OwnCommand("goto PLY", "go to a ply: 17, -1 (the last), 17b or b in variation b, 0 (the start)", _goto),
    OwnCommand("moves [PLY]", "list the plies of this line, or show one with its time, analysis and comment", _moves),
    OwnCommand("tree", "list the main line and the variations, with the names of their plies", _tree),
    OwnCommand("comment [TEXT …]", "show or set the comment on this position; :comment - removes it", _comment),
    OwnCommand("info", "show the game, the players, clocks, result, diagnostics of a fault", _info),
    OwnCommand("why MOVE", "explain why a move is illegal here", _why),
    OwnCommand("score", "show the score of the position and its parts", _score),
    OwnCommand("ask [BOT …] [SECONDS]", "compare what these bots, or all, would play here", bots.ask),
    OwnCommand("hint [BOT] [SECONDS]", "show what a bot (by default the first) would play here, and why", bots.hint),
    OwnCommand("answer [BOT] [SECONDS]", "let a bot play the next ply", bots.answer),
    OwnCommand("eval", "show all evaluations of this position", bots.evaluations),
    OwnCommand("graph [BOT] [SECONDS]", _GRAPH, bots.graph),
    OwnCommand("bots [BOT …]", "list the bots of the console, or add some", bots.add_bots),
    OwnCommand(
        f"fork [PLAYER PLAYER] {_MATCH} [games=N]", "play a new match from here between bots, or with a `human`", _fork
    ),
    OwnCommand(f"play BOT BOT GAMES {_MATCH}", "play a series from here, with both bots in both seats", _play),
    OwnCommand(
        "replay [SPEED]", "step through the line from here: as it was played, 10x, or 0.5 (seconds per ply)", _replay
    ),
    OwnCommand("live", "follow the running match; Ctrl-C stops", _live),
)
_QUICK = ("raw", "board", "send", "timeout", "stderr", "quit")  # these do not wait for an answer
_CHANGING = ("restart", "move", "back", "forward", "goto", "why", "answer", "graph", "replay", "live")
COMMANDS = {
    row.name: row._replace(engine=row in _FOR_ENGINES, changes=row.name in _CHANGING, quick=row.name in _QUICK)
    for row in (*_FOR_EVERY_PEER, *_FOR_ENGINES)
}
