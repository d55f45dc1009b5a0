"""Ladder files: what is read from them, and the one line that is said of each that cannot be."""

import os
from pathlib import Path

import pytest

from ggp.referee.ladder.config import read_ladder
from ggp.referee.ladder.store.model import Entrant, Format, FormatKind
from ggp.referee.ladder.toml_file import ConfigError
from ggp.referee.match.bot_spec import BOTS, ENGINE
from ggp.referee.match.clock import TimeControl
from ggp.referee.match.setting import Timeouts
from tests.support.ladders import FILE, PAIR, POOL, write, wrong


def program(folder: Path, name: str, text: str = "#!/bin/sh\n") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def bots(folder: Path, text: str) -> dict[str, Entrant]:
    return {bot.name: bot for bot in read_ladder(write(folder, text)).bots}


# --- what is read ---------------------------------------------------------------------------------------------------


def test_the_least_file(tmp_path: Path) -> None:
    ladder = read_ladder(write(tmp_path, FILE))
    assert (ladder.name, ladder.seed, ladder.model) == ("club", 1, "davidson")
    assert ladder.store == f"sqlite:///{tmp_path}/club.db"
    assert ladder.path == str(tmp_path / "club.toml")
    assert ladder.format == Format() and ladder.budgets == Timeouts()
    (pool,) = ladder.pools
    assert (pool.name, pool.setting.game, pool.setting.options) == ("small", "yugo", {"size": "7"})
    assert pool.setting.control == TimeControl.parse("10+0.1") and pool.engine.argv == ENGINE
    assert (pool.margin, pool.max_plies, pool.openings) == (50, 0, 0)
    a, b = ladder.bots
    assert (a.name, a.start.name, a.start.command, a.start.argv) == ("a", "a", "random", (*BOTS, "random"))
    assert a.pools == b.pools == ("small",) and a.version != b.version
    assert len(a.version) == 12 and (a.parent, a.anchor) == ("", None)


def test_everything_that_can_be_said(tmp_path: Path) -> None:
    text = f"""
name = "all"
seed = 9
store = "games/all.db"
engine = "{program(tmp_path, "engine")} --quick"
model = "rao-kupper"
[format]
kind = "ladder"
share = 0.25
batch = 40
[budget]
start = 5
stall = 0.5
[pool.one]
game = "yugo"
options = {{ size = 7, komi = 6.5, agreement = "on" }}
control = "600+5x30"
openings = 4
margin = 100
max_plies = 300
[pool.two]
game = "go,size=9"
engine = "tcp://localhost:5555"
[bot.a]
command = "random"
environment = {{ THREADS = "2", ALPHA = "" }}
cores = 4
memory = 512
restart = true
pools = ["two"]
anchor = 1000
[bot.b]
command = "greedy"
options = {{ playouts = 50, resign = "off" }}
parent = "a"
[bot."c.1"]
command = "tcp://example.org:4000"
"""
    ladder = read_ladder(write(tmp_path, text))
    assert (ladder.name, ladder.seed, ladder.model) == ("all", 9, "rao-kupper")
    assert ladder.store == f"sqlite:///{tmp_path}/games/all.db"
    assert ladder.format == Format(FormatKind.LADDER, share=0.25, batch=40)
    assert ladder.budgets == Timeouts(start=5, stall=0.5)
    one, two = ladder.pools
    assert one.setting.options == {"size": "7", "komi": "6.5", "agreement": "on"}
    assert one.engine.argv == (str(tmp_path / "engine"), "--quick") and two.engine.url == "tcp://localhost:5555"
    assert str(one.setting.control) == "600+5x30" and (one.openings, one.margin, one.max_plies) == (4, 100, 300)
    a, b, c = ladder.bots
    assert a.start.environment == (("ALPHA", ""), ("THREADS", "2"))
    assert (a.start.cores, a.start.memory, a.start.restart, a.anchor) == (4, 512, True, 1000.0)
    assert (a.pools, b.pools, b.parent) == (("two",), ("one", "two"), "a")
    assert b.start.argv == (*BOTS, "greedy", "playouts=50", "resign=off")
    assert (c.name, c.start.url, c.start.name) == ("c.1", "tcp://example.org:4000", "c.1")
    assert [bot.name for bot in ladder.entered(one)] == ["b", "c.1"]


