"""OpenSpiel's names of actions as words of the protocol, one to one.

A word has no blank and no `#`, and letter case must not matter. OpenSpiel's strings are different: `Qh7#`, `pile:3,
take:5;` or the pair `bxc3` and `Bxc3`. So they are encoded:

    blank               _
    % _ ^ ~ #           % and two hex digits, as are control characters and bytes outside ASCII
    a capital letter    preceded by ^, if this player's strings may have the small letter in the same place
    a repeated word     followed by ~2, ~3 …, for actions with the same string, in the order of their numbers

"The same place" means: after a prefix of the same shape (capitals, small letters, digits). The small letters in each
place are learned from the strings of a few random games, which are the same in every process.
"""

import random
import re
from collections import Counter
from typing import Any

_PLAIN = re.compile(r"[0-9a-z]+", re.ASCII)
_SPECIAL = frozenset("%_^~#")
_ESCAPED = re.compile(r"%([0-9A-F]{2})|[_^]")
_SAMPLE, _GAMES = 800, 4  # the strings and random games to learn from
_MOST_KEPT = 200_000  # the most strings in the cache
RESERVED = ("resign",)  # an answer to genmove, never a move


class MoveWords:
    """The words of one game with its parameters.

    `known` gives, for a player's word, its string and the actions that have had it so far. The same string may be
    another action in another position.
    """

    def __init__(self, game: Any) -> None:
        self.known: dict[tuple[int, str], tuple[str, list[int]]] = {}
        self.collides = False  # True once two legal actions had words that differ only in case
        self._small: set[tuple[int, str, str]] = set()
        self._words: dict[tuple[int, str], str] = {}
        self._learn(game)

    def word(self, player: int, string: str) -> str:
        """Return the word for a string; it may still collide with another word."""
        key = player, string
        word = self._words.get(key)
        if word is None:
            if len(self._words) > _MOST_KEPT:
                self._words.clear()
            word = self._words[key] = self._encode(player, string)
        return word

    def table(self, state: Any) -> dict[str, tuple[int, str]]:
        """Return the action and the string of every legal action, by its word."""
        player = state.current_player()
        actions = state.legal_actions()
        strings = [state.action_to_string(player, action) for action in actions]
        words = [self.word(player, string) for string in strings]
        for action, string, word in zip(actions, strings, words, strict=True):
            self.keep(player, word, string, action)
        if len({word.lower() for word in words}) < len(words):
            words = self._told_apart(words)
        return dict(zip(words, zip(actions, strings, strict=True), strict=True))

    def keep(self, player: int, word: str, string: str, action: int) -> None:
        """Remember that an action had this string and word."""
        kept = self.known.get((player, word))
        if kept is None:
            if len(self.known) > _MOST_KEPT:
                self.known.clear()
            kept = self.known[player, word] = string, []
        if action not in kept[1]:
            kept[1].append(action)

    def _told_apart(self, words: list[str]) -> list[str]:
        """Make words distinct without regard to case: mark all capitals, then add numbers."""
        self.collides = True
        folded = Counter(word.lower() for word in words)
        marked = [re.sub(r"\^?([A-Z])", r"^\1", word) if folded[word.lower()] > 1 else word for word in words]
        seen: Counter[str] = Counter()
        for place, word in enumerate(marked):
            seen[word.lower()] += 1
            if (count := seen[word.lower()]) > 1:
                marked[place] = f"{word}~{count}"
        return marked

    def _encode(self, player: int, string: str) -> str:
        if _PLAIN.fullmatch(string) and string not in RESERVED:
            return string
        out = []
        for place, character in enumerate(string):
            if character == " ":
                out.append("_")
            elif character in _SPECIAL or not "!" <= character <= "~":
                out += [f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass")]
            elif "A" <= character <= "Z" and (player, _shape(string[:place]), character.lower()) in self._small:
                out.append(f"^{character}")
            else:
                out.append(character)
        word = "".join(out)
        if not word:
            return "%"  # the empty string
        return f"%{ord(word[0]):02X}{word[1:]}" if word.lower() in RESERVED else word

    def _learn(self, game: Any) -> None:
        chance, left = random.Random(0), _SAMPLE
        for _ in range(_GAMES):
            state = game.new_initial_state()
            while left > 0 and not state.is_terminal():
                player, actions = state.current_player(), state.legal_actions()
                left -= len(actions)
                for action in actions[:_SAMPLE]:
                    self._note(player, state.action_to_string(player, action))
                state.apply_action(chance.choice(actions))

    def _note(self, player: int, string: str) -> None:
        for match in re.finditer("[a-z]", string):
            self._small.add((player, _shape(string[: match.start()]), match[0]))


def string_of(word: str) -> str:
    """Return the OpenSpiel string of a word that does not collide."""

    def plain(match: re.Match[str]) -> str:
        return bytes.fromhex(match[1]).decode("latin-1") if match[1] else " " if match[0] == "_" else ""

    text = _ESCAPED.sub(plain, word)
    if text.isascii():
        return text
    return text.encode("latin-1", "replace").decode("utf-8", "replace")


def _shape(text: str) -> str:
    return re.sub("[A-Z]", "A", re.sub("[a-z]", "a", re.sub("[0-9]+", "0", text)))
