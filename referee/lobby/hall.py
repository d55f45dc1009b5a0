"""Who is here: lets bots in, hears what they say, notices who is gone and who is back. It pairs nobody.

A bot has one connection: the newer one wins. Who loses his in a match keeps his seat for the grace, his clock running.
"""

import asyncio
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from protocol.dialling import (
    LEAVING,
    LEFT,
    MAX_FRAME,
    MAX_TEXT,
    REFUSED,
    REPLACED,
    Answer,
    Ask,
    Bye,
    Fault,
    FrameError,
    Hello,
    Message,
    Stderr,
    decode,
    printable,
)
from protocol.transports.descriptors import resident
from referee.background import BackgroundTasks
from referee.config import Budgets
from referee.lobby.admission import Admission, Author, NotAdmitted
from referee.lobby.allowance import Allowance
from referee.lobby.bounds import Bounds, Shares
from referee.lobby.caller import STRANGER, Caller
from referee.lobby.door import Door
from referee.lobby.guest import Guest, Identity
from referee.lobby.journal import Journal
from referee.lobby.lateness import Lateness
from referee.lobby.line import Line
from referee.lobby.rests import Rests
from referee.play.dialects import meet
from referee.play.outcome import CannotStart

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,39}")
NAMES = "1 to 40 letters, digits, _ . or -, the first no . or -"
TAKEN = "engine"  # in records that is the engine's name
FAREWELL = f"{LEFT}: as you wish"  # to a bot that said that it leaves
_LAST_WORDS = 0.5  # seconds that a `B` has to leave before its connection is cut
_SWEEP = 0.5  # seconds between looks at connections that say nothing, or too much
_SAID = 200  # bytes of a line of stderr that are looked at
_STUFFED = 4 * MAX_FRAME  # bytes that came and are no message yet
_STUFFED_IN_ALL = 16 * _STUFFED  # likewise, of all connections together
_GROWN = 2 * MAX_FRAME  # bytes of memory more, or less, after which all connections are checked
_LONGEST = 1.0  # seconds until everybody is looked at all the same: heartbeats without end make nothing grow
_CHECK_KEYS = 0.5  # seconds between looks at the keys of those who are here


