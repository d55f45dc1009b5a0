"""The console without its display: the peer, the settings, and the console's own commands."""

import re
import shlex
from ast import literal_eval
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from ggp.protocol.commands import TABLE
from ggp.protocol.drawing import svg
from ggp.protocol.drawing.scene import DrawingError, read_scene
from ggp.protocol.errors import LocalProtocolError, PeerTimeout
from ggp.protocol.regression import write
from ggp.protocol.safe_files import replace_file
from ggp.referee.command_line import nearest
from ggp.referee.match.bot_spec import BUILT_IN, HUMAN, BotSpec, LaunchError
from ggp.referee.match.move_words import is_move_word
from ggp.referee.terminal import visible
from ggp.referee.tools.console.completion import LIST, BotWord, PeerInfoReader, PeerKind
from ggp.referee.tools.console.dialogue import CHANGING, MOMENT, Dialogue, PeerLost, Target
from ggp.referee.tools.console.own_commands import BENCH, OwnCommand, OwnFailed, bench_rows

if TYPE_CHECKING:
    from ggp.referee.tools.console.bench import Bench
    from ggp.referee.tools.console.replay import MatchCaption

MARKS = (":", "!")
_QUICK = frozenset(("raw", "send", "board", "timeout", "stderr", "quit"))
_TREE_FILES = (".sgf", ".jsonl")
TIMEOUT = 600.0  # seconds: as long as a move may take without a clock


