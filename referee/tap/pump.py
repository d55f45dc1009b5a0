"""Passes a child's stdin, stdout and stderr on as they come, and its end; not a byte is changed, reordered or kept.

One thread, plain reads and writes behind one poll. Of each stream at most one chunk is held, so a slow reader slows
its writer as it would without us.
"""

import os
import select
import time
from collections.abc import Callable
from contextlib import suppress

from referee.tap.signals import open_signals, read_signals

CHUNK = 64 * 1024
# "poll says that it can be written" holds for so many bytes of a pipe that others use, too, and that may block.
_SURE = select.PIPE_BUF

Seen = Callable[[str, float, bytes], None]


class Flow:
    """One direction. `seen(mark, seconds, data)` is told each chunk after it went on; b"" is its end.

    The end that we made (`ours`: "source" or "sink") does not block; the other is shared with whoever started us.
    """

    def __init__(self, mark: str, source: int, sink: int, ours: str, seen: Seen) -> None:
        self.mark, self.source, self.sink = mark, source, sink
        self.rest = b""  # read, and not yet written
        self._seen = seen
        self._sink_is_ours = ours == "sink"
        self._room = select.poll()
        self._room.register(sink, select.POLLOUT)
        os.set_blocking(sink if self._sink_is_ours else source, False)

    @property
    def open(self) -> bool:
        return self.source >= 0

    def pass_on(self) -> bool:
        """Read once and write what can be written; whether anything came, be it the end."""
        try:
            data = os.read(self.source, CHUNK)
        except BlockingIOError:
            return False
        except OSError:  # a terminal that is gone (EIO)
            data = b""
        seconds = time.monotonic()
        if data:
            self.rest = data
            self.write()
        else:
            self.close()
        self._seen(self.mark, seconds, data)
        return True

    def write(self) -> None:
        """As much of the rest as goes without waiting. A sink that nobody reads any more ends the flow."""
        try:
            while self.rest:
                if self._sink_is_ours:
                    size = os.write(self.sink, self.rest)
                elif self._room.poll(0):
                    size = os.write(self.sink, self.rest[:_SURE])
                else:
                    return
                self.rest = self.rest[size:]
        except BlockingIOError:
            return
        except OSError:
            self.close()

    def close(self) -> None:
        """Both ends: the writer learns that nobody reads, the reader that nothing comes."""
        if self.open:
            os.close(self.source)
            os.close(self.sink)
            self.source = self.sink = -1
            self.rest = b""


def pump(pid: int, pidfd: int, to_child: Flow, from_child: list[Flow]) -> None:
    """Until the child has ended and all that it said has been passed on. Signals to us go to the child."""
    loop = _Loop(pid, pidfd, [to_child, *from_child])
    while not loop.ended:
        loop.turn()
    while [flow for flow in from_child if _drained(flow)]:
        loop.turn()


def _drained(flow: Flow) -> bool:
    """After the child's end: pass on what is left; whether some of it still waits for a reader."""
    while flow.open and not flow.rest and flow.pass_on():
        pass
    return flow.open and bool(flow.rest)


class _Loop:
    """The poll, and what each descriptor in it means."""

    def __init__(self, pid: int, pidfd: int, flows: list[Flow]) -> None:
        self.ended = False
        self._pid, self._pidfd, self._flows = pid, pidfd, flows
        self._signals = open_signals()
        self._watched: dict[int, int] = {}
        self._shape: list[tuple[int, bool]] = []
        self._poll = select.poll()
        self._poll.register(pidfd, select.POLLIN)
        self._poll.register(self._signals, select.POLLIN)
        self._watch()

    def turn(self) -> None:
        """Wait, and see to what has come."""
        ready = dict(self._poll.poll())
        for flow in self._flows:
            if flow.sink in ready and ready[flow.sink] & ~select.POLLOUT:
                flow.close()  # its reader is gone
            elif flow.sink in ready:
                flow.write()
            elif flow.source in ready:
                flow.pass_on()
        if self._signals in ready:
            for number in read_signals(self._signals):
                with suppress(ProcessLookupError):
                    os.kill(self._pid, number)
        if self._pidfd in ready:
            self.ended = True
            self._poll.unregister(self._pidfd)
            self._pidfd = -1
        # Mostly nothing waits to be written and nobody has left: then the poll stays as it is.
        shape = [(flow.source, not flow.rest) for flow in self._flows]
        if shape != self._shape:
            self._shape = shape
            self._watch()

    def _watch(self) -> None:
        """Read where nothing waits to be written, write where something does; of every sink, whether it breaks."""
        wanted: dict[int, int] = {}
        for flow in self._flows:
            if flow.open:
                wanted[flow.sink] = select.POLLOUT if flow.rest else 0
                if not flow.rest:
                    wanted[flow.source] = select.POLLIN
        if wanted == self._watched:
            return
        for descriptor in self._watched.keys() - wanted.keys():
            with suppress(KeyError):
                self._poll.unregister(descriptor)
        for descriptor, events in wanted.items():
            self._poll.register(descriptor, events)
        self._watched = wanted


def exit_status(code: int) -> int:
    """What a shell would say: 128 + n for signal n."""
    return 128 - code if code < 0 else code


def own_descriptors() -> None:
    """See to it that 0, 1 and 2 are open: a pipe of ours in their place would be taken for them."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
