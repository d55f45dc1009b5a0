"""Matchmaking: the rating of forfeits, back-off, limits on pairs of owners and on versions, and what is stored."""

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import zmq

from ggp.bots.random import make_choose
from ggp.bots.rng import BotRng
from ggp.bots.sdk import Bot
from ggp.protocol.responder import Responder
from ggp.referee.ladder.rating import rate_seats, rate_tally
from ggp.referee.ladder.store.store import Store
from ggp.referee.ratings.bradley_terry import MODELS, Counts, Priors
from ggp.referee.ratings.ratings import rate
from ggp.referee.server.lobby import matchmaking
from ggp.referee.server.lobby.limits import FREE, HOUR, LONGEST, Backoff, Frequency
from ggp.referee.server.lobby.log import EventLog
from ggp.referee.server.lobby.matchmaking import OFTEN, VERSIONS, Matchmaker, Registration
from ggp.referee.server.lobby.open_pairs import StoreWriter
from tests.support.cli import wait_until
from tests.support.dialled_bots import Dialled, DialledBots
from tests.support.lobby_server import LobbyProcess, lobby_file
from tests.support.memory_club import Club, connected_bot
from tests.support.stores import by_id, ladder, match, pool
from tests.system.test_lobby_return import under_way


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/club.db", create=True) as opened:
        yield opened


# -- ratings ---------------------------------------------------------------------------------------------------------


def test_a_lobby_rates_forfeits_as_losses(store: Store) -> None:
    """Ann and cat are equal; bob forfeits each of its twenty games against ann."""
    club = ladder(["ann", "bob", "cat"])
    row = store.enrol(club)["fast"]
    maker, writer = Matchmaker(club, club.pools[0], row, store), StoreWriter(store, EventLog(quiet=True))
    ids = {name: seat.id for (name, _), seat in maker.seats.items()}
    names = {id: name for name, id in ids.items()}

    def meet(*two: str, faults: bool) -> None:
        (pair,) = maker.pair({ids[name]: name for name in two})
        sides = names[pair.first], names[pair.second]
        for game in (0, 1):
            if faults:
                made = match(pair, game, sides.index("ann"), "illegal_move", names=sides)
            else:
                made = match(pair, game, game, names=sides)  # by the second seat
            for result in writer.add_now(made):
                maker.fix(result)

    def elo() -> dict[str, float]:
        rated = by_id(rate_seats(store.meetings(row), store.seats(row)))
        return {name: rated[id].elo for name, id in ids.items()}

    for _ in range(10):
        meet("ann", "cat", faults=False)
    before = elo()
    for _ in range(10):
        meet("ann", "bob", faults=True)
    after = elo()
    assert before["ann"] == pytest.approx(before["cat"], abs=0.01)
    assert after["bob"] < after["ann"] - 300, "bob has lost"
    played = [("ann", "cat", 0.0, 0.0, 10.0), ("cat", "ann", 0.0, 0.0, 10.0)]
    played += [("ann", "bob", 10.0, 0.0, 0.0), ("bob", "ann", 0.0, 0.0, 10.0)]
    counts = Counts.of(played, ("ann", "bob", "cat"))
    told = {one.name: one.elo for one in rate(counts, MODELS["davidson"], Priors()).standings()}
    assert after == pytest.approx(told, abs=1e-6)


@pytest.mark.parametrize(("rarely", "times"), [(1e9, 1), (0, 4)])
def test_a_newcomer_is_rated_soon_and_paired_before_where_ratings_take_long(
    rarely: float, times: int, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matchmaking, "_RARELY", rarely)
    monkeypatch.setattr(matchmaking, "_MANY", 0)
    club = ladder(["ann", "bob", "cat", "dan"])
    row = store.enrol(club)["fast"]
    maker = Matchmaker(club, club.pools[0], row, store)
    ids = {name: seat.id for (name, _), seat in maker.seats.items()}
    rated = list[int]()

    def counted(*of: Any) -> Any:
        rated.append(1)
        return rate_tally(*of)

    monkeypatch.setattr(matchmaking, "rate_tally", counted)
    for names in (("ann", "bob"), ("ann", "cat"), ("cat", "dan"), ("ann", "bob", "cat", "dan")):
        pairs = maker.pair({ids[name]: name for name in names})
        assert len(pairs) == len(names) // 2 and {one.first for one in pairs} <= {ids[name] for name in names}
    assert len(rated) == times, "the ratings are used until their time is over"


