"""Finds the move in a language model's answer: in the last JSON object, or else the last word in a fence.

All functions are pure. A move must be named; merely mentioning it is not enough. Of several objects, the last one
counts. An object inside another one is ignored, even if the outer object is invalid.
"""

import json
import re
from collections.abc import Collection
from typing import Any, NamedTuple

MAX_ANSWER = 2 * 1024 * 1024  # characters of an answer; a longer one names no move
MAX_WORD = 4096  # characters of a move; the longest is a list of dead stones
# Characters that may be read in vain while searching for JSON. For each error, Python reads the text before it once
# more to count the lines.
_EFFORT = 32 * 1024 * 1024
_FENCE = re.compile(r"(?<!`)(`{1,3})(?!`)(.*?)(?<!`)\1(?!`)", re.DOTALL)
_THOUGHT, _THOUGHT_ENDS = "<think>", "</think>"  # text between them, or after the first alone, is not the answer
_OPENS = re.compile(r"""\{\s*(?:["'“”‘’]|\w+\s*:)""")  # a brace that seems to begin an object
_MARKS = re.compile(r"""\\.|[{}"']""", re.DOTALL)
_END = re.compile(r"\s*`{0,3}\s*")  # what may follow the last object of an answer that was cut
_DIGITS, _LETTERS = re.compile("[0-9]+"), re.compile("[a-z]+")


class NamedMove(NamedTuple):
    """The move that an answer names, or "" and the `problem` to tell the model."""

    word: str
    problem: str = ""


def read_answer(text: str, legal: Collection[str], cut: bool = False) -> NamedMove:
    """Find the move that an answer names. It need not be legal.

    Args:
        text: The model's answer.
        legal: Legal moves; a word in a fence counts only if it has the form of one.
        cut: Whether the answer was cut off; then only an object at its very end counts.
    """
    if len(text) > MAX_ANSWER:
        return NamedMove("", f"the answer is longer than {MAX_ANSWER} characters")
    text = text.rpartition(_THOUGHT_ENDS)[2].partition(_THOUGHT)[0]
    try:
        found, end = _last_object(text)
    except ValueError as error:
        return NamedMove("", str(error))
    if cut and (found is None or not _END.fullmatch(text, end)):
        return NamedMove("", "the answer was cut off at the limit of tokens before it named a move")
    return _of_fences(text, legal) if found is None else _of_object(found)


def _of_object(found: dict[str, Any]) -> NamedMove:
    if "move" not in found:
        return NamedMove("", 'the last JSON object has no "move"')
    move = found["move"]
    if isinstance(move, int) and not isinstance(move, bool):  # in some games a move is a number
        move = str(move)
    if not isinstance(move, str):
        return NamedMove("", '"move" is not text')
    return _word(move)


def _of_fences(text: str, legal: Collection[str]) -> NamedMove:
    """Return the last fenced word that has the form of a move."""
    words = []
    for match in _FENCE.finditer(text):
        first, newline, rest = match[2].partition("\n")
        words.append(
            (rest if len(match[1]) == 3 and newline else first + newline + rest).strip()
        )  # the first line names a language
    shapes = {_shape(move) for move in (*legal, "resign")}
    for word in reversed(words):
        if _shape(word) in shapes:
            return _word(word)
    return NamedMove("", "the answer names no move: it has neither a JSON object nor a move in a fence")


def _word(text: str) -> NamedMove:
    word = text.strip()
    if not word:
        return NamedMove("", "the move is empty")
    if len(word) > MAX_WORD:
        return NamedMove("", f"the move has {len(word)} characters, too many")
    if len(word.split()) != 1 or not word.isprintable() or "#" in word or not _is_text(word):
        return NamedMove("", f"{word[:80]!r} is not one word")
    return NamedMove(word)


def _is_text(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON allows
        return False
    return True


def _shape(word: str) -> str:
    """Return the form of a move, which is equal for D4 and J10; a word without digits is its own form."""
    word = word.lower()
    if len(word) > MAX_WORD or not _DIGITS.search(word):
        return word[:MAX_WORD]
    return _LETTERS.sub("a", _DIGITS.sub("9", word))


def _last_object(text: str) -> tuple[dict[str, Any] | None, int]:
    """Return the last JSON object that is not inside another one, or None, and the index after it.

    Raises:
        ValueError: The last object is broken, or the search takes too long.
    """
    decode = json.JSONDecoder(strict=False).raw_decode  # many models write line breaks into their strings
    pairs: dict[int, int] | None = None
    found, found_end, broken, at, effort = None, 0, False, text.find("{"), 0
    while at >= 0:
        try:
            value, end = decode(text, at)
        except (
            RecursionError,
            ValueError,
        ) as error:  # ValueError also for integers with more digits than Python accepts
            effort += error.pos if isinstance(error, json.JSONDecodeError) else len(text)
            if pairs is None:
                pairs = _pairs(text)
                effort += len(text)
            if _OPENS.match(text, at):
                broken = True
                end = max(_closes(text, at, '"'), _closes(text, at, "'"), pairs.get(at, len(text)))
                effort += 2 * (end - at)
            else:
                end = pairs.get(at, at + 1)
        else:
            found, found_end, broken = value, end, False
        if effort > _EFFORT:
            raise ValueError("the answer has too many braces to find its last JSON object")
        at = text.find("{", end)
    if broken:
        raise ValueError("the last JSON object is broken")
    return found, found_end


def _pairs(text: str) -> dict[int, int]:
    """Return, for each opening brace that is closed, the index after the brace that closes it."""
    opened: list[int] = []
    pairs = {}
    for match in _MARKS.finditer(text):
        if match[0] == "{":
            opened.append(match.start())
        elif match[0] == "}" and opened:
            pairs[opened.pop()] = match.end()
    return pairs


def _closes(text: str, at: int, quote: str) -> int:
    """Return the index after the brace that closes the one at `at`, or the end of the text.

    Braces between two of these quotes do not count.
    """
    depth, quoted = 0, False
    for match in _MARKS.finditer(text, at):
        mark = match[0]
        if mark == quote:
            quoted = not quoted
        elif mark in "{}" and not quoted:
            depth += 1 if mark == "{" else -1
            if depth == 0:
                return match.end()
    return len(text)
