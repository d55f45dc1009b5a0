"""What is installed is found as importlib.metadata finds it, and broken folders harm nothing."""

import os
import sys
from importlib import metadata
from pathlib import Path

import pytest

from ggp.protocol.entry_points import MAX_FILE, EntryPoint, entry_points, version


def install(place: Path, name: str, text: str | None = None, number: str = "1.0") -> None:
    """A distribution's folder as pip leaves it, with this entry_points.txt."""
    folder = place / f"{name}-{number}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n", encoding="utf-8")
    if text is not None:
        (folder / "entry_points.txt").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("group", ["console_scripts", "ggp.games", "ggp.commands", "pytest11", "no.such.group"])
def test_entry_points_are_those_of_the_standard_library(group: str) -> None:
    theirs = {(point.name, point.value.partition(" [")[0]) for point in metadata.entry_points(group=group)}
    assert {(point.name, f"{point.module}:{point.attribute}".rstrip(":")) for point in entry_points(group)} == theirs


def test_versions_are_those_of_the_standard_library() -> None:
    for name in ("general-game-protocol", "general_game_protocol", "Hypothesis", "pytest.cov"):
        assert version(name) == metadata.version(name)
    assert version("no-such-distribution") == "unknown"


def test_an_entry_point_is_loaded_when_it_is_asked_for() -> None:
    found = EntryPoint("join", "os", "path.join", "x").load()
    assert callable(found) and found("a", "b") == "a/b"
    with pytest.raises(ModuleNotFoundError):
        EntryPoint("a", "no_such_module", "b", "x").load()


def test_sections_comments_and_extras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    games = "[ggp.games]\n; x\nb=m.n : G.H\n c = k:l [extra]\nno equals sign\n"
    text = f"# c = d:e\n[other]\na = o:o\n\n{games}[more]\nd = p:q\n"
    install(tmp_path, "My_Dist.x", text)
    install(tmp_path, "empty")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert entry_points("ggp.games") == [
        EntryPoint("b", "m.n", "G.H", "my-dist-x"),
        EntryPoint("c", "k", "l", "my-dist-x"),
    ]
    assert [version(name) for name in ("my-dist.X", "empty", "full")] == ["1.0", "1.0", "unknown"]


def test_of_two_of_the_same_name_the_first_on_the_path_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, number in (("one", "1"), ("two", "2")):
        install(tmp_path / place, "same", f"[g]\nx = m{number}:a\n", number)
    monkeypatch.setattr(sys, "path", [str(tmp_path / place) for place in ("none", "two", "one")])
    assert version("same") == "2"
    assert entry_points("g") == [EntryPoint("x", "m2", "a", "same")]
    monkeypatch.chdir(tmp_path / "one")
    monkeypatch.setattr(sys, "path", [""])
    assert version("same") == "1"


@pytest.mark.timeout(20)
def test_a_pipe_or_a_device_in_place_of_the_file_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        install(tmp_path, name, "[g]\nx = m:a\n")
    for name in ("a", "b"):
        (tmp_path / f"{name}-1.0.dist-info" / "entry_points.txt").unlink()
    os.mkfifo(tmp_path / "a-1.0.dist-info" / "entry_points.txt")
    (tmp_path / "b-1.0.dist-info" / "entry_points.txt").symlink_to("/dev/zero")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert [point.distribution for point in entry_points("g")] == ["c"]
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_folders_that_are_broken_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "a", "[g]\nx = m:a\n" + "#" * MAX_FILE + "\ny = m:b\n")
    (tmp_path / "b-1.dist-info").write_text("not a folder", encoding="utf-8")
    install(tmp_path, "c")
    (tmp_path / "c-1.0.dist-info" / "entry_points.txt").write_bytes(b"[g]\n\xff = m:\xfe\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "b-1.dist-info"), str(tmp_path)])
    assert [point.name for point in entry_points("g")] == ["x", "\ufffd"]
