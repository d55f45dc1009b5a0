"""The console without its display: the peer, the position on its board, the settings, and its own commands."""

import re
import shlex
import time
from ast import literal_eval
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ggp.protocol.commands import TABLE
from ggp.protocol.drawing import svg
from ggp.protocol.drawing.scene import DrawingError, read_scene
from ggp.protocol.errors import LocalProtocolError, PeerTimeout
from ggp.protocol.messages import Reply
from ggp.protocol.printed import counted
from ggp.protocol.regression import write
from ggp.protocol.safe_files import replace_file
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.command_line import nearest
from ggp.referee.match.analysis import analysis_line, analysis_lines, line_of, list_moves
from ggp.referee.match.bot_spec import BUILT_IN, HUMAN, BotSpec, LaunchError
from ggp.referee.match.engine import Status
from ggp.referee.match.move_words import is_move_word
from ggp.referee.terminal import escape_unprintable, on_terminal, visible
from ggp.referee.tools.console.completion import LIST, BotWord, PeerInfoReader, PeerKind
from ggp.referee.tools.console.consult import Consultation
from ggp.referee.tools.console.dialogue import CHANGING, MOMENT, Dialogue, PeerLost, Target
from ggp.referee.tools.console.own_commands import OwnCommand, OwnFailed
from ggp.referee.tools.console.replay import MatchCaption, board, follow, list_width, score, told
from ggp.referee.tools.console.tree import GameTree, TreeNode, letters
from ggp.referee.tools.console.workbench import Workbench, place_of, played

if TYPE_CHECKING:
    from ggp.referee.tools.archive.places import RecordSource  # which loads the stores of ladders

MARKS = (":", "!")
TIMEOUT = 600.0  # seconds: as long as a move may take without a clock
_QUICK = frozenset(("raw", "send", "board", "timeout", "stderr", "quit"))
_TREE_FILES = (".sgf", ".jsonl")
_STDERR = 20  # lines that :stderr shows
_LONGEST = 86_400.0  # seconds
_MOST_COMMENT = 10_000  # characters
_BOTS = "BOT BOT BOT BOT"
_CONTROL = "[time=CONTROL] [games=N] [record=FILE]"
_TABLE: dict[str, OwnCommand] = {}

Run = Callable[["Console", list[str]], str]


def own_command(
    usage: str, help: str, *, changes: bool = False, kinds: str = "", engine: bool = False
) -> Callable[[Run], Run]:
    """Enter a method of Console into the table of commands (see OwnCommand)."""

    def enter(run: Run) -> Run:
        row = OwnCommand(usage, help, run, changes, kinds, engine)
        _TABLE[row.name] = row
        return run

    return enter


