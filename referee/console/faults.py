"""Says of a conversation that broke what happened, whose fault it was and which rule of the protocol says so."""

from protocol.errors import LocalProtocolError, PeerGone, PeerTimeout, ProtocolError
from referee.console.visible import quote

# A phrase of the error, and the rule of PROTOCOL §2 that it breaks.
_RULES = (
    ("an answer is at most", "2.8: an answer is at most 1 MiB and 10,000 lines"),
    ("blank lines before", "2.8: everything that is read is bounded"),
    ("lines before an answer", "2.10: of lines that are no answer, 200 are borne with"),
    ("begins with = or ?", "2.3: nothing but answers is written to stdout"),
    ("nobody asked", "2.3: one answer a command, and nothing else is written to stdout"),
    ("expected", "2.2: an id is echoed, and only if one was given"),
    ("echoes no ids", "2.11: who echoes no ids must answer in time"),
    ("does not read", "2.8: never a hang"),
)
_SHOWN = 300  # bytes of what it said last


def explain(error: ProtocolError, said: bytes, exited: str, stderr: str) -> list[str]:
    """Lines for a person. `said`: what came since the last whole answer; `exited`: how it ended, or ""; `stderr`: its
    tail."""
    lines = [_blame(error, exited)]
    if said:
        lines.append(f"since the last whole answer it said: {quote(said[-_SHOWN:])}")
    if isinstance(error, PeerGone) and (last := stderr.strip().splitlines()[-1:]):
        lines.append(f"the last line of its stderr: {last[0]}")
    return lines


def _blame(error: ProtocolError, exited: str) -> str:
    if isinstance(error, LocalProtocolError):
        return f"this was not sent: {error}"
    if isinstance(error, PeerGone):
        ended = f" ({exited})" if exited else ""
        return f"the peer's fault: {error}{ended}; PROTOCOL §2.5: it ends after `quit` or when its input ends"
    if isinstance(error, PeerTimeout):
        return f"the peer's fault: {error}; PROTOCOL §2.8: never a hang"
    rule = next((rule for phrase, rule in _RULES if phrase in str(error)), "")
    return f"the peer's fault: {error}" + (f"; PROTOCOL §{rule}" if rule else "")
