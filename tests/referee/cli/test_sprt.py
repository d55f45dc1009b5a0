"""`ggp sprt`: its output, its exit statuses, and one line for each error."""

import pytest

from tests.support.cli import ggp_in_process as ggp

PENTA = ["--penta", "365,16618,36229,16974,390"]
WDL = ["--wdl", "136,111,96"]
BOUNDS = ["--elo0", "0", "--elo1", "2"]


def test_the_shape_of_the_json() -> None:
    answer = ggp("sprt", *PENTA, *BOUNDS, "--model", "normalized", "--json").json
    assert list(answer)[:7] == ["llr", "lower", "upper", "state", "elo", "nelo", "los"]
    assert answer["llr"] == pytest.approx(2.250367703549, abs=1e-11)
    assert answer["upper"] == -answer["lower"] == pytest.approx(2.94443897916644)
    assert answer["state"] == "continue"
    assert answer["expected_games_left"] > 0 and answer["games"] == 2 * sum((365, 16618, 36229, 16974, 390))


def test_wins_come_first() -> None:
    answer = ggp("sprt", *WDL, *BOUNDS, "--json").json
    assert (round(answer["elo"], 2), round(answer["nelo"], 2), round(answer["los"], 4)) == (40.70, 49.77, 0.9960)


def test_the_lines_for_people() -> None:
    ran = ggp("sprt", "--penta", "34,54,63,64,75", "--preset", "gate")
    assert ran.status == 0 and ran.err == "" and "\x1b" not in ran.out
    assert ran.out.startswith("H1 is accepted: normalized Elo 20 rather than normalized Elo 0\n")
    assert "Elo   55.58 ± 27.65 (95 %)" in ran.out and "median-unbiased" in ran.out
    assert "no estimate" in ggp("sprt", "--penta", "0,0,0,50,5500", "--preset", "gate").out
    ran = ggp("sprt", *WDL, *BOUNDS, "--model", "bayes")
    assert ran.out.startswith("continue") and "mean length in the worst case" in ran.out


def test_missing_estimates_are_left_out() -> None:
    """A clean sweep tells no Elo; a record without games has nothing."""
    ran = ggp("sprt", "--penta", "0,0,0,0,20", "--preset", "gate")
    assert "Elo   too few games for an Elo\n" in ran.out and "after the stop" not in ran.out
    ran = ggp("sprt", "--wdl", "0,0,7", "--preset", "gate")
    assert "Elo   too few games for an Elo\n" in ran.out
    empty = ggp("sprt", "--wdl", "0,0,0", "--preset", "big")
    for text in (ran.out, empty.out):
        assert not any(word in text for word in ("nElo", "LOS", "∞", "inf", "None"))
    assert "Elo  " not in empty.out and empty.out.endswith("games 0\n")
    found = ggp("sprt", "--penta", "0,0,0,0,20", "--preset", "gate", "--json").json
    assert found["elo_low"] == pytest.approx(316.64, abs=0.01)
    assert {found[key] for key in ("elo", "elo_high", "elo_error", "nelo", "nelo_error", "los", "estimate")} == {None}


