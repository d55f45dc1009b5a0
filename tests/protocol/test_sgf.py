"""SGF as text: main lines of collections, escapes, charsets, bounds; what is written is read back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.protocol.sgf import (
    MAX_ITEMS,
    SgfError,
    board_size,
    decode,
    main_lines,
    neighbours,
    read_move,
    read_points,
    trees,
    written,
    written_point,
    written_tree,
)


def test_the_main_line_is_the_first_branch_everywhere() -> None:
    text = "(;FF[4]C[root](;B[aa];W[bb](;B[cc])(;B[dd]C[)\\](;]))(;B[ee]))"
    assert list(main_lines(text)) == [
        [{"FF": ["4"], "C": ["root"]}, {"B": ["aa"]}, {"W": ["bb"]}, {"B": ["cc"]}],
    ]


def test_a_collection_with_anything_between_its_games() -> None:
    text = "From: me (really)\n( ;SZ[9];B[aa](;W[bb])(;W[cc]))\njunk ) ( x (;SZ[5])"
    assert [len(nodes) for nodes in main_lines(text)] == [3, 1]


def test_old_long_names_repeated_properties_and_blanks() -> None:
    (nodes,) = main_lines("(;GaMe [1]\r\nAddBlack[aa] [bb]AB[cc]\t;White1[dd])")
    assert nodes == [{"GM": ["1"], "AB": ["aa", "bb", "cc"]}, {"W1": ["dd"]}]


@pytest.mark.parametrize(
    ("written_as", "means"),
    [
        ("a\\]b", "a]b"),
        ("a\\\\b", "a\\b"),
        ("a\\:b", "a:b"),
        ("a\\\nb", "ab"),
        ("a\\\r\nb", "ab"),
        ("a\\\n\rb", "ab"),
        ("a\\\n\nb", "a\nb"),
        ("a\nb", "a\nb"),
        ("[(;", "[(;"),
        ("", ""),
    ],
)
def test_escapes(written_as: str, means: str) -> None:
    (nodes,) = main_lines(f"(;C[{written_as}])")
    assert nodes == [{"C": [means]}]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=3))
def test_what_is_written_is_read_back(values: list[str]) -> None:
    (nodes,) = main_lines(f"(;{written('C', *values)}(;B[]))")
    assert nodes == [{"C": values}, {"B": [""]}]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not an SGF file"),
        ("hello (x) ", "not an SGF file"),
        ("(;B[aa]", "the file ends before its last game is complete"),
        ("(;B[aa];W[bb", "the file ends inside the value that begins in line 1, column 10"),
        ("(;B[aa\\", "the file ends inside the value"),
        ("(;[aa])", "value without a property in line 1, column 3"),
        ("(;\n\nB[aa]=)", "unexpected '=' in line 3, column 6"),
        ("(;é[aa])", "unexpected 'é'"),
        ("(;" + "A" * 65 + "[])", "more than 64 letters"),
        ("(" + ";" * (MAX_ITEMS + 1) + ")", "more than 100000 nodes and values"),
        ("(;C" + "[]" * MAX_ITEMS + ")", "more than 100000 nodes and values"),
    ],
)
def test_what_is_no_sgf(text: str, reason: str) -> None:
    with pytest.raises(SgfError) as error:
        list(main_lines(text))
    assert reason in str(error.value)


def test_what_comes_before_a_fault_is_given_first() -> None:
    games = main_lines("(;SZ[3])(;B[aa]")
    assert next(games) == [{"SZ": ["3"]}]
    with pytest.raises(SgfError):
        next(games)


def test_the_last_game_may_end_with_the_file_where_that_is_allowed() -> None:
    games = list(main_lines("(;SZ[3])(;B[aa](;W[bb]", unclosed=True))
    assert games == [[{"SZ": ["3"]}], [{"B": ["aa"]}, {"W": ["bb"]}]]


def test_a_tree_that_never_ends_is_its_main_line() -> None:
    assert len(list(main_lines("(;SZ[3](;B[aa])(;B[bb]"))) == 1


@pytest.mark.slow
def test_depth_costs_nothing() -> None:
    deep = "(;B[aa]" * 50_000 + ")" * 50_000 + "(;SZ[3])"
    assert [len(nodes) for nodes in main_lines(deep)] == [50_000, 1]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("(;CA[UTF-8]PB[Zoë])".encode(), "Zoë"),
        ("(;PB[Zoë])".encode(), "Zoë"),
        ("\ufeff(;PB[Zoë])".encode(), "Zoë"),
        ("(;PB[Zoë])".encode("utf-16"), "Zoë"),
        ("(;PB[Zoë])".encode("latin-1"), "Zoë"),
        ("(;CA [ISO-8859-1]PB[Zoë])".encode("latin-1"), "Zoë"),
        ("(;CA[Shift_JIS]PB[ソフト])".encode("shift_jis"), "ソフト"),  # whose first letter holds a backslash
        ("(;CA[gb2312]PB[柯洁])".encode("gb2312"), "柯洁"),
        (b"(;CA[utf-8]PB[" + b"\xff" + b"])", "\ufffd"),
        (b"(;CA[rot13]PB[nonsense])", "nonsense"),
        ("(;CA[unknown-9]PB[Zoë])".encode(), "Zoë"),
        (b"(;CA[unicode_escape]PB[\\\\x41])", "\\x41"),
    ],
)
def test_charsets(data: bytes, text: str) -> None:
    (nodes,) = main_lines(decode(data))
    assert nodes[0]["PB"] == [text]


@pytest.mark.parametrize(("value", "size"), [(None, 19), ("", 19), (" 9 ", 9), ("25", 25), ("7:7", 7)])
def test_the_size_of_a_board_of_go(value: str | None, size: int) -> None:
    assert board_size({} if value is None else {"SZ": [value]}) == size


@pytest.mark.parametrize("value", ["0", "26", "9:13", "-9", "x", "٩", "9:", "1000"])
def test_sizes_that_no_board_of_go_has(value: str) -> None:
    with pytest.raises(SgfError):
        board_size({"SZ": [value]} if value != "9:" else {"SZ": ["9:x"]})


@pytest.mark.parametrize(
    ("value", "size", "move"),
    [("aa", 9, "A9"), ("ia", 9, "J9"), ("ai", 9, "A1"), ("", 9, "pass"), ("tt", 19, "pass"), ("tt", 25, "U6")],
)
def test_moves_of_go(value: str, size: int, move: str) -> None:
    assert read_move(f" {value} ", size) == move
    if move != "pass":
        assert written_point(move, size) == value


@pytest.mark.parametrize("value", ["a", "aaa", "ja", "aj", "Aa", "1a", "é1"])
def test_what_is_no_point_of_the_board(value: str) -> None:
    with pytest.raises(SgfError):
        read_move(value, 9)


def test_points_and_rectangles() -> None:
    assert read_points("aa", 9) == ["A9"]
    assert read_points("aa:bc", 9) == ["A9", "A8", "A7", "B9", "B8", "B7"]
    assert read_points("bb:aa", 9) == [], "a rectangle begins at its upper left corner"
    with pytest.raises(SgfError):
        read_points("aa:jj", 9)


@pytest.mark.parametrize(
    ("text", "parents"),
    [
        ("(;A[1];B[2])", [-1, 0]),
        ("(;A[1](;B[2];C[3])(;D[4](;E[5])(;F[6])))", [-1, 0, 1, 0, 3, 3]),
        ("junk (;A[1](;B[(;)]))", [-1, 0]),
    ],
)
def test_whole_trees(text: str, parents: list[int]) -> None:
    (nodes,) = trees(text)
    assert [parent for parent, _ in nodes] == parents
    children = [[at for at, parent in enumerate(parents) if parent == number] for number in range(len(nodes))]
    texts = [";" + "".join(written(name, *values) for name, values in node.items()) for _, node in nodes]
    assert list(trees(written_tree(texts, children))) == [nodes]
    assert next(main_lines(text)) == [nodes[number][1] for number in _first_line(children)]


def _first_line(children: list[list[int]]) -> list[int]:
    line = [0]
    while children[line[-1]]:
        line.append(children[line[-1]][0])
    return line


def test_a_collection_of_trees() -> None:
    found = list(trees("(;A[1](;B[2])(;C[3])) between (;D[4])"))
    assert [len(nodes) for nodes in found] == [3, 1]


def test_trees_are_as_deep_as_they_are_long() -> None:
    deep = "".join(f"(;B[{number}]" for number in range(20_000)) + ")" * 20_000
    (nodes,) = trees(deep)
    assert nodes[-1] == (19_998, {"B": ["19999"]})
    children = [[number + 1] if number < 19_999 else [] for number in range(20_000)]
    assert written_tree([";"] * 20_000, children).count(";") == 20_000


@pytest.mark.parametrize("text", ["", "(", "(;A[1]", "(;A[1](;B[2])", "(;A[1](;B[2)", "(;[1])", "(;A[1]])"])
def test_what_is_no_tree(text: str) -> None:
    with pytest.raises(SgfError):
        list(trees(text))


@pytest.mark.parametrize(
    ("point", "size", "beside"),
    [
        ("A1", 9, {"A2", "B1"}),
        ("J9", 9, {"H9", "J8"}),  # there is no column I
        ("H1", 9, {"G1", "J1", "H2"}),
        ("K10", 19, {"J10", "L10", "K9", "K11"}),
        ("A1", 1, set[str]()),
    ],
)
def test_the_points_beside_a_point(point: str, size: int, beside: set[str]) -> None:
    found = neighbours(point, size)
    assert set(found) == beside and len(found) == len(beside)
