"""A ladder that runs on needs no more memory and no more files: fifty thousand games of bots that answer at once.

How many games a second are played at the end and at the beginning is printed (`pytest -s`), not asserted.
"""

import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pytest

from ggp.referee.ladder.store.model import StoreError
from tests.bench.ladder import write_ladder
from tests.support.cli import Ggp
from tests.support.ladders import check_whole, open_store

GAMES = 50_000


class SoakSample(NamedTuple):
    """Of all processes of a run: seconds, games stored, KiB of memory that is theirs alone, open files."""

    seconds: float
    games: int
    memory: int
    files: int


@pytest.mark.long
def test_memory_and_files_stay_as_they_are(tmp_path: Path) -> None:
    file = write_ladder(tmp_path)
    running = Ggp("ladder", "run", str(file), "--games", str(GAMES), "--quiet")
    samples: list[SoakSample] = []
    began = time.monotonic()
    while running.process.poll() is None:
        time.sleep(0.5)
        if sample := _sample(running, file, time.monotonic() - began):
            samples.append(sample)
    assert running.wait().status == 0
    check_whole(file)
    early = [sample for sample in samples if GAMES / 5 < sample.games <= 2 * GAMES / 5]
    late = [sample for sample in samples if sample.games > 4 * GAMES / 5]
    assert len(early) > 3 and len(late) > 3
    print(f"\ngames/s: {_rate(early):.0f}, at the end {_rate(late):.0f}; KiB: {early[-1].memory}, {late[-1].memory}")
    assert max(one.memory for one in late) < 1.1 * max(one.memory for one in early)
    assert median(one.files for one in late) <= median(one.files for one in early)  # one may be open for a moment


def _rate(samples: list[SoakSample]) -> float:
    return (samples[-1].games - samples[0].games) / (samples[-1].seconds - samples[0].seconds)


def _sample(running: Ggp, file: Path, seconds: float) -> SoakSample | None:
    """None while it begins or ends."""
    memory = files = 0
    try:
        for pid in [running.process.pid, *_children(running.process.pid)]:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
            memory += sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
            files += len(list(Path(f"/proc/{pid}/fd").iterdir()))
        with open_store(file) as store:
            return SoakSample(seconds, store.totals().games, memory, files)
    except (OSError, StoreError):  # a process ended, or the store is not there yet
        return None


def _children(pid: int) -> list[int]:
    """Its workers, not their bots: whether a bot grows is its author's business."""
    words = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    return [int(word) for word in words]
