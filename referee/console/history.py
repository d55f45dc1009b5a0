"""What was typed in this session and those before: a bounded file of lines for its owner only."""

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from prompt_toolkit.history import History

LINES, BYTES = 2_000, 1024 * 1024  # of the file


class Lines(History):
    """The history of a prompt. Where the folder or the file cannot be written, it lasts as long as the session."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def load_history_strings(self) -> Iterable[str]:
        """The latest first; a file that has grown is made short again."""
        lines: list[str] = []
        with contextlib.suppress(OSError):
            with self._path.open("rb") as file:
                file.seek(max(0, self._path.stat().st_size - BYTES))
                lines = file.read(BYTES).decode("utf-8", "replace").splitlines()
            if len(lines) > LINES:
                lines = lines[-LINES:]
                self._rewrite(lines)
        return reversed([line for line in lines if line.isprintable()])

    def store_string(self, string: str) -> None:
        """Add a line; several consoles may do so at once."""
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "ab") as file:
                file.write(f"{string}\n".encode("utf-8", "replace"))

    def _rewrite(self, lines: list[str]) -> None:
        part = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write("".join(f"{line}\n" for line in lines).encode())
        part.replace(self._path)


def path_of_history(environment: Mapping[str, str]) -> Path:
    """`$XDG_STATE_HOME/ggp/console-history`; that is ~/.local/state if it is not set."""
    state = environment.get("XDG_STATE_HOME", "")
    folder = Path(state) if state.startswith("/") else Path(environment.get("HOME", "/")) / ".local" / "state"
    return folder / "ggp" / "console-history"
