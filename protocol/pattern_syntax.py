"""What a regular expression's text says: the tree of its parts; not how it is matched (see regular_expression)."""

import re
from collections.abc import Callable
from string import digits, hexdigits, punctuation
from typing import NamedTuple

MAX_DEPTH = 50  # parentheses inside one another
MAX_COUNT = 10_000  # of a counted repetition

Test = Callable[[str], bool]


class PatternError(ValueError):
    """The expression cannot be read, or not matched within the bounds; str() says what and where."""


class Chars(NamedTuple):
    """One character that passes `test`; `literal` if it is only this one."""

    test: Test
    literal: str = ""


class Place(NamedTuple):
    """Matches no character, but between two of them ("" at an end of the text) if `test(before, after)`."""

    test: Callable[[str, str], bool]


class Repeat(NamedTuple):
    """`low` to `high` (None: any number) of `part`."""

    part: "Node"
    low: int
    high: int | None


class Choice(NamedTuple):
    """Any one of the parts."""

    parts: tuple["Node", ...]


class Sequence(NamedTuple):
    """The parts one after another."""

    parts: tuple["Node", ...]


Node = Chars | Place | Repeat | Choice | Sequence


def read_pattern(pattern: str) -> Node:
    """The tree of a pattern. Raises PatternError."""
    return _Reader(pattern).read()


class _Reader:
    """A descent over the characters: choice, sequence, repetition, atom."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0

    def read(self) -> Node:
        tree = self._choice()
        if self._at < len(self._pattern):
            raise self._wrong("a ) that nothing opens")
        return tree

    def _choice(self) -> Node:
        parts = [self._sequence()]
        while self._take("|"):
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            parts.append(self._repeated(self._atom()))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _repeated(self, part: Node) -> Node:
        while (bounds := self._bounds()) is not None:
            part = Repeat(part, *bounds)
            self._take("?")  # the lazy form matches the same whole texts
        return part

    def _bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in _SIGNS.items():
            if self._take(sign):
                return bounds
        counted = _COUNTED.match(self._pattern, self._at)
        if counted is None:
            return None
        low, comma, high = counted.groups()
        if len(low) > 5 or len(high) > 5 or int(low) > MAX_COUNT or int(high or 0) > MAX_COUNT:
            raise self._wrong(f"more than {MAX_COUNT} repetitions")
        self._at = counted.end()
        bounds = int(low), int(high) if high else None if comma else int(low)
        if bounds[1] is not None and bounds[1] < bounds[0]:
            raise self._wrong("a repetition whose bounds are exchanged")
        return bounds

    def _atom(self) -> Node:
        char = self._pattern[self._at]
        self._at += 1
        if char == "(":
            return self._group()
        if char == "[":
            return self._set()
        if char == "\\":
            return self._escape()
        if char in "*+?":
            raise self._wrong(f"a {char} with nothing before it")
        return _ATOMS.get(char) or _only(char)

    def _group(self) -> Node:
        if self._take("?") and not self._take(":"):
            raise self._wrong("(? other than (?: is not read: it cannot be matched in bounded time")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._wrong(f"parentheses deeper than {MAX_DEPTH}")
        inside = self._choice()
        self._depth -= 1
        if not self._take(")"):
            raise self._wrong("a ( that nothing closes")
        return inside

    def _escape(self) -> Chars | Place:
        name = self._pattern[self._at : self._at + 1]
        self._at += 1
        if name in _PLACES:
            return _PLACES[name]
        if name in _CLASSES:
            return Chars(_CLASSES[name])
        return _only(self._escaped(name))

    def _escaped(self, name: str) -> str:
        """The character that an escape stands for; the escape's name is read."""
        if name in _NAMED:
            return _NAMED[name]
        digits = _DIGITS.get(name)
        if digits is not None:
            code = self._pattern[self._at : self._at + digits]
            if len(code) < digits or not all(char in hexdigits for char in code):
                raise self._wrong(f"\\{name} wants {digits} hexadecimal digits")
            self._at += digits
            return chr(int(code, 16))
        if name.isalnum() or not name:
            raise self._wrong(f"\\{name} is not read")
        return name

    def _set(self) -> Chars:
        negated = self._take("^")
        tests: list[Test] = []
        first = True
        while first or not self._take("]"):
            if self._at >= len(self._pattern):
                raise self._wrong("a [ that nothing closes")
            tests.append(self._member())
            first = False
        return Chars(lambda char: any(test(char) for test in tests) != negated)

    def _member(self) -> Test:
        named = _NAMED_CLASS.match(self._pattern, self._at)
        if named is not None and named[1] in _POSIX:
            self._at = named.end()
            return _POSIX[named[1]]
        low = self._set_char()
        if not isinstance(low, str):
            return low
        if self._pattern[self._at : self._at + 1] != "-" or self._pattern[self._at + 1 : self._at + 2] in ("]", ""):
            return lambda char: char == low
        self._at += 1
        high = self._set_char()
        if not isinstance(high, str) or high < low:
            raise self._wrong("a range whose ends are none, or exchanged")
        return lambda char: low <= char <= high

    def _set_char(self) -> str | Test:
        char = self._pattern[self._at]
        self._at += 1
        if char != "\\":
            return char
        name = self._pattern[self._at : self._at + 1]
        self._at += 1
        return _CLASSES[name] if name in _CLASSES else self._escaped(name)

    def _take(self, char: str) -> bool:
        if not self._pattern.startswith(char, self._at):
            return False
        self._at += 1
        return True

    def _wrong(self, what: str) -> PatternError:
        return PatternError(f"{what}, at character {min(self._at, len(self._pattern))} of {self._pattern[:80]}")


def _only(char: str) -> Chars:
    return Chars(lambda other: other == char, char)


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _line_begins(before: str, after: str) -> bool:
    return before in ("", "\n")


def _line_ends(before: str, after: str) -> bool:
    return after in ("", "\n")


def _word_ends(before: str, after: str) -> bool:
    return _is_word(before) != _is_word(after)


_SIGNS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_COUNTED = re.compile(r"\{([0-9]+)(,?)([0-9]*)\}")
_NAMED_CLASS = re.compile(r"\[:([a-z]+):\]")
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_DIGITS = {"x": 2, "u": 4}
_ATOMS: dict[str, Node] = {".": Chars(lambda char: True), "^": Place(_line_begins), "$": Place(_line_ends)}
_PLACES = {"b": Place(_word_ends), "B": Place(lambda before, after: not _word_ends(before, after))}
_CLASSES: dict[str, Test] = {
    "d": lambda char: char in digits,
    "D": lambda char: char not in digits,
    "w": _is_word,
    "W": lambda char: not _is_word(char),
    "s": str.isspace,
    "S": lambda char: not char.isspace(),
}
_POSIX: dict[str, Test] = {
    "alnum": str.isalnum,
    "alpha": str.isalpha,
    "blank": lambda char: char in " \t",
    "digit": lambda char: char in digits,
    "lower": str.islower,
    "print": str.isprintable,
    "punct": lambda char: char in punctuation,
    "space": str.isspace,
    "upper": str.isupper,
    "xdigit": lambda char: char in hexdigits,
}
