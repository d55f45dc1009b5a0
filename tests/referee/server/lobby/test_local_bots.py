"""Local bots, which a lobby runs itself: their configuration, identities, processes, and matches."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import pytest
import zmq

from ggp.protocol.lobby_wire import Hello
from ggp.protocol.records import Party, Record
from ggp.protocol.transports.keys import new_pair, write_pair
from ggp.referee.ladder.session import check_programs
from ggp.referee.ladder.store.model import Pair
from ggp.referee.ladder.store.store import Store
from ggp.referee.ladder.toml_file import ConfigError
from ggp.referee.match.bot_spec import DIGITS
from ggp.referee.server.lobby.auth import INSIDE, OWNER, Admission, KeyAuth, LocalIdentities, NotAdmitted
from ggp.referee.server.lobby.config import LobbyFile, lobby_of
from ggp.referee.server.lobby.game import LeftOver, Room, Waiting
from ggp.referee.server.lobby.keys import Book, RegistryError, allow, change, now
from ggp.referee.server.lobby.local_bots import LocalBots
from ggp.referee.server.lobby.log import EventLog
from ggp.referee.server.lobby.open_pairs import OpenPairs
from ggp.referee.server.lobby.remote_bot import ConnectedBot, Identity, Local
from tests.support.cli import PYTHON, ggp
from tests.support.codes import raises
from tests.support.dialled_bots import DialledBots, dial
from tests.support.lobby_server import LobbyProcess, key_files, lobby_file
from tests.support.lobby_socket import SmallLobby
from tests.support.memory_lobby import open_lobby, until
from tests.system.test_lobby_return import under_way

POOL = {"game": "yugo,size=5"}
FRAIL = """
import sys
from ggp.bots.sdk import run
def choose(position):
    if len(position.plies) > 1:
        print("out of ideas", file=sys.stderr)
        raise SystemExit(3)
    return position.legal_moves()[0]
