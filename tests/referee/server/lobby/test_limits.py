"""The clocks of a lobby."""

from ggp.referee.server.lobby.limits import CLOCK_JUMP, ClockWatch


def test_a_wall_clock_that_was_set_is_noticed_once() -> None:
    watch = ClockWatch(1e9, 50.0)
    assert watch.jump(1e9 + 5, 55.0) == 0
    assert watch.jump(1e9 + 10 + CLOCK_JUMP - 1, 60.0) == 0, "less than a minute"
    assert watch.jump(1e9 + 20 + 86400, 70.0) == 86400
    assert watch.jump(1e9 + 30 + 86400, 80.0) == 0, "it was said"
    assert watch.jump(1e9 + 40, 90.0) == -86400


def test_a_wall_clock_that_drifts_is_noticed_when_a_minute_is_reached() -> None:
    watch = ClockWatch(0.0, 0.0)
    jumps = [watch.jump(seconds * 1.01, seconds) for seconds in range(0, 20000, 100)]
    assert [round(jump) for jump in jumps if jump] == [60, 60, 60]
