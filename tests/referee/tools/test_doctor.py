"""What is read of /proc and /sys is understood, also where a file is missing or has another form."""

import os
import resource
import time
from pathlib import Path

import pytest

from ggp.referee.tools import doctor as host
from ggp.referee.tools.doctor import (
    PROGRAMS,
    Condition,
    clock,
    conditions,
    cores,
    descriptors,
    disk,
    memory,
    packages,
    pinning,
    pressure,
    processor_times,
    programs,
    stolen,
)
from tests.conftest import PACKAGES
from tests.support.archives import files


def test_the_quota_of_a_cgroup_limits_the_matches_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3})
    assert cores(tmp_path).remedy == ""
    for number, group in enumerate(
        (
            [("fs/cgroup/cpu.max", "250000 100000\n")],
            [("fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n"), ("fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")],
        )
    ):
        found = cores(files(tmp_path / str(number), group))
        assert found.value == {"usable": 4, "present": os.cpu_count(), "quota": 2.5} and "--jobs 2" in found.remedy
    for text in ("max 100000\n", "", "nonsense\n"):
        assert cores(files(tmp_path, [("fs/cgroup/cpu.max", text)])).remedy == ""
    assert cores(files(tmp_path, [("fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")])).remedy == ""


def test_stolen_time_is_a_share_of_the_sample(tmp_path: Path) -> None:
    before = processor_times(files(tmp_path, [("stat", "cpu  100 0 100 700 0 0 0 100 50 50\ncpu0 1 2\n")]))
    after = processor_times(files(tmp_path, [("stat", "cpu  150 0 100 740 0 0 0 110 50 50\ncpu0 1 2\n")]))
    found = stolen(before, after)
    assert found.value == 0.1 and "10.0%" in found.said and found.remedy
    assert stolen(before, before) == stolen((0, 0), (0, 0)) and not stolen(before, before).remedy
    assert processor_times(tmp_path / "none") == (0, 0)


def test_pressure_where_it_is_counted(tmp_path: Path) -> None:
    some = "some avg10=35.50 avg60=1.00 avg300=0.00 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
    found = pressure(files(tmp_path, [("pressure/cpu", some), ("pressure/io", some.replace("35.50", "0.00"))]))
    assert found.value == {"cpu": 35.5, "io": 0.0} and "--jobs" in found.remedy
    assert pressure(tmp_path / "none") == Condition("pressure", "not measured by this kernel", None)


def test_little_memory_is_said(tmp_path: Path) -> None:
    found = memory(files(tmp_path, [("meminfo", "MemTotal: 2000000 kB\nMemFree: 1 kB\nMemAvailable: 500000 kB\n")]))
    assert found.value == {"free": 512_000_000, "total": 2_048_000_000} and found.remedy
    assert not memory(tmp_path / "none").remedy, "nothing is known"


def test_a_slow_clock_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "devices/system/clocksource/clocksource0/current_clocksource"
    monkeypatch.setattr(time, "perf_counter_ns", iter([0, 2000 * 900, 0, 2000 * 900, 0, 2000 * 30]).__next__)
    assert clock(files(tmp_path, [(name, "hpet\n")])).remedy
    assert not clock(files(tmp_path, [(name, "tsc\n")])).remedy
    assert clock(tmp_path / "none").value == {"source": "unknown", "nanoseconds": 30}


def test_where_pinning_is_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pinning() == Condition("pinning", "possible", True)

    def forbid(pid: int, cores: set[int]) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setaffinity", forbid)
    found = pinning()
    assert found.value is False and "--no-pin" in found.remedy


def test_a_folder_without_room_or_rights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "GiB free" in disk("disk", tmp_path).said
    assert disk("disk", tmp_path / "none").remedy
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "not writable" in disk("disk", tmp_path).said
    monkeypatch.undo()
    monkeypatch.setattr(host, "_LEAST_DISK", 1 << 62)
    assert disk("disk", tmp_path).remedy


def test_few_descriptors_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (256, 512))
    assert descriptors().value == {"soft": 256, "hard": 512} and "LimitNOFILE" in descriptors().remedy
    monkeypatch.setattr(resource, "getrlimit", lambda which: (1024, resource.RLIM_INFINITY))
    assert descriptors().said == "1024, at most any number" and not descriptors().remedy


def test_every_program_of_the_tests_is_looked_for() -> None:
    """Both tables name the same packages: a program that is new in one belongs into the other."""
    known = {name: package for names in PROGRAMS.values() for name, package in names.items()}
    assert {name: package for name, package in PACKAGES.items() if name != "zmq.h"}.items() <= known.items()
    assert packages(["cc", "g++", "make", "cc"]) == ["gcc", "g++", "make"]


def test_programs_are_found_outside_of_the_path_of_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = files(tmp_path, [("gnugo", "")]) / "gnugo"
    there.chmod(0o755)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(host, "GAMES", str(tmp_path))
    found = programs()
    assert ("gnugo", str(there)) in found["bots and engines"] and ("make", "") in found["sources"]


def test_each_condition_has_a_subject_of_its_own(tmp_path: Path) -> None:
    """Whatever cannot be read is said, and nothing is waited for but the sample."""
    waited: list[float] = []
    found = list(conditions(tmp_path, tmp_path, waited.append))
    assert len({one.subject for one in found}) == len(found) == 9
    assert waited == [host.SAMPLE] and all(one.said for one in found)


def test_a_folder_that_was_removed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    (here,) = [found for found in host.conditions(wait=lambda seconds: None) if found.subject == "disk here"]
    assert here.said == "this folder was removed" and here.remedy
