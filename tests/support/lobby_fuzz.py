"""Messages of dial-in bots with something wrong in them, made quickly: mutated good ones, and bombs of msgpack."""

from random import Random

import msgpack

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
