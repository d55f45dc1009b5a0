"""The fault table of the protocol contract, §6, row by row: outcome, culprit, diagnostics, and the next game is played.

The faults are the chaos bot's, so they are those of real processes.
"""

import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import NamedTuple

import pytest
from msgspec import structs

from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.match.bot_spec import BOTS, BotSpec
from ggp.referee.match.engine import score_result
from ggp.referee.match.match_runner import MatchRunner
from ggp.referee.match.outcome import FAULTS, BotFault, Termination, forfeit
from ggp.referee.match.report import suspects
from ggp.referee.match.series import GameResult, SeriesTally
from tests.support import ROOT
from tests.support.chaos import chaos
from tests.support.cli import PYTHON
from tests.support.series import SHORT, AtTable, make_setup, play, script

pytestmark = pytest.mark.slow


class FaultCase(NamedTuple):
    """A misbehaviour in seat 1 (black), what it costs, and what the record says of it."""

    words: str
    termination: str
    detail: str
    exit: str = ""
    time: str = "20"


LATE = r"no complete answer after 0\.[4-9] s"
TABLE = [
    # illegal or unreadable move
    FaultCase("illegal,move=3", "illegal_move", r"illegal move: ([A-D]\d is occupied|the button is taken)"),
    FaultCase("unreadable", "illegal_move", "illegal move"),
    FaultCase("empty", "illegal_move", "unreadable move ''"),
    # genmove answered `?`
    FaultCase("refuse", "refused", "I will not"),
    # refuses a move that the engine accepted
    FaultCase("refuse,when=play", "rejects_legal_move", r"answers `play white \S+` with `\? I will not`"),
    # answer after the clock
    FaultCase("late,ms=400", "time", r"\d+ ms after its time was up", time="0.2"),
    # no answer at all (clock + grace)
    *(FaultCase(words, "stalled", LATE, time="0.2") for words in ("silent", "deaf", "half")),
    FaultCase("close_stdout", "disconnected", "output ended"),
    # end of stream or exit, in its own turn
    FaultCase("crash,status=7", "disconnected", "exit status 7", "exit status 7"),
    FaultCase("crash,signal=11", "disconnected", "killed by SIGSEGV", "killed by SIGSEGV"),
    FaultCase(
        *("half_crash,status=7", "disconnected"),
        *(r"ended in the middle of an answer: '=\d+ [A-D]'; exit status 7", "exit status 7"),
    ),
    FaultCase("complain", "disconnected", "exit status 70", "exit status 70"),
    FaultCase("fork,status=3", "disconnected", "keeps its output open", "exit status 3"),
    # the same in the opponent's turn, from ply 2 on
    FaultCase("crash,when=after,move=2", "disconnected", "exit status 1", "exit status 1"),
    FaultCase("crash,when=play,move=2", "disconnected", "exit status 1", "exit status 1"),
    # garbage, desynchronised, over the bounds
    FaultCase("garbage", "protocol_error", "more than 200 lines"),
    FaultCase("wrong_id", "protocol_error", "desynchronised"),
    FaultCase("flood_stdout,mb=3", "protocol_error", "lines before an answer|at most"),
    FaultCase("long_line,mb=3", "protocol_error", "longer than 1048576 bytes"),
    FaultCase("many_lines", "protocol_error", "more than 10000 lines"),
]
BY_TIME = ("time", "stalled")


@pytest.mark.parametrize("row", TABLE, ids=[row.words for row in TABLE])
def test_a_fault_loses_in_its_own_way(row: FaultCase) -> None:
    came = play(make_setup("yugo,size=4", chaos(f"fault={row.words},life=20,seed=5"), time=row.time))
    assert came.suspended is None
    assert [match.number for match in came.played] == [0, 1]  # and the next game was played
    first, end = came.played[0], came.end()
    result = "W+T" if row.termination in BY_TIME else "W+F"
    assert (first.termination, first.result, first.culprit) == (row.termination, result, "chaos")
    assert (end.winner, end.culprit) == (2, "seat1")
    assert re.search(row.detail, end.detail), end.detail
    assert end.diagnostics is not None
    assert end.diagnostics.exit == row.exit
    assert 0 < len(end.diagnostics.dialogue) <= 20
    asked = any("genmove black" in line for line in end.diagnostics.dialogue)
    assert asked or len(end.diagnostics.dialogue) == 20  # what it flooded us with is what came last


