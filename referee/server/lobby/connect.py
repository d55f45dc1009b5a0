"""Connects a local bot to a lobby: passes commands in and answers out, unchanged, until it is stopped.

It restarts a bot that ended and renews a lost connection; the lobby then sends the position again. `ggp connect` does
so for an author. A process of the lobby does so for each local bot: it reads a LocalOrder on stdin, reports failures on
stdout, and ends with the lobby.
"""

import contextlib
import os
import re
import shlex
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Literal

import msgspec

from ggp.protocol.answer_splitter import AnswerSplitter
from ggp.protocol.channel import PEER_FAULTS, Channel
from ggp.protocol.connection import PeerRole
from ggp.protocol.errors import LocalProtocolError, Problem, RemoteProtocolError
from ggp.protocol.lobby_wire import MAX_GAMES, NAME, Hello, LobbyAnswer, LobbyAsk, Stderr, printable
from ggp.protocol.stderr_lines import LONGEST_LINE, StderrLines
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.lobby_dial import Dial, LobbyLink, Replaced
from ggp.protocol.transports.signal_fd import Stopped, Stopping
from ggp.protocol.transports.subreaper import adopt_orphans, end_with_parent
from ggp.protocol.transports.zmq import AccessRefused
from ggp.referee.match.bot_spec import CHANGED, BotSpec, LaunchError, version_of
from ggp.referee.match.diagnosis import Notify
from ggp.referee.match.player import LIMITS, RULES_OF_KATAGO, RULES_OF_KGS, SEED, reason_of, watch
from ggp.referee.match.process import LAST_WORDS, NO_SANDBOX, Process
from ggp.referee.match.sandbox.levels import Sandbox
from ggp.referee.match.setting import Timeouts

# -- the bot: start, handshake, reading -------------------------------------------------------------------------------


CHUNK = 64 * 1024
MOST_PENDING = 4 * 1024 * 1024  # bytes of commands for a bot that does not read


class BotEnded(Problem):
    """The bot has ended, or broke the protocol. str() says how."""

    code = "bot-ended"


class BotProcess:
    """The process of a bot. A bot in the strict sandbox is stopped while no answer of it is awaited."""

    def __init__(
        self,
        argv: tuple[str, ...],
        budgets: Timeouts,
        *,
        memory: int = 0,
        environment: Iterable[tuple[str, str]] = (),
        nice: int = 0,
        core: int | None = None,
        folder: Path | None = None,
        sandbox: Sandbox = NO_SANDBOX,
        notify: Notify | None = None,
    ) -> None:
        """Start the bot, as Process does, and do the handshake.

        Args:
            notify: Called once if the bot gives no valid answer for a while.

        Raises:
            LaunchError: The bot does not start.
            BotEnded: The handshake fails.
        """
        self.began = time.monotonic()
        self.session = os.urandom(8).hex()  # see Hello
        self._process = Process(
            argv,
            PeerRole.BOT,
            budgets,
            memory=memory,
            environment=environment,
            nice=nice,
            core=core,
            folder=folder,
            sandbox=sandbox,
        )
        command = shlex.join(argv)
        try:
            watch(self._process, command, notify)
            self.name, self.games = run_blocking(_meet(self._process.channel, budgets))
        except PEER_FAULTS as error:
            why = reason_of(error, self._process, command)
            self.stop(kill=True)
            raise BotEnded(printable(why, LONGEST_LINE)) from None
        except BaseException:
            self.stop(kill=True)
            raise
        self.stdin, self.stdout, self.stderr = self._process.descriptors
        self._answers = AnswerSplitter()
        self._pending = bytearray()
        self._said = StderrLines()
        self.early = self._process.stderr_tail().encode()  # what it wrote to stderr during the handshake
        self._awaited = 0  # answers
        self._quitting = False  # the last command was `quit`
        self._rest()

    def write(self, data: bytes) -> bool:
        """Write a command. If it returns False, call write(b"") when stdin can be written again."""
        if data:
            self._awaited += 1
            self._quitting = data.split()[-1:] == [b"quit"]
            if self._process.idle is not None:
                self._process.idle.wake()
        self._pending += data
        try:
            while self._pending:
                del self._pending[: os.write(self.stdin, self._pending)]
        except BlockingIOError:
            if len(self._pending) > MOST_PENDING:
                raise BotEnded("it does not read what it is asked") from None
        except BrokenPipeError:  # its last answers, and how it ended, are found by reading
            self._pending.clear()
        return not self._pending

    def read(self) -> list[bytes]:
        """Return the whole answers that stdout holds, without waiting. Raises BotEnded."""
        try:
            data = os.read(self.stdout, CHUNK)
            answers = self._answers.receive(data) if data else self._answers.end(self._quitting)
        except BlockingIOError:
            return []
        except RemoteProtocolError as error:
            raise BotEnded(str(error)) from None
        for line in self._answers.junk:
            self._said.add(b"stdout: " + line + b"\n")
        self._answers.junk.clear()
        if not data and not answers:
            ended = self._process.exited(LAST_WORDS) or "it closed its output"
            cut = self._answers.cut
            raise BotEnded(f"{ended}, in the middle of an answer: {printable(cut[:80])}" if cut else ended)
        self._awaited -= len(answers)
        self._rest()
        return answers

    def _rest(self) -> None:
        """Stop a strict bot that has nothing to answer, so that it takes no time of its opponent."""
        if self._process.idle is not None and self._awaited <= 0:
            self._process.idle.rest()

    def read_stderr(self) -> bytes:
        """Return what stderr holds, without waiting; `said` returns it, too. At its end `stderr` becomes None."""
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
        """The last line of stderr, which often says why a bot ended."""
        return self._said.last

    def said(self, now: float) -> list[str]:
        """Return lines of stderr to pass on, a bounded number a second."""
        return self._said.lines(now)

    def stop(self, kill: bool = False) -> None:
        run_blocking(self._process.stop(kill))


