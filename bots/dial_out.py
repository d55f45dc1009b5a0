"""Lets a bot of the SDK dial a lobby: its commands then come from a connection instead of stdin."""

import contextlib
import io
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import TextIO

from ggp.bots.options import BAD_USAGE, ScriptOptions
from ggp.protocol.errors import AddressError
from ggp.protocol.lobby_wire import Hello, LobbyAnswer, LobbyAsk, Stderr
from ggp.protocol.responder import Responder
from ggp.protocol.stderr_lines import StderrLines
from ggp.protocol.transports.keys import KeyFileError, read_pair, read_public
from ggp.protocol.transports.lobby_dial import Dial, LeftLobby, LobbyLink, Replaced
from ggp.protocol.transports.signal_fd import Stopped, Stopping
from ggp.protocol.transports.zmq import AccessRefused

REPLACED, INTERRUPTED = 1, 130
GOODBYE = "its author ended it"
NOTICE = "{}: finishing the current game, then leaving; send the signal again to exit now"
_TEXTS = {"up": "connected {}", "lost": "{}", "bye": "the lobby said goodbye: {}", "wait": "retrying in {} s"}


def dial_out(where: ScriptOptions, hello: Hello, make: Callable[[], Responder]) -> int:
    """Answer a lobby until `quit` or a signal, and return the exit status.

    Each connection gets its own Responder. In the main thread, stderr output also goes to the lobby, the first SIGTERM
    or Ctrl-C lets the game end, and the second one ends the bot with a goodbye.
    """
    try:
        pair = read_pair(Path(where.key)) if where.key else None
        lobby = LobbyLink(where.connect, pair, read_public(where.server_key) if where.server_key else "")
    except (AddressError, KeyFileError) as error:
        print(f"{hello.name}: {error}", file=sys.stderr)
        return BAD_USAGE
    dial = Dial(lobby, hello, _tell, Random())
    told, reason, status = LobbyNotice(sys.stderr), "it ended", 0
    with contextlib.ExitStack() as stack:
        stopping = None
        if threading.current_thread() is threading.main_thread():
            stack.enter_context(told)
            stopping = stack.enter_context(Stopping(NOTICE.format(hello.name)))
            dial.watch(stopping.descriptor)
        try:
            _answer(dial, make, told, stopping)
            reason = "it received quit"
        except Replaced as error:
            print(f"{hello.name}: another connection of this bot replaced this one: {error}", file=sys.stderr)
            reason, status = "", REPLACED
        except AccessRefused as error:
            print(f"{hello.name}: {error}", file=sys.stderr)
            reason, status = "", BAD_USAGE
        except (Stopped, LeftLobby):
            assert stopping is not None
            reason, status = GOODBYE, INTERRUPTED if stopping.number == signal.SIGINT else 0
        finally:
            _pass_on(dial, told)
            dial.close(reason)
    return status


class LobbyNotice(io.TextIOBase):
    """A context manager that replaces stdout and stderr with itself, and keeps their lines for the lobby.

    Everything is also written to `beneath`. Any thread may write.
    """

    def __init__(self, beneath: TextIO | None) -> None:
        self._beneath = beneath or io.TextIOWrapper(io.BytesIO(), encoding="utf-8")  # a process without stderr
        self._lines = StderrLines()
        self._lock = threading.Lock()

    def __enter__(self) -> "LobbyNotice":
        self._before = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = self
        self._move_logging(self._beneath, self)
        return self

    def __exit__(self, *ended: object) -> None:
        sys.stdout, sys.stderr = self._before
        self._move_logging(self, self._beneath)

    @property
    def buffer(self) -> io.BufferedIOBase:
        """Return the stream for bytes, which are not sent to the lobby."""
        return self._beneath.buffer  # type: ignore[return-value]

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str) -> int:
        """Write text, and keep it for the lobby."""
        with self._lock:
            self._lines.add(text.encode("utf-8", "backslashreplace"))
        return self._beneath.write(text)

    def flush(self) -> None:
        """Flush the real stream."""
        self._beneath.flush()

    def fileno(self) -> int:
        """Return the descriptor of the real stream."""
        return self._beneath.fileno()

    def isatty(self) -> bool:
        """Return True if the real stream is a terminal."""
        return self._beneath.isatty()

    def lines(self) -> list[str]:
        """Return the lines to send now, within the limit per second."""
        with self._lock:
            return [line for line in self._lines.lines(time.monotonic()) if line.strip()]

    def _move_logging(self, old: object, new: object) -> None:
        """Redirect logging, whose handlers keep the stream that they had before `run`."""
        if logging := sys.modules.get("logging"):
            for handler in logging.root.handlers:
                if getattr(handler, "stream", None) is old:
                    handler.setStream(new)


def _answer(dial: Dial, make: Callable[[], Responder], told: LobbyNotice, stopping: Stopping | None) -> None:
    number, responder = 0, make()
    while not responder.closed:
        if stopping and stopping.number:  # checked here, because a signal during the last move does not end the wait
            dial.leave(GOODBYE)
        dial.poll(None)
        if stopping:
            stopping.check()
        while not responder.closed and (message := dial.receive()) is not None:
            if isinstance(message, LobbyAsk):
                if number != dial.number:
                    number, responder = dial.number, make()
                responder.receive(message.data)
                while (answer := _think(responder, stopping)) is not None:
                    dial.poll(0)  # handle what happened while it thought
                    _pass_on(dial, told)
                    if number == dial.number:  # otherwise the connection that asked is gone
                        dial.send(LobbyAnswer(answer))
        _pass_on(dial, told)


def _think(responder: Responder, stopping: Stopping | None) -> bytes | None:
    with stopping.raising() if stopping else contextlib.nullcontext():
        return responder.next_answer()


def _pass_on(dial: Dial, told: LobbyNotice) -> None:
    for line in told.lines() if dial.up else ():
        dial.send(Stderr(line))


def _tell(what: str, why: str) -> None:
    print(_TEXTS[what].format(why).rstrip(), file=sys.__stderr__, flush=True)
