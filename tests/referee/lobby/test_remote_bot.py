"""What a bot that comes back is told: the match so far, then what it was asked, with clocks run on."""

from collections.abc import Sequence

import pytest

from protocol.transports.blocking import run_blocking
from referee.lobby.remote_bot import Lateness, MatchTranscript, RemoteBot, run_on
from referee.lobby.run import QUEUE


def script(*said: tuple[str, bytes]) -> MatchTranscript:
    made = MatchTranscript()
    made.start()
    for line, answer in said:
        made.sent(line)
        made.answered(answer)
    return made


def test_answered_moves_become_plays_and_what_sets_nothing_up_is_left_out() -> None:
    made = script(
        ("3 set_random_seed 5", b"=3\n\n"),
        ("4 ggp-new yugo size=7", b"=4\n\n"),
        ("5 ggp-clock black=100 white=100", b"=5\n\n"),
        ("6 genmove black", b"=6 D4\n\n"),
        ("7 play white swap-sides", b"=7\n\n"),
        ("8 ggp-genmove_analyze white", b"=8 E5\n{}\n\n"),
        ("9 final_status_list dead", b"=9 A1\n\n"),
        ("10 genmove white", b"?10 no idea\n\n"),
        ("11 genmove white", b"=11 resign\n\n"),
    )
    assert made.told == [
        "set_random_seed 5",
        "ggp-new yugo size=7",
        "play black D4",
        "play white swap-sides",
        "play white E5",
    ]


def test_a_plain_bot_is_set_up_with_its_own_commands() -> None:
    made = script(
        ("boardsize 9", b"=\n\n"),
        ("clear_board", b"=\n\n"),
        ("komi 6.5", b"=\n\n"),
        ("kata-time_settings none", b"=\n\n"),
        ("time_left b 10 0", b"=\n\n"),
        ("genmove b", b"= d4\n\n"),
    )
    assert made.told == ["boardsize 9", "clear_board", "komi 6.5", "kata-time_settings none", "play b d4"]


def test_a_plain_bot_that_was_started_again_gets_rules_and_handicap_again() -> None:
    lines = ["kata-set-rules {}", "kgs-rules chinese", "set_free_handicap C3 G7", "fixed_handicap 2"]
    assert script(*((line, b"=\n\n") for line in lines)).told == lines
    assert script(("kata-list_time_settings", b"= none\n\n")).told == []


def test_what_is_awaited_is_asked_again_with_the_movers_clock_run_on() -> None:
    made = script(("ggp-new go", b"=\n\n"))
    for line in ("7 play white D4", "8 ggp-clock black=9000 white=8000 increment=100", "9 genmove black"):
        made.sent(line)
    made.answered(b"=7\n\n")
    assert made.again(1500) == ["8 ggp-clock black=7500 white=8000 increment=100", "9 genmove black"]
    assert made.again(20_000)[0] == "8 ggp-clock black=0 white=8000 increment=100"
    assert made.told == ["ggp-new go", "play white D4"]


def test_what_a_bot_refused_it_is_not_told_again() -> None:
    made = script(("set_random_seed 5", b"? no\n\n"), ("komi 6.5", b"=\n\n"), ("kata-time_settings none", b"?\n\n"))
    assert made.told == ["komi 6.5"]


def test_a_clock_that_was_answered_is_sent_again_while_the_move_is_awaited() -> None:
    made = script(("ggp-clock black=9000 white=8000", b"=\n\n"))
    assert made.clock(500) == ""
    made.sent("9 genmove black")
    assert made.clock(1500) == "ggp-clock black=7500 white=8000"
    made.answered(b"=9 D4\n\n")
    made.sent("10 genmove black")
    assert made.clock(1500) == "", "it is another move's"


def test_a_period_that_has_begun_is_sent_as_what_is_left_of_it_and_the_others() -> None:
    line = "ggp-clock black=3000 white=100 period=8000 periods=5"
    assert run_on(line, "black", 2000) == "ggp-clock black=1000 white=100 period=8000 periods=5"
    assert run_on(line, "black", 5000) == "ggp-clock black=6000 white=100 period=8000 periods=4"
    assert run_on(line, "black", 42_000) == "ggp-clock black=1000 white=100 period=8000 periods=0"
    assert run_on(line, "black", 43_001) == "ggp-clock black=0 white=100 period=8000 periods=0"


def test_gtp_counts_whole_seconds_and_rounds_against_the_mover() -> None:
    made = script()
    for line in ("time_left black 30 0", "genmove black"):
        made.sent(line)
    assert made.again(1001)[0] == "time_left black 28 0"
    made.sent("time_left white 30 0")
    assert made.again(0) == ["time_left black 30 0", "genmove black", "time_left white 30 0"]


def test_between_matches_nothing_is_kept_and_no_answer_is_sent_unasked() -> None:
    made = MatchTranscript()
    made.sent("1 name")
    assert made.answered(b"=1 x\n\n") == "name"
    assert made.told is None
    assert made.answered(b"=\n\n") is None


def test_a_command_ends_with_lf_and_nothing_else_that_python_takes_for_the_end_of_a_line() -> None:
    sent: list[bytes] = []

    def send(route: bytes, kind: bytes, payloads: Sequence[bytes]) -> bool:
        sent.extend(payloads)
        return True

    line = RemoteBot(send, Lateness(), 0.1)
    line.come_back(b"route")
    run_blocking(line.write("1 echo a\u2028b\x85c\n2 name\n".encode()))
    assert sent == ["1 echo a\u2028b\x85c\n".encode(), b"2 name\n"]


def test_no_more_lines_are_on_their_way_than_the_socket_keeps_and_a_wait_for_that_is_credited_to_the_cap() -> None:
    sent: list[bytes] = []
    clock = [0.0]

    def send(route: bytes, kind: bytes, payloads: Sequence[bytes]) -> bool:
        sent.extend(payloads)
        return True

    line = RemoteBot(send, Lateness(lambda: clock[0]), 0.1)
    line.come_back(b"route")
    moves = [f"{number} play black A{number}\n".encode() for number in range(200)]
    run_blocking(line.write(b"".join([*moves, b"200 genmove white\n"])))
    for number in range(200):
        assert sent[number] == moves[number] and len(sent) - number <= QUEUE / 2
        clock[0] += 0.01
        assert line.on_answer(b"=%d\n\n" % number, clock[0])
    assert sent[200] == b"200 genmove white\n"
    clock[0] += 3.0
    assert line.on_answer(b"=200 B1\n\n", clock[0])
    assert line.credit() == pytest.approx(0.1)  # who dallies over what he is told first gains no time to think
    line.lose()
    line.come_back(b"again")
    assert len(sent) == 201
