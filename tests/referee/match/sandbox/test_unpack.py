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

from ggp.referee.match.sandbox import unpack as unpacking
from ggp.referee.match.sandbox.unpack import DEEPEST, TOO_MUCH, SourceRefused, digest_of, files_of, unpack
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
        ([member("disk", "block device")], "'disk' is a device or a pipe: remove it"),
        ([member("null", "device")], "'null' is a device or a pipe: remove it"),
        ([member("./pipe", "pipe")], "'pipe' is a device or a pipe: remove it"),
        ([(member("../../etc/cron.d/x"), b"x")], "'../../etc/cron.d/x' leads outside of its folder"),
        ([(member("/etc/cron.d/x"), b"x")], "'/etc/cron.d/x' leads outside of its folder"),
        ([member("a/../../x", "folder")], "'a/../../x' leads outside of its folder"),
        ([member("passwd", "link", to="/etc/passwd")], "'passwd' leads outside of its folder"),
        ([member("passwd", "link", to="../../../../../etc/passwd")], "'passwd' leads outside of its folder"),
        ([member("passwd", "hard link", to="/etc/passwd")], "'/etc/passwd' leads outside of its folder"),
        ([member("passwd", "hard link", to="../passwd")], "'../passwd' leads outside of its folder"),
        ([member("net", "hard link", to="none")], "'net' is a hard link to 'none', which is not a file in it"),
        ([(member("net"), b"1"), (member("net"), b"2")], "'net' occurs twice"),
        ([(member("net"), b"1"), (member("net/x"), b"2")], "'net/x' is inside a file or a link: pack it again"),
        ([(member("n" * 300), b"1")], f"'{'n' * 60}…' cannot be created: File name too long"),
        ([(member("/".join("a" * DEEPEST + "b")), b"1")], f"is nested more than {DEEPEST} folders deep"),
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
    assert "leads outside of its folder" in refused(tmp_path, source)


def test_a_link_in_a_link_is_refused(tmp_path: Path) -> None:
    source = pack(tmp_path / "bot.tar.gz", member("a", "link", to="."), member("a/b", "link", to="c"))
    assert refused(tmp_path, source) == "'a/b' is inside a file or a link: pack it again"


def test_a_hard_link_by_way_of_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    source = pack(
        tmp_path / "bot.tar.gz", member("door", "link", to=str(tmp_path)), member("net", "hard link", to="door/secret")
    )
    assert "is not a file in it" in refused(tmp_path, source)


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
    assert "a header is too long" in refused(tmp_path, pack(tmp_path / "bot.tar.gz", (info, b"bot")))


@pytest.mark.parametrize(
    "data", [b"", b"no archive", gzip.compress(b"no archive" * 100, mtime=0), gzip.compress(b"x" * 512, mtime=0)[:-9]]
)
def test_what_is_no_archive_is_refused(tmp_path: Path, data: bytes) -> None:
    source = tmp_path / "bot.tar.gz"
    source.write_bytes(data)
    assert refused(tmp_path, source).startswith("it is damaged, or not a .tar.gz file: ")


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
    assert refused(tmp_path, source) == "'pipe' is a device or a pipe: remove it"
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


# -- archives that a reader may take for less than they are ------------------------------------------------------------

END = bytes(1024)  # of every tar


def tar(name: str = "bot", content: bytes = b"bot", pax: dict[str, str] | None = None) -> bytes:
    """One file as a tar without its end; `pax`: values of an extended header, taken as they are."""
    info = tarfile.TarInfo(name)
    info.size = len(content)
    plain = info.tobuf(tarfile.USTAR_FORMAT)
    said = b"".join(_record(key, value) for key, value in (pax or {}).items())
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, len(said)
    extended = header.tobuf(tarfile.USTAR_FORMAT) + said + bytes(-len(said) % 512) if pax else b""
    return extended + plain + content + bytes(-len(content) % 512)


def _record(key: str, value: str) -> bytes:
    rest = f" {key}={value}\n".encode()
    size = len(rest) + 1
    while len(str(size)) + len(rest) != size:
        size = len(str(size)) + len(rest)
    return str(size).encode() + rest


def written(folder: Path, data: bytes) -> Path:
    path = folder / "bot.tar.gz"
    path.write_bytes(data)
    return path


def test_an_archive_of_zero_bytes_is_refused_without_reading_all(tmp_path: Path) -> None:
    """1 GiB of them, as 1 MiB of parts of gzip: it would take seconds to read."""
    part = gzip.compress(bytes(64 << 20), 9)
    began = time.process_time()
    assert refused(tmp_path, written(tmp_path, part * 16)) == "more than 1 MiB follow its end: pack it again"
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "data",
    [b"", gzip.compress(b""), gzip.compress(END), gzip.compress(bytes(10240)), gzip.compress(b"") * 3],
    ids=["no bytes", "no stream", "an end", "a record", "three empty parts"],
)
def test_an_empty_archive_is_refused(tmp_path: Path, data: bytes) -> None:
    assert refused(tmp_path, written(tmp_path, data))


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_an_archive_without_files_is_refused(tmp_path: Path, kind: str) -> None:
    source = pack(tmp_path / "bot.tar.gz", member("one", kind, to="two" if kind == "link" else ""))
    assert refused(tmp_path, source) == "it contains no file: pack the bot's program"


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "source" / "inside").mkdir(parents=True)
    assert refused(tmp_path, tmp_path / "source") == "it contains no file: pack the bot's program"


