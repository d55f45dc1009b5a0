"""Input of an engine on stdin: plays of a match are answered the short way, everything else is handed on.

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
    """The next bytes from `stdin` that are not answered yet, b"" for its end; what the core answered is in the line."""
    line = session.line
    if line is None:
        return os.read(stdin, CHUNK)
    answer_plays = getattr(line.state, "answer_plays", None)
    if answer_plays is None:
        return _answer_plays(session, stdin, stdout)
    data, plies = answer_plays(stdin, stdout, MAX_PLIES - len(line.plies))
    line.plies += plies
    return cast(bytes, data)


def _answer_plays(session: Session, stdin: int, stdout: int) -> bytes:
    """The same for a game without a core."""
    line = session.need()
    while True:
        data = os.read(stdin, CHUNK)
        if not data or data.find(b"\n") != len(data) - 1 or len(data) > MAX_LINE:
            return data
        command = read_line(data[:-1])
        if command is None or command[0] != "ggp-play" or len(command[1]) != 2:
            return data
        colour, word = command[1]
        try:
            move = line.play(colour, word)
        except Exception:  # nothing has changed; the long way says why
            return data
        if not move.isprintable():  # the long way drops or refuses it
            session.line = line.taken_back(1)
            return data
        answer = format_answer(True, f"move={move} {status(line.state)}", command[2])
        try:
            while (sent := os.write(stdout, answer)) < len(answer):
                answer = answer[sent:]
        except BrokenPipeError:  # the controller left: as at the end of input
            return b""
