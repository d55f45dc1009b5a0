"""The thread that writes the store of a lobby, and the loss of that store."""

import asyncio
from pathlib import Path

import pytest

from ggp.referee.ladder.store.model import Pairing, StoreGone
from ggp.referee.ladder.store.store import Store
from ggp.referee.server.lobby.log import EventLog
from ggp.referee.server.lobby.open_pairs import StoreWriter
from tests.support.stores import ladder, match


def test_a_lobby_whose_store_is_gone_keeps_its_games_elsewhere_and_ends(tmp_path: Path) -> None:
    path = tmp_path / "club.db"
    ended, log = [], EventLog(quiet=True)

    async def play() -> None:
        store = Store.open(f"sqlite:///{path}", create=True)
        pool = store.enrol(ladder())["fast"]
        ids = [seat.id for seat in store.seats(pool)]
        (pair,) = store.issue(pool, 0, [Pairing(ids[0], ids[1])])
        writer = StoreWriter(store, log, lambda: ended.append(True))
        writer.open()
        path.unlink()
        with pytest.raises(StoreGone):
            await writer.store(match(pair, 0))
        assert "was removed while it was in use" in writer.lost and "club.rescued.db" in writer.lost
        await writer.close()
        store.close()

    asyncio.run(play())
    assert ended == [True] and log.counts["store", "gone"] == 1
    with Store.open(f"sqlite:///{tmp_path / 'club.rescued.db'}") as copy:
        assert copy.totals().games == 1
