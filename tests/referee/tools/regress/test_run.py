"""`ggp regress` as its user sees it: verdicts, exit status, reports, updates, programs that die, hang and lie."""

import shlex
import signal
import stat
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ggp.referee.match.bot_spec import read_bot
from ggp.referee.tools.regress import run as running
from ggp.referee.tools.regress.run import read_suite
from tests.support import TESTS
from tests.support.chaos import CHAOS
from tests.support.cli import Ggp, Ran, ggp, wait_until

pytestmark = pytest.mark.slow

ENGINE = [sys.executable, "-P", "-m", "ggp.engines", "go", "size=5"]
HOSTILE = """\
import sys
for line in sys.stdin:
    word = line.split()[-1]
    sys.stdout.buffer.write({
        "evil": b"= <script>alert(1)</script>\\x1b[31m\\x00&\\xff\\xef\\xbf\\xbf]]>\\n\\n",
        "die": b"",
    }.get(word, b"= x\\n\\n"))
    sys.stdout.flush()
    if word == "die":
        sys.stderr.write("last words")
        sys.exit(7)
    if word == "child":
        import subprocess
        subprocess.Popen(["sleep", "300"], start_new_session=True)
"""
SUITE = """\
# A comment that stays.
boardsize 5
clear_board

10 play b C3
#? []
20 play w C3
#? [\\? illegal move.*]
30 ggp-status
#? [.*ply=7.*]*
40 ggp-status
#? [.*ply=1.*]*
50 known_command play
#? [false]
60 known_command nix
#? [!true]
70 nix
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "go.tst"
    path.write_text(SUITE, encoding="utf-8")
    return path


def regress(*words: str, program: list[str] = ENGINE) -> Ran:
    return ggp("regress", *words, "--", *program)


def hostile(tmp_path: Path, text: str, *words: str) -> Ran:
    path = tmp_path / "hostile.tst"
    path.write_text(text, encoding="utf-8")
    return regress(str(path), *words, program=[sys.executable, "-c", HOSTILE])


def test_every_verdict_and_where_it_is(suite: Path) -> None:
    ran = regress(str(suite))
    assert ran.status == 1
    row = next(line for line in ran.out.splitlines() if "go.tst" in line).split()
    assert row[1:7] == ["7", "2", "1", "1", "3", "·"]
    for part in (
        f"{suite}:13: unexpected FAIL: 50 known_command play",
        "  expected [false]\n  got      true",
        f"{suite}:11: unexpected PASS: 40 ggp-status",
        f"{suite}:17: unexpected FAIL: 70 nix",
        "  expected any answer but a refusal\n  got      ? unknown command",
        "4/7 passes, 1 unexpected passes, 2 unexpected failures",
    ):
        assert part in ran.out, part
    quiet = regress(str(suite), "--quiet").out
    assert quiet.startswith(f"{suite}:11: unexpected PASS") and "passes" not in quiet


def test_json(suite: Path) -> None:
    report = regress(str(suite), "--json").json
    assert report["total"] == {"pass": 3, "unexpected_pass": 1, "expected_fail": 1, "unexpected_fail": 2, "error": 0}
    (file,) = report["files"]
    assert (file["name"], file["tests"], file["trouble"]) == ("ggp-engine", 7, "")
    assert [command["verdict"] for command in file["commands"]] == [
        "none", "none", "pass", "pass", "expected_fail", "unexpected_pass", "unexpected_fail", "pass", "unexpected_fail"
    ]  # fmt: skip
    assert file["commands"][2]["seconds"] > 0 and file["seconds"] > 0


def test_an_unexpected_pass_is_bad_news_only_if_one_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.tst"
    path.write_text("1 protocol_version\n#? [2]*\n", encoding="utf-8")
    assert regress(str(path)).status == 0
    assert regress(str(path), "--strict").status == 1
    path.write_text("loadsgf none.sgf\n1 name\n", encoding="utf-8")
    ran = regress(str(path))
    assert ran.status == 1 and f"{path}:1: refused: loadsgf none.sgf" in ran.out  # what follows stands on nothing


def test_update_and_then_all_is_as_expected(suite: Path) -> None:
    suite.write_bytes(SUITE.replace("\n", "\r\n").encode() + b"# \xff\r\n")
    suite.chmod(0o640)
    ran = regress(str(suite), "--update")
    assert ran.status == 1 and f"{suite}: 2 expectations rewritten, 1 marks removed" in ran.err
    changed = SUITE.replace("[false]", "[true]").replace("ply=1.*]*", "ply=1.*]")
    changed += "#? [\\? unknown command]\n"
    assert suite.read_bytes() == changed.replace("\n", "\r\n").encode() + b"# \xff\r\n"
    assert stat.S_IMODE(suite.stat().st_mode) == 0o640
    again = regress("--update", str(suite))  # what stands behind it is a file
    assert (again.status, again.err) == (0, "")
    every = regress(str(suite), "--update=all")
    assert every.status == 0
    assert b"[\\? illegal move: C3 is occupied]\r\n" in suite.read_bytes() and b"ply=7.*]*" in suite.read_bytes()
    assert regress(str(suite)).status == 0


@pytest.mark.parametrize(
    ("program", "trouble", "exit"),
    [
        ([*CHAOS, "fault=crash", "status=9"], "the peer's output ended", "exit status 9"),
        ([*CHAOS, "fault=silent"], "no answer within 1.5 s", ""),
        ([*CHAOS, "fault=garbage"], "", ""),
        ([sys.executable, "-c", "import sys; sys.exit('cannot start')"], "the peer's output ended", "exit status 1"),
    ],
    ids=["dies", "hangs", "babbles", "never starts"],
)
def test_a_file_whose_program_fails_is_failed_and_the_others_go_on(
    tmp_path: Path, program: list[str], trouble: str, exit: str
) -> None:
    (tmp_path / "1.tst").write_text(
        "1 ggp-new yugo size=3\n2 genmove b\n#? [.*]*\n3 name\n#? [chaos]\n", encoding="utf-8"
    )
    (tmp_path / "2.tst").write_text("1 name\n#? [chaos]\n", encoding="utf-8")
    report = regress(str(tmp_path), "--json", "--timeout", "1.5", program=program).json
    bad, good = report["files"]
    assert trouble in bad["trouble"] and bad["exit"] == exit
    if bad["trouble"]:
        assert [command["verdict"] for command in bad["commands"]][-2:] == ["unexpected_fail"] * 2
        assert bad["commands"][-1]["why"].startswith("not sent: ")
    if program[0] == "env":
        assert good["commands"][0]["verdict"] == "pass"
    else:
        assert "cannot start" in bad["stderr"]


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    assert hostile(tmp_path, "1 child\n").status == 0  # Ggp.wait looks for what still runs


def test_answers_cannot_break_the_reports(tmp_path: Path) -> None:
    junit = tmp_path / "j.xml"
    ran = hostile(tmp_path, "1 evil\n#? [<b>x</b>]\n2 evil\n3 die\n3 name\n4 name\n", "--junit", str(junit))
    assert ran.status == 1 and "\x1b" not in ran.out
    ended = "hostile.tst: the peer's output ended; exit status 7\n  2 commands were not sent\n  stderr: last words"
    assert ended in ran.out
    tree = ElementTree.parse(junit).getroot()
    (one,) = tree
    assert (one.get("tests"), one.get("failures"), one.get("errors")) == ("6", "4", "1")
    assert "<script>" in (tree.findtext(".//failure") or "")


def test_files_folders_and_suites(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("a.tst", "sub/a.tst", "sub/b.tst"):
        (tmp_path / name).write_text("1 name\n", encoding="utf-8")
    (tmp_path / "all").write_text("# everything\na.tst\n\n@more\n", encoding="utf-8")
    (tmp_path / "more").write_text("sub\n", encoding="utf-8")
    report = regress(f"@{tmp_path / 'all'}", "--json", "-o", str(tmp_path / "logs"), "--jobs", "3").json
    assert [Path(file["file"]).relative_to(tmp_path).as_posix() for file in report["files"]] == [
        "a.tst", "sub/a.tst", "sub/b.tst"
    ]  # fmt: skip
    logs = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert logs == ["a.log", "a_2.log", "b.log"]
    assert "> b'1 name\\n'" in (tmp_path / "logs" / "b.log").read_text(encoding="utf-8")


def test_the_program_runs_in_the_files_folder(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    code = "import os,sys\nfor line in sys.stdin: print('=', os.getcwd(), end='\\n\\n', flush=True)"
    (tmp_path / "sub" / "a.tst").write_text(f"name\n#? [{tmp_path}/sub]\n", encoding="utf-8")
    assert regress(str(tmp_path / "sub" / "a.tst"), program=[shlex.join([sys.executable, "-c", code])]).status == 0


def test_bad_usage_is_one_line_and_two(tmp_path: Path) -> None:
    broken = tmp_path / "broken.tst"
    broken.write_text("1 name\n#? [(a]\n", encoding="utf-8")
    (tmp_path / "loop").write_text("@loop\n", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    for words, what in (
        ((), "Missing argument"),
        ((str(broken),), f"{broken}:2: missing ) at position"),
        ((str(tmp_path / "none.tst"),), "cannot be read"),
        ((str(tmp_path / "empty"),), "contains no *.tst"),
        ((f"@{tmp_path / 'loop'}",), "includes itself"),
        ((str(tmp_path), "--connect", "tcp://127.0.0.1:1"), "name the program"),
    ):
        ran = regress(*words)
        assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1), ran
        assert what in ran.err, ran.err
    assert ggp("regress", str(broken)).status == 2
    good = tmp_path / "good.tst"
    good.write_text("1 name\n", encoding="utf-8")
    ran = regress(str(good), program=["no-such-program-anywhere"])
    assert ran.status == 2 and "no-such-program-anywhere" in ran.err
    ran = regress(str(good), "--junit", str(tmp_path / "no" / "j.xml"))
    assert ran.status == 2 and "cannot be written" in ran.err


def test_an_interrupt_ends_everything(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.tst").write_text("1 ggp-new yugo size=3\n2 genmove b\n", encoding="utf-8")
    run = Ggp("regress", str(tmp_path), "--", *CHAOS, "fault=silent")
    wait_until(lambda: len(run.running()) > 1)
    time.sleep(0.5)
    run.process.send_signal(signal.SIGINT)
    assert run.wait(60).status == 130


@pytest.mark.needs("gnugo")
def test_gnugo_runs_a_suite_of_its_own_kind() -> None:
    folder = TESTS / "transcripts" / "gnugo"
    ran = regress(str(folder), "--strict", program=["gnugo", "--mode", "gtp", "--level", "1"])
    assert ran.status == 0, ran.out


def test_a_program_that_never_begins_is_said_to_be_late_by_the_time_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs load: the first answer has more time than --timeout says, and that time is what is told."""
    monkeypatch.setattr(running, "_START", 0.7)
    (tmp_path / "a.tst").write_text("1 name\n", encoding="utf-8")
    [transcript] = read_suite((str(tmp_path / "a.tst"),))
    report = running.run_file(transcript, read_bot("sleep 600", tmp_path), running.RegressLimits(0.1, 60.0, 0))
    assert report.trouble == "no answer within 0.7 s"
