"""Runs `ggp serve` for tests, alone or with dozens of bots, and checks its store afterwards.

The bots are plain pyzmq ones that log what they saw (`dialled_bots`), bots of the SDK that dial by themselves, and bots
on stdin that `ggp connect` connects.
"""

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable
from operator import attrgetter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ggp.protocol.records import Record, read_records
from ggp.protocol.transports.keys import KeyPair, new_pair, write_pair
from ggp.referee.ladder.store.model import GameRow
from ggp.referee.ladder.store.store import Store
from ggp.referee.match.clock import TimeControl
from ggp.referee.server.lobby.keys import Book, allow, change, now
from tests.support import ROOT
from tests.support.cli import Ggp, Ran, free_port, ggp, marked, wait_until
from tests.support.dialled_bots import THINK

FILE = """\
[lobby]
listen = "tcp://127.0.0.1:{port}"
keys = {keys}
engines = 1
pairing = 0.05
watch = "{watch}"
{lobby}

[pool.small]
game = "yugo,size=5"
control = "{control}"
{pool}
"""


def lobby_file(
    folder: Path,
    lobby: str = "",
    pool: str = "",
    control: str = "60+1",
    watch: str = "none",
    keys: bool = False,
    more: str = "",
) -> Path:
    """A lobby file on a free port; `lobby` and `pool` are more lines of its tables, `more` comes after them."""
    path, said = folder / "club.toml", "true" if keys else "false"
    text = FILE.format(port=free_port(), lobby=lobby, pool=pool, control=control, watch=watch, keys=said)
    path.write_text(f"{text}{more}", encoding="utf-8")
    return path


def key_files(folder: Path, **owners: str) -> dict[str, KeyPair]:
    """Write server.key, NAME.key for each of these bots, and a keys.json that allows them; the pairs by these names."""
    pairs, book = {name: new_pair() for name in ("server", *owners)}, Book()
    for name, pair in pairs.items():
        write_pair(folder / f"{name}.key", pair)
        if name != "server":
            book = allow(book, owners[name], name, pair.public, now())
    with change(folder / "keys.json") as write:
        write(book)
    return pairs


def that_count(rows: Iterable[GameRow]) -> list[GameRow]:
    """The stored games without the void attempts, by pair and game; each must be there once, after its attempts."""
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
    """A running lobby. `events` are those of its log so far."""

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
        """Wait for so many events of a kind with these values."""

        def found() -> list[dict[str, Any]]:
            return [one for one in self.events(kind) if fields.items() <= one.items()]

        wait_until(lambda: len(found()) >= count or self.process.poll() is not None, 600, self._seen)
        assert len(found()) >= count, self.lines[-20:]
        return found()

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        self.process.kill()
        self.process.wait()
        wait_until(lambda: not self.running(), seen=self._seen)

    def end(self) -> Ran:
        """End it with SIGTERM."""
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


SDK = """\
import random
from ggp.bots.rng import BotRng
from ggp.bots.random import make_choose
from ggp.bots.sdk import run

run(make_choose(BotRng(0)))
"""
CONTROL = "120+5"  # no bot that is away for less than the grace can lose on time
GRACE = 60


