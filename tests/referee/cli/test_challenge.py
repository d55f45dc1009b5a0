"""Commands of authors over real sockets: challenges are played and stored, also after kill -9; attacks by commands."""

import json
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ggp.protocol.lobby_wire import LobbyAnswer
from ggp.protocol.transports.keys import new_pair
from ggp.referee.cli.challenge import main as challenge
from ggp.referee.cli.ladder import main as ladder
from ggp.referee.cli.verify import main as verify
from ggp.referee.ladder.store.store import Store
from ggp.referee.server.lobby.auth import Admission, Author, KeyAuth
from ggp.referee.server.lobby.keys import change, now, read, revoke
from ggp.referee.server.lobby.log import EventLog
from tests.support.cli import Ggp, ggp
from tests.support.dialled_bots import DialledBots
from tests.support.lobby_server import LobbyProcess, key_files, lobby_file
from tests.support.lobby_socket import SmallLobby
from tests.support.memory_lobby import MemoryLobby, open_lobby, until
from tests.system.test_lobby_return import under_way

THINK = 0.01


@pytest.mark.slow
def test_a_challenge_is_played_end_to_end_and_changes_no_standings(
    tmp_path: Path, dialled: list[DialledBots], capsys: pytest.CaptureFixture[str]
) -> None:
    file = lobby_file(tmp_path, pool="openings = 2")
    server = LobbyProcess(file)
    dialled.append(DialledBots(server.url, "ann", "bob"))
    server.wait_for("game", 2)
    listed = ggp("challenge", server.url)
    assert listed.status == 0 and "pool=small game=yugo,size=5" in listed.out and "challenges: none" in listed.out
    played = ggp("challenge", server.url, "small", "ann", "bob", "--pairs", "2")
    assert played.status == 0 and " in 4 games)" in played.out and "Ctrl-C leaves it" in played.err, played
    asked = ggp("challenge", server.url, "small", "ann", "bob", "--no-wait", "--pairs", "50")
    assert asked.status == 0 and asked.out == "2\n"
    assert ggp("challenge", server.url, "--withdraw", "2").status == 0
    server.wait_for("challenge", word="withdrawn")
    server.end()
    with Store.open(f"sqlite:///{tmp_path}/club.db") as store:
        rated, unrated = store.pools(unrated=True)
        games = list(store.games(unrated.id))
        one = store.find_challenge(1)
        assert one and one.games == 4 and len([row for row in games if row.pair in (0, 1)]) == 4
        assert store.counted(rated.id) == len(server.events("game")) - len(games)
        assert sum(met.games for met in store.meetings(rated.id)) == store.counted(rated.id)
        assert store.check().lines == []
        number = store.counted(rated.id)

    def said(*words: str) -> str:
        capsys.readouterr()
        assert ladder([*words, str(file)]) == 0
        return capsys.readouterr().out

    assert "small/unrated" in said("games") and "small/unrated" not in said("standings")
    assert said("export", "--format", "csv").count("\n") == 1 + number, "unrated games are not among the results"
    (tmp_path / "game.jsonl").write_text(said("export", "--key", games[0].key), encoding="utf-8")
    assert verify([str(tmp_path / "game.jsonl")]) == 0


