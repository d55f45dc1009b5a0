"""The cursor along records of every game, on engines with and without some commands; a match that grows."""

import pytest

from ggp.protocol.messages import Reply
from ggp.protocol.records import Record
from ggp.referee.tools.console.cursor import Cursor
from ggp.referee.tools.console.own_commands import ConsoleError
from tests.support.codes import raises
from tests.support.memory_console import MATCHES, memory_console, record, typed


@pytest.mark.parametrize("match", MATCHES, ids=lambda match: match.start.game + " " + match.plies[1].move)
@pytest.mark.parametrize("lacks", [(), ("ggp-undo",), ("ggp-undo", "ggp-history", "ggp-scene")], ids=str)
def test_every_ply_from_every_other(match: Record, lacks: tuple[str, ...]) -> None:
    console, whole = memory_console("", *lacks, match=match), memory_console("")
    cursor, count = console.cursor, len(match.plies)
    expected = []
    for line in (cursor.tree.new_game, *(f"ggp-play {ply.colour} {ply.move}" for ply in match.plies)):
        whole.ask(line)
        expected.append(whole.ask("ggp-hash").text)
    for ply in [*range(count, -1, -1), *range(count + 1), 0, -1, 1]:
        status = cursor.goto(ply)
        assert status.ply == (ply if ply >= 0 else count) and console.ask("ggp-hash").text == expected[ply]
        assert cursor.caption().startswith(f"ply {status.ply} of {count}")
    cursor.goto(count)
    assert cursor.back(2).ply == count - 2 and cursor.forward(99).ply == count
    for step, number, code in (
        (cursor.goto, count + 1, "no-ply"),
        (cursor.goto, -count - 2, "no-ply"),
        (cursor.back, count + 1, "no-ply"),
        (cursor.forward, 1, "last-ply"),
    ):
        with raises(ConsoleError, code):
            step(number)


def test_an_engine_with_undo_does_not_replay() -> None:
    console, asked = memory_console(), list[str]()

    def ask(line: str) -> Reply:
        asked.append(line)
        return console.ask(line)

    cursor = Cursor(ask, record=MATCHES[0])
    cursor.goto(6)
    asked.clear()
    cursor.back(1)
    assert "ggp-undo 1" in asked and not any(line.startswith(("ggp-new", "ggp-play")) for line in asked)


def test_tried_moves_are_a_variation() -> None:
    console = memory_console(match=MATCHES[0])
    cursor = console.cursor
    cursor.goto(2)
    console.ask("ggp-play black C1")
    console.ask("ggp-play white C2")
    at = cursor.here()
    assert (at.name, at.match_ply, [node.move for node in at.path]) == ("4a", 2, ["A1", "B2", "C1", "C2"])
    assert cursor.caption() == "ply 4a, which leaves ply 2 of 6: white C2"
    with raises(ConsoleError, "last-ply"):
        cursor.forward(1)
    assert cursor.back(1).ply == 3 and cursor.here().name == "3a"
    assert cursor.forward(5).ply == 4 and cursor.back(2).ply == 2
    assert cursor.goto(3).ply == 3 and cursor.here().recorded and cursor.goto("a").ply == 4
    assert cursor.record == MATCHES[0]


@pytest.mark.parametrize("lacks", [(), ("ggp-scene",)], ids=str)
@pytest.mark.parametrize("line", ["ggp-new go size=3", "ggp-new yugo size=5", "clear_board", ":restart --fresh"])
def test_another_game_on_the_engine(line: str, lacks: tuple[str, ...]) -> None:
    console = memory_console("ggp-new yugo size=3", *lacks, match=MATCHES[0])
    cursor = console.cursor
    if line.startswith("ggp-new go"):  # before the cursor began, too
        typed(console, line)
        assert cursor.where() is None
    typed(console, ":goto 3", line)
    if line.startswith("ggp-new"):
        assert "another game" in cursor.caption()
        for step in (cursor.back, cursor.forward):
            with raises(ConsoleError, "another-game"):
                step(1)
    else:
        assert cursor.caption() == "ply 0 of 6"
    assert cursor.goto(2).ply == 2 and cursor.here().name == "2"


def test_an_engine_that_refuses_the_record() -> None:
    match = record("go size=3", "A1 B2")
    other = Record(match.start, (match.plies[0],) * 2, None)
    with raises(ConsoleError, "ply-refused") as refused:
        memory_console("", match=other).cursor.goto(2)
    assert "ply 2, white A1" in str(refused.value)
    with raises(ConsoleError, "engine-refused"):
        memory_console("", "ggp-new", match=other).cursor.goto(1)
    with raises(ConsoleError, "engine-failed"):
        Cursor(lambda line: Reply(True, "what"), record=other).goto(1)


@pytest.mark.parametrize("lacks", [(), ("ggp-legal",), ("ggp-legal", "ggp-undo")], ids=str)
def test_why(lacks: tuple[str, ...]) -> None:
    cursor = memory_console("", *lacks, match=MATCHES[0]).cursor
    cursor.goto(2)
    assert "occupied" in cursor.why("A1") and cursor.why("C1") == ""
    assert [node.move for node in cursor.here().path] == ["A1", "B2"] and cursor.tree.variations == []


def test_a_match_that_grows_is_read_again() -> None:
    whole = MATCHES[0]
    half = Record(whole.start, whole.plies[:2], None)
    read = [half, Record(whole.start, whole.plies[:4], None), whole, record("yugo size=3", "C3 A1"), None]
    cursor = Cursor(memory_console("").ask, record=half, again=lambda: read.pop(0))
    assert [cursor.last() for _ in range(5)] == [2, 4, 6, 6, 6] and cursor.record == whole
