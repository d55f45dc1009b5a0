"""What a match reports of its games: effect, pairs, first seat, test, times; of more than two bots the standings."""

import json
import math
import signal
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from ggp.referee import terminal
from ggp.referee.match.bot_spec import BotSpec
from ggp.referee.match.clock import TimeControl
from ggp.referee.match.report import (
    as_json,
    effect_of,
    live_parts,
    print_report,
    score_line,
    seat1_effect,
    status_line,
    verdict_of,
)
from ggp.referee.match.series import GameResult, SeriesTally
from ggp.referee.match.series_run import SeriesReport, SeriesRun
from ggp.referee.match.setting import Setting
from ggp.referee.ratings.sequential import SequentialTest
from ggp.referee.ratings.sprt import Hypotheses, effect, judge
from ggp.referee.terminal import LiveLine, fitted, width
from tests.support.cli import Ggp, ggp, wait_until
from tests.support.series import unasked_setup
from tests.support.terminal import TerminalScreen

LOST, TIED, WON, VOID = range(4)
YUGO = Setting("yugo", {"size": "3"}, {}, TimeControl.parse("none"))


def game(number: int, outcome: int, **more: object) -> GameResult:
    """A game as the first bot ended it; seats are exchanged in odd ones."""
    winner = {LOST: 1, WON: 0}.get(outcome, -1)
    result = {VOID: "", TIED: "0"}.get(outcome, "B+1" if (winner == 0) == (number % 2 == 0) else "W+1")
    termination = "ply_limit" if outcome == VOID else "rules"
    plain = GameResult(number, f"s-{number + 1}", result, winner, "", termination, "", 9, (10, 20), False, (3, 7))
    return replace(plain, **more)  # type: ignore[arg-type]


def run_of(names: Sequence[str], tally: SeriesTally) -> SeriesRun:
    one, other = (BotSpec(name, "random") for name in names)
    return SeriesRun(unasked_setup(YUGO, (one, other), 0), tally, deque())


