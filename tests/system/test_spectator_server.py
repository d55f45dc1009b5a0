"""Spectators of a running lobby see what its store has, whatever stops, dies or is lost on the way."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ggp.protocol.records import Event, MatchEnded, MatchStarted, MovePlayed, read_records
from ggp.protocol.spectator_wire import Begun
from ggp.protocol.transports.keys import new_pair, write_pair
from ggp.protocol.transports.spectator import (
    Connected,
    Disconnected,
    LadderNews,
    MatchEvent,
    MatchUnavailable,
    Spectator,
)
from ggp.protocol.transports.zmq import AccessRefused
from ggp.referee.ladder.store.store import Store
from tests.support import ROOT
from tests.support.cli import free_port
from tests.support.codes import raises
from tests.support.dialled_bots import DialledBots
from tests.support.lobby_server import LobbyProcess, lobby_file

pytestmark = pytest.mark.slow

THINK = 0.01
PATIENCE = 60.0


class WatchedLobby:
    """A lobby with spectators, and two bots that play in it."""

    def __init__(self, folder: Path, lobby: str = "", think: float = THINK, size: int = 5) -> None:
        self.folder = folder
        self.file = lobby_file(folder, lobby, watch=f"tcp://127.0.0.1:{free_port()}")
        self.file.write_text(self.file.read_text(encoding="utf-8").replace("size=5", f"size={size}"), encoding="utf-8")
        self.server = LobbyProcess(self.file)
        self.url = str(self.server.wait_for("spectators", word="open")[0]["url"])
        self.think = think
        self.bots = [DialledBots(self.server.url, "ann", "bob", think=think)]

    def restart(self) -> None:
        """After the server was killed: the same addresses, and the bots come back."""
        self.server = LobbyProcess(self.file)
        self.bots[-1].cut()
        self.bots.append(DialledBots(self.server.url, "ann", "bob", think=self.think))

    def spectator_server(self) -> int:
        """The process."""
        (pid,) = self.server.pids("ggp.referee.server.lobby.spectators")
        return pid

    def stored(self, key: str) -> list[Event]:
        """Every event of a match, as the store has it."""
        with Store.open(f"sqlite:///{self.folder}/club.db") as store:
            data = store.record(key)
        assert data is not None
        (record,) = read_records(data.splitlines(keepends=True))
        assert record.end is not None
        return [record.start, *record.plies, record.end]

    def close(self, output: bool = False) -> None:
        """`output`: the spectator process may have printed what is no report."""
        for bots in self.bots:
            bots.cut()
        if self.server.process.poll() is None:
            self.server.end()
        assert not self.server.running()
        assert output or not [one for one in self.server.events("spectators") if one["word"] == "output"]


@pytest.fixture
def club(tmp_path: Path) -> Iterator[WatchedLobby]:
    """Whose bots play on and on."""
    opened = WatchedLobby(tmp_path, "drain = 0")
    yield opened
    opened.close()


def begun(there: Spectator) -> str:
    """The name of the next match that begins."""
    there.follow_ladder()
    while True:
        update = there.read(PATIENCE)
        assert update is not None and not isinstance(update, Disconnected)
        if isinstance(update, LadderNews) and isinstance(update.news, Begun):
            return update.news.head.match


def followed(there: Spectator, ply: int) -> tuple[str, list[Event]]:
    """The name of a match that begins now, and its events up to that ply."""
    key = begun(there)
    there.follow(key)
    return key, _events(there, lambda found: len(found) > ply)


def rest(there: Spectator) -> list[Event]:
    """The events up to the end."""
    return _events(there, lambda found: bool(found) and isinstance(found[-1], MatchEnded))


def _events(there: Spectator, enough: Callable[[list[Event]], bool]) -> list[Event]:
    found: list[Event] = []
    until, passed = time.monotonic() + PATIENCE, list[object]()
    while not enough(found):
        assert time.monotonic() < until, (found[-1:], passed[-20:])
        update = there.read(1.0)
        if isinstance(update, MatchEvent):
            found.append(update.event)
        else:
            passed.append(update)
    return found


def test_who_comes_late_sees_what_the_store_has(club: WatchedLobby) -> None:
    with Spectator(club.url) as there, Spectator(club.url) as late:
        key, seen = followed(there, 6)
        assert list(late.match(key)) == seen + rest(there) == club.stored(key)
    with Spectator(club.url) as afterwards:
        assert list(afterwards.match(key)) == club.stored(key)
        with raises(MatchUnavailable, "unknown-match"):
            next(afterwards.match("nobody-knows"))


def test_a_killed_spectator_process_is_started_again_and_spectators_go_on(club: WatchedLobby) -> None:
    with Spectator(club.url) as there:
        key, seen = followed(there, 4)
        os.kill(club.spectator_server(), signal.SIGKILL)
        seen += rest(there)
        assert seen == club.stored(key)
        os.kill(club.spectator_server(), signal.SIGKILL)
        while not isinstance(there.read(PATIENCE), Connected):
            continue
        assert list(there.match(key)) == seen


@pytest.mark.long
def test_a_stopped_spectator_process_misses_nothing(club: WatchedLobby) -> None:
    with Spectator(club.url) as there:
        key, seen = followed(there, 4)
        os.kill(club.spectator_server(), signal.SIGSTOP)
        club.server.wait_for("game", match=key)
        os.kill(club.spectator_server(), signal.SIGCONT)
        assert seen + rest(there) == club.stored(key)


def test_a_killed_lobby_goes_on_with_the_same_match(club: WatchedLobby) -> None:
    with Spectator(club.url) as there:
        key, seen = followed(there, 8)
        assert club.spectator_server()
        club.server.kill()
        assert not club.server.pids("ggp.referee.server.lobby.spectators")
        club.restart()
        seen += rest(there)
    assert seen == club.stored(key)


STALLED = """
import sys
from ggp.protocol.transports.spectator import Spectator
with Spectator(sys.argv[1]) as there:
    for event in there.match(sys.argv[2]):
        print(event.seq, getattr(event, "move", ""), flush=True)
