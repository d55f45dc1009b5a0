"""A thousand bots at once: all of them play, and none is refused or at fault."""

from pathlib import Path

import pytest

from tests.bench.lobby import BOTS, build, idle, play
from tests.support.lobby_server import LobbyProcess, lobby_file


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
