"""Bots that dial a lobby by themselves: those of the SDK, and the example that uses none of our code."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggp.protocol.lobby_wire import Bye, Hello
from ggp.protocol.transports.keys import KeyPair, new_pair, write_pair
from tests.support import ROOT
from tests.support.lobby_socket import SmallLobby

EXAMPLE = ROOT / "bots" / "examples" / "dialling_bot.py"
SCRIPT = """
from ggp.bots.sdk import run
run(lambda position: position.legal_moves()[0], name="first", games=("yugo",))
"""
TALKING = """
import logging, sys, time
from ggp.bots.sdk import run
logging.basicConfig(format="%(message)s")
def choose(position):
    print("I think", end=" ")
    print("of", file=sys.stderr)
    logging.warning("corners")
    if len(position.plies) > 0:
        time.sleep(600)
    return position.legal_moves()[0]
run(choose, name="talker", games=("yugo",))
"""
MINE, SERVER = new_pair(), new_pair()


class BotsOut:
    """Starts processes, and ends them with the test."""

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[str]] = []

    def start(self, *words: str, **environment: str) -> "subprocess.Popen[str]":
        running = subprocess.Popen(
            [sys.executable, *words], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8",
            env={**os.environ, **environment},
        )  # fmt: skip
        self._running.append(running)
        return running

    def end(self) -> None:
        for running in self._running:
            running.kill()
            running.communicate()


@pytest.fixture
def bots() -> Iterator[BotsOut]:
    started = BotsOut()
    yield started
    started.end()


def plays(lobby: SmallLobby) -> None:
    assert lobby.ask("1 ggp-new yugo size=4") == "=1"
    assert lobby.ask("2 genmove black") == "=2 A1"
    assert lobby.ask("nonsense") == "? unknown command"


@pytest.mark.slow
def test_a_bot_of_the_sdk_dials_by_itself_and_again(bots: BotsOut) -> None:
    with SmallLobby() as lobby:
        url = lobby.url
        bot = bots.start("-c", SCRIPT, "--connect", url, "--name", "dot", "--no-challenges")
        hello = lobby.hello()
        assert hello == Hello("dot", ("yugo",), hello.session, challenges=False) and len(hello.session) == 16
        plays(lobby)
    with SmallLobby(url=url) as lobby:
        assert lobby.hello() == hello, "a process that comes back says that it is the same one"
        assert lobby.ask("genmove white") == "? no game: use ggp-new"
        plays(lobby)
        assert lobby.ask("quit") == "="
        assert lobby.bye() == "it received quit"
        assert bot.wait(60) == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_it_prints_and_logs_is_heard_and_the_second_signal_ends_it_while_it_thinks(
    bots: BotsOut, number: signal.Signals
) -> None:
    with SmallLobby() as lobby:
        bot = bots.start("-c", TALKING, "--connect", lobby.url)
        lobby.hello()
        assert lobby.ask("ggp-new yugo size=4") == "="
        assert lobby.ask("genmove black") == "= A1"
        assert lobby.stderr == ["I think of", "corners"], "what was said before an answer comes before it"
        lobby.say("genmove white")
        assert bot.stderr is not None
        for _ in range(5):  # connected, and twice what it says: now it thinks
            bot.stderr.readline()
        bot.send_signal(number)
        assert "send the signal again to exit now" in bot.stderr.readline()
        bot.send_signal(number)
        assert lobby.bye() == "its author ended it"
        assert bot.wait(60) == (0 if number == signal.SIGTERM else 130)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_lets_the_game_end(bots: BotsOut, number: signal.Signals) -> None:
    with SmallLobby() as lobby:
        bot = bots.start("-c", SCRIPT, "--connect", lobby.url)
        lobby.hello()
        plays(lobby)
        bot.send_signal(number)
        assert lobby.bye() == "leaving: its author ended it"
        assert lobby.ask("play white B1") == "=" and lobby.ask("genmove black") == "= A2"
        lobby.send(Bye("left: closed by client"))
        assert bot.wait(60) == (0 if number == signal.SIGTERM else 130)


@pytest.mark.slow
def test_a_bot_that_the_lobby_refuses_ends_and_says_why(bots: BotsOut) -> None:
    with SmallLobby() as lobby:
        bot = bots.start("-c", SCRIPT, "--connect", lobby.url)
        lobby.hello()
        lobby.send(Bye("refused: first is a bot of the lobby's own: choose another name"))
        _, err = bot.communicate(timeout=60)
        assert bot.returncode == 2 and "first is a bot of the lobby's own: choose another name" in err


@pytest.mark.slow
def test_keys_from_the_environment(bots: BotsOut, tmp_path: Path) -> None:
    write_pair(tmp_path / "ggp.key", MINE)
    with SmallLobby(SERVER) as lobby:
        words = {"GGP_CONNECT": lobby.url, "GGP_KEY": str(tmp_path / "ggp.key"), "GGP_SERVER_KEY": SERVER.public}
        bot = bots.start("-c", SCRIPT, **words)
        assert lobby.hello().name == "first"
        plays(lobby)
        lobby.send(Bye("replaced: by another"))
        assert bot.wait(60) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--connect", "tcp://10.1.1.1:5500"], "give --key FILE and --server-key"),
        (["--connect", "here"], "write tcp://host:port"),
        (["--connect"], "needs an address"),
        (["--connect="], "needs an address"),
        (["--connect=here"], "write tcp://host:port"),
        (["--connect", "tcp://127.0.0.1:1", "--key", "none.key"], "none.key does not exist"),
    ],
)
def test_what_is_wrong_is_one_line(bots: BotsOut, words: list[str], said: str) -> None:
    bot = bots.start("-c", SCRIPT, *words)
    _, err = bot.communicate(timeout=60)
    assert bot.returncode in (1, 2) and len(err.splitlines()) == 1 and said in err


@pytest.mark.slow
@pytest.mark.parametrize("pair", [None, MINE])
def test_the_example_needs_nothing_of_ours(bots: BotsOut, pair: KeyPair | None) -> None:
    keys = {"GGP_PUBLIC": MINE.public, "GGP_SECRET": MINE.secret, "GGP_SERVER": SERVER.public} if pair else {}
    with SmallLobby(SERVER if pair else None) as lobby:
        url = lobby.url
        words = [str(EXAMPLE), url, "dot", "--", sys.executable, "-c", SCRIPT]
        running = bots.start(*words, **keys)
        assert lobby.hello() == Hello("dot")
        plays(lobby)
        lobby.send(Bye("the lobby is closing: dial in again later"))
    with SmallLobby(SERVER if pair else None, url) as lobby:
        assert lobby.hello() == Hello("dot")
        plays(lobby)
        lobby.send(Bye("replaced: by another"))
        assert running.wait(60) == 1


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("tcp://127.0.0.1:9", "dot", "./my_bot"), ("tcp://127.0.0.1:9", "dot", "--")])
def test_the_example_says_how_it_is_called(words: tuple[str, ...]) -> None:
    ran = subprocess.run(
        [sys.executable, EXAMPLE, *words], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8"
    )
    assert ran.returncode == 1 and ran.stderr == "usage: dialling_bot.py tcp://HOST:PORT NAME -- BOT …\n"
