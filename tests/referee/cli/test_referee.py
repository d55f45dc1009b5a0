"""`ggp referee` and `ggp ladder run --control`: real ladders and series, several clients, and every way to end them."""

import os
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

import pytest

from ggp.protocol.records import read_records
from tests.support.chaos import chaos, chaos_command
from tests.support.cli import PYTHON, Client, Referee, ggp, on_stdin, read_facts, wait_until
from tests.support.ladders import check_whole, open_store, results, write_ladder

pytestmark = pytest.mark.slow

THINKER = chaos_command("fault=late,ms=600000,move=2")


@pytest.fixture
def referee(tmp_path: Path) -> Iterator[tuple[Referee, Client, Path]]:
    file = write_ladder(tmp_path)
    running = Referee(tmp_path, "referee", str(file), "--jobs", "1")
    client = running.client()
    yield running, client, file
    client.close()


def _games(file: Path) -> int:
    return len(results(file))


def test_a_ladder_is_inspected_paused_and_ended(referee: tuple[Referee, Client, Path]) -> None:
    running, client, file = referee
    # It begins.
    wait_until(lambda: int(client.facts("ggp-ladder")["stored"]) >= 8)
    said = client.facts("ggp-ladder")
    assert (said["name"], said["state"], said["workers"]) == ("ladder", "running", "1")
    lines = client.ask("ggp-standings main").splitlines()
    assert [read_facts(line)["rank"] for line in lines] == ["1", "2", "3"]
    assert {read_facts(line)["name"] for line in lines} == {"a", "b", "c"}
    assert "no pool other" in client.refused("ggp-standings other")
    assert "points=" in client.ask("ggp-crosstable")
    assert "joined a" in client.ask("ggp-events 5")
    # Paused: what is under way is finished, and nothing begins.
    client.ask("ggp-pause")
    seen = []

    def nothing_moves() -> bool:
        """The second game of a pair begins when the first is stored, so one check is not enough."""
        facts = client.facts("ggp-ladder")
        seen.append((facts["matches"], facts["stored"], str(_games(file))))
        return seen[-20:] == [("0", facts["stored"], facts["stored"])] * 20

    wait_until(nothing_moves)
    stored = _games(file)
    assert client.state() == "paused" and client.ask("ggp-matches") == ""
    assert client.facts("ggp-wait 0.3")["stored"] == str(stored)
    # A bot is suspended while nothing is played, and comes back.
    client.ask("ggp-suspend b too strong by far")
    assert "state=suspended" in client.ask("ggp-bots") and "reason=too strong by far" in client.ask("ggp-bots")
    assert "already" in client.refused("ggp-suspend b again")
    assert "no bot nobody" in client.refused("ggp-suspend nobody because")
    client.ask("ggp-readmit b")
    assert "suspended" not in client.ask("ggp-bots") and "no bot b" in client.refused("ggp-readmit b")
    # The file is read again.
    client.ask("ggp-reload")
    text = file.read_text(encoding="utf-8")
    file.write_text("nonsense", encoding="utf-8")
    assert "ladder.toml" in client.refused("ggp-reload")
    file.write_text(text.replace("random:seed=3", "random:seed=4"), encoding="utf-8")
    client.ask("ggp-reload")
    # It goes on, and ggp-wait is answered.
    change = client.facts("ggp-ladder")["change"]
    client.ask("ggp-resume")
    assert "not paused" in client.refused("ggp-resume")
    assert client.facts(f"ggp-wait 60 {change}")["change"] != change
    wait_until(lambda: int(client.facts("ggp-ladder")["stored"]) > stored)
    # What was played can be looked at.
    key = next(iter(results(file)))
    wait_until(lambda: client.facts(f"ggp-game {key}")["state"] == "over")  # it is stored a moment before
    facts = client.facts(f"ggp-game {key}")
    assert facts["key"] == key
    assert len(client.ask(f"ggp-history {key}").splitlines()) == int(facts["plies"])
    assert client.ask(f"showboard {key} 2") != client.ask(f"showboard {key}")
    assert client.ask(f"ggp-scene {key}").startswith("{")
    assert "no number" in client.refused(f"ggp-scene {key} 1000")
    # It ends.
    client.ask("ggp-stop after")
    ran = running.wait()
    assert ran.status == 0 and ran.out == "", ran.err
    check_whole(file)
    with open_store(file) as store:
        kinds = [event.kind for event in store.events()]
    assert {"paused", "resumed", "order", "stop", "suspended", "readmitted"} <= set(kinds)