run(choose)
"""


def read(folder: Path, lobby: dict[str, Any] | None = None, **bots: dict[str, Any]) -> LobbyFile:
    values: dict[str, object] = {"pool": {"small": POOL}, "lobby": lobby or {}, "bot": bots}
    return lobby_of(values, folder / "club.toml", no_keys=True)


def quiet() -> EventLog:
    return EventLog(quiet=True, write=lambda line: None)


# -- the file --------------------------------------------------------------------------------------------------------


def test_local_bots_are_read_from_the_file(tmp_path: Path) -> None:
    lobby = read(tmp_path, {"local_matches": True}, one={"command": "greedy", "anchor": 700, "copies": 3})
    (bot,) = lobby.local
    assert (bot.entrant.name, bot.entrant.anchor, bot.entrant.pools, bot.copies) == ("one", 700, ("small",), 3)
    assert lobby.ladder.bots == (bot.entrant,) and lobby.table.local_matches and lobby.table.nice == 10
    assert bot.hash == bot.entrant.start.version and len(bot.hash) == DIGITS
    assert read(tmp_path).local == ()


@pytest.mark.parametrize(
    ("bot", "said"),
    [
        ({}, "bot.one.command: is missing"),
        ({"command": "no-such-bot-at-all x"}, "bot.one.command: no program called 'no-such-bot-at-all'"),
        ({"command": "tcp://127.0.0.1:9"}, "bot.one.command: tcp://127.0.0.1:9 is not started here"),
        ({"command": "greedy", "pools": ["large"]}, "bot.one.pools: there is no pool 'large'"),
        ({"command": "greedy", "parent": "two"}, "bot.one.parent: there is no bot 'two'"),
        ({"command": "greedy", "copies": 0}, "bot.one.copies: 0 is not a whole number from 1 to 1000"),
        ({"command": "greedy", "cores": 2}, "bot.one.cores: has no effect in a lobby"),
    ],
)
def test_invalid_local_bot_is_an_error(tmp_path: Path, bot: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        read(tmp_path, one=bot)
    assert said in str(error.value)


@pytest.mark.slow
def test_unknown_option_of_a_built_in_bot_is_found_before_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"bot\.one"):
        check_programs(read(tmp_path, one={"command": "greedy:speed=9"}).ladder)


def test_changed_script_is_another_version(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    versions = set()
    for text in ("print(1)", "print(2)", "print(1)"):
        script.write_text(text, encoding="utf-8")
        versions.add(read(tmp_path, one={"command": f"{PYTHON} {script}"}).local[0].entrant.version)
    assert len(versions) == 2


# -- identities ------------------------------------------------------------------------------------------------------


def known(bot: Local) -> LocalIdentities:
    """This process speaks for a local bot."""
    name = bot.entrant.name
    return LocalIdentities(frozenset({name}), {os.getpid(): Identity(OWNER, name, bot)})


@pytest.mark.parametrize("keys", [False, True])
async def test_local_bot_is_identified_by_its_process(tmp_path: Path, keys: bool) -> None:
    local = read(tmp_path, one={"command": "greedy"}).local[0]
    key_files(tmp_path)
    bots, inside = known(local), f"ipc://{tmp_path}/router"
    keyed = KeyAuth(tmp_path / "server.key", tmp_path / "keys.json", quiet(), local=bots) if keys else None
    async with open_lobby(admission=keyed or Admission(bots), connections=0, inside=inside) as it:
        mine = it.call(url=inside)
        mine.hello("whatever")
        await until(lambda: len(it.sessions.ready()) == 1, mine)
        (bot,) = it.sessions.ready()
        assert (bot.name, bot.identity.owner, bot.version) == ("one", OWNER, local.entrant.version)
        bots.processes.clear()
        another = it.call(url=inside)
        another.hello("one")
        assert await another.bye() and it.event_log.counts["refused", "stranger"] == 1


def test_names_of_local_bots_are_reserved_and_without_limits(tmp_path: Path) -> None:
    admission = Admission(known(read(tmp_path, one={"command": "greedy"}).local[0]))
    with raises(NotAdmitted, "taken"):
        admission.identify("", Hello("one"))
    with raises(NotAdmitted, "stranger"):
        admission.identify(f"{INSIDE}1", Hello("one"))
    assert admission.identify("", Hello("two")) == Identity("two", "two")
    assert admission.limits("two", {"matches": 3}) == {"matches": 3}
    assert admission.limits(OWNER, {"matches": 3})["matches"] > 10**9


@pytest.mark.parametrize("keys", [False, True])
def test_only_the_lobby_s_own_site_speaks_for_its_seats(tmp_path: Path, keys: bool) -> None:
    """Not another process at the inside socket, not one without a key, not one whose key is for the same name."""
    local, mine = LocalIdentities(web={11}, seats=frozenset({"web-1"})), new_pair()
    write_pair(tmp_path / "server.key", new_pair())
    with change(tmp_path / "keys.json") as write:
        write(allow(allow(Book(), "eve", "web-1", mine.public, now()), "eve", "eve", mine.public, now()))
    keyed = KeyAuth(tmp_path / "server.key", tmp_path / "keys.json", quiet(), local=local) if keys else None
    admission, stranger = keyed or Admission(local), mine.public if keys else ""
    assert admission.identify(f"{INSIDE}11", Hello("web-1")).name == "web-1"
    assert admission.identify(stranger, Hello("eve")).name == "eve"
    with raises(NotAdmitted, "taken"):
        admission.identify(stranger, Hello("web-1"))
    for refused in (lambda: admission.identify(f"{INSIDE}12", Hello("web-1")), lambda: admission.author(f"{INSIDE}12")):
        with raises(NotAdmitted, "stranger"):
            refused()
    local.web.clear()  # the site has ended
    with raises(NotAdmitted, "stranger"):
        admission.identify(f"{INSIDE}11", Hello("web-1"))


def test_copies_are_one_bot_in_several_matches(tmp_path: Path) -> None:
    """Two resumed matches of a local bot get a copy each, and a third one waits."""
    local = read(tmp_path, one={"command": "greedy"}).local[0]
    seats = [Identity(OWNER, "one", local, copy) for copy in range(2)]
    assert len({seat.seat for seat in seats}) == 2
    copies = [ConnectedBot(seat, frozenset(), cast(Any, None), version="v") for seat in seats]
    others = [ConnectedBot(Identity(name, name), frozenset(), cast(Any, None), version="v") for name in "abc"]
    left = LeftOver(cast(Room, None))
    left.until = float("inf")
    for number, other in enumerate(others):
        pair, bots = Pair(number, 0, number, 0, 1, 2), (("one", "v"), (other.name, "v"))
        left.waiting[number] = Waiting(cast(OpenPairs, None), pair, bots, cast(Record, None))
    assert left.reserved()["one", "v"] == 3
    met = [bots for _, bots in left.back([*copies, *others])]
    assert len(met) == 2 and {id(bots[0]) for bots in met} == set(map(id, copies))
    assert left.reserved()["one", "v"] == 1


def test_only_a_built_in_local_bot_is_believed_what_it_says_of_its_engine(tmp_path: Path) -> None:
    values: dict[str, object] = {
        "pool": {"four": {"game": "connect4", "engine": "tcp://127.0.0.1:5555"}},
        "bot": {"ours": {"command": "random"}, "theirs": {"command": PYTHON}},
    }
    ours, theirs = lobby_of(values, tmp_path / "club.toml", no_keys=True).local
    for identity, believed in (
        (Identity(OWNER, "ours", ours), True),
        (Identity(OWNER, "theirs", theirs), False),
        (Identity("ann", "ours"), False),
    ):
        bot = ConnectedBot(identity, frozenset(), cast(Any, None))
        player = Mock(asks_engine=False, party=Party(name=identity.name))
        bot.met(player)
        assert player.asks_engine is believed


# -- their processes -------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def running(folder: Path, event_log: EventLog, lobby: SmallLobby, command: str) -> AsyncIterator[None]:
    bots = LocalBots(read(folder, one={"command": command}).local, rivals=False, nice=3, event_log=event_log)
    bots.start(lobby.url)
    try:
        yield
    finally:
        await bots.close()


@pytest.mark.slow
async def test_local_bot_is_restarted_and_the_log_says_why(tmp_path: Path) -> None:
    said: list[str] = []
    (tmp_path / "frail.py").write_text(FRAIL, encoding="utf-8")
    with SmallLobby(url=f"ipc://{tmp_path}/router") as lobby:
        async with running(tmp_path, EventLog(write=said.append), lobby, f"{PYTHON} {tmp_path}/frail.py"):
            first = await asyncio.to_thread(lobby.hello)
            assert first.name == "one" and "yugo" in first.games
            await asyncio.to_thread(lobby.ask, "1 ggp-new yugo size=4")
            await asyncio.to_thread(lobby.ask, "2 play black A1")
            await asyncio.to_thread(lobby.ask, "3 play white B1")
            lobby.say("4 genmove black")
            again = await asyncio.to_thread(lobby.hello)
            assert again.session != first.session
            (tmp_path / "frail.py").write_text(FRAIL + "# another\n", encoding="utf-8")
            assert await asyncio.to_thread(lobby.ask, "quit") == "="
            assert await asyncio.to_thread(lobby.bye) != ""
    assert "culprit=bot" in said[0] and "exit status 3: out of ideas" in said[0]
    assert any("has changed since it was entered" in line and "start the lobby again" in line for line in said)


# -- the whole -------------------------------------------------------------------------------------------------------

LOCAL = """
[bot.house]
command = "greedy:playouts=2"
anchor = 500
copies = 2
"""


@pytest.mark.slow
def test_a_lobby_with_keys_and_only_local_bots_needs_no_registry(tmp_path: Path) -> None:
    file = lobby_file(tmp_path, "local_matches = true", keys=True, more=f'{LOCAL}[bot.other]\ncommand = "random"\n')
    own, mine = new_pair(), new_pair()
    write_pair(tmp_path / "server.key", own)
    server = LobbyProcess(file)
    (said,) = server.wait_for("keys", word="problem")
    assert "ggp keys allow" in said["reason"]
    server.wait_for("game")
    with change(tmp_path / "keys.json") as write:  # from now on a remote bot is accepted, too
        write(allow(Book(), "ann", "dot", mine.public, now()))
    server.wait_for("keys", word="read")
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    bot = dial(context, server.url, "dot", pair=mine, server_key=own.public)
    bot.hello()
    assert bot.socket.poll(30_000)
    context.destroy(linger=0)
    assert server.end().status == 0


def test_a_lobby_with_keys_and_no_local_bot_needs_a_registry(tmp_path: Path) -> None:
    write_pair(tmp_path / "server.key", new_pair())
    with raises(RegistryError, "no-registry"):
        KeyAuth(tmp_path / "server.key", tmp_path / "keys.json", quiet())
    (tmp_path / "keys.json").write_text("broken", encoding="utf-8")
    with raises(RegistryError, "not-a-registry"):
        KeyAuth(tmp_path / "server.key", tmp_path / "keys.json", quiet(), needed=False)


@pytest.mark.slow
def test_single_remote_bot_plays_local_bots_also_after_a_killed_server(
    tmp_path: Path, dialled: list[DialledBots]
) -> None:
    file = lobby_file(tmp_path, more=LOCAL)
    server = LobbyProcess(file)
    server.wait_for("joined", 2, bot="house", owner=OWNER)
    standing = server.pids("ggp.bots", "greedy")
    niceness = {os.getpriority(os.PRIO_PROCESS, pid) for pid in standing}
    assert len(standing) == 2 and niceness == {min(19, os.nice(0) + 10)}
    dialled.append(DialledBots(server.url, "ann", think=0.05))
    key = under_way(tmp_path, 4)
    server.kill()  # waits until no process of its is left
    dialled[0].cut()
    again = LobbyProcess(file)
    dialled.append(DialledBots(again.url, "ann"))
    again.wait_for("game", match=key)
    again.wait_for("game", 2)
    assert again.end().status == 0
    with Store.open(f"sqlite:///{tmp_path}/club.db") as store:
        rows = list(store.games())
    assert all({row.first, row.second} == {"ann", "house"} for row in rows), "local bots do not play each other"
    assert {row.termination for row in rows} <= {"rules", "resignation"}
    told = ggp("ladder", "standings", str(file), "--json").json["ratings"]
    assert {row["bot"]: (round(row["elo"]), row["note"]) for row in told}["house"] == (500, "anchor")


@pytest.mark.slow
def test_a_lobby_starts_without_a_bot_whose_program_is_missing_and_with_it_when_it_is_there(tmp_path: Path) -> None:
    file = lobby_file(tmp_path, more=f'{LOCAL}[bot.late]\ncommand = "./late"\n')
    server = LobbyProcess(file)
    server.wait_for("joined", bot="house")
    (said,) = server.events("local")
    assert (said["word"], said["bot"]) == ("missing", "late") and "late" in said["reason"]
    assert "restart the lobby when its program is there" in said["reason"]
    assert not [one for one in server.events("joined") if one["bot"] == "late"]
    assert server.end().status == 0
    program = tmp_path / "late"
    program.write_text(f'#!/bin/sh\nexec "{PYTHON}" -m ggp.bots random\n', encoding="utf-8")
    program.chmod(0o755)
    again = LobbyProcess(file)
    again.wait_for("joined", bot="late")
    assert again.end().status == 0


# -- many copies -----------------------------------------------------------------------------------------------------

# A process that connects a bot: it says when it starts, and half a second later that the bot is connected.
CONNECTS = """
import json, sys, time
order = json.loads(sys.stdin.read())
with open({told!r}, "a") as told:
    print("starts", order["start"]["name"], file=told, flush=True)
    time.sleep(0.5)
    print("joined", order["start"]["name"], file=told, flush=True)
