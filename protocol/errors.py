"""Errors by whose fault they are; the referee's forfeits follow from the type alone."""

import sys

from ggp.protocol.printed import without_passwords

# Where the code of Python, of installed packages and of this one is, and frozen modules.
_NOT_AN_AUTHORS = (
    f"{sys.base_prefix}/lib/python",
    __file__.removesuffix("protocol/errors.py"),
    "<frozen",
)


def place_of(error: BaseException) -> str:
    """Return ` (FILE, line N)` of the author's code that raised an error, "" if it is not known.

    That is the deepest frame outside of Python's own and installed packages; if there is none, the deepest of all.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({error.filename}, line {error.lineno})"
    places, step = list[tuple[str, int]](), error.__traceback__
    while step is not None:
        places.append((step.tb_frame.f_code.co_filename, step.tb_lineno))
        step = step.tb_next
    own = [place for place in places if not (place[0].startswith(_NOT_AN_AUTHORS) or "-packages/" in place[0])]
    found = (own or places)[-1:]
    return f" ({found[0][0]}, line {found[0][1]})" if found else ""


def in_words(error: BaseException) -> str:
    """Return what is wrong with a text that was read, where Python would speak of its own limits."""
    text = str(error)
    if isinstance(error, RecursionError) or "recursion" in text:
        return "it is nested too deeply"
    if isinstance(error, MemoryError):
        return "it is too large for the memory"
    if "integer string conversion" in text:
        return "it holds a number of more than 4,300 digits"
    return text


class CodedError(Exception):
    """An error with a `code` for programs and tests; the text is for people and may change.

    A class has a code for all its errors, and a raise may give a narrower one.
    """

    code = "error"

    def __init__(self, text: str = "", *, code: str = "") -> None:
        super().__init__(text)
        self.code = code or self.code


class Problem(CodedError):
    """Invalid input, or something that is missing; str() is one line that names the remedy."""

    code = "invalid-input"


class ProtocolError(CodedError):
    """A failure in a conversation; str() describes it for the person who must repair it."""

    code = "protocol-error"


class LocalProtocolError(ProtocolError):
    """This side broke the protocol: a bug of the caller, never the peer's fault."""


class RemoteProtocolError(ProtocolError):
    """The peer broke the protocol: an invalid line, an id that does not match, more than the bounds allow."""


class PeerGone(ProtocolError):
    """The peer's stream ended: it exited, crashed, closed its output or its connection was lost."""


class PeerTimeout(ProtocolError):
    """No complete answer before the deadline."""


class CommandFailed(ProtocolError):
    """Raised by a handler of the answering side; str() is the text after `? `."""


class AddressError(Problem, ValueError):
    """An address that cannot be used; str() says what to write instead, without passwords."""

    code = "bad-address"

    def __init__(self, text: str, *, code: str = "") -> None:
        super().__init__(without_passwords(text), code=code)
