"""What of the system's settings a program is shown where it could read more than everyone."""

from pathlib import Path

from ggp.referee.match.sandbox.steps import _open_parts


def test_a_folder_that_holds_more_is_shown_by_its_open_parts(tmp_path: Path) -> None:
    for name in ("open/a", "mixed/b", "mixed/key", "closed/c"):
        (tmp_path / name).parent.mkdir(exist_ok=True, mode=0o755)
        (tmp_path / name).touch(0o644)
    (tmp_path / "mixed" / "key").chmod(0o600)
    (tmp_path / "closed").chmod(0o750)
    (tmp_path / "nowhere").symlink_to(tmp_path / "none")
    whole, parts = _open_parts(str(tmp_path))
    assert (whole, sorted(parts)) == (False, [str(tmp_path / "mixed" / "b"), str(tmp_path / "open")])
