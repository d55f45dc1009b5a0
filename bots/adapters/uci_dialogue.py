"""The controlling side of UCI: an engine process, its options, and its search results. It knows no chess."""

import os
import select
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from ggp.engines.game import OptionError

START = 30.0  # seconds until `uciok`, and until each `readyok`: large networks take long to load
QUIT = 2.0  # seconds until the process has ended
MAX_LINE = 64 * 1024  # bytes; real UCI lines are much shorter
TAIL = 8  # last lines of the engine to keep for its end
_COUNTS = ("depth", "seldepth", "nodes", "nps", "time", "hashfull", "tbhits", "multipv")
_VALUES = {*_COUNTS, "currmove", "currmovenumber", "cpuload", "sbhits"}  # followed by one word
_KEYWORDS = ("name", "type", "default", "min", "max", "var")


class EngineGone(Exception):
    """A failure of the engine: it ended, hangs or does not speak UCI. `tail` has the last lines that it wrote."""

    def __init__(self, text: str, tail: Sequence[str]) -> None:
        super().__init__(text)
        self.tail = tuple(tail)


class UciOption(NamedTuple):
    """An option as the engine announces it: `least` and `most` of a spin, `choices` of a combo."""

    name: str
    type: str
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()

    def check(self, value: str) -> None:
        """Raise OptionError unless the value is possible."""
        said = f"--option {self.name}={value[:40]}"
        if self.type == "spin":
            number = _number(value)
            low, high = self.least, self.most
            if number is None or (low is not None and number < low) or (high is not None and number > high):
                bounds = [f" from {low}" if low is not None else "", f" to {high}" if high is not None else ""]
                raise OptionError(f"uci: {said}: {self.name} must be a number{''.join(bounds)}")
        elif self.type == "check" and value not in ("true", "false"):
            raise OptionError(f"uci: {said}: {self.name} must be true or false")
        elif self.type == "combo" and value.lower() not in {choice.lower() for choice in self.choices}:
            raise OptionError(f"uci: {said}: {self.name} must be one of {', '.join(self.choices)}")


