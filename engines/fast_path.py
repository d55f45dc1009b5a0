"""The fast path of an engine: the core itself answers the plays of a match, and everything else is passed on.

`ggp-play` is part of every ply of every match, and `ggp-legal_moves` of every ply of a bot that asks an engine.
Handling them in Python would cost twice as much as all other work of the engine. Input that the core is not sure about,
such as a wrong colour or an illegal move, is left to ggp.engines.service.
"""

import os
from functools import cache

from ggp.engines.history import MAX_PLIES
from ggp.engines.native import CoreState
from ggp.engines.session import Session
from ggp.protocol.responder import FastPath
from ggp.protocol.transports.pipe import CHUNK


def make_fast_path(session: Session) -> FastPath:
    """Return a fast path for the session's games.

    It answers nothing for other people's games, even if they derive from ours.
    """

    def fast_path(source: int, sink: int, commands: int) -> tuple[bytes | None, bytes]:
        line = session.line
        if line is None or not isinstance(line.state, CoreState) or not _is_ours(type(line.game), type(line.state)):
            return os.read(source, CHUNK), b""
        data, plies, unsent = line.state.answer_plays(source, sink, MAX_PLIES - len(line.plies), commands)
        line.note(plies)
        return data, unsent

    return fast_path


@cache
def _is_ours(*types: type) -> bool:
    return all(one.__module__.startswith("ggp.engines.games.") for one in types)
