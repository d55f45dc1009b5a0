"""Looking on at matches over a real socket: gaps are filled, connections come back, strangers' words do no harm."""

from typing import TypeVar

import pytest

from ggp.protocol.errors import AddressError
from ggp.protocol.records import MatchEnded, MatchStarted
from ggp.protocol.spectator_wire import Begun, CaughtUp, MatchHead, Over, Request, SpectatorState, Unknown, read_request
from ggp.protocol.transports import spectator
from ggp.protocol.transports.keys import new_pair
from ggp.protocol.transports.spectator import (
    Connected,
    Disconnected,
    EventsMissing,
    LadderNews,
    MatchEvent,
    MatchRestarted,
    MatchUnavailable,
    MatchUnknown,
    Spectator,
    SpectatorUpdate,
)
from ggp.protocol.transports.zmq import AccessRefused
from tests.support.codes import raises
from tests.support.spectator_publisher import KEY, PATIENCE, SmallSpectatorServer, events

TOPIC = f"match/{KEY}"
HEAD = MatchHead(match=KEY, game="yugo", bots=("ann", "bob"))
T = TypeVar("T", bound=SpectatorUpdate)


def next_of(there: Spectator, kind: type[T]) -> T:
    """The next update, which is of this kind."""
    update = there.read(PATIENCE)
    assert isinstance(update, kind), update
    return update


def plies(there: Spectator, count: int) -> list[int]:
    """The numbers of the next events."""
    return [next_of(there, MatchEvent).event.seq for _ in range(count)]


def asked(there: Spectator, server: SmallSpectatorServer) -> Request:
    """What it asks for, which it does while it reads."""
    while True:
        assert there.read(0.01) is None
        said = server.subscription(0.05)
        if said[:1] == b"\1" and (found := read_request(said[1:])):
            return found


def test_a_match_from_its_first_event_to_its_last() -> None:
    told = [line for _, line in events(3)]
    with SmallSpectatorServer() as server, Spectator(server.url) as there:
        there.follow(KEY)
        there.follow(KEY)
        next_of(there, Connected)
        server.answer(asked(there, server), told[:2])
        server.lines(TOPIC, *told[2:4], told[3])
        assert plies(there, 4) == [0, 1, 2, 3]
        server.lines(TOPIC, told[4])
        assert isinstance(next_of(there, MatchEvent).event, MatchEnded)
        server.lines(TOPIC, told[4])
        assert there.read(0.05) is None


def test_a_gap_is_reported_and_filled_page_by_page() -> None:
    told = [line for _, line in events(8, ended=False)]
    with SmallSpectatorServer() as server, Spectator(server.url) as there:
        there.follow(KEY)
        next_of(there, Connected)
        server.answer(asked(there, server), told[:2])
        assert plies(there, 2) == [0, 1]
        assert there.read(0.05) is None
        server.lines(TOPIC, *told[5:9])
        assert next_of(there, EventsMissing) == EventsMissing(KEY, 2)
        request = asked(there, server)
        assert request.number == 1
        server.answer(request, told[:3], 9)
        assert plies(there, 1) == [2]
        request = asked(there, server)
        assert request.number == 2
        server.answer(request, told[:5], 9)
        assert plies(there, 6) == [3, 4, 5, 6, 7, 8]


def test_an_answer_that_does_not_come_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectator, "PATIENCE", 0.1)
    told = [line for _, line in events(2, ended=False)]
    with SmallSpectatorServer() as server, Spectator(server.url) as there:
        there.follow(KEY)
        next_of(there, Connected)
        first = asked(there, server)
        second = asked(there, server)
        assert first.topic != second.topic
        server.answer(second, [], 3)  # a page that holds nothing, as when all of it was lost
        third = asked(there, server)
        server.answer(third, told)
        assert plies(there, 3) == [0, 1, 2]


