"""Bot sessions: admission, messages, disconnects, reconnects.

A bot has one connection: the newer one wins. A disconnected bot keeps its match for `grace` seconds; its clock keeps
running.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cachetools import LRUCache

from ggp.protocol.lobby_wire import (
    LEAVING,
    LEFT,
    MAX_FRAME,
    MAX_TEXT,
    MOVED,
    REPLACED,
    Bye,
    FrameError,
    Hello,
    LobbyAnswer,
    LobbyAsk,
    LobbyFault,
    Message,
    Stderr,
    decode,
    plain_answer,
    printable,
)
from ggp.protocol.transports.descriptors import resident
from ggp.referee.match.outcome import CannotStart
from ggp.referee.match.player import meet
from ggp.referee.match.setting import Timeouts
from ggp.referee.server.background_tasks import BackgroundTasks
from ggp.referee.server.lobby.auth import Admission, Author, NotAdmitted
from ggp.referee.server.lobby.config import NAME, NAMES, LobbyTable
from ggp.referee.server.lobby.limits import Allowance, Backoff
from ggp.referee.server.lobby.log import EventLog
from ggp.referee.server.lobby.remote_bot import ConnectedBot, Identity, Lateness, RemoteBot
from ggp.referee.server.lobby.socket import TURN, RouterSocket

if TYPE_CHECKING:
    from ggp.referee.server.lobby.fronts import Front

# -- connections ------------------------------------------------------------------------------------------------------


STRANGER = 4.0  # messages a second of a connection before its hello
AUTHORS, ORDERS = 8, 10.0  # command connections of one author, commands a second on each
PAUSE = 60.0  # seconds between commands
_OWNERS = 10_000  # whose traffic is counted after they left


@dataclass(slots=True)
class LobbyConnection:
    """One connection of a bot, of an author, or of somebody who has not said yet which it is."""

    address: str
    since: float  # when it connected or gave its last command (Lateness.now)
    user: str
    allowance: Allowance
    hellos: Allowance
    bot: ConnectedBot | None = None  # set by a hello
    author: Author | None = None  # set by a command
    refused: bool = False


TAKEN = "engine"  # in records that is the engine's name
FAREWELL = f"{LEFT}: closed by client"  # to a bot that announced that it leaves
_LAST_WORDS = 0.5  # seconds for a `B` to leave before its connection is ended
_SWEEP = 0.5  # seconds between checks for silent and flooding connections
_SAID = 200  # bytes of a line of stderr that are read
_STUFFED = 4 * MAX_FRAME  # bytes of a connection that came and are no message yet
_STUFFED_IN_ALL = 16 * _STUFFED  # the same of all connections together
_GROWN = 2 * MAX_FRAME  # bytes of memory more, or less, after which all connections are checked
_LONGEST = 3.0  # seconds between checks without growth: endless heartbeats need no memory
_CHECK_KEYS = 0.5  # seconds between checks of the keys of connections


class Sessions:
    """The connected bots, and the connections that are not bots yet.

    Set `router` and `orders`, then call `open` in the running loop.
    """

    def __init__(
        self,
        table: LobbyTable,
        budgets: Timeouts,
        games: Iterable[str],
        admission: Admission,
        event_log: EventLog,
        lateness: Lateness,
    ) -> None:
        self.bots: dict[str, ConnectedBot] = {}  # by name (Identity.seat)
        self.router: RouterSocket
        self.orders: Callable[[bytes, Author, bytes], None]  # receives the commands of authors
        self.front: Front | None = None  # this process, in a lobby with several fronts
        self.backoff = Backoff(table.rest)
        # They outlive the connections, so that reconnecting gains nothing.
        self._allowances: LRUCache[tuple[str, float, float], Allowance] = LRUCache(_OWNERS)
        self._defaults = {
            "connections": table.bots,
            "matches": table.owner_matches,
            "messages": table.messages,
            "bytes": table.bytes,
        }
        self._table, self._budgets, self._games = table, budgets, sorted(games)
        self._admission, self._event_log, self._lateness = admission, event_log, lateness
        self._now = lateness.now
        self._connections: dict[bytes, LobbyConnection] = {}
        self._tasks = BackgroundTasks(event_log.fault)
        self._closing = ""

    def open(self) -> None:
        self._tasks.keep("connections", self._check_connections)
        self._tasks.keep("keys", self._check_keys)

    def ready(self) -> list[ConnectedBot]:
        """Return the bots that can start a match now, within each owner's limit of simultaneous matches."""
        bots = self.bots.values()
        free = [bot for bot in bots if not bot.playing and bot.player and bot.line.route and not bot.leaving]
        owners = {bot.identity.owner for bot in free}
        playing = Counter(bot.identity.owner for bot in bots if bot.playing and bot.identity.owner in owners)
        ready = []
        for bot in free:
            owner = bot.identity.owner
            playing[owner] += 1
            if playing[owner] <= self._admission.limits(owner, self._defaults)["matches"]:
                ready.append(bot)
        return ready

    def apply_backoff(self, bot: ConnectedBot) -> None:
        """Dismiss the bot if a back-off has begun. It is refused until the back-off ends."""
        if bot.line.ended or not (left := self.backoff.left(bot.identity.key, self._now())):
            return
        self._event_log.log("rest", bot=bot.name, owner=bot.identity.owner, seconds=round(left))
        self.dismiss(bot, self._backoff_reason(bot.identity, left))

    def dismiss(self, bot: ConnectedBot, reason: str) -> None:
        """End a bot's connection. It may dial in again."""
        if bot.line.route:
            self._send_bye(bot.line.route, reason)
        self.forget(bot, reason)

    def refuse_newcomers(self, reason: str) -> None:
        """Refuse new bots from now on, except reconnects of bots in a match."""
        self._closing = reason

    async def close(self, reason: str) -> None:
        """End all connections with this reason."""
        for bot in list(self.bots.values()):
            self.dismiss(bot, reason)
        for route, connection in self._connections.items():
            if connection.author is not None:
                self._send_bye(route, reason)
        await self._tasks.close()

    # -- events of the socket ------------------------------------------------------------------------------------------

    def on_connect(self, route: bytes, address: str) -> None:
        """Handle a new connection, whose first message follows."""
        now = self._now()
        bucket = Allowance(STRANGER, self._table.bytes, now)
        self._connections[route] = LobbyConnection(address, now, "", bucket, bucket)

    def on_disconnect(self, route: bytes) -> None:
        """Handle the end of a connection."""
        connection = self._connections.pop(route, None)
        if connection and connection.bot and connection.bot.line.route == route:
            self._lost(connection.bot)

    def send(self, route: bytes, kind: bytes, payloads: Sequence[bytes]) -> bool:
        """Send as RouterSocket does, and close a connection that cannot take the message."""
        if self.router.send(route, kind, payloads):
            return True
        if (connection := self._connections.get(route)) is not None and self.router.cut(route):
            who = connection.bot.name if connection.bot else connection.address
            self._event_log.log_limited(self._now(), "refused", "deaf", who, reason="it does not read")
        self.on_disconnect(route)
        return False

    def on_message(self, route: bytes, user: str, frames: Sequence[bytes], now: float) -> None:
        """Handle a message without its routing id. A message with more than three frames comes cut to four."""
        connection = self._connections.get(route)
        if connection is None or connection.refused:
            return
        bot = connection.bot
        try:
            if not connection.allowance.consume(sum(map(len, frames)), now):
                raise NotAdmitted("flood", "too many messages or bytes: slow down")
            if bot is not None and user != connection.user:
                raise NotAdmitted("forged", "another key was used on this connection")
            if bot is not None and (answer := plain_answer(frames)) is not None:  # almost every message is one
                if not bot.line.on_answer(answer, now):
                    self._on_unexpected_answer(bot)
                return
            if frames[0] == b"E" and _SAID < len(frames[-1]) <= MAX_TEXT:
                frames = [*frames[:-1], frames[-1][:_SAID]]  # what makes characters printable takes time for each
            said = decode(frames)
            if bot is not None and type(said) is LobbyAnswer:
                if not bot.line.on_answer(said.data, now):
                    self._on_unexpected_answer(bot)
            else:
                connection.user = user
                self._handle(route, connection, said)
        except FrameError as error:
            lasting = error.fault is LobbyFault.VERSION
            self._refuse(route, connection, NotAdmitted(error.fault.value, str(error), lasting=lasting))
        except NotAdmitted as refused:
            self._refuse(route, connection, refused)

    def _on_unexpected_answer(self, bot: ConnectedBot) -> None:
        """Dismiss a reconnected bot that cannot continue its match; it may dial in again. Raises NotAdmitted."""
        if not (reason := bot.line.unlike):
            raise NotAdmitted("unasked", "unexpected answer: no command was sent")
        self._event_log.log("refused", "unlike", bot=bot.name, reason=reason)
        self.dismiss(bot, reason)

    def _handle(self, route: bytes, connection: LobbyConnection, said: Message) -> None:
        """Handle every message but an answer. Raises NotAdmitted."""
        bot = connection.bot
        if bot is None and (isinstance(said, LobbyAsk) or connection.author is not None):
            self._handle_command(route, connection, said)
        elif isinstance(said, Hello):
            if bot is not None and not connection.hellos.consume(0, self._now()):
                raise NotAdmitted("flood", "too many hellos: slow down")
            self._let_in(route, connection, said)
        elif bot is None:
            raise NotAdmitted("stranger", "say hello first")
        elif isinstance(said, Stderr):
            bot.line.on_stderr(said.text)
        elif isinstance(said, Bye) and said.reason.partition(":")[0] == LEAVING:
            self._leaves(bot, said.reason)
        elif isinstance(said, Bye):
            self._event_log.log("left", "bye", bot=bot.name, reason=said.reason)
            self.forget(bot, f"it said goodbye: {said.reason[:200]}")
            self._cut_soon(route)
        else:
            raise NotAdmitted("kind", "a bot sends H, R, E or B")

    def _leaves(self, bot: ConnectedBot, reason: str) -> None:
        """The bot finishes its running game, if there is one, and starts no other."""
        if not bot.leaving:
            self._event_log.log("left", "leaving", bot=bot.name, reason=reason, playing=bot.playing)
        bot.leaving = True
        if not bot.playing:
            self.dismiss(bot, FAREWELL)

    def _handle_command(self, route: bytes, connection: LobbyConnection, said: Message) -> None:
        """Handle a message of a command connection, which sends only commands. Raises NotAdmitted."""
        author, now = self._admission.author(connection.user), self._now()
        if connection.author is None:
            theirs = sum(one.author == author and not one.refused for one in self._connections.values())
            if author.owner and theirs >= AUTHORS:
                raise NotAdmitted("connections", f"too many command connections (limit {AUTHORS})")
            connection.allowance = Allowance(ORDERS, self._table.bytes, now)
        connection.author, connection.since = author, now
        if isinstance(said, LobbyAsk):
            self.orders(route, author, said.data)
        elif isinstance(said, Bye):
            self.hang_up(route)
        else:
            raise NotAdmitted("kind", "a command connection sends C or B")

    def hang_up(self, route: bytes) -> None:
        """End a command connection after `quit`."""
        if connection := self._connections.get(route):
            connection.refused = True
            self._send_bye(route, FAREWELL)

    # -- admission ---------------------------------------------------------------------------------------------------

    def _let_in(self, route: bytes, connection: LobbyConnection, hello: Hello) -> None:
        """Admit a bot, or give it back its match. Raises NotAdmitted."""
        identity = self._admission.identify(connection.user, hello)
        limits = self._admission.limits(identity.owner, self._defaults)
        before = self.bots.get(identity.seat)
        self._check_hello(identity, hello, before, limits["connections"])
        if connection.bot not in (None, before):
            self._lost(connection.bot)  # the connection speaks for another one now
        if before is not None and before.line.route:
            self._replace(before, route)
        rates = limits["messages"], limits["bytes"]
        connection.allowance = self._allowances.setdefault((identity.owner, *rates), Allowance(*rates, self._now()))
        if before is not None and before.playing:
            connection.bot = before
            before.set_terms(hello)
            before.leaving = False  # it says so again, or was started again
            before.line.come_back(route)
            self._event_log.log("back", bot=before.name, address=connection.address, **_session(hello.session))
            return
        if before is not None:
            self.forget(before, "replaced by another connection")
        line = RemoteBot(self.send, self._lateness, self._table.lag / 1000)
        bot = connection.bot = self.bots[identity.seat] = ConnectedBot(identity, frozenset(hello.games), line)
        bot.set_terms(hello)
        line.come_back(route)
        self._tasks.run("welcome", self._welcome(bot, connection.address, hello.session))

    def _check_hello(self, identity: Identity, hello: Hello, before: ConnectedBot | None, connections: int) -> None:
        """Refuse a hello that breaks a rule.

        Args:
            before: The bot that is connected, or in a match, under this name.
            connections: The owner's limit.

        Raises:
            NotAdmitted: The reason.
        """
        if not NAME.fullmatch(identity.name) or identity.name == TAKEN:
            why = f"{printable(identity.name, 60)!r} is no valid name: {NAMES}; {TAKEN} is reserved"
            raise NotAdmitted("name", why, lasting=True)
        if hello.games and not set(hello.games) & set(self._games):
            why = f"this lobby plays {', '.join(self._games)}: offer one of these"
            raise NotAdmitted("games", why, lasting=True)
        if before is None or not before.playing:
            if left := self.backoff.left(identity.key, self._now()):
                raise NotAdmitted("resting", self._backoff_reason(identity, left))
            if self._closing:
                raise NotAdmitted("closing", self._closing)
            theirs = sum(one.identity.owner == identity.owner for one in self.bots.values())
            if before is None and theirs >= connections:
                raise NotAdmitted("connections", f"connection limit: {identity.owner} has {theirs} bots connected")
        if before is not None and before.identity.owner != identity.owner:
            why = f"the name {identity.name} is another owner's: choose another name"
            raise NotAdmitted("taken", why, lasting=True)

    def _backoff_reason(self, identity: Identity, left: float) -> str:
        times = self.backoff.faults(identity.key)
        why = f"it forfeited or left {times} games in a row"
        return f"{identity.name} must wait {math.ceil(left)} s: {why}; come back then"

    def _replace(self, bot: ConnectedBot, route: bytes) -> None:
        """Let the newer connection win. On the same connection, a new bot process was started."""
        old = bot.line.route
        bot.line.lose()
        if old != route:
            if connection := self._connections.get(old):
                connection.bot, connection.refused = None, True
            self._event_log.log("replaced", bot=bot.name)
            self._send_bye(old, f"{REPLACED}: another connection of {bot.name} took its place")

    async def _welcome(self, bot: ConnectedBot, address: str, session: str) -> None:
        """Do the handshake, or send the bot to the front where its session is."""
        if self.front is not None and bot.roams and (where := await self.front.arrive(bot.name)) is not None:
            self._event_log.log("elsewhere", bot=bot.name, url=where)
            self.dismiss(bot, f"{MOVED}: {where} its session is there" if where else "its session is elsewhere")
            return
        try:
            bot.met(await meet(bot.line, bot.party, bot.start.timeouts(self._budgets), bot.start.limits))
        except CannotStart as error:
            if self.bots.get(bot.identity.seat) is bot:
                self._event_log.log("refused", "start", bot=bot.name, reason=str(error))
                self.dismiss(bot, str(error))
            return
        except Exception:
            self.dismiss(bot, "internal error: the server's log says more")
            raise
        assert bot.player is not None
        said = {"program": bot.player.party.program, "address": address, **_session(session)}
        self._event_log.log("joined", bot=bot.name, owner=bot.identity.owner, **said)

    # -- departure ---------------------------------------------------------------------------------------------------

    def _lost(self, bot: ConnectedBot) -> None:
        bot.line.lose()
        self._event_log.log("gone", bot=bot.name, playing=bot.playing)
        if not bot.playing:
            self.forget(bot, "its connection was lost")
            return
        asyncio.get_running_loop().call_later(self._table.grace, self._give_up, bot, bot.line.away)

    def _give_up(self, bot: ConnectedBot, away: float) -> None:
        if bot.line.away == away and self.bots.get(bot.identity.seat) is bot:
            grace = self._table.grace
            self.forget(bot, f"network: its connection was lost and it did not come back within {grace:g} s")

    def forget(self, bot: ConnectedBot, reason: str) -> None:
        """Remove a bot whose connection ends or is gone."""
        if self.bots.get(bot.identity.seat) is bot:
            del self.bots[bot.identity.seat]
            if self.front is not None and bot.roams:
                self._depart(bot, self.front)
        if connection := self._connections.get(bot.line.route):
            connection.bot, connection.refused = None, True
        bot.line.end(reason)

    def _depart(self, bot: ConnectedBot, front: "Front") -> None:
        """Let a bot dial in at other fronts, once its back-off has ended: until then they send it here."""
        left = self.backoff.left(bot.identity.key, self._now())
        if not left:
            front.gone(bot.name)
            return

        def rested() -> None:
            if bot.identity.seat not in self.bots:
                front.gone(bot.name)

        asyncio.get_running_loop().call_later(left, rested)

    def _refuse(self, route: bytes, connection: LobbyConnection, refused: NotAdmitted) -> None:
        """End a connection with the reason. A bot in a match may return to it."""
        connection.refused = True
        who = connection.bot.name if connection.bot else connection.address
        self._event_log.log_limited(
            self._now(), "refused", refused.code, who, reason=str(refused), address=connection.address
        )
        self._send_bye(route, refused.bye)
        if connection.bot and connection.bot.line.route == route:
            self._lost(connection.bot)
        connection.bot = None

    def _send_bye(self, route: bytes, reason: str) -> None:
        self.router.send(route, b"B", [printable(reason, 1000).encode()])
        self._cut_soon(route)

    def _cut_soon(self, route: bytes) -> None:
        asyncio.get_running_loop().call_later(_LAST_WORDS, self._cut, route)

    def _cut(self, route: bytes) -> None:
        self._connections.pop(route, None)
        self.router.cut(route)

    async def _admit_again(self) -> None:
        """End the connections of keys that were revoked or have expired, even of bots in a match."""
        turn = self._now() + TURN
        for route, connection in list(self._connections.items()):
            if self._now() > turn:
                await asyncio.sleep(0)
                turn = self._now() + TURN
            if self._connections.get(route) is not connection:
                continue
            try:
                if connection.author is not None and not connection.refused:
                    self._admission.author(connection.user)
                if connection.bot:
                    self._admission.identify(connection.user, Hello(connection.bot.name))
            except NotAdmitted as refused:
                if bot := connection.bot:
                    self._event_log.log("refused", refused.code, bot=bot.name, reason=str(refused))
                    self.dismiss(bot, refused.bye)
                else:
                    self._refuse(route, connection, refused)

    async def _check_keys(self) -> None:
        while True:
            await asyncio.sleep(_CHECK_KEYS)
            if self._admission.changed():
                await self._admit_again()

    async def _check_connections(self) -> None:
        """End silent connections, and those that flood the socket, from time to time."""
        size, looked = 0, 0.0
        while True:
            await self.router.sleep(_SWEEP, _GROWN)
            now = self._now()
            self.router.cut_silent(self._table.hello)
            # Flooding makes the process grow; a check takes time. What arrives meanwhile counts next time.
            has = resident()
            if abs(has - size) >= _GROWN or now - looked >= _LONGEST:
                await self.router.cut_stuffed(_STUFFED, _STUFFED_IN_ALL, now - looked)
                size, looked = has, now
            for why, times in self.router.refused.items():
                self._event_log.log_limited(now, "refused", why.word, "", times, reason=why.reason)
            self.router.refused.clear()
            for route, connection in list(self._connections.items()):
                patience = self._table.hello if connection.author is None else PAUSE
                silent = connection.bot is None and not connection.refused  # a connected bot may be silent
                if silent and now - connection.since > patience:
                    self._refuse(route, connection, NotAdmitted("silent", "no hello, or no command, in time"))


def _session(said: str) -> dict[str, str]:
    """Return the session that a bot claims, as a field of the log."""
    return {"session": said} if said else {}
