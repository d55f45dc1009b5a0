"""Regular expressions matched in bounded time, for patterns from files; not Python's `re`, which may never end.

What POSIX ERE (awk) and java.util.regex write alike is read: `|`, `( )`, `(?: )`, `* + ? {m,n}`, `.`, sets and
`[[:alpha:]]`, `^ $`, `\\d \\w \\s \\b` and escapes. A pattern matches a whole text or not at all; `.` is any character,
`^` and `$` stand at every line. Refused is what takes more than linear time: back references, looking ahead and behind.
"""

from protocol.pattern_syntax import Chars, Choice, Node, PatternError, Place, Repeat, Sequence, read_pattern

MAX_STATES = 20_000  # of an expression, counted repetitions written out
MAX_WORK = 2_000_000  # steps of one match: some seconds at the most
_REMEMBERED = 500_000  # states in the sets that are kept to go faster


class RegularExpression:
    """A pattern that was read. Raises PatternError for one that cannot be."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        tree = read_pattern(pattern)
        self.literal = _literal(tree)  # the only text that matches, if it is written out
        self._states: list[tuple[Chars | Place | None, tuple[int, ...]]] = [(None, ())]  # 0 is the end
        self._start = 0 if self.literal is not None else self._build(tree, 0)
        self._places = any(isinstance(node, Place) for node, _ in self._states)
        self._known: dict[tuple[frozenset[int], str, str], frozenset[int]] = {}
        self._work = self._remembered = 0

    def matches(self, text: str) -> bool:
        """Whether the whole text matches. Raises PatternError if that takes more than MAX_WORK steps."""
        if self.literal is not None:
            return text == self.literal
        self._work = len(text)
        following = text[:1]
        states = self._settle(frozenset((self._start,)), "", following)
        for index, char in enumerate(text):
            following = text[index + 1 : index + 2] if self._places else ""
            key = (states, char, following)
            known = self._known.get(key)
            if known is None:
                known = self._known[key] = self._settle(self._step(states, char), char, following)
                self._forget(len(states) + len(known))
            if not known:
                return False
            states = known
        return 0 in states

    def _forget(self, size: int) -> None:
        self._remembered += size
        if self._remembered > _REMEMBERED:
            self._known.clear()
            self._remembered = 0

    def _step(self, states: frozenset[int], char: str) -> frozenset[int]:
        self._spend(len(states))
        after: set[int] = set()
        for state in states:
            node, follow = self._states[state]
            if isinstance(node, Chars) and node.test(char):
                after.update(follow)
        return frozenset(after)

    def _settle(self, states: frozenset[int], before: str, after: str) -> frozenset[int]:
        """All states that are reached from these between two characters."""
        reached, waiting = set(states), list(states)
        while waiting:
            node, follow = self._states[waiting.pop()]
            if isinstance(node, Chars) or (isinstance(node, Place) and not node.test(before, after)):
                continue
            fresh = [state for state in follow if state not in reached]
            reached.update(fresh)
            waiting += fresh
        self._spend(len(reached))
        return frozenset(reached)

    def _spend(self, steps: int) -> None:
        self._work += steps
        if self._work > MAX_WORK:
            raise PatternError(f"it takes more than {MAX_WORK} steps to match: {self.pattern[:80]}")

    def _build(self, node: Node, follow: int) -> int:
        """Add the states of `node` that go on to `follow`; the state to begin at."""
        match node:
            case Sequence(parts):
                for part in reversed(parts):
                    follow = self._build(part, follow)
                return follow
            case Choice(parts):
                return self._add(None, *[self._build(part, follow) for part in parts])
            case Repeat(part, low, high):
                return self._build_repeat(part, low, high, follow)
            case _:
                return self._add(node, follow)

    def _build_repeat(self, part: Node, low: int, high: int | None, follow: int) -> int:
        start = follow
        if high is None:
            start = self._add(None)
            self._states[start] = (None, (self._build(part, start), follow))
        else:
            for _ in range(high - low):
                start = self._add(None, self._build(part, start), follow)
        for _ in range(low):
            before, start = start, self._build(part, start)
            if start == before:  # nothing, however often
                break
        return start

    def _add(self, node: Chars | Place | None, *follow: int) -> int:
        if len(self._states) >= MAX_STATES:
            raise PatternError(f"it repeats too much: {self.pattern[:80]}")
        self._states.append((node, follow))
        return len(self._states) - 1


def escape(text: str) -> str:
    """A pattern on one line that matches exactly `text`, for Java, awk and this file."""
    return "".join(map(_escape_char, text))


_SPECIAL = frozenset("\\.[]{}()*+?^$|")
_NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\f": "\\f"}


def _escape_char(char: str) -> str:
    if char in _SPECIAL:
        return f"\\{char}"
    if char in _NAMED:
        return _NAMED[char]
    if char.isprintable():
        return char
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else char


def _literal(tree: Node) -> str | None:
    parts = tree.parts if isinstance(tree, Sequence) else (tree,)
    chars = [part.literal for part in parts if isinstance(part, Chars) and part.literal]
    return "".join(chars) if len(chars) == len(parts) else None
