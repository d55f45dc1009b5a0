"""ZeroMQ services of tests: in a thread, in a process, or stopped by a signal; and how tests ask them."""

import subprocess
import sys
import threading
from collections.abc import Callable

from ggp.protocol.channel import Channel
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.zmq import SESSIONS, Service
from tests.support.answering_program import make_responder

ANY_PORT = "tcp://127.0.0.1:*"
SERVICE = f"""
from ggp.protocol.transports.signal_fd import Stopping
from ggp.protocol.transports.zmq import SESSIONS, Service
from tests.support.answering_program import make_responder
service = Service({ANY_PORT!r}, make_responder)
print(service.url, flush=True)
with Stopping() as stopping:
    service.serve(stopping)
"""
Connect = Callable[..., Channel]


class ServedZmq:
    """A Service in a thread of this process."""

    def __init__(self, url: str = ANY_PORT, sessions: int = SESSIONS) -> None:
        self.service = Service(url, make_responder, sessions)
        self.url = self.service.url
        self.served = 0  # messages
        self._stop = False
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while not self._stop:
            self.served += self.service.serve_one(20)

    def stop(self) -> None:
        self._stop = True
        self._thread.join(10)
        assert not self._thread.is_alive()
        self.service.close()


def ask(channel: Channel, line: str, seconds: float = 60.0) -> str:
    return run_blocking(channel.ask(line, channel.now() + seconds)).text


# The signal and the endless poll in one call of C: Python, which would run the handler in between, has no turn there.
SIGNAL_AT_POLL = """
import ctypes, operator, signal
from functools import partial
from ggp.protocol.transports.signal_fd import Stopped, Stopping
from ggp.protocol.transports.unix import UnixService
from ggp.protocol.transports.zmq import Service
from tests.support.answering_program import make_responder
interrupt = partial(ctypes.CDLL(None)["raise"], int(signal.SIGINT))
service = {service}
class Poll:
    def __init__(self, poll):
        self.register, self.close = poll.register, poll.close
        self.poll = lambda *seconds: list(map(operator.call, [interrupt, partial(poll.poll, *seconds)]))[-1]
service._poll = Poll(service._poll)
try:
    with Stopping() as stopping:
        service.serve(stopping)
except Stopped as stopped:
    print(stopped)
finally:
    service.close()
"""


def run_with_signal_at_poll(service: str) -> "subprocess.CompletedProcess[str]":
    """Run this service, an expression, in a process that gets SIGINT right before it waits."""
    program = [sys.executable, "-c", SIGNAL_AT_POLL.format(service=service)]
    return subprocess.run(program, capture_output=True, encoding="utf-8", timeout=30, check=False)
