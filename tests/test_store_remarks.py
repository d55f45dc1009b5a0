"""What a fit says besides ratings comes back from the text that is stored of it."""

from referee.store.remarks import read_remarks, write_remarks
from referee.store.rows import Drift, Fit, Misfit

BARE = Fit(pool=1, games=10, model="davidson", advantage=1.5, advantage_se=0.5, tie=0.25)


def test_remarks_come_back() -> None:
    full = Fit(
        *(1, 10, "davidson", 1.5, 0.5, 0.25),
        anchors={3: 1800.0, 17: -0.5},
        deviance=12.125,
        freedom=7,
        misfits=(Misfit(3, 17, 10.0, 7.5, 2.25, 9.0),),
        drifts=(Drift(4, 3, 55.5, 11.0),),
    )
    assert read_remarks(BARE, write_remarks(full)) == full
    assert read_remarks(BARE, write_remarks(BARE)) == BARE


def test_a_fit_without_remarks_is_read() -> None:
    assert read_remarks(BARE, "") == BARE
