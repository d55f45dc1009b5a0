"""A ladder whose PostgreSQL server restarts while it runs."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggp.referee.ladder.store.model import StoreError
from ggp.referee.ladder.store.store import Store
from tests.support.cli import Ggp, wait_until
from tests.support.ladders import HEAD, first_line, write_ladder
from tests.support.postgres import PostgresServer

pytestmark = [pytest.mark.slow, pytest.mark.needs("postgres")]

ROUNDS = 60
GAMES = ROUNDS * 2  # three bots: a pair a round, so between two rounds nothing is being played


@pytest.fixture
def url(postgres: PostgresServer) -> Iterator[str]:
    yield from postgres.database()


def _games(url: str) -> int:
    try:
        with Store.open(url) as store:
            return store.totals().games
    except StoreError:  # no table is there yet
        return 0


def test_a_run_goes_on_after_its_postgresql_was_restarted(tmp_path: Path, postgres: PostgresServer, url: str) -> None:
    more = f'[format]\nkind = "swiss"\nrounds = {ROUNDS}\n'
    file = write_ladder(tmp_path, head=f'store = "{url}"\n{HEAD}', more=more)
    running = Ggp("ladder", "run", str(file), "--jobs", "1", "--quiet")
    for games, away in ((1, 0.0), (GAMES // 3, 3.0)):  # the second time it has waited before
        wait_until(lambda games=games: _games(url) >= games, 120)  # type: ignore[misc]
        with postgres.down():
            assert "the run waits" in first_line(running, "the run waits")
            time.sleep(away)
    ran = running.wait(120)
    assert ran.status == 0 and f"all {ROUNDS} rounds are played" in ran.out + ran.err, ran.err
    with Store.open(url) as store:
        keys = [row.key for row in store.games()]
        assert len(keys) == len(set(keys)) == GAMES
        assert store.running() == "" and store.repair().lines == []
