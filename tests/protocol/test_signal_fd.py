"""Signals as a descriptor to poll, and as an exception only where one is asked for."""

import os
import select
import signal

import pytest

from ggp.protocol.transports.signal_fd import Stopped, Stopping, on_signals


def test_a_signal_is_a_descriptor_that_can_be_read_and_no_exception() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Stopping() as stopping:
        stopping.check()
        os.kill(os.getpid(), signal.SIGTERM)
        assert select.select([stopping.descriptor], [], [], 60)[0]
        with pytest.raises(Stopped, match="SIGTERM") as stopped:
            stopping.check()
        assert stopped.value.number == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before


def test_where_it_is_asked_for_a_signal_is_an_exception_at_once() -> None:
    with Stopping() as stopping:
        with pytest.raises(Stopped, match="SIGINT"), stopping.raising():
            os.kill(os.getpid(), signal.SIGINT)
            raise AssertionError("nothing happened")
        with stopping.raising(again=True):
            pass
        with pytest.raises(Stopped), stopping.raising():
            raise AssertionError("there has been one")


def test_with_a_notice_the_first_signal_is_reported_and_the_second_raises(capfd: pytest.CaptureFixture[str]) -> None:
    with Stopping("again: now") as stopping:
        with stopping.raising():
            os.kill(os.getpid(), signal.SIGTERM)
        assert select.select([stopping.descriptor], [], [], 60)[0] and stopping.number == signal.SIGTERM
        stopping.check()
        assert capfd.readouterr().err == "again: now\n"
        with pytest.raises(Stopped, match="SIGINT"), stopping.raising():
            os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(Stopped):
            stopping.check()
    assert capfd.readouterr().err == ""


def test_where_the_first_one_is_to_raise_the_notice_does_not_count() -> None:
    with Stopping("again: now") as stopping, pytest.raises(Stopped), stopping.raising(first=True):
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("nothing happened")
    with Stopping("again: now") as stopping:
        os.kill(os.getpid(), signal.SIGTERM)
        stopping.check()
        with stopping.raising():
            pass
        with pytest.raises(Stopped), stopping.raising(first=True):
            raise AssertionError("there has been one")
        with pytest.raises(Stopped), stopping.raising(again=True):
            os.kill(os.getpid(), signal.SIGTERM)


def test_a_signal_right_after_the_check_is_an_exception_too() -> None:
    class Late(Stopping):
        def check(self) -> None:
            super().check()
            os.kill(os.getpid(), signal.SIGTERM)

    with Late() as stopping, pytest.raises(Stopped), stopping.raising():
        raise AssertionError("nothing happened")


@pytest.mark.parametrize("ignored", [False, True])
def test_a_hangup_that_is_ignored_stays_so(ignored: bool) -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
    try:
        with on_signals(lambda number, frame: heard.append(number), signal.SIGHUP, signal.SIGTERM):
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGHUP)
        assert heard == [signal.SIGTERM, *([] if ignored else [signal.SIGHUP])]
        assert signal.getsignal(signal.SIGHUP) == (signal.SIG_IGN if ignored else signal.SIG_DFL)
    finally:
        signal.signal(signal.SIGHUP, before)
