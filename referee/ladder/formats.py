"""The formats that are known beforehand: round-robin, gauntlet and test, as a function of who has met how often.

What depends on results is elsewhere: the ladder in pairing.py, swiss in swiss.py, when a test stops in sequential.py.
"""

from collections.abc import Sequence

import numpy as np

from referee.ladder.entries import Format, Kind
from referee.ladder.pairs import Pairing, Seat
from referee.ratings.counts import Ints

LEAST, MOST = 16, 512  # pairs in a batch


def batch_size(format: Format, issued: int, bots: int) -> int:
    """Pairs in the next batch: as the format says, or an eighth of those so far, at least two a bot, within reason."""
    return format.batch or min(MOST, max(LEAST, 2 * bots, issued // 8))


def by_name(seats: Sequence[Seat], name: str) -> Seat | None:
    """The active seat of an entry."""
    return next((seat for seat in seats if seat.active and seat.name == name), None)


def cycles(format: Format, seats: Sequence[Seat], met: Ints, size: int) -> list[Pairing]:
    """Up to `size` pairs of a round-robin or gauntlet: all that are due once come before any that is due again.

    `met` is how often any two were paired. Whoever joins late is thereby caught up with. Seat 1 in the first game
    alternates from cycle to cycle. Versions of one hash never meet.
    """
    one, other = _candidates(format, seats)
    times = met[one, other]
    order = np.lexsort((one, _circle(one, other, len(seats))))
    batch: list[Pairing] = []
    for cycle in range(int(times.min(initial=format.pairs)), format.pairs):
        due = order[times[order] <= cycle][: size - len(batch)]
        for i, j in zip(one[due].tolist(), other[due].tolist(), strict=True):
            first, second = (i, j) if (i + j + cycle) % 2 else (j, i)
            batch.append(Pairing(seats[first].id, seats[second].id))
        if len(batch) >= size:
            break
    return batch


def _candidates(format: Format, seats: Sequence[Seat]) -> tuple[Ints, Ints]:
    """Any two that are to meet, as places among the seats, the lower first."""
    one, other = np.triu_indices(len(seats), 1)
    versions = np.unique([seat.version for seat in seats], return_inverse=True)[1].reshape(-1)
    meet = versions[one] != versions[other]
    if format.kind is Kind.GAUNTLET:
        named = np.array([seat.name in format.bots for seat in seats], dtype=bool)
        meet &= named[one] != named[other]
    return one[meet], other[meet]


def _circle(one: Ints, other: Ints, bots: int) -> Ints:
    """The round in which two meet by the circle method: within a round nobody is needed twice."""
    rounds = bots - 1 + bots % 2
    return np.where(other == rounds, 2 * one, one + other) % max(1, rounds)
