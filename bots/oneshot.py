"""`ggp bot oneshot -- COMMAND …`: a bot that starts a program for each move; the program keeps nothing in between.

The program reads the whole position on standard input (see `describe`) and prints its move. Its first line counts. Then
it is killed, with everything that it has started; this also happens when the clock runs out.

Each program leads a process group. A shell in that group waits for this process to end, in whatever way, and then kills
the group. Processes that have left the group come to this process as orphans, or to the referee if this process is
killed.
"""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial

from ggp.bots.position import Position
from ggp.bots.sdk import run
from ggp.engines.game import Option, OptionError
from ggp.protocol.transports.subreaper import adopt_orphans, kill_strays

OPTIONS: tuple[Option, ...] = ()
USAGE = "-- COMMAND …"
HELP = """
Write a command line after --. It is started for every move, reads the position and prints the move:

  game yugo size=9 komi=7 handicap=0 agreement=off
  phase play
  seat 2
  colour white
  clock 9870                   milliseconds left, if there is a clock
  legal A1 A2 ... button       every legal move; dead: stands for all lists of dead stones
  ply 1 black D4               every ply so far: seat, colour, move
"""
UNCLOCKED = 600.0  # seconds that a move may take without a clock
MAX_LINE = 64 * 1024  # bytes: no move is longer
# $0 is the descriptor of a pipe that ends when we do. The process that watches it is not a child of the program, which
# may wait for all its children, and does not keep the program's output open.
_WATCHED = '((read -r _; kill -9 0) <"/dev/fd/$0" >/dev/null 2>&1 &); exec "$@"'


def main(words: Sequence[str], engines: Sequence[str] = ()) -> None:
    """Serve stdin with the program of `-- COMMAND …`.

    Raises:
        OptionError: The command line is invalid.
    """
    command = read_command(words)
    adopt_orphans()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    life, _kept_open = os.pipe()
    ask = partial(ask_program, ["sh", "-c", _WATCHED, str(life), *command], life)
    run(ask, name="oneshot", engine=engines, words=())


def read_command(words: Sequence[str]) -> list[str]:
    """Return the words after `--`.

    Raises:
        OptionError: There are other words, or none, or the program does not exist.
    """
    if words[:1] != ["--"] or len(words) < 2:
        raise OptionError("oneshot: write the command line after --, as in ggp bot oneshot -- sh my_move.sh")
    if shutil.which(words[1]) is None:
        raise OptionError(f"oneshot: there is no program called {words[1][:80]}")
    return list(words[1:])


def describe(position: Position) -> str:
    """Return the program's input: `key value` lines, of which it should ignore unknown ones."""
    options = [f"{name}={value}" for name, value in position.options.items()]
    clock = [] if position.clock is None else [f"clock {position.clock}"]
    return "".join(
        f"{line}\n"
        for line in (
            " ".join(["game", position.game, *options]),
            f"phase {position.phase}",
            f"seat {position.seat}",
            f"colour {position.colour}",
            *clock,
            " ".join(["legal", *position.legal_moves()]),
            *(f"ply {seat} {colour} {move}" for seat, colour, move in position.plies),
        )
    )


def seconds_left(position: Position) -> float:
    """Return how many seconds the program may take: the whole clock, plus the next byo-yomi period if there is one."""
    longest = position.times.longest(position.colour)
    return UNCLOCKED if longest is None else longest


def ask_program(command: Sequence[str], life: int, position: Position) -> str:
    """Start the program and return the move that it prints. None of its processes survives.

    Raises:
        TimeoutError: It printed no move in time.
        ValueError: It did not print exactly one move.
    """
    deadline = time.monotonic() + seconds_left(position)
    try:
        with tempfile.TemporaryFile() as asked:  # a file, because the program may not read its input
            asked.write(describe(position).encode())
            asked.seek(0)
            with subprocess.Popen(
                command, stdin=asked, stdout=subprocess.PIPE, bufsize=0, process_group=0, pass_fds=[life]
            ) as process:
                try:
                    assert process.stdout is not None
                    line = _first_line(process.stdout.fileno(), deadline)
                finally:
                    process.kill()  # it may have left the group
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
    finally:
        kill_strays(())
    words = line.split()
    if len(words) != 1:
        raise ValueError(f"the program printed {line[:80]!r}, not one move" if words else "the program printed no move")
    return words[0]


def _first_line(descriptor: int, deadline: float) -> str:
    """Return the text before the first line feed, or before the end of the output."""
    heard = b""
    while b"\n" not in heard:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise TimeoutError("the program printed no move before its clock ran out")
        data = os.read(descriptor, MAX_LINE)
        heard += data
        if not data:
            break
        if len(heard) > MAX_LINE:
            raise ValueError(f"the program printed a line of more than {MAX_LINE} bytes")
    return heard.partition(b"\n")[0].decode(errors="backslashreplace")