def test_paths_are_seen_from_the_folder_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "my ladder"
    (folder / "nets").mkdir(parents=True)
    program(folder, "bot")
    for name in ("bot.py", "nets/big", "gtp"):
        (folder / name).write_text("pass", encoding="utf-8")
    text = POOL + (
        '[bot.a]\ncommand = "./bot --net nets/big --mode gtp --other no.such"\n[bot.b]\ncommand = "python3 bot.py x"\n'
        '[bot.c]\ncommand = "./bot --net=nets/big"\n'
    )
    write(folder, text)
    monkeypatch.chdir(tmp_path)
    there = read_ladder(Path("my ladder/club.toml"))
    monkeypatch.chdir(folder)
    here = read_ladder(Path("club.toml"))
    assert here.bots == there.bots and here.store == there.store == f"sqlite:///{folder}/club.db"
    a, b, c = here.bots
    assert a.start.argv == (f"{folder}/bot", "--net", f"{folder}/nets/big", "--mode", "gtp", "--other", "no.such")
    assert b.start.argv == ("python3", f"{folder}/bot.py", "x")
    assert c.start.argv == (f"{folder}/bot", f"--net={folder}/nets/big")


def test_the_name_of_a_ladder_comes_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "Vom Käse: ein Turnier.toml"
    path.write_text(FILE, encoding="utf-8")
    ladder = read_ladder(path)
    assert ladder.name == "Vom-K-se-ein-Turnier" and ladder.store.endswith("/Vom-K-se-ein-Turnier.db")


def test_variables_are_for_the_store_alone(tmp_path: Path) -> None:
    text = FILE + '[bot.c]\ncommand = "python3 -c pass ${HOME}"\nenvironment = { X = "${HOME}" }\n'
    start = bots(tmp_path, text)["c"].start
    assert start.argv[-1] == "${HOME}" and start.environment == (("X", "${HOME}"),)


