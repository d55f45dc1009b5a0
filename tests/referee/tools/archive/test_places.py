"""A place means the same for every command: a file of records, or a ladder's file, store or URL, with #MATCH."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select, update

from ggp.protocol.records import read_records
from ggp.referee.cli import export, ladder_export, ladder_report, show, verify
from ggp.referee.cli.match import main as main_match
from ggp.referee.ladder.store.schema import games, records
from ggp.referee.ladder.store.store import Store
from ggp.referee.records import pack
from ggp.referee.tools.console.tree_files import open_tree
from tests.support.chaos import chaos
from tests.support.stores import Filled, ladder, pool, real_setup

Capture = pytest.CaptureFixture[str]
KEY = "club-fast-0-1"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of four matches."""
    with Filled(tmp_path_factory.mktemp("played"), ladder(pools=[pool(size="3", control="20")])) as filled:
        filled.play(real_setup("ann", "bob"))
        filled.play(real_setup("bob", chaos("fault=illegal,move=2", "dan")))
    return filled.path


@pytest.fixture
def club(played: Path, tmp_path: Path) -> Iterator[Store]:
    """`club.db`, `club.toml` and `lobby.toml`, which name it."""
    shutil.copy(played, tmp_path / "club.db")
    pools = '[pool.fast]\ngame = "yugo,size=3"\ncontrol = "20"\n'
    (tmp_path / "club.toml").write_text(
        f'{pools}[bot.ann]\ncommand = "random"\n[bot.bob]\ncommand = "random"\n', encoding="utf-8"
    )
    (tmp_path / "lobby.toml").write_text(
        f'name = "club"\n{pools}[lobby]\nlisten = "tcp://127.0.0.1:0"\n', encoding="utf-8"
    )
    with Store.open(f"sqlite:///{tmp_path}/club.db") as store:
        yield store


def stored(club: Store, key: str = KEY) -> bytes:
    lines = club.record(key)
    assert lines is not None
    return lines


def spoil(club: Store, key: str, data: bytes) -> None:
    """Another record under that key, past everything that checks."""
    with club.database.writing() as connection:
        id = connection.execute(select(games.c.id).where(games.c.key == key)).scalar_one()
        connection.execute(update(records).where(records.c.game == id).values(data=data))


@pytest.fixture(params=["club.db", "club.toml", "lobby.toml", "sqlite:///{}/club.db"])
def place(request: pytest.FixtureRequest, club: Store, tmp_path: Path) -> str:
    """The first match, by one of the words for its ladder."""
    word = str(request.param)
    return (word.format(tmp_path) if "{}" in word else str(tmp_path / word)) + f"#{KEY}"


def test_show(place: str, capsys: Capture) -> None:
    assert show.main([place]) == 0
    assert f"\n{KEY}: ann" in capsys.readouterr().out
    assert show.main([f"{place}@1"]) == 0
    assert "\nply 1 of " in capsys.readouterr().out


def test_verify(place: str, capsys: Capture) -> None:
    assert verify.main([place]) == 0
    assert capsys.readouterr().out == f"{place}: 1 match, 1 as recorded, 0 not\n"


def test_export(place: str, club: Store, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert export.main([place]) == 0
    assert capfdbinary.readouterr().out == stored(club)
    word = place.partition("#")[0]
    assert export.main([word]) == 0
    assert capfdbinary.readouterr().out.count(b'"event":"end"') == 4


def test_the_console(place: str) -> None:
    opened = open_tree(f"{place}@2", (), (), "")
    assert opened.source is not None and (opened.source.record.start.match, opened.source.ply) == (KEY, 2)


@pytest.mark.slow
def test_match_from(place: str, capsys: Capture) -> None:
    words = ["yugo", "random", "random", "--games", "2", "--quiet", "--jobs", "1"]
    assert main_match([*words, "--from", f"{place}@2"]) == 0
    assert main_match([*words, "--from", f"{place}@999"]) == 2
    assert f"the match {KEY} has plies" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("club.db", "name a match: the last are club-fast-1-2, club-fast-1-1, club-fast-0-2, club-fast-0-1"),
        ("club.toml#other", "there is no match 'other'"),
        ("none.db#other", "none.db"),
    ],
)
def test_missing_places_have_one_message(word: str, reason: str, club: Store, tmp_path: Path, capsys: Capture) -> None:
    path = str(tmp_path / word)
    for main, words in (
        (show.main, []),
        (main_match, ["yugo", "random", "random", "--from"]),
    ):
        assert main([*words, path] if words[-1:] == ["--from"] else [path, *words]) == 2
        err = capsys.readouterr().err
        assert reason in err and err.count("\n") == 1


