"""The console on a terminal: a permanent input line, the dialogue above it, the board beside it.

The dialogue is plain text that scrolls; only the lines of the prompt and the board are redrawn. Answers appear when
they arrive, even while a line is being typed.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from prompt_toolkit.application import Application, get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, has_completions, is_done
from prompt_toolkit.formatted_text import FormattedText, OneStyleAndTextTuple, StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    DynamicContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    ScrollbarMargin,
    ScrollOffsets,
    VSplit,
    Window,
)
from prompt_toolkit.layout.menus import CompletionsMenuControl
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.renderer import print_formatted_text
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import SearchToolbar

from ggp.protocol.input_files import open_input
from ggp.protocol.safe_files import open_to_append, replace_file
from ggp.referee.match.bot_spec import LaunchError
from ggp.referee.terminal import BoardText, duration, shows_colour, wrapped
from ggp.referee.tools.console.completion import agreed, complete, ends_a_word, hint, needs, wants_file
from ggp.referee.tools.console.console import SIGNALS, Console, ends_in_order
from ggp.referee.tools.console.view import PROMPT, ConsoleView

_QUICK = 0.005  # seconds to wait for an answer before the next redraw; most answers arrive in this time
_WAITING, _IDLE = 0.01, 0.05  # seconds between checks of the peer
_LEARN = 1.0  # seconds that a completion waits for answers of the peer
_LONG = 0.3  # seconds after which waiting for an answer is shown
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


class PromptConsole:
    """The console on a terminal; `run` is the session."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._view = ConsoleView(console)
        self._wake = asyncio.Event()
        self._sent = False  # a line was sent since the last look
        self._asked_at = ""  # the line in which Tab was pressed before any continuation was known
        self._blank = ""  # the text before the cursor, as Tab left it with a blank at its end
        self._failed: LaunchError | None = None
        self._status = 0
        self._output = Vt100_Output.from_pty(sys.stdout, term=os.environ.get("TERM"))
        self._output.enable_cpr = False  # not needed, and some terminals do not answer the query
        self._depth = None if shows_colour() else ColorDepth.DEPTH_1_BIT
        self._style = Style.from_dict(_STYLE)
        self._buffer = Buffer(
            completer=_Completer(console),
            complete_while_typing=True,
            multiline=False,
            history=PromptHistory(path_of_history(os.environ)),
            accept_handler=self._accept,
        )

    def run(self) -> int:
        """Run the session, and return the exit status."""
        self._view.begin()
        app: Application[str | None] = Application(
            _layout(self._buffer, self._view, self._hint),
            style=self._style,
            key_bindings=self._keys(),
            color_depth=self._depth,
            output=self._output,
            erase_when_done=True,
            max_render_postpone_time=None,  # redraw at once, without flicker
            include_default_pygments_style=False,
        )
        while not self._console.ended:
            line = app.run(pre_run=lambda: self._begin(app))
            if line is None:
                break
            try:
                with ends_in_order():  # prompt_toolkit has changed the signal handlers
                    self._view.own(line, self._print)
            except KeyboardInterrupt:
                self._view.out.append(("class:warning", "\ninterrupted\n"))
            self._print()
        if self._failed is not None:
            raise self._failed
        self._print()
        return self._status

    def _begin(self, app: "Application[str | None]") -> None:
        self._wake = asyncio.Event()
        app.create_background_task(self._watch(app))
        for number in SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, self._end, app, number)

    def _end(self, app: "Application[str | None]", number: signal.Signals) -> None:
        self._status = 128 + number
        if app.is_running and not app.is_done:
            app.exit(result=None)

    # -- the keyboard ----------------------------------------------------------------------------------------------

    def _accept(self, buffer: Buffer) -> bool:
        line = buffer.text.rstrip()
        if self._console.is_own(line) and not self._console.is_quick(line):
            get_app().exit(result=line)  # it may take long and must be interruptible, so leave the prompt
        elif line.strip():
            (self._view.own if self._console.is_own(line) else self._view.typed)(line)
            if self._console.ended:
                get_app().exit(result=None)
            self._sent = True
            self._wake.set()
        return False

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("c-c")
        @keys.add("<sigint>")
        def drop(event: KeyPressEvent) -> None:
            if self._buffer.text:
                self._buffer.reset()
            else:
                self._view.interrupted()
                self._wake.set()

        @keys.add("c-d", filter=Condition(lambda: not self._buffer.text))
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
        """Return True if a completion has just inserted a blank, so that a typed blank would be a second one."""
        text, state = self._buffer.document.text_before_cursor, self._buffer.complete_state
        return text.endswith(" ") and (text == self._blank or (state is not None and state.complete_index is not None))

    def _complete(self) -> None:
        """Handle Tab: insert the only continuation and a blank, or the common beginning; then cycle through all.

        Known text is inserted at once, so that the next key follows it.
        """
        buffer = self._buffer
        state = buffer.complete_state
        if state is not None and state.complete_index is not None:
            buffer.complete_next()
            return
        choices = complete(buffer.document.text_before_cursor, self._console.known())
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
        """Complete after the peer has answered, if nothing was typed since Tab."""
        before = self._buffer.document.text_before_cursor
        if self._asked_at and self._asked_at == self._buffer.text and complete(before, self._console.known()):
            self._asked_at, self._buffer.complete_state = "", None
            self._complete()

    def _hint(self) -> str:
        dialogue = self._console.dialogue
        if not self._buffer.text and (awaited := dialogue.awaited):
            seconds = dialogue.now() - awaited.began
            return f"waiting for {awaited.sent[:40]} … {duration(seconds)}" if seconds > _LONG else ""
        return hint(self._buffer.document.text_before_cursor, self._console.info)

    # -- the peer --------------------------------------------------------------------------------------------------

    async def _watch(self, app: "Application[str | None]") -> None:
        """Take what the peer sends while the prompt is open."""
        board = self._view.board
        loop, dialogue = asyncio.get_running_loop(), self._console.dialogue
        while not app.is_done:
            quick, self._sent = _QUICK if self._sent else 0.0, False
            try:
                self._view.refresh(quick)
            except LaunchError as error:
                self._failed = error
                app.exit(result=None)
                return
            self._complete_late()
            if self._view.out:
                # Not run_in_terminal: it leaves raw mode for a moment, and a Ctrl-D in this moment would be lost.
                app.renderer.erase()
                self._print()
                app.renderer.reset()
                app.invalidate()
            elif board is not self._view.board or dialogue.awaited:
                app.invalidate()
            board = self._view.board
            timer = loop.call_later(_WAITING if dialogue.pending else _IDLE, self._wake.set)
            await self._wake.wait()
            timer.cancel()
            self._wake.clear()

    def _print(self) -> None:
        out, self._view.out[:] = FormattedText(self._view.out), []
        if out:
            print_formatted_text(self._output, out, self._style, color_depth=self._depth)


