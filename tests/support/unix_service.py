"""A service at a Unix stream socket, in a thread."""

import socket
import threading
from collections.abc import Callable
from pathlib import Path

from ggp.protocol.responder import Responder
from ggp.protocol.transports.unix import UnixService
from tests.support.answering_program import make_responder

PATIENCE = 60.0  # seconds


class ServedStream:
    """Serves until `stop`; every connection has a responder that `make` makes."""

    def __init__(self, path: Path, make: Callable[[], Responder] = make_responder, sessions: int = 10) -> None:
        self.path = path
        self.service = UnixService(f"unix://{path}", make, sessions)
        self._stop = False
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def connect(self) -> socket.socket:
        peer = socket.socket(socket.AF_UNIX)
        peer.settimeout(PATIENCE)
        peer.connect(str(self.path))
        return peer

    def stop(self) -> None:
        self._stop = True
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        self.service.close()

    def _serve(self) -> None:
        while not self._stop:
            self.service.serve_some(0.02)
