"""What a peer says made harmless for a terminal, and readable: escapes for what does not print."""


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
