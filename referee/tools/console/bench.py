"""The console's commands for the position: steps in the tree of variations, comments, replay, saving."""

import time
from collections.abc import Callable
from pathlib import Path

import click

from ggp.protocol.messages import Reply
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.match.analysis import analysis_line, analysis_lines, line_of
from ggp.referee.match.engine import Status
from ggp.referee.terminal import escape_unprintable, on_terminal
from ggp.referee.tools.archive.places import RecordSource
from ggp.referee.tools.archive.show import list_moves
from ggp.referee.tools.console.completion import BotWord
from ggp.referee.tools.console.console import Console, bot_words
from ggp.referee.tools.console.consult import Consultation
from ggp.referee.tools.console.own_commands import OwnFailed
from ggp.referee.tools.console.replay import MatchCaption, board, follow, list_width, score, told
from ggp.referee.tools.console.tree import GameTree, TreeNode, letters
from ggp.referee.tools.console.workbench import Workbench, place_of, played

_MOST_COMMENT = 10_000  # characters
_LONGEST_WAIT = 86_400.0  # seconds


class Bench:
    """The workbench of a console and its commands, by name. `close` ends the bots that were asked.

    `source`: a match whose plies the tree begins with; `tree`: one that was read from a file.
    """

    def __init__(self, console: Console, source: RecordSource | None = None, tree: GameTree | None = None) -> None:
        self.console, self.source = console, source
        record = source.record if source else None
        if record is not None and tree is None:
            tree = GameTree(record.start.game, record.start.options)
        again = source.again if source else lambda: None
        self.at = Workbench(self.ask, tree, record, again, console.dialogue.take_changes)
        self.caption = MatchCaption(self.at, record) if record else None
        console.match = self.caption
        self.consultation = Consultation(self.at, self.ask, console.bots)
        steps: dict[str, Callable[[list[str]], str]] = {
            "move": self._move,
            "back": lambda words: self._step(self.at.back, words, "back N", 1),
            "forward": lambda words: self._step(self.at.forward, words, "forward N", 1),
            "goto": self._goto,
            "moves": self._moves,
            "tree": self._tree,
            "comment": self._comment,
            "info": self._info,
            "why": self._why,
            "score": lambda words: score(self.ask),
            "replay": self._replay,
            "live": self._live,
            "fork": self._fork,
            "play": self._play,
        }
        self.commands = steps | self.consultation.commands

    def ask(self, line: str) -> Reply:
        """Ask the engine."""
        return self.console.dialogue.ask(line, self.console.timeout)

    def close(self) -> None:
        """End every bot."""
        self.consultation.close()

    def restart_bot(self, name: str) -> str:
        """End a bot of the console; it is started again when it is next asked."""
        bot = next(bot for bot in self.console.bots if bot.name == name)
        run_blocking(self.consultation.adviser.dismiss(bot))
        return f"{name} is started again when it is next asked"

    def is_legal(self, word: str) -> bool:
        """Whether a word is a legal move here; False in no game."""
        try:
            return not self.at.why(word)
        except OwnFailed:
            return False

    def _a_move(self) -> str:
        """Return a move that is legal here, as an example; MOVE if the engine names none."""
        reply = self.ask("ggp-legal_moves")
        return escape_unprintable((reply.text.split() or ["MOVE"])[0])[:40] if reply.ok else "MOVE"

    # -- words that completion knows ---------------------------------------------------------------------------------

    def bot_words(self) -> tuple[BotWord, ...]:
        """Bots that a command can name: those of the console and of the match, built-in ones, a human."""
        words = bot_words(self.console.bots)
        of_match = [*self.caption.bots()] if self.caption else []
        return (*words[:-1], *(bot for bot in of_match if bot.plain not in [word.plain for word in words]), words[-1])

    def places(self) -> tuple[str, ...]:
        """The ply before each position of the main line, from the start on."""
        if self.at.record is not None:
            return ("the start", *(escape_unprintable(f"{ply.colour} {ply.move}") for ply in self.at.record.plies))
        try:
            return ("the start", *(escape_unprintable(f"{node.colour} {node.move}") for node in self.at.tree.main_line))
        except OwnFailed:
            return ()

    # -- steps -------------------------------------------------------------------------------------------------------

    def _move(self, words: list[str]) -> str:
        if not words:
            example = self._a_move()
            raise OwnFailed(f"write :move MOVE, as in :move {example}, or :{example}", code="usage")
        self.at.play(words)
        return self.at.caption()

    def _step(self, step: Callable[[int], Status], words: list[str], usage: str, default: int | None = None) -> str:
        step(_number(words, usage, default))
        return self.at.caption()

    def _goto(self, words: list[str]) -> str:
        if len(words) != 1:
            raise OwnFailed("write :goto PLY, as in :goto 17, :goto -1 or :goto 17b", code="usage")
        self.at.goto(words[0])
        return self._with_comment(self.at.caption())

    def _with_comment(self, caption: str) -> str:
        comment = self.at.here().comment
        return "\n".join([caption, *map(escape_unprintable, comment.splitlines())]) if comment else caption

    def _moves(self, words: list[str]) -> str:
        if words:
            return self._ply(words)
        at = self.at.here()
        self.at.last  # noqa: B018  (it looks whether there is more)
        line = self.at.tree.line_through(at)
        return list_moves([played(node, "", node.ply) for node in line], at.ply, list_width())

    def _ply(self, words: list[str]) -> str:
        self.at.here()
        last = self.at.last
        node = self.at.tree.find(words[0]) if len(words) == 1 else None
        if node is None or node.parent is None:
            line = "match" if self.at.record else "main line"
            if len(words) != 1 or not words[0].lstrip("-").isalnum():
                raise OwnFailed("write :moves PLY, a number", code="usage")
            raise OwnFailed(f"the {line} has the plies 1 to {last}; :tree lists the others", code="no-ply")
        ply = played(node, "", node.ply)
        left = f", {ply.left / 1000:.3f} s left" if ply.left is not None else ""
        time = "" if not node.recorded and not node.ms else f"  {ply.ms / 1000:.3f} s"
        lines = [escape_unprintable(f"{node.name} {node.colour} {node.move}{time}{left}")]
        lines += analysis_lines(node.analysis, list_width()) if node.analysis else []
        lines += [escape_unprintable(f"comment: {line}") for line in node.comment.splitlines()]
        return "\n".join(lines)

    def _tree(self, words: list[str]) -> str:
        at, last = self.at.here(), self.at.last
        tree, lines = self.at.tree, list[str]()
        for number, first in enumerate((tree.root, *tree.variations)):
            nodes = [node for node in (first, *first.onward) if node.parent is not None]
            left = first.parent.name if number and first.parent else ""
            head = f"{letters(number)}, which leaves ply {left}: " if number else ""
            lines += _wrapped(head, [_in_tree(node, at) for node in nodes], list_width())
        return "\n".join(lines) if tree.nodes > 1 else f"nothing is played yet; ply 0 of {last}"

    def _comment(self, words: list[str]) -> str:
        node, text = self.at.here(), " ".join(words)
        if not words:
            return (
                "\n".join(map(escape_unprintable, node.comment.splitlines())) or "no comment: :comment TEXT writes one"
            )
        if len(text) > _MOST_COMMENT:
            raise OwnFailed(f"a comment has {_MOST_COMMENT} characters at the most", code="usage")
        node.comment = "" if text == "-" else text
        return f"{place_of(node, self.at.last)}: the comment is {'kept' if node.comment else 'removed'}"

    def _info(self, words: list[str]) -> str:
        if self.at.record is not None:
            self.at.last  # noqa: B018  (it looks whether there is more)
            return "\n".join(map(escape_unprintable, [*told(self.at.record), "", self.at.caption()]))
        self.at.here()
        tree = self.at.tree
        lines = [tree.new_game.removeprefix("ggp-new "), *(f"{name}: {text}" for name, text in tree.about.items())]
        lines.append(f"the tree: {tree.size}")
        lines += [f"bot {bot.name}: {bot.command}" for bot in self.console.bots]
        return "\n".join(map(escape_unprintable, [*lines, self.at.caption()]))

    def _why(self, words: list[str]) -> str:
        if len(words) != 1:
            raise OwnFailed("write :why MOVE", code="usage")
        reason = self.at.why(words[0])
        return escape_unprintable(f"{words[0]} is illegal: {reason}" if reason else f"{words[0]} is legal")

    # -- in time -----------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        caption = self.caption.ask(self.ask) if self.caption and on_terminal() else ()
        click.echo("\n".join([board(self.ask), *caption]))

    def _live(self, words: list[str]) -> str:
        if self.source is None:
            raise OwnFailed("there is no match to follow: ggp console --match PLACE names one", code="no-match")
        return follow(self.at, self.source, self._look, click.echo)

    def _replay(self, words: list[str]) -> str:
        speed, pause = _speed(words)
        node = self.at.here()
        onward = node.onward
        if not onward:
            self.at.put(node.path[0].parent if node.path and node.path[0].parent else node)
            onward = node.path
        if not onward:
            raise OwnFailed("there is nothing to replay: play some plies first", code="no-ply")
        self._look()
        try:
            for step in onward:
                time.sleep(pause if pause is not None else min(step.ms / 1000 / speed, _LONGEST_WAIT))
                self.at.put(step)
                click.echo(escape_unprintable(_replayed(step)))
                self._look()
        except KeyboardInterrupt:
            return self.at.caption()
        return self.at.caption()

    # -- new matches, files ------------------------------------------------------------------------------------------

    def _fork(self, words: list[str]) -> str:
        from ggp.referee.tools.console import fork

        return fork.fork(self.at, self.console.dialogue.target.engine, self.console.bots, words, click.echo)

    def _play(self, words: list[str]) -> str:
        from ggp.referee.tools.console import fork

        return fork.play(self.at, self.console.dialogue.target.engine, self.console.bots, words)

    def save(self, words: list[str]) -> str:
        """`FILE.sgf` or `FILE.jsonl [main]`."""
        from ggp.referee.tools.console import tree_files

        path, which = Path(words[0]).expanduser(), words[1:]
        if which not in ([], ["main"]) or (which and path.suffix == ".sgf"):
            raise OwnFailed("write :save FILE.sgf, :save FILE.jsonl, or :save FILE.jsonl main", code="usage")
        at = self.at.here()
        if path.suffix == ".sgf":
            return tree_files.save_sgf(self.at.tree, self.at.record, path)
        last = (self.at.tree.main_line or [self.at.tree.root])[-1] if which else at
        return tree_files.save_record(self.at.tree, last, self.at.record, self.console.dialogue.target.engine, path)