"""


@pytest.mark.long
def test_a_stalled_spectator_catches_up(club: WatchedLobby) -> None:
    with Spectator(club.url) as there:
        key, _ = followed(there, 4)
        stalled = subprocess.Popen(
            [sys.executable, "-c", STALLED, club.url, key], stdout=subprocess.PIPE, encoding="utf-8"
        )
        assert stalled.stdout and stalled.stdout.readline() == "0 \n"
        stalled.send_signal(signal.SIGSTOP)
        rest(there)
        stalled.send_signal(signal.SIGCONT)
        out = stalled.stdout.read()  # communicate() would drop what readline() has buffered
        assert stalled.wait(PATIENCE) == 0
    expected = [f"{event.seq} {getattr(event, 'move', '')}" for event in club.stored(key)]
    assert ["0 ", *out.splitlines()] == expected


@pytest.mark.long
def test_a_port_that_is_taken_is_reported_and_costs_no_match(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", free_port())) as taken:
        server = LobbyProcess(lobby_file(tmp_path, "drain = 0", watch=f"tcp://127.0.0.1:{taken.getsockname()[1]}"))
        (told,) = server.wait_for("spectators", word="cannot")
        assert "cannot listen" in told["reason"]
        bots = DialledBots(server.url, "ann", "bob")
        server.wait_for("game")
    server.wait_for("spectators", word="open")
    bots.cut()
    assert server.end().status == 0


def test_with_the_servers_key_all_spectators_are_admitted(tmp_path: Path) -> None:
    pair = new_pair()
    write_pair(tmp_path / "server.key", pair)
    file = lobby_file(tmp_path, "drain = 0", watch="tcp://0.0.0.0:*")
    server = LobbyProcess(file)
    port = urlsplit(server.wait_for("spectators", word="open")[0]["url"]).port
    with Spectator(f"tcp://127.0.0.1:{port}", pair.public) as there:
        there.follow_ladder()
        assert isinstance(there.read(PATIENCE), Connected) and isinstance(there.read(PATIENCE), LadderNews)
    # libzmq may or may not name the cause of the first failure: until it does, the connection is only down.
    with Spectator(f"tcp://127.0.0.1:{port}") as there, raises(AccessRefused, "keys-needed"):
        while True:
            assert isinstance(there.read(PATIENCE), Disconnected)
    assert server.end().status == 0


@pytest.mark.long
@pytest.mark.parametrize("how", ["questions", "topics"])
def test_a_flood_of_strangers_changes_no_match(tmp_path: Path, how: str) -> None:
    """Subscriptions and connections without an end, while bots play under a clock. What a flood of topics needs of
    memory ends the spectator process, which the lobby starts again."""
    club = WatchedLobby(tmp_path, "drain = 0", think=0.0)
    spectator_server = club.spectator_server()
    program = QUESTIONS if how == "questions" else TOPICS
    flood = subprocess.Popen([sys.executable, "-c", program, club.url, "20"], stdout=subprocess.PIPE, encoding="utf-8")
    try:
        assert flood.wait(PATIENCE) == 0
        club.server.wait_for("game", len(club.server.events("game")) + 1)
        games = club.server.events("game")
        assert {one["word"] for one in games} == {"rules"}
        if how == "questions":
            assert club.spectator_server() == spectator_server
            assert "flood" in {one["word"] for one in club.server.events("spectator")}
        with Spectator(club.url) as there:
            for key in (str(games[0]["match"]), str(games[-1]["match"])):
                assert list(there.match(key)) == club.stored(key)
    finally:
        flood.kill()
        flood.wait()
        club.close(output=how == "topics")


QUESTIONS = """
import secrets, socket, sys, time, zmq
url, until = sys.argv[1], time.monotonic() + float(sys.argv[2])
context = zmq.Context()
host, port = url.removeprefix("tcp://").split(":")
def stranger():
    there = context.socket(zmq.XSUB)
    there.setsockopt(zmq.LINGER, 0)
    there.setsockopt(zmq.SNDTIMEO, 50)
    there.connect(url)
    return there