class Console:
    """The peer, the settings, and the console's own commands."""

    def __init__(
        self,
        target: Target,
        *,
        bench: "Callable[[Console], Bench] | None" = None,
        timeout: float = TIMEOUT,
        raw: bool = False,
    ) -> None:
        """`bench` makes that of a match; else there is one as soon as a command needs it. Raises LaunchError."""
        self.timeout = timeout
        self.raw = raw
        self.board = True
        self.ended = False  # after :quit
        self.stale = True  # the position may differ from the drawn board
        self.stderr = ""  # its tail
        self.dialogue = Dialogue(target)
        self.match: MatchCaption | None = None  # of the match that is replayed
        self.bots = list(target.bots)
        self.own = {row.name: row for row in [*rows(self), *bench_rows(self._run_bench)]}
        self.learner = PeerInfoReader(self.dialogue, self.own.values())
        self._bench = bench(self) if bench else None
        self._see_bench()

    @property
    def bench(self) -> "Bench":
        """The commands for the position. Raises OwnFailed for a peer that is no engine, PeerLost."""
        if "ggp-play" not in self.commands():
            raise OwnFailed("the peer lists no ggp-play: this command needs an engine", code="no-engine")
        if self._bench is None:
            from ggp.referee.tools.console.bench import Bench

            self._bench = Bench(self)
        return self._bench

    def close(self) -> None:
        """End the peer and every bot."""
        try:
            if self._bench is not None:
                self._bench.close()
        finally:
            self.dialogue.close()

    def _run_bench(self, name: str, arguments: list[str]) -> str:
        return self.bench.commands[name](arguments)

    def begin(self) -> None:
        """Send the target's first commands and wait for their answers. Raises LaunchError if the peer refuses one."""
        target = self.dialogue.target
        for number, line in enumerate((target.first, *target.then) if target.first else ()):
            try:
                reply = self.dialogue.ask(line, MOMENT)
            except (PeerLost, PeerTimeout) as error:
                raise LaunchError(f"{line}: {error}") from None
            if not reply.ok:
                raise LaunchError(visible(f"{line}: {reply.text}" if number else reply.text))
            self.dialogue.note(line, reply)

    def is_own(self, line: str) -> bool:
        return line.lstrip().startswith(MARKS)

    def is_quick(self, line: str) -> bool:
        """Whether a console command runs at once, because it needs no answer of the peer."""
        name = (line.strip()[1:].split() or [""])[0]
        known = self.learner.known
        if name not in self.own:  # it may be a move
            return known.kind is not PeerKind.ENGINE
        if name == "save":  # a tree needs the engine
            return not any(word in line for word in _TREE_FILES)
        return name in _QUICK or (name == "help" and bool(known.commands))

    def run_own(self, line: str) -> str:
        """Run a line that begins with a mark; returns the text to show. Raises OwnFailed."""
        try:
            row, arguments = self._read(line)
            text = row.run(arguments)
        except PeerLost as lost:
            raise OwnFailed(str(lost)) from None
        except (LaunchError, PeerTimeout, LocalProtocolError) as error:
            raise OwnFailed(str(error)) from None
        except OSError as error:
            name = f"{error.filename}: " if error.filename else ""
            raise OwnFailed(f"{name}{error.strerror}") from None
        if row.changes:
            self.changed()
        return text

    def changed(self) -> None:
        """Note that the position may have changed."""
        self.stale = True
        self.learner.forget_position()
        self._see_bench()

    def _see_bench(self) -> None:
        """Keep the bots and plies that commands can name."""
        if self._bench is not None:
            self.learner.see_match(self._bench.bot_words(), self._bench.places())
        elif self.bots:
            self.learner.see_match(bot_words(self.bots), ())

    def restart(self, fresh: bool) -> int:
        """Restart the peer, in its position unless `fresh`; returns how many commands were sent again.

        Raises LaunchError, OwnFailed, PeerLost, PeerTimeout.
        """
        trail = self.dialogue.trail
        if not fresh and not trail.whole:
            raise OwnFailed("more commands led to the position than are kept: :restart --fresh starts without them")
        self.dialogue.restart()
        self.learner.forget_all()
        self.stale = True
        if fresh or not trail.lines:
            self.begin()
            return 0
        for line in trail.lines:
            reply = self.dialogue.ask(line, self.timeout)
            if not reply.ok:
                raise OwnFailed(f"restarted, but `{line}`, which led to the position, is answered `? {reply.text}`")
        return len(trail.lines)

    def commands(self) -> tuple[str, ...]:
        """The commands that the peer lists, asked if they are unknown; () without an answer. Raises PeerLost."""
        if not self.learner.known.commands and not self.dialogue.lost:
            reply = self.dialogue.ask(LIST, MOMENT)
            if reply.ok:
                self.learner.note_commands(reply)
        return self.learner.known.commands

    def _read(self, line: str) -> tuple[OwnCommand, list[str]]:
        try:
            name, *arguments = shlex.split(line.strip()[1:]) or [""]
        except ValueError as error:
            raise OwnFailed(f"this cannot be read: {str(error).lower()}") from None
        row = self.own.get(name)
        if row is None and self._is_move(name):
            return self.own["move"], [name, *arguments]
        if row is None:
            close = nearest(name, self.own)
            raise OwnFailed(f"there is no :{name}; " + (f"did you mean :{close}?" if close else ":help lists them"))
        if arguments and not row.arguments:
            raise OwnFailed(f"write :{name} alone", code="usage")
        return row, arguments

    def _is_move(self, word: str) -> bool:
        """Whether an unknown command is a move, as `:D4`, or would be one elsewhere on the board."""
        if self.dialogue.lost or self.dialogue.pending:  # nothing can be asked now
            return False
        if self.learner.known.kind not in (PeerKind.ENGINE, PeerKind.UNKNOWN) or not word:
            return False
        if "ggp-play" not in self.commands():
            return False
        return bool(re.search(r"\d", word)) or is_move_word(word) or self.bench.is_legal(word)

    def how_to_play(self, sent: str) -> str:
        """Return what to type to play a move that was sent as if it were a command; "" if it does not look like one.

        Raises PeerLost.
        """
        words = sent.split()
        if words and words[0].isdecimal():  # the id of a command
            del words[0]
        if len(words) != 1 or not (is_move_word(words[0]) or re.search(r"\d", words[0])):
            return ""
        if self.learner.known.kind not in (PeerKind.ENGINE, PeerKind.UNKNOWN) or self.dialogue.lost:
            return ""
        listed = self.learner.known.commands or (() if self.dialogue.pending else self.commands())
        if "ggp-play" not in listed or words[0] in listed:
            return ""
        if is_move_word(words[0]):
            return f"{visible(words[0])} is a move: type :{visible(words[0])} to play it"
        return f"if {visible(words[0])} is a move, type :{visible(words[0])} to play it"


def bot_words(bots: Iterable[BotSpec]) -> tuple[BotWord, ...]:
    """Bots that a command can name: these, the built-in ones, and a human."""
    known = {bot.name: BotWord(bot.name, bot.name, visible(bot.command)) for bot in bots}
    built_in = {name: BotWord(name, name, "built in") for name in BUILT_IN}
    return (*(built_in | known).values(), BotWord(HUMAN, HUMAN, "you, at this terminal", human=True))


