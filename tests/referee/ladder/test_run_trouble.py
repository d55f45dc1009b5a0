"""A ladder that runs out of room says so, waits, loses nothing, and goes on when there is room again."""

import resource
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import Ggp, ggp, wait_until
from tests.support.ladders import check_whole, first_line, games_stored, open_store, results, write_ladder

pytestmark = pytest.mark.slow

GAMES = "300"
Results = dict[str, tuple[str, int, str, str, int]]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The results of all these games where there was room all the time."""
    file = write_ladder(tmp_path_factory.mktemp("undisturbed"))
    assert ggp("ladder", "run", str(file), "--games", GAMES, "--quiet", "--jobs", "1").status == 0
    return results(file)


@pytest.mark.parametrize("stopped", [False, True])
def test_no_room_for_the_store(tmp_path: Path, undisturbed: Results, stopped: bool) -> None:
    """The run waits until there is room, or is stopped meanwhile and resumed."""
    file = write_ladder(tmp_path)
    assert ggp("ladder", "run", str(file), "--games", "100", "--quiet").status == 0
    words = ("ladder", "run", str(file), "--games", GAMES, "--quiet", "--jobs", "1")
    running = Ggp(*words)
    pid, (_, hard) = running.process.pid, resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (file.with_suffix(".db").stat().st_size + 60_000, hard))
    line = first_line(running, "the run waits")
    assert "free space" in line and line.count("\n") == 1, line
    with open_store(file) as store:
        assert 100 <= store.totals().games < int(GAMES), "readers are not disturbed"
    if stopped:
        running.process.send_signal(signal.SIGTERM)
        ran = running.wait()
        assert ran.status == 143 and "the same command resumes" in ran.err and "Traceback" not in ran.err
        assert ggp(*words).status == 0
    else:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))
        assert running.wait().status == 0
    check_whole(file)
    assert results(file) == undisturbed


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1.5 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1500k", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.long  # test_store_trouble has a full disk for machines on which mounting is not allowed
@pytest.mark.needs("mount")
def test_a_full_disk(tmp_path: Path, small_disk: Path, undisturbed: Results) -> None:
    file = write_ladder(small_disk)
    (small_disk / "filler").write_bytes(b"x" * 1_100_000)
    running = Ggp("ladder", "run", str(file), "--games", GAMES, "--quiet", "--jobs", "1")
    line = first_line(running, "the run waits")
    assert "free space" in line, line
    with open_store(file) as store:
        held = store.totals().games
    (small_disk / "filler").unlink()
    wait_until(lambda: games_stored(file) > held)
    running.process.send_signal(signal.SIGINT)
    assert running.wait().status == 130
    shutil.copytree(small_disk, tmp_path / "large")
    file = tmp_path / "large" / file.name
    assert ggp("ladder", "run", str(file), "--games", GAMES, "--quiet", "--jobs", "1").status == 0
    check_whole(file)
    assert results(file) == undisturbed
