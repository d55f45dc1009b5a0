"""`ggp serve` as a whole: bots dial in, are paired, play pairs of rated games, and the store has every one of them."""

import re
import signal
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from ggp.protocol.records import read_records
from ggp.referee.ladder.store.store import Store
from tests.support.cli import ggp
from tests.support.dialled_bots import DialledBots
from tests.support.lobby_server import LobbyProcess, lobby_file

pytestmark = pytest.mark.slow


def test_bots_play_rated_pairs_and_the_lobby_ends_in_order(tmp_path: Path, dialled: list[DialledBots]) -> None:
    server = LobbyProcess(lobby_file(tmp_path, pool="openings = 2"), "--metrics", "127.0.0.1:0")
    dialled.append(DialledBots(server.url, "ann", "bob", "cid"))
    server.wait_for("game", 6)
    page = str(server.wait_for("metrics")[0]["url"])
    with urlopen(page, timeout=60) as answer:
        told = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line[0] != "#")
    assert float(told['ggp_games_total{kind="rated",termination="rules"}']) >= 6 and float(told["ggp_plies_total"]) > 60
    assert told["ggp_bots"] == "3" and told["ggp_bots_away"] == "0"
    with pytest.raises(HTTPError, match="404"):
        urlopen(page.replace("/metrics", "/"), timeout=60)
    ended = server.end()
    assert ended.status == 0, ended.err
    assert server.events("closed")
    with Store.open(f"sqlite:///{tmp_path}/club.db") as store:
        (pool,) = store.pools()
        rows = list(store.records(pool.id))
        assert len(rows) == len(server.events("game")) >= 6
        assert {row.termination for row, _ in rows} == {"rules"}
        openings: dict[int, set[tuple[str, ...]]] = {}
        for row, lines in rows:
            (record,) = read_records(lines.splitlines(keepends=True))
            assert [bot.name for bot in record.start.bots] == [row.first, row.second]
            assert len(record.start.opening) == 2
            openings.setdefault(row.pair, set()).add(record.start.opening)
            assert record.end and record.end.plies == len(record.plies)
        assert all(len(one) == 1 for one in openings.values()) and len(set().union(*openings.values())) > 1
        pairs: dict[int, set[tuple[str, str]]] = {}
        for row, _ in rows:
            pairs.setdefault(row.pair, set()).add((row.first, row.second))
        whole = [seats for seats in pairs.values() if len(seats) == 2]
        assert whole and all({(b, a) for a, b in seats} == seats for seats in whole)
    assert not list((tmp_path / "club.live").iterdir())
    standings = ggp("ladder", "standings", str(tmp_path / "club.toml"), "--json")
    assert standings.status == 0, standings.err
    verified = ggp("ladder", "check", str(tmp_path / "club.db"))
    assert verified.status == 0, verified.err


def test_a_second_lobby_of_the_same_store_is_refused(tmp_path: Path) -> None:
    file = lobby_file(tmp_path)
    server = LobbyProcess(file)
    second = ggp("serve", str(file))
    assert second.status == 1
    assert "is run by process" in second.err
    assert server.end().status == 0


def test_ctrl_c_ends_the_lobby(tmp_path: Path) -> None:
    server = LobbyProcess(lobby_file(tmp_path))
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(60) == 0


def test_the_example_runs_as_it_is_and_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    assert ggp("serve", "--init", str(file)).status == 0
    again = ggp("serve", "--init", str(file))
    assert again.status == 2 and "exists" in again.err
    server = LobbyProcess(file, "--no-keys", "--listen", "tcp://127.0.0.1:*")
    assert server.end().status == 0


@pytest.mark.parametrize(
    ("lobby", "pool", "said"),
    [
        ('listen = "tcp://0.0.0.0:7711"\nkeys = false', "", "cannot listen at tcp://0.0.0.0:7711: without keys"),
        ('listen = "tcp://127.0.0.1:99999"', "", "lobby.listen: cannot listen at tcp://127.0.0.1:99999"),
        ("grace = -1", "", "lobby.grace: -1 is not a number from 0"),
        ("lagg = 3", "", "lobby.lagg: unknown key: did you mean lag?"),
        ("", 'engine = "gnugo --mode gtp"', "pool.small.engine: "),
    ],
)
def test_invalid_lobby_file_prints_one_line(tmp_path: Path, lobby: str, pool: str, said: str) -> None:
    file = lobby_file(tmp_path, lobby, pool)
    if "listen" in lobby:
        file.write_text(
            re.sub("listen = .*\nkeys = false\n", "", file.read_text(encoding="utf-8"), count=1), encoding="utf-8"
        )
    ran = ggp("serve", str(file))
    assert ran.status == 2
    assert said in ran.err and ran.err.count("\n") == 1, ran.err


def test_a_missing_lobby_file_says_how_to_get_one(tmp_path: Path) -> None:
    for name in ("gone.toml", "."):
        ran = ggp("serve", str(tmp_path / name))
        assert ran.status == 2 and "ggp serve --init" in ran.err
