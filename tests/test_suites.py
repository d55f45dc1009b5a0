"""What tests/conftest.py adds to every run: a missing program is a skip or a failure, a quick test has a limit."""

import re
from pathlib import Path
from shlex import quote

import pytest

from tests import conftest

pytest_plugins = ["pytester"]
ROOT = Path(__file__).resolve().parent.parent
NEEDY = """
    import pytest

    @pytest.mark.needs("gnugo")
    def test_one(): pass

    @pytest.mark.parametrize("name", ["a", pytest.param("b", marks=pytest.mark.needs("gnugo"))])
    def test_two(name): pass
"""
SLOW = """
    import time
    import pytest

    @pytest.fixture
    def warm():
        end = time.process_time() + 0.2
        while time.process_time() < end: pass

    def test_quick(): pass

    def test_set_up(warm): pass

    def test_asleep(): time.sleep(0.3)

    @pytest.mark.slow
    def test_slow(warm): pass
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Runs a test file with the hooks of tests/conftest.py."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:cacheprovider")
    pytester.makeini(
        f"[pytest]\npythonpath = {quote(str(ROOT))}\nasyncio_default_fixture_loop_scope = function\n"
        "markers =\n  slow: x\n  long: x\n  needs: x\n"
    )
    pytester.makeconftest(
        "from tests.conftest import pytest_addoption, pytest_runtest_makereport, pytest_runtest_setup"
    )
    return pytester


def without_gnugo(need: str) -> str | None:
    return "gnugo is not installed: apt-get install gnugo" if need == "gnugo" else None


def test_a_test_without_its_program_is_skipped_and_the_remedy_is_listed_once(
    run: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conftest, "remedy", without_gnugo)
    run.makepyfile(NEEDY)
    result = run.runpytest_inprocess("-rs")
    result.assert_outcomes(passed=1, skipped=2)
    listed = [line for line in result.outlines if "apt-get install gnugo" in line]
    assert len(listed) == 1 and listed[0].startswith("SKIPPED [2] ")


def test_under_no_skips_it_fails_with_the_same_line(run: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "remedy", without_gnugo)
    run.makepyfile(NEEDY)
    result = run.runpytest_inprocess("--no-skips")
    result.assert_outcomes(passed=1, errors=2)
    assert result.ret == 1
    assert len([line for line in result.outlines if line == without_gnugo("gnugo")]) == 2


def test_a_program_that_is_there_is_found_and_the_test_runs(run: pytest.Pytester) -> None:
    run.makepyfile(NEEDY.replace("gnugo", "perl"))
    assert conftest.remedy("perl") is None  # perl-base is part of every Debian
    run.runpytest_inprocess("--no-skips").assert_outcomes(passed=3)


def test_every_need_is_found_or_names_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for need, package in conftest.PACKAGES.items():
        if need not in ("postgres", "zmq.h", "gnugo", "stockfish"):  # those are looked for elsewhere than in PATH
            line = conftest.remedy.__wrapped__(need)
            assert line == f"{need} is not installed: apt-get install {package}"


def test_a_python_package_that_is_missing_names_the_target_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    remedy = conftest.remedy.__wrapped__
    monkeypatch.setattr(conftest, "find_spec", lambda name: None)
    for name in conftest.MODULES:
        assert remedy(name) == f"{name} is not installed: make extras"
    monkeypatch.setattr(conftest, "find_spec", lambda name: object())
    assert {remedy(name) for name in conftest.MODULES} == {None}


def test_a_quick_test_above_the_limit_fails(run: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    run.makepyfile(SLOW)
    monkeypatch.setattr(conftest, "_slowness", lambda: 1.0)
    result = run.runpytest_inprocess("--limit", "0.1")
    result.assert_outcomes(passed=3, failed=1)
    assert re.search(
        r"it took 0\.[2-9] s of processor time, 0\.1 is allowed: speed it up or mark it slow", result.outlines.__str__()
    )


def test_without_a_limit_no_test_fails_for_its_time(run: pytest.Pytester) -> None:
    run.makepyfile(SLOW)
    run.runpytest_inprocess().assert_outcomes(passed=4)


def test_a_machine_that_is_slower_gets_more_time(run: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    run.makepyfile(SLOW)
    monkeypatch.setattr(conftest, "_slowness", lambda: 50.0)
    run.runpytest_inprocess("--limit", "0.1").assert_outcomes(passed=4)


def test_ci_installs_every_package_that_a_test_may_need() -> None:
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    listed = re.search(r"^needed=\(([^)]*)\)$", text, re.MULTILINE)
    assert listed is not None
    assert set(conftest.PACKAGES.values()) - set(listed[1].split()) == set()
    order = [text.index(target) for target in ("\nmake test ", "\nmake extras\n", "\nmake test-all || ")]
    assert order == sorted(order)  # `make test` has the packages of README.md alone


def test_tests_are_skipped_by_their_needs_alone() -> None:
    files = [path for path in (ROOT / "tests").rglob("*.py") if path.name not in ("conftest.py", Path(__file__).name)]
    assert [
        path.name
        for path in files
        if re.search(r"pytest\.(skip|importorskip)\b|skipif", path.read_text(encoding="utf-8"))
    ] == []