def report_of(
    outcomes: Sequence[int], hypotheses: Hypotheses | None = None, chance: Random | None = None
) -> SeriesReport:
    """Of one series whose matches arrive in any order."""
    tally = SeriesTally()
    if hypotheses:
        tally.test = SequentialTest(hypotheses)
        tally.test.expect(range(len(outcomes) // 2))
    games = [game(number, outcome) for number, outcome in enumerate(outcomes)]
    if chance:
        chance.shuffle(games)
    for one in games:
        tally.add(one)
    return SeriesReport([run_of(("one", "two"), tally)])


def test_pairs_and_the_first_seat_are_counted_in_whatever_order_games_come() -> None:
    chance = Random(7)
    for _ in range(50):
        outcomes = [chance.randrange(4) for _ in range(2 * chance.randrange(1, 40))]
        penta, seat1 = [0] * 5, [0] * 5
        for one, other in zip(outcomes[::2], outcomes[1::2], strict=True):
            if VOID not in (one, other):
                penta[one + other] += 1
                seat1[one + 2 - other] += 1
        tally = report_of(outcomes, chance=chance).tally
        assert (tally.penta, tally.penta_seat1) == (penta, seat1)
        assert effect_of(tally) == effect(penta) if any(penta) else True
        assert seat1_effect(tally) == effect(seat1)


def test_an_advantage_of_the_first_seat_is_no_strength() -> None:
    """The first bot wins every game that it begins, and loses the others: equal bots, seat 1 wins all."""
    tally = report_of([WON, LOST] * 50).tally
    assert effect_of(tally).elo == 0
    first = seat1_effect(tally)
    assert first.elo is None and first.elo_low is not None and first.elo_low > 400


def test_without_a_complete_pair_games_are_counted() -> None:
    assert effect_of(report_of([WON]).tally) == effect([0, 0, 1])
    assert effect_of(report_of([]).tally) == effect([0, 0, 0])


def test_the_test_is_that_of_the_pairs_in_order_and_stops_at_the_first_crossing() -> None:
    hypotheses, chance = Hypotheses(0, 100), Random(3)
    outcomes = [chance.choice([WON, WON, WON, LOST, TIED, VOID]) for _ in range(400)]
    report = report_of(outcomes, hypotheses, Random(1))
    penta, state = [0] * 5, "continue"
    for one, other in zip(outcomes[::2], outcomes[1::2], strict=True):
        if VOID not in (one, other):
            penta[one + other] += 1
            state = judge(penta, hypotheses).state
            if state != "continue":
                break
    test, verdict = report.tally.test, verdict_of(report)
    assert test is not None and verdict is not None
    assert (test.penta, test.accepted, verdict.state, report.decided) == (penta, state, state, True) and state == "H1"
    assert sum(report.tally.penta) > sum(penta), "later pairs are in the score, and not in the test"
    found = as_json(report, "", [])
    assert found["test"]["penta"] == penta and found["test"]["state"] == "H1" and found["test"]["elo1"] == 100
    assert "LLR" in status_line(report)


def test_a_test_whose_games_are_all_played_is_inconclusive() -> None:
    verdict = verdict_of(report_of([WON, LOST] * 5, Hypotheses(0, 5)))
    assert verdict is not None and verdict.state == "inconclusive"


def test_the_json_says_what_the_text_says(capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of([WON, TIED, WON, LOST, TIED, TIED, LOST, WON] * 3)
    found = as_json(report, "games.jsonl", ["a warning"])
    assert json.loads(json.dumps(found)) == found
    assert (found["penta"], found["bots"][1]["longest_ms"], found["bots"][0]["time_ms"]) == ([0, 0, 9, 3, 0], 7, 240)
    assert found["elo"] == effect([0, 0, 9, 3, 0]).elo and found["seat1"]["penta"] == report.tally.penta_seat1
    print_report(report, "games.jsonl")
    out = capsys.readouterr().out
    assert f"Elo     {found['elo']:.1f} ± {found['elo_error']:.1f} (95 %), logistic, of one, by 12 pairs" in out
    assert f"nElo    {found['nelo']:.1f} ± {found['nelo_error']:.1f}" in out and f"LOS     {found['los']:.2%}" in out
    assert "pairs   LL 0, LD 0, DD+WL 9, WD 3, WW 0" in out and "seat 1  13.5/24, 56.2%: Elo" in out
    assert "record: games.jsonl" in out and score_line(report) == "one 13.5 - 10.5 two"
    assert "for Bradley-Terry Elo of these games: ggp rate games.jsonl" in out


def three(outcomes: Sequence[Sequence[int]]) -> SeriesReport:
    runs = []
    for names, games in zip(["ab", "ac", "bc"], outcomes, strict=True):
        tally = SeriesTally()
        for number, outcome in enumerate(games):
            tally.add(game(number, outcome))
        runs.append(run_of(names, tally))
    return SeriesReport(runs)


def test_more_bots_are_rated_together(capsys: pytest.CaptureFixture[str]) -> None:
    report = three([[WON, WON, LOST, WON] * 3, [WON, WON, WON, TIED] * 3, [TIED, WON, WON, LOST] * 3])
    found = as_json(report, "", [])
    elo = {bot["name"]: bot["elo"] for bot in found["bots"]}
    assert list(elo) == ["a", "b", "c"] and elo["a"] > elo["b"] > elo["c"] and abs(math.fsum(elo.values())) < 1e-6
    assert [(pair["a"], pair["b"], pair["points"]) for pair in found["pairs"]] == [
        ("a", "b", 9),
        ("a", "c", 10.5),
        ("b", "c", 7.5),
    ]
    assert found["games"] == 36 and found["bots"][0]["points"] == 19.5 and "elo" not in found
    assert [bot["enough"] for bot in found["bots"]] == [True] * 3
    print_report(report, "")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:5]] == ["a", "b", "c"]
    assert "a 9 - 3 b" in lines[6] and "zero is the mean of these bots" in lines[5]
    assert score_line(report) == "a 19.5, b 10.5, c 6"


def test_several_bots_with_too_few_games_have_scores_and_no_elo(capsys: pytest.CaptureFixture[str]) -> None:
    report = three([[WON, WON], [WON, LOST], [TIED, WON]])
    print_report(report, "")
    out = capsys.readouterr().out
    assert "too few games for an Elo: a, b, c; 20 games of a bot are enough, unless" in out
    assert "±" not in out and "zero is" not in out and "Bradley-Terry" not in out and "a 2 - 0 b\n" in out
    found = as_json(report, "", [])["bots"]
    assert [bot["enough"] for bot in found] == [False] * 3 and all(bot["se"] > 0 for bot in found)


def test_a_bot_that_won_every_game_has_no_elo_beside_those_that_have_one(capsys: pytest.CaptureFixture[str]) -> None:
    report = three([[WON] * 12, [WON] * 12, [WON, LOST, TIED, WON] * 3])
    print_report(report, "")
    out = capsys.readouterr().out
    assert "too few games for an Elo: a; 20 games" in out and "zero is the mean" in out
    assert [bot["enough"] for bot in as_json(report, "", [])["bots"]] == [False, True, True]


@pytest.mark.slow
def test_a_round_robin_and_a_gauntlet_are_resumed(tmp_path: Path) -> None:
    words = ("match", "yugo,size=3", "random", "a=random:seed=1", "b=greedy:playouts=2", "--quiet", "--json")
    record = ("--record", str(tmp_path / "games"))
    some = ggp(*words, *record, "--games", "2").json
    assert some["games"] == 6 and {(pair["a"], pair["b"]) for pair in some["pairs"]} == {
        ("random", "a"),
        ("random", "b"),
        ("a", "b"),
    }
    more = ggp(*words, *record, "--games", "4").json
    assert more["games"] == 12 and all(bot["wins"] + bot["draws"] + bot["losses"] == 8 for bot in more["bots"])
    again = ggp(*words, *record, "--games", "4").json
    assert again["plies"] == 0 and again["games"] == 12
    assert {bot["name"]: bot["elo"] for bot in again["bots"]} == {bot["name"]: bot["elo"] for bot in more["bots"]}
    only = ggp(*words, *record, "--games", "4", "--gauntlet", "b").json
    assert (only["games"], only["plies"]) == (8, 0) and {pair["b"] for pair in only["pairs"]} == {"b"}
    rated = ggp("rate", str(tmp_path / "games"), "--json").json
    assert {line["name"]: line["games"] for line in rated["ratings"]} == {"random": 8, "a": 8, "b": 8}


@pytest.mark.slow
def test_one_bot_that_cannot_play_does_not_stop_the_others() -> None:
    ran = ggp("match", "yugo,size=3", "random", "a=random", "false", "--games", "4", "--json")
    assert ran.status == 1 and "false is suspended" in ran.err
    assert ran.json["games"] == 4 and ran.json["suspended"]["who"] == "false"


@pytest.mark.slow
def test_a_test_stops_the_match_and_stays_decided(tmp_path: Path) -> None:
    words = ("match", "yugo,size=4", "greedy:playouts=20", "random", "--games", "2000", "--openings", "2", "--json")
    test = ("--sprt", "elo0=0", "elo1=100", "alpha=0.01", "--interval", "4", "--record", str(tmp_path / "games"))
    ran = ggp(*words, *test)
    assert ran.status == 0 and ran.json["test"]["state"] == "H1" and ran.json["games"] < 2000
    assert ran.json["test"]["alpha"] == 0.01 and ran.err.startswith("after ") and "LLR" in ran.err
    again = ggp(*words, *test)
    assert again.json["plies"] == 0 and again.json["test"] == ran.json["test"]
    judged = ggp("sprt", str(tmp_path / "games"), "--elo0", "0", "--elo1", "100", "--alpha", "0.01", "--json").json
    assert judged["llr"] >= ran.json["test"]["llr"] and judged["state"] == "H1"


@pytest.mark.slow
def test_a_killed_round_robin_goes_on(tmp_path: Path) -> None:
    record = tmp_path / "games"
    words = (
        "match",
        "yugo,size=4",
        "random",
        "a=random",
        "b=random",
        "--games",
        "60",
        "--record",
        str(record),
        "--json",
    )
    running = Ggp(*words)
    wait_until(lambda: record.exists() and record.stat().st_size > 20_000, 120)
    running.process.kill()
    running.wait()
    ran = ggp(*words)
    assert ran.status == 0 and ran.json["games"] == 180


def repeating(pairs: int, openings: int = 1) -> SeriesReport:
    """Of two bots that play the same two games from each opening, the first bot winning both."""
    tally = SeriesTally()
    for number in range(2 * pairs):
        opening = number // 2 % openings
        tally.add(game(number, WON, opening=opening, moves=2 * opening + number % 2))
    return SeriesReport([run_of(("one", "two"), tally)])


def test_games_that_repeat_count_once_and_are_said_to(capsys: pytest.CaptureFixture[str]) -> None:
    report = repeating(20)
    assert report.tally.penta == [0, 0, 0, 0, 20] and report.tally.penta_observed == [0, 0, 0, 0, 1]
    assert effect_of(report.tally) == effect([0, 0, 0, 0, 1])
    print_report(report, "")
    out = capsys.readouterr().out
    assert "2 of 40 games are distinct: these bots do not randomise" in out and "--openings" in out
    assert "40/40" in out and "Elo     too few games for an Elo" in out
    found = as_json(report, "", [])
    assert (found["games"], found["distinct"], found["repeated"], found["enough"]) == (40, 2, 38, False)


def test_each_opening_of_bots_that_do_not_randomise_is_one_observation() -> None:
    assert repeating(30, openings=6).tally.penta_observed == [0, 0, 0, 0, 6]
    assert repeating(12, openings=6).tally.penta_observed == [0, 0, 0, 0, 12], "twice shows nothing yet"


def test_below_ten_pairs_there_is_a_score_and_no_elo(capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of([WON, WON, WON, WON])
    print_report(report, "")
    out = capsys.readouterr().out
    assert "Elo     too few games for an Elo\n" in out and "seat 1  2/4, 50.0%\n" in out and ">" not in out
    assert status_line(report) == "one 4 - 0 two"


def test_a_few_games_with_a_person_have_no_elo(capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of([WON])
    me = replace(report.runs[0].setup.bots[0], name="human", command="human")
    report.runs[0].setup = replace(report.runs[0].setup, bots=(me, report.runs[0].setup.bots[1]))
    print_report(report, "")
    assert "Elo" not in capsys.readouterr().out


# -- the live line ----------------------------------------------------------------------------------------------------


def _live(report: SeriesReport, columns: int) -> str:
    return "  ".join(part.text for part in fitted(live_parts(report, "3.2 games/s", "0:01:40 left"), columns))


@pytest.mark.parametrize("tested", [None, Hypotheses(0, 5)])
@pytest.mark.parametrize("columns", [20, 40, 60, 80, 120, 200])
def test_the_live_line_keeps_what_matters_most(tested: Hypotheses | None, columns: int) -> None:
    report = report_of([WON, TIED, LOST, WON] * 10, tested)
    report.runs[0].setup = replace(report.runs[0].setup, games=80)
    line = _live(report, columns)
    assert width(line) < columns and "40/80" in line
    if columns >= 40:
        assert "━" in line and "─" in line
    if columns >= 60:
        assert ("LLR" in line) == bool(tested)
    assert ("one 25 - 15 two" in line) == (columns >= (80 if tested else 60)), line
    assert ("yugo" in line and "games/s" in line and "left" in line) == (columns >= 120), line


def test_the_bar_of_a_test_stands_between_its_bounds() -> None:
    def filled(outcomes: Sequence[int]) -> int:
        return _live(report_of(outcomes, Hypotheses(0, 200)), 80).count("━")

    assert filled([]) == 8
    assert filled([LOST, LOST, TIED, LOST] * 2) < 8 < filled([WON, WON, TIED, WON] * 2)


def test_long_names_are_cut_on_the_live_line() -> None:
    tally = SeriesTally()
    tally.add(game(0, WON))
    line = _live(SeriesReport([run_of(("one" * 40, "two"), tally)]), 80)
    assert width(line) == 79 and "…" in line and "━" in line


def test_a_live_line_leaves_nothing_behind(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    columns = 80
    monkeypatch.setattr(terminal, "screen_columns", lambda stream: columns)
    report = report_of([WON, TIED] * 10)
    screen = TerminalScreen(80, 20)

    def shown() -> list[str]:
        screen.write(capfd.readouterr().err.replace("\n", "\r\n"))  # as a terminal does
        return screen.rows

    with LiveLine() as line:
        line.update(live_parts(report, "3.2 games/s", "0:01:40 left"))
        before = shown()
        assert len(before) == 1
        line.print_above("after 2 games", "  more")
        line.print_above("after 4 games")
        assert shown() == ["after 2 games", "  more", "after 4 games", *before]
        # Some terminals cut a line that has no room any more, others break it: at the cursor it begins in both.
        broken = TerminalScreen(40, 20)
        broken.write("after 4 games\r\n" + before[0][:39] + "\r\n" + before[0][39:] + "\x1b[1A\r")
        screen.resize(40, 20)
        columns = 40
        signal.raise_signal(signal.SIGWINCH)
        redrawn = capfd.readouterr().err
        for each in (screen, broken):
            each.write(redrawn)
            rows = each.rows
            assert rows[-2] == "after 4 games" and len(rows[-1]) < 40 and "20/2" in rows[-1]
    assert shown() == ["after 2 games", "  more", "after 4 games"]
