"""A lobby with keys and otherwise default settings under floods of connections from one address, the bots' own.

Bots that are there play on, honest ones get in, keys are checked, and what the floods took is given back. Prints what
was measured; that is not asserted where a busy machine decides it.
"""

import statistics
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq

from ggp.protocol.transports.keys import KeyPair, new_pair, write_pair
from ggp.referee.server.lobby.keys import Book, allow, change, now
from tests.bench.measure import memory
from tests.support.cli import ggp
from tests.support.dialled_bots import Dialled, dial
from tests.support.lobby_server import LobbyProcess, lobby_file
from tests.support.raw_zmtp import MORE, Flooding, Raw, frame

pytestmark = pytest.mark.slow

FILE = """\
[lobby]
listen = "tcp://127.0.0.1:*"
watch = "none"
drain = 0
rest = 0
{more}

[pool.small]
game = "yugo,size=9"
control = "600+10"

[pool.other]
game = "go,size=9"
control = "600+10"
"""
SILENCE = 10.0  # seconds: lobby.hello, where a connection has to say who it is
MOST = 200 * 1024  # KiB that a flood may cost
PATIENCE = 60.0  # seconds
MOST_SENT = 4 << 30  # bytes of one message
MOST_GROWN = 1024 * 1024  # KiB by which it may make the lobby grow: a busy machine looks late
AGAIN = 20.0  # seconds until a bot without an answer dials again, as real ones do


class Bystanders(threading.Thread):
    """Bots that play. `ways`: when a move left, and seconds from then until its opponent was asked for the next one."""

    def __init__(self, url: str, server_key: str, pairs: dict[str, KeyPair], game: str) -> None:
        super().__init__(daemon=True)
        self._url, self._server_key, self._pairs, self._game = url, server_key, pairs, game
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.context.set(zmq.MAX_SOCKETS, len(pairs) + 100)
        self.bots = {name: self._dial(name) for name in pairs}
        self.ways: list[tuple[float, float]] = []
        self.ended = threading.Event()
        self._moved = 0.0  # when the last move left; 0: it was followed
        self._heard: set[zmq.Socket[bytes]] = set()

    def run(self) -> None:
        poller, by_socket = zmq.Poller(), dict[zmq.Socket[bytes], Dialled]()
        said = 0.0
        while not self.ended.is_set():
            if time.monotonic() > said + AGAIN:  # dial again without an answer
                said = time.monotonic()
                for name, bot in self.bots.items():
                    if bot.socket in self._heard:
                        continue
                    if by_socket.pop(bot.socket, None):
                        poller.unregister(bot.socket)
                        bot.socket.close(linger=0)
                        self.bots[name] = bot = self._dial(name)
                    by_socket[bot.socket] = bot
                    poller.register(bot.socket, zmq.POLLIN)
                    bot.hello([self._game])
            for socket, _ in poller.poll(50):
                self._heard.add(socket)
                self._step(by_socket[socket])
        self.context.destroy(linger=0)

    def _dial(self, name: str) -> Dialled:
        return dial(self.context, self._url, name, pair=self._pairs[name], server_key=self._server_key)

    def _step(self, bot: Dialled) -> None:
        came = time.monotonic()
        kind, payload = bot.socket.recv_multipart()
        asked = kind == b"C" and b"genmove" in payload
        if asked and self._moved:
            self.ways.append((self._moved, came - self._moved))
            self._moved = 0.0
        if kind == b"B":
            bot.byes.append(payload.decode())
        elif kind == b"C":
            bot.responder.receive(payload)
            while (answer := bot.responder.next_answer()) is not None:
                if asked and b"pass" not in answer:
                    self._moved = time.monotonic()
                bot.socket.send_multipart([b"R", answer])


class FloodedLobby:
    """A lobby with keys for these bots, a hundred for each owner."""

    def __init__(self, folder: Path, *names: str, more: str = "") -> None:
        folder.mkdir(exist_ok=True)
        own, book = new_pair(), Book()
        self.public, self.registry = own.public, folder / "keys.json"
        self.pairs = {name: new_pair() for name in names}
        write_pair(folder / "server.key", own)
        for number, (name, pair) in enumerate(self.pairs.items()):
            book = allow(
                book, f"owner-{name}" if len(names) <= 10 else f"owner-{number // 100}", name, pair.public, now()
            )
        with change(self.registry) as write:
            write(book)
        file = folder / "club.toml"
        file.write_text(FILE.format(more=more), encoding="utf-8")
        self.server = LobbyProcess(file, "--metrics", "127.0.0.1:0")

    def bots(self, *names: str, game: str = "yugo") -> Bystanders:
        bots = Bystanders(self.server.url, self.public, {name: self.pairs[name] for name in names}, game)
        bots.start()
        return bots

    def revoke(self, name: str, bots: Bystanders) -> float:
        """Revoke a key; returns the seconds until the bot got the reason and its connection was ended."""
        assert ggp("keys", "revoke", self.pairs[name].public, "--registry", str(self.registry)).status == 0
        took = _wait(lambda: bool(bots.bots[name].byes), "the end of a revoked key's connection")
        assert "revoked" in bots.bots[name].byes[0]
        return took

    def memory(self) -> int:
        """KiB."""
        return memory(self.server.process.pid)

    def open(self) -> int:
        """Descriptors."""
        return len(list(Path(f"/proc/{self.server.process.pid}/fd").iterdir()))

    def refused(self) -> set[str]:
        return {str(one.get("word")) for one in self.server.events("refused")}


