"""A session of the console without its display: the peer, its place in the tree, settings, and commands."""

import re
import shlex
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING

import click

from ggp.protocol.connection import PeerRole
from ggp.protocol.drawing import text
from ggp.protocol.drawing.scene import DrawingError, read_scene
from ggp.protocol.errors import LocalProtocolError, PeerTimeout
from ggp.protocol.messages import Reply
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.signal_fd import on_signals
from ggp.referee.command_line import nearest
from ggp.referee.match.advice import Adviser
from ggp.referee.match.bot_spec import BUILT_IN, HUMAN, LaunchError, WordError
from ggp.referee.match.engine import is_move_word
from ggp.referee.terminal import escape_unprintable, on_terminal, visible
from ggp.referee.tools.console.commands import COMMANDS
from ggp.referee.tools.console.completion import LIST, MOVES, BotWord, PeerInfo, PeerKind
from ggp.referee.tools.console.cursor import SCENE, Cursor
from ggp.referee.tools.console.dialogue import CHANGING, MOMENT, Dialogue, PeerLost, Target, name_of
from ggp.referee.tools.console.match import bots_of, caption
from ggp.referee.tools.console.own_commands import ConsoleError, OwnCommand
from ggp.referee.tools.console.tree import GameTree

if TYPE_CHECKING:
    from ggp.referee.tools.archive.places import RecordSource  # which loads the stores of ladders

MARKS = (":", "!")
TIMEOUT = 600.0  # seconds; the longest move without a clock
_WIDTH = 100  # columns of a board