class Hall:
    """`changed` is called when somebody is ready to play, or gone."""

    def __init__(
        self,
        bounds: Bounds,
        budgets: Budgets,
        games: Iterable[str],
        admission: Admission,
        journal: Journal,
        lateness: Lateness,
        changed: Callable[[Guest], None],
    ) -> None:
        self.guests: dict[str, Guest] = {}  # by name (Identity.seat)
        self.door: Door  # set by whoever opens it
        self.orders: Callable[[bytes, Author, bytes], None]  # likewise: is told what authors order
        self.rests = Rests(bounds.rest)
        self._shares = Shares(bounds, admission)
        self._bounds, self._budgets, self._games = bounds, budgets, sorted(games)
        self._admission, self._journal, self._lateness, self._changed = admission, journal, lateness, changed
        self._callers: dict[bytes, Caller] = {}
        self._tasks = BackgroundTasks(journal.fault)
        self._closing = ""

    def open(self) -> None:
        self._tasks.keep("connections", self._check_connections)
        self._tasks.keep("keys", self._check_keys)

    def ready(self) -> list[Guest]:
        """Who can be given a match now: of an owner's bots no more than he may have matches at a time."""
        found = [one for one in self.guests.values() if one.player and not (one.playing or one.leaving)]
        found = [one for one in found if one.line.route]
        playing = Counter(one.identity.owner for one in self.guests.values() if one.playing)
        chosen = []
        for guest in found:
            owner = guest.identity.owner
            playing[owner] += 1
            if playing[owner] <= self._shares.limits(owner)["matches"]:
                chosen.append(guest)
        return chosen

    def rest(self, guest: Guest) -> None:
        """Let it go if it has to rest; it is not let in before it has."""
        if guest.line.ended or not (left := self.rests.left(guest.identity.key, time.monotonic())):
            return
        self._journal.tell("rest", bot=guest.name, owner=guest.identity.owner, seconds=round(left))
        self.dismiss(guest, self._why_it_rests(guest.identity, left))

    def dismiss(self, guest: Guest, reason: str) -> None:
        """Let it go; it may dial in again."""
        if guest.line.route:
            self._say_bye(guest.line.route, reason)
        self.forget(guest, reason)

    def refuse_newcomers(self, reason: str) -> None:
        """From now on nobody is let in, but for bots that sit at a table."""
        self._closing = reason

    async def close(self, reason: str) -> None:
        """Say goodbye to everybody."""
        for guest in list(self.guests.values()):
            self.dismiss(guest, reason)
        for route, caller in self._callers.items():
            if caller.author is not None:
                self._say_bye(route, reason)
        await self._tasks.close()

    # -- Visitors ----------------------------------------------------------------------------------------------------

    def arrived(self, route: bytes, descriptor: int, address: str) -> None:
        now = time.monotonic()
        bucket = Allowance(STRANGER, self._bounds.octets, now)
        self._callers[route] = Caller(address, now, "", bucket, bucket)

    def left(self, route: bytes) -> None:
        caller = self._callers.pop(route, None)
        if caller and caller.guest and caller.guest.line.route == route:
            self._lost(caller.guest)

    def send(self, route: bytes, kind: bytes, payloads: Sequence[bytes]) -> bool:
        """As Door.send. Where it cannot leave, the connection is not there any more, or has to go."""
        if self.door.send(route, kind, payloads):
            return True
        if (caller := self._callers.get(route)) is not None and self.door.cut(route):
            who = caller.guest.name if caller.guest else caller.address
            self._journal.trouble(time.monotonic(), "refused", "deaf", who, reason="it does not read")
        self.left(route)
        return False

    def message(self, route: bytes, user: str, frames: Sequence[bytes], now: float) -> None:
        caller = self._callers.get(route)
        if caller is None or caller.refused:
            return
        guest = caller.guest
        if not caller.allowance.take(sum(map(len, frames)), now):
            self._refuse(route, caller, "flood", "too many messages or bytes: slow down")
            return
        if guest is not None and user != caller.user:
            self._refuse(route, caller, "forged", "another key speaks on this connection")
            return
        if frames[0] == b"E" and _SAID < len(frames[-1]) <= MAX_TEXT:
            frames = [*frames[:-1], frames[-1][:_SAID]]  # what makes characters printable takes time for each
        try:
            said = decode(frames)
        except FrameError as error:
            self._refuse(route, caller, error.fault.value, str(error), lasting=error.fault is Fault.VERSION)
            return
        if guest is not None and type(said) is Answer:
            if not guest.line.take(said.data, now):
                self._not_its_answer(route, caller, guest)
        else:
            caller.user = user
            self._hear(route, caller, said)

    def _not_its_answer(self, route: bytes, caller: Caller, guest: Guest) -> None:
        """Whoever cannot go on in the place that he came back to has left it, and is let in anew."""
        if reason := guest.line.unlike:
            self._journal.tell("refused", "unlike", bot=guest.name, reason=reason)
            self.dismiss(guest, reason)
        else:
            self._refuse(route, caller, "unasked", "an answer to what nobody asked")

    def _hear(self, route: bytes, caller: Caller, said: Message) -> None:
        """Whatever is no answer."""
        if caller.guest is None and (isinstance(said, Ask) or caller.author is not None):
            self._take_order(route, caller, said)
        elif isinstance(said, Hello):
            if caller.guest is not None and not caller.hellos.take(0, time.monotonic()):
                self._refuse(route, caller, "flood", "too many hellos: slow down")
                return
            try:
                self._let_in(route, caller, said)
            except NotAdmitted as refused:
                self._refuse(route, caller, refused.word, str(refused), refused.lasting)
        elif caller.guest is None:
            self._refuse(route, caller, "stranger", "say hello first")
        elif isinstance(said, Stderr):
            caller.guest.line.heard(said.text)
        elif isinstance(said, Bye) and said.reason.partition(":")[0] == LEAVING:
            self._leaves(caller.guest, said.reason)
        elif isinstance(said, Bye):
            self._journal.tell("left", "bye", bot=caller.guest.name, reason=said.reason)
            self.forget(caller.guest, f"it said goodbye: {said.reason[:200]}")
            self._cut_soon(route)
        else:
            self._refuse(route, caller, "kind", "a bot says H, R, E or B")

    def _leaves(self, guest: Guest, reason: str) -> None:
        """It plays the game under way to its end, if there is one, and no other."""
        if not guest.leaving:
            self._journal.tell("left", "leaving", bot=guest.name, reason=reason, playing=guest.playing)
        guest.leaving = True
        if not guest.playing:
            self.dismiss(guest, FAREWELL)

    def _take_order(self, route: bytes, caller: Caller, said: Message) -> None:
        """Whoever gives orders is no bot, and says nothing but commands."""
        try:
            author = self._admission.author(caller.user)
            caller.orders(author, self._callers.values(), self._bounds.octets, time.monotonic())
        except NotAdmitted as refused:
            self._refuse(route, caller, refused.word, str(refused), refused.lasting)
            return
        if isinstance(said, Ask):
            self.orders(route, author, said.data)
        elif isinstance(said, Bye):
            self.hang_up(route)
        else:
            self._refuse(route, caller, "kind", "a connection for orders says C or B")

    def hang_up(self, route: bytes) -> None:
        """An author wants no more."""
        if caller := self._callers.get(route):
            caller.refused = True
            self._say_bye(route, FAREWELL)

    # -- who comes ---------------------------------------------------------------------------------------------------

    def _let_in(self, route: bytes, caller: Caller, hello: Hello) -> None:
        identity = self._admission.identify(caller.user, hello)
        if not NAME.fullmatch(identity.name) or identity.name == TAKEN:
            why = f"{printable(identity.name, 60)!r} is no name: {NAMES}; {TAKEN} is taken"
            raise NotAdmitted("name", why, lasting=True)
        if hello.games and not set(hello.games) & set(self._games):
            why = f"this lobby plays {', '.join(self._games)}: offer one of these"
            raise NotAdmitted("games", why, lasting=True)
        before = self.guests.get(identity.seat)
        if before is None or not before.playing:
            if left := self.rests.left(identity.key, time.monotonic()):
                raise NotAdmitted("resting", self._why_it_rests(identity, left))
            if self._closing:
                raise NotAdmitted("closing", self._closing)
            theirs = sum(one.identity.owner == identity.owner for one in self.guests.values())
            if before is None and theirs >= self._shares.limits(identity.owner)["connections"]:
                raise NotAdmitted("connections", f"{identity.owner} has {theirs} bots here, which is as many as may be")
        if before is not None and before.identity.owner != identity.owner:
            why = f"the name {identity.name} is another owner's: choose another name"
            raise NotAdmitted("taken", why, lasting=True)
        if caller.guest not in (None, before):
            self._lost(caller.guest)  # the connection speaks for another one now
        if before is not None and before.line.route:
            self._replace(before, route)
        caller.allowance = self._shares.allowance(identity.owner)
        if before is not None and before.playing:
            caller.guest = before
            before.take_challenges(hello.challenges)
            before.leaving = False  # it says so again, or was started again
            before.line.come_back(route)
            self._journal.tell("back", bot=before.name, address=caller.address, **_session(hello.session))
            return
        if before is not None:
            self.forget(before, "another connection took its place")
        line = Line(self.send, self._lateness, self._bounds.lag)
        guest = caller.guest = self.guests[identity.seat] = Guest(identity, frozenset(hello.games), line)
        guest.take_challenges(hello.challenges)
        line.come_back(route)
        self._tasks.run("welcome", self._welcome(guest, caller.address, hello.session))

    def _why_it_rests(self, identity: Identity, left: float) -> str:
        times = self.rests.row(identity.key)
        why = f"it forfeited or left {times} games in a row"
        return f"{identity.name} rests for {math.ceil(left)} s: {why}; come back then"

    def _replace(self, guest: Guest, route: bytes) -> None:
        """The newer connection wins; on the same one a bot was started anew."""
        old = guest.line.route
        guest.line.lose()
        if old != route:
            if caller := self._callers.get(old):
                caller.guest, caller.refused = None, True
            self._journal.tell("replaced", bot=guest.name)
            self._say_bye(old, f"{REPLACED}: another connection of {guest.name} took its place")

    async def _welcome(self, guest: Guest, address: str, session: str) -> None:
        """Ask it what it is."""
        try:
            guest.met(await meet(guest.line, guest.party, self._budgets))
        except CannotStart as error:
            if self.guests.get(guest.identity.seat) is guest:
                self._journal.tell("refused", "start", bot=guest.name, reason=str(error))
                self.dismiss(guest, str(error))
            return
        except Exception:
            self.dismiss(guest, "internal error: the server's log says more")
            raise
        assert guest.player is not None
        said = {"program": guest.player.party.program, "address": address, **_session(session)}
        self._journal.tell("joined", bot=guest.name, owner=guest.identity.owner, **said)
        self._changed(guest)

    # -- who goes ----------------------------------------------------------------------------------------------------

    def _lost(self, guest: Guest) -> None:
        guest.line.lose()
        self._journal.tell("gone", bot=guest.name, playing=guest.playing)
        if not guest.playing:
            self.forget(guest, "its connection was lost")
            return
        grace, away = self._bounds.grace, guest.line.away
        asyncio.get_running_loop().call_later(grace, self._give_up, guest, away)

    def _give_up(self, guest: Guest, away: float) -> None:
        if guest.line.away == away and self.guests.get(guest.identity.seat) is guest:
            grace = self._bounds.grace
            self.forget(guest, f"network: its connection was lost and it did not come back within {grace:g} s")

    def forget(self, guest: Guest, reason: str) -> None:
        """It is not here any more."""
        if self.guests.get(guest.identity.seat) is guest:
            del self.guests[guest.identity.seat]
        if caller := self._callers.get(guest.line.route):
            caller.guest, caller.refused = None, True
        guest.line.end(reason)
        self._changed(guest)

    def _refuse(self, route: bytes, caller: Caller, word: str, reason: str, lasting: bool = False) -> None:
        """End the connection of a bot that breaks a rule, with the reason. A bot at a table may come back to it, unless
        time changes nothing (`lasting`)."""
        caller.refused = True
        who = caller.guest.name if caller.guest else caller.address
        self._journal.trouble(time.monotonic(), "refused", word, who, reason=reason, address=caller.address)
        self._say_bye(route, f"{REFUSED}: {reason}" if lasting else reason)
        if caller.guest and caller.guest.line.route == route:
            self._lost(caller.guest)
        caller.guest = None

    def _say_bye(self, route: bytes, reason: str) -> None:
        self.door.send(route, b"B", [printable(reason, 1000).encode()])
        self._cut_soon(route)

    def _cut_soon(self, route: bytes) -> None:
        asyncio.get_running_loop().call_later(_LAST_WORDS, self._cut, route)

    def _cut(self, route: bytes) -> None:
        self._callers.pop(route, None)
        self.door.cut(route)

    def _admit_again(self) -> None:
        """End the connections of keys that were revoked or have expired: bots, also in a match, and orders."""
        for route, caller in list(self._callers.items()):
            if caller.author is not None and not caller.refused:
                try:
                    self._admission.author(caller.user)
                except NotAdmitted as refused:
                    self._refuse(route, caller, refused.word, str(refused), refused.lasting)
            if guest := caller.guest:
                try:
                    self._admission.identify(caller.user, Hello(guest.name))
                except NotAdmitted as refused:
                    self._journal.tell("refused", refused.word, bot=guest.name, reason=str(refused))
                    self.dismiss(guest, f"{REFUSED}: {refused}" if refused.lasting else str(refused))

    async def _check_keys(self) -> None:
        while True:
            await asyncio.sleep(_CHECK_KEYS)
            if self._admission.changed():
                self._admit_again()

    async def _check_connections(self) -> None:
        """Connections that say nothing, or not who they are, are ended."""
        size, looked = 0, 0.0
        while True:
            await self.door.lull(_SWEEP, _GROWN)
            now = time.monotonic()
            self.door.cut_silent(self._bounds.hello)
            # Whoever stuffs makes us grow; a look at everybody takes time. What comes during it counts for the next.
            has = resident()
            if abs(has - size) >= _GROWN or now - looked >= _LONGEST:
                await self.door.cut_stuffed(_STUFFED, _STUFFED_IN_ALL, now - looked)
                size, looked = has, now
            for why, times in self.door.refused.items():
                self._journal.trouble(now, "refused", why.word, "", times, reason=why.reason)
            self.door.refused.clear()
            self._shares.forget({one.identity.owner for one in self.guests.values()}, now)
            silent = [one for one in self._callers.items() if one[1].silent(self._bounds.hello, now)]
            for route, caller in silent:
                self._refuse(route, caller, "silent", "no hello, or no order, in time")


def _session(said: str) -> dict[str, str]:
    """For the log: which process of a bot it says to be. It proves nothing."""
    return {"session": said} if said else {}
