"""Sessions over real sockets: admission, every refusal with its reason, and replaced connections."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgpack
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ggp.bots.random import make_choose
from ggp.bots.rng import BotRng
from ggp.bots.sdk import Bot
from ggp.engines.registry import Registry
from ggp.engines.service import make_responder
from ggp.engines.session import Session
from ggp.protocol.connection import PeerRole
from ggp.protocol.records import Event, MatchEnded
from ggp.protocol.responder import Responder
from ggp.protocol.transports.keys import new_pair
from ggp.referee.match.clock import TimeControl
from ggp.referee.match.engine import Engine
from ggp.referee.match.match import Match, play_match
from ggp.referee.match.setting import Setting, Timeouts
from ggp.referee.server.lobby.auth import Admission, KeyAuth
from ggp.referee.server.lobby.config import LobbyTable
from ggp.referee.server.lobby.keys import Book, allow, change, now, read, revoke
from ggp.referee.server.lobby.limits import Allowance, KeyedBuckets, network
from ggp.referee.server.lobby.log import EventLog
from ggp.referee.server.lobby.remote_bot import Lateness
from ggp.referee.server.lobby.sessions import Sessions
from ggp.referee.server.lobby.socket import Cut
from tests.support.lobby_server import key_files
from tests.support.memory_lobby import open_lobby, until
from tests.support.memory_match import MemoryPeer
from tests.support.simulated_time import START, SimulatedLoop, run


def hello(name: str, **more: object) -> list[bytes]:
    return [b"H", msgpack.packb({"ggp": 1, "name": name, "games": [], **more})]


async def test_hello_and_handshake() -> None:
    async with open_lobby() as it:
        await it.seat("ann")
        (bot,) = it.sessions.ready()
        assert bot.player and bot.player.party.program == "tester"
        assert bot.identity.owner == "ann" and len(bot.version) == 12
        assert bot.line.way > 0


@pytest.mark.parametrize(
    ("frames", "code", "lasting"),
    [
        ([b"R", b"=\n\n"], "stranger", False),
        ([b"H", b"\xc1"], "msgpack", False),
        ([b"H", b"\x81" * 60_000], "msgpack", False),
        ([b"X", b""], "kind", False),
        ([b"H"], "frames", False),
        ([b"H"] * 50, "frames", False),
        (hello("a", ggp=9), "version", True),
        (hello("a b"), "name", True),
        (hello("engine"), "name", True),
        (hello("a", games=["chess"]), "games", True),
    ],
)
async def test_invalid_first_message_is_refused(frames: list[bytes], code: str, lasting: bool) -> None:
    async with open_lobby() as it:
        caller = it.call()
        caller.say(*frames)
        assert (await caller.bye()).startswith("refused: ") is lasting
        assert it.event_log.counts["refused", code] == 1
        await until(lambda: it.router.connections == 0)


async def test_newer_connection_replaces_the_older() -> None:
    async with open_lobby() as it:
        older = await it.seat("ann")
        newer = it.call()
        newer.hello("ann")
        await until(lambda: bool(older.byes), older, newer)
        assert older.byes == ["replaced: another connection of ann took its place"]
        await until(lambda: it.router.connections == 1 and len(it.sessions.ready()) == 1, newer)
        assert not newer.byes


async def test_lost_connection_is_noticed_and_the_bot_may_return() -> None:
    async with open_lobby() as it:
        ann = await it.seat("ann")
        ann.socket.close(linger=0)
        await until(lambda: not it.sessions.bots)
        await it.seat("ann")


async def test_traffic_of_an_owner_is_counted_over_its_connections() -> None:
    async with open_lobby() as it:
        ann = await it.seat("ann")
        (before,) = it.sessions._connections.values()
        ann.socket.close(linger=0)
        await until(lambda: not it.sessions.bots)
        await it.seat("ann")
        (after,) = it.sessions._connections.values()
        assert after is not before and after.allowance is before.allowance


async def test_session_of_a_hello_is_logged() -> None:
    async with open_lobby() as it:
        told: list[dict[str, object]] = []
        it.event_log.log = lambda event, word="", **fields: told.append({"event": event, **fields})  # type: ignore[method-assign]
        ann = it.call()
        ann.hello("ann", session="5f2a")
        await until(lambda: len(it.sessions.ready()) == 1, ann)
        assert [one["session"] for one in told if one["event"] == "joined"] == ["5f2a"]


async def test_connections_from_an_address_are_limited() -> None:
    async with open_lobby(arrivals=0.5) as it:
        ann = await it.seat("ann")
        callers = [it.call() for _ in range(8)]
        await until(lambda: it.router.refused[Cut.ADDRESS] + it.event_log.counts["refused", "address"] >= 6, ann)
        assert it.router.connections <= 3 and [bot.name for bot in it.sessions.ready()] == ["ann"]
        assert not ann.byes and len(callers) == 8


def test_arrivals_are_counted_by_ipv4_address_or_ipv6_network() -> None:
    same = (
        ("10.0.0.1", "::ffff:10.0.0.1"),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9"),
        ("::ffff:127.0.0.1", "127.0.0.1"),
    )
    assert all(network(one) == network(other) for one, other in same)
    others = "10.0.0.1", "10.0.0.2", "2001:db8:1:2::1", "2001:db8:1:3::1", "fe80::1%eth0", "::1"
    assert len(set(map(network, others))) == len(others)
    assert network("::1") == "::1"


def test_only_so_many_addresses_are_remembered() -> None:
    few = KeyedBuckets(1, 5, 10)
    assert [few.try_consume("10.0.0.1", 0) for _ in range(6)] == [True] * 5 + [False]
    assert few.try_consume("10.0.0.2", 0) and few.try_consume("10.0.0.1", 2)
    assert [few.try_consume(f"10.0.1.{number}", 2) for number in range(10)] == [True] * 10
    assert len(few) == 10 and [few.try_consume("10.0.0.1", 2) for _ in range(6)] == [True] * 5 + [False]


def test_refused_arrivals_do_not_count_against_the_limit() -> None:
    """Bots kept out by a flood from their own address try again; refused tries must not keep them out for ever."""
    few = KeyedBuckets(10, 50)
    taken = [few.try_consume("10.0.0.1", number / 1000) for number in range(20_000)]
    assert sum(taken) == pytest.approx(50 + 200, abs=2)
    assert any(taken[-1000:]), "it is still accepted at the end"


async def test_goodbye_ends_the_session() -> None:
    async with open_lobby() as it:
        ann = await it.seat("ann")
        ann.say(b"B", b"enough for today")
        await until(lambda: not it.sessions.bots, ann)
        assert it.event_log.counts["left", "bye"] == 1


async def test_leaving_bot_finishes_its_game_and_starts_no_other() -> None:
    async with open_lobby() as it:
        ann = await it.seat("ann")
        (bot,) = it.sessions.ready()
        bot.playing = True
        ann.say(b"B", b"leaving: its author ended it")
        ann.say(b"B", b"leaving: its author ended it")
        await until(lambda: bot.leaving, ann)
        assert it.sessions.bots and not ann.byes and it.event_log.counts["left", "leaving"] == 1
        bot.playing = False
        assert it.sessions.ready() == []
        again = it.call()
        bot.playing = True
        again.hello("ann")
        await until(lambda: not bot.leaving, ann, again)
        again.say(b"B", b"leaving: its author ended it")
        await until(lambda: bot.leaving, again)


async def test_leaving_bot_without_a_game_is_dismissed_at_once() -> None:
    async with open_lobby() as it:
        ann = await it.seat("ann")
        ann.say(b"B", b"leaving: its author ended it")
        assert await ann.bye() == "left: closed by client"
        await until(lambda: it.router.connections == 0)
        assert not it.sessions.bots
        await it.seat("ann")


async def test_connection_is_ended_after_its_goodbye() -> None:
    async with open_lobby() as it:
        it.sessions.orders = lambda route, author, line: None
        ann, author = await it.seat("ann"), it.call()
        author.say(b"C", b"name\n")
        await until(lambda: it.router.connections == 2, ann)
        for caller in (ann, author):
            caller.say(b"B", b"enough for today")
        await until(lambda: it.router.connections == 0)


def test_an_allowance_bounds_messages_and_bytes() -> None:
    allowance = Allowance(1, 200, 100.0)
    assert [allowance.consume(0, 100.0) for _ in range(6)] == [True] * 5 + [False], "messages"
    assert allowance.consume(1000, 102.0) and not allowance.consume(1, 102.0), "bytes"
    assert allowance.consume(1, 104.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("frames", "word"),
    [([b"R", b"= D4\n\n"], "unasked"), ([b"C", b"quit\n"], "kind"), ([b"R", b"D4"], "answer")],
)
async def test_forbidden_message_of_a_bot_ends_that_connection_only(frames: list[bytes], word: str) -> None:
    async with open_lobby() as it:
        bob = await it.seat("bob")
        ann = await it.seat("ann", bob)
        ann.say(*frames)
        await ann.bye()
        assert it.event_log.counts["refused", word] == 1
        await until(lambda: it.router.connections == 1)
        assert [bot.name for bot in it.sessions.ready()] == ["bob"] and not bob.byes


async def test_flood_is_ended_and_logged_once() -> None:
    async with open_lobby(LobbyTable(messages=20)) as it:
        ann = await it.seat("ann")
        for _ in range(200):  # fewer than ZeroMQ queues
            ann.say(b"E", b"x")
        await until(lambda: it.event_log.counts["refused", "flood"] == 1, ann)
        await until(lambda: it.router.connections == 0, ann)


async def test_bots_of_an_owner_are_limited() -> None:
    async with open_lobby(LobbyTable(bots=0)) as it:
        caller = it.call()
        caller.hello("ann")
        assert await caller.bye()
        assert it.event_log.counts["refused", "connections"] == 1


async def test_silent_connections_are_ended_and_limited() -> None:
    async with open_lobby(LobbyTable(hello=0.2), connections=3) as it:
        callers = [it.call() for _ in range(6)]
        await until(lambda: it.event_log.counts["refused", "full"] >= 3)
        await until(lambda: it.router.connections == 0)
        assert all(not caller.byes for caller in callers)


async def test_a_message_without_an_end_is_ended() -> None:
    """Frames that announce another one, for ever: ZeroMQ itself would keep them all."""
    greeting = b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(16 + 32)
    ready = b"\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER"
    frame = b"\x01\xff" + b"x" * 255
    async with open_lobby() as it:
        bob = await it.seat("bob")
        _, _, port = it.router.url.rpartition(":")
        reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
        writer.write(greeting)
        await reader.readexactly(len(greeting))
        writer.write(b"\x04" + bytes([len(ready)]) + ready)
        await reader.readexactly(3)  # of its own READY: now it listens to messages
        try:
            for _ in range(200):  # a hundred times the limit
                writer.write(frame * 10_000)
                await writer.drain()
                bob.listen()
        except OSError:
            pass
        await until(lambda: it.event_log.counts["refused", "stuffed"] == 1, bob)
        await until(lambda: it.router.connections == 1, bob)
        writer.close()
        assert [bot.name for bot in it.sessions.ready()] == ["bob"] and not bob.byes


async def test_heartbeats_alone_do_not_end_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    came = 0
    monkeypatch.setattr("ggp.referee.server.lobby.socket.received", lambda descriptor: came)
    async with open_lobby() as it:
        bob = await it.seat("bob")
        for _ in range(500):  # checks
            came += 200  # bytes in 10 s: under CURVE a heartbeat and the answer to one take 90, every 5 s
            await it.router.cut_stuffed(20_000, 10**9, 10.0)
        await until(lambda: it.router.connections == 1, bob)
        assert not it.router.refused
        came += 30_000
        await it.router.cut_stuffed(20_000, 10**9, 10.0)
        assert it.router.connections == 0 and it.router.refused[Cut.STUFFED] == 1


async def test_unfinished_messages_are_bounded_in_total(monkeypatch: pytest.MonkeyPatch) -> None:
    came: dict[int, int] = {}
    monkeypatch.setattr("ggp.referee.server.lobby.socket.received", lambda descriptor: came.get(descriptor, 0))
    async with open_lobby() as it:
        seated = [await it.seat(name) for name in ("ann", "bob", "eve")]
        for number, connection in enumerate(it.router.by_route.values()):
            came[connection.descriptor] = connection.heard + 1000 * (number + 1)
        await it.router.cut_stuffed(5000, 6000, 0.0)
        assert not it.router.refused
        await it.router.cut_stuffed(5000, 5999, 0.0)
        assert it.router.refused[Cut.STUFFED] == 1 and sorted(it.sessions.bots) == ["ann", "bob"]
        assert len(seated) == 3


async def test_no_bot_is_admitted_when_the_lobby_closes() -> None:
    async with open_lobby() as it:
        it.sessions.refuse_newcomers("closing")
        caller = it.call()
        caller.hello("ann")
        assert await caller.bye() == "closing"


# -- keys ------------------------------------------------------------------------------------------------------------


class Keyed:
    """An admission where ann's pair speaks for her bots a and b, and the lines of its log."""

    def __init__(self, folder: Path) -> None:
        self.lines: list[str] = []
        self.pair = key_files(folder, a="ann")["a"]
        self.registry = folder / "keys.json"
        self.change(allow(read(self.registry), "ann", "b", self.pair.public, now()))
        self.admission = KeyAuth(folder / "server.key", self.registry, EventLog(quiet=True, write=self.lines.append))

    def change(self, book: Book) -> None:
        with change(self.registry) as write:
            write(book)


