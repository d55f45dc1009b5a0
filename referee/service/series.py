"""The series that clients have played beside a ladder, unrated: owned by the loop, which gives out their matches."""

import zlib
from collections import OrderedDict, deque
from dataclasses import dataclass, field, replace

from protocol.errors import CommandFailed
from referee.play.recorder import Recorder
from referee.play.series import Played, Setup, Tally
from referee.play.worker import ABORTED, REFEREE, Chunk, Work
from referee.service.desk import Series, UnderWay

OPEN = 32  # series at a time
KEPT = 256  # series that are remembered, and matches whose records are


@dataclass(slots=True)
class Order:
    """A series as it was asked for. `tally` is what its record file held already, `left` what it did not."""

    setup: Setup
    left: deque[int]
    tally: Tally = field(default_factory=Tally)
    recorder: Recorder = field(default_factory=lambda: Recorder(None))


@dataclass(slots=True)
class _Open:
    order: Order
    series: Series
    out: dict[str, tuple[int, float]] = field(default_factory=dict)  # keys of the matches given out: number, since when


class Extras:
    """All series of one run of the referee, by the names that their keys begin with."""

    def __init__(self) -> None:
        self.version = 0  # grows with each change
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._over: OrderedDict[str, Series] = OrderedDict()
        self._records: OrderedDict[str, bytes] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._open)

    # -- what clients ask ----------------------------------------------------------------------------------------

    def check(self, name: str) -> None:
        """Whether another series of that name may begin. Raises CommandFailed."""
        if name in self._open or name in self._over:
            raise CommandFailed(f"{name} is such a series already: choose another seed=N")
        if len(self._open) >= OPEN:
            raise CommandFailed(f"{OPEN} series are being played: wait for one, or abort one")

    def begin(self, order: Order) -> str:
        """The name of the series, which is played from now on. Raises CommandFailed."""
        setup, name = order.setup, order.setup.series
        self.check(name)
        order.tally.forget_voids()
        one, two = setup.bots
        self._open[name] = _Open(order, Series(name, setup.setting.game, one.name, two.name, setup.games))
        self._count(self._open[name])
        return name

    def keys(self, key: str) -> list[str]:
        """The matches under way of the series of this name, or the one of this key; [] for another's."""
        if found := self._open.get(key):
            return list(found.out)
        bare = key.partition(".")[0]
        return [bare for one in self._open.values() if bare in one.out]

    def abort(self, key: str) -> None:
        """Give out no more of the series of this name; what is under way of it comes back."""
        if found := self._open.get(key):
            found.order.left.clear()
            found.series = replace(found.series, state=ABORTED, reason="by ggp-abort")
            self._count(found)

    def record(self, key: str) -> bytes | None:
        """Of a match that was played of late, as JSON lines."""
        data = self._records.get(key)
        return None if data is None else zlib.decompress(data)

    def all(self) -> tuple[Series, ...]:
        """The newest last."""
        return (*self._over.values(), *(one.series for one in self._open.values()))

    def under_way(self) -> list[UnderWay]:
        """Every match that was given out."""
        return [
            UnderWay(key, "", *_by_seat(one.order.setup, number), since)
            for one in self._open.values()
            for key, (number, since) in one.out.items()
        ]

    # -- what the loop does --------------------------------------------------------------------------------------

    def work(self, now: float) -> list[Work]:
        """The next match of the series that has fewest under way."""
        waiting = [one for one in self._open.values() if one.order.left]
        if not waiting:
            return []
        one = min(waiting, key=lambda one: len(one.out))
        number = one.order.left.popleft()
        one.out[one.order.setup.key(number)] = number, now
        return [Work(replace(one.order.setup, record=""), (number,))]

    def took(self, chunk: Chunk) -> bool:
        """Count what came back, durable first if it is recorded; whether it was of a series of ours."""
        one = self._open.get(chunk.given[0]) if len(chunk.given) == 1 else None
        if one is None:
            return False
        tally = one.order.tally
        try:
            for facts, record in zip(chunk.played, chunk.records, strict=True):
                self._keep(facts, record)
                one.order.recorder.append(zlib.decompress(record))
            one.order.recorder.commit()
        except OSError as error:
            self._fail(one, f"cannot write the record: {error.strerror}")
        for facts in chunk.played:
            tally.add(facts)
        for refused in chunk.refused:
            if refused.who == REFEREE:
                tally.void += 1
                tally.lasting += 1
                tally.terminations[ABORTED] += 1
            else:
                self._fail(one, f"{refused.who}: {refused.reason}")
        if tally.suspended and one.order.left:
            self._fail(one, ": ".join(tally.suspended))
        one.out.pop(one.order.setup.key(chunk.number), None)
        self._count(one)
        return True

    def lost(self) -> None:
        """The workers are gone: what they had is played again."""
        for one in self._open.values():
            one.order.left.extendleft(sorted((number for number, _ in one.out.values()), reverse=True))
            one.out.clear()

    def close(self) -> None:
        """Nothing more is played: the record files are let go of."""
        for one in list(self._open.values()):
            one.order.left.clear()
            one.out.clear()
            one.series = replace(one.series, state=ABORTED, reason="the referee ended")
            self._count(one)

    def _fail(self, one: _Open, reason: str) -> None:
        one.order.left.clear()
        one.series = replace(one.series, state="failed", reason=reason)

    def _keep(self, facts: Played, record: bytes) -> None:
        self._records[facts.key] = record
        while len(self._records) > KEPT:
            self._records.popitem(last=False)

    def _count(self, one: _Open) -> None:
        """Have the news say how it stands; a series with nothing left is over."""
        self.version += 1
        tally, score = one.order.tally, one.order.tally.bots[0]
        one.series = replace(
            one.series,
            played=tally.games + tally.lasting,
            wins=score.wins,
            draws=score.draws,
            losses=score.losses,
            void=tally.void,
        )
        if one.out or one.order.left:
            return
        if one.series.state == "playing":
            one.series = replace(one.series, state="over")
        one.order.recorder.close()
        del self._open[one.series.key]
        self._over[one.series.key] = one.series
        while len(self._over) > KEPT:
            self._over.popitem(last=False)


def _by_seat(setup: Setup, number: int) -> tuple[str, str]:
    one, two = setup.bots
    return (one.name, two.name) if number % 2 == 0 else (two.name, one.name)
