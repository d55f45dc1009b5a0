"""The matches of a lobby as a site shows them: how far they are, from the first look on."""

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from ggp.protocol.records import MatchStarted
from ggp.protocol.spectator_wire import LADDER, Begun, MatchHead, SpectatorState, topic_of
from ggp.referee.server.web.lobby_watch import LobbyWatch
from tests.support.cli import wait_until
from tests.support.spectator_publisher import SmallSpectatorServer, events

PATIENCE = 60
KEYS = [f"5feceb66-6b86b273-{number}-1" for number in (1, 2, 3)]
PLIES = 7


class RunningLobby(threading.Thread):
    """A lobby whose matches stand at ply 7; it knows of their plies only by their events, as a real one does."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.server = SmallSpectatorServer()
        self.begin: list[str] = []  # matches that are to begin
        self.followed: list[str] = []
        self.stopped = False

    def run(self) -> None:
        seq = 1
        state = SpectatorState(seq=seq, run="r", ladder="club", matches=(head(KEYS[0]),))
        while not self.stopped:
            for key in self.begin:
                self.server.say(topic_of(LADDER, ""), Begun(seq=seq, run="r", head=head(key)))
                seq += 1
            self.begin.clear()
            try:
                request = self.server.request(0.05)
            except AssertionError:
                continue
            if request.kind == LADDER:
                self.server.say(request.topic, state)
            else:
                self.followed.append(request.name)
                self.server.answer(request, [line for _, line in events(PLIES, request.name, ended=False)])
        self.server.close()


def head(key: str) -> MatchHead:
    (start, _), *_ = events(0, key, ended=False)
    assert isinstance(start, MatchStarted)
    return MatchHead(match=key, game=start.game, options=dict(start.options), bots=("ann", "bob"), started=key)


@pytest.fixture
def lobby() -> Iterator[RunningLobby]:
    lobby = RunningLobby()
    lobby.start()
    yield lobby
    lobby.stopped = True
    lobby.join(PATIENCE)


def test_a_board_stands_where_its_match_is_at_the_first_look(
    lobby: RunningLobby, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ggp.referee.server.web.lobby_watch._MOMENT", 20.0)
    monkeypatch.setattr("ggp.referee.server.web.lobby_watch._SETTLED", 0.5)
    with closing(LobbyWatch(lobby.server.url, "")) as watch:
        wait_until(lambda: watch._newest() != [], PATIENCE)
        assert lobby.followed == [], "nobody has looked yet"
        assert [(one.match, one.ply) for one in watch.heads()] == [(KEYS[0], PLIES)]
        lobby.begin.append(KEYS[1])
        wait_until(lambda: KEYS[1] in lobby.followed, PATIENCE)  # without a look, since there was one just now
        wait_until(lambda: [one.ply for one in watch.heads()] == [PLIES, PLIES], PATIENCE)
        watch._looked = -1e9
        lobby.begin.append(KEYS[2])
        wait_until(lambda: len(watch._newest()) == 3, PATIENCE)
        assert KEYS[2] not in lobby.followed, "nobody looks any more"