@pytest.fixture
def keyed(tmp_path: Path) -> Keyed:
    return Keyed(tmp_path)


@pytest.mark.slow
async def test_key_identifies_the_owner_and_its_bots(keyed: Keyed) -> None:
    async with open_lobby(admission=keyed.admission) as it:
        mine = it.call(keyed.pair, keyed.admission.pair)
        mine.hello("a")
        await until(lambda: len(it.sessions.ready()) == 1, mine)
        assert it.sessions.ready()[0].identity.owner == "ann"
        forger = it.call(keyed.pair, keyed.admission.pair)
        forger.hello("carl")
        assert (await forger.bye()).startswith("refused: this key speaks for a, b, not for")
        stranger, bare = it.call(new_pair(), keyed.admission.pair), it.call()
        stranger.hello("a")
        bare.hello("a")
        await asyncio.sleep(0.5)
        assert not stranger.byes and not bare.byes and len(it.sessions.ready()) == 1


async def test_each_key_that_is_refused_is_reported_once(keyed: Keyed) -> None:
    """Also if many dial from one address."""
    async with open_lobby(admission=keyed.admission) as it:
        pairs = [new_pair(), new_pair()]
        callers = [it.call(pair, keyed.admission.pair) for pair in pairs * 2]
        await until(lambda: len(keyed.lines) >= 2)
        await until(lambda: it.router.connections == 0, *callers)
    assert all(sum(pair.public in line for line in keyed.lines) == 1 for pair in pairs)


