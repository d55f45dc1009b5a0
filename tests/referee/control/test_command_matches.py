"""A referee without a ladder plays what it is asked for: series, their results and records; and drops them."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from protocol.records import read_records
from tests.support.cli import Client, Referee, on_stdin, read_facts, wait_until

pytestmark = pytest.mark.slow

THINKER = "chaos:fault=late,ms=600000,move=2"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    running = Referee(tmp_path, "referee", "--jobs", "2")
    client = running.client()
    yield client
    client.ask("ggp-stop")
    client.close()
    assert running.wait().status == 0


def test_series(client: Client, tmp_path: Path) -> None:
    assert client.state() == "idle"
    assert "no ladder" in client.refused("ggp-standings") and "no ladder" in client.refused("ggp-pause")
    assert "yugo" in client.ask("ggp-games").split() and client.ask("ggp-options yugo").startswith("size int")
    # Words are a shell's; what cannot be is said before anything is played.
    assert "ggp-match GAME" in client.refused("ggp-match yugo random")
    assert "quot" in client.refused("ggp-match yugo random 'random")
    assert "no game 'chess'" in client.refused("ggp-match chess random random")
    assert "size" in client.refused("ggp-match yugo,size=1000 random random")
    assert "games=0" in client.refused("ggp-match yugo random random games=0")
    assert client.facts("ggp-ladder")["state"] == "idle"
    # A series with a record, by a command line in quotes.
    record = tmp_path / "games.jsonl"
    line = f"ggp-match yugo,size=3 random 'other={sys.executable} -P -m bots random' games=4 time=none record={record}"
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
    key = client.ask(f"ggp-match yugo,size=3 {THINKER} random games=3 time=none")
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
    key = client.ask("ggp-match yugo,size=3 chaos:fault=crash,when=start random")
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


def test_over_a_pipe() -> None:
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