class UciEngine:
    """An engine process. Every method raises EngineGone if the engine fails.

    The process shares our stderr. The constructor waits for `uciok`.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.name = command[0].rpartition("/")[2]
        self.options: dict[str, UciOption] = {}
        self._program = self.name
        self._tail: deque[str] = deque(maxlen=TAIL)
        self._buffer = bytearray()
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        try:
            self._greet()
        except EngineGone:
            self.close()
            raise

    def set_options(self, values: Mapping[str, str]) -> None:
        """Set options, all or none.

        Raises:
            OptionError: A name is unknown, or a value is impossible.
        """
        lines = []
        for name, value in values.items():
            option = self.options.get(name.lower())
            if option is None:
                near = get_close_matches(name.lower(), self.options, 1)
                guess = f"; did you mean {self.options[near[0]].name}?" if near else ""
                raise OptionError(f"uci: {self.name} has no option {name[:40]}{guess}")
            option.check(value)
            button = option.type == "button"
            lines.append(f"setoption name {option.name}" + ("" if button else f" value {value}"))
        self._send(*lines)

    def new_game(self) -> None:
        """Tell the engine to forget the last game, and wait until it is ready."""
        self._send("ucinewgame", "isready")
        self._until("readyok", time.monotonic() + START)

    def search(self, position: str, go: str, seconds: float) -> tuple[str, dict[str, Any]]:
        """Return the word after `bestmove`, and the engine's last values for the main line, with UCI's names.

        Values are numbers for `depth`, `nodes`, …, `cp` or `mate`; a list of three numbers for `wdl`; a list of words
        for `pv`.
        """
        self._send(position, go)
        said: dict[str, Any] = {}
        deadline = time.monotonic() + seconds
        while True:
            words = self._line(deadline, "bestmove").split()
            if words[:1] == ["info"]:
                info = read_info(words[1:])
                if info.get("multipv", 1) == 1:
                    said |= info
            elif words[:1] == ["bestmove"]:
                return words[1] if len(words) > 1 else "", said

    def close(self) -> None:
        """Ask the engine to quit, then kill it if necessary."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(b"quit\n")
            process.stdin.close()
            process.wait(QUIT)
        except (OSError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()
        process.stdout.close()

    def _greet(self) -> None:
        self._send("uci")
        deadline = time.monotonic() + START
        for line in self._lines("uciok", deadline):
            words = line.split()
            if words[:2] == ["id", "name"] and len(words) > 2:
                self.name = " ".join(words[2:])[:100]
            elif words[:2] == ["option", "name"] and len(self.options) < 1000:
                option = read_option(words[1:])
                self.options[option.name.lower()] = option

    def _until(self, last: str, deadline: float) -> None:
        for _ in self._lines(last, deadline):
            pass

    def _lines(self, last: str, deadline: float) -> Iterator[str]:
        """Yield every line before the line `last`."""
        while (line := self._line(deadline, last)).strip() != last:
            yield line

    def _send(self, *lines: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("".join(f"{line}\n" for line in lines).encode())
        except OSError:
            raise self._gone() from None

    def _line(self, deadline: float, awaited: str) -> str:
        """Return the next line without its end. The deadline holds even if the engine writes without a pause."""
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        if time.monotonic() >= deadline:
            raise EngineGone(f"{self._program} does not answer with {awaited}", self._tail)
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > MAX_LINE:
                raise EngineGone(f"{self._program} wrote a line of more than {MAX_LINE} bytes", self._tail)
            ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise EngineGone(f"{self._program} does not answer with {awaited}", self._tail)
            data = os.read(descriptor, MAX_LINE)
            if not data:
                raise self._gone()
            self._buffer += data
        line = self._buffer[:end].decode("utf-8", "backslashreplace").rstrip("\r")
        del self._buffer[: end + 1]
        self._tail.append(line[:300])
        return line

    def _gone(self) -> EngineGone:
        try:
            status = self._process.wait(QUIT)
        except subprocess.TimeoutExpired:
            return EngineGone(f"{self._program} closed its output", self._tail)
        return EngineGone(f"{self._program} ended: {_ended(status)}", self._tail)


def read_option(words: Sequence[str]) -> UciOption:
    """Parse `name Skill Level type spin default 20 min 0 max 20`; names and values may have several words."""
    found: dict[str, list[list[str]]] = {}
    current: list[str] = []
    for word in words:
        if word in _KEYWORDS and (word == "var" or word not in found):
            current = []
            found.setdefault(word, []).append(current)
        else:
            current.append(word)
    said = {name: " ".join(values[0]) for name, values in found.items()}
    choices = tuple(" ".join(value) for value in found.get("var", ()))
    return UciOption(
        said.get("name", ""), said.get("type", "string"), _number(said.get("min")), _number(said.get("max")), choices
    )


def read_info(words: Sequence[str]) -> dict[str, Any]:
    """Parse an `info` line without its first word, ignoring unknown parts."""
    said: dict[str, Any] = {}
    at = 0
    while at < len(words):
        word, rest = words[at], words[at + 1 :]
        at += 1
        if word == "string":
            break
        if word == "pv":
            said["pv"] = list(rest)
            break
        if word in _VALUES:
            number = _number(rest[0]) if rest else None
            if number is not None and word in _COUNTS:
                said[word] = number
            at += 1
        elif word == "score" and len(rest) > 1 and rest[0] in ("cp", "mate"):
            number = _number(rest[1])
            if number is not None:
                said.pop("mate" if rest[0] == "cp" else "cp", None)
                said[rest[0]] = number
            at += 2
        elif word == "wdl" and len(rest) > 2:
            numbers = [_number(word) for word in rest[:3]]
            if None not in numbers:
                said["wdl"] = numbers
            at += 3
    return said


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.removeprefix("-").isdecimal() and len(text) < 20 else None


def _ended(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:  # a real-time signal has no name
        return f"killed by signal {-status}"
