"""Commands of the console that ask bots: their answers to a position side by side, and what they said along a line."""

import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.match.advice import analysis_control
from ggp.referee.match.analysis import analysis_line, analysis_lines, cut, percent, read_analysis
from ggp.referee.match.bot_spec import BotSpec, distinct, read_bot
from ggp.referee.match.engine import OVER
from ggp.referee.match.outcome import BotFault, CannotStart
from ggp.referee.match.setting import Setting
from ggp.referee.terminal import TextTable, duration, escape_unprintable, screen_columns, shows_unicode, table_lines
from ggp.referee.tools.console.dialogue import read_bots
from ggp.referee.tools.console.own_commands import ConsoleError
from ggp.referee.tools.console.tree import Evaluation, TreeNode

if TYPE_CHECKING:
    from ggp.referee.tools.console.console import Console

_WIDTH = 100  # columns of lists and texts
_MOST_BOTS = 100
_LEAST_PV = 12  # columns
_MOST_MOVE = 30
_TIME = re.compile(r"\d[\d.]*(/move|\+[\d.]+)?")


def list_width() -> int:
    """Return the columns of lists and texts, at most those of the terminal."""
    return min(_WIDTH, screen_columns() or _WIDTH)


# -- one position ------------------------------------------------------------------------------------------------------


def ask(console: "Console", words: list[str]) -> str:
    """Return a table of the answers of several bots, and a line for each bot at fault."""
    names, control = _with_time(words)
    bots = [_bot(console, name) for name in names] or console.bots
    if not bots:
        raise ConsoleError("name bots, as in :ask greedy mcts, or add some: :bots greedy mcts", code="no-bot")
    answers, faults = list[Evaluation](), list[str]()
    for bot in bots:
        try:
            answers.append(_consult(console, bot, control))
        except ConsoleError as failed:
            if failed.code in ("no-game", "another-game", "game-over", "bad-control"):
                raise
            faults.append(str(failed))
        except KeyboardInterrupt:
            faults.append("interrupted")
            break
    if not answers:
        raise ConsoleError("\n".join(faults), code="no-answer")
    faults += [_judged(console, one) for one in answers if _illegal(console, one.move)]
    return "\n".join([*_side_by_side(answers), *faults])


def hint(console: "Console", words: list[str]) -> str:
    """Return what a bot would play, and its analysis."""
    said = _consult(console, *_one(console, words, "hint"))
    lines = [f"{_judged(console, said)}, {said.seconds:.3f} s"]
    return "\n".join([*lines, *(analysis_lines(said.analysis, list_width()) if said.analysis else [])])


def answer(console: "Console", words: list[str]) -> str:
    """Let a bot play. Its analysis is kept with the ply."""
    said = _consult(console, *_one(console, words, "answer"))
    if said.move.lower() == "resign":
        return escape_unprintable(f"{said.bot} resigns")
    if _illegal(console, said.move):
        raise ConsoleError(_judged(console, said), code="illegal-move")
    console.cursor.play([said.move])
    node = console.cursor.here()
    if not node.recorded:
        node.ms, node.analysis = int(said.seconds * 1000), said.analysis
    numbers = analysis_line(said.analysis, list_width())
    line = escape_unprintable(f"{said.bot}: {node.move}, {said.seconds:.3f} s" + (f"  {numbers}" if numbers else ""))
    return f"{cut(line, list_width())}\n{console.cursor.caption()}"


def evaluations(console: "Console", words: list[str]) -> str:
    """Return what bots have said about the position."""
    node = console.cursor.here()
    said = [*_said_of(console, node)]
    if not said:
        raise ConsoleError("no bot has evaluated this position: type :ask to ask them", code="no-evaluation")
    lines = [f"{node.place(console.cursor.last())}: each bot's view of its side"]
    for one in said:
        numbers = analysis_line(one.analysis, list_width()) or "no numbers"
        lines.append(cut(f"{one.bot} ({one.colour}): {one.move}  {numbers}", list_width()))
    return "\n".join(map(escape_unprintable, lines))


def add_bots(console: "Console", words: list[str]) -> str:
    """Add bots to the console, and list all of them."""
    if len(console.bots) + len(words) > _MOST_BOTS:
        raise ConsoleError(f"a console has at most {_MOST_BOTS} bots", code="usage")
    console.bots[:] = distinct(*console.bots, *read_bots(words))
    running = {bot: ", running" for bot in console.bots if console.adviser.running(bot)}
    lines = [escape_unprintable(f"{bot.name}: {bot.command}{running.get(bot, '')}") for bot in console.bots]
    return "\n".join(lines) or "there are no bots: type :bots greedy to add one"


