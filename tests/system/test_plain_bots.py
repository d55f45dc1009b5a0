"""Plain GTP bots as processes: GNU Go with handicaps and clocks, and when a bot is kept, restarted or let go."""

import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from ggp.referee.cli.verify import main as main_verify
from ggp.referee.match.bot_spec import BotSpec
from tests.support import TESTS
from tests.support.cli import ggp
from tests.support.series import SHORT, AtTable, make_setup, play, script

pytestmark = pytest.mark.slow

GNU_GO = "gnugo --mode gtp --level 1 --seed 1 --chinese-rules --positional-superko"
SENT = re.compile(r"^(\w+) > \d+ (.*)$", re.MULTILINE)


@pytest.mark.needs("gnugo")
@pytest.mark.parametrize(
    ("time", "settings", "left"),
    [
        ("20+1", "19 1 1", r"(19|2\d) 0"),
        ("1+5/4", "1 4 5", r"1 0|[0-4] [1-5]"),
        ("1+3x4", "1 4 1", r"1 0|4 1"),
        ("30", "30 0 0", r"[12]?\d 0|30 0"),
    ],
)
def test_gnugo_gives_and_takes_a_handicap_by_every_clock(
    tmp_path: Path, time: str, settings: str, left: str, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "games.jsonl"
    game = "go,size=7,komi=0.5,handicap=2,agreement=on"
    ran = ggp(
        *("match", game, f"one={GNU_GO}", f"two={GNU_GO}"),
        *("--games", "1", "--time", time, "--jobs", "1", "--json", "--verbose=all", "--record", str(record)),
    )
    assert ran.status == 0, ran.err
    assert set(ran.json["terminations"]) <= {"rules", "resignation"}
    for name in ("one", "two"):
        sent = [line for who, line in SENT.findall(ran.err) if who == name]
        begins = sent.index("boardsize 7")
        assert sent[begins : begins + 5] == [
            *("boardsize 7", "clear_board", "komi 0.5", "fixed_handicap 2", f"time_settings {settings}")
        ]
        told = [line.split(" ", 2)[2] for line in sent if line.startswith("time_left ")]
        assert told and all(re.fullmatch(left, words) for words in told), told
        assert sum(line.startswith("time_left") for line in sent) == sum(line.startswith("genmove") for line in sent)
    assert main_verify([str(record)]) == 0, capsys.readouterr().err


def test_a_bot_that_lists_no_komi_plays_and_its_record_says_so(tmp_path: Path) -> None:
    record, program = tmp_path / "games.jsonl", TESTS / "support" / "foreign_bots.py"
    dummy = shlex.join([sys.executable, "-I", str(program), "dummy"])
    ran = ggp("match", "go,size=9,komi=6.5", dummy, "random", "--games", "2", "--json", "--record", str(record))
    assert (ran.status, ran.json["games"], ran.json["suspended"]) == (0, 2, None)
    assert record.read_text(encoding="utf-8").count("answers `komi 6.5` with `? unknown command: komi`") == 2


PASSES = """
open({path!r}, "a").write("started\\n")
processes, games = len(open({path!r}).readlines()), 0
while True:
    line = ask()
    games += line == "clear_board"
    first = games == processes == 1
    mine = first and line.startswith("genmove")
    if line == "list_commands": say("boardsize clear_board komi play genmove final_status_list name version quit")
    {misbehaves}
    elif line.startswith("genmove"): say("pass")
    else: say()
"""


def passing(path: Path, misbehaves: str = "") -> BotSpec:
    """A bot that passes and does `misbehaves` in a first game; each start is a line of that file."""
    return script(PASSES.format(path=str(path), misbehaves=misbehaves or "elif False: pass"), "plain")


def starts(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def series(bot: BotSpec, numbers: tuple[int, ...] = (0, 2), **more: object) -> AtTable:
    """Games in which the bot has seat 1, if their number is even."""
    return play(make_setup("go,size=3", bot, "random:seed=1", time="1/move", **more), numbers)


@pytest.mark.parametrize(
    ("misbehaves", "result", "termination", "processes"),
    [
        ("elif mine: say('Z9')", "W+F", "illegal_move", 1),
        ("elif mine: say('no', '?')", "W+F", "refused", 1),
        ("elif mine: time.sleep(1.2); say('pass')", "W+T", "time", 1),
        ("elif mine: sys.exit(3)", "W+F", "disconnected", 2),
        ("elif mine: time.sleep(60)", "W+T", "stalled", 2),
        ("elif mine: i = '9' + i; say('pass')", "W+F", "protocol_error", 2),
        ("elif line.startswith('play') and first: say('no', '?')", "W+F", "rejects_legal_move", 2),
    ],
)
def test_who_broke_off_is_started_again_and_who_only_lost_is_kept(
    tmp_path: Path, misbehaves: str, result: str, termination: str, processes: int
) -> None:
    log = tmp_path / "starts"
    came = series(passing(log, misbehaves))
    first, second = came.played
    assert (first.result, first.termination, first.culprit) == (result, termination, "plain")
    assert second.termination == "rules" and came.suspended is None
    assert starts(log) == processes


def test_a_healthy_bot_is_kept_unless_it_shall_be_started_again_for_each_game(tmp_path: Path) -> None:
    for name, restart, processes in (("kept", False, 1), ("anew", True, 3)):
        came = series(replace(passing(tmp_path / name), restart=restart), (0, 1, 2))
        assert [match.termination for match in came.played] == ["rules"] * 3
        assert starts(tmp_path / name) == processes


def test_a_bot_that_ends_between_two_games_loses_none(tmp_path: Path) -> None:
    log = tmp_path / "starts"
    leaves = "elif mine: say('pass'); sys.exit(4)"
    came = play(make_setup("go,size=3", passing(tmp_path / "other"), passing(log, leaves), time="5"), (0, 2))
    assert [(match.termination, match.result) for match in came.played] == [("rules", "W+7.5")] * 2
    assert starts(log) == 2


def test_a_bot_that_ends_at_every_new_game_is_tried_four_times_and_then_suspended(tmp_path: Path) -> None:
    log = tmp_path / "starts"
    came = series(passing(log, "elif line == 'clear_board': sys.exit(5)"), budgets=structs.replace(SHORT, new=2))
    assert [(match.result, match.termination) for match in came.played] == [("", "disconnected")] * 4
    assert came.suspended is not None and came.suspended.who == "plain" and "exit status 5" in str(came.suspended)
    assert starts(log) == 4