async def test_log_lines_for_unknown_keys_are_bounded(keyed: Keyed) -> None:
    for number in range(1000):
        keyed.admission.log_refusal("10.0.0.1", f"key {number}", "unknown key")
    assert 20 <= len(keyed.lines) <= 21


@pytest.mark.slow
@pytest.mark.parametrize("first", [hello("b"), [b"C", b"name\n"]], ids=["bot", "author"])
async def test_revoked_key_ends_its_connections(keyed: Keyed, first: list[bytes]) -> None:
    async with open_lobby(admission=keyed.admission) as it:
        orders: list[bytes] = []
        it.sessions.orders = lambda route, author, line: orders.append(line)
        mine = it.call(keyed.pair, keyed.admission.pair)
        mine.say(*first)
        await until(lambda: bool(orders or it.sessions.ready()), mine)
        keyed.change(revoke(read(keyed.registry), "ann", now())[0])
        assert (await mine.bye()).startswith("refused: revoked key")
        await until(lambda: not it.sessions.bots and it.router.connections == 0)


# -- Two connections of one bot, at every stage of its life: the newer one wins, and the match does not n --

WAY, THINK = 0.02, 0.1  # seconds: one way, and for a move


@dataclass
class TwinWire:
    """A connection with a bot behind it, which sends hello at once; after a goodbye it resigns with each move."""

    lobby: "TwinLobby"
    name: str
    route: bytes
    commands: list[str] = field(default_factory=list)
    byes: list[str] = field(default_factory=list)
    asked_after_bye: int = 0

    def __post_init__(self) -> None:
        self._responder = Responder("twin", "1", Bot(make_choose(BotRng(1))).handlers())
        self._free, self._arrived = 0.0, [0.0, 0.0]
        self.told_goodbye = False
        self.lobby.sessions.on_connect(self.route, "127.0.0.1")
        self._say(b"H", msgpack.packb({"ggp": 1, "name": self.name, "games": []}))

    def hear(self, kind: bytes, payload: bytes) -> None:
        self._later(0, self._hear, kind, payload)
        self.asked_after_bye += kind == b"C" and self.told_goodbye
        self.told_goodbye |= kind == b"B"

    def _hear(self, kind: bytes, payload: bytes) -> None:
        if kind == b"B":
            self.byes.append(payload.decode())
            return
        self.commands.append(payload.decode().strip())
        now = self.lobby.loop.at
        self._free = max(self._free + 1e-7, now + (THINK if b"genmove" in payload else 0))
        self.lobby.loop.call_at(self._free, self._answer, payload)

    def _answer(self, payload: bytes) -> None:
        self._responder.receive(payload)
        answer = self._responder.next_answer()
        assert answer is not None
        if self.byes and b"genmove" in payload:
            answer = answer.split(b" ")[0] + b" resign\n\n"
        self._say(b"R", answer)

    def _say(self, *frames: bytes) -> None:
        self._later(1, self.lobby.arrive, self.route, frames)

    def _later(self, direction: int, what: Callable[..., object], *values: object) -> None:
        """After the way; nothing overtakes."""
        self._arrived[direction] = when = max(self._arrived[direction] + 1e-7, self.lobby.loop.at + WAY)
        self.lobby.loop.call_at(when, what, *values)


