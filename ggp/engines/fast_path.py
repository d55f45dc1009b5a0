"""The short way to an answer, of plays and lists of legal moves; everything else is left to the long one.

`ggp-play` is inside each ply of every match, and `ggp-legal_moves` in those of a bot that asks an engine; the way
through ggp.engines.service costs more than all the rest of the engine. For our own games the core answers itself. What
the short way is not sure of, a wrong colour or an illegal move among it, it leaves to the long one.
"""

import os
from typing import cast

from ggp.engines.history import MAX_PLIES
from ggp.engines.service import status
from ggp.engines.session import Session
from ggp.protocol.grammar import MAX_LINE, format_answer, read_line
from ggp.protocol.transports.pipe import CHUNK


def next_input(session: Session, stdin: int = 0, stdout: int = 1) -> bytes:
    """The next bytes from `stdin` that the core has not answered, b"" for its end."""
    line = session.line
    answer_plays = getattr(line.state, "answer_plays", None) if line else None
    if line is None or answer_plays is None:  # no game, or one without a core
        return os.read(stdin, CHUNK)
    data, plies = answer_plays(stdin, stdout, MAX_PLIES - len(line.plies))
    line.note(plies)
    return cast(bytes, data)


def quick_answer(session: Session, data: bytes) -> bytes | None:
    """The answer to these bytes, all that there are, where they are one such line; None: the long way answers."""
    line = session.line
    if line is None:
        return None
    answer_line = getattr(line.state, "answer_line", None)
    if answer_line is None:
        return _play(session, data)
    found = answer_line(data, MAX_PLIES - len(line.plies))
    if found is None:
        return None
    answer, plies = found
    line.note(plies)
    return cast(bytes, answer)


def _play(session: Session, data: bytes) -> bytes | None:
    """The same of a play, in a game without a core."""
    line = session.need()
    if data.find(b"\n") != len(data) - 1 or not 1 < len(data) <= MAX_LINE:
        return None
    command = read_line(data[:-1])
    if command is None or command[0] != "ggp-play" or len(command[1]) != 2:
        return None
    colour, word = command[1]
    try:
        move = line.play(colour, word)
    except Exception:  # nothing has changed; the long way says why
        return None
    if not move.isprintable():  # the long way drops or refuses it
        session.line = line.taken_back(1)
        return None
    return format_answer(True, f"move={move} {status(line.state)}", command[2])
