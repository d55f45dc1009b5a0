"""Every rule of framing that binds the asking end, by its number: Connection and Channel before sloppy, scripted peers.

Pipes to real processes are in test_protocol_pipe; `quit`, grace and signals are the launcher's and tested there.
"""

import asyncio
import re
from collections.abc import Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from protocol.channel import Channel
from protocol.connection import Connection, Limits, PeerRole
from protocol.errors import LocalProtocolError, PeerGone, PeerTimeout, ProtocolError, RemoteProtocolError
from protocol.messages import Reply
from protocol.records import Party
from protocol.transports.blocking import run_blocking
from protocol.transports.memory import Memory
from referee.config import Budgets, Setting
from referee.play.clock import Control, time_left, time_settings
from referee.play.dialects import meet
from referee.play.launch import Peer
from tests.answerer import BOARD, make_responder

ENGINE, BOT = PeerRole.ENGINE, PeerRole.BOT


def hear(data: bytes, asked: int = 1, peer: PeerRole = ENGINE, limits: Limits | None = None) -> list[Reply | str]:
    """What a Connection without ids makes of `data` and the end of the stream: replies, then the error's type."""
    connection = Connection(peer, limits)
    connection.send(*["name"] * asked)
    connection.receive(data)
    connection.receive(b"")
    return taken(connection)


def taken(connection: Connection) -> list[Reply | str]:
    heard: list[Reply | str] = []
    try:
        while (reply := connection.next_reply()) is not None:
            heard.append(reply)
    except ProtocolError as error:
        heard.append(type(error).__name__)
    return heard


def channel_to(*answers: bytes, peer: PeerRole = ENGINE) -> tuple[Channel, Memory]:
    """A channel to a peer that says one of `answers` to each write, and then is silent."""
    script = iter(answers)

    def answer(data: bytes) -> list[bytes]:
        said = next(script, None)
        return [] if said is None else [said]

    memory = Memory(answer)
    return Channel(memory, peer), memory


def ask(channel: Channel, line: str = "name") -> Reply:
    return run_blocking(channel.ask(line, channel.now() + 1))


# -- 1, 2, 3, 4: what is read ---------------------------------------------------------------------------------------


def test_rule_2_1_control_characters_in_an_answer_are_dropped() -> None:
    assert hear(b"\x00=\x07 a\x1bb\x7f\r\n\x01\n") == [Reply(True, "ab"), "PeerGone"]
    assert hear(b"= a\n\x0b\r\n") == [Reply(True, "a"), "PeerGone"]  # a line that is empty then


def test_rule_2_2_every_command_has_its_own_id_and_replies_must_match() -> None:
    connection = Connection(ENGINE)
    connection.ids = True
    assert connection.send("name", "komi 7.5") == b"1 name\n2 komi 7.5\n"
    assert connection.send("version") == b"3 version\n"
    connection.receive(b"=1 a\n\n?2 b\n\n=3\n\n")
    assert taken(connection) == [Reply(True, "a", 1), Reply(False, "b", 2), Reply(True, "", 3)]
    assert connection.awaited == 0


def test_rule_2_2_ids_stay_within_their_range() -> None:
    connection = Connection(ENGINE)
    connection.ids, connection._next_id = True, 2**31 - 1
    assert connection.send("a", "b") == b"2147483647 a\n1 b\n"


def test_rule_2_3_an_answer_ends_at_its_first_empty_line() -> None:
    board = b"= \n" + BOARD.encode() + b"\n\n"
    assert hear(board) == [Reply(True, "\n" + BOARD), "PeerGone"]
    assert hear(b"= a\nb\n \nc\n\n? d\n\n", 2) == [Reply(True, "a\nb\n \nc"), Reply(False, "d"), "PeerGone"]


def test_rule_2_3_a_part_of_an_answer_is_no_answer() -> None:
    connection = Connection(ENGINE)
    connection.send("name")
    for part in (b"=", b" a", b"\n", b"b\n"):
        connection.receive(part)
        assert connection.next_reply() is None and not connection.ready
    connection.receive(b"\n")
    assert connection.ready
    assert connection.next_reply() == Reply(True, "a\nb")


