"""Exceptions by whose fault an error is; the referee decides forfeits from the type alone."""

import sys

from ggp.protocol.printed import without_passwords

# Path prefixes of Python's own code, of this package and of frozen modules; place_of skips their frames.
_NOT_AN_AUTHORS = (
    f"{sys.base_prefix}/lib/python",
    __file__.removesuffix("protocol/errors.py"),
    "<frozen",
)


def place_of(error: BaseException) -> str:
    """Return ` (FILE, line N)` of the author's code that raised an error, or "" if unknown.

    This is the deepest frame outside Python and installed packages. If all frames are inside them, it is the deepest.
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
    """Return the error's message, with plain words where Python reports an internal limit."""
    text = str(error)
    if isinstance(error, RecursionError) or "recursion" in text:
        return "it is nested too deeply"
    if isinstance(error, MemoryError):
        return "it does not fit into memory"
    if "integer string conversion" in text:
        return "it holds a number of more than 4,300 digits"
    return text


class CodedError(Exception):
    """An error with a stable `code` for programs and tests; its text is for people and may change.

    The class sets the default code; each raise may give a more specific one.
    """

    code = "error"

    def __init__(self, text: str = "", *, code: str = "") -> None:
        super().__init__(text)
        self.code = code or self.code


class Problem(CodedError):
    """Invalid input or something missing; str() is one line that says how to fix it."""

    code = "invalid-input"


class ProtocolError(CodedError):
    """A failure in a conversation; str() describes it for the person who must fix it."""

    code = "protocol-error"


class LocalProtocolError(ProtocolError):
    """A violation of the protocol by this side: a bug of the caller, never the peer's fault."""


class RemoteProtocolError(ProtocolError):
    """A violation of the protocol by the peer: an invalid line, a wrong id, or an answer over a limit."""


class PeerGone(ProtocolError):
    """The end of the peer's stream: it exited, crashed, closed its output, or the connection was lost."""


class PeerTimeout(ProtocolError):
    """A missed deadline: no complete answer came in time."""


class CommandFailed(ProtocolError):
    """A failure that a command handler reports; str() is the text after `? `."""


class AddressError(Problem, ValueError):
    """An unusable address; str() says what to write instead and hides passwords."""

    code = "bad-address"

    def __init__(self, text: str, *, code: str = "") -> None:
        super().__init__(without_passwords(text), code=code)
