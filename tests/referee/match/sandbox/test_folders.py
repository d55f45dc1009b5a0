"""Folders of programs are removed, whatever these left in them, and those of killed processes by the next one."""

import subprocess
import sys
from pathlib import Path

import pytest

from ggp.referee.match.sandbox.folders import new_scratch, process_began, remove_folder, remove_stale_scratch


@pytest.mark.slow
def test_a_folder_is_removed_however_deep_and_closed_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "left"
    deep = "mkdir -p left/closed/x; cd left; for i in $(seq 1500); do mkdir d && cd d; done; touch x"
    subprocess.run(["sh", "-c", deep], cwd=tmp_path, check=True)
    (folder / "closed").chmod(0)
    remove_folder(folder)
    assert not folder.exists()
    remove_folder(folder)


def test_scratch_of_processes_that_have_died_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ours = Path(new_scratch())
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        name = f"ggp-scratch-{ended.pid}-{process_began(ended.pid)}-x"
    stale, others = tmp_path / name, tmp_path / "ggp-0-lobby"
    for folder in (stale, others):
        folder.mkdir()
    (stale / "file").touch()
    (tmp_path / "ggp-scratch-1-2-link").symlink_to(others)
    remove_stale_scratch()
    assert {path.name for path in tmp_path.iterdir()} == {ours.name, others.name, "ggp-scratch-1-2-link"}
