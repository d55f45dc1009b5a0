"""The memory of a lobby reaches a plateau, however many games it has seen.

It grows until the cache of the store is full (32 MiB, about 9,000 games here) and every two bots have met.
`GGP_TEST_GAMES=20000` plays more games. Prints the memory along the way.
"""

import os
import subprocess
import time
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from tests.bench.lobby import build
from tests.bench.measure import memory
from tests.support.lobby_server import LobbyProcess, lobby_file

GAMES = int(os.environ.get("GGP_TEST_GAMES", 12_000))
BOTS = 40
STEPS = 20  # looks at the memory
MOST = 8 * 1024  # KiB that the last quarter of the games may add
PATIENCE = 7200.0  # seconds


@pytest.mark.long
def test_the_memory_of_a_lobby_reaches_a_plateau(tmp_path: Path) -> None:
    file = lobby_file(tmp_path, "hello = 600\ndrain = 0", "openings = 4", "60+1")
    file.write_text(file.read_text(encoding="utf-8").replace("size=5", "size=7"), encoding="utf-8")
    server = LobbyProcess(file, "--metrics", "127.0.0.1:0")
    page = str(server.events("metrics")[0]["url"])
    bots = subprocess.Popen(
        [build(tmp_path), str(urlsplit(server.url).port), str(BOTS), "4000", str(PATIENCE)], stdout=subprocess.DEVNULL
    )
    seen: list[tuple[int, int]] = []  # games, KiB
    try:
        until = time.monotonic() + PATIENCE
        while (not seen or seen[-1][0] < GAMES) and time.monotonic() < until:
            games = _games(page)
            if games >= len(seen) * GAMES / STEPS:
                seen.append((games, memory(server.process.pid)))
                print(f"{games:6} games {seen[-1][1] / 1024:7.1f} MiB", flush=True)
            time.sleep(0.2)
    finally:
        bots.kill()
        bots.wait()
    assert seen[-1][0] >= GAMES
    before = next(kib for games, kib in seen if games >= 3 * GAMES // 4)
    assert seen[-1][1] - before < MOST, seen
    assert server.end().status == 0


def _games(page: str) -> int:
    """How many games the lobby has kept."""
    with urlopen(page, timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return sum(int(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("ggp_games_total{"))
