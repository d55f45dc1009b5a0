"""The console's view: answers, times, faults and the board as pieces of styled text.

It writes to no terminal, so that the prompt and the plain console share it.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType

from ggp.protocol.messages import Reply
from ggp.protocol.transports.signal_fd import on_signals
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
from ggp.referee.tools.console.completion import (
    LIST,
    PeerKind,
)
from ggp.referee.tools.console.console import Console
from ggp.referee.tools.console.dialogue import MOMENT, Exchange, PeerLost, streams
from ggp.referee.tools.console.own_commands import OwnFailed

PROMPT = "> "
_PASTED = 0.2  # seconds that a line for the console waits for an answer that is due
_AT_ONCE = 100  # answers taken in one look: a flood must not keep the keyboard waiting
_WARNINGS = 5  # lines that are no answers of which each is shown, in one look
_STDERR_LINES = 20  # of what came there since the last look
_LONGEST = 100_000  # characters of an answer that are shown
_PLACE = ("ggp-history", "ggp-status")
_BOARDS = ("ggp-scene", "showboard")


class ConsoleView:
    """`out` is the text to show, (style, text) each; the caller shows and empties it."""

    def __init__(self, console: Console) -> None:
        self.console = console
        console.dialogue.passed = self._passed
        self.out: list[tuple[str, str]] = []
        self.board: BoardText = NOTHING
        self.clocks = ConsoleClocks()
        self._first: Exchange | None = None  # what the target says on its own
        self._last: Exchange | None = None  # what was typed last
        self._asked = ""  # how the board is being asked for
        self._heard: dict[str, Reply] = {}  # what its caption needs

    def begin(self) -> None:
        """Send the target's first command as if it had been typed; several are sent at once, without an echo.

        Raises LaunchError if one of several is refused.
        """
        console = self.console
        if console.dialogue.target.then:
            console.begin()
        elif console.dialogue.target.first:
            self.typed(console.dialogue.target.first)
            self._first = self._last
        console.dialogue.question("name", self._greet)

    def _passed(self, mark: str, data: bytes, own: bool) -> None:
        if self.console.raw:
            self._line("dim", f"{mark} {quote(data)}" if data else f"{mark} (the end)")

    def typed(self, line: str) -> None:
        """A line for the peer."""
        self.out += [("class:prompt", PROMPT), ("", f"{visible(line)}\n")]
        try:
            self._last = self.console.dialogue.send_line(line) or self._last
        except PeerLost as lost:
            self._line("fault", str(lost))

    def own(self, line: str, begun: Callable[[], None] = lambda: None) -> None:
        """Run a command of the console; blocks until it ends. `begun` shows the output so far."""
        if self.awaited is not None:  # as in a text that was pasted: first things first
            self.refresh(_PASTED)
        self.out += [("class:prompt", PROMPT), ("", f"{visible(line)}\n")]
        begun()
        try:
            text = self.console.run_own(line)
        except OwnFailed as failed:
            self._line("warning", str(failed))
        else:
            if text:
                self._line("", text)

    def refresh(self, seconds: float) -> None:
        """Take all that has come; wait up to `seconds` for an answer that is due.

        Raises LaunchError if the peer refuses the target's first command.
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
            self._trouble(str(lost))
        for line in dialogue.take_stream():
            self._line("", line)
        self._see_what_is_late()
        warnings = dialogue.new_warnings()
        for warning in warnings[:_WARNINGS]:
            self._line("warning", f"{warning}; PROTOCOL §2.10: tolerated from a bot")
        if len(warnings) > _WARNINGS:
            self._line("warning", f"so with {len(warnings) - _WARNINGS} lines more")
        self._see_stderr()
        self._ask_for_board()

    @property
    def busy(self) -> bool:
        """Whether an answer, or a board after it, is due."""
        dialogue, console = self.console.dialogue, self.console
        pending = dialogue.pending
        if pending and all(streams(exchange.sent) for exchange in pending):
            return False  # it goes on until the next line
        return not dialogue.lost and (bool(pending) or (console.board and console.stale))

    @property
    def awaited(self) -> Exchange | None:
        """The oldest typed command without an answer."""
        return next((exchange for exchange in self.console.dialogue.pending if not exchange.own), None)

    def notes(self) -> list[str]:
        """The lines beside the board: whose turn, the legend, the clocks."""
        return [*map(visible, self.board.notes), *self.clocks.lines()]

    def interrupted(self) -> None:
        """Ctrl-C while an answer is due."""
        awaited = self.awaited
        if awaited is not None:
            what = f"`{visible(awaited.sent[:60])}` is still to be answered: it is shown when it comes"
            self._line("dim", f"{what}; :restart ends the wait")

    # -- what happened ---------------------------------------------------------------------------------------------

    def _answered(self, done: Exchange) -> None:
        assert done.reply is not None
        if done is self._first and not done.reply.ok:
            raise LaunchError(visible(done.reply.text))
        if done is not self._last:
            self._line("dim", f"answer to {visible(done.sent[:100])}")
        self._show_reply(done.reply, done.seconds)
        if not done.reply.ok:
            self._suggest(done.sent)
        if self.console.learner.forget(done.sent) and done.reply.ok:
            self.console.stale = True
        if done.reply.ok:
            self.clocks.on_command(done.sent, done.seconds)

    def _suggest(self, sent: str) -> None:
        """Name the command that is nearest to one that the peer does not list."""
        known = self.console.learner.known.commands
        name = next((word for word in sent.split()[:2] if not word.isdigit()), "")
        close = nearest(name, known) if name not in known else ""
        if how := self.console.how_to_play(sent):
            self._line("dim", how)
        elif close:
            self._line("dim", f"did you mean {close}?")

    def _show_reply(self, reply: Reply, seconds: float | None) -> None:
        mark = ("=" if reply.ok else "?") + ("" if reply.id is None else str(reply.id))
        shown = wrapped(f"{mark} {visible(reply.text[:_LONGEST])}", _columns())
        first, *rest = shown.split("\n")
        style = "" if reply.ok else "class:warning"
        self.out.append((style, first.rstrip()))
        self.out.append(("class:dim", f"   {duration(seconds)}\n" if seconds is not None else "\n"))
        if rest:
            self.out.append((style, "\n".join([*rest, ""])))
        if len(reply.text) > _LONGEST:
            self._line("dim", f"… {len(reply.text) - _LONGEST} characters more")

    def _trouble(self, text: str) -> None:
        first, *rest = text.split("\n")
        self._line("fault", "\n".join([f"{first}; type :restart", *rest]))

    def _greet(self, reply: Reply) -> None:
        """Show the peer, its game, and where help is."""
        target, match = self.console.dialogue.target, self.console.match
        name = reply.text[:100] if reply.ok and reply.text.strip() else target.name
        game = match.of if match else target.first.removeprefix("ggp-new ")
        program = "" if name in target.name else f" ({target.name})"
        self._line("dim", f"This is {name}{program}{f': {game}' if game else ''}. :help lists the commands.")

    def _see_what_is_late(self) -> None:
        dialogue = self.console.dialogue
        for exchange in dialogue.pending:
            limit = MOMENT if exchange.own else self.console.timeout
            if streams(exchange.sent):
                continue
            if not exchange.overdue and dialogue.now() - exchange.began > limit:
                exchange.overdue = True
                whose = " (a question of the console's own)" if exchange.own else ""
                self._line(
                    "fault",
                    f"no answer to `{visible(exchange.sent[:60])}`{whose} in {limit:g} s; PROTOCOL §2.8: never a hang",
                )
                self._line("dim", "it is shown if it comes; type :restart to restart the peer")

    def _see_stderr(self) -> None:
        lines = self.console.dialogue.stderr_news().splitlines()
        for line in lines[:_STDERR_LINES]:
            self._line("dim", f"stderr: {visible(line[:500])}")
        if len(lines) > _STDERR_LINES:
            self._line("dim", f"stderr: {len(lines) - _STDERR_LINES} lines more; :stderr shows the last")

    def _line(self, style: str, text: str) -> None:
        self.out.append((f"class:{style}" if style else "", f"{wrapped(visible(text), _columns())}\n"))

    # -- the board -------------------------------------------------------------------------------------------------

    def _ask_for_board(self) -> None:
        """Ask once no answer is due, so that no typed command waits for this one."""
        console = self.console
        if not console.board:
            self.board = NOTHING
            return
        if not console.stale or console.dialogue.pending or console.dialogue.lost:
            return
        commands = console.learner.known.commands
        if not commands:
            console.learner.learn((LIST,))
            return
        console.stale = False
        if console.learner.known.kind is not PeerKind.ENGINE and not console.learner.changes:
            return  # a bot may begin some game or other only to show a board
        self._asked = next((name for name in _BOARDS if name in commands), "")
        if self._asked:
            if console.match:  # before the board: both are drawn at once
                self._ask_for_caption(commands)
            console.dialogue.question(self._asked, self._drawn)

    def _ask_for_caption(self, commands: tuple[str, ...]) -> None:
        self._heard = {}
        for question in _PLACE:
            if question in commands:
                self.console.dialogue.question(question, partial(self._heard.__setitem__, question))

    def _drawn(self, reply: Reply) -> None:

        if not reply.ok:
            self.board = NOTHING
        else:
            self.board = (draw_scene if self._asked == _BOARDS[0] else draw_text)(reply.text)
        if self.console.match:
            scene = reply if self._asked == _BOARDS[0] else None
            history, status = map(self._heard.get, _PLACE)
            self.board = self.board._replace(caption=self.console.match.lines(history, status, scene))
        self.console.learner.see_stones(self.board.stones)


