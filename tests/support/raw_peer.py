"""A program under test and its three pipes, spoken to in bytes with deadlines; no part of the project in between."""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ggp.engines.game import State, read_options
from ggp.engines.registry import Registry

PATIENCE = 60.0  # seconds; what is awaited comes at once, so only a failing test takes so long


class NoAnswer(AssertionError):
    """What was awaited did not come; str() shows what did."""


class RawPeer:
    """Starts `command` in a process group of its own; use it in a `with`, which kills what is left of the group."""

    def __init__(self, command: Sequence[str]) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self._in, self._out, self._err = (
            stream.fileno() for stream in (self.process.stdin, self.process.stdout, self.process.stderr)
        )
        self.heard = bytearray()  # of stdout, and not yet taken
        self.ended = False  # stdout
        self.stderr = bytearray()
        self.stderr_bytes = 0
        self._open = [self._out, self._err]
        self._counter = 0

    def __enter__(self) -> "RawPeer":
        return self

    def __exit__(self, *error: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def send(self, data: bytes) -> None:
        """Write what the peer takes; one that no longer reads is no error here."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._in, data)

    def close_stdin(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    def ask(self, line: str, patience: float = PATIENCE) -> str:
        """Send one command under a fresh id; the text of its success, or "? text" of its failure."""
        self._counter += 1
        self.send(f"{self._counter} {line}\n".encode())
        answer = self.answer(patience)
        assert answer[1:].startswith(str(self._counter)), f"{answer!r} does not answer {self._counter} {line}"
        text = answer[1 + len(str(self._counter)) :].strip()
        return text if answer[0] == "=" else f"? {text}"

    def answer(self, patience: float = PATIENCE) -> str:
        """The next whole answer, without its empty line."""
        self.wait_for(lambda: b"\n\n" in self.heard, patience)
        end = self.heard.index(b"\n\n")
        text = self.heard[:end].decode()
        del self.heard[: end + 2]
        return text

    def listen(self, seconds: float) -> bytes:
        """Whatever stdout says within that time, all of which is taken."""
        with contextlib.suppress(NoAnswer):
            self.wait_for(lambda: self.ended, seconds)
        heard = bytes(self.heard)
        self.heard.clear()
        return heard

    def until_end(self, patience: float = PATIENCE) -> bytes:
        """All that stdout says until its end."""
        self.wait_for(lambda: self.ended, patience)
        return bytes(self.heard)

    def exit_status(self, patience: float = PATIENCE) -> int:
        """The exit status, as subprocess has it (-9: killed by signal 9)."""
        deadline = time.monotonic() + patience
        while self.process.poll() is None and time.monotonic() < deadline:
            self._pump(0.01)
        while self._open and self._pump(0):
            pass
        assert self.process.returncode is not None, "still running"
        return self.process.returncode

    def wait_for(self, condition: Callable[[], bool], patience: float = PATIENCE) -> None:
        """Drain stdout and stderr until the condition holds; raises NoAnswer when patience is over."""
        deadline = time.monotonic() + patience
        while not condition():
            if self.ended or time.monotonic() >= deadline:
                how = "ended after" if self.ended else "heard"
                raise NoAnswer(f"{how} {bytes(self.heard[-300:])!r}, stderr {bytes(self.stderr[-300:])!r}")
            self._pump(deadline - time.monotonic())

    def _pump(self, seconds: float) -> bool:
        """Read what there is, waiting at most so long for it; whether there was anything."""
        ready, _, _ = select.select(self._open, [], [], max(0, seconds))
        for descriptor in ready:
            data = os.read(descriptor, 1 << 20)
            if not data:
                self._open.remove(descriptor)
                self.ended |= descriptor == self._out
            elif descriptor == self._out:
                self.heard += data
            else:
                self.stderr_bytes += len(data)
                self.stderr += data
                del self.stderr[:-20_000]
        return bool(ready)


# --- whole games ---


class RawGame(NamedTuple):
    """How a game went: the final state (not over after a resignation), the moves, what the bots said against it."""

    state: State
    moves: list[str]
    resigned: str = ""  # the colour that did


def play_game(game: str, words: Sequence[str], first: RawPeer, second: RawPeer, most: int = 2000) -> RawGame:
    """Play to the end. An illegal move raises IllegalMove; a refusal or more than `most` plies AssertionError."""
    rules = Registry().load(game)
    state = rules.new(read_options(rules, words))
    for bot in (first, second):
        assert bot.ask(" ".join(["ggp-new", game, *words])) == ""
    moves: list[str] = []
    while state.phase != "over":
        assert len(moves) < most, f"{most} plies and no end"
        seat, colour = state.seat, state.to_play
        mover, other = (first, second) if seat == 1 else (second, first)
        move = mover.ask(f"genmove {colour}")
        if move == "resign":
            return RawGame(state, moves, colour)
        assert not move.startswith("?"), f"{move} after {moves}"
        moves.append(state.play(move))
        answer = other.ask(f"play {colour} {move}")
        assert answer == "", f"{answer} to {colour} {move} after {moves}"
    for bot in (first, second):
        assert bot.ask("genmove black") == "pass"
    return RawGame(state, moves)
