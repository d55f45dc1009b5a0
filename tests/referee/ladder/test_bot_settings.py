"""The settings of a bot: the same keys and the same checks in `ggp match --bot`, in ladder files and in lobby files."""

import hashlib
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

import pytest

from ggp.referee.ladder import bot_settings
from ggp.referee.ladder.bot_settings import BotSettings, cores_of_match, places, read_words
from ggp.referee.ladder.config import BotTable, read_ladder
from ggp.referee.ladder.toml_file import ConfigError, keys_of
from ggp.referee.match import bot_spec
from ggp.referee.match.bot_spec import BOTS, BotSpec, distinct, read_bot, version_of
from ggp.referee.match.clock import TimeControl
from ggp.referee.match.sandbox.levels import Sandbox
from ggp.referee.match.setting import Timeouts
from ggp.referee.server.lobby.config import read_lobby
from tests.support.cli import PYTHON

SCRIPT = "bot.py"


def by_words(folder: Path, command: str, words: str) -> BotSpec:
    os.chdir(folder)
    bot, _ = read_words([f"a,{words}"] if words else [], distinct(read_bot(f"a={command}"), read_bot("b=random")))
    return bot


def by_ladder(folder: Path, command: str, toml: str) -> BotSpec:
    file = folder / "club.toml"
    pool = '[pool.main]\ngame = "go,size=9"\ncontrol = "10"\n'
    file.write_text(
        f'{pool}[bot.a]\ncommand = {json.dumps(command)}\n{toml}\n[bot.b]\ncommand = "random"\n', encoding="utf-8"
    )
    return read_ladder(file).bots[0].start


def by_lobby(folder: Path, command: str, toml: str) -> BotSpec:
    file = folder / "club.toml"
    pool = '[pool.main]\ngame = "go,size=9"\ncontrol = "10"\n'
    file.write_text(
        f"[lobby]\nkeys = false\n{pool}[bot.a]\ncommand = {json.dumps(command)}\n{toml}\n", encoding="utf-8"
    )
    return read_lobby(file).local[0].entrant.start


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / SCRIPT).write_text("pass", encoding="utf-8")
    (tmp_path / "nets").mkdir()
    return tmp_path


ALL = {
    "time": ('"5+0.05"', "5+0.05"),
    "nodes": ("100", "100"),
    "playouts": ("50", "50"),
    "cwd": ('"nets"', "nets"),
    "environment.TOKEN": ('"a,b c"', "a,b c"),
    "memory": ("2000", "2000"),
    "sandbox": ('"default"', "default"),
    "allow": ('["ponder", "network"]', "ponder,network"),
    "nice": ("5", "5"),
    "ponder": ("true", "true"),
    "restart": ("false", "false"),
    "wait": ("0.5", "0.5"),
    "budget.start": ("120", "120"),
}


def test_all_three_places_end_in_the_same_bot(folder: Path) -> None:
    command = f"{PYTHON} {quote(str(SCRIPT))}"
    toml = "\n".join(f"{name} = {value}" for name, (value, _) in ALL.items())
    words = ",".join(f"{name}={value}" for name, (_, value) in ALL.items())
    spec = by_words(folder, command, words)
    assert spec == BotSpec(
        name="a",
        command=command,
        argv=(sys.executable, str(folder / SCRIPT)),
        environment=(("TOKEN", "a,b c"),),
        sandbox=Sandbox("default", ("ponder", "network"), memory=2000),
        restart=False,
        control=TimeControl.parse("5+0.05"),
        limits=(("nodes", 100), ("playouts", 50)),
        cwd=str(folder / "nets"),
        nice=5,
        ponder=True,
        wait=0.5,
        budget=(("start", 120.0),),
        settings="cwd=nets nodes=100 playouts=50 ponder=true",
    )
    for read in (by_ladder, by_lobby):
        entered = read(folder, command, toml)
        assert entered.version == version_of(spec)
        assert entered.sandbox is not None and spec.sandbox is not None
        beside = {"club.toml", "club.db", "club.builds", "club.seats"}
        assert {str(folder / name) for name in beside} <= {*entered.sandbox.private}
        sandbox = replace(spec.sandbox, private=entered.sandbox.private)
        assert entered == replace(spec, version=entered.version, sandbox=sandbox)
    assert set(keys_of(BotSettings)) < set(keys_of(BotTable))
    said = {name.partition(".")[0] for name in ALL}
    assert said | {"options", "cores"} == set(keys_of(BotSettings)), "each of them is tried here"


