"""Time that interrupts take from the side to move, on the core that it shares with the referee.

In its own turn a bot can arm timers that expire in its opponent's. The kernel then runs the bot's work in interrupt
context on the opponent's core. This time is charged to no control group, freezing the bot does not stop it, and a
kernel without CONFIG_IRQ_TIME_ACCOUNTING counts it as run time of the interrupted process. So neither `schedstat`, nor
`cpu.stat`, nor `irq` in /proc/stat shows it on all systems.

A thread that asks to be woken at a set time does show it. The wake-up comes from a timer interrupt, which waits for the
interrupt that is running. If a thread wakes late although it did not wait in the run queue (the second number in its
`schedstat`), interrupts held it up. The referee waits for the answer on that core anyway, so it wakes every few
milliseconds while a bot thinks, and adds up its delays. A bot that waits for its own timer or pipe gets no credit,
because that does not delay the referee's wake-ups.
"""

import os
import threading
import time
from collections.abc import Callable

LEAST = 0.001  # seconds; less stolen time in a turn is not credited
STEP = 0.005  # seconds between two wake-ups; each costs about 15 µs
LONG_STEP = 0.02  # seconds between two wake-ups after the first LONG ones of a turn
LONG = 200
MOST_LONGER = 60.0  # most seconds that are added to the deadline of a turn
_FIRST_WAIT = 0.0045  # seconds; the native wait rounds up to whole milliseconds, and may add one
_ROUNDED = 0.0015  # seconds
LONG_FIRST_WAIT = _FIRST_WAIT + _ROUNDED
_SLACK = 0.0003  # seconds that a wake-up may be late on a quiet machine
_TURNS = 16  # turns of a bot that answers at once, after which the run delay is read again
_HITS = 3  # late wake-ups; fewer may be chance, more are a sample of the time between them

_local = threading.local()


def run_delay_ns() -> int:
    """Return how long this thread was runnable but waited for a core, in ns; 0 if the kernel does not count it."""
    try:
        file = _local.schedstat
    except AttributeError:
        try:
            file = _local.schedstat = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            file = _local.schedstat = -1
    try:
        return int(os.pread(file, 64, 0).split()[1])
    except (OSError, IndexError):
        return 0


class TurnWatch:
    """A measurement of the time that interrupts take from a bot while we await its answer.

    Args:
        output: Waits up to a number of ms for output. Returns True if there is some, False if not, and None if
            something else ended the wait, as Pipe.wait_for_output does.
    """

    def __init__(self, output: Callable[[int], bool | None]) -> None:
        self.taken = 0.0
        """Seconds that interrupts took in this turn."""
        self.waited_before = 0.0
        """Our run delay in seconds before the last wait."""
        self._output = output
        self._delay = 0  # our run delay in ns when it was last read
        self._turns = _TURNS  # turns since then
        self._held = 0.0  # sum of our delays in seconds
        self._late = self._wakes = 0
        self._between = 0.0  # estimated seconds that interrupts took between wake-ups

    def begin(self, wait: float) -> float:
        """Begin a turn, and return how long to wait for an answer first, at most `wait` seconds.

        Reading the run delay would cost a tenth of a ply for two bots that answer at once, so it is then read only
        every few turns. In between it grows by less than a millisecond, which is attributed to this turn.
        """
        if self._wakes:
            self.taken = self._held = self._between = 0.0
            self._late = self._wakes = 0
        self._turns += 1
        if self._turns > _TURNS:
            self._delay, self._turns = run_delay_ns(), 0
        return wait if wait < _FIRST_WAIT else _FIRST_WAIT

    def first_wait_over(self, waited: float) -> None:
        """Measure a first wait that took longer than planned, whether or not an answer came."""
        delay = run_delay_ns()
        self._add(waited - LONG_FIRST_WAIT - (delay - self._delay) / 1e9, _FIRST_WAIT, 0.0)
        self._turns = _TURNS  # the bot is slow, so the next turn can afford to read the run delay

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds` for output, waking up in between. Return True if there is some."""
        end = time.monotonic() + seconds
        while True:
            step = min(LONG_STEP if self._wakes > LONG else STEP, end - time.monotonic())
            ms = int(step * 1000)
            delay, began = run_delay_ns(), time.monotonic()
            self.waited_before = delay / 1e9
            found = self._output(ms)
            if found:
                return True
            if ms and found is not None:
                ended = time.monotonic()
                waited = (run_delay_ns() - delay) / 1e9
                self._add(ended - began - ms / 1000 - waited, ms / 1000, _SLACK)
            if time.monotonic() + 0.001 > end:
                return False

    def _add(self, late: float, step: float, allowed: float) -> None:
        self._wakes += 1
        if late > allowed:
            self._late += 1
            self._held += late
            # A wake-up samples one moment in `step` seconds, so a late one stands for a whole step. After a long
            # interrupt, which we measured from the wake-up on, only half a step before it is missing on average.
            self._between += step if late < step else step / 2
        # Few late wake-ups may be chance.
        self.taken = self._held + (self._between if self._late >= _HITS else 0.0)