class LobbyWithBots:
    """`plain` in groups of one process each. `serve` begins; bots dial the `url` that `start_bots` is given. `more` are
    lines at the end of the lobby's file."""

    def __init__(
        self,
        folder: Path,
        host: str,
        plain: list[list[str]],
        sdk: list[str],
        connected: list[str],
        game: str = "yugo,size=5",
        drain: float = 20,
        think: float = 0.02,
        arrivals: int = 200,
        store: str = "",
        more: str = "",
    ) -> None:
        self.folder, self.servers = folder, list[LobbyProcess]()
        self._store = store or f"sqlite:///{folder}/club.db"
        self._groups = [*plain, *([name] for name in (*sdk, *connected))]
        self._think = think
        self._sdk, self._connected = set(sdk), set(connected)
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._died: list[str] = []  # bots that ended by themselves
        self.names = [name for group in self._groups for name in group]
        server = key_files(folder, **{name: f"owner-of-{name}" for name in self.names})["server"]
        (folder / "server.pub").write_text(server.public, encoding="utf-8")
        (folder / "sdk.py").write_text(SDK, encoding="utf-8")
        limits = f"grace = {GRACE}\nhello = 60\ndrain = {drain}\narrivals = {arrivals}"
        self._file = lobby_file(folder, limits, "openings = 2", CONTROL, keys=True, more=more)
        text = self._file.read_text(encoding="utf-8").replace("yugo,size=5", game).replace("127.0.0.1", host)
        self._file.write_text(f'store = "{self._store}"\n{text}', encoding="utf-8")

    @property
    def server(self) -> LobbyProcess:
        return self.servers[-1]

    def serve(self, *arguments: str) -> LobbyProcess:
        """Start it; a later start has the same port."""
        self.servers.append(LobbyProcess(self._file, *arguments))
        return self.server

    @property
    def port(self) -> int:
        return int(urlsplit(self.server.url).port or 0)

    def start_bots(self, *urls: str) -> None:
        """Each group dials one of these."""
        self._urls = urls
        for number in range(len(self._groups)):
            self._start(number)

    def kill_bots(self, number: int) -> None:
        """Kill one group, and start it again."""
        self._end(number)
        self._start(number)

    def close(self) -> None:
        for number in list(self._running):
            self._end(number)

    @property
    def groups(self) -> int:
        return len(self._groups)

    def _start(self, number: int) -> None:
        group, url = self._groups[number], self._urls[number % len(self._urls)]
        name, keys = group[0], (self.folder / "server.pub").read_text(encoding="utf-8")
        more = ["--key", str(self.folder / f"{name}.key"), "--server-key", keys, "--name", name]
        if name in self._sdk:
            words = [str(self.folder / "sdk.py"), "--connect", url, *more]
        elif name in self._connected:
            bot = ["--", sys.executable, "-m", "ggp.bots", "random"]
            words = ["-m", "ggp.referee.cli", "connect", url, *more, "--quiet", *bot]
        else:
            words = ["-m", "tests.support.dialled_bots", url, str(self.folder), *group]
        with (self.folder / f"{name}.err").open("ab") as errors:
            environment = {**os.environ, "PYTHONPATH": str(ROOT), THINK: str(self._think)}
            program = [sys.executable, *words]
            self._running[number] = subprocess.Popen(
                program, stdin=subprocess.PIPE, stdout=errors, stderr=errors, env=environment, start_new_session=True
            )

    def _end(self, number: int) -> None:
        process = self._running.pop(number)
        if process.poll() is not None:
            self._died.append(self._groups[number][0])
        process.kill()
        process.wait()
        if process.stdin:
            process.stdin.close()

    # -- checks ------------------------------------------------------------------------------------------------------

    def check(self) -> Counter[str]:
        """After the last server has ended: compare the store with the logs of the bots. Returns how games ended."""
        self.close()
        assert not self._died, f"{self._died} ended by themselves: see their .err"
        assert {one["bot"] for server in self.servers for one in server.events("joined")} >= set(self.names)
        told = [one["match"] for server in self.servers for one in server.events("game")]
        assert len(set(told)) == len(told), "a game was announced twice"
        with Store.open(self._store) as store:
            rows = list(store.records())
        records = {row.key: next(iter(read_records(lines.splitlines(keepends=True)))) for row, lines in rows}
        assert len(records) == len(rows)
        assert set(told) <= set(records), "a game was announced and is not stored"
        seats: dict[int, list[tuple[str, str]]] = {}
        for row in that_count(row for row, _ in rows):
            seats.setdefault(row.pair, []).append((row.first, row.second))
        for pair in seats.values():
            assert len(pair) == 1 or pair == [pair[1][::-1], pair[0][::-1]], "a pair is two games, seats exchanged"

        for row, _ in rows:
            _clocks_add_up(records[row.key])
        self._compare_with_what_bots_saw(list(records.values()))
        assert ggp("ladder", "check", str(self._file)).status == 0
        verified = ggp("verify", str(self._file), "--quiet", "--jobs", "2", seconds=600)
        assert verified.status == 0, verified.err
        return Counter(row.termination for row, _ in rows)

    def _compare_with_what_bots_saw(self, records: list[Record]) -> None:
        """Every move of a record was sent by its bot."""
        for name in self.names:
            if name in self._sdk | self._connected:
                continue
            seen = [
                json.loads(line) for line in (self.folder / f"{name}.seen").read_text(encoding="utf-8").splitlines()
            ]
            said = Counter(text.lower() for what, text in seen if what == "said")
            moves: Counter[str] = Counter()
            for record in records:
                seat = [bot.name for bot in record.start.bots].index(name) + 1 if name in _players(record) else 0
                plies = record.plies[len(record.start.opening) :]
                moves.update(ply.move.lower() for ply in plies if ply.seat == seat)
            assert not moves - said, f"{name} never said {moves - said}"


def _players(record: Record) -> list[str]:
    return [bot.name for bot in record.start.bots]


def _clocks_add_up(record: Record) -> None:
    """Each clock follows from its time control and the times used."""
    control = TimeControl.parse(record.start.control)
    clocks = (control.clock(), control.clock())
    for ply in record.plies[len(record.start.opening) :]:
        clock = clocks[ply.seat - 1]
        clock.spend(ply.ms)
        assert ply.left == clock.left, f"{record.start.match}: ply {ply.ply}"