WRONG: list[tuple[str, str, str, str]] = [  # the command, the setting as a word and as TOML, what is said of it
    ("random", "tiem=5", "tiem = 5", "tiem: unknown key: did you mean time?"),
    ("random", "time=5x", 'time = "5x"', "time: unknown time control '5x': use"),
    ("random", "nice=20", "nice = 20", "nice: "),
    ("random", "nice=high", 'nice = "high"', "nice: 'high' is not a whole number from -20 to 19"),
    ("random", "nodes=0", "nodes = 0", "nodes: 0 is not a whole number from 1"),
    ("random", "wait=-1", "wait = -1", "wait: "),
    ("random", "restart=maybe", 'restart = "maybe"', "restart: 'maybe' is not true or false"),
    ("random", "ponder=true,cores=2", "ponder = true\ncores = 2", "ponder: cores lets it run on all cores already"),
    (
        "random",
        "sandbox=strict,allow=ponder",
        'sandbox = "strict"\nallow = ["ponder"]',
        """allow: "ponder" opens the opponent's turn to a bot with a core of its own: write ponder = true""",
    ),
    ("random", "cwd=nowhere", 'cwd = "nowhere"', "cwd: 'nowhere' is no folder: create it, or correct the path"),
    ("random", "cwd=bot.py", 'cwd = "bot.py"', "cwd: 'bot.py' is no folder"),
    ("random", "environment.9=x", 'environment = { 9 = "x" }', "environment.9: '9' is not a name of letters"),
    ("random", "environment.A=\0", 'environment = { A = "\\u0000" }', "environment.A: "),
    ("random", "environment=x", 'environment = "x"', "environment: 'x' is not a table of texts in quotes"),
    ("random", "budget.mov=3", "budget = { mov = 3 }", "budget.mov: unknown key: did you mean move?"),
    ("random", "budget.start=soon", 'budget = { start = "soon" }', "budget.start: 'soon' is not a number from 0.001"),
    ("random", "budget.move=3", "budget = { move = 3 }", "budget.move: has no effect, for the clock 10 ends its moves"),
    (
        "random",
        "time=5,budget.move=3",
        'time = "5"\nbudget = { move = 3 }',
        "budget.move: has no effect, for the clock 5 ends its moves",
    ),
    ("greedy:playouts=4", "playouts=5", "playouts = 5", "playouts: playouts is also in command: remove one of them"),
    (
        "greedy",
        "playouts=5,options.playouts=4",
        "playouts = 5\noptions = { playouts = 4 }",
        "playouts: playouts is also in options: remove one of them",
    ),
    ("python3 bot.py", "options.x=4", "options = { x = 4 }", "options: only built-in bots have them"),
]


