"""A remote bot: what it is sent after a reconnect, what a move is charged, who is blamed. Simulated time."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggp.bots.random import make_choose
from ggp.bots.rng import BotRng
from ggp.bots.sdk import Bot
from ggp.protocol.responder import Responder
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.match.clock import TimeControl, ggp_clock
from ggp.referee.server.lobby.remote_bot import Lateness, MatchTranscript, RemoteBot, run_on
from ggp.referee.server.lobby.socket import QUEUE
from tests.support.simulated_time import START, DistantBot, DistantMatch, SimulatedLoop, run


def script(*said: tuple[str, bytes]) -> MatchTranscript:
    made = MatchTranscript()
    made.start()
    for line, answer in said:
        made.awaited.append(line)
        made.answered(answer)
    return made


def test_transcript_turns_answered_moves_into_plays() -> None:
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


def test_transcript_of_a_plain_bot() -> None:
    made = script(
        ("boardsize 9", b"=\n\n"),
        ("clear_board", b"=\n\n"),
        ("komi 6.5", b"=\n\n"),
        ("kata-time_settings none", b"=\n\n"),
        ("time_left b 10 0", b"=\n\n"),
        ("genmove b", b"= d4\n\n"),
    )
    assert made.told == ["boardsize 9", "clear_board", "komi 6.5", "kata-time_settings none", "play b d4"]


def test_transcript_keeps_rules_and_handicap() -> None:
    lines = ["kata-set-rules {}", "kgs-rules chinese", "set_free_handicap C3 G7", "fixed_handicap 2"]
    assert script(*((line, b"=\n\n") for line in lines)).told == lines
    assert script(("kata-list_time_settings", b"= none\n\n")).told == []


def test_awaited_commands_are_sent_again_with_the_clock_run_on() -> None:
    made = script(("ggp-new go", b"=\n\n"))
    for line in ("7 play white D4", "8 ggp-clock black=9000 white=8000 increment=100", "9 genmove black"):
        made.awaited.append(line)
    made.answered(b"=7\n\n")
    assert made.again(1500) == ["8 ggp-clock black=7500 white=8000 increment=100", "9 genmove black"]
    assert made.again(20_000)[0] == "8 ggp-clock black=0 white=8000 increment=100"
    assert made.told == ["ggp-new go", "play white D4"]


def test_refused_commands_are_not_sent_again() -> None:
    made = script(("set_random_seed 5", b"? no\n\n"), ("komi 6.5", b"=\n\n"), ("kata-time_settings none", b"?\n\n"))
    assert made.told == ["komi 6.5"]


def test_a_clock_that_was_answered_is_sent_again_while_the_move_is_awaited() -> None:
    made = script(("ggp-clock black=9000 white=8000", b"=\n\n"))
    assert made.clock(500) == ""
    made.awaited.append("9 genmove black")
    assert made.clock(1500) == "ggp-clock black=7500 white=8000"
    made.answered(b"=9 D4\n\n")
    made.awaited.append("10 genmove black")
    assert made.clock(1500) == "", "it belongs to another move"


def test_rest_of_a_byo_yomi_period_is_sent_as_main_time() -> None:
    line = "ggp-clock black=3000 white=100 period=8000 periods=5"
    assert run_on(line, "black", 2000) == "ggp-clock black=1000 white=100 period=8000 periods=5"
    assert run_on(line, "black", 5000) == "ggp-clock black=6000 white=100 period=8000 periods=4"
    assert run_on(line, "black", 42_000) == "ggp-clock black=1000 white=100 period=8000 periods=0"
    assert run_on(line, "black", 43_001) == "ggp-clock black=0 white=100 period=8000 periods=0"


def test_time_left_is_rounded_against_the_mover() -> None:
    made = script()
    for line in ("time_left black 30 0", "genmove black"):
        made.awaited.append(line)
    assert made.again(1001)[0] == "time_left black 28 0"
    made.awaited.append("time_left white 30 0")
    assert made.again(0) == ["time_left black 30 0", "genmove black", "time_left white 30 0"]


def test_transcript_is_empty_between_matches() -> None:
    made = MatchTranscript()
    made.awaited.append("1 name")
    assert made.answered(b"=1 x\n\n") == "name"
    assert made.told is None
    assert made.answered(b"=\n\n") is None


def recorded(lateness: Lateness) -> tuple[RemoteBot, list[bytes]]:
    """A bot that is connected, and what it is sent."""
    sent: list[bytes] = []
    line = RemoteBot(lambda route, kind, payloads: not sent.extend(payloads), lateness, 0.1)  # type: ignore[func-returns-value]
    line.come_back(b"route")
    return line, sent


def test_only_lf_ends_a_command() -> None:
    line, sent = recorded(Lateness())
    run_blocking(line.write("1 echo a\u2028b\x85c\n2 name\n".encode()))
    assert sent == ["1 echo a\u2028b\x85c\n".encode(), b"2 name\n"]


def test_lines_in_flight_are_bounded_and_the_wait_is_credited_up_to_the_cap() -> None:
    clock = [0.0]
    line, sent = recorded(Lateness(lambda: clock[0]))
    moves = [f"{number} play black A{number}\n".encode() for number in range(200)]
    run_blocking(line.write(b"".join([*moves, b"200 genmove white\n"])))
    for number in range(200):
        assert sent[number] == moves[number] and len(sent) - number <= QUEUE / 2
        clock[0] += 0.01
        assert line.on_answer(b"=%d\n\n" % number, clock[0])
    assert sent[200] == b"200 genmove white\n"
    clock[0] += 3.0
    assert line.on_answer(b"=200 B1\n\n", clock[0])
    assert line.credit() == pytest.approx(0.1)  # delay before the clock runs gains no time
    line.lose()
    line.come_back(b"again")
    assert len(sent) == 201


# -- what is charged for a move over a network ------------------------------------------------------------------------


def program(seed: int, name: str = "far", version: str = "1") -> Callable[[], Responder]:
    """A bot of the SDK that plays at random."""
    return lambda: Responder(name, version, Bot(make_choose(BotRng(seed))).handlers())


Later = tuple[float, Callable[[DistantBot], object]]
CUT, RETURN = DistantBot.cut, DistantBot.connect


def stand_still(seconds: float) -> Callable[[DistantBot], object]:
    return lambda ann: setattr(ann.loop, "at", ann.loop.at + seconds)


def play(
    control: str = "10+0.1", ann: dict[str, object] | None = None, bob: dict[str, object] | None = None, *then: Later
) -> tuple[DistantMatch, DistantBot, DistantBot]:
    """A match between ann and bob with these ways and times to think; `then`: what happens to ann, and when."""

    async def go(loop: SimulatedLoop) -> tuple[DistantMatch, DistantBot, DistantBot]:
        lateness = Lateness(loop.time)
        lateness.start()
        bots = one, two = tuple(DistantBot(loop, program(seed), lateness, 0.1) for seed in (1, 2))
        for bot, values in zip(bots, (ann or {}, bob or {}), strict=True):
            for name, value in values.items():
                setattr(bot, name, value)
        for when, what in then:
            loop.call_later(when, what, one)
        return await DistantMatch(loop, lateness, bots, control).play(), one, two

    return run(go)


def end(match: DistantMatch) -> tuple[str, str, str]:
    """The result's last letter or "", the termination and the detail."""
    last = match.record.end
    assert last is not None
    return last.result[-1:], last.termination, last.detail