def _number(words: list[str], usage: str, default: int | None = None) -> int:
    if not words and default is not None:
        return default
    try:
        (word,) = words
        return int(word[:10])
    except ValueError:
        raise OwnFailed(f"write :{usage}, a number", code="usage") from None


def _speed(words: list[str]) -> tuple[float, float | None]:
    """How many times as fast, and the seconds for each ply instead. Raises OwnFailed."""
    text = words[0] if len(words) == 1 else "" if words else "1x"
    try:
        number = float(text.removesuffix("x"))
    except ValueError:
        number = -1.0
    if text.endswith("x") and 0.001 <= number <= 1e6:
        return number, None
    if not text.endswith("x") and 0 <= number <= _LONGEST_WAIT:
        return 1.0, number
    raise OwnFailed("write :replay, :replay 10x, or :replay 0.5 (seconds for each ply)", code="usage")


def _in_tree(node: TreeNode, at: TreeNode) -> str:
    """`17b D4`, in brackets where you are, with `*` for a comment or an evaluation."""
    text = f"{node.name} {node.move}{'*' if node.comment or node.evaluations else ''}"
    return escape_unprintable(f"[{text}]" if node is at else text)


def _wrapped(head: str, words: list[str], width: int) -> list[str]:
    lines, room = [head], len(head)
    for word in words:
        if lines[-1] != head and len(lines[-1]) + 2 + len(word) > width:
            lines.append(" " * min(room, 2))
        lines[-1] += f"  {word}" if lines[-1].strip() and lines[-1] != head else word
    return lines if words else []


def _replayed(node: TreeNode) -> str:
    said = analysis_line(node.analysis, list_width())
    return "  ".join([line_of(played(node, "", node.ply)), *([said] if said else [])])
