"""The seats of a site: how one answers the lobby, and what is kept over a restart."""

import asyncio
import os
from pathlib import Path

import pytest
from starlette.exceptions import HTTPException

from ggp.protocol.responder import Responder
from ggp.protocol.transports.lobby_dial import LobbyLink
from ggp.referee.server.lobby.ordering import ChallengeRefused
from ggp.referee.server.web import seats
from ggp.referee.server.web.seats import KeptPlace, KeptSeat, NotNow, Seat, SeatFile, SeatPhase, Seats


class Heard:
    """A seat and one connection to it."""

    def __init__(self) -> None:
        self.changes = 0
        self.seat = Seat("web-1", LobbyLink("tcp://127.0.0.1:7711"), self._changed)
        self.connect()

    def _changed(self) -> None:
        self.changes += 1

    def connect(self) -> None:
        self.responder: Responder = self.seat.responder()

    def say(self, *lines: str) -> list[bytes]:
        """The answers that are there."""
        for line in lines:
            self.responder.receive(f"{line}\n".encode())
        return list(iter(self.responder.next_answer, None))


def test_a_person_is_asked_and_answers_when_it_likes() -> None:
    heard = Heard()
    assert heard.seat.position() is None
    heard.say("ggp-new yugo size=3", "play black A1", "play white B1", "ggp-clock black=5000 white=4000 increment=100")
    assert heard.say("7 genmove black") == []
    state = heard.seat.state()
    assert state["phase"] is SeatPhase.PLAYING and state["turn"] and state["colour"] == "black" and state["ply"] == 2
    assert state["clock"] == {"black": 5000, "white": 4000} and state["game"] == "yugo size=3"
    with pytest.raises(NotNow):
        heard.seat.move("C1", 1)
    heard.seat.move("C1", 2)
    assert heard.say() == [b"=7 C1\n\n"]
    assert not heard.seat.state()["turn"] and heard.seat.state()["last"] == "black C1"
    heard.say("ggp-result B+1")
    assert heard.seat.state()["phase"] is SeatPhase.OVER and heard.seat.state()["result"] == "B+1"


def test_a_move_that_was_made_while_the_connection_was_lost_is_answered_on_the_next() -> None:
    heard = Heard()
    heard.say("ggp-new yugo size=3", "play black A1", "genmove white")
    heard.seat.move("B1", 1)
    heard.connect()
    assert heard.say("ggp-new yugo size=3", "play black A1", "9 genmove white")[-1] == b"=9 B1\n\n"


def test_an_answer_that_was_lost_with_the_connection_is_given_again() -> None:
    heard = Heard()
    heard.say("ggp-new yugo size=3", "play black A1", "genmove white")
    heard.seat.move("B1", 1)
    assert heard.say() == [b"= B1\n\n"]  # the lobby is killed before it reads this
    heard.connect()
    assert heard.say("ggp-new yugo size=3", "play black A1", "9 genmove white")[-1] == b"=9 B1\n\n"
    heard.say("play black C1", "10 genmove white")
    assert heard.seat.state()["turn"], "the next move is the person's again"


@pytest.mark.parametrize("answered", [False, True])
def test_a_move_is_not_given_in_another_position_of_as_many_plies(answered: bool) -> None:
    heard = Heard()
    heard.say("ggp-new yugo size=3", "play black A1", "genmove white")
    heard.seat.move("B1", 1)
    if answered:
        heard.say()
    heard.connect()
    assert len(heard.say("ggp-new yugo size=3", "play black B1", "genmove white")) == 2, "B1 would be illegal"
    assert heard.seat.state()["turn"]


def test_a_resignation_is_answered_at_the_next_question() -> None:
    heard = Heard()
    with pytest.raises(NotNow):
        heard.seat.resign()
    heard.say("ggp-new yugo size=3")
    heard.seat.resign()
    assert heard.say("play black A1", "genmove white")[-1] == b"= resign\n\n"


def test_swapped_sides_change_the_colour_of_the_person() -> None:
    heard = Heard()
    heard.say("ggp-new laido", "genmove black")
    heard.seat.move("E5", 0)
    heard.say("play white swap-sides")
    assert heard.seat.state()["colour"] == "white"


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (("ggp-clock black=0 white=9000", "genmove black"), b"= resign\n\n"),  # which loses by time
        (("genmove black",), b"= resign\n\n"),
        (("ggp-clock black=1 white=1", "1 genmove black", "genmove black"), b"= dead:\n\n"),  # without a clock then
    ],
)
def test_who_is_too_late_is_answered_for(
    monkeypatch: pytest.MonkeyPatch, lines: tuple[str, ...], answer: bytes
) -> None:
    for name in ("_LATE", "_NO_CLOCK", "_DEAD_LIST"):
        monkeypatch.setattr(seats, name, -1)
    assert Heard().say("ggp-new go", *lines)[-1] == answer


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
