"""What attackers share: the register of attacks, and what may be attacked. It needs the standard library alone.

What an attack gets is written to stderr, a line each: `zoo got WHAT` or `zoo refused WHAT: REASON`. Attacks are bounded
in count and time, because they run without a sandbox as well, to show that they are real.
"""

import base64
import ctypes
import json
import os
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

SECRET = re.compile(rb"zoo-secret-[0-9a-f]{16}")
NOT_ALLOWED = (1, 13, 38)  # EPERM, EACCES, ENOSYS


class Prey:
    """What may be attacked, as attributes: see `ArenaTarget.described`. Also what attacks have in common."""

    def __init__(self, described: str) -> None:
        self.given: dict[str, Any] = json.loads(base64.b64decode(described))
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.mark: str = self.given["mark"]  # in the names of all that an attack makes
        self.before_move: Callable[[], None] = lambda: None  # called before each move after the attack

    def __getattr__(self, name: str) -> Any:
        return self.given[name]

    @property
    def scratch(self) -> Path:
        """Where it may write."""
        return Path(tempfile.gettempdir())

    def attempt(self, what: str, action: Callable[..., object], *arguments: Any) -> bool:
        """Try it; errors, and values that are false but not None, count as refused. Whether it succeeded."""
        try:
            got = action(*arguments)
        except (OSError, EOFError, RuntimeError, MemoryError, ValueError) as error:
            self.tell(f"refused {what}: {error}")
            return False
        succeeded = got is None or bool(got)
        self.tell(f"got {what}" if succeeded else f"refused {what}: nothing came of it")
        return succeeded

    def tell(self, text: str) -> None:
        os.write(2, f"zoo {text}\n".encode("utf-8", "backslashreplace"))

    def call(self, name: str, *arguments: object) -> int:
        """A function of the C library. Raises OSError where it answers -1."""
        answer: int = getattr(self.libc, name)(*arguments)
        if answer == -1:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return answer

    def system_call(self, x86: int, arm: int, *arguments: object) -> int:
        """One that the C library has no function for, by its numbers on x86-64 and aarch64."""
        return self.call("syscall", x86 if os.uname().machine == "x86_64" else arm, *arguments)

    def listens(self, x86: int, arm: int) -> bool:
        """Return True if the kernel looks at the arguments, which are wrong, and does not forbid the call."""
        pid = os.fork()
        if not pid:
            try:
                self.system_call(x86, arm, -1, None, -1, -1, -1)
            except OSError as error:
                os._exit(error.errno in NOT_ALLOWED)
            os._exit(0)
        return os.waitpid(pid, 0)[1] == 0

    def is_secret(self, data: bytes) -> bool:
        return SECRET.search(data) is not None

    def children(self, number: int, action: Callable[[], object], seconds: float = 3.0) -> list[int]:
        """Start so many that each do this and then wait, at most so long. Raises OSError where one is refused."""
        started = []
        for _ in range(number):
            pid = os.fork()
            if not pid:
                end = time.monotonic() + seconds
                try:
                    action()
                    while time.monotonic() < end:
                        time.sleep(0.05)
                finally:
                    os._exit(0)
            started.append(pid)
        return started

    def as_many(self, most: int, make: Callable[[], Any]) -> list[Any]:
        """Make so many, or as many as it is given."""
        made: list[Any] = []
        try:
            while len(made) < most:
                made.append(make())
        except OSError as error:
            self.tell(f"refused number {len(made) + 1}: {error}")
        return made

    def together(self, number: int, action: Callable[[], int], seconds: float) -> int:
        """Let so many children do this and then wait, at most so long; the sum of what they say they did."""
        read, write = os.pipe()
        started = self.as_many(
            number, lambda: self.children(1, lambda: os.write(write, b"%d\n" % action()), seconds)[0]
        )
        os.close(write)
        said = b""
        while said.count(b"\n") < len(started) and (more := os.read(read, 1 << 12)):
            said += more
        os.close(read)
        return sum(map(int, said.split()))

    def reap(self, started: list[int]) -> None:
        for pid in started:
            os.kill(pid, 9)
            os.waitpid(pid, 0)

    def siblings(self) -> list[int]:
        """The other processes of its parent, if that is the referee: its opponent and the engine."""
        parent = os.getppid()
        if parent != self.referee:
            return []
        words = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="utf-8").split()
        return [int(word) for word in words if int(word) not in (os.getpid(), self.victim)]


class Attack(NamedTuple):
    """An attack on a property of the sandbox, and what stops it at each level: "nothing" if it succeeds there."""

    run: Callable[[Prey], None]
    kept: str
    default: str
    none: str
    strict: str
    time: str  # of the match, as a control
    at_quit: bool  # attack at the end instead of in the opponent's first turn
    bot: str  # the name that it gives

    @property
    def stops(self) -> dict[str, str]:
        """What stops it, by level."""
        return {"none": self.none, "default": self.default, "strict": self.strict}


ATTACKS: dict[str, Attack] = {}


def attack(
    kept: str,
    default: str,
    *,
    none: str = "nothing",
    strict: str = "the same",
    time: str = "100",
    at_quit: bool = False,
    bot: str = "attacker",
) -> Callable[[Callable[[Prey], None]], Callable[[Prey], None]]:
    """Register the function as the attack of its name."""

    def register(run: Callable[[Prey], None]) -> Callable[[Prey], None]:
        ATTACKS[run.__name__] = Attack(run, kept, default, none, strict, time, at_quit, bot)
        return run

    return register
