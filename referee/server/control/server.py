"""The two ways to connect to a referee: standard input and the ZeroMQ service, a thread for each.

Every client counts as a local user: only loopback and ipc addresses are bound, and there are no keys. Over tcp any user
of this machine may connect, so only clients over ipc and on standard input are trusted (see handlers).
"""

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import click

from ggp.protocol.errors import AddressError
from ggp.protocol.responder import Responder
from ggp.protocol.transports.pipe import CHUNK, report_on_stderr
from ggp.protocol.transports.zmq import Service
from ggp.referee.ladder.progress import RunControl
from ggp.referee.ladder.session import Control, RunContext
from ggp.referee.server.control.control import CommandQueue, RunController
from ggp.referee.server.control.handlers import Background, Make, responders

if TYPE_CHECKING:
    from ggp.referee.ladder.store.store import Store

CLIENTS = 64  # over ZeroMQ; a newcomer replaces the one that was silent longest
_TURN_MS = 100  # between checks whether a thread is to end
_RETRY = 0.02  # seconds between checks for a late answer
_LAST, _LINGER_MS = 2.0, 500  # seconds for the last answers, and ms for them to leave
_AFTER_FAULT = 0.1  # seconds until the server goes on after a failure of its own
PUBLIC = "every user of this machine may control and stop this over tcp; --bind ipc://FILE is for you alone"


class ControlServer:
    """Answers clients over ZeroMQ, in a thread of its own."""

    def __init__(self, url: str, make: Make) -> None:
        """Start at a loopback or ipc address. Raises AddressError for any other, or one that is taken."""
        self.trusted = url.startswith("ipc://")
        self.faults = 0  # failures of the server, which are on stderr with their tracebacks
        self.service = Service(url, lambda: make(self.trusted), CLIENTS)
        self._closing = False
        self._thread = _start_thread(self._serve, "control")

    def close(self) -> None:
        """Send the last answers, and end the thread."""
        self._closing = True
        self._thread.join()

    def _serve(self) -> None:
        """Answer until `close`, and for a moment longer what was not answered yet."""
        end = 0.0
        while not self._closing or (not self.service.idle and time.monotonic() < end):
            end = end if self._closing else time.monotonic() + _LAST
            try:
                self.service.serve_one(_TURN_MS)
            except Exception as error:
                self.faults += 1
                report_on_stderr(error)
                time.sleep(_AFTER_FAULT)
        self.service.close(_LINGER_MS)


class StandardInput:
    """Answers a client on two descriptors, in a thread of its own."""

    def __init__(self, responder: Responder, left: Callable[[], None], stdin: int = 0, stdout: int = 1) -> None:
        """Start. `left` is called once the input ends or the client quits."""
        self._responder = responder
        self._left = left
        self._stdin, self._stdout = stdin, stdout
        self._closing = False
        self._thread = _start_thread(self._serve, "standard input")

    def close(self) -> None:
        """End the thread. One that is blocked by its reader ends with the process."""
        self._closing = True
        self._thread.join(_LAST)

    def _serve(self) -> None:
        poll = select.poll()
        poll.register(self._stdin, select.POLLIN)
        responder = self._responder
        try:
            while not responder.closed and (responder.waiting or not self._closing):
                if responder.waiting:
                    time.sleep(_RETRY)
                elif poll.poll(_TURN_MS):
                    responder.receive(os.read(self._stdin, CHUNK))
                while (answer := responder.next_answer()) is not None:
                    while answer:
                        answer = answer[os.write(self._stdout, answer) :]
        except OSError:  # the client has gone
            pass
        finally:
            self._left()


def _start_thread(work: Callable[[], None], name: str) -> threading.Thread:
    """Start a daemon thread that receives no signals: they belong to the run loop."""

    def run() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
        work()

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread


# -- wiring -----------------------------------------------------------------------------------------------------------


class ControlAddresses(NamedTuple):
    """Where clients of a referee connect."""

    url: str = ""  # a loopback or ipc address
    stdin: bool = False
    remains: bool = False  # the referee waits for commands when nothing is left to play


def controlled(name: str, addresses: ControlAddresses) -> Control:
    """Return a control that makes a run answer clients, for the command `name`.

    The control raises UsageError for a bad address.
    """

    @contextlib.contextmanager
    def control(run: RunContext) -> Iterator[RunControl]:
        commands = CommandQueue(run.ladder)
        controller = RunController(commands, addresses.remains, run.read)
        with serving(name, addresses, commands, run.store, run.live), contextlib.closing(controller):
            yield controller

    return control


@contextlib.contextmanager
def serving(
    name: str, addresses: ControlAddresses, commands: CommandQueue, store: "Store | None", live: str
) -> Iterator[None]:
    """Answer clients within this context (see handlers.responders). Raises UsageError."""
    with contextlib.ExitStack() as stack:
        background = Background()
        stack.callback(background.close)
        make = responders(commands, store, live, background)
        if addresses.url:
            try:
                server = ControlServer(addresses.url, make)
            except AddressError as error:
                raise click.UsageError(str(error)) from None
            stack.callback(server.close)
            click.echo(f"{name}: listening at {server.service.url}", err=True)
            if not server.trusted:
                click.echo(f"{name}: {PUBLIC}", err=True)
        if addresses.stdin:
            stack.callback(StandardInput(make(True), _leave(commands, not addresses.url)).close)
        yield


def _leave(commands: CommandQueue, ends: bool) -> Callable[[], None]:
    """Return a function that stops the referee if no client can reach it after the end of standard input."""

    def left() -> None:
        if ends:
            with contextlib.suppress(Exception):  # it is ending anyway
                commands.ask(lambda controller: controller.stop(False), None)

    return left
