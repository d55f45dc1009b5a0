"""The desk between clients, each in a thread of its own, and the one loop that plays: orders in, news out.

What the loop owns only the loop touches: clients hand it orders, and read the news, which the loop replaces whole.
"""

import math
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from protocol.errors import CommandFailed

if TYPE_CHECKING:
    from referee.ladder.entries import Ladder
    from referee.service.steering import Steering

ORDERS = 64  # that wait for the loop
PATIENCE = 20.0  # seconds that the loop has to begin with an order: it may be waiting for a locked store
T = TypeVar("T")


class State(StrEnum):
    """What a referee does."""

    STARTING = "starting"  # the loop has not begun, and nothing is known of the ladder yet
    RUNNING = "running"
    PAUSED = "paused"  # gives out no pairs of the ladder
    STOPPING = "stopping"  # ends after what is being played
    OVER = "over"  # nothing of the ladder is left to play; or the referee has ended
    IDLE = "idle"  # there is no ladder and nothing else to play


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A pair of a ladder that was given out, or a match of a series; `since` in seconds of CLOCK_MONOTONIC."""

    key: str
    pool: str
    first: str
    second: str
    since: float


@dataclass(frozen=True, slots=True)
class Series:
    """How a series of ggp-match stands. `wins`, `draws`, `losses` of the first bot; `state`: playing, over, aborted,
    or failed."""

    key: str
    game: str
    first: str
    second: str
    games: int
    played: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    void: int = 0
    state: str = "playing"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class News:
    """What clients read. `change` grows with whatever ggp-wait waits for."""

    name: str = ""
    state: State = State.IDLE
    change: int = 0
    stored: int = 0
    games: int = 0
    plies: int = 0
    jobs: int = 0
    began: float = field(default_factory=time.monotonic)
    said: str = ""  # the last message of the run
    ladder: "Ladder | None" = None
    under_way: tuple[UnderWay, ...] = ()
    series: tuple[Series, ...] = ()


class Desk:
    """See the module. Clients call ask and wait, the loop serve and publish."""

    def __init__(self, news: News) -> None:
        self.news = news
        self.closed = False
        self._orders: queue.Queue[tuple[Future[Any], Callable[[Steering], Any]]] = queue.Queue(ORDERS)
        self._changed = threading.Condition()

    # -- clients -------------------------------------------------------------------------------------------------

    def ask(self, order: "Callable[[Steering], T]", patience: float = PATIENCE) -> T:
        """Have the loop do this; what came of it. Raises CommandFailed, and then nothing was done."""
        answer: Future[T] = Future()
        if self.closed:
            raise CommandFailed("the referee has ended")
        try:
            self._orders.put_nowait((answer, order))
        except queue.Full:
            raise CommandFailed(f"{ORDERS} orders are waiting: ask again") from None
        try:
            return answer.result(patience if patience < math.inf else None)
        except TimeoutError:
            if answer.cancel():
                raise CommandFailed("the referee is busy: ask again") from None
            return answer.result()

    def wait(self, until: Callable[[News], bool], seconds: float) -> News:
        """The news once they are so, or after so many seconds, or when the referee ends."""
        with self._changed:
            self._changed.wait_for(lambda: self.closed or until(self.news), seconds)
            return self.news

    # -- the loop ------------------------------------------------------------------------------------------------

    def serve(self, steering: "Steering", seconds: float = 0.0) -> None:
        """Do what was ordered; wait so long for the first."""
        try:
            answer, order = self._orders.get(seconds > 0, seconds or None)
        except queue.Empty:
            return
        _carry_out(answer, order, steering)
        for _ in range(ORDERS):
            try:
                answer, order = self._orders.get_nowait()
            except queue.Empty:
                return
            _carry_out(answer, order, steering)

    def publish(self, news: News) -> None:
        """These are the news now."""
        changed = news.change != self.news.change
        self.news = news
        if changed:
            with self._changed:
                self._changed.notify_all()

    def close(self) -> None:
        """The loop has ended: nobody is left waiting."""
        self.closed = True
        with self._changed:
            self._changed.notify_all()
        while True:
            try:
                answer, _ = self._orders.get_nowait()
            except queue.Empty:
                return
            if answer.set_running_or_notify_cancel():
                answer.set_exception(CommandFailed("the referee has ended"))


def _carry_out(answer: "Future[Any]", order: "Callable[[Steering], Any]", steering: "Steering") -> None:
    if not answer.set_running_or_notify_cancel():
        return  # whoever asked has given up
    try:
        answer.set_result(order(steering))
    except Exception as error:  # it is told to whoever asked; the run goes on
        answer.set_exception(error)