class Console:
    """A session with a peer: every own command is a method; `run_own` runs a line, and a view shows the rest."""

    def __init__(
        self,
        target: Target,
        *,
        source: "RecordSource | None" = None,
        tree: GameTree | None = None,
        timeout: float = TIMEOUT,
        raw: bool = False,
    ) -> None:
        """Start the peer.

        Args:
            target: How to start it.
            source: A match whose plies the tree begins with.
            tree: A tree that was read from a file.
            timeout: Seconds that an answer may take.
            raw: Show all bytes as they pass.

        Raises:
            LaunchError: The peer does not start.
        """
        self.timeout, self.raw, self.source = timeout, raw, source
        self.board = True
        self.ended = False  # after :quit
        self.stale = True  # the position may differ from the drawn board
        self.dialogue = Dialogue(target)
        self.bots = list(target.bots)
        self.own = _TABLE
        self.learner = PeerInfoReader(self.dialogue, self.own.values())
        record = source.record if source else None
        if record is not None and tree is None:
            tree = GameTree(record.start.game, record.start.options)
        again = source.again if source else lambda: None
        self.at = Workbench(self.ask, tree, record, again, self.dialogue.take_changes)
        self.match = MatchCaption(self.at, record) if record else None
        self.consultation = Consultation(self.at, self.ask, self.bots)
        self._see_match()

    def ask(self, line: str) -> Reply:
        """Ask the peer and wait for its answer."""
        return self.dialogue.ask(line, self.timeout)

    def close(self) -> None:
        """End the peer and every bot."""
        try:
            self.consultation.close()
        finally:
            self.dialogue.close()

    def begin(self) -> None:
        """Send the target's first commands and wait for their answers. Raises LaunchError if the peer refuses one."""
        target = self.dialogue.target
        for number, line in enumerate((target.first, *target.then) if target.first else ()):
            try:
                reply = self.dialogue.ask(line, MOMENT)
            except (PeerLost, PeerTimeout) as error:
                raise LaunchError(f"{line}: {error}") from None
            if not reply.ok:
                raise LaunchError(visible(f"{line}: {reply.text}" if number else reply.text))
            self.dialogue.note(line, reply)

    def is_own(self, line: str) -> bool:
        return line.lstrip().startswith(MARKS)

    def is_quick(self, line: str) -> bool:
        """Whether a console command runs at once, because it needs no answer of the peer."""
        name = (line.strip()[1:].split() or [""])[0]
        known = self.learner.known
        if name not in self.own:  # it may be a move
            return known.kind is not PeerKind.ENGINE
        if name == "save":  # a tree needs the engine
            return not any(word in line for word in _TREE_FILES)
        return name in _QUICK or (name == "help" and bool(known.commands))

    def run_own(self, line: str) -> str:
        """Run a line that begins with a mark; returns the text to show. Raises OwnFailed."""
        try:
            row, arguments = self._read(line)
            if row.engine:
                self._need_engine()
            text = row.run(self, arguments)
        except PeerLost as lost:
            raise OwnFailed(str(lost)) from None
        except (LaunchError, PeerTimeout, LocalProtocolError) as error:
            raise OwnFailed(str(error)) from None
        except OSError as error:
            name = f"{error.filename}: " if error.filename else ""
            raise OwnFailed(f"{name}{error.strerror}") from None
        if row.changes:
            self.changed()
        return text

    def changed(self) -> None:
        """Note that the position may have changed."""
        self.stale = True
        self.learner.forget_position()
        self._see_match()

    def _see_match(self) -> None:
        """Keep the bots and plies that commands can name."""
        self.learner.see_match(self._bot_words(), self._places())

    def _need_engine(self) -> None:
        """Raise OwnFailed for a peer that is no engine."""
        if "ggp-play" not in self.commands():
            raise OwnFailed("the peer lists no ggp-play: this command needs an engine", code="no-engine")

    def restart(self, fresh: bool) -> int:
        """Restart the peer, in its position unless `fresh`; returns how many commands were sent again.

        Raises LaunchError, OwnFailed, PeerLost, PeerTimeout.
        """
        trail = self.dialogue.trail
        if not fresh and not trail.whole:
            raise OwnFailed("more commands led to the position than are kept: :restart --fresh starts without them")
        self.dialogue.restart()
        self.learner.forget_all()
        self.stale = True
        if fresh or not trail.lines:
            self.begin()
            return 0
        for line in trail.lines:
            reply = self.dialogue.ask(line, self.timeout)
            if not reply.ok:
                raise OwnFailed(f"restarted, but `{line}`, which led to the position, is answered `? {reply.text}`")
        return len(trail.lines)

    def commands(self) -> tuple[str, ...]:
        """The commands that the peer lists, asked if they are unknown; () without an answer. Raises PeerLost."""
        if not self.learner.known.commands and not self.dialogue.lost:
            reply = self.dialogue.ask(LIST, MOMENT)
            if reply.ok:
                self.learner.note_commands(reply)
        return self.learner.known.commands

    def _read(self, line: str) -> tuple[OwnCommand, list[str]]:
        try:
            name, *arguments = shlex.split(line.strip()[1:]) or [""]
        except ValueError as error:
            raise OwnFailed(f"this cannot be read: {str(error).lower()}") from None
        row = self.own.get(name)
        if row is None and self._is_move(name):
            return self.own["move"], [name, *arguments]
        if row is None:
            close = nearest(name, self.own)
            raise OwnFailed(f"there is no :{name}; " + (f"did you mean :{close}?" if close else ":help lists them"))
        if arguments and not row.arguments:
            raise OwnFailed(f"write :{name} alone", code="usage")
        return row, arguments

    def _is_move(self, word: str) -> bool:
        """Whether an unknown command is a move, as `:D4`, or would be one elsewhere on the board."""
        if self.dialogue.lost or self.dialogue.pending:  # nothing can be asked now
            return False
        if self.learner.known.kind not in (PeerKind.ENGINE, PeerKind.UNKNOWN) or not word:
            return False
        if "ggp-play" not in self.commands():
            return False
        return bool(re.search(r"\d", word)) or is_move_word(word) or self._is_legal(word)

    def how_to_play(self, sent: str) -> str:
        """Return what to type to play a move that was sent as if it were a command; "" if it does not look like one.

        Raises PeerLost.
        """
        words = sent.split()
        if words and words[0].isdecimal():  # the id of a command
            del words[0]
        if len(words) != 1 or not (is_move_word(words[0]) or re.search(r"\d", words[0])):
            return ""
        if self.learner.known.kind not in (PeerKind.ENGINE, PeerKind.UNKNOWN) or self.dialogue.lost:
            return ""
        listed = self.learner.known.commands or (() if self.dialogue.pending else self.commands())
        if "ggp-play" not in listed or words[0] in listed:
            return ""
        if is_move_word(words[0]):
            return f"{visible(words[0])} is a move: type :{visible(words[0])} to play it"
        return f"if {visible(words[0])} is a move, type :{visible(words[0])} to play it"

    def _is_legal(self, word: str) -> bool:
        """Return True if a word is a legal move here; False in no game."""
        try:
            return not self.at.why(word)
        except OwnFailed:
            return False

    def _bot_words(self) -> tuple[BotWord, ...]:
        """Bots that a command can name: those of the console and of the match, built-in ones, a human."""
        words = bot_words(self.bots)
        of_match = [*self.match.bots()] if self.match else []
        return (*words[:-1], *(bot for bot in of_match if bot.plain not in [word.plain for word in words]), words[-1])

    def _places(self) -> tuple[str, ...]:
        """The ply before each position of the main line, from the start on; () without a game."""
        try:
            plies = self.at.record.plies if self.at.record else self.at.tree.main_line
        except OwnFailed:
            return ()
        return ("the start", *(escape_unprintable(f"{ply.colour} {ply.move}") for ply in plies))

    # -- commands for every peer -------------------------------------------------------------------------------------

    @own_command("help [COMMAND]", "what a command does; without one, which there are")
    def _help(self, arguments: list[str]) -> str:
        if not arguments:
            return self._overview()
        name = arguments[0].lstrip(":!")
        lines = []
        if own := self.own.get(name):
            lines.append(f":{own.usage} — {own.help}")
        if not arguments[0].startswith((":", "!")):
            lines += self._help_of_peers(name)
        if not lines:
            raise OwnFailed(f"unknown command {name}; :help lists them")
        return "\n".join(lines)

    def _help_of_peers(self, name: str) -> list[str]:
        row, listed = TABLE.get(name), self.commands()
        lines = []
        if row:
            lines.append(f"{name} {row.arguments}".rstrip() + f" — {row.help}")
            lines.append(f"  answers: {row.answer or 'nothing'}")
        if name in listed:
            lines.append("  the peer lists it" + ("" if row else "; it is none of the protocol's"))
        elif row:
            lines.append("  the peer does not list it")
        return lines

    def _overview(self) -> str:
        kind = self.learner.known.kind if self.commands() else PeerKind.UNKNOWN
        known = [name for name in self.commands() if name in TABLE]
        others = [name for name in self.commands() if name not in TABLE]
        lines = ["A line that begins with : or ! is for the console:"]
        lines += [_in_help(row) for row in self.own.values() if not row.engine]
        if kind is PeerKind.ENGINE:
            lines += ["For the position on the engine:", *(_in_help(row) for row in self.own.values() if row.engine)]
        lines += [f"Every other line is for the {kind}, {self.dialogue.target.name}. It lists:"]
        groups = groupby(known, key=lambda name: name.partition("-")[0] if "-" in name else "")
        lines += [f"  {' '.join(group)}" for _, group in groups]
        if others:
            lines.append(f"  not of the protocol: {' '.join(others)}")
        return "\n".join(lines)

    @own_command("raw on|off", "show all bytes as they pass, with escapes")
    def _raw(self, arguments: list[str]) -> str:
        self.raw = _switch(arguments, self.raw)
        return f"raw bytes are {'shown' if self.raw else 'not shown'}"

    @own_command("board on|off", "draw the board after each change")
    def _board(self, arguments: list[str]) -> str:
        self.board = _switch(arguments, self.board)
        self.stale = True
        return f"the board is {'drawn' if self.board else 'not drawn'}"

    @own_command("send 'BYTES'", "send exactly these bytes, escapes as in Python: :send 'name\\r\\n'")
    def _send(self, arguments: list[str]) -> str:
        """The answers are shown like any others."""
        data = _bytes(" ".join(arguments))
        awaited = self.dialogue.send(data)
        if any(exchange.sent.split()[0] in CHANGING for exchange in awaited if exchange.sent):
            self.changed()
        return f"{len(data)} bytes sent; {len(awaited)} {'answer is' if len(awaited) == 1 else 'answers are'} awaited"

    @own_command("svg FILE", "write the position as a picture")
    def _svg(self, arguments: list[str]) -> str:
        path = _path(" ".join(arguments))
        if "ggp-scene" not in self.commands():
            raise OwnFailed("the peer lists no ggp-scene: it cannot say what to draw")
        reply = self.dialogue.ask("ggp-scene", MOMENT)
        if not reply.ok:
            raise OwnFailed(f"the peer answers ggp-scene with ? {reply.text}")
        try:
            replace_file(path, svg.draw(read_scene(reply.text)).encode())
        except DrawingError as error:
            raise OwnFailed(str(error)) from None
        return f"{path} written"

    @own_command(
        "save FILE [main]",
        "FILE.tst: what passed, a regression transcript; FILE.sgf: the tree; FILE.jsonl: this line, or the main "
        "one, as a record",
    )
    def _save(self, arguments: list[str]) -> str:
        path = _path(" ".join(arguments))
        if (arguments or [""])[0].endswith(_TREE_FILES):
            return self._save_tree(arguments)
        kept = list(self.dialogue.kept)
        if not kept:
            raise OwnFailed("nothing was asked yet")
        replace_file(path, write(kept).encode())
        return f"{path} written: {counted(len(kept), 'command')}"

    @own_command("timeout SECONDS", "time limit of an answer, after which a warning is shown")
    def _timeout(self, arguments: list[str]) -> str:
        try:
            (word,) = arguments
            seconds = float(word)
        except ValueError:
            seconds = 0.0
        if not 0.001 <= seconds <= _LONGEST:
            raise OwnFailed(f"write :timeout SECONDS, from 0.001 to {_LONGEST:.0f}; now it is {self.timeout:g}")
        self.timeout = seconds
        return f"an answer may take {seconds:g} s"

    @own_command("stderr", f"the last {_STDERR} lines that the peer wrote there")
    def _stderr(self, arguments: list[str]) -> str:
        lines = self.dialogue.peer.stderr_tail().splitlines()[-_STDERR:]
        return "\n".join(lines) or "nothing"

    @own_command(
        "restart [--fresh|BOT]",
        "restart the peer and replay the position; --fresh: without it; BOT: restart that bot",
        changes=True,
    )
    def _restart(self, arguments: list[str]) -> str:
        if len(arguments) == 1 and arguments[0] in [bot.name for bot in self.bots]:
            bot = next(bot for bot in self.bots if bot.name == arguments[0])
            run_blocking(self.consultation.adviser.dismiss(bot))
            return f"{bot.name} is started again when it is next asked"
        if arguments not in ([], ["--fresh"]):
            raise OwnFailed("write :restart, :restart --fresh or :restart BOT", code="usage")
        count = self.restart(fresh=bool(arguments))
        again = f"; {count} {'command was' if count == 1 else 'commands were'} sent again" if count else ""
        return f"{self.dialogue.target.name} was restarted{again}"

    @own_command("quit", "tell the peer to quit, and leave")
    def _quit(self, arguments: list[str]) -> str:
        self.ended = True
        return ""

    def _save_tree(self, words: list[str]) -> str:
        """`FILE.sgf` or `FILE.jsonl [main]`."""
        self._need_engine()
        from ggp.referee.tools.console import tree_files  # which loads the stores of ladders

        path, which = Path(words[0]).expanduser(), words[1:]
        if which not in ([], ["main"]) or (which and path.suffix == ".sgf"):
            raise OwnFailed("write :save FILE.sgf, :save FILE.jsonl, or :save FILE.jsonl main", code="usage")
        at = self.at.here()
        if path.suffix == ".sgf":
            return tree_files.save_sgf(self.at.tree, self.at.record, path)
        last = (self.at.tree.main_line or [self.at.tree.root])[-1] if which else at
        return tree_files.save_record(self.at.tree, last, self.at.record, self.dialogue.target.engine, path)

    # -- steps in the tree of variations -----------------------------------------------------------------------------

    @own_command(
        "move MOVE …",
        "play moves for the side to move; `:D4` is short for :move D4",
        changes=True,
        kinds="MOVE",
        engine=True,
    )
    def _move(self, words: list[str]) -> str:
        if not words:
            reply = self.ask("ggp-legal_moves")
            moves = reply.text.split() if reply.ok else []
            example = escape_unprintable((moves or ["MOVE"])[0])[:40]
            raise OwnFailed(f"write :move MOVE, as in :move {example}, or :{example}", code="usage")
        self.at.play(words)
        return self.at.caption()

    @own_command("back [N]", "N plies back (1)", changes=True, engine=True)
    def _back(self, words: list[str]) -> str:
        return self._step(self.at.back, words, "back N")

    @own_command("forward [N]", "N plies on (1), along the first continuation", changes=True, engine=True)
    def _forward(self, words: list[str]) -> str:
        return self._step(self.at.forward, words, "forward N")

    def _step(self, step: Callable[[int], Status], words: list[str], usage: str) -> str:
        try:
            (word,) = words or ["1"]
            count = int(word[:10])
        except ValueError:
            raise OwnFailed(f"write :{usage}, a number", code="usage") from None
        step(count)
        return self.at.caption()

    @own_command(
        "goto PLY", "to a ply: 17, -1 (the last), 17b or b of variation b; 0 is the start", changes=True, engine=True
    )
    def _goto(self, words: list[str]) -> str:
        if len(words) != 1:
            raise OwnFailed("write :goto PLY, as in :goto 17, :goto -1 or :goto 17b", code="usage")
        self.at.goto(words[0])
        comment = self.at.here().comment
        return "\n".join([self.at.caption(), *map(escape_unprintable, comment.splitlines())])

    @own_command(
        "moves [PLY]", "the plies of this line; one with its time, analysis and comment", kinds="PLAYED", engine=True
    )
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

    @own_command("tree", "every line: the main one and the variations, with the names of their plies", engine=True)
    def _tree(self, words: list[str]) -> str:
        at, last = self.at.here(), self.at.last
        tree, lines = self.at.tree, list[str]()
        for number, first in enumerate((tree.root, *tree.variations)):
            nodes = [node for node in (first, *first.onward) if node.parent is not None]
            left = first.parent.name if number and first.parent else ""
            head = f"{letters(number)}, which leaves ply {left}: " if number else ""
            lines += _wrapped(head, [_in_tree(node, at) for node in nodes], list_width())
        return "\n".join(lines) if tree.nodes > 1 else f"nothing is played yet; ply 0 of {last}"

    @own_command("comment [TEXT]", "the comment on this position, or a new one; :comment - removes it", engine=True)
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

    @own_command("info", "the game, the players, clocks, result, diagnostics of a fault", engine=True)
    def _info(self, words: list[str]) -> str:
        if self.at.record is not None:
            self.at.last  # noqa: B018  (it looks whether there is more)
            return "\n".join(map(escape_unprintable, [*told(self.at.record), "", self.at.caption()]))
        self.at.here()
        tree = self.at.tree
        lines = [tree.new_game.removeprefix("ggp-new "), *(f"{name}: {text}" for name, text in tree.about.items())]
        lines.append(f"the tree: {tree.size}")
        lines += [f"bot {bot.name}: {bot.command}" for bot in self.bots]
        return "\n".join(map(escape_unprintable, [*lines, self.at.caption()]))

    @own_command("why MOVE", "why a move is illegal here", changes=True, engine=True)
    def _why(self, words: list[str]) -> str:
        if len(words) != 1:
            raise OwnFailed("write :why MOVE", code="usage")
        reason = self.at.why(words[0])
        return escape_unprintable(f"{words[0]} is illegal: {reason}" if reason else f"{words[0]} is legal")

    @own_command("score", "the score of the position, and what it is made of", engine=True)
    def _score(self, words: list[str]) -> str:
        return score(self.ask)

    # -- bots, new matches, time -------------------------------------------------------------------------------------

    @own_command(
        "ask [BOT …] [SECONDS]", "what the bots, or these, would play here, side by side", kinds=_BOTS, engine=True
    )
    def _ask(self, words: list[str]) -> str:
        return self.consultation.ask(words)

    @own_command("hint [BOT] [SECONDS]", "what a bot (the console's first) would play here, and why", engine=True)
    def _hint(self, words: list[str]) -> str:
        return self.consultation.hint(words)

    @own_command("answer [BOT] [SECONDS]", "have a bot play the next ply", changes=True, engine=True)
    def _answer(self, words: list[str]) -> str:
        return self.consultation.answer(words)

    @own_command("eval", "what was said of this position", engine=True)
    def _eval(self, words: list[str]) -> str:
        return self.consultation.eval(words)

    @own_command(
        "graph [BOT] [SECONDS]",
        "Black's win rate along the line; SECONDS: ask BOT where it said nothing",
        changes=True,
        engine=True,
    )
    def _graph(self, words: list[str]) -> str:
        return self.consultation.graph(words)

    @own_command("bots [BOT …]", "the bots of the console; with words, more of them", kinds=_BOTS, engine=True)
    def _bots(self, words: list[str]) -> str:
        return self.consultation.add(words)

    @own_command(
        f"fork [BOT BOT] {_CONTROL}",
        "a new match from here; bots play, or a `human`",
        kinds="PLAYER PLAYER",
        engine=True,
    )
    def _fork(self, words: list[str]) -> str:
        from ggp.referee.tools.console import fork  # which loads numpy

        return fork.fork(self.at, self.dialogue.target.engine, self.bots, words, click.echo)

    @own_command("play BOT BOT GAMES [time=CONTROL] [record=FILE]", "a series from here in both seats", engine=True)
    def _play(self, words: list[str]) -> str:
        from ggp.referee.tools.console import fork  # which loads numpy

        return fork.play(self.at, self.dialogue.target.engine, self.bots, words)

    @own_command(
        "replay [SPEED]",
        "step through the line from here: as it was played, 10x, or 0.5 (seconds a ply)",
        changes=True,
        engine=True,
    )
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
                time.sleep(pause if pause is not None else min(step.ms / 1000 / speed, _LONGEST))
                self.at.put(step)
                click.echo(escape_unprintable(_replayed(step)))
                self._look()
        except KeyboardInterrupt:
            return self.at.caption()
        return self.at.caption()

    @own_command("live", "follow the match while it is played; Ctrl-C ends that", changes=True, engine=True)
    def _live(self, words: list[str]) -> str:
        if self.source is None:
            raise OwnFailed("there is no match to follow: ggp console --match PLACE names one", code="no-match")
        return follow(self.at, self.source, self._look, click.echo)

    def _look(self) -> None:
        caption = self.match.ask(self.ask) if self.match and on_terminal() else ()
        click.echo("\n".join([board(self.ask), *caption]))