def test_silence_is_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectator, "QUIET", 0.2)
    told = [line for _, line in events(1)]
    with SmallSpectatorServer() as server, Spectator(server.url) as there:
        there.follow(KEY)
        next_of(there, Connected)
        server.answer(asked(there, server), told[:2])
        assert plies(there, 2) == [0, 1]
        server.answer(asked(there, server), told)
        assert plies(there, 1) == [2]


def test_another_match_under_the_same_key_starts_again() -> None:
    told, other = ([line for _, line in events(3, bot=name)] for name in ("ann", "cid"))
    with SmallSpectatorServer() as server, Spectator(server.url) as there:
        there.follow(KEY)
        next_of(there, Connected)
        server.answer(asked(there, server), told[:3])
        assert plies(there, 3) == [0, 1, 2]
        server.lines(TOPIC, *other)
        assert next_of(there, MatchRestarted) == MatchRestarted(KEY)
        assert plies(there, 5) == [0, 1, 2, 3, 4]


def test_a_lost_connection_comes_back_and_what_was_missed_too() -> None:
    told = [line for _, line in events(3)]
    with SmallSpectatorServer() as server, Spectator(server.url) as there:
        there.follow(KEY)
        next_of(there, Connected)
        server.answer(asked(there, server), told[:2])
        assert plies(there, 2) == [0, 1]
        assert there.read(0.05) is None
        server.close()
        assert next_of(there, Disconnected).reason == "the connection was lost"
        with SmallSpectatorServer(server.url) as again:
            while not isinstance(there.read(PATIENCE), Connected):
                continue
            request = asked(there, again)
            assert request.number == 1
            again.answer(request, told)
            assert plies(there, 3) == [2, 3, 4]


@pytest.mark.slow
def test_no_listener_is_reported_once() -> None:
    with SmallSpectatorServer() as server:
        url = server.url
    with Spectator(url) as there:
        there.follow(KEY)
        assert next_of(there, Disconnected).reason == "nothing is listening at this address"
        assert there.read(0.6) is None


def test_a_match_that_is_unknown() -> None:
    with SmallSpectatorServer() as server, Spectator(server.url) as there:
        there.follow(KEY)
        next_of(there, Connected)
        server.say(asked(there, server).topic, Unknown(KEY))
        assert next_of(there, MatchUnknown) == MatchUnknown(KEY)
        there.leave(KEY)
        with pytest.raises(ValueError, match=r"\.\./x"):
            there.follow("../x")


def test_what_is_left_is_not_heard_of() -> None:
    told = [line for _, line in events(1)]
    with SmallSpectatorServer() as server, Spectator(server.url) as there:
        there.follow(KEY)
        there.follow("another")
        next_of(there, Connected)
        there.leave(KEY)
        while server.subscription() != b"\0" + TOPIC.encode():
            continue
        server.lines(TOPIC, *told)
        assert there.read(0.05) is None


def test_a_ladder_is_followed_whatever_it_is_called() -> None:
    begun = Begun(seq=7, run="a", head=HEAD)
    with SmallSpectatorServer() as server, Spectator(server.url) as there:
        there.follow_ladder()
        next_of(there, Connected)
        server.say("ladder/club", begun)
        state = SpectatorState(seq=7, run="a", ladder="club", matches=())
        server.say(asked(there, server).topic, state)
        assert next_of(there, LadderNews) == LadderNews(state)
        server.say("ladder/club", begun)
        assert next_of(there, LadderNews) == LadderNews(begun) and there.roll.matches == {KEY: HEAD}
        server.say("ladder/club", Over(seq=9, run="a", head=HEAD))
        request = asked(there, server)
        assert request.number == 8
        server.say(request.topic, CaughtUp(8))
        assert there.read(0.05) is None


def test_a_ladder_that_is_unknown_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectator, "QUIET", 0.1)
    with SmallSpectatorServer() as server, Spectator(server.url) as there:
        there.follow_ladder("club")
        next_of(there, Connected)
        server.say(asked(there, server).topic, Unknown("club"))
        state = SpectatorState(seq=7, run="a", ladder="club", matches=())
        server.say(asked(there, server).topic, state)
        assert next_of(there, LadderNews) == LadderNews(state)


