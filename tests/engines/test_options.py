"""Options of games: their lines, what they read and what they refuse; the games behind them are elsewhere."""

import pytest

from ggp.engines.game import Option, OptionError, read_options, result_by_totals, shortest
from ggp.engines.games.go import GAME as GO
from ggp.engines.games.yugo import GAME as YUGO

SIZE = Option("size", "int", "9", "2..25")
HANDICAP = Option("handicap", "int", "0", "0,2..9")
KOMI = Option("komi", "int", "7", "*")
HALF = Option("komi", "half", "7.5", "*")
BID = Option("komi", "bid", "bid", "bid,*")
AGREEMENT = Option("agreement", "enum", "off", "on,off")


@pytest.mark.parametrize(
    ("option", "line"),
    [
        (SIZE, "size int 9 2..25"),
        (KOMI, "komi int 7 *"),
        (HALF, "komi half 7.5 *"),
        (BID, "komi bid bid bid,*"),
        (HANDICAP, "handicap int 0 0,2..9"),
        (AGREEMENT, "agreement enum off on,off"),
    ],
)
def test_the_line_of_an_option_is_as_the_protocol_writes_it(option: Option, line: str) -> None:
    assert str(option) == line


@pytest.mark.parametrize(
    ("option", "text", "value"),
    [
        (SIZE, "2", 2),
        (SIZE, "25", 25),
        (SIZE, "+9", 9),
        (SIZE, "09", 9),
        (HANDICAP, "0", 0),
        (HANDICAP, "2", 2),
        (KOMI, "-5", -5),
        (KOMI, "-0", 0),
        (HALF, "-7.5", -7.5),
        (HALF, "6", 6.0),
        (HALF, "6.50", 6.5),
        (BID, "BID", "bid"),
        (BID, "-3", -3),
        (AGREEMENT, "On", "on"),
    ],
)
def test_an_option_reads(option: Option, text: str, value: object) -> None:
    read = option.parse(text)
    assert read == value and str(read) == str(value)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        *[(SIZE, text) for text in ("1", "26", "9.0", "", "x", "nine", "1e1", "0x9", "٩", "9_", "--9", "9-", "-")],
        *[(HANDICAP, text) for text in ("1", "10", "-2", "2..9")],
        *[(KOMI, text) for text in ("7.5", "*", "bid", "nan", "inf", "9" * 30, "1000001")],
        *[(HALF, text) for text in ("7.25", ".", "1.2.3", "-1000000.5")],
        *[(BID, text) for text in ("bid:3", "0.5")],
        *[(AGREEMENT, text) for text in ("yes", "1", "on,off", "")],
    ],
)
def test_an_option_refuses_and_says_what_can_be(option: Option, text: str) -> None:
    with pytest.raises(OptionError) as refusal:
        option.parse(text)
    reason = str(refusal.value)
    assert reason.startswith(f"{option.name}=") and len(reason) < 120
    assert ("1000000" if "*" in option.domain else option.domain) in reason


def test_options_that_are_not_named_take_their_defaults() -> None:
    assert read_options(YUGO, []) == {"size": 9, "komi": 7, "handicap": 0, "agreement": "off"}
    assert read_options(GO, ["size=9"]) == {
        "size": 9,
        "komi": 7.5,
        "handicap": 0,
        "ko": "positional",
        "agreement": "off",
    }


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["colour=red"], "unknown option: colour; the options of yugo are: size komi handicap agreement"),
        (["ko=simple"], "unknown option: ko; the options of yugo are: size komi handicap agreement"),
        (["size=5", "size=5"], "repeated option: size"),
        (["5"], "5 is not an option: write name=value"),
        (["=5"], "unknown option: ; the options of yugo are: size komi handicap agreement"),
        (["SIZE=5"], "unknown option: SIZE; the options of yugo are: size komi handicap agreement"),
        (["size=5=5"], "size=5=5: size must be an integer of 2..25"),
    ],
)
def test_unknown_repeated_and_malformed_options_are_refused(words: list[str], reason: str) -> None:
    with pytest.raises(OptionError) as refusal:
        read_options(YUGO, words)
    assert str(refusal.value) == reason


@pytest.mark.parametrize(
    ("black", "white", "result"),
    [(44, 40.5, "B+3.5"), (40, 41, "W+1"), (5, 5, "0"), (40, 46.3, "W+6.3"), (0, 0.1 + 0.2, "W+0.3")],
)
def test_a_result_has_the_shortest_decimal(black: float, white: float, result: str) -> None:
    assert result_by_totals({"black": {"total": black}, "white": {"total": white}}) == result


def test_there_is_no_result_without_totals() -> None:
    assert result_by_totals({"black": {"total": None}, "white": {"total": None}}) == ""
    assert [shortest(x) for x in (3.0, 3.5, -0.5, 1e6, -1e-12)] == ["3", "3.5", "-0.5", "1000000", "0"]
