"""`ggp check` as a user runs it, on real programs: GNU Go with its known deviations, ours with none; its reports."""

import shlex
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.cli import Ran, ggp

pytestmark = pytest.mark.slow

GNU_GO = ["gnugo", "--mode", "gtp", "--level", "1"]
# Each was tried by hand: printf 'LINE\n' | gnugo --mode gtp | cat -A. GNU Go 3.8.
DEVIATIONS = {
    "2.1.5",  # `1 # protocol_version`: no answer
    "2.1.8",  # NUL ends the line, which the draft has dropped
    "2.2.4",  # `7`: no answer
    "2.2.5",  # `7name`: an id and a name
    "2.2.6",  # `2147483648 name`: an id that is not echoed
    "2.2.7",  # the same with forty digits
    "2.2.8",  # `-1 name`: the same
    "2.3.11",  # `= ` and a blank for an empty success
    "2.4.5",  # `? cannot open or parse '…'`, where the draft has `cannot load file`
    "2.8.1",  # a long line: many commands
    "2.8.2",  # the same
    "2.8.3",  # the same
}
OF_THE_DRAFT = {"2.1.8", "2.4.5"}
ENGINE = [sys.executable, "-m", "ggp.engines"]
BOT = [sys.executable, "-m", "ggp.bots", "random"]


def failed(ran: Ran) -> dict[str, dict[str, str]]:
    return {step["number"]: step for step in ran.json["steps"] if step["verdict"] == "fail"}


@pytest.mark.needs("gnugo")
def test_gnu_go_comes_out_with_its_known_deviations() -> None:
    ran = ggp("check", "--json", "--timeout", "60", "--", *GNU_GO)
    found = failed(ran)
    assert set(found) == DEVIATIONS
    assert ran.status == 0 and ran.json["usable"] and not ran.err
    assert {number for number, step in found.items() if step["source"] == "GTP 2"} == OF_THE_DRAFT
    assert all(step["demand"] != "required" for step in found.values())
    assert (found["2.2.5"]["sent"], found["2.2.5"]["got"]) == ("7name\\n", "=7 GNU Go\\n\\n")
    assert found["2.2.4"]["got"] == ""


@pytest.mark.parametrize("arguments", [["--engine", "--", *ENGINE], ["--", *BOT]], ids=["engine", "bot"])
def test_ours_have_no_deviation(arguments: list[str]) -> None:
    ran = ggp("check", "--json", "--timeout", "60", *arguments)
    assert (failed(ran), ran.status, ran.err) == ({}, 0, "")
    assert sum(step["verdict"] == "pass" for step in ran.json["steps"]) > 80


@pytest.mark.long
@pytest.mark.parametrize("words", [["greedy"], ["first_bot.py"]])
def test_the_other_bots_have_none_either(words: list[str]) -> None:
    path = ROOT / "bots/examples" / words[0]
    command = [sys.executable, str(path)] if path.suffix == ".py" else [sys.executable, "-m", "ggp.bots", *words]
    ran = ggp("check", "--json", "--timeout", "60", "--", *command, seconds=600)
    assert (failed(ran), ran.status) == ({}, 0)


@pytest.mark.long
def test_the_example_engine_has_none(hexapawn: str) -> None:
    ran = ggp("check", "--engine", "--json", "--timeout", "60", "--", hexapawn)
    assert (failed(ran), ran.status) == ({}, 0)


def test_a_service_is_checked_over_its_connection() -> None:
    service = subprocess.Popen(
        [*ENGINE, "--bind", "tcp://127.0.0.1:*"], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, encoding="utf-8"
    )
    try:
        assert service.stderr is not None
        url = service.stderr.readline().split()[-1]
        ran = ggp("check", "--engine", "--json", "--timeout", "60", "--game", "yugo,size=3", "--connect", url)
        assert (failed(ran), ran.status) == ({}, 0)
        steps = {step["number"]: step for step in ran.json["steps"]}
        assert steps["7.1.1"]["verdict"] == "pass"
        assert steps["2.5.4"]["verdict"] == "not applicable" and steps["2.5.4"]["note"]
        assert service.poll() is None
    finally:
        service.kill()
        service.communicate()


WRONG = ["--engine", "--", sys.executable, "-I", str(ROOT / "tests/support/wrong_program.py"), "greets"]
FOREIGN = [sys.executable, "-I", str(ROOT / "tests/support/foreign_bots.py")]


@pytest.mark.parametrize(
    ("kind", "deviations"),
    [("leela", {"2.5.5"}), ("michi", {"2.4.1", "2.4.2", "2.6.1"}), ("dummy", {"2.4.1", "4.0.7"})],
)
def test_a_foreign_bot_with_which_the_referee_plays_is_usable(kind: str, deviations: set[str]) -> None:
    """They were called not usable for what no match needs: a line at the end of input, other words, no `komi`."""
    ran = ggp("check", "--json", "--timeout", "60", "--", *FOREIGN, kind)
    assert set(failed(ran)) >= deviations
    assert ran.status == 0 and ran.json["usable"]
    assert all(step["demand"] != "required" for step in failed(ran).values())
    # None of its answers is about ids, order, flushing or the reading of lines, so no advice is.
    assert not {"2.2.1", "2.2.3", "2.2.10", "2.3.2", "2.3.3", "2.3.6", "2.3.9", "2.3.10", "4.2.6"} & set(failed(ran))
    series = ggp("match", "go,size=9", shlex.join([*FOREIGN, kind]), "random", "--games", "2", "--seed", "1", "--json")
    assert series.status == 0 and series.json["games"] == 2, series.out