def warnings(match: DistantMatch) -> str:
    assert match.record.end
    return "\n".join(match.record.end.warnings)


@pytest.mark.parametrize("control", ["10+0.1", "none"])
def test_network_delay_up_to_the_cap_is_not_charged(control: str) -> None:
    match, *_ = play(control, {"way": 0.08, "think": 0.05}, {"way": 0.0, "think": 0.03})
    assert end(match)[1] == "rules"
    assert set(match.charged(1)) <= {49, 50} and set(match.charged(2)) <= {29, 30}


def test_network_delay_beyond_the_cap_is_charged() -> None:
    match, *_ = play("20+1", {"way": 0.25, "think": 0.05})
    assert set(match.charged(1)) <= {199, 200}


def test_slow_answers_to_probes_gain_the_cap_at_most() -> None:
    """It delays all its answers; the delay of the probe gives it the cap of 0.1 s, and no more."""
    match, *_ = play("60+1", {"dally": 0.2, "think": 0.05})
    longest = max(match.charged(1))
    assert min(match.charged(1)) >= 450 - 200 - 100 - 1 and longest <= 450  # the first turn has no `play`
    assert all(ms >= 349 for ms in match.charged(1)[1:])


def test_least_round_trip_time_counts() -> None:
    chance = random.Random(7)
    match, *_ = play("20+1", {"way": lambda: chance.uniform(0.04, 0.2), "think": 0.05})
    assert max(match.charged(1)) <= 50 + 200 - 40 and min(match.charged(1)) >= 50 - (100 - 40)


