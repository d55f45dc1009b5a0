"""The example in C that dials a lobby with libzmq alone: built with every warning, with keys and without."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggp.protocol.lobby_wire import Bye, Stderr
from ggp.protocol.transports.keys import KeyPair, new_pair, write_pair
from ggp.referee.ladder.store.store import Store
from ggp.referee.server.lobby.keys import Book, allow, change, now
from tests.support import ROOT
from tests.support.lobby_server import LobbyProcess, lobby_file
from tests.support.lobby_socket import SmallLobby

pytestmark = [pytest.mark.slow, pytest.mark.needs("zmq.h")]
SOURCE = ROOT / "bots" / "examples" / "dialling_bot.c"
FLAGS = ("-std=c11", "-pedantic", "-O2", "-Wall", "-Wextra", "-Werror")
MINE, SERVER = new_pair(), new_pair()
KEYS = {"GGP_PUBLIC": MINE.public, "GGP_SECRET": MINE.secret, "GGP_SERVER": SERVER.public}
GGP = (str(Path(sys.executable).parent / "ggp"), "engine")
LOCAL = '[bot.house]\ncommand = "random"\n'


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    target = str(tmp_path_factory.mktemp("c") / "dialling_bot")
    subprocess.run(["cc", *FLAGS, "-o", target, str(SOURCE), "-lzmq"], check=True)
    return target


class Running:
    """Starts the bot, and ends it with the test."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._all: list[subprocess.Popen[str]] = []

    def start(self, *words: str, keys: bool) -> "subprocess.Popen[str]":
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GGP_")}
        bot = subprocess.Popen(
            [self._program, *words], stderr=subprocess.PIPE, encoding="utf-8", env={**kept, **(KEYS if keys else {})}
        )
        self._all.append(bot)
        return bot

    def end(self) -> None:
        for bot in self._all:
            bot.kill()
            bot.communicate()


@pytest.fixture
def bots(program: str) -> Iterator[Running]:
    running = Running(program)
    yield running
    running.end()


@pytest.mark.parametrize("pair", [None, SERVER], ids=["without keys", "with keys"])
def test_it_says_hello_answers_comes_back_and_says_goodbye(bots: Running, pair: KeyPair | None) -> None:
    with SmallLobby(pair) as lobby:
        url = lobby.url
        bot = bots.start(url, "dot", *GGP, keys=bool(pair))
        hello = lobby.hello()
        assert hello.name == "dot" and {"yugo", "go"} <= set(hello.games) and len(hello.session) == 16
        assert lobby.message(60) == Stderr("I play at random")
        assert lobby.ask("1 ggp-new yugo size=2") == "=1"
        assert lobby.ask("2 genmove black")[:3] == "=2 "
        assert lobby.ask("genmove black")[:2] == "? " and lobby.ask("nonsense") == "? unknown command"
    with SmallLobby(pair, url) as lobby:
        assert lobby.hello() == hello
        assert lobby.ask("ggp-new yugo size=5") == "="
        bot.terminate()
        assert lobby.bye() == "its author ended it"
        assert bot.wait(60) == 0


def test_whose_place_another_connection_took_does_not_come_back(bots: Running) -> None:
    with SmallLobby() as lobby:
        bot = bots.start(lobby.url, "dot", *GGP, keys=False)
        lobby.hello()
        lobby.send(Bye("replaced: another one"))
        assert bot.wait(60) == 0


def plays_in_a_lobby(bots: Running, folder: Path, keys: bool) -> None:
    """A pair of games against a bot of the lobby's own."""
    file = lobby_file(folder, keys=keys, more=LOCAL)
    write_pair(folder / "server.key", SERVER)
    with change(folder / "keys.json") as write:
        write(allow(Book(), "ann", "dot", MINE.public, now()))
    server = LobbyProcess(file)
    bots.start(server.url, "dot", *GGP, keys=keys)
    server.wait_for("game", 2)
    assert server.end().status == 0
    with Store.open(f"sqlite:///{folder}/club.db") as store:
        rows = list(store.games())
    assert {row.termination for row in rows} == {"rules"}
    assert all({row.first, row.second} == {"dot", "house"} for row in rows)


def test_it_plays_in_a_lobby_with_keys(bots: Running, tmp_path: Path) -> None:
    plays_in_a_lobby(bots, tmp_path, keys=True)


@pytest.mark.long
def test_it_plays_in_a_lobby_without_keys(bots: Running, tmp_path: Path) -> None:
    plays_in_a_lobby(bots, tmp_path, keys=False)