def bot_words(bots: Iterable[BotSpec]) -> tuple[BotWord, ...]:
    """Bots that a command can name: these, the built-in ones, and a human."""
    known = {bot.name: BotWord(bot.name, bot.name, visible(bot.command)) for bot in bots}
    built_in = {name: BotWord(name, name, "built in") for name in BUILT_IN}
    return (*(built_in | known).values(), BotWord(HUMAN, HUMAN, "you, at this terminal", human=True))


def _in_help(row: OwnCommand) -> str:
    return f"  {f':{row.usage}':28} {row.help}"


def _path(name: str) -> Path:
    """The path of a file, with `~` expanded. Raises OwnFailed for none."""
    if not name:
        raise OwnFailed("name a file", code="usage")
    return Path(name).expanduser()


def _switch(arguments: list[str], now: bool) -> bool:
    """`on`, `off`, or nothing to toggle."""
    words = {"on": True, "off": False}
    if len(arguments) > 1 or (arguments and arguments[0] not in words):
        raise OwnFailed("write on or off", code="usage")
    return words[arguments[0]] if arguments else not now


def _bytes(text: str) -> bytes:
    """`name\\n` with its escapes read; every character above 255 as UTF-8."""
    try:
        data: bytes = literal_eval("b'" + text.encode("ascii", "backslashreplace").decode().replace("'", "\\'") + "'")
    except (ValueError, SyntaxError):
        raise OwnFailed("the bytes cannot be read: write escapes as in Python, such as \\n, \\x00, \\\\") from None
    if not data:
        raise OwnFailed("write the bytes in quotes: :send 'name\\n'")
    return data


def _speed(words: list[str]) -> tuple[float, float | None]:
    """How many times as fast, and the seconds for each ply instead. Raises OwnFailed."""
    text = words[0] if len(words) == 1 else "" if words else "1x"
    try:
        number = float(text.removesuffix("x"))
    except ValueError:
        number = -1.0
    if text.endswith("x") and 0.001 <= number <= 1e6:
        return number, None
    if not text.endswith("x") and 0 <= number <= _LONGEST:
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