# -- the console's own commands ---------------------------------------------------------------------------------------


_STDERR = 20  # lines that :stderr shows
_LONGEST = 86_400.0  # seconds


def rows(console: "Console") -> list[OwnCommand]:
    """The commands of every console."""
    its = _ConsoleCommands(console)
    return [
        OwnCommand("help [COMMAND]", "what a command does; without one, which there are", its.help),
        OwnCommand("raw on|off", "show all bytes as they pass, with escapes", its.raw),
        OwnCommand("send 'BYTES'", "send exactly these bytes, escapes as in Python: :send 'name\\r\\n'", its.send),
        OwnCommand("board on|off", "draw the board after each change", its.board),
        OwnCommand("svg FILE", "write the position as a picture", its.svg),
        OwnCommand(
            "save FILE [main]",
            "FILE.tst: what passed, a regression transcript; FILE.sgf: the tree; FILE.jsonl: this line, or the main "
            "one, as a record",
            its.save,
        ),
        OwnCommand("timeout SECONDS", "time limit of an answer, after which a warning is shown", its.set_timeout),
        OwnCommand("stderr", f"the last {_STDERR} lines that the peer wrote there", its.stderr),
        OwnCommand(
            "restart [--fresh|BOT]",
            "restart the peer and replay the position; --fresh: without it; BOT: restart that bot",
            its.restart,
            True,
        ),
        OwnCommand("quit", "tell the peer to quit, and leave", its.quit),
    ]


class _ConsoleCommands:
    def __init__(self, console: "Console") -> None:
        self._console = console

    def help(self, arguments: list[str]) -> str:
        if not arguments:
            return self._overview()
        name = arguments[0].lstrip(":!")
        lines = []
        if own := self._console.own.get(name):
            lines.append(f":{own.usage} — {own.help}")
        if not arguments[0].startswith((":", "!")):
            lines += self._help_of_peers(name)
        if not lines:
            raise OwnFailed(f"unknown command {name}; :help lists them")
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
        bench = [usage.partition(" ")[0] for usage, *_ in BENCH]
        listed = [row for row in console.own.values() if row.name not in bench]
        kind = console.learner.known.kind if console.commands() else PeerKind.UNKNOWN
        known = [name for name in console.commands() if name in TABLE]
        others = [name for name in console.commands() if name not in TABLE]
        lines = ["A line that begins with : or ! is for the console:", *map(_in_help, listed)]
        if kind is PeerKind.ENGINE:
            lines += ["For the position on the engine:", *map(_in_help, [console.own[name] for name in bench])]
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
        """The answers are shown like any others."""
        data = _bytes(" ".join(arguments))
        awaited = self._console.dialogue.send(data)
        if any(exchange.sent.split()[0] in CHANGING for exchange in awaited if exchange.sent):
            self._console.changed()
        return f"{len(data)} bytes sent; {len(awaited)} {'answer is' if len(awaited) == 1 else 'answers are'} awaited"

    def svg(self, arguments: list[str]) -> str:

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

        path = _path(" ".join(arguments))
        if (arguments or [""])[0].endswith(_TREE_FILES):
            return self._console.bench.save(arguments)
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
        if len(arguments) == 1 and arguments[0] in [bot.name for bot in self._console.bots]:
            return self._console.bench.restart_bot(arguments[0])
        if arguments not in ([], ["--fresh"]):
            raise OwnFailed("write :restart, :restart --fresh or :restart BOT", code="usage")
        count = self._console.restart(fresh=bool(arguments))
        again = f"; {count} {'command was' if count == 1 else 'commands were'} sent again" if count else ""
        return f"{self._console.dialogue.target.name} was restarted{again}"

    def quit(self, arguments: list[str]) -> str:
        self._console.ended = True
        return ""


def _in_help(row: OwnCommand) -> str:
    return f"  {f':{row.usage}':28} {row.help}"


def _path(name: str) -> Path:
    """The path of a file, with `~` expanded. Raises OwnFailed for none."""
    if not name:
        raise OwnFailed("name a file", code="usage")
    return Path(name).expanduser()


def _switch(arguments: list[str], now: bool) -> bool:
    """`on`, `off`, or nothing to toggle."""
    words = {"on": True, "off": False}
    if len(arguments) > 1 or (arguments and arguments[0] not in words):
        raise OwnFailed("write on or off", code="usage")
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