def test_a_report_takes_a_lobbys_file(club: Store, tmp_path: Path) -> None:
    for word, name in (("lobby.toml", "club"), ("club.toml", "club")):
        out = tmp_path / f"of-{word}"
        assert ladder_report.main([str(tmp_path / word), "-o", str(out), "--quiet"]) == 0
        assert f"<title>Ladder {name}</title>" in (out / "index.html").read_text(encoding="utf-8")


# -- records that are damaged --------------------------------------------------------------------------------------


@pytest.fixture
def damaged(club: Store) -> Store:
    """Two of the four cannot be read: one was changed, one is no compressed data."""
    spoil(
        club,
        "club-fast-0-2",
        pack(stored(club, "club-fast-0-2").replace(b'"control":"20"', b'"control":"21"')),
    )
    spoil(club, "club-fast-1-1", b"nothing")
    return club


def test_verify_names_every_damaged_record_of_a_store(damaged: Store, tmp_path: Path, capsys: Capture) -> None:
    assert verify.main([str(tmp_path / "club.db")]) == 2
    out, err = capsys.readouterr()
    assert out == f"{tmp_path}/club.db: 2 matches, 2 as recorded, 0 not; 2 that are not whole (below)\n"
    assert [key in line for key, line in zip(("fast-1-1", "fast-0-2"), err.splitlines(), strict=True)] == [True, True]


@pytest.mark.parametrize("form", ["jsonl", "sgf", "gtp"])
def test_intact_records_are_exported(
    form: str, damaged: Store, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for number, (main, status) in enumerate(((ladder_export.main, 1), (export.main, 2))):
        out = tmp_path / f"{number}.{form}"
        assert main([str(tmp_path / "club.db"), "--format", form, "-o", str(out)]) == status
        err = capfd.readouterr().err
        assert err.count("\n") == 2 and "club-fast-0-2" in err and "club-fast-1-1" in err
        if form == "jsonl":
            found = [one.start.match for one in read_records(out.read_bytes().splitlines(keepends=True))]
            assert found == ["club-fast-1-2", "club-fast-0-1"]
        else:
            assert out.read_text(encoding="utf-8").count("(;FF[4]" if form == "sgf" else "ggp-new") == 2


def test_a_damaged_match_does_not_hide_the_others(
    club: Store, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    one, two = stored(club), stored(club, "club-fast-0-2")
    path = tmp_path / "games.jsonl"
    path.write_bytes(one.replace(b'"ms":', b'"ms":9', 1) + two + two.replace(b'"winner":', b'"winner": ') + one)
    assert verify.main([str(path)]) == 2
    out, err = capfd.readouterr()
    assert out.startswith(f"{path}: 2 matches, 2 as recorded, 0 not; 2 that are not whole (below)")
    first, second = err.splitlines()
    assert "line 2: was changed after it was written" in first and "is not canonical JSON" in second
    assert export.main([str(path)]) == 2
    out, err = capfd.readouterr()
    assert out.encode() == two + one and err.count("\n") == 2
    assert show.main([f"{path}#club-fast-0-2"]) == 2
    assert "is not a complete record: line" in capfd.readouterr().err