@pytest.fixture
def running() -> Iterator[list[Bystanders]]:
    """Bots to be ended after the test."""
    started: list[Bystanders] = []
    yield started
    for one in started:
        one.ended.set()
        one.join(30)


def _wait(done: object, what: str, seconds: float = PATIENCE) -> float:
    """How long it took."""
    assert callable(done)
    began = time.monotonic()
    while not done():
        assert time.monotonic() < began + seconds, f"{what}: not in {seconds:g} s"
        time.sleep(0.02)
    return time.monotonic() - began


def _ways(bots: Bystanders, since: float) -> str:
    ways = sorted(way * 1000 for left, way in bots.ways if left >= since)
    if len(ways) < 20:
        return f"{len(ways)} moves"
    p99 = statistics.quantiles(ways, n=100)[98]
    return f"{len(ways)} moves, half in {statistics.median(ways):.1f} ms, 99 % in {p99:.1f} ms"


def test_floods_of_connections_stop_no_other_bot(tmp_path: Path, running: list[Bystanders]) -> None:
    lobby = FloodedLobby(tmp_path, "ann", "bob", "eve", "late")
    server = lobby.server
    players = lobby.bots("ann", "bob", "eve")
    running.append(players)
    server.wait_for("joined", 3)
    _wait(lambda: len(players.ways) > 50, "a match")
    began = time.monotonic()
    time.sleep(5)
    kib, descriptors = lobby.memory(), lobby.open()
    print(f"\nbefore: {_ways(players, began)}; {kib / 1024:.0f} MiB, {descriptors} descriptors")
    for joined, kind in enumerate(("silent", "slowloris", "half", "churn"), 4):
        began, most, opened = time.monotonic(), 0, 0
        flood = Flooding(server.url, kind, 2 * SILENCE if kind == "silent" else SILENCE / 2)
        newcomer: Bystanders | None = None
        revoked = ""
        while flood.running:
            most, opened = max(most, lobby.memory()), max(opened, lobby.open())
            if newcomer is None and time.monotonic() > began + 1:
                newcomer = lobby.bots("late", game="go")  # it has no opponent
                running.append(newcomer)
            if kind == "silent" and not revoked and time.monotonic() > began + SILENCE:
                revoked = f"; a revoked bot was dismissed {lobby.revoke('eve', players):.1f} s after the command"
            time.sleep(0.1)
        said = flood.end()
        assert newcomer is not None
        server.wait_for("joined", joined)
        newcomer.ended.set()
        newcomer.join(30)
        print(
            f"{kind}: {said['made']} connections, {said['ended']} of them ended by the lobby; {_ways(players, began)}; "
            f"at most {most / 1024:.0f} MiB, {opened} descriptors{revoked}"
        )
        assert most - kib < MOST
    moves = len(players.ways)
    _wait(lambda: len(players.ways) > moves + 20, "moves after the floods")
    _wait(lambda: lobby.open() <= descriptors + 10, "descriptors are given back")
    print(f"after: {lobby.memory() / 1024:.0f} MiB, {lobby.open()} descriptors")
    took = lobby.revoke("bob", players)
    print(f"a key revoked after the floods: its bot was let go {took:.1f} s after the command")
    assert "address" in lobby.refused()  # who is silent may be ended by ZeroMQ's own handshake time-out, also 10 s
    assert not server.events("fault", "store")
    assert {one["bot"] for one in server.events("gone", "replaced")} <= {"bob", "eve", "late"}
    assert {one["word"] for one in server.events("game")} <= {"rules", "disconnected"}
    assert server.end().status == 0


def test_a_thousand_bots_of_one_address_connect_at_once(tmp_path: Path, running: list[Bystanders]) -> None:
    names = [f"bot-{number}" for number in range(1000)]
    lobby = FloodedLobby(
        tmp_path, *names, more="pairing = 3600"
    )  # this process could not play for so many, and let others in
    began = time.monotonic()
    bots = lobby.bots(*names)
    running.append(bots)
    lobby.server.wait_for("joined", 1000)
    print(f"\n1,000 bots were in after {time.monotonic() - began:.1f} s; {lobby.memory() / 1024:.0f} MiB")
    assert {str(one["bot"]) for one in lobby.server.events("joined")} == set(names)
    # Not among the limits: a machine so busy that a handshake or a hello took too long, or a bot did not read.
    limits = {"address", "full", "flood", "connections", "handshake", "stuffed", "key"}
    assert not lobby.refused() & limits
    assert not lobby.server.events("fault")
    assert lobby.server.end().status == 0


@pytest.mark.parametrize("senders", [1, 20])
def test_a_message_without_an_end_is_cut_before_it_takes_much_memory(senders: int, tmp_path: Path) -> None:
    server = LobbyProcess(lobby_file(tmp_path))
    pid, part = server.process.pid, frame(b"x" * 1000, MORE) * 1000
    before = _peak(pid)
    sent = [0] * senders

    def send(number: int) -> None:
        with Raw(server.url) as eve:
            eve.shake_hands()
            while sent[number] < MOST_SENT and eve.send(part):
                sent[number] += len(part)

    threads = [threading.Thread(target=send, args=(number,)) for number in range(senders)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    grown = _peak(pid) - before
    print(f"\n{senders} senders: {max(sent) >> 20} MiB left at most, the server grew by {grown >> 10} MiB")
    assert max(sent) < MOST_SENT
    assert grown < MOST_GROWN
    _wait(lambda: {"stuffed"} <= {str(one.get("word")) for one in server.events("refused")}, "the log")
    assert not server.events("fault")
    assert server.end().status == 0


def _peak(pid: int) -> int:
    """KiB of memory that a process had at most."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