BORNE = ["chatter", "nul", "no_ids", "crlf", "flood_stderr,mb=3", "ignore_quit", "ignore_sigterm", "late,ms=30"]


@pytest.mark.parametrize("words", BORNE)
def test_what_is_sloppy_only_does_not_lose(words: str) -> None:
    came = play(make_setup("yugo,size=3", chaos(f"fault={words},life=20,seed=5"), "random:seed=3"))
    assert came.suspended is None
    assert {match.culprit for match in came.played} == {""}


def test_a_last_answer_without_its_end_counts_and_then_the_bot_has_gone() -> None:
    came = play(make_setup("yugo,size=3", chaos("fault=last_words,move=3,life=20,seed=5"), "random:seed=3"), (0,))
    (match,) = came.played
    assert match.plies in (5, 6)  # its third move, and perhaps the answer to it
    assert (match.termination, match.culprit, match.result) == ("disconnected", "chaos", "W+F")


def moving(at_genmove: str, name: str = "scripted") -> BotSpec:
    """A bot that does so when it is asked for a move."""
    return script(
        "while True:\n"
        "    line = ask()\n"
        "    if line == 'list_commands': say('ggp-new play genmove name version quit')\n"
        f"    elif line.startswith('genmove'): {at_genmove}\n"
        "    else: say()\n",
        name,
    )


@pytest.mark.parametrize("half", ["C", "C3", "C3\r", "C3\nand"])
def test_half_an_answer_is_never_played(half: str) -> None:
    bot = moving(f"os.write(2, b'no memory'); os.write(1, b'= ' + {half.encode()!r}); os._exit(3)")
    came = play(make_setup("yugo,size=3", bot, "random:seed=3"), (0,))
    (match,) = came.played
    assert (match.plies, match.termination, match.result) == (0, "disconnected", "W+F")
    assert came.end().detail.endswith("; exit status 3; no memory")
    assert "in the middle of an answer: '= C" in came.end().detail


@pytest.mark.parametrize("answer", ["\tC3", " C3\t", "C3 \t", "\t\tC3\t\t", "\tC3\r"])
def test_tabs_beside_a_move_are_forgiven_as_blanks_are(answer: str) -> None:
    bot = moving(f"os.write(1, b'=' + i.encode() + {answer.encode()!r} + b'\\n\\n')")
    came = play(make_setup("yugo,size=3", bot, "random:seed=3"), (0,))
    assert came.records[0].plies[0].move == "C3"


def test_the_last_lines_of_stderr_are_kept() -> None:
    end = play(make_setup("yugo,size=3", chaos("fault=complain")), (0,)).end()
    assert end.diagnostics is not None and end.diagnostics.stderr.strip()
    flooded = play(make_setup("yugo,size=3", chaos("fault=flood_stderr,mb=3,move=0"), time="1/move"), (0,))
    assert flooded.played[0].termination == "rules"


def test_a_flood_on_stderr_leaves_its_tail() -> None:
    bot = moving("sys.stderr.write('x' * 200_000 + 'the end'); sys.stderr.flush(); sys.exit(5)")
    end = play(make_setup("yugo,size=3", bot), (0,)).end()
    assert end.diagnostics is not None and end.diagnostics.exit == "exit status 5"
    assert len(end.diagnostics.stderr) == 64 * 1024 and end.diagnostics.stderr.endswith("the end")


def test_a_late_answer_within_the_margin_is_forgiven_and_recorded() -> None:
    setup = make_setup("yugo,size=3", chaos("fault=late,ms=250"), time="0.2+0.2", margin=20_000)
    end = play(setup, (0,)).end()
    assert end.termination == "rules"
    assert any(re.fullmatch(r"seat1: ply 1 came \d+ ms late, within the margin", warning) for warning in end.warnings)


def test_a_late_illegal_move_loses_on_time() -> None:
    bot = chaos("fault=illegal,when=genmove")
    slow = moving("time.sleep(0.3); say('Z99')")
    assert play(make_setup("yugo,size=3", slow, bot, time="0.1"), (0,)).played[0].termination == "time"


