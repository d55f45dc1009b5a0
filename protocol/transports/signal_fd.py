"""SIGINT and SIGTERM as a descriptor to poll, because an exception out of nowhere leaves sockets half closed.

Only within `raising` is a signal an exception at once. For the main thread alone.
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
    """Call `handler` at each of these signals in here. A SIGHUP that is ignored, as under nohup, stays so."""
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
    """A signal that asked this process to end; `number` is the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Stopping:
    """A context manager whose `descriptor` is readable from the first signal on; `check` raises Stopped then.

    `number` is that of the last signal, 0 before the first one. With a `notice` the first signal raises nothing: the
    notice is written to stderr, and only the second signal raises.
    """

    def __init__(self, notice: str = "") -> None:
        self.descriptor, self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.number = 0
        self._notice = notice
        self._signals = 0
        self._spared = 1 if notice else 0  # signals that raise nothing
        self._raising = False

    def __enter__(self) -> "Stopping":
        # Written to when the signal comes, and not when Python next looks: that may be after a poll without end.
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
        """Raise Stopped if a signal asked for it, and empty `descriptor`, which other signals make readable too."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.descriptor, 4096)
        if self._signals > self._spared:
            raise Stopped(self.number)

    @contextlib.contextmanager
    def raising(self, again: bool = False, first: bool = False) -> Iterator[None]:
        """Let a signal raise Stopped at once in here.

        Args:
            again: Only a further signal raises.
            first: Even the first signal, or one that has come, raises, whatever the notice says.
        """
        spared = self._spared
        try:
            self._raising = True  # before the check: none may come in between
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
            write_stderr(f"{self._notice}\n")  # not print: the signal may have come in the middle of one
        elif self._raising:
            raise Stopped(number)
