"""What a spectator server publishes, and the order that is made of it whatever was lost, came twice or early."""

import random

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.protocol.records import Event, MatchEnded
from ggp.protocol.spectator_wire import (
    MAX_PUBLISHED,
    MAX_TOPIC,
    Begun,
    CaughtUp,
    EventSequence,
    MatchHead,
    Over,
    Published,
    Request,
    Rewritten,
    Roll,
    SpectatingError,
    SpectatorState,
    Unknown,
    is_match_id,
    publish,
    publish_line,
    read_published,
    read_request,
    request_topic,
    topic_of,
)
from tests.support.spectator_publisher import KEY, events, fields

HEAD = MatchHead(match=KEY, game="yugo", options={"size": "5"}, bots=("ann", "bob"), control="1+1", plies=3)


def linked(lines: list[tuple[Event, bytes]]) -> list[tuple[Event, str]]:
    return [(event, fields(line)["link"]) for event, line in lines]


def test_a_line_of_a_record_is_published_as_it_is() -> None:
    for event, line in events(3):
        payload = publish_line(line)
        assert msgpack.unpackb(payload) == fields(line)
        assert read_published(payload) == (event, fields(line)["link"])


@pytest.mark.parametrize(
    "what",
    [
        Begun(seq=1, run="a", head=HEAD),
        Over(seq=2, run="a", head=HEAD, result="B+1", winner=1, termination="rules"),
        SpectatorState(seq=3, run="a", ladder="club", matches=(HEAD,)),
        CaughtUp(7),
        Unknown(KEY),
    ],
)
def test_whatever_else_is_published_is_read_again(what: Published) -> None:
    assert read_published(publish(what)) == (what, "")


@given(st.binary(max_size=200))
def test_what_is_no_message_is_sent_as_such(payload: bytes) -> None:
    try:
        read_published(payload)
    except SpectatingError as error:
        assert str(error).isprintable()


@pytest.mark.parametrize(
    "payload", [b"", b"\xc1", publish(CaughtUp(1))[:-1], b"\x91" * 100_000, bytes(MAX_PUBLISHED + 1)]
)
def test_what_is_no_message_is_refused(payload: bytes) -> None:
    with pytest.raises(SpectatingError):
        read_published(payload)


def test_a_question_is_a_topic() -> None:
    topic = request_topic("match", KEY, 12, "00ff")
    assert read_request(topic) == Request(topic, "match", KEY, 12)
    anywhere = request_topic("ladder", "", 0, "1")
    assert read_request(anywhere) == Request(anywhere, "ladder", "", 0)
    assert topic_of("match", KEY) == f"match/{KEY}".encode() and is_match_id(KEY)


@pytest.mark.parametrize(
    "topic",
    [
        b"",
        b"match/x",
        b"catch-up/match//0/1",
        b"catch-up/match/../0/1",
        b"catch-up/match/a/b/0/1",
        b"catch-up/match/a/-1/1",
        b"catch-up/match/a/1234567890/1",
        b"catch-up/match/a/0/",
        b"catch-up/match/a/0/1\n",
        b"catch-up/match/a/0/" + b"1" * 33,
        b"catch-up/match/" + b"a" * 81 + b"/0/1",
        b"catch-up/ladder/a b/0/1",
        b"catch-up/bot/a/0/1",
        b"\xff" * 20,
    ],
)
def test_what_asks_for_nothing_is_no_question(topic: bytes) -> None:
    assert read_request(topic) is None


def test_the_longest_question_is_a_topic_that_is_taken() -> None:
    assert len(request_topic("ladder", "a" * 80, 999_999_999, "f" * 32)) <= MAX_TOPIC


def test_events_come_in_their_order_each_once() -> None:
    told = linked(events(60))
    chance = random.Random(1)
    for _ in range(50):
        sequence, given = EventSequence(), list[Event]()
        on_the_way = [one for one in told * 3 if chance.random() < 0.6]
        chance.shuffle(on_the_way)
        for event, link in [*on_the_way, *told]:
            given += sequence.take(event, link)
        assert given == [event for event, _ in told]
        assert sequence.ended and not sequence.missing and sequence.next == len(told)


def test_a_gap_is_seen_and_filled() -> None:
    told = linked(events(3))
    sequence = EventSequence()
    assert sequence.take(*told[0]) == [told[0][0]]
    assert sequence.take(*told[3]) == [] and sequence.missing and sequence.ask_from == 0
    assert sequence.take(*told[1]) == [told[1][0]] and sequence.missing and sequence.ask_from == 1
    assert sequence.take(*told[2]) == [told[2][0], told[3][0]] and not sequence.missing


def test_events_far_ahead_are_kept_in_bounds() -> None:
    told = linked(events(5000))
    sequence = EventSequence()
    for event, link in reversed(told[1:]):
        assert sequence.take(event, link) == []
    assert sequence.take(*told[0]) == [told[0][0]]
    assert sequence.missing
    given = [event for one in told for event in sequence.take(*one)]
    assert given == [event for event, _ in told[1:]]


def test_a_match_that_was_taken_up_from_an_earlier_ply_starts_again() -> None:
    told, other = linked(events(4, ended=False)), linked(events(9, bot="cid"))
    sequence = EventSequence()
    for one in told:
        sequence.take(*one)
    with pytest.raises(Rewritten):
        sequence.take(*other[4])
    assert sequence.next == 0
    given = [event for one in other for event in sequence.take(*one)]
    assert given == [event for event, _ in other] and isinstance(given[-1], MatchEnded)


def test_a_late_spectator_gets_the_current_matches_first() -> None:
    roll = Roll()
    assert roll.take(Begun(seq=5, run="a", head=HEAD)) is None and roll.missing
    state = SpectatorState(seq=6, run="a", ladder="club", matches=(HEAD,))
    assert roll.take(state) == state and not roll.missing and roll.ladder == "club"
    assert roll.matches == {KEY: HEAD}
    assert roll.take(state) is None
    assert roll.take(SpectatorState(seq=5, run="a", ladder="club", matches=())) is None
    assert roll.take(Begun(seq=5, run="a", head=HEAD)) is None
    over = Over(seq=6, run="a", head=HEAD)
    assert roll.take(over) == over and not roll.matches and roll.next == 7
    begun = Begun(seq=7, run="a", head=HEAD)
    assert roll.take(begun) == begun and roll.matches == {KEY: HEAD}


def test_lost_news_and_another_run_are_seen() -> None:
    roll = Roll()
    roll.take(SpectatorState(seq=6, run="a", ladder="club", matches=()))
    assert roll.take(Over(seq=8, run="a", head=HEAD)) is None and roll.missing
    over = Over(seq=6, run="a", head=HEAD)
    assert roll.take(over) == over
    roll.take(SpectatorState(seq=9, run="a", ladder="club", matches=()))
    assert not roll.missing
    assert roll.take(Over(seq=9, run="b", head=HEAD)) is None and roll.missing
    anew = SpectatorState(seq=2, run="b", ladder="club", matches=(HEAD,))
    assert roll.take(anew) == anew and roll.next == 2