@pytest.mark.parametrize(
    ("words", "status", "state"),
    [
        (["--penta", "34,54,63,64,75", "--preset", "gate"], 0, "H1"),
        (["--penta", "75,64,63,54,34", "--preset", "gate"], 1, "H0"),
        ([*PENTA, *BOUNDS], 3, "continue"),
        ([*PENTA, *BOUNDS, "--cap", "70576"], 4, "inconclusive"),
        ([*PENTA, *BOUNDS, "--alpha", "0.2", "--beta", "0.2"], 0, "H1"),
        (["--penta", "0,0,0,0,0", "--preset", "simplify"], 3, "continue"),
        (["--penta", "5550,0,0,0,0", "--preset", "gate"], 1, "H0"),
    ],
)
def test_the_exit_status_of_each_state(words: list[str], status: int, state: str) -> None:
    ran = ggp("sprt", *words, "--exit-code", "--json")
    assert (ran.status, ran.json["state"]) == (status, state)
    assert ggp("sprt", *words).status == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give FILE of games, or counts: --penta a,b,c,d,e of pairs or --wdl w,d,l of games"),
        ([*PENTA, *WDL, *BOUNDS], "give FILE of games, or counts"),
        (["--penta", "1,2,3", *BOUNDS], "--penta takes 5 whole numbers with commas"),
        (["--wdl", "1,2,x", *BOUNDS], "--wdl takes 3 whole numbers with commas, for example --wdl 7,7,7"),
        (["--wdl", "1,-2,3", *BOUNDS], "--wdl takes 3 whole numbers"),
        (["--wdl", "1,2,1000000000001", *BOUNDS], "--wdl: a count is more than 1000000000000"),
        (WDL, "give the hypotheses: --elo0 and --elo1, or --preset gate"),
        ([*WDL, "--preset", "gate", "--elo0", "1"], "--preset sets elo0, elo1 and model"),
        ([*WDL, "--elo0", "2", "--elo1", "2"], "elo0 2 must be less than elo1 2"),
        ([*WDL, "--elo0", "nan", "--elo1", "2"], "must be less than"),
        ([*WDL, *BOUNDS, "--alpha", "0"], "alpha 0 and beta 0.05 must be above 0"),
        ([*PENTA, *BOUNDS, "--model", "bayes"], "the model bayes counts games, not pairs"),
        ([*WDL, *BOUNDS, "--model", "glicko"], "'glicko' is not one of"),
        ([*WDL, *BOUNDS, "--cap", "0"], "--cap"),
    ],
)
def test_an_invalid_command_line_is_one_line_on_stderr(words: list[str], message: str) -> None:
    ran = ggp("sprt", *words)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("ggp sprt: ") and ran.err.count("\n") == 1 and message in ran.err


def test_a_tiny_loss_is_no_minus_zero() -> None:
    """An effect that rounds to nothing has no sign."""
    ran = ggp("sprt", "--wdl", "50000,0,50001", "--preset", "gate")
    assert "Elo   0.00 ±" in ran.out and "-0.0" not in ran.out


# What fastchess printed in discussions at https://github.com: Ptnml(0-2), the hypotheses, then LLR, Elo, nElo and LOS.
FASTCHESS = """
princesslana/princhess/pull/343 | 1,22,52,21,4 | -5 | 0 | 0.1 | 0.15 | 8.69 ± 27.04 | 15.51 ± 48.15 | 73.60%
brunocodutra/cinder/pull/727 | 50,287,610,387,73 | 0 | 5 | 0.05 | 2.97 | 18.04 ± 8.23 | 28.19 ± 12.84 | 100.00%
brunocodutra/cinder/pull/778 | 46,496,1073,640,79 | 0 | 3 | 0.1 | 2.89 | 15.64 ± 5.88 | 26.56 ± 9.97 | 100.00%
brunocodutra/cinder/pull/802 | 363,3205,5861,3376,414 | 0 | 3 | 0.1 | 2.91 | 3.59 ± 2.53 | 5.93 ± 4.19 | 99.72%
brunocodutra/cinder/pull/836 | 835,6884,13116,7201,852 | 0 | 3 | 0.1 | 2.89 | 2.11 ± 1.70 | 3.52 ± 2.83 | 99.25%
brunocodutra/cinder/pull/879 | 115,1156,2443,1233,141 | -3 | 1 | 0.1 | 2.90 | 4.40 ± 3.91 | 7.61 ± 6.75 | 98.64%
brunocodutra/cinder/pull/894 | 172,2752,5656,2885,227 | 0 | 3 | 0.1 | 2.90 | 3.61 ± 2.48 | 6.49 ± 4.45 | 99.79%
"""


@pytest.mark.parametrize("figures", FASTCHESS.strip().splitlines())
def test_the_figures_are_those_that_fastchess_printed(figures: str) -> None:
    _, penta, elo0, elo1, beta, llr, elo, nelo, los = figures.split(" | ")
    words = ("--penta", penta, "--elo0", elo0, "--elo1", elo1, "--alpha", "0.05", "--beta", beta)
    lines = ggp("sprt", *words).out.splitlines()
    said = {line.split()[0]: line for line in lines}
    assert said["Elo"] == f"Elo   {elo} (95 %)" and said["nElo"] == f"nElo  {nelo}" and said["LOS"] == f"LOS   {los}"
    assert f"{float(said['LLR'].split()[1]):.2f}" == llr
    assert said["games"] == f"games {2 * sum(map(int, penta.split(',')))}"
