"""Signals as something to poll, with who sent them, by Linux's signalfd; nothing runs in a handler."""

import ctypes
import os
import signal
import struct
from collections.abc import Iterator

PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_SIZE = 128  # bytes of a struct signalfd_siginfo; signo, errno and code come first
_HEAD = struct.Struct("Iii")
_SI_KERNEL = 0x80
_NONBLOCK = 0o4000


def open_signals() -> int:
    """A descriptor that becomes readable when one of PASSED_ON comes; from now on they do nothing else.

    To be called after a child was started, which would not get them otherwise.
    """
    kept = [number for number in PASSED_ON if signal.getsignal(number) is not signal.SIG_IGN]  # as under nohup
    signal.pthread_sigmask(signal.SIG_BLOCK, kept)
    words = [0] * (1024 // 64)
    for number in kept:
        words[0] |= 1 << (number - 1)
    mask = (ctypes.c_uint64 * len(words))(*words)
    descriptor = ctypes.CDLL(None, use_errno=True).signalfd(-1, mask, _NONBLOCK)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "signalfd")
    os.set_inheritable(descriptor, False)
    return int(descriptor)


def read_signals(descriptor: int) -> Iterator[signal.Signals]:
    """Those that were sent to this process alone.

    What a terminal's key sends goes to the whole group, so a child in it has it already.
    """
    while True:
        try:
            data = os.read(descriptor, _SIZE)
        except BlockingIOError:
            return
        number, _, code = _HEAD.unpack_from(data)
        if code != _SI_KERNEL:
            yield signal.Signals(number)
