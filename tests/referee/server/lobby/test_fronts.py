"""Two fronts of a lobby in one process, with one store: a bot is at one, pairs are played by one, bots are sent on."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ggp.protocol.lobby_wire import Hello
from ggp.referee.ladder.store.fronts import FrontRow
from ggp.referee.ladder.store.model import StoreError
from ggp.referee.ladder.store.store import Store
from ggp.referee.ladder.toml_file import ConfigError
from ggp.referee.server.lobby import fronts
from ggp.referee.server.lobby.config import lobby_of
from ggp.referee.server.lobby.fronts import Front
from ggp.referee.server.lobby.limits import FREE
from ggp.referee.server.lobby.matchmaking import Matchmaker, Registration
from ggp.referee.server.lobby.open_pairs import StoreWriter
from ggp.referee.server.lobby.remote_bot import ConnectedBot
from tests.support.memory_club import connected_bot
from tests.support.memory_lobby import MemoryLobby, open_lobby, until
from tests.support.stores import ladder, match


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/club.db", create=True) as opened:
        yield opened


@asynccontextmanager
async def two_fronts(store: Store) -> AsyncIterator[list[tuple[MemoryLobby, Front]]]:
    """The fronts a and b: the sessions and the socket of each."""
    async with open_lobby() as one, open_lobby() as other:
        made = []
        for name, lobby in (("a", one), ("b", other)):
            store.join_front(name, "serve")
            writer = StoreWriter(store, lobby.event_log)
            front = Front(name, "", store, writer, lobby.sessions, lobby.event_log, lambda: None)
            lobby.sessions.front = front
            running: Any = SimpleNamespace(games={}, idle=lobby.sessions.ready)
            front.open(lobby.router.url, running)
            made.append((lobby, front))
        try:
            await until(lambda: all(front.others and front.others[0].url for _, front in made))
            yield made
        finally:
            for _, front in made:
                await front.close()


async def test_a_bot_that_is_at_one_front_is_sent_there_by_the_other(store: Store) -> None:
    async with two_fronts(store) as ((one, _), (other, _)):
        ann = await one.seat("ann")
        second = other.call()
        second.hello("ann")
        assert (await second.bye()).startswith(f"moved: {one.router.url} ")
        again = one.call()
        again.hello("ann")
        await until(lambda: bool(ann.byes), ann, again)
        assert ann.byes[0].startswith("replaced:"), "as at a lobby of one process"
        await until(lambda: bool(one.sessions.ready()), again)
        again.say(b"B", b"done")
        await until(lambda: not one.sessions.bots)
        await other.seat("ann")


async def test_of_two_that_come_at_once_one_is_let_in(store: Store) -> None:
    async with two_fronts(store) as both:
        lobbies = [lobby for lobby, _ in both]
        callers = [lobby.call() for lobby in lobbies]
        for caller in callers:
            caller.hello("ann")
        await until(lambda: any(caller.byes for caller in callers), *callers)
        await until(lambda: any(lobby.sessions.ready() for lobby in lobbies), *callers)
        assert sum(len(lobby.sessions.bots) for lobby in lobbies) == 1


async def test_a_bot_that_must_wait_cannot_do_so_at_another_front(store: Store) -> None:
    async with two_fronts(store) as ((one, _), (other, _)):
        ann = await one.seat("ann")
        (bot,) = one.sessions.ready()
        for _ in range(FREE + 1):
            one.sessions.backoff.fault(bot.identity.key, asyncio.get_running_loop().time())
        one.sessions.apply_backoff(bot)
        assert "must wait" in await ann.bye()
        second = other.call()
        second.hello("ann")
        assert (await second.bye()).startswith("moved: ")


async def test_while_the_store_is_away_arrivals_wait(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fronts, "_AGAIN", 0.01)
    async with two_fronts(store) as ((one, front), _):
        real, tries = store.lease, list[int]()

        def lease(*arguments: Any) -> dict[str, str]:
            tries.append(1)
            if len(tries) < 3:
                raise StoreError("unreachable", code="unreachable")
            return real(*arguments)

        monkeypatch.setattr(store, "lease", lease)
        await one.seat("ann")
        assert len(tries) >= 3 and one.event_log.counts["front", "waits"] == 2
        assert front.departed == set()


async def test_a_front_that_was_taken_for_dead_keeps_what_no_other_has(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fronts, "BEAT", 0.01)
    async with two_fronts(store) as ((one, _), _):
        ann, bob = await one.seat("ann"), await one.seat("bob")
        store.leave_front("a")  # as another front does
        store.lease("b", ["ann"], [])
        await until(lambda: bool(ann.byes), ann, bob)
        assert ann.byes[0].startswith("moved: ")
        assert [bot.name for bot in one.sessions.ready()] == ["bob"] and store.elsewhere("b", ["bob"]) == {"bob"}


class _Rated:
    """Whether there is an opponent."""

    def __init__(self, opponent: bool) -> None:
        self.has_opponent = lambda bot: opponent


@pytest.mark.parametrize(
    ("there", "goes"), [(FrontRow("b", "tcp://b", 5), True), (FrontRow("b", "tcp://b", 1), False)], ids=["more", "same"]
)
async def test_a_bot_without_an_opponent_goes_where_more_are(
    store: Store, there: FrontRow, goes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At equal numbers only one of the two fronts sends its bot: `a` is the first by name."""
    monkeypatch.setattr(fronts, "ALONE", 0.0)
    async with two_fronts(store) as ((one, front), _):
        ann = one.call()
        ann.hello("ann", moves=True)
        await until(lambda: bool(one.sessions.ready()), ann)
        front.others = [there]
        rated: Any = _Rated(opponent=False)
        for _ in range(2):
            await front.send_on(rated)
        assert bool(one.sessions.bots) is not goes
        if goes:
            assert (await ann.bye()).startswith("moved: tcp://b ") and store.elsewhere("b", ["ann"]) == set()


