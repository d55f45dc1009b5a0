"""A bot of `ggp connect` over a bad network: delayed, cut at random instants, half open."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggp.protocol.lobby_wire import Bye, Hello, LobbyAnswer
from tests.support.bad_network import LossyProxy
from tests.support.cli import Ggp
from tests.support.lobby_socket import PATIENCE, SmallLobby

pytestmark = pytest.mark.slow

ECHO = (
    "import sys\n"
    "for line in sys.stdin:\n"
    "    if 'die' in line: sys.exit(3)\n"
    "    head = '=' + (line.split()[0] if line[0].isdigit() else '')\n"
    "    print(head + ' ' + line.split()[-1] + '\\n', flush=True)\n"
)


class Connected:
    """A lobby, a proxy before it, and a bot that dials the proxy."""

    def __init__(self, folder: Path) -> None:
        (folder / "echo.py").write_text(ECHO, encoding="utf-8")
        self.lobby = SmallLobby()
        self.proxy = LossyProxy(("127.0.0.1", int(self.lobby.url.rpartition(":")[2])))
        self.ggp = Ggp("connect", self.proxy.url, "--name", "dot", "--", sys.executable, "-SE", str(folder / "echo.py"))

    def echo(self, word: str) -> None:
        """Ask, again after each hello, until this is answered; answers to what was asked before do not come."""
        give_up = time.monotonic() + PATIENCE
        self.lobby.say(f"echo {word}")
        while time.monotonic() < give_up:
            said = self.lobby.message(1.0)
            if isinstance(said, LobbyAnswer):
                assert said.data.decode().split() == ["=", word]
                return
            if isinstance(said, Hello):
                self.lobby.say(f"echo {word}")
        raise AssertionError(f"no answer to {word}")

    def close(self) -> None:
        self.ggp.process.kill()
        self.proxy.close()
        self.lobby.close()


@pytest.fixture
def connected(tmp_path: Path) -> Iterator[Connected]:
    made = Connected(tmp_path)
    yield made
    made.close()


def test_slow_network_decides_nothing(connected: Connected) -> None:
    connected.lobby.hello()
    connected.proxy.delay, connected.proxy.jitter = 0.05, 0.05
    began = time.monotonic()
    for number in range(5):
        connected.echo(f"n{number}")
    assert time.monotonic() - began >= 0.5, "the proxy did not delay"
    os.kill(connected.ggp.process.pid, signal.SIGTERM)
    assert connected.lobby.bye() == "leaving: its author ended it"
    connected.lobby.send(Bye("left: closed by client"))
    assert connected.ggp.wait().status == 0


def test_cut_connection_is_renewed(connected: Connected) -> None:
    session = connected.lobby.hello().session
    for number in range(3):
        connected.echo(f"n{number}")
        connected.proxy.cut()
        assert connected.lobby.hello().session == session != "", "the bot is the same one"
    connected.echo("end")
    assert connected.proxy.connections >= 4


def test_restarted_bot_has_another_session(connected: Connected) -> None:
    session = connected.lobby.hello().session
    connected.lobby.say("die")
    assert connected.lobby.hello().session not in ("", session)
    connected.echo("end")


@pytest.mark.long
def test_a_half_open_connection_is_noticed_by_heartbeats(connected: Connected) -> None:
    connected.lobby.hello()
    connected.echo("before")
    connected.proxy.stalled = True
    time.sleep(25)
    connected.proxy.stalled = False
    connected.lobby.hello()
    connected.echo("after")
