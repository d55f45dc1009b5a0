"""The lobby with a thousand bots that dial in: moves a second, what the way through it takes, memory of each.

What is measured is what the server adds to a move: from right before a bot's answer leaves to right after its
opponent's `genmove` has come, on one machine, through TCP on loopback, the lobby, its engine and the lobby again. The
bots are one C program (dialled.c) on the other core, which does next to nothing and tells its own share (`bots' own
time`). Server and engines have one core for all. Games are of about 50 plies on a 13x13 board and are stored, rated and
followed by spectators all the while; the first seconds, when all bots dial in at once, have separate rows.

What a ply takes of the processor is measured as a public server has it: bots with keys, and a hundred spectators, each
of which follows one match after another. There the lobby and the process that serves spectators have one core,
everything else, the engine too, the other. The same is measured of a relay, which only passes moves on (relay.py).
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import zmq
from zmq.utils import z85

from ggp.protocol.spectator_wire import Begun, Over, SpectatorState, read_published, request_topic, topic_of
from ggp.protocol.transports.keys import KeyPair, new_pair, write_pair
from ggp.referee.server.lobby.keys import Book, KeyEntry, change, now
from tests.bench.measure import Row, memory, pin, processor
from tests.bench.measure import build as build_program
from tests.support.dialled_bots import dial
from tests.support.lobby_server import LobbyProcess

RATES = (500, 2000)  # moves a second that are asked for
BOTS = 1000
_PATIENCE = 60.0  # seconds
_SPECTATORS = 100
_TOGETHER = 50  # bots that dial in at a time where bots are slow: a poll of ZeroMQ looks at every socket
_FILE = """\
[lobby]
listen = "tcp://127.0.0.1:*"
keys = {keys}
engines = 1
hello = 600
watch = "{watch}"
drain = 0
pairing = {pairing}
bots = 5000

