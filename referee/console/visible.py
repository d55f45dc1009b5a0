"""What a peer says made harmless for a terminal, and readable: escapes for what does not print, lines that fit."""

import re
import textwrap


def visible(text: str) -> str:
    """The text with every character that does not print as an escape: no sequence of a peer reaches the terminal.

    Line feeds stay; a tab becomes blanks.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character == "\n" else _escape(character) for character in text
    )


def quote(data: bytes) -> str:
    """Bytes as they passed, `\\n` and all others that do not print as escapes, between quotes."""
    text = data.decode("utf-8", "backslashreplace")
    shown = "".join(
        _NAMED.get(character) or (character if character.isprintable() else _escape(character)) for character in text
    )
    return f"'{shown}'"


def wrapped(text: str, width: int) -> str:
    """Lines of words that are longer than `width` continued on further lines, under the first word; no word is cut.

    In a row of two columns the second is continued. Any other line with several blanks in a row is left alone: it may
    be a row of a board.
    """
    return "\n".join(line for each in text.split("\n") for line in _continued(each, width))


def _continued(line: str, width: int) -> list[str]:
    row = _ROW.fullmatch(line)
    if len(line) <= width or row is None:
        return [line]
    head, words = row.groups()
    room = max(width - len(head), 20)
    first, *rest = textwrap.wrap(words, room, break_long_words=False, break_on_hyphens=False)
    return [head + first, *(" " * len(head) + each for each in rest)]


# An indentation, or a first column and at least two blanks; then words with a blank between each two.
_ROW = re.compile(r"( *|.*?\S {2,})(\S+(?: \S+)*)")


def duration(seconds: float) -> str:
    """`350 µs`, `1.2 ms`, `12.3 s`."""
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        milliseconds = seconds * 1e3
        return f"{milliseconds:.1f} ms" if milliseconds < 100 else f"{milliseconds:.0f} ms"
    return f"{seconds:.1f} s"


_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _escape(character: str) -> str:
    if character == "\t":
        return "    "
    number = ord(character)
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}" if number < 65536 else f"\\U{number:08x}"
