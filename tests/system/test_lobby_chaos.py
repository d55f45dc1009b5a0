"""Sixty bots, a killed server, a network that fails: no match is lost, doubled, or decided by what it was not."""

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import bad_network
from tests.support.bad_network import HERE, THERE, LossyNetwork, LossyProxy
from tests.support.lobby_server import LobbyWithBots

SECONDS = 75.0
PLAIN = [[f"plain-{group}-{number}" for number in range(11)] for group in range(4)]
SDK = [f"sdk-{number}" for number in range(8)]
CONNECTED = [f"connected-{number}" for number in range(8)]
BENIGN = {"handshake", "greeting", "closing"}  # a flood of returns, connections cut in their first words, the end


@pytest.fixture
def club(tmp_path: Path) -> Iterator[list[LobbyWithBots]]:
    made: list[LobbyWithBots] = []
    yield made
    for one in made:
        one.close()


def nothing_but_the_rules(club: LobbyWithBots) -> None:
    """No bot is away for the grace or loses a tenth of its time here: games end by the rules only."""
    ended = club.check()
    assert set(ended) == {"rules"}, ended
    faults = [one for server in club.servers for one in server.events("fault", "unplayable")]
    refused = [one for server in club.servers for one in server.events("refused") if one["word"] not in BENIGN]
    assert not faults and not refused, (faults, refused)
    print(f"\n{ended.total()} games; {len(club.servers)} servers; {_counts(club)}")


def _counts(club: LobbyWithBots) -> dict[str, int]:
    events = [one["event"] for server in club.servers for one in server.events()]
    return {kind: events.count(kind) for kind in ("joined", "gone", "back", "replaced", "void", "game")}


@pytest.mark.long
@pytest.mark.parametrize("seed", [1])
def test_no_match_is_lost_doubled_or_misjudged(tmp_path: Path, club: list[LobbyWithBots], seed: int) -> None:
    chance = random.Random(seed)
    it = LobbyWithBots(tmp_path, "127.0.0.1", PLAIN, SDK, CONNECTED)
    club.append(it)
    it.serve()
    proxies = [LossyProxy(("127.0.0.1", it.port), seed=number) for number in range(4)]
    for number, proxy in enumerate(proxies):
        proxy.delay, proxy.jitter = 0.005 * number, 0.02 * number
    try:
        it.start_bots(*(proxy.url for proxy in proxies))
        it.server.wait_for("game", 5)
        end, kills = time.monotonic() + SECONDS, sorted(chance.uniform(5, SECONDS - 10) for _ in range(4))
        began, stalled = time.monotonic(), 0.0
        while time.monotonic() < end:
            time.sleep(chance.uniform(0.2, 1.5))
            if kills and time.monotonic() - began > kills[0]:
                kills.pop(0)
                it.server.kill()
                time.sleep(chance.uniform(0, 2))
                it.serve()
            elif (dice := chance.random()) < 0.5:
                chance.choice(proxies).cut(chance.random())
            elif dice < 0.7:
                it.kill_bots(chance.randrange(it.groups))
            elif dice < 0.8 and time.monotonic() > stalled:
                stalled = time.monotonic() + 22  # longer than heartbeats bear with
                proxies[-1].stalled = True
            if time.monotonic() > stalled:
                proxies[-1].stalled = False
        proxies[-1].stalled = False
        it.server.wait_for("game", 5)
        assert len(list(Path(f"/proc/{it.server.process.pid}/fd").iterdir())) < 60 + 60 + 100
        assert it.server.end().status == 0
    finally:
        for proxy in proxies:
            proxy.close()
    nothing_but_the_rules(it)
    assert all(server.running() == [] for server in it.servers)


@pytest.mark.long
@pytest.mark.parametrize("loss", [0.01, 0.05] if bad_network.available() else [])
def test_lost_and_late_packets_decide_nothing(tmp_path: Path, club: list[LobbyWithBots], loss: float) -> None:
    with LossyNetwork(loss, 0.05, 0.02, seed=int(loss * 100)) as network:
        it = LobbyWithBots(tmp_path, HERE, PLAIN[:1], SDK[:2], CONNECTED[:2])
        club.append(it)
        it.serve()
        it.start_bots(f"tcp://{THERE}:{it.port}")
        time.sleep(20)
        it.server.kill()
        it.serve()
        it.server.wait_for("game", 6)
        assert it.server.end().status == 0
        it.close()
        print(f"\n{network.passed} packets, {network.lost} lost, {network.sent_again()} sent again")
        assert network.lost and network.sent_again()
    nothing_but_the_rules(it)
