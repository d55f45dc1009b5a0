"""Messages of bots that dial out: every kind there and back, every way to be wrong named, nothing else raised."""

import resource
import time
from random import Random

import msgpack
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ggp.protocol.errors import LocalProtocolError
from ggp.protocol.lobby_wire import (
    MAX_COMMAND,
    MAX_FRAME,
    MAX_GAMES,
    MAX_TEXT,
    NAME,
    Bye,
    FrameError,
    Hello,
    LobbyAnswer,
    LobbyAsk,
    LobbyFault,
    Message,
    Stderr,
    decode,
    encode,
    plain_answer,
    printable,
)

pack = msgpack.packb
GOOD = {"ggp": 1, "name": "a", "games": ["yugo"]}

MESSAGES: list[tuple[Message, list[bytes]]] = [
    (Hello("dot"), [b"H", pack({"ggp": 1, "name": "dot", "games": []})]),
    (
        Hello("GNU Go é", ("go", "yugo"), "s1"),
        [b"H", pack({**GOOD, "name": "GNU Go é", "games": ["go", "yugo"], "session": "s1"})],
    ),
    (Hello("dot", challenges=False), [b"H", pack({"ggp": 1, "name": "dot", "games": [], "challenges": False})]),
    (LobbyAsk(b"genmove black\n"), [b"C", b"genmove black\n"]),
    (LobbyAsk(b"7 play white swap-sides\n"), [b"C", b"7 play white swap-sides\n"]),
    (LobbyAnswer(b"= D4\n\n"), [b"R", b"= D4\n\n"]),
    (LobbyAnswer(b"?1 no\nreason # 1\n\n"), [b"R", b"?1 no\nreason # 1\n\n"]),
    (Stderr("thinking …"), [b"E", "thinking …".encode()]),
    (Stderr(""), [b"E", b""]),
    (Bye("done"), [b"B", b"done"]),
    (Bye(""), [b"B", b""]),
]


@given(
    st.lists(st.one_of(st.sampled_from([b"R", b"C"]), st.text("=?\n 1\r\0é", max_size=8).map(str.encode)), max_size=3)
)
@example([b"R", b"= a\n\n"])
@example([b"R", b"= " + b"x" * MAX_FRAME + b"\n\n"])
def test_quick_look_at_an_answer_finds_what_decode_finds(frames: list[bytes]) -> None:
    found = plain_answer(frames)
    assert found is None or decode(frames) == LobbyAnswer(found)


def test_quick_look_takes_what_bots_say() -> None:
    for said in (b"=\n\n", b"=12 D4\n\n", b"?7 no\n\n", "= é\n2\n\n".encode()):
        assert plain_answer([b"R", said]) == said


@pytest.mark.parametrize(("message", "frames"), MESSAGES)
def test_there_and_back(message: Message, frames: list[bytes]) -> None:
    assert encode(message) == frames
    assert decode(frames) == message


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ([b"H", pack({**GOOD, "more": {"deep": [1, None]}})], Hello("a", ("yugo",))),
        ([b"R", b"= D4\r\n\r\n"], LobbyAnswer(b"= D4\n\n")),
        ([b"R", b"\x01=\x7f\n\n"], LobbyAnswer(b"=\n\n")),
        ([b"E", b"a\tb\x1b[31m\xff\n"], Stderr("a b[31m\\xff")),
        ([b"E", "line\u2028two\x9b\n\n".encode()], Stderr("line\\u2028two\\u009b ")),
        ([b"B", b"a\nb"], Bye("a b")),
    ],
)
def test_what_is_tolerated(frames: list[bytes], message: Message) -> None:
    assert decode(frames) == message


