"""Words of the sandbox: levels, what is opened, and what a record says of them."""

from pathlib import Path

import pytest

from ggp.referee.match.sandbox.levels import Sandbox, SandboxError, read_allow
from ggp.referee.match.sandbox.start import MOST_ENTRIES, readable


def test_what_is_opened_is_one_of_five_things() -> None:
    words = ["network", "read:/data/nets", "variable:LICENSE", "network"]
    assert read_allow(words) == ("network", "read:/data/nets", "variable:LICENSE")
    for wrong in ("net", "read:", "read:/", "read:nets", "variable:", "variable:A B", "read:/a\0"):
        with pytest.raises(SandboxError):
            read_allow([wrong])


def test_a_record_says_what_is_not_usual() -> None:
    assert str(Sandbox("default")) == "default"
    opened = Sandbox("strict", ("network", "read:/data"), memory=2048, processes=8)
    assert str(opened) == "strict; allow network, read:/data; memory 2048 MiB; processes 8"
    assert opened.readable == ("/data",) and opened.variables == ()


def test_a_folder_with_something_private_is_shown_by_its_other_entries(tmp_path: Path) -> None:
    bots, store = tmp_path / "bots", tmp_path / "bots" / "data" / "games.db"
    store.parent.mkdir(parents=True)
    for file in (bots / "bot.py", bots / "data" / "book.txt", store):
        file.write_text("", encoding="utf-8")
    asked = Sandbox("default", files=(str(bots), str(bots / "bot.py")), private=(str(store),))
    assert readable(asked) == [str(bots / "bot.py"), str(bots / "data" / "book.txt"), str(bots / "bot.py")]
    assert readable(Sandbox("default", files=(str(bots),))) == [str(bots)]


def test_what_is_called_after_something_private_is_private(tmp_path: Path) -> None:
    """The log of a store has what the store has, and so have the files that workers write beside a record."""
    store = tmp_path / "ladder.db"
    shown = [tmp_path / "bot.py", tmp_path / "ladder.dbx"]
    hidden = [f"{store}{after}" for after in ("", "-wal", "-shm", ".done-1", ".left", ".live-2")]
    for file in [*map(Path, hidden), *shown]:
        file.touch()
    asked = Sandbox("default", files=(str(tmp_path),), private=(str(store),))
    assert readable(asked) == [str(path) for path in shown]


def test_a_folder_with_something_private_and_very_much_more_stays_closed(tmp_path: Path) -> None:
    for number in range(MOST_ENTRIES + 1):
        (tmp_path / f"{number}").touch()
    assert readable(Sandbox("default", files=(str(tmp_path),), private=(str(tmp_path / "0"),))) == []
