"""A bot's own conversation with an engine: a process that it starts, or a service that listens.

Questions may be posted ahead: their answers are read, in order, before the next one that is waited for.
"""

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Callable

from ggp.engines.game import OptionError
from ggp.protocol.channel import PEER_FAULTS, Channel, Transport
from ggp.protocol.connection import PeerRole
from ggp.protocol.errors import AddressError, CommandFailed
from ggp.protocol.messages import Reply
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.pipe import Pipe

NEEDED = ("ggp-games", "ggp-options", "ggp-new", "ggp-play", "ggp-legal_moves")
START = 30.0  # seconds until it has said what it can
PATIENCE_VARIABLE = "GGP_ENGINE_PATIENCE"
OPTIONAL_VARIABLE = "GGP_ENGINES_OPTIONAL"  # "1": without an engine that cannot be reached its games are left out
# Seconds for an answer. A referee waits 10 s for its engine, and for a bot 10 s longer than its clock: a bot that gives
# up sooner can still say that its engine is at fault. The referee sets the variable when it waits longer.
PATIENCE = float(os.environ.get(PATIENCE_VARIABLE, "9"))
LONG = 600.0  # seconds for one that counts or plays games
ENDING = 2.0  # seconds to leave after the end of its input
_GAMES = os.pathsep.join(("/usr/games", "/usr/local/games"))  # where Debian puts games; not in every PATH

Then = Callable[[Reply], None]


def find_program(name: str) -> str | None:
    """Return the path of the program that the first word of a command line names, or None."""
    return shutil.which(name) or shutil.which(name, path=_GAMES)


class EngineClient:
    """A connection to the engine of a command line or of an address (tcp://, ipc://).

    `commands` are those that it lists. `revive` restarts an engine that has ended; `generation` counts the starts.
    """

    def __init__(self, where: str) -> None:
        """Start the engine. Raises OptionError, which names it, if that fails."""
        self.where = where
        self.generation = 0
        self.commands: frozenset[str] = frozenset()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._posted: deque[Then] = deque()
        self._start()

    def post(self, line: str, then: Then) -> None:
        """Send a question without waiting; `then` gets the answer later."""
        self._send(line)
        self._posted.append(then)

    def settle(self) -> None:
        """Read the answers to all posted questions.

        Raises CommandFailed for an unexpected one. The engine is closed then, because later answers were not read.
        """
        try:
            while self._posted:
                reply = self._receive(PATIENCE)
                self._posted.popleft()(reply)
        except CommandFailed:
            self.close()
            raise

    def ask(self, *lines: str, patience: float = PATIENCE) -> list[Reply]:
        """Ask all in one write, and wait for the answers. Raises CommandFailed if the engine fails."""
        self._send(*lines)
        self.settle()
        return [self._receive(patience) for _ in lines]

    def text(self, line: str, patience: float = PATIENCE) -> str:
        """Ask one question and return the answer. Raises CommandFailed with the engine's reason if it refuses."""
        (reply,) = self.ask(line, patience=patience)
        if not reply.ok:
            raise CommandFailed(reply.text or f"the engine refuses {line[:80]}")
        return reply.text

    def revive(self) -> None:
        """Start the engine again if it is gone. Raises CommandFailed."""
        if self._channel is None:
            try:
                self._start()
            except OptionError as error:
                raise CommandFailed(str(error)) from None

    def close(self) -> None:
        """End the process, or leave the service."""
        channel, self._channel = self._channel, None
        self._posted.clear()
        if channel is not None:
            channel.close()
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(ENDING)
                return
            process.kill()
            process.wait()

    def _start(self) -> None:
        try:
            self._channel = Channel(self._transport(), PeerRole.ENGINE)
            deadline = self._channel.now() + START
            run_blocking(self._channel.probe_ids(deadline))
            self._channel.connection.ids = False  # order is enough here, and saves the parsing of numbers
            self.commands = run_blocking(self._channel.list_commands(deadline))
        except AddressError as error:
            raise OptionError(f"--engine {self.where}: {error}") from None
        except PEER_FAULTS as error:
            self.close()
            raise OptionError(f"--engine {self.where}: it does not answer as an engine: {error}") from None
        if missing := [name for name in NEEDED if name not in self.commands]:
            self.close()
            raise OptionError(f"--engine {self.where}: it lists no {', '.join(missing)}, so it is no engine")
        self.generation += 1

    def _transport(self) -> Transport:
        if self.where.startswith(("tcp://", "ipc://")):
            from ggp.protocol.transports.zmq import Dealer  # ZeroMQ, which most bots need not load

            return Dealer(self.where)
        try:
            words = shlex.split(self.where)
        except ValueError as error:
            raise OptionError(f"--engine {self.where!r} is no command line: {str(error).lower()}") from None
        program = words and find_program(words[0])
        if not program:
            raise OptionError(f"--engine {self.where!r}: there is no such program: give its path, or its address")
        try:
            self._process = subprocess.Popen(
                [program, *words[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if sys.stderr else subprocess.DEVNULL,
            )
        except OSError as error:
            raise OptionError(f"--engine {self.where!r} cannot be started: {error.strerror}") from None
        assert self._process.stdin and self._process.stdout
        ends = os.dup(self._process.stdin.fileno()), os.dup(self._process.stdout.fileno())
        self._process.stdin.close()
        self._process.stdout.close()
        return Pipe(*ends)

    def _send(self, *lines: str) -> None:
        if self._channel is None:
            raise CommandFailed(f"the engine {self.where} has ended")
        try:
            run_blocking(self._channel.send(*lines))
        except PEER_FAULTS as error:
            raise self._failed(error) from None

    def _receive(self, patience: float) -> Reply:
        if self._channel is None:
            raise CommandFailed(f"the engine {self.where} has ended")
        try:
            return run_blocking(self._channel.receive(self._channel.now() + patience))
        except PEER_FAULTS as error:
            raise self._failed(error) from None

    def _failed(self, error: Exception) -> CommandFailed:
        """Close the engine, which is useless after such an error."""
        self.close()
        return CommandFailed(f"the engine {self.where} fails: {error}")