@pytest.mark.parametrize(
    ("frames", "fault"),
    [
        ([], LobbyFault.FRAMES),
        ([b"H"], LobbyFault.FRAMES),
        ([b"", b"H", b"x"], LobbyFault.FRAMES),
        ([b"x"] * 5000, LobbyFault.FRAMES),
        ([b"", b""], LobbyFault.KIND),
        ([b"h", b""], LobbyFault.KIND),
        ([b"HH" * 5000, b""], LobbyFault.KIND),
        ([b"H", b"\x80" * (MAX_TEXT + 1)], LobbyFault.SIZE),
        ([b"E", b"x" * (MAX_TEXT + 1)], LobbyFault.SIZE),
        ([b"B", b"x" * (MAX_TEXT + 1)], LobbyFault.SIZE),
        ([b"C", b"x" * MAX_COMMAND + b"\n"], LobbyFault.SIZE),
        ([b"R", b"= " + b"x" * MAX_FRAME + b"\n\n"], LobbyFault.SIZE),
        ([b"H", b""], LobbyFault.MSGPACK),
        ([b"H", b"\xc1"], LobbyFault.MSGPACK),
        ([b"H", b"\xdf\xff\xff\xff\xff"], LobbyFault.MSGPACK),
        ([b"H", b"\x91" * 60_000], LobbyFault.MSGPACK),
        ([b"H", b"\x81\xa1a" * 20_000], LobbyFault.MSGPACK),
        ([b"H", pack(GOOD) + b"\xc0"], LobbyFault.MSGPACK),
        ([b"H", pack([1, "a", []])], LobbyFault.MSGPACK),
        ([b"H", pack({1: 2})], LobbyFault.MSGPACK),
        ([b"H", b"\x83\xa3ggp\x01\xa4name\xa2\xff\xfe\xa5games\x90"], LobbyFault.MSGPACK),
        ([b"H", pack({**GOOD, "ggp": 2})], LobbyFault.VERSION),
        ([b"H", pack({"ggp": 2})], LobbyFault.VERSION),
        ([b"H", pack({**GOOD, "ggp": -1})], LobbyFault.VERSION),
        ([b"H", pack({"ggp": 1})], LobbyFault.HELLO),
        ([b"H", pack({**GOOD, "ggp": "1"})], LobbyFault.HELLO),
        ([b"H", pack({**GOOD, "name": ""})], LobbyFault.HELLO),
        ([b"H", pack({**GOOD, "name": "x" * (NAME + 1)})], LobbyFault.HELLO),
        ([b"H", pack({**GOOD, "name": "a\nb"})], LobbyFault.HELLO),
        ([b"H", pack({**GOOD, "session": "\x1b"})], LobbyFault.HELLO),
        ([b"H", pack({**GOOD, "games": ["go go"]})], LobbyFault.HELLO),
        ([b"H", pack({**GOOD, "games": [""]})], LobbyFault.HELLO),
        ([b"H", pack({**GOOD, "games": ["go"] * (MAX_GAMES + 1)})], LobbyFault.HELLO),
        ([b"H", pack({**GOOD, "games": None})], LobbyFault.HELLO),
        ([b"C", b""], LobbyFault.COMMAND),
        ([b"C", b"name"], LobbyFault.COMMAND),
        ([b"C", b"\n"], LobbyFault.COMMAND),
        ([b"C", b"name\nquit\n"], LobbyFault.COMMAND),
        ([b"C", b"\xff\n"], LobbyFault.COMMAND),
        ([b"R", b""], LobbyFault.ANSWER),
        ([b"R", b"hello\n= a\n\n"], LobbyFault.ANSWER),
        ([b"R", b"="], LobbyFault.ANSWER),
        ([b"R", b"= a\n"], LobbyFault.ANSWER),
        ([b"R", b"= a\n\n= b\n\n"], LobbyFault.ANSWER),
        ([b"R", b"= a\n\n\n"], LobbyFault.ANSWER),
        ([b"R", b"= a\n\x01\n= b\n\n"], LobbyFault.ANSWER),
    ],
)
def test_what_is_wrong_has_a_fault_and_one_line(frames: list[bytes], fault: LobbyFault) -> None:
    with pytest.raises(FrameError) as caught:
        decode(frames)
    assert caught.value.fault is fault
    assert str(caught.value).isprintable() and len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "message",
    [
        Hello(""),
        Hello("a\nb"),
        Hello("\ud800"),
        Hello("a", ("x",) * (MAX_GAMES + 1)),
        Hello("a", (), "s" * (NAME + 1)),
        LobbyAsk(b"name"),
        LobbyAsk(b"#\n"),
        LobbyAnswer(b"a"),
        LobbyAnswer(b"= a\r\n\n"),
        Stderr("a\n"),
        Stderr("\ud800"),
        Stderr("x" * (MAX_TEXT + 1)),
        Bye("\t"),
    ],
)
def test_what_could_not_be_read_back_is_not_sent(message: Message) -> None:
    with pytest.raises(LocalProtocolError):
        encode(message)