@pytest.mark.parametrize(
    ("words", "termination"),
    [
        ("fault=crash,when=new", "disconnected"),
        ("fault=crash,when=after,move=1", "disconnected"),
        ("fault=garbage,when=new", "protocol_error"),
        ("fault=silent,when=new", "stalled"),
    ],
)
def test_before_ply_2_it_is_void_and_replayed_three_times(words: str, termination: str) -> None:
    patient = chaos("fault=late,ms=150,move=1,life=20", "patient")
    setup = replace(
        make_setup("yugo,size=3", chaos(f"{words},life=20"), patient), budgets=structs.replace(SHORT, new=0.5)
    )
    came = play(setup)
    assert [(match.result, match.termination) for match in came.played] == [("", termination)] * 4
    assert [match.key.partition(".")[2] for match in came.played] == ["", "1", "2", "3"]
    assert came.suspended is not None and came.suspended.who == "chaos"
    assert came.end().diagnostics is not None


def test_attempts_are_numbered_on_from_those_of_a_run_before() -> None:
    came = AtTable()
    table = MatchRunner(came.keep)
    run_blocking(table.play(make_setup("yugo,size=3", "random"), 0, 2))
    run_blocking(table.close())
    assert [match.key.partition(".")[2] for match in came.played] == ["2"]


def test_between_games_it_is_only_started_again() -> None:
    came = play(make_setup("yugo,size=3", chaos("fault=crash,when=result"), "random"))
    assert [match.termination for match in came.played] == ["rules", "rules"]


@pytest.mark.parametrize(
    ("bot", "reason"),
    [
        (chaos("fault=refuse,when=new"), "I will not"),
        (chaos("fault=crash,when=start,status=9"), "exit status 9"),
        ("random:nonsense=1", "exit status 2"),
        ("cat", "does not start|list_commands"),
        ("true", "exit status 0"),
    ],
)
def test_what_cannot_start_is_suspended_and_not_recorded(bot: str, reason: str) -> None:
    setup = replace(make_setup("yugo,size=3", bot), budgets=structs.replace(SHORT, start=1))
    came = play(setup)
    assert came.played == []
    assert came.suspended is not None and re.search(reason, str(came.suspended)), str(came.suspended)


def test_a_plain_bot_plays_go_only_and_its_size_only() -> None:
    plain = script(
        "while True:\n"
        "    line = ask()\n"
        "    if line == 'list_commands': say('boardsize clear_board komi play genmove name version quit')\n"
        "    elif line == 'boardsize 5': say('unacceptable size', '?')\n"
        "    else: say('pass' if 'genmove' in line else '')\n"
    )
    assert "can only play go, not yugo" in str(play(make_setup("yugo,size=3", plain)).suspended)
    assert "unacceptable size" in str(play(make_setup("go,size=5", plain)).suspended)
    assert play(make_setup("go,size=4", plain, plain)).played[1].termination == "rules"


# Our engine, which from the third ply on crashes, lists more legal moves than an answer may have, or gives no answer.
RELAY = """
import os, subprocess, sys, time
engine = subprocess.Popen([sys.executable, "-P", "-m", "ggp.engines"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
plies, how = 0, sys.argv[1]
for line in sys.stdin.buffer:
    words = [word for word in line.decode().split() if not word.isdigit()]
    plies += words[:1] == ["ggp-play"]
    if how == "crashes" and plies == 3:
        print("the disk is full", file=sys.stderr, flush=True)
        engine.kill(); engine.wait(); os._exit(6)
    if how == "hangs" and plies > 2 and words[:1] == ["ggp-legal_moves"]:
        time.sleep(600)
    if how == "large" and plies > 2 and words[:1] == ["ggp-legal_moves"]:
        number = line.split()[0].decode() if line.split()[0].isdigit() else ""
        sys.stdout.write(f"={number} {'D4 ' * 500000}\\n\\n"); sys.stdout.flush()
        continue
    engine.stdin.write(line); engine.stdin.flush()
    answer = b""
    while not answer.endswith(b"\\n\\n"): answer += engine.stdout.readline()
    sys.stdout.buffer.write(answer); sys.stdout.buffer.flush()
    if words[:1] == ["quit"]: break
"""


def void_twice(came: AtTable) -> bool:
    """Whether the match was tried again, and the engine failed both times."""
    found = [(match.result, match.termination, match.culprit) for match in came.played]
    suspended = came.suspended is not None and came.suspended.who == "engine"
    return suspended and found == [("", "engine_failed", "engine")] * 2