# --- what cannot be ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("sed = 1\n" + FILE, "sed"),
        ("xyzzy = 1\n" + FILE, "xyzzy"),
        ("share = 0.2\n" + FILE, "share"),
        ("seed = -1\n" + FILE, "seed"),
        ("seed = 0x" + "f" * 9999 + "\n" + FILE, "seed"),
        (
            '[pool.a]\ngame = "yugo"\noptions = { size = 0x' + "f" * 9999 + " }\n" + PAIR,
            "pool.a.options.size",
        ),
        ("seed = 1.5\n" + FILE, "seed"),
        ("seed = true\n" + FILE, "seed"),
        ('seed = "1"\n' + FILE, "seed"),
        ("seed = 1979-05-27\n" + FILE, "seed"),
        ('name = ""\n' + FILE, "name"),
        ('name = "../x"\n' + FILE, "name"),
        ('name = "' + "x" * 41 + '"\n' + FILE, "name"),
        ('model = "elo"\n' + FILE, "model"),
        ('engine = "no-such-engine x"\n' + FILE, "engine"),
        ("format = 3\n" + FILE, "format"),
        ("[budget]\nstar = 1\n" + FILE, "budget.star"),
        ("[budget]\nstart = 0\n" + FILE, "budget.start"),
        ("[budget]\nstart = inf\n" + FILE, "budget.start"),
        (PAIR, "pool"),
        (POOL, "bot"),
        ("pool = 1\n" + PAIR, "pool"),
        ('[pool]\ngame = "yugo"\n' + PAIR, "pool.game"),
        ('[pool."a b"]\ngame = "yugo"\n' + PAIR, 'pool."a b"'),
        ('[bot."-x"]\ncommand = "random"\n' + FILE, "bot.-x"),
        ('[bot.engine]\ncommand = "random"\n' + FILE, "bot.engine"),
        ('[bot.gnu.go]\ncommand = "random"\n' + FILE, "bot.gnu.go"),
        ("[pool.a]\n" + FILE, "pool.a.game"),
        ('[pool.a]\ngame = "yugo,size"\n' + FILE, "pool.a.game"),
        (
            '[pool.a]\ngame = "yugo,size=7"\noptions = { size = 7 }\n' + FILE,
            "pool.a.options",
        ),
        ('[pool.a]\ngame = "yugo"\noptions = { pie = true }\n' + FILE, "pool.a.options.pie"),
        ('[pool.a]\ngame = "yugo"\noptions = { pie = "a b" }\n' + FILE, "pool.a.options.pie"),
        (
            '[pool.a]\ngame = "yugo"\noptions = { "p ie" = 1 }\n' + FILE,
            'pool.a.options."p ie"',
        ),
        ('[pool.a]\ngame = "yugo"\noptions = 7\n' + FILE, "pool.a.options"),
        ('[pool.a]\ngame = "yugo"\ncontrol = "soon"\n' + FILE, "pool.a.control"),
        ('[pool.a]\ngame = "yugo"\ntime = "1"\n' + FILE, "pool.a.time"),
        (
            '[pool.a]\ngame = "yugo"\nopenings = 1001\n' + FILE,
            "pool.a.openings",
        ),
        (FILE + '[pool.a]\ngame = "yugo"\noptions = { size = 7 }\n', "pool.a"),
        (POOL + '[bot.a]\ncommand = "random"\n', "pool.small"),
        (FILE + 'pools = ["b"]\n[pool.b]\ngame = "go"\n', "pool.small"),
        (FILE + "[bot.c]\n", "bot.c.command"),
        (FILE + "[bot.c]\ncommand = 1\n", "bot.c.command"),
        (FILE + '[bot.c]\ncommand = "  "\n', "bot.c.command"),
        (FILE + '[bot.c]\ncommand = "a \\u0000"\n', "bot.c.command"),
        (FILE + '[bot.c]\ncomand = "random"\n', "bot.c.comand"),
        (FILE + '[bot.c]\ncontrol = "1"\n', "bot.c.control"),
        (FILE + '[bot.c]\ncommand = "gnugoo --mode gtp"\n', "bot.c.command"),
        (FILE + '[bot.c]\ncommand = "./gone x"\n', "bot.c.command"),
        (FILE + '[bot.c]\ncommand = "./club.toml"\n', "bot.c.command"),
        (FILE + '[bot.c]\ncommand = "./"\n', "bot.c.command"),
        (FILE + '[bot.c]\ncommand = "python3 no.py"\n', "bot.c.command"),
        (FILE + '[bot.c]\ncommand = "python3 \'x"\n', "bot.c.command"),
        (FILE + '[bot.c]\ncommand = "tcp://x"\n', "bot.c.command"),
        (FILE + '[bot.c]\ncommand = "N=1 ./bot"\n', "bot.c.command"),
        (FILE + '[bot.c]\ncommand = "cat x"\noptions = { a = 1 }\n', "bot.c.options"),
        (
            FILE + '[bot.c]\ncommand = "greedy:playouts=1"\noptions = { playouts = 2 }\n',
            "bot.c.options",
        ),
        (
            FILE + '[bot.c]\ncommand = "tcp://x:1"\nmemory = 9\n',
            "bot.c.memory",
        ),
        (FILE + '[bot.c]\ncommand = "cat"\nenvironment = { A = 1 }\n', "bot.c.environment.A"),
        (FILE + '[bot.c]\ncommand = "cat"\nenvironment = { "A=" = "1" }\n', 'bot.c.environment."A="'),
        (FILE + '[bot.c]\ncommand = "cat"\ncores = 0\n', "bot.c.cores"),
        (FILE + '[bot.c]\ncommand = "cat"\nrestart = 1\n', "bot.c.restart"),
        (FILE + '[bot.c]\ncommand = "cat"\nanchor = "x"\n', "bot.c.anchor"),
        (FILE + '[bot.c]\ncommand = "cat"\npools = "small"\n', "bot.c.pools"),
        (FILE + '[bot.c]\ncommand = "cat"\npools = []\n', "bot.c.pools"),
        (
            FILE + '[bot.c]\ncommand = "cat"\npools = ["smal"]\n',
            "bot.c.pools",
        ),
        (FILE + '[bot."c.d"]\ncommand = "cat"\nparent = "z"\n', 'bot."c.d".parent'),
        (FILE + 'parent = "b"\n', "bot.b.parent"),
        (
            FILE + 'parent = "c"\n[bot.c]\ncommand = "cat"\nparent = "d"\n[bot.d]\ncommand = "cat"\nparent = "c"\n',
            "bot.c.parent",
        ),
    ],
)
def test_invalid_values_are_errors_of_their_key(tmp_path: Path, text: str, key: str) -> None:
    assert wrong(tmp_path, text).key == key


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", [FILE + '[bot.c]\ncommand = "./pipe"\n', 'engine = "./pipe"\n' + FILE])
def test_a_pipe_is_no_program(tmp_path: Path, text: str) -> None:
    os.mkfifo(tmp_path / "pipe", 0o700)
    assert f"{tmp_path}/pipe cannot be run: it is a named pipe" in str(wrong(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("sed = 1\n" + FILE, "did you mean seed?"),
        ("xyzzy = 1\n" + FILE, "there are name, seed, store, engine, model, "),
        ("seed = 1.5\n" + FILE, "a whole number from 0 up"),
        ("[budget]\nstart = inf\n" + FILE, "a number from 0.001 to 3600"),
        ('model = "davids"\n' + FILE, "one of davidson, rao-kupper: did you mean davidson?"),
        ('[bot.gnu.go]\ncommand = "random"\n' + FILE, '[bot."gnu.go"]'),
        (PAIR, "[pool.NAME]"),
        ("[pool.a]\n" + FILE, "`yugo,size=7`"),
        (FILE + '[bot.c]\ncommand = "cat"\npools = ["smal"]\n', "did you mean small?"),
        (FILE + 'parent = "c"\n[bot.c]\ncommand = "cat"\nparent = "b"\n', "b -> c -> b"),
    ],
)
def test_errors_say_what_to_write(tmp_path: Path, text: str, advice: str) -> None:
    assert advice in str(wrong(tmp_path, text))


