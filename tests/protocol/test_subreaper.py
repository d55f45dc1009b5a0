"""A process adopts its orphans and ends them; it leaves other children of the process alone."""

import ctypes
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggp.protocol.transports import subreaper

_GET_PDEATHSIG, _SET_CHILD_SUBREAPER, _GET_CHILD_SUBREAPER = 2, 36, 37


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a process that has adopted nothing, which this is again afterwards."""
    monkeypatch.setattr(subreaper, "_adopting", [])
    monkeypatch.setattr(subreaper, "_spared", set())
    adopts, dies = _asked(_GET_CHILD_SUBREAPER), _asked(_GET_PDEATHSIG)
    yield
    subreaper._prctl(_SET_CHILD_SUBREAPER, adopts)
    subreaper._prctl(1, dies)


@pytest.mark.slow
@pytest.mark.usefixtures("fresh")
def test_strays_are_killed_and_reaped_and_no_others() -> None:
    with subprocess.Popen(["sleep", "1000"]) as before:
        try:
            subreaper.kill_strays(())
            assert before.poll() is None  # nothing was adopted yet
            subreaper.adopt_orphans()
            with subprocess.Popen(["sleep", "1000"]) as known:
                started = subprocess.run(
                    ["sh", "-c", "setsid sleep 1000 > /dev/null & echo $!"], stdout=subprocess.PIPE
                )
                stray = int(started.stdout)
                subreaper.kill_strays({known.pid})
                assert not Path(f"/proc/{stray}").exists()
                assert before.poll() is None and known.poll() is None
                known.kill()
        finally:
            before.kill()


@pytest.mark.slow
@pytest.mark.usefixtures("fresh")
def test_orphans_are_adopted_for_a_while() -> None:
    with subprocess.Popen(["sleep", "1000"]) as before:
        try:
            with subreaper.adopting_orphans():
                assert _asked(_GET_CHILD_SUBREAPER) == 1
                with subreaper.adopting_orphans():  # once is enough
                    started = subprocess.run(
                        ["sh", "-c", "setsid sleep 1000 > /dev/null & echo $!"], stdout=subprocess.PIPE
                    )
                stray = int(started.stdout)
                assert Path(f"/proc/{stray}").exists()
            assert not Path(f"/proc/{stray}").exists() and before.poll() is None
            assert _asked(_GET_CHILD_SUBREAPER) == 0
        finally:
            before.kill()


@pytest.mark.slow
@pytest.mark.usefixtures("fresh")
def test_a_stray_that_another_reaps_first_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    subreaper.adopt_orphans()
    gone = _ended()
    asked = 0

    def children() -> list[int]:
        nonlocal asked
        asked += 1
        return [gone]

    monkeypatch.setattr(subreaper, "_children", children)
    subreaper.kill_strays(())
    assert asked == subreaper._ROUNDS


@pytest.mark.slow
@pytest.mark.usefixtures("fresh")
def test_what_does_not_end_is_left_to_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frozen process is killed when it goes on."""
    with subprocess.Popen(["sleep", "1000"]) as frozen:
        monkeypatch.setattr(subreaper, "_adopting", [True])
        monkeypatch.setattr(subreaper, "_children", lambda: [frozen.pid])
        monkeypatch.setattr(subreaper, "_PATIENCE", 0.05)
        with monkeypatch.context() as patched:
            patched.setattr("os.kill", lambda pid, number: None)
            subreaper.kill_strays(())
        assert frozen.poll() is None
        frozen.kill()


@pytest.mark.usefixtures("fresh")
def test_a_signal_is_asked_for_at_the_parents_end() -> None:
    subreaper.end_with_parent(signal.SIGCONT)
    assert _asked(_GET_PDEATHSIG) == signal.SIGCONT


def _ended() -> int:
    """The number of a process that has ended and was reaped."""
    with subprocess.Popen(["true"]) as process:
        process.wait()
    return process.pid


def _asked(option: int) -> int:
    value = ctypes.c_int()
    assert ctypes.CDLL(None).prctl(option, ctypes.byref(value), 0, 0, 0) == 0
    return value.value
