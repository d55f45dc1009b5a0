"""How busy lobbies end: drained, hurried, killed again and again. No game is lost, and none is there twice."""

import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ggp.protocol.records import Record, read_records
from ggp.referee.ladder.store.store import Store
from tests.support.cli import ggp, wait_until
from tests.support.dialled_bots import DialledBots
from tests.support.lobby_server import LobbyProcess, lobby_file, that_count

MATCHES = 50
KILLS = 15


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where lobbies have their sockets; short, as names of sockets must be."""
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder)


def live(folder: Path) -> dict[str, Record]:
    """The matches that were under way when the lobby ended."""
    found = {}
    for path in (folder / "club.live").glob("*.live"):
        for record in read_records(path.read_bytes().splitlines(keepends=True)):  # none: killed before the first line
            found[path.stem] = record
    return found


def stored(folder: Path, servers: Sequence[LobbyProcess]) -> dict[str, Record]:
    """The stored games, by key. Each game of a pair is there once or still to be played; announced games are there."""
    with Store.open(f"sqlite:///{folder}/club.db") as store:
        (pool,) = store.pools()
        still_open = {pair.number: set(pair.played) for pair in store.open_pairs(pool.id)}
        rows = list(store.records())
    there: dict[int, set[int]] = {}
    for row in that_count(row for row, _ in rows):
        there.setdefault(row.pair, set()).add(row.game)
    for number, games in there.items():
        assert games == still_open.get(number, {0, 1}), number
    told = [str(one["match"]) for server in servers for one in server.events("game")]
    assert len(set(told)) == len(told) and set(told) <= {row.key for row, _ in rows}
    assert not [one for server in servers for one in server.events("fault", "unplayable", "refused")]
    checked = ggp("ladder", "check", str(folder / "club.db"))
    assert checked.status == 0, checked
    return {row.key: next(iter(read_records(lines.splitlines(keepends=True)))) for row, lines in rows}


def assert_gone_on(begun: dict[str, Record], kept: dict[str, Record]) -> None:
    for key, record in begun.items():
        assert kept[key].start.started == record.start.started, key
        assert kept[key].plies[: len(record.plies)] == record.plies, key


@pytest.mark.long
def test_busy_lobby_drains_and_the_next_run_resumes_the_rest(
    tmp_path: Path, temporary: Path, dialled: list[DialledBots]
) -> None:
    names = [f"bot-{number}" for number in range(2 * MATCHES)]

    def start(drain: float, think: float) -> LobbyProcess:
        for bots in dialled:
            bots.cut()
        server = LobbyProcess(lobby_file(tmp_path, f"drain = {drain}", "openings = 2", "600+10"))
        dialled[:] = [
            DialledBots(server.url, *names, think=think)
        ]  # one thinks at a time, so that a ply takes 50 times this
        return server

    first = start(6, 0.02)
    wait_until(lambda: len(list((tmp_path / "club.live").glob("*.live"))) == MATCHES)
    first.wait_for("game", 3)  # more are about to end, and some have begun just now
    before = len(first.events("game"))
    assert first.end().status == 0
    (drain,) = first.events("drain")
    ended, left = len(first.events("game")) - before, live(tmp_path)
    assert ended and left and MATCHES - 10 <= drain["matches"] <= MATCHES
    assert not left.keys() & stored(tmp_path, [first]).keys()

    second = start(600, 0.02)
    for key in left:
        second.wait_for("game", match=key)
    assert_gone_on(left, stored(tmp_path, [first, second]))
    second.process.terminate()
    second.wait_for("drain")
    assert second.end().status == 0  # the second time: nothing is waited for
    hurried = live(tmp_path)
    assert hurried and not hurried.keys() & stored(tmp_path, [first, second]).keys()

    third = start(60, 0)
    for key in hurried:
        third.wait_for("game", match=key)
    assert third.end().status == 0
    kept = stored(tmp_path, [first, second, third])
    assert_gone_on(left | hurried, kept)
    assert not live(tmp_path) and not list(temporary.iterdir())
    print(
        f"\n{drain['matches']} under way: {ended} ended, {len(left)} went on; {len(hurried)} hurried; {len(kept)} kept"
    )


@pytest.mark.long
def test_killed_lobby_has_each_game_once(tmp_path: Path, temporary: Path, dialled: list[DialledBots]) -> None:
    file = lobby_file(tmp_path, pool="openings = 1")
    file.write_text(file.read_text(encoding="utf-8").replace("size=5", "size=3"), encoding="utf-8")
    names = [f"bot-{number}" for number in range(8)]
    chance, servers, taken_up = random.Random(1), list[LobbyProcess](), 0
    for _ in range(KILLS):
        servers.append(LobbyProcess(file))
        bots = DialledBots(servers[-1].url, *names)
        dialled.append(bots)
        servers[-1].wait_for("joined")
        time.sleep(chance.uniform(0, 2))
        servers[-1].kill()
        bots.cut()
        dialled.remove(bots)
        taken_up += len(live(tmp_path))
    servers.append(LobbyProcess(file))
    dialled.append(DialledBots(servers[-1].url, *names))
    servers[-1].wait_for("game", 50)
    assert servers[-1].end().status == 0
    kept = stored(tmp_path, servers)
    assert not live(tmp_path) and not list(temporary.iterdir())
    print(f"\n{KILLS} kills, {taken_up} files of matches were left, {len(kept)} games are kept")
