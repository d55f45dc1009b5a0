"""The chaos bot's end of the conversation: writing, dying and lingering, each within bounds; not when or why."""

import os
import signal
import time
from collections.abc import Callable
from typing import NoReturn


class RawOutput:
    """The bot's side of the conversation, and the numbers that faults are tuned by."""

    def __init__(
        self,
        *,
        ms: int = 500,
        mb: int = 100,
        status: int = 1,
        number: int = 0,
        life: int = 60,
        setsid: bool = False,
    ) -> None:
        self.ms, self.mb, self.status, self.life, self.setsid = ms, mb, status, life, setsid
        self.signal = number
        self.muted = False  # nothing is written any more
        self.deathless = False  # neither `quit` nor the end of input ends the bot
        self.illegal_move = "Z99"
        self.dress: Callable[[bytes], bytes] | None = None  # changes every answer from now on

    def write(self, data: bytes) -> None:
        """Write all of it unless muted; if the reader has gone, leave silently, as at the end of input."""
        if not self.muted:
            write_all(1, data)

    def limit_life(self, more_ms: int = 0) -> None:
        """End by SIGALRM after at most `life` seconds and this many milliseconds."""
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(self.life + more_ms // 1000)

    def linger(self) -> NoReturn:
        """Do nothing until a signal comes or life is over."""
        self.limit_life()
        while True:
            time.sleep(self.life)

    def exit(self) -> NoReturn:
        """End at once by `signal` if there is one, else with `status`; buffers are not flushed."""
        if self.signal:
            if self.signal not in (signal.SIGKILL, signal.SIGSTOP):  # these cannot be handled
                signal.signal(self.signal, signal.SIG_DFL)
            os.kill(os.getpid(), self.signal)
        os._exit(self.status)


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError:  # the reader has gone, or we closed our own end
        os._exit(0)