def test_a_match_is_dropped_while_its_bot_thinks(tmp_path: Path) -> None:
    """The pair is given up, its finished game stays, no bot is at fault, and the ladder goes on."""
    file = write_ladder(tmp_path, "random", "random:seed=3", THINKER)
    running = Referee(tmp_path, "referee", str(file), "--jobs", "2")
    client = running.client()
    dropped = 0
    while dropped < 2:
        stuck = _thinking(client)
        client.ask(f"ggp-abort {stuck}")
        _wait_for_end_of(stuck, client)
        dropped += 1
    assert "no match nowhere-1" in client.refused("ggp-abort nowhere-1")
    client.ask("ggp-match yugo,size=3 a b games=2")
    client.ask("ggp-stop")
    assert running.wait().status == 0
    with open_store(file) as store:
        assert not store.totals().faults and not any(seat.suspended for seat in store.seats(1))
        assert [event.text for event in store.events() if event.kind == "aborted"]
        assert store.repair().lines == []


def _wait_for_end_of(key: str, client: Client) -> None:
    """The bot would think for ten minutes."""
    wait_until(lambda: key not in client.ask("ggp-matches"), 60)


def _thinking(client: Client) -> str:
    """A match of the thinker that does not move."""
    found: list[str] = []

    def look() -> bool:
        for line in client.ask("ggp-matches").splitlines():
            facts = read_facts(line)
            if (
                "c" in (facts["first"], facts["second"])
                and facts["ply"] not in ("-", "0")
                and float(facts["since"]) > 1
            ):
                found.append(facts["key"])
        return bool(found)

    wait_until(look)
    assert "state=playing" in client.ask(f"ggp-game {found[-1]}")
    return found[-1]


def test_killed_ladder_goes_on(tmp_path: Path) -> None:
    file = write_ladder(tmp_path)
    running = Referee(
        tmp_path, "ladder", "run", str(file), "--games", "40", "--jobs", "1", "--quiet", option="--control"
    )
    client = running.client()
    client.ask("ggp-match yugo,size=3 a b games=50")
    wait_until(lambda: int(client.facts("ggp-ladder")["stored"]) >= 4)
    client.ask("ggp-pause")
    os.killpg(running.process.pid, signal.SIGKILL)
    client.close()
    assert running.wait().status == -signal.SIGKILL
    # A pause is of one run, and so is a series that is not rated.
    again = Referee(tmp_path, "ladder", "run", str(file), "--games", "40", "--jobs", "1", "--quiet", option="--control")
    ran = again.wait()
    assert ran.status == 0, ran.err
    assert _games(file) == 40
    check_whole(file)


def test_signals_and_the_end_of_the_input(tmp_path: Path) -> None:
    file = write_ladder(tmp_path)
    with on_stdin("referee", str(file), "--jobs", "1") as process:
        out, err = process.communicate("1 name\n2 ggp-standings\nggp-nonsense\n3 ggp-ladder\n", timeout=120)
        assert process.returncode == 0, err
        assert out.startswith("=1 ggp-referee\n\n=2") and "? unknown command\n\n=3 name=ladder" in out
    with on_stdin("referee", str(file), "--jobs", "1") as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("ggp-wait 100 0\n")  # until it has begun
        process.stdin.flush()
        assert process.stdout.readline().startswith("= change=")
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 143
    check_whole(file)


