"""When a bot is another version of itself, and when a running ladder notices that something has changed."""

import os
import shutil
from pathlib import Path

import pytest

from ggp.referee.ladder.config import read_ladder
from ggp.referee.ladder.session import Watched
from ggp.referee.match.bot_spec import BotSpec, Snapshot, version_of
from tests.support import ROOT
from tests.support.ladders import POOL, write

SCRIPT = 'command = "python3 bot.py net=net.bin level"'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With all that the bots of these tests are made of."""
    folder = tmp_path / "one"
    folder.mkdir()
    for name, text in {"bot.py": "pass", "net.bin": "0", "bot": "#!/bin/sh", "level": "unread"}.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "bot").chmod(0o755)
    return folder


def copy_of_bots(folder: Path) -> Path:
    """The built-in bots as part of another copy of the package."""
    shutil.copytree(ROOT / "bots", folder / "ggp" / "bots")
    shutil.copy(ROOT / "ggp" / "__init__.py", folder / "ggp")
    return folder / "ggp" / "bots"


def version(folder: Path, said: str) -> str:
    """Of a bot of that description."""
    text = POOL + f'[bot.other]\ncommand = "random"\n[bot.it]\n{said}\n'
    return read_ladder(write(folder, text)).bots[1].version


def test_the_key_of_a_model_is_not_in_a_version(folder: Path) -> None:
    """A version is shown, and a new key makes no new bot."""
    model = 'command = "python3 bot.py --key-env KEY"\nenvironment = {{ KEY = "{}", OTHER = "{}" }}'
    assert version(folder, model.format("one", "x")) == version(folder, model.format("two", "x"))
    assert version(folder, model.format("one", "x")) != version(folder, model.format("one", "y"))
    joined = model.replace("--key-env KEY", "--key-env=KEY")
    assert version(folder, joined.format("one", "x")) == version(folder, joined.format("two", "x"))


@pytest.mark.parametrize("name", ["bot.py", "net.bin"])
def test_a_file_among_the_words_changes_the_version(folder: Path, name: str) -> None:
    before = version(folder, SCRIPT)
    (folder / name).write_text("2", encoding="utf-8")
    assert version(folder, SCRIPT) != before


def test_the_program_changes_the_version(folder: Path) -> None:
    before = version(folder, 'command = "./bot x"')
    (folder / "bot").write_text("#!/bin/sh\n", encoding="utf-8")
    assert version(folder, 'command = "./bot x"') != before


def test_what_is_not_read_does_not_change_the_version(folder: Path) -> None:
    before = version(folder, SCRIPT)
    (folder / "level").write_text("a file that is called as one of the words", encoding="utf-8")
    (folder / "more").touch()
    os.utime(folder / "bot.py", (1, 1))
    for said in ("memory = 100", "cores = 2", "restart = true", "anchor = 5", 'parent = "other"', 'pools = ["small"]'):
        assert version(folder, f"{SCRIPT}\n{said}") == before, said


@pytest.mark.parametrize(
    "said",
    [
        'command = "python3 bot.py net=net.bin level 2"',
        SCRIPT + '\nenvironment = { A = "1" }',
        SCRIPT + '\nenvironment = { A = "2" }',
        SCRIPT + '\nenvironment = { B = "1" }',
        'command = "./bot"',
        'command = "greedy"',
        'command = "greedy:playouts=5"',
        'command = "greedy:playouts=6"',
        'command = "greedy:playouts=5,seed=1"',
        'command = "random"',
        'command = "tcp://host:1"',
        'command = "tcp://host:2"',
    ],
)
def test_options_and_environment_are_part_of_the_version(folder: Path, said: str) -> None:
    assert version(folder, said) != version(folder, SCRIPT)
    assert version(folder, said) == version(folder, said)


def test_what_means_the_same_is_the_same_version(folder: Path) -> None:
    said = [
        'command = "greedy:seed=1,playouts=5"',
        'command = "greedy:playouts=5:seed=1"',
        'command = "greedy"\noptions = { seed = 1, playouts = 5 }',
        'command = "greedy:seed=1"\noptions = { playouts = "5" }',
    ]
    assert len({version(folder, each) for each in said}) == 1
    variables = 'environment = { A = "1", B = "2" }', 'environment = { B = "2", A = "1" }'
    assert len({version(folder, f"{SCRIPT}\n{each}") for each in variables}) == 1


def test_where_files_lie_does_not_matter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = folder.parent / "two"
    shutil.copytree(folder, moved)
    for said in (SCRIPT, 'command = "./bot x"', 'command = "greedy"'):
        before = version(folder, said)
        assert version(moved, said) == before
        monkeypatch.chdir(moved)
        assert version(moved, said) == before, "nor from where it is started"


def test_built_in_bots_are_what_their_source_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = version(folder, 'command = "greedy"')
    bots = copy_of_bots(folder)
    monkeypatch.syspath_prepend(str(folder))
    assert version(folder, 'command = "greedy"') == before, "a copy is the same"
    with (bots / "greedy.py").open("a", encoding="utf-8") as source:
        source.write("# changed\n")
    assert version(folder, 'command = "greedy"') != before


@pytest.mark.parametrize("option", ["-o", "--output"])
def test_a_log_that_tap_writes_is_no_part_of_the_bot(tmp_path: Path, option: str) -> None:
    """It is created by the first start, and must not make the second one another version."""
    log = tmp_path / "x.log"
    bot = BotSpec(
        "a", "a", ("python3", "-m", "ggp.referee.cli", "tap", option, str(log), "--", "python3", str(log)[:-4])
    )
    before = version_of(bot)
    log.touch()
    assert version_of(bot) == before
    log.with_suffix("").touch()
    assert version_of(bot) != before


def test_a_snapshot_looks_once_and_another_looks_again(folder: Path) -> None:
    start = read_ladder(write(folder, POOL + f'[bot.a]\n{SCRIPT}\n[bot.b]\ncommand = "random"')).bots[0].start
    look = Snapshot()
    before = look.version_of(start)
    assert before == version_of(start) == start.version
    (folder / "bot.py").write_text("changed", encoding="utf-8")
    assert look.version_of(start) == before != version_of(start) == Snapshot().version_of(start)


# --- watching -------------------------------------------------------------------------------------------------------


def test_a_change_is_noticed_once(folder: Path) -> None:
    path = write(folder, POOL + f'[bot.a]\n{SCRIPT}\n[bot.b]\ncommand = "./bot"\n')
    watched = Watched(path)
    watched.follow(read_ladder(path))
    assert not watched.changed()
    for name in ("club.toml", "bot.py", "net.bin", "bot"):
        with (folder / name).open("a", encoding="utf-8") as file:
            file.write("\n")
        assert watched.changed(), name
        assert not watched.changed(), name
    (folder / "level").write_text("not read by the bot", encoding="utf-8")
    assert not watched.changed()
    (folder / "bot.py").unlink()
    assert watched.changed() and not watched.changed()
    (folder / "bot.py").write_text("pass", encoding="utf-8")
    assert watched.changed() and not watched.changed()


def test_a_file_that_is_replaced_is_noticed(folder: Path) -> None:
    path = write(folder, POOL + '[bot.a]\ncommand = "./bot"\n[bot.b]\ncommand = "random"\n')
    watched = Watched(path, read_ladder(path))
    status = (folder / "bot").stat()
    other = shutil.copy2(folder / "bot", folder / "other")
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    Path(other).replace(folder / "bot")  # as old and as long, but another
    assert watched.changed()


def test_the_programs_of_new_bots_are_followed(folder: Path) -> None:
    path = write(folder, POOL + '[bot.a]\ncommand = "greedy"\n[bot.b]\ncommand = "random"\n')
    watched = Watched(path, read_ladder(path))
    (folder / "bot").write_text("#!/bin/sh\n# not entered yet\n", encoding="utf-8")
    assert not watched.changed()
    with path.open("a", encoding="utf-8") as file:
        file.write('[bot.c]\ncommand = "./bot"\n')
    assert watched.changed()
    watched.follow(read_ladder(path))
    (folder / "bot").write_text("#!/bin/sh\n# entered\n", encoding="utf-8")
    assert watched.changed()


def test_no_change_is_missed_between_reading_and_watching(folder: Path) -> None:
    path = write(folder, POOL + f'[bot.a]\n{SCRIPT}\n[bot.b]\ncommand = "random"\n')
    watched = Watched(path)
    ladder = read_ladder(path)
    (folder / "bot.py").write_text("changed after it was read", encoding="utf-8")
    watched.follow(ladder)
    assert watched.changed() and not watched.changed()
    watched = Watched(path)
    ladder = read_ladder(path)
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    watched.follow(ladder)
    assert watched.changed()
    (folder / "bot.py").unlink()
    watched.follow(ladder)
    assert watched.changed()


def test_the_source_of_built_in_bots_is_watched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bots = copy_of_bots(folder)
    monkeypatch.syspath_prepend(str(folder))
    path = write(folder, POOL + '[bot.a]\ncommand = "greedy"\n[bot.b]\ncommand = "random"\n')
    watched = Watched(path, read_ladder(path))
    with (bots / "sdk.py").open("a", encoding="utf-8") as source:
        source.write("\n")
    assert watched.changed()
