"""Where a human sits: what is shown to him, and how a line of his is read, from a terminal or a pipe. It knows no game.

A clock that runs out ends the reading of a line, and so does the end of input.
"""

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Protocol, TextIO

_HELD = (signal.SIGTERM, signal.SIGHUP)  # Ctrl-C is a key to a line editor
_LONGEST = 64 * 1024  # characters of a line; what is more is cut off
_DAY = 86400.0


class TimeUp(Exception):
    """There was no line before the deadline."""


class Left(Exception):
    """The input has ended: nobody sits there any more."""


class Desk(Protocol):
    """Shows text and reads lines."""

    def show(self, text: str) -> None: ...

    def read(self, prompt: str, words: Sequence[str], deadline: float | None, status: Callable[[], str]) -> str:
        """A line without blanks at its ends. `words` may be completed, `status` is shown below while it is typed.

        `deadline` is of time.monotonic, None: no limit. Raises TimeUp, Left, KeyboardInterrupt.
        """


def open_desk(out: TextIO) -> Desk:
    """With completion where both input and output are terminals."""
    if sys.stdin.isatty() and out.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        return TerminalDesk(out)
    return PlainDesk(out)


class PlainDesk:
    """Lines of standard input, one after another; each is shown again behind the prompt unless a terminal does that."""

    def __init__(self, out: TextIO, stdin: int = 0) -> None:
        self._out = out
        self._stdin = stdin
        self._rest = b""
        self._echo = not os.isatty(stdin)

    def show(self, text: str) -> None:
        print(text, file=self._out, flush=True)

    def read(self, prompt: str, words: Sequence[str], deadline: float | None, status: Callable[[], str]) -> str:
        """See Desk.read."""
        if text := status():
            self.show(text)
        print(prompt, end="", file=self._out, flush=True)
        try:
            line = self._line(deadline)
        except (TimeUp, Left):
            self.show("")
            raise
        if self._echo:
            self.show(line)
        return line

    def _line(self, deadline: float | None) -> str:
        while b"\n" not in self._rest:
            wait = _DAY if deadline is None else deadline - time.monotonic()
            if not select.select([self._stdin], [], [], max(0.0, min(wait, _DAY)))[0]:
                if wait <= 0:
                    raise TimeUp
                continue
            data = os.read(self._stdin, 4096)
            if not data and not self._rest:
                raise Left
            self._rest = (self._rest + data)[:_LONGEST] + (b"" if data else b"\n")
            if len(self._rest) == _LONGEST and b"\n" not in self._rest:
                self._rest = self._rest[: _LONGEST // 2]  # the beginning of what nobody means
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace").strip()


class TerminalDesk:
    """A line editor with completion and history; the clock runs in the line below."""

    def __init__(self, out: TextIO) -> None:
        from prompt_toolkit import PromptSession  # only who plays at a terminal waits for it
        from prompt_toolkit.output import create_output

        self._out = out
        self._session: PromptSession[str] = PromptSession(output=create_output(out))

    def show(self, text: str) -> None:
        print(text, file=self._out, flush=True)

    def read(self, prompt: str, words: Sequence[str], deadline: float | None, status: Callable[[], str]) -> str:
        """See Desk.read."""
        from prompt_toolkit.completion import WordCompleter

        try:
            with _signals_end_the_editor() as begun:

                def begin() -> None:
                    begun()
                    if deadline is not None:
                        _end_at(deadline)

                line = self._session.prompt(
                    prompt,
                    completer=WordCompleter([*words], ignore_case=True, sentence=True),
                    complete_while_typing=False,
                    bottom_toolbar=(lambda: status()) if status() else None,
                    refresh_interval=0.2 if deadline is not None else 0,
                    pre_run=begin,
                    in_thread=_loop_runs(),
                )
        except EOFError:
            raise Left from None
        return line.strip()


@contextmanager
def _signals_end_the_editor() -> Iterator[Callable[[], None]]:
    """Signals that come in here end the line editor, and only then reach their handlers: what these raise would be
    swallowed by the editor's loop. What is yielded is to be called once the editor has begun.
    """
    taken: list[int] = []
    ends: list[Callable[[], None]] = []

    def take(number: int, frame: FrameType | None) -> None:
        taken.append(number)
        for end in ends:
            end()

    def begun() -> None:
        ends.append(_ender())
        if taken:
            ends[0]()

    before = {number: signal.getsignal(number) for number in _HELD}
    held = [number for number in _HELD if before[number] != signal.SIG_IGN]
    for number in held:
        signal.signal(number, take)
    try:
        yield begun
    finally:
        for number in held:
            signal.signal(number, before[number])
        if taken:
            signal.raise_signal(signal.Signals(taken[0]))


def _ender() -> Callable[[], None]:
    """What ends the line editor that has just begun, whoever calls it, and does nothing once it has ended."""
    import asyncio

    from prompt_toolkit.application import get_app

    app, loop = get_app(), asyncio.get_running_loop()

    def give_up() -> None:
        if app.is_running and not app.is_done:
            app.exit(exception=KeyboardInterrupt())

    def end() -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(give_up)

    return end


def _end_at(deadline: float) -> None:
    """Have the line editor that has just begun give up then."""
    import asyncio

    from prompt_toolkit.application import get_app

    app = get_app()

    async def give_up() -> None:
        await asyncio.sleep(max(0.0, deadline - time.monotonic()))
        if app.is_running and app.future is not None and not app.future.done():
            app.exit(exception=TimeUp())

    app.create_background_task(give_up())


def _loop_runs() -> bool:
    """Whether whoever called us is itself under asyncio, so that an editor with a loop of its own needs a thread."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
