"""Two connections of one bot, at every stage of its life: the newer one wins, and the match does not notice."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgpack
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bots.random import make_choose
from bots.rng import BotRng
from bots.sdk import Bot
from engines.registry import Registry
from engines.service import make_responder
from engines.session import Session
from protocol.connection import PeerRole
from protocol.records import Event, MatchEnded
from protocol.responder import Responder
from referee.lobby.auth import Admission
from referee.lobby.log import EventLog
from referee.lobby.remote_bot import Lateness
from referee.lobby.sessions import Bounds, Sessions
from referee.play.clock import TimeControl
from referee.play.engine import Engine
from referee.play.match import Match, play_match
from referee.play.setting import Setting, Timeouts
from tests.support.memory_match import MemoryPeer
from tests.support.simulated_time import START, MadeTime, run

WAY, THINK = 0.02, 0.1  # seconds: one way, and for a move


@dataclass
class TwinWire:
    """A connection with a bot behind it, which says hello at once; told goodbye, it resigns with each move."""

    house: "TwinLobby"
    name: str
    route: bytes
    commands: list[str] = field(default_factory=list)
    byes: list[str] = field(default_factory=list)
    asked_after_bye: int = 0

    def __post_init__(self) -> None:
        self._responder = Responder("twin", "1", Bot(make_choose(BotRng(1))).handlers())
        self._free, self._arrived = 0.0, [0.0, 0.0]
        self.told_goodbye = False
        self.house.sessions.on_connect(self.route, 0, "127.0.0.1")
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
        now = self.house.loop.at
        self._free = max(self._free + 1e-7, now + (THINK if b"genmove" in payload else 0))
        self.house.loop.call_at(self._free, self._answer, payload)

    def _answer(self, payload: bytes) -> None:
        self._responder.receive(payload)
        answer = self._responder.next_answer()
        assert answer is not None
        if self.byes and b"genmove" in payload:
            answer = answer.split(b" ")[0] + b" resign\n\n"
        self._say(b"R", answer)

    def _say(self, *frames: bytes) -> None:
        self._later(1, self.house.arrive, self.route, frames)

    def _later(self, direction: int, what: Callable[..., object], *values: object) -> None:
        """After the way; nothing overtakes."""
        self._arrived[direction] = when = max(self._arrived[direction] + 1e-7, self.house.loop.at + WAY)
        self.house.loop.call_at(when, what, *values)


class TwinLobby:
    """A sessions in made time; it is its own router."""

    def __init__(self, loop: MadeTime) -> None:
        self.loop = loop
        self.event_log = EventLog(quiet=True, write=lambda line: None)
        self.wires: dict[bytes, TwinWire] = {}
        self.all: list[TwinWire] = []
        self.refused: dict[str, int] = {}
        lateness = Lateness(loop.time)
        bounds = Bounds(messages=10**6, octets=10**9)  # twelve returns in a second are not what is tested
        self.sessions = Sessions(bounds, Timeouts(), ["yugo"], Admission(), self.event_log, lateness)
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


async def play(house: TwinLobby) -> MatchEnded:
    """One match between ann and bob, from when both are there."""
    while len(house.sessions.ready()) < 2:
        await asyncio.sleep(0.01)
        assert house.loop.at < START + 1000, "nobody is let in"
    bots = [house.sessions.bots[name] for name in ("ann", "bob")]
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

    async def go(loop: MadeTime) -> tuple[TwinLobby, MatchEnded]:
        house = TwinLobby(loop)
        house.dial("bob")
        house.dial("ann")

        def again() -> None:
            if drops:
                house.drop(house.all[-1])
            house.dial("ann")

        for instant in instants:
            loop.call_later(instant, again)
        end = await play(house)
        await asyncio.sleep(10 * WAY)  # what is still on its way then arrives
        return house, end

    house, end = run(go)
    assert end.termination == "rules" and not end.warnings, end
    anns = [wire for wire in house.all if wire.name == "ann"]
    for wire in anns:
        asked = [line for line in wire.commands if "genmove" in line]
        assert len(set(asked)) == len(asked), "with an id there is only one of each"
        assert wire.asked_after_bye == 0
    if not drops:
        assert all(wire.byes[0].startswith("replaced: ") for wire in anns[:-1])
    assert not anns[-1].byes
    refused = {word: count for (event, word), count in house.event_log.counts.items() if event == "refused"}
    assert not refused, refused


@pytest.mark.parametrize(
    "instant",
    [0.0, 0.03, 0.07, 0.15, 0.2, 0.25, 0.3, 0.34, 0.36, 0.41, 0.5, 0.55, 1.0, 1.1],
    ids=lambda instant: f"{instant}s",
)
@pytest.mark.parametrize("drops", [False, True], ids=["both are there", "the older one is lost"])
def test_the_newer_wins_in_the_welcome_idle_in_either_turn_and_the_match_goes_on(instant: float, drops: bool) -> None:
    twins([instant], drops)


def test_the_newer_wins_while_the_one_before_is_still_told_the_match() -> None:
    """Each return takes several ways there and back; the next one comes in the middle of it."""
    twins([2.0 + step * 0.017 for step in range(12)])


def test_two_programs_that_take_the_place_from_each_other_for_seconds_do_not_end_the_match() -> None:
    twins([0.5 + step * 0.05 for step in range(60)])


@settings(max_examples=8, deadline=None)
@example([0.5, 1.0, 2.25, 4.09375, 5.625], False)  # the last comes as the match ends
@given(st.lists(st.floats(0.001, 6.0), max_size=12, unique_by=lambda instant: round(instant, 3)), st.booleans())
def test_the_newer_wins_at_any_instants(instants: list[float], drops: bool) -> None:
    twins(sorted(instants), drops)
