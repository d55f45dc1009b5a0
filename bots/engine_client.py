"""A bot's conversation with an engine: a process that it starts, or a service that listens.

Commands may be sent ahead. Their answers are read, in order, before the next answer that is waited for.
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
START = 30.0  # seconds until the engine has listed its commands
PATIENCE_VARIABLE = "GGP_ENGINE_PATIENCE"
OPTIONAL_VARIABLE = "GGP_ENGINES_OPTIONAL"  # "1": leave out the games of an engine that cannot be reached
# Seconds for an answer. A referee waits 10 s for its engine, and 10 s beyond a bot's clock for the bot. A bot that
# gives up earlier can still report that its engine is at fault. The referee sets the variable if it waits longer.
PATIENCE = float(os.environ.get(PATIENCE_VARIABLE, "9"))
LONG = 600.0  # seconds for an answer that needs counting or random games
ENDING = 2.0  # seconds to exit after the end of its input
_GAMES = os.pathsep.join(("/usr/games", "/usr/local/games"))  # Debian's folders for games, which PATH may lack

Then = Callable[[Reply], None]


def find_program(name: str) -> str | None:
    """Return the path of the program that the first word of a command line names, or None."""
    return shutil.which(name) or shutil.which(name, path=_GAMES)


class EngineClient:
    """A connection to the engine of a command line or an address (tcp://, ipc://).

    `commands` are the commands that it lists. `revive` restarts an engine that has ended; `generation` counts the
    starts.
    """

    def __init__(self, where: str) -> None:
        """Start the engine.

        Raises:
            OptionError: It cannot be started, or is not an engine.
        """
        self.where = where
        self.generation = 0
        self.commands: frozenset[str] = frozenset()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._posted: deque[Then] = deque()
        self._start()

    def post(self, line: str, then: Then) -> None:
        """Send a command without waiting; `then` gets the answer later."""
        self._send(line)
        self._posted.append(then)

    def settle(self) -> None:
        """Read the answers to all posted commands.

        Raises:
            CommandFailed: An answer is unexpected. The engine is then closed, because later answers were not read.
        """
        try:
            while self._posted:
                reply = self._receive(PATIENCE)
                self._posted.popleft()(reply)
        except CommandFailed:
            self.close()
            raise

    def ask(self, *lines: str, patience: float = PATIENCE) -> list[Reply]:
        """Send all commands in one write and return their answers.

        Raises:
            CommandFailed: The engine fails.
        """
        self._send(*lines)
        self.settle()
        return [self._receive(patience) for _ in lines]

    def text(self, line: str, patience: float = PATIENCE) -> str:
        """Send a command and return its answer.

        Raises:
            CommandFailed: The engine refuses it, with the engine's reason, or fails.
        """
        (reply,) = self.ask(line, patience=patience)
        if not reply.ok:
            raise CommandFailed(reply.text or f"the engine refuses {line[:80]}")
        return reply.text

    def revive(self) -> None:
        """Restart the engine if it has ended.

        Raises:
            CommandFailed: It cannot be started.
        """
        if self._channel is None:
            try:
                self._start()
            except OptionError as error:
                raise CommandFailed(str(error)) from None

    def close(self) -> None:
        """End the process, or disconnect from the service."""
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
            self._channel.connection.ids = False  # answers come in order, so ids would only cost time
            self.commands = run_blocking(self._channel.list_commands(deadline))
        except AddressError as error:
            raise OptionError(f"--engine {self.where}: {error}") from None
        except PEER_FAULTS as error:
            self.close()
            raise OptionError(f"--engine {self.where}: it does not answer like an engine: {error}") from None
        if missing := [name for name in NEEDED if name not in self.commands]:
            self.close()
            raise OptionError(
                f"--engine {self.where}: it is not an engine, because it does not list {', '.join(missing)}"
            )
        self.generation += 1

    def _transport(self) -> Transport:
        if self.where.startswith(("tcp://", "ipc://")):
            from ggp.protocol.transports.zmq import Dealer  # imported late, because most bots do not need ZeroMQ

            return Dealer(self.where)
        try:
            words = shlex.split(self.where)
        except ValueError as error:
            raise OptionError(f"--engine {self.where!r} is not a valid command line: {str(error).lower()}") from None
        program = words and find_program(words[0])
        if not program:
            raise OptionError(
                f"--engine {self.where!r}: there is no such program: give its path, or the address of a service"
            )
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
        """Close the engine, which is unusable after such an error, and return the failure."""
        self.close()
        return CommandFailed(f"the engine {self.where} fails: {error}")  # the referee looks for "fails:"
