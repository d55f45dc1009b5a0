"""A match at a lobby, followed in a browser through kill -9 of the site, of the spectator process and of the lobby."""

import contextlib
import http.client
import os
import signal
import threading
import time
from pathlib import Path

import pytest
import zmq

from tests.support.cli import wait_until
from tests.support.dialled_bots import dial
from tests.support.seat_client import Refused, SeatClient, until_there
from tests.system.test_web_seats import Club, chooser

pytestmark = pytest.mark.slow


class FollowingBrowser(threading.Thread):
    """A browser that follows a match: it asks again after each loss, by the number of the last event that it has."""

    def __init__(self, port: int, match: str) -> None:
        super().__init__(daemon=True)
        self.events: list[tuple[int, str]] = []
        self.losses = 0
        self._port, self._match = port, match

    def run(self) -> None:
        while not (self.events and self.events[-1][1] == "end"):
            with contextlib.suppress(OSError, http.client.HTTPException):
                self._follow()
            self.losses += 1
            time.sleep(0.3)

    def _follow(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        last = {"last-event-id": str(self.events[-1][0])} if self.events else {}
        connection.request("GET", f"/match/{self._match}/stream", headers=last)
        answer = connection.getresponse()
        number = -1
        while line := answer.readline():
            name, _, value = line.decode().strip().partition(": ")
            if name == "id":
                number = int(value)
            elif name == "event" and value in ("start", "ply", "end"):
                self.events.append((number, value))


def begun(club: Club) -> tuple[SeatClient, FollowingBrowser]:
    """A person who plays, and a browser that follows the match."""
    me = SeatClient(club.port)
    me.take(pool="small", opponent="random")
    assert me.until(lambda state: state["turn"])
    wait_until(lambda: "match/" in me.ask("GET", "/live")[1])
    follower = FollowingBrowser(club.port, me.ask("GET", "/live")[1].partition('href="match/')[2].partition('"')[0])
    follower.start()
    me.play(chooser(3), plies=2)
    wait_until(lambda: len(follower.events) >= 4)
    return me, follower


def check(follower: FollowingBrowser) -> None:
    """It has everything, once."""
    follower.join(180)
    numbers = [number for number, _ in follower.events]
    assert numbers == list(range(len(numbers))) and follower.events[-1][1] == "end"


def test_a_match_is_followed_through_kills_of_lobby_site_and_spectator_process(tmp_path: Path) -> None:
    club = Club(tmp_path)
    me, follower = begun(club)
    os.kill(club.child("ggp.referee.server.lobby.spectators"), signal.SIGKILL)
    me.play(chooser(4), plies=1)
    club.lobby.process.kill()
    club.lobby.process.wait()
    wait_until(lambda: follower.losses > 0)  # the site ended with its lobby
    club.start()
    until_there(club.port)
    os.kill(club.child("ggp.referee.cli.web"), signal.SIGKILL)
    check(follower)  # the seat was the site's: the lobby's grace ends the match
    club.end()


def test_the_site_of_a_lobby_is_nice_starts_again_and_nothing_else_takes_its_seats(tmp_path: Path) -> None:
    club = Club(tmp_path, nice=7)

    def checked() -> tuple[int, str]:
        """The site's process, and where it dials in."""
        site = club.child("ggp.referee.cli.web")
        nice, of_lobby = (os.getpriority(os.PRIO_PROCESS, pid) for pid in (site, club.lobby.process.pid))
        assert nice == of_lobby + 7
        words = Path(f"/proc/{site}/cmdline").read_bytes().decode().split("\0")
        inside = words[words.index("--lobby") + 1]
        assert Path(inside.removeprefix("ipc://")).parent.stat().st_mode & 0o077 == 0
        return site, inside

    site, inside = checked()
    club.kill_site()
    again, inside = checked()
    assert again != site
    me = SeatClient(club.port)
    me.take(pool="small", opponent="random")
    assert me.until(lambda state: state["turn"])
    lobby = next(
        line for line in club.file.read_text(encoding="utf-8").splitlines() if line.startswith("listen")
    ).split('"')[1]
    with zmq.Context[zmq.Socket[bytes]]() as context:
        for url in (inside, lobby):
            stranger = dial(context, url, "web-1")
            stranger.hello()
            assert stranger.socket.poll(10_000)
            assert stranger.socket.recv_multipart()[0] == b"B"
            stranger.socket.close(linger=0)
    assert me.play(chooser(6), plies=1)
    club.end()


def test_a_seat_and_a_follower_go_on_when_the_lobby_was_killed(tmp_path: Path) -> None:
    club = Club(tmp_path, own=False)
    me, follower = begun(club)
    club.lobby.process.kill()
    club.lobby.process.wait()
    wait_until(lambda: "The bot server is away" in me.ask("GET", "/live")[1])
    with contextlib.suppress(Refused):
        me.visit()
    assert me.until(lambda state: state["trouble"] != "")["phase"] == "playing"
    club.start()
    assert me.play(chooser(5))["result"]
    check(follower)
    began = time.monotonic()
    assert club.site is not None
    club.site.process.send_signal(signal.SIGTERM)
    club.site.process.wait(60)
    assert time.monotonic() - began < 10  # 2 s where the machine is free
    club.end()
