"""The move that a language model's answer names: the last JSON object's, else the last word in a fence. Pure functions.

What an answer does not name is never read out of it: an answer without a move has none, whatever it mentions.
"""

import json
import re
from collections.abc import Collection
from typing import Any, NamedTuple

MAX_ANSWER = 4 * 1024 * 1024  # characters that are looked at; a longer answer names no move
MAX_WORD = 4096  # characters of a move: a list of dead stones is the longest
_EFFORT = 64 * 1024 * 1024  # characters that may be read in vain in search of JSON: Python reads the text up to the
# place of each error once more, to count its lines
_FENCE = re.compile(r"(?<!`)(`{1,3})(?!`)(.*?)(?<!`)\1(?!`)", re.DOTALL)
_THOUGHT = "</think>"  # what stands before it is no answer
_DIGITS, _LETTERS = re.compile("[0-9]+"), re.compile("[a-z]+")


class NamedMove(NamedTuple):
    """`word`: the move that the answer names, "" if it names none, and then `problem` says so to the model."""

    word: str
    problem: str = ""


def read_answer(text: str, legal: Collection[str], cut: bool = False) -> NamedMove:
    """What the answer names, which need not be legal. `legal`: moves that the words in fences are compared with.

    cut: the answer ended before its end, so that a word in a fence may not be the last.
    """
    if len(text) > MAX_ANSWER:
        return NamedMove("", f"the answer is longer than {MAX_ANSWER} characters")
    text = text.rpartition(_THOUGHT)[2]
    try:
        found = _last_object(text)
    except ValueError as error:
        return NamedMove("", str(error))
    if found is not None:
        return _of_object(found)
    if cut:
        return NamedMove("", "the answer was cut off at the limit of tokens before it named a move")
    return _of_fences(text, legal)


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
    """The last fenced word that has the form of a move."""
    words = []
    for match in _FENCE.finditer(text):
        first, newline, rest = match[2].partition("\n")
        words.append((rest if len(match[1]) == 3 and newline else first + newline + rest).strip())  # first: a language
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
        return NamedMove("", f"a move of {len(word)} characters")
    if len(word.split()) != 1 or not word.isprintable() or "#" in word or not _is_text(word):
        return NamedMove("", f"{word[:80]!r} is not one word")
    return NamedMove(word)


def _is_text(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can write
        return False
    return True


def _shape(word: str) -> str:
    """D4 and J10 have the same; a word without digits has its own."""
    word = word.lower()
    if len(word) > MAX_WORD or not _DIGITS.search(word):
        return word[:MAX_WORD]
    return _LETTERS.sub("a", _DIGITS.sub("9", word))


def _last_object(text: str) -> dict[str, Any] | None:
    """The last JSON object that is in no other; None: there is none. Raises ValueError if finding it takes too long."""
    decode = json.JSONDecoder().raw_decode
    found, at, effort = None, text.find("{"), 0
    while at >= 0:
        try:
            value, end = decode(text, at)
        except json.JSONDecodeError as error:
            effort += error.pos
            end = at + 1
        except (RecursionError, ValueError):  # ValueError: an integer of more digits than Python reads
            effort += len(text)
            end = at + 1
        else:
            found = value
        if effort > _EFFORT:
            raise ValueError("the answer has too many braces to find its last JSON object")
        at = text.find("{", end)
    return found