# -- along a line ------------------------------------------------------------------------------------------------------


def graph(console: "Console", words: list[str]) -> str:
    """Return Black's win rate along this line, according to all bots or one."""
    names, control = _with_time(words)
    if len(names) > 1 or (control and not names):
        raise ConsoleError("write :graph, :graph BOT, or :graph BOT SECONDS", code="usage")
    here = console.cursor.here()
    line = [console.cursor.tree.root, *console.cursor.tree.line_through(here)]
    if control:
        bot = _bot(console, names[0])
        names = [bot.name]
        _ask_along(console, line, bot, control)
    found: dict[str, dict[int, float]] = {}
    for node in line:
        for one in _said_of(console, node):
            winrate = read_analysis(one.analysis).winrate
            if winrate is not None and names in ([], [one.bot]):
                found.setdefault(one.bot, {})[node.ply] = winrate if one.colour == "black" else 1 - winrate
    if not found:
        who = escape_unprintable(f"{names[0]} has given no" if names else "no bot has given a")
        raise ConsoleError(f"{who} win rate along this line: type :graph BOT SECONDS to ask one", code="no-evaluation")
    lines = []
    for name, rates in found.items():
        lines.append(escape_unprintable(f"{name}: Black's win rate"))
        plain = bool(os.environ.get("NO_COLOR")) or not shows_unicode()
        lines += draw_graph(rates, len(line) - 1, here.ply, screen_columns() or _WIDTH, plain)
    return "\n".join(lines)


def _ask_along(console: "Console", line: list[TreeNode], bot: BotSpec, control: str) -> None:
    """Ask a bot about every position of the line that it has not evaluated, then return to the current position."""
    here = console.cursor.here()
    try:
        for node in line:
            if bot.name in [one.bot for one in _said_of(console, node)]:
                continue
            if console.cursor.put(node).phase == OVER:
                break
            _consult(console, bot, control)
    except KeyboardInterrupt:
        pass  # keep the answers so far
    finally:
        console.cursor.put(here)


def _said_of(console: "Console", node: TreeNode) -> Iterator[Evaluation]:
    """Yield what bots said about the position, when asked or with the ply that they played there."""
    yield from node.evaluations.values()
    record = console.cursor.record
    for child in node.children:
        if child.analysis and child.recorded and record and child.seat in (1, 2):
            name = record.start.bots[child.seat - 1].name
            yield Evaluation(name, child.colour, child.move, child.ms / 1000, child.analysis)


# -- asking ------------------------------------------------------------------------------------------------------------


def _with_time(words: list[str]) -> tuple[list[str], str]:
    """Split the words into bots and the time after them, "" for none."""
    return (words[:-1], words[-1]) if words and _TIME.fullmatch(words[-1]) else (words, "")


def _one(console: "Console", words: list[str], name: str) -> tuple[BotSpec, str]:
    """Return the named bot or the first of the console, and the time."""
    control = words[-1] if words and (len(words) == 2 or words[0][0].isdigit()) else ""
    named = words[: len(words) - bool(control)]
    if not named and not console.bots:
        raise ConsoleError(f"write :{name} BOT [SECONDS or another time control]", code="usage")
    return _bot(console, named[0]) if named else console.bots[0], control


def _bot(console: "Console", word: str) -> BotSpec:
    return next((bot for bot in console.bots if bot.name == word), None) or read_bot(word)


def _consult(console: "Console", bot: BotSpec, control: str) -> Evaluation:
    """Ask a bot, and keep its answer in the node.

    Raises:
        ConsoleError: The bot fails, or the game is over.
    """
    node, status = console.cursor.here(), console.cursor.status()
    if status.phase == OVER:
        raise ConsoleError("the game is over: there is nothing to play", code="game-over")
    tree, console.adviser.most = console.cursor.tree, max(4, len(console.bots))
    try:
        setting = Setting(tree.game, tree.options, console.defaults(tree.game), analysis_control(control))
    except ValueError as error:
        raise ConsoleError(str(error), code="bad-control") from None
    plies = [(step.colour, step.move) for step in node.path]
    try:
        advice = run_blocking(console.adviser.ask(bot, setting, plies, status))
    except CannotStart as error:
        raise ConsoleError(escape_unprintable(f"{error.who}: {error}"), code=error.code) from None
    except BotFault as fault:
        text = escape_unprintable(f"{bot.name}: {fault.termination}: {fault}")
        raise ConsoleError(text, code=str(fault.termination)) from None
    if not advice.move:
        raise ConsoleError(f"{bot.name} names no dead stones", code="no-answer")
    said = Evaluation(bot.name, status.to_play, advice.move, advice.seconds, advice.analysis)
    node.evaluations[bot.name] = said
    return said