def test_pools_of_two_games_need_no_bots_of_their_own(tmp_path: Path) -> None:
    assert len(read_ladder(write(tmp_path, FILE + '[pool.b]\ngame = "go"\n')).pools) == 2


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("seed = \n", "line 1, column 8: Invalid value: this is no TOML"),
        ("seed = 1\nseed = 2\n", "line 2, column 9: Cannot overwrite a value: this is no TOML"),
        ("[bot.a]\n[bot.a]\n", "line 2, column 7: Cannot declare ('bot', 'a') twice: this is no TOML"),
        ('name = "x', "end of document: Unterminated string: this is no TOML"),
        ("a = 1979-99-99\n", "line 1, column 9: "),
        (b'seed = 1\nname = "\xff"\n', "line 2: is not UTF-8: save the file as UTF-8"),
        (b"\x00", "line 1, column 1: "),
        ("a = " + "[" * 100_000, "brackets are nested too deeply"),
        ("a = " + "9" * 5000, "it holds a number of more than 4,300 digits"),
        (b"#" * ((1 << 20) + 1), "is larger than 1 MiB: split it"),
    ],
)
def test_files_that_are_no_toml(tmp_path: Path, text: str | bytes, line: str) -> None:
    assert str(wrong(tmp_path, text)).removeprefix(f"{tmp_path}/club.toml: ").startswith(line)


def test_files_that_are_none(tmp_path: Path) -> None:
    fifo, loop = tmp_path / "fifo", tmp_path / "loop"
    os.mkfifo(fifo)
    loop.symlink_to("loop")
    for path, what in {
        tmp_path: "is a directory: name the ladder's file",
        fifo: "is no file: name the ladder's file",
        loop: "does not exist: name the ladder's file",
        tmp_path / "none\n": "does not exist: ",
        tmp_path / ("x" * 300): "cannot be read: File name too long: check",
        tmp_path / "\0": "does not exist: ",
    }.items():
        with pytest.raises(ConfigError) as caught:
            read_ladder(path)
        assert what in str(caught.value)
        assert str(caught.value).isprintable()


def test_there_may_be_many_bots_but_not_any_number(tmp_path: Path) -> None:
    many = "".join(f'[bot.b{number}]\ncommand = "greedy:playouts={number + 1}"\n' for number in range(5001))
    assert wrong(tmp_path, POOL + many).key == "bot"
    ladder = read_ladder(write(tmp_path, POOL + many.replace('[bot.b5000]\ncommand = "greedy:playouts=5001"\n', "")))
    assert len({bot.version for bot in ladder.bots}) == 5000
