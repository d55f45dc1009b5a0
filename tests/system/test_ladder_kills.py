"""Nothing is lost: the whole process tree of a running ladder is killed at random instants, and it goes on each time.

At the end every scheduled game is there exactly once, every chain is whole, and games and ratings are those of an
undisturbed run. A match that was being played at a kill goes on from its last ply with bots that are started again; all
that these bots draw, chaos bots their faults too, follows from the seed of the match and the ply.
"""

import os
import random
import signal
import time
from pathlib import Path

import pytest

from ggp.referee.ladder.store.model import FormatKind, StoreError
from tests.support.chaos import chaos_command
from tests.support.cli import Ggp, ggp, wait_until
from tests.support.ladders import check_whole, elos, open_store, results, write_ladder

pytestmark = pytest.mark.slow

HEAD = """\
seed = 7
[budget]
quit = 0.2
grace = 0.2
[pool.main]
game = "yugo,size=4"
control = "none"
openings = 1
[pool.other]
game = "laido,size=2"
control = "none"
"""
BOTS = (
    "random",
    "greedy:playouts=2",
    chaos_command("fault=any,ms=20"),
    "random:seed=3",
    f'command = "{chaos_command("fault=crash,move=3,game=5")}"\nrestart = true',
    chaos_command("fault=crash,when=start"),
    chaos_command("fault=refuse,when=new"),
)

MOST_AHEAD = 8
"""Matches of one pool that one run may have played and the other not: two pairs for each of two jobs."""


def test_killed_again_and_again(tmp_path: Path) -> None:
    _prove(tmp_path, kills=5)


@pytest.mark.long
def test_killed_two_hundred_times(tmp_path: Path) -> None:
    _prove(tmp_path, kills=200)


def _prove(folder: Path, kills: int) -> None:
    chance = random.Random(kills)
    (folder / "disturbed").mkdir()
    (folder / "quiet").mkdir()
    disturbed = write_ladder(folder / "disturbed", *BOTS, head=HEAD)
    quiet = write_ladder(folder / "quiet", *BOTS, head=HEAD)
    grown = 0
    for _ in range(kills):
        before = _matches(disturbed)
        _kill_while_running(disturbed, chance)
        grown += _matches(disturbed) > before
    assert grown > kills / 4, "the kills were to come while games were being stored"
    games = str(_enough_for_all(disturbed))
    for file in (disturbed, quiet):
        ran = ggp("ladder", "run", str(file), "--games", games, "--json", seconds=1200)
        assert ran.status == 0, ran.err
        check_whole(file)
    # Which pool gets the last pairs depends on when results arrive, so one run may be a few pairs ahead in a pool.
    for pool in ("main", "other"):
        ours, theirs = _results_by_pair(disturbed, pool), _results_by_pair(quiet, pool)
        both = sorted(ours.keys() & theirs.keys())
        assert len(both) >= max(len(ours), len(theirs)) - MOST_AHEAD
        assert {pair: ours[pair] for pair in both} == {pair: theirs[pair] for pair in both}
        assert not [pair for pair in ours.keys() ^ theirs.keys() if pair < both[-MOST_AHEAD]]
        if ours.keys() == theirs.keys():
            assert elos(disturbed, pool) == pytest.approx(elos(quiet, pool), abs=1e-6)


def _results_by_pair(file: Path, pool: str) -> dict[tuple[int, ...], tuple[str, int, str, str, int]]:
    """Every stored match of the pool by the numbers of its pair and game."""
    return {tuple(map(int, key.split("-")[-2:])): result for key, result in results(file, pool).items()}


def _kill_while_running(file: Path, chance: random.Random) -> None:
    """Start it; after a random while kill every process of it at once, as a power cut would."""
    running = Ggp("ladder", "run", str(file), "--quiet", "--jobs", "2")
    before, until = _matches(file), time.monotonic() + 60
    if chance.random() < 0.8:  # else: anywhere, its start too
        while _matches(file) == before and time.monotonic() < until:
            time.sleep(0.01)
    time.sleep(chance.uniform(0, 0.4))
    tree = [running.process.pid, *_descendants(running.process.pid)]
    for pid in tree if chance.random() < 0.5 else tree[:1]:  # or its first process alone: the others must end
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    running.process.communicate(timeout=120)
    wait_until(lambda: not running.running())


def _descendants(pid: int) -> list[int]:
    """Of a process, parents first."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(folder.name))
    found = list(children.get(pid, ()))
    for one in found:  # grows meanwhile
        found += children.get(one, ())
    return found


def _matches(file: Path) -> int:
    """That are stored, void ones included."""
    try:
        with open_store(file) as store:
            totals = store.totals()
            return totals.games + totals.void
    except StoreError:  # it is not there yet
        return 0


def _enough_for_all(file: Path) -> int:
    """So many games that each pool plays all that was ever issued in it, so that both runs play the same."""
    with open_store(file) as store:
        issued = [store.past(pool.id, FormatKind.LADDER).issued for pool in store.pools()]
        return 2 * max(issued) * len(issued)