def test_rule_2_4_a_failure_is_a_reply_and_no_error() -> None:
    channel, _ = channel_to(b"? unknown command\n\n", b"= 2\n\n")
    assert ask(channel) == Reply(False, "unknown command")
    assert ask(channel) == Reply(True, "2")


# -- 7: what a controller may assume --------------------------------------------------------------------------------


def test_rule_2_7_a_controller_clears_the_board_after_boardsize() -> None:
    responder = make_responder(clear_board="", boardsize="", komi="", play="", genmove="pass")
    memory = Memory.of(responder)
    bot = SimpleNamespace(channel=Channel(memory, BOT))
    player = run_blocking(meet(cast(Peer, bot), Party(name="bot"), Budgets()))
    setting = Setting("go", {"size": "9"}, {"size": "19", "komi": "7.5"}, Control.parse("none"))
    del memory.written[:]
    run_blocking(player.new_game(setting))
    assert re.fullmatch(rb"\d+ boardsize 9\n\d+ clear_board\n\d+ komi 7.5\n", memory.written)


# -- 8: bounds ------------------------------------------------------------------------------------------------------


def test_rule_2_8_an_answer_of_1_mib_is_read_and_no_more() -> None:
    line = b"= " + b"x" * (1024 * 1024 - 3) + b"\n"
    assert hear(line + b"\n") == [Reply(True, line[2:-1].decode()), "PeerGone"]
    assert hear(b"x" + line + b"\n") == ["RemoteProtocolError"]
    assert hear(line[:-1] + b"x\n\n") == ["RemoteProtocolError"]


def test_rule_2_8_an_answer_of_10_000_lines_is_read_and_no_more() -> None:
    lines = b"= " + b"x\n" * 10_000
    assert hear(lines + b"\n") == [Reply(True, lines[2:-1].decode()), "PeerGone"]
    assert hear(lines + b"x\n\n") == ["RemoteProtocolError"]
    assert hear(b"=" + b"\nx" * 9_999 + b"\n\n") == [Reply(True, "\nx" * 9_999), "PeerGone"]


def test_rule_2_8_small_answers_are_bounded_in_the_same_way() -> None:
    limits = Limits(answer=8, lines=2)
    assert hear(b"= 12345\n\n", limits=limits) == [Reply(True, "12345"), "PeerGone"]
    assert hear(b"= 123456\n\n", limits=limits) == ["RemoteProtocolError"]
    assert hear(b"= 1\n2\n\n", limits=limits) == [Reply(True, "1\n2"), "PeerGone"]
    assert hear(b"=\n2\n3\n\n", limits=limits) == ["RemoteProtocolError"]
    assert hear(b"\n\n= 1\n\n\n\n= 2", 2, limits=limits) == [Reply(True, "1"), Reply(True, "2"), "PeerGone"]
    assert hear(b"\n\n\n= 1\n\n", limits=limits) == ["RemoteProtocolError"]


