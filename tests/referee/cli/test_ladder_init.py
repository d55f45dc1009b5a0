"""`ggp ladder init`: what it writes can be read and prepared, and so can every example in its comments."""

import re
import tomllib
from pathlib import Path

import pytest

from ggp.referee.cli.ladder_init import EXAMPLES, example, main
from ggp.referee.ladder.config import TABLES, read_ladder
from ggp.referee.ladder.session import check_programs, prepare_pools
from ggp.referee.ladder.store.model import FormatKind, Ladder
from ggp.referee.ladder.toml_file import keys_of

EXAMPLE = re.compile(r"^#(?=[\[a-z])", re.MULTILINE)  # prose has a blank there


def checked(path: Path) -> Ladder:
    ladder, warnings = prepare_pools(read_ladder(path))
    check_programs(ladder)
    assert warnings == []
    return ladder


@pytest.mark.slow
def test_it_writes_a_ladder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([]) == 0
    told = capsys.readouterr()
    assert "ggp ladder run ladder.toml" in told.out and told.err == ""
    ladder = checked(tmp_path / "ladder.toml")
    assert [bot.name for bot in ladder.bots] == ["random", "greedy-5", "greedy-20", "greedy-50"]
    assert ladder.format.kind is FormatKind.LADDER and ladder.name == "ladder"
    (pool,) = ladder.pools
    assert (pool.setting.game, pool.setting.values["size"], pool.max_plies) == ("yugo", "7", 20 * 49)


@pytest.mark.slow
@pytest.mark.parametrize("game", ["go,size=9", "taugo", "taigo", "laido", "stigmergy"])
def test_other_games(tmp_path: Path, game: str) -> None:
    path = tmp_path / "x.toml"
    assert main([str(path), "--game", game, "--quiet"]) == 0
    assert checked(path).pools[0].setting.game == game.partition(",")[0]


@pytest.mark.slow
def test_it_writes_a_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.toml"
    assert main([str(path), "--test"]) == 0
    assert f"ggp ladder run {path}" in capsys.readouterr().out
    form = checked(path).format
    assert (form.kind, form.bots, form.elo0, form.elo1) == (FormatKind.TEST, ("new", "old"), 0, 20)


@pytest.mark.slow
def test_it_writes_a_tune(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.toml"
    assert main([str(path), "--tune"]) == 0
    assert f"ggp tune {path}" in capsys.readouterr().out
    ladder = checked(path)
    assert ladder.format.kind is FormatKind.TUNE and ladder.template is not None
    assert [bot.name for bot in ladder.bots] == ["plus", "minus", "tuned", "start"]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "examples"), [("ladder", 8), ("test", 1), ("tune", 1)])
def test_every_example_in_the_comments_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, examples: int
) -> None:
    monkeypatch.setenv("PASSWORD", "x")
    (tmp_path / "my_bot.py").touch()
    path = tmp_path / "x.toml"
    text = example("x.toml", kind=kind)
    blocks = text.split("\n\n")
    live = [number for number, block in enumerate(blocks) if EXAMPLE.search(block)]
    assert len(live) == examples
    for number in live:
        changed = [EXAMPLE.sub("", block) if at == number else block for at, block in enumerate(blocks)]
        assert not EXAMPLE.search(changed[number])
        path.write_text("\n\n".join(changed), encoding="utf-8")
        assert tomllib.loads(path.read_text(encoding="utf-8")) != tomllib.loads(text)
        checked(path)


def test_the_examples_show_what_most_files_say() -> None:
    all_three = "".join(example("x", kind=kind) for kind in EXAMPLES)
    rare = {"engine", "engine_sandbox", "model", "margin", "share", "elo0", "elo1", "seats", "chains", "rate"}
    rare |= {"nodes", "playouts", "ponder", "resign", "draw", "adjudicator", "source", "build", "build_time", "weight"}
    for table in ("", "format", "param.NAME", "pool.NAME", "bot.NAME"):
        for name in keys_of(TABLES[table]):
            said = re.search(rf"^#?\[?{name}\b", all_three, re.MULTILINE)
            assert (said is None) == (name in rare), f"{table}: {name}"


@pytest.mark.slow
def test_it_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.toml"
    path.write_text("mine", encoding="utf-8")
    assert main([str(path)]) == 2
    assert "exists: name another file, or add --force" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == "mine"
    assert main([str(path), "--force"]) == 0
    assert path.read_text(encoding="utf-8") == example(str(path))


@pytest.mark.slow
def test_names_of_files_are_quoted_in_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, said in {"my ladder.toml": "run '{}/my ladder.toml'", "a\nb.toml": "run FILE"}.items():
        assert main([str(tmp_path / name)]) == 0
        assert said.format(tmp_path) in capsys.readouterr().out
        assert said.format(tmp_path) in (tmp_path / name).read_text(encoding="utf-8")
        checked(tmp_path / name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["x.toml", "--game", "yugoo"], "x.toml: pool.main.game: the engine does not know the game 'yugoo', only "),
        (["x.toml", "--game", "yugo,size=99"], "x.toml: pool.main.game: yugo: "),
        (["x.toml", "--game", 'yugo"'], "does not begin with the name of a game: write GAME,name=value"),
        (["nowhere/x.toml"], "nowhere/x.toml cannot be written: No such file or directory"),
        (["."], ". exists: name another file|. cannot be written: Is a directory"),
        (["--speed"], "--speed"),
        (["x.toml", "--test", "--tune"], "--test and --tune are two kinds of file: choose one"),
    ],
)
def test_what_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], what: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    told = capsys.readouterr()
    assert told.out == "" and len(told.err.splitlines()) == 1
    assert any(part in told.err for part in what.split("|"))
    assert list(tmp_path.iterdir()) == []