class Console:
    """A session with a peer: `run_own` runs the console's commands, and a view sends other lines.

    Attributes:
        cursor: The engine's place in the tree of variations.
        info: What is known about the peer.
        stale: The position may differ from the drawn board.
        ended: `:quit` was entered.
    """

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
            source: A match whose plies begin the tree.
            tree: A tree that was read from a file.
            timeout: Seconds that an answer may take.
            raw: Show all bytes sent and received.

        Raises:
            LaunchError: The peer does not start.
        """
        self.timeout, self.raw, self.source = timeout, raw, source
        self.board = self.stale = True
        self.ended = False
        self.changes = 0  # changes of the position since the peer was started
        self.dialogue = Dialogue(target)
        self.bots = list(target.bots)
        self.adviser = Adviser()
        self.info = PeerInfo(own=COMMANDS)
        self._asked: set[str] = set()
        self._generation = 0  # counts positions: answers about an earlier one are dropped
        self._defaults: dict[str, dict[str, str]] = {}
        record, again = (source.record, source.again) if source else (None, lambda: None)
        self.cursor = Cursor(self.ask, tree, record, again)
        self.dialogue.changed = self.cursor.note

    def ask(self, line: str) -> Reply:
        """Ask the peer, and wait for its answer."""
        return self.dialogue.ask(line, self.timeout)

    def close(self) -> None:
        """End the peer and all bots."""
        try:
            run_blocking(self.adviser.close())
        finally:
            self.dialogue.close()

    def begin(self) -> None:
        """Send the target's first commands, and wait for their answers.

        Raises:
            LaunchError: The peer refuses one of them.
        """
        target = self.dialogue.target
        for number, line in enumerate((target.first, *target.then) if target.first else ()):
            try:
                reply = self.dialogue.ask(line, MOMENT)
            except (PeerLost, PeerTimeout) as error:
                raise LaunchError(f"{line}: {error}") from None
            if not reply.ok:
                raise LaunchError(visible(f"{line}: {reply.text}" if number else reply.text))
            self.dialogue.note(line, reply)

    def restart(self, fresh: bool) -> int:
        """Restart the peer, in its position unless `fresh`.

        Returns:
            The number of commands that were sent again.

        Raises:
            LaunchError: The peer does not start.
            ConsoleError: The position cannot be restored.
            PeerLost: The peer crashed.
            PeerTimeout: The peer does not answer.
        """
        trail = self.dialogue.trail
        if not fresh and not trail.whole:
            raise ConsoleError("too many commands led to this position: type :restart --fresh to restart without them")
        self.dialogue.restart()
        self._generation += 1
        self.changes, self.stale = 0, True
        self._asked.clear()
        self.info = PeerInfo(own=COMMANDS)
        if fresh or not trail.lines:
            self.begin()
            return 0
        for line in trail.lines:
            reply = self.dialogue.ask(line, self.timeout)
            if not reply.ok:
                raise ConsoleError(
                    f"restarted, but the position is not restored: `{line}` is answered `? {reply.text}`"
                )
        return len(trail.lines)

    # -- the console's own lines ---------------------------------------------------------------------------------

    def is_own(self, line: str) -> bool:
        """Return True if a line is a command of the console."""
        return line.lstrip().startswith(MARKS)

    def is_quick(self, line: str) -> bool:
        """Return True if a command needs no answer of the peer, so that it can run at once."""
        row = COMMANDS.get((line.strip()[1:].split() or [""])[0])
        return row.quick if row else not self._can_ask_moves()

    def run_own(self, line: str) -> str:
        """Run a command of the console, and return the text to show.

        Raises:
            ConsoleError: The command failed.
        """
        try:
            row, arguments = self._read(line)
            row.check(arguments)
            if row.engine:
                self.need_engine()
            text = row.run(self, arguments)
        except (LaunchError, WordError) as error:
            raise ConsoleError(str(error), code=error.code) from None
        except (PeerLost, PeerTimeout, LocalProtocolError) as error:
            raise ConsoleError(str(error)) from None
        except OSError as error:
            name = f"{error.filename}: " if error.filename else ""
            raise ConsoleError(f"{name}{error.strerror}") from None
        if row.changes:
            self.changed()
        return text

    def need_engine(self) -> None:
        """Check that the peer is an engine.

        Raises:
            ConsoleError: It is not.
        """
        if "ggp-play" not in self.commands():
            raise ConsoleError("this command needs an engine, but the peer lists no ggp-play", code="no-engine")

    def look(self) -> None:
        """Print the position as text; for a match on a terminal also its caption."""
        reply = self.ask(SCENE)
        try:
            lines = [text.draw(read_scene(reply.text), _WIDTH) if reply.ok else ""]
        except DrawingError as error:
            lines = [f"the engine's board cannot be drawn: {error}"]
        if self.cursor.record and on_terminal():
            lines += caption(self.cursor.record, self.cursor.where())
        click.echo("\n".join(lines))

    def _read(self, line: str) -> tuple[OwnCommand, list[str]]:
        try:
            name, *arguments = shlex.split(line.strip()[1:]) or [""]
        except ValueError as error:
            raise ConsoleError(f"invalid command: {str(error).lower()}") from None
        row = COMMANDS.get(name)
        if row is None and self._is_move(name):
            return COMMANDS["move"], [name, *arguments]
        if row is None:
            close = nearest(name, COMMANDS)
            raise ConsoleError(f"there is no :{name}; " + (f"did you mean :{close}?" if close else ":help lists them"))
        return row, arguments

    def _is_move(self, word: str) -> bool:
        """Return True if an unknown command is a move such as `:D4`, or would be one elsewhere on the board."""
        if not (word and self._can_ask_moves() and "ggp-play" in self.commands()):
            return False
        if re.search(r"\d", word) or is_move_word(word):
            return True
        try:
            return not self.cursor.why(word)
        except ConsoleError:
            return False

    def _can_ask_moves(self) -> bool:
        """Return True if the peer may be an engine, and can be asked for moves now."""
        known = self.info.kind in (PeerKind.ENGINE, PeerKind.UNKNOWN)
        return known and not (self.dialogue.lost or self.dialogue.pending)

    def how_to_play(self, sent: str) -> str:
        """Return how to play a move that was sent like a command; "" if it does not look like a move.

        Raises:
            PeerLost: The peer crashed when asked for its commands.
        """
        word, *more = [word for number, word in enumerate(sent.split()) if number or not word.isdecimal()] or [""]
        if more or self.dialogue.lost or not (is_move_word(word) or re.search(r"\d", word)):
            return ""
        listed = self.info.commands or (() if self.dialogue.pending else self.commands())
        if "ggp-play" not in listed or word in listed:
            return ""
        shown = visible(word)
        known = f"{shown} is a move:" if is_move_word(word) else f"if {shown} is a move,"
        return f"{known} type :{shown} to play it"

    # -- what is known of the peer -------------------------------------------------------------------------------

    def commands(self) -> tuple[str, ...]:
        """Return the commands that the peer lists; () if it does not answer.

        Raises:
            PeerLost: The peer crashed.
        """
        if not self.info.commands and not self.dialogue.lost:
            reply = self.dialogue.ask(LIST, MOMENT)
            if reply.ok:
                self._learned(LIST, reply.text)
        return self.info.commands

    def defaults(self, game: str) -> dict[str, str]:
        """Return the default of each option of a game, which plain GTP bots need."""
        if game not in self._defaults:
            listed = self.ask(f"ggp-options {game}")
            rows = [line.split() for line in listed.text.splitlines()] if listed.ok else []
            self._defaults[game] = {row[0]: row[2] for row in rows if len(row) > 2}
        return self._defaults[game]

    def known(self) -> PeerInfo:
        """Return what completion uses, with the current bots and plies."""
        built_in = {name: BotWord(name, "built in") for name in BUILT_IN}
        ours = {bot.name: BotWord(bot.name, visible(bot.command)) for bot in self.bots}
        record = self.cursor.record
        of_match = {bot.word: bot for bot in bots_of(record)} if record else {}
        human = {HUMAN: BotWord(HUMAN, "you, at this terminal")}
        self.info.bots = tuple((built_in | of_match | ours | human).values())
        try:
            plies = record.plies if record else self.cursor.tree.main_line
        except ConsoleError:
            self.info.plies = ()
        else:
            self.info.plies = ("the start", *(escape_unprintable(f"{ply.colour} {ply.move}") for ply in plies))
        return self.info

    def learn(self, questions: Iterable[str]) -> bool:
        """Ask the peer what is unknown. Return True while a useful answer is due.

        Nothing is asked while an answer to a typed command is due, because the new answer would come after it.
        """
        for question in questions:
            if question in self._asked or (question != LIST and name_of(question) not in self.info.commands):
                continue
            if self.dialogue.awaited:
                return False
            if self.dialogue.question(question, partial(self._heard, question, self._generation)):
                self._asked.add(question)
        return any(exchange.own for exchange in self.dialogue.pending)

    def changed(self) -> None:
        """Note that the position may have changed."""
        self.stale = True
        self.changes += 1
        self._generation += 1
        self._asked.discard(MOVES)
        self.info.moves = self.info.stones = ()

    def answered(self, sent: str) -> None:
        """Note that the peer answered a typed command."""
        if name_of(sent) in CHANGING:
            self.changed()

    def _heard(self, question: str, generation: int, reply: Reply) -> None:
        """Take an answer, unless the peer or the position has changed since the question."""
        if generation != self._generation:
            self._asked.discard(question)
        elif reply.ok:
            self._learned(question, reply.text)

    def _learned(self, question: str, text: str) -> None:
        self.info.learn(question, text)
        if self.info.kind is PeerKind.ENGINE:
            self.dialogue.channel.connection.peer = PeerRole.ENGINE


# -- the end after a signal -------------------------------------------------------------------------------------------


SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class EndedBySignal(BaseException):
    """An exception raised by the first signal that ends the console."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number


@contextmanager
def ends_in_order() -> Iterator[None]:
    """Raise EndedBySignal at the first of SIGNALS. Later signals do not disturb the cleanup."""
    ended = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal ended
        if not ended:
            ended = True
            raise EndedBySignal(number)

    with on_signals(end, *SIGNALS):
        yield
