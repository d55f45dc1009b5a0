"""Every rule of framing that binds the asking end, by its number: Connection and Channel before sloppy, scripted peers.

Pipes to real processes are in test_protocol_pipe; `quit`, grace and signals are the launcher's and tested there.
"""

import re
from types import SimpleNamespace
from typing import cast

import pytest

from ggp.protocol.channel import Channel
from ggp.protocol.connection import Connection, PeerRole, ReadLimits
from ggp.protocol.errors import PeerGone, PeerTimeout, RemoteProtocolError
from ggp.protocol.messages import Reply
from ggp.protocol.records import Party
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.memory import Memory
from ggp.referee.match.clock import TimeControl
from ggp.referee.match.player import meet
from ggp.referee.match.process import Peer
from ggp.referee.match.setting import Setting, Timeouts
from tests.support.answering_program import BOARD, BOT, ENGINE, ask, channel_to, hear, make_responder, taken
from tests.support.codes import raises

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
    connection.ids, connection.next_id = True, 2**31 - 1
    assert connection.send("a", "b") == b"2147483647 a\n1 b\n"


def test_rule_2_3_an_answer_ends_at_its_first_empty_line() -> None:
    board = b"= \n" + BOARD.encode() + b"\n\n"
    assert hear(board) == [Reply(True, "\n" + BOARD), "PeerGone"]
    assert hear(b"= a\nb\n \nc\n\n? d\n\n", 2) == [Reply(True, "a\nb\n \nc"), Reply(False, "d"), "PeerGone"]


def test_rule_2_3_answers_that_come_together_are_distinguished() -> None:
    connection = Connection(ENGINE)
    connection.ids = True
    assert connection.send("play b D4", "genmove w", "name") == b"1 play b D4\n2 genmove w\n3 name\n"
    connection.receive(b"=1\n\n=2\n\n=3 a bot\n\n")
    assert taken(connection) == [Reply(True, "", 1), Reply(True, "", 2), Reply(True, "a bot", 3)]


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
    bot = SimpleNamespace(channel=Channel(memory, BOT), idle=None)
    player = run_blocking(meet(cast(Peer, bot), Party(name="bot"), Timeouts()))
    setting = Setting("go", {"size": "9"}, {"size": "19", "komi": "7.5"}, TimeControl.parse("none"))
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
    limits = ReadLimits(answer=8, lines=2)
    assert hear(b"= 12345\n\n", limits=limits) == [Reply(True, "12345"), "PeerGone"]
    assert hear(b"= 123456\n\n", limits=limits) == ["RemoteProtocolError"]
    assert hear(b"= 1\n2\n\n", limits=limits) == [Reply(True, "1\n2"), "PeerGone"]
    assert hear(b"=\n2\n3\n\n", limits=limits) == ["RemoteProtocolError"]
    assert hear(b"\n\n= 1\n\n\n\n= 2\n", 2, limits=limits) == [Reply(True, "1"), Reply(True, "2"), "PeerGone"]
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


@pytest.mark.parametrize("last", [b"= a\n", b"= a\r\n", b"= a\n\r", b"= a\n \t", b"\n= a\n"])
def test_rule_2_9_one_line_feed_ends_a_last_answer_when_the_stream_ends(last: bytes) -> None:
    assert hear(last) == [Reply(True, "a"), "PeerGone"]
    assert hear(b"= b\n\n" + last, 2) == [Reply(True, "b"), Reply(True, "a"), "PeerGone"]


@pytest.mark.parametrize("last", [b"=", b"= a", b"= a\r", b"\n= a", b"? a", b"= a\nb", b"= a\nb\nc"])
@pytest.mark.parametrize("peer", [ENGINE, BOT])
def test_rule_2_9_an_answer_that_the_end_of_the_stream_cuts_is_a_crash(last: bytes, peer: PeerRole) -> None:
    assert hear(last, 1, peer) == ["PeerGone"]
    assert hear(b"= b\n\n" + last, 2, peer) == [Reply(True, "b"), "PeerGone"]
    connection = Connection(peer)
    connection.send("genmove b", "genmove w")
    for byte in last:
        connection.receive(bytes([byte]))
    connection.receive(b"")
    with raises(PeerGone, "answer-cut"):
        connection.next_reply()


