"""PROTOCOL §2, the asking side, rules 11 to 14: ids, lists of commands, what is sent, peers that go away."""

import asyncio
import re
from collections.abc import Coroutine
from typing import Any

import pytest

from ggp.protocol.channel import Channel
from ggp.protocol.connection import Connection
from ggp.protocol.errors import LocalProtocolError, PeerGone, PeerTimeout, RemoteProtocolError
from ggp.protocol.messages import Reply
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.memory import Memory
from ggp.referee.match.clock import GTP, TimeControl, tell
from tests.support import TESTS
from tests.support.answering_program import BOT, ENGINE, ask, channel_to, taken
from tests.support.codes import raises

# -- 11: ids are probed ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [b"=1 2\n\n", b"?1 unknown command\n\n"])
def test_rule_2_11_a_peer_that_echoes_the_probe_gets_ids(answer: bytes) -> None:
    channel, memory = channel_to(answer, b"=2 a\n\n")
    assert run_blocking(channel.probe_ids(1.0)).id == 1
    assert ask(channel) == Reply(True, "a", 2)
    assert memory.written == b"1 protocol_version\n2 name\n"


@pytest.mark.parametrize("answer", [b"= 2\n\n", b"? unknown command\n\n", b"Hello\n= 2\n\n"])
def test_rule_2_11_a_peer_that_does_not_echo_gets_none(answer: bytes) -> None:
    channel, memory = channel_to(answer, b"= a\n\n", peer=BOT)
    assert run_blocking(channel.probe_ids(1.0)).id is None
    assert ask(channel) == Reply(True, "a")
    assert memory.written == b"1 protocol_version\nname\n"


def test_rule_2_11_a_peer_that_echoes_something_else_is_desynchronised() -> None:
    channel, _ = channel_to(b"=2 2\n\n")
    with raises(RemoteProtocolError, "wrong-id"):
        run_blocking(channel.probe_ids(1.0))


def test_rule_2_11_a_time_out_ends_a_peer_without_ids() -> None:
    channel, memory = channel_to(b"= 2\n\n")
    run_blocking(channel.probe_ids(1.0))
    with pytest.raises(PeerTimeout):
        ask(channel, "genmove b")
    with raises(RemoteProtocolError, "answer-overdue"):
        ask(channel, "genmove w")
    assert memory.written == b"1 protocol_version\ngenmove b\n"
    assert memory.now() < 100.0


def test_rule_2_11_a_late_answer_of_a_peer_with_ids_is_distinguished_from_the_next() -> None:
    memory = Memory(lambda data: {b"1": [b"=1 2\n\n"], b"2": [], b"3": [b"=2 late\n\n=3 next\n\n"]}[data[:1]])
    channel = Channel(memory, BOT)
    run_blocking(channel.probe_ids(1.0))
    run_blocking(channel.send("genmove b"))
    with pytest.raises(PeerTimeout):
        run_blocking(channel.receive(1.0))
    run_blocking(channel.send("name"))
    assert [run_blocking(channel.receive(1.0)).text for _ in range(2)] == ["late", "next"]


def test_rule_2_11_what_is_overdue_is_dropped_before_the_next_question() -> None:
    channel, memory = channel_to(b"=1 late\n\n", b"=2 next\n\n")
    channel.connection.ids = True
    run_blocking(channel.send("genmove b"))
    assert ask(channel).text == "next"
    assert memory.written == b"1 genmove b\n2 name\n"


def test_rule_2_11_a_time_out_after_the_end_changes_nothing() -> None:
    connection = Connection(BOT)
    connection.send_probe("name")
    connection.receive(b"= a\n\n")
    connection.next_reply()
    connection.receive(b"")
    connection.give_up()
    assert taken(connection) == ["PeerGone"]


def test_rule_2_11_ids_are_probed_before_anything_else_is_awaited() -> None:
    channel, _ = channel_to()
    run_blocking(channel.send("name"))
    with pytest.raises(LocalProtocolError):
        run_blocking(channel.probe_ids(1.0))


def test_rule_2_11_a_peer_that_does_not_answer_the_probe_has_timed_out() -> None:
    channel, _ = channel_to()
    with pytest.raises(PeerTimeout):
        run_blocking(channel.probe_ids(1.0))


