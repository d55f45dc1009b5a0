"""The meaning of an SGF record of go, within limits: size, komi, set-ups, moves. gtpgo plays it.

ggp.protocol.sgf parses the text.
"""

from typing import NamedTuple

from ggp.protocol.sgf import Node, SgfError, board_size, decode, main_lines, read_move, read_points

__all__ = ["MAX_POINTS", "Move", "SgfError", "SgfRecord", "Stones", "Turn", "read"]

MAX_POINTS = 625
MAX_STEPS = 10_000
_STONES = {"AB": "black", "AW": "white", "AE": "empty"}


class Move(NamedTuple):
    """A move by `black` or `white`; `at` is a GTP point or `pass`."""

    colour: str
    at: str


class Stones(NamedTuple):
    """Points that get stones of a colour, or lose them (`empty`), whatever was there: AB, AW, AE."""

    colour: str
    points: tuple[str, ...]


class Turn(NamedTuple):
    """The colour to move, from PL."""

    colour: str


class SgfRecord(NamedTuple):
    """The parts of a game that we use; `handicap` is the number in HA, and `steps` are in the order of the file."""

    size: int
    komi: float | None
    handicap: int
    steps: tuple[Move | Stones | Turn, ...]


def read(data: bytes) -> SgfRecord:
    """Read the main line of a record, which takes the first branch everywhere.

    Raises:
        SgfError: The file is not a valid record of go.
    """
    nodes = next(main_lines(decode(data), unclosed=True))
    root = nodes[0]
    if root.get("GM", ["1"])[0].strip() != "1":
        raise SgfError(f"not a Go record: GM[{root['GM'][0][:20]}]")
    size = board_size(root)
    steps: list[Move | Stones | Turn] = []
    for node in nodes:
        for name, values in node.items():
            if name in ("B", "W"):
                steps.append(Move("black" if name == "B" else "white", read_move(values[0], size)))
            elif name in _STONES:
                points = [point for value in values for point in read_points(value, size)]
                steps.append(Stones(_STONES[name], tuple(dict.fromkeys(points))))
            elif name == "PL" and values[0].strip():
                steps.append(Turn("white" if values[0].strip()[0] in "wW2" else "black"))
        if len(steps) > MAX_STEPS:
            raise SgfError(f"more than {MAX_STEPS} moves and set-ups")
    return SgfRecord(size, _komi(root), _handicap(root), tuple(steps))


def _komi(root: Node) -> float | None:
    if "KM" not in root or not root["KM"][0].strip():
        return None
    text = root["KM"][0].strip()
    digits = text.lstrip("+-").replace(".", "", 1)
    if not digits.isdigit() or not digits.isascii() or len(text) > 12:
        raise SgfError(f"komi is not a number: KM[{text[:20]}]")
    return float(text)


def _handicap(root: Node) -> int:
    """Return HA, or 0 if it is not a number; stones that are set up count anyway."""
    text = root.get("HA", [""])[0].strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0
