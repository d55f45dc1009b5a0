"""What strangers send is copied as files, folders and links inside, or refused in one line; nothing lands outside."""

import gzip
import os
import stat
import tarfile
import time
from copy import copy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.referee.sandbox import unpack as unpacking
from ggp.referee.sandbox.unpack import DEEPEST, TOO_MUCH, SourceRefused, digest_of, files_of, unpack
from tests.support.archives import files, member, pack


def unpacked(folder: Path, source: Path) -> Path:
    place = folder / "out" / "in" / "here"
    place.mkdir(parents=True)
    unpack(source, place)
    return place


def refused(folder: Path, source: Path) -> str:
    place = folder / "out" / "in" / "here"
    place.mkdir(parents=True)
    before = outside(folder, place)
    with pytest.raises(SourceRefused) as caught:
        unpack(source, place)
    assert "\n" not in str(caught.value)
    assert outside(folder, place) == before
    return str(caught.value)


def outside(folder: Path, place: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if place not in path.parents}


def test_files_folders_and_links_are_copied(tmp_path: Path) -> None:
    source = pack(
        tmp_path / "bot.tar.gz",
        member("lib", "folder"),
        (member("lib/net", mode=0o600), b"net"),
        (member("./run/bot", mode=0o755), b"bot"),
        member("start", "link", to="run/bot"),
        member("lib/again", "hard link", to="lib/net"),
    )
    place = unpacked(tmp_path, source)
    assert (place / "lib/net").read_bytes() == (place / "lib/again").read_bytes() == b"net"
    assert (place / "start").is_symlink() and (place / "start").read_bytes() == b"bot"
    assert {stat.S_IMODE((place / name).stat().st_mode) for name in ("lib", "run", "run/bot")} == {0o755}
    assert stat.S_IMODE((place / "lib/net").stat().st_mode) == 0o644


@pytest.mark.parametrize("changed", [1e12, -5.0, float("nan"), float("inf")])
def test_rights_and_times_are_bounded(tmp_path: Path, changed: float) -> None:
    info = member("bot", mode=0o6777)
    info.pax_headers = {"mtime": str(changed)}
    source = pack(tmp_path / "bot.tar.gz", (info, b"bot"))
    found = (unpacked(tmp_path, source) / "bot").stat()
    assert stat.S_IMODE(found.st_mode) == 0o755
    assert 0 <= found.st_mtime <= time.time() + 1
    assert found.st_uid == os.geteuid()


@pytest.mark.parametrize("umask", [0o077, 0o000])
def test_the_umask_does_not_matter(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        source = pack(tmp_path / "bot.tar.gz", (member("lib/net"), b"net"))
        place = unpacked(tmp_path, source)
    finally:
        os.umask(before)
    assert [stat.S_IMODE((place / name).stat().st_mode) for name in ("lib", "lib/net")] == [0o755, 0o644]


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ([member("disk", "block device")], "'disk' is a device or a pipe: leave it out"),
        ([member("null", "device")], "'null' is a device or a pipe: leave it out"),
        ([member("./pipe", "pipe")], "'pipe' is a device or a pipe: leave it out"),
        ([(member("../../etc/cron.d/x"), b"x")], "'../../etc/cron.d/x' leads out of its folder"),
        ([(member("/etc/cron.d/x"), b"x")], "'/etc/cron.d/x' leads out of its folder"),
        ([member("a/../../x", "folder")], "'a/../../x' leads out of its folder"),
        ([member("passwd", "link", to="/etc/passwd")], "'passwd' leads out of its folder"),
        ([member("passwd", "link", to="../../../../../etc/passwd")], "'passwd' leads out of its folder"),
        ([member("passwd", "hard link", to="/etc/passwd")], "'/etc/passwd' leads out of its folder"),
        ([member("passwd", "hard link", to="../passwd")], "'../passwd' leads out of its folder"),
        ([member("net", "hard link", to="none")], "'net' is a link to 'none', which is no file in it"),
        ([(member("net"), b"1"), (member("net"), b"2")], "'net' is in it twice"),
        ([(member("net"), b"1"), (member("net/x"), b"2")], "'net/x' lies in what is no folder"),
        ([(member("n" * 300), b"1")], f"'{'n' * 60}…' cannot be made: File name too long"),
        ([(member("/".join("a" * DEEPEST + "b")), b"1")], f"lies in more than {DEEPEST} folders"),
        pytest.param([member("zeros", size=1 << 30)], TOO_MUCH, marks=pytest.mark.slow),
    ],
)
def test_hostile_archives_are_refused(
    tmp_path: Path, members: list[tarfile.TarInfo | tuple[tarfile.TarInfo, bytes]], problem: str
) -> None:
    assert problem in refused(tmp_path, pack(tmp_path / "bot.tar.gz", *members))


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE])
def test_headers_of_headers_are_refused(tmp_path: Path, kind: bytes) -> None:
    """Python's tarfile reads each from within the one before."""
    header = tarfile.TarInfo("././@LongLink")
    header.type, content = kind, b"13 path=name\n" if kind == tarfile.XHDTYPE else b"name\0"
    chain = pack(tmp_path / "bot.tar.gz", *[(copy(header), content)] * 2000, (member("x"), b"1"))
    assert refused(tmp_path, chain) == "its headers are too many or too long: pack it again"