@pytest.mark.parametrize(("before", "after"), [(0.0, 0.08), (0.08, 0.0)])
def test_round_trip_time_is_measured_again_after_a_reconnect(before: float, after: float) -> None:
    """From near to far the delay is credited at once, and from far to near no longer."""

    def move(ann: DistantBot) -> None:
        ann.cut()
        ann.way = after
        ann.connect()

    match, ann, _ = play("20+1", {"way": before, "think": 0.05}, {"think": 0.5}, (5.8, move))
    charged = match.charged(1)
    assert end(match)[1] == "rules" and ann.connection == 3
    calm = [ms for ms in charged if ms < 100]  # all but the turn in which it was away, if it was
    assert len(calm) >= len(charged) - 1 and set(calm) <= {49, 50}, charged


def test_round_trip_time_is_measured_before_every_match() -> None:
    match, ann, _ = play("none", {"way": 0.06, "think": 0.05})
    assert match.charged(1)[0] in (49, 50)
    assert [line for _, line in ann.heard][4:6] == ["protocol_version", "ggp-new yugo size=5"]


# -- blame for a late answer ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("control", "ann", "bob", "then", "said"),
    [
        (
            "1+0.1",
            {"think": 1.3, "way": 0.02},
            {},
            (),
            "the answer came 300 ms after its time was up; bot (network: the way takes 20 ms, credited",
        ),
        (
            "1+0.6",
            {"think": 0.05},
            {"think": 0.5},
            ((5.2, lambda ann: setattr(ann, "way", 3.0)),),
            "; network: the way took 3000 ms this time (network: the way takes 0 ms, credited 0 of",
        ),
        (
            "2+0",
            {"think": 0.3},
            {"think": 0.3},
            ((1.0, CUT), (4.0, RETURN)),
            "; network: its connection was lost meanwhile (",
        ),
    ],
    ids=["slow bot", "slow network", "lost connection"],
)
def test_a_loss_on_time_says_what_was_slow(
    control: str, ann: dict[str, object], bob: dict[str, object], then: tuple[Later, ...], said: str
) -> None:
    match, *_ = play(control, ann, bob, *then)
    letter, termination, detail = end(match)
    assert (letter, termination) == ("T", "time") and said in detail


def test_bot_that_reconnects_with_time_left_plays_on() -> None:
    match, ann, bob = play("20+0.3", {"think": 0.3}, {"think": 0.3}, (1.0, CUT), (4.0, RETURN))
    assert end(match)[1] == "rules" and ann.unasked == bob.unasked == 0


@pytest.mark.parametrize("when", [1.65, 1.8, 2.0, 2.2])
def test_standstill_of_the_server_costs_no_game_and_is_recorded(when: float) -> None:
    """For 3 s, with 0.5 s on the clocks, whichever bot is to move."""
    far: dict[str, object] = {"think": 0.2, "way": 0.02}
    match, *_ = play("0.5+0.2", far, far, (when, stand_still(3)))
    assert end(match)[1] == "rules"
    assert "ms after its time, which is not its fault: host: the server was late by " in warnings(match)
    assert match.record.end and match.record.end.suspect
    assert sum(ms > 220 for ms in match.charged(1) + match.charged(2)) == 0


def test_standstill_beyond_every_deadline_costs_no_game() -> None:
    """Longer than the clock and the grace for silent bots."""
    match, *_ = play("0.5+0.2", {"think": 0.2}, {"think": 0.2}, (1.7, stand_still(60)))
    assert end(match)[1] == "rules"


def test_standstill_does_not_extend_the_wait_for_a_silent_bot() -> None:
    def fall_silent(ann: DistantBot) -> None:
        ann.think = 1e5

    match, *_ = play("0.5+0.2", {"think": 0.2}, None, (2.0, fall_silent), (2.5, stand_still(3)))
    assert end(match)[:2] == ("T", "stalled")
    assert match.loop.at < START + 30