def test_finished_ladder_waits_for_commands(tmp_path: Path) -> None:
    file = write_ladder(tmp_path)
    running = Referee(tmp_path, "referee", str(file), "--jobs", "1", "--games", "2")
    one, two = running.client(), running.client()
    wait_until(lambda: one.state() == "over")
    key = two.ask("ggp-match main a b games=2")
    assert one.facts(f"ggp-result {key} 60")["state"] == "over"
    assert _games(file) == 2
    one.channel.close()
    two.ask("quit")
    third = running.client()
    third.ask("ggp-stop")
    assert running.wait().status == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ladder.toml", "--bind", "tcp://0.0.0.0:5577"], "cannot listen at tcp://0.0.0.0:5577"),
        (["nothing.toml"], "nothing.toml"),
        (["--games", "4"], "name its file"),
        (["ladder.toml", "--until", "soon"], "--until soon"),
    ],
)
def test_invalid_command_lines(words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_ladder(tmp_path)
    monkeypatch.chdir(tmp_path)
    ran = ggp("referee", *words)
    assert ran.status == 2 and said in ran.err and len(ran.err.splitlines()) == 1, ran.err


# -- without a ladder --------------------------------------------------------------------------------------------------


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    running = Referee(tmp_path, "referee", "--jobs", "2")
    client = running.client()
    yield client
    client.ask("ggp-stop")
    client.close()
    assert running.wait().status == 0


def test_series_without_a_ladder(client: Client, tmp_path: Path) -> None:
    assert client.state() == "idle"
    assert "no ladder" in client.refused("ggp-standings") and "no ladder" in client.refused("ggp-pause")
    assert "yugo" in client.ask("ggp-games").split() and client.ask("ggp-options yugo").startswith("size int")
    # Words are split as by a shell; invalid ones are refused before a match begins.
    assert "ggp-match GAME" in client.refused("ggp-match yugo random")
    assert "quot" in client.refused("ggp-match yugo random 'random")
    assert "does not know the game 'chess'" in client.refused("ggp-match chess random random")
    assert "size" in client.refused("ggp-match yugo,size=1000 random random")
    assert "games=0" in client.refused("ggp-match yugo random random games=0")
    assert client.facts("ggp-ladder")["state"] == "idle"
    # A series with a record, by a command line in quotes.
    record = tmp_path / "games.jsonl"
    other = quote(f"other={PYTHON} -P -m ggp.bots random")
    line = f"ggp-match yugo,size=3 random {other} games=4 time=none record={record}"
    key = client.ask(line)
    result = client.facts(f"ggp-result {key} 120")
    assert result["state"] == "over" and result["played"] == "4" and result["second"] == "other"
    assert int(result["wins"]) + int(result["losses"]) + int(result["draws"]) == 4
    with record.open("rb") as file:
        keys = [one.start.match for one in read_records(file)]
    assert sorted(keys) == [f"{key}-{number}" for number in range(1, 5)]
    assert client.facts(f"ggp-game {key}-1")["termination"] == "rules"
    assert client.ask(f"showboard {key}-1 1") != client.ask(f"showboard {key}-1")
    # The same line again is another series, unless the seed says that it is the same.
    assert client.ask("ggp-match yugo,size=3 random random") != client.ask("ggp-match yugo,size=3 random random")
    assert "choose another seed" in client.refused(f"{line} seed=1")
    assert "no series" in client.refused("ggp-result nothing")


def test_match_of_a_thinking_bot_is_aborted(client: Client) -> None:
    key = client.ask(f"ggp-match yugo,size=3 {shlex.quote(THINKER)} random games=3 time=none")
    wait_until(lambda: any(read_facts(line)["ply"] not in ("0", "-") for line in _lines(client, "ggp-matches")))
    playing = [read_facts(line) for line in _lines(client, "ggp-matches") if " ply=-" not in line]
    assert client.facts(f"ggp-game {playing[0]['key']}")["state"] == "playing"
    assert len(_lines(client, f"ggp-history {playing[0]['key']}")) >= 1
    # One match, then the rest of the series.
    client.ask(f"ggp-abort {playing[0]['key']}")
    wait_until(lambda: client.facts(f"ggp-result {key}")["void"] == "1", 10)
    client.ask(f"ggp-abort {key}")
    assert client.facts(f"ggp-result {key} 10")["state"] == "aborted"
    wait_until(lambda: client.state() == "idle", 10)
    assert "no match" in client.refused(f"ggp-abort {key}")
    # The workers play on.
    other = client.ask("ggp-match yugo,size=3 random random")
    assert client.facts(f"ggp-result {other} 120")["played"] == "2"


def _lines(client: Client, line: str) -> list[str]:
    return client.ask(line).splitlines()


def test_a_bot_that_does_not_start(client: Client) -> None:
    key = client.ask(f"ggp-match yugo,size=3 {shlex.quote(chaos('fault=crash,when=start'))} random")
    said = client.ask(f"ggp-result {key} 60")
    assert "state=failed" in said and "reason=chaos" in said


def test_stop_after_finishes_the_series(tmp_path: Path) -> None:
    running = Referee(tmp_path, "referee", "--jobs", "1")
    client, record = running.client(), tmp_path / "games.jsonl"
    client.ask(f"ggp-match yugo,size=3 random random games=8 time=none record={record}")
    client.ask("ggp-stop after")
    assert "stopping" in client.refused("ggp-match yugo random random")
    client.close()
    assert running.wait().status == 0
    with record.open("rb") as file:
        assert sum(1 for _ in read_records(file)) == 8


def test_commands_over_a_pipe() -> None:
    with on_stdin("referee", "--jobs", "1") as process:
        out, err = process.communicate("ggp-match yugo,size=3 random random games=2\nquit\nname\n", timeout=120)
    assert process.returncode == 0 and err == ""
    assert len(out.split("\n\n")) == 3 and out.endswith("\n\n=\n\n")


def test_clients_over_tcp_start_no_programs() -> None:
    with on_stdin("referee", "--bind", "tcp://127.0.0.1:*") as process:
        assert process.stderr is not None
        client = Client(process.stderr.readline().split()[-1])
        assert "every user of this machine may control and stop this over tcp" in process.stderr.readline()
        for url in ("tcp://192.0.2.1:22", "tcp://example.org:80", "ipc:///run/some.sock"):
            assert "standard input or over ipc://" in client.refused(f"ggp-match yugo {url} random"), url
        assert "standard input or over ipc://" in client.refused("ggp-match yugo 'sh -c true' random")
        assert "write no files" in client.refused("ggp-match yugo random random record=x.jsonl")
        client.ask("ggp-stop")
        client.close()
        assert process.wait(60) == 0
