"""The time that interrupts take from the side to move, on the core that it shares with the referee.

A bot can arm timers in its own turn that expire in its opponent's: the kernel then runs the bot's work in interrupt
context, on the core of the opponent. Such time is charged to no control group, freezing does not stop it, and a kernel
without CONFIG_IRQ_TIME_ACCOUNTING counts it as run time of whatever it interrupted. So neither `schedstat`, nor
`cpu.stat`, nor `irq` in /proc/stat shows it everywhere.

What shows it is a thread that asks to be woken at a set time. The wake-up comes from a timer interrupt, which waits for
the one that is running: a thread that wakes late, although it did not wait in the run queue (the second number of its
`schedstat`), was held up by interrupts. The referee waits for the answer on that core anyway, so it wakes every few
milliseconds while a bot thinks and adds up by how much it is late. A bot that waits for a timer or a pipe of its own is
not credited for that, because its waiting holds up no wake-up of the referee.
"""

import os
import threading
import time
from collections.abc import Callable

LEAST = 0.001  # seconds in a turn from which on they are credited
STEP = 0.005  # seconds between two wake-ups; each costs about 15 µs
LONG_STEP = 0.02  # the same after LONG wake-ups of a turn
LONG = 200
MOST_LONGER = 60.0  # seconds by which the deadline of a turn moves at most
_FIRST_WAIT = 0.0045  # seconds; the native wait rounds up to whole milliseconds, and adds one at most
_ROUNDED = 0.0015  # seconds
LONG_FIRST_WAIT = _FIRST_WAIT + _ROUNDED
_SLACK = 0.0003  # seconds by which a wake-up is late on a quiet machine, at most
_TURNS = 16  # of a bot that answers at once, after which the run delay is read again
_HITS = 3  # late wake-ups from which on they are taken for a sample of the time between them

_local = threading.local()


def run_delay_ns() -> int:
    """Return the ns that this thread was runnable and waited for a core; 0 if the kernel does not count it."""
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
    """A measure of what interrupts take from one bot while its answer is awaited.

    Args:
        output: Waits for its output at most so many ms. Returns whether there is some, or None if it cannot say because
            something else happened first, as Pipe.wait_for_output does.
    """

    def __init__(self, output: Callable[[int], bool | None]) -> None:
        self.taken = 0.0
        """Seconds of this turn."""
        self.waited_before = 0.0
        """Our run delay in seconds before the last wait, which ended with output or with the time."""
        self._output = output
        self._delay = 0  # our run delay in ns, as it was read last
        self._turns = _TURNS  # since then
        self._held = 0.0  # seconds by which we woke late
        self._late = self._wakes = 0
        self._between = 0.0  # seconds that interrupts took between wake-ups, if late ones were not chance

    def begin(self, wait: float) -> float:
        """Begin a turn. Return how long to wait for an answer first, `wait` seconds at most.

        Reading the run delay takes a tenth of a ply of two bots that answer at once, so it is read every few turns
        then. It grew by less than a millisecond since, which is taken for run delay of this turn.
        """
        if self._wakes:
            self.taken = self._held = self._between = 0.0
            self._late = self._wakes = 0
        self._turns += 1
        if self._turns > _TURNS:
            self._delay, self._turns = run_delay_ns(), 0
        return wait if wait < _FIRST_WAIT else _FIRST_WAIT

    def first_wait_over(self, waited: float) -> None:
        """Measure the first wait, which took longer than it was to take, whether or not an answer came."""
        delay = run_delay_ns()
        self._add(waited - LONG_FIRST_WAIT - (delay - self._delay) / 1e9, _FIRST_WAIT, 0.0)
        self._turns = _TURNS  # a bot that takes its time: read it before its next turn

    def wait(self, seconds: float) -> bool:
        """Wait for output at most so many seconds, waking in between. Return whether some has come."""
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
            # A wake-up looks at one moment in `step` seconds, so each late one stands for a step that interrupts took.
            # Of a long interrupt only the part before the wake-up was not seen, half a step.
            self._between += step if late < step else step / 2
        # A few may be chance.
        self.taken = self._held + (self._between if self._late >= _HITS else 0.0)