@pytest.mark.parametrize(
    ("script", "advice"),
    [
        ("echo starting >&2; echo 'ModuleNotFoundError: torch' >&2; exit 3", "ModuleNotFoundError: torch"),
        ("exit 3", "it exits with exit status 3 and writes nothing to standard error: run it by hand"),
    ],
)
def test_a_bot_that_ends_at_its_start_is_reported_what_it_said_last(script: str, advice: str) -> None:
    ran = ggp("check", "--", "sh", "-c", script)
    assert ran.status == 1
    assert ran.out.count("FAIL") == 1 and f"change    {advice}\n" in ran.out
    assert "\nnot tried: it does not start: all other steps\n" in ran.out
    assert ran.out.endswith(f"failed: 1 step; what to change:\n  2.3.13 [required]: {advice}\n")


def test_steps_that_passed_are_shown_if_all_are_wanted() -> None:
    few, all_of_them = (ggp("check", *more, "--only", "2.3,2.4", *WRONG) for more in ([], ["--all"]))
    assert "  ok   2.3.1 " in all_of_them.out and "  -    2.4.2 " in all_of_them.out
    assert "  ok " not in few.out and "  -  " not in few.out and "FAIL 2.3.4 " in few.out
    assert few.out.endswith(
        "  2.3.4 [required]: write banners and logs to standard error; standard output carries "
        "answers and nothing else\n"
    )


def test_a_failure_that_loses_games_is_one_for_a_build_that_says_so() -> None:
    bot = ["--only", "4.2.1", "--", sys.executable, "-I", str(ROOT / "tests/support/wrong_program.py")]
    lenient, strict = ggp("check", *bot), ggp("check", "--strict", *bot)
    assert "usable by the referee: yes, but it loses games\n" in lenient.out and lenient.status == 0
    assert (strict.out, strict.status) == (lenient.out, 1)


def test_the_report_says_what_was_sent_what_came_back_and_what_to_change() -> None:
    ran = ggp("check", "--only", "2.3", *WRONG)
    assert ran.status == 1
    for words in (
        "FAIL 2.3.4",
        "[required]",
        "sent      protocol_version\\n",
        "got       Welcome\\n= 2\\n\\n",
        "expected  the answer, and nothing before it",
        "docs/reference/protocol.md#the-answering-side-engine-or-bot",
        "change    write banners and logs to standard error",
        "usable by the referee: no",
        "failed: ",
    ):
        assert words in ran.out
    assert "\x1b" not in ran.out and "Traceback" not in ran.err
    quiet = ggp("check", "--quiet", "--only", "2.3.4", *WRONG)
    assert quiet.out.startswith("usable by the referee: no\nGTP 2: 0 of 1\n") and quiet.status == 1


def test_junit_and_verbose(tmp_path: Path) -> None:
    target = tmp_path / "check.xml"
    ran = ggp("check", "--only", "2.3.4,2.4.1", "--junit", str(target), "--verbose", *WRONG)
    suite = xml.parse(target).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert "Welcome" in (suite.find(".//failure").text or "")  # type: ignore[union-attr]
    assert "> 1 protocol_version\\n" in ran.err and "< Welcome\\n" in ran.err


def test_the_steps_are_listed_without_running_any() -> None:
    bots, engines = ggp("check", "--list"), ggp("check", "--list", "--engine", "--only", "3.3")
    assert bots.status == engines.status == 0
    assert "2.2.4  native" in bots.out and "4.2.2  forfeit" in bots.out
    assert {line.split()[0].rpartition(".")[0] for line in engines.out.splitlines()} == {"3.3"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name one program"),
        (["--connect", "tcp://127.0.0.1:1", "--", "cat"], "name one program"),
        (["--", "no-such-program"], "no program called"),
        (["--only", "9.9", "--", "cat"], "there is no such rule"),
        (["--game", "yugo,size", "--", "cat"], "is not an option"),
        (["--connect", "nowhere"], "no program called"),
        (["--connect", "cat"], "is no address"),
        (["--junit", "/no/such/folder/x.xml", "--", "cat"], "there is no folder"),
        (["--timeout", "0", "--", "cat"], "--timeout"),
    ],
)
def test_a_command_line_that_cannot_be_is_one_line(arguments: list[str], words: str) -> None:
    ran = ggp("check", *arguments)
    assert ran.status == 2 and ran.out == ""
    assert words in ran.err and ran.err.count("\n") == 1 and ran.err.startswith("ggp check: ")
