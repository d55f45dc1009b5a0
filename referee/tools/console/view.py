"""The console's view: answers, times, faults and the board as pieces of styled text.

It does not write to a terminal, so that the prompt and the plain console can share it.
"""

from collections.abc import Callable
from functools import partial

from ggp.protocol.messages import Reply
from ggp.referee.command_line import nearest
from ggp.referee.match.bot_spec import LaunchError
from ggp.referee.terminal import (
    NOTHING,
    BoardText,
    draw_scene,
    draw_text,
    duration,
    quote,
    screen_columns,
    visible,
    wrapped,
)
from ggp.referee.tools.console.completion import LIST, PeerKind
from ggp.referee.tools.console.console import Console
from ggp.referee.tools.console.cursor import HISTORY, SCENE, game_facts
from ggp.referee.tools.console.dialogue import COLOURS, GENMOVES, MOMENT, Exchange, PeerLost, name_of, streams
from ggp.referee.tools.console.match import caption, title_of
from ggp.referee.tools.console.own_commands import ConsoleError

PROMPT = "> "
_PASTED = 0.2  # seconds that a command of the console waits for a due answer
_AT_ONCE = 100  # answers taken per refresh, so that a flood does not block the keyboard
_WARNINGS = 5  # warnings shown per refresh
_STDERR_LINES = 20  # lines of stderr shown per refresh
_LONGEST = 100_000  # characters of an answer that are shown
_BOARDS = {SCENE: draw_scene, "showboard": draw_text}


