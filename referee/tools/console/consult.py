"""The console's commands that ask bots: their answers to a position side by side, and what they said along a line."""

import os
import re
from collections.abc import Iterator, Sequence

from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.match.advice import Advice, Adviser, analysis_control
from ggp.referee.match.analysis import analysis_line, analysis_lines, cut, percent, read_analysis
from ggp.referee.match.bot_spec import BotSpec, LaunchError, WordError, distinct, read_bot
from ggp.referee.match.engine import OVER, Status
from ggp.referee.match.outcome import BotFault, CannotStart
from ggp.referee.match.setting import Setting
from ggp.referee.terminal import TextTable, duration, escape_unprintable, screen_columns, shows_unicode, table_lines
from ggp.referee.tools.console.dialogue import read_bots
from ggp.referee.tools.console.own_commands import OwnFailed
from ggp.referee.tools.console.replay import list_width
from ggp.referee.tools.console.tree import Evaluation, TreeNode
from ggp.referee.tools.console.workbench import Ask, Workbench, place_of

_MOST_BOTS = 100
_LEAST_PV = 12  # columns
_MOST_MOVE = 30


class Consultation:
    """The commands that ask bots. `bots` are those of the console, to which `:bots` adds."""

    def __init__(self, bench: Workbench, ask: Ask, bots: list[BotSpec]) -> None:
        self._bench, self._ask_engine, self._bots = bench, ask, bots
        self._defaults: dict[str, dict[str, str]] = {}  # of each game's options, which plain GTP bots have to be told
        self.adviser = Adviser()

    def close(self) -> None:
        """End every bot."""
        run_blocking(self.adviser.close())

    # -- one position ------------------------------------------------------------------------------------------------

    def ask(self, words: list[str]) -> str:
        """A table of the answers; a bot at fault is a line below it."""
        names, control = _with_time(words)
        bots = [self._bot(name) for name in names] or self._bots
        if not bots:
            raise OwnFailed("name bots, as in :ask greedy mcts, or add some: :bots greedy mcts", code="no-bot")
        node, status, setting = self._position(control)
        answers, faults = list[Evaluation](), list[str]()
        for bot in bots:
            try:
                answers.append(self._consult(bot, node, status, setting))
            except OwnFailed as failed:
                faults.append(str(failed))
            except KeyboardInterrupt:
                faults.append("interrupted")
                break
        if not answers:
            raise OwnFailed("\n".join(faults), code="no-answer")
        faults += [self._judged(one) for one in answers if self._illegal(one.move)]
        return "\n".join([*_side_by_side(answers), *faults])

    def hint(self, words: list[str]) -> str:
        bot, control = self._one(words, "hint")
        answer = self._consult(bot, *self._position(control))
        lines = [f"{self._judged(answer)}, {answer.seconds:.3f} s"]
        return "\n".join([*lines, *(analysis_lines(answer.analysis, list_width()) if answer.analysis else [])])

    def answer(self, words: list[str]) -> str:
        """Have a bot play. Its analysis stays with the ply."""
        bot, control = self._one(words, "answer")
        answer = self._consult(bot, *self._position(control))
        if answer.move.lower() == "resign":
            return escape_unprintable(f"{bot.name} resigns")
        if reason := self._illegal(answer.move):
            raise OwnFailed(escape_unprintable(f"{bot.name}: {answer.move[:40]}: {reason}"), code="illegal-move")
        self._bench.play([answer.move])
        node = self._bench.here()
        if not node.recorded:
            node.ms, node.analysis = int(answer.seconds * 1000), answer.analysis
        said = analysis_line(answer.analysis, list_width())
        line = escape_unprintable(f"{bot.name}: {node.move}, {answer.seconds:.3f} s" + (f"  {said}" if said else ""))
        return f"{cut(line, list_width())}\n{self._bench.caption()}"

    def eval(self, words: list[str]) -> str:
        if words:
            raise OwnFailed("write :eval alone; :ask asks bots", code="usage")
        node = self._bench.here()
        lines = [escape_unprintable(f"{place_of(node, self._bench.last)}: what each says for its side")]
        said = [*self._said_of(node)]
        if not said:
            raise OwnFailed("no bot has said anything of this position: :ask asks them", code="no-evaluation")
        for one in said:
            numbers = analysis_line(one.analysis, list_width()) or "no numbers"
            lines.append(cut(escape_unprintable(f"{one.bot} ({one.colour}): {one.move}  {numbers}"), list_width()))
        return "\n".join(lines)

    def add(self, words: list[str]) -> str:
        """The bots of the console, after more are added."""
        if len(self._bots) + len(words) > _MOST_BOTS:
            raise OwnFailed(f"a console has {_MOST_BOTS} bots at the most", code="usage")
        try:
            self._bots[:] = distinct(*self._bots, *read_bots(words))
        except (WordError, LaunchError) as error:
            raise OwnFailed(str(error), code=error.code) from None
        if not self._bots:
            return "there is no bot: :bots greedy adds one"
        return "\n".join(
            escape_unprintable(f"{bot.name}: {bot.command}{', running' if self.adviser.running(bot) else ''}")
            for bot in self._bots
        )

    # -- along a line ------------------------------------------------------------------------------------------------

    def graph(self, words: list[str]) -> str:
        """Black's chances of the positions of this line, by every bot or by one."""
        names, control = _with_time(words)
        if len(names) > 1 or (control and not names):
            raise OwnFailed("write :graph, :graph BOT, or :graph BOT SECONDS", code="usage")
        here = self._bench.here()
        if control:
            asked = self._bot(names[0])
            self._ask_along(asked, control, here)
            names = [asked.name]
        line = [self._bench.tree.root, *self._bench.tree.line_through(here)]
        found: dict[str, dict[int, float]] = {}
        for node in line:
            for one in self._said_of(node):
                winrate = read_analysis(one.analysis).winrate
                if winrate is not None and names in ([], [one.bot]):
                    found.setdefault(one.bot, {})[node.ply] = winrate if one.colour == "black" else 1 - winrate
        if not found:
            who = f"{names[0]} has" if names else "no bot has"
            raise OwnFailed(
                escape_unprintable(
                    f"{who} {'said no' if names else 'said a'} winrate along this line: :graph BOT SECONDS asks one"
                ),
                code="no-evaluation",
            )
        plain = bool(os.environ.get("NO_COLOR")) or not shows_unicode()
        lines = []
        for bot, rates in found.items():
            lines.append(escape_unprintable(f"{bot}: Black's win rate"))
            lines += graph(rates, len(line) - 1, here.ply, _columns(), plain)
        return "\n".join(lines)

    def _ask_along(self, bot: BotSpec, control: str, here: TreeNode) -> None:
        """Ask for every position of the line that the bot has said nothing of; then return to where we were."""
        try:
            for node in [self._bench.tree.root, *self._bench.tree.line_through(here)]:
                if bot.name in [one.bot for one in self._said_of(node)]:
                    continue
                if self._bench.put(node).phase == OVER:
                    break
                self._consult(bot, *self._position(control))
        except KeyboardInterrupt:
            pass  # what was said so far is kept
        finally:
            self._bench.put(here)

    def _said_of(self, node: TreeNode) -> Iterator[Evaluation]:
        """What bots said of the position: when they were asked, and with the ply that they played there."""
        yield from node.evaluations.values()
        record = self._bench.record
        for child in node.children:
            if child.analysis and child.recorded and record and child.seat in (1, 2):
                name = record.start.bots[child.seat - 1].name
                yield Evaluation(name, child.colour, child.move, child.ms / 1000, child.analysis)

    # -- asking ------------------------------------------------------------------------------------------------------

    def _one(self, words: list[str], name: str) -> tuple[BotSpec, str]:
        """The bot, the console's first if none is named, and the time."""
        if len(words) > 2:
            raise OwnFailed(f"write :{name} BOT [SECONDS or another time control]", code="usage")
        named = words and not (len(words) == 1 and words[0][0].isdigit())
        control = words[-1] if words and (len(words) == 2 or not named) else ""
        if not named and not self._bots:
            raise OwnFailed(f"write :{name} BOT [SECONDS or another time control]", code="usage")
        return self._bot(words[0]) if named else self._bots[0], control

    def _bot(self, word: str) -> BotSpec:
        known = next((bot for bot in self._bots if bot.name == word), None)
        if known is not None:
            return known
        try:
            return read_bot(word)
        except (WordError, LaunchError) as error:
            raise OwnFailed(str(error), code=error.code) from None

    def _position(self, control: str) -> tuple[TreeNode, Status, Setting]:
        node, status = self._bench.here(), self._bench.status()
        if status.phase == OVER:
            raise OwnFailed("the game is over: there is nothing to play", code="game-over")
        tree = self._bench.tree
        if tree.game not in self._defaults:
            listed = self._ask_engine(f"ggp-options {tree.game}")
            rows = [line.split() for line in listed.text.splitlines()] if listed.ok else []
            self._defaults[tree.game] = {row[0]: row[2] for row in rows if len(row) > 2}
        try:
            return node, status, Setting(tree.game, tree.options, self._defaults[tree.game], analysis_control(control))
        except ValueError as error:
            raise OwnFailed(str(error), code="bad-control") from None

    def _consult(self, bot: BotSpec, node: TreeNode, status: Status, setting: Setting) -> Evaluation:
        """A bot's answer, which the node keeps. Raises OwnFailed."""
        self.adviser.most = max(4, len(self._bots))
        plies = [(step.colour, step.move) for step in node.path]
        try:
            advice: Advice = run_blocking(self.adviser.ask(bot, setting, plies, status))
        except CannotStart as error:
            raise OwnFailed(escape_unprintable(f"{error.who}: {error}"), code=error.code) from None
        except BotFault as fault:
            raise OwnFailed(
                escape_unprintable(f"{bot.name}: {fault.termination}: {fault}"), code=str(fault.termination)
            ) from None
        if not advice.move:
            raise OwnFailed(f"{bot.name} does not say which stones are dead", code="no-answer")
        said = Evaluation(bot.name, status.to_play, advice.move, advice.seconds, advice.analysis)
        node.evaluations[bot.name] = said
        return said

    def _judged(self, said: Evaluation) -> str:
        """`greedy: D4`, and why it is illegal if it is."""
        reason = self._illegal(said.move)
        return escape_unprintable(f"{said.bot}: {cut(said.move, _MOST_MOVE)}" + (f": {reason}" if reason else ""))

    def _illegal(self, move: str) -> str:
        if move.lower() == "resign":
            return ""
        if len(move.split()) != 1 or "#" in move or not move.isprintable():
            return "not a move"
        reason = self._bench.why(move)
        return f"illegal: {reason}" if reason else ""


