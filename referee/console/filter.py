"""The console without a terminal: each line of stdin to the peer, its answers to stdout byte for byte."""

import json
import os
import sys
from collections.abc import Iterator

from protocol.errors import PeerTimeout
from referee.console.console import Console
from referee.console.dialogue import Exchange, Lost
from referee.console.own import OwnFailed
from referee.console.visible import quote, visible

REFUSED, BROKEN = 1, 3
_CHUNK = 64 * 1024
_LONGEST_LINE = 1024 * 1024  # bytes of a line of stdin; more of it is cut off


class Filter:
    """`passed` is what the console's dialogue has to be given; `run` then says every line."""

    def __init__(self, *, as_json: bool, quiet: bool) -> None:
        self._as_json, self._quiet = as_json, quiet
        self._console: Console | None = None
        self._status = 0

    def passed(self, mark: str, data: bytes, own: bool) -> None:
        """Bytes on their way: those that answer a line of stdin go to stdout as they are."""
        if mark == "<" and not own and not self._as_json:
            _write(data)
        if self._console is not None and self._console.raw:
            self._tell(f"{mark} {quote(data)}")

    def run(self, console: Console) -> int:
        """The exit status."""
        self._console = console
        console.begin()
        for line in _lines():
            if console.is_own(line):
                self._do(line)
            else:
                self._say(line)
            self._pass_stderr()
            if console.ended:
                break
        return self._status

    def _say(self, line: str) -> None:
        console = self._console
        assert console is not None
        try:
            exchange = console.dialogue.say(line)
            if exchange is not None:
                self._await(exchange)
        except Lost as lost:
            self._break(line, str(lost))

    def _await(self, exchange: Exchange) -> None:
        console = self._console
        assert console is not None
        dialogue = console.dialogue
        try:
            dialogue.wait(exchange, exchange.began + console.timeout)
        except PeerTimeout as error:
            dialogue.lost = f"{error} ({console.timeout:g} s): the peer's fault; PROTOCOL §2.8: never a hang"
            raise Lost(dialogue.lost) from None
        finally:
            for warning in dialogue.new_warnings():
                self._remark(f"{warning}; PROTOCOL §2.10: borne with from a bot")
        reply = exchange.reply
        assert reply is not None
        console.learner.forget(exchange.sent)
        if not reply.ok:
            self._status = max(self._status, REFUSED)
        if self._as_json:
            self._object(exchange.sent, reply.ok, reply.text, reply.id, exchange.seconds)

    def _break(self, line: str, why: str) -> None:
        """Told once: the lines that follow are not even tried."""
        if self._status != BROKEN or self._as_json:
            if self._as_json:
                self._object(line.strip(), None, why, None, 0.0)
            self._tell(why)
        self._status = BROKEN

    def _do(self, line: str) -> None:
        console = self._console
        assert console is not None
        try:
            ok, text = True, console.run_own(line)
        except OwnFailed as failed:
            ok, text = False, str(failed)
            self._status = max(self._status, REFUSED)
        if self._as_json:
            self._object(line.strip(), ok, text, None, 0.0)
        elif not ok:
            self._tell(text)
        elif text:
            _write(f"{visible(text)}\n".encode())
        if ok and console.dialogue.pending:  # what :send sent
            self._take_sent()

    def _take_sent(self) -> None:
        console = self._console
        assert console is not None
        try:
            for exchange in list(console.dialogue.pending):
                self._await(exchange)
        except Lost as lost:
            self._break(":send", str(lost))

    def _object(self, sent: str, ok: bool | None, text: str, identity: int | None, seconds: float) -> None:
        key = "error" if ok is None else "text"
        facts = {"sent": sent, "ok": ok, key: text, "id": identity, "ms": round(seconds * 1000, 3)}
        _write(f"{json.dumps(facts)}\n".encode())

    def _pass_stderr(self) -> None:
        assert self._console is not None
        news = self._console.dialogue.peer.stderr_news()
        if news and not self._quiet:
            _note(visible(news if news.endswith("\n") else f"{news}\n"))

    def _remark(self, text: str) -> None:
        if not self._quiet:
            self._tell(text)

    def _tell(self, text: str) -> None:
        _note("".join(f"ggp console: {visible(line)}\n" for line in text.splitlines()))


def _lines() -> Iterator[str]:
    """The lines of stdin as they come, the last also without LF."""
    partial = b""
    while data := os.read(0, _CHUNK):
        *lines, partial = (partial + data).split(b"\n")
        partial = partial[:_LONGEST_LINE]
        for line in lines:
            yield line.decode("utf-8", "surrogateescape")
    if partial:
        yield partial.decode("utf-8", "surrogateescape")


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def _note(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
