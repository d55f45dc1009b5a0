"""The gallery as a whole: publishes what the lobby's files tell of the matches, and answers who missed something.

It only reads: nothing that happens here, or to it, reaches a match.
"""

import asyncio
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from pathlib import Path

import msgspec

from protocol.spectating import (
    DROPPED,
    LADDER,
    LISTED,
    MATCH,
    PAGE,
    Begun,
    CaughtUp,
    Over,
    Published,
    Request,
    State,
    Unknown,
    publish,
    publish_line,
    read_request,
    topic_of,
)
from referee.background import BackgroundTasks, Report
from referee.gallery.changes import Changes
from referee.gallery.matches import Change, Matches
from referee.gallery.shelf import Shelf
from referee.gallery.stage import Stage

GATHER = 0.02  # seconds in which changes wait for others: a spectator does not see them, and the cost is shared
LOOK = 0.25  # seconds between looks where the kernel does not tell of changes
REMEMBERED = 500  # news of the ladder, for whoever missed some
PENDING = 4  # questions of one connection
OCTETS = 256 * 1024  # bytes of one answer
RATE = 4 * 1024 * 1024  # bytes of answers a second, all in all
_FIRST = 10**8  # the numbers of a ladder's news begin somewhere below: so one of another run is hardly taken for ours


class Gallery:
    """Of the ladder of this name. `open_stage` binds the socket, and is given us. Raises AddressError. `report`: see
    BackgroundTasks."""

    def __init__(
        self, ladder: str, folder: Path, shelf: Shelf, open_stage: Callable[["Gallery"], Stage], report: Report
    ) -> None:
        self._ladder, self._shelf, self._report = ladder, shelf, report
        self._run, self._seq = secrets.token_hex(4), 1 + secrets.randbelow(_FIRST)
        self._stage: Stage | None = None
        self._news: deque[Begun | Over] = deque(maxlen=REMEMBERED)
        self._changes = Changes(folder)  # before the first look, so that nothing is missed
        self._matches = Matches(folder)
        self._waiting: OrderedDict[int, deque[Request]] = OrderedDict()  # by connection, whose turn is next first
        self._some = asyncio.Event()
        self._tasks = BackgroundTasks(report)
        self._missed = False  # the last look failed: the next one is at all files
        self._look(None)
        self._stage = open_stage(self)

    @property
    def stage(self) -> Stage:
        assert self._stage is not None
        return self._stage

    def open(self) -> None:
        """In the running loop."""
        loop = asyncio.get_running_loop()
        self.stage.open()
        self._tasks.keep("answers", self._answer_all)
        if self._changes.descriptor >= 0:
            loop.add_reader(self._changes.descriptor, self._changed)
            loop.call_soon(self._take_changes)
        else:
            self._tasks.keep("matches", self._look_again_and_again)

    async def close(self) -> None:
        """After a last look, whose news have a moment to leave."""
        if self._changes.descriptor >= 0:
            asyncio.get_running_loop().remove_reader(self._changes.descriptor)
        await self._tasks.close()
        self._look(None)
        await self.stage.close(linger=0.3)
        self._changes.close()
        self._matches.close()
        self._shelf.close()

    # -- what happens ------------------------------------------------------------------------------------------------

    def _changed(self) -> None:
        """Let some more come, and the writer not wake us for each."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._changes.descriptor)
        loop.call_later(GATHER, self._take_changes)

    def _take_changes(self) -> None:
        if self._changes.descriptor >= 0:
            names, missed, self._missed = self._changes.read(), self._missed, True
            try:
                self._look(None if missed else names)
                self._missed = False
            finally:  # whatever was wrong with one look, there is a next one
                asyncio.get_running_loop().add_reader(self._changes.descriptor, self._changed)

    async def _look_again_and_again(self) -> None:
        while True:
            await asyncio.sleep(LOOK)
            self._look(None)

    def _look(self, names: set[str] | None) -> None:
        for change in self._matches.look(names):
            if change.begun:
                self._tell(Begun(seq=self._seq, run=self._run, head=change.head))
            if change.events:
                topic = topic_of(MATCH, change.match)
                for event in change.events:
                    self._publish(topic, msgspec.msgpack.encode(event))
            if change.over:
                self._over(change)

    def _over(self, change: Change) -> None:
        result, winner, termination = "", 0, DROPPED
        if change.lines:
            self._shelf.put(change.match, change.lines)
            end = change.events[-1]
            result, winner, termination = end["result"], end["winner"], end["termination"]
        self._tell(
            Over(
                seq=self._seq,
                run=self._run,
                head=change.head,
                result=result,
                winner=winner,
                termination=termination,
            )
        )

    def _tell(self, news: Begun | Over) -> None:
        self._seq += 1
        self._news.append(news)
        self._publish(topic_of(LADDER, self._ladder), publish(news))

    def _publish(self, topic: bytes, payload: bytes) -> None:
        if self._stage is not None and self._stage.connections:
            self._stage.publish(topic, payload)

    # -- who missed something ----------------------------------------------------------------------------------------

    def subscribed(self, connection: int, topic: bytes) -> None:
        request = read_request(topic)
        if request is not None:
            waiting = self._waiting.setdefault(connection, deque())
            if len(waiting) < PENDING:  # he asks again if he means it
                waiting.append(request)
                self._some.set()

    def unsubscribed(self, connection: int, topic: bytes) -> None:
        """He waits for that answer no more; his turn is kept, for where many ask he asks again before it comes."""
        if waiting := self._waiting.get(connection):
            self._waiting[connection] = deque(one for one in waiting if one.topic != topic)

    def left(self, connection: int) -> None:
        self._waiting.pop(connection, None)

    async def _answer_all(self) -> None:
        """One after another, each connection in its turn, at a bounded rate."""
        while True:
            while not self._waiting:
                self._some.clear()
                await self._some.wait()
            connection, waiting = self._waiting.popitem(last=False)
            if not waiting:
                continue
            request = waiting.popleft()
            if waiting:
                self._waiting[connection] = waiting
            began = time.monotonic()
            try:
                sent = await self._answer(request)
            except Exception as error:  # one request must not slow down the others
                self._report("answer", error)
                sent = self._send(request, Unknown(request.name))
            spare = began + sent / RATE - time.monotonic()
            await asyncio.sleep(max(0.0, spare))

    async def _answer(self, request: Request) -> int:
        """How many bytes were sent."""
        if request.kind == LADDER:
            return self._answer_ladder(request)
        found = self._matches.page(request.name, request.number, PAGE, OCTETS)
        if found is None:
            found = await self._shelf.page(request.name, request.number, PAGE, OCTETS)
        if found is None:
            return self._send(request, Unknown(request.name))
        lines, count = found
        for line in lines:
            self.stage.publish(request.topic, publish_line(line))
        return sum(map(len, lines)) + self._send(request, CaughtUp(count))

    def _answer_ladder(self, request: Request) -> int:
        if request.name not in ("", self._ladder):
            return self._send(request, Unknown(request.name))
        if request.number == self._seq:
            return self._send(request, CaughtUp(self._seq))
        sent = sum(self._send(request, news) for news in self._news if news.seq >= request.number)
        heads = tuple(self._matches.heads()[-LISTED:])
        return sent + self._send(request, State(seq=self._seq, run=self._run, ladder=self._ladder, matches=heads))

    def _send(self, request: Request, what: Published) -> int:
        payload = publish(what)
        self.stage.publish(request.topic, payload)
        return len(payload)
