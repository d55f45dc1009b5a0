"""What plain GTP bots are told of time: the bytes for each control and set of commands, and that they are honest."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.protocol.errors import CommandFailed
from ggp.protocol.responder import Handler
from ggp.referee.match.clock import GTP, KATA, KGS, LIST, Clock, ClockCommand, ControlKind, TimeControl, tell
from tests.support import ROOT
from tests.support.memory_match import MemoryMatch, plain

DONE: Handler = lambda arguments: ""  # noqa: E731

# A control, and what a bot is told that lists GTP's command, KGS's too, KataGo's too: a new game, then its first turn.
TOLD = [
    ("10+0.1", "time_settings 10 0 0", "absolute 10", "fischer 10 0.1", "10 0"),
    ("10.9", "time_settings 10 0 0", "absolute 10", "absolute 10.9", "10 0"),
    ("0.5+0.5", "time_settings 1 0 0", "absolute 1", "fischer 0.5 0.5", "0 0"),
    ("40/600", "time_settings 0 600 40", "canadian 0 600 40", "canadian 0 600 40", "600 40"),
    ("900+25/300", "time_settings 900 300 25", "canadian 900 300 25", "canadian 900 300 25", "900 0"),
    ("600.5+2/9.5", "time_settings 600 9 2", "canadian 600 9 2", "canadian 600.5 9.5 2", "600 0"),
    ("600+5x30", "time_settings 600 30 1", "byoyomi 600 30 5", "byoyomi 600 30 5", "600 0"),
    ("1/move", "time_settings 0 1 1", "byoyomi 0 1 1", "byoyomi 0 1 1", "1 1"),
    ("0.5/move", "time_settings 0 1 1", "byoyomi 0 1 1", "byoyomi 0 0.5 1", "0 1"),
    ("none", "time_settings 0 1 0", "none", "none", ""),
]


@pytest.mark.parametrize(("text", "gtp", "kgs", "kata", "left"), TOLD, ids=[row[0] for row in TOLD])
def test_a_bot_is_sent_as_much_as_it_understands(text: str, gtp: str, kgs: str, kata: str, left: str) -> None:
    for commands, settings in (
        ([GTP], gtp),
        ([GTP, KGS], f"{KGS} {kgs}"),
        ([GTP, KGS, KATA], f"{KATA} {kata}"),
        ([KATA], f"{KATA} {kata}"),
        ([], ""),
    ):
        assert heard(text, [*commands, "time_left"]) == [
            *([settings] if settings else []),
            *([f"time_left black {left}"] if left else []),
            "genmove black",
        ]
        assert heard(text, commands) == [*([settings] if settings else []), "genmove black"]


def test_the_page_for_authors_of_bots_says_the_same() -> None:
    page = (ROOT / "docs/how-to/connect-a-gtp-bot.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^\s`-]\S*)` \| `([^`|]+)` \| `([^`|]+)` \| `([^`|]+)` \|$", page, re.MULTILINE)
    assert {TimeControl.parse(text).kind for text, *_ in rows} == set(ControlKind)
    for text, *words in rows:
        for command, said in zip((KATA, KGS, GTP), words, strict=True):
            assert tell(TimeControl.parse(text), {command}).settings == f"{command} {said}"


def heard(control: str, listed: Sequence[str], **more: Handler) -> list[str]:
    """What a plain bot in seat 1 that lists these commands is sent after its komi, to its first turn."""
    one = plain(["pass"], **dict.fromkeys(listed, DONE), **more)
    lines = MemoryMatch("go size=9", one, plain(["pass"]), time=control).run().peers[0].lines
    return lines[lines.index("komi 7.5") + 1 :]


def test_an_increment_is_sent_as_byoyomi_of_one_move() -> None:
    told = tell(TimeControl.parse("60+5"), {GTP})
    assert told.settings == "time_settings 55 5 1"
    assert tell(TimeControl.parse("60+5"), {GTP, KGS}).settings == "kgs-time_settings canadian 55 5 1"
    clock = TimeControl.parse("60+5").clock()
    said = []
    for used in (0, 50_000, 15_000, 9_500, 5_500, 5_000):
        said.append(told.time_left("black", clock).removeprefix("time_left black "))
        assert clock.spend(used) == 0
    assert said == ["55 0", "60 0", "15 0", "5 0", "5 1", "5 1"]


def test_an_increment_beyond_the_first_times_is_not_hoped_for_before_it_comes() -> None:
    told, clock = tell(TimeControl.parse("5+30"), {GTP}), TimeControl.parse("5+30").clock()
    assert (told.settings, told.time_left("white", clock)) == ("time_settings 0 5 1", "time_left white 5 1")
    clock.spend(1_000)
    assert told.time_left("white", clock) == "time_left white 29 0"


def test_less_than_a_second_of_main_time_is_not_told_as_none() -> None:
    for control, commands, left in (
        ("2+3x5", [KGS], "5 3"),
        ("2+3x5", [GTP], "5 1"),
        ("2+4/9", [GTP], "9 4"),
        ("2", [GTP], "0 0"),
    ):
        told, clock = tell(TimeControl.parse(control), commands), TimeControl.parse(control).clock()
        clock.spend(1_500)
        assert told.time_left("black", clock) == f"time_left black {left}"


def test_overtime_is_sent_with_the_stones_or_the_periods_that_are_left() -> None:
    canadian = TimeControl.parse("10+5/60").clock()
    canadian.spend(22_000)
    for commands in ([GTP], [KGS], [KATA]):
        assert tell(canadian.control, commands).time_left("white", canadian) == "time_left white 48 4"
    japanese = TimeControl.parse("10+5x30").clock()
    japanese.spend(45_000)
    assert tell(japanese.control, [KGS]).time_left("white", japanese) == "time_left white 30 4"
    assert tell(japanese.control, [GTP]).time_left("white", japanese) == "time_left white 30 1"


def test_kata_time_settings_are_used_for_the_systems_that_the_bot_says_it_has() -> None:
    for said, settings in (
        ("none absolute byoyomi canadian fischer fischer-capped", "kata-time_settings fischer 60 5"),
        ("fischer", "kata-time_settings fischer 60 5"),
        ("none absolute\nbyo-yomi", "kgs-time_settings canadian 55 5 1"),
        ("Canadian", "kata-time_settings canadian 55 5 1"),
        ("", "kgs-time_settings canadian 55 5 1"),
    ):
        more: dict[str, Handler] = {LIST: lambda arguments, said=said: said}  # type: ignore[misc]
        assert heard("60+5", [GTP, KGS, KATA], **more) == [settings, "genmove black"]
    assert tell(TimeControl.parse("10+2x30"), [GTP, KATA], ["byoyomi"]).settings == "kata-time_settings byoyomi 10 30 2"

    documented: dict[str, Handler] = {LIST: lambda arguments: "none absolute byo-yomi canadian fischer"}
    assert heard("600+5x30", [KGS, KATA], **documented)[0] == "kata-time_settings byoyomi 600 30 5"

    def refuse(arguments: list[str]) -> str:
        raise CommandFailed("not today")

    assert heard("60+5", [KATA], **{LIST: refuse})[0] == "kata-time_settings fischer 60 5"


def test_who_refuses_its_clock_plays_without_and_the_record_says_so() -> None:
    def refuse(arguments: list[str]) -> str:
        raise CommandFailed("no clock here")

    match = MemoryMatch("go size=9", plain(["pass"], **{GTP: refuse}), plain(["pass"]), time="60").run()
    assert match.outcome.result == "W+7.5"
    assert match.record.end and match.record.end.warnings == (
        "seat1: answers `time_settings 60 0 0` with `? no clock here`",
    )


WHOLE = st.integers(1, 90).map(lambda seconds: 1000 * seconds)
ANY = st.integers(1000, 90_000)


def controls(times: st.SearchStrategy[int]) -> st.SearchStrategy[TimeControl]:
    count = st.integers(1, 6)
    return st.one_of(
        st.builds(TimeControl, st.just(ControlKind.FISCHER), main=times, increment=times | st.integers(0, 900)),
        st.builds(TimeControl, st.just(ControlKind.PERIOD), main=st.just(0) | times, moves=count, period=times),
        st.builds(TimeControl, st.just(ControlKind.BYOYOMI), main=st.just(0) | times, periods=count, period=times),
        st.builds(TimeControl, st.just(ControlKind.MOVE), period=times),
    )


@given(controls(ANY), st.sampled_from([[GTP], [KGS], [KATA], []]), st.lists(st.floats(0, 1), max_size=40))
def test_no_bot_gets_more_time_for_a_move_than_there_is(
    control: TimeControl, listed: list[str], shares: list[float]
) -> None:
    told, clock = tell(control, listed), control.clock()
    for share in shares:
        word, colour, seconds, stones = told.time_left("black", clock).split()
        assert (word, colour) == ("time_left", "black")
        allowed = int(seconds) * 1000
        if told.count and stones == "0":  # then its first period
            allowed += told.period
        if told.system == "byoyomi" and stones != "0":
            allowed += (int(stones) - 1) * told.period
        assert allowed <= clock.left
        assert clock.spend(int(share * allowed)) == 0


@given(controls(WHOLE), st.sampled_from([[GTP], [KGS], [KATA]]), st.lists(st.floats(0, 1), max_size=40))
def test_who_keeps_its_own_clock_by_the_settings_is_never_late(
    control: TimeControl, listed: list[str], shares: list[float]
) -> None:
    """A bot without time_left; its clock is read back from the bytes that it was sent."""
    clock, own = control.clock(), as_read(tell(control, listed))
    for share in shares:
        used = int(share * own.left)
        assert own.spend(used) == 0
        assert clock.spend(used) == 0


def as_read(told: ClockCommand) -> Clock:
    command, *words = told.settings.split()
    system = "canadian" if command == GTP else words.pop(0)
    times = [int(float(word) * 1000) for word in words]
    if system == "absolute" or (command == GTP and times[1:] == [0, 0]):
        return TimeControl(ControlKind.FISCHER, main=times[0]).clock()
    if system == "fischer":
        return TimeControl(ControlKind.FISCHER, main=times[0], increment=times[1]).clock()
    if system == "byoyomi":
        return TimeControl(ControlKind.BYOYOMI, main=times[0], period=times[1], periods=int(words[2])).clock()
    return TimeControl(ControlKind.PERIOD, main=times[0], period=times[1], moves=int(words[2])).clock()