class _Completer(Completer):
    """Completion for prompt_toolkit, which asks the peer first."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield the choices from what is known."""
        text, known = document.text_before_cursor, self._console.known()
        name = wants_file(text, known)
        if name is not None:
            yield from self._paths.get_completions(Document(name), complete_event)
        for choice in complete(text, known):
            whole = f"{choice.text} " if ends_a_word(choice.text) else choice.text
            yield Completion(whole, -choice.length, display=choice.text, display_meta=choice.help)

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """Yield the choices after the peer's answers, if they arrive within a second."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _LEARN
        while loop.time() < deadline and self._console.learn(needs(document.text_before_cursor, self._console.info)):
            await asyncio.sleep(_WAITING)
        for completion in self.get_completions(document, complete_event):
            yield completion


# -- layout -----------------------------------------------------------------------------------------------------------


_MENU = 10  # lines of the menu of completions
_LEFT = 44  # least columns of the dialogue beside the board
_GAP = 2
_HINT = 3  # lines
_UNDER = 4  # lines reserved for the input, the hint and the notes below the menu
_KEPT = 6  # lines reserved for the dialogue above the board


def _layout(buffer: Buffer, view: ConsoleView, hint: Callable[[], str]) -> Layout:
    """Return the layout. The board is placed where it fits, if at all."""

    def now() -> Arrangement:
        size = get_app().output.get_size()
        return arrange(view.board, size.columns, size.rows)

    def dim(text: Callable[[], str]) -> FormattedTextControl:
        return FormattedTextControl(lambda: [("class:dim", text())])

    search = SearchToolbar()
    control = BufferControl(
        buffer, input_processors=[BeforeInput([("class:prompt", PROMPT)])], search_buffer_control=search.control
    )
    line = Window(control, height=Dimension(min=1), wrap_lines=True, dont_extend_height=True)
    hints = Window(
        dim(lambda: wrapped(hint(), now().columns)), height=Dimension(min=1, max=_HINT), dont_extend_height=True
    )
    menu = Window(
        CompletionsMenuControl(),
        height=lambda: Dimension(min=1, max=max(1, min(_MENU, now().rows - _UNDER))),
        dont_extend_width=True,
        dont_extend_height=True,
        right_margins=[ScrollbarMargin()],
        scroll_offsets=ScrollOffsets(top=1, bottom=1),
        style="class:completion-menu",
    )
    # The menu is between the hint and the notes, so that it covers neither of them, nor the board.
    completions = ConditionalContainer(VSplit([menu, Window()]), filter=has_completions & ~is_done)
    notes = Window(dim(lambda: "\n".join([*now().left_over, *view.notes()])), wrap_lines=True, height=Dimension(min=0))
    left = HSplit([line, search, hints, completions, notes])

    def pieces() -> StyleAndTextTuples:
        return list[OneStyleAndTextTuple](piece for row in now().board.lines for piece in (*row, ("", "\n")))[:-1]

    board = FormattedTextControl(pieces)
    right = Window(
        board, width=lambda: Dimension.exact(now().board.width), dont_extend_height=True, ignore_content_width=True
    )
    places = {
        "beside": VSplit([left, Window(width=_GAP), right]),
        "below": HSplit([left, Window(board, dont_extend_height=True)]),
        "": left,
    }
    return Layout(DynamicContainer(lambda: places[now().place]), focused_element=line)


class Arrangement(NamedTuple):
    """The place of the board on the screen, and the room left for the dialogue."""

    board: BoardText  # with its caption if both have room
    place: str  # "beside" the dialogue, "below" it, "" for none
    left_over: tuple[str, ...]  # lines for the notes
    columns: int  # left to the dialogue
    rows: int


def arrange(board: BoardText, columns: int, rows: int) -> Arrangement:
    """Return the arrangement on a screen of this size."""
    place, whole = _place(board, columns, rows), board.captioned()
    if place and place == _place(whole, columns, rows):
        board = whole
    too_big = (f"(the board needs {board.width} columns and {board.height + 1} lines)",)
    left_over = (*(too_big if board.lines and not place else ()), *board.caption)
    left = columns - board.width - _GAP if place == "beside" else columns
    return Arrangement(board, place, left_over, left, rows - board.height if place == "below" else rows)


def _place(board: BoardText, columns: int, rows: int) -> str:
    if not board.lines:
        return ""
    if board.width + _GAP + _LEFT <= columns and board.height + 1 <= rows:
        return "beside"
    return "below" if board.width <= columns and board.height + 2 + _KEPT <= rows else ""


# -- history file -----------------------------------------------------------------------------------------------------


_LINES, _BYTES = 2_000, 1024 * 1024  # most lines and bytes of the file


class PromptHistory(History):
    """The history of a prompt. If its file cannot be written, it lasts only for the session."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def load_history_strings(self) -> Iterable[str]:
        """Return the lines, latest first. A long file is shortened."""
        lines: list[str] = []
        with contextlib.suppress(OSError):
            with open_input(self._path) as file:
                file.seek(max(0, self._path.stat().st_size - _BYTES))
                lines = file.read(_BYTES).decode("utf-8", "replace").splitlines()
            if len(lines) > _LINES:
                lines = lines[-_LINES:]
                replace_file(self._path, "".join(f"{line}\n" for line in lines).encode(), 0o600)
        return reversed([line for line in lines if line.isprintable()])

    def store_string(self, string: str) -> None:
        """Add a line. Several consoles may write at the same time."""
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with os.fdopen(open_to_append(self._path, 0o600), "ab") as file:
                file.write(f"{string}\n".encode("utf-8", "replace"))


def path_of_history(environment: Mapping[str, str]) -> Path:
    """Return `$XDG_STATE_HOME/ggp/console-history`, by default in ~/.local/state."""
    state = environment.get("XDG_STATE_HOME", "")
    folder = Path(state) if state.startswith("/") else Path(environment.get("HOME", "/")) / ".local" / "state"
    return folder / "ggp" / "console-history"