class ConsoleView:
    """The state of a console that a display shows.

    Attributes:
        out: The text to show, as pairs (style, text). The caller shows it and empties the list.
        board: The last drawn board.
        echo: Show the typed lines, too.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        console.dialogue.passed = self._passed
        self.out: list[tuple[str, str]] = []
        self.board: BoardText = NOTHING
        self.echo = True
        self._used: dict[str, float] = {}  # seconds that each side has used
        self._first: Exchange | None = None  # the first command of the target
        self._last: Exchange | None = None  # what was typed last
        self._history: Reply | None = None  # for the caption

    def begin(self) -> None:
        """Send the target's first command as if it had been typed. Several commands are sent at once, without an echo.

        Raises:
            LaunchError: One of several commands is refused.
        """
        target = self.console.dialogue.target
        if target.then:
            self.console.begin()
        elif target.first:
            self.typed(target.first)
            self._first = self._last
        self.console.dialogue.question("name", self._greet)

    def typed(self, line: str) -> None:
        """Send a line to the peer."""
        self._echo(line)
        try:
            self._last = self.console.dialogue.send_line(line) or self._last
        except PeerLost as lost:
            self._line("fault", str(lost))

    def own(self, line: str, begun: Callable[[], None] = lambda: None) -> None:
        """Run a command of the console, and wait until it ends. `begun` shows the output so far."""
        if self.console.dialogue.awaited:  # text may have been pasted: keep the order
            self.refresh(_PASTED)
        self._echo(line)
        begun()
        try:
            if text := self.console.run_own(line):
                self._line("", text)
        except ConsoleError as failed:
            self._line("warning", str(failed))

    def refresh(self, seconds: float) -> None:
        """Take all output that has arrived. Wait up to `seconds` for an answer that is due.

        Raises:
            LaunchError: The peer refuses the target's first command.
        """
        dialogue = self.console.dialogue
        deadline = dialogue.now() + (seconds if dialogue.pending else 0.0)
        try:
            for _ in range(_AT_ONCE):
                done = dialogue.pump(deadline)
                if done is None:
                    break
                if not done.own:
                    self._answered(done)
                if not dialogue.pending:
                    deadline = dialogue.now()
        except PeerLost as lost:
            self._see_stderr()
            first, *rest = str(lost).split("\n")
            self._line("fault", "\n".join([f"{first}; type :restart", *rest]))
        for line in dialogue.take_stream():
            self._line("", line)
        self._see_what_is_late()
        self._few("warning", dialogue.new_warnings(), _WARNINGS, "more such lines")
        self._see_stderr()
        self._ask_for_board()

    @property
    def busy(self) -> bool:
        """Return True while an answer, or the board after it, is due."""
        console, pending = self.console, self.console.dialogue.pending
        if pending and all(streams(exchange.sent) for exchange in pending):
            return False  # a stream continues until the next line
        return not console.dialogue.lost and (bool(pending) or (console.board and console.stale))

    def notes(self) -> list[str]:
        """Return the lines beside the board: whose turn it is, the legend, and the time that each side has used."""
        return [*map(visible, self.board.notes), *(f"{who}: {duration(s)} used" for who, s in self._used.items())]

    def interrupted(self) -> None:
        """Handle Ctrl-C while an answer is due."""
        if awaited := self.console.dialogue.awaited:
            what = f"`{visible(awaited.sent[:60])}` is not answered yet; the answer will be shown when it arrives"
            self._line("dim", f"{what}; type :restart to stop waiting")

    # -- what happened ---------------------------------------------------------------------------------------------

    def _passed(self, mark: str, data: bytes, own: bool) -> None:
        if self.console.raw:
            self._line("dim", f"{mark} {quote(data)}" if data else f"{mark} (the end)")

    def _answered(self, done: Exchange) -> None:
        reply = done.reply
        assert reply is not None
        if done is self._first and not reply.ok:
            raise LaunchError(visible(reply.text))
        if done is not self._last:
            self._line("dim", f"answer to {visible(done.sent[:100])}")
        self._show_reply(reply, done.seconds)
        self.console.answered(done.sent)
        if not reply.ok:
            self._suggest(done.sent)
            return
        name, words = name_of(done.sent), done.sent.split()
        if name in ("ggp-new", "clear_board", "boardsize"):
            self._used.clear()
        elif name in GENMOVES and (colour := COLOURS.get("".join(words[words.index(name) + 1 :][:1]).lower())):
            self._used[colour] = self._used.get(colour, 0.0) + done.seconds

    def _suggest(self, sent: str) -> None:
        """Say how to play a move, or name the listed command nearest to an unknown one."""
        known, name = self.console.info.commands, name_of(sent)
        if how := self.console.how_to_play(sent):
            self._line("dim", how)
        elif name not in known and (close := nearest(name, known)):
            self._line("dim", f"did you mean {close}?")

    def _show_reply(self, reply: Reply, seconds: float) -> None:
        mark = ("=" if reply.ok else "?") + ("" if reply.id is None else str(reply.id))
        first, *rest = wrapped(f"{mark} {visible(reply.text[:_LONGEST])}", _columns()).split("\n")
        style = "" if reply.ok else "class:warning"
        self.out += [(style, first.rstrip()), ("class:dim", f"   {duration(seconds)}\n")]
        self.out += [(style, "\n".join([*rest, ""]))] if rest else []
        if len(reply.text) > _LONGEST:
            self._line("dim", f"… {len(reply.text) - _LONGEST} more characters")

    def _greet(self, reply: Reply) -> None:
        """Name the peer and its game, and say where help is."""
        target, record = self.console.dialogue.target, self.console.cursor.record
        name = reply.text[:100] if reply.ok and reply.text.strip() else target.name
        game = title_of(record) if record else target.first.removeprefix("ggp-new ")
        program = "" if name in target.name else f" ({target.name})"
        self._line("dim", f"This is {name}{program}{f': {game}' if game else ''}. :help lists the commands.")

    def _see_what_is_late(self) -> None:
        dialogue = self.console.dialogue
        for exchange in dialogue.pending:
            limit = MOMENT if exchange.own else self.console.timeout
            if exchange.overdue or streams(exchange.sent) or dialogue.now() - exchange.began <= limit:
                continue
            exchange.overdue = True
            what = f"`{visible(exchange.sent[:60])}`" + (" (a question of the console)" if exchange.own else "")
            self._line("fault", f"no answer to {what} in {limit:g} s; PROTOCOL §2.8: never a hang")
            self._line("dim", "it will be shown if it arrives; type :restart to restart the peer")

    def _see_stderr(self) -> None:
        lines = [f"stderr: {visible(line[:500])}" for line in self.console.dialogue.stderr_news().splitlines()]
        self._few("dim", lines, _STDERR_LINES, "more lines on stderr; :stderr shows the last")

    def _few(self, style: str, lines: list[str], most: int, more: str) -> None:
        """Show up to `most` lines, and count the rest."""
        for line in lines[:most]:
            self._line(style, line)
        if len(lines) > most:
            self._line(style, f"{len(lines) - most} {more}")

    def _echo(self, line: str) -> None:
        self.out += [("class:prompt", PROMPT), ("", f"{visible(line)}\n")] if self.echo else []

    def _line(self, style: str, text: str) -> None:
        self.out.append((f"class:{style}" if style else "", f"{wrapped(visible(text), _columns())}\n"))

    # -- the board -------------------------------------------------------------------------------------------------

    def _ask_for_board(self) -> None:
        """Ask for the board when no answer is due, so that no typed command waits for it."""
        console, dialogue = self.console, self.console.dialogue
        if not console.board:
            self.board = NOTHING
            return
        if not console.stale or dialogue.pending or dialogue.lost:
            return
        commands = console.info.commands
        if not commands:
            console.learn((LIST,))
            return
        console.stale = False
        if console.info.kind is not PeerKind.ENGINE and not console.changes:
            return  # a bot might start a game just to show a board
        asked = next((name for name in _BOARDS if name in commands), "")
        if asked:
            self._history = None
            if console.cursor.record and HISTORY in commands:  # before the board, so that both are drawn together
                dialogue.question(HISTORY, partial(setattr, self, "_history"))
            dialogue.question(asked, partial(self._drawn, asked))

    def _drawn(self, asked: str, reply: Reply) -> None:
        cursor, history = self.console.cursor, self._history
        self.board = _BOARDS[asked](reply.text) if reply.ok else NOTHING
        if cursor.record and history and history.ok:
            at = cursor.see(history, game_facts(reply if asked == SCENE else None))
            self.board = self.board._replace(caption=caption(cursor.record, at))
        self.console.info.stones = self.board.stones


def _columns() -> int:
    return screen_columns() or 80
