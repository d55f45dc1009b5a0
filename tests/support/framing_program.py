"""A program that obeys the framing rules, or breaks those of them that it is told to."""

import re
from collections.abc import Callable

from protocol.channel import Transport
from protocol.conformance import Check, run_checks
from protocol.transports.blocking import run_blocking
from protocol.transports.memory import Memory

STATUS = "phase=play to_play=black seat=1 ply=0"
Answer = Callable[[bytes], list[bytes]]


class FramingProgram:
    """Framing written again, in the plainest way, with a switch for every mistake; `wrong` names those it makes."""

    def __init__(self, *wrong: str) -> None:
        self.wrong = set(wrong)
        self.buffer = b""
        self.ids: set[int] = set()
        self.last = ""  # the id that came last
        self.closed = False

    def __call__(self, data: bytes) -> list[bytes]:
        """Bytes in, chunks out, as Memory wants it."""
        if self.closed:
            return []
        if not data:
            return self._end()
        if "reads are lines" in self.wrong:
            lines = [data.rstrip(b"\n")]
        else:
            *lines, self.buffer = (self.buffer + data).split(b"\n")
        out = [b"Hello\n"] if "greets" in self.wrong else []
        for line in lines:
            out += self._line(line)
            if self.closed and "answers after quit" not in self.wrong:
                break
        if "reverses" in self.wrong:
            out.reverse()
        return out

    def _end(self) -> list[bytes]:
        if "ignores the end" in self.wrong:
            return []
        return [b"bye\n", b""] if "speaks at the end" in self.wrong else [b""]

    def _line(self, raw: bytes) -> list[bytes]:
        wrong = self.wrong
        if len(raw) > (1000 if "short lines" in wrong else 65_536) and "any length" not in wrong:
            return [b"? line too long\n\n"] * (2 if "too long twice" in wrong else 1)
        if "NUL ends" in wrong:
            raw = raw.partition(b"\0")[0]
        if "keeps CR" in wrong and raw.endswith(b"\r"):
            raw += b"?"
        if "keeps controls" not in wrong:
            raw = bytes(byte for byte in raw if byte in b"\t" or (byte >= 32 and byte != 127))
        if "keeps comments" not in wrong:
            raw = raw.partition(b"#")[0]
        if "keeps tabs" not in wrong:
            raw = raw.replace(b"\t", b" ")
        if "needs UTF-8" in wrong and raw.decode("utf-8", "ignore").encode() != raw:
            return []
        words = [word.decode("latin-1") for word in raw.split(b" ") if word]
        if not words:
            return [b"? \n\n"] if "answers blank lines" in wrong else []
        return self._answer(words)

    def _answer(self, words: list[str]) -> list[bytes]:
        wrong, number = self.wrong, ""
        is_id = words[0].lstrip("-" if "negative" in wrong else "").isdigit() and (
            len(words[0]) < 10 or int(words[0]) < 2**31 or "any number" in wrong
        )
        if "glued" in wrong and (glued := re.match(r"(\d+)([a-z]\w*)$", words[0])):
            words[:1] = glued.groups()
            is_id = True
        if is_id and (len(words) > 1 or "lone number" in wrong):
            number = words.pop(0)
            forgotten = {"no ids", "no large ids" if len(number) > 9 else "", "no 0" if number == "0" else ""}
            if forgotten & wrong:
                number = ""
            if not words or ("new ids only" in wrong and number and int(number) in self.ids):
                return []
            self.ids.add(int(number or 0))
        if "repeats ids" in wrong:
            number = self.last = number or self.last
        ok, text = self._command(words)
        if not ok and "failures lose ids" in wrong:
            number = ""
        blank = " " if text or "blank after empty" in wrong else ""
        if "two blanks" in wrong:
            blank = "  "
        return [f"{'=' if ok else '?'}{number}{blank}{text}\n\n".encode()]

    def _command(self, words: list[str]) -> tuple[bool, str]:
        wrong = self.wrong
        name, *arguments = [words[0].lower() if "case" in wrong else words[0], *words[1:]]
        if name == "known_command":
            if not arguments and "known_command fails" in wrong:
                return False, "needs a name"
            known = {"name", "version", "quit"} - ({"name"} if "knows not name" in wrong else set())
            return True, "true" if {*arguments[:1]} & known or "knows all" in wrong else "false"
        if name == "quit":
            self.closed = "quit does not end" not in wrong
            return True, ""
        texts = {"protocol_version": "2", "name": "Program", "version": "1"}
        return (
            (True, texts[name]) if name in texts else (False, "what?" if "other words" in wrong else "unknown command")
        )


def program(*wrong: str) -> Callable[[], Transport]:
    """Connects to a fresh FramingProgram; Memory gives its answers, and the end of its stream when it has closed."""

    def connect() -> Transport:
        peer = FramingProgram(*wrong)

        def answer(data: bytes) -> list[bytes]:
            closed = peer.closed
            return [*peer(data), *([b""] if peer.closed and not closed else [])]

        return Memory(answer)

    return connect


def failed(connect: Callable[[], Transport], checks: list[Check]) -> set[str]:
    return {finding.check.number for finding in run_blocking(run_checks(connect, checks)) if not finding.passed}
