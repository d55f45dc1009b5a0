"""Bots of one C program, long: a thousand play at once, and the memory of a lobby reaches a plateau.

It grows until the cache of the store is full (32 MiB, about 9,000 games here) and every two bots have met.
`GGP_TEST_GAMES=20000` plays more games. Prints the memory along the way.
"""

import os
import subprocess
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.bench.lobby import BOTS, build, idle, play
from tests.bench.measure import memory, metric
from tests.support.lobby_server import LobbyProcess, lobby_file

GAMES = int(os.environ.get("GGP_TEST_GAMES", 12_000))
FEW = 40  # bots
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
        [build(tmp_path), str(urlsplit(server.url).port), str(FEW), "4000", str(PATIENCE)], stdout=subprocess.DEVNULL
    )
    seen: list[tuple[int, int]] = []  # games, KiB
    try:
        until = time.monotonic() + PATIENCE
        while (not seen or seen[-1][0] < GAMES) and time.monotonic() < until:
            games = int(metric(page, "ggp_games_total"))
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


@pytest.mark.long
def test_a_thousand_bots_play_at_once(tmp_path: Path) -> None:
    file = lobby_file(tmp_path, "hello = 600\ndrain = 0", "openings = 4", "600+60")
    file.write_text(file.read_text(encoding="utf-8").replace("size=5", "size=9"), encoding="utf-8")
    server = LobbyProcess(file)
    said = play(build(tmp_path), server.url, BOTS, 1000, 30)
    assert said["byes"] == 0 and said["moves"] > 0
    assert len(server.events("joined")) == BOTS
    games = [one for one in server.events("game") if one["word"] == "rules"]
    assert games and not server.events("refused", "unplayable", "fault")
    assert not [one for one in server.events("void") if one["word"] == "engine_failed"]
    assert server.end().status == 0


@pytest.mark.long
@pytest.mark.parametrize("keys", [False, True])
def test_an_idle_bot_costs_little_memory(tmp_path: Path, keys: bool) -> None:
    each = idle(tmp_path / "lobby", BOTS, keys)
    assert each <= 60, f"{each:.1f} KiB"
