"""What engines and built-in bots say of a ladder before anything is played."""

import sys
from pathlib import Path

import pytest

from ggp.bots.command import BOTS, find_problem
from ggp.referee.ladder.config import read_ladder
from ggp.referee.ladder.session import check_programs, prepare_pools
from ggp.referee.ladder.toml_file import ConfigError
from tests.support.ladders import FILE, PAIR, POOL, write

GGP = Path(sys.executable).parent / "ggp"

COUNTED = """#!{python}
import os, sys
open(os.path.join({folder!r}, str(os.getpid())), "w").close()
os.execv(sys.executable, [sys.executable, "-m", "ggp.engines"])
"""


def refused(path: Path) -> str:
    """What is said after the file's name."""
    ladder = read_ladder(path)
    with pytest.raises(ConfigError) as caught:
        check_programs(ladder)
        prepare_pools(ladder)
    assert str(caught.value).isprintable()
    return str(caught.value).removeprefix(f"{path}: ")


@pytest.mark.slow
def test_pools_are_filled_in(tmp_path: Path) -> None:
    text = FILE + '[pool.go]\ngame = "go,size=5"\nmax_plies = 70\n[pool.default]\ngame = "yugo"\n'
    before = read_ladder(write(tmp_path, text))
    ladder, warnings = prepare_pools(before)
    assert warnings == []
    small, go, default = ladder.pools
    assert [pool.name for pool in ladder.pools] == ["small", "go", "default"]
    assert (small.setting.options, small.setting.values["size"]) == ({"size": "7"}, "7")
    assert small.setting.defaults == default.setting.defaults and small.setting.defaults["size"] == "9"
    assert (small.max_plies, go.max_plies, default.max_plies) == (20 * 49, 70, 20 * 81)
    assert [pool.key for pool in ladder.pools] == [pool.key for pool in before.pools], "the store knows pools by these"
    assert (ladder.bots, ladder.path) == (before.bots, before.path)


@pytest.mark.slow
def test_an_engine_is_started_once_for_all_its_pools(tmp_path: Path) -> None:
    (tmp_path / "starts").mkdir()
    engine = tmp_path / "engine"
    engine.write_text(COUNTED.format(python=sys.executable, folder=str(tmp_path / "starts")), encoding="utf-8")
    engine.chmod(0o755)
    more = "".join(f'[pool.p{size}]\ngame = "yugo,size={size}"\n' for size in range(3, 7))
    ladder, _ = prepare_pools(read_ladder(write(tmp_path, 'engine = "./engine"\n' + FILE + more)))
    assert [pool.max_plies for pool in ladder.pools] == [20 * size * size for size in (7, 3, 4, 5, 6)]
    assert len(list((tmp_path / "starts").iterdir())) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            POOL + '[pool.b]\ngame = "yugoo"\n' + PAIR,
            "pool.b.game: the engine does not know the game 'yugoo', only go, laido, stigmergy, taigo, taugo, yugo",
        ),
        (
            POOL + '[pool.b]\ngame = "yugo"\noptions = { size = 99 }\n' + PAIR,
            "pool.b.game: yugo: size=99: size must be",
        ),
        (POOL + '[pool.b]\ngame = "yugo,sise=9"\n' + PAIR, "pool.b.game: yugo: "),
        ('engine = "cat"\n' + FILE, "pool.small.engine: cat: "),
        ("engine = \"sh -c 'exit 3'\"\n" + FILE, "pool.small.engine: sh -c 'exit 3': "),
        (
            FILE + '[bot.c]\ncommand = "gredy"\n',
            "bot.c.command: no program called 'gredy' is in PATH, and no built-in bot: unknown bot: gredy; known bots: "
            f"{' '.join(BOTS)}; did you mean greedy?",
        ),
        (FILE + '[bot.c]\ncommand = "gredy:playouts=5"\n', "bot.c.command: unknown bot: gredy; known bots: random"),
        (
            FILE + f'[bot.c]\ncommand = "{GGP} bot llm --key sk-012345678901234"\n',
            "bot.c.command: llm: every user of the machine can see a key",
        ),
        (FILE + f'[bot.c]\ncommand = "{GGP} bot frob"\n', "bot.c.command: unknown bot: frob; known bots: random"),
        (
            FILE + '[bot.c]\ncommand = "greedy:playout=5"\n',
            "bot.c.options: greedy has no option playout; its options are: ",
        ),
        (
            FILE + '[bot.c]\ncommand = "greedy"\noptions = { playouts = 0 }\n',
            "bot.c.options: playouts=0: playouts must be",
        ),
        (FILE + '[bot.c]\ncommand = "random"\noptions = { playouts = 5 }\n', "bot.c.options: random has no option"),
        (FILE + '[bot.c]\ncommand = "greedy:a b"\n', "bot.c.options: greedy: a b is not an option: write name=value"),
    ],
)
def test_what_cannot_be_played(tmp_path: Path, text: str, line: str) -> None:
    assert refused(write(tmp_path, "[budget]\nstart = 20\n" + text if "engine" not in text else text)).startswith(line)


@pytest.mark.slow
def test_built_in_bots_that_do_not_answer_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ladder = read_ladder(write(tmp_path, "[budget]\nstart = 0.001\n" + FILE))
    with pytest.raises(ConfigError, match=r"bot: the built-in bots do not answer within 0.001 s: raise budget.start"):
        check_programs(ladder)


def test_a_ladder_without_built_in_bots_asks_no_program(tmp_path: Path) -> None:
    text = POOL + '[bot.a]\ncommand = "cat"\n[bot.b]\ncommand = "tcp://localhost:1"\n[budget]\nstart = 0.001\n'
    check_programs(read_ladder(write(tmp_path, text)))


def test_what_built_in_bots_say_before_they_start() -> None:
    assert find_problem(["greedy", "playouts=5"]) is None
    assert find_problem(["greedy", "playouts=5", "playouts=6"]) == ("options", "greedy: playouts is given twice")
    assert find_problem(["zzz"]) == (
        "command",
        f"unknown bot: zzz; known bots: {' '.join(BOTS)}",
    )