@pytest.mark.parametrize("size", ["-1", "-512", "-99999999999", "", "abc", "1.5", "nan", "1e3", "+3", " 3", "0x3"])
def test_an_impossible_size_is_refused(tmp_path: Path, size: str) -> None:
    source = written(tmp_path, gzip.compress(tar(pax={"size": size}) + END))
    assert refused(tmp_path, source) == "'bot' has an impossible size: pack it again"


@pytest.mark.parametrize("size", ["3", "0003"])
def test_an_extended_size_is_taken(tmp_path: Path, size: str) -> None:
    place = unpacked(tmp_path, written(tmp_path, gzip.compress(tar(pax={"size": size}) + END)))
    assert (place / "bot").read_bytes() == b"bot"


@pytest.mark.parametrize("size", ["9" * 30, str(1 << 63), str(1 << 64), "513", "1024", "9" * 5000])
def test_a_size_that_is_not_there_is_refused(tmp_path: Path, size: str) -> None:
    assert refused(tmp_path, written(tmp_path, gzip.compress(tar(pax={"size": size}))))


def test_a_size_below_zero_in_a_plain_header_is_refused(tmp_path: Path) -> None:
    header = bytearray(tar())
    header[124:136] = (-5).to_bytes(12, "big", signed=True)
    header[148:156] = b"%06o\0 " % (sum(header[:148]) + 8 * 32 + sum(header[156:512]))
    assert refused(tmp_path, written(tmp_path, gzip.compress(bytes(header) + END))).endswith(
        "has an impossible size: pack it again"
    )


@pytest.mark.parametrize("key", ["uid", "gid", "mtime", "atime", "ctime", "path", "linkpath", "uname", "hdrcharset"])
@pytest.mark.parametrize("value", ["-1", "-" + "9" * 40, "9" * 400, "nan", "\0", ""])
def test_other_values_that_cannot_be_do_no_harm(tmp_path: Path, key: str, value: str) -> None:
    source = written(tmp_path, gzip.compress(tar(pax={key: value}) + END))
    place = tmp_path / "out"
    place.mkdir()
    try:
        unpack(source, place)
    except SourceRefused as error:
        assert "\n" not in str(error)
    assert {path.name for path in tmp_path.iterdir()} == {"bot.tar.gz", "out"}


@pytest.mark.parametrize(
    "more",
    [tar("other") + END, b"x", bytes(5000) + b"x", b"x" * 5000, bytes(2 << 20)],
    ids=["a second archive", "a byte", "a byte later", "many bytes", "much padding"],
)
@pytest.mark.parametrize("parts", [False, True], ids=["in one part", "in parts"])
def test_what_follows_the_end_is_refused(tmp_path: Path, more: bytes, parts: bool) -> None:
    ended = tar() + END
    data = gzip.compress(ended) + gzip.compress(more) if parts else gzip.compress(ended + more)
    assert "its end" in refused(tmp_path, written(tmp_path, data))


def test_what_follows_the_compressed_data_is_refused(tmp_path: Path) -> None:
    assert "damaged" in refused(tmp_path, written(tmp_path, gzip.compress(tar() + END) + b"more"))


def test_a_damaged_header_is_no_end(tmp_path: Path) -> None:
    """tarfile would leave out what comes from there on."""
    damaged = bytearray(tar("second"))
    damaged[148] ^= 1  # its checksum
    source = written(tmp_path, gzip.compress(tar() + bytes(damaged) + tar("third") + END))
    assert "it is damaged" in refused(tmp_path, source)


@pytest.mark.parametrize("size", [100, 511])
def test_a_header_that_is_cut_is_no_end(tmp_path: Path, size: int) -> None:
    assert "it is damaged" in refused(tmp_path, written(tmp_path, gzip.compress(tar() + tar("second")[:size])))


@pytest.mark.parametrize("end", [b"", END, bytes(10240), bytes(1 << 20)])
def test_the_usual_ends_are_taken(tmp_path: Path, end: bytes) -> None:
    place = unpacked(tmp_path, written(tmp_path, gzip.compress(tar() + end)))
    assert (place / "bot").read_bytes() == b"bot"


def test_an_archive_in_several_parts_of_gzip_is_taken(tmp_path: Path) -> None:
    whole = tar(content=b"bot" * 1000) + END
    data = b"".join(gzip.compress(whole[at : at + 700]) for at in range(0, len(whole), 700))
    assert (unpacked(tmp_path, written(tmp_path, data + bytes(512))) / "bot").read_bytes() == b"bot" * 1000


def test_many_empty_parts_take_no_longer_than_they_may(tmp_path: Path) -> None:
    source = written(tmp_path, gzip.compress(b"", 1) * 200_000 + gzip.compress(tar() + END))
    place = tmp_path / "out"
    place.mkdir()
    with pytest.raises(SourceRefused, match="takes too long"):
        unpack(source, place, 0.05)


@pytest.mark.parametrize(
    "pax",
    [{"GNU.sparse.map": "0,3", "GNU.sparse.size": "999"}, {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}],
    ids=["0.1", "1.0"],
)
def test_a_sparse_file_is_refused(tmp_path: Path, pax: dict[str, str]) -> None:
    content = b"1\n0\n3\n".ljust(512, b"\0") + b"bot"
    reason = refused(tmp_path, written(tmp_path, gzip.compress(tar(content=content, pax=pax) + END)))
    assert reason == "'bot' is stored as a sparse file: pack it without --sparse"


def test_a_file_beyond_what_the_digest_covers_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MOST_BYTES", 100)
    assert refused(tmp_path, written(tmp_path, gzip.compress(tar() + END) + bytes(200))) == TOO_MUCH
