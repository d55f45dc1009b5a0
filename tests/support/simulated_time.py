"""An event loop with simulated time, which passes only when every task waits, and distant bots in it.

A match takes hours of the loop and milliseconds of ours. No sockets, no processes.
"""

import asyncio
import selectors
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ggp.engines.registry import Registry
from ggp.engines.service import make_responder
from ggp.engines.session import Session
from ggp.protocol.connection import PeerRole
from ggp.protocol.records import Chain, Event, Party, Record, read_records
from ggp.protocol.responder import Responder
from ggp.referee.match.clock import TimeControl
from ggp.referee.match.engine import Engine
from ggp.referee.match.match import Match, play_match
from ggp.referee.match.outcome import Outcome
from ggp.referee.match.player import meet
from ggp.referee.match.setting import Setting, Timeouts
from ggp.referee.server.lobby.remote_bot import Lateness, RemoteBot
from tests.support.memory_match import MemoryPeer

BUDGETS = Timeouts()
T = TypeVar("T")
_NEXT = 1e-7  # seconds between two things in order: timers of one instant go off in any
START = 1e7  # far from the clock of the machine: where one is taken for the other, tests fail


class _Jump(selectors.SelectSelector):
    """Waits for nothing but time, which it passes."""

    loop: "SimulatedLoop"

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "every task waits for ever"
        self.loop.at += timeout
        return super().select(0)


class SimulatedLoop(asyncio.SelectorEventLoop):
    """`at`: seconds; adding to it in a callback makes the loop stand still for so long."""

    def __init__(self) -> None:
        self.at = START
        selector = _Jump()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self.at


def run(play: Callable[[SimulatedLoop], Coroutine[Any, Any, T]]) -> T:
    """The result of a coroutine in a loop of its own."""
    loop = SimulatedLoop()
    try:
        return loop.run_until_complete(asyncio.wait_for(play(loop), 1e6))
    finally:
        loop.close()


@dataclass
class DistantBot:
    """A bot at the end of a Line. All in seconds: `way` there and back, `think` a genmove, `dally` any other answer.

    It answers one command after the other. `heard` is each line with when it came; `clocks`, of each move that came
    back, the last clock that came before it, and when; `unasked`: answers without a question.
    """

    loop: SimulatedLoop
    make: Callable[[], Responder]
    lateness: Lateness
    cap: float = 0.1
    way: float | Callable[[], float] = 0.0
    think: float | Callable[[], float] = 0.0
    dally: float = 0.0
    connection: int = 0
    heard: list[tuple[float, str]] = field(default_factory=list)
    clocks: list[tuple[float, str]] = field(default_factory=list)
    unasked: int = 0
    refused: Callable[[str], object] = lambda reason: None

    def __post_init__(self) -> None:
        self.line = RemoteBot(self._send, self.lateness, self.cap)
        self._asked: deque[tuple[float, str]] = deque()  # for each answer on its way, the last clock before
        self._free = 0.0  # when it has answered all that it heard
        self._clock = 0.0, ""
        self._arrived = {0: 0.0, 1: 0.0}  # the last thing there, and back: nothing overtakes
        self.connect()

    def connect(self) -> None:
        """On a new connection, as a program that knows nothing of before."""
        self.connection += 1
        self._responder, self._free = self.make(), 0.0
        self._asked.clear()
        self.line.come_back(b"%d" % self.connection)

    def cut(self) -> None:
        self.connection += 1
        self.line.lose()

    def _send(self, route: bytes, kind: bytes, payloads: Sequence[bytes]) -> bool:
        for payload in payloads:
            self._later(0, payload, self._hear)
        return True

    def _later(self, direction: int, data: bytes, what: Callable[[int, bytes], None]) -> None:
        half = (self.way() if callable(self.way) else self.way) / 2
        self._arrived[direction] = when = max(self._arrived[direction] + _NEXT, self.loop.at + half)
        self.loop.call_at(when, what, self.connection, data)

    def _hear(self, connection: int, data: bytes) -> None:
        if connection != self.connection:
            return
        line = data.decode().strip().lstrip("0123456789 ")
        self.heard.append((self.loop.at, line))
        asked = "genmove" in line
        self._asked.append(self._clock if asked else (0.0, ""))
        if line.startswith("ggp-clock"):
            self._clock = self.loop.at, line
        took = (self.think() if callable(self.think) else self.think) if asked else self.dally
        self._free = max(self._free + _NEXT, self.loop.at) + took
        self.loop.call_at(self._free, self._answer, connection, data)

    def _answer(self, connection: int, data: bytes) -> None:
        if connection != self.connection:
            return
        self._responder.receive(data)
        answer = self._responder.next_answer()
        assert answer is not None
        self._later(1, answer, self._arrive)

    def _arrive(self, connection: int, answer: bytes) -> None:
        if connection == self.connection:
            if (clock := self._asked.popleft())[1]:
                self.clocks.append(clock)
            if not self.line.on_answer(answer, self.loop.at):
                self.unasked += 1
                self.refused(self.line.unlike)


@dataclass
class DistantMatch:
    """A match between two bots far away: `outcome` and `record` afterwards."""

    loop: SimulatedLoop
    lateness: Lateness
    bots: Sequence[DistantBot]
    control: str = "10+0.1"
    lines: list[bytes] = field(default_factory=list)
    outcome: Outcome | None = None

    async def play(self) -> "DistantMatch":
        engine = Engine(MemoryPeer(make_responder(Session(Registry())), PeerRole.ENGINE), "memory", BUDGETS)
        await engine.start()
        first, second = [await meet(bot.line, Party(name="far"), BUDGETS) for bot in self.bots]
        for bot in self.bots:
            bot.line.begin_match()
        setting = Setting("yugo", {"size": "5"}, {}, TimeControl.parse(self.control))
        match = Match("far-1", setting, 50, 1000, 1, (), "test")
        self.outcome, _ = await play_match(match, engine, (first, second), self._emit)
        return self

    @property
    def record(self) -> Record:
        (record,) = read_records(self.lines)
        return record

    def charged(self, seat: int) -> list[int]:
        """ms of each move of a seat."""
        return [ply.ms for ply in self.record.plies if ply.seat == seat]

    def _emit(self, event: Event) -> None:
        self.lines.append(self._chain.line(event))

    def __post_init__(self) -> None:
        self._chain = Chain()
