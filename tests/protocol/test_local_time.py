"""The local zone follows its rules at any date, unlike the offset of today."""

from datetime import UTC, datetime, time, timedelta

import pytest

from ggp.protocol.local_time import LOCAL


@pytest.mark.parametrize(
    ("written", "offset", "name"),
    [("2026-01-15T12:00", 1, "CET"), ("2026-07-15T12:00", 2, "CEST"), ("2026-10-25T02:30", 2, "CEST")],
)
@pytest.mark.usefixtures("berlin")
def test_a_time_has_the_offset_of_its_date(written: str, offset: int, name: str) -> None:
    local = datetime.fromisoformat(written).replace(tzinfo=LOCAL)
    assert (local.utcoffset(), local.tzname()) == (timedelta(hours=offset), name)


@pytest.mark.usefixtures("berlin")
def test_the_two_hours_that_look_alike_stay_apart() -> None:
    first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    came = [moment.astimezone(LOCAL) for moment in (first, first + timedelta(hours=1))]
    assert [f"{local:%H:%M %Z}" for local in came] == ["02:30 CEST", "02:30 CET"]
    assert [local.fold for local in came] == [0, 1]
    assert [local.astimezone(UTC) for local in came] == [first, first + timedelta(hours=1)]


def test_a_time_of_day_without_a_date_has_no_offset() -> None:
    noon = time(12, tzinfo=LOCAL)
    assert noon.utcoffset() is None and noon.dst() is None and noon.tzname() is None
