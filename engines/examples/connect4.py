#!/usr/bin/env python3
"""A rules engine for connect four, on stdin or as a ZeroMQ service. It is one file that needs only pyzmq.

    python connect4.py
    python connect4.py tcp://127.0.0.1:5555
    ggp match --engine tcp://127.0.0.1:5555 connect4 BOT BOT

It knows the rules and chooses no moves. Every peer has its own game. The bytes are those that would go over stdin: a
message to it is one command line, a message from it is one whole answer. The rules: players drop stones into columns in
turn, Black first; four in a line (in any direction) win; a full board is a draw. A move is the letter of a column: `D`.
`ggp-scene` describes the position, so that viewers can draw it. Numbers in brackets refer to the framing rules of the
protocol (docs/reference).
"""

import json
import re
import sys
from collections import OrderedDict

import zmq

FIXED = {
    "name": "Connect four in Python",
    "version": "1",
    "protocol_version": "2",
    "ggp-version": "1",
    "ggp-games": "connect4",
}
COMMANDS = [
    *FIXED,
    *("known_command", "list_commands", "quit"),
    *("ggp-options", "ggp-new", "ggp-play", "ggp-status", "ggp-legal_moves", "ggp-history", "ggp-scene"),
]
OPTIONS = {"width": (7, 4, 10), "height": (6, 4, 10)}  # name -> default, least, greatest
LINE_LIMIT = 64 * 1024
SESSIONS = 1000  # one more peer replaces the one that has been silent longest


class Refused(Exception):
    """A refused command; the text follows `? `. Nothing has changed."""


