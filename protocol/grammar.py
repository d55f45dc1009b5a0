"""Conversion between text and messages: pure functions, with quotations of the GTP 2 draft where they follow it."""

from collections.abc import Iterable

from ggp.protocol.errors import LocalProtocolError
from ggp.protocol.messages import Command, Reply

MAX_ID = 2**31 - 1
MAX_LINE = 64 * 1024  # bytes of a command line without its LF
MAX_ANSWER = 1024 * 1024  # bytes of a whole answer
MAX_ANSWER_LINES = 10_000
_ROOM = MAX_ANSWER - 1000  # bytes that fit_lines allows in one answer

# "Remove all occurences of the CR and other control characters except for HT and LF."
CONTROL = bytes(byte for byte in [*range(32), 127] if byte not in b"\t\n")
BOM = b"\xef\xbb\xbf"  # the byte-order mark that some editors and runtimes write before UTF-8 text
_CONTROL_TEXT = dict.fromkeys(CONTROL)
_SUCCESS, _FAILURE = ord("="), ord("?")
CommandLine = tuple[str, list[str], int | None]  # name, arguments, id


def clean_line(raw: bytes) -> str:
    r"""Return the significant part of a command line (no LF), or "" for a line that gets no answer.

    In the draft's order: drop control characters, cut comments, turn HT into a blank. Bytes that are not UTF-8 become
    `\xNN`.
    """
    line = raw.translate(None, CONTROL)
    if b"#" in line:
        line = line[: line.index(b"#")]
    if b"\t" in line:
        line = line.replace(b"\t", b" ")
    return line.decode("utf-8", "backslashreplace").strip(" ")


def parse_command(line: str) -> Command:
    """Parse a cleaned, non-empty line.

    An id is digits (0..2**31-1) followed by a blank. A lone number, a number out of range and digits joined to letters
    are (unknown) command names.
    """
    words = split_words(line)
    if len(words) > 1 and _is_id(words[0]):
        return Command(words[1], tuple(words[2:]), int(words[0]))
    return Command(words[0], tuple(words[1:]))


def read_line(raw: bytes) -> CommandLine | None:
    """Return name, arguments and id of a command line (no LF), or None for a line that gets no answer.

    The result is that of clean_line and parse_command, but faster for ordinary lines.
    """
    if raw.isascii() and b"#" not in raw:
        line = raw.decode()
        if line.isprintable() and (words := line.split()):
            if not words[0].isdigit():
                return words[0], words[1:], None
            if len(words) > 1 and len(words[0]) < 10:  # an id
                return words[1], words[2:], int(words[0])
    if not (line := clean_line(raw)):
        return None
    name, arguments, identity = parse_command(line)
    return name, [*arguments], identity


def split_words(line: str) -> list[str]:
    """Return the words of a line. Only the blank separates words; other Unicode spaces are text."""
    return line.split() if line.isascii() else [word for word in line.split(" ") if word]


def check_line(line: str, head: str = "") -> None:
    """Raise LocalProtocolError unless a command may be sent.

    The line must be one that gets an answer, contain no control characters and no `#`, not begin with something that
    looks like an id, and fit the size limit.

    Args:
        line: The command, without id and LF.
        head: The id and a blank that will precede it, or "".
    """
    # Almost every line is printable, short and begins with a letter, so the slow tests are rarely needed.
    if line[:1].isalpha() and line.isprintable() and "#" not in line and len(line) < 1000:
        return
    if "#" in line or any(char < " " or "\x7f" <= char < "\xa0" for char in line):
        raise LocalProtocolError(
            f"a command may not contain control characters or #: {line[:80]!r}", code="control-character"
        )
    words = split_words(line)
    if not words:
        raise LocalProtocolError("a command may not be an empty line, which gets no answer", code="empty-line")
    if not head and len(words) > 1 and _is_id(words[0]):
        raise LocalProtocolError(
            f"a command may not begin with a number, which looks like an id: {words[0]}", code="name-like-id"
        )
    try:
        size = len(head) + len(line.encode())
    except UnicodeEncodeError:
        raise LocalProtocolError(f"a command line must be UTF-8: {line[:80]!r}", code="not-utf8") from None
    if size > MAX_LINE:
        raise LocalProtocolError(
            f"the command line has {size} bytes; at most {MAX_LINE} are allowed", code="line-too-long"
        )


def parse_reply(raw: bytes) -> Reply | None:
    """Parse one answer without its final empty line. Return None if it does not begin with `=` or `?`.

    CR and control characters are dropped; `#` is text. Digits right after the mark are the id. Blanks and HT around a
    one-line text are dropped; elsewhere HT is text.
    """
    if not raw:
        return None
    mark = raw[0]
    if mark != _SUCCESS and mark != _FAILURE:
        return None
    text = raw.translate(None, CONTROL).decode("utf-8", "backslashreplace")
    end = 1
    while text[end : end + 1] in _DIGITS:
        end += 1
    if end > 11:  # no id of ours is that long
        end = 1
    rest = text[end:]
    # One blank belongs to the frame; some peers write HT instead. More blanks are noise in a line, layout in a board.
    rest = (rest[1:] if rest[:1] in (" ", "\t") else rest) if "\n" in rest else rest.strip(" \t")
    return Reply(mark == _SUCCESS, rest, int(text[1:end]) if end > 1 else None)


def format_reply(reply: Reply) -> bytes:
    r"""Return the bytes of a reply and its empty line: `=7 text\n\n`, `=7\n\n`, `= text\n\n` or `=\n\n`.

    Control characters are dropped from the text.

    Raises:
        LocalProtocolError: The text has an empty line, which would end the answer too early.
    """
    text = reply.text
    if not text.isprintable():
        text = text.translate(_CONTROL_TEXT)
        if "\n\n" in text or text.endswith("\n"):
            raise LocalProtocolError("the text of an answer may not contain an empty line", code="empty-line")
    head = ("=" if reply.ok else "?") + ("" if reply.id is None else str(reply.id))
    return (f"{head} {text}\n\n" if text else f"{head}\n\n").encode("utf-8", "backslashreplace")


def fit_lines(lines: Iterable[str]) -> str:
    """Return the lines that fit into one answer. If some do not, the last line is `cut=N`, the number left out."""
    fit: list[str] = []
    size, every = 0, list(lines)
    for line in every:
        size += len(line.encode()) + 1
        if size > _ROOM or len(fit) == MAX_ANSWER_LINES - 2:
            return "\n".join([*fit, f"cut={len(every) - len(fit)}"])
        fit.append(line)
    return "\n".join(fit)


def _is_id(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= 100 and int(word) <= MAX_ID


_DIGITS = frozenset("0123456789")
