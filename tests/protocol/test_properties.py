"""What holds of both ends for all bytes: cutting never matters, no surprise is raised, text and message agree."""

import time
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ggp.protocol.connection import Connection, PeerRole, ReadLimits
from ggp.protocol.errors import LocalProtocolError, PeerGone, ProtocolError, RemoteProtocolError
from ggp.protocol.grammar import (
    BOM,
    CONTROL,
    MAX_ID,
    check_line,
    clean_line,
    format_reply,
    parse_command,
    parse_reply,
    read_line,
    split_words,
)
from ggp.protocol.messages import Command, Reply
from ggp.protocol.responder import Responder
from tests.support.answering_program import make_responder

# Bytes as peers really send them, more often than chance would: marks, ids, ends of answers, junk, controls.
MARKS = [b"= ", b"=", b"?", b"=1 ", b"=2", b"?3 x", b"=12345678901", b"= a\n\n", b"=1 a\n\n", b"?2 b\nc\n\n", b"=3\n\n"]
ENDS = [b"\n", b"\n\n", BOM, b"\r", b"\x01\n", b"\0", b"\t", b" ", b"#", b"a", b"b c", b"junk\n", b"\xff", "é".encode()]
PIECES = st.sampled_from(MARKS) | st.sampled_from(ENDS)
STREAMS = st.one_of(st.lists(PIECES, max_size=30).map(b"".join), st.binary(max_size=200))
CUTS = st.lists(st.integers(0, 400), max_size=12)
LIMITS = st.builds(
    ReadLimits, st.integers(0, 20) | st.just(2**20), st.integers(0, 4) | st.just(10_000), st.integers(0, 3)
)
LINES = st.lists(
    st.sampled_from(
        [
            b"name",
            b"1 echo a",
            b"fail x",
            b"7",
            b"words\ta",
            b"#",
            b"",
            b"quit",
            b"add x",
            b"board",
            b"2 a\r",
            b"empty-line",
        ]
    )
    | st.binary(max_size=20).map(lambda data: data.replace(b"\n", b"")),
    max_size=12,
).map(b"\n".join)


def pieces_of(data: bytes, cuts: list[int]) -> list[bytes]:
    """`data` cut at these places; no piece is empty."""
    places = [0, *sorted({cut for cut in cuts if 0 < cut < len(data)}), len(data)]
    return [data[a:b] for a, b in pairwise(places) if a < b]


def heard(
    pieces: list[bytes], peer: PeerRole, ids: bool, asked: int, limits: ReadLimits
) -> tuple[list[object], list[str]]:
    """All that a Connection makes of the pieces and the end of the stream, and its warnings."""
    connection = Connection(peer, limits)
    connection.ids = ids
    connection.send(*["name"] * asked)
    for piece in [*pieces, b""]:
        connection.receive(piece)
    told: list[object] = []
    try:
        while True:
            told.append(connection.next_reply())
    except (RemoteProtocolError, PeerGone) as error:
        told.append((type(error), str(error)))
    assert len(told) <= asked + 1 and None not in told
    return told, connection.warnings


@pytest.mark.slow
@settings(max_examples=500)
@given(STREAMS, CUTS, st.sampled_from(PeerRole), st.booleans(), st.integers(0, 4), LIMITS)
@example(b"= 12345\n\n", [3], PeerRole.BOT, False, 1, ReadLimits(8, 10, 3))  # exactly at the bound
@example(b"= a= b\n\n", [3], PeerRole.BOT, False, 2, ReadLimits())  # the second piece alone looks like an answer
@example(b"\0" * 9 + b"\n= a\n\n", [5], PeerRole.BOT, False, 1, ReadLimits(8, 10, 3))  # only controls, over the bound
@example(b"x" * 9 + b"\n= a\n\n", [5], PeerRole.BOT, False, 1, ReadLimits(8, 10, 3))  # only junk, over the bound
def test_how_the_stream_is_cut_never_matters_to_the_asking_end(
    data: bytes, cuts: list[int], peer: PeerRole, ids: bool, asked: int, limits: ReadLimits
) -> None:
    whole = heard([data] if data else [], peer, ids, asked, limits)
    assert heard(pieces_of(data, cuts), peer, ids, asked, limits) == whole
    assert heard([bytes([byte]) for byte in data], peer, ids, asked, limits) == whole


@given(st.lists(STREAMS, max_size=6), st.sampled_from(PeerRole), st.booleans())
def test_arbitrary_bytes_raise_only_the_peers_errors_whenever_they_come(
    streams: list[bytes], peer: PeerRole, ids: bool
) -> None:
    connection = Connection(peer)
    connection.ids = ids
    failed: ProtocolError | None = None
    for data in streams:  # asked one by one, and the stream may end in between
        try:
            connection.send("name")
            connection.receive(data)
            connection.next_reply()
        except (RemoteProtocolError, PeerGone) as error:
            assert failed is None or failed is error  # the first error stays the error
            failed = error
    assert connection.awaited <= len(streams)


def answered(pieces: list[bytes]) -> tuple[bytes, bool]:
    """All that a Responder answers to the pieces, and whether it closed of itself."""
    responder = make_responder()
    out = b""
    for piece in pieces:
        responder.receive(piece)
        while (answer := responder.next_answer()) is not None:
            out += answer
    return out, responder.closed


@settings(max_examples=300)
@given(LINES | STREAMS, CUTS)
def test_how_the_stream_is_cut_never_matters_to_the_answering_end(data: bytes, cuts: list[int]) -> None:
    whole = answered([data] if data else [])
    assert answered(pieces_of(data, cuts)) == whole
    assert answered([bytes([byte]) for byte in data]) == whole