# -- backoff ---------------------------------------------------------------------------------------------------------


def test_backoff_grows_with_each_failure_and_a_game_resets_it() -> None:
    backoff = Backoff(60)
    assert [backoff.fault("a", 0) for _ in range(FREE)] == [0] * FREE
    assert [backoff.fault("a", 100) for _ in range(9)] == [60, 120, 240, 480, 960, 1920, LONGEST, LONGEST, LONGEST]
    assert backoff.left("a", 100 + LONGEST - 1) == 1 and backoff.left("a", 100 + LONGEST) == 0
    assert backoff.left("b", 100) == 0
    backoff.played("a")
    assert backoff.left("a", 100) == 0 and backoff.fault("a", 200) == 0
    assert [Backoff(0).fault("a", 0) for _ in range(5)] == [0] * 5


def test_remembered_backoffs_are_bounded() -> None:
    backoff = Backoff(60)
    for number in range(20_000):
        for _ in range(3):
            backoff.fault(str(number), 0)
    assert backoff.left("9999", 0) == 0 and backoff.left("10000", 0) == 60


# -- pairs -----------------------------------------------------------------------------------------------------------


def test_frequency_limit_lasts_an_hour() -> None:
    met = Frequency(2)
    met.add("b", "a", 10)
    assert not met.often(10)
    met.add("a", "b", 20)
    assert met.often(20) == {("a", "b")} and met.often(10 + HOUR - 1) and not met.often(10 + HOUR)


