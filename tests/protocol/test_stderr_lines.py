"""Lines of stderr that are passed on: whole or cut, at a bounded rate, with a count of the dropped ones."""

from ggp.protocol.stderr_lines import LINES_AT_ONCE, LONGEST_LINE, StderrLines


def test_lines_come_when_they_are_whole_and_printable() -> None:
    lines = StderrLines()
    lines.add(b"on")
    assert lines.lines(0.0) == [] and lines.last == ""
    lines.add(b"e\n\ntwo\x1b\n")
    assert lines.lines(0.0) == ["one", "", "two"]
    assert lines.last == "two"


def test_a_line_without_end_is_cut() -> None:
    lines = StderrLines()
    for _ in range(100):
        lines.add(b"x" * 1000)
    lines.add(b"\n")
    assert lines.lines(0.0) == ["x" * LONGEST_LINE]


def test_a_flood_is_dropped_and_counted_once_there_is_room() -> None:
    lines = StderrLines()
    lines.add(b"a\n" * 1000)
    assert lines.lines(0.0) == ["a"] * int(LINES_AT_ONCE)
    lines.add(b"b\n")
    assert lines.lines(0.0) == [], "the rate is used up"
    assert lines.lines(1.0) == ["(901 lines of stderr were left out)"]
    lines.add(b"c\n")
    assert lines.lines(2.0) == ["c"]
