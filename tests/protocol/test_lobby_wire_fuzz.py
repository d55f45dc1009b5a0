"""Ten million messages that may be wrong: the decoder names a fault or gives a message, and its memory stays put."""

import resource
import time
from random import Random

import pytest

from protocol.lobby_wire import FrameError, LobbyFault, decode
from tests.support.lobby_fuzz import bombs, mutated, seeds

BOMBS = 10  # a thousand messages hold so many of up to 64 KiB


def _fuzz(number: int, seed: int) -> dict[str, int]:
    """Decode so many; how many had which fault, "" for none. Whatever else is raised ends the test."""
    chance, good = Random(seed), seeds()
    found = dict.fromkeys(["", *LobbyFault], 0)
    for _ in range(number // 1000):
        batch = [mutated(chance, good) for _ in range(1000 - BOMBS)] + [bombs(chance) for _ in range(BOMBS)]
        for frames in batch:
            try:
                decode(frames)
                found[""] += 1
            except FrameError as error:
                found[error.fault] += 1
    return found


def test_every_fault_is_met() -> None:
    found = _fuzz(20_000, 1)
    assert sum(found.values()) == 20_000
    assert all(count for fault, count in found.items() if fault != LobbyFault.SIZE), found


@pytest.mark.long
def test_ten_million_messages() -> None:
    _fuzz(100_000, 2)  # what is loaded and grown only once
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    found = _fuzz(10_000_000, 3)
    seconds, grown = time.monotonic() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"{sum(found.values())} messages in {seconds:.0f} s, {sum(found.values()) / seconds:.0f}/s: {found}")
    assert sum(found.values()) == 10_000_000
    assert grown < 32 * 1024, f"the largest resident size grew by {grown} KiB"