@pytest.mark.slow
def test_killed_lobby_resumes_its_challenges(tmp_path: Path, dialled: list[DialledBots]) -> None:
    file = lobby_file(tmp_path)
    server = LobbyProcess(file)
    dialled.append(DialledBots(server.url, "ann", "bob", think=THINK))
    server.wait_for("joined", 2)
    server.wait_for("game")  # both are entered
    watching = Ggp("challenge", server.url, "small", "ann", "bob", "--pairs", "2", "--json")
    server.wait_for("game", pool="small/unrated")
    key = under_way(tmp_path, 8)
    server.kill()
    dialled.pop().cut()
    server = LobbyProcess(file)
    dialled.append(DialledBots(server.url, "ann", "bob", think=THINK))
    server.wait_for("challenge", word="over")
    watched = watching.wait()
    *told, last = [json.loads(line) for line in watched.out.splitlines()]
    assert watched.status == 0 and {one["event"] for one in told} == {"progress"} and watched.err == ""
    assert (last["event"], last["id"], last["state"], last["games"]) == ("over", 1, "over", 4)
    server.end()
    with Store.open(f"sqlite:///{tmp_path}/club.db") as store:
        _, unrated = store.pools(unrated=True)
        rows = list(store.games(unrated.id))
        assert Counter((row.pair, row.game) for row in rows) == {(pair, game): 1 for pair in (0, 1) for game in (0, 1)}
        assert key in {row.key for row in rows}, "the match that was cut short was played on"
        one = store.find_challenge(1)
        assert one and (one.games, one.open, one.reason) == (4, 0, "")
        assert store.check().lines == []


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("tcp://127.0.0.1:1", 1, "nothing is listening at this address"),
        ("tcp://127.0.0.1:1 small ann", 2, "name POOL, MINE and THEIRS, or nothing"),
        ("tcp://127.0.0.1:1 small ann bob --withdraw 3", 2, "--withdraw ID stands alone"),
        ("tcp://127.0.0.1:1 small ann b#b", 2, "hold no blanks and no #"),
        ("tcp://lobby.example.org:7711 small ann bob", 2, "give --key FILE and --server-key"),
        ("ipc://x", 2, "tcp://"),
    ],
)
def test_invalid_command_line_prints_one_line(
    words: str, status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert challenge(words.split()) == status
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1


@pytest.mark.slow
def test_ctrl_c_leaves_a_challenge_to_the_lobby_and_a_refusal_is_reported() -> None:
    with SmallLobby() as lobby:
        watching = Ggp("challenge", lobby.url, "small", "ann", "bob")
        assert lobby.ordered() == b"ggp-challenge small ann bob pairs=1\n"
        lobby.send(LobbyAnswer(b"= id=7\n\n"))
        assert lobby.ordered() == b"ggp-challenge-status 7\n"
        stands = (
            "id=7 state=waiting first=ann second=bob pairs=1 games=0 wins=0 draws=0 losses=0 void=0 reason=bob is away"
        )
        lobby.send(LobbyAnswer(f"= {stands}\n\n".encode()))
        assert lobby.ordered() == b"ggp-challenge-status 7\n"
        watching.process.send_signal(signal.SIGINT)
        ended = watching.wait()
        assert ended.status == 130 and ended.out == ""
        assert "0 of 2 games, +0 =0 -0, waiting: bob is away\n" in ended.err
        refused = Ggp("challenge", lobby.url, "small", "ann", "zed")
        assert lobby.ordered() == b"ggp-challenge small ann zed pairs=1\n"
        lobby.send(LobbyAnswer(b"? zed was never in small\n\n"))
        ended = refused.wait()
        assert (ended.status, ended.out, ended.err) == (1, "", "ggp challenge: zed was never in small\n")


# -- attacks by commands ----------------------------------------------------------------------------------------------


@asynccontextmanager
async def session(keyed: KeyAuth | None = None) -> AsyncIterator[tuple[MemoryLobby, list[tuple[Author, bytes]]]]:
    """A lobby that keeps the commands of authors in a list."""
    heard: list[tuple[Author, bytes]] = []
    async with open_lobby(admission=keyed or Admission()) as it:
        it.sessions.orders = lambda route, author, line: heard.append((author, line))
        yield it, heard


async def test_an_author_needs_no_hello_and_is_no_bot() -> None:
    async with session() as (it, heard):
        author = it.call()
        author.say(b"C", b"ggp-bots\n")
        await until(lambda: bool(heard), author)
        assert heard == [(Author(""), b"ggp-bots\n")] and it.sessions.bots == {}
        author.hello("ann")
        assert await author.bye() and it.event_log.counts["refused", "kind"] == 1


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (b"ggp-bots", "command"),
        (b"ggp-bots\nggp-pools\n", "command"),
        (b"\n", "command"),
        (b"\xff\xfe\n", "command"),
        (b"x" * 70_000 + b"\n", "size"),
    ],
)
async def test_invalid_command_ends_the_connection(payload: bytes, code: str) -> None:
    async with session() as (it, heard):
        author = it.call()
        author.say(b"C", payload)
        assert await author.bye() and heard == []
        assert it.event_log.counts["refused", code] == 1


async def test_flood_of_commands_ends_that_connection_only() -> None:
    async with session() as (it, heard):
        calm, author = it.call(), it.call()
        calm.say(b"C", b"name\n")
        await until(lambda: len(heard) == 1, calm)
        for _ in range(200):
            author.say(b"C", b"ggp-challenges\n")
        assert await author.bye() and len(heard) < 60
        assert it.event_log.counts["refused", "flood"] == 1
        calm.say(b"C", b"name\n")
        await until(lambda: heard[-1][1] == b"name\n", calm)
        assert calm.byes == []


async def test_bot_connection_accepts_no_commands() -> None:
    async with session() as (it, heard):
        bot = await it.seat("ann")
        bot.say(b"C", b"ggp-bots\n")
        assert await bot.bye() and heard == []
        assert it.event_log.counts["refused", "kind"] == 1


async def test_key_identifies_the_author_until_it_is_revoked(tmp_path: Path) -> None:
    pairs, registry = key_files(tmp_path, ann="alice"), tmp_path / "keys.json"
    server, alice, eve = pairs["server"], pairs["ann"], new_pair()
    keyed = KeyAuth(tmp_path / "server.key", registry, EventLog(quiet=True))
    async with session(keyed=keyed) as (it, heard):
        author, stranger = it.call(alice, server), it.call(eve, server)
        author.say(b"C", b"ggp-bots\n")
        stranger.say(b"C", b"ggp-bots\n")
        await until(lambda: bool(heard), author)
        assert heard == [(Author("alice", ("ann",)), b"ggp-bots\n")]
        more = [it.call(alice, server) for _ in range(8)]
        for one in more:
            one.say(b"C", b"name\n")
        await until(lambda: any(one.byes for one in more), *more)
        assert sum(bool(one.byes) for one in more) == it.event_log.counts["refused", "connections"] == 1
        with change(registry) as write:
            write(revoke(read(registry), alice.public, now())[0])
        keyed.changed()  # as Sessions asks from time to time
        author.say(b"C", b"name\n")
        assert await author.bye() and it.event_log.counts["refused", "key"] == 1


async def test_authors_get_the_reason_when_the_lobby_closes() -> None:
    async with session() as (it, heard):
        author = it.call()
        author.say(b"C", b"name\n")
        await until(lambda: bool(heard), author)
        await it.sessions.close("the lobby is closing")
        assert await author.bye() == "the lobby is closing"