def _side_by_side(answers: Sequence[Evaluation]) -> list[str]:
    room = list_width()
    rows = []
    for answer in answers:
        said = read_analysis(answer.analysis)
        numbers = [
            "" if said.winrate is None else percent(said.winrate),
            "" if said.score is None else f"{said.score:+.4g}",
            "" if said.depth is None else str(said.depth),
            "" if said.playouts is None else str(said.playouts),
        ]
        rows.append([answer.bot, cut(answer.move, _MOST_MOVE), *numbers, duration(answer.seconds), " ".join(said.pv)])
    heads = ["bot", "move", "winrate", "score", "depth", "playouts", "time", "pv"]
    shown = [at for at, head in enumerate(heads) if head in ("bot", "move", "time") or any(row[at] for row in rows)]
    table = TextTable([heads[at] for at in shown], frozenset({"bot", "move", "pv"}))
    for row in rows:
        table.add(*(row[at] for at in shown))
    left = sum(max(len(cells[at]) for cells in (table.heads, *table.rows)) + 2 for at in range(len(shown) - 1))
    if heads[shown[-1]] == "pv":
        for cells in table.rows:
            cells[-1] = cut(cells[-1], max(room - left, _LEAST_PV))
    return list(table_lines(table))


def _with_time(words: list[str]) -> tuple[list[str], str]:
    """The bots, and the time behind them, "" for none."""
    if words and re.fullmatch(r"\d[\d.]*(/move|\+[\d.]+)?", words[-1]):
        return words[:-1], words[-1]
    return words, ""


