"""A thousand bots at once: all of them play, nobody is refused or at fault, and an idle one costs little memory."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.bench.lobby import memory
from tests.dialled_bots import Bots
from tests.lobby_server import Server, lobby_file

BOTS = 1000


@pytest.mark.long
def test_a_thousand_bots_play_at_once(tmp_path: Path) -> None:
    server = Server(lobby_file(tmp_path, "hello = 600\ndrain = 0", "openings = 4", "600+60"))
    program = [sys.executable, "-m", "tests.paced_bots", server.url, str(BOTS), "0.2", "60"]
    said = json.loads(subprocess.run(program, stdout=subprocess.PIPE, check=True).stdout)
    assert said["byes"] == 0 and said["moves"] > 0
    assert len(server.events("joined")) == BOTS
    games = [one for one in server.events("game") if one["word"] == "rules"]
    assert games and not server.events("refused", "unplayable", "fault")
    assert not [one for one in server.events("void") if one["word"] == "engine_failed"]
    assert server.end().status == 0


@pytest.mark.long
def test_an_idle_bot_costs_little_memory(tmp_path: Path) -> None:
    file = lobby_file(tmp_path, "hello = 600")
    file.write_text(file.read_text().replace("pairing = 0.05", "pairing = 3600"))
    server = Server(file)
    time.sleep(5)  # the first look at who is idle, which is the last
    before = memory(server.process.pid)
    bots = Bots(server.url, *(f"bot-{number}" for number in range(BOTS)))
    server.wait_for("joined", BOTS)
    each = (memory(server.process.pid) - before) / BOTS
    bots.cut()
    assert server.end().status == 0
    assert each <= 60, f"{each:.1f} KiB"
