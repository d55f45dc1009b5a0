"""The part that all attackers share: it plays legally, and attacks once, in its opponent's turn.

    python attacker.py NAME PREY      NAME.py beside this file has `attack(prey)`; PREY is JSON in base64

NAME.py may have `before_move(prey)` as well, which is called before each move after the attack.

It plays Yugo: the button while it is free, then passes, so its moves do not depend on the attack. What the attack gets
is written to stderr, a line each: `zoo got WHAT` or `zoo refused WHAT: REASON`. Attacks are bounded in count and time,
because they run without a sandbox as well, to show that they are real. It needs the standard library alone.
"""

import base64
import ctypes
import importlib.util
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SECRET = re.compile(rb"zoo-secret-[0-9a-f]{16}")
COMMANDS = "genmove\nggp-new\nlist_commands\nname\nplay\nprotocol_version\nquit\nversion"


class Prey:
    """What may be attacked, as attributes: see `Arena.prey`. Also what attacks have in common."""

    def __init__(self, described: str) -> None:
        self.given: dict[str, Any] = json.loads(base64.b64decode(described))
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.mark: str = self.given["mark"]  # in the names of all that an attack makes

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


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(name: str, described: str) -> None:
    prey = Prey(described)
    module = load(name) if name != "none" else None
    when = getattr(module, "WHEN", "turn")
    again = getattr(module, "before_move", lambda prey: None)
    free, attacked = True, False
    for line in sys.stdin:
        words = line.split()
        number = words.pop(0) if words and words[0].isdigit() else ""
        text = ""
        if words[0] == "list_commands":
            text = COMMANDS
        elif words[0] == "protocol_version":
            text = "2"
        elif words[0] in ("name", "version"):
            text = getattr(module, "NAME", "attacker") if words[0] == "name" else "1"
        elif words[0] == "ggp-new":
            free = True
        elif words[0] == "play" and words[2].lower() == "button":
            free = False
        elif words[0] == "genmove":
            text, free = "button" if free else "pass", False
        if words[0] == "genmove" and attacked:
            again(prey)
        if module is not None and when == "quit" and words[0] == "quit":
            module.attack(prey)
        sys.stdout.write(f"={number} {text}\n\n")
        sys.stdout.flush()
        if module is not None and when == "turn" and words[0] == "genmove" and not attacked:
            attacked = True
            module.attack(prey)
            prey.tell("done")
        if words[0] == "quit":
            return


if __name__ == "__main__":
    main(*sys.argv[1:3])
