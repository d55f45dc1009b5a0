"""When a run of a ladder ends: what --games and --until mean."""

from datetime import UTC, datetime, timedelta

import pytest

from ggp.referee.ladder.progress import LimitError, read_limits
from tests.support.codes import raises

NOW = datetime(2026, 11, 21, 17, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("18:00", timedelta(minutes=30)),
        ("17:30", timedelta(days=1)),  # it is that time now: the next one is meant
        ("9:05", timedelta(hours=15, minutes=35)),
        ("90s", timedelta(seconds=90)),
        ("1.5h", timedelta(minutes=90)),
        ("2d", timedelta(days=2)),
        ("99999d", timedelta(days=99999)),
        ("2026-11-22T17:30", timedelta(days=1)),
        ("2026-11-21T18:30+01:00", timedelta(0)),
        ("2026-11-21T18:31+01:00", timedelta(minutes=1)),
    ],
)
def test_a_moment(text: str, after: timedelta) -> None:
    if not after:
        with raises(LimitError, "time-passed"):
            read_limits(None, text, NOW)
        return
    assert read_limits(None, text, NOW).at == (NOW + after).timestamp()


def test_no_limit_and_games() -> None:
    limits = read_limits(None, None, NOW)
    assert (limits.games, limits.at, limits.se) == (None, None, None)
    both = read_limits(100, "90s", NOW)
    assert both.games == 100 and both.at == NOW.timestamp() + 90


def test_a_standard_error() -> None:
    assert read_limits(7, "se=12.5", NOW).se == 12.5


@pytest.mark.parametrize(
    "text", ["", "soon", "25:00", "12:60", "90", "90y", "-5m", "2026-13-01T00:00", "99999999h", "9999999d"]
)
def test_what_is_no_moment_names_the_forms(text: str) -> None:
    with raises(LimitError, "bad-limit"):
        read_limits(None, text, NOW)


@pytest.mark.parametrize("text", ["se=", "se=0", "se=-3", "se=nan", "se=inf", "se=2000", "se=ten"])
def test_what_is_no_standard_error(text: str) -> None:
    with raises(LimitError, "bad-limit"):
        read_limits(None, text, NOW)