# -- 12: what it knows ----------------------------------------------------------------------------------------------


def test_rule_2_12_list_commands_is_split_on_any_white_space() -> None:
    channel, _ = channel_to(b"= name\tversion \nquit\r\n play  genmove\n\n", b"? what\n\n")
    listed = run_blocking(channel.list_commands(1.0))
    assert listed == {"name", "version", "quit", "play", "genmove"}
    assert run_blocking(channel.list_commands(1.0)) == frozenset()


def test_rule_2_12_a_peer_that_has_started_is_asked_the_rest_in_one_write() -> None:
    channel, memory = channel_to(b"=1 2\n\n", b"=2 cat\n\n=3 1.0\n\n=4 name quit\n\n")
    assert run_blocking(channel.introduce(1.0)) == ("cat", "1.0", frozenset({"name", "quit"}))
    assert memory.written == b"1 protocol_version\n2 name\n3 version\n4 list_commands\n"
    channel, memory = channel_to(b"= 2\n\n", b"= cat\n\n?\n\n? unknown command\n\n", peer=BOT)
    assert run_blocking(channel.introduce(1.0)) == ("cat", "", frozenset())
    assert memory.written == b"1 protocol_version\nname\nversion\nlist_commands\n"


# -- 13: what is sent -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("char", [chr(code) for code in (*range(32), 127, 0x80, 0x85, 0x9F)] + ["#", "\ud800"])
@pytest.mark.parametrize("ids", [False, True])
def test_rule_2_13_control_characters_and_hashes_are_never_sent(char: str, ids: bool) -> None:
    for line in (f"play B D4{char}", f"{char}name", f"na{char}me"):
        connection = Connection(BOT)
        connection.ids = ids
        with pytest.raises(LocalProtocolError):
            connection.send("name", line)
        assert connection.awaited == 0
        assert connection.send("version") == (b"1 version\n" if ids else b"version\n")


@pytest.mark.parametrize("line", ["", " ", "   "])
def test_rule_2_13_a_line_that_gets_no_answer_is_never_sent(line: str) -> None:
    with raises(LocalProtocolError, "empty-line"):
        Connection(BOT).send(line)


def test_rule_2_13_a_line_that_would_be_taken_for_one_with_an_id_is_never_sent() -> None:
    connection = Connection(BOT)
    with raises(LocalProtocolError, "name-like-id"):
        connection.send("7 name")
    assert connection.send("7") == b"7\n"
    connection.ids = True
    assert connection.send("7 name") == b"1 7 name\n"


def test_rule_2_13_a_line_with_its_id_is_never_longer_than_64_kib() -> None:
    connection = Connection(BOT)
    longest = "x" * 65_536
    assert connection.send(longest) == longest.encode() + b"\n"
    for line in (longest + "x", "ü" * 32_769):
        with raises(LocalProtocolError, "line-too-long"):
            connection.send(line)
    connection.ids = True
    assert max(map(len, connection.send(*[longest[11:]] * 20).splitlines())) < 65_536
    with raises(LocalProtocolError, "line-too-long"):  # the longest id has 10 digits
        connection.send("name", longest[10:])
    connection.next_id = 2**31 - 1
    assert len(connection.send(longest[11:])) == 65_537


CONTROLS = [
    "10+0.1",
    "0.5",
    "0.999+0.001",
    "40/600",
    "0.3+2/10",
    "10+1.5",
    "3/0.4",
    "600+5x30",
    "5x0.7",
    "1.5+2x0.1",
    "1/move",
    "0.2/move",
    "none",
]


@pytest.mark.parametrize("text", CONTROLS)
def test_rule_2_13_times_are_whole_seconds_and_never_negative(text: str) -> None:
    control = TimeControl.parse(text)
    told = tell(control, {GTP})
    assert re.fullmatch(r"time_settings \d+ \d+ \d+", told.settings)
    clock = control.clock()
    for used in (0, 1, 499, 999, 10_000_000):  # the last is far beyond every control
        clock.spend(used)
        line = told.time_left("black", clock)
        assert line == "" if text == "none" else re.fullmatch(r"time_left black \d+ \d+", line)