async def _meet(channel: Channel, budgets: Timeouts) -> tuple[str, tuple[str, ...]]:
    """Return the name of a bot and its games, () for a native bot that does not list any."""
    await channel.probe_ids(channel.now() + budgets.start)
    name = (await channel.ask("name", channel.now() + budgets.command)).text
    commands = await channel.list_commands(channel.now() + budgets.command)
    if "ggp-games" in commands:
        games = await channel.ask("ggp-games", channel.now() + budgets.command)
        return name, tuple(games.text.split()) if games.ok else ()
    return name, () if "ggp-new" in commands else ("go",)


QUICK = 10.0  # seconds: a bot that ends sooner after its start has failed
MOST_QUICK = 3  # such failures in a row, after which it leaves the lobby
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0  # seconds before the next start
GOODBYE = "its author ended it"
_MOVES = ("genmove", "ggp-genmove_analyze")
_SET_UP = frozenset((SEED, *LIMITS, RULES_OF_KATAGO, RULES_OF_KGS, "ggp-new", "boardsize", "clear_board"))
_LAST_READS = 64  # reads of stderr after the end of a bot; a pipe holds no more

Tell = Callable[[str, str], object]
"""(what, why): `up`, `lost`, `bye`, `wait` of the connection; `started`, `ended` of the bot."""


