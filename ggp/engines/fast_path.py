"""Input of an engine on stdin: plays of a match are answered by the core itself, everything else is handed on.

`ggp-play` is inside each ply of every match, and `ggp-legal_moves` in those of a bot that asks an engine; the way
through Python costs twice as much as all the rest of the engine. What the core is not sure of, a wrong colour or an
illegal move among it, it leaves to ggp.engines.service.
"""

import os
from typing import cast

from ggp.engines.history import MAX_PLIES
from ggp.engines.session import Session
from ggp.protocol.transports.pipe import CHUNK


def next_input(session: Session, stdin: int = 0, stdout: int = 1) -> bytes:
    """The next bytes from `stdin` that are not answered yet, b"" for its end; what the core answered is in the line."""
    line = session.line
    answer_plays = getattr(line.state, "answer_plays", None) if line else None
    if line is None or answer_plays is None:  # no game, or one without a core
        return os.read(stdin, CHUNK)
    data, plies = answer_plays(stdin, stdout, MAX_PLIES - len(line.plies))
    line.note(plies)
    return cast(bytes, data)
