"""Errors by whose fault they are; the referee's forfeits follow from the type alone."""

from ggp.protocol.printed import without_passwords


class CodedError(Exception):
    """`code` says which error it is, for programs and tests; the text is for people and may change.

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
