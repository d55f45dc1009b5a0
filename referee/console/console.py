"""One console, whatever shows it: its peer, its settings, and its own commands. It knows no terminal."""

import shlex
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from protocol.errors import LocalProtocolError, PeerTimeout
from referee.console.dialogue import MOMENT, Dialogue, Lost
from referee.console.knowledge import LIST, Learner
from referee.console.own import Own, OwnFailed
from referee.console.rows import rows
from referee.console.target import Target
from referee.console.visible import visible
from referee.play.launch import LaunchError
from referee.spelling import nearest

if TYPE_CHECKING:
    from referee.console.caption import Caption  # which reads records

MARKS = (":", "!")
_QUICK = frozenset(("raw", "send", "board", "save", "timeout", "stderr", "quit"))
TIMEOUT = 600.0  # seconds: as long as a move may take without a clock


class Console:
    """What a console is made of. `passed`: see Dialogue."""

    def __init__(
        self,
        target: Target,
        passed: Callable[[str, bytes, bool], None],
        *,
        more: "Callable[[Console], Iterable[Own]] | None" = None,
        timeout: float = TIMEOUT,
        raw: bool = False,
    ) -> None:
        """`more`: further commands of the console, made when there is one. Raises LaunchError."""
        self.timeout = timeout
        self.raw = raw
        self.board = True
        self.ended = False  # :quit was said
        self.stale = True  # the position may be another one than the board that was drawn
        self.stderr = ""  # its tail
        self.dialogue = Dialogue(target, passed)
        self.match: Caption | None = None  # what is known of the match that is looked at
        own = [*rows(self), *(more(self) if more else ())]
        self.own = {row.name: row for row in own}
        self.learner = Learner(self.dialogue, own)
        self._see_match()

    def begin(self) -> None:
        """Say the target's first commands, and wait for their answers. Raises LaunchError if the peer refuses one."""
        target = self.dialogue.target
        for number, line in enumerate((target.first, *target.then) if target.first else ()):
            try:
                reply = self.dialogue.ask(line, MOMENT)
            except (Lost, PeerTimeout) as error:
                raise LaunchError(f"{line}: {error}") from None
            if not reply.ok:
                raise LaunchError(visible(f"{line}: {reply.text}" if number else reply.text))
            self.dialogue.kept.append((line, reply))

    def is_own(self, line: str) -> bool:
        return line.lstrip().startswith(MARKS)

    def is_quick(self, line: str) -> bool:
        """Whether a line for the console asks nobody anything, and so is done at once."""
        name = (line.strip()[1:].split() or [""])[0]
        return name not in self.own or name in _QUICK or (name == "help" and bool(self.learner.known.commands))

    def run_own(self, line: str) -> str:
        """Do what a line that begins with a mark says; what is to be shown. Raises OwnFailed."""
        row, arguments = self._read(line)
        try:
            text = row.run(arguments)
        except Lost as lost:
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
        """The position may be another one."""
        self.stale = True
        self.learner.forget_position()
        self._see_match()

    def _see_match(self) -> None:
        if self.match:
            self.learner.see_match(self.match.bots(), self.match.plies())

    def restart(self, fresh: bool) -> int:
        """Restart the peer, in the position that it was in unless `fresh`; how many commands were sent again.

        Raises LaunchError, OwnFailed, Lost, PeerTimeout.
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
        """What the peer lists; asks it, and waits, if that is not known. () if it does not say. Raises Lost."""
        if not self.learner.known.commands and not self.dialogue.lost:
            reply = self.dialogue.ask(LIST, MOMENT)
            if reply.ok:
                self.learner.note_commands(reply)
        return self.learner.known.commands

    def _read(self, line: str) -> tuple[Own, list[str]]:
        try:
            name, *arguments = shlex.split(line.strip()[1:]) or [""]
        except ValueError as error:
            raise OwnFailed(f"this cannot be read: {str(error).lower()}") from None
        row = self.own.get(name)
        if row is None:
            close = nearest(name, self.own)
            raise OwnFailed(f"there is no :{name}; " + (f"did you mean :{close}?" if close else ":help lists them"))
        return row, arguments