[pool.small]
game = "yugo,size=13"
control = "600+10"
openings = 4
"""


def main(quick: bool = False) -> list[Row]:
    """Server and engines on one core, the bots on another, if there are two."""
    bots, seconds = (100, 3.0) if quick else (BOTS, 20.0)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        with_keys = build(Path(folder), keys=True)
        for rate in RATES:
            asked = rate * bots // BOTS
            rows += watched(Path(folder) / f"watched-{rate}", with_keys, bots, asked, seconds)
            rows += relayed(Path(folder) / f"relayed-{rate}", with_keys, bots, asked, seconds)
        for rate in RATES:
            rows += _playing(Path(folder) / str(rate), program, bots, rate * bots // BOTS, seconds)
        for keys in (False, True):
            each = idle(Path(folder) / f"keys-{keys}", bots, keys)
            rows.append((f"lobby: {bots} idle bots, keys {keys}: memory of the server each", each, "KiB"))
    return rows


def build(place: Path, keys: bool = False) -> Path:
    """Build the bots; with `keys` they need libsodium."""
    return build_program(place, "dialled.c", *(["-O2", "-lsodium"] if keys else ["-DNO_KEYS"]))


def play(
    program: Path,
    url: str,
    bots: int,
    rate: float,
    seconds: float,
    core: int | None = None,
    keys: Path | None = None,
    processes: Mapping[str, int] = {},
) -> dict[str, Any]:
    """Run bots that answer so many moves a second, on one core if it is given, and return the latencies they report.

    The processor time of each of `processes` is measured meanwhile, in microseconds a ply.
    """
    port = str(urlsplit(url).port)
    before = [] if core is None else ["taskset", "-c", str(core)]
    command = [*before, str(program), port, str(bots), str(rate), str(seconds), *([str(keys)] if keys else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as bots_process:
        assert bots_process.stdout
        bots_process.stdout.readline()  # it counts from now on
        began = {name: processor(pid) for name, pid in processes.items()}
        line = bots_process.stdout.readline()
        ended = {name: processor(pid) for name, pid in processes.items()}
    said: dict[str, Any] = json.loads(line)
    plies = said["moves"] * seconds
    return said | {name: (ended[name] - began[name]) / plies * 1e6 for name in processes}


def watched(folder: Path, program: Path, bots: int, rate: int, seconds: float) -> list[Row]:
    """A lobby with keys and spectators."""
    names = [f"bot-{number:04d}" for number in range(bots)]
    pairs = {name: new_pair() for name in names}
    with _serving(folder, 1, pairs, watch="tcp://0.0.0.0:*") as (server, server_key):
        keys = _keys_of_bots(folder, server_key, list(pairs.values()))
        (url,) = [one["url"] for one in server.wait_for("spectators", 1, word="open")]
        cores = sorted(os.sched_getaffinity(0))
        engine, spectators = server.pids("--bind")[0], server.pids("ggp.referee.server.lobby.spectators")[0]
        lobby = server.process.pid
        for pid in (lobby, spectators):
            pin(pid, cores[0])
        pin(engine, cores[-1])
        with Watching(url.replace("0.0.0.0", "127.0.0.1"), server_key, cores[-1]) as watching:
            processes = {"lobby": lobby, "engine": engine, "spectators": spectators}
            said = play(program, server.url, bots, rate, seconds, cores[-1], keys, processes)
        seen = watching.events / seconds
    name = f"lobby: {bots} bots with keys, {_SPECTATORS} spectators, {rate} moves/s"
    whose = {"lobby": "lobby", "spectators": "spectators' process", "engine": "engine"}
    return [
        *_figures(name, said),
        *((f"{name}: a ply, processor of the {what}", said[process], "µs") for process, what in whose.items()),
        (f"{name}: events that spectators saw", seen, "events/s"),
    ]


def _figures(name: str, said: Mapping[str, Any]) -> list[Row]:
    """Return the rows of what the bots measured."""
    ways = {"half": "p50", "90 %": "p90", "99 %": "p99"}
    return [
        (f"{name}: moves", said["moves"], "moves/s"),
        (f"{name}: bots' own time", said["busy"] * 100, "%"),
        *((f"{name}: a move's way, {share}", said[key], "ms") for share, key in ways.items()),
    ]


def relayed(folder: Path, program: Path, bots: int, rate: int, seconds: float) -> list[Row]:
    """A relay in the lobby's place."""
    folder.mkdir()
    own, cores = new_pair(), sorted(os.sched_getaffinity(0))
    keys = _keys_of_bots(folder, own.public, [new_pair() for _ in range(bots)])
    command = [sys.executable, "-m", "tests.bench.relay", own.secret, own.public]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as relay:
        try:
            assert relay.stdout
            url = relay.stdout.readline().strip()
            assert url, "the relay has ended"
            pin(relay.pid, cores[0])
            said = play(program, url, bots, rate, seconds, cores[-1], keys, {"relay": relay.pid})
        finally:
            relay.kill()
    name = f"relay: {bots} bots with keys, {rate} moves/s"
    return [*_figures(name, said), (f"{name}: a ply, processor of the relay", said["relay"], "µs")]


def _keys_of_bots(folder: Path, server_key: str, pairs: list[KeyPair]) -> Path:
    """The file of keys that the bots read."""
    keys = folder / "keys"
    theirs = (z85.decode(pair.public) + z85.decode(pair.secret) for pair in pairs)
    keys.write_bytes(z85.decode(server_key) + b"".join(theirs))
    return keys


