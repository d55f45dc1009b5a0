"""The endpoint of a model that is away, busy, slow or lies: what is tried again, and what the bot hears in the end."""

import json
import re
import time
from collections.abc import Iterator
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from ggp.bots.adapters import endpoint as endpoints
from ggp.bots.adapters.endpoint import MAX_BODY, TRIES, Endpoint, EndpointFailed, ModelAnswer
from tests.support.cli import free_port
from tests.support.model_endpoint import Fault, ModelEndpoint, Scripted, completion

pytestmark = pytest.mark.needs("httpx")

HELLO = [{"role": "user", "content": "hello"}]
KEY = "sk-0123456789abcdef"
GOOD = completion("hi")


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "FIRST_WAIT", 0.01)


@pytest.fixture
def asked() -> Iterator[Any]:
    """Asks a scripted endpoint once; the endpoint, and what came of it."""
    running: list[Any] = []

    def ask(*answers: Scripted, seconds: float = 30.0, longest: float = 30.0, **more: Any) -> tuple[ModelEndpoint, Any]:
        server = ModelEndpoint(answers)
        client = Endpoint(server.url, {"model": "m"}, **more)
        running.extend((server, client))
        try:
            return server, client.ask(HELLO, seconds, longest)
        except EndpointFailed as failed:
            return server, failed

    yield ask
    for server, client in zip(running[::2], running[1::2], strict=True):
        client.close()
        server.__exit__()


def test_a_question_and_its_answer(asked: Any) -> None:
    server, answer = asked("B2", key=KEY)
    assert answer == ModelAnswer("B2", False, 100, 7, False, 1)
    assert server.asked == [{"model": "m", "messages": HELLO}] and server.keys == [f"Bearer {KEY}"]


def test_without_a_key_no_header_is_sent(asked: Any) -> None:
    assert asked("B2")[0].keys == [""]


@pytest.mark.parametrize(
    ("response", "text"),
    [
        (completion([{"type": "text", "text": "A"}, {"type": "image"}, {"type": "text", "text": "1"}]), "A1"),
        (completion(None), ""),
        ({"choices": [{"message": {"content": None, "refusal": "I will not"}}]}, "I will not"),
        (completion("half", finish_reason="length"), "half"),
        (completion(f"the header was Bearer {KEY}"), "the header was Bearer (the key)"),
        (completion("x" * 1_000_000), "x" * 1_000_000),
        (completion("A1 \ud800 ü 碁"), "A1 ? ü 碁"),
    ],
)
def test_contents_of_all_kinds(response: dict[str, Any], text: str, asked: Any) -> None:
    _, answer = asked(response, key=KEY)
    assert answer.text == text and answer.cut == (text == "half")


@pytest.mark.parametrize(
    "usage", [None, {}, 7, {"prompt_tokens": -1, "completion_tokens": "7"}, {"prompt_tokens": 10**12}, {"x": [1]}]
)
def test_tokens_that_are_not_said_are_estimated(usage: Any, asked: Any) -> None:
    _, answer = asked(completion("12345678", usage=usage))
    assert answer.estimated and answer.tokens_out == 3 and 5 < answer.tokens_in < 50


