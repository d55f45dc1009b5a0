"""SIGINT and SIGTERM as a descriptor to poll, because an exception at any point would leave sockets half closed.

Only within `raising` does a signal raise an exception at once. For the main thread only.
"""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from types import FrameType

from ggp.protocol.standard_streams import write_stderr

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def on_signals(handler: Callable[[int, FrameType | None], object], *numbers: signal.Signals) -> Iterator[None]:
    """Call `handler` at each of these signals in this context. An ignored SIGHUP, as under nohup, stays ignored."""
    kept = {number: signal.getsignal(number) for number in numbers}
    if kept.get(signal.SIGHUP) == signal.SIG_IGN:
        del kept[signal.SIGHUP]
    try:
        for number in kept:
            signal.signal(number, handler)
        yield
    finally:
        for number, before in kept.items():
            signal.signal(number, before)


class Stopped(BaseException):
    """A request to exit, made by the signal `number`."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Stopping:
    """A context manager whose `descriptor` becomes readable at a signal; `check` then raises Stopped.

    `number` is the last signal, 0 before the first. With a `notice`, the first signal only writes the notice to stderr;
    the second one raises.
    """

    def __init__(self, notice: str = "") -> None:
        self.descriptor, self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.number = 0
        self._notice = notice
        self._signals = 0
        self._spared = 1 if notice else 0  # signals that raise nothing
        self._raising = False

    def __enter__(self) -> "Stopping":
        # The descriptor is written at once; Python's own handler would run only after a poll that may never end.
        self._wakeup = signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, self._take) for number in STOP_SIGNALS}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup)
        os.close(self.descriptor)
        os.close(self._wake)

    def check(self) -> None:
        """Raise Stopped if a signal requested it. Otherwise just drain `descriptor`, which other signals fill too."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.descriptor, 4096)
        if self._signals > self._spared:
            raise Stopped(self.number)

    @contextlib.contextmanager
    def raising(self, again: bool = False, first: bool = False) -> Iterator[None]:
        """Let a signal raise Stopped at once in this context.

        Args:
            again: Only a further signal raises, not one that has already come.
            first: Even the first signal raises, despite the notice, or one that has already come.
        """
        spared = self._spared
        try:
            self._raising = True  # before the check, so that no signal is missed in between
            if again or first:
                self._spared = 0
            if not again:
                self.check()
            yield
        finally:
            self._raising = False
            self._spared = spared

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.number = number
        self._signals += 1
        if self._signals <= self._spared:
            write_stderr(f"{self._notice}\n")  # not print, which the signal may have interrupted
        elif self._raising:
            raise Stopped(number)