# -- 14: a peer that goes away --------------------------------------------------------------------------------------


def test_rule_2_14_output_before_a_broken_write_is_still_read() -> None:
    class Deaf(Memory):
        async def write(self, data: bytes, deadline: float | None = None) -> None:
            if not self._chunks:
                self._chunks.extend([b"= last", b" words\n\n", b""])

    channel = Channel(Deaf(lambda data: []), ENGINE)
    assert ask(channel) == Reply(True, "last words")
    for _ in range(2):
        with pytest.raises(PeerGone):
            run_blocking(channel.receive(1.0))
    with pytest.raises(PeerGone):
        ask(channel)


# -- the rules themselves -------------------------------------------------------------------------------------------


def test_every_rule_of_framing_has_a_test_by_its_number() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (TESTS / "protocol").glob("test_*.py")]
    tested = {int(number) for text in texts for number in re.findall(r"^def test_rule_2_(\d+)_\w", text, re.MULTILINE)}
    assert tested == set(range(1, 15))


# -- diagnostics ----------------------------------------------------------------------------------------------------


def test_the_dialogue_is_kept_line_by_line_however_it_came() -> None:
    def answer(data: bytes) -> list[bytes]:
        return [bytes([byte]) for byte in b"= a\nb\n\n"]

    channel = Channel(Memory(answer), ENGINE)
    for _ in range(30):
        ask(channel)
    assert channel.dialogue_tail() == (["> name", "< = a", "< b"] * 30)[-20:]
    assert channel.dialogue_tail(2) == ["< = a", "< b"]
    assert channel.warnings == []


def test_the_dialogue_that_is_kept_is_bounded() -> None:
    channel, _ = channel_to(b"= " + b"x" * 1_000_000 + b"\n\n", b"= a\n\n")
    ask(channel)
    assert ask(channel, "y" * 60_000) == Reply(True, "a")
    assert channel.dialogue_tail() == ["> name", "< " + "x" * 200, "> " + "y" * 200, "< = a"]
    assert sum(len(data) for _, data in channel._passed) < 20_000


def test_a_coroutine_that_suspends_cannot_be_driven_without_a_loop() -> None:
    async def waits() -> None:
        await asyncio.sleep(0)

    async def waits_in_a_channel() -> None:
        await waits()

    for coroutine in (waits(), waits_in_a_channel()):
        checked: Coroutine[Any, Any, None] = coroutine
        with raises(LocalProtocolError, "suspended"):
            run_blocking(checked)


# -- silence ---------------------------------------------------------------------------------------------------------


def test_silence_is_told_after_each_patience_until_somebody_heard_of_it() -> None:
    channel, _ = channel_to(b"= a\n\n")
    told: list[float] = []

    def tell(about: Channel) -> bool:
        assert about is channel
        told.append(about.now())
        return len(told) == 2

    channel.on_silence, channel.patience = tell, 5.0
    assert ask(channel) == Reply(True, "a") and not told
    with pytest.raises(PeerTimeout):
        run_blocking(channel.ask("genmove b", 100.0))
    assert told == [5.0, 10.0] and channel.now() == 100.0, "the wait lasts to its own deadline"


def test_a_silence_shorter_than_the_patience_is_not_told() -> None:
    channel, _ = channel_to()
    channel.on_silence, channel.patience = lambda about: pytest.fail("it was told"), 5.0
    with pytest.raises(PeerTimeout):
        run_blocking(channel.ask("genmove b", 5.0))


def test_the_command_that_has_no_answer_is_named() -> None:
    channel = Channel(Memory(lambda data: [b"= a\n\n= b\n\n= half", b" of it\n\n"]), ENGINE)
    assert channel.unanswered == ("", b"")
    run_blocking(channel.send("name", "version", "genmove b"))
    assert channel.unanswered == ("name", b"")
    assert run_blocking(channel.receive(1.0)).text == "a"
    assert run_blocking(channel.receive(1.0)).text == "b"
    assert channel.unanswered == ("genmove b", b"= half")
    assert run_blocking(channel.receive(1.0)).text == "half of it"
    assert channel.unanswered == ("", b"")
