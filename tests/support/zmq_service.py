"""A ZeroMQ service in a thread of the tests, and how they ask it."""

import threading
from collections.abc import Callable

from protocol.channel import Channel
from protocol.transports.blocking import run_blocking
from protocol.transports.zmq import SESSIONS, Service
from tests.support.answering_program import make_responder

ANY_PORT = "tcp://127.0.0.1:*"
SERVICE = f"""
from protocol.transports.signal_fd import Stopping
from protocol.transports.zmq import SESSIONS, Service
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