@pytest.mark.parametrize(
    "unit", [b"x", b"= x", b"= x\n", b"x\n", b"\n", b" \n", b"\0", b"\r\n", b"= x\n\n", b"=\n\x01"]
)
@pytest.mark.parametrize("peer", PeerRole)
def test_rule_2_8_whatever_a_peer_pours_out_little_is_kept_and_it_is_stopped(unit: bytes, peer: PeerRole) -> None:
    connection = Connection(peer)
    connection.send("name")
    chunk = unit * (65_536 // len(unit))
    for _ in range(200):
        connection.receive(chunk)
        assert len(connection._buffer) + sum(map(len, connection._lines)) <= 1024 * 1024 + len(chunk)
        assert len(connection._lines) <= 10_001 and len(connection._replies) <= 1 and len(connection.warnings) <= 200
    assert taken(connection)[-1] == "RemoteProtocolError"
    assert not connection._buffer and not connection._lines


def test_rule_2_8_a_peer_that_dribbles_does_not_live_beyond_the_deadline() -> None:
    class Dribble(Memory):
        async def read(self, deadline: float) -> bytes:
            self._time += 0.25
            return b"\n" if self.blank else b"x"

        blank = False

    for blank in (False, True):
        memory = Dribble(lambda data: [])
        memory.blank = blank
        channel = Channel(memory, BOT)
        with pytest.raises(PeerTimeout):
            run_blocking(channel.ask("name", 10.0))
        assert 10.0 < memory.now() < 10.5
        with pytest.raises(PeerTimeout):
            run_blocking(channel.receive(20.0))
        run_blocking(channel.say_quit(30.0))
        assert 30.0 < memory.now() < 30.5


def test_rule_2_8_an_answer_that_is_late_and_whole_is_still_taken() -> None:
    memory = Memory(lambda data: [b"= a\n\n"], seconds=5.0)
    assert run_blocking(Channel(memory, ENGINE).ask("name", 1.0)) == Reply(True, "a")


# -- 9: sloppy answers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [b"= \n\n", b"=\n\n", b"=  \n\n", b"=\r\n\r\n", b"= \r\n\n"])
def test_rule_2_9_an_empty_success_may_have_a_blank(answer: bytes) -> None:
    assert hear(answer) == [Reply(True), "PeerGone"]


@pytest.mark.parametrize("between", [b"\n", b"\n\n\n", b"\r\n", b"  \n\t\n", b"\x01\n"])
def test_rule_2_9_blank_lines_between_answers_are_accepted(between: bytes) -> None:
    heard = hear(between + b"= a\n\n" + between + b"? b\n\n" + between, 2)
    assert heard == [Reply(True, "a"), Reply(False, "b"), "PeerGone"]


def test_rule_2_9_carriage_returns_are_accepted() -> None:
    assert hear(b"= a\r\nb\r\n\r\n? c\r\n\r\n", 2) == [Reply(True, "a\nb"), Reply(False, "c"), "PeerGone"]


@pytest.mark.parametrize("last", [b"= a", b"= a\n", b"= a\r", b"= a\r\n", b"= a\n\r", b"\n= a"])
def test_rule_2_9_a_last_answer_may_lack_its_end_when_the_stream_ends(last: bytes) -> None:
    assert hear(last) == [Reply(True, "a"), "PeerGone"]
    assert hear(b"= b\n\n" + last, 2) == [Reply(True, "b"), Reply(True, "a"), "PeerGone"]


def test_rule_2_9_a_hash_and_a_tab_in_an_answer_are_text() -> None:
    assert hear(b"= a # b\tc\n#\n\n") == [Reply(True, "a # b\tc\n#"), "PeerGone"]


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        (b"=12text", Reply(True, "text", 12)),
        (b"?3", Reply(False, "", 3)),
        (b"=text", Reply(True, "text")),
        (b"=  a  ", Reply(True, "a")),
        (b"=12345678901 a", Reply(True, "12345678901 a")),
    ],
)
def test_rule_2_9_blanks_around_the_text_are_the_frames(answer: bytes, reply: Reply) -> None:
    connection = Connection(ENGINE)
    connection.send("name")
    connection._expected[0] = reply.id
    connection.receive(answer + b"\n\n")
    assert connection.next_reply() == reply


# -- 10: junk and desynchronisation ---------------------------------------------------------------------------------


def test_rule_2_10_junk_from_an_engine_is_an_error() -> None:
    assert hear(b"Welcome!\n= a\n\n") == ["RemoteProtocolError"]
    assert hear(b"= a\n\nBye\n", 2) == [Reply(True, "a"), "RemoteProtocolError"]


def test_rule_2_10_junk_from_a_bot_is_skipped_with_a_warning() -> None:
    connection = Connection(BOT)
    connection.send("name", "name")
    connection.receive(b"Welcome!\n\n" + b"y" * 500 + b"\n= a\n\nBye \xff\n= b\n\n")
    assert taken(connection) == [Reply(True, "a"), Reply(True, "b")]
    said = "skipped a line that is no answer: "
    assert connection.warnings == [said + "Welcome!", said + "y" * 80, said + "Bye \\xff"]


def test_rule_2_10_up_to_200_lines_of_junk_before_each_answer() -> None:
    junk = b"junk\n" * 200
    assert hear(junk + b"= a\n\n" + junk + b"= b\n\n", 2, BOT) == [Reply(True, "a"), Reply(True, "b"), "PeerGone"]
    assert hear(junk + b"junk\n= a\n\n", 1, BOT) == ["RemoteProtocolError"]
    assert hear(b"= a\n\n" + junk + b"junk\n= b\n\n", 2, BOT) == [Reply(True, "a"), "RemoteProtocolError"]


