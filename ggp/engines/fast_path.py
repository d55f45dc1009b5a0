"""Input of an engine: plays of a match are answered by the core itself, everything else is handed on.

`ggp-play` is inside each ply of every match, and `ggp-legal_moves` in those of a bot that asks an engine; the way
through Python costs twice as much as all the rest of the engine. What the core is not sure of, a wrong colour or an
illegal move among it, it leaves to ggp.engines.service.
"""

import os

from ggp.engines.history import MAX_PLIES
from ggp.engines.session import Session
from ggp.protocol.responder import FastPath
from ggp.protocol.transports.pipe import CHUNK


def make_fast_path(session: Session) -> FastPath:
    """That of the session's game at each call; a game without a core answers nothing so."""

    def fast_path(source: int, sink: int, commands: int) -> tuple[bytes | None, bytes]:
        line = session.line
        answer_plays = getattr(line.state, "answer_plays", None) if line else None
        if line is None or answer_plays is None:
            return os.read(source, CHUNK), b""
        data, plies, unsent = answer_plays(source, sink, MAX_PLIES - len(line.plies), commands)
        line.note(plies)
        return data, unsent

    return fast_path
