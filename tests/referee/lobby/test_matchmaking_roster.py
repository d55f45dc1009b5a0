"""Registration of new bots and versions, which are limited, because each stays in the store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from referee.lobby.log import EventLog
from referee.lobby.matchmaking import VERSIONS, Registration
from referee.lobby.pending import StoreWriter
from referee.lobby.remote_bot import ConnectedBot, Identity, Lateness, RemoteBot
from referee.store.store import Store
from tests.support.stores import ladder

pytestmark = pytest.mark.slow

HOUR = 3600.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/club.db", create=True) as made:
        yield made


def bot(name: str, version: str) -> ConnectedBot:
    line = RemoteBot(lambda route, kind, payloads: True, Lateness(), 0.1)
    return ConnectedBot(Identity("ann", name), frozenset(), line, version=version)


async def test_versions_of_a_bot_are_limited(store: Store) -> None:
    writer = StoreWriter(store, EventLog(quiet=True))
    registration = Registration(ladder(()), store, writer)
    registration.load()
    writer.open()

    async def come(version: int, now: float) -> bool:
        """Whether it is entered."""
        one = bot("bot", f"v{version}")
        return not await registration.enrol([one, bot("other", "v1")], lambda: None, now)

    (row,) = {row.id for row in store.pools()}
    try:
        assert all([await come(number, float(number)) for number in range(VERSIONS + 1)])
        assert not await come(1000, 100.0)
        assert await come(VERSIONS, 101.0), "the version that it was last is entered"
        assert {seat.name for seat in store.seats(row)} == {"bot", "other"}
        assert "v1000" not in {seat.version for seat in store.seats(row)}
        assert await come(1001, HOUR + 2.0)
    finally:
        await writer.close()