@pytest.mark.parametrize(("command", "words", "toml", "said"), WRONG)
def test_what_is_wrong_is_one_line_in_all_three_places(
    folder: Path, command: str, words: str, toml: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from ggp.referee.cli.match import main

    assert main(["go,size=9", f"a={command}", "b=random", "--time", "10", "--bot", f"a,{words}", "--games", "2"]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"ggp match: bot a: {said}") and told.count("\n") == 1
    for read in (by_ladder, by_lobby):
        with pytest.raises(ConfigError) as error:
            read(folder, command, toml)
        assert str(error.value).startswith(f"{folder / 'club.toml'}: bot.a.{said}")
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["c,nice=1"], "--bot: c: is no bot here: the bots are a, b, and * is all of them"),
        (["a"], "--bot: a: write settings after the name"),
        (["a,nice=1,nice=2"], "bot a: nice: is given twice"),
        (["a,nice=1", "a,nice=2"], "bot a: nice: is given twice"),
        (["a,environment.X=1,environment.X=2"], "bot a: environment.X: is given twice"),
    ],
)
def test_words_that_name_no_setting_of_a_bot(words: list[str], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_words(words, distinct(read_bot("a=random"), read_bot("b=random")))
    assert str(error.value).startswith(said)


def test_what_is_said_of_a_bot_goes_before_what_is_said_of_all() -> None:
    bots = distinct(read_bot("a=random"), read_bot("b=random"))
    a, b = read_words(["*,wait=1,nice=3,environment.X=1,environment.Y=1", "b,wait=0,environment.X=2"], bots)
    assert (a.wait, a.nice, a.environment) == (1.0, 3, (("X", "1"), ("Y", "1")))
    assert (b.wait, b.nice, b.environment) == (0.0, 3, (("X", "2"), ("Y", "1")))


def test_playouts_of_a_built_in_bot_are_its_option(folder: Path) -> None:
    for read, said in ((by_words, "playouts=5"), (by_ladder, "playouts = 5"), (by_lobby, "playouts = 5")):
        spec = read(folder, "greedy:seed=2", said)
        assert (spec.command, spec.argv) == ("greedy:playouts=5,seed=2", (*BOTS, "greedy", "playouts=5", "seed=2"))
        assert (spec.limits, spec.settings) == ((), "")


@pytest.mark.parametrize("name", ["cwd", "environment.X", "memory", "cores", "nice", "ponder", "restart"])
def test_a_bot_that_listens_has_no_process_here(folder: Path, name: str) -> None:
    value = {"cwd": '"nets"', "environment.X": '"1"', "ponder": "true", "restart": "true"}.get(name, "2")
    with pytest.raises(ConfigError) as error:
        by_ladder(folder, "tcp://127.0.0.1:9", f"{name} = {value}")
    key = name.partition(".")[0]
    assert f"bot.a.{key}: has no effect on a bot that listens at tcp://127.0.0.1:9" in str(error.value)
    with pytest.raises(ConfigError, match="has no effect"):
        by_words(folder, "tcp://127.0.0.1:9", f"{name}={value.strip(chr(34))}")
    assert by_ladder(folder, "tcp://127.0.0.1:9", 'time = "5"\nwait = 1').wait == 1


def test_a_human_has_a_clock_of_its_own_and_nothing_else() -> None:
    bots = distinct(read_bot("me=human", human=True), read_bot("b=random"))
    assert read_words(["me,time=600"], bots)[0].control == TimeControl.parse("600")
    with pytest.raises(ConfigError, match="bot me: nice: has no effect on a human"):
        read_words(["me,nice=1"], bots)


def test_a_time_out_of_a_move_needs_a_game_without_a_clock(folder: Path) -> None:
    spec = by_ladder(folder, "random", 'time = "none"\nbudget = { move = 3 }')
    assert spec.timeouts(Timeouts(command=1)) == Timeouts(command=1, move=3)


def test_a_niceness_below_zero_needs_root(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ConfigError, match=r"bot\.a\.nice: -5 needs the rights of root: write 0 to 19"):
        by_ladder(folder, "random", "nice = -5")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert by_ladder(folder, "random", "nice = -5").nice == -5


# -- versions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("toml", "another"),
    [
        ('time = "5"', True),
        ("nodes = 7", True),
        ("playouts = 7", True),
        ('cwd = "nets"', True),
        ("ponder = true", True),
        ('environment = { A = "1" }', True),
        ("nice = 3", False),
        ("wait = 3", False),
        ("restart = true", False),
        ("memory = 900", False),
        ("budget = { start = 9 }", False),
    ],
)
def test_what_changes_how_a_bot_plays_makes_another_version(folder: Path, toml: str, another: bool) -> None:
    command = f"{PYTHON} {quote(str(SCRIPT))}"
    before, after = by_ladder(folder, command, ""), by_ladder(folder, command, toml)
    assert (before.version != after.version) is another


def test_versions_without_settings_are_what_they_were(folder: Path) -> None:
    """A store of before must not take every bot for a new version."""
    spec = BotSpec("a", "x", (sys.executable, str(folder / SCRIPT)), environment=(("A", "1"),))
    said: list[Any] = ["x", [("A", "1")], bot_spec.Snapshot().files_of(spec)]
    hashes = [bot_spec.executable_hash(file) for file in said[2]]
    text = json.dumps(["x", [("A", "1")], hashes])
    assert version_of(spec) == hashlib.sha256(text.encode()).hexdigest()[:12]


# -- cores -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cores", "jobs", "pin", "said"),
    [
        (2, None, True, 4),
        (3, None, True, 2),
        (2, 3, True, 3),
        (2, 5, True, "bot.a.ponder: 5 matches at a time need 10 cores, and this machine has 8: ask for fewer --jobs"),
        (9, None, True, "bot.a.ponder: a match needs 9 cores, and this machine has 8: remove ponder"),
        (9, 1, True, "bot.a.ponder: a match needs 9 cores"),
        (2, None, False, "bot.a.ponder: needs processes that are kept on cores"),
    ],
)
def test_bots_that_ponder_need_cores(
    monkeypatch: pytest.MonkeyPatch, cores: int, jobs: int | None, pin: bool, said: int | str
) -> None:
    monkeypatch.setattr(bot_settings, "available_cores", lambda: list(range(8)))
    if isinstance(said, int):
        assert places("f", "a", cores, jobs, pin) == said
        return
    with pytest.raises(ConfigError) as error:
        places("f", "a", cores, jobs, pin)
    assert str(error.value).startswith(f"f: {said}")


def test_the_cores_of_a_match() -> None:
    quiet, ponders = BotSpec("a", "a"), BotSpec("b", "b", ponder=True)
    assert [cores_of_match([*[ponders] * number, quiet]) for number in range(4)] == [1, 2, 3, 3]