def _columns() -> int:
    return screen_columns() or 80


# -- clocks -----------------------------------------------------------------------------------------------------------


_NEW = ("ggp-new", "clear_board", "boardsize")
_COLOURS = {"b": "black", "black": "black", "w": "white", "white": "white"}


class ConsoleClocks:
    """The clocks, by the commands that succeeded."""

    def __init__(self) -> None:
        self._used: dict[str, float] = {}
        self._left: dict[str, float] = {}

    def on_command(self, line: str, seconds: float) -> None:
        """`line` as it was sent, with or without an id; `seconds` until its answer."""
        words = line.split()
        if len(words) > 1 and words[0].isdigit():
            words = words[1:]
        name, arguments = words[0], words[1:]
        if name in _NEW:
            self._used.clear()
            self._left.clear()
        elif name in ("genmove", "ggp-genmove_analyze") and arguments:
            colour = _COLOURS.get(arguments[0].lower(), "")
            if colour:
                self._used[colour] = self._used.get(colour, 0.0) + seconds
        elif name == "time_left" and len(arguments) > 1:
            self._set(_COLOURS.get(arguments[0].lower(), ""), arguments[1], 1.0)
        elif name == "ggp-clock":
            for word in arguments:
                key, _, value = word.partition("=")
                self._set(_COLOURS.get(key, ""), value, 0.001)

    def lines(self) -> list[str]:
        """A line for each side with a known time."""
        out = []
        for colour in ("black", "white"):
            parts = []
            if colour in self._used:
                parts.append(f"{duration(self._used[colour])} used")
            if colour in self._left:
                parts.append(f"{duration(self._left[colour])} left by its last clock command")
            if parts:
                out.append(f"{colour}: {', '.join(parts)}")
        return out

    def _set(self, colour: str, text: str, unit: float) -> None:
        if colour and text.isascii() and text.isdigit() and len(text) < 12:
            self._left[colour] = int(text) * unit


# -- the end after a signal -------------------------------------------------------------------------------------------


SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class EndedBySignal(BaseException):
    """Raised by the first signal to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number


@contextmanager
def ends_in_order() -> Iterator[None]:
    """The first of SIGNALS raises EndedBySignal; later ones do not disturb the ending."""
    ended = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal ended
        if not ended:
            ended = True
            raise EndedBySignal(number)

    with on_signals(end, *SIGNALS):
        yield
