"""Streams of a match: every event once and in order, whatever a browser missed."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import cast

import pytest
from msgspec.structs import replace

from ggp.protocol.records import Record
from ggp.referee.ladder.store.model import StoreError
from ggp.referee.records import LiveHead, head
from ggp.referee.server.web import follow
from ggp.referee.server.web.follow import Follower
from ggp.referee.server.web.site import LiveSource
from tests.support.sample_records import CUT_OFF, END, PLIES, RECORD, START


class GrowingMatch:
    """A match that is being played, as the worker's side file shows it."""

    def __init__(self) -> None:
        self.record: Record | None = None
        self.is_played = True
        self.looks = 0

    def read(self) -> Record | None:
        self.looks += 1
        return self.record

    def playing(self) -> bool:
        return self.is_played


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "_INTERVAL", 0.001)


def follower(match: GrowingMatch | Record | None) -> Follower:
    return Follower(lambda key: cast("LiveSource | Record | None", match))


async def numbers(stream: AsyncIterator[bytes]) -> list[int]:
    said = b"".join([piece async for piece in stream])
    return [int(number) for number in re.findall(rb"^id: (\d+)$", said, re.MULTILINE)]


@pytest.mark.parametrize(("after", "expected"), [(-1, [0, 1, 2, 3, 4]), (2, [3, 4]), (4, []), (99, [])])
async def test_a_finished_match_is_sent_from_where_it_was_left(after: int, expected: list[int]) -> None:
    assert await numbers(follower(RECORD).stream("m1", after)) == expected


async def test_a_match_that_grows_is_followed_to_its_end_by_all_with_one_reader() -> None:
    match = GrowingMatch()
    following = follower(match)
    streams = [asyncio.create_task(numbers(following.stream("m1", after))) for after in (-1, -1, 1)]
    for record in (Record(START, (), None), Record(START, PLIES[:1], None), CUT_OFF, RECORD):
        match.record = record
        await asyncio.sleep(0.01)
    assert [await stream for stream in streams] == [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [2, 3, 4]]
    looks = match.looks
    await asyncio.sleep(0.02)
    assert match.looks == looks, "nothing reads a match that is over"


async def test_a_match_that_another_worker_takes_up_goes_on_without_a_gap() -> None:
    killed, taken_up = GrowingMatch(), GrowingMatch()
    killed.record, taken_up.record = CUT_OFF, CUT_OFF
    where = [killed]
    following = Follower(lambda key: cast(LiveSource, where[0]))
    stream = asyncio.create_task(numbers(following.stream("m1", -1)))
    await asyncio.sleep(0.01)
    where[0], killed.is_played = taken_up, False
    await asyncio.sleep(0.01)
    taken_up.record = Record(START, PLIES, END)
    assert await stream == [0, 1, 2, 3, 4]


async def test_a_match_that_is_not_there_is_an_error_at_once() -> None:
    with pytest.raises(KeyError):
        await numbers(follower(None).stream("m2", -1))


async def test_silence_is_filled_and_closing_ends_all_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "_ALIVE", 0.01)
    match = GrowingMatch()
    match.record = CUT_OFF
    following = follower(match)
    said: list[bytes] = []

    async def listen() -> None:
        said.extend([piece async for piece in following.stream("m1", 2)])

    stream = asyncio.create_task(listen())
    await asyncio.sleep(0.05)
    await following.close()
    await asyncio.wait_for(stream, 1)
    assert said[0] == b"retry: 2000\n\n" and set(said[1:]) == {b": still here\n\n"}


async def test_a_match_without_streams_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "_LINGER", 0.005)
    match = GrowingMatch()
    match.record = CUT_OFF
    following = follower(match)
    stream = following.stream("m1", -1)
    await anext(stream)
    await stream.aclose()
    await asyncio.sleep(0.05)
    looks = match.looks
    await asyncio.sleep(0.02)
    assert match.looks == looks


async def test_a_stream_says_at_once_that_it_is_open() -> None:
    match = GrowingMatch()
    match.record = CUT_OFF
    stream = follower(match).stream("m1", 2)
    assert await asyncio.wait_for(anext(stream), 1)
    await stream.aclose()


