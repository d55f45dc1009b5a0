"""`ggp watch` on a lobby: lines, JSON, errors."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from click import ClickException

from ggp.protocol.spectator_wire import Begun, MatchHead, Roll, SpectatorState
from ggp.protocol.transports.spectator import Spectator
from ggp.referee.cli.watch import find, list_matches, listing, newest
from tests.support.cli import Ggp, ggp, wait_until
from tests.system.test_spectator_server import WatchedLobby

pytestmark = pytest.mark.slow

HEADS = [
    MatchHead(
        match=f"a-{number}", game="yugo", options={"size": "5"}, bots=("ann", bot), control="1+1", started=str(number)
    )
    for number, bot in enumerate(["bob", "cid", "eve"])
]


@pytest.fixture
def roll() -> Roll:
    found = Roll()
    found.take(SpectatorState(seq=1, run="a", ladder="club", matches=tuple(HEADS)))
    return found


def test_a_part_of_a_name_means_a_match(roll: Roll) -> None:
    assert find("-1", roll) == "a-1" and find("a-2", roll) == "a-2" and find("ended", roll) == "ended"
    with pytest.raises(ClickException, match="may mean 3 matches"):
        find("a", roll)


def test_a_list_without_an_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.referee.cli.watch.PATIENCE", 0.2)
    with Spectator("tcp://127.0.0.1:1") as there, pytest.raises(ClickException) as ended:
        list_matches(there)
    assert "tcp://127.0.0.1:1: no" in ended.value.message and "trying" not in ended.value.message


def test_the_newest_match_is_shown_or_that_of_a_bot(roll: Roll) -> None:
    assert newest(roll, "") == "a-2" and newest(roll, "bob") == "a-0" and newest(roll, "fay") == ""
    begun = MatchHead(match="b-1", game="go", bots=("fay", "bob"), started="9")
    roll.take(Begun(seq=1, run="a", head=begun))
    assert newest(roll, "fay") == newest(roll, "") == "b-1"


def test_running_matches_are_listed_newest_first_without_control_characters(roll: Roll) -> None:
    assert listing(roll).splitlines()[0] == "a-2  yugo size=5  1+1  ann - eve"
    assert listing(roll, most=1).splitlines()[1:] == ["… 2 more"]
    assert listing(Roll()) == "no match is under way"
    evil = MatchHead(match="x", game="go", bots=("\x1b[2Jann", "bob"))
    roll.take(Begun(seq=1, run="a", head=evil))
    assert "ann" in listing(roll) and "\x1b" not in listing(roll)


@pytest.fixture
def club(tmp_path: Path) -> Iterator[WatchedLobby]:
    opened = WatchedLobby(tmp_path, "drain = 0", think=0.03)
    yield opened
    opened.close()


def under_way(club: WatchedLobby) -> str:
    """The name of a match, by `--list`."""
    found: list[str] = []

    def listed() -> bool:
        ran = ggp("watch", club.url, "--list")
        assert ran.status == 0 and not ran.err
        found[:] = [line.split()[0] for line in ran.out.splitlines() if "ann" in line]
        return bool(found)

    wait_until(listed)
    return found[0]


def test_in_a_pipe_a_ply_is_a_line_and_json_is_the_record(club: WatchedLobby) -> None:
    key = under_way(club)
    lines, as_json = Ggp("watch", club.url, key), Ggp("watch", club.url, key, "--json")
    told, said = lines.wait(), as_json.wait()
    assert told.status == 0 and said.status == 0
    stored = club.stored(key)
    first, *plies, last = told.out.splitlines()
    assert first.startswith(f"{key}: yugo size=5, 60+1, ") and last.startswith(f"{key} over: ")
    assert [line.split()[2] for line in plies] == [getattr(event, "move", "") for event in stored[1:-1]]
    of_match = [json.loads(line) for line in said.out.splitlines() if '"match":' in line]
    assert [one["event"] for one in of_match if one["event"] in ("start", "ply", "end")] == [
        "start", *["ply"] * len(plies), "end",
    ]  # fmt: skip
    nobody = ggp("watch", club.url, "nobody-knows")
    assert nobody.status == 2 and "knows no match nobody-knows" in nobody.err


def test_no_listener_is_reported_and_it_goes_on_trying() -> None:
    running = Ggp("watch", "tcp://127.0.0.1:1")
    assert running.process.stderr
    line = running.process.stderr.readline()
    assert "nothing is listening at this address; is the lobby running (ggp serve)" in line
    running.process.send_signal(signal.SIGINT)
    assert running.wait().status == 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["tcp://192.0.2.1:7712"], "is another machine: give its public key"),
        (["tcp://127.0.0.1"], "write tcp://host:port"),
        (["a", "b"], "write ggp watch"),
        (["a", "--bot", "b"], "not both"),
        (["--server-key", "x"], "neither a public key"),
    ],
)
def test_invalid_requests_are_reported(arguments: list[str], reason: str) -> None:
    ran = ggp("watch", *arguments)
    assert ran.status == 2 and reason in ran.err and not ran.out