@pytest.mark.parametrize("last", [b"=", b"= bye", b"= bye\r", b"= good\nbye"])
def test_rule_2_9_after_quit_an_answer_may_be_cut(last: bytes) -> None:
    connection = Connection(ENGINE)
    connection.send("name", "quit")
    connection.receive(b"= a\n\n" + last)
    connection.receive(b"")
    assert taken(connection)[:1] + taken(connection)[-1:] == [Reply(True, "a"), "PeerGone"]
    connection = Connection(ENGINE)
    connection.send("name", "quit")
    connection.receive(b"= a")  # not the answer to quit
    connection.receive(b"")
    assert taken(connection) == ["PeerGone"]


@pytest.mark.parametrize("answer", [b"=\ta", b"= a\t", b"=\ta\t\t", b"= \t a \t "])
def test_rule_2_9_tabs_around_the_text_are_forgiven_as_blanks_are(answer: bytes) -> None:
    assert hear(answer + b"\n\n") == [Reply(True, "a"), "PeerGone"]


def test_rule_2_9_a_byte_order_mark_before_the_first_answer_is_dropped() -> None:
    mark = b"\xef\xbb\xbf"
    assert hear(mark + b"= a\n\n") == [Reply(True, "a"), "PeerGone"]
    assert hear(mark + b"= a\n\n" + mark + b"= b\n\n", 2) == [Reply(True, "a"), "RemoteProtocolError"]
    for cut in range(1, 6):
        connection = Connection(ENGINE)
        connection.send("name")
        connection.receive((mark + b"= a\n\n")[:cut])
        connection.receive((mark + b"= a\n\n")[cut:])
        assert taken(connection) == [Reply(True, "a")]


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
    connection.send_exactly(b"name\n" if reply.id is None else b"%d name\n" % reply.id)
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
    said = "skipped a line that is not an answer: "
    assert connection.warnings == [said + "Welcome!", said + "y" * 80, said + "Bye \\xff"]


def test_rule_2_10_up_to_200_lines_of_junk_before_each_answer() -> None:
    junk = b"junk\n" * 200
    assert hear(junk + b"= a\n\n" + junk + b"= b\n\n", 2, BOT) == [Reply(True, "a"), Reply(True, "b"), "PeerGone"]
    assert hear(junk + b"junk\n= a\n\n", 1, BOT) == ["RemoteProtocolError"]
    assert hear(b"= a\n\n" + junk + b"junk\n= b\n\n", 2, BOT) == [Reply(True, "a"), "RemoteProtocolError"]


@pytest.mark.parametrize("before", [b"= a\n\n", b"junk\n= a\n\n", b"= a\nb\n\n"])
def test_rule_2_10_junk_is_counted_again_after_each_answer_however_it_came(before: bytes) -> None:
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
        with raises(RemoteProtocolError, "wrong-id"):
            connection.next_reply()
    connection.receive(b"=1 a\n\n")
    with raises(RemoteProtocolError, "wrong-id"):
        connection.send("quit")


def test_rule_2_10_an_id_that_was_not_given_stops_the_peer() -> None:
    connection = Connection(BOT)
    connection.send("name")
    connection.receive(b"=1 a\n\n")
    with raises(RemoteProtocolError, "wrong-id"):
        connection.next_reply()


@pytest.mark.parametrize("unasked", [b"= b\n\n", b"= b\n", b"= b", b"?", b"\n\x01= b"])
def test_rule_2_10_an_answer_without_a_question_stops_the_peer(unasked: bytes) -> None:
    for data in (b"= a\n\n" + unasked, b"= a\n\n"):
        connection = Connection(BOT)
        connection.send("name")
        connection.receive(data)
        if not data.endswith(unasked):
            connection.receive(unasked)
        assert connection.next_reply() == Reply(True, "a")
        with raises(RemoteProtocolError, "answer-unasked"):
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
    with raises(RemoteProtocolError, "no-answer"):
        connection.send("quit")
