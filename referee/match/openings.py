"""An opening book: a file whose openings begin the pairs of a series, in order or shuffled.

Each line is one opening: its moves separated by blanks; a comment begins with #. Openings are located by offset, so a
book of millions of lines costs little.
"""

import hashlib
import mmap
import os
import random
import re
from array import array
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal, get_args

from ggp.protocol.errors import Problem
from ggp.protocol.grammar import BOM
from ggp.protocol.input_files import in_words, open_input

Order = Literal["sequential", "random"]
ORDERS: tuple[Order, ...] = get_args(Order)
_LONGEST = 1 << 20  # bytes of a line
_MOST = 1000  # plies of an opening
_LARGEST = 10**10
_LARGEST_BOOK = 4 << 30  # bytes
_BLOCK = 1 << 16
_OPENING = re.compile(rb"^[ \t]*[^\s#]", re.MULTILINE)


class BookError(Problem, ValueError):
    """An unusable opening book; str() is one line with file, line and ply."""

    code = "bad-openings"


@dataclass(frozen=True)
class BookChoice:
    """An opening book and which of its openings are played.

    `start` is the first opening, from 1. `plies` limits the length of each opening; 0 means no limit. `digest` is the
    SHA-256 of the file in hex.
    """

    path: str
    digest: str
    order: Order = "sequential"
    start: int = 1
    plies: int = 0


@dataclass(frozen=True, slots=True)
class Opening:
    """The moves of an opening, its place (`book.txt, line 7`), and the first 16 hex digits of the book's digest."""

    moves: tuple[str, ...]
    place: str
    digest: str


class OpeningBook:
    """The openings in `data`, one per line. `unit` names what a line was in the original file, for messages."""

    def __init__(self, choice: BookChoice, data: bytes | mmap.mmap, unit: str = "line") -> None:
        """Create the book.

        Raises:
            BookError: It holds no opening, or fewer than `choice.start`.
        """
        self.choice, self._data, self._unit = choice, data, unit
        if choice.start > len(self):
            raise BookError(f"{choice.path} holds only {len(self)} openings: start={choice.start} is too large")

    def __len__(self) -> int:
        return len(self._starts)

    def opening(self, pair: int, seed: int) -> Opening:
        """Return the opening of a pair, counted from 0. After the last the book starts over, reshuffled if random."""
        size, choice = len(self), self.choice
        turn, place = divmod(pair + choice.start - 1, size)
        if choice.order == "random":
            place = shuffled(place, size, f"{seed} {turn}")
        at = self._starts[place]
        end = self._data.find(b"\n", at)
        where = f"{choice.path}, {self._unit} {self._line(at)}"
        moves = _moves(self._data[at : end if end >= 0 else len(self._data)], where, choice.plies)
        return Opening(moves, where, choice.digest[:16])

    @cached_property
    def _starts(self) -> "array[int]":
        """Return the offset of each opening.

        Raises:
            BookError: The book has no opening.
        """
        found = array("Q", (opening.start() for opening in _OPENING.finditer(self._data)))
        # A byte-order mark, which some editors write, is not part of the first line.
        if found and self._data[: len(BOM)] == BOM:
            found[:1] = array("Q", [len(BOM)] if _OPENING.match(self._data[len(BOM) : len(BOM) + _LONGEST]) else [])
        if not found:
            raise BookError(f"{self.choice.path} holds no opening: write the moves of one opening on each line")
        return found

    @cached_property
    def _lines(self) -> list[int]:
        """Return the number of lines that end before each block."""
        blocks = range(0, len(self._data), _BLOCK)
        return [0, *accumulate(self._data[at : at + _BLOCK].count(b"\n") for at in blocks)]

    def _line(self, at: int) -> int:
        block = at // _BLOCK
        return 1 + self._lines[block] + self._data[block * _BLOCK : at].count(b"\n")


def _moves(data: bytes, where: str, plies: int) -> tuple[str, ...]:
    if len(data) > _LONGEST:
        raise BookError(f"{where}: an opening longer than {_LONGEST} bytes: shorten it")
    try:
        return tuple(data.partition(b"#")[0].decode().split())[: plies or _MOST]
    except UnicodeDecodeError:
        raise BookError(f"{where}: invalid UTF-8: save the file as UTF-8 text") from None


def read_choice(word: str) -> BookChoice:
    """Parse `FILE[,order=random|sequential][,start=N][,plies=N]`, and hash the file.

    Raises:
        BookError: The text is invalid, or the file is unreadable.
    """
    path, *words = word.split(",")
    said = dict[str, str]()
    for text in words:
        name, _, value = text.partition("=")
        known = value in ORDERS if name == "order" else name in ("start", "plies") and 0 < _number(value) <= _LARGEST
        if not known or name in said:
            raise BookError(f"openings {text[:80]!r}: write FILE,order=random,start=1,plies=8")
        said[name] = value
    order: Order = "random" if said.get("order") == "random" else "sequential"
    digest = hashlib.sha256(file_data(path)).hexdigest()
    return BookChoice(path, digest, order, _number(said.get("start", "1")), _number(said.get("plies", "0")))


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else -1


def file_data(path: str) -> mmap.mmap:
    """Map a file into memory.

    Raises:
        BookError: The file is unreadable, empty or too large.
    """
    try:
        with open_input(path) as file:
            if os.fstat(file.fileno()).st_size > _LARGEST_BOOK:
                raise BookError(f"{path} is larger than {in_words(_LARGEST_BOOK)}: split it")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError:
        raise BookError(f"{path} is empty: write the moves of one opening on each line") from None
    except OSError as error:
        raise BookError(f"cannot read the openings {path[:200]}: {error.strerror}") from None


def shuffled(place: int, size: int, seed: str) -> int:
    """Return the position of `place` in a random permutation of range(size), without building the list.

    The permutation depends only on the seed. It is a Feistel network of four rounds on the next even number of bits,
    repeated until the result is in range.
    """
    half = max(1, (size - 1).bit_length() + 1 >> 1)
    keys = [random.Random(f"{seed} {turn}").getrandbits(64) for turn in range(4)]
    mask = (1 << half) - 1
    while True:
        left, right = place >> half, place & mask
        for key in keys:
            mixed = hashlib.blake2b(f"{key} {right}".encode(), digest_size=8).digest()
            left, right = right, left ^ (int.from_bytes(mixed) & mask)
        place = left << half | right
        if place < size:
            return place