@pytest.mark.parametrize(
    "fault",
    [
        Fault("status", 500),
        Fault("status", 502, "<html>"),
        Fault("status", 503),
        Fault("status", 529),
        Fault("status", 408),
        Fault("status", 429, "", (("Retry-After", "0"),)),
        Fault("status", 429, '{"error": {"message": "slow down"}}'),
        Fault("cut"),
        Fault("close"),
        Fault("gzip"),
        Fault("raw", 200, ""),
        Fault("raw", 200, "<html>busy</html>"),
        Fault("raw", 200, "null"),
        Fault("raw", 200, '{"choices": []}'),
        Fault("raw", 200, '{"choices": [{"message": "B2"}]}'),
        Fault("raw", 200, '{"choices": [{"message": {"content": 7}}]}'),
        Fault("raw", 200, '{"choices": {"message": {}}}'),
        Fault("raw", 200, "[" * 100_000),
        Fault("raw", 200, '{"choices": [{"message": {"content": {"a": 1}}}]}'),
    ],
)
def test_what_passes_is_tried_again_and_told_once(fault: Fault, asked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    server, answer = asked(fault, fault, "B2")
    assert (answer.text, answer.tries, len(server.asked)) == ("B2", 3, 3)
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and told.startswith("llm: the endpoint") and told.endswith("; retrying\n")


def test_what_does_not_pass_is_given_up(asked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    server, failed = asked(*[Fault("status", 500, '{"error": "no\\nGPU"}')] * 9)
    assert str(failed) == f"the endpoint answers 500: no GPU, {TRIES} times"
    assert failed.tries == len(server.asked) == TRIES


@pytest.mark.parametrize("status", [301, 400, 401, 402, 403, 404, 405, 422, 501])
def test_what_cannot_pass_is_not_tried_again(status: int, asked: Any) -> None:
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}\x1b[2J"}})
    server, failed = asked(Fault("status", status, body, (("Location", "http://127.0.0.1:9/"),)), key=KEY)
    assert str(failed).startswith(f"the endpoint answers {status}: Incorrect API key provided: (the key)")
    assert str(failed).isprintable() and len(server.asked) == 1


def test_a_key_at_the_place_where_a_reason_is_cut_is_not_half_told(asked: Any) -> None:
    for before in (150, 185, 195):
        body = json.dumps({"error": {"message": "x" * before + f" {KEY} is wrong"}})
        _, failed = asked(Fault("status", 401, body), key=KEY)
        assert KEY[:3] not in str(failed) and "x" * before in str(failed)


def test_an_endpoint_that_is_away(capsys: pytest.CaptureFixture[str]) -> None:
    client = Endpoint(f"http://127.0.0.1:{free_port()}/v1", {"model": "m"})
    with pytest.raises(EndpointFailed, match=f"cannot be reached: .*, {TRIES} times"):
        client.ask(HELLO, 30, 30)
    client.close()
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("kind", ["hang", "drip"])
def test_an_endpoint_that_hangs_costs_no_more_than_the_time(kind: str, asked: Any) -> None:
    began = time.monotonic()
    server, failed = asked(Fault(kind), seconds=0.5)
    assert re.fullmatch(r"the endpoint did not answer within 0\.\d+ s: no time is left", str(failed))
    assert 0.4 < time.monotonic() - began < 20 and len(server.asked) == 1


def test_a_request_that_takes_too_long_is_made_again_on_a_new_connection(asked: Any) -> None:
    server, answer = asked(Fault("hang"), "B2", longest=0.3)
    assert answer.text == "B2" and len(server.asked) == 2


def test_an_endless_answer_is_cut(asked: Any) -> None:
    _, answer = asked(Fault("endless"), "B2")
    assert answer.text == "B2" and MAX_BODY < 10**8


def test_the_patience_that_it_asks_for_is_kept(asked: Any) -> None:
    server, answer = asked(Fault("status", 429, "", (("Retry-After", "0.4"),)), "B2")
    assert answer.tries == 2 and server.times[1] - server.times[0] >= 0.4


def test_an_endpoint_that_asks_for_no_patience_is_asked_less_and_less_often(
    asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    clock = SimpleNamespace(monotonic=time.monotonic, time=time.time, sleep=pauses.append)
    monkeypatch.setattr(endpoints, "time", clock)
    asked(*[Fault("status", 429, "", (("Retry-After", "0"),))] * 6, "B2")
    assert len(pauses) == 6 and all(later > 1.4 * sooner for sooner, later in pairwise(pauses))


def test_requests_that_were_taken_up_and_not_answered_are_counted(asked: Any) -> None:
    _, answer = asked(Fault("hang"), Fault("cut"), Fault("status", 500), Fault("status", 429), "B2", longest=0.5)
    assert answer.tries == 5 and 20 < answer.lost < 60 and answer.lost % 2 == 0
    _, failed = asked(Fault("hang"), seconds=0.3)
    assert 10 < failed.lost < 30
    _, failed = asked(Fault("status", 401))
    assert failed.lost == 0


def test_patience_beyond_the_clock_is_no_wait(asked: Any) -> None:
    began = time.monotonic()
    server, failed = asked(Fault("status", 429, "", (("Retry-After", "3600"),)), seconds=60)
    assert str(failed) == "the endpoint answers 429 and asks to wait 3600 s: no time is left"
    assert time.monotonic() - began < 20 and len(server.asked) == 1


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0.0),
        ("7.5", 7.5),
        ("Thu, 01 Jan 1970 00:01:00 GMT", 50.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("", None),
        ("-3", None),
        ("soon", None),
        ("9" * 50, None),
        ("1.2.3", None),
        ("Thu, 99 Foo 1970", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(header: str, seconds: float | None) -> None:
    assert endpoints._patience(header, lambda: 10.0) == seconds


def test_a_limit_of_each_minute_is_kept_and_refused_requests_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes on in sleep alone."""
    now = 1000.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(endpoints, "FIRST_WAIT", 0.25)
    monkeypatch.setattr("random.uniform", lambda low, high: high)
    monkeypatch.setattr(endpoints, "time", SimpleNamespace(monotonic=lambda: now, time=time.time, sleep=sleep))
    refused = Fault("status", 429, "", (("Retry-After", "0"),))
    times: list[float] = []
    with ModelEndpoint([refused, refused, refused, GOOD, GOOD, GOOD]) as server:
        client = Endpoint(server.url, {}, per_minute=2)
        for _ in range(3):
            client.ask(HELLO, 300, 30)
            times.append(now)
        client.close()
    assert len(server.asked) == 6 and times == [1001.75, 1001.75, 1061.75]
    with ModelEndpoint([GOOD]) as server:
        client = Endpoint(server.url, {}, per_minute=1)
        client.ask(HELLO, 30, 30)
        with pytest.raises(EndpointFailed, match="--per-minute 1 allows no further request in the time left"):
            client.ask(HELLO, 1, 30)
        client.close()


def test_the_base_may_be_the_whole_address(asked: Any) -> None:
    with ModelEndpoint([GOOD, GOOD]) as server:
        for url in (f"{server.url}/", f"{server.url}/chat/completions"):
            client = Endpoint(url, {})
            assert client.ask(HELLO, 30, 30).text == "hi"
            client.close()
