"""When standings are worked out again while a ladder runs."""

import time

import pytest

from referee.ladder.limits import Limits
from referee.ladder.news import News
from referee.ladder.progress import Progress
from referee.ladder.work import UnderWay
from referee.store.store import Store


def test_one_slow_moment_does_not_put_standings_off_for_minutes(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first ones may take seconds on a busy machine: a fiftieth of the time would then be minutes without."""
    now = 1000.0
    rated: list[float] = []

    def rate(contests: object) -> None:
        nonlocal now
        rated.append(now)
        now += 5.0 if len(rated) == 1 else 0.01

    monkeypatch.setattr(time, "monotonic", lambda: now)
    with Store.open(f"sqlite:///{tmp_path}/a.db", create=True) as store:
        teller = News(Progress("a"), store, Limits())
        monkeypatch.setattr(teller, "_rate", rate)
        while now < 1100:
            teller.tell({}, UnderWay("a"), lambda progress: None)
            now += 0.3
    assert rated[1] - rated[0] < 40 and len(rated) > 40
