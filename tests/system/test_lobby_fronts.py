"""A lobby of two fronts with one store, real processes: bots play at both, and one front is killed while games run."""

from collections import Counter
from pathlib import Path

import pytest

from ggp.referee.ladder.store.store import Store
from tests.bench.fronts import measure
from tests.support.cli import free_port, wait_until
from tests.support.lobby_server import LobbyProcess, LobbyWithBots, that_count
from tests.support.postgres import PostgresServer

FRONTS = """
[front.a]
listen = "tcp://127.0.0.1:{port}"

[front.b]
listen = "tcp://127.0.0.2:*"
"""
PLAIN = [["ann", "bob", "cid"], ["dan", "eve", "fay"]]


@pytest.mark.slow
def test_a_killed_front_loses_no_game_and_its_bots_go_on_at_another(url: str, tmp_path: Path) -> None:
    fronts = FRONTS.format(port=free_port())
    club = LobbyWithBots(tmp_path, "127.0.0.1", PLAIN, ["sdk", "sdl"], ["con"], store=url, more=fronts)
    try:
        one, other = club.serve("--front", "a"), club.serve("--front", "b")
        both = f"{one.url},{other.url}"
        club.start_bots(both, f"{other.url},{one.url}")
        _wait_for_games(one, other)
        one.kill()
        seen = len(other.events("game"))
        names = set(club.names)
        wait_until(lambda: {event["bot"] for event in other.events("joined")} == names, 300, lambda: other.lines[-20:])
        other.wait_for("game", seen + 10)
        again = club.serve("--front", "a")
        other.kill()
        again.wait_for("game", 10)
        assert {event["bot"] for event in again.events("joined")} == names
        assert again.end().status == 0
    finally:
        club.close()
    assert set(club.check()) <= {"rules", "ply_limit"}


def _wait_for_games(one: LobbyProcess, other: LobbyProcess) -> None:
    """All play, at one front or at both."""
    wait_until(lambda: len(one.events("game")) + len(other.events("game")) >= 10, 300, lambda: (one.lines, other.lines))


@pytest.mark.long
@pytest.mark.needs("postgres")
def test_four_thousand_bots_at_two_fronts_of_which_one_is_killed(postgres: PostgresServer, tmp_path: Path) -> None:
    databases = postgres.database()
    store = next(databases)
    figures, said, fronts = measure(tmp_path, store, 4000, 500, 20)
    print(figures)
    assert said["lost"] >= 1500 and 0 < said["back"] < 240, said
    for front in fronts:
        assert not front.events("fault", "unplayable"), front.lines[-20:]
    told = [event["match"] for front in fronts for event in front.events("game")]
    assert told and len(set(told)) == len(told), "a game was announced twice"
    with Store.open(store) as opened:
        rows = list(opened.games())
        assert set(told) <= {row.key for row in rows}, "a game was announced and is not stored"
        ends = Counter(row.termination for row in that_count(rows))
        assert ends["rules"] > 0.99 * ends.total(), ends
        assert opened.check().lines == []
    list(databases)