class Game:
    """A game of connect four."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.columns: list[list[int]] = [[] for _ in range(width)]  # seats 1 and 2, from the bottom up
        self.moves: list[int] = []
        self.winner = 0

    def legal(self) -> list[int]:
        """Return the columns with room."""
        if self.winner:
            return []
        return [x for x, column in enumerate(self.columns) if len(column) < self.height]

    def seat(self) -> int:
        """Return the seat to move."""
        return 1 + len(self.moves) % 2

    def play(self, column: int) -> None:
        """Drop a stone into a column."""
        seat, y = self.seat(), len(self.columns[column])
        self.columns[column].append(seat)
        self.moves.append(column)
        for dx, dy in (1, 0), (0, 1), (1, 1), (1, -1):
            if 1 + self._run(column, y, dx, dy) + self._run(column, y, -dx, -dy) >= 4:
                self.winner = seat

    def _run(self, x: int, y: int, dx: int, dy: int) -> int:
        """Count the stones like the one at (x, y) that follow it without a gap in one direction."""
        seat, length = self.columns[x][y], 0
        while True:
            x, y = x + dx, y + dy
            if not (0 <= x < self.width and 0 <= y < len(self.columns[x]) and self.columns[x][y] == seat):
                return length
            length += 1

    def status(self) -> dict[str, str | int]:
        """Return the fields of the status line."""
        ply = len(self.moves)
        if self.winner or not self.legal():
            result = ("0", "B+", "W+")[self.winner]
            end: dict[str, str | int] = {"result": result, "winner": self.winner}
            return {"phase": "over", "to_play": "none", "seat": 0, "ply": ply, **end}
        return {"phase": "play", "to_play": colour(self.seat()), "seat": self.seat(), "ply": ply}

    def scene(self) -> dict[str, object]:
        """Return the position for viewers. The letter above a column is also a cell, because moves name it."""
        names, rows = [letter(x) for x in range(self.width)], range(self.height)
        cells = [{"at": name, "x": x, "y": -1} for x, name in enumerate(names)]
        cells += [{"at": f"{name}{self.height - y}", "x": x, "y": y} for y in rows for x, name in enumerate(names)]
        labels = [{"text": name, "x": x, "y": -1} for x, name in enumerate(names)]
        labels += [{"text": str(self.height - y), "x": -1, "y": y} for y in rows]
        stones = [(f"{letter(x)}{y + 1}", seat) for x, up in enumerate(self.columns) for y, seat in enumerate(up)]
        pieces = [{"at": at, "colour": colour(seat), "kind": "stone", "glyph": " XO"[seat]} for at, seat in stones]
        last = [f"{letter(x)}{len(self.columns[x])}" for x in self.moves[-1:]]
        board = {"board": {"kind": "square"}, "cells": cells, "labels": labels, "pieces": pieces, "last": last}
        return {"game": "connect4", **self.status(), **board}


def colour(seat: int) -> str:
    """Return the colour of a seat."""
    return "black" if seat == 1 else "white"


def letter(column: int) -> str:
    """Return the letter of a column."""
    return "ABCDEFGHJK"[column]  # the columns of a board have no I


class Session:
    """The conversation with one peer: framing and commands."""

    def __init__(self) -> None:
        self.game: Game | None = None
        self.closed = False

    def answer(self, message: bytes) -> bytes:
        """Return the whole answer to one command line, or b"" for a line that gets none."""
        if len(message.rstrip(b"\n")) > LINE_LIMIT:  # [8]
            return b"? line too long\n\n"
        line = re.sub(rb"[\x00-\x08\x0b-\x1f\x7f]", b"", message)  # [1]
        text = line.partition(b"\n")[0].partition(b"#")[0].replace(b"\t", b" ").decode("utf-8", "replace")
        words = [word for word in text.split(" ") if word]
        if not words:
            return b""
        number = ""
        if len(words) > 1 and re.fullmatch("[0-9]{1,10}", words[0]) and int(words[0]) < 2**31:  # [2]
            number = str(int(words.pop(0)))
        try:
            mark, text = "=", self.obey(words[0], words[1:])
        except Refused as refusal:
            mark, text = "?", str(refusal)
        return f"{mark}{number}{' ' if text else ''}{text}\n\n".encode()  # [3]

    def obey(self, name: str, words: list[str]) -> str:
        """Run a command and return the text of its answer."""
        if name in FIXED:
            return FIXED[name]
        if name == "list_commands":
            return "\n".join(COMMANDS)
        if name not in COMMANDS:
            raise Refused("unknown command")  # [4]
        if name == "quit":
            self.closed = True
            return ""
        if name == "known_command":
            return "true" if words and words[0] in COMMANDS else "false"
        if name == "ggp-options":
            if words and words[0] != "connect4":
                raise Refused(f"unknown game {words[0]}: this engine knows connect4")
            return "\n".join(f"{key} int {row[0]} {row[1]}..{row[2]}" for key, row in OPTIONS.items())
        if name == "ggp-new":
            self.game = Game(**parse_options(words))
            return status_line(self.game)
        if self.game is None:
            raise Refused("no game: use ggp-new")
        if name == "ggp-play":
            return play(self.game, words)
        if name == "ggp-legal_moves":
            return " ".join(letter(column) for column in self.game.legal())
        if name == "ggp-history":
            seats = ((1 + ply % 2, column) for ply, column in enumerate(self.game.moves))
            return "\n".join(f"{seat} {colour(seat)} {letter(column)}" for seat, column in seats)
        return json.dumps(self.game.scene()) if name == "ggp-scene" else status_line(self.game)


def status_line(game: Game) -> str:
    """Return the status line of a game."""
    return " ".join(f"{name}={value}" for name, value in game.status().items())


def parse_options(words: list[str]) -> dict[str, int]:
    """Return the value of every option for words such as `connect4 width=5`."""
    if not words or words[0] != "connect4":
        raise Refused("unknown game: this engine knows connect4")
    given: dict[str, int] = {}
    for word in words[1:]:
        name, _, text = word.partition("=")
        if name not in OPTIONS or name in given:
            raise Refused(f"unknown or repeated option {name}: connect4 has {' and '.join(OPTIONS)}")
        _, least, greatest = OPTIONS[name]
        if not re.fullmatch("[0-9]{1,3}", text) or not least <= int(text) <= greatest:
            raise Refused(f"{name} must be in {least}..{greatest}, not {text}")
        given[name] = int(text)
    return {name: given.get(name, row[0]) for name, row in OPTIONS.items()}


def play(game: Game, words: list[str]) -> str:
    """Answer `ggp-play COLOUR MOVE`, strictly by turn. Colours and moves are read without regard to case [6]."""
    if len(words) != 2:
        raise Refused("usage: ggp-play COLOUR MOVE")
    who, move = {"b": "black", "w": "white"}.get(words[0].lower(), words[0].lower()), words[1].upper()
    legal = {letter(column): column for column in game.legal()}
    if not legal:
        raise Refused("illegal move: the game is over")
    if who != colour(game.seat()):
        raise Refused(f"illegal move: it is {colour(game.seat())}'s turn")
    if move not in legal:
        raise Refused(f"illegal move: {words[1]} is not a column with room; these are {' '.join(legal)}")
    game.play(legal[move])
    return f"move={move} {status_line(game)}"


def converse() -> None:
    """Answer on stdin and stdout until `quit` or the end of the input."""
    session = Session()
    while not session.closed and (line := sys.stdin.buffer.readline()):
        sys.stdout.buffer.write(session.answer(line))
        sys.stdout.buffer.flush()


def serve(url: str) -> None:
    """Answer for ever. On a ROUTER socket, the first frame names the peer and the second is its message."""
    context = zmq.Context()
    socket = context.socket(zmq.ROUTER)
    socket.setsockopt(zmq.MAXMSGSIZE, 2 * LINE_LIMIT)  # a peer that sends more is cut off
    socket.bind(url)
    print(f"listening on {socket.getsockopt_string(zmq.LAST_ENDPOINT)}", file=sys.stderr, flush=True)
    sessions: OrderedDict[bytes, Session] = OrderedDict()
    while True:
        peer, *frames = socket.recv_multipart()
        if len(frames) != 1:
            continue  # not a message of this protocol
        session = sessions.setdefault(peer, Session())
        sessions.move_to_end(peer)
        answer = session.answer(frames[0])
        if answer:
            socket.send_multipart([peer, answer])
        if session.closed or len(sessions) > SESSIONS:
            sessions.pop(peer if session.closed else next(iter(sessions)))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit("usage: connect4.py [URL], for example tcp://127.0.0.1:5555")
    try:
        serve(sys.argv[1]) if sys.argv[1:] else converse()
    except zmq.ZMQError as error:
        sys.exit(f"cannot listen on {sys.argv[1]}: {error}")
    except KeyboardInterrupt:
        pass