def _judged(console: "Console", said: Evaluation) -> str:
    """Return `greedy: D4`, and the reason if the move is illegal."""
    reason = _illegal(console, said.move)
    return escape_unprintable(f"{said.bot}: {cut(said.move, _MOST_MOVE)}" + (f": {reason}" if reason else ""))


def _illegal(console: "Console", move: str) -> str:
    if move.lower() == "resign":
        return ""
    if len(move.split()) != 1 or "#" in move or not move.isprintable():
        return "not a move"
    reason = console.cursor.why(move)
    return f"illegal: {reason}" if reason else ""


# -- tables and bars ---------------------------------------------------------------------------------------------------


def _side_by_side(answers: Sequence[Evaluation]) -> list[str]:
    """Return a table without empty columns. The last column, pv, is cut to the room that is left."""
    columns: dict[str, list[str]] = {}
    for answer in answers:
        said = read_analysis(answer.analysis)
        cells = {
            "bot": answer.bot,
            "move": cut(answer.move, _MOST_MOVE),
            "winrate": "" if said.winrate is None else percent(said.winrate),
            "score": "" if said.score is None else f"{said.score:+.4g}",
            "depth": "" if said.depth is None else str(said.depth),
            "playouts": "" if said.playouts is None else str(said.playouts),
            "time": duration(answer.seconds),
            "pv": " ".join(said.pv),
        }
        for head, cell in cells.items():
            columns.setdefault(head, []).append(escape_unprintable(cell))
    shown = {head: cells for head, cells in columns.items() if any(cells)}
    left = sum(max(map(len, (head, *cells))) + 2 for head, cells in shown.items() if head != "pv")
    if "pv" in shown:
        shown["pv"] = [cut(cell, max(list_width() - left, _LEAST_PV)) for cell in shown["pv"]]
    rows = [list(row) for row in zip(*shown.values(), strict=True)]
    return [*table_lines(TextTable([*shown], frozenset({"bot", "move", "pv"}), rows))]


_ROWS = 6
_EIGHTHS = " ▁▂▃▄▅▆▇█"


def draw_graph(rates: dict[int, float], last: int, here: int, columns: int, plain: bool) -> list[str]:
    """Draw bars of Black's win rate.

    Args:
        rates: The win rate, 0 to 1, by ply from 0 to `last`.
        last: The last ply.
        here: The ply that is marked below.
        columns: The available columns. If there are more plies, a bar is the mean of several.
        plain: Draw in ASCII, with half the resolution.
    """
    room = max(10, min(columns, _WIDTH) - 7)
    each = -(-(last + 1) // room)
    bars: list[float | None] = []
    for first in range(0, last + 1, each):
        known = [rates[ply] for ply in range(first, first + each) if ply in rates]
        bars.append(sum(known) / len(known) if known else None)
    lines = []
    for row, label in zip(range(_ROWS - 1, -1, -1), ("100 %", "", " 50 %", "", "", "  0 %"), strict=True):
        cells = "".join(_cell(bar, row, plain) for bar in bars)
        lines.append(f"{label:5} {'|' if plain else '│'}{cells}".rstrip())
    lines.append(f"  ply  {' ' * (here // each)}^")
    return [*lines, f"       0 to {last}" + (f", {each} plies a bar" if each > 1 else "") + f"; ^ is ply {here}"]


def _cell(bar: float | None, row: int, plain: bool) -> str:
    """Return the part of a bar in a row. A bar of 0 shows its lowest step, so that it is visible."""
    if bar is None:
        return " "
    eighths = max(round(bar * _ROWS * 8) - 8 * row, 1 if row == 0 else 0)
    if plain:
        return "#" if eighths >= 6 else ":" if eighths >= 3 else "." if eighths > 0 else " "
    return _EIGHTHS[min(8, eighths)]
