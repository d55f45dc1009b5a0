"""A seat as the lobby hears it: the answers of a person, of one who is too late, and after a lost connection."""

import pytest

from ggp.protocol.responder import Responder
from ggp.protocol.transports.lobby_dial import LobbyLink
from ggp.referee.server.web import seat as seat_module
from ggp.referee.server.web.seat import NotNow, Seat, SeatPhase


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
        monkeypatch.setattr(seat_module, name, -1)
    assert Heard().say("ggp-new go", *lines)[-1] == answer
