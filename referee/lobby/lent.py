"""A bot of this machine that is lent a connection: started, asked what it is, fed, read; not the connection itself.

Whatever it does wrong is a BotEnded, after which it has to be stopped and started anew.
"""

import contextlib
import os
import time
from collections.abc import Iterable

from protocol.answers import Answers
from protocol.channel import PEER_FAULTS, Channel
from protocol.connection import PeerRole
from protocol.dialling import printable
from protocol.errors import RemoteProtocolError
from protocol.stderr_lines import LONGEST_LINE, StderrLines
from protocol.transports.blocking import run_blocking
from referee.config import Budgets
from referee.play.launch import LAST_WORDS, Process

CHUNK = 64 * 1024
MOST_PENDING = 4 * 1024 * 1024  # bytes of commands for a bot that does not read


class BotEnded(Exception):
    """The bot is of no use any more; str() says how it ended or what it did."""


class Lent:
    """One process; `memory` and `environment` as launch.Process has them, `nice`: how much nicer than we are it is.

    Raises LaunchError, or BotEnded if it does not say what it is.

    `name` and `games` are what it says, `games` () for a native bot that does not say.
    """

    def __init__(
        self,
        argv: tuple[str, ...],
        budgets: Budgets,
        *,
        memory: int = 0,
        environment: Iterable[tuple[str, str]] = (),
        nice: int = 0,
    ) -> None:
        self.began = time.monotonic()
        self.session = os.urandom(8).hex()  # see Hello
        self._process = Process(argv, PeerRole.BOT, budgets, memory=memory, environment=environment)
        if nice:
            with contextlib.suppress(ProcessLookupError):
                own = os.getpriority(os.PRIO_PROCESS, 0)
                os.setpriority(os.PRIO_PGRP, self._process.pid, min(19, own + nice))
        try:
            self.name, self.games = run_blocking(_meet(self._process.channel, budgets))
        except PEER_FAULTS as error:
            ended = self._process.exited(LAST_WORDS) or str(error)
            lines = [line for line in self._process.stderr_tail().splitlines() if line.strip()]
            self.stop(kill=True)
            raise BotEnded(printable(f"{ended}: {lines[-1]}" if lines else ended, LONGEST_LINE)) from None
        except BaseException:
            self.stop(kill=True)
            raise
        self.stdin, self.stdout, self.stderr = self._process.descriptors
        self._answers = Answers()
        self._pending = bytearray()
        self._said = StderrLines()
        self.early = self._process.stderr_tail().encode()  # what it wrote to stderr before it was heard

    def write(self, data: bytes) -> bool:
        """Whether it took all; else call write(b"") when stdin can be written again."""
        self._pending += data
        try:
            while self._pending:
                del self._pending[: os.write(self.stdin, self._pending)]
        except BlockingIOError:
            if len(self._pending) > MOST_PENDING:
                raise BotEnded("it does not read what it is asked") from None
        except BrokenPipeError:  # what it still says, and how it ended, is found by reading
            self._pending.clear()
        return not self._pending

    def read(self) -> list[bytes]:
        """The whole answers that stdout holds, without waiting. Raises BotEnded."""
        try:
            data = os.read(self.stdout, CHUNK)
            answers = self._answers.receive(data) if data else self._answers.end()
        except BlockingIOError:
            return []
        except RemoteProtocolError as error:
            raise BotEnded(str(error)) from None
        for line in self._answers.junk:
            self._said.add(b"stdout: " + line + b"\n")
        self._answers.junk.clear()
        if not data and not answers:
            raise BotEnded(self._process.exited(LAST_WORDS) or "it closed its output")
        return answers

    def read_stderr(self) -> bytes:
        """What it has written there, without waiting; `said` has it, too. At its end `stderr` becomes None."""
        if self.stderr is None:
            return b""
        try:
            data = os.read(self.stderr, CHUNK)
        except BlockingIOError:
            return b""
        self._said.add(data)
        if not data:
            self.stderr = None
        return data

    @property
    def last_line(self) -> str:
        """Of stderr: often it says why a bot ended."""
        return self._said.last

    def said(self, now: float) -> list[str]:
        """Lines of stderr to be passed on, not too many a second."""
        return self._said.lines(now)

    def stop(self, kill: bool = False) -> None:
        run_blocking(self._process.stop(kill))


async def _meet(channel: Channel, budgets: Budgets) -> tuple[str, tuple[str, ...]]:
    """Its name and its games."""
    await channel.probe_ids(channel.now() + budgets.start)
    name = (await channel.ask("name", channel.now() + budgets.command)).text
    commands = await channel.list_commands(channel.now() + budgets.command)
    if "ggp-games" in commands:
        games = await channel.ask("ggp-games", channel.now() + budgets.command)
        return name, tuple(games.text.split()) if games.ok else ()
    return name, () if "ggp-new" in commands else ("go",)
