"""People at the seats of `ggp web`, over HTTP, against a real lobby that runs the site itself."""

import contextlib
import http.client
import json
import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ggp.referee.server.web.guard import STREAMS
from tests.support.cli import Ggp, free_port, ggp, started, wait_until
from tests.support.lobby_server import LobbyProcess
from tests.support.seat_client import Refused, SeatClient, is_there, until_there

pytestmark = pytest.mark.slow

FILE = """\
[lobby]
listen = "{lobby}"
keys = false
engines = 1
pairing = 0.05
grace = 20
watch = "{watch}"
{web}
{pools}
[pool.rated]
game = "yugo,size=4"
control = "600+1"

[bot.random]
command = "random"
copies = 2
"""

POOL = """
[pool.{}]
game = "{}"
control = "600+1"
seats = true
{}
"""

WEB = """
[web]
listen = "127.0.0.1:{}"
nice = {}
"""


def pools(engines: Mapping[str, str] = {}, **games: str) -> str:
    """The tables of pools with seats, by their games; `engines`: the addresses of foreign ones."""
    engine = {name: f'engine = "{url}"' for name, url in engines.items()}
    return "".join(POOL.format(name, game, engine.get(name, "")) for name, game in games.items())


OURS = pools(small="yugo,size=3", tiles="taigo,tiles=6", bids="stigmergy,size=2")


class Club:
    """A lobby with a site, which it runs itself or which is a process of its own; `port` is the site's."""

    def __init__(self, folder: Path, own: bool = True, more: str = "", nice: int = 0) -> None:
        """more: tables of pools and bots; nice: of the site, relative to the lobby."""
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        lobby, watch = (f"tcp://127.0.0.1:{free_port()}" for _ in range(2))
        self.file = folder / "club.toml"
        text = FILE.format(lobby=lobby, watch=watch, pools=OURS, web=WEB.format(self.port, nice) if own else "")
        self.file.write_text(text + more, encoding="utf-8")
        self.start()
        self.site: Ggp | None = None
        if not own:
            words = ["--watch", watch, "--lobby", lobby, "--listen", f"127.0.0.1:{self.port}"]
            self.site = Ggp("web", str(self.file), *words)
        until_there(self.port)

    def start(self) -> None:
        self.lobby = LobbyProcess(self.file)
        self.lobby.wait_for("joined", bot="random")

    def keep(self) -> None:
        """Let it serve all tests of a module: without this the end of a test ends it."""
        started.remove(self.lobby)

    def end(self) -> None:
        self.lobby.process.terminate()
        self.lobby.wait(60)

    def child(self, name: str) -> int:
        """A process of the lobby's."""
        pid = self.lobby.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
        return next(int(one) for one in children if name.encode() in Path(f"/proc/{one}/cmdline").read_bytes())

    def kill_site(self) -> None:
        """SIGKILL; the lobby starts it again."""
        os.kill(self.child("ggp.referee.cli.web"), signal.SIGKILL)
        wait_until(lambda: not is_there(self.port))
        until_there(self.port)


@pytest.fixture(scope="module")
def club(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Club]:
    club = Club(tmp_path_factory.mktemp("club"))
    club.keep()
    yield club
    club.end()


def chooser(seed: int) -> Any:
    """Any legal move; the button and passes last, so that games have moves."""
    chance = Random(seed)

    def choose(position: dict[str, Any]) -> str:
        moves = [word for word, _ in position["moves"]]
        moves = [word for word in moves if word not in ("pass", "button")] or moves
        return str(chance.choice(moves))

    return choose


