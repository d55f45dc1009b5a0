"""The console's own commands, a row each: help, raw bytes, files, the peer's life. What a match adds is elsewhere."""

from ast import literal_eval
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from protocol.commands import TABLE
from protocol.safe_files import replace_file
from referee.console.dialogue import MOMENT
from referee.console.knowledge import Kind
from referee.console.own import Own, OwnFailed, Word
from referee.console.trail import CHANGING

if TYPE_CHECKING:
    from referee.console.console import Console

_STDERR = 20  # lines that :stderr shows
_LONGEST = 86_400.0  # seconds


def rows(console: "Console") -> list[Own]:
    """Every command of its own that a console has, whatever its peer is."""
    its = _Rows(console)
    return [
        Own("help", "[COMMAND]", "what a command does; without one, which there are", its.help, (Word.COMMAND,)),
        Own("raw", "on|off", "show all bytes as they pass, with escapes", its.raw),
        Own("send", "'BYTES'", "send exactly these bytes, escapes as in Python: :send 'name\\r\\n'", its.send),
        Own("board", "on|off", "draw the board after each change", its.board),
        Own("svg", "FILE", "write the position as a picture", its.svg, (Word.FILE,)),
        Own("save", "FILE.tst", "write what passed as a regression transcript", its.save, (Word.FILE,)),
        Own("timeout", "SECONDS", "how long an answer may take before it is told", its.set_timeout),
        Own("stderr", "", f"the last {_STDERR} lines that the peer wrote there", its.stderr),
        Own(
            "restart",
            "[--fresh]",
            "restart the peer and replay the position; --fresh: without it",
            its.restart,
            changes=True,
        ),
        Own("quit", "", "tell the peer to quit, and leave", its.quit),
    ]


class _Rows:
    def __init__(self, console: "Console") -> None:
        self._console = console

    def help(self, arguments: list[str]) -> str:
        if not arguments:
            return self._overview()
        name = arguments[0].lstrip(":!")
        lines = []
        if own := self._console.own.get(name):
            lines.append(f":{name} {own.arguments}".rstrip() + f" — {own.help}")
        if not arguments[0].startswith((":", "!")):
            lines += self._help_of_peers(name)
        if not lines:
            raise OwnFailed(f"nobody knows a command {name}; :help lists them")
        return "\n".join(lines)

    def _help_of_peers(self, name: str) -> list[str]:
        row, listed = TABLE.get(name), self._console.commands()
        lines = []
        if row:
            lines.append(f"{name} {row.arguments}".rstrip() + f" — {row.help}")
            lines.append(f"  answers: {row.answer or 'nothing'}")
        if name in listed:
            lines.append("  the peer lists it" + ("" if row else "; it is none of the protocol's"))
        elif row:
            lines.append("  the peer does not list it")
        return lines

    def _overview(self) -> str:
        console = self._console
        own = [f"  {f':{row.name} {row.arguments}':28} {row.help}" for row in console.own.values()]
        kind = console.learner.known.kind if console.commands() else Kind.UNKNOWN
        known = [name for name in console.commands() if name in TABLE]
        others = [name for name in console.commands() if name not in TABLE]
        lines = ["A line that begins with : or ! is for the console:", *own]
        lines += [f"Every other line is for the {kind}, {console.dialogue.target.name}. It lists:"]
        groups = groupby(known, key=lambda name: name.partition("-")[0] if "-" in name else "")
        lines += [f"  {' '.join(group)}" for _, group in groups]
        if others:
            lines.append(f"  not of the protocol: {' '.join(others)}")
        return "\n".join(lines)

    def raw(self, arguments: list[str]) -> str:
        self._console.raw = _switch(arguments, self._console.raw)
        return f"raw bytes are {'shown' if self._console.raw else 'not shown'}"

    def board(self, arguments: list[str]) -> str:
        self._console.board = _switch(arguments, self._console.board)
        self._console.stale = True
        return f"the board is {'drawn' if self._console.board else 'not drawn'}"

    def send(self, arguments: list[str]) -> str:
        """The answers, if any come, are shown like any others."""
        data = _bytes(" ".join(arguments))
        awaited = self._console.dialogue.send(data)
        if any(exchange.sent.split()[0] in CHANGING for exchange in awaited if exchange.sent):
            self._console.changed()
        return f"{len(data)} bytes sent; {len(awaited)} {'answer is' if len(awaited) == 1 else 'answers are'} awaited"

    def svg(self, arguments: list[str]) -> str:
        from protocol.drawing import svg  # what few need is not waited for
        from protocol.drawing.scene import DrawingError, read_scene

        path = _path(" ".join(arguments))
        if "ggp-scene" not in self._console.commands():
            raise OwnFailed("the peer lists no ggp-scene: it cannot say what to draw")
        reply = self._console.dialogue.ask("ggp-scene", MOMENT)
        if not reply.ok:
            raise OwnFailed(f"the peer answers ggp-scene with ? {reply.text}")
        try:
            replace_file(path, svg.draw(read_scene(reply.text)).encode())
        except DrawingError as error:
            raise OwnFailed(str(error)) from None
        return f"{path} written"

    def save(self, arguments: list[str]) -> str:
        from protocol.regression import write  # with its regular expressions

        path = _path(" ".join(arguments))
        kept = list(self._console.dialogue.kept)
        if not kept:
            raise OwnFailed("nothing was asked yet")
        replace_file(path, write(kept).encode())
        return f"{path} written: {len(kept)} {'command' if len(kept) == 1 else 'commands'}"

    def set_timeout(self, arguments: list[str]) -> str:
        try:
            (word,) = arguments
            seconds = float(word)
        except ValueError:
            seconds = 0.0
        if not 0.001 <= seconds <= _LONGEST:
            raise OwnFailed(
                f"write :timeout SECONDS, from 0.001 to {_LONGEST:.0f}; now it is {self._console.timeout:g}"
            )
        self._console.timeout = seconds
        return f"an answer may take {seconds:g} s"

    def stderr(self, arguments: list[str]) -> str:
        lines = self._console.dialogue.peer.stderr_tail().splitlines()[-_STDERR:]
        return "\n".join(lines) or "nothing"

    def restart(self, arguments: list[str]) -> str:
        if arguments not in ([], ["--fresh"]):
            raise OwnFailed("write :restart or :restart --fresh")
        count = self._console.restart(fresh=bool(arguments))
        again = f"; {count} {'command was' if count == 1 else 'commands were'} sent again" if count else ""
        return f"{self._console.dialogue.target.name} was restarted{again}"

    def quit(self, arguments: list[str]) -> str:
        self._console.ended = True
        return ""


def _path(name: str) -> Path:
    """A file's path as it was typed, `~` read. Raises OwnFailed for none."""
    if not name:
        raise OwnFailed("name a file")
    return Path(name).expanduser()


def _switch(arguments: list[str], now: bool) -> bool:
    """on, off, or nothing for the other than now."""
    words = {"on": True, "off": False}
    if len(arguments) > 1 or (arguments and arguments[0] not in words):
        raise OwnFailed("write on or off")
    return words[arguments[0]] if arguments else not now


def _bytes(text: str) -> bytes:
    """`name\\n` with its escapes read; every character above 255 as UTF-8."""
    try:
        data: bytes = literal_eval("b'" + text.encode("ascii", "backslashreplace").decode().replace("'", "\\'") + "'")
    except (ValueError, SyntaxError):
        raise OwnFailed("the bytes cannot be read: write escapes as in Python, such as \\n, \\x00, \\\\") from None
    if not data:
        raise OwnFailed("write the bytes in quotes: :send 'name\\n'")
    return data
