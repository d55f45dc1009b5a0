"""What was typed in this session and those before: a bounded file of lines for its owner only."""

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from prompt_toolkit.history import History

from protocol.safe_files import open_to_append, replace_file

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
            with os.fdopen(open_to_append(self._path, 0o600), "ab") as file:
                file.write(f"{string}\n".encode("utf-8", "replace"))

    def _rewrite(self, lines: list[str]) -> None:
        replace_file(self._path, "".join(f"{line}\n" for line in lines).encode(), 0o600)


def path_of_history(environment: Mapping[str, str]) -> Path:
    """`$XDG_STATE_HOME/ggp/console-history`; that is ~/.local/state if it is not set."""
    state = environment.get("XDG_STATE_HOME", "")
    folder = Path(state) if state.startswith("/") else Path(environment.get("HOME", "/")) / ".local" / "state"
    return folder / "ggp" / "console-history"