async def test_a_long_match_is_sent_in_pieces() -> None:
    plies = tuple(replace(PLIES[0], seq=number, ply=number) for number in range(1, 1001))
    pieces = [piece async for piece in follower(Record(START, plies, replace(END, seq=1001))).stream("m1", -1)]
    assert max(map(len, pieces)) < sum(map(len, pieces)) / 4
    assert re.findall(rb"^id: (\d+)$", b"".join(pieces), re.MULTILINE) == [b"%d" % seq for seq in range(1002)]


async def test_a_stream_says_that_nothing_comes_and_that_the_match_was_taken_up_from_an_earlier_ply() -> None:
    match, trouble = GrowingMatch(), [""]
    match.record = CUT_OFF
    followed = Follower(lambda key: cast("LiveSource | Record | None", match), lambda: trouble[0])
    stream = followed.stream("m1", -1)
    assert await anext(stream) and await anext(stream)
    trouble[0] = "the server is away"
    assert await anext(stream) == b'event: away\ndata: "the server is away"\n\n'
    match.record = Record(START, PLIES[:1], None)
    assert b"".join([piece async for piece in stream]) == b"event: again\ndata:\n\n"


async def test_no_text_of_a_stream_turns_a_page() -> None:
    """A script shows what it reads, so an escape of JSON is as bad as the character that it stands for."""
    plies = (replace(PLIES[0], move="D4\u202e", analysis='{"pv": ["\u2066"]}'), *PLIES[1:])
    stream = follower(replace(RECORD, plies=plies)).stream("m1", -1)
    said = b"".join([piece async for piece in stream]).decode()
    for line in said.splitlines():
        if line.startswith("data: "):
            assert all(one.isprintable() or one == "\n" for one in unescaped(json.loads(line[6:])))
    assert "D4\ufffd" in said and "\u202e" not in said and "Zoë" in said and "碁" in said


def unescaped(value: object) -> str:
    """Return all texts in a value of JSON, joined."""
    if isinstance(value, dict):
        return "".join(map(unescaped, value.values()))
    return "".join(map(unescaped, value)) if isinstance(value, list) else str(value)


async def test_a_wall_says_how_far_all_matches_are_and_looks_only_while_somebody_listens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(follow, "_WALL_INTERVAL", 0.001)
    looks, heads = 0, [head(CUT_OFF)]

    def playing() -> list[LiveHead]:
        nonlocal looks
        looks += 1
        return heads

    following = Follower(lambda key: None, playing=playing)
    streams = [following.wall.stream() for _ in range(3)]
    assert {await anext(stream) for stream in streams} == {b"retry: 2000\n\n"}
    first = {await asyncio.wait_for(anext(stream), 1) for stream in streams}
    assert first == {b'event: wall\ndata: {"m1":%d}\n\n' % heads[0].ply}
    heads = [heads[0]._replace(ply=7), heads[0]._replace(match="m2", ply=0)]
    assert await asyncio.wait_for(anext(streams[0]), 1) == b'event: wall\ndata: {"m1":7,"m2":0}\n\n'
    await streams[1].aclose()
    heads = []
    assert await asyncio.wait_for(anext(streams[0]), 1) == b"event: wall\ndata: {}\n\n"
    for stream in (streams[0], streams[2]):
        with pytest.raises(StopAsyncIteration):
            while True:
                await asyncio.wait_for(anext(stream), 1)
    await asyncio.sleep(0.02)
    before = looks
    await asyncio.sleep(0.02)
    assert looks == before
    await following.close()


async def test_a_wall_outlasts_a_store_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "_WALL_INTERVAL", 0.001)
    looks = 0

    def playing() -> list[LiveHead]:
        nonlocal looks
        looks += 1
        if looks % 2:
            raise StoreError("club.db is locked")
        return [head(CUT_OFF)]

    following = Follower(lambda key: None, playing=playing)
    stream = following.wall.stream()
    assert await anext(stream) == b"retry: 2000\n\n"
    assert (await asyncio.wait_for(anext(stream), 1)).startswith(b"event: wall\n")
    await stream.aclose()
    await following.close()
