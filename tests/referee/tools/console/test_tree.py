"""The tree of variations: names of plies, places, the plies of a match that come later, its bounds."""

import pytest

from ggp.protocol.records import MovePlayed
from ggp.referee.tools.console import tree as module
from ggp.referee.tools.console.tree import GameTree, TreeFull, TreeNode, letters
from tests.support.codes import raises


def play(tree: GameTree, node: TreeNode, moves: str) -> TreeNode:
    for move in moves.split():
        node = tree.add(node, 0, "black", move)
    return node


def plies(moves: str) -> list[MovePlayed]:
    return [MovePlayed(number, "m", number, 1, "black", move, 7) for number, move in enumerate(moves.split(), 1)]


def names(tree: GameTree) -> str:
    return " ".join(f"{node.name}:{node.move}" for node in tree.walk())


def test_the_names_of_plies() -> None:
    tree = GameTree("yugo", {"size": "3"})
    end = play(tree, tree.root, "A1 B2 C3")
    assert play(tree, tree.root, "a1 b2") is end.parent
    other = play(tree, tree.main_line[0], "C1 C2")
    play(tree, other.path[1], "A2")
    play(tree, tree.root, "B1")
    assert names(tree) == "1:A1 2:B2 3:C3 2a:C1 3a:C2 3b:A2 1c:B1"
    assert tree.size == "7 plies, 3 variations" and tree.new_game == "ggp-new yugo size=3"
    for name in names(tree).split():
        node = tree.find(name.partition(":")[0].upper())
        assert node is not None and f"{node.name}:{node.move}" == name
    last = {name: node.move for name in ("a", "b", "c", "-1", "-3", "0") if (node := tree.find(name)) is not None}
    assert last == {"a": "C2", "b": "A2", "c": "B1", "-1": "C3", "-3": "A1", "0": ""}
    for wrong in ("", "4", "d", "1a", "2b", "a2", "-5", "-1a", "+1", "1.0", "zzzzzzzzzz", "１", "9" * 5000):
        assert tree.find(wrong) is None, wrong
    assert [node.move for node in tree.line_through(other.path[1])] == ["A1", "C1", "C2"]


def test_letters_of_many_variations() -> None:
    assert [letters(line) for line in (0, 1, 26, 27, 52, 53, 703)] == ["", "a", "z", "aa", "az", "ba", "aaa"]
    tree = GameTree("go", {})
    for number in range(40):
        play(tree, tree.root, f"A{number}")
    assert tree.variations[38].name == "1am"
    found = tree.find("1AM")
    assert found is tree.variations[38]


def test_the_plies_of_a_match_stay_the_main_line() -> None:
    tree = GameTree("yugo", {})
    tree.see_match(plies("A1 B2"))
    play(tree, tree.main_line[-1], "C1 C2")
    play(tree, tree.main_line[0], "A3")
    assert names(tree) == "1:A1 2:B2 3:C1 4:C2 2a:A3"
    tree.see_match(plies("A1 B2 C3"))
    assert names(tree) == "1:A1 2:B2 3:C3 2a:A3 3b:C1 4b:C2"
    assert [node.recorded for node in tree.main_line] == [True, True, True]
    tree.see_match(plies("A1 B2 C3"))
    assert tree.nodes == 7 and tree.variations[1].match_ply == 2


def test_a_match_that_goes_on_with_a_variation() -> None:
    tree = GameTree("yugo", {})
    tree.see_match(plies("A1"))
    play(tree, tree.main_line[0], "B1 B2")
    kept = play(tree, tree.main_line[0], "C1 C2")
    kept.comment = "kept"
    tree.see_match(plies("A1 C1 C2"))
    assert names(tree) == "1:A1 2:C1 3:C2 2a:B1 3a:B2"
    assert tree.main_line[-1] is kept and kept.recorded and kept.ms == 7


def test_a_tree_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_NODES", 3)
    tree = GameTree("yugo", {})
    play(tree, tree.root, "A1 B2")
    with raises(TreeFull, "tree-full"):
        play(tree, tree.root, "C3")
    assert play(tree, tree.root, "A1 B2").ply == 2
