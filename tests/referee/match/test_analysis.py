"""What a bot says of its move, as numbers and as a line: of any JSON, within the width, harmless to a terminal."""

import json

import pytest

from ggp.protocol.records import MatchStarted, MovePlayed, Party
from ggp.referee.match.analysis import NO_ANALYSIS, BotAnalysis, analysis_line, line_of, read_analysis, show_plies

FULL = {"winrate": 0.531, "score": -2.5, "depth": 7, "visits": 800, "pv": ["D4", "E5"], "more": {"a": 1}}


def test_all_that_is_said() -> None:
    assert read_analysis(json.dumps(FULL)) == BotAnalysis(0.531, -2.5, 7, 800, ("D4", "E5"))
    assert analysis_line(json.dumps(FULL), 100) == "53.1 %, -2.5, depth 7, 800 playouts, pv D4 E5"
    assert analysis_line(json.dumps(FULL), 12) == "53.1 %, -2.…" and analysis_line(json.dumps(FULL), 0) == "…"
    assert read_analysis('{"pv": "D4 E5", "scoreLead": 3, "playouts": 9, "nodes": 99}') == BotAnalysis(
        None, 3.0, None, 9, ("D4", "E5")
    )


@pytest.mark.parametrize(
    "text",
    [
        *("", "nonsense", "[1]", "null", '"x"', "{", "[" * 10_000, '{"winrate": 2}', '{"winrate": -0.1}'),
        *('{"winrate": true, "score": "x", "depth": null, "visits": {}, "pv": 7}', '{"score": 1e300, "visits": 1e16}'),
        *('{"winrate": NaN}', '{"depth": 99999999999999999999999999999999999}'),
    ],
)
def test_what_says_nothing(text: str) -> None:
    assert read_analysis(text) == NO_ANALYSIS and analysis_line(text, 80) == ""


def test_a_long_variation_and_what_a_terminal_obeys() -> None:
    said = json.dumps({"pv": ["\x1b[2J", *["D4"] * 5000]})
    assert len(read_analysis(said).pv) == 200
    line = analysis_line(said, 60)
    assert len(line) == 60 and line.startswith("pv \\x1b[2J D4 ") and line.isprintable()


def test_plies_are_shown_live(capfd: pytest.CaptureFixture[str]) -> None:
    show = show_plies()
    bots = (Party(name="one"), Party(name="two"))
    show(MatchStarted(match="m", game="go", options={}, bots=bots, engine=Party(name="engine"), control="10"))
    ply = MovePlayed(2, "m", 2, 2, "white", "D4", 412, 9588, json.dumps(FULL))
    show(ply)
    show(MovePlayed(3, "m", 3, 1, "black", "E5", 7))
    assert line_of(ply) == "2 white D4  0.412 s"
    assert capfd.readouterr().err.splitlines() == [
        "m ply 2 white D4  0.412 s, 9.588 s left, two  53.1 %, -2.5, depth 7, 800 playouts, pv D4 E5",
        "m ply 3 black E5  0.007 s, one",
    ]
