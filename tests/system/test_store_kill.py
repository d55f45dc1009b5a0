"""A store survives what happens to processes: killed at any instant, two that bring the same."""

import pickle
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ggp.referee.ladder.store.model import FinishedGame, FormatKind
from ggp.referee.ladder.store.store import Store
from tests.support.stores import ladder, match, pairings

pytestmark = pytest.mark.slow

_PROGRAM = [sys.executable, "-m", "tests.support.stores"]
_ADD = """
import pickle, sys
from pathlib import Path
from ggp.referee.ladder.store.store import Store
url, path = sys.argv[1:]
games = pickle.loads(Path(path).read_bytes())
with Store.open(url) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    print(sum(len(store.add(games[start : start + 3])) for start in range(0, len(games), 3)))
"""


@pytest.mark.parametrize("kills", [4, pytest.param(200, marks=pytest.mark.long)])
def test_killed_at_any_instant_nothing_is_lost_or_half_counted(url: str, kills: int) -> None:
    chance, sure = random.Random(kills), 0
    for _ in range(kills):
        sure = _run_and_kill(url, chance.random() * 0.15, sure)
        with Store.open(url) as store:
            assert store.totals().games >= sure, "what was said to be stored is stored"
            (pool,) = store.pools()
            past = store.past(pool.id, FormatKind.TEST)
            assert [pair.number for pair in store.open_pairs(pool.id)] == [
                pair.number for pair, result in past.recent if result is None
            ]
            assert [result.number for result in past.results] == sorted({result.number for result in past.results})
            assert past.issued == 10 * past.batches, "batches are issued whole"
            sure = store.totals().games
    with Store.open(url) as store:
        assert store.check().lines == []
        keys = [row.key for row in store.games()]
        assert len(keys) == len(set(keys)) == sure > 0


def _run_and_kill(url: str, seconds: float, sure: int) -> int:
    """Let a process add games, and kill it so long after its first batch; what it said is stored for certain."""
    with subprocess.Popen([*_PROGRAM, url], stdout=subprocess.PIPE, encoding="utf-8") as running:
        assert running.stdout is not None
        first = running.stdout.readline()
        time.sleep(seconds)
        running.send_signal(signal.SIGKILL)
        *_, last = [first, *(line for line in running.stdout if line.endswith("\n"))]
    assert int(last) > sure, "it goes on where it was"
    return int(last)


def test_two_processes_that_bring_the_same_games_count_them_once(url: str, tmp_path: Path) -> None:
    with Store.open(url, create=True) as store:
        (id,) = store.enrol(ladder()).values()
        pairs = store.issue(id, 0, pairings(store, id, 30))
        names = {seat.id: seat.name for seat in store.seats(id)}
        games: list[FinishedGame] = [
            match(pair, game, names=(names[pair.first], names[pair.second])) for pair in pairs for game in (0, 1)
        ]
        path = tmp_path / "games"
        path.write_bytes(pickle.dumps(games))
        both = [
            subprocess.Popen(
                [sys.executable, "-c", _ADD, url, str(path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
            )
            for _ in range(2)
        ]
        for process in both:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
        for process in both:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        assert sum(int(process.communicate()[0]) for process in both) == 30, "each pair is finished once"
        assert store.totals().games == 60 and store.check().lines == []