async def test_bots_go_round_so_that_all_meet(store: Store) -> None:
    async with two_fronts(store) as ((one, front), _):
        stays = await one.seat("old")  # knows one address
        callers = [one.call() for _ in range(6)]
        for number, caller in enumerate(callers):
            caller.hello(f"bot-{number}", moves=True)
        await until(lambda: len(one.sessions.ready()) == 7, stays, *callers)
        rated: Any = _Rated(opponent=True)
        await front.send_on(rated)
        assert len(one.sessions.bots) == 7, "none has played here yet"
        for _ in range(30):
            for bot in one.sessions.bots.values():
                bot.pairs = fronts.STAY
            front.others = [FrontRow("b", "tcp://b", 3)]
            await front.send_on(rated)
        left = {bot.name for bot in one.sessions.bots.values()}
        assert "old" in left and len(left) <= 2, "the last two of three may go at the same time"


def test_a_pair_that_a_front_left_is_played_where_its_bots_are(store: Store) -> None:
    club = ladder(["ann", "bob", "cat", "dan"])
    row = store.enrol(club)["fast"]
    one, other = (Matchmaker(club, club.pools[0], row, store, name) for name in "ab")
    ids = {name: seat.id for (name, _), seat in one.seats.items()}
    (pair,) = one.pair({ids[name]: name for name in ("ann", "bob")})
    assert other.exchange([], list(ids.values())) == [], "it is a's"
    assert [two.id for two in one.exchange([], list(ids.values()))] == [pair.id]
    store.add([match(pair, 0, 0)])
    one.exchange([pair.id], [])
    (left,) = other.exchange([], list(ids.values()))
    assert left.id == pair.id and left.played == (0,)
    assert not one.reserve(pair) and other.reserve(pair)
    (new,) = one.pair({ids[name]: name for name in ("cat", "dan")})
    assert (new.number, new.batch) == (1, 1), "both number their pairs without gaps"
    assert other.pair({ids[name]: name for name in ("ann", "cat")})[0].batch == 2
    other.claim(left)
    other.give_back()
    given = {two.id for two in one.exchange([], list(ids.values()))}
    assert given == {new.id, new.id + 1}, "what is played is not given back"


async def test_a_bot_that_changed_elsewhere_is_entered_again(store: Store) -> None:
    club = ladder([])
    one, other = (Registration(club, store, StoreWriter(store, MemoryLog)) for _ in "ab")
    for each in (one, other):
        each.departed = set()
        row = each.load(each is one)["fast"]

    def bot(version: str) -> ConnectedBot:
        made = connected_bot("ann", version=version)
        made.set_terms(Hello("ann", challenges=False))
        return made

    def active() -> list[str]:
        return [seat.version for seat in store.seats(row) if seat.active]

    await one.enrol([bot("v1")], lambda: None, 0.0)
    assert one.departed is not None
    one.departed.add("ann")
    await other.enrol([bot("v2")], lambda: None, 0.0)
    assert active() == ["v2"]
    await one.enrol([bot("v1")], lambda: None, 0.0)
    assert active() == ["v1"] and one.departed == set()


MemoryLog: Any = SimpleNamespace(fault=lambda *arguments: None)

FILE: dict[str, Any] = {
    "lobby": {"keys": False},
    "front": {"a": {"listen": "tcp://127.0.0.1:7801"}, "b": {"listen": "tcp://127.0.0.1:7802", "watch": "none"}},
    "pool": {"small": {"game": "yugo,size=5", "control": "60+1"}},
}


def test_a_file_with_fronts(tmp_path: Path) -> None:
    read = lobby_of(FILE, tmp_path / "club.toml", front="b")
    assert (read.front, read.listen, read.watch, read.address) == ("b", "tcp://127.0.0.1:7802", "", "")


@pytest.mark.parametrize(
    ("front", "more", "key", "advice"),
    [
        ("", {}, "front", "add --front and one of a, b"),
        ("c", {}, "front", "there is no front c: add --front and one of a, b"),
        ("a", {"front": {}}, "front", "leave out --front"),
        ("a", {"front": {"a": {}}}, "front.a", "listen"),
        ("a", {"front": {"a": {"listen": "tcp://0.0.0.0:1"}}}, "front.a.listen", "without keys only"),
        ("a", {"front": {"a b": {"listen": "tcp://127.0.0.1:1"}, "a": {"listen": "tcp://127.0.0.1:1"}}}, "a b", "name"),
        ("a", {"front": {"a": {"listen": "tcp://127.0.0.1:1", "address": "here"}}}, "front.a.address", "tcp://host"),
        ("a", {"front": {"a": {"listen": "tcp://127.0.0.1:1", "watch": "x"}}}, "front.a.watch", "or none"),
        ("a", {"web": {}}, "web", "run ggp web club.toml beside the fronts"),
        ("a", {"lobby": {"keys": False, "challenges": 5}}, "lobby.challenges", "leave it out"),
        ("a", {"lobby": {"keys": False, "local_matches": True}}, "lobby.local_matches", "leave it out"),
    ],
)
def test_what_a_file_with_fronts_may_not_say(
    tmp_path: Path, front: str, more: dict[str, Any], key: str, advice: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        lobby_of({**FILE, **more}, tmp_path / "club.toml", front=front)
    assert key in str(raised.value) and advice in str(raised.value) and "\n" not in str(raised.value)