def test_an_engine_that_crashes_makes_it_void_and_is_loud() -> None:
    whole = f"{PYTHON} -P -m ggp.engines"
    bot = f"{PYTHON} {quote(str(ROOT))}/bots/examples/legal_bot.py {whole}"
    setup = make_setup("yugo,size=3", f"one={bot}", f"two={bot}")
    came = play(replace(setup, engine=BotSpec("engine", "broken", (sys.executable, "-c", RELAY, "crashes"))), (0,))
    assert void_twice(came)
    assert "exit status 6" in came.end().detail and "the disk is full" in came.end().detail


@pytest.mark.parametrize(
    ("how", "words"), [("large", "the answer is longer than 1048576 bytes"), ("hangs", "no complete answer")]
)
def test_what_its_engine_does_wrong_is_no_fault_of_a_built_in_bot(how: str, words: str, tmp_path: Path) -> None:
    """It is said by the bot, for the referee itself has asked for no legal moves; then the match is void."""
    (tmp_path / "foreign.py").write_text(RELAY, encoding="utf-8")
    argv = (sys.executable, str(tmp_path / "foreign.py"), how)
    bots = [BotSpec(name, "random", (*BOTS, "random"), environment=(("GGP_ENGINE_PATIENCE", "0.5"),)) for name in "ab"]
    came = play(replace(make_setup("yugo,size=4", *bots), engine=BotSpec("engine", shlex.join(argv), argv)), (0,))
    assert void_twice(came)
    assert words in came.end().detail and "which runs its own engine" in came.end().detail
    assert str(came.suspended).startswith("it failed in 2 matches in a row, so the series ends: the engine ")


def test_the_word_of_another_bot_on_the_engine_makes_no_match_void() -> None:
    liar = "while True:\n    words = ask().split()\n    if words[0] == 'quit': say(); sys.exit()\n"
    liar += "    if words[0] == 'list_commands': say('ggp-new play genmove name version quit'); continue\n"
    liar += "    if words[0] == 'genmove': say('the engine x fails: no answer', '?'); continue\n    say()\n"
    came = play(make_setup("yugo,size=3", script(liar), "random"), (0,))
    assert [(match.result, match.termination) for match in came.played] == [("W+F", "refused")]


def test_the_referees_own_lateness_makes_a_game_suspect(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = iter(range(1000))
    monkeypatch.setattr("ggp.referee.match.process.run_delay", lambda: next(spent) * 0.02)
    setup = make_setup("yugo,size=3", chaos("fault=late,ms=100,move=2"), "random")
    assert play(setup, (0,)).end().suspect
    monkeypatch.setattr("ggp.referee.match.process.run_delay", lambda: 0.0)
    assert not play(setup, (0,)).end().suspect


def test_the_report_counts_suspect_games_and_says_what_follows() -> None:
    facts = GameResult(1, "aa-1", "B+T", 0, "b", "time", "", 9, (1, 2), True)
    tally = SeriesTally()
    for number in range(1, 14):
        tally.add(replace(facts, key=f"aa-{number}", termination="time" if number == 3 else "rules"))
    tally.add(replace(facts, key="aa-14", suspect=False))
    said = suspects([tally])
    assert said.startswith("suspect: in 13 games this machine kept an answer waiting (--json lists them); ")
    assert "aa-1" not in said
    assert "; they count; 1 of them ended by time, perhaps not the bot's fault" in said
    assert tally.suspects == [f"aa-{number}" for number in range(1, 14)]


def test_a_game_without_end_is_scored_as_it_stands() -> None:
    came = play(replace(make_setup("go,size=5", "random:seed=1", "random:seed=2"), max_plies=4))
    assert [(match.termination, match.plies) for match in came.played] == [("ply_limit", 4)] * 2
    for index, match in enumerate(came.played):
        assert match.result == score_result(came.end(index).score) != ""


def test_giving_up_is_no_bots_fault() -> None:
    came = play(make_setup("yugo,size=3", chaos("fault=resign,move=2")), (0, 1))
    assert [match.result for match in came.played] == ["W+R", "B+R"]
    assert {match.culprit for match in came.played} == {""}


@pytest.mark.parametrize("termination", list(FAULTS))
def test_every_fault_has_a_letter_for_either_colour(termination: Termination) -> None:
    letter = FAULTS[termination].letter
    lost = forfeit(BotFault(termination, "why"), 1, black=1)
    assert (lost.result, lost.winner) == (f"W+{letter}", 2)
    assert forfeit(BotFault(termination, "why"), 1, black=2).result == f"B+{letter}"
    assert forfeit(BotFault(termination, "why"), 2, black=1, void=True).void
