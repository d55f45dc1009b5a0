"""What SIGTERM, and a terminal that is closed, do to a console: it ends in order, and its peer and bots with it."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Ended(BaseException):
    """Raised by the first such signal; those that follow do not disturb the ending."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number


@contextmanager
def ends_in_order() -> Iterator[None]:
    """Raises Ended in here. A signal that is ignored, as under nohup, stays so."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    heard = [number for number in SIGNALS if before[number] != signal.SIG_IGN]

    def end(number: int, frame: FrameType | None) -> None:
        for each in heard:
            signal.signal(each, signal.SIG_IGN)
        raise Ended(number)

    for number in heard:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number])