def test_pairs_of_two_owners_are_limited_while_others_are_connected(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(matchmaking, "monotonic", lambda: clock[0])
    club = ladder()
    maker = Matchmaker(club, club.pools[0], store.enrol(club)["fast"], store)
    names_by_id = {seat.id: name for (name, _), seat in maker.seats.items()}

    def meet(*names: str) -> set[frozenset[str]]:
        made = maker.pair({id: name for id, name in names_by_id.items() if name in names})
        return {frozenset((names_by_id[one.first], names_by_id[one.second])) for one in made}

    others = [("ann", "cat"), ("ann", "dan"), ("bob", "cat"), ("bob", "dan"), ("cat", "dan")]
    for two in others * OFTEN:
        meet(*two)
    clock[0] = HOUR + 1
    for _ in range(2 * OFTEN):
        assert meet("ann", "bob"), "no other bot is connected"
    assert not any({"ann", "bob"} in meet("ann", "bob", "cat", "dan") for _ in range(6))
    clock[0] += HOUR + 1
    assert any({"ann", "bob"} in meet("ann", "bob", "cat", "dan") for _ in range(60))


@pytest.mark.parametrize(("takes", "until"), [(0.001, 10.0), (0.1, 20.0), (60.0, 300.0)])
def test_ratings_for_pairing_are_cached(
    store: Store, monkeypatch: pytest.MonkeyPatch, takes: float, until: float
) -> None:
    """`takes`: seconds to compute them; `until`: when they are computed again."""
    clock, worked, made = [0.0], [0.0], []
    monkeypatch.setattr(matchmaking, "monotonic", lambda: clock[0])
    monkeypatch.setattr(matchmaking, "thread_time", lambda: worked[0])

    def rating(*of: Any) -> Any:
        made.append(clock[0])
        worked[0] += takes
        return rate_tally(*of)

    monkeypatch.setattr(matchmaking, "rate_tally", rating)
    club = ladder()
    maker = Matchmaker(club, club.pools[0], store.enrol(club)["fast"], store)
    names_by_id = {seat.id: name for (name, _), seat in maker.seats.items()}
    for clock[0] in (0.0, until / 2, until - 0.1, until + 0.1, until + 0.2):
        maker.pair(names_by_id)
    assert made == [0.0, until + 0.1]


# -- registration ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_versions_of_a_bot_are_limited(store: Store) -> None:
    writer = StoreWriter(store, EventLog(quiet=True))
    registration = Registration(ladder(()), store, writer)
    registration.load()
    writer.open()

    async def come(version: int, now: float) -> bool:
        """Whether it is entered."""
        bots = [connected_bot("bot", "ann", f"v{version}"), connected_bot("other", "ann")]
        return not await registration.enrol(bots, lambda: None, now)

    (row,) = {row.id for row in store.pools()}
    try:
        assert all([await come(number, float(number)) for number in range(VERSIONS + 1)])
        assert not await come(1000, 100.0)
        assert await come(VERSIONS, 101.0), "the version that it was last is entered"
        assert {seat.name for seat in store.seats(row)} == {"bot", "other"}
        assert "v1000" not in {seat.version for seat in store.seats(row)}
        assert await come(1001, HOUR + 2.0)
    finally:
        await writer.close()


# -- with a server ---------------------------------------------------------------------------------------------------


class SpoilingBot:
    """A bot in its own thread, which dials again after each goodbye; `byes` are the reasons."""

    def __init__(self, url: str, name: str, spoil: Callable[["SpoilingBot", str], str | None]) -> None:
        """`spoil`: an answer in place of the right one, to a line without its id; None: the right one."""
        self.byes: list[str] = []
        self._url, self._name, self._spoil = url, name, spoil
        self._left = False
        self._stop = threading.Event()
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def leave(self) -> None:
        """Cut the connection, and dial again."""
        self._left = True

    def close(self) -> None:
        self._stop.set()
        self._thread.join(60)
        self._context.destroy(linger=0)

    def _dial(self) -> Dialled:
        socket = self._context.socket(zmq.DEALER)
        socket.setsockopt(zmq.LINGER, 0)
        socket.connect(self._url)
        responder = Responder("spoiler", "1", Bot(make_choose(BotRng(1))).handlers())
        bot = Dialled(self._name, socket, responder, Bot(make_choose(BotRng(1))))
        bot.hello()
        return bot

    def _serve(self) -> None:
        bot = self._dial()
        while not self._stop.is_set():
            if not bot.socket.poll(50):
                continue
            kind, payload = bot.socket.recv_multipart()
            if kind == b"B":
                self.byes.append(payload.decode())
                self._left = True
            elif kind == b"C":
                number, line = re.findall(r"^(\d*) *(.*)$", payload.decode().strip())[0]
                if (spoilt := self._spoil(self, line)) is not None:
                    bot.socket.send_multipart([b"R", f"={number} {spoilt}\n\n".encode()])
                elif not self._left:
                    bot.responder.receive(payload)
                    while (answer := bot.responder.next_answer()) is not None:
                        bot.socket.send_multipart([b"R", answer])
            if self._left:
                bot.socket.close(linger=0)
                self._left = False
                self._stop.wait(0.1)
                bot = self._dial()


@pytest.mark.slow
def test_repeated_forfeits_start_a_backoff_with_its_length_in_the_reason(
    tmp_path: Path, dialled: list[DialledBots]
) -> None:
    server = LobbyProcess(lobby_file(tmp_path))
    dialled.append(DialledBots(server.url, "bob"))
    ann = SpoilingBot(server.url, "ann", lambda bot, line: "Z99" if line.startswith("genmove") else None)
    try:
        server.wait_for("game", 4, word="illegal_move")
        (rest, *_) = server.wait_for("rest", bot="ann")
        server.wait_for("refused", word="resting")
        wait_until(lambda: len(ann.byes) > 1)  # the server notes it before the word has come
    finally:
        ann.close()
    assert 115 <= rest["seconds"] <= 120, "two games without a back-off, then one for each"
    found = re.fullmatch(r"ann must wait (\d+) s: it forfeited or left 4 games in a row; come back then", ann.byes[0])
    assert found is not None and 115 <= int(found[1]) <= 120
    assert ann.byes[1].startswith("ann must wait 1"), "it is refused until then"
    server.end()
    with Store.open(f"sqlite:///{tmp_path}/club.db") as store:
        assert len(list(store.records())) == 4


@pytest.mark.slow
def test_bot_that_leaves_every_game_replays_it_until_it_is_suspended(
    tmp_path: Path, dialled: list[DialledBots]
) -> None:
    server = LobbyProcess(lobby_file(tmp_path, "grace = 0\nrest = 0"))
    dialled.append(DialledBots(server.url, "bob"))

    def dodge(bot: SpoilingBot, line: str) -> None:
        if line.startswith("ggp-new"):
            bot.leave()

    ann = SpoilingBot(server.url, "ann", dodge)
    try:
        voids = server.wait_for("void", 4, word="disconnected", culprit="ann")
        server.wait_for("unplayable")
    finally:
        ann.close()
    server.end()
    first = voids[0]["match"]
    assert [one["match"] for one in voids] == [first, f"{first}.1", f"{first}.2", f"{first}.3"]
    with Store.open(f"sqlite:///{tmp_path}/club.db") as store:
        rows = sorted(store.records(), key=lambda one: one[0].attempt)
        assert [(row.key, row.attempt, row.culprit) for row, _ in rows] == [
            (one["match"], attempt, "ann") for attempt, one in enumerate(voids)
        ], "every attempt is stored with its culprit"
        assert all("network: its connection was lost" in row.detail for row, _ in rows)
        (pool,) = store.pools()
        (seat,) = [seat for seat in store.seats(pool.id) if seat.name == "ann"]
        assert seat.suspended.startswith("made 4 of its last 100 games void, last: disconnected: ")


@pytest.mark.slow
def test_stopped_server_costs_no_bot_its_game(tmp_path: Path, dialled: list[DialledBots]) -> None:
    """For twice as long as a move may take."""
    server = LobbyProcess(lobby_file(tmp_path, control="0.5/move"))
    dialled.append(DialledBots(server.url, "ann", "bob", think=0.02))
    key = under_way(tmp_path, 4)
    os.kill(server.process.pid, signal.SIGSTOP)
    time.sleep(1.0)
    os.kill(server.process.pid, signal.SIGCONT)
    (game,) = server.wait_for("game", match=key)
    server.kill()
    assert game["word"] == "rules", game


# -- several pools -----------------------------------------------------------------------------------------------------


async def shares(store: Store, weights: dict[str, float], bots: dict[str, tuple[str, ...]]) -> dict[str, float]:
    """The pools' shares of two thousand pairs. Before each round, some matches end at random."""
    club = Club(store, [replace(pool(name, size=str(5 + at)), weight=weights[name]) for at, name in enumerate(weights)])
    for name, theirs in bots.items():
        club.come(name, pools=theirs)
    chance = Random(7)
    while len(club.met) < 2000:
        await club.look()
        club.release([one for one in club.playing if chance.random() < 0.7])
    return {name: sum(one[0] == name for one in club.met) / len(club.met) for name in weights}


@pytest.mark.slow
@pytest.mark.parametrize("number", [2, 8, 90])
async def test_pools_share_two_thousand_pairings_by_their_weights(store: Store, number: int) -> None:
    """Every bot plays in every pool. The first pool of the file gets no more than its share, whatever is idle."""
    weights = {"one": 1.0, "two": 1.0, "half": 0.5, "five": 5.0, "last": 2.5}
    bots = {f"b{at}": tuple(weights) for at in range(number)}
    for name, share in (await shares(store, weights, bots)).items():
        assert share == pytest.approx(weights[name] / 10, abs=0.02), name


@pytest.mark.slow
async def test_bots_of_one_pool_do_not_keep_the_others_from_their_share(store: Store) -> None:
    """Four bots play in both pools, four more in the first one alone: these get their games, and so does the second."""
    bots: dict[str, tuple[str, ...]] = {f"b{at}": ("main", "side") if at < 4 else ("main",) for at in range(8)}
    assert (await shares(store, {"main": 1.0, "side": 1.0}, bots))["side"] > 0.3
