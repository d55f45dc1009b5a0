"""A bot's output cut into whole answers: however it is cut, with junk before them, within the bound."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.protocol.answer_splitter import AnswerSplitter
from ggp.protocol.errors import RemoteProtocolError
from ggp.protocol.lobby_wire import LobbyAnswer, decode
from tests.protocol.test_properties import pieces_of
from tests.support.codes import raises

CUTS = st.lists(st.integers(0, 200), max_size=8)
ANSWERS = st.lists(
    st.sampled_from([b"= a\n\n", b"?1 no\nwhy\n\n", b"=\n\n", b"= # x\n\n", b"=2 " + b"x" * 50 + b"\n\n"]), max_size=5
)


@given(ANSWERS, CUTS, st.sampled_from([b"", b"hello\n", b"\n\n", b"a b\r\n \nb\n"]))
def test_answers_come_out_whole_however_they_came_in(answers: list[bytes], cuts: list[int], junk: bytes) -> None:
    cutter = AnswerSplitter()
    found = [answer for piece in pieces_of(junk.join([b"", *answers]), cuts) for answer in cutter.receive(piece)]
    assert found == answers
    assert cutter.junk == [line.strip() for line in junk.splitlines() if line.strip()] * len(answers)
    assert cutter.end() == []


@given(st.binary(max_size=100).map(lambda data: data.replace(b"a", b"\n\n").replace(b"b", b"=")), CUTS)
def test_whatever_comes_is_the_same_in_one_piece_and_may_travel(data: bytes, cuts: list[int]) -> None:
    one, many = AnswerSplitter(), AnswerSplitter()
    whole = [*one.receive(data), *one.end()]
    assert [*(answer for piece in pieces_of(data, cuts) for answer in many.receive(piece)), *many.end()] == whole
    assert one.junk == many.junk
    for answer in whole:
        assert decode([b"R", answer]) == LobbyAnswer(answer)


def test_a_byte_at_a_time() -> None:
    cutter = AnswerSplitter()
    data = b"hello\n= a\n\n?1\n\n"
    assert [answer for at in range(len(data)) for answer in cutter.receive(data[at : at + 1])] == [
        b"= a\n\n",
        b"?1\n\n",
    ]
    assert cutter.junk == [b"hello"]


def test_control_characters_are_dropped() -> None:
    cutter = AnswerSplitter()
    assert cutter.receive(b"= a\r\n\r\n") == [b"= a\n\n"]
    assert cutter.receive(b"=\x01 b\n\x02\n= c\r\n") == [b"= b\n\n"]
    assert cutter.end() == [b"= c\n\n"]


def test_an_answer_that_the_end_cuts_is_none_but_after_quit() -> None:
    cutter = AnswerSplitter()
    assert cutter.receive(b"= a\n\n=8 D1") == [b"= a\n\n"]
    assert cutter.end() == [] and cutter.cut == b"=8 D1"
    cutter = AnswerSplitter()
    assert cutter.receive(b"=9 bye") == [] and cutter.end(quitting=True) == [b"=9 bye\n\n"]


@given(CUTS)
def test_a_byte_order_mark_before_the_first_answer_is_dropped(cuts: list[int]) -> None:
    cutter = AnswerSplitter()
    data = b"\xef\xbb\xbf= a\n\n\xef\xbb\xbf\n= b\n\n"
    assert [answer for piece in pieces_of(data, cuts) for answer in cutter.receive(piece)] == [b"= a\n\n", b"= b\n\n"]
    assert cutter.junk == [b"\xef\xbb\xbf"]


@pytest.mark.parametrize("data", [b"= " + b"x" * 20, b"= " + b"x" * 20 + b"\n\n", b"x" * 30, b"= a\n\n= " + b"x" * 20])
def test_more_than_the_bound_is_the_bots_fault(data: bytes) -> None:
    cutter = AnswerSplitter(20)
    with raises(RemoteProtocolError, "answer-too-long"):
        cutter.receive(data)
    assert cutter.receive(b"= a\n\n") == [b"= a\n\n"]


def test_a_last_answer_over_the_bound_does_not_count() -> None:
    cutter = AnswerSplitter(5)
    assert cutter.receive(b"= ab\n") == [] and cutter.end() == [b"= ab\n\n"]
    assert cutter.receive(b"= abc") == [] and cutter.end(quitting=True) == [b"= abc\n\n"]
    assert cutter.receive(b"junk") == [] and cutter.end() == []
