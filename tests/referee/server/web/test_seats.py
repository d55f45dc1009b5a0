"""Seats of `ggp web` whose orders the lobby refuses, or whose file is gone."""

import asyncio
import os
from pathlib import Path

import pytest
from starlette.exceptions import HTTPException

from ggp.protocol.transports.lobby_dial import LobbyLink
from ggp.referee.server.lobby.challenge_command import ChallengeRefused
from ggp.referee.server.web import seats
from ggp.referee.server.web.seat import KeptSeat, SeatPhase
from ggp.referee.server.web.seats import KeptPlace, SeatFile, Seats


class _Refusing:
    """A lobby whose store is away."""

    def __init__(self, lobby: LobbyLink) -> None: ...

    def ask(self, line: str) -> str:
        raise ChallengeRefused("the store is away")

    def close(self) -> None: ...


async def test_a_lobby_that_refuses_is_no_failure_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seats, "Ordering", _Refusing)
    people = Seats(LobbyLink("tcp://127.0.0.1:1"), 3, lambda *_: None)
    with pytest.raises(HTTPException) as offers:
        await people.offers()
    assert (offers.value.status_code, offers.value.detail) == (503, "The bot server refuses: the store is away.")
    with pytest.raises(HTTPException) as seat:
        await people.take("visitor", "127.0.0.1", "small", "random")
    assert seat.value.status_code == 503
    assert people.trouble == "", "the lobby was reached"


@pytest.mark.parametrize("how", ["removed", "replaced", "truncated"])
def test_a_file_of_seats_that_is_gone_is_written_again(tmp_path: Path, how: str) -> None:
    path = tmp_path / "club.seats"
    seat = KeptSeat("seat-1", "word", SeatPhase.WAITING, "")
    kept = [KeptPlace("1", "me", "127.0.0.1", "", "small", "seat-1", "random", 0, seat)]
    file = SeatFile(path)
    assert file.use() == []
    file.write([])
    assert not path.exists(), "there is nothing to keep"
    file.write(kept)
    whole = path.read_bytes()
    if how == "removed":
        path.unlink()
    elif how == "replaced":
        (tmp_path / "other").write_bytes(b"[]")
        (tmp_path / "other").replace(path)
    else:
        os.truncate(path, 10)
    file.write(kept)
    assert path.read_bytes() == whole
    written = path.stat().st_ino
    file.write(kept)
    assert path.stat().st_ino == written, "it is whole"


async def test_a_site_looks_after_its_file_while_nothing_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seats, "_LOOK", 0.01)
    path = tmp_path / "club.seats"
    seat = KeptSeat("seat-1", "word", SeatPhase.OVER, "it ended")
    SeatFile(path).write([KeptPlace("1", "me", "127.0.0.1", "", "small", "seat-1", "random", 0, seat)])
    people = Seats(LobbyLink("tcp://127.0.0.1:1"), 3, lambda *_: None, path)
    people.open()
    try:
        await asyncio.sleep(0.3)
        path.unlink()
        async with asyncio.timeout(20):
            while not path.exists():
                await asyncio.sleep(0.01)
    finally:
        await people.close()
