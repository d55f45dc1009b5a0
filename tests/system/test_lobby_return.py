"""Lost connections and killed lobbies: no match is lost, none is decided wrongly, none is there twice."""

import os
import signal
from pathlib import Path

import pytest

from ggp.protocol.records import MatchEnded, Record, read_records
from ggp.referee.ladder.store.store import Store
from tests.support.cli import ggp, wait_until
from tests.support.dialled_bots import DialledBots
from tests.support.lobby_server import LobbyProcess, lobby_file, that_count

pytestmark = pytest.mark.slow

THINK = 0.01


def under_way(folder: Path, plies: int) -> str:
    """The key of a match that has come so far."""
    found: list[str] = []

    def looked() -> bool:
        found[:] = [
            path.stem for path in (folder / "club.live").glob("*.live") if path.read_bytes().count(b"\n") > plies
        ]
        return bool(found)

    wait_until(looked)
    return found[0]


def records(folder: Path) -> dict[str, Record]:
    """All that the store holds, by key, void attempts too; each is whole, and what counts is there once."""
    with Store.open(f"sqlite:///{folder}/club.db") as store:
        rows = list(store.records())
        read = {row.key: next(iter(read_records(lines.splitlines(keepends=True)))) for row, lines in rows}
        assert that_count(row for row, _ in rows)
    assert ggp("ladder", "check", str(folder / "club.db")).status == 0
    return read


def with_tables(file: Path, more: str) -> Path:
    """The file with more tables."""
    file.write_text(f"{file.read_text(encoding='utf-8')}\n{more}", encoding="utf-8")
    return file


def ended(server: LobbyProcess, folder: Path, key: str) -> MatchEnded:
    """How the match ended; the lobby has ended then, too."""
    server.wait_for("game", match=key)
    assert server.end().status == 0
    end = records(folder)[key].end
    assert end is not None
    return end


def test_reconnected_bot_resumes_its_match(tmp_path: Path, dialled: list[DialledBots]) -> None:
    server = LobbyProcess(lobby_file(tmp_path))
    dialled.append(DialledBots(server.url, "bob", think=THINK))
    ann = DialledBots(server.url, "ann", think=THINK)
    key = under_way(tmp_path, 8)
    for _ in range(3):
        ann.cut()
        server.wait_for("gone", bot="ann")
        ann = DialledBots(server.url, "ann", think=THINK)
        server.wait_for("back", bot="ann")
    dialled.append(ann)
    (game,) = server.wait_for("game", match=key)
    assert (game["termination"] if "termination" in game else game["word"]) == "rules", game
    server.end()
    played = records(tmp_path)[key]
    assert played.end and played.end.termination == "rules" and not played.end.warnings


def test_bot_that_does_not_reconnect_loses_by_the_network(tmp_path: Path, dialled: list[DialledBots]) -> None:
    server = LobbyProcess(lobby_file(tmp_path, "grace = 0.5"))
    dialled.append(DialledBots(server.url, "bob", think=THINK))
    ann = DialledBots(server.url, "ann", think=THINK)
    key = under_way(tmp_path, 8)
    ann.cut()
    end = ended(server, tmp_path, key)
    assert end.termination == "disconnected" and end.result.endswith("+F")
    assert "network: its connection was lost and it did not come back within 0.5 s" in end.detail


def test_time_loss_while_away_blames_the_network(tmp_path: Path, dialled: list[DialledBots]) -> None:
    server = LobbyProcess(with_tables(lobby_file(tmp_path, control="0.5+0.1"), "[budget]\nstall = 0.2\n"))
    dialled.append(DialledBots(server.url, "bob"))
    ann = DialledBots(server.url, "ann", think=0.05)
    key = under_way(tmp_path, 4)
    ann.cut()
    end = ended(server, tmp_path, key)
    assert end.termination == "disconnected" and "network: its connection was lost" in end.detail, end


@pytest.mark.parametrize("both", [True, False], ids=["both come back", "one stays away"])
def test_killed_lobby_resumes_its_matches(tmp_path: Path, dialled: list[DialledBots], both: bool) -> None:
    file = lobby_file(tmp_path, "" if both else "grace = 5")
    server = LobbyProcess(file)
    bots = [DialledBots(server.url, name, think=THINK) for name in ("ann", "bob")]
    key = under_way(tmp_path, 10)
    server.kill()
    for one in bots:
        one.cut()
    left = (tmp_path / "club.live" / f"{key}.live").read_bytes().splitlines()
    again = LobbyProcess(file)
    dialled.append(DialledBots(again.url, *(("ann", "bob") if both else ("ann", "cid"))))
    if both:
        again.wait_for("game", match=key)
    else:
        again.wait_for("game", match=key, word="disconnected")
    again.end()
    stored = records(tmp_path)
    if both:
        begun = next(iter(read_records(line + b"\n" for line in left)))
        assert stored[key].start.started == begun.start.started
        assert stored[key].plies[: len(begun.plies)] == begun.plies
        end = stored[key].end
        assert end and end.termination == "rules"
    else:
        record = stored[key]
        assert record.end and (record.end.termination, record.end.winner) == ("disconnected", _seat(record, "ann"))
        assert len(record.plies) == record.end.plies >= 10


def _seat(record: Record, name: str) -> int:
    return [bot.name for bot in record.start.bots].index(name) + 1


def test_match_is_replayed_if_both_bots_stay_away(tmp_path: Path, dialled: list[DialledBots]) -> None:
    server = LobbyProcess(lobby_file(tmp_path))
    bots = [DialledBots(server.url, name, think=THINK) for name in ("ann", "bob")]
    key = under_way(tmp_path, 10)
    server.kill()
    for one in bots:
        one.cut()
    again = LobbyProcess(lobby_file(tmp_path, "grace = 0.5"))
    again.wait_for("void", match=key, word="restart")
    dialled.append(DialledBots(again.url, "ann", "bob"))
    again.wait_for("game", match=key)
    again.end()


@pytest.mark.parametrize(("number", "budget"), [(signal.SIGKILL, ""), (signal.SIGSTOP, "[budget]\ncommand = 0.5\n")])
def test_a_match_goes_on_with_another_engine_when_its_engine_dies_or_is_stuck(
    tmp_path: Path, dialled: list[DialledBots], number: signal.Signals, budget: str
) -> None:
    server = LobbyProcess(with_tables(lobby_file(tmp_path), budget))
    dialled.append(DialledBots(server.url, "ann", "bob", think=THINK))
    key = under_way(tmp_path, 6)
    for pid in server.pids("ggp.engines", "--bind"):
        os.kill(pid, number)
    end = ended(server, tmp_path, key)
    assert end.termination == "rules" and end.result
    replaced = [text for text in end.warnings if text.startswith("the engine was replaced at ply")]
    assert replaced or number == signal.SIGSTOP


def test_match_that_outlasts_the_drain_is_resumed(tmp_path: Path, dialled: list[DialledBots]) -> None:
    server = LobbyProcess(lobby_file(tmp_path, "drain = 0.1"))
    bots = DialledBots(server.url, "ann", "bob", think=THINK)
    key = under_way(tmp_path, 6)
    assert server.end().status == 0
    bots.cut()
    again = LobbyProcess(lobby_file(tmp_path))
    dialled.append(DialledBots(again.url, "ann", "bob"))
    again.wait_for("game", match=key)
    again.end()
    assert key in records(tmp_path)
