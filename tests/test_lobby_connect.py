"""`ggp serve` and `ggp connect` together, with keys: bots on stdin play over the network, also past a killed server."""

import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from protocol.transports.keys import KeyPair, new_pair, write_pair
from referee.lobby.granting import allow
from referee.lobby.keys import Book, change, now
from referee.store.store import Store
from tests.ggp_command import Ggp, ggp
from tests.lobby_server import Server, lobby_file

pytestmark = pytest.mark.slow

BOTS = (sys.executable, "-m", "bots")


def connect(folder: Path, url: str, name: str, server: KeyPair, *bot: str) -> Ggp:
    more = ("--key", str(folder / f"{name}.key"), "--server-key", server.public, "--name", name, "--quiet")
    return Ggp("connect", url, *more, "--", *bot)


def test_bots_are_lent_a_connection_and_play_on_past_a_killed_server(tmp_path: Path) -> None:
    server_pair, book = new_pair(), Book()
    write_pair(tmp_path / "server.key", server_pair)
    for owner, bot in (("ann", "a"), ("bob", "b")):
        pair = new_pair()
        write_pair(tmp_path / f"{bot}.key", pair)
        book = allow(book, owner, bot, pair.public, now())
    with change(tmp_path / "keys.json") as write:
        write(book)
    file = lobby_file(tmp_path)
    file.write_text(file.read_text().replace("keys = false", "keys = true"))
    server = Server(file)
    random = connect(tmp_path, server.url, "a", server_pair, *BOTS, "random")
    greedy = connect(tmp_path, server.url, "b", server_pair, *BOTS, "greedy", "playouts=2")
    server.wait_for("game", 2)
    assert {one["owner"] for one in server.events("joined")} == {"ann", "bob"}
    server.kill()
    file.write_text(file.read_text().replace("127.0.0.1:*", f"127.0.0.1:{urlsplit(server.url).port}"))
    again = Server(file)
    again.wait_for("game", 2)
    for one in (random, greedy):
        one.process.terminate()
        assert one.process.wait(60) == 0
    assert again.end().status == 0
    with Store.open(f"sqlite:///{tmp_path}/club.db") as store:
        rows = list(store.games())
    assert {row.termination for row in rows} <= {"rules", "resignation", "disconnected"}
    told = [one["match"] for run in (server, again) for one in run.events("game")]
    assert len(set(told)) == len(told) and set(told) <= {row.key for row in rows}


def test_a_bot_that_ends_at_once_is_said_to(tmp_path: Path) -> None:
    ran = ggp("connect", "tcp://127.0.0.1:9", "--", sys.executable, "-c", "")
    assert ran.status == 2 and ran.err == "ggp connect: the bot does not start: exit status 0\n"
