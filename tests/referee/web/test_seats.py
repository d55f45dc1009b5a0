"""Seats of `ggp web` whose orders the lobby refuses."""

import pytest
from starlette.exceptions import HTTPException

from ggp.protocol.transports.lobby_dial import LobbyLink
from ggp.referee.lobby.challenge_command import ChallengeRefused
from ggp.referee.web import seats
from ggp.referee.web.seats import Seats


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
