"""The console on a terminal: an input line that is always there, the dialogue above it, the board beside it.

The dialogue is plain text that scrolls as any program's, so that it can be copied and scrolled back; only the lines
of the prompt and the board at the bottom are drawn again. Answers are shown when they come, whatever is being typed.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Iterable

from prompt_toolkit.application import Application, get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.renderer import print_formatted_text
from prompt_toolkit.styles import Style

from referee.console.complete import agreed, complete, ends_a_word, hint, needs, wants_file
from referee.console.console import Console
from referee.console.ending import SIGNALS, ends_in_order
from referee.console.history import Lines, path_of_history
from referee.console.knowledge import Learner
from referee.console.panes import Shown, layout
from referee.console.talk import Talk
from referee.console.visible import duration
from referee.play.launch import LaunchError

_QUICK = 0.005  # seconds that a line just sent is waited for at once: most answers are there by then
_WAITING, _IDLE = 0.01, 0.05  # seconds between looks at the peer
_LEARN = 1.0  # seconds that a completion waits for what the peer knows
_LONG = 0.3  # seconds after which the wait for an answer is shown
_STYLE = {
    "prompt": "bold",
    "dim": "ansibrightblack",
    "fault": "ansired",
    "warning": "ansiyellow",
    "black": "bold ansiblue",
    "white": "bold ansiyellow",
    "mark": "bold ansigreen",
    "completion-menu": "noreverse bg:default fg:default",
    "completion-menu.completion": "noreverse bg:default fg:default",
    "completion-menu.completion.current": "reverse",
    "completion-menu.meta.completion": "noreverse bg:default fg:ansibrightblack",
    "completion-menu.meta.completion.current": "noreverse bold bg:default",
    "scrollbar.background": "bg:default",
    "scrollbar.button": "reverse",
}


class Prompt:
    """`passed` is what the console's dialogue has to be given; `run` then is the session."""

    def __init__(self) -> None:
        self._talk = Talk()
        self.passed = self._talk.passed
        self._wake = asyncio.Event()
        self._sent = False  # something was, a moment ago
        self._asked_at = ""  # the line on which Tab was pressed when no continuation was known
        self._blank = ""  # the text before the cursor, as Tab left it with a blank at its end
        self._failed: LaunchError | None = None
        self._status = 0
        self._output = Vt100_Output.from_pty(sys.stdout, term=os.environ.get("TERM"))
        self._output.enable_cpr = False  # where the cursor is need not be known, and some terminals do not say
        self._depth = ColorDepth.DEPTH_1_BIT if os.environ.get("NO_COLOR") else None
        self._style = Style.from_dict(_STYLE)

    def run(self, console: Console) -> int:
        """The exit status."""
        self._talk.begin(console)
        self._console = console
        app = self._make_app()
        while not console.ended:
            line = app.run(pre_run=lambda: self._begin(app))
            if line is None:
                break
            try:
                with ends_in_order():  # the prompt has left the signals as it likes them
                    self._talk.own(line, self._print)
            except KeyboardInterrupt:
                self._talk.out.append(("class:warning", "\ninterrupted\n"))
            self._print()
        if self._failed is not None:
            raise self._failed
        self._print()
        return self._status

    def _make_app(self) -> "Application[str | None]":
        self._buffer = Buffer(
            completer=_Completer(self._console.learner),
            complete_while_typing=True,
            multiline=False,
            history=Lines(path_of_history(os.environ)),
            accept_handler=self._accept,
        )
        shown = Shown(self._hint, self._talk.notes, lambda: self._talk.board)
        return Application(
            layout(self._buffer, shown),
            style=self._style,
            key_bindings=self._keys(),
            color_depth=self._depth,
            output=self._output,
            erase_when_done=True,
            max_render_postpone_time=None,  # drawn again at once: nothing flickers
            include_default_pygments_style=False,
        )

    def _begin(self, app: "Application[str | None]") -> None:
        self._wake = asyncio.Event()
        app.create_background_task(self._watch(app))
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._end, app, number)

    def _end(self, app: "Application[str | None]", number: signal.Signals) -> None:
        self._status = 128 + number
        if app.is_running and not app.is_done:
            app.exit(result=None)

    # -- the keyboard ----------------------------------------------------------------------------------------------

    def _accept(self, buffer: Buffer) -> bool:
        line = buffer.text.rstrip()
        if self._console.is_own(line) and not self._console.is_quick(line):
            get_app().exit(result=line)  # it may take long, and Ctrl-C is to reach it: the prompt gives way
        elif self._console.is_own(line):
            self._talk.own(line)
            if self._console.ended:
                get_app().exit(result=None)
            self._sent = True
            self._wake.set()
        elif line.strip():
            self._talk.typed(line)
            self._sent = True
            self._wake.set()
        return False

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        empty = Condition(lambda: not self._buffer.text)

        @keys.add("c-c")
        @keys.add("<sigint>")
        def drop(event: KeyPressEvent) -> None:
            if self._buffer.text:
                self._buffer.reset()
            else:
                self._talk.interrupted()
                self._wake.set()

        @keys.add("c-d", filter=empty)
        def leave(event: KeyPressEvent) -> None:
            event.app.exit(result=None)

        @keys.add("c-i")
        def go_on(event: KeyPressEvent) -> None:
            self._complete()

        @keys.add(" ", filter=Condition(self._has_blank))
        def put_there_already(event: KeyPressEvent) -> None:
            self._blank = ""
            self._buffer.complete_state = None
            self._buffer.start_completion()

        return keys

    def _has_blank(self) -> bool:
        """Whether a completion has just put a blank where the next key would put one."""
        text, state = self._buffer.document.text_before_cursor, self._buffer.complete_state
        return text.endswith(" ") and (text == self._blank or (state is not None and state.complete_index is not None))

    def _complete(self) -> None:
        """Tab: the only continuation and a blank, or as far as all agree, at once; then one after another.

        What is known is put in without waiting, so that a key typed right behind it is typed behind it.
        """
        buffer = self._buffer
        state = buffer.complete_state
        if state is not None and state.complete_index is not None:
            buffer.complete_next()
            return
        choices = complete(buffer.document.text_before_cursor, self._console.learner.known)
        common = agreed(choices)
        if len(choices) == 1 and ends_a_word(common):
            common += " "
        if choices and len(common) > choices[0].length:
            buffer.delete_before_cursor(choices[0].length)
            buffer.insert_text(common)
            self._blank = buffer.document.text_before_cursor if common.endswith(" ") else ""
        elif state is not None:
            buffer.complete_next()
        else:
            self._asked_at = "" if choices else buffer.text
            buffer.start_completion(select_first=bool(choices))

    def _complete_late(self) -> None:
        """What Tab asked for before the peer had said it, if nothing was typed since."""
        known, before = self._console.learner.known, self._buffer.document.text_before_cursor
        if self._asked_at and self._asked_at == self._buffer.text and complete(before, known):
            self._asked_at, self._buffer.complete_state = "", None
            self._complete()

    def _hint(self) -> str:
        awaited = self._talk.awaited
        if not self._buffer.text and awaited is not None:
            seconds = self._console.dialogue.now() - awaited.began
            return f"waiting for {awaited.sent[:40]} … {duration(seconds)}" if seconds > _LONG else ""
        return hint(self._buffer.document.text_before_cursor, self._console.learner.known)

    # -- the peer --------------------------------------------------------------------------------------------------

    async def _watch(self, app: "Application[str | None]") -> None:
        """See what the peer says, for as long as the prompt is there."""
        board = self._talk.board
        loop = asyncio.get_running_loop()
        while not app.is_done:
            quick, self._sent = _QUICK if self._sent else 0.0, False
            try:
                self._talk.look(quick)
            except LaunchError as error:
                self._failed = error
                app.exit(result=None)
                return
            self._complete_late()
            if self._talk.out:
                self._print_above(app)
            elif board is not self._talk.board or self._talk.awaited is not None:
                app.invalidate()
            board = self._talk.board
            timer = loop.call_later(_WAITING if self._console.dialogue.pending else _IDLE, self._wake.set)
            await self._wake.wait()
            timer.cancel()
            self._wake.clear()

    def _print_above(self, app: "Application[str | None]") -> None:
        """Print where the prompt stands, and the prompt again below.

        Not by run_in_terminal, which leaves the raw mode for a moment: a Ctrl-D that comes just then would be lost.
        """
        app.renderer.erase()
        self._print()
        app.renderer.reset()
        app.invalidate()

    def _print(self) -> None:
        out, self._talk.out[:] = FormattedText(self._talk.out), []
        if out:
            print_formatted_text(self._output, out, self._style, color_depth=self._depth)


class _Completer(Completer):
    """Completion of prompt_toolkit's kind around the pure one; it lets the peer be asked first."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """What is known now."""
        text, known = document.text_before_cursor, self._learner.known
        name = wants_file(text, known)
        if name is not None:
            yield from self._paths.get_completions(Document(name), complete_event)
            return
        for choice in complete(text, known):
            whole = f"{choice.text} " if ends_a_word(choice.text) else choice.text
            yield Completion(whole, -choice.length, display=choice.text, display_meta=choice.help)

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """What is known once the peer has answered what there is to ask, if that takes no longer than a second."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _LEARN
        while loop.time() < deadline:
            questions = needs(document.text_before_cursor, self._learner.known)
            if not self._learner.learn(questions):
                break
            await asyncio.sleep(_WAITING)
        for completion in self.get_completions(document, complete_event):
            yield completion