@pytest.mark.parametrize("pool", ["small", "tiles", "bids"])
def test_a_person_plays_a_whole_game_and_a_rematch_with_seats_exchanged(club: Club, pool: str) -> None:
    me = SeatClient(club.port)
    me.take(pool=pool, opponent="random")
    first = me.play(chooser(1), plies=2)
    assert first["game"].split()[0] in ("yugo", "taigo", "stigmergy") and first["opponent"] == "random"
    tab = SeatClient(club.port, me.cookie, me.id)  # a reload
    tab.visit(f"/seats/{me.id}")
    over = tab.play(chooser(2))
    assert over["phase"] == "over" and over["result"][0] in "BW0"
    tab.order("rematch")
    again = tab.until(lambda state: state["phase"] == "playing" and state["turn"] and state["ply"] > 0)
    assert again["ply"] >= 1  # the opponent acted first
    tab.order("resign")
    assert tab.until(lambda state: state["phase"] == "over")["result"].endswith("+R")

    def stored() -> str:
        return ggp("ladder", "games", str(club.file), "--pool", f"{pool}/unrated", "--json").out

    # The lobby stores a game a moment after it has told its players the result.
    wait_until(lambda: all(word in stored() for word in ("resignation", "rules")), 30, stored)


def test_two_people_play_by_a_link_which_works_once(club: Club) -> None:
    host, guest, third = SeatClient(club.port), SeatClient(club.port), SeatClient(club.port)
    host.take(pool="small", opponent="")
    invite = host.until(lambda state: state["phase"] == "inviting")["invite"]
    guest.take(invite=invite)
    with pytest.raises(Refused, match="404"):
        third.take(invite=invite)
    players = {True: host, False: guest}
    for ply in range(4):
        mover = players[ply % 2 == 0]
        state = mover.until(lambda state, ply=ply: state["turn"] and state["ply"] == ply)  # type: ignore[misc]
        assert state["colour"] == ("black", "white")[ply % 2] and state["opponent"] == "a person"
        mover.order("move", move=chooser(ply)(mover.position()), ply=ply)
    with pytest.raises(Refused, match="409"):
        players[False].order("move", move="A1", ply=0)
    guest.order("resign")
    host.until(lambda state: state["turn"])
    host.order("move", move=chooser(0)(host.position()), ply=4)
    for player in (host, guest):
        assert player.until(lambda state: state["phase"] == "over")["result"] == "B+R"


def test_seats_outlive_the_killed_process_of_the_site(club: Club) -> None:
    me, over, host, guest = (SeatClient(club.port) for _ in range(4))
    over.take(pool="bids", opponent="random")
    over.until(lambda state: state["turn"])
    over.order("resign")
    ended = over.until(lambda state: state["phase"] == "over" and state["result"])
    shown, browser = over.position(), over.states()
    next(browser)  # without a browser a seat that is over makes room
    host.take(pool="tiles", opponent="")
    invite = host.until(lambda state: state["phase"] == "inviting")["invite"]
    me.take(pool="small", opponent="random")
    before = me.play(chooser(3), plies=2)
    kept = club.file.with_suffix(".seats")
    assert kept.stat().st_mode & 0o777 == 0o600
    assert me.cookie.partition("=")[2] not in kept.read_text(encoding="utf-8"), "who reads the file has no seat by that"
    club.kill_site()
    again = me.until(lambda state: state["turn"] and state["ply"] >= before["ply"])
    assert (again["game"], again["colour"]) == (before["game"], before["colour"])
    assert me.play(chooser(4))["result"][0] in "BW0"
    same = over.until(lambda state: True)
    fields = ("phase", "result", "colour", "pool", "opponent", "ply", "last")
    assert [same[name] for name in fields] == [ended[name] for name in fields]
    assert over.position()["svg"] == shown["svg"]
    guest.take(invite=invite)
    club.kill_site()
    for player in (host, guest):
        assert player.until(lambda state: state["phase"] == "playing")["opponent"] == "a person"
    guest.order("resign")
    host.order("resign")
    for player in (host, guest):
        player.until(lambda state: state["phase"] == "over")


def test_a_bot_of_several_processes_is_one_opponent(club: Club) -> None:
    club.lobby.wait_for("joined", 2, bot="random")
    _, text = SeatClient(club.port).ask("GET", "/seats?format=json")
    names = [bot["name"] for bot in json.loads(text)["bots"]]
    assert "random" in names and names == sorted(set(names))