print('{{"culprit":"bot","reason":"","joined":true}}', flush=True)
time.sleep(600)
"""


@pytest.mark.slow
async def test_copies_start_a_few_at_a_time_and_a_signal_cancels_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "told"
    program = tmp_path / "connects.py"
    program.write_text(CONNECTS.format(told=str(told)), encoding="utf-8")
    monkeypatch.setattr("ggp.referee.server.lobby.local_bots._PROGRAM", (sys.executable, str(program)))
    monkeypatch.setattr("ggp.referee.server.lobby.local_bots.os.sched_getaffinity", lambda pid: {0, 1})
    settings = read(tmp_path, one={"command": "random", "copies": 60}, two={"command": "greedy", "copies": 2})
    bots = LocalBots(settings.local, rivals=False, nice=0, event_log=quiet())
    bots.start(f"ipc://{tmp_path}/router")
    await until(lambda: told.exists() and told.read_text(encoding="utf-8").count("joined") >= 5)
    began = asyncio.get_running_loop().time()
    await bots.close()
    assert asyncio.get_running_loop().time() - began < 10
    lines = [line.split() for line in told.read_text(encoding="utf-8").splitlines()]
    under_way = most = 0
    for what, _ in lines:
        under_way += 1 if what == "starts" else -1
        most = max(most, under_way)
    assert most == 2, "as many as cores"
    assert {name for what, name in lines[:4] if what == "starts"} >= {"one", "two"}, "a copy of each first"
    assert sum(what == "starts" for what, _ in lines) < 60