# -- the graph --------------------------------------------------------------------------------------------------------


_ROWS = 6
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_MOST_COLUMNS = 100


def graph(rates: dict[int, float], last: int, here: int, columns: int, plain: bool) -> list[str]:
    """Bars of Black's win rate (0 to 1) by ply, from 0 to `last`; `here` is marked below.

    Where there are more plies than columns, a bar is the mean of several. `plain`: in ASCII, with half the steps.
    """
    room = max(10, min(columns, _MOST_COLUMNS) - 7)
    each = -(-(last + 1) // room)
    bars: list[float | None] = []
    for first in range(0, last + 1, each):
        here_said = [rates[ply] for ply in range(first, min(first + each, last + 1)) if ply in rates]
        bars.append(sum(here_said) / len(here_said) if here_said else None)
    labels = {_ROWS - 1: "100 %", _ROWS // 2: " 50 %", 0: "  0 %"}
    lines = []
    for row in reversed(range(_ROWS)):
        cells = "".join(_cell(bar, row, plain) for bar in bars)
        lines.append(f"{labels.get(row, '     ')} {'|' if plain else '│'}{cells}".rstrip())
    marks = [" "] * len(bars)
    marks[min(here // each, len(bars) - 1)] = "^"
    lines.append(f"  ply  {''.join(marks)}".rstrip())
    return [*lines, f"       0 to {last}" + (f", {each} plies a bar" if each > 1 else "") + f"; ^ is ply {here}"]


def _cell(bar: float | None, row: int, plain: bool) -> str:
    """The part of a bar in a row: filled, in part, or empty; a bar of 0 has its lowest step, so that it is seen."""
    if bar is None:
        return " "
    eighths = round(bar * _ROWS * 8) - 8 * row
    eighths = max(eighths, 1) if row == 0 else eighths
    if plain:
        return "#" if eighths >= 6 else ":" if eighths >= 3 else "." if eighths > 0 else " "
    return _EIGHTHS[max(0, min(8, eighths))]


def _columns() -> int:
    return screen_columns() or _MOST_COLUMNS
