"""`ggp bot llm` as a process in whole matches: six games with a scripted model, an engine of others, keys, ends."""

import json
import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ggp.protocol.records import read_records
from tests.support import ROOT
from tests.support.cli import Ggp, ggp, wait_until
from tests.support.model_endpoint import Fault, ModelEndpoint, Scripted, completion, legal_moves, naming

pytestmark = [pytest.mark.slow, pytest.mark.needs("httpx")]

GAMES = ("go,size=5", "laido,size=2", "stigmergy,size=3", "taigo", "taugo,size=6", "yugo,size=4")
KEY = "sk-thisisthekey0123456789"
VARIABLE = "GGP_TEST_MODEL_KEY"
FOREIGN = ROOT / "tests" / "third_party" / "tictactoe.py"


def model(url: str, *words: str) -> str:
    program = Path(sys.executable).parent / "ggp"
    return shlex.join([str(program), "bot", "llm", "--model", "fake", "--url", url, "--legal", "list", *words])


def row(table: str) -> list[str]:
    head, *rows = table.splitlines()
    assert head.split()[:3] == ["bot", "model", "legal"]
    (only,) = rows
    return only.split()


@pytest.mark.parametrize("game", GAMES)
def test_a_whole_game_has_the_counts_of_the_script(game: str, tmp_path: Path) -> None:
    """Of seven questions the second is answered by an illegal move and the fifth by no move."""
    counts: Counter[str] = Counter()
    tokens: Counter[str] = Counter()

    def script(messages: list[dict[str, Any]]) -> Scripted:
        counts["answers"] += 1
        tokens["in"] += (used := 10 + counts["answers"])
        tokens["out"] += 3
        usage = {"prompt_tokens": used, "completion_tokens": 3}
        if counts["answers"] % 7 == 2:
            counts["illegal"] += 1
            return completion(naming("Z99"), usage=usage)
        if counts["answers"] % 7 == 5:
            counts["unread"] += 1
            return completion("Let me think about that.", usage=usage)
        legal = legal_moves(messages)
        counts["moves"] += 1
        return completion(naming(legal[counts["moves"] % len(legal)]), usage=usage)

    record = tmp_path / "games.jsonl"
    with ModelEndpoint(script) as endpoint:
        bot = model(endpoint.url, "--price", "1/2")
        ran = ggp(
            *("match", game, bot, "random", "--games", "1", "--record", str(record), "--time", "none"),
            *("--max-plies", "60"),
        )
    assert ran.status == 0, ran.err
    name, model_name, legal, games, moves, answers, illegal, unread, rate, failed, sent, got, cost, _ = row(
        ggp("export", "--table", str(record)).out
    )
    assert (name, model_name, legal, games, failed) == ("llm", "fake", "list", "1", "0")
    said = {"moves": int(moves), "answers": int(answers), "illegal": int(illegal), "unread": int(unread)}
    assert said == dict(counts) | {key: 0 for key in said if key not in counts}
    assert rate == f"{100 * (counts['illegal'] + counts['unread']) / counts['answers']:.1f}%"
    assert (int(sent), int(got)) == (tokens["in"], tokens["out"])
    assert float(cost) == pytest.approx((tokens["in"] + 2 * tokens["out"]) / 1e6, rel=0.001)
    lines = [json.loads(line) for line in ggp("export", "--transcript", str(record)).out.splitlines()]
    assert len(lines) == counts["answers"]
    for line in lines:
        assert not line["played"] or line["named"].upper() == line["played"].upper() or "dead:" in line["played"]


def test_a_game_of_an_engine_of_its_own(tmp_path: Path) -> None:
    record = tmp_path / "games.jsonl"
    engine = shlex.join([sys.executable, "-m", "ggp.engines", str(FOREIGN)])
    with ModelEndpoint(lambda messages: naming(legal_moves(messages)[0])) as endpoint:
        bot = model(endpoint.url)  # the match names the engine to it
        ran = ggp("match", "--engine", engine, "tictactoe", bot, "random", "--games", "2", "--record", str(record))
        system = endpoint.asked[0]["messages"][0]["content"]
    assert ran.status == 0 and "ended by: rules 2" in ran.out, ran
    assert system.startswith("You play tictactoe")


@pytest.mark.parametrize("fault", ["401", "echo"])
def test_a_key_is_nowhere(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in the record, what is printed, the dialogue or a version, whatever the endpoint repeats."""
    monkeypatch.setenv(VARIABLE, KEY)
    record = tmp_path / "games.jsonl"

    def script(messages: list[dict[str, Any]]) -> Scripted:
        if fault == "401":
            return Fault("status", 401, json.dumps({"error": {"message": f"no such key: {KEY}"}}))
        return f"You sent {KEY}. {naming(legal_moves(messages)[0])}"

    with ModelEndpoint(script) as endpoint:
        bot = model(endpoint.url, "--key-env", VARIABLE)
        ran = ggp("match", "yugo,size=3", bot, "random", "--games", "2", "--record", str(record), "--verbose=all")
        assert {*endpoint.keys} == {f"Bearer {KEY}"}
    assert ran.status == 0, ran.err
    assert KEY not in ran.out + ran.err + record.read_text(encoding="utf-8") and "(the key)" in record.read_text(
        encoding="utf-8"
    )
    for found in read_records(record.read_bytes().splitlines(keepends=True)):
        assert found.end and (found.end.termination == "refused") == (fault == "401")


def test_a_missing_key_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    ran = ggp("bot", "llm", "--model", "m", "--url", "http://127.0.0.1:1/v1", "--key-env", VARIABLE)
    assert (ran.status, ran.err) == (
        2,
        f"ggp bot: llm: {VARIABLE} is not set: export it before you start the bot\n",
    )


@pytest.mark.parametrize("kind", ["hang", "cut", "status", "endless"])
def test_an_endpoint_that_fails_in_its_game_costs_that_game(kind: str, tmp_path: Path) -> None:
    record = tmp_path / "games.jsonl"
    with ModelEndpoint(lambda messages: Fault(kind, 500)) as endpoint:
        ran = ggp(
            *("match", "yugo,size=3", model(endpoint.url, "--seconds", "0.5"), "random", "--games", "1"),
            *("--jobs", "1", "--time", "60", "--record", str(record)),  # far more than five requests take
        )
    assert ran.status == 0, ran.err
    (found,) = read_records(record.read_bytes().splitlines(keepends=True))
    assert found.end and found.end.termination == "refused" and "the endpoint" in found.end.detail
    assert json.loads(found.end.analysis)["answers"][0]["failed"].startswith("the endpoint")


def test_it_ends_while_it_waits_for_an_answer() -> None:
    """The referee kills it in its wait; the endpoint's silence holds nothing up."""
    with ModelEndpoint(lambda messages: Fault("hang")) as endpoint:
        match = Ggp("match", "yugo,size=3", model(endpoint.url), "random", "--games", "1", "--time", "none")
        wait_until(lambda: bool(endpoint.asked))
        match.process.terminate()
        assert match.wait(60).status != 0