class Connector:
    """Connects one bot to a lobby. Call `run`, then `close`."""

    def __init__(
        self,
        start: Callable[[], BotProcess],
        lobby: LobbyLink,
        name: str,
        tell: Tell,
        echo: Callable[[bytes], object],
        stopping: Stopping,
        chance: Random | None = None,
        challenges: bool = True,
        afresh: bool = False,
    ) -> None:
        """Start nothing yet.

        Args:
            start: Starts the bot, or raises BotEnded or LaunchError.
            name: The bot's name at the lobby, "" for the name that it calls itself.
            echo: Gets what the bot writes to stderr.
            challenges: The bot accepts challenges.
            afresh: Start the bot again for each game.
        """
        self._challenges, self._afresh = challenges, afresh
        self._played = 0  # the connection on which the bot was asked for a move
        self._start_bot, self._name, self._tell, self._echo = start, name, tell, echo
        self._stopping = stopping
        self._chance = chance or Random()
        self._dial = Dial(lobby, Hello(name or "?"), tell, self._chance)
        self._dial.watch(stopping.descriptor)
        self._bot: BotProcess | None = None
        self._owed: deque[int] = deque()  # for each answer that the bot owes: the connection that asked for it
        self._writing = False

    def run(self) -> None:
        """Pass commands and answers on, until an exception.

        Raises:
            BotEnded, LaunchError: The bot cannot be started even once.
            Replaced, AccessRefused: The lobby does not want this connection.
            Stopped, LeftLobby: A signal came; with a patient `stopping`, the game was finished first.
        """
        self._bot = self._start()
        quick, wait = 0, FIRST_WAIT
        while True:
            bot = self._bot
            self._tell("started", bot.name)
            self._echo(bot.early)
            self._dial.redial(self._hello(bot))
            reason = self._serve()
            bot = self._bot
            self._tell("ended", reason)
            self._stop_bot(bot)
            if time.monotonic() - bot.began < QUICK:
                quick += 1
            else:
                quick, wait = 0, FIRST_WAIT
            while not self._restart(reason, quick >= MOST_QUICK):
                self._pause(wait * self._chance.uniform(0.5, 1.0))
                wait = min(2 * wait, LONGEST_WAIT)
                quick = 0

    def close(self, reason: str) -> None:
        """Say goodbye and end the bot. One more signal kills it."""
        self._dial.close(reason)
        if self._bot is not None:
            try:
                with self._stopping.raising(again=True):
                    self._bot.stop()
            except Stopped:
                self._bot.stop(kill=True)

    # -- the bot -----------------------------------------------------------------------------------------------------

    def _start(self) -> BotProcess:
        with self._stopping.raising(first=self._dial.number == 0):  # then it cannot be in the middle of a game
            return self._start_bot()

    def _restart(self, reason: str, hopeless: bool) -> bool:
        """Start the bot again and keep the connection. If that fails, hang up with the reason and return False."""
        if not hopeless:
            try:
                self._bot = self._start()
                return True
            except (BotEnded, LaunchError) as error:
                reason = str(error)
                self._tell("ended", reason)
        self._dial.hang_up(printable(f"the bot ended: {reason}"))
        return False

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        self._tell("wait", f"{seconds:.1f}")
        while (left := until - time.monotonic()) > 0:
            with self._stopping.raising(first=True):  # it has no game any more
                self._dial.poll(left)

    def _stop_bot(self, bot: BotProcess) -> None:
        self._forget(bot)
        self._owed.clear()
        self._bot = None
        bot.stop(kill=True)

    def _forget(self, bot: BotProcess) -> None:
        for descriptor in (bot.stdout, bot.stderr, bot.stdin if self._writing else None):
            if descriptor is not None:
                self._dial.forget(descriptor)
        self._writing = False

    def _watch(self, bot: BotProcess) -> None:
        self._dial.watch(bot.stdout)
        if bot.stderr is not None:
            self._dial.watch(bot.stderr)

    def _renew(self, bot: BotProcess) -> None:
        """Start another process for the next game, without telling the lobby. Raises BotEnded."""
        new = self._start_anew()
        self._forget(bot)
        self._bot, self._played = new, 0
        self._watch(new)
        self._echo(new.early)
        bot.stop()

    def _start_anew(self) -> BotProcess:
        try:
            return self._start()
        except LaunchError as error:
            raise BotEnded(str(error)) from None

    def _hello(self, bot: BotProcess) -> Hello:
        """Return the hello, with a name that a ladder accepts: `GNU Go` becomes `GNU-Go`."""
        name = self._name or re.sub(r"[^A-Za-z0-9_.-]+", "-", bot.name).strip("-.")[:40] or "bot"
        games = tuple(printable(game, NAME) for game in bot.games[:MAX_GAMES])
        return Hello(name, games, bot.session, self._challenges)

    # -- commands and answers ----------------------------------------------------------------------------------------

    def _serve(self) -> str:
        """Pass commands and answers on until the bot has ended, and return how it ended."""
        assert self._bot is not None
        bot = self._bot
        self._watch(bot)
        try:
            while True:
                if self._stopping.number:
                    self._dial.leave(GOODBYE)
                for descriptor in self._dial.poll(None):
                    if descriptor == bot.stdout:
                        self._pass_answers(bot)
                    elif descriptor == bot.stdin:
                        self._write(bot, b"")
                    elif descriptor == self._stopping.descriptor:
                        self._stopping.check()
                    else:
                        self._pass_stderr(bot, descriptor)
                bot = self._pass_commands(bot)
        except BotEnded as error:
            self._drain(bot)
            return f"{error}: {bot.last_line}" if bot.last_line else str(error)

    def _pass_commands(self, bot: BotProcess) -> BotProcess:
        """Pass commands on, and return the bot. It is another process if a game has begun that needs its own."""
        while (message := self._dial.receive()) is not None:
            if isinstance(message, LobbyAsk):
                if self._afresh and self._begins_game(message.data):
                    self._renew(bot)
                    assert self._bot is not None
                    bot = self._bot
                self._owed.append(self._dial.number)
                self._write(bot, message.data)
        return bot

    def _begins_game(self, command: bytes) -> bool:
        """Return True for the first command of a game if the bot has played another one on this connection."""
        words = [word for word in command.decode("utf-8", "replace").split()[:2] if not word.isdecimal()]
        if words[:1] and words[0] in _MOVES:
            self._played = self._dial.number
        return bool(words[:1]) and words[0] in _SET_UP and self._played == self._dial.number and not self._owed

    def _pass_answers(self, bot: BotProcess) -> None:
        for data in bot.read():
            if not self._owed:
                raise BotEnded(f"unexpected answer: {printable(data[:80])}")
            if self._owed.popleft() == self._dial.number:  # else it was asked on an earlier connection
                self._dial.send(LobbyAnswer(data))
        self._pass_said(bot)

    def _pass_stderr(self, bot: BotProcess, descriptor: int) -> None:
        self._echo(bot.read_stderr())
        if bot.stderr is None:
            self._dial.forget(descriptor)
        self._pass_said(bot)

    def _pass_said(self, bot: BotProcess) -> None:
        for line in bot.said(time.monotonic()):
            try:
                self._dial.send(Stderr(line))
            except LocalProtocolError:  # only what is one line of text can be sent
                continue

    def _write(self, bot: BotProcess, data: bytes) -> None:
        waiting = not bot.write(data)
        if waiting != self._writing:
            self._writing = waiting
            if waiting:
                self._dial.watch(bot.stdin, for_writing=True)
            else:
                self._dial.forget(bot.stdin)

    def _drain(self, bot: BotProcess) -> None:
        """Pass on the last lines of stderr, which say why it ended."""
        watched = bot.stderr
        for _ in range(_LAST_READS):
            if not (data := bot.read_stderr()):
                break
            self._echo(data)
        if watched is not None and bot.stderr is None:
            self._dial.forget(watched)
        self._pass_said(bot)