@pytest.mark.parametrize("before", [b"= a\n\n", b"junk\n= a\n\n", b"= a\nb\n\n"])
def test_rule_2_10_junk_is_counted_anew_after_each_answer_however_it_came(before: bytes) -> None:
    for lines in (200, 201):
        connection = Connection(BOT)
        connection.send("name", "name")
        connection.receive(before)
        connection.receive(b"junk\n" * lines)
        connection.receive(b"= c\n\n")
        assert connection.next_reply() is not None
        assert taken(connection) == ([Reply(True, "c")] if lines == 200 else ["RemoteProtocolError"])


def test_rule_2_10_warnings_are_kept_for_200_lines_only() -> None:
    connection = Connection(BOT)
    for _ in range(3):
        connection.send("name")
        connection.receive(b"junk\n" * 150 + b"= a\n\n")
        assert connection.next_reply() == Reply(True, "a")
    assert len(connection.warnings) == 200


@pytest.mark.parametrize("answer", [b"=2 a\n\n", b"= a\n\n", b"?0\n\n", b"=10 a\n\n"])
def test_rule_2_10_an_id_that_does_not_match_stops_the_peer(answer: bytes) -> None:
    connection = Connection(BOT)
    connection.ids = True
    connection.send("name", "version")
    connection.receive(answer + b"=2 b\n\n")
    for _ in range(2):  # it stays so
        with pytest.raises(RemoteProtocolError, match="desynchronised: expected the answer to 1, got: "):
            connection.next_reply()
    connection.receive(b"=1 a\n\n")
    with pytest.raises(RemoteProtocolError, match="desynchronised"):
        connection.send("quit")


def test_rule_2_10_an_id_that_nobody_gave_stops_the_peer() -> None:
    connection = Connection(BOT)
    connection.send("name")
    connection.receive(b"=1 a\n\n")
    with pytest.raises(RemoteProtocolError, match="expected an answer without id, got: =1 a"):
        connection.next_reply()


@pytest.mark.parametrize("unasked", [b"= b\n\n", b"= b\n", b"= b", b"?", b"\n\x01= b"])
def test_rule_2_10_an_answer_that_nobody_asked_for_stops_the_peer(unasked: bytes) -> None:
    for data in (b"= a\n\n" + unasked, b"= a\n\n"):
        connection = Connection(BOT)
        connection.send("name")
        connection.receive(data)
        if not data.endswith(unasked):
            connection.receive(unasked)
        assert connection.next_reply() == Reply(True, "a")
        with pytest.raises(RemoteProtocolError, match="answered what nobody asked"):
            connection.send("version")


def test_rule_2_10_more_may_be_asked_while_an_answer_is_on_its_way() -> None:
    connection = Connection(ENGINE)
    for part in (b"= a", b"\nb", b"\n\n= c\n\n= d\n\n"):
        connection.send("name")
        connection.receive(part)
    assert taken(connection) == [Reply(True, "a\nb"), Reply(True, "c"), Reply(True, "d")]


def test_rule_2_10_what_came_before_an_error_counts_and_then_the_error_is_the_peers() -> None:
    connection = Connection(ENGINE)
    connection.send("name", "version")
    connection.receive(b"= a\n\njunk\n")
    connection.receive(b"= b\n\n")
    assert taken(connection) == [Reply(True, "a"), "RemoteProtocolError"]
    with pytest.raises(RemoteProtocolError, match="expected an answer that begins with = or \\?, got: junk"):
        connection.send("quit")


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
    with pytest.raises(RemoteProtocolError, match="desynchronised"):
        run_blocking(channel.probe_ids(1.0))


def test_rule_2_11_a_time_out_ends_a_peer_without_ids() -> None:
    channel, memory = channel_to(b"= 2\n\n")
    run_blocking(channel.probe_ids(1.0))
    with pytest.raises(PeerTimeout):
        ask(channel, "genmove b")
    with pytest.raises(RemoteProtocolError, match="echoes no ids"):
        ask(channel, "genmove w")
    run_blocking(channel.say_quit(100.0))  # is not even asked to quit: its launcher ends it
    assert memory.written == b"1 protocol_version\ngenmove b\n"
    assert memory.now() < 100.0