class TwinLobby:
    """A sessions in made time; it is its own router."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self.loop = loop
        self.event_log = EventLog(quiet=True, write=lambda line: None)
        self.wires: dict[bytes, TwinWire] = {}
        self.all: list[TwinWire] = []
        self.refused: dict[str, int] = {}
        lateness = Lateness(loop.time)
        table = LobbyTable(messages=10**6, bytes=10**9)  # twelve returns in a second are not what is tested
        self.sessions = Sessions(table, Timeouts(), ["yugo"], Admission(), self.event_log, lateness)
        self.sessions.router = self  # type: ignore[assignment]

    def dial(self, name: str) -> TwinWire:
        route = b"%d" % len(self.all)
        self.all.append(TwinWire(self, name, route))
        self.wires[route] = self.all[-1]
        return self.all[-1]

    def arrive(self, route: bytes, frames: tuple[bytes, ...]) -> None:
        if route in self.wires:
            self.sessions.on_message(route, "", frames, self.loop.at)

    def drop(self, wire: TwinWire) -> None:
        """The connection is lost, and Sessions is notified."""
        if self.wires.pop(wire.route, None):
            self.sessions.on_disconnect(wire.route)

    # -- a RouterSocket -----------------------------------------------------------------------------------------------

    def send(self, route: bytes, kind: bytes, payloads: Sequence[bytes]) -> bool:
        wire = self.wires.get(route)
        if wire is None:
            return False
        for payload in payloads:
            wire.hear(kind, payload)
        return True

    def cut(self, route: bytes) -> bool:
        return self.wires.pop(route, None) is not None


async def play(lobby: TwinLobby) -> MatchEnded:
    """One match between ann and bob, from when both are there."""
    while len(lobby.sessions.ready()) < 2:
        await asyncio.sleep(0.01)
        assert lobby.loop.at < START + 1000, "no bot is admitted"
    bots = [lobby.sessions.bots[name] for name in ("ann", "bob")]
    engine = Engine(MemoryPeer(make_responder(Session(Registry())), PeerRole.ENGINE), "memory", Timeouts())
    await engine.start()
    events: list[Event] = []
    for bot in bots:
        bot.playing = True
        bot.line.begin_match()
    first, second = (bot.player for bot in bots)
    assert first and second
    match = Match("twin-1", Setting("yugo", {"size": "5"}, {}, TimeControl.parse("600+10")), 50, 500, 1, (), "test")
    await play_match(match, engine, (first, second), events.append)
    for bot in bots:
        bot.line.end_match()
        bot.playing = False
    end = events[-1]
    assert isinstance(end, MatchEnded)
    return end


def twins(instants: list[float], drops: bool = False) -> None:
    """Ann dials again at each of these instants; `drops`: the one before is lost at that moment, too."""

    async def go(loop: SimulatedLoop) -> tuple[TwinLobby, MatchEnded]:
        lobby = TwinLobby(loop)
        lobby.dial("bob")
        lobby.dial("ann")

        def again() -> None:
            if drops:
                lobby.drop(lobby.all[-1])
            lobby.dial("ann")

        dials = [loop.call_later(instant, again) for instant in instants]
        end = await play(lobby)
        for dial in dials:
            dial.cancel()  # one that comes later finds no match
        await asyncio.sleep(40 * WAY)  # what is still on its way then arrives
        return lobby, end

    lobby, end = run(go)
    assert end.termination == "rules" and not end.warnings, end
    anns = [wire for wire in lobby.all if wire.name == "ann"]
    for wire in anns:
        asked = [line for line in wire.commands if "genmove" in line]
        assert len(set(asked)) == len(asked), "with an id there is only one of each"
        assert wire.asked_after_bye == 0
    if not drops:
        assert all(wire.byes[0].startswith("replaced: ") for wire in anns[:-1])
    assert not anns[-1].byes
    refused = {word: count for (event, word), count in lobby.event_log.counts.items() if event == "refused"}
    assert not refused, refused


@pytest.mark.parametrize(
    "instant",
    [0.0, 0.03, 0.07, 0.15, 0.2, 0.25, 0.3, 0.34, 0.36, 0.41, 0.5, 0.55, 1.0, 1.1],
    ids=lambda instant: f"{instant}s",
)
@pytest.mark.parametrize("drops", [False, True], ids=["both are there", "the older one is lost"])
def test_newer_connection_wins_in_handshake_idle_and_in_either_turn(instant: float, drops: bool) -> None:
    twins([instant], drops)


def test_newer_connection_wins_while_the_match_is_replayed() -> None:
    """Each reconnect takes several round trips; the next one comes in the middle of it."""
    twins([2.0 + step * 0.017 for step in range(12)])


def test_two_connections_that_replace_each_other_do_not_end_the_match() -> None:
    twins([0.5 + step * 0.05 for step in range(60)])


@settings(max_examples=8, deadline=None)
@example([0.5, 1.0, 2.25, 4.09375, 5.625], False)  # the last comes as the match ends
@given(st.lists(st.floats(0.001, 6.0), max_size=12, unique_by=lambda instant: round(instant, 3)), st.booleans())
def test_newer_connection_wins_at_any_time(instants: list[float], drops: bool) -> None:
    twins(sorted(instants), drops)