@given(LINES | STREAMS)
@example(b"7 name\n07\n-1 a\n1_0 a\n\x1cname\na\x85b\n \tname a#b\n")
def test_a_line_is_read_as_it_is_cleaned_and_parsed(data: bytes) -> None:
    for raw in data.split(b"\n"):
        line, read = clean_line(raw), read_line(raw)
        assert (read is None) == (not line)
        if read is not None:
            assert Command(read[0], tuple(read[1]), read[2]) == parse_command(line)


@given(LINES | STREAMS)
def test_every_line_that_counts_gets_exactly_one_answer_that_can_be_read(data: bytes) -> None:
    lines = [clean_line(line) for line in data.removeprefix(BOM).split(b"\n")[:-1]]
    asked = [line for line in lines if line]
    quits = [i for i, line in enumerate(asked) if parse_command(line).name == "quit"]
    asked = asked[: quits[0] + 1] if quits else asked
    out, closed = answered([data] if data else [])
    assert closed == bool(quits)
    connection = Connection(PeerRole.ENGINE)
    connection.send_exactly("".join(f"{line}\n" for line in asked).encode())
    for piece in pieces_of(out, []):
        connection.receive(piece)
    for _ in asked:
        assert connection.next_reply() is not None
    assert connection.next_reply() is None
    connection.receive(b"")
    with pytest.raises(PeerGone):  # not a byte was left over
        connection.next_reply()


@pytest.mark.parametrize("extra", [-1, 0, 1, 2])
@pytest.mark.parametrize("cut", [0, 1, 65_535, 65_536, 65_537, 65_538])
def test_cutting_never_matters_at_the_bound_of_a_line(extra: int, cut: int) -> None:
    data = b"x" * (65_536 + extra) + b"\nname\n" + b"y" * (65_536 + extra) + b"\r\nname\n"
    expected = b"? line too long\n\n" if extra > 0 else b"? unknown command\n\n"
    second = b"? line too long\n\n" if extra >= 0 else b"? unknown command\n\n"  # with its CR
    assert answered(pieces_of(data, [cut, cut + 65_536])) == (
        expected + b"= Answerer\n\n" + second + b"= Answerer\n\n",
        False,
    )


# -- text and message -----------------------------------------------------------------------------------------------

SENDABLE = st.text(st.characters(exclude_characters="# \x7f", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12)
IDS = st.none() | st.integers(0, MAX_ID)


@given(st.text(max_size=20), st.booleans())
@example("7 a", False)
@example("", True)
@example("a\u2028b", False)
def test_a_line_that_may_be_sent_is_read_as_it_was_meant(line: str, ids: bool) -> None:
    head = "5 " if ids else ""
    try:
        check_line(line, head)
    except LocalProtocolError:
        return
    read = parse_command(clean_line((head + line).encode()))
    assert [read.name, *read.arguments] == split_words(line)
    assert read.id == (5 if ids else None)


TEXTS = st.text(
    st.characters(exclude_characters="\x7f", exclude_categories=["Cs"]) | st.sampled_from("\n\t #=?1"), max_size=30
)


@given(st.booleans(), TEXTS, IDS)
def test_a_reply_that_can_be_written_is_read_back(ok: bool, text: str, identity: int | None) -> None:
    try:
        data = format_reply(Reply(ok, text, identity))
    except LocalProtocolError:
        kept = text.translate(dict.fromkeys(CONTROL))
        assert "\n\n" in kept or kept.endswith("\n")  # an empty line
        return
    assert data.endswith(b"\n\n") and b"\n\n" not in data[:-2]
    kept = text.translate(dict.fromkeys(CONTROL))
    expected = kept if "\n" in kept else kept.strip(" \t")  # blanks around a line are dropped
    assert parse_reply(data[:-2]) == Reply(ok, expected, identity)


@given(st.text(max_size=30), IDS)
def test_any_text_becomes_one_answer_of_the_responder(text: str, identity: int | None) -> None:
    responder = Responder("n", "v", {"say": lambda arguments: text})
    responder.receive(b"say\n" if identity is None else b"%d say\n" % identity)
    answer = responder.next_answer()
    assert answer is not None and responder.next_answer() is None
    assert answer.endswith(b"\n\n") and answer.count(b"\n\n") == 1
    reply = parse_reply(answer[:-2])
    assert reply is not None and reply.id == identity


@given(st.binary(max_size=40))
def test_any_bytes_are_a_reply_or_none(data: bytes) -> None:
    reply = parse_reply(data)
    assert (reply is None) == (data[:1] not in (b"=", b"?"))


# -- no work that grows with the square -----------------------------------------------------------------------------


def seconds_of(pieces: list[bytes]) -> float:
    connection = Connection(PeerRole.BOT)
    connection.send("name")
    began = time.process_time()
    for piece in pieces:
        connection.receive(piece)
    assert connection.next_reply() is not None
    return time.process_time() - began


@pytest.mark.parametrize("unit", [b"x", b"x\n"])
def test_an_answer_that_comes_byte_by_byte_costs_in_proportion(unit: bytes) -> None:
    def costs(size: int) -> float:
        return seconds_of([b"= ", *[unit[i : i + 1] for i in range(len(unit))] * (size // len(unit)), b"\n\n"])

    few = min(costs(2_000) for _ in range(3))
    many = min(costs(18_000) for _ in range(2))  # lines are bounded at 10,000
    assert many < 9 * few * 4 + 0.02


def test_a_command_that_comes_byte_by_byte_costs_in_proportion() -> None:
    def costs(size: int) -> float:
        responder = make_responder()
        began = time.process_time()
        for _ in range(size):
            responder.receive(b"x")
            assert responder.next_answer() is None
        return time.process_time() - began

    few = min(costs(6_000) for _ in range(3))
    assert costs(60_000) < 10 * few * 4 + 0.02