def test_rule_2_11_a_late_answer_of_a_peer_with_ids_is_told_from_the_next() -> None:
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


@pytest.mark.parametrize(
    ("answer", "known"),
    [
        (b"= true\n\n", True),
        (b"=true \n\n", True),
        (b"= false\n\n", False),
        (b"= True\n\n", False),
        (b"= 1\n\n", False),
        (b"=\n\n", False),
        (b"? true\n\n", False),
    ],
)
def test_rule_2_12_known_command_that_is_not_true_means_false(answer: bytes, known: bool) -> None:
    channel, memory = channel_to(answer)
    assert run_blocking(channel.known_command("play", 1.0)) is known
    assert memory.written == b"known_command play\n"


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
    with pytest.raises(LocalProtocolError, match="empty line"):
        Connection(BOT).send(line)


def test_rule_2_13_a_line_that_would_be_taken_for_one_with_an_id_is_never_sent() -> None:
    connection = Connection(BOT)
    with pytest.raises(LocalProtocolError, match="look like an id"):
        connection.send("7 name")
    assert connection.send("7") == b"7\n"
    connection.ids = True
    assert connection.send("7 name") == b"1 7 name\n"


def test_rule_2_13_a_line_with_its_id_is_never_longer_than_64_kib() -> None:
    connection = Connection(BOT)
    longest = "x" * 65_536
    assert connection.send(longest) == longest.encode() + b"\n"
    for line in (longest + "x", "ü" * 32_769):
        with pytest.raises(LocalProtocolError, match="at most 65536 bytes"):
            connection.send(line)
    connection.ids = True
    assert max(map(len, connection.send(*[longest[11:]] * 20).splitlines())) < 65_536
    with pytest.raises(LocalProtocolError, match="at most 65536 bytes"):  # the longest id has 10 digits
        connection.send("name", longest[10:])
    connection._next_id = 2**31 - 1
    assert len(connection.send(longest[11:])) == 65_537


CONTROLS = [
    "10+0.1",
    "0.5",
    "0.999+0.001",
    "40/600",
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
    control = Control.parse(text)
    settings = time_settings(control, {"time_settings"})
    assert re.fullmatch(r"time_settings \d+ \d+ \d+", settings)
    clock = control.clock()
    for used in (0, 1, 499, 999, 10_000_000):  # the last is far beyond every control
        clock.spend(used)
        line = time_left("black", clock)
        assert line == "" if text == "none" else re.fullmatch(r"time_left black \d+ \d+", line)


# -- 14: a peer that goes away --------------------------------------------------------------------------------------


def test_rule_2_14_after_a_broken_write_what_the_peer_said_is_still_read() -> None:
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


def test_rule_2_14_quit_is_said_and_its_answer_read_to_the_end_of_the_stream() -> None:
    memory = Memory.of(make_responder())
    channel = Channel(memory, ENGINE)
    run_blocking(channel.send("name"))
    run_blocking(channel.say_quit(10.0))
    assert memory.written == b"name\nquit\n"
    assert channel.dialogue_tail() == ["> name", "< = Answerer", "> quit", "< ="]
    with pytest.raises(PeerGone):
        run_blocking(channel.receive(10.0))


def test_rule_2_14_what_a_peer_says_after_its_answer_to_quit_is_read_too() -> None:
    channel = Channel(Memory(lambda data: [b"=\n\n", b"saved\n", b"bye", b""]), BOT)
    run_blocking(channel.say_quit(10.0))
    assert [warning.split(": ")[1] for warning in channel.warnings] == ["saved", "bye"]


def test_rule_2_14_a_peer_that_misbehaves_while_it_quits_is_no_error() -> None:
    for said in (b"", b"junk\n", b"= bye\n\n= again\n\n", b"=5 bye\n\n"):
        channel, memory = channel_to(said)
        run_blocking(channel.say_quit(10.0))
        channel.close()
        assert memory.closed


# -- the rules themselves -------------------------------------------------------------------------------------------


def test_every_rule_of_framing_has_a_test_by_its_number() -> None:
    texts = [path.read_text() for path in Path(__file__).parent.glob("test_*.py")]
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
        with pytest.raises(LocalProtocolError, match="suspended"):
            run_blocking(checked)
