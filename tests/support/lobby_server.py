"""Runs `ggp serve` for tests: its address, what it says, and the store afterwards."""

import json
import threading
from collections.abc import Iterable
from operator import attrgetter
from pathlib import Path
from typing import Any

from referee.store.model import GameRow
from tests.support.cli import Ggp, Ran, marked, wait_until

FILE = """\
[lobby]
listen = "tcp://127.0.0.1:*"
keys = false
engines = 1
pairing = 0.05
watch = "{watch}"
{lobby}

[pool.small]
game = "yugo,size=5"
control = "{control}"
{pool}
"""


def lobby_file(folder: Path, lobby: str = "", pool: str = "", control: str = "60+1", watch: str = "none") -> Path:
    """A lobby file on a free port, without keys; `lobby` and `pool` are more lines of its tables. Nobody looks on."""
    path = folder / "club.toml"
    path.write_text(FILE.format(lobby=lobby, pool=pool, control=control, watch=watch))
    return path


def that_count(rows: Iterable[GameRow]) -> list[GameRow]:
    """What is stored without the void attempts, in the order of pairs and games; each is there once, after these."""
    attempts: dict[tuple[str, int, int], list[GameRow]] = {}
    for row in rows:
        attempts.setdefault((row.pool, row.pair, row.game), []).append(row)
    found = []
    for game, tried in sorted(attempts.items()):
        tried.sort(key=attrgetter("attempt"))
        assert [row.attempt for row in tried] == list(range(len(tried))), f"{game}: {[row.key for row in tried]}"
        *before, last = tried
        assert all(map(_void, before)), f"{game} counts and was played again: {[row.key for row in tried]}"
        found.extend([] if _void(last) else [last])
    return found


def _void(row: GameRow) -> bool:
    return not row.result and row.termination != "ply_limit"


class LobbyProcess(Ggp):
    """A running lobby. `events` is what it has said so far."""

    def __init__(self, file: Path, *arguments: str) -> None:
        super().__init__("serve", str(file), "--json-logs", *arguments)
        self.lines: list[str] = []
        self._events: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        wait_until(lambda: bool(self.events("open")) or self.process.poll() is not None, seen=self._seen)
        assert self.events("open"), self.lines
        self.url = str(self.events("open")[0]["url"])

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """All, or those of these kinds."""
        return [one for one in list(self._events) if not kinds or one["event"] in kinds]

    def wait_for(self, kind: str, count: int = 1, **fields: str) -> list[dict[str, Any]]:
        """So many events of a kind with these values."""

        def found() -> list[dict[str, Any]]:
            return [one for one in self.events(kind) if fields.items() <= one.items()]

        wait_until(lambda: len(found()) >= count or self.process.poll() is not None, 600, self._seen)
        assert len(found()) >= count, self.lines[-20:]
        return found()

    def kill(self) -> None:
        """As power would."""
        self.process.kill()
        self.process.wait()
        wait_until(lambda: not self.running(), seen=self._seen)

    def end(self) -> Ran:
        """In good order."""
        self.process.terminate()
        wait_until(lambda: self.process.poll() is not None, 120, self._seen)
        self._reader.join(10)
        wait_until(lambda: not self.running(), seen=self._seen)
        return Ran(self.process.returncode, "", "\n".join(self.lines))

    def pids(self, *words: str) -> list[int]:
        """Its processes with these words in their command lines."""
        return [pid for pid, line in marked(self.mark).items() if set(words) <= set(line)]

    def _seen(self) -> tuple[list[str], list[str]]:
        return self.running(), self.lines[-20:]

    def _read(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))
            if line.startswith("{") and line.endswith("}\n"):  # a killed server may leave half a line
                self._events.append(json.loads(line))