def test_what_does_not_belong_there_is_passed_over() -> None:
    told, longer = ([line for _, line in events(1, key)] for key in (KEY, f"{KEY}1"))
    with SmallSpectatorServer() as server, Spectator(server.url) as there:
        there.follow(KEY)
        next_of(there, Connected)
        server.answer(asked(there, server), told[:1])
        assert plies(there, 1) == [0]
        server.publish(TOPIC, b"\xc1")
        server.publish(TOPIC, b"", b"")
        server.publish(TOPIC)
        server.lines(TOPIC, *longer)
        server.lines(f"{TOPIC}1", *longer)
        server.say(TOPIC, Begun(seq=0, run="", head=HEAD))
        server.lines(TOPIC, *told)
        assert plies(there, 2) == [1, 2]
        there.follow_ladder("club")
        request = asked(there, server)
        server.lines(request.topic, *told)
        server.say(request.topic, CaughtUp(0))
        assert there.read(0.05) is None


def test_the_iterator_tells_a_whole_match() -> None:
    told = events(2)
    with SmallSpectatorServer() as server, Spectator(server.url) as there:
        found = there.match(KEY)
        there.follow(KEY)
        next_of(there, Connected)
        request = asked(there, server)
        there.follow_ladder()
        server.say(asked(there, server).topic, SpectatorState(seq=1, run="a", ladder="club", matches=()))
        server.answer(request, [line for _, line in told])
        assert list(found) == [event for event, _ in told]


@pytest.mark.parametrize("how", ["no such", "again"])
def test_the_iterator_says_why_it_cannot(how: str) -> None:
    told, other = ([line for _, line in events(3, bot=name)] for name in ("ann", "cid"))
    with SmallSpectatorServer() as server, Spectator(server.url) as there:
        there.follow(KEY)
        next_of(there, Connected)
        request = asked(there, server)
        if how == "no such":
            server.say(request.topic, Unknown(KEY))
            with raises(MatchUnavailable, "unknown-match"):
                next(there.match(KEY))
        else:
            server.answer(request, told[:1])
            server.lines(TOPIC, *other)
            with raises(MatchUnavailable, "match-restarted"):
                assert all(isinstance(event, MatchStarted) for event in there.match(KEY))


def test_with_the_key_of_the_server_it_is_encrypted() -> None:
    pair, told = new_pair(), [line for _, line in events(1)]
    with SmallSpectatorServer(keys=pair) as server:
        with Spectator(server.url, pair.public) as there:
            there.follow(KEY)
            next_of(there, Connected)
            server.answer(asked(there, server), told)
            assert plies(there, 3) == [0, 1, 2]
        with (
            Spectator(server.url) as there,
            raises(AccessRefused, "keys-needed"),
        ):
            while True:  # which of the two ends closes first decides whether the first try says why
                next_of(there, Disconnected)


@pytest.mark.slow
@pytest.mark.parametrize("keyed", [False, True])
def test_a_wrong_server_key_ends_the_attempts(keyed: bool) -> None:
    with (
        SmallSpectatorServer(keys=new_pair() if keyed else None) as server,
        Spectator(server.url, new_pair().public) as there,
        raises(AccessRefused, "wrong-server-key", *([] if keyed else ["no-keys-asked"])),
    ):
        while True:
            next_of(there, Disconnected)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("tcp://192.0.2.1:7712", "keys-needed"),
        ("tcp://127.0.0.1:*", "bad-address"),
        ("tcp://127.0.0.1", "bad-address"),
        ("tcp://127.0.0.1:77120", "bad-address"),
    ],
)
def test_addresses_that_cannot_be(url: str, code: str) -> None:
    with raises(AddressError, code):
        Spectator(url)


def test_an_address_that_zeromq_refuses() -> None:
    with raises(AddressError, "bad-address"):
        Spectator("tcp://a b:7712", new_pair().public)