class Watching:
    """Spectators in a thread on one core, each a connection with keys that follows one match after another. `events`:
    how many they have seen."""

    def __init__(self, url: str, server_key: str, core: int) -> None:
        self.events = 0
        self._url, self._key, self._core = url, server_key, core
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        # The threads of the context, too. Spectators are elsewhere: here they must not keep the bots waiting.
        os.sched_setaffinity(0, {self._core})
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        sockets = [self._connected(context) for _ in range(_SPECTATORS)]
        poller = zmq.Poller()
        for one in sockets:
            poller.register(one, zmq.POLLIN)
        sockets[0].subscribe(topic_of("ladder", ""))
        sockets[0].subscribe(request_topic("ladder", "", 0, "00"))
        followed: dict[bytes, zmq.Socket[bytes]] = {}
        free = list(sockets)
        while not self._done.is_set():
            for ready, _ in poller.poll(100):
                topic, payload = ready.recv_multipart()
                if topic.startswith(b"match/"):
                    self.events += 1
                    continue
                news, _ = read_published(payload)
                if isinstance(news, Over) and topic_of("match", news.head.match) in followed:
                    one = followed.pop(topic_of("match", news.head.match))
                    one.unsubscribe(topic_of("match", news.head.match))
                    free.append(one)
                begun = [news.head] if isinstance(news, Begun) else []
                begun += news.matches if isinstance(news, SpectatorState) else []
                for head in begun if free else ():
                    if free and topic_of("match", head.match) not in followed:
                        one = followed[topic_of("match", head.match)] = free.pop(0)
                        one.subscribe(topic_of("match", head.match))
        context.destroy(linger=0)

    def _connected(self, context: "zmq.Context[zmq.Socket[bytes]]") -> "zmq.Socket[bytes]":
        pair, one = new_pair(), context.socket(zmq.SUB)
        one.setsockopt(zmq.CURVE_SERVERKEY, self._key.encode())
        one.setsockopt(zmq.CURVE_PUBLICKEY, pair.public.encode())
        one.setsockopt(zmq.CURVE_SECRETKEY, pair.secret.encode())
        one.connect(self._url)
        return one


def idle(folder: Path, bots: int, keys: bool) -> float:
    """KiB of the server for each bot that is connected and has no opponent."""
    names = [f"bot-{number}" for number in range(bots)]
    pairs = {name: new_pair() for name in names} if keys else {}
    with _serving(folder, 3600, pairs) as (server, server_key):
        time.sleep(2)  # the first look at who is idle, which is the last
        before = memory(server.process.pid)
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        context.set(zmq.MAX_SOCKETS, bots + 100)
        for first in range(0, bots, _TOGETHER):
            poller = zmq.Poller()
            some = [
                dial(context, server.url, name, pair=pairs.get(name), server_key=server_key)
                for name in names[first : first + _TOGETHER]
            ]
            by_socket = {bot.socket: bot for bot in some}
            for bot in some:
                poller.register(bot.socket, zmq.POLLIN)
                bot.hello()
            until = time.monotonic() + _PATIENCE
            while len(server.events("joined")) < first + len(some) and time.monotonic() < until:
                for socket, _ in poller.poll(20):
                    by_socket[socket].step()
        server.wait_for("joined", bots)
        each = (memory(server.process.pid) - before) / bots
        context.destroy(linger=0)
    return each


def _playing(folder: Path, program: Path, bots: int, rate: int, seconds: float) -> list[Row]:
    with _serving(folder, 1, {}) as (server, _):
        before = memory(server.process.pid)
        said = _play_apart(program, server, bots, rate, seconds)
        each = (memory(server.process.pid) - before) / bots
    name = f"lobby: {bots} bots, {rate} moves/s"
    return [
        (f"{name}: all have dialled in after", said["joined"], "s"),
        (f"{name}: all play after", said["paired"], "s"),
        *_figures(name, said),
        (f"{name}: memory of the server each", each, "KiB"),
    ]


def _play_apart(program: Path, server: LobbyProcess, bots: int, rate: int, seconds: float) -> dict[str, Any]:
    """The server's processes on the first core, the bots on the last."""
    cores = sorted(os.sched_getaffinity(0))
    for pid in server.pids():
        pin(pid, cores[0])
    return play(program, server.url, bots, rate, seconds, cores[-1])


@contextlib.contextmanager
def _serving(
    folder: Path, pairing: float, pairs: Mapping[str, KeyPair], watch: str = "none"
) -> Iterator[tuple[LobbyProcess, str]]:
    """A lobby and its public key; `pairs` are the bots' keys, none if they need none."""
    folder.mkdir()
    own, when = new_pair(), now()
    write_pair(folder / "server.key", own)
    book = Book(
        tuple(KeyEntry(key=pair.public, owner=name, bots=(name,), created=when) for name, pair in pairs.items())
    )
    with change(folder / "keys.json") as write:
        write(book)
    file = folder / "club.toml"
    file.write_text(_FILE.format(keys=str(bool(pairs)).lower(), pairing=pairing, watch=watch), encoding="utf-8")
    server = LobbyProcess(file)
    try:
        yield server, own.public
    finally:
        server.end()  # not killed: that would leave the folder of its sockets behind
