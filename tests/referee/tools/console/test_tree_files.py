"""Trees in files: SGF of every game and back, SGF of others, a line as a record; what cannot be read."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from ggp.protocol.records import Record, read_records
from ggp.protocol.sgf import decode, trees
from ggp.referee.cli.console import main
from ggp.referee.cli.verify import main as verify
from ggp.referee.tools.console.own_commands import ConsoleError
from ggp.referee.tools.console.tree import Evaluation, GameTree
from ggp.referee.tools.console.tree_files import open_tree
from tests.support.codes import raises
from tests.support.memory_console import MATCHES, memory_console, typed


def opened(path: Path, place: str = "") -> GameTree:
    tree = open_tree(f"{path}{place}", (), (), "").tree
    assert tree is not None
    return tree


def told(tree: GameTree) -> list[tuple[object, ...]]:
    """All that a tree holds, node by node."""
    return [
        (node.name, node.colour, node.move, node.left, node.ms, node.analysis, node.comment, node.evaluations)
        for node in (tree.root, *tree.walk())
    ]


@pytest.mark.parametrize("match", MATCHES, ids=lambda match: match.start.game + " " + match.plies[1].move)
def test_a_tree_is_written_and_read(match: Record, tmp_path: Path) -> None:
    console, path = memory_console(match=match), tmp_path / "tree.sgf"
    legal = typed(console, ":goto 1", "ggp-legal_moves")[1].split()
    tree = console.cursor.tree
    for number, move in enumerate(legal[:3]):
        typed(console, ":goto 1", f":{move}", f":comment [{number}] of \\ three: dead:A1")
    tree.root.comment = "the start\nof all"
    tree.root.evaluations["a"] = Evaluation("a", "black", "A1", 0.5, '{"pv": ["A1"]}')
    for node in tree.main_line:
        node.analysis = '{"winrate": 0.5, "pv": ["A]1"]}'
    before = told(tree)
    assert typed(console, f":save {path}")[0].startswith(f"{path} written: ")
    read = opened(path)
    assert told(read) == before and (read.game, read.options) == (tree.game, tree.options)
    assert len(list(trees(decode(path.read_bytes())))) == 1
    assert [node.move for node in read.main_line] == [ply.move for ply in match.plies]


def test_the_sgf_of_other_programs(tmp_path: Path) -> None:
    path = tmp_path / "go.sgf"
    path.write_text(
        "(;FF[4]GM[1]SZ[9]KM[6.5]PB[Ann]PW[Bob]RE[B+R]C[hello]"
        "(;B[ee]C[tengen](;W[cc])(;W[gg];B[]))(;B[dd]N[no comment]))",
        encoding="utf-8",
    )
    tree = opened(path, "@1")
    assert [f"{node.name} {node.colour} {node.move} {node.comment}".strip() for node in tree.walk()] == [
        "1 black E5 tengen",
        "2 white C7",
        "2a white G3",
        "3a black pass",
        "1b black D6",
    ]
    assert (tree.root.comment, tree.about) == ("hello", {"black": "Ann", "white": "Bob", "result": "B+R"})
    assert tree.options == {"size": "9", "komi": "6.5", "ko": "simple"}
    target = open_tree(f"{path}@1", ("greedy",), (), "").target
    assert target.then == ("ggp-play black E5",) and [bot.name for bot in target.bots] == ["greedy"]
    path.write_text("(;SZ[9];B[aa])(;GN[b]SZ[5];B[bb])", encoding="utf-8")
    assert opened(path, "#2").options["size"] == "5" and opened(path).options["size"] == "9"


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("", "", "not an SGF file"),
        ("(;SZ[9];B[aa]", "", "ends before its last game"),
        ("(;GM[2])", "", "is not go"),
        ("(;SZ[9];B[zz])", "", "not a point"),
        ("(;SZ[9];B[aa]W[bb])", "", "node 2 has several moves or places stones"),
        ("(;SZ[9];AB[aa])", "", "node 2 has several moves or places stones"),
        ("(;SZ[9]AW[aa])", "", "begins with placed stones: `ggp import` makes a record of its main line"),
        ("(;SZ[9];B[aa])", "#2", "has 1 game, but no #2"),
        ("(;SZ[9];B[aa])", "#x", "has 1 game, but no #x"),
        ("(;SZ[9];B[aa])", "@2", "there is no ply 2: the game has plies 0 to 1"),
        ("(" * 100_000, "", "not an SGF file"),
        ("(;B[aa]" * 60_000, "", "more than"),
    ],
    ids=lambda text: text[:20],
)
def test_files_that_hold_no_tree(text: str, place: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.sgf"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(click.ClickException) as failed:
        opened(path, place)
    assert reason in failed.value.format_message() and "\n" not in failed.value.format_message()


@pytest.mark.slow
def test_a_move_that_the_engine_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.sgf"
    path.write_text("(;SZ[9];B[aa](;W[aa])(;W[bb]))", encoding="utf-8")
    assert main(["--match", str(path)]) == 2
    assert "ggp-play white A9: illegal move" in capsys.readouterr().err
    ran = subprocess.run(
        [sys.executable, "-m", "ggp.referee.cli", "console", "--match", f"{path}@1"],
        input=":forward\n:goto 2a\n:save x.jsonl main\n",
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
        cwd=tmp_path,
    )
    assert ran.returncode == 1 and "ply 2a, which leaves ply 1 of 2: white B8" in ran.stdout
    assert "the engine refuses ply 2, white A9: illegal move" in ran.stderr
    assert "move 2, white A9: " in ran.stderr and not (tmp_path / "x.jsonl").exists()


@pytest.mark.slow
def test_a_line_is_a_record_that_is_verified(tmp_path: Path) -> None:
    console, path, whole = memory_console(match=MATCHES[0]), tmp_path / "line.jsonl", tmp_path / "whole.jsonl"
    typed(console, ":goto 2", ":C1", ":back 3", f":save {whole}", ":goto a", f":save {path}")
    assert whole.read_bytes() == MATCHES[0].lines()
    (record,) = read_records(path.read_bytes().splitlines(keepends=True))
    assert [ply.move for ply in record.plies] == ["A1", "B2", "C1"] and [ply.seat for ply in record.plies] == [1, 2, 1]
    assert [bot.name for bot in record.start.bots] == ["console-1", "console-2"] and record.plies[0].ms == 7
    assert record.end is not None and (record.end.result, record.end.termination) == ("", "analysis")
    assert verify([str(path), str(whole)]) == 0
    with raises(ConsoleError, "file-exists"):
        typed(console, f":save {path}")
    with raises(ConsoleError, "no-ply"):
        typed(memory_console(), f":save {tmp_path}/none.jsonl")
    with pytest.raises(ConsoleError, match="No such file"):
        typed(console, ":save /nowhere/x.sgf")
    over = memory_console("ggp-new go size=2 komi=0.5")
    typed(over, ":A1 pass pass", ":back 2", ":B1", f":save {tmp_path}/over.jsonl main")
    (record,) = read_records((tmp_path / "over.jsonl").read_bytes().splitlines(keepends=True))
    assert record.end is not None and (record.end.termination, record.end.plies) == ("rules", 3)
    assert verify([f"{tmp_path}/over.jsonl"]) == 0