def test_unpacking_takes_no_longer_than_it_may(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    with pytest.raises(SourceRefused, match="it takes too long to unpack"):
        unpack(pack(tmp_path / "bot.tar.gz", (member("x"), b"1")), tmp_path / "made", -1)


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    """The folder of others by way of a link, before and after it in the archive."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    link = member("door", "link", to=str(theirs))
    file = member("door/x"), b"x"
    orders: list[tuple[tarfile.TarInfo | tuple[tarfile.TarInfo, bytes], ...]] = [(link, file), (file, link)]
    for number, members in enumerate(orders):
        problem = refused(tmp_path / str(number), pack(tmp_path / "bot.tar.gz", *members))
        assert "door" in problem and not list(theirs.iterdir())


@pytest.mark.parametrize(
    "links",
    [[("a/b", ".."), ("c", "a/b/../..")], [("a", "."), ("b", "a/a/a/../../..")], [("x/y", "../.."), ("z", "x/y")]],
)
def test_links_that_lead_out_only_together_are_refused(tmp_path: Path, links: list[tuple[str, str]]) -> None:
    source = pack(tmp_path / "bot.tar.gz", *(member(name, "link", to=to) for name, to in links))
    assert "leads out of its folder" in refused(tmp_path, source)


def test_a_link_in_a_link_is_refused(tmp_path: Path) -> None:
    source = pack(tmp_path / "bot.tar.gz", member("a", "link", to="."), member("a/b", "link", to="c"))
    assert refused(tmp_path, source) == "'a/b' lies in what is no folder"


def test_a_hard_link_by_way_of_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    source = pack(
        tmp_path / "bot.tar.gz", member("door", "link", to=str(tmp_path)), member("net", "hard link", to="door/secret")
    )
    assert "is no file in it" in refused(tmp_path, source)


def test_more_files_than_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders that no member names count, too."""
    monkeypatch.setattr(unpacking, "MOST_FILES", 20)
    for number, names in enumerate(([f"f{i}" for i in range(21)], [f"a{i}/b/c/d" for i in range(6)])):
        source = pack(tmp_path / "bot.tar.gz", *((member(name), b"") for name in names))
        assert refused(tmp_path / str(number), source) == TOO_MUCH


def test_much_is_refused_while_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MOST_BYTES", 1 << 20)
    source = pack(tmp_path / "bot.tar.gz", *(member(f"zeros{i}", size=300_000) for i in range(50)))
    assert refused(tmp_path, source) == TOO_MUCH
    assert sum(path.stat().st_size for path in (tmp_path / "out").rglob("*") if path.is_file()) < 2 << 20


def test_a_header_without_end_is_not_read(tmp_path: Path) -> None:
    info = member("bot")
    info.pax_headers = {"comment": "x" * (1 << 20)}
    assert "a header of it is too long" in refused(tmp_path, pack(tmp_path / "bot.tar.gz", (info, b"bot")))


@pytest.mark.parametrize(
    "data", [b"", b"no archive", gzip.compress(b"no archive" * 100, mtime=0), gzip.compress(b"x" * 512, mtime=0)[:-9]]
)
def test_what_is_no_archive_is_refused(tmp_path: Path, data: bytes) -> None:
    source = tmp_path / "bot.tar.gz"
    source.write_bytes(data)
    assert refused(tmp_path, source).startswith("it is damaged, or no .tar.gz: ")


@given(st.integers(0, 3000), st.binary(min_size=1, max_size=8))
def test_a_damaged_archive_raises_nothing_else(tmp_path_factory: pytest.TempPathFactory, at: int, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    members = [(member(f"f{i}"), b"x" * i) for i in range(3)]
    plain = bytearray(gzip.decompress(pack(folder / "whole.tar.gz", *members).read_bytes()))
    plain[at : at + len(data)] = data
    source = folder / "bot.tar.gz"
    source.write_bytes(gzip.compress(plain, 1, mtime=0))
    (folder / "here").mkdir()
    try:
        unpack(source, folder / "here")
    except SourceRefused as error:
        assert "\n" not in str(error)
    assert {path.name for path in folder.iterdir()} == {"whole.tar.gz", "bot.tar.gz", "here"}


# -- folders -----------------------------------------------------------------------------------------------------------


def test_a_folder_is_copied_without_its_history(tmp_path: Path) -> None:
    source = files(tmp_path / "bot", [("src/a.c", "int a;"), (".git/HEAD", "x"), ("Makefile", "all:")])
    (source / "again").symlink_to("src/a.c")
    place = unpacked(tmp_path, source)
    assert sorted(path.name for path in place.iterdir()) == ["Makefile", "again", "src"]
    assert (place / "again").read_text(encoding="utf-8") == "int a;"


def test_a_folder_with_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    source = files(tmp_path / "bot", [("a", "1")])
    os.mkfifo(source / "pipe")
    assert refused(tmp_path, source) == "'pipe' is a device or a pipe: leave it out"
    assert digest_of(source) == digest_of(source)


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "a").write_text("2", encoding="utf-8"),
        lambda folder: (folder / "a").rename(folder / "b"),
        lambda folder: (folder / "a").chmod(0o755),
        lambda folder: (folder / "c").mkdir(),
        lambda folder: (folder / "c").symlink_to("a"),
    ],
)
def test_what_counts_changes_the_digest(tmp_path: Path, change: object) -> None:
    source = files(tmp_path / "bot", [("a", "1")])
    before, watched = digest_of(source), files_of(source)
    change(source)  # type: ignore[operator]
    assert digest_of(source) != before and source in watched


def test_what_does_not_count_leaves_the_digest(tmp_path: Path) -> None:
    source = files(tmp_path / "bot", [("a", "1")])
    before = digest_of(source)
    files(source, [(".git/HEAD", "x")])
    (source / "a").chmod(0o600)
    os.utime(source / "a", (1, 1))
    assert digest_of(source) == before
