"""Ratings that pages show: made beside them, kept until games are added, and never waited for long."""

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggp.referee.ladder import standings
from ggp.referee.ladder.queries import PoolSummary, pair_json, read_duel
from ggp.referee.ladder.standings import RatedLater, read_standings, standings_json
from ggp.referee.ladder.store.model import StoreError
from ggp.referee.server.web import pool_rater
from ggp.referee.server.web.pool_rater import PoolRater
from tests.support.stores import Filled, a_season


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Filled]:
    with Filled(tmp_path) as made:
        a_season(made)
        yield made


@pytest.fixture
def rate(filled: Filled) -> PoolRater:
    return PoolRater(f"sqlite:///{filled.path}")


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Ratings take until it is set; a page waits for none of that."""
    go = threading.Event()

    def late(*given: object) -> object:
        assert go.wait(20)
        return standings.rate_pool(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(pool_rater, "rate_pool", late)
    monkeypatch.setattr(pool_rater, "_MOMENT", 0.0)
    return go


def test_pages_say_what_the_commands_say(filled: Filled, rate: PoolRater) -> None:
    pool = filled.store.pools()[0]
    found, shown = read_standings(filled.store, pool), read_standings(filled.store, pool, rate=rate)
    assert standings_json(found) == standings_json(shown) and shown.places
    duel, seen = (read_duel(filled.store, pool, "ann", "bob", rate=by) for by in (standings.rate_pool, rate))
    assert duel and seen and pair_json(duel) == pair_json(seen) and seen.rated


def test_nothing_is_rated_twice_until_games_are_added(filled: Filled) -> None:
    rate = PoolRater(f"sqlite:///{filled.path}", lambda: 0.0)
    pool, seats = filled.pools["fast"], filled.store.seats(filled.pools["fast"])
    first = rate(filled.store, pool, seats, "davidson")
    assert first is rate(filled.store, pool, seats, "davidson")
    filled.many("ann", "bob", 2)
    second = rate(filled.store, pool, seats, "davidson")
    assert first and second and second.counts.games.sum() == first.counts.games.sum() + 8


def test_a_page_waits_for_no_ratings(filled: Filled, rate: PoolRater, slow: threading.Event) -> None:
    """What the store has is shown meanwhile; the difference of two, which it has not, comes later."""
    pool = filled.store.pools()[0]
    with pytest.raises(RatedLater):
        PoolSummary(filled.store, pool, rate=rate)
    filled.rate()
    filled.many("ann", "bob", 2)
    pool = filled.store.pools()[0]
    assert PoolSummary(filled.store, pool, rate=rate).standings.fit == filled.store.fit(pool.id)
    with pytest.raises(RatedLater):
        read_duel(filled.store, pool, "ann", "bob", rate=rate)
    slow.set()
    for _ in range(400):
        with contextlib.suppress(RatedLater):
            duel = read_duel(filled.store, pool, "ann", "bob", rate=rate)
            break
        time.sleep(0.05)
    assert duel and duel.rated


def test_ratings_that_took_long_are_not_made_for_every_game(filled: Filled) -> None:
    now = iter([0.0, 4.0, *[5.0] * 9])
    rate = PoolRater(f"sqlite:///{filled.path}", lambda: next(now))
    pool, seats = filled.pools["fast"], filled.store.seats(filled.pools["fast"])
    first = rate(filled.store, pool, seats, "davidson")
    filled.many("ann", "bob", 2)
    assert rate(filled.store, pool, seats, "davidson") is first
    with pytest.raises(RatedLater):
        rate(filled.store, pool, seats, "davidson", least=filled.store.counted(pool))


def test_a_store_that_cannot_be_read_is_tried_again(filled: Filled, rate: PoolRater, tmp_path: Path) -> None:
    gone = PoolRater(f"sqlite:///{tmp_path}/none.db")
    pool, seats = filled.pools["fast"], filled.store.seats(filled.pools["fast"])
    for _ in range(2):
        with pytest.raises(StoreError):
            gone(filled.store, pool, seats, "davidson")
