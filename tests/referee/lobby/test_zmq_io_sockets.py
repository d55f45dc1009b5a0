"""The folder of a lobby's sockets: ours alone, short, and never more than one of a file, whatever was killed."""

import tempfile
from pathlib import Path

import pytest

from referee.lobby.zmq_io import folder_of, socket_folder
from tests.bench.lobby import idle


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))


def test_what_a_killed_run_left_goes_and_nothing_stays(tmp_path: Path) -> None:
    killed = socket_folder(tmp_path / "club.toml")
    left = killed.__enter__()
    (left / "engine-0-0").touch()
    with socket_folder(tmp_path / "club.toml") as folder, socket_folder(tmp_path / "other.toml") as other:
        assert folder == left and list(folder.iterdir()) == []
        assert other != folder
        assert folder.stat().st_mode & 0o777 == 0o700
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_place_that_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    with socket_folder(tmp_path / "club.toml") as place:
        pass
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    place.symlink_to(elsewhere)
    with socket_folder(tmp_path / "club.toml") as folder:
        assert folder not in (place, elsewhere) and folder.stat().st_mode & 0o777 == 0o700
    assert place.is_symlink() and elsewhere.is_dir()


@pytest.mark.slow
def test_the_bench_of_the_lobby_leaves_no_folder_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)  # as in the process of the lobby
    idle(tmp_path / "lobby", 5, keys=False)
    assert not folder_of(tmp_path / "lobby" / "club.toml").exists()
