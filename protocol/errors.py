"""Errors by whose fault they are; the referee's forfeits follow from the type alone."""

from protocol.printed import without_passwords


class Problem(Exception):
    """Invalid input, or something that is missing; str() is one line that names the remedy."""


class ProtocolError(Exception):
    """Anything that went wrong in a conversation; str() says what, for the person who must mend it."""


class LocalProtocolError(ProtocolError):
    """We broke the protocol: a bug of the caller, never the peer's fault."""


class RemoteProtocolError(ProtocolError):
    """The peer broke the protocol: garbage, an id that does not match, more than the bounds allow."""


class PeerGone(ProtocolError):
    """The peer's stream ended: it exited, crashed, closed its output or its connection was lost."""


class PeerTimeout(ProtocolError):
    """No whole answer before the deadline."""


class CommandFailed(ProtocolError):
    """Raised by a handler of the answering side; str() is the text after `? `."""


class AddressError(Problem, ValueError):
    """An address that cannot be used; str() says what to write instead, without passwords."""

    def __init__(self, text: str) -> None:
        super().__init__(without_passwords(text))