def test_overrun_within_the_margin_is_explained() -> None:
    match, *_ = play("1/move", {"think": 1.02})
    assert "came 20 ms late, within the margin; bot (network: the way takes 0 ms" in warnings(match)


def test_decisive_credit_is_explained() -> None:
    match, *_ = play("1/move", {"think": 0.95, "way": 0.08})
    assert end(match)[1] == "rules"
    assert "ply 3 came 29 ms after its time, which is not its fault: network: the way takes 80 ms" in warnings(match)


# -- the same program ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("when", "plies"), [(0.35, 0), (1.2, 2)], ids=["before ply 2", "later"])
def test_another_program_cannot_continue_a_match(when: float, plies: int) -> None:
    def come(ann: DistantBot) -> None:
        ann.refused = ann.line.end  # as Sessions does
        ann.make = program(1, version="2")
        ann.cut()
        ann.connect()

    match, ann, _ = play("10+0.1", {"think": 0.3}, {"think": 0.3}, (when, come))
    letter, termination, detail = end(match)
    assert (letter, termination) == ("F" if plies else "", "disconnected")
    assert "another program reconnected in its place: its version is '2' and was '1'" in detail
    came = [line for at, line in ann.heard if at > START - 0.01 + when]
    assert came[:2] == ["name", "version"] and not any("genmove" in line for line in came), "it was asked for a move"


def test_same_program_is_identified_and_continues() -> None:
    match, ann, _ = play("10+0.1", {"think": 0.3}, {"think": 0.3}, (1.0, CUT), (1.2, RETURN))
    assert end(match)[1] == "rules"
    assert [line for _, line in ann.heard].count("version") == 2


# -- the true clock --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(0.0, 3.0), min_size=2, max_size=8),
    st.floats(0.0, 0.2),
    st.sampled_from(["60+1", "5/60", "30+5x8", "20/move"]),
)
def test_clock_sent_after_a_reconnect_is_the_clock_that_is_charged(
    instants: list[float], way: float, control: str
) -> None:
    """Disconnected and reconnected at any times: the clock that it was sent, less the time since, is what is left."""

    at, then = 0.5, list[Later]()
    for number, wait in enumerate(instants):
        at += wait + 0.01
        then.append((at, RETURN if number % 2 else CUT))
    match, ann, _ = play(control, {"think": 0.4, "way": way}, {"think": 0.1}, *then, (at + 0.01, RETURN))
    assert end(match)[1] == "rules" and ann.unasked == 0
    clock = TimeControl.parse(control).clock()
    moves = [ply for ply in match.record.plies if ply.seat == 1]
    assert len(ann.clocks) == len(moves)
    for ply, (when, line) in zip(moves, ann.clocks, strict=True):
        gone = clock.left - _total(line)  # before it was told
        since = 400 + (way / 2) * 1000  # its thinking, and the way back
        assert gone + since - 100 - 2 <= ply.ms <= gone + since + way * 500 + 2, (line, ply, when)
        clock.spend(ply.ms)
        assert ply.left == clock.left


def _total(line: str) -> int:
    """ms that a ggp-clock line leaves to black, periods included."""
    values = dict(word.split("=") for word in line.split()[1:])
    period, periods = int(values.get("period", 0)), int(values.get("periods", 0))
    left = int(values["black"])
    return left + period * (periods - (left == period))


@given(
    st.sampled_from(["60+1", "5/60", "30+5/60", "30+5x8", "5x8", "20/move"]),
    st.lists(st.integers(0, 9000)),
    st.integers(0, 99_000),
)
def test_clock_that_runs_on_never_shows_too_much_time(control: str, spent: list[int], elapsed: int) -> None:
    clock = TimeControl.parse(control).clock()
    for ms in spent:
        if clock.spend(ms):
            return
    line = ggp_clock(clock, clock, clock)
    after = _total(run_on(line, "black", elapsed))
    assert after <= max(0, clock.left - elapsed)
    told_as_less = {"30+5x8": clock.time_left() == (8000, 0), "30+5/60": clock.time_left()[1] == 0}
    if not told_as_less.get(control):
        assert after == max(0, clock.left - elapsed)