def test_the_largest_of_each_kind_passes() -> None:
    largest: list[Message] = [
        LobbyAsk(b"x" * (MAX_COMMAND - 1) + b"\n"),
        LobbyAnswer(b"= " + b"x" * (MAX_FRAME - 4) + b"\n\n"),
        Stderr("x" * MAX_TEXT),
        Bye("é" * (MAX_TEXT // 2)),
        Hello("é" * NAME, tuple("x" * NAME for _ in range(MAX_GAMES)), "s" * NAME),
    ]
    for message in largest:
        assert decode(encode(message)) == message


@pytest.mark.slow
@given(st.text() | st.binary(), st.integers(0, 50))
@example("a" * 49 + "é", 50)
def test_anything_becomes_printable_and_may_be_sent(data: str | bytes, most: int) -> None:
    text = printable(data, most)
    assert text.isprintable() and len(text.encode()) <= most
    assert printable(text) == text
    assert decode(encode(Stderr(text))) == Stderr(text)


@given(
    st.lists(st.binary(max_size=40), max_size=4)
    | st.tuples(st.sampled_from([b"H", b"C", b"R", b"E", b"B"]), st.binary()).map(list)
)
def test_any_frames_are_a_message_or_a_frame_error(frames: list[bytes]) -> None:
    _look(frames)


@given(st.randoms(use_true_random=False))
def test_what_is_almost_a_message_is_one_or_a_frame_error(chance: object) -> None:
    from random import Random

    assert isinstance(chance, Random)
    frames = mutated(chance, seeds())
    _look(frames)


def _look(frames: list[bytes]) -> None:
    try:
        message = decode(frames)
    except FrameError as error:
        assert str(error).isprintable() and len(str(error)) < 500
    else:
        assert decode(encode(message)) == message


# --- many messages ---

BOMBS = 10  # a thousand messages hold so many of up to 64 KiB


def _fuzz(number: int, seed: int) -> dict[str, int]:
    """Decode so many; how many had which fault, "" for none. Whatever else is raised ends the test."""
    chance, good = Random(seed), seeds()
    found = dict.fromkeys(["", *LobbyFault], 0)
    for _ in range(number // 1000):
        batch = [mutated(chance, good) for _ in range(1000 - BOMBS)] + [bombs(chance) for _ in range(BOMBS)]
        for frames in batch:
            try:
                decode(frames)
                found[""] += 1
            except FrameError as error:
                found[error.fault] += 1
    return found


def test_every_fault_is_met() -> None:
    found = _fuzz(20_000, 1)
    assert sum(found.values()) == 20_000
    assert all(count for fault, count in found.items() if fault != LobbyFault.SIZE), found


@pytest.mark.long
def test_ten_million_messages() -> None:
    _fuzz(100_000, 2)  # what is loaded and grown only once
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    found = _fuzz(10_000_000, 3)
    seconds, grown = time.monotonic() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"{sum(found.values())} messages in {seconds:.0f} s, {sum(found.values()) / seconds:.0f}/s: {found}")
    assert sum(found.values()) == 10_000_000
    assert grown < 32 * 1024, f"the largest resident size grew by {grown} KiB"


# --- messages with something wrong in them: mutated good ones, and bombs of msgpack ---

KINDS = (b"H", b"C", b"R", b"E", b"B")
_pack = msgpack.packb


def seeds() -> list[tuple[bytes, bytes]]:
    """Good messages of every kind, (kind, payload)."""
    return [
        (b"H", _pack({"ggp": 1, "name": "dot", "games": ["go", "yugo"], "session": "abc"})),
        (b"H", _pack({"ggp": 1, "name": "é" * 20, "games": [f"g{n}" for n in range(40)]})),
        (b"H", _pack({"ggp": 2, "what": {"a": [1, 2.5, None, True, b"x"]}, "name": "b", "games": []})),
        (b"C", b"genmove black\n"),
        (b"C", b"12 ggp-new yugo size=7 komi=4\n"),
        (b"R", b"= D4\n\n"),
        (b"R", b"?3 illegal move: occupied\n\n"),
        (b"R", b"= a\nb\n# c\n\n"),
        (b"E", "a line …".encode()),
        (b"B", b"done"),
    ]


# Heads that declare more than there is, nesting, every form of number, text that is none, times that cannot be.
HEADS = [
    b"\xdf\xff\xff\xff\xff",
    b"\xdd\xff\xff\xff\xff",
    b"\xdb\xff\xff\xff\xff",
    b"\xc6\xff\xff\xff\xff",
    b"\xc9\xff\xff\xff\xff\x01",
    b"\xde\xff\xff",
    b"\xdc\xff\xff",
    b"\xda\xff\xff",
    b"\xc7\x0c\xff" + b"\xff" * 12,
    b"\xd7\xff" + b"\xff" * 8,
    b"\xd6\xff\xff\xff\xff\xff",
    b"\x91" * 300,
    b"\x81\xa1a" * 300,
    b"\xcf" + b"\xff" * 8,
    b"\xd3\x80" + b"\0" * 7,
    b"\xcb\x7f\xf8" + b"\0" * 6,
    b"\xca\x7f\x80\0\0",
    b"\xa4\xff\xfe\xed\xa0",
    b"\xc1",
    b"\xc0",
    b"\x82\xa3ggp\x01\xa3ggp",
    b"\n\n",
    b"=",
    b"\r\n",
    b"\0",
    b"\x7f",
    b"\xe2\x80\xa8",
]


def mutated(chance: Random, good: list[tuple[bytes, bytes]]) -> list[bytes]:
    """The frames of one message that may be wrong."""
    kind, payload = good[int(chance.random() * len(good))]
    data = bytearray(payload)
    for _ in range(1 + int(chance.random() * 3)):
        _change(chance, data)
    frames = [kind, bytes(data)]
    if (dice := chance.random()) < 0.1:
        frames[0] = KINDS[int(dice * 50)] if dice < 0.09 else bytes(data[:2])
    elif dice > 0.98:
        frames = [*frames[: int(chance.random() * 3)], *[b""] * int(chance.random() * 3)]
    return frames


def bombs(chance: Random) -> list[bytes]:
    """A hello of up to 64 KiB that wants to be more: deep, or with lengths that are not there."""
    head = HEADS[int(chance.random() * len(HEADS))]
    body = head * int(1 + chance.random() * 66_000 / len(head))
    if chance.random() < 0.5:
        body = b"\x84\xa3ggp\x01\xa4name\xa1a\xa5games\x90\xa1x" + body
    return [b"H", body[: int(1 + chance.random() * 66_000)]]


def _change(chance: Random, data: bytearray) -> None:
    place = int(chance.random() * (len(data) + 1))
    dice = chance.random()
    if dice < 0.35 and place < len(data):
        data[place] = int(chance.random() * 256)
    elif dice < 0.55:
        data[place:place] = HEADS[int(chance.random() * len(HEADS))]
    elif dice < 0.7:
        del data[place:]
    elif dice < 0.8:
        del data[place : place + 1 + int(chance.random() * 8)]
    elif dice < 0.9:
        data[place:place] = data[: 1 + int(chance.random() * 30)]
    else:
        data[place:place] = chance.randbytes(1 + int(chance.random() * 8))