def test_a_bot_s_page_leads_to_a_match_against_it(club: Club) -> None:
    visitor = SeatClient(club.port)
    wait_until(lambda: 'href="../seats?opponent=random"' in visitor.ask("GET", "/bots/random.html")[1], 30)
    assert '<option value="random" selected>' in visitor.visit("/seats?opponent=random")
    text = visitor.visit("/seats?opponent=<b>")
    assert "&lt;b&gt;</bdi> is not at the lobby" in text and "selected" not in text


def test_a_site_of_a_lobby_alone_says_how_to_take_part(club: Club, tmp_path: Path) -> None:
    port, file = free_port(), tmp_path / "kept"
    words = ["--lobby", club.lobby.url, "--listen", f"127.0.0.1:{port}", "--seats-file", str(file)]
    site = Ggp("web", *words)
    until_there(port)
    visitor = SeatClient(port)
    assert f"ggp connect {club.lobby.url} --name my-bot" in visitor.ask("GET", "/take-part")[1]
    visitor.take(pool="small", opponent="random")
    assert visitor.id in file.read_text(encoding="utf-8")
    twin = Ggp("web", *words[:2], "--listen", f"127.0.0.1:{free_port()}", "--seats-file", str(file))
    assert twin.process.stderr and "another process uses" in twin.process.stderr.readline()
    for one in (site, twin):
        one.process.terminate()
        assert one.wait(20).status == 0


def test_only_the_page_of_the_seat_gives_orders(club: Club) -> None:
    me, other = SeatClient(club.port), SeatClient(club.port)
    me.take(pool="bids", opponent="random")
    state = me.until(lambda state: state["turn"])
    assert {word for word, _ in me.position()["moves"]} >= {"bid:0", "bid:8"}
    path, order = f"/seats/{me.id}/move", {"move": "bid:3", "ply": state["ply"]}
    other.visit()
    for wrong, status in (
        ({"x-csrf-token": "0" * 64}, 403),
        ({"x-csrf-token": other.csrf}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"host": "evil.example", "origin": "http://evil.example"}, 421),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-length": "20000"}, 413),
    ):
        with pytest.raises(Refused) as refused:
            me.ask("POST", path, order, **wrong)
        assert refused.value.status == status, wrong
    other.id = me.id
    for method, where, body in (
        ("POST", path, order),
        ("GET", f"/seats/{me.id}", None),
        ("GET", f"{path[:-5]}/events", None),
    ):
        with pytest.raises(Refused) as refused:
            other.ask(method, where, body)
        assert refused.value.status == 403
    with pytest.raises(Refused, match="405"):
        me.ask("POST", "/live", {})
    with pytest.raises(Refused, match="422"):
        me.order("move", move="Z99", ply=state["ply"])
    with pytest.raises(Refused, match="404"):
        me.take(pool="rated", opponent="random")
    assert me.until(lambda state: state["turn"])["ply"] == state["ply"]
    me.order("resign")
    me.until(lambda state: state["phase"] == "over")


def test_a_signal_ends_a_site_with_streams_and_a_seat_open(tmp_path: Path) -> None:
    club = Club(tmp_path, own=False)
    me = SeatClient(club.port)
    me.take(pool="small", opponent="random")
    states = me.states()
    assert any(state["turn"] for state in states)
    wait_until(lambda: "match/" in me.ask("GET", "/live")[1])
    match = me.ask("GET", "/live")[1].partition('href="match/')[2].partition('"')[0]
    streams = [http.client.HTTPConnection("127.0.0.1", club.port, timeout=60) for _ in range(STREAMS - 5)]
    for stream in streams:
        stream.request("GET", f"/match/{match}/stream")
    answers = [stream.getresponse() for stream in streams]
    assert {answer.readline() for answer in answers} == {b"retry: 2000\n"}
    assert club.site is not None
    club.site.process.send_signal(signal.SIGTERM)
    ended = club.site.wait(60)
    assert ended.status == 0 and ended.err.count("\n") == 1, ended.err
    for answer in answers:
        with contextlib.suppress(http.client.IncompleteRead):
            assert b"id: 0\n" in answer.read()
    with contextlib.suppress(http.client.IncompleteRead):
        assert all(state["phase"] == "playing" for state in states)
    club.lobby.process.kill()  # it would wait for the seat
    club.lobby.process.wait()