there = [stranger() for _ in range(20)]
raw = []
while time.monotonic() < until:
    for one in there:
        try:
            for _ in range(40):
                one.send(b"\\1catch-up/match/none/0/" + secrets.token_hex(8).encode())
            one.send(b"\\1" + secrets.token_bytes(900))
        except zmq.Again:
            pass
    raw = raw[-50:] + [socket.create_connection((host, int(port))) for _ in range(5)]
    raw[-1].sendall(secrets.token_bytes(500))
    time.sleep(0.01)
"""

TOPICS = """
import secrets, socket, sys, time
url, until = sys.argv[1], time.monotonic() + float(sys.argv[2])
host, port = url.removeprefix("tcp://").split(":")
greeting = b"\\xff" + bytes(8) + b"\\x7f\\x03\\0NULL" + bytes(48)
ready = b"\\x04\\x19\\x05READY\\x0bSocket-Type\\0\\0\\0\\x03SUB"
def stranger():
    there = socket.create_connection((host, int(port)), timeout=60)
    there.sendall(greeting + ready)
    answer = b""
    while not answer.endswith(b"XPUB"):
        if not (answer := answer + there.recv(1000)):
            raise ConnectionError
    there.setblocking(False)
    return there
there = [None] * 200
while time.monotonic() < until:
    for number, one in enumerate(there):
        topics, kinds = [secrets.token_bytes(200) for _ in range(50)], (b"\\1", b"\\0")[: 1 + number % 2]
        try:
            if one is None:
                one = there[number] = stranger()
            one.send(b"".join(b"\\0\\xc9" + kind + topic for topic in topics for kind in kinds))
        except BlockingIOError:
            pass
        except OSError:
            there[number] = None
"""


PAGE = ROOT / "docs" / "how-to" / "watch-a-server.md"


def test_the_program_of_the_page_sees_what_the_store_has(club: WatchedLobby) -> None:
    (program,) = [
        code
        for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
        if "import zmq" in code
    ]
    assert "protocol" not in program and "referee" not in program

    def run(key: str) -> "subprocess.Popen[str]":
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [sys.executable, "-c", program, club.url, key], stdout=pipe, stderr=pipe, encoding="utf-8"
        )

    with Spectator(club.url) as there:
        key = begun(there)
    out, err = run(key).communicate(timeout=PATIENCE)
    expected = []
    for event in club.stored(key):
        name = {MatchStarted: "start", MovePlayed: "ply", MatchEnded: "end"}[type(event)]
        expected.append(f"{name} {event.seq} {getattr(event, 'move', getattr(event, 'result', ''))}")
    assert out.splitlines() == expected and not err
    unknown = run("nobody-knows")
    assert unknown.communicate(timeout=PATIENCE)[1] == "the lobby does not know nobody-knows\n"
    assert unknown.returncode == 1
