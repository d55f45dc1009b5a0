"""The agreement phase, for native and for plain bots: who is asked what, and what silence means."""

import pytest

from ggp.protocol.responder import Responder
from ggp.referee.match.outcome import Termination
from tests.support.memory_match import MemoryMatch, bot, plain

GAME = "go size=3 komi=0.5 agreement=on"  # Black B2, White A1: A1 is dead if both say so


def played(one: Responder, two: Responder) -> MemoryMatch:
    return MemoryMatch(GAME, one, two).run()


def test_native_bots_give_their_lists_by_genmove() -> None:
    match = played(bot(["B2", "pass", "dead:A1"]), bot(["A1", "pass", "dead:a1"]))
    assert match.moves[-2:] == ["1 black dead:A1", "2 white dead:A1"]
    assert (match.outcome.termination, match.outcome.result) == (Termination.RULES, "B+8.5")
    assert "play black dead:A1" in match.peers[1].lines


def test_native_bots_that_differ_play_on() -> None:
    match = played(bot(["B2", "pass", "dead:A1", "pass"]), bot(["A1", "pass", "dead:", "pass"]))
    assert match.moves[4:] == ["1 black dead:A1", "2 white dead:", "1 black pass", "2 white pass"]
    assert match.outcome.result != "B+8.5"


@pytest.mark.parametrize(
    ("first", "second", "agreed"),
    [
        ("A1", "A1", "dead:A1"),
        ("a1", "A1", "dead:A1"),
        ("A1", None, "dead:A1"),  # failing to answer counts as agreeing with the other side,
        (None, "A1", "dead:A1"),  # also when it was to speak first
        (None, None, "dead:"),
        ("", "", "dead:"),
    ],
)
def test_plain_bots_are_asked_for_the_status_of_stones(first: str | None, second: str | None, agreed: str) -> None:
    match = played(plain(["B2", "pass"], first), plain(["A1", "pass"], second))
    assert match.moves[-2:] == [f"1 black {agreed}", f"2 white {agreed}"]
    assert match.outcome.termination is Termination.RULES
    assert not any("dead:" in line for peer in match.peers for line in peer.lines)


def test_plain_bots_that_differ_play_on() -> None:
    match = played(plain(["B2", "pass", "pass"], "A1"), plain(["A1", "pass", "pass"], ""))
    assert match.moves[4:] == ["1 black dead:A1", "2 white dead:", "1 black pass", "2 white pass"]


def test_a_plain_bot_reads_a_native_ones_list_only_through_the_referee() -> None:
    match = played(bot(["B2", "pass", "dead:A1"]), plain(["A1", "pass"], None))
    assert match.moves[-1] == "2 white dead:A1"


def test_a_plain_bot_that_lists_an_empty_point_loses_with_the_reason() -> None:
    match = played(plain(["B2", "pass"], "C3"), plain(["A1", "pass"], ""))
    assert (match.outcome.termination, match.outcome.result) == (Termination.ILLEGAL_MOVE, "W+F")
    assert "C3" in match.outcome.detail


def test_the_agreement_is_off_the_clock() -> None:
    match = MemoryMatch(GAME, bot(["B2", "pass", "dead:"]), bot(["A1", "pass", "dead:"]), time="3")
    match.peers[0].memory.seconds = 1.2  # each write takes that long: two moves are in time, three would not be
    match.run()
    assert match.outcome.termination is Termination.RULES
    assert [ply.ms for ply in match.record.plies if ply.seat == 1] == [0, 0, 0]
