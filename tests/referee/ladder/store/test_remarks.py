"""The data of the standings: remarks of a fit, entries."""

from dataclasses import replace
from typing import Any

import pytest

from ggp.referee.ladder.store.schema import fits
from ggp.referee.ladder.store.store import Store
from ggp.referee.ratings.standings import Drift, PairMisfit, RatingTable, Standing
from tests.support.stores import entrant, ladder

BARE = RatingTable(games=10, model="davidson", advantage=1.5, advantage_se=0.5, tie=0.25)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"anchors": {"3": 1800.0, "17": -0.5}, "deviance": 12.125, "freedom": 7},
        {"misfits": (PairMisfit("3", "17", 10.0, 7.5, 2.25, 9.0),), "drifts": (Drift("4", "3", 55.5, 11.0),)},
    ],
)
def test_a_store_keeps_a_fit(store: Store, more: dict[str, Any]) -> None:
    (pool,) = store.enrol(ladder()).values()
    ids = [str(seat.id) for seat in store.seats(pool)]
    rows = [Standing(name, 1.0, 2.0, 3, 1.5, group=group) for name, group in zip(ids, (1, 1, 2, 0), strict=True)]
    fit = replace(BARE, rows=tuple(rows), **more)
    store.save_fit(pool, fit)
    assert store.fit(pool) == fit
    with store.database.writing() as connection:
        connection.execute(fits.update().values(remarks="of another form"))
    assert store.fit(pool) is None


def test_a_version_that_left_is_not_entered(store: Store) -> None:
    (pool,) = store.enrol(ladder([entrant("ann"), entrant("bob"), entrant("cat")])).values()
    ann, bob, _ = store.seats(pool)
    store.suspend(ann.id, "it does not start")
    store.suspend(bob.id, "it does not start")
    store.enrol(ladder([entrant("ann"), entrant("bob", "v2"), entrant("cat")]))
    seats = {seat.label: (seat.active, seat.entered) for seat in store.seats(pool)}
    assert seats == {"ann": (False, True), "bob@v1": (False, False), "bob": (True, True), "cat": (True, True)}
