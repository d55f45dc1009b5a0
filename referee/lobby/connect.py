"""Lends a bot of this machine a connection to a lobby: commands in, answers out, until somebody stops it.

A bot that ends is started anew and a connection that is lost is made anew; the lobby tells the bot the position
again. Nothing of the bytes is changed on the way.
"""

import re
import time
from collections import deque
from collections.abc import Callable
from random import Random

from protocol.dialling import MAX_GAMES, NAME, Answer, Ask, Hello, Stderr, printable
from protocol.errors import LocalProtocolError
from protocol.transports.dial import Dial, Lobby
from protocol.transports.stopping import Stopped, Stopping
from referee.lobby.lent import BotEnded, Lent
from referee.play.launch import LaunchError

QUICK = 10.0  # seconds: a bot that ends sooner after its start has not done well
MOST_QUICK = 3  # such ends in a row, after which the lobby is told goodbye
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0  # seconds before the next start
GOODBYE = "its author ended it"
_LAST_READS = 64  # of stderr, when a bot has ended; who writes more than a pipe holds is no dying bot

Tell = Callable[[str, str], object]
"""(what, why): `up`, `lost`, `bye`, `wait` of the connection; `started`, `ended` of the bot."""


class Lender:
    """`run` never returns: it raises Replaced, AccessRefused, Stopped, or Left where `stopping` is patient; then
    `close`.

    `start` starts the bot: raises BotEnded or LaunchError. `name` is what the bot is called at the lobby ("": as it
    calls itself), `challenges` whether it takes any there; `echo` gets its stderr.
    """

    def __init__(
        self,
        start: Callable[[], Lent],
        lobby: Lobby,
        name: str,
        tell: Tell,
        echo: Callable[[bytes], object],
        stopping: Stopping,
        chance: Random | None = None,
        challenges: bool = True,
    ) -> None:
        self._challenges = challenges
        self._start_bot, self._name, self._tell, self._echo = start, name, tell, echo
        self._stopping = stopping
        self._chance = chance or Random()
        self._dial = Dial(lobby, Hello(name or "?"), tell, self._chance)
        self._dial.watch(stopping.descriptor)
        self._bot: Lent | None = None
        self._owed: deque[int] = deque()  # for each answer that the bot owes: the connection that asked for it
        self._writing = False

    def run(self) -> None:
        """Raises BotEnded or LaunchError for a bot that cannot be started even once."""
        self._bot = self._start()
        quick, wait = 0, FIRST_WAIT
        while True:
            bot = self._bot
            self._tell("started", bot.name)
            self._echo(bot.early)
            self._dial.redial(self._hello(bot))
            reason = self._serve(bot)
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
        """Say goodbye and end the bot; one more signal, and it is not asked."""
        self._dial.close(reason)
        if self._bot is not None:
            try:
                with self._stopping.raising(again=True):
                    self._bot.stop()
            except Stopped:
                self._bot.stop(kill=True)

    # -- the bot -----------------------------------------------------------------------------------------------------

    def _start(self) -> Lent:
        with self._stopping.raising(first=self._dial.number == 0):  # then it cannot be in the middle of a game
            return self._start_bot()

    def _restart(self, reason: str, hopeless: bool) -> bool:
        """Start it again, the connection kept meanwhile; False, and the lobby knows, if that was in vain."""
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

    def _stop_bot(self, bot: Lent) -> None:
        for descriptor in (bot.stdout, bot.stderr, bot.stdin if self._writing else None):
            if descriptor is not None:
                self._dial.forget(descriptor)
        self._writing = False
        self._owed.clear()
        self._bot = None
        bot.stop(kill=True)

    def _hello(self, bot: Lent) -> Hello:
        """Its name as a name of the ladder's, so that a bot that calls itself `GNU Go` is `GNU-Go`."""
        name = self._name or re.sub(r"[^A-Za-z0-9_.-]+", "-", bot.name).strip("-.")[:40] or "bot"
        games = tuple(printable(game, NAME) for game in bot.games[:MAX_GAMES])
        return Hello(name, games, bot.session, self._challenges)

    # -- the way of a command ----------------------------------------------------------------------------------------

    def _serve(self, bot: Lent) -> str:
        """Pass on what is said until the bot has ended; how."""
        self._dial.watch(bot.stdout)
        if bot.stderr is not None:
            self._dial.watch(bot.stderr)
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
                self._pass_commands(bot)
        except BotEnded as error:
            self._drain(bot)
            return f"{error}: {bot.last_line}" if bot.last_line else str(error)

    def _pass_commands(self, bot: Lent) -> None:
        while (message := self._dial.receive()) is not None:
            if isinstance(message, Ask):
                self._owed.append(self._dial.number)
                self._write(bot, message.data)

    def _pass_answers(self, bot: Lent) -> None:
        for data in bot.read():
            if not self._owed:
                raise BotEnded(f"it answered what nobody asked: {printable(data[:80])}")
            if self._owed.popleft() == self._dial.number:  # else it was asked on a connection that is no more
                self._dial.send(Answer(data))
        self._pass_said(bot)

    def _pass_stderr(self, bot: Lent, descriptor: int) -> None:
        self._echo(bot.read_stderr())
        if bot.stderr is None:
            self._dial.forget(descriptor)
        self._pass_said(bot)

    def _pass_said(self, bot: Lent) -> None:
        for line in bot.said(time.monotonic()):
            try:
                self._dial.send(Stderr(line))
            except LocalProtocolError:  # only what is one line of text can be sent
                continue

    def _write(self, bot: Lent, data: bytes) -> None:
        waiting = not bot.write(data)
        if waiting != self._writing:
            self._writing = waiting
            if waiting:
                self._dial.watch(bot.stdin, for_writing=True)
            else:
                self._dial.forget(bot.stdin)

    def _drain(self, bot: Lent) -> None:
        """The last words on stderr, which tell why."""
        watched = bot.stderr
        for _ in range(_LAST_READS):
            if not (data := bot.read_stderr()):
                break
            self._echo(data)
        if watched is not None and bot.stderr is None:
            self._dial.forget(watched)
        self._pass_said(bot)