def nothing(*event: object) -> None:
    """Do nothing: the callback for --quiet."""


# -- the process that connects a local bot, started by local_bots only ------------------------------------------------


class LocalOrder(msgspec.Struct, frozen=True):
    """The bot that this process is to start and connect."""

    url: str  # the address to dial
    start: BotSpec
    budgets: Timeouts
    nice: int  # the niceness if the bot has none of its own
    core: int | None
    parent: int  # the process that started us


class LocalReport(msgspec.Struct, frozen=True):
    """The reason why there is no bot now, or that it has `joined`."""

    culprit: Literal["bot", "host"]
    reason: str
    joined: bool = False  # the bot runs and is connected


def run_local() -> int:
    """Run the bot that a LocalOrder on stdin describes, and return the exit status."""
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=LocalOrder)
    end_with_parent(signal.SIGTERM)
    if os.getppid() != order.parent:  # the lobby ended before that
        return 0
    adopt_orphans()
    with Stopping() as stopping:
        connector = Connector(
            lambda: _start_local(order),
            LobbyLink(order.url, inside=True),
            order.start.name,
            _report_end,
            nothing,
            stopping,
            afresh=bool(order.start.restart),
        )
        try:
            connector.run()
        except Stopped:
            return 0
        except (BotEnded, LaunchError) as error:
            _report(LocalReport("bot", str(error)))
        except (Replaced, AccessRefused) as error:
            _report(LocalReport("host", str(error)))
        finally:
            connector.close("")
    return 1


def _start_local(order: LocalOrder) -> BotProcess:
    """Start the bot. Raises LaunchError, or BotEnded even for a program of another version than the order's."""
    start = order.start
    if (found := version_of(start)) != start.version:
        raise BotEnded(f"{CHANGED}: its version is {found}, not {start.version}: start the lobby again")
    return BotProcess(
        start.argv,
        order.budgets,
        memory=start.memory,
        environment=start.environment,
        nice=order.nice if start.nice is None else start.nice,
        core=order.core,
        folder=Path(start.cwd) if start.cwd else None,
        sandbox=start.sandbox or NO_SANDBOX,
    )


def _report_end(what: str, why: str) -> None:
    if what == "ended":
        _report(LocalReport("bot", why))
    elif what == "up":
        _report(LocalReport("bot", "", joined=True))


def _report(said: LocalReport) -> None:
    with contextlib.suppress(OSError):  # the lobby has ended
        sys.stdout.buffer.write(msgspec.json.encode(said) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(run_local())
